"""What a search costs over the wire: many clients of `mcpg serve`, beside a bare SDK server.

    python benchmarks/bench_serve.py [FOLDER] [--clients 50] [--searches 200] [--rounds 2]

FOLDER is one of judged sets, of which `bfcl` is served; without it a catalogue of 2,000 tools is
made. Both servers run as processes of their own, over streamable HTTP on this machine; the clients
are the SDK's, in one process, and cost about as much as what they ask. `echo` is a server made with
the SDK whose tool gives back its argument; `in process` is the same search without a server.

Columns: p50 and p99 in ms of a call as its client sees it, with all clients at once; calls a
second; errors; ms of the processor's time that the server spent on a call, which other work on the
machine disturbs less; MB resident of the server after its first round, and after this one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from catalogues import chosen
from measuring import environment, percentile, program, row, workshop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from catalogues import Catalogue

HERE = Path(__file__)
SIZE = 2000
IN_PROCESS = 500


class Load:
    """Calls by many clients, one after the other each, all side by side."""

    def __init__(self, address: str, clients: int, calls: int, mode: str) -> None:
        self.address, self.clients, self.calls, self.mode = address, clients, calls, mode
        self.times: list[float] = []
        self.errors = 0

    async def run(self, tool: str, arguments: Callable[[int], dict[str, Any]]) -> float:
        """Call *tool*, and give the seconds that all calls took together."""
        start = time.perf_counter()
        async with anyio.create_task_group() as group:
            for number in range(self.clients):
                group.start_soon(self._client, number, tool, arguments)
        return time.perf_counter() - start

    async def _client(self, number: int, tool: str, arguments: Any) -> None:
        from mcp import Client

        async with Client(self.address, mode=self.mode) as client:
            for call in range(self.calls):
                start = time.perf_counter()
                try:
                    result = await client.call_tool(tool, arguments(number * self.calls + call))
                    self.errors += bool(result.is_error)
                except Exception:  # noqa: BLE001 - any fault is one
                    self.errors += 1
                self.times.append((time.perf_counter() - start) * 1000)


@contextmanager
def server(command: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Run a server, and give its address and its process."""
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env=dict(environment()), text=True
    ) as process:
        try:
            for line in process.stderr or ():
                found = re.search(r"http://127\.0\.0\.1:[1-9][0-9]*", line)
                if found:
                    yield f"{found[0]}/mcp", process.pid
                    break
        finally:
            process.terminate()


def echo() -> None:
    """Be a bare server of the SDK."""
    import uvicorn
    from mcp.server import MCPServer

    bare = MCPServer("bare", log_level="CRITICAL")

    @bare.tool()
    def echo(text: str) -> str:
        """Return the text back."""
        return text

    uvicorn.run(bare.streamable_http_app(), port=0, log_level="info", access_log=False)


def processor(pid: int) -> float:
    """Return the ms of the processor's time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Return the MB that a process has resident."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def measured(
    name: str, command: Sequence[str], tool: str, asked: Callable[[int], dict[str, Any]], args: Any
) -> None:
    """Print the row of one server."""
    with server(command) as (address, pid):
        warm = Load(address, 1, 20, args.mode)
        anyio.run(warm.run, tool, asked)
        held: list[float] = []
        for number in range(args.rounds):
            load = Load(address, args.clients, args.searches, args.mode)
            spent = processor(pid)
            seconds = anyio.run(load.run, tool, asked)
            spent = (processor(pid) - spent) / len(load.times)
            held.append(resident(pid))
            p50, p99 = percentile(load.times, 0.5), percentile(load.times, 0.99)
            cells = (p50, p99, len(load.times) / seconds, str(load.errors), spent)
            print(row(f"{name}, round {number + 1}", *cells, held[0], held[-1]), flush=True)


def in_process(catalogue: Catalogue, manifest: Path) -> None:
    """Print the row of the engine by itself."""
    import mcpg

    engine = mcpg.load(str(manifest))
    times = []
    begin, spent = time.perf_counter(), time.process_time()
    for number in range(IN_PROCESS):
        start = time.perf_counter()
        engine.search(catalogue.queries[number % len(catalogue.queries)])
        times.append((time.perf_counter() - start) * 1000)
    rate = IN_PROCESS / (time.perf_counter() - begin)
    p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
    spent = (time.process_time() - spent) * 1000 / IN_PROCESS
    print(row("search, in process, one by one", p50, p99, rate, "0", spent), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--mode", choices=("legacy", "auto"), default="legacy")
    parser.add_argument("--echo", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.echo:
        echo()
        return
    catalogue = next(iter(chosen(args.folder, "bfcl", [SIZE])))
    count = f"{len(catalogue.tools):,} tools of {catalogue.name}"
    print(f"{count}, {args.clients} clients, {args.searches} calls each, protocol: {args.mode}")
    print(row("", "p50", "p99", "calls/s", "errors", "cpu ms", "MB first", "MB now"))
    with workshop(None) as folder:
        manifest = folder / "tools.json"
        manifest.write_text(catalogue.manifest, encoding="utf-8")
        in_process(catalogue, manifest)
        queries = catalogue.queries

        def query(number: int) -> dict[str, Any]:
            return {"query": queries[number % len(queries)]}

        def text(number: int) -> dict[str, Any]:
            return {"text": queries[number % len(queries)]}

        bare = [sys.executable, str(HERE), "--echo"]
        measured("echo", bare, "echo", text, args)
        ours = [*program(), "serve", str(manifest), "--http", "0"]
        measured("mcpg serve", ours, "gateway_tools_search", query, args)


if __name__ == "__main__":
    main()
