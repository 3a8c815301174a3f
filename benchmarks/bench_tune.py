"""What `mcpg tune` gives to a catalogue that the ranking to begin with has never seen.

    python benchmarks/bench_tune.py FOLDER WORDNET [--queries 400] [--sets a,b]

FOLDER and WORDNET are those of `fit_ranking.py`. For each set, the ranking to begin with is fitted
on the other sets. It is tuned on some queries of the set, and both are measured on as many others.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_hints import load_engine
from fit_ranking import (
    asked_of_all,
    fit_scores,
    fit_weights,
    pools,
    seen_in,
    shipped_weights,
)
from samplings import read

from mcpg.engine.loading import merge_fitted_weights
from mcpg.evaluation.fit import (
    best_scored,
    build_cases,
    compute_shares,
    ranked_figures,
    weighted_calibration_error,
)
from mcpg.evaluation.judged import JudgedQuery, Judgements, resolve
from mcpg.evaluation.tune import too_few, tune
from mcpg.search.model import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fit_ranking import Judged, Top

    import mcpg
    from mcpg.evaluation.fit import Case

FOLDS = 5
# How many queries of each other set the ranking to begin with is fitted on.
WEIGHED, CALIBRATED = 200, 100


def cases(engine: mcpg.Engine, queries: Sequence[dict[str, Any]]) -> list[Case]:
    """Look at *queries*."""
    judged = [
        JudgedQuery(query["id"], query["query"], tuple(query["relevant"]), line)
        for line, query in enumerate(queries, start=1)
    ]
    resolved = resolve(Judgements(tuple(judged)), engine.catalog)
    return build_cases(resolved, engine.index, disabled=frozenset())


def measured(found: Sequence[Case], model: Model) -> tuple[float, float, float]:
    """Give nDCG@5, recall@5 and calibration error."""
    figures = [ranked_figures(case, model) for case in found]
    scored = [one for case in found for one in best_scored(case, model)]
    scores, right = [one.score for one in scored], [one.is_right for one in scored]
    error = weighted_calibration_error(scores, right, compute_shares(scored, found))
    ndcg, recall = (sum(column) / len(figures) for column in zip(*figures, strict=True))
    return ndcg, recall, error


def row(name: str, folder: Path, model: Model, count: int) -> str:
    """Tune on one half of a set's queries, and say what that does to the other."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    engine = load_engine(tools, {}, "none")
    queries = read(folder / "queries.jsonl")
    random.Random(5).shuffle(queries)
    half = min(count, len(queries) // 2)
    known, unseen = cases(engine, queries[:half]), cases(engine, queries[half : 2 * half])
    refusal = too_few(known, FOLDS)
    if refusal:
        return f"| {name} | {half} | {refusal} |"
    found = tune(known, model, folds=FOLDS)
    kept = {"weights": found.weights, "calibration": found.calibration}
    told = " and ".join(part for part, what in kept.items() if what.is_kept) or "nothing"
    pairs = zip(measured(unseen, model), measured(unseen, found.model), strict=True)
    cells = " | ".join(f"{before:.4f} → {after:.4f}" for before, after in pairs)
    return f"| {name} | {half} | {told} | {cells} |"


def beginning(name: str, judged: Sequence[Judged], seen: Sequence[Top]) -> Model:
    """Fit a model on all sets but the one called *name*."""
    weights = fit_weights([one for one in judged if one.set != name])
    others = {one.set for one in seen} - {name}
    fitted = fit_scores(seen_in(seen, others))
    intercept, *coefficients = fitted.chosen
    return Model(merge_fitted_weights(weights), intercept, tuple(coefficients), fitted.answerable)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--sets", default="")
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.iterdir() if (path / "tools.json").exists())
    chosen = [f for f in folders if not arguments.sets or f.name in arguments.sets.split(",")]
    judged = [one for folder in chosen for one in pools(folder, WEIGHED)]
    seen = asked_of_all(chosen, arguments.wordnet, CALIBRATED, shipped_weights())
    print("| set | queries | kept | nDCG@5 | recall@5 | calibration error |")
    print("|---|---|---|---|---|---|")
    for folder in chosen:
        model = beginning(folder.name, judged, seen)
        print(row(folder.name, folder, model, arguments.queries), flush=True)


if __name__ == "__main__":
    main()
