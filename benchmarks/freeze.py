"""What a change of the code's shape must not change: recorded, and compared.

    python benchmarks/freeze.py record BEFORE.json [--manifests FOLDER] [--sets FOLDER]
    python benchmarks/freeze.py compare BEFORE.json [AFTER.json]

`record` bundles the examples, some odd sources and the manifests of FOLDER, runs a few hundred
command lines on each bundle inside one process, and writes down what they print, their exit codes
and the bytes of every file that they leave; the help of every command; conversations with
`mcpg serve`; what `mcpg eval` measures on judged sets; the public names of `mcpg`; and what four
frequent commands import. `compare` prints what differs and exits with 1 when something does. It
records afresh without AFTER, from the folders that BEFORE names.

Text for people that differs in white space and rules alone is listed as *spacing* and does not
count; nor do imports. Everything else has to be the same to the byte.

The script uses mcpg by its command line and its public names alone. To record another checkout, run
it with the Python of that checkout's environment, or set PYTHONPATH to it. Leave the checkout alone
while it is recorded. Times and names made from absolute paths are masked; two recordings of one
checkout on one machine are equal.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import importlib.metadata
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import freeze_cases
import freeze_serve

import mcpg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SPACED, REPORTED = "text", "imports"
MASKS = (
    (re.compile(r'("(?:durationMs|time)": )[\d.]+'), r"\g<1>0"),
    (re.compile(r"\b\d+(\.\d+)? ms\b"), "<time> ms"),
    (re.compile(r"(\.mdld-)[0-9a-f]{8}\b"), r"\1<path>"),
    (re.compile(r"^(\| \w+ \| )\d+\.\d{3} \|$", re.MULTILINE), r"\1<time> |"),
)
INDEX, STAMPED = b"mcpg-idx", ((40, 64), (104, 112))
"""The times and the inode of the bundle that an index was made from, and the header's checksum."""

SET_QUERIES = 200
SMALL_SET = 300
LONGEST_TEXT = 200_000
DIFF_LINES = 24

Record = dict[str, Any]


def main() -> int:
    """Record or compare, and give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write down what mcpg does now")
    recording.add_argument("output", type=Path)
    recording.add_argument("--manifests", type=Path, help="a folder of manifests to bundle as well")
    recording.add_argument("--sets", type=Path, help="a folder of judged sets to evaluate")
    comparing = commands.add_parser("compare", help="print what differs, and exit 1 if it counts")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path, nargs="?")
    comparing.add_argument("--full", action="store_true", help="whole diffs, however long")
    arguments = parser.parse_args()
    if arguments.command == "record":
        made = record(arguments.manifests, arguments.sets)
        arguments.output.write_text(json.dumps(made, ensure_ascii=False, indent=1), "utf-8")
        return 0
    before = json.loads(arguments.before.read_text("utf-8"))
    if arguments.after:
        after = json.loads(arguments.after.read_text("utf-8"))
    else:
        after = record(*(Path(path) if path else None for path in before["folders"]))
    return compare(before, after, None if arguments.full else DIFF_LINES)


# Recording


def record(manifests: Path | None, sets: Path | None) -> Record:
    """Record everything, in a folder that is removed afterwards."""
    folders = [str(path.resolve()) if path else None for path in (manifests, sets)]
    with tempfile.TemporaryDirectory(prefix="mcpg-freeze-") as place:
        folder = Path(place).resolve()
        work = folder / "work"
        _settle(folder, work, manifests)
        with contextlib.chdir(work):
            runner = Runner(folder)
            commands = _commands(runner, work)
            return {
                "folders": folders,
                "names": dict.fromkeys(mcpg.__all__, ""),
                "help": _help(runner),
                **commands,
                "files": dict(_files(work, folder)),
                "serve": _record_serve(folder),
                "eval": _measured(runner, sets),
                REPORTED: imports(work),
            }


def _settle(folder: Path, work: Path, manifests: Path | None) -> None:
    """Lay out the sources, and leave no setting of this machine in force."""
    shutil.copytree(EXAMPLES / "tools", work / "tools")
    shutil.copy(EXAMPLES / "queries.yaml", work)
    if manifests:
        (work / "manifests").mkdir()
        for file in sorted(manifests.glob("*.json")):
            (work / "manifests" / file.name).write_bytes(file.read_bytes())
    for name, text in freeze_cases.SOURCES.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text, "utf-8")
    for name in list(os.environ):
        if name.startswith(("MCPG_", "OTEL_", "OPENAI_")) or name.endswith("_COLOR"):
            del os.environ[name]
    os.environ |= {
        "COLUMNS": "100",
        "MCPG_CACHE_DIR": str(folder / "cache"),
        "MCPG_LOGIN_DIR": str(folder / "tokens"),
    }


class Runner:
    """Runs the program inside this process.

    Attributes:
        folder: The folder whose name is left out of what the program prints.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._main: Callable[[Sequence[str]], int] = script().load()

    def __call__(self, *arguments: str) -> Record:
        """Return the exit code and both streams of one run."""
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(3)]
        kept = sys.stdin, sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr = streams
        try:
            code = self._main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stdin, sys.stdout, sys.stderr = kept
        out, err = (self._said(stream) for stream in streams[1:])
        return {"code": code, "out": out, "err": err}

    def _said(self, stream: io.TextIOWrapper) -> str:
        stream.flush()
        said = stream.buffer
        assert isinstance(said, io.BytesIO)
        return masked(said.getvalue().decode("utf-8", "backslashreplace"), self.folder)


def script() -> importlib.metadata.EntryPoint:
    """Find the function that the command `mcpg` calls."""
    (found,) = importlib.metadata.entry_points(group="console_scripts", name="mcpg")
    return found


def masked(text: str, folder: Path) -> str:
    """Replace in *text* what is never the same twice."""
    text = text.replace(str(folder), "<folder>")
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


def _commands(runner: Runner, work: Path) -> Record:
    """Run every case; what is written for programs and for people is kept apart."""
    catalogues = {}
    for folder in ("tools", "odd", "manifests"):
        if (work / folder).exists():
            catalogues[folder] = _tools(runner, folder)
    found: Record = {"json": {}, SPACED: {}}
    for case in freeze_cases.cases(catalogues):
        line = shlex.join(case)
        section = SPACED if _is_for_people(case) else "json"
        assert line not in found[section], f"twice: {line}"
        found[section][line] = runner(*case)
    return found


def _is_for_people(case: Sequence[str]) -> bool:
    """Tell whether the layout of what *case* prints may change."""
    if case[:2] == ("graph", "export"):
        return "html" in case
    return not {"json", "csv", "ttl", "--document"}.intersection(case) and "-" not in case


def _tools(runner: Runner, folder: str) -> list[str]:
    """Give eight tools of *folder*, far from each other, and write queries that name each one."""
    listed = json.loads(runner("list", "-b", folder, "--format", "json")["out"])["tools"]
    judged = [
        {"query": query, "relevant": [tool["toolId"]]}
        for tool in listed
        for query in (tool["displayName"], f"I would like to {tool['displayName']} now")
    ]
    lines = "".join(f"{json.dumps(one)}\n" for one in judged)
    Path(f"{folder}-named.jsonl").write_text(lines, "utf-8")
    ids = [tool["toolId"] for tool in listed]
    return ids[:: max(1, len(ids) // 8)]


def _help(runner: Runner, *path: str) -> Record:
    """Record the help of a command and of those below it."""
    found = {" ".join(("mcpg", *path)): runner(*path, "--help")}
    text = next(iter(found.values()))["out"]
    _, _, below = text.partition("\nCommands:\n")
    for name in re.findall(r"^  (\w[\w-]*) ", below.partition("\n\n")[0], re.MULTILINE):
        found |= _help(runner, *path, name)
    return found


def _files(work: Path, folder: Path) -> Iterator[tuple[str, Record]]:
    """Return the SHA-256 of every file below *work*, and its text where it is text."""
    for file in sorted(path for path in work.rglob("*") if path.is_file()):
        data = file.read_bytes()
        if data.startswith(INDEX):
            data = _without_stamp(data)
        found: Record = {}
        with contextlib.suppress(UnicodeDecodeError):
            text = masked(data.decode("utf-8"), folder)
            data = text.encode()
            found = {"out": text} if len(text) <= LONGEST_TEXT or file.suffix == ".html" else {}
        yield (
            file.relative_to(work).as_posix(),
            {"sha256": hashlib.sha256(data).hexdigest(), **found},
        )


def _without_stamp(data: bytes) -> bytes:
    changed = bytearray(data)
    for start, end in STAMPED:
        changed[start:end] = bytes(end - start)
    return bytes(changed)


def _record_serve(folder: Path) -> Record:
    """Record what `mcpg serve` answers."""
    code = f"import sys, {script().module}; sys.exit({script().module}.{script().attr}())"
    found = freeze_serve.hold_conversations([sys.executable, "-c", code])
    return {
        line: masked(json.dumps(answer, ensure_ascii=False, indent=1), folder)
        for line, answer in found
    }


def _measured(runner: Runner, sets: Path | None) -> Record:
    """Record the figures of `mcpg eval`, and the digest of bundle and index, of each set."""
    found: Record = {}
    for folder in sorted(sets.glob("*/tools.json")) if sets else []:
        name = folder.parent.name
        bundle = f"set-{name}.mdld"
        runner("bundle", str(folder), "-o", bundle)
        for file in (bundle, f"{bundle}.idx"):
            data = Path(file).read_bytes()
            data = _without_stamp(data) if data.startswith(INDEX) else data
            found[file] = {"sha256": hashlib.sha256(data).hexdigest()}
        tools = json.loads(folder.read_text("utf-8"))["tools"]
        hybrid = (*freeze_cases.VECTORS[2], "--embed-with", "local")
        for queries in ("queries.jsonl", "queries.typo.jsonl"):
            _sampled(folder.parent / queries)
            run = ("eval", "sampled.jsonl", "-b", bundle, "--format", "json")
            found[f"{name} {queries}"] = _figures(runner(*run))
            if len(tools) <= SMALL_SET and queries == "queries.jsonl":
                found[f"{name} {queries} learned"] = _figures(runner(*run, *hybrid))
    return found


def _sampled(queries: Path) -> None:
    """Write every n-th line of *queries*, at most `SET_QUERIES`, into this folder."""
    lines = queries.read_text("utf-8").splitlines()
    step = -(-len(lines) // SET_QUERIES)
    Path("sampled.jsonl").write_text("\n".join(lines[::step]) + "\n", "utf-8")


def _figures(run: Record) -> Record:
    """Round the figures of a report to four decimals."""
    if run["code"]:
        return run
    report = json.loads(run["out"])
    kept = {**report["metrics"], **report["calibration"]}
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in kept.items()
        if not isinstance(value, list)
    }


# What is imported

ASKED = ("where is my parcel", "-b", "tools.mdld")
FREQUENT = {
    "search": ("search", *ASKED),
    "search --format json": ("search", *ASKED, "--format", "json"),
    "explain": ("explain", *ASKED),
    "bundle": ("bundle", "tools/commerce.json", "tools/workspace.json", "-o", "two.mdld"),
}
IMPORTS = """
import sys, {module}
code = {module}.{function}(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def imported(arguments: Sequence[str], folder: Path) -> set[str]:
    """Return the modules that one run of the program in *folder* imports."""
    code = IMPORTS.format(module=script().module, function=script().attr)
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return set(run.stderr.splitlines()[-1].split())


def imports(folder: Path) -> Record:
    """Give for four frequent commands our modules and the packages of others they import."""
    found = {}
    for name, arguments in FREQUENT.items():
        modules = imported(arguments, folder)
        ours = sorted(name for name in modules if name.partition(".")[0] == "mcpg")
        others = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
        others = {name for name in others if not name.startswith("_")} - {"mcpg"}
        found[name] = {"ours": ours, "others": sorted(others)}
    return found


# Comparing


def compare(before: Record, after: Record, longest: int | None = DIFF_LINES) -> int:
    """Print what differs between two recordings; give 1 when something that counts does."""
    counts: dict[str, int] = {}
    for section, entries in before.items():
        if section == "folders":
            continue
        now = after.get(section, {})
        for name in sorted(entries.keys() | now.keys()):
            verdict = _verdict(section, name, entries.get(name), now.get(name))
            if not verdict:
                continue
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"{verdict}: {section}: {name}")
            if verdict != "spacing":
                _print_diff(entries.get(name), now.get(name), longest)
    total = sum(len(entries) for entries in before.values())
    counted = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{total} recorded: {counted or 'no difference'}")
    return int(any(verdict not in {"spacing", REPORTED} for verdict in counts))


def _verdict(section: str, name: str, before: Any, after: Any) -> str:
    """Give "" for what is equal, else a word for how it differs."""
    if before == after:
        return ""
    if section == REPORTED:
        return REPORTED
    if before is None or after is None:
        return "new" if before is None else "gone"
    spaced = {"err"}
    if section == SPACED or name.endswith(".html"):
        spaced |= {"out", "sha256"}
    return "spacing" if _levelled(before, spaced) == _levelled(after, spaced) else "differs"


def _levelled(entry: Any, spaced: set[str]) -> Any:
    """Give *entry* without what a change of layout may change in the members *spaced*."""
    if not isinstance(entry, Mapping):
        return entry
    return {
        name: _words(value) if name in spaced else value
        for name, value in entry.items()
        if name != "sha256" or name not in spaced
    }


def _words(text: str) -> str:
    """Give *text* with single spaces, and rules and borders cut short."""
    return " ".join(re.sub(r"([-=_─━═|│┃]{2,}[-=_─━═|│┃: +]*)", " ", text).split())


def _print_diff(before: Any, after: Any, longest: int | None) -> None:
    sides = _lines(before), _lines(after)
    lines = [*difflib.unified_diff(sides[0], sides[1], n=1, lineterm="")][2:]
    for line in lines[:longest]:
        print(f"    {line[:300]}")
    if longest is not None and len(lines) > longest:
        print(f"    ... {len(lines) - longest} lines more (--full)")


def _lines(entry: Any) -> list[str]:
    """Write what was recorded under one name as lines."""
    if not isinstance(entry, Mapping):
        return [] if entry is None else [str(entry)]
    lines = []
    for name, value in entry.items():
        several = value if isinstance(value, list) else str(value).splitlines()
        lines += [f"{name}: {line}" for line in several]
    return lines


if __name__ == "__main__":
    sys.exit(main())
