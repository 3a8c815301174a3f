"""`mcpg serve` as a client starts it, and as a person does."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from processes import children, is_gone

from mcpg.cli.settings import Settings
from mcpg.errors import UsageError
from mcpg.gateway.serve import EVERYDAY, GRAPH_SEARCH
from mcpg.gateway.serve_command import (
    SERVING_SETTINGS,
    find_address,
    find_given,
    make_http,
)
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shop import Run

SEARCH, ROUTE, _, DESCRIBE, INVOKE, _, READ = EVERYDAY
TESTS = Path(__file__).parents[1]
TOKEN = "marker-token-123456"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def config(folder: Path) -> Path:
    """A client's configuration of one server that works and one that does not."""
    servers = {
        "git": {"command": sys.executable, "args": ["-S", str(TESTS / "gitserver.py")]},
        "gone": {"command": str(folder / "gone"), "env": {"TOKEN": TOKEN}},
    }
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    subprocess.run(["git", "init", "-q", "-b", "trunk", folder], check=True)
    return path


@contextmanager
def serving(*arguments: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server that runs until the test is over."""
    command = [sys.executable, "-W", "ignore", "-m", "mcpg", "serve", *arguments]
    pipe = subprocess.PIPE
    environ = {**os.environ, **env}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environ) as process:
        timer = threading.Timer(60, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


def appeared(pid: int) -> set[int]:
    """Wait for a process to have children, and give them."""
    deadline = time.monotonic() + 30
    while not (found := children(pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found
    return found


def sent(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> None:
    """Write messages to the standard input of a server."""
    assert process.stdin is not None
    for message in messages:
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


async def used(config: Path, errors: Path, *options: str) -> None:
    """Use a server as a client that has started it does."""
    command = StdioServerParameters(
        command=sys.executable, args=["-W", "ignore", "-m", "mcpg", "serve", str(config), *options]
    )
    with errors.open("w", encoding="utf-8") as file:
        async with Client(stdio_client(command, errlog=file)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == list(EVERYDAY)
            found = await client.call_tool(SEARCH, {"query": "working tree status"})
            assert found.structured_content["matches"][0]["toolId"] == "git_status"
            call = {"toolId": "git_status", "arguments": {"repo_path": str(config.parent)}}
            called = await client.call_tool(INVOKE, call)
            assert "?? mcp.json" in called.structured_content["files"]


def test_a_client_starts_it_and_uses_it(config: Path) -> None:
    """A client's ten servers become one: it finds and calls what stands behind."""
    errors = config.parent / "errors"
    anyio.run(used, config, errors)
    told = errors.read_text("utf-8")
    # What works says nothing; what does not is told without its secrets.
    assert told.startswith("error[source_load_failed]")
    assert len(told.splitlines()) == 1
    assert "gone" in told
    assert TOKEN not in told


def test_a_view_starts_no_server_that_it_hides(config: Path, run: Callable[..., Run]) -> None:
    """A server that the view hides is neither started nor reported; the others are served."""
    (config.parent / "mcpg.toml").write_text('[views.code]\nservers = ["GIT"]\n', "utf-8")
    errors = config.parent / "errors"
    (config.parent / ".gitignore").write_text("mcpg.toml\n", "utf-8")
    anyio.run(used, config, errors, "--view", "code")
    assert errors.read_text("utf-8") == ""
    found = run("serve", str(config), "--view", "cod")
    assert found.code == 2
    assert "did you mean 'code'?" in found.err


@pytest.mark.skipif(os.name == "nt", reason="pipes have no limit that can be waited for")
@pytest.mark.parametrize("end", ["signal", "input"])
def test_a_client_that_reads_nothing_can_end_it(folder: Path, end: str) -> None:
    """A signal, and the end of its input, end a server that cannot write its output."""
    tool = {"name": "large", "description": "x" * 200_000}
    (folder / "large.json").write_text(json.dumps({"tools": [tool]}), "utf-8")
    described = {"name": DESCRIBE, "arguments": {"toolId": "large"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": described}
    with serving(str(folder / "large.json"), "--max-bytes", "1000000") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sent(process, INITIALIZE)
        assert json.loads(process.stdout.readline())["id"] == 1
        sent(process, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call)
        select.select([process.stdout], [], [])  # the rest has no room
        if end == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        assert process.wait(50) == 0


async def described(address: str | StdioServerParameters, mode: str) -> None:
    """Find and describe a tool of a bundle, as a client that sees no tool that calls."""
    transport = address if isinstance(address, str) else stdio_client(address)
    async with Client(transport, mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [name for name in EVERYDAY if name not in (INVOKE, READ)]
        assert INVOKE not in (client.instructions or INVOKE)
        found = await client.call_tool(SEARCH, {"query": "where is my parcel"})
        best = found.structured_content["matches"][0]["toolId"]
        card = await client.call_tool(DESCRIBE, {"toolId": best})
        assert card.structured_content["toolId"] == best == "shipment_status"


ALONE = pytest.mark.parametrize(
    "arguments", [["other.mdld"], ["-b", "other.mdld"], ["--reviewed", "other.mdld"]]
)


@pytest.fixture
def bundled(run: Callable[..., Run], sources: Path) -> Path:
    """A working folder with a bundle whose server is not there."""
    assert run("bundle", str(sources), "-o", "other.mdld", "--force").code == 0
    return sources.parent


@ALONE
def test_a_bundle_is_served_alone(bundled: Path, arguments: list[str]) -> None:
    """However a bundle is named, its tools are found and described over standard input."""
    command = ["-W", "ignore", "-m", "mcpg", "serve", *arguments]
    environ = dict(os.environ)
    program = StdioServerParameters(
        command=sys.executable, args=command, env=environ, cwd=str(bundled)
    )
    anyio.run(described, program, "legacy")


@ALONE
def test_a_bundle_is_served_alone_over_http(bundled: Path, arguments: list[str]) -> None:
    """Over HTTP as well, and nothing but the address is reported."""
    assert (bundled / "other.mdld").exists()
    with serving(*arguments, "--http", "0") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith(b"serving"), line
        for mode in ("legacy", "auto"):
            anyio.run(described, line.split()[-1].decode(), mode)
        process.terminate()
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


async def found_by_words(config: Path, *options: str) -> list[bool]:
    """Return whether the searches of a server find what only other words than the query's name."""
    arguments = ["-W", "ignore", "-m", "mcpg", "serve", str(config), "--graph-tools", *options]
    command = StdioServerParameters(
        command=sys.executable, args=arguments, env=dict(os.environ), cwd=config.parent
    )
    with (config.parent / "errors").open("w", encoding="utf-8") as file:
        async with Client(stdio_client(command, errlog=file)) as client:
            answers = [
                (await client.call_tool(name, {"query": "історія"})).structured_content
                for name in (SEARCH, ROUTE, GRAPH_SEARCH)
            ]
    return [bool(one.get("matches") or one.get("categories")) for one in answers]


@pytest.mark.parametrize(
    ("variable", "options", "file", "is_on"),
    [
        ("", [], "", True),
        ("", ["--no-lexicon"], "", False),
        ("off", [], "", False),
        ("", [], "lexicon = false\n", False),
    ],
)
def test_the_switch_of_the_lexicon_holds_for_every_search(
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    options: list[str],
    file: str,
    *,
    is_on: bool,
) -> None:
    """Searching, routing and searching the graph use words of other languages, or none does."""
    monkeypatch.setenv("MCPG_LEXICON", variable)
    (config.parent / "mcpg.toml").write_text(file, "utf-8")

    assert anyio.run(found_by_words, config, *options) == [is_on] * 3


def test_it_ends_when_its_client_leaves(config: Path) -> None:
    """The end of standard input ends the server and the programs it has started; lines are kept."""
    with serving(str(config), "-q") as process:
        sent(process, INITIALIZE)
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["result"]["serverInfo"]["name"] == "mcpg"
        assert said["result"]["capabilities"]["tools"] == {"listChanged": True}
        started = appeared(process.pid)
        out, _ = process.communicate(b"\xff rubbish\n" + b"x" * 100, timeout=30)
        assert process.returncode == 0
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert all(is_gone(child) for child in started)


def test_it_ends_when_nobody_reads(config: Path) -> None:
    """A client that is gone without a word ends the server, as soon as it has something to say."""
    with serving(str(config), "-q") as process:
        sent(process, INITIALIZE)
        assert process.stdout is not None
        process.stdout.readline()
        started = appeared(process.pid)
        process.stdout.close()
        sent(process, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert process.wait(20) == 0
    assert all(is_gone(child) for child in started)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_told_to(config: Path, number: signal.Signals) -> None:
    """A signal ends the server though its client still listens, and leaves no child behind."""
    with serving(str(config)) as process:
        sent(process, INITIALIZE)
        assert process.stdout is not None
        process.stdout.readline()
        started = appeared(process.pid)
        process.send_signal(number)
        assert process.wait(20) == 0
    assert all(is_gone(child) for child in started)


def test_it_serves_over_http(config: Path) -> None:
    """Over HTTP it says where it is, asks for the token, and ends while a client still listens."""
    with serving(str(config), "--http", "0", "-v", MCPG_SERVE_TOKEN=TOKEN) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, b"")
        address = next(line.split()[-1] for line in lines if line.startswith(b"serving")).decode()
        health = urllib.request.urlopen(address.replace("/mcp", "/healthz"), timeout=10)
        assert json.loads(health.read()) == {"status": "ok"}
        headers = {
            "Authorization": f"Bearer {TOKEN}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        body = json.dumps(INITIALIZE).encode()
        opened = urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=10)
        assert b'"serverInfo"' in opened.read()
        headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
        listening = urllib.request.urlopen(
            urllib.request.Request(address, headers=headers), timeout=10
        )
        started = appeared(process.pid)
        process.terminate()
        assert process.wait(20) == 0
        listening.close()
        told = process.stderr.read()
        assert b"initialize done" in told
        assert TOKEN.encode() not in told
    assert all(is_gone(child) for child in started)


def test_what_makes_no_sense_is_refused(run: Callable[..., Run], config: Path) -> None:
    """A mistake is told before anything is started."""
    for arguments, said in (
        (("--http", "here"), "is not an address"),
        (("--http", "70000"), "is not an address"),
        (("--http", "0.0.0.0:80"), "MCPG_SERVE_TOKEN"),
        (("--endpoint", "https://sparql.example"), "--graph-tools"),
        (("--strategy", "best"), "best"),
        (("--max-bytes", "100"), "2048"),
        (("--record-calls", "-"), "belongs to the protocol"),
        (("--bundle", "graph.mdld"), "pass it as a further SOURCE"),
    ):
        found = run("serve", str(config), *arguments)
        assert (found.code, found.out) == (2, "")
        assert said in found.err
    for option in ((), ("-b",), ("--reviewed",)):
        missing = run("serve", *option, "nothing.json")
        assert missing.code == 2
        assert "nothing.json" in missing.err


def test_the_extra_is_named(
    run: Callable[..., Run], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the SDK the command says what to install."""
    monkeypatch.setitem(sys.modules, "mcp.server.transport_security", None)
    monkeypatch.delitem(sys.modules, "mcpg.gateway.serve.http", raising=False)
    found = run("serve", str(config), "--http", "0")
    assert found.code == 2
    assert install_command("mcp") in found.err


@pytest.mark.parametrize("arguments", [["serve", "--help"], ["invoke", "--help"], ["serve"]])
def test_a_plain_install_has_help(arguments: list[str]) -> None:
    """Without any package of the extra, help is shown, and serving says what to install."""
    missing = ("anyio", "filelock", "httpx2", "jsonschema_rs", "mcp", "starlette")
    program = f"import sys; sys.modules.update(dict.fromkeys({missing}))\n"
    program += "from mcpg.cli import main; sys.exit(main())"
    # Another process: modules that were imported without the packages must not meet others.
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = (0, "") if "--help" in arguments else (2, install_command("mcp"))
    assert done.returncode == expected[0], done.stderr
    assert expected[1] in done.stderr


def test_settings_say_how_it_is_served(tmp_path: Path) -> None:
    """What the command line does not say stands in the configuration file, with its place."""
    lines = ["[serve]", 'http = "::1:80"', 'allow_hosts = ["a.example"]', 'expose = "all"']
    lines += ["graph_tools = true", "max_bytes = 4096", "requests = 3", "sessions = 5"]
    (tmp_path / "mcpg.toml").write_text("\n".join(lines), "utf-8")
    address = find_address(Settings(tmp_path))
    assert address is not None
    assert address.given == {"hosts": ["a.example"], "requests": 3, "sessions": 5}
    with pytest.raises(UsageError) as caught:
        make_http(address)
    assert str(caught.value.place).endswith("mcpg.toml: serve.http")
    assert find_address(Settings(tmp_path), is_stdio=True) is None
    with pytest.raises(UsageError, match="over both"):
        find_address(Settings(tmp_path, {}, {"http": "80"}), is_stdio=True)
    said = Settings(
        tmp_path, {}, {"http": "8080", "expose": "gateway", "allow_host": ["b.example"]}
    )
    address = find_address(said)
    assert address is not None
    http = make_http(address)
    assert (http.host, http.port, http.sessions) == ("127.0.0.1", 8080, 5)
    assert (http.rules.hosts, http.rules.requests) == (("b.example",), 3)
    shown = find_given(said, SERVING_SETTINGS)
    assert shown == {"expose": "gateway", "graph_tools": True, "answer_bytes": 4096}
    (tmp_path / "mcpg.toml").write_text("", "utf-8")
    assert find_address(Settings(tmp_path)) is None
    assert find_given(Settings(tmp_path), SERVING_SETTINGS) == {}
