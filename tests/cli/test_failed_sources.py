"""A source that fails costs no tool: its tools are kept from the last build, and marked stale."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from shop import MANIFEST

from mcpg.bundle import read_bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shop import Run

SERVERS = str(Path(__file__).parent.parent / "servers.py")
TOKEN = "marker-token-1234"
OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Weather", "version": "1"},
    "paths": {"/now": {"get": {"operationId": "weather_now", "summary": "Tell the weather now."}}},
}


HINTS_OF_DESK = """\
tools:
  desk::tool_0:
    aliases: [the first of all]
    related: [take_note]
    nextSteps: [desk::tool_1]
  take_note:
    nextSteps: [desk::tool_2]
"""


class WebServer:
    """A server at an address, which can be stopped and started."""

    def __init__(self, mode: str) -> None:
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/{'sse' if mode == 'sse' else 'mcp'}"
        self._mode = mode
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-W", "ignore", SERVERS, self._mode, str(self.port)]
        self._process = subprocess.Popen(command)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def web() -> Iterator[dict[str, WebServer]]:
    """A server of each transport over HTTP."""
    servers = {mode: WebServer(mode) for mode in ("http", "sse")}
    yield servers
    for server in servers.values():
        server.stop()


def program(mode: str, **more: Any) -> dict[str, Any]:
    """Return the entry of a program that behaves by its mode."""
    return {"command": sys.executable, "args": ["-S", SERVERS, mode], **more}


def write_client(folder: Path, **servers: dict[str, Any]) -> None:
    """Write the configuration of a client."""
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")


def write_settings(folder: Path, *entries: dict[str, Any]) -> None:
    """Write the sources of `mcpg.toml`."""

    def toml(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
        return json.dumps(value)

    texts = (
        "".join(f"{key} = {toml(value)}\n" for key, value in entry.items()) for entry in entries
    )
    (folder / "mcpg.toml").write_text("".join(f"[[sources]]\n{text}" for text in texts), "utf-8")


def tools_of(run: Callable[..., Run]) -> dict[str, set[str]]:
    """Return the names of the bundle's tools by source."""
    found: dict[str, set[str]] = {}
    for tool in run("list", "--format", "json").json["tools"]:
        found.setdefault(tool["sourceId"], set()).add(tool["toolName"])
    return found


def without_mark(path: Path) -> tuple[Any, ...]:
    """Return the documents of a bundle."""
    return tuple((one.path, one.content, one.canonical_uri) for one in read_bundle(path).documents)


def every_kind(folder: Path, web: dict[str, WebServer], mode: str, manifest: str) -> None:
    """Write sources of every kind: programs of a *mode*, and a file with the text *manifest*."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "shop.json").write_text(manifest, "utf-8")
    name = "take_note" if mode == "pages" else "[take_note"
    (tools / "notes.md").write_text(f"---\nname: {name}\n---\n\nWrite a note down.\n", "utf-8")
    (tools / "team.hints.yaml").write_text(HINTS_OF_DESK, "utf-8")
    (folder / "weather.json").write_text(json.dumps(OPENAPI), "utf-8")
    write_client(
        folder,
        desk=program(mode),
        remote={"url": web["http"].url, "headers": {"Authorization": f"Bearer {TOKEN}"}},
        older={
            "type": "sse",
            "url": web["sse"].url,
            "headers": {"Authorization": f"Bearer {TOKEN}"},
        },
    )
    write_settings(
        folder,
        {"path": "tools"},
        {"path": "weather.json"},
        {"path": "mcp.json"},
        {"python": "textwrap:shorten"},
        {"id": "named", **program(mode)},
        program(mode, env={"NAME": "itself"}),
        {"id": "address", "url": web["http"].url, "headers": {"Authorization": "Bearer ${KEY}"}},
    )


def test_failed_sources_are_counted(folder: Path, run: Callable[..., Run]) -> None:
    """A build that leaves sources out states how many of how many, whatever was read besides."""
    tools = folder / "tools"
    tools.mkdir()
    for name in "abc":
        (tools / f"{name}.json").write_text(json.dumps(MANIFEST), "utf-8")
    write_client(folder, gone={"command": "no-such-program"}, odd={}, desk=program("pages"))
    done = run("bundle", "tools", "mcp.json", "-o", "graph.mdld")
    assert (done.code, "2 of 6 sources failed\n" in done.err) == (0, True)
    (tools / "c.json").write_text("{", "utf-8")
    assert "3 of 6 sources failed\n" in run("bundle", "tools", "mcp.json", "--check").err
    assert "1 of 3 sources failed\n" in run("bundle", "tools", "-o", "other.mdld").err
    (tools / "c.json").unlink()
    assert "failed" not in run("bundle", "tools", "-o", "other.mdld").err


def test_every_kind_of_source_may_fail(
    folder: Path,
    run: Callable[..., Run],
    web: dict[str, WebServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Servers by every transport, and broken files: all tools stay as they were, marked stale."""
    monkeypatch.setenv("KEY", TOKEN)
    every_kind(folder, web, "pages", json.dumps(MANIFEST))
    assert run("bundle", "--strict").code == 0
    before, documents = tools_of(run), without_mark(folder / "graph.mdld")
    assert before.keys() >= {"shop", "desk", "remote", "older", "named", "by hand itself"}
    for server in web.values():
        server.stop()
    every_kind(folder, web, "crash", "<<<<<<< HEAD\n")
    failed = run("bundle", "--format", "json")
    assert failed.code == 0
    assert tools_of(run) == before
    assert without_mark(folder / "graph.mdld") == documents
    stale = {item["place"] for item in failed.json["diagnostics"] if item["code"] == "tools_stale"}
    assert stale == {
        "shop",
        "desk",
        "remote",
        "older",
        "named",
        "by hand itself",
        "address",
        "local",
    }
    assert set(failed.json["staleTools"]) == set(read_bundle(folder / "graph.mdld").stale)
    assert ", 17 stale" in run("bundle").err
    checked = run("bundle", "--check")
    assert checked.code == 1
    assert ": its source failed" in checked.err
    assert "17 stale" in run("doctor").out
    for server in web.values():
        server.start()
    every_kind(folder, web, "pages", json.dumps(MANIFEST))
    assert run("bundle", "--strict").code == 0
    assert read_bundle(folder / "graph.mdld").stale == ()
    assert without_mark(folder / "graph.mdld") == documents


def test_missing_tools_are_left_out_on_request(folder: Path, run: Callable[..., Run]) -> None:
    """With --allow-missing the tools of a failed server go, and they are named."""
    write_client(folder, one=program("pages"), two=program("pages"))
    assert run("bundle", "mcp.json").code == 0
    write_client(folder, one=program("pages"), two=program("dies"))
    done = run("bundle", "mcp.json", "--allow-missing", "--format", "json")
    assert done.code == 0
    assert "left out, because two failed: tool_0, tool_1, tool_2" in done.err
    assert done.json["staleTools"] == []
    assert tools_of(run).keys() == {"one"}


def test_what_a_server_itself_removed_goes(folder: Path, run: Callable[..., Run]) -> None:
    """A server that answers, or that the configuration names no more, has the last word."""
    write_client(folder, one=program("pages"), two=program("pages"), three=program("pages"))
    run("bundle", "mcp.json")
    write_client(folder, one=program("chatty"), two=program("dies"))
    run("bundle", "mcp.json")
    three = {"tool_0", "tool_1", "tool_2"}
    assert tools_of(run) == {"one": {"tool_0"}, "two": three}


def test_a_bundle_of_a_bundle_keeps_the_mark(folder: Path, run: Callable[..., Run]) -> None:
    """Stale tools stay so in a bundle of the bundle, until another source has them."""
    write_client(folder, one=program("pages"), two=program("pages"))
    run("bundle", "mcp.json", "-o", "inner.mdld")
    write_client(folder, one=program("pages"), two=program("dies"))
    run("bundle", "mcp.json", "-o", "inner.mdld")
    stale = read_bundle(folder / "inner.mdld").stale
    assert len(stale) == 3

    (folder / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    done = run("bundle", "inner.mdld", "shop.json", "-o", "outer.mdld", "--format", "json")
    assert set(done.json["staleTools"]) == set(stale)
    assert set(read_bundle(folder / "outer.mdld").stale) == set(stale)
    assert run("bundle", "inner.mdld", "shop.json", "-o", "outer.mdld", "--check").code == 0

    write_client(folder, two=program("pages"))
    again = run("bundle", "inner.mdld", "mcp.json", "-o", "outer.mdld", "--format", "json")
    assert again.json["staleTools"] == []


def test_servers_without_a_name(folder: Path, run: Callable[..., Run]) -> None:
    """Of a failed server that names itself, the tools whose source nothing else has are kept."""
    words = [f"stdio:{sys.executable} -S {SERVERS} {mode}" for mode in ("pages", "dies")]
    (folder / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    assert run("bundle", "shop.json", words[0]).code == 0
    before = tools_of(run)
    assert run("bundle", "shop.json", words[1]).code == 0
    assert tools_of(run) == before
    assert len(read_bundle(folder / "graph.mdld").stale) == 3


def test_one_source_id_for_all(folder: Path, run: Callable[..., Run]) -> None:
    """With --source-id it is the names of tools that tell what is missing."""
    write_client(folder, one=program("sdk"), two=program("pages"))
    words = ("bundle", "mcp.json", "--source-id", "all")
    (folder / "mcp.json").write_text(
        (folder / "mcp.json").read_text("utf-8").replace('"-S", ', "", 1), "utf-8"
    )
    assert run(*words).code == 0
    before = tools_of(run)
    write_client(folder, one=program("dies"), two=program("pages"))
    assert run(*words).code == 0
    assert tools_of(run) == before == {"all": {"add", "tool_0", "tool_1", "tool_2"}}


@pytest.mark.parametrize("entry", ["client", "settings"])
def test_a_variable_that_is_not_set(folder: Path, run: Callable[..., Run], entry: str) -> None:
    """A server that cannot even be started keeps its tools, too."""
    broken = program("pages", env={"KEY": "${MCPG_TEST_UNSET_VARIABLE}"})
    write = {
        "client": lambda one: write_client(folder, one=one, two=program("pages")),
        "settings": lambda one: write_settings(
            folder, {"id": "one", **one}, {"id": "two", **program("pages")}
        ),
    }[entry]
    words = ("bundle", "mcp.json") if entry == "client" else ("bundle",)
    write(program("pages"))
    assert run(*words).code == 0
    before = tools_of(run)
    write(broken)
    assert run(*words).code == 0
    assert tools_of(run) == before
    assert len(read_bundle(folder / "graph.mdld").stale) == 3


def test_a_first_build_has_nothing_to_keep(folder: Path, run: Callable[..., Run]) -> None:
    """Without a last bundle, and for standard output, the others are bundled."""
    write_client(folder, one=program("pages"), two=program("dies"))
    done = run("bundle", "mcp.json")
    assert (done.code, "tools_stale" in done.err) == (0, False)
    assert run("bundle", "mcp.json", "-o", "-").code == 0


def test_a_last_bundle_that_cannot_be_read(folder: Path, run: Callable[..., Run]) -> None:
    """Nothing is written where it is not known what would be lost, unless that is allowed."""
    write_client(folder, one=program("pages"), two=program("dies"))
    damaged = '{"version":1,"documents":[\n{"path":"tools/two/'
    (folder / "graph.mdld").write_text(damaged, "utf-8")
    done = run("bundle", "mcp.json")
    assert done.code == 2
    assert "its tools cannot be kept from the last build" in done.err
    assert "--allow-missing" in done.err
    assert (folder / "graph.mdld").read_text("utf-8") == damaged
    assert run("bundle", "mcp.json", "--allow-missing").code == 0
    assert tools_of(run).keys() == {"one"}


def test_strict_refuses_a_failed_source(folder: Path, run: Callable[..., Run]) -> None:
    """Under --strict a failure writes nothing, kept tools or not."""
    write_client(folder, one=program("pages"), two=program("pages"))
    run("bundle", "mcp.json")
    before = (folder / "graph.mdld").read_bytes()
    write_client(folder, one=program("pages"), two=program("dies"))
    assert run("bundle", "mcp.json", "--strict").code == 1
    assert (folder / "graph.mdld").read_bytes() == before


def test_generated_documents_are_kept(folder: Path, run: Callable[..., Run]) -> None:
    """Documents of a failed server are neither obsolete nor pruned, unless that is allowed."""
    write_client(folder, one=program("pages"), two=program("pages"))
    words = ("generate", "mcp.json", "-o", "docs", "--prune", "--format", "json")
    assert run(*words).code == 0
    before = {path: path.read_bytes() for path in (folder / "docs").rglob("*.md")}
    assert len(before) == 6
    write_client(folder, one=program("pages"), two=program("dies"))
    done = run(*words)
    assert (done.code, done.json["obsolete"], len(done.json["staleTools"])) == (0, [], 3)
    assert {path: path.read_bytes() for path in (folder / "docs").rglob("*.md")} == before
    assert run(*words, "--allow-missing").code == 0
    assert len([*(folder / "docs").rglob("*.md")]) == 3


def test_the_reason_quotes_standard_error(folder: Path, run: Callable[..., Run]) -> None:
    """The last lines and the line with the error are shown, without secrets and colours."""
    write_client(folder, one=program("pages"), two=program("crash", env={"TOKEN": "hush-1"}))
    done = run("bundle", "mcp.json")
    assert done.code == 0
    told = (
        "server exited (code 1) before responding; last lines of its standard error: "
        "Error: Cannot find module 'server.js' | tried with *** | Node.js v20.19.2 (mcp.json: two)"
    )
    assert told in done.err
    assert "hush-1" not in done.err
