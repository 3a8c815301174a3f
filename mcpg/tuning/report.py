"""What tuning came to, as values for people and programs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from mcpg.engine.features import FEATURES
from mcpg.engine.origin import ModelOrigin
from mcpg.engine.ranking import Ranking, ranking_json
from mcpg.evaluation.outcomes import SCORE_DECIMALS

if TYPE_CHECKING:
    from mcpg.evaluation.judged import Judgements
    from mcpg.jsontypes import JsonObject
    from mcpg.tuning.tune import Figure, Part, Tuning

SCHEMA = "mcpg/tune/1"

_LONGEST_NAME = 80
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class TuneReport:
    """What a run of tuning came to.

    Attributes:
        queries: How many judged queries there were.
        shipped: The model that was to be beaten.
        tuning: What was found out; `None` when there was too little to learn from.
        ranking: The model to keep; `None` when it is refused.
        refusal: Why it is refused, "" when it is not.
    """

    queries: int
    shipped: Ranking
    tuning: Tuning | None = None
    ranking: Ranking | None = None
    refusal: str = ""


def origin_of_tuning(tuning: Tuning, judgements: Judgements) -> ModelOrigin:
    """Name a tuned model, and say how it was fitted."""
    name = _file_name(judgements.place)
    return ModelOrigin(f"tuned on {name}", _provenance(tuning, judgements, name))


def _provenance(tuning: Tuning, judgements: Judgements, name: str) -> str:
    kept = {"weights": tuning.weights, "calibration": tuning.calibration}
    parts = " and ".join(what for what, part in kept.items() if part.is_kept)
    figures = ", ".join(
        f"{name} {figure.before:.4f} before, {figure.after:.4f} after"
        for part in kept.values()
        if part.is_kept
        for name, figure in part.figures.items()
    )
    return (
        f"mcpg tune on {name} ({_digest(judgements)}): {tuning.answerable} queries with an answer"
        f" and {tuning.answerless} without; {tuning.folds} folds, seed {tuning.seed}; {parts}"
        f" fitted; held out: {figures}"
    )


def _file_name(place: str) -> str:
    """Give the last part of a path, as far as it can be printed: no folder of a machine is told."""
    name = PurePath(place).name
    return "".join(one for one in name if one.isprintable())[:_LONGEST_NAME].strip() or "queries"


def _digest(judgements: Judgements) -> str:
    """Name the content of the queries, wherever they stand in the file."""
    lines = sorted(json.dumps([one.query, sorted(one.relevant)]) for one in judgements.queries)
    return f"sha256:{hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:_DIGITS]}"


def tune_json(report: TuneReport, *, is_written: bool) -> JsonObject:
    """Give *report* as the JSON object of schema `SCHEMA`."""
    tuning = report.tuning
    return {
        "schema": SCHEMA,
        "queries": report.queries,
        **(_trial_json(tuning) if tuning else {}),
        "shipped": ranking_json(report.shipped, FEATURES),
        "tuned": ranking_json(report.ranking, FEATURES) if report.ranking else None,
        "refusal": report.refusal or None,
        "written": is_written,
    }


def _trial_json(tuning: Tuning) -> JsonObject:
    return {
        "answerable": tuning.answerable,
        "answerless": tuning.answerless,
        "groups": tuning.groups,
        "folds": tuning.folds,
        "seed": tuning.seed,
        "weights": _part_json(tuning.weights),
        "calibration": _part_json(tuning.calibration),
    }


def _part_json(part: Part) -> JsonObject:
    return {
        "kept": part.is_kept,
        "p": round(part.p, SCORE_DECIMALS),
        "heldOut": {name: _figure_json(figure) for name, figure in part.figures.items()},
    }


def _figure_json(figure: Figure) -> JsonObject:
    members = {
        "before": figure.before,
        "after": figure.after,
        "spreadBefore": figure.spread_before,
        "spreadAfter": figure.spread_after,
    }
    return {name: round(value, SCORE_DECIMALS) for name, value in members.items()}
