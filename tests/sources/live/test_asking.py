from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from base64 import b64encode
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from loopback import serving
from processes import is_alive

from mcpg.catalog.model import SourceKind
from mcpg.errors import Code, UsageError
from mcpg.sources import read_sources
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer, bare_address
from mcpg.sources.live import query_each, query_servers
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loopback import Conversation

SERVERS = str(Path(__file__).parents[2] / "servers.py")
TOKEN = "marker-token-1234"
QUICK = ServerAccess({"PATH": os.environ["PATH"]}, timeout=20)


def by_hand(mode: str, *more: str, name: str | None = None, **env: str) -> StdioServer:
    """A server of the given mode."""
    args = ("-S", SERVERS, mode, *more)
    place = f"mcp.json: {name or mode}"
    return StdioServer(place, name or mode, sys.executable, args, env, secrets=(*env.values(),))


@pytest.fixture(scope="module", params=["http", "sse"])
def address(request: pytest.FixtureRequest) -> Iterator[HttpServer]:
    """A server on loopback that wants a token."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mode = request.param
    server = subprocess.Popen([sys.executable, "-W", "ignore", SERVERS, mode, str(port)])
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    url = f"http://127.0.0.1:{port}/{'sse' if mode == 'sse' else 'mcp'}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    yield HttpServer("mcp.json: web", "web", url, headers, mode == "sse", secrets=(TOKEN,))
    server.kill()
    server.wait()


def test_what_servers_tell_is_kept() -> None:
    """All pages are read, with titles, annotations, `_meta` and output schemas as given."""
    batch = query_servers([by_hand("pages", name="mine")], QUICK)
    assert not batch.diagnostics
    assert [tool.name for tool in batch.tools] == ["tool_0", "tool_1", "tool_2"]
    last = batch.tools[-1]
    assert (last.source_id, last.source_kind) == ("mine", SourceKind.STDIO_MCP)
    assert last.place == "mcp.json: mine: tools[2]"
    assert (last.title, last.annotations) == ("Last", {"readOnlyHint": True, "custom": 1})
    assert last.meta == {"tags": ["kept"]}
    assert last.output_schema == {"type": "object", "properties": {"when": {"type": "string"}}}


def test_a_server_made_with_the_sdk() -> None:
    """What the SDK serves is read, and the name it has for itself serves where none is given."""
    server = StdioServer("stdio:python", None, sys.executable, (SERVERS, "sdk"))
    (tool,) = query_servers([server], QUICK).tools
    assert (tool.source_id, tool.name, tool.title) == ("sdk server", "add", "Add")
    assert tool.annotations["readOnlyHint"] is True
    assert tool.required_arguments == ("a", "b")


@pytest.mark.parametrize("mode", ["older", "stuck"])
def test_a_server_that_exits_at_a_request_it_does_not_know_is_started_again(mode: str) -> None:
    """Older servers exit at the first request of a newer client, and know the older handshake.

    Some exit only when they read another message, for which the SDK would wait 10 seconds.
    """
    started = time.monotonic()
    batch = query_servers([by_hand(mode)], QUICK)
    assert time.monotonic() - started < 9
    assert not batch.diagnostics
    assert [tool.name for tool in batch.tools] == ["tool_0"]


def test_servers_on_the_web(address: HttpServer) -> None:
    """A server at an address is asked with its headers; without them it says no."""
    batch = query_servers([address], QUICK)
    assert [(tool.source_id, tool.name) for tool in batch.tools] == [("web", "add")]
    assert batch.tools[0].source_kind is SourceKind.HTTP_MCP
    refused = HttpServer("web", "web", address.url, {"Authorization": "Bearer other-marker"})
    if not address.is_sse:
        (failed,) = query_servers([refused], QUICK).diagnostics
        assert (failed.code, failed.message) == (
            Code.SOURCE_LOAD_FAILED,
            f"{bare_address(address.url)}: server responded with HTTP status 401",
        )


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_servers_that_fail_do_not_hinder_the_others() -> None:
    """Whatever a server does, it becomes a diagnostic in our words, and the others are read."""
    modes = ("silent", "rubbish", "dies", "flood", "invalid", "error")
    servers = [by_hand(mode, TOKEN=TOKEN) for mode in modes]
    missing = StdioServer("mcp.json: missing", "missing", "/no/such/program")
    nobody = HttpServer("mcp.json: nobody", "nobody", "http://127.0.0.1:1/mcp")
    live = ServerAccess({"PATH": os.environ["PATH"]}, timeout=12)
    batch = query_servers([*servers, missing, by_hand("chatty"), nobody], live)
    assert [tool.source_id for tool in batch.tools] == ["chatty"]
    assert {item.code for item in batch.diagnostics} == {Code.SOURCE_LOAD_FAILED}
    said = {item.place: item.message for item in batch.diagnostics}
    assert said == {
        "mcp.json: silent": "no response within 12 s (raise its `timeout`, or --server-timeout)",
        "mcp.json: rubbish": "standard output has too many lines that are not messages",
        "mcp.json: dies": "server exited (code 3) before responding",
        "mcp.json: flood": "response is larger than 32 MB",
        "mcp.json: invalid": "invalid MCP response",
        "mcp.json: error": "server responded with error -32005",
        "mcp.json: missing": "command 'program' cannot be started: no such file or directory",
        "mcp.json: nobody": ("http://127.0.0.1:1: server cannot be reached: connection refused"),
    }


def test_a_list_without_end_is_kept_as_far_as_it_is_read() -> None:
    """A server that names a next page after each has its first thousand pages, with a warning."""
    batch = query_servers([by_hand("endless")], ServerAccess(QUICK.environ, timeout=60))
    assert [tool.name for tool in batch.tools] == [f"tool_{number}" for number in range(1000)]
    (warned,) = batch.diagnostics
    assert (warned.code, warned.severity) == (Code.SOURCE_INCOMPLETE, "warning")
    assert warned.message == "list of tools has no end; the first 1,000 are used"


OLD, NEW = "2025-11-25", "2026-07-28"
ENVELOPE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
Pages = dict[str | None, tuple[str, str | None]]


def paging(version: str, pages: Pages) -> Callable[[Conversation], None]:
    """Make a script that lists tools by *pages*: by cursor, the tools and the next cursor."""
    about = {"serverInfo": {"name": "web", "version": "1"}, "capabilities": {"tools": {}}}

    def script(conversation: Conversation) -> None:
        body = conversation.asked.body
        answered: dict[str, Any] = {"jsonrpc": "2.0", "id": body.get("id")}
        if body["method"] == "tools/list":
            names, cursor = pages[(body.get("params") or {}).get("cursor")]
            tools = [{"name": one, "inputSchema": {"type": "object"}} for one in names.split()]
            page = {"tools": tools, **({} if cursor is None else {"nextCursor": cursor})}
            answered["result"] = ENVELOPE | page
        elif body["method"] == "initialize":
            answered["result"] = about | {"protocolVersion": OLD}
        elif version == NEW:
            answered["result"] = ENVELOPE | about | {"supportedVersions": [NEW]}
        else:
            answered["error"] = {"code": -32601, "message": "Method not found"}
        conversation.send(answered, Content_Type="application/json")

    return script


@pytest.mark.parametrize(
    ("version", "pages", "names", "count"),
    [
        pytest.param(NEW, {None: ("a", ""), "": ("b", None)}, "a b", 2, id="empty"),
        pytest.param(
            NEW, {None: ("a", "x"), "x": ("b", ""), "": ("c", None)}, "a b c", 3, id="mix"
        ),
        pytest.param(OLD, {None: ("a", ""), "": ("b", None)}, "a", 1, id="older"),
        pytest.param(NEW, {None: ("a b", ""), "": ("b a", "")}, "a b", 2, id="repeated"),
        pytest.param(OLD, {None: ("a", "x"), "x": ("a", "x")}, "a", 2, id="no cursors"),
        pytest.param(NEW, {None: ("", "x"), "x": ("", "y"), "y": ("a", None)}, "a", 3, id="gaps"),
    ],
)
def test_pages_go_on_until_the_last(version: str, pages: Pages, names: str, count: int) -> None:
    """From 2026-07-28 on, "" is a cursor; known tools end a list, and an empty page does not."""
    with serving(paging(version, pages)) as web:
        batch = query_servers([HttpServer("web", "web", web.url)], QUICK)
    methods = [one.body["method"] for one in web.asked if one.body]
    assert ([tool.name for tool in batch.tools], batch.diagnostics) == (names.split(), ())
    assert methods.count("tools/list") == count


@pytest.mark.skipif(os.name != "posix", reason="elsewhere standard error is not read")
def test_a_program_that_says_much_in_the_end(tmp_path: Path) -> None:
    """Whatever a program writes on standard error, it can go on until it ends by itself."""
    proof = tmp_path / "proof"
    batch = query_servers([by_hand("farewell", str(proof))], QUICK)
    assert not batch.diagnostics
    assert proof.read_text("utf-8") == "ended by itself"


class Misbehaving(BaseHTTPRequestHandler):
    """A web server that sends on, or answers without end."""

    def do_POST(self) -> None:
        """Answer by the path."""
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.2:9/mcp")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"x" * 1_000_000)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_answers_without_end_and_redirects() -> None:
    """What an address answers is bounded, and headers go to no other host."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving)
    Thread(target=web.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{web.server_address[1]}"
    servers = [HttpServer(path, path, f"{url}/{path}") for path in ("endless", "moved", "packed")]
    said = {item.place: item.message for item in query_servers(servers, QUICK).diagnostics}
    web.shutdown()
    web.server_close()
    assert said == {
        "endless": f"{url}: response is larger than 32 MB",
        "moved": f"{url}: redirected to another address (HTTP status 302)",
        "packed": f"{url}: response is compressed, which was not requested",
    }


def test_an_odd_tool_costs_only_itself() -> None:
    """Beside tools without a name, or that are none, the others of the page are kept."""
    batch = query_servers([by_hand("odd"), by_hand("pages")], QUICK)
    assert [tool.name for tool in batch.tools if tool.source_id == "odd"] == [
        "first",
        "no_schema",
        "bad_schema",
        "bad_more",
        "last",
        "tool_7",
    ]
    assert len(batch.tools) == 9
    assert {one.code for one in batch.diagnostics} == {Code.TOOL_INVALID}
    assert [one.place for one in batch.diagnostics] == [
        f"mcp.json: odd: tools[{number}]" for number in (1, 2, 3, 4, 8, 9)
    ]
    assert [one.message for one in batch.diagnostics[-2:]] == [
        "numbers in JSON must be finite (no NaN, Infinity or overflow); this tool is left out",
        "the JSON is nested deeper than 100 levels; this tool is left out",
    ]


HALVES = "An emoji 😀, a path \\ud800, and half an emoji \ufffd"


def test_half_a_character_costs_no_tool() -> None:
    """A text that a server has cut in the middle of a character is repaired, as in a file."""
    batch = query_servers([by_hand("halves")], QUICK)
    assert [tool.name for tool in batch.tools] == ["half", "other"]
    assert batch.tools[0].description == HALVES


@pytest.mark.parametrize("length", [1, 7, 1_000_000])
def test_half_a_character_over_the_web(length: int) -> None:
    """The same holds over the web, however the answer is cut into pieces."""
    tools = [{"name": "half", "description": HALVES, "inputSchema": {"type": "object"}}]

    def script(conversation: Conversation) -> None:
        said = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": tools}
        said |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        told = {"jsonrpc": "2.0", "id": conversation.asked.body["id"], "result": said}
        data = json.dumps(told).replace(r"\ufffd", r"\ud83d").encode()
        conversation.send_response(200)
        conversation.send_header("Content-Type", "application/json")
        conversation.send_header("Transfer-Encoding", "chunked")
        conversation.end_headers()
        for chunk in [*(data[at : at + length] for at in range(0, len(data), length)), b""]:
            conversation.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))

    with serving(script) as web:
        batch = query_servers([HttpServer("web", "web", web.url)], QUICK)
    assert [tool.description for tool in batch.tools] == [HALVES]


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("text", ["caf\u00e9", "caf\u00e9 cr\u00e8me", "\u00e9"])
def test_a_byte_that_is_not_utf_8_over_the_web(kind: str, text: str) -> None:
    """It costs a text one character, and not the list of tools, also where it ends a piece."""
    tools = [{"name": "first", "description": text, "inputSchema": {"type": "object"}}]

    def script(conversation: Conversation) -> None:
        said = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": tools}
        said |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        told = {"jsonrpc": "2.0", "id": conversation.asked.body["id"], "result": said}
        data = json.dumps(told, ensure_ascii=False).encode("latin-1")
        if kind == "text/event-stream":
            data = b"data: " + data + b"\n\n"
        conversation.send_response(200)
        conversation.send_header("Content-Type", kind)
        conversation.send_header("Transfer-Encoding", "chunked")
        conversation.end_headers()
        for chunk in [*(data[at : at + 1] for at in range(len(data))), b""]:
            conversation.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))

    with serving(script) as web:
        batch = query_servers([HttpServer("web", "web", web.url)], QUICK)
    assert not batch.diagnostics
    assert [tool.description for tool in batch.tools] == [
        text.replace("\u00e9", "\ufffd").replace("\u00e8", "\ufffd")
    ]


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_byte_order_mark_over_the_web(kind: str) -> None:
    """A response, or the events of one, may begin with a byte order mark."""
    tools = [{"name": "first", "inputSchema": {"type": "object"}}]

    def script(conversation: Conversation) -> None:
        said = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": tools}
        said |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        told = json.dumps({"jsonrpc": "2.0", "id": conversation.asked.body["id"], "result": said})
        text = f"data: {told}\n\n" if kind == "text/event-stream" else told
        data = text.encode("utf-8-sig")
        conversation.send_response(200)
        conversation.send_header("Content-Type", kind)
        conversation.send_header("Content-Length", str(len(data)))
        conversation.end_headers()
        conversation.wfile.write(data)

    with serving(script) as web:
        batch = query_servers([HttpServer("web", "web", web.url)], QUICK)
    assert [tool.name for tool in batch.tools] == ["first"]


def test_a_byte_order_mark_of_a_program() -> None:
    """A line may begin with a byte order mark, as programs on Windows write one."""
    batch = query_servers([by_hand("pages", PYTHONIOENCODING="utf-8-sig")], QUICK)
    assert [tool.name for tool in batch.tools] == ["tool_0", "tool_1", "tool_2"]


def test_an_odd_tool_over_the_web(address: HttpServer) -> None:
    """A server made with the SDK, which sends no odd tools, is read as ever."""
    (reply,) = query_each([address], QUICK)
    assert (reply.name, len(reply.batch.tools)) == ("sdk server", 1)


def test_what_a_server_is() -> None:
    """A reply tells what the server calls itself and speaks, how long it took, and no secret."""
    limits = (None, 0.5, None)
    servers = [by_hand("pages"), by_hand("silent"), by_hand("secret", TOKEN=TOKEN, NAME=TOKEN)]
    good, silent, secret = query_each(servers, QUICK, timeouts=limits)
    assert (good.name, good.version, good.protocol[:2]) == ("by hand", "1", "20")
    assert good.has_answered
    assert len(good.batch.tools) == 3
    assert 0 < good.seconds < QUICK.timeout
    assert not silent.has_answered
    (late,) = (one.message for one in silent.batch.diagnostics)
    assert late.startswith("no response within 0.5 s (raise its `timeout`")
    assert (silent.name, silent.protocol) == ("", "")
    assert (secret.name, secret.has_answered) == ("by hand ***", True)
    assert query_each([], QUICK) == ()


def test_a_server_without_tools() -> None:
    """A server that has other things to offer than tools is no failure."""
    batch = query_servers([by_hand("toolless")], QUICK)
    assert (batch.tools, batch.diagnostics) == ((), ())


def test_the_order_is_that_of_the_servers() -> None:
    """Who answers first makes no difference, and progress is told."""
    told: list[tuple[int, int]] = []
    live = ServerAccess(QUICK.environ, timeout=20, told=lambda done, of: told.append((done, of)))
    names = ["b", "a", "c"]
    batch = query_servers([by_hand("pages", name=name) for name in names], live, source_id=None)
    assert list(dict.fromkeys(tool.source_id for tool in batch.tools)) == names
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_the_environment_of_a_server_is_small() -> None:
    """A server gets the few variables that the SDK lets through, and those it is given."""
    live = ServerAccess({"PATH": os.environ["PATH"], "OTHER": "x", "HOME": "/"}, timeout=20)
    batch = query_servers([by_hand("environment", MINE="y")], live)
    assert {"PATH", "HOME", "MINE"} <= {tool.name for tool in batch.tools}
    assert "OTHER" not in {tool.name for tool in batch.tools}


def test_secrets_do_not_come_back(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """What a server repeats of its configuration is replaced, in tools, logs and output."""
    server = by_hand("secret", TOKEN=TOKEN)
    batch = query_servers([server], QUICK)
    assert [tool.description for tool in batch.tools] == ["Look things up with ***."]
    assert [item.code for item in batch.diagnostics] == [Code.TEXT_REPAIRED]
    shown = capfd.readouterr()
    assert TOKEN not in f"{batch!r} {server!r} {shown.out} {shown.err} {caplog.text}"


KEY = 'pä ss"/w+1!'
SHORT = "s3c/"
ADDRESS = "postgres://app:h%40nter@db/x?api_key=zq-77&region=central"
FORMS = {
    "plain": ("API_KEY", KEY, KEY),
    "short": ("API_KEY", SHORT, SHORT),
    "too short": ("API_KEY", "abc", None),
    "in an address": ("API_KEY", KEY, quote(KEY, safe="")),
    "of JavaScript": ("API_KEY", KEY, "p%C3%A4%20ss%22%2Fw%2B1!"),
    "in lower case": ("API_KEY", SHORT, "s3c%2f"),
    "in a form": ("API_KEY", KEY, quote_plus(KEY)),
    "in JSON": ("API_KEY", KEY, json.dumps(KEY)[1:-1]),
    "of PHP": ("API_KEY", KEY, r"p\u00e4 ss\"\/w+1!"),
    "in letters": ("API_KEY", KEY, json.dumps(KEY, ensure_ascii=False)[1:-1]),
    "in base64": ("API_KEY", KEY, b64encode(KEY.encode()).decode()),
    "of a URL": ("API_KEY", "~~~???", "fn5-Pz8_"),
    "a password": ("DATABASE_URL", ADDRESS, "h%40nter"),
    "a password, decoded": ("DATABASE_URL", ADDRESS, "h@nter"),
    "a part of a query": ("DATABASE_URL", ADDRESS, "zq-77"),
    "no secret of a query": ("DATABASE_URL", ADDRESS, None),
    "a member": ("SETTINGS", '{"client_secret": "zq-88"}', "zq-88"),
    "without a name of one": ("REGION", "central one/2", "central%20one%2F2"),
    "a word": ("DB_HOST", "localhost", None),
    "a flag": ("REQUIRE_AUTH", "true", None),
}
"""For each form of a value: the variable, its value, and the text that is replaced."""


def test_secrets_do_not_come_back_in_other_forms() -> None:
    """A value is replaced however it is encoded, a short one only if its name is a secret's."""
    words = "Is true on localhost in central with abc and"
    servers = []
    for number, (name, value, shown) in enumerate(FORMS.values()):
        tools = [{"name": "tell", "description": f"{words} {shown}.", "inputSchema": {}}]
        servers.append(by_hand("given", json.dumps(tools), name=f"s{number}", **{name: value}))
    batch = query_servers(servers, ServerAccess(QUICK.environ, timeout=60))
    told = dict(zip(FORMS, (tool.description for tool in batch.tools), strict=True))
    assert told == {
        form: f"{words} {'***' if shown else None}." for form, (_, _, shown) in FORMS.items()
    }


def test_a_short_secret_costs_no_tool_its_name_or_arguments() -> None:
    """A password such as `admin` is replaced in texts, and not where calls depend on the word."""
    schema = {"type": "object", "properties": {"admin": {"enum": ["admin"]}}, "required": ["admin"]}
    tool = {"name": "admin_list", "description": "Ask admin", "inputSchema": schema}
    batch = query_servers([by_hand("given", json.dumps([tool]), PASSWORD="admin")], QUICK)
    (found,) = batch.tools
    assert (found.name, found.input_schema) == ("admin_list", schema)
    assert found.description == "Ask ***"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_nothing_is_left_running(tmp_path: Path) -> None:
    """What a server started ends with it, even where the server itself ends at once."""
    note = tmp_path / "pids"
    query_servers([by_hand("parent", str(note))], QUICK)
    pids = [int(pid) for pid in note.read_text("utf-8").split()]
    assert len(pids) == 2
    assert not [pid for pid in pids if is_alive(pid)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_an_interrupt_ends_everything(tmp_path: Path) -> None:
    """Ctrl-C while a server is asked leaves no process behind."""
    note = tmp_path / "pids"
    line = shlex.join(["sh", "-c", f"echo $$ > {note}; sleep 600"])
    command = [sys.executable, "-m", "mcpg", "bundle", f"stdio:{line}", "-o", "-"]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path, text=True)
    while not (note.exists() and note.read_text("utf-8").strip()):
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    assert "interrupted" in program.communicate(timeout=60)[1]
    assert program.returncode == 130
    assert not is_alive(int(note.read_text("utf-8")))


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the SDK is not installed, the error says how to install it."""
    for name in ("listing", "client"):
        monkeypatch.delitem(sys.modules, f"mcpg.sources.live.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(UsageError) as caught:
        read_sources(["stdio:true"], live=QUICK)
    assert caught.value.remedy == install_command("mcp")


def streaming(end: bytes, mark: bytes) -> Callable[[Conversation], None]:
    """Make a script that lists tools after 35 MB of comments, each with its *end* and a *mark*."""

    def script(conversation: Conversation) -> None:
        method = conversation.asked.body["method"]
        said = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        if method == "server/discover":
            said |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        else:
            said |= {"tools": [{"name": "first", "inputSchema": {"type": "object"}}]}
        told = {"jsonrpc": "2.0", "id": conversation.asked.body["id"], "result": said}
        conversation.send_response(200)
        conversation.send_header("Content-Type", "text/event-stream")
        conversation.send_header("Transfer-Encoding", "chunked")
        conversation.end_headers()
        comments = [b":" + b"x" * 999_998 + end, mark] * (35 if method == "tools/list" else 0)
        for chunk in [*comments, b"data: " + json.dumps(told).encode() + b"\n\n", b""]:
            conversation.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))

    return script


@pytest.mark.parametrize(
    ("end", "mark", "expected"),
    [
        (b"\n", b"\n", "first"),
        (b"\r\n", b"\r\n", "first"),
        (b"\r", b"\r", "first"),
        (b"\n", b":\n", "response is larger than 32 MB"),
    ],
)
def test_only_one_event_is_bounded(end: bytes, mark: bytes, expected: str) -> None:
    """A stream may be of any length, however its events are cut; a single event may not."""
    with serving(streaming(end, mark)) as web:
        batch = query_servers([HttpServer("web", "web", web.url)], ServerAccess({}, timeout=60))
    told = [tool.name for tool in batch.tools] or [one.message for one in batch.diagnostics]
    assert [one.removeprefix(f"{bare_address(web.url)}: ") for one in told] == [expected]


def test_only_the_sdk_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    """The host's loggers are heard meanwhile, also where the SDK's are called the same."""
    caplog.set_level(logging.DEBUG)
    before = {name: logging.getLogger(name).filters[:] for name in ("client", "client.app")}
    odd = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": TOKEN}}

    def script(conversation: Conversation) -> None:
        logging.getLogger("client").info("host")
        logging.getLogger("client.app").info("host below")
        said = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        said |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        said |= {"tools": [{"name": "first", "inputSchema": {}}]}
        told = {"jsonrpc": "2.0", "id": conversation.asked.body["id"], "result": said}
        events = "".join(f"data: {json.dumps(one)}\n\n" for one in (odd, told))
        conversation.send(events, Content_Type="text/event-stream")

    with serving(script) as web:
        batch = query_servers([HttpServer("web", "web", web.url)], ServerAccess({}, timeout=60))
    assert [tool.name for tool in batch.tools] == ["first"]
    assert {"host", "host below"} <= {record.message for record in caplog.records}
    assert TOKEN not in caplog.text
    assert before == {name: logging.getLogger(name).filters for name in before}
