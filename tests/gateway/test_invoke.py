from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import os
import sys
import threading
import time
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import pytest
from pydantic import BaseModel, Field

from mcpg.catalog.model import Hints, Tool
from mcpg.errors import UsageError
from mcpg.gateway.calls import FaultCode, Limits
from mcpg.gateway.invoke import Invoker, with_context_arguments
from mcpg.gateway.sessions import Sessions
from mcpg.sources.authoring import tool as mark
from mcpg.sources.client_config import ServerAccess, StdioServer
from mcpg.sources.python import read_functions, read_python
from mcpg.sources.registry import FileSource, FunctionSource, ServerSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.gateway.calls import CallResult

pytestmark = pytest.mark.anyio
TESTS = Path(__file__).parents[1]
TOKEN = "marker-token-1234"
QUICK = ServerAccess({"PATH": os.environ["PATH"]}, timeout=20)


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the tests."""
    return "asyncio"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """The file in which a server notes what it sees."""
    return tmp_path / "note"


@pytest.fixture
def serve(note: Path) -> Callable[[str], ServerSource]:
    """Makes a server of the given mode."""

    def source(mode: str) -> ServerSource:
        name = "sdkserver.py" if mode == "sdk" else "callservers.py"
        env = {"NOTE": str(note), "TOKEN": TOKEN}
        args = (str(TESTS / name), *([] if mode == "sdk" else [mode]))
        server = StdioServer(mode, mode, sys.executable, args, env, secrets=(TOKEN,))
        return ServerSource(mode, server)

    return source


async def invoke(
    tool: Tool, owner: Any, arguments: Any = None, limits: Limits | None = None, **how: Any
) -> CallResult:
    """Invoke a tool with connections of its own."""
    async with Sessions(QUICK) as sessions:
        return await Invoker(sessions, limits or Limits()).invoke(
            tool, owner, arguments or {}, **how
        )


def only(invoked: CallResult) -> tuple[FaultCode, str]:
    """The one fault."""
    (fault,) = invoked.faults
    return fault.code, fault.message


def a_tool(name: str = "first", **more: Any) -> Tool:
    """A tool of that name."""
    return Tool(f"x_{name}", "x", name, **more)


async def test_what_a_server_answers(serve: Callable[[str], ServerSource]) -> None:
    """It is kept as it is; failures are faults in its words, bounded and without secrets."""
    sdk = serve("sdk")
    async with Sessions(QUICK) as sessions:
        usual = Invoker(sessions)
        short = Invoker(sessions, Limits(message_chars=20))
        small = Invoker(sessions, Limits(result_bytes=2000))

        add = a_tool("add")
        invoked = await usual.invoke(add, sdk, {"a": 1, "b": 2})
        assert (invoked.tool_id, invoked.source_id, invoked.tool_name) == ("x_add", "x", "add")
        assert (invoked.text, invoked.structured, invoked.is_success) == ("3", {"result": 3}, True)

        say = a_tool("say")
        for text, structured in (('{"a": [1]}', {"a": [1]}), ("a\x1b[1m", None), ("NaN", None)):
            invoked = await usual.invoke(say, sdk, {"text": text})
            assert (invoked.text, invoked.structured) == (text, structured)
        assert (await usual.invoke(say, sdk, {"text": "", "times": 0})).is_success

        invoked = await small.invoke(say, sdk, {"text": "x" * 1000, "times": 3})
        assert only(invoked) == (FaultCode.TOO_LARGE, "its result is larger than 2000 bytes")
        assert invoked.content == ()

        invoked = await short.invoke(a_tool("fail"), sdk, {"why": "because " * 10})
        assert only(invoked) == (FaultCode.TOOL_FAILED, "because because beca...")
        assert invoked.text.endswith(": ***")

        code, message = only(await usual.invoke(a_tool("nothing"), sdk, {}))
        assert (code, "nothing" in message) == (FaultCode.TOOL_FAILED, True)


async def test_arguments_are_checked_before_anything_is_started(
    serve: Callable[[str], ServerSource], note: Path
) -> None:
    """A wrong argument reaches no server."""
    schema: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    invoked = await invoke(a_tool(input_schema=schema), serve("plain"), {"n": "1"})
    assert (only(invoked)[0], invoked.faults[0].field) == (FaultCode.ARGUMENTS_INVALID, "/n")
    invoked = await invoke(a_tool(), serve("plain"), {"n": object()})
    assert only(invoked)[0] is FaultCode.ARGUMENTS_INVALID
    assert not await anyio.Path(note).exists()


async def test_half_a_character_ends_no_connection(
    serve: Callable[[str], ServerSource], note: Path
) -> None:
    """An argument that no message can carry is refused by its name; of a wish it is replaced."""
    async with Sessions(QUICK) as sessions:
        invoker, owner = Invoker(sessions), serve("plain")
        for arguments in ({"a": "", "b": ["\ud83d"]}, {"a": "", "b": {"\ud83d": 1}}):
            refused = await invoker.invoke(a_tool(), owner, arguments)
            assert only(refused) == (
                FaultCode.ARGUMENTS_INVALID,
                'the argument "b" contains half a character',
            )
            assert refused.faults[0].field == "/b"
        assert not await anyio.Path(note).exists()
        wish = {"query": "find \ud83d", "context": {"\ud83d": "\ud83d"}}
        invoked: Any = await invoker.invoke(a_tool(), owner, {}, **wish)
    told = {"query": "find \ufffd", "context": {"\ufffd": "\ufffd"}}
    assert invoked.structured["_meta"] == {"managedCodeMcpGateway": told}


async def test_what_is_off_is_refused_unless_asked_for(
    serve: Callable[[str], ServerSource],
) -> None:
    """A tool that is off by default is invoked only by who says so."""
    tool = a_tool(hints=Hints(enabled_by_default=False))
    refused = await invoke(tool, serve("plain"))
    assert only(refused)[0] is FaultCode.DISABLED
    assert refused.faults[0].remedy
    assert (await invoke(tool, serve("plain"), include_disabled=True)).is_success


async def test_what_is_only_described_cannot_be_invoked() -> None:
    """A tool that was read from a file is found, and not run; the remedy says what to add."""
    for owner in (None, FileSource("files", "tools.json")):
        invoked = await invoke(a_tool(), owner)
        assert only(invoked)[0] is FaultCode.NOT_INVOKABLE
        assert "server" in invoked.faults[0].remedy


async def test_the_wish_goes_with_the_call(serve: Callable[[str], ServerSource]) -> None:
    """The server is told what the tool is wanted for; its own arguments for that are filled in."""
    schema: Any = {"properties": {"query": {"type": "string"}, "context": {"type": "string"}}}
    tool = a_tool(input_schema=schema)
    invoked = await invoke(tool, serve("plain"), {}, query="find it", context={"page": "home"})
    said: Any = invoked.structured
    assert said["arguments"] == {"query": "find it", "context": "page home"}
    wish = {"query": "find it", "context": {"page": "home"}}
    assert said["_meta"] == {"managedCodeMcpGateway": wish}
    invoked = await invoke(tool, serve("plain"), {"query": "mine"}, context="a text")
    said = invoked.structured
    assert said["arguments"] == {"query": "mine", "context": "a text"}
    assert said["_meta"] == {"managedCodeMcpGateway": {"contextSummary": "a text"}}
    invoked = await invoke(tool, serve("plain"), {}, context={1, 2})
    assert "_meta" not in invoked.structured  # type: ignore[operator]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"context": {"type": "object"}}, {"context": {"a": "b"}}),
        ({"context": {"type": ["null", "string"]}}, {"context": "a b"}),
        ({"context": {"type": "integer"}}, {}),
        ({"context": {}, "contextSummary": {}}, {"context": {"a": "b"}, "contextSummary": "a b"}),
        ({"query": True}, {"query": "q"}),
        ([], {}),
    ],
)
def test_the_wish_fits_the_schema(properties: Any, expected: Any) -> None:
    """What is known is given in the form that the tool takes, or not at all."""
    assert with_context_arguments({"properties": properties}, {}, "q", {"a": "b"}) == expected


async def test_only_what_may_be_repeated_is(
    serve: Callable[[str], ServerSource], note: Path
) -> None:
    """Where the server died before it answered, only a tool without effects is called again."""
    for more, calls in (
        ({}, 1),
        ({"annotations": {"readOnlyHint": True}}, 2),
        ({"hints": Hints(idempotent=True)}, 2),
        ({"annotations": {"readOnlyHint": True}, "hints": Hints(read_only=False)}, 1),
    ):
        await anyio.Path(note).unlink(missing_ok=True)
        tool = a_tool(**more)
        invoked = await invoke(tool, serve("dies_once"))
        assert len((await anyio.Path(note).read_text("utf-8")).splitlines()) == calls
        if calls == 1:
            said = "server exited (code 3) before responding"
            assert only(invoked) == (FaultCode.SOURCE_UNAVAILABLE, said)
        else:
            assert invoked.is_success
    await anyio.Path(note).unlink()
    assert not (await invoke(tool_that_reads(), serve("dies"))).is_success
    assert len((await anyio.Path(note).read_text("utf-8")).splitlines()) == 2


def tool_that_reads() -> Tool:
    """A tool that only reads."""
    return a_tool(hints=Hints(read_only=True))


async def test_time_is_limited(serve: Callable[[str], ServerSource]) -> None:
    """The caller's time holds, and no caller gets more than is granted."""
    limits = Limits(invoke_seconds=0.1, longest_seconds=0.1)
    for seconds in (None, 60):
        invoked = await invoke(a_tool(), serve("mute"), None, limits, timeout=seconds)
        assert only(invoked) == (FaultCode.TIMED_OUT, "no response within 0.1 s")
    with pytest.raises(UsageError, match="time is"):
        await invoke(a_tool(), None, timeout=-1)


async def test_progress_renews_the_time(serve: Callable[[str], ServerSource]) -> None:
    """A call that reports progress goes on, whoever listens, but not without end."""
    steps = {"count": 8, "pause": 0.25}
    async with Sessions(QUICK) as sessions:
        assert (await Invoker(sessions).invoke(a_tool("add"), serve("sdk"), {"a": 1, "b": 1})).text
        invoker = Invoker(sessions, Limits(invoke_seconds=1))
        assert (await invoker.invoke(a_tool("slow"), serve("sdk"), steps)).text == "done"
        invoker = Invoker(sessions, Limits(invoke_seconds=1, longest_seconds=1.2))
        late = await invoker.invoke(a_tool("slow"), serve("sdk"), steps)
        assert only(late) == (FaultCode.TIMED_OUT, "no response within 1 s")


async def test_each_has_a_time_of_its_own(serve: Callable[[str], ServerSource]) -> None:
    """The caller's time counts before that of the source, which counts before the usual one."""
    mute = serve("mute")
    patient = replace(mute, server=replace(mute.server, timeout=0.2))
    limits = Limits(invoke_seconds=30)
    late = await invoke(a_tool(), patient, None, limits)
    assert only(late) == (FaultCode.TIMED_OUT, "no response within 0.2 s")
    for setting in ("`timeout` beside the arguments", "source in its file", "mcpg serve --timeout"):
        assert setting in late.faults[0].remedy
    late = await invoke(a_tool(), patient, None, limits, timeout=0.1)
    assert only(late) == (FaultCode.TIMED_OUT, "no response within 0.1 s")


async def test_a_tool_that_only_runs_as_a_task_is_run_as_one(
    serve: Callable[[str], ServerSource], note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its result is waited for, however long it is at work; who stops waiting cancels it."""
    monkeypatch.setattr("mcpg.sources.live.server_requests._SHORTEST", 0.01)

    def of_tasks(mode: str) -> ServerSource:
        source = serve(mode)
        execution = json.dumps({"execution": {"taskSupport": "required"}})
        env = {**source.server.env, "TOOL": execution}  # type: ignore[union-attr]
        return replace(source, server=replace(source.server, env=env))

    async with Sessions(QUICK) as sessions:
        done = of_tasks("task")
        assert (await sessions.tools(done.server)).tools
        steps: list[str | None] = []

        async def told(_: float, __: float | None, message: str | None) -> None:
            steps.append(message)

        invoked = await Invoker(sessions).invoke(a_tool(), done, {}, progress=told)
        assert invoked.text == "all done"
        assert steps == ["working", "completed"]
        assert "tasks/result t1" in await anyio.Path(note).read_text("utf-8")
        slow = of_tasks("endless")
        assert (await sessions.tools(slow.server)).tools
        limits = Limits(invoke_seconds=5, longest_seconds=5)
        with anyio.move_on_after(2):
            await Invoker(sessions, limits).invoke(a_tool(), slow, {})
        assert "tasks/cancel t1" in await anyio.Path(note).read_text("utf-8")


# Functions of this process.


class Node(BaseModel):
    """A tree."""

    name: str
    children: list[Node] = []


def tree(root: Node, when: dt.date, count: Annotated[int, Field(ge=1)] = 3) -> Node:
    """Return a tree."""
    assert isinstance(when, dt.date)
    assert count == 3
    return root


async def wait(seconds: float) -> str:
    """Wait."""
    await anyio.sleep(seconds)
    return '{"waited": true}'


def sleep(seconds: float) -> int:
    """Sleep, and print."""
    time.sleep(seconds)
    print("late")  # noqa: T201 - that is the point, as below
    return threading.get_ident()


@mark(name="Broken One")
def broken(how: str) -> None:
    """Fail."""
    if how == "leaves":
        sys.exit(3)
    if how == "cancelled":
        raise asyncio.CancelledError
    if how == "group":
        raise ExceptionGroup("many", [KeyError("first"), KeyError("second")])
    if how == "mute":
        raise UnspeakableError
    raise RuntimeError("outer") from ValueError("inner")


class UnspeakableError(Exception):
    """One that cannot be said."""

    def __str__(self) -> str:
        raise ValueError


async def awaits_cancelled() -> None:
    """Await a task that was cancelled."""
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


async def broken_later() -> None:
    """Fail, asynchronously."""
    raise ValueError("later")


def odd() -> int:
    """Return something else than it says."""
    return {"when": dt.date(2024, 1, 2), "raw": b"\xff"}  # type: ignore[return-value]


def unwritable() -> Any:
    """Return what is no JSON."""
    return object()


def half() -> str:
    """Return half of a character."""
    return "\ud800!"


@cache
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


four = mark(name="four")(partial(double, 2))
FUNCTIONS = FunctionSource(
    "here",
    (
        tree,
        wait,
        sleep,
        broken,
        broken_later,
        awaits_cancelled,
        odd,
        unwritable,
        half,
        double,
        four,
    ),
)


async def call(name: str, arguments: Any = None, **how: Any) -> CallResult:
    """Invoke a function's tool, as it is described."""
    tools = {tool.name: tool for tool in read_functions(FUNCTIONS.functions, "here").tools}
    return await invoke(tools[name], FUNCTIONS, arguments, **how)


async def test_functions_get_what_their_annotations_say() -> None:
    """Arguments are converted, defaults filled in; the answer is JSON."""
    root = {"name": "a", "children": [{"name": "b", "children": []}]}
    invoked = await call("tree", {"root": root, "when": "2024-01-02"})
    assert (invoked.structured, invoked.faults) == (root, ())
    assert invoked.text.startswith('{"name": "a"')
    invoked = await call("tree", {"root": root, "when": "soon"})
    assert only(invoked)[0] is FaultCode.ARGUMENTS_INVALID
    assert invoked.faults[0].field == "/when"


async def test_objects_that_wrap_functions_are_invoked() -> None:
    """A cached and a partial function get converted arguments, as plain functions do."""
    assert (await call("double", {"number": 3})).structured == 6
    assert (await call("four")).structured == 4
    assert only(await call("double", {"number": "x"}))[0] is FaultCode.ARGUMENTS_INVALID


async def test_functions_that_block_hold_up_nothing_else(
    serve: Callable[[str], ServerSource],
) -> None:
    """While no thread is free for a function, servers and coroutines answer; time counts on."""
    free = threading.Event()

    def block() -> bool:
        return free.wait(120)

    async def answer() -> int:
        return 42

    source = FunctionSource("there", (block, answer))
    tools = {tool.name: tool for tool in read_functions(source.functions, "there").tools}
    done: list[CallResult] = []
    async with Sessions(QUICK) as sessions, anyio.create_task_group() as group:
        invoker = Invoker(sessions)

        async def blocked() -> None:
            done.append(await invoker.invoke(tools["block"], source, {}, timeout=120))

        for _ in range(50):
            group.start_soon(blocked)
        await anyio.wait_all_tasks_blocked()
        add = a_tool("add")
        served = await invoker.invoke(add, serve("sdk"), {"a": 1, "b": 2}, timeout=30)
        assert served.structured == {"result": 3}
        assert (await invoker.invoke(tools["answer"], source, {}, timeout=30)).structured == 42
        late = await invoker.invoke(tools["block"], source, {}, timeout=0.2)
        assert only(late) == (FaultCode.TIMED_OUT, "no response within 0.2 s")
        assert not done
        free.set()
    assert [one.structured for one in done] == [True] * 50


async def test_asynchronous_functions_are_awaited() -> None:
    """They run in the event loop, others in a thread; time holds for both."""
    assert (await call("wait", {"seconds": 0})).structured == {"waited": True}
    assert (await call("sleep", {"seconds": 0})).structured != threading.get_ident()
    for name in ("wait", "sleep"):
        invoked = await call(name, {"seconds": 0.3}, timeout=0.05)
        assert only(invoked) == (FaultCode.TIMED_OUT, "no response within 0.05 s")


async def test_what_functions_print_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output stays clean, also after a function was given up; others still reach it."""
    real = io.StringIO()
    monkeypatch.setattr(sys, "stdout", real)
    await call("sleep", {"seconds": 0})
    assert "late" in capsys.readouterr().err
    await call("sleep", {"seconds": 0.3}, timeout=0.1)
    print("mine")  # noqa: T201
    for _ in range(200):
        if "late" in capsys.readouterr().err:
            break
        await anyio.sleep(0.01)
    else:
        pytest.fail("the function printed nothing")
    assert real.getvalue() == "mine\n"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("Broken One", {"how": "badly"}, "ValueError: inner"),
        ("Broken One", {"how": "leaves"}, "SystemExit: 3"),
        ("Broken One", {"how": "group"}, "KeyError: 'first'"),
        ("Broken One", {"how": "mute"}, "UnspeakableError"),
        ("Broken One", {"how": "cancelled"}, "CancelledError"),
        ("broken_later", {}, "ValueError: later"),
        ("awaits_cancelled", {}, "CancelledError"),
        (
            "unwritable",
            {},
            "its return value cannot be converted to JSON (PydanticSerializationError)",
        ),
    ],
)
async def test_functions_that_fail(name: str, arguments: Any, message: str) -> None:
    """An exception is an answer, in the words of what lies at the bottom of it."""
    assert only(await call(name, arguments)) == (FaultCode.TOOL_FAILED, message)


async def test_answers_that_are_not_as_declared() -> None:
    """They are written as JSON as well as can be."""
    assert (await call("odd")).structured == {"when": "2024-01-02", "raw": "_w=="}
    assert (await call("half")).text == "\N{REPLACEMENT CHARACTER}!"


async def test_functions_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is a source is invoked as well; what it has no more cannot be."""
    text = "def double(n: int) -> int:\n    return 2 * n\n"
    (tmp_path / "invoked_module.py").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    owner = FileSource("module", "python:invoked_module")
    (tool,) = read_python(owner.path).tools
    assert (await invoke(tool, owner, {"n": 2})).structured == 4
    assert only(await invoke(a_tool("gone"), owner))[0] is FaultCode.NOT_INVOKABLE
    absent = FileSource("module", "python:no_such_module_at_all")
    assert only(await invoke(tool, absent, {"n": 2}))[0] is FaultCode.SOURCE_UNAVAILABLE
