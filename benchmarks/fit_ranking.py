"""Fit the ranking model on judged sets, and say what it does on sets it was not fitted on.

    pip install numpy
    python benchmarks/fit_ranking.py FOLDER [--queries 300] [--sets a,b] [--keep-weights] [--write]

FOLDER is laid out as for `bench_quality.py`; beside it or in its parent, `noise.jsonl` and
`ood.jsonl` may hold queries that no tool answers. Fusion weights maximise the mean nDCG@5 of the
sets, clean and misspelt alike, by coordinate ascent over a fixed grid (Metzler & Croft, "Linear
feature-based models for information retrieval", 2007); every set weighs the same. The calibration
is a logistic regression on the best matches of each query, the first before all, with the answers
of every fifth query taken out of the catalogue; as the queries of the sets are long, a few of
their words and the names of tools, also misspelt, are asked as well. Both are then fitted on all
sets but one and measured on that one. `--write` puts the model fitted on all sets into
`mcpg/engine/data/ranking.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import texts
from numpy.typing import NDArray

import mcpg.engine
from mcpg.engine.analysis import analyse
from mcpg.engine.confidence import INPUTS, MARGIN_DEPTH, calibrate
from mcpg.engine.defaults import default_model, default_origin
from mcpg.engine.features import FEATURES, look_closely
from mcpg.engine.fusion import fuse
from mcpg.engine.model import Model
from mcpg.engine.pipeline import gather
from mcpg.engine.request import Request
from mcpg.engine.retrieval import POOL, retrieve
from mcpg.text import split_words
from mcpg.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Array = NDArray[np.float64]
VARIANTS = ("queries.jsonl", "queries.typo.jsonl")
GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)
STARTS = 3
DEPTH = 5
# Of the queries of a catalogue, three in ten are taken to have no answer there, and half as many
# more to be noise. Matches below the best count for little: what is looked at first is to be right.
JUDGED, ANSWERLESS, NOISE = "judged", "answerless", "noise"
SHARES = {JUDGED: 0.7, ANSWERLESS: 0.3, NOISE: 0.15}
# What is asked: the queries of the sets, clean and misspelt, a few words of them, names of tools.
ASKED, WORDS, NAMES, MISSPELT_NAMES = "asked", "words", "names", "misspelt names"
FORMS = {ASKED: 1.0, WORDS: 0.05, NAMES: 0.03, MISSPELT_NAMES: 0.03}
SURE = "; calibration, on sets left out: "
MOST_WORDS = 4
MOST_NAMES = 120
LONG_WORD = 5
LOWER = 0.05
FOLDS = (0, 2)
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
    """One of the best matches of one query: the calibration's inputs, and whether it is right."""

    set: str
    kind: str
    form: str
    rank: int
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
    """Give the best matches of each query, the answers of every fifth one taken away."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    queries = {variant: read(folder / variant, count) for variant in VARIANTS}
    model = Model(tuple(weights), 0.0, (0.0,) * len(INPUTS))
    for fold in FOLDS:
        without = [one for asked in queries.values() for one in asked[fold::5]]
        gone = {key for query in without for key in query["relevant"]}
        engine = load([tool for tool in tools if texts.key(tool) not in gone])
        for variant, asked in queries.items():
            for place, query in enumerate(asked):
                relevant = set(query["relevant"]) - gone
                if place % 5 == fold or relevant == set(query["relevant"]):
                    label = folder.name, JUDGED if relevant else ANSWERLESS
                    yield from seen(engine, query["query"], relevant, model, (*label, ASKED))
                    if variant == VARIANTS[0]:
                        words = few_words(query["query"], engine)
                        yield from seen(engine, words, relevant, model, (*label, WORDS))
        yield from named(folder.name, tools, gone, engine, model)
    for query in unanswerable(root, folder.name):
        yield from seen(engine, query, set(), model, (folder.name, NOISE, ASKED))


def named(
    name: str, tools: list[dict[str, Any]], gone: set[str], engine: mcpg.Engine, model: Model
) -> Iterator[Top]:
    """Ask for some tools by their names, as they are and misspelt."""
    rng = random.Random(name)
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for tool in tools:
        holders[" ".join(split_words(tool["name"]))].add(texts.key(tool))
    for asked in rng.sample(sorted(holders), min(len(holders), MOST_NAMES)):
        relevant = holders[asked] - gone
        label = name, JUDGED if relevant else ANSWERLESS
        yield from seen(engine, asked, relevant, model, (*label, NAMES))
        slipped = misspelt(asked, rng)
        if slipped != asked:
            yield from seen(engine, slipped, relevant, model, (*label, MISSPELT_NAMES))


def few_words(query: str, engine: mcpg.Engine) -> str:
    """Give some words of a query, drawn by a seed, in their order; no function words."""
    rng = random.Random(query)
    clauses = analyse(query, engine.index).clauses
    words = [clause.text for clause in clauses if clause.role in ("term", "unknown")]
    count = min(rng.randint(1, MOST_WORDS), len(words))
    return " ".join(words[place] for place in sorted(rng.sample(range(len(words)), count)))


def misspelt(text: str, rng: random.Random) -> str:
    """Drop a letter of a long word, or swap two; a text without long words stays."""
    long_words = [word for word in text.split() if len(word) >= LONG_WORD]
    if not long_words:
        return text
    word = rng.choice(long_words)
    place = rng.randrange(1, len(word) - 1)
    swapped = word[place + 1] + word[place] if rng.random() < 1 / 2 else ""
    return text.replace(word, word[:place] + swapped + word[place + (2 if swapped else 1) :], 1)


def seen(
    engine: mcpg.Engine, query: str, relevant: set[str], model: Model, label: tuple[str, str, str]
) -> Iterator[Top]:
    """Give the best matches of a query with what the calibration is told of them."""
    analysis, pool = gather(Request(query), engine.index, frozenset(), size=POOL)
    sights = look_closely(pool, analysis, engine.index)
    ranked = fuse(sights, model.weights, MARGIN_DEPTH)
    found = zip(ranked, calibrate(ranked, sights, analysis, model, len(engine.index)), strict=True)
    for rank, (one, calibration) in enumerate(islice(found, DEPTH)):
        right = key_of(engine, one.candidate.document) in relevant
        yield Top(*label, rank, np.array(calibration.inputs), float(right))


def unanswerable(root: Path, name: str) -> list[str]:
    """Give the queries that no tool of the set called *name* answers."""
    queries = [*read(root / "noise.jsonl"), *read(root / "ood.jsonl")]
    return [one["query"] for one in queries if {"*", name} & set(one["irrelevant_for"])]


def shares(samples: Sequence[Top]) -> Array:
    """Give each sample its weight: every set the same, kinds, forms and ranks as told above."""
    counts = Counter((one.set, one.kind, one.form, one.rank) for one in samples)
    return np.array(
        [
            SHARES[one.kind]
            * FORMS[one.form]
            * (LOWER if one.rank else 1)
            / counts[one.set, one.kind, one.form, one.rank]
            for one in samples
        ]
    )


def logistic(samples: Sequence[Top], ridge: float = 1e-4, rounds: int = 50) -> Array:
    """Fit a logistic regression by Newton's method."""
    share = shares(samples)
    share /= share.sum()
    inputs = np.array([[1.0, *one.inputs] for one in samples])
    right = np.array([one.right for one in samples])
    weights = np.zeros(inputs.shape[1])
    for _ in range(rounds):
        probability = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (share * (probability - right)) + ridge * weights
        curvature = (inputs.T * (share * probability * (1 - probability))) @ inputs
        weights -= np.linalg.solve(curvature + ridge * np.eye(len(weights)), gradient)
    return weights


def scores(samples: Sequence[Top], weights: Array) -> Array:
    """Give the calibrated score of each sample."""
    inputs = np.array([one.inputs for one in samples]).reshape(len(samples), -1)
    return np.asarray(1 / (1 + np.exp(-weights[0] - inputs @ weights[1:])))


def of_form(samples: Sequence[Top], form: str = ASKED) -> list[Top]:
    """Give the best match of each query of one form."""
    return [one for one in samples if not one.rank and one.form == form]


def calibration_error(samples: Sequence[Top], weights: Array, bins: int = 10) -> float:
    """Give the expected calibration error of best matches over ten bins of equal mass."""
    firsts = [one for one in of_form(samples) if one.kind != NOISE]
    found, share = scores(firsts, weights), shares(firsts)
    order = np.argsort(found, kind="stable")
    right = np.array([one.right for one in firsts])
    bin_of = np.minimum((np.cumsum(share[order]) / share.sum() * bins).astype(int), bins - 1)
    error = share[order] * (found[order] - right[order])
    return float(sum(abs(error[bin_of == one].sum()) for one in range(bins)) / share.sum())


def separation(samples: Sequence[Top], weights: Array, kind: str) -> float:
    """Give how often a right best match scores above a best match of that *kind* (AUROC)."""
    firsts = of_form(samples)
    right = scores([one for one in firsts if one.right], weights)
    wrong = scores([one for one in firsts if one.kind == kind], weights)
    return float(np.mean(np.sign(right[:, None] - wrong[None, :]) / 2 + 0.5)) if len(wrong) else 1.0


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


def fit_calibration(samples: Sequence[Top], names: Sequence[str]) -> tuple[Array, str]:
    """Fit the calibration, print figures left out, and give coefficients and their summary."""
    found: list[tuple[float, float, float]] = []

    def test(name: str, fitted: Array) -> str:
        own = [one for one in samples if one.set == name]
        apart = [separation(own, fitted, kind) for kind in (ANSWERLESS, NOISE)]
        found.append((calibration_error(own, fitted), apart[0], apart[1]))
        return "error {:.4f}, AUROC against answerless {:.3f}, noise {:.3f}".format(*found[-1])

    left_out(names, lambda kept: logistic([one for one in samples if one.set in kept]), test)
    error, answerless, noise = np.mean(found, axis=0)
    summary = (
        f"error {error:.3f}, AUROC of right against answerless {answerless:.3f}, noise {noise:.3f}"
    )
    print("left out:", summary)
    return logistic(samples), summary


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
    parser.add_argument("--keep-weights", action="store_true", help="fit the calibration alone")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.iterdir() if (path / "tools.json").exists())
    chosen = [f for f in folders if not arguments.sets or f.name in arguments.sets.split(",")]
    names = [folder.name for folder in chosen]
    made = (
        f"benchmarks/fit_ranking.py on {', '.join(names)}; {arguments.queries} queries a set, clean"
        " and misspelt, seed 0"
    )
    weights, told = np.array(default_model().weights), default_origin().provenance.split(SURE)[0]
    if not arguments.keep_weights:
        queries = [one for folder in chosen for one in pools(folder, arguments.queries)]
        weights, unseen = fit_fusion(queries, names)
        told = f"{made}; nDCG@5 of sets left out {unseen}"
    root = arguments.folder.parent
    samples = [one for f in chosen for one in tops(f, root, arguments.queries, weights)]
    calibration, sure = fit_calibration(samples, names)
    text = document(weights, calibration, f"{told}{SURE}{sure}")
    print(text)
    if arguments.write:
        file = Path(mcpg.engine.__file__).parent / "data" / "ranking.json"
        file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
