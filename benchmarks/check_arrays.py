"""Compare answers with and without numpy, to the last bit.

    python benchmarks/check_arrays.py [FOLDER] [--sizes 20000] [--large] [--queries 200]

Catalogues are all judged sets of FOLDER (or MCPG_EVAL), with their misspelt queries, and made ones
of the given sizes; --large adds 100,000 tools. Each is searched by three processes: one in which
numpy cannot be imported, one that is warmed up and uses it where it pays, and one that uses it for
every list. Compared are the results whole, floats by their shortest exact form, of each query and,
every tenth time, of its explanation.

Columns: queries, and how many answers differ with numpy where it pays, and with numpy everywhere.
The exit code is 1 where any does. `--keep DIR` keeps catalogues and indexes for the next benchmark.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catalogues
import measuring
from measuring import row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catalogues import Catalogue

WITHOUT, PAYS, ALWAYS = "without", "where it pays", "everywhere"
VARIANTS = ("queries.jsonl", "queries.typo.jsonl")
EXPLAINED = 10


def chosen(folder: Path | None, sizes: Sequence[int]) -> Iterator[Catalogue]:
    """Return the judged sets below *folder*, those of short requests too, and made catalogues."""
    for path in sorted(folder.glob("*/tools.json")) if folder else ():
        yield catalogues.judged(path.parent, [n for n in VARIANTS if (path.parent / n).exists()])
    yield from map(catalogues.made, sizes)


def answer(mode: str, bundle: str) -> None:
    """Read queries, a JSON text a line, and print a digest of what each is answered."""
    if mode == WITHOUT:
        sys.modules["numpy"] = None  # type: ignore[assignment]
    import mcpg
    from mcpg.search import retrieval

    if mode == ALWAYS:
        retrieval._MANY = 1  # noqa: SLF001 - else few lists are long enough
    engine = mcpg.load(bundle)
    if mode != WITHOUT:
        retrieval.ARRAYS._import()  # noqa: SLF001 - else it is imported for large catalogues alone
        engine.warm_up()
    for number, line in enumerate(sys.stdin):
        query = json.loads(line)
        found = written(engine.search(query, limit=10))
        if number % EXPLAINED == 0:
            found += written(engine.explain(query))
        print(hashlib.sha256(found.encode("utf-8", "surrogatepass")).hexdigest())


def written(part: Any) -> str:
    """Return all members of a result but times; what it shows of itself is a summary."""
    if isinstance(part, dict):
        return written([*part.items()])
    if isinstance(part, list | tuple):
        return f"[{','.join(map(written, part))}]"
    if callable(part):  # reads more of a tool when that is asked for
        return ""
    names = [name for name in getattr(part, "__match_args__", ()) if name != "duration_ms"]
    return written([getattr(part, name) for name in names]) if names else repr(part)


def digests(mode: str, bundle: Path, queries: Sequence[str]) -> list[str]:
    """Return a digest of the answer to each of *queries*, from a process of its own."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import check_arrays as check"
    command = [sys.executable, "-c", f"{code}; check.answer(*sys.argv[2:])"]
    done = subprocess.run(
        [*command, str(measuring.HERE), mode, str(bundle)],
        input="\n".join(map(json.dumps, queries)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=measuring.environment(),
        cwd=measuring.AWAY,
    )
    return done.stdout.split()


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[20_000])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    sizes = [*arguments.sizes, *([100_000] if arguments.large else [])]
    different = 0
    print(row("catalogue tools", "queries", "differ", "everywhere", width=12))
    with measuring.workshop(arguments.keep) as root:
        for catalogue in chosen(arguments.folder, sizes):
            bundle = measuring.indexed(catalogue, ["mcpg"], root) / "graph.mdld"
            queries = catalogue.queries
            if len(queries) > arguments.queries:  # evenly, of clean and misspelt ones
                step = len(queries) / arguments.queries
                queries = [queries[int(n * step)] for n in range(arguments.queries)]
            plain, *others = (digests(m, bundle, queries) for m in (WITHOUT, PAYS, ALWAYS))
            found = [sum(map(str.__ne__, plain, other)) for other in others]
            found = [count + abs(len(plain) - len(queries)) for count in found]
            different += sum(found)
            name = f"{catalogue.name:<16} {len(catalogue.tools):>7}"
            print(row(name, len(queries), *found, width=12), flush=True)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
