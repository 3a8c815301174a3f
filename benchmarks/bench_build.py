"""Making a bundle with its index, and what the peers take for theirs.

    python benchmarks/bench_build.py [--size 10000] [--runs 1] [--manifest-only]
    python benchmarks/bench_build.py --size 500 --instructions

The catalogue is made. `mcpg bundle` runs as a whole process on a manifest and on a folder of the
documents that `mcpg generate` writes from it: from scratch, again when nothing has changed, and
again when one tool's description has. The bundle's index is part of it; the cache folder is empty
at first. A peer's row is a whole
process that reads the manifest and makes the index; for one that keeps none on disk, one search
is part of it.

Columns: s is the median of the runs; x mcpg is the ratio to `mcpg bundle` of the manifest from
scratch in the same run; MB (of 2**20 bytes) is the most memory that `mcpg bundle` had resident, on
POSIX systems. `--manifest-only` leaves out the documents and the peers. --instructions counts, in
place of all these, the millions of instructions of `mcpg bundle` of the manifest in one process, by
cachegrind of valgrind, which takes some fifty times as long: two sizes tell how they grow.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import TYPE_CHECKING

import catalogues
import measuring
import peers
from measuring import cold_seconds, middle, peak_bytes, program, row, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from catalogues import Catalogue

NAMES = ("tantivy", "FTS5", "bm25s", "ratel-ai")
SCRATCH = "manifest, from scratch"
MIB = 2**20


class Bench:
    """One catalogue in a folder, and the seconds and memory found for each row of the table."""

    def __init__(self, catalogue: Catalogue, root: Path) -> None:
        self.catalogue, self.root = catalogue, root
        self.manifest, self.documents = root / "tools.json", root / "documents"
        self.seconds: dict[str, list[float]] = {}
        self.peaks: dict[str, float] = {}
        self.cache = root / "cache"
        os.environ["MCPG_CACHE_DIR"] = str(self.cache)
        self.manifest.write_text(catalogue.manifest, encoding="utf-8")

    def generate(self) -> None:
        """Write the documents."""
        generate = ("generate", str(self.manifest), "-o", str(self.documents), "--quiet")
        measuring.run([*program(), *generate])

    def note(self, name: str, seconds: float) -> None:
        """Keep a time."""
        self.seconds.setdefault(name, []).append(seconds)

    def bundles(self, kind: str, source: Path, change: Callable[[], None]) -> None:
        """Bundle *source* from scratch, unchanged and with one change."""
        bundle = self.root / "graph.mdld"
        for file in self.root.glob("graph.mdld*"):
            file.unlink()
        shutil.rmtree(self.cache, ignore_errors=True)
        make = [*program(), "bundle", str(source), "-o", str(bundle), "--quiet"]
        for state in ("from scratch", "nothing changed", "one changed"):
            if state == "one changed":
                change()
            name = f"{kind}, {state}"
            self.note(name, timed(lambda name=name: self.make(name, make)))

    def counted(self) -> list[str]:
        """Return rows of the instructions of a bundle from scratch and with one change."""
        make = ("bundle", str(self.manifest), "-o", str(self.root / "graph.mdld"), "--quiet")
        command = [*program(), *make, "--jobs", "1"]
        scratch = measuring.instructions(command)
        self.change_manifest()
        changed = measuring.instructions(command)
        rows = {SCRATCH: scratch, "manifest, one changed": changed}
        return [row(name, count / 1e6, count / scratch) for name, count in rows.items()]

    def make(self, name: str, command: Sequence[str]) -> None:
        """Run *command*, and keep the most memory that it had, where the system counts it."""
        if hasattr(os, "wait4"):
            self.peaks[name] = max(peak_bytes(command) / MIB, self.peaks.get(name, 0.0))
        else:
            measuring.run(command)

    def change_manifest(self) -> None:
        """Give one tool's description a word more."""
        self.catalogue.tools[-1]["description"] += " Again."
        self.manifest.write_text(self.catalogue.manifest, encoding="utf-8")

    def change_document(self) -> None:
        """Give one document a line more."""
        file = max(self.documents.rglob("*.md"))
        with file.open("a", encoding="utf-8", newline="\n") as text:
            text.write("\nIt can be done again.\n")

    def peer(self, name: str) -> None:
        """Make a peer's index in a process of its own."""
        code = "import peers; peers.build_main()"
        self.note(name, cold_seconds([sys.executable, "-c", code, name, str(self.root)]))

    def table(self) -> list[str]:
        """Return the rows."""
        scratch = middle(self.seconds[SCRATCH])
        found = {name: middle(values) for name, values in self.seconds.items()}
        return [
            row(name, seconds, seconds / scratch, self.peaks.get(name, ""))
            for name, seconds in found.items()
        ]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--manifest-only", action="store_true")
    parser.add_argument("--instructions", action="store_true")
    arguments = parser.parse_args()
    names = [engine.name for engine in peers.present(NAMES)]
    with measuring.workshop(None) as root:
        bench = Bench(catalogues.made(arguments.size), root)
        if arguments.instructions:
            rows = bench.counted()
            print(row(f"{arguments.size} tools", "M instr.", "x mcpg"), *rows, sep="\n")
            return
        if not arguments.manifest_only:
            bench.generate()
        for _ in range(arguments.runs):
            bench.bundles("manifest", bench.manifest, bench.change_manifest)
            if arguments.manifest_only:
                continue
            bench.bundles("documents", bench.documents, bench.change_document)
            for name in names:
                bench.peer(name)
        print(row(f"{arguments.size} tools", "s", "x mcpg", "MB"), *bench.table(), sep="\n")


if __name__ == "__main__":
    main()
