"""How likely one tool of a server follows another: the evidence, and what it weighs.

`step_features` states the evidence; `StepScorer` adds up what it weighs, without the many parts of
it that are zero, and with what depends on one tool alone taken out of the pairs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import exp
from pathlib import Path

from mcpg.relations.works import DELETE, Bag, Work

_STEEPEST = 30.0

STAGES = ("one", "many", "create", "change")
STEP_FEATURES = (
    *(f"{a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"alike {a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"same head {a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"meets {a}>{b}" for a, b in product(STAGES, STAGES)),
    "nouns alike",
    "same head",
    "rarest noun",
    "meets",
    "meets all",
    "meets own handle",
    "back to owner",
    "handles alike",
    "handles missing",
    "lacks a handle",
    "handles dropped",
    "names it",
    "is named by it",
    "told of nouns",
    "told of head",
    "prose of nouns",
    "nouns in prose",
    "prose alike",
    "needs alike",
    "takes alike",
    "open search",
    "open search for id",
    "first has no needs",
    "next has no needs",
    "both have nouns",
    "head contained",
    "first deletes",
    "next deletes",
    "bias",
)


def _likeness(one: Bag, other: Bag) -> float:
    """Return how much of what two bags hold both hold, by rarity."""
    common = one.keys() & other.keys()
    if not common:
        return 0.0
    # Sets are in no order, in which only the sum of two is the same.
    held = common if len(common) <= 2 else filter(common.__contains__, one)  # noqa: PLR2004
    shared = sum(map(one.__getitem__, held))
    return shared / (one.total + other.total - shared)


def _greatest(one: Bag, other: Bag) -> float:
    return max([value for key, value in one.items() if key in other], default=0.0)


def step_features(a: Work, b: Work, at: int, to: int) -> list[float]:
    """Return the evidence that *b* follows *a*, as `STEP_FEATURES` names it."""
    alike = _likeness(a.nouns, b.nouns)
    transition = [one * other for one in a.stages for other in b.stages]
    gap = [value for key, value in b.handles.items() if key not in a.handles and key != a.head]
    is_open = (a.kinds[0] + a.kinds[1]) * (not a.handles)
    same_head = float(a.head == b.head != "")
    met = 0.0 if a.head in a.handles else b.handles.get(a.head, 0.0)
    return [
        *transition,
        *(alike * one for one in transition),
        *(same_head * one for one in transition),
        *(met * one for one in transition),
        alike,
        same_head,
        _greatest(a.nouns, b.nouns),
        met,
        float(met > 0 and not gap),
        b.handles.get(a.head, 0.0) if a.head in a.handles else 0.0,
        float(b.head in a.handles and a.head != b.head),
        _likeness(a.handles, b.handles),
        sum(gap),
        float(bool(gap)),
        sum(value for key, value in a.handles.items() if key not in b.handles),
        float(to in a.names),
        float(at in b.names),
        _greatest(a.nouns, b.told),
        b.told.get(a.head, 0.0),
        _greatest(a.nouns, b.prose),
        _greatest(b.nouns, a.prose),
        _likeness(a.prose, b.prose),
        _likeness(a.needs, b.needs),
        _likeness(a.takes, b.takes),
        is_open,
        is_open * (a.head == "") * max(b.needs.values(), default=0.0),
        float(not a.needs),
        float(not b.needs),
        float(bool(a.nouns and b.nouns)),
        float(a.head in b.nouns and a.head != b.head),
        a.kinds[4],
        b.kinds[4],
        1.0,
    ]


# What the evidence that counts by the stages of both tools is called before their names: what
# always counts, how alike the nouns are, where the heads are the same, where one is asked for.
_PARTS = ("", "alike ", "same head ", "meets ")


@cache
def step_weights() -> dict[str, float]:
    """Return the weight of each of `STEP_FEATURES`."""
    data = json.loads((Path(__file__).parent / "data" / "steps.json").read_bytes())
    return {name: data["weights"][name] for name in STEP_FEATURES}


@cache
def _stage_weights() -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return for each part and stage of the next tool what each stage of the first weighs."""
    weights = step_weights()
    return tuple(
        tuple(tuple(weights[f"{part}{one}>{other}"] for one in STAGES) for other in STAGES)
        for part in _PARTS
    )


_Stages = Sequence[float]


@dataclass(frozen=True, slots=True)
class _FirstTool:
    """What a tool brings along as the one that comes first.

    Attributes:
        work: What it does.
        base: What counts whatever follows.
        always: What each stage of the next tool weighs.
        alike: What it weighs besides by how alike their nouns are.
        same_head: What it weighs besides where their heads are the same.
        meets: What it weighs besides by how rare an argument is that asks for the head.
        opens: What it weighs that the next tool needs something that this one cannot name.
    """

    work: Work
    base: float
    always: _Stages
    alike: _Stages
    same_head: _Stages
    meets: _Stages
    opens: float


@dataclass(frozen=True, slots=True)
class _NextTool:
    """What a tool brings along as the one that follows.

    Attributes:
        work: What it does.
        base: What counts whatever comes first.
        needed: How rare the rarest of its required arguments is.
    """

    work: Work
    base: float
    needed: float


class StepScorer:
    """Computes how likely one tool of a server follows another.

    A logistic regression: Cox, "The regression analysis of binary sequences", Journal of the Royal
    Statistical Society, Series B 20, 1958. `benchmarks/fit_relations.py` fits it.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        """Prepare to compare *works*, what all tools of a server do."""
        self._weights = step_weights()
        self._firsts = [_first(work, self._weights) for work in works]
        self._nexts = [_next(work, self._weights) for work in works]

    def probability(self, at: int, to: int) -> float:
        """Return how likely the tool at the place *to* follows the one at *at*."""
        a, b = self._firsts[at], self._nexts[to]
        first, then = a.work, b.work
        logit = a.base + b.base + self._by_subject(a, then) + self._by_words(first, then)
        if a.opens:
            logit += a.opens * b.needed
        if first.handles or then.handles:
            logit += self._by_handles(a, then)
        if to in first.names:
            logit += self._weights["names it"]
        if at in then.names:
            logit += self._weights["is named by it"]
        return 1 / (1 + exp(-max(-_STEEPEST, min(_STEEPEST, logit))))

    def _by_subject(self, a: _FirstTool, then: Work) -> float:
        first, weights = a.work, self._weights
        logit = _dot(a.always, then.stages)
        if not (first.nouns and then.nouns):
            return logit
        logit += weights["both have nouns"]
        if first.head == then.head:
            logit += weights["same head"] + _dot(a.same_head, then.stages)
        elif first.head in then.nouns:
            logit += weights["head contained"]
        alike = _likeness(first.nouns, then.nouns)
        if alike:
            logit += alike * (weights["nouns alike"] + _dot(a.alike, then.stages))
            logit += weights["rarest noun"] * _greatest(first.nouns, then.nouns)
        return logit

    def _by_words(self, first: Work, then: Work) -> float:
        weights = self._weights
        logit = weights["prose alike"] * _likeness(first.prose, then.prose)
        if first.takes and then.takes:
            alike = _likeness(first.takes, then.takes)
            # What both require, both take.
            if alike:
                logit += weights["takes alike"] * alike
                logit += weights["needs alike"] * _likeness(first.needs, then.needs)
        logit += weights["told of head"] * then.told.get(first.head, 0.0)
        told = prose = 0.0
        for noun, rare in first.nouns.items():
            if rare > told and noun in then.told:
                told = rare
            if rare > prose and noun in then.prose:
                prose = rare
        logit += weights["told of nouns"] * told + weights["prose of nouns"] * prose
        return logit + weights["nouns in prose"] * _greatest(then.nouns, first.prose)

    def _by_handles(self, a: _FirstTool, then: Work) -> float:
        first, weights = a.work, self._weights
        mine, theirs = first.handles, then.handles
        gap = [one for key, one in theirs.items() if key not in mine and key != first.head]
        dropped = [one for key, one in mine.items() if key not in theirs]
        logit = weights["handles missing"] * sum(gap) + weights["handles dropped"] * sum(dropped)
        logit += weights["handles alike"] * _likeness(mine, theirs)
        asked = theirs.get(first.head, 0.0)
        if gap:
            logit += weights["lacks a handle"]
        if first.head in mine:
            logit += weights["meets own handle"] * asked
        elif asked:
            logit += asked * (weights["meets"] + _dot(a.meets, then.stages))
            logit += 0.0 if gap else weights["meets all"]
        if then.head in mine and first.head != then.head:
            logit += weights["back to owner"]
        return logit


def _first(work: Work, weights: Mapping[str, float]) -> _FirstTool:
    is_open = (work.kinds[0] + work.kinds[1]) * (not work.handles)
    base = weights["bias"] + weights["open search"] * is_open
    base += weights["first deletes"] * work.kinds[DELETE]
    base += 0.0 if work.needs else weights["first has no needs"]
    always, alike, same_head, meets = (
        tuple([_dot(row, work.stages) for row in rows]) for rows in _stage_weights()
    )
    opens = weights["open search for id"] * is_open * (work.head == "")
    return _FirstTool(work, base, always, alike, same_head, meets, opens)


def _next(work: Work, weights: Mapping[str, float]) -> _NextTool:
    base = weights["next deletes"] * work.kinds[DELETE]
    base += 0.0 if work.needs else weights["next has no needs"]
    return _NextTool(work, base, max(work.needs.values(), default=0.0))


def _dot(weights: _Stages, stages: _Stages) -> float:
    one, many, create, change = weights
    ones, manies, creates, changes = stages
    return one * ones + many * manies + create * creates + change * changes
