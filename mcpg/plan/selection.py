"""Choose the tools that a goal needs, out of those that a search finds and their neighbours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from math import fsum, log, log1p
from pathlib import Path
from typing import TypeAlias

from mcpg.index import Index
from mcpg.relations.edges import ORIGIN_FACTORS, EdgeOrigin
from mcpg.relations.vocabulary import names_operation, rarity, singular
from mcpg.search.calibration import logistic, weigh_inputs
from mcpg.search.pipeline import RankedList
from mcpg.search.prerequisites import NEXT_STEP
from mcpg.search.query import Analysis
from mcpg.search.query_terms import wanted_operation
from mcpg.text import lexicon, split_words, stem
from mcpg.values import DECIMALS

Links: TypeAlias = Mapping[int, Mapping[int, float]]
"""How likely a tool is followed by others, by number."""

_FILE = Path(__file__).parent / "data" / "plan.json"

SOURCE_INPUTS = ("anyScore", "lead", "share")
STEP_INPUTS = ("score", "rank", "listsBefore", "readsBefore", "supplies", "handles", "arguments")

# The score that stands for that of a tool which a search does not find.
_LEAST_SCORE = 0.002
# How relevant, beside the best of its server, such a tool is.
_LEAST_RELEVANCE = 0.02
# A server is taken to have so many tools at least, or one of two would be as rare as one of many.
_LEAST_SIZE = 8
READ_ONE, READ_MANY = 0, 1
DELETE = len(lexicon.OPERATION_KINDS) - 1


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


@cache
def plan_model() -> PlanModel:
    """Return the model of `data/plan.json`."""
    members = json.loads(_FILE.read_bytes())
    return PlanModel(
        (members["sources"]["bias"], *(members["sources"][one] for one in SOURCE_INPUTS)),
        (members["steps"]["bias"], *(members["steps"][one] for one in STEP_INPUTS)),
        (members["calibration"]["intercept"], members["calibration"]["slope"]),
        members["thresholds"]["reading"],
        members["thresholds"]["changing"],
        members["thresholds"]["source"],
    )


@dataclass(frozen=True, slots=True)
class Profile:
    """What a tool does and needs, as far as planning asks.

    Attributes:
        kinds: The probability of each of `lexicon.OPERATION_KINDS`.
        nouns: What its name says it works on, as stems.
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
        return fsum(self.kinds[lexicon.READING_KINDS :])

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
    """Return what each of `SOURCE_INPUTS` is, by source, from the *scores* of its matches.

    That is the logit of the probability that any of them is wanted, how far that of the best leads
    the best of all others, and the share of the matches.
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
    tools: Sequence[int], scores: Mapping[int, float], profiles: Mapping[int, Profile], links: Links
) -> dict[int, tuple[float, ...]]:
    """Return what each of `STEP_INPUTS` is for each of the *tools* of one server.

    *scores* are those of the tools that a search finds, best first; *links* lead from each tool to
    others. The inputs are the logit of the score; the inverse of the rank among the server's
    matches; how surely a relevant tool follows it, times the probability that it lists, and that it
    reads; how relevant a tool is which asks for what it lists; how telling what it asks for is; and
    the logarithm of one more than the number of its required arguments.
    """
    ranks = {
        tool: place for place, tool in enumerate((one for one in scores if one in profiles), 1)
    }
    top = max((scores[tool] for tool in ranks), default=0.0) or 1.0
    relevance = {tool: scores[tool] / top if tool in ranks else _LEAST_RELEVANCE for tool in tools}
    handles = weigh_handles(tools, profiles)
    # How much each handle is asked for: the most by any tool, by its relevance.
    wanted: dict[str, float] = {}
    for tool in tools:
        for handle, weight in handles[tool].items():
            wanted[handle] = max(wanted.get(handle, 0.0), relevance[tool] * weight)
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


def probability(inputs: Sequence[float], weights: Sequence[float]) -> float:
    """Return the probability for *inputs* by *weights*, the first of which is the intercept."""
    return logistic(weigh_inputs(inputs, weights[0], weights[1:]))


MOST_SOURCES = 3
"""The most servers of which a plan has tools, without those that are known to be needed."""

WHOLE_SOURCE = 64
"""A server with more tools than this is looked at only near the matches."""

MOST_ALTERNATIVES = 3

MORE = 0.6
"""A plan has so many steps more than its limit, for what prepares what is asked for."""

# Of two tools that are more alike only the likelier is a step; less alike, none is an alternative.
_SAME_WORK = 0.7
_LIKE_WORK = 0.5
_ASKED = 0.5
_MOST_REMEMBERED = 4_096


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool that the goal may need.

    Attributes:
        score: The score of the search, 0 for none.
        chance: The probability that the goal needs it, by the evidence of its server and its own,
            relative to the likeliest server.
    """

    tool: int
    source: str
    score: float
    chance: float


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """What was chosen, and what else was looked at.

    Attributes:
        steps: The tools that are steps, the likeliest first.
        others: The rest of what was looked at, the likeliest first.
        sources: The probability of each server that was looked at, the likeliest first.
    """

    steps: tuple[Choice, ...]
    others: tuple[Choice, ...]
    sources: tuple[tuple[str, float], ...]


class PlanContext:
    """What plans over one index ask of it again and again."""

    def __init__(self, index: Index) -> None:
        """Prepare to look at *index*; nothing is read yet."""
        self.index = index
        self.profile = lru_cache(_MOST_REMEMBERED)(partial(build_profile, index=index))

    def links(self, tool: int) -> Mapping[int, float]:
        """Return how likely *tool* is followed by others: what its edges say, by number."""
        known: dict[int, float] = {}
        for number, target, kind, weight in self.index.edges(tool):
            if kind == NEXT_STEP and target != tool:
                likely = strength(number, weight, self.index)
                known[target] = max(known.get(target, 0.0), likely)
        return known

    @cached_property
    def by_source(self) -> dict[str, list[int]]:
        """The tools of each source, in order of number."""
        found: dict[str, list[int]] = {}
        for tool in range(len(self.index)):
            found.setdefault(self.index.source_id(tool), []).append(tool)
        return found

    def near(self, source: str, found: Sequence[int], without: Collection[int]) -> list[int]:
        """Return the tools of *source* that may be steps, in order of number.

        Those of a small server are all of its tools; of a large one those that are *found*, and
        those that the strongest edges lead from to these, or to which they lead.
        """
        tools = self.by_source.get(source, [])
        if len(tools) <= WHOLE_SOURCE:
            return [tool for tool in tools if tool not in without]
        near: dict[int, float] = {}
        for tool in found:
            for _, other, kind, weight in (*self.index.edges(tool), *self.index.edges_to(tool)):
                if kind == NEXT_STEP:
                    near[other] = max(near.get(other, 0.0), weight)
        own = frozenset(found)
        reached = sorted((-weight, tool) for tool, weight in near.items() if tool not in own)
        held = [tool for _, tool in reached if self.index.source_id(tool) == source]
        kept = (*found, *held[: max(0, WHOLE_SOURCE - len(found))])
        return sorted(tool for tool in kept if tool not in without)


def strength(link: int, weight: float, index: Index) -> float:
    """Return the strength of the evidence for an edge: its *weight* without that of its origin."""
    return min(1.0, weight / ORIGIN_FACTORS[EdgeOrigin(index.origin(link))])


def choose(
    ranking: RankedList,
    surroundings: PlanContext,
    model: PlanModel,
    *,
    excluded: Collection[int],
    limit: int,
) -> ToolSelection:
    """Return the tools that the goal of *ranking* needs: *limit*, and what prepares them.

    Tools in use are none of them, but speak for their server and for what goes with them.
    """
    used = ranking.analysis.used.tools if ranking.analysis.used else ()
    scores = dict(ranking.primaries)
    found: dict[str, list[int]] = {}
    for tool in scores:
        found.setdefault(surroundings.index.source_id(tool), []).append(tool)
    chances = {
        source: probability(inputs, model.sources)
        for source, inputs in source_inputs(
            {source: [scores[tool] for tool in held] for source, held in found.items()}
        ).items()
    }
    ordered = sorted(chances.items(), key=lambda one: (-one[1], one[0]))
    considered: list[Choice] = []
    for place, (source, chance) in enumerate(ordered):
        if place and (place >= MOST_SOURCES or chance < model.source):
            continue
        tools = surroundings.near(source, found[source], excluded)
        share = chance / ordered[0][1] if ordered[0][1] else 1.0
        profiles = {tool: surroundings.profile(tool) for tool in tools}
        links = {tool: surroundings.links(tool) for tool in tools}
        own = {tool: score for tool, score in scores.items() if tool in profiles}
        for tool, inputs in step_inputs(tools, own, profiles, links).items():
            likely = round(share * probability(inputs, model.steps), DECIMALS)
            considered.append(Choice(tool, source, own.get(tool, 0.0), likely))
    considered = [one for one in considered if one.tool not in used]
    # What the search finds most surely is what was asked for: no limit takes its place away.
    found_first = max(considered, key=lambda one: (one.score, -one.tool), default=None)
    considered.sort(
        key=lambda one: (
            one != found_first or one.chance < model.changing,
            -one.chance,
            -one.score,
            one.tool,
        )
    )
    asked = asked_destruction(ranking.analysis)
    named = {one.document for one in ranking.candidates if one.exact >= 1}
    steps = _steps(considered, surroundings, model, limit, named if not asked else None)
    seen = {one.tool for one in considered}
    further = [
        Choice(tool, surroundings.index.source_id(tool), score, 0.0)
        for tool, score in scores.items()
        if tool not in seen and tool not in used
    ]
    others = [one for one in considered if one not in steps]
    return ToolSelection(tuple(steps), (*others, *further), tuple(ordered))


def asked_destruction(analysis: Analysis) -> bool:
    """Return whether any word of the goal asks to delete something."""
    return any(
        shares[DELETE] >= _ASKED
        for clause in analysis.clauses
        if clause.origin == "query"
        for shares in (lexicon.shares_by([(wanted_operation(clause.meanings), 1.0)]),)
        if shares
    )


def _steps(
    considered: Sequence[Choice],
    surroundings: PlanContext,
    model: PlanModel,
    limit: int,
    named: Collection[int] | None,
) -> list[Choice]:
    """Return the steps among what is *considered*, the likeliest first.

    A needless call that reads costs little, and one that changes something may do harm: so what is
    likely enough depends on the kind of operation. One that deletes is a step only where the goal
    asks for it (*named* is `None`) or names it, one that is called destructive where a search for
    the goal finds it as well.
    """
    steps: list[Choice] = []
    most = limit + int(MORE * limit)
    for one in considered:
        profile = surroundings.profile(one.tool)
        if len(steps) == most:
            break
        is_asked = named is None or one.tool in named
        if not is_asked and (profile.deletes or (profile.is_destructive and not one.score)):
            continue
        least = model.reading + (model.changing - model.reading) * profile.changes
        is_likely = one.chance >= least or not steps
        if is_likely and not any(
            likeness(profile, surroundings.profile(other.tool)) > _SAME_WORK for other in steps
        ):
            steps.append(one)
    return steps


def likeness(one: Profile, other: Profile) -> float:
    """Return how alike the work of two tools is, in [0, 1]: what they work on, and how."""
    nouns, others = frozenset(one.nouns), frozenset(other.nouns)
    shared = len(nouns & others) / (len(nouns | others) or 1)
    return shared * fsum(map(min, one.kinds, other.kinds))


def alternatives(step: Choice, others: Iterable[Choice], surroundings: PlanContext) -> list[Choice]:
    """Return those of *others* that may do the work of *step*, the most alike first."""
    profile = surroundings.profile(step.tool)
    found = []
    for place, other in enumerate(others):
        alike = likeness(profile, surroundings.profile(other.tool))
        if alike >= _LIKE_WORK and not surroundings.profile(other.tool).deletes:
            found.append((-round(alike, 6), place, other))
    return [other for _, _, other in sorted(found, key=lambda one: one[:2])[:MOST_ALTERNATIVES]]


def confidence(chance: float, model: PlanModel) -> float:
    """Return the calibrated probability that the goal needs a step, by its *chance*."""
    return probability((logit(chance),), model.calibration)
