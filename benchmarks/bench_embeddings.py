"""Embedding models by themselves: quality without the graph, time, memory.

    python benchmarks/bench_embeddings.py [FOLDER] [--queries 150] [--sets a,b] [--models local]

FOLDER holds judged sets as for `bench_quality.py`; without it, MCPG_EVAL names it. `--models` are
names as `--embed-with` takes them. Per set: nDCG@5 of the order by cosine alone, for the queries as
they are and misspelt, and the milliseconds of processor time that one tool and one query take.
Then, per model, the seconds until its first vector and the most memory of a process that made one.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
import measuring
import numpy as np

from mcpg.bundle import assemble
from mcpg.embeddings import embed_query, make_provider
from mcpg.sources import read_sources
from mcpg.vectors.build import vectors_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.embeddings import EmbeddingProvider
    from mcpg.vectors.matrix import ToolVectors

VARIANTS = ("queries.jsonl", "queries.typo.jsonl")
MODELS = "local:english,local:multilingual"
FIRST = "from mcpg.embeddings import make_provider; make_provider({!r}).embed(['first'])"
DEPTH = 5


def quality(
    vectors: ToolVectors, keys: Sequence[str], provider: EmbeddingProvider, file: Path, count: int
) -> tuple[float, float]:
    """Return the mean nDCG@5 of the first *count* queries, and the seconds that each took."""
    gains, seconds = [], []
    for query in catalogues.judged_queries(file, count):
        start = time.process_time()
        vector = embed_query(provider, query["query"])
        seconds.append(time.process_time() - start)
        best = [number for number, _ in vectors.nearest(vector, DEPTH)]
        hits = [keys[number] in query["relevant"] for number in best]
        gains.append(catalogues.ndcg(hits, len(set(query["relevant"]))))
    return float(np.mean(gains)), measuring.middle(seconds)


def line(folder: Path, model: str, count: int) -> str:
    """Measure one model on one set."""
    provider = make_provider(model)
    provider.embed(["loads the model"])
    documents = assemble(read_sources([folder / "tools.json"])).documents
    documents = sorted(documents, key=lambda document: document.tool.id)
    keys = [f"{document.tool.source_id}::{document.tool.name}" for document in documents]
    start = time.process_time()
    vectors = vectors_for(documents, provider).vectors
    spent = time.process_time() - start
    found = [
        quality(vectors, keys, provider, folder / name, count)
        for name in VARIANTS
        if (folder / name).exists()
    ]
    figures = [f"{ndcg:.3f}" for ndcg, _ in found] + ["-"] * (len(VARIANTS) - len(found))
    return measuring.row(
        f"{folder.name} {model}", *figures, spent / len(keys) * 1e3, found[0][1] * 1e3
    )


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--sets", default="")
    parser.add_argument("--models", default=MODELS)
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    print(measuring.row("set and model", "clean", "misspelt", "ms/tool", "ms/query", first=36))
    for folder in catalogues.judged_sets(arguments.folder, arguments.sets):
        for model in arguments.models.split(","):
            print(line(folder, model, arguments.queries), flush=True)
    for model in arguments.models.split(","):
        command = [sys.executable, "-c", FIRST.format(model)]
        seconds = measuring.cold_seconds(command)
        print(f"{model}: first vector {seconds:.2f} s, {measuring.peak_bytes(command) >> 20} MB")


if __name__ == "__main__":
    main()
