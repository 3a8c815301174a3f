"""What a gateway adds to a call: `mcpg serve` in turn with a FastMCP proxy and no gateway.

    python benchmarks/bench_calls.py [FOLDER] [--fastmcp PYTHON] [--rounds 40] [--calls 25]

All gateways stand before the same server, a child of theirs made with the SDK, whose tool `echo`
returns its argument. FOLDER is one of judged sets, of which `bfcl` is searched; without it a
catalogue of 2,000 tools is made. PYTHON is an interpreter of an environment with FastMCP; without
it the proxy is left out. The client is the SDK's, with one connection to each server, and calls
them in turns, so that other work on the machine disturbs all of them alike.

Columns: p50 in ms of a call as its client sees it; ms of the processor's time that the gateway's
own process spends on a call; what both are above the row that the table names. The search itself
is one of the same engine in the process of the benchmark, by the same queries.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from bench_serve import processor
from catalogues import chosen
from measuring import environment, middle, program, row, workshop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from catalogues import Catalogue
    from mcp import Client

HERE = Path(__file__)
SIZE = 2000
WARM = 30
ADDRESS = re.compile(r"http://127\.0\.0\.1:[1-9][0-9]*")

PROXY = """
import json, socket, sys
from fastmcp.server import create_proxy
proxy = create_proxy(json.load(open(sys.argv[1])))
if sys.argv[2:]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    proxy.run(transport="http", port=port, show_banner=False)
proxy.run(show_banner=False)
"""


def echo(is_http: bool) -> None:
    """Be a server of the SDK."""
    import uvicorn
    from mcp.server import MCPServer

    bare = MCPServer("bare", log_level="CRITICAL")

    @bare.tool()
    def echo(text: str) -> str:
        """Return the text back."""
        return text

    if is_http:
        uvicorn.run(bare.streamable_http_app(), port=0, log_level="info", access_log=False)
    else:
        bare.run()


class Subject:
    """A server that is called."""

    def __init__(
        self, name: str, command: Sequence[str], tool: str, asked: Callable[[str], dict[str, Any]]
    ) -> None:
        self.name, self.command, self.tool, self.asked = name, list(command), tool, asked
        self.times: list[float] = []
        self.spent = 0.0
        self._client: Client | None = None
        self._pid = 0

    async def open(self, stack: AsyncExitStack, transport: str, mode: str) -> None:
        """Start the server and connect to it."""
        from mcp import Client, StdioServerParameters

        known = set(children())
        if transport == "http":
            target: Any = f"{self._listening(stack)}/mcp"
        else:
            first, *rest = self.command
            target = StdioServerParameters(command=first, args=rest, env=dict(environment()))
        self._client = await stack.enter_async_context(Client(target, mode=mode))
        (self._pid,) = set(children()) - known

    def _listening(self, stack: AsyncExitStack) -> str:
        process = subprocess.Popen(
            [*self.command, *(["--http", "0"])],
            stderr=subprocess.PIPE,
            env=dict(environment()),
            text=True,
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        for line in process.stderr or ():
            if found := ADDRESS.search(line):
                wait_for(found[0])
                return found[0]
        raise SystemExit(f"{self.name} does not listen")

    async def call(self, texts: Sequence[str], *, is_measured: bool = True) -> None:
        """Call the tool with each of *texts*."""
        assert self._client is not None
        before = processor(self._pid)
        for text in texts:
            start = time.perf_counter()
            result = await self._client.call_tool(self.tool, self.asked(text))
            if result.is_error:
                raise SystemExit(f"{self.name}: {result.content}")
            if is_measured:
                self.times.append((time.perf_counter() - start) * 1000)
        if is_measured:
            self.spent += processor(self._pid) - before

    @property
    def figures(self) -> tuple[float, float]:
        """The median of the times, and the mean of the processor's time."""
        return middle(self.times), self.spent / len(self.times)


class InProcess(Subject):
    """The engine by itself."""

    def __init__(self, manifest: Path) -> None:
        import mcpg

        super().__init__("the search itself", (), "", dict)
        self._engine = mcpg.load(str(manifest))

    async def open(self, stack: AsyncExitStack, transport: str, mode: str) -> None:
        """Be ready."""

    async def call(self, texts: Sequence[str], *, is_measured: bool = True) -> None:
        """Search for each of *texts*."""
        before = time.thread_time()
        for text in texts:
            start = time.perf_counter()
            self._engine.search(text)
            if is_measured:
                self.times.append((time.perf_counter() - start) * 1000)
        if is_measured:
            self.spent += (time.thread_time() - before) * 1000


def wait_for(address: str) -> None:
    """Wait until a server that has named its address listens."""
    for _ in range(300):
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", urlsplit(address).port or 0)).close()
            return
        time.sleep(0.1)


def children() -> Iterator[int]:
    """Yield the processes that this one has started."""
    for task in Path("/proc/self/task").iterdir():
        yield from map(int, (task / "children").read_text(encoding="utf-8").split())


async def in_turns(
    subjects: Sequence[Subject], texts: Sequence[str], transport: str, args: argparse.Namespace
) -> None:
    """Call all *subjects* in turns."""
    async with AsyncExitStack() as stack:
        for one in subjects:
            await one.open(stack, transport, args.mode)
            await one.call(texts[:WARM], is_measured=False)
        for number in range(args.rounds):
            start = WARM + number * args.calls
            part = [texts[place % len(texts)] for place in range(start, start + args.calls)]
            for one in subjects:
                await one.call(part)


def print_table(subjects: Sequence[Subject], title: str, base: int) -> None:
    """Print a row for each subject; the rows after *base* are compared with those up to it."""
    print(row(title, "p50 ms", "cpu ms", "+ p50", "+ cpu", first=44))
    floors = [one.figures for one in subjects[: base + 1]]
    for number, one in enumerate(subjects):
        cells = [*one.figures]
        if number > base:
            cells += [
                mine - sum(each)
                for mine, each in zip(one.figures, zip(*floors, strict=True), strict=True)
            ]
        print(row(one.name, *cells, first=44), flush=True)


def echoed(text: str) -> dict[str, Any]:
    """Return the arguments of `echo`."""
    return {"text": text}


def passed(folder: Path, args: argparse.Namespace) -> list[Subject]:
    """Return the echo without a gateway and with each."""
    bare = [sys.executable, str(HERE), "--echo"]
    own = {"command": bare[0], "args": [*bare[1:], "stdio"]}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"bare": own}}), encoding="utf-8")
    ours = [*program(), "serve", str(config)]

    def invoked(text: str) -> dict[str, Any]:
        return {"toolId": "echo", "arguments": {"text": text}}

    found = [
        Subject("no gateway", [*bare, "self"], "echo", echoed),
        Subject("mcpg serve, gateway_tool_invoke", ours, "gateway_tool_invoke", invoked),
        Subject("mcpg serve --expose all", [*ours, "--expose", "all"], "echo", echoed),
    ]
    if args.fastmcp:
        command = [args.fastmcp, "-c", PROXY, str(config)]
        found.append(Subject("FastMCP proxy", command, "echo", echoed))
    return found


def searched(catalogue: Catalogue, folder: Path) -> list[Subject]:
    """Return the echo, the search by itself, and the served search."""
    manifest = folder / "tools.json"
    manifest.write_text(catalogue.manifest, encoding="utf-8")

    def query(text: str) -> dict[str, Any]:
        return {"query": text}

    ours = [*program(), "serve", str(manifest)]
    return [
        Subject("no gateway, echo", [sys.executable, str(HERE), "--echo", "self"], "echo", echoed),
        InProcess(manifest),
        Subject("mcpg serve, gateway_tools_search", ours, "gateway_tools_search", query),
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--fastmcp", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=25)
    parser.add_argument("--mode", choices=("legacy", "auto"), default="legacy")
    parser.add_argument("--transport", choices=("stdio", "http"))
    parser.add_argument("--only", choices=("calls", "searches"))
    parser.add_argument("--echo", help=argparse.SUPPRESS)
    parser.add_argument("--http", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.echo:
        echo(args.http is not None)
        return
    catalogue = next(iter(chosen(args.folder, "bfcl", [SIZE])))
    print(f"{args.rounds} rounds of {args.calls} calls, protocol: {args.mode}")
    for transport in (args.transport,) if args.transport else ("stdio", "http"):
        with workshop(None) as folder:
            if args.only != "searches":
                calls = passed(folder, args)
                anyio.run(in_turns, calls, catalogue.queries, transport, args)
                print_table(calls, f"a call of echo, {transport}", 0)
            if args.only != "calls":
                searches = searched(catalogue, folder)
                anyio.run(in_turns, searches, catalogue.queries, transport, args)
                print_table(searches, f"a search of {len(catalogue.tools):,}, {transport}", 1)


if __name__ == "__main__":
    main()
