"""Learning from call traces: how many lines a second, and how much memory for how many.

    python benchmarks/bench_learn.py [--lines 1000000 10000000] [--tools 300] [--sessions 100]

Traces are made: sessions of two to nine calls, so many of them mixed at a time, every twentieth
call fails. `calls` are lines as `mcpg serve --record-calls` writes them, `spans` OTLP/JSON exports
of 100 spans a line. It needs a POSIX system.

Columns: calls a second of processor time, the seconds of it, and MB (of 2**20 bytes) that the
process had resident at most.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import environment, row

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 2**20
START = 1_780_000_000.0
OF_EXPORT = 100
# A small process starts the measured one, see `measuring.PEAK`.
USAGE = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_WRONLY, 0) for n in (1, 2)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
UNIT = 1 if sys.platform == "darwin" else 1024

Call = tuple[float, str, str, bool]


def calls(lines: int, tools: int, mixed: int) -> Iterator[Call]:
    """Yield the calls of sessions, each a walk from tool to tool: time, session, tool, success."""
    generator = random.Random(14)
    running: list[list[int]] = []
    number = 0
    for line in range(lines):
        while len(running) < mixed:
            number += 1
            running.append([number, generator.randrange(tools), generator.randrange(2, 10)])
        at = generator.randrange(mixed)
        session = running[at]
        yield START + line * 0.05, f"{session[0]:08x}", f"tool_{session[1]}", line % 20 != 0
        session[1] = (session[1] * 7 + 1 + generator.randrange(3)) % tools
        session[2] -= 1
        if not session[2]:
            running[at] = running[-1]
            running.pop()


def written_calls(made: Iterator[Call]) -> Iterator[str]:
    """Yield lines of calls."""
    for start, session, tool, success in made:
        shown = "true" if success else "false"
        yield (
            f'{{"time":{start:.3f},"session":"{session}","tool":"{tool}","source":"made",'
            f'"duration":0.01,"success":{shown}}}\n'
        )


def written_spans(made: Iterator[Call]) -> Iterator[str]:
    """Yield lines of exports."""
    spans: list[dict[str, Any]] = []
    for start, session, tool, success in made:
        nanoseconds = int(start * 1000) * 1_000_000
        spans.append(
            {
                "traceId": session,
                "name": "mcpg.invoke",
                "startTimeUnixNano": str(nanoseconds),
                "endTimeUnixNano": str(nanoseconds + 10_000_000),
                "attributes": [
                    {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                    {"key": "mcpg.invoke.source_id", "value": {"stringValue": "made"}},
                    {"key": "gen_ai.tool.name", "value": {"stringValue": tool}},
                ],
                "status": {} if success else {"code": 2},
            }
        )
        if len(spans) == OF_EXPORT:
            yield json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n"
            spans = []


FORMS = {"calls": written_calls, "spans": written_spans}


def measure(form: str, lines: int, tools: int, mixed: int) -> str:
    """Return the row of one trace."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "calls.jsonl"
        with trace.open("w") as stream:
            stream.writelines(FORMS[form](calls(lines, tools, mixed)))
        learned = str(Path(folder) / "seen.jsonl")
        command = [sys.executable, "-m", "mcpg", "learn", str(trace), "-o", learned, "-q"]
        usage = [sys.executable, "-c", USAGE, *command]
        done = subprocess.run(usage, check=True, capture_output=True, env=environment(), cwd=folder)
    seconds, peak = map(float, done.stdout.split())
    return row(f"{form} {lines:>11,}", lines / seconds, seconds, peak * UNIT / MIB)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--tools", type=int, default=300)
    parser.add_argument("--sessions", type=int, default=100)
    arguments = parser.parse_args()
    if not hasattr(os, "wait4"):
        print("this system does not report how much memory a process had")
        return
    print(row("form        calls", "a second", "seconds", "MB"))
    for form in FORMS:
        for lines in arguments.lines:
            print(measure(form, lines, arguments.tools, arguments.sessions), flush=True)


if __name__ == "__main__":
    main()
