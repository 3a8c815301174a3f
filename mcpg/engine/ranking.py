"""A fitted model as JSON: how a bundle carries one that was fitted for it.

What a bundle carries may come from anybody, so it is checked before it ranks: what does not pass is
left alone, and the shipped model ranks.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from mcpg.diagnostics import Code, warning
from mcpg.engine.defaults import default_model, default_origin
from mcpg.engine.features import FEATURES
from mcpg.engine.model import INPUTS, Model
from mcpg.engine.origin import ModelOrigin
from mcpg.values import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mcpg.diagnostics import Diagnostic
    from mcpg.jsontypes import JsonObject, JsonValue

SCHEMA = "mcpg/ranking/1"
"""The layout that is written and read."""

GIVEN = ("bm25f", "openingName", "exactName", "intent")
"""Features whose weights are never fitted on queries, and never carried by a bundle: that of BM25F
is the unit of all others, what names a tool is a rule, whose weight makes it hold, and what a tool
adds for an intent depends on the order that the others give."""

BY_ORDER = ("intent",)
"""Those of them that a tool has only once it has a place."""

FITTED = tuple(name for name in FEATURES if name not in GIVEN)
"""The features whose weights are fitted, in the order of `FEATURES`."""

MOST_WEIGHT = 2.0
"""The greatest weight that a fit gives, and that is believed. A name that is spelt out weighs more
than all fitted features together can, so that it stays ahead."""

DECIMALS = 4
"""Decimals of fitted numbers."""

LONGEST_NAME, LONGEST_PROVENANCE = 200, 2_000
"""The most characters of a model's name, and of its provenance."""

_GREATEST_COEFFICIENT = 100.0


@value
class Ranking:
    """A fitted model, and where it comes from.

    Attributes:
        model: The fitted numbers.
        origin: Its name, and how it was fitted.
    """

    model: Model
    origin: ModelOrigin


class RankingError(ValueError):
    """What should be a fitted model is none; says why."""


def shipped_ranking() -> Ranking:
    """Give the model that ships with mcpg."""
    return Ranking(default_model(), default_origin())


def ranking_json(ranking: Ranking, features: Collection[str] = FITTED) -> JsonObject:
    """Write *ranking* as JSON, with the weights of the *features* alone."""
    model, origin = ranking.model, ranking.origin
    weights = zip(FEATURES, model.weights, strict=True)
    return {
        "schema": SCHEMA,
        "name": origin.name,
        "provenance": origin.provenance,
        "weights": {name: weight for name, weight in weights if name in features},
        "calibration": {
            "intercept": model.intercept,
            "coefficients": dict(zip(INPUTS, model.coefficients, strict=True)),
        },
    }


def parse_ranking(found: JsonValue) -> Ranking:
    """Read what a bundle carries; weights that it never carries are the shipped ones.

    Raises:
        RankingError: It is damaged, or made for other features or inputs than this mcpg has.
    """
    members = _object(found, "it")
    if members.get("schema") != SCHEMA:
        raise RankingError(f"its schema is not {SCHEMA}")
    calibration = _object(members.get("calibration"), "its calibration")
    weights = _numbers(members.get("weights"), FITTED, "weights", (0.0, MOST_WEIGHT))
    bounds = (-_GREATEST_COEFFICIENT, _GREATEST_COEFFICIENT)
    coefficients = _numbers(calibration.get("coefficients"), INPUTS, "coefficients", bounds)
    origin = ModelOrigin(
        _text(members.get("name"), "name", LONGEST_NAME),
        _text(members.get("provenance"), "provenance", LONGEST_PROVENANCE),
    )
    intercept = _number(calibration.get("intercept"), "intercept", bounds)
    return Ranking(Model(with_fitted(weights), intercept, tuple(coefficients)), origin)


def with_fitted(weights: Iterable[float]) -> tuple[float, ...]:
    """Give all weights, in the order of `FEATURES`: of `FITTED` these, of others the shipped."""
    shipped = dict(zip(FEATURES, default_model().weights, strict=True))
    return tuple((shipped | dict(zip(FITTED, weights, strict=True))).values())


def ranking_of(carried: JsonValue) -> tuple[Ranking, str]:
    """Give the model to rank with, and why it is not the one that was *carried*.

    The reason is "" when it is that one, or when none was carried (`None`).
    """
    if carried is None:
        return shipped_ranking(), ""
    try:
        return parse_ranking(carried), ""
    except RankingError as fault:
        return shipped_ranking(), str(fault)


def ignored(reason: str, place: str | None = None) -> Diagnostic:
    """Say that the model a bundle carries does not rank."""
    message = f"the bundle's own ranking is not used, the shipped one is: {reason}"
    return warning(Code.RANKING_IGNORED, message, place)


def _object(found: Any, what: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise RankingError(f"{what} is no object")
    return found


def _numbers(
    found: JsonValue, names: Sequence[str], what: str, bounds: tuple[float, float]
) -> list[float]:
    members = _object(found, f"what should be its {what}")
    if members.keys() != set(names):
        raise RankingError(f"it was fitted by another version: its {what} are of other names")
    return [_number(members[name], name, bounds) for name in names]


def _number(found: Any, name: str, bounds: tuple[float, float]) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise RankingError(f"its {name!r} is no number")
    low, high = bounds
    # Compared before it becomes a float: a whole number may be too great for one.
    if not low <= found <= high or not isfinite(found):
        raise RankingError(f"its {name!r} is not from {low:g} to {high:g}")
    return float(found)


def _text(found: Any, name: str, longest: int) -> str:
    if not isinstance(found, str) or not found.strip():
        raise RankingError(f"its {name} is no text")
    if len(found) > longest or not found.isprintable():
        raise RankingError(f"its {name} is longer than {longest:,} characters or is not printable")
    return found
