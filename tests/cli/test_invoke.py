from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loopback import answer, serving

from mcpg.gateway.calls import CallResult
from mcpg.gateway.invoke_command import _make_progress, invoke_text, parse_argument
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopback import Conversation
    from shop import Run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
TESTS = Path(__file__).parents[1]
MODULE = '''
from enum import Enum
from typing import Literal

from mcpg.sources.authoring import tool

class Size(Enum):
    TEN = "10"
    TWELVE = "12"

@tool
def double(text: str, times: int = 2) -> str:
    """Repeat a text."""
    print("noise")
    return text * times

@tool
def add(numbers: list[int]) -> dict[str, int]:
    """Add numbers."""
    return {"sum": sum(numbers)}

@tool
def typed(
    code: str | None,
    state: Literal["1", "2"] = "1",
    size: Size = Size.TEN,
    many: int | Literal["all"] = 1,
    plain=None,
) -> list[object]:
    """Tell what came."""
    return [code, state, size.value, many, plain]

@tool(enabled_by_default=False)
def hidden() -> None:
    """Do nothing."""

@tool
def broken() -> None:
    """Fail."""
    raise ValueError("it is\\x1b[31m broken\\nfor good")
'''


@pytest.fixture
def call(run: Callable[..., Run], folder: Path) -> Callable[..., Run]:
    """Invoke a tool of a module."""
    name = f"invoked_{folder.name.replace('-', '_')}"
    (folder / f"{name}.py").write_text(MODULE, "utf-8")

    def invoke(tool: str, *more: str, stdin: bytes = b"") -> Run:
        return run("invoke", tool, f"python:{name}", *more, stdin=stdin)

    return invoke


def test_a_tool_is_called(call: Callable[..., Run]) -> None:
    """Its answer is standard output, and nothing that it prints is."""
    done = call("double", "--arg", "text=ab")
    assert (done.code, done.out) == (0, "abab\n")
    assert "noise" in done.err


def test_an_operation_is_called(
    run: Callable[..., Run], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API is called where the configuration says, and its token is nobody else's to see."""
    monkeypatch.setenv("API_TOKEN", "t0ken-of-the-api")
    operation = {"get": {"operationId": "look", "parameters": [{"name": "q", "in": "query"}]}}
    document = {"openapi": "3.1.0", "paths": {"/things": operation}}
    (folder / "api.json").write_text(json.dumps(document), "utf-8")
    told = {"state": "ready\x1b[31m"}
    with serving(answer(told, Content_Type="application/json"), _echo) as server:
        (folder / "mcpg.toml").write_text(
            f'[[sources]]\npath = "api.json"\nbase_url = "{server.url}"\n'
            'headers = { Authorization = "Bearer ${API_TOKEN}" }',
            "utf-8",
        )
        done = run("invoke", "look", "--arg", "q=a&b")
        assert (done.code, json.loads(done.out)) == (0, told)
        assert server.asked[0].path == "/v1/things?q=a%26b"
        assert server.asked[0].headers["Authorization"] == "Bearer t0ken-of-the-api"
        failed = run("invoke", "look", "--format", "json")
        assert failed.code == 1
        assert "HTTP status 403 Forbidden" in failed.out
        assert "t0ken" not in failed.out + failed.err


def test_one_document_is_called_with_headers(
    run: Callable[..., Run], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options reach a document's own server: a header, and leave to have a private address."""
    monkeypatch.setenv("API_TOKEN", "t0ken-of-the-api")
    with serving(answer("ready", Content_Type="text/plain"), _echo) as server:
        document = {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "look"}}}}
        document["servers"] = [{"url": server.url}]  # type: ignore[assignment]
        (folder / "api.json").write_text(json.dumps(document), "utf-8")
        header = ("--header", "Authorization: Bearer ${API_TOKEN}")
        refused = run("invoke", "look", "api.json", *header)
        assert (refused.code, "--allow-private" in refused.err, server.asked) == (2, True, [])
        call = ("invoke", "look", "api.json", "--allow-private", *header)
        assert run(*call).out == "ready\n"
        assert server.asked[0].headers["Authorization"] == "Bearer t0ken-of-the-api"
        failed = run(*call)
        assert "403" in failed.err
        assert "t0ken" not in failed.out + failed.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"tools": []}, "headers are for servers named by their address"),
        ({"openapi": "3.1.0", "paths": {}}, "the document names no server with a host"),
    ],
)
def test_headers_without_a_server(
    run: Callable[..., Run], folder: Path, content: object, message: str
) -> None:
    """Headers for something that is not called, or not anywhere known, are refused."""
    (folder / "api.json").write_text(json.dumps(content), "utf-8")
    done = run("invoke", "look", "api.json", "--header", "A: b")
    assert (done.code, message in done.err) == (2, True)


def _echo(conversation: Conversation) -> None:
    conversation.send(f"no entry with {conversation.headers['Authorization']}", 403)


def test_arguments_come_in_many_ways(call: Callable[..., Run], folder: Path) -> None:
    """As JSON, from a file, from standard input, one by one; a wanted text stays a text."""
    given = {"text": "a\u00e9", "times": 3}
    (folder / "call.json").write_text(json.dumps(given), "utf-8")
    ways: list[tuple[str, ...]] = [
        ("--arguments", json.dumps(given)),
        ("--arguments", "@call.json"),
        ("--arguments", '{"times": 3}', "--arg", "text=a\u00e9"),
    ]
    for way in ways:
        assert call("double", *way).out == "a\u00e9" * 3 + "\n"
    piped = call("double", "--arguments", "-", stdin=json.dumps(given).encode())
    assert piped.out == "a\u00e9" * 3 + "\n"
    assert call("double", "--arg", "text=12").out == "1212\n"
    assert json.loads(call("add", "--arg", "numbers=[1, 2]").out) == {"sum": 3}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (["code=123"], ["123", "1", "10", 1, None]),
        (["code=null"], ["null", "1", "10", 1, None]),
        (["code=a", "state=2"], ["a", "2", "10", 1, None]),
        (["code=a", "size=12"], ["a", "1", "12", 1, None]),
        (["code=a", "many=12"], ["a", "1", "10", 12, None]),
        (["code=a", "many=all"], ["a", "1", "10", "all", None]),
        (["code=a", "plain=5"], ["a", "1", "10", 1, 5]),
    ],
)
def test_a_value_is_a_text_wherever_one_is_accepted(
    given: list[str], sent: list[Any], call: Callable[..., Run]
) -> None:
    """A nullable text, one of several texts and a reference to one are texts; the rest is JSON."""
    done = call("typed", *(part for one in given for part in ("--arg", one)))
    assert json.loads(done.out) == sent


TEXT = {"$defs": {"name": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}}}


@pytest.mark.parametrize(
    ("member", "text", "sent"),
    [
        ({"$ref": "#/$defs/name"}, "1", "1"),
        ({"allOf": [{"$ref": "#/$defs/name"}, {"minLength": 1}]}, "true", "true"),
        ({"type": ["integer", "string"]}, "1", "1"),
        ({"const": "1"}, "1", "1"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "1", "1"),
        ({"anyOf": [{"type": "string", "pattern": "^[a-z]+$"}, {"type": "integer"}]}, "1", 1),
        ({"enum": [1, "auto"]}, "1", 1),
        ({"type": "integer", "maximum": 5}, "9", 9),
        ({"not": {"type": "number"}}, "1", "1"),
        ({"$ref": "#/$defs/loop"}, "1", 1),
        ({"$ref": "#/$defs/absent"}, "1", 1),
        ({"type": {"odd": 1}, "enum": 3}, "1", 1),
        (True, "1", 1),
        ({}, "[1", "[1"),
        ({}, "NaN", "NaN"),
        ({}, "-Infinity", "-Infinity"),
        ({}, "[1e999]", "[1e999]"),
    ],
)
def test_schemas_of_others_say_what_is_a_text(member: Any, text: str, sent: Any) -> None:
    """A value follows what the schema names, then what it accepts; no schema is too odd."""
    assert (
        parse_argument({**TEXT, "properties": {"a": member}, "required": ["b"]}, "a", text) == sent
    )


def test_a_name_is_no_markup(call: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the name of a tool is shown as it is, whatever brackets are in it."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert call("files[/root]").code == 2
    assert "invoking files[/root]..." in terminal.getvalue()
    assert "no tool" in terminal.getvalue()


def test_the_answer_as_json(call: Callable[..., Run]) -> None:
    """With --format json an answer has the same members whether there is a result or not."""
    done = json.loads(call("add", "--arg", "numbers=[1]", "--format", "json").out)
    assert (done["isSuccess"], done["structured"], done["faults"]) == (True, {"sum": 1}, [])
    assert done["content"] == [{"type": "text", "text": '{"sum": 1}'}]
    failed = json.loads(call("add", "--arg", "numbers=x", "--format", "json").out)
    assert failed.keys() == done.keys()
    (fault,) = failed["faults"]
    assert (fault["code"], fault["field"]) == ("arguments_invalid", "/numbers")
    unknown = json.loads(call("ad", "--format", "json").out)
    assert (unknown["toolId"], unknown["faults"][0]["code"]) == (None, "not_found")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("broken",), 1, "error: ValueError: it is\\x1b[31m broken for good"),
        (("doubel",), 2, "did you mean double?"),
        (("double",), 2, 'the argument "text" is missing'),
        (("hidden",), 2, "invoke it with disabled tools included"),
        (("hidden", "--include-disabled"), 0, ""),
        (("double", "--arguments", "[]"), 2, "--arguments: expected a JSON object"),
        (("double", "--arguments", "{"), 2, "--arguments: invalid JSON"),
        (("double", "--arguments", "@none.json"), 2, "none.json"),
        (("double", "--arg", "text"), 2, "write it as NAME=VALUE"),
        (("double", "--arg", "text=a", "--timeout", "0"), 2, "the time is 0"),
    ],
)
def test_what_goes_wrong_has_its_exit_code(
    call: Callable[..., Run], arguments: tuple[str, ...], code: int, said: str
) -> None:
    """1 where the tool fails, 2 where it is called wrongly; both say why."""
    done = call(*arguments)
    assert (done.code, said in done.err) == (code, True)
    assert done.out == ""


def test_a_tool_on_a_server(run: Callable[..., Run], folder: Path) -> None:
    """A server of mcpg.toml is started, called and ended; its control characters stay visible."""
    program = [sys.executable, str(TESTS / "sdkserver.py")]
    entry = f'[[sources]]\nid = "mine"\ncommand = "{program[0]}"\nargs = ["{program[1]}"]\n'
    (folder / "mcpg.toml").write_text(entry, "utf-8")
    done = run("invoke", "mine::say", "--arg", "text=a\x1b[31mb\nc")
    assert (done.code, done.out, done.err) == (0, "a\\x1b[31mb\nc\n", "")


def test_a_tool_that_is_only_described(run: Callable[..., Run], graph: Path) -> None:
    """What a bundle tells of cannot be called, and the hint says what would make it so."""
    assert graph.exists()
    done = run("invoke", "shipment_status", "--arguments", "{}")
    assert (done.code, done.out) == (2, "")
    assert "add the server" in done.err


def test_a_source_that_fails_is_told(run: Callable[..., Run]) -> None:
    """Why there is no such tool stands above the message that there is none."""
    done = run("invoke", "anything", "stdio:/no/such/program")
    assert done.code == 2
    assert "cannot be started" in done.err
    assert "no tool is called 'anything'" in done.err


def test_an_interrupt_ends_the_server(folder: Path) -> None:
    """Ctrl-C during a call ends the program that was started for it."""
    note = folder / "note"
    server = shlex.join([sys.executable, str(TESTS / "callservers.py"), "mute"])
    configuration = {
        "mcpServers": {
            "mute": {
                "command": sys.executable,
                "args": shlex.split(server)[1:],
                "env": {"NOTE": str(note)},
            }
        }
    }
    (folder / "mcp.json").write_text(json.dumps(configuration), "utf-8")
    command = [sys.executable, "-m", "mcpg", "invoke", "first", "mcp.json"]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder, text=True)
    while not (note.exists() and note.read_text("utf-8").strip()):
        time.sleep(0.02)
    program.send_signal(signal.SIGINT)
    assert "interrupted" in program.communicate()[1]
    assert program.returncode == 130
    (pid,) = [int(line.split()[2]) for line in note.read_text("utf-8").splitlines()]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_all_kinds_of_content_are_shown() -> None:
    """What is no text is named with its kind and size."""
    content: Any = (
        {"type": "text", "text": "first"},
        {"type": "image", "mimeType": "image/png", "data": "A" * 4000},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA"}},
        {"type": "resource_link", "uri": "file:///c\x1b", "name": "c"},
        {},
    )
    assert invoke_text(CallResult("x", content=content)).splitlines() == [
        "first",
        "[image, image/png, 3,000 bytes]",
        "inside",
        "[resource, file:///b, 3 bytes]",
        "[resource_link, file:///c\\x1b, c]",
        "[None]",
    ]
    assert invoke_text(CallResult("x", structured={"a": "\x1b"})) == '{\n  "a": "\\u001b"\n}'
    assert invoke_text(CallResult("x")) == ""


@pytest.mark.anyio
async def test_progress_is_shown_as_plain_text() -> None:
    """A server's word on its progress is neither markup nor a control sequence."""
    shown: list[str] = []

    class Status:
        def update(self, text: Any) -> None:
            shown.append(text.plain)

    tell = _make_progress(Status())
    assert tell is not None
    await tell(1, 3, "[red]\x1b[31m")
    await tell(2, None, None)
    assert shown == ["1 of 3 [red]\\x1b[31m", "2"]
    assert _make_progress(None) is None


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the tests."""
    return "asyncio"


def test_without_the_sdk() -> None:
    """Where the SDK is not installed, the error says how to install it."""
    program = "import sys; sys.modules['mcp'] = None; from mcpg.cli import main; sys.exit(main())"
    # Another process: modules that were imported without the SDK must not meet those with it.
    done = subprocess.run(
        [sys.executable, "-c", program, "invoke", "x", "python:calendar:isleap"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert install_command("mcp") in done.stderr
