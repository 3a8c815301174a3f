"""The gateway: sources that come and go, one index, and nothing that breaks it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from builders import ids
from processes import children

from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.errors import Code, NotFoundError, UsageError
from mcpg.gateway import (
    FaultCode,
    FileSource,
    FunctionSource,
    Gateway,
    ServerSource,
    SyncGateway,
    snapshots,
)
from mcpg.sources import read_sources
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import Callable

    Manifest = Callable[..., FileSource]

pytestmark = pytest.mark.anyio

SERVERS = Path(__file__).parents[1] / "servers.py"


def server(mode: str, source_id: str = "server") -> ServerSource:
    """Return a real server that behaves like *mode*."""
    program = StdioServer("test", source_id, sys.executable, (str(SERVERS), mode))
    return ServerSource(source_id, program)


def codes(gateway: Gateway | SyncGateway) -> list[str]:
    """Return the codes of what a gateway noticed."""
    return [one.code for one in gateway.diagnostics]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count how often an index is built."""
    builds: list[int] = []
    build = snapshots.build

    def counting(*given: object) -> object:
        builds.append(1)
        return build(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(snapshots, "build", counting)
    return builds


async def test_all_sources_are_searched_together(manifest: Manifest) -> None:
    """One search answers from every source."""
    mail = manifest("mail", mail_send="Send a mail to somebody")
    parcels = manifest("parcels", parcel_status="Tell where a parcel is")
    async with Gateway([mail, parcels]) as gateway:
        assert ids((await gateway.search("where is the parcel")).matches)[:1] == ["parcel_status"]
        assert ids((await gateway.search("send a mail")).matches)[:1] == ["mail_send"]
        assert [tool.id for tool in await gateway.list_tools()] == ["mail_send", "parcel_status"]


async def test_a_source_that_is_added_is_seen_by_the_next_search(manifest: Manifest) -> None:
    """Whoever asks after a source was added gets its tools, and none of one that was removed."""
    async with Gateway([manifest("mail", mail_send="Send a mail")]) as gateway:
        assert not (await gateway.search("parcel")).matches
        gateway.add(manifest("parcels", parcel_status="Tell where a parcel is"))
        assert ids((await gateway.search("parcel")).matches) == ["parcel_status"]
        assert await gateway.remove("PARCELS")
        assert not (await gateway.search("parcel")).matches
        assert not await gateway.remove("parcels")


async def test_ids_of_sources_are_unique(manifest: Manifest) -> None:
    """Two sources cannot have one id, in whatever case, and none has a blank one."""
    async with Gateway([manifest("mail", mail_send="Send a mail")]) as gateway:
        with pytest.raises(UsageError, match="already"):
            gateway.add(FileSource("Mail", "elsewhere"))
        with pytest.raises(UsageError, match="no id"):
            gateway.add(FileSource(" ", "elsewhere"))


async def test_the_index_is_built_once_however_many_ask(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred searches at once wait for one index."""
    builds = counted(monkeypatch)
    sources = [manifest("mail", mail_send="Send a mail"), manifest("b", other="Do else")]
    async with Gateway(sources) as gateway, anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(gateway.search, "mail")
    assert len(builds) == 1


async def test_who_gives_up_does_not_stop_the_others(manifest: Manifest) -> None:
    """The index is built to its end although the first who asked for it was cancelled."""
    sources = [manifest("mail", mail_send="Send a mail"), manifest("b", other="Do else")]
    async with Gateway(sources) as gateway:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await gateway.search("mail")
        assert ids((await gateway.search("mail")).matches) == ["mail_send"]


async def test_one_bundle_is_opened_and_not_built(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway over one bundle searches its compiled index."""
    source = manifest("post", mail_send="Send a mail")
    bundle = tmp_path / "graph.mdld"
    write_bundle(bundle, build_bundle(assemble(read_sources([source.path]))))
    builds = counted(monkeypatch)
    async with Gateway([FileSource("graph", str(bundle))]) as gateway:
        assert ids((await gateway.search("mail")).matches) == ["mail_send"]
        assert (await gateway.describe("mail_send")).source_id == "post"
    assert not builds
    async with Gateway([FileSource("graph", str(bundle))], reserved=["mail_send"]) as gateway:
        assert ids((await gateway.search("mail")).matches) == ["post_mail_send"]


async def test_source_code_beside_tools(manifest: Manifest, tmp_path: Path) -> None:
    """Source code is a source: it adds symbols to the index, and no tool."""
    (tmp_path / "login.py").write_text("def login(): pass\n")
    code = FileSource("code", f"code:{tmp_path / 'login.py'}")
    async with Gateway([manifest("post", mail_send="Send a mail"), code]) as gateway:
        assert ids((await gateway.search("login")).matches) == []
        engine = (await gateway.snapshot()).engine
        assert [one.definition.place for one in engine.code.find_named_symbols("login")] == [
            "login.py:1-1"
        ]


async def test_reserved_names_are_nobodys_id(manifest: Manifest) -> None:
    """A tool that is called like something reserved has another id, and the name it had."""
    sources = [manifest("mail", search="Search the mail"), manifest("b", other="Do else")]
    async with Gateway(sources, reserved=["SEARCH"]) as gateway:
        tool = await gateway.describe("mail_search")
        assert tool.name == "search"


async def test_a_broken_source_leaves_the_others(manifest: Manifest) -> None:
    """A file that is gone and a server that dies are told, and the rest is there."""
    sources = [manifest("mail", mail_send="Send a mail"), FileSource("gone", "no/such/file")]
    async with Gateway([*sources, server("dies")]) as gateway:
        assert ids((await gateway.search("mail")).matches) == ["mail_send"]
        assert codes(gateway).count(Code.SOURCE_LOAD_FAILED) == 2


async def test_a_gateway_without_any_tools_answers(tmp_path: Path) -> None:
    """Nothing to search is no fault."""
    for sources in ([], [FileSource("gone", str(tmp_path / "gone"))]):
        async with Gateway(sources) as gateway:
            await gateway.warm_up()
            assert not (await gateway.search("mail")).matches
            assert await gateway.list_tools() == ()


async def test_what_a_source_said_before_counts_on(manifest: Manifest, tmp_path: Path) -> None:
    """A source that fails when it is asked again keeps the tools it had, with a diagnostic."""
    sources = [manifest("mail", mail_send="Send a mail"), manifest("b", other="Do else")]
    async with Gateway(sources) as gateway:
        await gateway.build_index()
        (tmp_path / "mail.json").unlink()
        await gateway.build_index(force=True)
        assert ids((await gateway.search("mail")).matches) == ["mail_send"]
        assert Code.SOURCE_LOAD_FAILED in codes(gateway)


async def test_a_failed_build_keeps_the_last_index(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that cannot be made anew leaves the last good one, and says so; later it is."""

    def failing(*_: object) -> object:
        raise MemoryError

    sources = [manifest("mail", mail_send="Send a mail"), manifest("b", other="Do else")]
    async with Gateway(sources) as gateway:
        await gateway.build_index()
        gateway.add(manifest("parcels", parcel_status="Tell where a parcel is"))
        with monkeypatch.context() as patched:
            patched.setattr(snapshots, "build", failing)
            assert ids((await gateway.search("mail")).matches) == ["mail_send"]
            assert not (await gateway.search("parcel")).matches
            assert Code.GRAPH_BUILD_FAILED in codes(gateway)
        await gateway.build_index(force=True)
        assert ids((await gateway.search("parcel")).matches) == ["parcel_status"]
        assert Code.GRAPH_BUILD_FAILED not in codes(gateway)


async def test_what_failed_is_tried_again(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that could not be read is read again later, without anybody asking for it."""
    monkeypatch.setattr(snapshots, "RETRY", 0.0)
    monkeypatch.setattr(snapshots, "PAUSE", 0.0)
    late = FileSource("parcels", str(tmp_path / "parcels.json"))
    async with Gateway([manifest("mail", mail_send="Send a mail"), late]) as gateway:
        assert not (await gateway.search("parcel")).matches
        manifest("parcels", parcel_status="Tell where a parcel is")
        with anyio.fail_after(30):
            while not (await gateway.search("parcel")).matches:  # noqa: ASYNC110 - searches go on
                await anyio.sleep(0.01)
        assert Code.SOURCE_LOAD_FAILED not in codes(gateway)


async def test_a_source_that_failed_is_tried_again_once_however_many_ask(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches that come while the source is being asked again are no reason for another index."""
    late = FileSource("parcels", str(tmp_path / "parcels.json"))
    async with Gateway([manifest("mail", mail_send="Send a mail"), late]) as gateway:
        await gateway.search("parcel")
        monkeypatch.setattr(snapshots, "PAUSE", 0.0)
        monkeypatch.setattr(snapshots, "RETRY", 0.0)
        free = threading.Event()
        build = snapshots.build

        def slow(*given: object) -> object:
            free.wait(60)
            return build(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(snapshots, "build", slow)
        builds = counted(monkeypatch)
        for _ in range(5):
            await gateway.snapshot()
            await anyio.lowlevel.checkpoint()
        monkeypatch.setattr(snapshots, "RETRY", 30.0)
        free.set()
        await gateway.build_index()
    assert len(builds) == 1


def unread(pipe: IO[bytes]) -> int:
    """Return the number of bytes in *pipe* that nobody has read."""
    import fcntl  # noqa: PLC0415 - only where there are named pipes
    import termios  # noqa: PLC0415 - likewise

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.skipif(os.name != "posix", reason="named pipes are POSIX")
async def test_a_change_that_comes_while_a_source_is_asked_is_not_lost(
    manifest: Manifest, tmp_path: Path
) -> None:
    """What was read before a source said that it has changed is read again."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    old, new = (json.dumps({"tools": [{"name": name}]}) for name in ("mail_send", "mail_drop"))
    sources = [FileSource("mail", str(pipe)), manifest("b", other="Do else")]
    # Open for reading as well, for else there would be no writing before the source is read.
    with pipe.open("r+b", buffering=0) as writer:
        writer.write(old[:1].encode())
        async with Gateway(sources) as gateway:
            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    group.start_soon(gateway.build_index)
                    while unread(writer):  # noqa: ASYNC110 - a pipe has no event
                        await anyio.sleep(0.01)
                    assert gateway.invalidate("mail")
                    pipe.unlink()
                    pipe.write_text(new, "utf-8")
                    writer.write(old[1:].encode())
                    writer.close()
                snapshot = await gateway.build_index()
    assert [tool.id for tool in snapshot.catalog.tools] == ["mail_drop", "other"]


OPENED = f"""
import threading, time
import anyio
from mcpg.sources.client_config import StdioServer
from mcpg.errors import UsageError
from mcpg.gateway import Gateway, ServerSource, SyncGateway

silent = StdioServer("test", "silent", {sys.executable!r}, ({str(SERVERS)!r}, "silent"))
sources = [ServerSource("silent", silent)]
"""
LEFT = """
async def wait(ask):
    try:
        await ask()
    except UsageError as fault:
        print(fault.message)

async def main():
    async with anyio.create_task_group() as group, Gateway(sources) as gateway:
        for ask in (gateway.warm_up, gateway.list_tools, gateway.snapshot):
            group.start_soon(wait, ask)
        await anyio.wait_all_tasks_blocked()

anyio.run(main)
"""
LEFT_BY_ANOTHER = """
def wait(ask):
    try:
        ask()
    except UsageError as fault:
        print(fault.message)

with SyncGateway(sources) as gateway:
    asking = (gateway.warm_up, gateway.list_tools, gateway.build_index)
    threads = [threading.Thread(target=wait, args=(ask,)) for ask in asking]
    for thread in threads:
        thread.start()
    manager = gateway._gateway._manager
    while not manager._building or manager._building.statistics().tasks_waiting < len(threads):
        time.sleep(0.01)
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("program", [LEFT, LEFT_BY_ANOTHER])
def test_a_gateway_can_be_left_while_somebody_waits(program: str) -> None:
    """Whoever waits for an index that is not made any more is told so, and nothing hangs."""
    told = subprocess.run(
        [sys.executable, "-c", OPENED + program],
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
    ).stdout
    assert told.count("the gateway was closed") == 3


async def test_searches_go_on_while_a_server_changes(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that says it has other tools does not make searches wait; then they are there."""
    sources = [manifest("mail", mail_send="Send a mail"), manifest("b", other="Do else")]
    async with Gateway(sources) as gateway:
        await gateway.build_index()
        monkeypatch.setattr(snapshots, "PAUSE", 0.0)
        changed = anyio.Event()
        gateway.on_change(changed.set)
        free = threading.Event()
        build = snapshots.build

        def slow(*given: object) -> object:
            free.wait(30)
            return build(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(snapshots, "build", slow)
        manifest("mail", mail_send="Send a mail", mail_drop="Drop a mail")
        assert gateway.invalidate("mail")
        assert ids((await gateway.search("drop mail")).matches) == ["mail_send"]
        free.set()
        with anyio.fail_after(30):
            await changed.wait()
        assert ids((await gateway.search("drop mail")).matches)[0] == "mail_drop"
        assert not gateway.invalidate("nobody")


async def test_changes_in_a_row_do_not_keep_the_machine_busy(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that announces changes without end is read now and then, not without end."""
    builds = counted(monkeypatch)
    sources = [manifest("mail", mail_send="Send a mail"), manifest("b", other="Do else")]
    async with Gateway(sources) as gateway:
        await gateway.build_index()
        for _ in range(1000):
            gateway.invalidate("mail")
            await anyio.lowlevel.checkpoint()
        await gateway.build_index()
    assert len(builds) <= 3


async def test_who_fails_to_listen_does_not_end_the_gateway(manifest: Manifest) -> None:
    """What a callback raises reaches neither the gateway nor those that listen after it."""

    def fail() -> None:
        raise RuntimeError

    told: list[str] = []
    async with Gateway([manifest("mail", mail_send="Send a mail")]) as gateway:
        gateway.on_change(fail)
        gateway.on_change(lambda: told.append("new"))
        await gateway.build_index(force=True)
        assert ids((await gateway.search("mail")).matches) == ["mail_send"]
    assert told == ["new"]


async def test_who_listens_may_be_asynchronous(manifest: Manifest) -> None:
    """A callback that is a coroutine function runs to its end, and may use the gateway."""
    found: list[list[str]] = []
    told = anyio.Event()

    async def listen() -> None:
        found.append(ids((await gateway.search("mail")).matches))
        told.set()

    async with Gateway([manifest("mail", mail_send="Send a mail")]) as gateway:
        gateway.on_change(listen)
        await gateway.build_index()
        with anyio.fail_after(20):
            await told.wait()
    assert found == [["mail_send"]]


async def test_a_gateway_is_asked_only_while_it_is_open(manifest: Manifest) -> None:
    """Before and after, every question is an error that says what to do; it opens only once."""
    gateway = Gateway([manifest("mail", mail_send="Send a mail")])
    with pytest.raises(UsageError, match="not open"):
        await gateway.search("mail")
    async with gateway:
        with pytest.raises(UsageError, match="open already"):
            await gateway.__aenter__()
    with pytest.raises(UsageError, match="not open"):
        await gateway.list_tools()


async def test_what_is_raised_inside_stays_what_it_is(manifest: Manifest) -> None:
    """An error of the block that holds the gateway is not wrapped into others."""
    with pytest.raises(NotFoundError):
        async with Gateway([manifest("mail", mail_send="Send a mail")]) as gateway:
            await gateway.describe("nothing")


READS = json.dumps({"annotations": {"readOnlyHint": True}})


def mute_server(note: Path, source_id: str) -> ServerSource:
    """Return a server whose one tool says that it only reads, and never answers."""
    given = {"NOTE": str(note), "TOOL": READS}
    args = (str(SERVERS.parent / "callservers.py"), "mute")
    return ServerSource(source_id, StdioServer("test", "mute", sys.executable, args, given))


async def call(gateway: Gateway, found: list[FaultCode]) -> None:
    """Call the tool, and keep why that failed."""
    found.append((await gateway.invoke("first", timeout=60)).faults[0].code)


async def noted(note: Path) -> list[str]:
    """Return what the server has noted, once there is something."""
    with anyio.fail_after(30):
        while not await anyio.Path(note).exists():  # noqa: ASYNC110 - a file
            await anyio.sleep(0.01)
    return (await anyio.Path(note).read_text("utf-8")).splitlines()


async def test_a_server_that_is_removed_stays_ended(tmp_path: Path) -> None:
    """A call that its removal cuts off is not made again, although its tool only reads."""
    note = tmp_path / "note"
    found: list[FaultCode] = []
    before = children()
    async with Gateway([mute_server(note, "mute")]) as gateway:
        async with anyio.create_task_group() as group:
            group.start_soon(call, gateway, found)
            await noted(note)
            assert await gateway.remove("mute")
        assert children() == before
    assert found == [FaultCode.SOURCE_UNAVAILABLE]
    assert len(await noted(note)) == 1


async def test_a_server_of_two_sources_ends_with_the_last(tmp_path: Path) -> None:
    """Who is removed takes no connection from another that has the same server."""
    note, before = tmp_path / "note", children()
    async with Gateway([mute_server(note, "one"), mute_server(note, "two")]) as gateway:
        await gateway.build_index()
        kept = children()
        assert len(kept - before) == 1
        assert await gateway.remove("one")
        assert children() == kept
        assert await gateway.remove("two")
        assert children() == before


async def test_a_call_that_the_end_cuts_off_is_told(tmp_path: Path) -> None:
    """Whoever invokes a tool while the gateway is left gets an answer, not an exception."""
    note = tmp_path / "note"
    found: list[FaultCode] = []
    async with anyio.create_task_group() as group, Gateway([mute_server(note, "mute")]) as gateway:
        group.start_soon(call, gateway, found)
        await noted(note)
    assert found == [FaultCode.SOURCE_UNAVAILABLE]
    assert len(await noted(note)) == 1


async def test_tools_are_described_by_any_of_their_names(manifest: Manifest) -> None:
    """An id, a source with a name, and a name mean a tool; a pattern and half a name do not."""
    sources = [manifest("a", send="Send", drop="Drop"), manifest("b", send="Send it")]
    async with Gateway(sources) as gateway:
        for name in ("DROP", "a::drop", "drop"):
            assert (await gateway.describe(name)).id == "drop"
        for name, why in (("dr*", "no tool"), ("dro", "did you mean drop"), ("send", "2 tools")):
            with pytest.raises(NotFoundError) as caught:
                await gateway.describe(name)
            assert why in str(caught.value)


async def test_disabled_tools_are_listed_only_when_asked(tmp_path: Path) -> None:
    """What is off by default is not offered."""
    path = tmp_path / "tools.json"
    path.write_text('{"tools": [{"name": "a", "enabledByDefault": false}, {"name": "b"}]}')
    async with Gateway([FileSource("x", str(path))]) as gateway:
        assert [tool.id for tool in await gateway.list_tools()] == ["b"]
        assert [tool.id for tool in await gateway.list_tools(include_disabled=True)] == ["a", "b"]


async def test_a_document_speaks_for_a_tool_that_a_server_has(tmp_path: Path) -> None:
    """A bundle beside its servers is what is searched; the schema is the server's."""
    async with Gateway([server("pages")], live=ServerAccess()) as gateway:
        tools = await gateway.list_tools()
    found = read_sources([_written(tmp_path, tools[0].name)], source_id="server")
    bundle = tmp_path / "graph.mdld"
    write_bundle(bundle, build_bundle(assemble(found)))
    async with Gateway([server("pages"), FileSource("graph", str(bundle))]) as gateway:
        assert ids((await gateway.search("fold origami cranes")).matches) == [tools[0].id]
        described = await gateway.describe(tools[0].id)
        assert described.input_schema == tools[0].input_schema
        snapshot = await gateway.snapshot()
        assert snapshot.owner(described) == gateway.sources[0]


def _written(folder: Path, name: str) -> str:
    path = folder / "told.json"
    schema = '{"type": "object", "properties": {"stale": {"type": "string"}}}'
    text = f'"name": "{name}", "description": "Fold origami cranes.", "inputSchema": {schema}'
    path.write_text(f'{{"tools": [{{{text}}}]}}')
    return str(path)


async def test_functions_are_a_source() -> None:
    """Functions of the host are tools like any other."""

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    async with Gateway([FunctionSource("host", (double,))]) as gateway:
        tool = await gateway.describe("double")
        assert (tool.source_id, tool.required_arguments) == ("host", ("number",))


async def test_tools_are_invoked_by_any_of_their_names(manifest: Manifest) -> None:
    """What a tool gives is an answer, and so is why there is none."""

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    sources = [FunctionSource("host", (double,)), manifest("mail", mail_send="Send a mail")]
    async with Gateway(sources) as gateway:
        for name in ({"tool": "DOUBLE"}, {"tool": "host::double"}, {"name": "double"}):
            answer = await gateway.invoke(arguments={"number": 21}, **name)  # type: ignore[arg-type]
            assert answer.is_success
            assert answer.text == "42"
        faults = [
            await gateway.invoke(),
            await gateway.invoke("trouble"),
            await gateway.invoke("double", {"number": "x"}),
            await gateway.invoke("mail_send"),
        ]
        assert [answer.faults[0].code for answer in faults] == [
            FaultCode.NOTHING_NAMED,
            FaultCode.NOT_FOUND,
            FaultCode.ARGUMENTS_INVALID,
            FaultCode.NOT_INVOKABLE,
        ]


async def test_a_request_is_routed(manifest: Manifest) -> None:
    """The categories that serve a request are told over all sources."""
    sources = [manifest("mail", send="Send a mail"), manifest("parcels", find="Find a parcel")]
    async with Gateway(sources) as gateway:
        routed = await gateway.route("find a parcel", max_categories=1)
        assert [category.name for category in routed.categories] == ["parcels"]


def test_the_blocking_face_is_asked_only_while_it_is_open(manifest: Manifest) -> None:
    """Before and after, every question is an error that says what to do; it opens only once."""
    source = manifest("mail", mail_send="Send a mail")
    gateway = SyncGateway([source])
    asking = (
        lambda: gateway.sources,
        lambda: gateway.diagnostics,
        gateway.list_tools,
        partial(gateway.add, source),
        partial(gateway.remove, "mail"),
        partial(gateway.search, "mail"),
    )
    for _ in range(2):
        for ask in asking:
            with pytest.raises(UsageError, match="not open") as caught:
                ask()
            assert caught.value.remedy == "use it as a context manager"
        with gateway:
            with pytest.raises(UsageError, match="open already"):
                gateway.__enter__()
            assert ids(gateway.search("mail").matches) == ["mail_send"]


def test_programs_without_async_have_the_same_door(manifest: Manifest) -> None:
    """The blocking face does what the other does, from any thread."""
    with SyncGateway([manifest("mail", mail_send="Send a mail")]) as gateway:
        assert gateway.warm_up().tool_count == 1
        found: list[list[str]] = []
        ask = partial(gateway.search, "mail")
        threads = [
            threading.Thread(target=lambda: found.append(ids(ask().matches))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [["mail_send"]] * 4
        gateway.add(manifest("parcels", parcel_status="Tell where a parcel is"))
        assert [tool.id for tool in gateway.list_tools()] == ["mail_send", "parcel_status"]
        assert gateway.explain("parcel").result.matches[0].tool_id == "parcel_status"
        assert gateway.describe("mail_send").name == "mail_send"
        assert gateway.route("parcel").categories[0].name == "parcels"
        assert gateway.invoke("mail_send").faults[0].code == FaultCode.NOT_INVOKABLE
        assert gateway.invalidate("mail")
        assert gateway.remove("mail")
        assert [source.id for source in gateway.sources] == ["parcels"]
        assert gateway.build_index(force=True).tool_count == 1
        assert not codes(gateway)
