"""Gates: what somebody asks of the figures of a report."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.errors import UsageError
from mcpg.evaluation.outcomes import RANKING, SCORE_DECIMALS

if TYPE_CHECKING:
    from mcpg.evaluation.report import Report
    from mcpg.jsontypes import JsonObject

MIN, MAX, MAX_DROP = "min", "max", "max-drop"
"""The kinds of gates: a figure must not be below, not above, not fall by more than a limit."""

TRUST = ("ece", "brier", "auroc", "abstention")
LATENCY = {"p50": 0.5, "p95": 0.95}
METRICS = (*RANKING, *TRUST, *LATENCY)
"""The figures that a gate may name; latencies are in milliseconds, all others in [0, 1]."""

_MORE_IS_BETTER = (*RANKING, "auroc", "abstention")
_TIME_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class Bound:
    """What is asked of one figure.

    Attributes:
        kind: `min`, `max` or `max-drop`.
        metric: One of `METRICS`.
        limit: The bound.
    """

    kind: str
    metric: str
    limit: float


@dataclass(frozen=True, slots=True)
class Gate:
    """A bound, and whether a report keeps it.

    Attributes:
        bound: What is asked.
        value: The figure, or by how much it fell; `None` when there is nothing to measure by.
        passed: Whether the bound is kept; what cannot be measured does not keep it.
    """

    bound: Bound
    value: float | None
    passed: bool

    def json(self) -> JsonObject:
        """Give it as a JSON object."""
        return {
            "kind": self.bound.kind,
            "metric": self.bound.metric,
            "limit": self.bound.limit,
            "value": self.value,
            "passed": self.passed,
        }

    @property
    def sentence(self) -> str:
        """What the figure is and what was asked of it."""
        metric, limit = self.bound.metric, f"{self.bound.limit:g}"
        if self.value is None:
            return f"{metric} cannot be measured: no query says anything about it"
        if self.bound.kind == MAX_DROP:
            fell = f"{'fell' if self.value >= 0 else 'rose'} by {abs(self.value):.4f}"
            return f"{metric} {fell}; at most {limit} was allowed"
        side = "at least" if self.bound.kind == MIN else "at most"
        return f"{metric} is {self.value:.4f}; {side} {limit} was asked for"


def parse_bounds(kind: str, text: str) -> tuple[Bound, ...]:
    """Read `METRIC=VALUE`; of a `max-drop`, a bare `VALUE` speaks of every figure of the ranking.

    Raises:
        UsageError: The figure is unknown or cannot be bounded so, or the value is no number.
    """
    name, sign, value = text.rpartition("=")
    if not sign and kind != MAX_DROP:
        raise _fault(kind, f"{text!r} names no figure or no value", "write it as ndcg@5=0.8")
    if not sign:
        return tuple(Bound(kind, metric, _number(kind, metric, value)) for metric in RANKING)
    metric = _metric(kind, name.strip())
    return (Bound(kind, metric, _number(kind, metric, value)),)


def judge(report: Report, bounds: tuple[Bound, ...]) -> tuple[Gate, ...]:
    """Hold *report* to *bounds*; those about a drop need its comparison with a baseline."""
    return tuple(_gate(bound, _value(report, bound)) for bound in bounds)


def _gate(bound: Bound, value: float | None) -> Gate:
    if value is None:
        return Gate(bound, None, passed=False)
    passed = value >= bound.limit if bound.kind == MIN else value <= bound.limit
    return Gate(bound, value, passed)


def _value(report: Report, bound: Bound) -> float | None:
    if bound.kind == MAX_DROP:
        delta = report.baseline.delta(bound.metric) if report.baseline else None
        return None if delta is None else round(0 - delta, SCORE_DECIMALS)
    if bound.metric in LATENCY:
        return round(report.latency(LATENCY[bound.metric]), _TIME_DECIMALS)
    return report.figures[bound.metric]


def _metric(kind: str, name: str) -> str:
    known = _MORE_IS_BETTER if kind == MAX_DROP else METRICS
    if name.casefold() in known:
        return name.casefold()
    near = difflib.get_close_matches(name.casefold(), known, n=1)
    advice = f"did you mean {near[0]}? " if near else ""
    raise _fault(kind, f"no figure is called {name!r}", f"{advice}known: {', '.join(known)}")


def _number(kind: str, metric: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value) or math.isinf(value):
        raise _fault(kind, f"{text!r} is no number", "give it a number such as 0.8")
    if value < 0 or (value > 1 and metric not in LATENCY):
        raise _fault(kind, f"{metric} never is {text}", "give it a number from 0 to 1")
    return value


def _fault(kind: str, message: str, remedy: str) -> UsageError:
    return UsageError(message, place=f"--{kind}", remedy=remedy)
