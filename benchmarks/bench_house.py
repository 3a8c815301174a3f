"""How much of the code one has to open, and what starting it costs.

    python benchmarks/bench_house.py [--runs 15]

Of the package, by its syntax trees: modules, lines, circles of imports (those for types and in
functions count), functions and their lengths without docstrings, imports in functions, the marks of
a dialect, names of functions that do not begin with a verb, and imports of optional rooms.

Of frequent commands on the examples: the files of ours that one run imports, and those that it runs
code of, beyond what stands at the top of a module. Of `mcpg serve`: the files whose code runs
between the request for a tool and the answer, when a client searches, and when it has a tool of
another server called. POSIX systems only.

Then the processor's time of whole processes, user and system, medians of runs that take turns: ms,
x pass as a multiple of `python -c pass`, x search as one of a plain `mcpg search`, each the median
of the ratios within a turn.

With PYTHONPATH set to another checkout the figures are those of that checkout.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freeze import ASKED, EXAMPLES, FREQUENT, imported
from measuring import FLOOR, HERE, environment, middle, program, row, workshop

import mcpg

TESTS = HERE.parent / "tests"
sys.path.insert(0, str(TESTS))
from imports import circles, import_graph, modules  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT = Path(mcpg.__file__).resolve().parent.parent
COMMANDS = {
    "search": ("search", *ASKED),
    "search --format json": ("search", *ASKED, "--format", "json"),
    "list": ("list", "-b", "tools.mdld"),
    "explain": ("explain", *ASKED),
    "show": ("show", "shipment_status", "-b", "tools.mdld"),
}
BUNDLE = ("bundle", "tools/commerce.json", "-o", "two.mdld")
TOUCHED = {**FREQUENT, "bundle of one manifest": BUNDLE, "lint": ("lint", "tools", "--exit-zero")}
CALLS = {
    "gateway_tools_search": {"query": "add two numbers"},
    "gateway_tool_invoke": {"toolId": "add", "arguments": {"a": 1, "b": 2}},
}
PATIENCE = 60.0
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
OPTIONAL = {"gateway", "graph", "code", "postgres", "explore", "telemetry"}
PARTICIPLE = re.compile(
    "[a-z]+(ed|en)|begun|born|bound|brought|built|caught|done|drawn|fed|felt|found|gone|grown|heard|"
    "held|kept|known|laid|led|left|lost|made|meant|met|paid|said|sent|shown|spent|stood|sung|taught|"
    "thought|thrown|told|torn|understood|won|worn"
)
"""Participles; `read` and `put` are verbs in another form as well."""
TRACED = """
import importlib.metadata, json, os, signal, sys, threading
file, seen = sys.argv.pop(1), set()

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        seen.add(frame.f_code.co_filename)

def write(*_):
    with open(file + ".part", "w") as part:
        json.dump(sorted(seen), part)
    os.replace(file + ".part", file)

signal.signal(signal.SIGUSR1, lambda *_: seen.clear())
signal.signal(signal.SIGUSR2, write)
(script,) = importlib.metadata.entry_points(group="console_scripts", name="mcpg")
main = script.load()
threading.setprofile(note)
sys.setprofile(note)
code = main(sys.argv[1:])
sys.setprofile(None)
write()
sys.exit(code)
"""


class Client:
    """Speaks to a server over its standard streams, one request at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._to, self._from = process, process.stdin, process.stdout
        self._number = 0

    def notify(self, method: str, **members: Any) -> None:
        """Send what nobody answers."""
        message = {"jsonrpc": "2.0", "method": method, **members}
        self._to.write(json.dumps(message) + "\n")
        self._to.flush()

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request, and wait for its answer."""
        self._number += 1
        self.notify(method, id=self._number, params=params)
        for line in self._from:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise SystemExit("the server has ended")

    def call(self, tool: str) -> bool:
        """Call *tool* and tell whether it answered."""
        answer = self.ask("tools/call", {"name": tool, "arguments": CALLS[tool]})
        return "result" in answer and not answer["result"].get("isError")


@contextmanager
def served(folder: Path) -> Iterator[Client]:
    """Serve a server of the SDK's, traced, to a client that has introduced itself."""
    behind = f"stdio:{sys.executable} {TESTS / 'sdkserver.py'}"
    command = [sys.executable, "-c", TRACED, str(folder / "seen.json"), "serve", behind]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment(), text=True
    ) as process:
        client = Client(process)
        who = {"name": "bench_house", "version": "0"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
        client.ask("initialize", hello)
        client.notify("notifications/initialized")
        try:
            yield client
        finally:
            process.terminate()


def called(folder: Path) -> Iterator[tuple[str, int]]:
    """Give for each tool of the gateway the number of our files whose code runs during a call."""
    report = folder / "seen.json"
    with served(folder) as client:
        for tool in CALLS:
            end = time.monotonic() + PATIENCE
            while not client.call(tool) and time.monotonic() < end:
                time.sleep(0.2)  # the server behind is still starting
            client.call(tool)
            time.sleep(0.5)
            client.process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            assert client.call(tool), f"{tool} fails"
            report.unlink(missing_ok=True)
            client.process.send_signal(signal.SIGUSR2)
            while not report.exists():
                time.sleep(0.05)
            yield tool, ours_in(report)


def ours_in(report: Path) -> int:
    """Count the files of ours that a traced process has written down."""
    files = json.loads(report.read_text("utf-8"))
    return sum(file.startswith(f"{ROOT}/mcpg/") for file in files)


def touched(arguments: Sequence[str], folder: Path) -> tuple[int, int]:
    """Count the files of ours that one run imports, and those that it runs code of."""
    names = imported(arguments, folder)
    for file in folder.glob("two.*"):
        file.unlink()  # a bundle that is up to date would not be made
    report = folder / "seen.json"
    command = [sys.executable, "-c", TRACED, str(report), *arguments]
    quiet = subprocess.DEVNULL
    subprocess.run(command, cwd=folder, env=environment(), check=True, stdout=quiet, stderr=quiet)
    return sum(name.partition(".")[0] == "mcpg" for name in names), ours_in(report)


def processor_seconds(command: Sequence[str], folder: Path) -> float:
    """Return the seconds of the processor's time that a whole process takes."""
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime


def spent(folder: Path, runs: int) -> Iterator[str]:
    """Run every command in turn, and give a row for each."""
    lines = {name: [*program(), *arguments] for name, arguments in COMMANDS.items()}
    lines = {"python -c pass": FLOOR, **lines}
    for command in lines.values():
        processor_seconds(command, folder)
    turns = [
        {name: processor_seconds(command, folder) for name, command in lines.items()}
        for _ in range(runs)
    ]
    for name in lines:
        floor, plain = (
            middle([turn[name] / turn[base] for turn in turns])
            for base in ("python -c pass", "search")
        )
        yield row(name, middle([turn[name] for turn in turns]) * 1e3, floor, plain)


def count_code(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield rows about the code of *files*."""
    trees = [
        (path.relative_to(ROOT / "mcpg").parts[0], ast.parse(path.read_text("utf-8")))
        for path in files
    ]
    nodes = [node for _, tree in trees for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, FUNCTION)]
    lengths = sorted(map(count_lines, functions))
    yield "functions", f"{len(functions):,}"
    yield (
        "lines a function, median / p90",
        f"{middle(lengths):.0f} / {lengths[len(lengths) * 9 // 10]}",
    )
    yield "imports in functions", f"{sum(map(count_lazy_imports, functions))}"
    decorators = [
        one for node in nodes if isinstance(node, ast.ClassDef) for one in node.decorator_list
    ]
    yield (
        "classes with @value",
        f"{sum(ast.unparse(one).startswith('value') for one in decorators)}",
    )
    assigned = [ast.unparse(node) for node in nodes if isinstance(node, ast.Assign)]
    yield "TYPE_CHECKING = False", f"{assigned.count('TYPE_CHECKING = False')}"
    names = [node.name.strip("_") for node in functions]
    yield "functions called by a participle", f"{sum(map(is_participle, names))}"
    yield "functions whose names end in _of", f"{sum(name.endswith('_of') for name in names)}"
    optional = [
        room for room, tree in trees if room not in OPTIONAL for _ in find_optional_imports(tree)
    ]
    yield "imports of optional rooms: core", f"{len(optional) - optional.count('cli')}"
    yield "imports of optional rooms: cli", f"{optional.count('cli')}"


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of *function* without its docstring and decorators."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    text = function.body[0]
    return lines - ((text.end_lineno or 0) - text.lineno + 1)


def count_lazy_imports(function: ast.AST) -> int:
    """Count the imports in *function*, but for those in functions within it."""
    count, inner = 0, [*ast.iter_child_nodes(function)]
    while inner:
        node = inner.pop()
        count += isinstance(node, ast.Import | ast.ImportFrom)
        if not isinstance(node, FUNCTION):
            inner += ast.iter_child_nodes(node)
    return count


def is_participle(name: str) -> bool:
    """Return whether *name* is one word that is the participle of a verb."""
    return PARTICIPLE.fullmatch(name) is not None


def find_optional_imports(tree: ast.AST) -> Iterator[str]:
    """Yield each import of an optional room in *tree*, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [f"{base}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        yield from [one for one in names if [*one.split("."), ""][1] in OPTIONAL][:1]


def main() -> None:
    """Print the figures of the package, of files touched and of processes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    files = modules(ROOT)
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in files.values())
    print(row("modules", f"{len(files)}"))
    print(row("lines", f"{lines:,}"))
    print(row("circles of imports", f"{len(circles(import_graph(ROOT)))}"))
    for name, count in count_code(files.values()):
        print(row(name, count))
    with workshop(None) as folder:
        os.environ["MCPG_CACHE_DIR"] = str(folder / "cache")
        bundle = [*program(), "bundle", str(EXAMPLES / "tools"), "-o", "tools.mdld", "-q"]
        subprocess.run(bundle, cwd=folder, env=environment(), check=True)
        (folder / "tools").symlink_to(EXAMPLES / "tools")
        print(f"\n{row('files of ours', 'imported', 'run')}")
        for name, command in TOUCHED.items():
            print(row(name, *(f"{count}" for count in touched(command, folder))))
        for name, count in called(folder):
            print(row(f"serve: {name}", "", f"{count}"))
        print(f"\n{row('processor', 'ms', 'x pass', 'x search')}")
        for line in spent(folder, arguments.runs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
