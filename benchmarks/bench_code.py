"""Code graphs: definitions compared with `ast`, calls with `jedi`, and speed.

    python benchmarks/bench_code.py [FOLDER ...] [--calls 300] [--seed 7]

The folders hold source code; without one, the package of mcpg is read. A definition is right if
`ast` has one of the same name, first and last line. A sample of the calls is compared with what
`jedi`, where installed, finds at the same place; where it finds nothing in the code, it cannot
judge. Both compare only files of Python. Lines per second are of processor time, for a first read
and for one with the facts of every file cached.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib.util
import random
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import HERE, row

from mcpg.caching.build_cache import StoredBuildCache
from mcpg.code.graph import CodeGraph
from mcpg.code.model import CodeEdgeKind, CodeFile, read_page, write_page
from mcpg.code.read import find_repository, read_files
from mcpg.code.search import CodeSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_QUERIES = ("read the configuration file", "write a record", "check the path of a document")
_NEAR = 3  # lines between a decorator and the name of what it decorates


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of *action*, and its result."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def defined(node: ast.AST, outer: str = "") -> Iterator[tuple[str, int, int]]:
    """Return name, first and last line of the definitions below *node*."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{outer}{child.name}", child.lineno, child.end_lineno or 0
            yield from defined(child, f"{outer}{child.name}.")
        else:
            yield from defined(child, outer)


def definitions(root: Path, files: list[CodeFile]) -> tuple[int, int, int]:
    """Return how many definitions are right, were found, and are there."""
    right = found = there = 0
    for file in files:
        try:
            wanted = {*defined(ast.parse((root / file.path).read_bytes()))}
        except (SyntaxError, ValueError):
            continue
        have = {
            (re.sub(r"#\d+", "", one.name), one.first_line, one.last_line) for one in file.symbols
        }
        right, found, there = right + len(wanted & have), found + len(have), there + len(wanted)
    return right, found, there


def calls(files: list[CodeFile], most: int, seed: int) -> list[tuple[str, int, str, str, int]]:
    """Return a sample of calls: file, line, name, and the file and line of what is called."""
    places = {file.symbol_id(one): (file.path, one) for file in files for one in file.symbols}
    found = [
        (file.path, line, places[edge.target][1].short_name, places[edge.target][0],
         places[edge.target][1].first_line)
        for file in files
        for edge in file.edges
        if edge.kind is CodeEdgeKind.CALLS and edge.target in places
        for line in edge.lines
    ]  # fmt: skip
    random.Random(seed).shuffle(found)
    return found[:most]


def judged(root: Path, sample: list[tuple[str, int, str, str, int]]) -> tuple[int, int]:
    """Return how many calls `jedi` finds right, and how many it judges."""
    import jedi

    project = jedi.Project(root.parent)
    right = total = 0
    for path, line, name, target, first in sample:
        text = (root / path).read_text("utf-8")
        shown = re.search(rf"(?<!\w){re.escape(name)}\s*\(", text.split("\n")[line - 1])
        if not shown:
            continue
        try:
            script = jedi.Script(text, path=root / path, project=project)
            found = script.goto(line, shown.start(), follow_imports=True)
        except Exception:  # noqa: BLE001 - what jedi fails at, it does not judge
            continue
        inside = [one for one in found if str(one.module_path).startswith(str(root)) and one.line]
        total += bool(inside)
        right += any(
            one.module_path == root / target and abs(one.line - first) <= _NEAR for one in inside
        )
    return right, total


def measure(root: Path, most: int, seed: int) -> None:
    """Print the figures of one folder."""
    top = find_repository(root).root
    memo = StoredBuildCache()
    first, (files, _) = seconds(lambda: read_files(root, memo))
    again, _ = seconds(lambda: read_files(root, memo.make_next()))
    lines = sum(file.lines for file in files)
    pages = [write_page(file) for file in files]
    gc.collect()
    gc.freeze()  # a process that loads a graph holds no facts of its files
    loading, graph = seconds(lambda: CodeGraph(filter(None, map(read_page, pages))))
    search = CodeSearch(graph)
    search.search(_QUERIES[0])
    searching, _ = seconds(lambda: [search.search(query) for query in _QUERIES])
    symbols, edges = len(graph.definitions), sum(len(file.edges) for file in files)
    print(row("files, lines", f"{len(files):,}", f"{lines:,}"))
    print(row("symbols, edges", f"{symbols:,}", f"{edges:,}"))
    print(row("lines/s, first and cached", f"{lines / first:,.0f}", f"{lines / again:,.0f}"))
    print(row("load s, search ms", f"{loading:.2f}", f"{searching / len(_QUERIES) * 1000:.0f}"))
    python = [file for file in files if file.path.endswith(".py")]
    if python:
        right, found, there = definitions(top, python)
        print(row("definitions: P, R", f"{right / found:.4f}", f"{right / there:.4f}"))
    if python and importlib.util.find_spec("jedi"):
        right, total = judged(top, calls(python, most, seed))
        print(row("calls: P, judged", f"{right / max(1, total):.3f}", f"{total:,}"))


def main() -> None:
    """Measure the folders of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE.parent / "mcpg"])
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    for folder in given.folders:
        print(f"\n{folder}")
        measure(folder.resolve(), given.calls, given.seed)


if __name__ == "__main__":
    main()
