from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from announcer import OLD, Announcer
from loopback import serving
from mcp_types import HEADER_MISMATCH, METHOD_NOT_FOUND
from processes import children, is_alive

from mcpg.errors import UsageError
from mcpg.gateway import sessions as gateway_sessions
from mcpg.gateway.calls import CallError, FaultCode, Limits
from mcpg.gateway.sessions import Sessions
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer
from mcpg.sources.live import query_servers, server_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcpg.errors import Diagnostic
    from mcpg.sources.client_config import Server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX"),
]
TESTS = Path(__file__).parents[1]
SERVERS = str(TESTS / "callservers.py")
SDK = str(TESTS / "sdkserver.py")
TOKEN = "marker-token-1234"
QUICK = ServerAccess({"PATH": os.environ["PATH"]}, timeout=20)
PATIENT = 60
"""Seconds for a call that succeeds: a busy machine takes long to start a program."""


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the tests."""
    return "asyncio"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """The file in which a server notes what it sees."""
    path = tmp_path / "note"
    path.touch()
    return path


@pytest.fixture
def serve(note: Path) -> Callable[[str], StdioServer]:
    """Makes a server of the given mode."""

    def server(mode: str) -> StdioServer:
        env = {"NOTE": str(note), "TOKEN": TOKEN}
        args = (SDK,) if mode == "sdk" else ("-S", SERVERS, mode)
        return StdioServer(f"mcp.json: {mode}", mode, sys.executable, args, env, secrets=(TOKEN,))

    return server


def free_port() -> int:
    """A port that nobody listens at."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def listening(port: int, *arguments: str) -> Iterator[None]:
    """Run a server for as long as the block runs."""
    program = subprocess.Popen([sys.executable, "-W", "ignore", *arguments, str(port)])
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    try:
        yield
    finally:
        program.kill()
        program.wait()


@pytest.fixture(scope="module")
def address() -> Iterator[HttpServer]:
    """A server on loopback."""
    port = free_port()
    with listening(port, SDK):
        yield HttpServer("mcp.json: web", "web", f"http://127.0.0.1:{port}/mcp")


def pids_of(note: Path) -> list[int]:
    """The processes that were called, in their order."""
    lines = note.read_text("utf-8").splitlines()
    return [int(line.split()[2]) for line in lines if line.startswith("call")]


async def noted(note: Path, line: str) -> None:
    """Wait until *line* is noted."""
    with anyio.fail_after(10):
        while line not in await anyio.Path(note).read_text("utf-8"):  # noqa: ASYNC110 - a file
            await anyio.sleep(0.01)


async def fault_of(sessions: Sessions, server: Server, seconds: float = 10) -> CallError:
    """Call a tool and give why that fails."""
    with pytest.raises(CallError) as caught:
        await sessions.call(server, "first", {}, timeout=seconds)
    return caught.value


async def test_the_tools_are_those_that_asking_gives(
    serve: Callable[[str], StdioServer], address: HttpServer
) -> None:
    """Over a connection that is kept the same tools are found as by asking once."""
    async with Sessions(QUICK) as sessions:
        for server in (serve("sdk"), address, serve("chatty")):
            batch = await sessions.tools(server)
            assert batch.tools
            assert batch == await anyio.to_thread.run_sync(query_servers, [server], QUICK)


async def test_a_call_is_answered_with_all_that_the_server_says(address: HttpServer) -> None:
    """Content and structured content come back as they are."""
    async with Sessions(QUICK) as sessions:
        called = await sessions.call(address, "add", {"a": 1, "b": 2}, timeout=10)
    assert (called.content, called.structured) == (({"type": "text", "text": "3"},), {"result": 3})
    assert not called.is_error


async def test_arguments_and_meta_reach_the_server(serve: Callable[[str], StdioServer]) -> None:
    """Nulls and nested values are kept, and `_meta` goes with them."""
    meta = {"managedCodeMcpGateway": {"query": "q"}}
    arguments: Any = {"a": None, "b": {"c": [None, 1.5, "\u2028"]}}
    async with Sessions(QUICK) as sessions:
        server = serve("plain")
        called = await sessions.call(server, "first", arguments, timeout=10, meta=meta)
    said = json.loads(str(called.content[0]["text"]))
    assert said == {"name": "first", "arguments": arguments, "_meta": meta}


async def _meet(sessions: Sessions, server: Server, met: list[Any]) -> None:
    called = await sessions.call(server, "meet", {}, timeout=PATIENT)
    assert called.structured == {"result": "met"}
    met.append((await sessions.call(server, "who", {}, timeout=PATIENT)).structured)


async def test_a_connection_is_opened_once_and_shared(
    serve: Callable[[str], StdioServer], address: HttpServer
) -> None:
    """Whoever asks first opens it; calls that wait for each other run side by side over it."""
    for server in (serve("sdk"), address):
        met: list[Any] = []
        async with Sessions(QUICK) as sessions, anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(_meet, sessions, server, met)
        assert len(met) == 2
        assert met[0] == met[1]


async def test_progress_is_passed_on(
    serve: Callable[[str], StdioServer], address: HttpServer
) -> None:
    """What the server tells of a call reaches the caller, with the words."""
    for server in (serve("sdk"), address):
        told: list[tuple[float, float | None, str | None]] = []

        async def listen(
            *progress: Any, told: list[tuple[float, float | None, str | None]] = told
        ) -> None:
            told.append(progress)

        async with Sessions(QUICK) as sessions:
            await sessions.call(server, "steps", {"count": 2}, timeout=PATIENT, progress=listen)
        assert told == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]


async def test_a_listener_that_is_slow_or_fails_holds_up_nothing(
    serve: Callable[[str], StdioServer],
) -> None:
    """It gets the latest it has time for, and nothing after the result."""
    heard: list[float] = []

    async def slow(progress: float, *_: Any) -> None:
        heard.append(progress)
        await anyio.sleep(0.05)

    async def broken(*_: Any) -> None:
        raise ValueError

    async with Sessions(QUICK) as sessions:
        for listener in (slow, broken):
            await sessions.call(serve("floods"), "first", {}, timeout=10, progress=listener)
        count = len(heard)
        await anyio.sleep(0.1)
    assert 0 < count < 200
    assert len(heard) <= count


async def test_a_cancelled_call_is_cancelled_at_the_server(
    serve: Callable[[str], StdioServer], note: Path
) -> None:
    """Whether time runs out or the caller goes away, the server is told; the connection stays."""
    async with Sessions(QUICK) as sessions:
        server = serve("sdk")
        await sessions.tools(server)
        with pytest.raises(CallError, match="no response within") as caught:
            await sessions.call(server, "wait", {}, timeout=0.3)
        assert caught.value.code is FaultCode.TIMED_OUT
        await noted(note, "cancelled")
        await anyio.Path(note).write_text("", "utf-8")
        async with anyio.create_task_group() as group:

            async def gone(*_: Any) -> None:
                group.cancel_scope.cancel()

            async def call() -> None:
                await sessions.call(server, "wait", {}, timeout=10, progress=gone)

            group.start_soon(call)
        await noted(note, "cancelled")
        assert (await sessions.call(server, "add", {"a": 1, "b": 1}, timeout=10)).structured


async def test_a_cancelled_call_over_http(address: HttpServer) -> None:
    """A call over HTTP that takes too long is given up, and the next is answered."""
    async with Sessions(QUICK) as sessions:
        await sessions.tools(address)
        with pytest.raises(CallError, match="no response"):
            await sessions.call(address, "wait", {}, timeout=0.3)
        assert (await sessions.call(address, "add", {"a": 1, "b": 1}, timeout=10)).structured


@pytest.mark.parametrize(
    ("mode", "code", "message"),
    [
        ("dies", FaultCode.SOURCE_UNAVAILABLE, "server exited (code 3) before responding"),
        ("rubbish", FaultCode.SOURCE_UNAVAILABLE, "has too many lines that are not messages"),
        ("huge", FaultCode.TOO_LARGE, "response is larger than 32 MB"),
        ("refuses", FaultCode.TOOL_FAILED, "no tool of *** (error -32602)"),
        ("wrong", FaultCode.TOOL_FAILED, "invalid MCP response"),
    ],
)
async def test_a_server_that_fails_a_call(
    mode: str, code: FaultCode, message: str, serve: Callable[[str], StdioServer], note: Path
) -> None:
    """Each failure has its kind and our words, memory is bounded, and the next call is made."""
    server = serve(mode)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with Sessions(QUICK) as sessions:
        fault = await fault_of(sessions, server)
        assert (fault.code, message in fault.message) == (code, True)
        assert fault.has_died == (code is FaultCode.SOURCE_UNAVAILABLE)
        assert (await sessions.tools(server)).tools
        assert (await fault_of(sessions, server)).code is code
    assert len(set(pids_of(note))) == (1 if code is FaultCode.TOOL_FAILED else 2)
    assert not [pid for pid in pids_of(note) if is_alive(pid)]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 256 << 10, "kilobytes, of an answer of a gigabyte"


async def test_all_calls_of_a_server_that_dies_have_its_exit_code(
    serve: Callable[[str], StdioServer], note: Path
) -> None:
    """The code is reported to a call that cannot be sent any more, and to those under way."""
    server = serve("dies_deaf")
    async with Sessions(QUICK) as sessions, anyio.create_task_group() as group:
        faults: list[CallError] = []

        async def call() -> None:
            faults.append(await fault_of(sessions, server))

        await sessions.tools(server)
        group.start_soon(call)
        await noted(note, "deaf")
        for _ in range(2):  # the first of these is lost, the second is not even taken
            group.start_soon(call)
            await anyio.wait_all_tasks_blocked()
    assert [str(one) for one in faults] == ["server exited (code 3) before responding"] * 3


async def test_a_byte_that_is_not_utf_8_is_replaced(serve: Callable[[str], StdioServer]) -> None:
    """It costs a result one character, and not the call."""
    async with Sessions(QUICK) as sessions:
        called = await sessions.call(serve("latin"), "first", {}, timeout=PATIENT)
    assert called.content == ({"type": "text", "text": "caf\ufffd"},)


async def test_short_secrets_do_not_come_back_in_errors(note: Path) -> None:
    """They are replaced in texts, also encoded, and members keep their names."""
    told = {"code": -32000, "message": "no s3c%2f4 as message"}
    env = {"NOTE": str(note), "API_KEY": "s3c/4", "PASSWORD": "message"}
    env["RAW"] = json.dumps({"error": told})
    command = (sys.executable, ("-S", SERVERS, "raw"), env)
    async with Sessions(QUICK) as sessions:
        fault = await fault_of(sessions, StdioServer("mcp.json: raw", "raw", *command))
    assert fault.message == "no *** as *** (error -32000)"


async def test_short_secrets_do_not_come_back_in_the_report_of_a_crash(note: Path) -> None:
    """What a server wrote before it crashed in use is quoted without parts of its variables."""
    env = {"NOTE": str(note), "DATABASE_URL": "postgres://app:s3c4@db/x"}
    env["LAST_WORDS"] = "login with s3c4 failed"
    server = StdioServer("mcp.json: dies", "dies", sys.executable, ("-S", SERVERS, "dies"), env)
    reported: list[Diagnostic] = []
    async with Sessions(QUICK) as sessions:
        sessions.crashed = reported.append
        await fault_of(sessions, server)
    (one,) = reported
    assert one.message.endswith("last lines of its standard error: login with *** failed")


async def test_a_server_that_died_meanwhile_is_started_anew(
    serve: Callable[[str], StdioServer], note: Path
) -> None:
    """A program that ended between two calls is no failure of the second."""
    server = serve("dies_after")
    async with Sessions(QUICK) as sessions:
        await sessions.call(server, "first", {}, timeout=10)
        with anyio.fail_after(10):
            await sessions._connections[0].ended.wait()
        await sessions.call(server, "first", {}, timeout=10)
    assert len(set(pids_of(note))) == 2


async def test_a_server_that_hangs_at_its_start(serve: Callable[[str], StdioServer]) -> None:
    """The caller waits no longer than it wants to, and nothing is left when all is closed."""
    started, before = time.monotonic(), children()
    async with Sessions(QUICK) as sessions:
        server = serve("hangs")
        fault = await fault_of(sessions, server, 0.3)
        assert (fault.code, fault.message) == (
            FaultCode.TIMED_OUT,
            "no response within 0.3 s",
        )
        (pid,) = children() - before
    assert not is_alive(pid)
    assert time.monotonic() - started < 15


async def test_a_server_that_exits_at_a_request_it_does_not_know_is_kept_open() -> None:
    """It is started again for the older handshake, and a later exit ends the connection."""
    args = ("-S", str(TESTS / "servers.py"), "older")
    server = StdioServer("mcp.json: older", "older", sys.executable, args, {})
    before = children()
    async with Sessions(QUICK) as sessions:
        assert [tool.name for tool in (await sessions.tools(server)).tools] == ["tool_0"]
        (pid,) = children() - before
        fault = await fault_of(sessions, server)
        assert fault.message == "server exited (code 1) before responding"
        assert not is_alive(pid)
        assert (await sessions.tools(server)).tools


async def test_a_start_that_takes_too_long_is_a_diagnostic(
    serve: Callable[[str], StdioServer],
) -> None:
    """Asking for tools says why there are none, in the words of asking once."""
    async with Sessions(ServerAccess(QUICK.environ, timeout=0.3)) as sessions:
        (said,) = (await sessions.tools(serve("hangs"))).diagnostics
        assert (said.code, said.message) == ("source_load_failed", "no response within 0.3 s")
        (said,) = (await sessions.tools(serve("dies_listing"), 10)).diagnostics
        assert said.message == "server exited (code 4) before responding"
        missing = StdioServer("missing", "missing", "/no/such/program")
        (said,) = (await sessions.tools(missing, 10)).diagnostics
        assert said.message == "command 'program' cannot be started: no such file or directory"


async def test_a_server_that_answers_nothing_any_more_is_started_anew(
    serve: Callable[[str], StdioServer], note: Path
) -> None:
    """It answers neither calls nor, twice, a ping; whoever still waits is told why it ended."""
    server = serve("deaf")
    waited: list[CallError] = []
    reported: list[Diagnostic] = []
    # A call that is under way when its server is stopped is told of that.
    unanswered = (FaultCode.TIMED_OUT, FaultCode.SOURCE_UNAVAILABLE)
    async with Sessions(QUICK, ping_seconds=0.3) as sessions, anyio.create_task_group() as group:
        sessions.crashed = reported.append

        async def wait() -> None:
            waited.append(await fault_of(sessions, server, 60))

        group.start_soon(wait)
        with anyio.fail_after(60):
            while not waited:
                fault = await fault_of(sessions, server, 0.2)
                assert fault.code in unanswered
            assert (await fault_of(sessions, server, 2)).code in unanswered
    assert (waited[0].code, waited[0].message) == (
        FaultCode.SOURCE_UNAVAILABLE,
        "server was stopped: it responded to neither calls nor pings",
    )
    assert (reported[0].message, reported[0].place) == (waited[0].message, "mcp.json: deaf")
    assert len(set(pids_of(note))) > 1


async def test_calls_that_time_out_together_end_no_server_that_is_well(
    serve: Callable[[str], StdioServer], address: HttpServer
) -> None:
    """Tools that are slow are no reason to end a server, nor the calls of others to it."""
    for server in (serve("sdk"), address):
        async with Sessions(QUICK) as sessions:
            before = await sessions.call(server, "who", {}, timeout=10)
            met: list[Any] = []
            async with anyio.create_task_group() as group:
                group.start_soon(_meet, sessions, server, met)  # waits for another
                await anyio.wait_all_tasks_blocked()
                async with anyio.create_task_group() as slow:
                    for _ in range(5):
                        slow.start_soon(_too_slow, sessions, server)
                assert (await sessions.call(server, "who", {}, timeout=10)) == before
                await _meet(sessions, server, met)
            assert met == [before.structured] * 2


async def _too_slow(sessions: Sessions, server: Server) -> None:
    with pytest.raises(CallError, match="no response within"):
        await sessions.call(server, "wait", {}, timeout=0.3)


async def test_a_server_that_refuses_pings_is_well(
    serve: Callable[[str], StdioServer], note: Path
) -> None:
    """An error is an answer: it is only the tool that says nothing."""
    server = serve("mute")
    async with Sessions(QUICK) as sessions:
        for seconds in (3, 0.3, 0.3, 0.3):  # the first call starts the server
            assert (await fault_of(sessions, server, seconds)).code is FaultCode.TIMED_OUT
            await anyio.wait_all_tasks_blocked()
    assert len(pids_of(note)) == 4
    assert len(set(pids_of(note))) == 1


async def test_changes_of_the_tools_are_told(serve: Callable[[str], StdioServer]) -> None:
    """A server that renames its tools says so, in the old protocol and in the new one."""
    for mode, name in (("renames", "second"), ("sdk", "renamed")):
        changed = anyio.Event()
        server = serve(mode)
        async with Sessions(QUICK, lambda _, changed=changed: changed.set()) as sessions:
            assert name not in {tool.name for tool in (await sessions.tools(server)).tools}
            await sessions.call(server, "rename", {}, timeout=10)
            with anyio.fail_after(10):
                await changed.wait()
            assert name in {tool.name for tool in (await sessions.tools(server)).tools}


async def test_a_server_that_announces_no_news_rests(serve: Callable[[str], StdioServer]) -> None:
    """One that announces a change whenever it is listed is listed ever less, changed or not."""
    told: list[Server] = []
    server = serve("announces")

    async def listed(sessions: Sessions) -> int:
        assert (await sessions.tools(server)).tools
        await anyio.wait_all_tasks_blocked()
        return len(told)

    async with Sessions(QUICK, told.append, pauses=(600.0, 600.0)) as sessions:
        counts = [await listed(sessions) for _ in range(5)]
        assert counts == [1, 2, 2, 2, 2]
        await sessions.call(server, "first", {}, timeout=10)
        assert [await listed(sessions) for _ in range(3)] == [2, 2, 2]


async def test_an_announcement_that_waits_is_not_lost(serve: Callable[[str], StdioServer]) -> None:
    """When the rest is over, the server is asked."""
    told, server = anyio.Event(), serve("announces")
    async with Sessions(QUICK, lambda _: told.set(), pauses=(0.1, 0.1)) as sessions:
        for _ in range(3):
            await sessions.tools(server)
        told = anyio.Event()
        with anyio.fail_after(60):
            await told.wait()


async def test_a_server_that_comes_back_with_other_tools(
    serve: Callable[[str], StdioServer],
) -> None:
    """Who was started anew is asked whether its tools are still the same."""
    changed = anyio.Event()
    server = serve("dies_renamed")
    async with Sessions(QUICK, lambda _: changed.set()) as sessions:
        await sessions.tools(server)
        await sessions.call(server, "first", {}, timeout=10)
        with anyio.fail_after(10):
            await sessions._connections[0].ended.wait()
        assert not changed.is_set()
        await sessions.call(server, "first", {}, timeout=10)
        with anyio.fail_after(10):
            await changed.wait()


async def test_many_servers_are_opened_side_by_side(serve: Callable[[str], StdioServer]) -> None:
    """One that hangs does not hold up the others."""
    async with Sessions(QUICK) as sessions, anyio.create_task_group() as group:
        group.start_soon(sessions.tools, serve("hangs"))
        for mode in ("plain", "chatty"):
            assert (await sessions.call(serve(mode), "first", {}, timeout=10)).content
        group.cancel_scope.cancel()


async def test_nothing_outlives_a_cancellation(
    serve: Callable[[str], StdioServer],
) -> None:
    """Where the task that holds all is cancelled, programs end as well, in whatever they are."""
    async with anyio.create_task_group() as group:

        async def hold() -> None:
            async with Sessions(QUICK) as sessions, anyio.create_task_group() as calls:
                calls.start_soon(sessions.tools, serve("hangs"))
                await sessions.call(serve("plain"), "first", {}, timeout=10)
                living.extend(children() - before)
                group.cancel_scope.cancel()
                await anyio.sleep(10)

        living: list[int] = []
        before = children()
        group.start_soon(hold)
    assert len(living) == 2
    assert not [pid for pid in living if is_alive(pid)]


async def test_what_the_caller_raises_is_what_it_gets(serve: Callable[[str], StdioServer]) -> None:
    """An exception inside the context comes out as it is."""

    async def raising() -> None:
        async with Sessions(QUICK) as sessions:
            await sessions.tools(serve("plain"))
            raise KeyError

    with pytest.raises(KeyError):
        await raising()


async def test_one_server_is_closed(serve: Callable[[str], StdioServer]) -> None:
    """A server that is not needed any more ends, and is started anew when it is."""
    server, before = serve("plain"), children()
    async with Sessions(QUICK) as sessions:
        await sessions.tools(server)
        (pid,) = children() - before
        await sessions.close(server)
        await sessions.close(server)
        assert not is_alive(pid)
        assert (await sessions.tools(server)).tools


async def test_outside_of_its_context_nothing_is_asked(
    serve: Callable[[str], StdioServer],
) -> None:
    """Who forgot to enter is told so."""
    with pytest.raises(UsageError, match="async with"):
        await Sessions(QUICK).tools(serve("plain"))


class Forgetful(BaseHTTPRequestHandler):
    """A web server of the older protocol that forgets its session after each call."""

    session = 0
    status = 200
    forgotten: dict[str, Any] = {}  # noqa: RUF012 - of all

    def do_POST(self) -> None:
        """Answer, if the session is the latest."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind, number = type(self), request.get("id")
        if request["method"] == "server/discover":
            self.answer(400, {"id": number, "error": {"code": -32601, "message": "no"}})
        elif request["method"] == "initialize":
            kind.session += 1
            info = {"name": "web", "version": "1"}
            said = {"protocolVersion": "2025-06-18", "serverInfo": info}
            self.answer(200, {"id": number, "result": {**said, "capabilities": {"tools": {}}}})
        elif self.headers.get("Mcp-Session-Id") != str(kind.session):
            self.answer(404, {"id": number, **kind.forgotten} if number is not None else {})
        elif number is None:
            self.answer(202, {})
        elif kind.status != 200:
            self.answer(kind.status, {})
        else:
            self.answer(200, {"id": number, "result": {"content": [], "tools": []}})
            kind.session += 1

    def answer(self, status: int, said: dict[str, Any]) -> None:
        """Send an answer."""
        body = json.dumps({"jsonrpc": "2.0", **said}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", str(type(self).session))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Have nothing to tell."""
        self.answer(405, {})

    do_DELETE = do_GET  # noqa: N815 - the library's name

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def forgetful() -> Iterator[HttpServer]:
    """Such a server, on loopback."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), Forgetful)
    Thread(target=web.serve_forever, daemon=True).start()
    yield HttpServer("web", "web", f"http://127.0.0.1:{web.server_address[1]}/mcp")
    web.shutdown()
    web.server_close()
    Forgetful.status = 200


@pytest.mark.parametrize(
    "forgotten", [{}, {"error": {"code": -32600, "message": "Session not found"}}]
)
async def test_a_session_that_the_server_has_forgotten_is_opened_anew(
    forgetful: HttpServer, forgotten: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server did nothing of what it was asked, in whatever words, so it is asked again."""
    monkeypatch.setattr(Forgetful, "forgotten", forgotten)
    async with Sessions(QUICK) as sessions:
        for _ in range(3):
            assert (await sessions.call(forgetful, "first", {}, timeout=10)).content == ()
        Forgetful.status = 503
        fault = await fault_of(sessions, forgetful)
    assert (fault.code, fault.message, fault.has_died) == (
        FaultCode.SOURCE_UNAVAILABLE,
        "server responded with HTTP status 503",
        False,
    )


async def test_tools_are_listed_in_a_new_session_where_the_server_has_forgotten_the_old(
    forgetful: HttpServer,
) -> None:
    """A server that was started anew lists its tools again, also before anything is called."""
    async with Sessions(QUICK) as sessions:
        for _ in range(3):
            assert not (await sessions.tools(forgetful)).diagnostics


async def test_a_server_on_the_web_that_comes_back() -> None:
    """One that hung up in between is spoken to anew, also where all answers come by one stream."""
    port, other = free_port(), str(TESTS / "servers.py")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    server = HttpServer("web", "web", f"http://127.0.0.1:{port}/sse", headers, is_sse=True)
    async with Sessions(QUICK) as sessions:
        for _ in range(2):
            with listening(port, other, "sse"):
                called = await sessions.call(server, "add", {"a": 1, "b": 2}, timeout=20)
                assert called.structured == {"result": 3}
                kept = sessions._connections[0]
            with anyio.fail_after(10):
                await kept.ended.wait()


class Modern(BaseHTTPRequestHandler):
    """A web server of the newest protocol, which wants an argument repeated as a header."""

    def do_POST(self) -> None:
        """Answer a request."""
        self.serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def serve(self, request: dict[str, Any]) -> None:
        """Answer by the method, and a call by the tool's name."""
        method, params = request["method"], request.get("params") or {}
        said = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        if method == "server/discover":
            tools = {"tools": {"listChanged": True}}
            said |= {"supportedVersions": ["2026-07-28"], "capabilities": tools}
        elif method == "tools/list":
            schema = {"type": "object", "properties": {"n": NUMBER}}
            said |= {"tools": [{"name": "first", "inputSchema": schema}]}
        elif method == "tools/call" and params["name"] == "asks":
            said = {"resultType": "input_required", "inputRequests": {}, "requestState": "x"}
        elif method == "tools/call" and params["name"] == "first":
            if "Mcp-Param-N" not in self.headers:
                self.answer(
                    {"id": request["id"], "error": {"code": HEADER_MISMATCH, "message": ""}}
                )
                return
            said = {"resultType": "complete", "content": []}
        else:
            self.answer(None)
            return
        self.answer({"id": request["id"], "result": said})

    def answer(self, said: dict[str, Any] | None) -> None:
        """Send an answer, or break off before it."""
        self.send_response(200)
        kind = "application/json" if said is not None else "text/event-stream"
        self.send_header("Content-Type", kind)
        self.end_headers()
        if said is not None:
            self.wfile.write(json.dumps({"jsonrpc": "2.0", **said}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


NUMBER = {"type": "integer", "x-mcp-header": "N"}


async def test_a_server_is_heard_again_after_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often listening fails, it goes on, and what was missed is asked for."""
    monkeypatch.setattr(server_requests, "_PAUSE", 0.01)
    announcer, changed = Announcer("cut", "gone", "gone", "keep"), anyio.Event()
    with serving(announcer) as web:
        server = HttpServer("web", "web", web.url)
        async with Sessions(QUICK, lambda _: changed.set()) as sessions:
            await sessions.tools(server)
            announcer.names = ["second"]
            with anyio.fail_after(PATIENT):
                await changed.wait()
            assert [one.name for one in (await sessions.tools(server)).tools] == ["second"]
        assert len(announcer.listened) == 4


async def test_a_resource_that_is_refused_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists of the server and its other resources are listened to without it."""
    monkeypatch.setattr(server_requests, "_PAUSE", 0.01)
    announcer = Announcer("refuse")
    uris = ["a:1", "a:2", "bad:3", "a:4"]
    with serving(announcer) as web:
        server = HttpServer("web", "web", web.url)
        async with Sessions(QUICK) as sessions:
            sessions.watch(server, frozenset(uris))
            await sessions.tools(server)
            assert await anyio.to_thread.run_sync(announcer.heard.wait, PATIENT)
    uris.remove("bad:3")
    assert announcer.listened[-1] == {"toolsListChanged": True, "resourceSubscriptions": uris}
    assert len(announcer.listened) <= 8


async def test_a_server_without_subscriptions_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that knows no listening is asked to once."""
    monkeypatch.setattr(server_requests, "_PAUSE", 0.0)
    announcer = Announcer("refuse", code=METHOD_NOT_FOUND)
    with serving(announcer) as web:
        server = HttpServer("web", "web", web.url)
        async with Sessions(QUICK) as sessions:
            for _ in range(20):
                await sessions.tools(server)
    assert len(announcer.listened) == 1


async def test_a_subscription_of_older_versions_is_sent_until_it_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that cannot be reached for a moment is asked again."""
    monkeypatch.setattr(server_requests, "_PAUSE", 0.01)
    announcer = Announcer("gone", "gone", "refuse", version=OLD)
    with serving(announcer) as web:
        server = HttpServer("web", "web", web.url)
        async with Sessions(QUICK) as sessions:
            sessions.watch(server, frozenset(["a:1"]))
            await sessions.tools(server)
            with anyio.fail_after(PATIENT):
                while len(announcer.listened) < 3:  # noqa: ASYNC110 - counted by another thread
                    await anyio.sleep(0.01)


async def test_a_server_is_listed_again_whose_stream_ends() -> None:
    """After an outage the SDK gives up on announcements of older versions; tools are compared."""
    announcer, changed = Announcer(version=OLD), anyio.Event()
    with serving(announcer) as web:
        server = HttpServer("web", "web", web.url)
        async with Sessions(QUICK, lambda _: changed.set()) as sessions:
            await sessions.tools(server)
            announcer.names = ["second"]
            announcer.silenced.set()
            with anyio.fail_after(PATIENT):
                await changed.wait()


async def listed(announcer: Announcer, count: int) -> None:
    """Wait until the tools of a server were listed *count* times."""
    with anyio.fail_after(PATIENT):
        while announcer.lists < count:  # noqa: ASYNC110 - counted by another thread
            await anyio.sleep(0.01)


@pytest.mark.parametrize("name", ["first", "unknown"])
async def test_a_server_that_is_reached_again_is_listed_again(name: str) -> None:
    """One that was deployed anew while a call failed, be its answer an error, has other tools."""
    announcer, changed = Announcer(), anyio.Event()
    with serving(announcer) as web:
        server = HttpServer("web", "web", web.url)
        async with Sessions(QUICK, lambda _: changed.set()) as sessions:
            await sessions.tools(server)
            announcer.names, announcer.is_gone = ["second"], True
            await fault_of(sessions, server)
            announcer.is_gone = False
            with suppress(CallError):
                await sessions.call(server, name, {}, timeout=PATIENT)
            with anyio.fail_after(PATIENT):
                await changed.wait()
            assert [one.name for one in (await sessions.tools(server)).tools] == ["second"]
    assert announcer.lists == 3


async def test_lists_are_renewed_when_their_time_is_over(
    serve: Callable[[str], StdioServer], note: Path
) -> None:
    """Those that state none by the limit, others not within a minute; no program is started."""
    ended, stated = serve("dies_after"), Announcer(ttl=0)
    silent, changed = Announcer(version=OLD, ttl=None), anyio.Event()
    limits = Limits(relist_seconds=0.05)
    with serving(stated) as one, serving(silent) as other:
        async with Sessions(QUICK, lambda _: changed.set(), limits=limits) as sessions:
            for server in (ended, HttpServer("1", "1", one.url), HttpServer("2", "2", other.url)):
                assert (await sessions.tools(server)).tools
            await sessions.call(ended, "first", {}, timeout=10)
            sessions.uses += 1
            await listed(silent, 2)
            sessions.uses += 1
            silent.names = ["second"]
            with anyio.fail_after(PATIENT):
                await changed.wait()
    assert stated.lists == 1
    assert len(pids_of(note)) == 1


async def test_a_list_is_renewed_after_the_time_that_it_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that is deployed anew, and says nothing of it, is noticed."""
    monkeypatch.setattr(gateway_sessions, "_SHORTEST_TTL", 0.05)
    announcer = Announcer(ttl=1)
    with serving(announcer) as web:
        async with Sessions(QUICK) as sessions:
            await sessions.tools(HttpServer("web", "web", web.url))
            sessions.uses += 1
            await listed(announcer, 2)


@pytest.mark.parametrize("seconds", [0.02, 0])
async def test_without_clients_nothing_is_listed_again(seconds: float) -> None:
    """Nor where the limit says so."""
    announcer = Announcer(version=OLD, ttl=None)
    with serving(announcer) as web:
        async with Sessions(QUICK, limits=Limits(relist_seconds=seconds)) as sessions:
            await sessions.tools(HttpServer("web", "web", web.url))
            sessions.uses += not seconds
            await anyio.sleep(0.3)
    assert announcer.lists == 1


async def test_a_server_of_the_newest_protocol() -> None:
    """What only the newest protocol has is dealt with, or said to be impossible."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), Modern)
    Thread(target=web.serve_forever, daemon=True).start()
    server = HttpServer("web", "web", f"http://127.0.0.1:{web.server_address[1]}/mcp")
    async with Sessions(QUICK) as sessions:
        called = await sessions.call(server, "first", {"n": 1}, timeout=10)
        assert called.content == ()
        with pytest.raises(CallError, match="requests further input") as caught:
            await sessions.call(server, "asks", {}, timeout=10)
        assert caught.value.code is FaultCode.TOOL_FAILED
        with pytest.raises(CallError, match="response was cut off") as caught:
            await sessions.call(server, "breaks", {}, timeout=10)
        assert (caught.value.code, caught.value.has_died) == (FaultCode.SOURCE_UNAVAILABLE, True)
    web.shutdown()
    web.server_close()


class Mixed(Modern):
    """A web server that answers one call after it has failed another."""

    asked = Event()
    may_answer = Event()

    def serve(self, request: dict[str, Any]) -> None:
        """Hold one call back after the head of its answer, refuse one, and answer one at length."""
        name = (request.get("params") or {}).get("name")
        if name == "fails":
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif name == "hangs up":
            self.connection.shutdown(socket.SHUT_RDWR)
        elif name == "half":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "9")
            self.end_headers()
        elif name == "huge":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            with suppress(OSError):  # it is hung up on
                for _ in range(40):
                    self.wfile.write(b" " * (1 << 20))
        elif name == "refuses":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.asked.set()
            self.may_answer.wait(60)
            fault = {"code": -32602, "message": "no such order"}
            body = {"jsonrpc": "2.0", "id": request["id"], "error": fault}
            self.wfile.write(json.dumps(body).encode())
        else:
            super().serve(request)


@pytest.mark.parametrize(
    ("name", "code", "message", "has_died"),
    [
        ("fails", FaultCode.SOURCE_UNAVAILABLE, "server responded with HTTP status 500", False),
        ("huge", FaultCode.TOO_LARGE, "response is larger than 32 MB", False),
        ("hangs up", FaultCode.SOURCE_UNAVAILABLE, "server cannot be reached", True),
        ("half", FaultCode.SOURCE_UNAVAILABLE, "response was cut off", True),
    ],
)
async def test_each_call_over_http_fails_for_itself(
    name: str, code: FaultCode, message: str, has_died: bool
) -> None:
    """Why one call has failed is not said of another that waits meanwhile, nor does it end it."""
    Mixed.asked.clear()
    Mixed.may_answer.clear()
    web = ThreadingHTTPServer(("127.0.0.1", 0), Mixed)
    Thread(target=web.serve_forever, daemon=True).start()
    server = HttpServer("web", "web", f"http://127.0.0.1:{web.server_address[1]}/mcp")
    faults: list[CallError] = []
    async with Sessions(QUICK) as sessions, anyio.create_task_group() as group:
        await sessions.tools(server)

        async def refused() -> None:
            with pytest.raises(CallError) as caught:
                await sessions.call(server, "refuses", {}, timeout=30)
            faults.append(caught.value)

        group.start_soon(refused)
        assert await anyio.to_thread.run_sync(Mixed.asked.wait, 60)
        with pytest.raises(CallError) as caught:
            await sessions.call(server, name, {}, timeout=30)
        assert (caught.value.code, caught.value.message) == (code, message)
        assert caught.value.has_died == has_died
        Mixed.may_answer.set()
    web.shutdown()
    web.server_close()
    (fault,) = faults
    assert (fault.code, fault.message) == (
        FaultCode.TOOL_FAILED,
        "no such order (error -32602)",
    )


class OneStream(BaseHTTPRequestHandler):
    """A web server that answers by the stream of a GET, and refuses all calls but the first."""

    messages: Queue[dict[str, Any]]

    def do_GET(self) -> None:
        """Send what there is."""
        type(self).messages = messages = Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: /post\n\n")
        with suppress(OSError):  # it is hung up on
            while True:
                said = json.dumps({"jsonrpc": "2.0", **messages.get()})
                self.wfile.write(f"event: message\ndata: {said}\n\n".encode())

    def do_POST(self) -> None:
        """Take a request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, said = request["method"], {"content": []}
        if method == "initialize":
            info = {"name": "web", "version": "1"}
            said |= {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}
        name = (request.get("params") or {}).get("name")
        if "id" in request and name != "fails":
            self.messages.put({"id": request["id"], "result": said})
        self.send_response(500 if name == "fails" else 202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


async def test_a_message_that_does_not_arrive_is_answered_by_nobody() -> None:
    """Where all answers come by one stream, a call that is refused waits for none."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), OneStream)
    web.daemon_threads = True
    Thread(target=web.serve_forever, daemon=True).start()
    server = HttpServer("web", "web", f"http://127.0.0.1:{web.server_address[1]}/", is_sse=True)
    async with Sessions(QUICK) as sessions:
        for _ in range(2):
            assert (await sessions.call(server, "first", {}, timeout=60)).content == ()
            with pytest.raises(CallError) as caught:
                await sessions.call(server, "fails", {}, timeout=60)
            assert caught.value.message == "server responded with HTTP status 500"
    web.shutdown()
    web.server_close()


async def test_an_address_where_nobody_is() -> None:
    """A server that cannot be reached is said to be so."""
    nobody = HttpServer("nobody", "nobody", "http://127.0.0.1:1/mcp")
    async with Sessions(QUICK) as sessions:
        fault = await fault_of(sessions, nobody)
    assert (fault.code, fault.message) == (
        FaultCode.SOURCE_UNAVAILABLE,
        "server cannot be reached: connection refused",
    )
