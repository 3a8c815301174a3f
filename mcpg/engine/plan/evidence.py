"""Evidence that a goal needs a server and a tool of it, and its weights.

A goal's steps tend to live on one server. So planning asks first which servers a goal is about,
and then which of their tools it needs: those that a search finds, and those that come before them.
Both are logistic regressions over a few numbers, none of which is about a word: calibrated scores,
ranks, edges, kinds of operations, and required arguments.

Source: Cox, "The regression analysis of binary sequences", Journal of the Royal Statistical
Society, Series B 20, 1958. `benchmarks/fit_plan.py` fits both.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log, log1p
from typing import TypeAlias

from mcpg.engine.confidence import logistic
from mcpg.index import Index
from mcpg.relations.fields import singular
from mcpg.relations.kinds import names_operation
from mcpg.relations.vocabulary import rarity
from mcpg.text import operations, split_words, stem

Links: TypeAlias = Mapping[int, Mapping[int, float]]
"""How likely a tool is followed by others, by number."""

_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "plan.json")  # noqa: PTH118, PTH120 - as for the model of the ranking

SOURCE_INPUTS = ("anyScore", "lead", "share")
STEP_INPUTS = (
    "score",
    "rank",
    "listsBefore",
    "readsBefore",
    "supplies",
    "handles",
    "arguments",
)

# The score that stands for that of a tool which a search does not find.
_LEAST_SCORE = 0.002
# How relevant, beside the best of its server, such a tool is.
_LEAST_RELEVANCE = 0.02
# A server is taken to have so many tools at least, or one of two would be as rare as one of many.
_LEAST_SIZE = 8
READ_ONE, READ_MANY = 0, 1
DELETE = len(operations.KINDS) - 1


@dataclass(frozen=True, slots=True)
class PlanModel:
    """Fitted numbers, and what they lead to.

    Attributes:
        sources: The intercept, and the coefficients of `SOURCE_INPUTS`.
        steps: The intercept, and the coefficients of `STEP_INPUTS`.
        calibration: The intercept and the slope that bring the logit of a choice to that of a
            confidence.
        reading: The least probability of a step that only reads.
        changing: That of a step that changes something: a needless one may do harm.
        source: That of a server beside the likeliest.
    """

    sources: tuple[float, ...]
    steps: tuple[float, ...]
    calibration: tuple[float, float]
    reading: float
    changing: float
    source: float


_model: list[PlanModel] = []


def plan_model() -> PlanModel:
    """Return the model of `data/plan.json`."""
    if not _model:
        with open(_FILE, "rb") as file:  # noqa: PTH123 - as above
            members = json.loads(file.read())
        _model.append(
            PlanModel(
                (members["sources"]["bias"], *(members["sources"][one] for one in SOURCE_INPUTS)),
                (members["steps"]["bias"], *(members["steps"][one] for one in STEP_INPUTS)),
                (members["calibration"]["intercept"], members["calibration"]["slope"]),
                members["thresholds"]["reading"],
                members["thresholds"]["changing"],
                members["thresholds"]["source"],
            )
        )
    return _model[0]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a tool does and needs, as far as planning asks.

    Attributes:
        kinds: The probability of each of `operations.KINDS`.
        nouns: What its name says it works on, as stems.
        required: The required arguments.
        asks: The stems in their names.
        deletes: Whether it most likely deletes, and is not said to read only.
        is_destructive: Whether it deletes, or its author or server calls it destructive.
    """

    kinds: tuple[float, ...]
    nouns: tuple[str, ...]
    required: tuple[str, ...]
    asks: frozenset[str]
    deletes: bool
    is_destructive: bool

    @property
    def changes(self) -> float:
        """The probability that it changes something."""
        return fsum(self.kinds[operations.READS :])

    @property
    def stage(self) -> float:
        """Where in a plan its kind of work stands: find, read, create, change, delete."""
        return fsum(place * share for place, share in zip(_STAGES, self.kinds, strict=True))


_STAGES = (1.0, 0.0, 2.0, 2.5, 4.0)
_SURELY = 0.5
_MOST_ARGUMENTS = 64


def build_profile(tool: int, index: Index) -> Profile:
    """Return what *tool* does and needs."""
    described = index.record(tool).tool
    (shares,) = index.operations([tool])
    total = sum(shares)
    kinds = [share / total for share in shares] if total else [1 / len(shares)] * len(shares)
    idle = set(split_words(described.source_id))
    words = [word for word in split_words(described.name) if word not in idle]
    nouns = [singular(stem(word)) for word in words if not names_operation(word)]
    required = described.required_arguments[:_MOST_ARGUMENTS]
    hints, notes = described.hints, described.annotations
    reads_only = hints.read_only is True or notes.get("readOnlyHint") is True
    is_called_destructive = hints.destructive is True or (
        hints.destructive is None and notes.get("destructiveHint") is True
    )
    deletes = not reads_only and kinds[DELETE] > _SURELY
    return Profile(
        tuple(kinds),
        tuple(dict.fromkeys(nouns)),
        required,
        frozenset(singular(stem(word)) for name in required for word in split_words(name)),
        deletes,
        deletes or (is_called_destructive and not reads_only),
    )


def logit(probability: float) -> float:
    """Return the logit of a score, kept away from 0 and 1."""
    kept = min(max(probability, _LEAST_SCORE), 1 - _LEAST_SCORE)
    return log(kept / (1 - kept))


def source_inputs(scores: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """Return the evidence for each source: what each of `SOURCE_INPUTS` is.

    Args:
        scores: The scores of the matches of each source, best first.

    Returns:
        The logit of the probability that any of its matches is wanted, how far that of its best
        leads the best of all others, and its share of the matches.
    """
    best = {source: logit(held[0]) for source, held in scores.items()}
    count = sum(map(len, scores.values()))
    found: dict[str, tuple[float, ...]] = {}
    for source, held in scores.items():
        none = 1.0
        for score in held:
            none *= 1 - score
        others = [one for other, one in best.items() if other != source]
        lead = best[source] - max(others, default=logit(0.0))
        found[source] = (logit(1 - none), lead, len(held) / count)
    return found


def step_inputs(
    tools: Sequence[int],
    scores: Mapping[int, float],
    profiles: Mapping[int, Profile],
    links: Links,
) -> dict[int, tuple[float, ...]]:
    """Return the evidence for each of the *tools* of one server: what each of `STEP_INPUTS` is.

    Args:
        tools: The tools that may be steps.
        scores: The scores of those that a search finds, best first.
        profiles: What each tool does and needs.
        links: What leads from each to others.

    Returns:
        The logit of the score; the inverse of the rank among the server's matches; how surely a
        relevant tool follows it, times the probability that it lists, and that it reads; how
        relevant a tool is which asks for what it lists; how telling what it asks for is; and the
        logarithm of one more than the number of its required arguments.
    """
    ranks = {
        tool: place for place, tool in enumerate((one for one in scores if one in profiles), 1)
    }
    top = max((scores[tool] for tool in ranks), default=0.0) or 1.0
    relevance = {tool: scores[tool] / top if tool in ranks else _LEAST_RELEVANCE for tool in tools}
    handles = weigh_handles(tools, profiles)
    wanted = _weigh_demand(tools, relevance, handles)
    found: dict[int, tuple[float, ...]] = {}
    for tool in tools:
        one = profiles[tool]
        following = links.get(tool, {})
        before = max(
            (relevance[to] * following[to] for to in following if to in relevance), default=0.0
        )
        head = one.nouns[-1] if one.nouns else ""
        supplied = 0.0 if head in handles[tool] else wanted.get(head, 0.0)
        found[tool] = (
            logit(scores.get(tool, 0.0)),
            1 / ranks[tool] if tool in ranks else 0.0,
            before * one.kinds[READ_MANY],
            before * one.kinds[READ_ONE],
            supplied * one.kinds[READ_MANY],
            fsum(handles[tool].values()),
            log1p(len(one.required)),
        )
    return found


def weigh_handles(
    tools: Iterable[int], profiles: Mapping[int, Profile]
) -> dict[int, dict[str, float]]:
    """Return what the required arguments of each tool name that other tools are named after.

    With each handle stands how rare it is among the *tools*, in (0, 1]: one that all of them ask
    for tells none apart.
    """
    tools = list(tools)
    counts = Counter(one for tool in tools for one in profiles[tool].asks)
    named = {noun for tool in tools for noun in profiles[tool].nouns}
    size = max(_LEAST_SIZE, len(tools))
    return {
        tool: {
            one: rarity(counts[one], size) for one in sorted(profiles[tool].asks) if one in named
        }
        for tool in tools
    }


def _weigh_demand(
    tools: Iterable[int],
    relevance: Mapping[int, float],
    handles: Mapping[int, Mapping[str, float]],
) -> dict[str, float]:
    """Return how much each handle is asked for: the most by any tool, by its relevance."""
    wanted: dict[str, float] = {}
    for tool in tools:
        for handle, weight in handles[tool].items():
            wanted[handle] = max(wanted.get(handle, 0.0), relevance[tool] * weight)
    return wanted


def probability(inputs: Sequence[float], weights: Sequence[float]) -> float:
    """Return the probability for *inputs* by *weights*, the first of which is the intercept."""
    return logistic(inputs, weights[0], weights[1:])
