"""Vectors of tools: how fast the nearest are found, exactly and by clusters, and what bits cost.

    python benchmarks/bench_vectors.py [FOLDER] [--tools 2000,20000,100000] [--sets a,b]

The first table is of vectors of 384 dimensions that lie in clusters within clusters, as those of
texts do: milliseconds to find the 50 nearest by looking at all of them, kept in 32, 16 and 8 bits,
and by clusters; the share of the 50 truly nearest found by clusters (recall); seconds to make the
clusters, and the size of their file and of the file of vectors. All on one thread, medians.

The second table needs FOLDER (see bench_quality.py; MCPG_EVAL names one as well) and the extra
`embeddings`: nDCG@5 by the cosine of the local model alone, and the size of the file, by bits.
"""

# ruff: noqa: E402 - threads are counted when numpy is imported

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bench_quality
import catalogues
import measuring
import numpy as np

import mcpg
from mcpg.embeddings import make_provider
from mcpg.embeddings.provider import embed_query
from mcpg.vectors.build import vectors_for
from mcpg.vectors.file import NO_KEY, pack_vectors
from mcpg.vectors.matrix import KINDS, ToolVectors, make_clusters, quantize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Row = Rows = NDArray[np.float32]

DIMENSIONS, NEAREST, QUERIES = 384, 50, 50
TOPICS, TOOLS_A_CLUSTER = 32, 25
EVERYTHING, TOPIC, CLUSTER, TOOL = 0.5, 0.6, 0.7, 0.55
MEGABYTE = 1e6


def drawn(count: int) -> Rows:
    """Draw vectors: what is common to all, a topic, a cluster within it, and what is their own."""
    random = np.random.default_rng(0)
    clusters = max(1, count // TOOLS_A_CLUSTER)
    topics = random.normal(size=(TOPICS, DIMENSIONS))[random.integers(0, TOPICS, clusters)]
    centres = EVERYTHING * random.normal(size=DIMENSIONS) + TOPIC * topics
    centres += CLUSTER * random.normal(size=centres.shape)
    rows = np.empty((count, DIMENSIONS), dtype=np.float32)
    for start in range(0, count, 10_000):
        part = rows[start : start + 10_000]
        own = TOOL * random.normal(size=part.shape)
        part[:] = centres[random.integers(0, clusters, len(part))] + own
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def milliseconds(vectors: ToolVectors, queries: Rows) -> float:
    """Return the median time of a search."""
    times = []
    for query in queries:
        start = time.perf_counter()
        vectors.nearest(query, NEAREST)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def latency(count: int) -> str:
    """Measure *count* vectors, and give a row of the table."""
    rows = drawn(count + QUERIES)
    queries, present = rows[count:], np.ones(count, dtype=np.bool_)
    kept = [ToolVectors(quantize(kind, rows[:count]), present, kind) for kind in KINDS]
    times = [milliseconds(one, queries) for one in kept]
    start = time.perf_counter()
    clusters = make_clusters(kept[-1])
    seconds = time.perf_counter() - start
    near = kept[-1].with_neighbours(clusters)
    times.append(milliseconds(near, queries))
    recall = statistics.mean(recalled(kept[-1], near, query) for query in queries)
    sizes = [file_size(one) for one in kept]
    return f"{count:8,}" + "".join(
        [f"{one:9.2f}" for one in times]
        + [f"{recall:8.4f}{seconds:8.1f}{len(clusters.pack()) / MEGABYTE:8.1f}"]
        + [f"{size:9.1f}" for size in sizes]
    )


def recalled(exact: ToolVectors, near: ToolVectors, query: Row) -> float:
    """Return the share of the nearest that is found by clusters."""
    wanted = {tool for tool, _ in exact.nearest(query, NEAREST)}
    return len(wanted & {tool for tool, _ in near.nearest(query, NEAREST)}) / len(wanted)


def file_size(vectors: ToolVectors) -> float:
    """Return the size of the file of *vectors* in megabytes."""
    hashes = ["0" * 64] * len(vectors)
    return len(pack_vectors(vectors, hashes, NO_KEY, vectors.stored.kind)) / MEGABYTE


def losses(folder: Path, count: int) -> str:
    """Measure what few bits cost on the judged set in *folder*, and give a row of the table."""
    provider, engine = make_provider("local"), mcpg.load(folder / "tools.json")
    vectors = vectors_for(engine.documents.values(), provider).vectors
    keys = [f"{tool.source_id}::{tool.name}" for tool in engine.tools]
    judged = catalogues.judged_queries(folder / "queries.jsonl", count)
    asked = [(query, embed_query(provider, query["query"])) for query in judged]
    kept = [
        ToolVectors(vectors.stored.convert(kind), vectors.present, provider.fingerprint)
        for kind in KINDS
    ]
    means = [statistics.mean(ndcg(one, keys, *query) for query in asked) for one in kept]
    sizes = [file_size(one) for one in kept]
    return f"{folder.name:16}{len(keys):7,}" + "".join(
        [f"{mean:9.4f}" for mean in means] + [f"{size:9.2f}" for size in sizes]
    )


def ndcg(vectors: ToolVectors, keys: Sequence[str], query: dict[str, Any], row: Row) -> float:
    """Give nDCG@5 of the nearest tools."""
    found = [keys[tool] for tool, _ in vectors.nearest(row, bench_quality.DEPTH)]
    return bench_quality.grade(found, query).ndcg5


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=measuring.EVAL)
    parser.add_argument("--tools", default="2000,20000,100000")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sets", default="")
    options = parser.parse_args()
    print(f"{'ms, all vectors':>35}{'by clusters':>32}{'MB, file of vectors':>27}")
    bits = "".join(f"{kind:>9}" for kind in KINDS)
    print(f"{'tools':>8}{bits}{'ms':>9}{'recall':>8}{'seconds':>8}{'MB':>8}{bits}")
    for count in filter(None, options.tools.split(",")):
        print(latency(int(count)), flush=True)
    if options.folder is not None:
        print(f"\n{'nDCG@5':>50}{'MB':>27}")
        print(f"{'set':16}{'tools':>7}{bits}{bits}")
        for folder in catalogues.judged_sets(Path(options.folder), options.sets):
            print(losses(folder, options.queries), flush=True)


if __name__ == "__main__":
    main()
