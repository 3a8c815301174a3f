"""What happens under load while something fails: crowds, a database, servers, hours of traffic.

    python benchmarks/bench_faults.py [crowd] [database] [serve] [--requests 2000]

`crowd`: ten processes at once write and read one bundle, its index and its caches, also before
there are any. Each answer must be that of one of the two bundles, to the byte.
`database`: threads search with candidates and a cache in PostgreSQL while it is restarted, frozen
and published to.
`serve`: clients of `mcpg serve` search, describe, call, list, err, cancel and vanish, while a
source of its bundle changes, and its servers die, hang and flood.

Each row names a count or a figure; the last column is what it may be at most. The exit code is 1
when one is more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from bench_serve import resident, server
from catalogues import made
from measuring import HERE, middle, percentile, program, row, workshop

sys.path.insert(0, str(HERE.parent / "tests"))
import pgserver
import processes

import mcpg
from mcpg.cli import main as run_program
from mcpg.postgres import Database, PostgresCache, PostgresCandidates, PostgresSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE, WORKERS, ROUNDS, CLIENTS = 220, 10, 5, 24
SERVER = HERE.parent / "tests" / "counterserver.py"


class Report:
    """Rows of figures, and whether each is within its bound."""

    def __init__(self) -> None:
        """Begin."""
        self.is_fine = True

    def add(self, name: str, figure: float, most: float | None = None) -> None:
        """Print a figure, which must be at most *most*."""
        self.is_fine &= most is None or figure <= most
        print(row(name, figure, "" if most is None else most), flush=True)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def write_tools(path: Path, version: int, count: int = SIZE) -> None:
    """Write a manifest of which half of the tools are in every version."""
    tools = made(count).tools
    changed = [{**one, "description": f"{one['description']} v{version}."} for one in tools[::2]]
    path.write_text(json.dumps([*changed, *tools[1::2]]))


# Crowds


def call_program(*arguments: str) -> tuple[int, str, str]:
    """Run the program in this process; return code, output and messages."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_program(list(arguments))
    return code, out.getvalue(), err.getvalue()


def answer(query: str) -> tuple[int, str, str]:
    """Return the answer of a search in JSON."""
    return call_program("search", query, "-b", "graph.mdld", "--format", "json", "-q")


def build(version: int) -> tuple[int, str, str]:
    """Build the bundle of a version."""
    return call_program("bundle", f"tools{version}.json", "-o", "graph.mdld", "-q")


def take_part(number: int, queries: list[str], wanted: dict[str, set[str]]) -> int:
    """Write or read with the others; return the number of faults."""
    faults = 0
    for turn in range(ROUNDS):
        query = queries[(number + turn) % len(queries)]
        if number % 3 == 0:
            code, out, err = build((number + turn) % 2)
            is_right = code == 0
        elif number % 3 == 1:
            code, out, err = answer(query)
            is_right = code in {0, 1} and out in wanted[query]
        else:
            code, out, err = call_program("graph", "search", query, "-b", "graph.mdld", "-q")
            is_right = code in {0, 1}
        if not is_right:
            faults += 1
            print(f"{number}: exit code {code}: {err[-300:] or out[:300]}", file=sys.stderr)
    return faults


def measure_crowd(folder: Path, report: Report) -> None:
    """Let processes write and read one bundle at once."""
    os.chdir(folder)
    os.environ["MCPG_CACHE_DIR"] = str(folder / "cache")
    queries = made(SIZE).queries[:6]
    wanted: dict[str, set[str]] = {query: set() for query in queries}
    bundles = set()
    for version in (0, 1):
        write_tools(Path(f"tools{version}.json"), version)
        build(version)
        bundles.add(Path("graph.mdld").read_bytes())
        for query in queries:
            wanted[query].add(answer(query)[1])
    faults = 0
    for is_cold in (True, False):
        if is_cold:
            for path in [*Path("cache").rglob("*"), Path("graph.mdld.idx")]:
                if path.is_file():
                    path.unlink()
        children = []
        for number in range(WORKERS):
            child = os.fork()
            if not child:
                os._exit(min(take_part(number, queries, wanted), 255))
            children.append(child)
        faults += sum(os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in children)
    report.add("crowd: runs", 2 * WORKERS * ROUNDS)
    report.add("crowd: wrong answers and failures", faults, 0)
    report.add("crowd: torn bundles", Path("graph.mdld").read_bytes() not in bundles, 0)
    report.add("crowd: temporary files", len([*folder.rglob("*.tmp")]), 0)


# PostgreSQL


class Postgres:
    """A server of PostgreSQL that can be restarted and frozen; *dsn* is its connection string."""

    def __init__(self, dsn: str) -> None:
        """Find the process of a running server."""
        self.dsn = dsn
        self.folder = Path(dsn.partition("host=")[2].split()[0])
        line = Path(f"/proc/{self.pid}/cmdline").read_bytes()
        self.command = line.decode().split("\0")[:-1]

    @property
    def pid(self) -> int:
        """The process that all others belong to."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def stop(self) -> None:
        """End it at once, as a crash does."""
        pid = self.pid
        os.kill(pid, signal.SIGQUIT)
        processes.is_gone(pid, 30)

    def start(self) -> None:
        """Start it again on the same data."""
        process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **pgserver.identity_of_server(),
        )
        pgserver.await_answer(self.dsn, process, self.folder / "log")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it do nothing, and its connections stay."""
        group = [self.pid, *processes.children(self.pid)]
        for pid in group:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in reversed(group):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


class Searches(threading.Thread):
    """Searches without an end, and what became of them."""

    def __init__(self, engine: mcpg.Engine, queries: list[str], wanted: set[str]) -> None:
        """Search *engine* for *queries*; *wanted* are all tools."""
        super().__init__(daemon=True)
        self.engine, self.queries, self.wanted = engine, queries, wanted
        self.times: list[float] = []
        self.faults: list[str] = []
        self.noticed: Counter[str] = Counter()
        self.is_over = False

    def run(self) -> None:
        """Search until it is over."""
        number = 0
        while not self.is_over:
            # The cache does not have the most of them.
            query = f"{self.queries[number % len(self.queries)]} {number // 3}"
            start = time.perf_counter()
            try:
                found = self.engine.search(query)
                self.noticed.update(one.code for one in found.diagnostics)
                if not found.matches or not {one.tool_id for one in found.matches} <= self.wanted:
                    self.faults.append(f"wrong matches for {query!r}")
            except Exception as fault:  # noqa: BLE001 - any is one
                self.faults.append(repr(fault))
            self.times.append(time.perf_counter() - start)
            number += 1
            time.sleep(0.002)


def measure_database(folder: Path, report: Report) -> None:
    """Search while the database is restarted, frozen and published to."""
    os.chdir(folder)
    write_tools(Path("tools0.json"), 0)
    build(0)
    with ExitStack() as stack:
        postgres = Postgres(stack.enter_context(pgserver.server()))
        stack.callback(postgres.stop)
        os.environ["MCPG_POSTGRES"] = postgres.dsn
        call_program("publish", "-b", "graph.mdld")
        database = stack.enter_context(
            Database(PostgresSettings(postgres.dsn, statement_timeout=3))
        )
        source = PostgresCandidates(database)
        engine = mcpg.load("graph.mdld", cache=PostgresCache(database), candidates=source)
        queries, tools = made(SIZE).queries, {one.id for one in engine.tools}
        before = threading.active_count()
        threads = [Searches(engine, queries[number::8], tools) for number in range(8)]
        for one in threads:
            one.start()
        for _ in range(3):
            time.sleep(2)
            postgres.stop()
            time.sleep(2)
            postgres.start()
            call_program("publish", "-b", "graph.mdld")
        time.sleep(1)
        with postgres.frozen():
            time.sleep(30)
        report.add("database: seconds until all is as before", wait_for_candidates(engine), 20)
        for one in threads:
            one.is_over = True
        for one in threads:
            one.join(60)
        connections = database.run(
            lambda one: one.execute(
                "select count(*) from pg_stat_activity where application_name = 'mcpg'"
            ).fetchone()
        )
        times = [seconds for one in threads for seconds in one.times]
        noticed = sum((one.noticed for one in threads), Counter())
        for fault in {fault for one in threads for fault in one.faults}:
            print(fault, file=sys.stderr)
        report.add("database: searches", len(times))
        report.add("database: failed searches", sum(len(one.faults) for one in threads), 0)
        report.add("database: threads that hang", sum(one.is_alive() for one in threads), 0)
        report.add("database: searches without a diagnostic of it", not noticed, 0)
        report.add("database: p50 of a search in ms", middle(times) * 1000)
        report.add("database: p99 of a search in ms", percentile(times, 0.99) * 1000)
        report.add("database: longest search in s", max(times), 20)
        report.add("database: connections at the end", (connections or (99,))[0], 4)
        # The pool has some of its own.
        report.add("database: more threads than before", threading.active_count() - before, 5)


def wait_for_candidates(engine: mcpg.Engine) -> float:
    """Return the seconds until a search has no diagnostic any more."""
    start, number = time.perf_counter(), 0
    while time.perf_counter() - start < 60:
        number += 1
        noticed = {one.code for one in engine.search(f"label {number}").diagnostics}
        if not noticed & {"candidates_failed", "search_cache_failed"}:
            return time.perf_counter() - start
        time.sleep(0.1)
    return 60.0


# Served


class Client:
    """A client of `mcpg serve` over HTTP; *noticed* counts what became of its requests."""

    def __init__(self, address: str, noticed: Counter[str]) -> None:
        """Name the server."""
        self.address, self.noticed = address, noticed
        self.http = httpx.AsyncClient(timeout=60)
        self.headers = {"Accept": "application/json, text/event-stream"}
        self.number = 0

    async def send(self, method: str, params: Any, seconds: float = 60) -> Any:
        """Send a request and return its answer, `None` if the client hangs up before."""
        self.number += 1
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        with suppress(httpx.TimeoutException):
            found = await self.http.post(
                self.address, json=body, headers=self.headers, timeout=seconds
            )
            session = found.headers.get("mcp-session-id")
            if session:
                self.headers["Mcp-Session-Id"] = session
            if found.status_code >= 400:
                raise RuntimeError(f"HTTP status {found.status_code}: {found.text[:200]}")
            lines = [line[5:] for line in found.text.splitlines() if line.startswith("data:")]
            return json.loads(next(filter(str.strip, reversed(lines)), found.text))
        self.noticed["hung up"] += 1
        return None

    async def open(self) -> None:
        """Begin a session, the one before is left behind."""
        self.headers.pop("Mcp-Session-Id", None)
        asked = {"protocolVersion": "2025-11-25", "capabilities": {}}
        await self.send("initialize", {**asked, "clientInfo": {"name": "a", "version": "1"}})
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.http.post(self.address, json=body, headers=self.headers)
        self.noticed["session"] += 1

    async def call(self, tool: str, seconds: float = 60, **arguments: Any) -> Any:
        """Call a tool and return its answer."""
        return await self.send("tools/call", {"name": tool, "arguments": arguments}, seconds)


class Traffic:
    """Requests of many clients, drawn at random."""

    def __init__(self, address: str, total: int, queries: list[str], seed: int) -> None:
        """Prepare *total* requests."""
        self.address, self.left, self.queries = address, total, queries
        self.draw = random.Random(seed)
        self.noticed: Counter[str] = Counter()
        self.times: list[float] = []

    async def work(self) -> None:
        """Be a client until all requests are sent."""
        client = Client(self.address, self.noticed)
        await client.open()
        kinds = [self.search, self.describe, self.invoke, self.list, self.err, self.vanish]
        while self.left > 0:
            self.left -= 1
            (kind,) = self.draw.choices(kinds, (40, 17, 30, 5, 6, 2))
            start = time.perf_counter()
            try:
                await kind(client)
            except Exception as fault:  # noqa: BLE001 - any is one
                self.noticed["fault"] += 1
                print(f"{kind.__name__}: {fault!r}"[:300], file=sys.stderr)
                await client.open()
            self.times.append(time.perf_counter() - start)
        await client.http.aclose()

    async def search(self, client: Client) -> None:
        """Search, and expect matches."""
        found = await client.call("gateway_tools_search", query=self.draw.choice(self.queries))
        self.noticed["search"] += bool(found["result"]["structuredContent"]["matches"])

    async def describe(self, client: Client) -> None:
        """Describe a tool that is always there."""
        found = await client.call(
            "gateway_tool_describe", toolId=f"{self.draw.choice('ab')}::count"
        )
        self.noticed["describe"] += not found["result"].get("isError")

    async def invoke(self, client: Client) -> None:
        """Call a tool; in a hundred calls it dies, hangs or floods."""
        chance = self.draw.random()
        arguments: dict[str, Any] = {}
        for name, given, share in (
            ("dies", True, 0.01),
            ("seconds", 30, 0.01),
            ("floods", 2000, 0.03),
        ):
            if chance < share:
                arguments[name] = given
                break
        source = self.draw.choice("ab")
        found = await client.call(
            "gateway_tool_invoke", toolId=f"{source}::count", arguments=arguments
        )
        has_failed = bool(found["result"].get("isError"))
        is_meant = arguments.keys() <= {"floods"}
        if is_meant and has_failed:
            faults = found["result"]["_meta"]["faults"]
            self.noticed[f"invoke {source}: {faults[0]['code']}"] += 1
        self.noticed["invoke"] += 1

    async def list(self, client: Client) -> None:
        """List the tools."""
        found = await client.send("tools/list", {})
        self.noticed["list"] += len(found["result"]["tools"]) > 1

    async def err(self, client: Client) -> None:
        """Ask for what there is not."""
        method, params = self.draw.choice(
            [
                ("tools/call", {"name": "nothing", "arguments": {}}),
                ("tools/call", {"name": "gateway_tool_invoke", "arguments": {"toolId": "x:y"}}),
                ("no/method", {}),
                ("tools/call", {"name": "gateway_tools_search", "arguments": {"query": 7}}),
            ]
        )
        found = await client.send(method, params)
        self.noticed["err"] += "error" in found or bool(found["result"].get("isError"))

    async def vanish(self, client: Client) -> None:
        """Hang up, or cancel, within a call; leave the session behind, or end it."""
        late = {"toolId": "a::count", "arguments": {"seconds": 0.5}}
        if self.draw.random() < 0.5:
            await client.call("gateway_tool_invoke", seconds=0.05, **late)
        else:
            task = asyncio.create_task(client.call("gateway_tool_invoke", **late))
            await asyncio.sleep(0.05)
            params = {"requestId": client.number, "reason": "enough"}
            body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            await client.http.post(client.address, json=body, headers=client.headers)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self.draw.random() < 0.5:
            await client.http.delete(client.address, headers=client.headers)
        await client.open()


def count_held(pid: int) -> dict[str, float]:
    """Return what a process has: memory in MB, descriptors, threads and children."""
    return {
        "MB resident": resident(pid),
        "descriptors": len([*Path(f"/proc/{pid}/fd").iterdir()]),
        "threads": len([*Path(f"/proc/{pid}/task").iterdir()]),
        "children": len(processes.children(pid)),
    }


@contextmanager
def web_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server that is reached over HTTP."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), "http", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def restart_web_server(port: int, is_over: threading.Event) -> None:
    """Let the web server die and come back, again and again."""
    while not is_over.is_set():
        with web_server(port) as process:
            end = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < end and not is_over.wait(0.1):
                pass


def change_source(path: Path, is_over: threading.Event) -> None:
    """Change the tools of a served manifest, so that its index is made anew."""
    version = 0
    while not is_over.wait(20):
        version += 1
        write_tools(path, version)


def measure_serve(folder: Path, report: Report, total: int) -> None:
    """Serve mixed traffic, and look what grows."""
    os.chdir(folder)
    write_tools(Path("tools.json"), 0)
    port = free_port()
    web, program_ = {"url": f"http://127.0.0.1:{port}/mcp"}, {"command": sys.executable}
    servers = {"a": {**program_, "args": ["-S", str(SERVER)]}, "b": web}
    Path("mcp.json").write_text(json.dumps({"mcpServers": servers}))
    Path("mcpg.toml").write_text("[limits]\ninvoke_timeout = 10\nsession_idle_timeout = 5\n")
    is_over = threading.Event()
    helpers = [
        threading.Thread(target=restart_web_server, args=(port, is_over)),
        threading.Thread(target=change_source, args=(Path("tools.json"), is_over)),
    ]
    for one in helpers:
        one.start()
    command = [*program(), "serve", "mcp.json", "tools.json", "--http", "0", "--record-calls", "c"]
    try:
        with server(command) as (address, pid):
            serve_rounds(address, pid, total, report)
    finally:
        is_over.set()
        for one in helpers:
            one.join()


def serve_rounds(address: str, pid: int, total: int, report: Report) -> None:
    """Send the requests in ten rounds, and report what the server had after the second and last."""
    held, noticed, times = [], Counter[str](), []
    for number in range(10):
        traffic = Traffic(address, total // 10, made(SIZE).queries, number)

        async def send(traffic: Traffic = traffic) -> None:
            await asyncio.gather(*(traffic.work() for _ in range(CLIENTS)))

        asyncio.run(send())
        time.sleep(6)  # until the sessions that were left behind have ended
        held.append(count_held(pid))
        noticed += traffic.noticed
        times += traffic.times
        print(f"  round {number + 1}: {held[-1]} {dict(traffic.noticed)}", file=sys.stderr)
    report.add("serve: requests", len(times))
    report.add("serve: sessions", noticed["session"])
    report.add("serve: failed requests", noticed["fault"], 0)
    calls = [name for name in noticed if name.startswith("invoke")]
    for name in sorted(calls):
        report.add(f"serve: {name}", noticed[name])
    report.add("serve: p50 of a request in ms", middle(times) * 1000)
    report.add("serve: p99 of a request in ms", percentile(times, 0.99) * 1000)
    for name, first in held[1].items():
        report.add(f"serve: {name}, after a fifth", first)
        most = first * 1.1 if name == "MB resident" else first + 3
        report.add(f"serve: {name}, at the end", held[-1][name], most)


PARTS = {"crowd": measure_crowd, "database": measure_database, "serve": measure_serve}


def main() -> int:
    """Measure the parts, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--requests", type=int, default=2000, metavar="N")
    given = parser.parse_args()
    report = Report()
    print(row("", "figure", "at most"))
    for name in given.parts or PARTS:
        with workshop(None) as folder:
            more = (given.requests,) if name == "serve" else ()
            PARTS[name](folder, report, *more)
            os.chdir(HERE)
    return 0 if report.is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
