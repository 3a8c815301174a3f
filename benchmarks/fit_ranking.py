"""Fit the ranking model on judged sets, and say what it does on sets it was not fitted on.

    pip install numpy
    python benchmarks/fit_ranking.py FOLDER [--queries 300] [--sets a,b,c] [--write]

FOLDER is laid out as for `bench_quality.py`; beside it or in its parent, `noise.jsonl` and
`ood.jsonl` may hold queries that no tool answers. Fusion weights maximise the mean nDCG@5 of the
sets, clean and misspelt alike, by coordinate ascent over a fixed grid (Metzler & Croft, "Linear
feature-based models for information retrieval", 2007); every set weighs the same. The calibration
is a logistic regression on the best match of each query, with the answers of every fifth query
taken out of the catalogue. Both are then fitted on all sets but one and measured on that one.
`--write` puts the model fitted on all sets into `mcpg/engine/data/ranking.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import mcpg.engine
from mcpg.engine.analysis import analyse
from mcpg.engine.confidence import INPUTS, calibrate
from mcpg.engine.defaults import default_model
from mcpg.engine.features import FEATURES, look_closely
from mcpg.engine.fusion import fuse
from mcpg.engine.intents import retrieve_for_each
from mcpg.engine.model import Model
from mcpg.engine.retrieval import POOL, retrieve
from mcpg.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Array = NDArray[np.float64]
VARIANTS = ("queries.jsonl", "queries.typo.jsonl")
GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)
STARTS = 3
DEPTH = 5
DISCOUNTS = 1 / np.log2(np.arange(2, DEPTH + 2))
# The weight of BM25F is the unit of the others; what names a tool is a rule, not a guess, and keeps
# the weight that makes it hold. What a tool adds for an intent depends on the order that the others
# give, so they are fitted without it; `bench_intents.py` shows what its weight is good for.
GIVEN = ("bm25f", "openingName", "exactName", "intent")
FITTED = [place for place, name in enumerate(FEATURES) if name not in GIVEN]
LEAST_GAIN = 1e-4


class Judged(NamedTuple):
    """The pool of one query: features by candidate, which are relevant, how many there could be."""

    set: str
    variant: str
    features: Array
    relevant: Array
    ideal: float


class Top(NamedTuple):
    """The best match of one query: the calibration's inputs, and whether it is right."""

    set: str
    inputs: Array
    right: float


def read(file: Path, count: int | None = None) -> list[dict[str, Any]]:
    """Read the queries of *file*, shuffled with a fixed seed when only *count* are wanted."""
    if not file.exists():
        return []
    queries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    if count is not None:
        random.Random(0).shuffle(queries)
    return queries[:count]


def load(tools: list[dict[str, Any]]) -> mcpg.Engine:
    """Make an engine of the *tools* of a manifest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tools.json")
        path.write_text(json.dumps({"tools": tools}, ensure_ascii=False), encoding="utf-8")
        return mcpg.engine.load(path)


def key_of(engine: mcpg.Engine, number: int) -> str:
    """Name a tool as judgements do."""
    return f"{engine.index.source_id(number)}::{engine.index.tool_name(number)}"


def pools(folder: Path, count: int) -> Iterator[Judged]:
    """Give the pool of every judged query of a set."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    engine = load(tools)
    for variant in VARIANTS:
        for query in read(folder / variant, count):
            analysis = replace(analyse(query["query"], engine.index), intents=())
            pool = retrieve(analysis, engine.index, disabled=(), size=POOL)
            ranked = fuse(look_closely(pool, analysis, engine.index), [0.0] * len(FEATURES), POOL)
            relevant = set(query["relevant"])
            hits = [key_of(engine, one.candidate.document) in relevant for one in ranked]
            ideal = float(DISCOUNTS[: len(relevant)].sum())
            features = np.array([one.values for one in ranked]).reshape(-1, len(FEATURES))
            yield Judged(folder.name, variant, features, np.array(hits, dtype=float), ideal)


def ndcg(judged: Judged, weights: Array) -> float:
    """Give the nDCG@5 of one query under *weights*; ties keep the pool's order."""
    order = np.argsort(-np.round(judged.features @ weights, 9), kind="stable")[:DEPTH]
    return float((judged.relevant[order] * DISCOUNTS[: len(order)]).sum() / judged.ideal)


def mean_ndcg(queries: Iterable[Judged], weights: Array) -> dict[tuple[str, str], float]:
    """Give the mean nDCG@5 of every set and variant."""
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for judged in queries:
        found[judged.set, judged.variant].append(ndcg(judged, weights))
    return {key: float(np.mean(values)) for key, values in found.items()}


def ascend(queries: Sequence[Judged]) -> Array:
    """Fit weights by coordinate ascent from the shipped ones and from a few drawn by a seed."""
    shipped = np.array(default_model().weights)
    rng = np.random.default_rng(0)
    starts = [shipped]
    for _ in range(STARTS - 1):
        drawn = shipped.copy()
        drawn[FITTED] = rng.choice(GRID, len(FITTED))
        starts.append(drawn)
    return max((climb(queries, start) for start in starts), key=lambda found: found[1])[0]


def climb(queries: Sequence[Judged], start: Array, rounds: int = 4) -> tuple[Array, float]:
    """Climb from *start*, one weight at a time, and give weights and mean nDCG@5 reached."""

    def score(weights: Array) -> float:
        return float(np.mean(list(mean_ndcg(queries, weights).values())))

    best, reached = start.copy(), score(start)
    for _ in range(rounds):
        before = reached
        for place in FITTED:
            for value in GRID:
                tried = best.copy()
                tried[place] = value
                found = score(tried)
                if found > reached + LEAST_GAIN:
                    best, reached = tried, found
        if reached == before:
            break
    return best, reached


def tops(folder: Path, root: Path, count: int, weights: Array) -> Iterator[Top]:
    """Give the best match of each query, the answers of every fifth one taken away."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    model = default_model()
    model = Model(tuple(weights), model.intercept, model.coefficients)
    for variant in VARIANTS:
        queries = read(folder / variant, count)
        gone = {key for query in queries[::5] for key in query["relevant"]}
        kept = [tool for tool in tools if f"{tool['server']}::{tool['name']}" not in gone]
        asked = [
            (query["query"], set() if place % 5 == 0 else set(query["relevant"]))
            for place, query in enumerate(queries)
            if place % 5 == 0 or not gone & set(query["relevant"])
        ]
        engine = load(kept)
        asked += [(query, set()) for query in unanswerable(root, folder.name)]
        for query, relevant in asked:
            analysis = analyse(query, engine.index)
            pool = retrieve_for_each(analysis, engine.index, disabled=(), size=POOL)
            ranked = fuse(look_closely(pool, analysis, engine.index), model.weights, 2)
            if ranked:
                best = ranked[0].candidate.document
                inputs = calibrate(ranked, analysis, model)[0].inputs
                yield Top(folder.name, np.array(inputs), float(key_of(engine, best) in relevant))


def unanswerable(root: Path, name: str) -> list[str]:
    """Give the queries that no tool of the set called *name* answers."""
    queries = [*read(root / "noise.jsonl"), *read(root / "ood.jsonl")]
    return [one["query"] for one in queries if {"*", name} & set(one["irrelevant_for"])]


def logistic(samples: Sequence[Top], ridge: float = 1e-3, rounds: int = 50) -> Array:
    """Fit a logistic regression by Newton's method; every set weighs the same."""
    sizes = {name: sum(one.set == name for one in samples) for name in {one.set for one in samples}}
    share = np.array([1 / sizes[one.set] for one in samples]) / len(sizes)
    inputs = np.array([[1.0, *one.inputs] for one in samples])
    right = np.array([one.right for one in samples])
    weights = np.zeros(inputs.shape[1])
    for _ in range(rounds):
        probability = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (share * (probability - right)) + ridge * weights
        curvature = (inputs.T * (share * probability * (1 - probability))) @ inputs
        weights -= np.linalg.solve(curvature + ridge * np.eye(len(weights)), gradient)
    return weights


def calibration_error(samples: Sequence[Top], weights: Array, bins: int = 10) -> float:
    """Give the expected calibration error over ten bins of equal mass."""
    scores = np.array([1 / (1 + np.exp(-weights[0] - one.inputs @ weights[1:])) for one in samples])
    right = np.array([one.right for one in samples])
    parts = np.array_split(np.argsort(scores, kind="stable"), bins)
    return float(sum(abs((scores[part] - right[part]).sum()) for part in parts) / len(samples))


def left_out(
    names: Sequence[str], fit_on: Callable[[set[str]], Array], test: Callable[[str, Array], str]
) -> None:
    """Fit on all sets but one, and print what `test` says of that one."""
    for name in names:
        print(f"  without {name:<18} {test(name, fit_on(set(names) - {name}))}", flush=True)


def shown(means: dict[tuple[str, str], float]) -> str:
    """Give mean nDCG@5 by variant."""
    by_variant = [[value for (_, v), value in means.items() if v == one] for one in VARIANTS]
    return " / ".join(f"{np.mean(values):.4f}" for values in by_variant if values)


def fit_fusion(queries: Sequence[Judged], names: Sequence[str]) -> tuple[Array, str]:
    """Fit the fusion, print figures fitted and left out, and give weights and their summary."""
    weights = ascend(queries)
    print("fitted on all:", shown(mean_ndcg(queries, weights)))
    unseen: dict[tuple[str, str], float] = {}

    def test(name: str, fitted: Array) -> str:
        found = mean_ndcg((one for one in queries if one.set == name), fitted)
        unseen.update(found)
        return shown(found)

    left_out(names, lambda kept: ascend([q for q in queries if q.set in kept]), test)
    print("left out:     ", shown(unseen))
    return weights, shown(unseen)


def fit_calibration(samples: Sequence[Top], names: Sequence[str]) -> tuple[Array, float]:
    """Fit the calibration, print errors left out, and give coefficients and their mean error."""
    errors: list[float] = []

    def test(name: str, fitted: Array) -> str:
        errors.append(calibration_error([one for one in samples if one.set == name], fitted))
        return f"expected calibration error {errors[-1]:.4f}"

    left_out(names, lambda kept: logistic([one for one in samples if one.set in kept]), test)
    print(f"left out: expected calibration error {np.mean(errors):.4f}")
    return logistic(samples), float(np.mean(errors))


def document(weights: Array, calibration: Array, provenance: str) -> str:
    """Write a model as the data file has it."""
    members = {
        "schema": "mcpg/ranking/1",
        "name": "shipped with mcpg",
        "provenance": provenance,
        "weights": {
            name: round(float(one), 4) for name, one in zip(FEATURES, weights, strict=True)
        },
        "calibration": {
            "intercept": round(float(calibration[0]), 4),
            "coefficients": {
                name: round(float(one), 4)
                for name, one in zip(INPUTS, calibration[1:], strict=True)
            },
        },
    }
    return json.dumps(members, indent=2) + "\n"


def main() -> None:
    """Fit, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--sets", default="")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.iterdir() if (path / "tools.json").exists())
    chosen = [f for f in folders if not arguments.sets or f.name in arguments.sets.split(",")]
    names = [folder.name for folder in chosen]
    queries = [one for folder in chosen for one in pools(folder, arguments.queries)]
    weights, unseen = fit_fusion(queries, names)
    root = arguments.folder.parent
    samples = [one for f in chosen for one in tops(f, root, arguments.queries, weights)]
    calibration, error = fit_calibration(samples, names)
    provenance = (
        f"benchmarks/fit_ranking.py on {', '.join(names)}; {arguments.queries} queries a set, clean"
        f" and misspelt, seed 0; nDCG@5 of sets left out {unseen}, calibration error {error:.3f}"
    )
    text = document(weights, calibration, provenance)
    print(text)
    if arguments.write:
        file = Path(mcpg.engine.__file__).parent / "data" / "ranking.json"
        file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
