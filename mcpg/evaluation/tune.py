"""Tuning: a model fitted on a user's own queries, kept only if it is better for unseen queries.

Both parts, the weights of the fused score and the calibration, are fitted on all folds but one and
measured on that fold, for each fold in turn. A part is kept if it is significantly better on
held-out queries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import PurePath
from statistics import fmean, pstdev
from typing import Protocol, TypeVar

from mcpg.engine.loading import (
    FITTED,
    WEIGHT_DECIMALS,
    Ranking,
    contextual_weights,
    merge_fitted_weights,
    ranking_json,
)
from mcpg.errors import Diagnostic
from mcpg.evaluation.fit import (
    Case,
    ScoredMatch,
    assign_folds,
    best_scored,
    compute_shares,
    fit_calibration,
    fit_contextual,
    fit_weights,
    ranked_figures,
    weighted_calibration_error,
)
from mcpg.evaluation.judged import Judgements
from mcpg.evaluation.metrics import Significance, paired_randomisation
from mcpg.search.model import FEATURES, Model, ModelProvenance
from mcpg.text.json_values import JsonObject
from mcpg.values import SHOWN_DECIMALS, to_json

Item = TypeVar("Item")
Held = TypeVar("Held")

FEWEST_QUERIES = 50
"""The fewest queries with an answer: the usual size of a test of retrieval, because with fewer,
other queries of the same kind too often give the opposite result.

Source: Voorhees & Buckley, "The effect of topic set size on retrieval experiment error", SIGIR
2002; Buckley & Voorhees, "Evaluating evaluation measure stability", SIGIR 2000.
"""

FEWEST_GROUPS = 25
"""The fewest groups of these: paraphrases of a request add no information. No source above draws a
conclusion from fewer.
"""

CHANCE = 0.05
"""The significance level of a gain on held-out queries.

Source: Smucker, Allan & Carterette, "A comparison of statistical significance tests for information
retrieval evaluation", CIKM 2007: the randomisation test, here of one side and by groups.
"""

WEIGHTS_BELIEF = 1.0
"""The shipped weights count as so many queries, for a step of 1 in one of them."""

CALIBRATION_BELIEF = 2.0
"""How many queries the shipped calibration is worth; as a prior, its coefficients have a standard
deviation of the inverse of the root of that."""


@dataclass(frozen=True, slots=True)
class HeldOutFigure:
    """A metric on held-out queries, before and after.

    Attributes:
        before: With the shipped model.
        after: With models fitted on all other folds.
        spread_before: Standard deviation of `before` between the folds.
    """

    before: float
    after: float
    spread_before: float
    spread_after: float


@dataclass(frozen=True, slots=True)
class TunedPart:
    """The result of tuning one part of the model.

    Attributes:
        is_kept: Whether the fitted part is better than the shipped one.
        significance: The test of the deciding difference, by groups; positive is better.
    """

    is_kept: bool
    figures: dict[str, HeldOutFigure]
    significance: Significance

    @property
    def p(self) -> float:
        """The chance of such a gain, or a greater one, were the two equally good."""
        found = self.significance
        # Signs are equally likely, so half of the equally extreme differences are gains.
        return found.p / 2 if found.difference > 0 else 1 - found.p / 2


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of tuning.

    Attributes:
        model: The fitted model, as far as its parts are kept; rounded as it is written.
    """

    model: Model
    weights: TunedPart
    calibration: TunedPart
    answerable: int
    answerless: int
    groups: int
    folds: int
    seed: int

    @property
    def is_better(self) -> bool:
        return self.weights.is_kept or self.calibration.is_kept


class GroupedCase(Protocol):
    """A judged query with its group."""

    @property
    def group(self) -> int: ...
    @property
    def is_answerable(self) -> bool: ...


def too_few(cases: Sequence[GroupedCase], folds: int, noun: str = "tools") -> str | None:
    """Explain why *cases* cannot be learned from, `None` if they can; a *noun* names answers."""
    asked = [case for case in cases if case.is_answerable]
    if len(asked) < FEWEST_QUERIES:
        return (
            f"{len(asked)} queries have an answer; at least {FEWEST_QUERIES} are needed to"
            " distinguish a gain from chance"
        )
    groups, needed = len({case.group for case in asked}), max(FEWEST_GROUPS, folds)
    if groups < needed:
        return (
            f"the queries ask for {groups} different sets of {noun}; with fewer than {needed} a fit"
            " learns them by heart"
        )
    return None


def tune(cases: Sequence[Case], shipped: Model, *, folds: int = 5, seed: int = 0) -> Tuning:
    """Fit a model on *cases*, if there are not `too_few`.

    It begins with the *shipped* model, stays near it, and must be better. So many *folds*, at least
    2, are held out in turn; *seed* determines them and the starts of fits.
    """
    trial = _TuningTrial(cases, shipped, folds, seed)
    weights = trial.try_weights()
    calibration = trial.try_calibration(weights)
    model = shipped
    if weights.is_kept:
        model = trial.with_weights(cases, shipped)
    if calibration.is_kept:
        model = trial.with_calibration(cases, model)
    answerable = sum(case.is_answerable for case in cases)
    return Tuning(
        model,
        weights,
        calibration,
        answerable,
        len(cases) - answerable,
        len({case.group for case in cases}),
        folds,
        seed,
    )


class _TuningTrial:
    def __init__(self, cases: Sequence[Case], shipped: Model, folds: int, seed: int) -> None:
        self._shipped, self._seed = shipped, seed
        places = assign_folds([case.group for case in cases], folds, seed)
        pairs = list(zip(cases, places, strict=True))
        self._held = [[case for case, at in pairs if at == fold] for fold in range(folds)]
        self._rest = [[case for case, at in pairs if at != fold] for fold in range(folds)]
        self._fitted: list[Model] = []

    def with_weights(self, cases: Sequence[Case], model: Model) -> Model:
        own = [one for one, name in zip(model.weights, FEATURES, strict=True) if name in FITTED]
        fitted = fit_weights(cases, model, own, belief=WEIGHTS_BELIEF, seed=self._seed)
        model = model._replace(weights=merge_fitted_weights(fitted, contextual_weights(model)))
        in_use = fit_contextual(cases, model, belief=WEIGHTS_BELIEF, seed=self._seed)
        return model._replace(weights=merge_fitted_weights(fitted, in_use))

    def with_calibration(self, cases: Sequence[Case], model: Model) -> Model:
        found = fit_calibration(cases, model, belief=CALIBRATION_BELIEF)
        intercept, *coefficients = (round(one, WEIGHT_DECIMALS) for one in found)
        return model._replace(intercept=intercept, coefficients=tuple(coefficients))

    def try_weights(self) -> TunedPart:
        self._fitted = [self.with_weights(rest, self._shipped) for rest in self._rest]
        asked = [[case for case in held if case.is_answerable] for held in self._held]
        shipped = [self._shipped] * len(asked)
        before, after = (
            [
                [ranked_figures(case, model) for case in held]
                for held, model in zip(asked, models, strict=True)
            ]
            for models in (shipped, self._fitted)
        )
        figures = {}
        for place, name in enumerate(("ndcg@5", "recall@5")):
            then, now = (
                [[one[place] for one in fold] for fold in rows] for rows in (before, after)
            )
            figures[name] = measure_figure(then, now, asked, lambda values, _: fmean(values))
        gains = zip(_flatten(before), _flatten(after), strict=True)
        return judge_part(
            figures,
            [case.group for case in _flatten(asked)],
            [one[0] - was[0] for was, one in gains],
        )

    def try_calibration(self, weights: TunedPart) -> TunedPart:
        shipped = [self._shipped] * len(self._held)
        bases = self._fitted if weights.is_kept else shipped
        pairs = zip(self._rest, bases, strict=True)
        fitted = [self.with_calibration(rest, model) for rest, model in pairs]
        # A model with fitted weights needs a fitted calibration, unless that is worse.
        before, after, bar = (
            [
                [best_scored(case, model) for case in held]
                for held, model in zip(self._held, models, strict=True)
            ]
            for models in (shipped, fitted, bases)
        )
        figures = {
            name: measure_figure(
                [_flatten(fold) for fold in before],
                [_flatten(fold) for fold in after],
                self._held,
                measure,
            )
            for name, measure in (("ece", _measure_calibration_error), ("logLoss", _mean_loss))
        }
        cases, losses = _flatten(self._held), []
        for found in (_flatten(bar), _flatten(after)):
            shares = iter(compute_shares(_flatten(found), cases))
            losses.append(
                [len(cases) * fsum(one.loss * next(shares) for one in scored) for scored in found]
            )
        gains = [then - now for then, now in zip(*losses, strict=True)]
        groups = [case.group for case in cases]
        return judge_part(figures, groups, gains, CHANCE if not weights.is_kept else 0.5)


def judge_part(
    figures: dict[str, HeldOutFigure],
    groups: Sequence[int],
    gains: Sequence[float],
    chance: float = CHANCE,
) -> TunedPart:
    """Test the *gains* of queries by their *groups*, within which they are not independent."""
    by_group: dict[int, list[float]] = {}
    for group, gain in zip(groups, gains, strict=True):
        by_group.setdefault(group, []).append(gain)
    found = paired_randomisation([fsum(one) for one in by_group.values()])
    part = TunedPart(True, figures, found)
    return part if part.p < chance else replace(part, is_kept=False)


def measure_figure(
    before: Sequence[Sequence[Item]],
    after: Sequence[Sequence[Item]],
    held: Sequence[Sequence[Held]],
    measure: Callable[[Sequence[Item], Sequence[Held]], float],
) -> HeldOutFigure:
    """Return the *measure* of *held* cases and their results, by fold."""
    means, spreads = [], []
    for found in (before, after):
        means.append(measure(_flatten(found), _flatten(held)))
        pairs = zip(found, held, strict=True)
        spreads.append(pstdev([measure(fold, cases) for fold, cases in pairs if cases]))
    return HeldOutFigure(means[0], means[1], spreads[0], spreads[1])


def _measure_calibration_error(found: Sequence[ScoredMatch], cases: Sequence[Case]) -> float:
    scores, right = [one.score for one in found], [one.is_right for one in found]
    return weighted_calibration_error(scores, right, compute_shares(found, cases))


def _mean_loss(found: Sequence[ScoredMatch], cases: Sequence[Case]) -> float:
    shares = compute_shares(found, cases)
    losses = (one.loss * share for one, share in zip(found, shares, strict=True))
    return fsum(losses) / fsum(shares)


def _flatten(parts: Iterable[Sequence[Item]]) -> list[Item]:
    return [one for part in parts for one in part]


@dataclass(frozen=True, slots=True)
class ItemTuning:
    """The result of tuning the search of items beside tools.

    Attributes:
        section: The section of the settings with the tuned value.
        part: The result; `None` if there were too few queries.
        tuned: The value to set; `None` if it is rejected, for the reason in *refusal*.
    """

    section: str
    key: str
    shipped: tuple[float, ...]
    queries: int
    diagnostics: tuple[Diagnostic, ...] = ()
    refusal: str = ""
    part: TunedPart | None = None
    tuned: tuple[float, ...] | None = None


SCHEMA = "mcpg/tune/1"
ITEM_SCHEMA = "mcpg/tune-setting/1"

_LONGEST_NAME = 80
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class TuneReport:
    """The result of a run of tuning.

    Attributes:
        tuning: The result; `None` if there were too few queries.
        ranking: The model to keep; `None` if it is rejected, for the reason in *refusal*.
    """

    queries: int
    shipped: Ranking
    tuning: Tuning | None = None
    ranking: Ranking | None = None
    refusal: str = ""


def provenance_of_tuning(tuning: Tuning, judgements: Judgements) -> ModelProvenance:
    """Return the name and method of a tuned model."""
    printable = "".join(filter(str.isprintable, PurePath(judgements.place).name))
    name = printable[:_LONGEST_NAME].strip() or "queries"
    lines = sorted(
        json.dumps([one.query, sorted(one.relevant), *filter(None, [sorted(one.context_tools)])])
        for one in judgements.queries
    )
    digest = hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:_DIGITS]
    kept = {"weights": tuning.weights, "calibration": tuning.calibration}
    kept = {what: part for what, part in kept.items() if part.is_kept}
    figures = ", ".join(
        f"{figure} {values.before:.4f} before, {values.after:.4f} after"
        for part in kept.values()
        for figure, values in part.figures.items()
    )
    provenance = (
        f"mcpg tune on {name} (sha256:{digest}): {tuning.answerable} queries with an answer"
        f" and {tuning.answerless} without; {tuning.folds} folds, seed {tuning.seed};"
        f" {' and '.join(kept)} fitted; held out: {figures}"
    )
    return ModelProvenance(f"tuned on {name}", provenance)


def tune_json(report: TuneReport, path: str, *, is_written: bool) -> JsonObject:
    """Return *report* as the JSON object of schema `SCHEMA`; *path* is the tuned bundle."""
    tuning = report.tuning
    return {
        "schema": SCHEMA,
        "path": path,
        "queries": report.queries,
        **(
            {
                **to_json(tuning, without=("model", "weights", "calibration")),
                "weights": _part_json(tuning.weights),
                "calibration": _part_json(tuning.calibration),
            }
            if tuning
            else {}
        ),
        "shipped": ranking_json(report.shipped, FEATURES),
        "tuned": ranking_json(report.ranking, FEATURES) if report.ranking else None,
        "refusal": report.refusal or None,
        "written": is_written,
    }


def item_tuning_json(tuning: ItemTuning, path: str, *, is_written: bool) -> JsonObject:
    """Return *tuning* as an object of schema `ITEM_SCHEMA`; *path* is the settings file."""
    return {
        "schema": ITEM_SCHEMA,
        "path": path or None,
        "setting": f"{tuning.section}.{tuning.key}",
        "queries": tuning.queries,
        **({"fit": _part_json(tuning.part)} if tuning.part else {}),
        "shipped": list(tuning.shipped),
        "tuned": list(tuning.tuned) if tuning.tuned else None,
        "refusal": tuning.refusal or None,
        "written": is_written,
    }


def _part_json(part: TunedPart) -> JsonObject:
    return {
        "kept": part.is_kept,
        "p": round(part.p, SHOWN_DECIMALS),
        "heldOut": {
            name: {name: round(value, SHOWN_DECIMALS) for name, value in to_json(figure).items()}
            for name, figure in part.figures.items()
        },
    }
