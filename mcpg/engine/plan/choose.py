"""Choose the tools that a goal needs, out of those that a search finds and their neighbours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TypeAlias

from mcpg.engine.pipeline import RankedList
from mcpg.engine.plan.evidence import (
    DELETE,
    PlanModel,
    Profile,
    logit,
    probability,
    build_profile,
    source_inputs,
    step_inputs,
)
from mcpg.engine.prerequisites import NEXT_STEP
from mcpg.engine.query import Analysis
from mcpg.engine.query_terms import wanted_operation
from mcpg.index import Index
from mcpg.relations.edges import ORIGIN_FACTORS, EdgeOrigin
from mcpg.text import operations
from mcpg.values import DECIMALS

Links: TypeAlias = dict[int, dict[int, float]]

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
        tool: Its number.
        source: The server it comes from.
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
        self._profiles: dict[int, Profile] = {}
        self._links: dict[int, dict[int, float]] = {}
        self._by_source: dict[str, list[int]] = {}

    def profile(self, tool: int) -> Profile:
        """Return what *tool* does and needs."""
        known = self._profiles.get(tool)
        if known is None:
            known = build_profile(tool, self.index)
            if len(self._profiles) < _MOST_REMEMBERED:
                self._profiles[tool] = known
        return known

    def links(self, tool: int) -> Mapping[int, float]:
        """Return how likely *tool* is followed by others: what its edges say, by number."""
        known = self._links.get(tool)
        if known is None:
            known = {}
            for number, target, kind, weight in self.index.edges(tool):
                if kind == NEXT_STEP and target != tool:
                    known[target] = max(
                        known.get(target, 0.0), strength(number, weight, self.index)
                    )
            if len(self._links) < _MOST_REMEMBERED:
                self._links[tool] = known
        return known

    def list_source_tools(self, source: str) -> Sequence[int]:
        """Return the tools of *source*, in order of number."""
        if not self._by_source:
            found: dict[str, list[int]] = {}
            for tool in range(len(self.index)):
                found.setdefault(self.index.source_id(tool), []).append(tool)
            self._by_source = found
        return self._by_source.get(source, ())

    def near(self, source: str, found: Sequence[int], without: Collection[int]) -> list[int]:
        """Return the tools of *source* that may be steps, in order of number.

        Those of a small server are all of its tools; of a large one those that are *found*, and
        those that the strongest edges lead from to these, or to which they lead.
        """
        tools = self.list_source_tools(source)
        if len(tools) <= WHOLE_SOURCE:
            return [tool for tool in tools if tool not in without]
        near: dict[int, float] = {}
        for tool in found:
            rows = [
                (to, weight) for _, to, kind, weight in self.index.edges(tool) if kind == NEXT_STEP
            ]
            rows += [
                (at, weight)
                for _, at, kind, weight in self.index.edges_to(tool)
                if kind == NEXT_STEP
            ]
            for other, weight in rows:
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
        considered += weigh_tools(source, tools, scores, surroundings, model, share)
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


def weigh_tools(
    source: str,
    tools: Sequence[int],
    scores: Mapping[int, float],
    surroundings: PlanContext,
    model: PlanModel,
    share: float,
) -> list[Choice]:
    """Return the *tools* of one *source* with the probability that the goal needs each."""
    profiles = {tool: surroundings.profile(tool) for tool in tools}
    links = {tool: surroundings.links(tool) for tool in tools}
    own = {tool: score for tool, score in scores.items() if tool in profiles}
    return [
        Choice(
            tool,
            source,
            own.get(tool, 0.0),
            round(share * probability(inputs, model.steps), DECIMALS),
        )
        for tool, inputs in step_inputs(tools, own, profiles, links).items()
    ]


def asked_destruction(analysis: Analysis) -> bool:
    """Return whether any word of the goal asks to delete something."""
    return any(
        shares[DELETE] >= _ASKED
        for clause in analysis.clauses
        if clause.origin == "query"
        for shares in (operations.shares_by([(wanted_operation(clause), 1.0)]),)
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
        if is_likely and not _repeats(profile, steps, surroundings):
            steps.append(one)
    return steps


def _repeats(profile: Profile, steps: Iterable[Choice], surroundings: PlanContext) -> bool:
    return any(likeness(profile, surroundings.profile(other.tool)) > _SAME_WORK for other in steps)


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
