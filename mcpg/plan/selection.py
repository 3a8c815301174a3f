"""Choose the tasks of a plan by their worth."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import fsum, log
from pathlib import Path
from typing import NamedTuple

from mcpg.plan.goal import ASKED_INPUTS, GoalPart, logit
from mcpg.plan.needs import DELETE, NEED_INPUTS, Needed, PlanContext, likeness
from mcpg.search.calibration import LOW_CONFIDENCE, logistic, weigh_inputs
from mcpg.search.query import Analysis
from mcpg.search.query_terms import wanted_operation
from mcpg.text import lexicon
from mcpg.text.literals import TextLiteral
from mcpg.values import DECIMALS

_FILE = Path(__file__).parent / "data" / "plan.json"

MOST_ALTERNATIVES = 3

# Of two tools that are more alike only the likelier is a step; less alike, none is an alternative.
_SAME_WORK = 0.7
_LIKE_WORK = 0.5
_ASKED = 0.5
# A tool that changes something with a greater probability counts as changing.
_CHANGES = 0.5
# So many meanings of a part are followed to their needs, if they are so likely.
_MOST_MEANINGS = 8
_LEAST_MEANING = 0.02


class Costs(NamedTuple):
    """The costs of a plan's faults.

    Attributes:
        missing: A task that the goal needs is not there.
        superfluous: A task is there that the goal does not need.
        harmful: The further cost of such a task if it changes something.
    """

    missing: float
    superfluous: float
    harmful: float

    def worth(self, chance: float, changes: float) -> float:
        """Return the worth of a task that is needed by *chance*, and *changes* something."""
        waste = self.superfluous + self.harmful * changes
        return chance * self.missing - (1 - chance) * waste


@dataclass(frozen=True, slots=True)
class PlanModel:
    """Fitted numbers, see `benchmarks/fit_plan.py`.

    Attributes:
        asked: The coefficients of `ASKED_INPUTS`.
        needs: The intercept, and the coefficients of `NEED_INPUTS`.
        costs: The costs that decide whether a tool is worth a task.
        task: The intercept and the coefficients that bring the logits of the chance of a task, and
            of the best score of a search, to the logit of its confidence.
        complete: The same for the probability that nothing is missing.
        clean: The same for the probability that every task belongs.
    """

    asked: tuple[float, ...]
    needs: tuple[float, ...]
    costs: Costs
    task: tuple[float, float, float]
    complete: tuple[float, float, float]
    clean: tuple[float, float, float]


@cache
def plan_model() -> PlanModel:
    """Return the model of `data/plan.json`."""
    members = json.loads(_FILE.read_bytes())
    return PlanModel(
        tuple(members["asked"][one] for one in ASKED_INPUTS),
        tuple(members["needs"][one] for one in ("bias", *NEED_INPUTS)),
        Costs(**members["costs"]),
        *(
            (members[name]["intercept"], members[name]["slope"], members[name]["best"])
            for name in ("task", "complete", "clean")
        ),
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool that the goal may need.

    Attributes:
        chance: The probability that the goal needs it.
        asked: The probability that a part of the goal means it.
        score: The score of a search for the goal or a part of it, 0 for none.
        need: Why it runs before its likeliest dependent; `None` without such a tool.
    """

    tool: int
    chance: float
    asked: float
    part: int
    score: float
    need: Needed | None


@dataclass(slots=True)
class _Tally:
    """The evidence for a tool, collected over the parts of a goal."""

    none: float = 1.0
    asked: tuple[float, int] = (0.0, 0)
    needs: list[tuple[float, Needed]] = field(default_factory=list)


def weigh_tools(
    parts: Sequence[GoalPart],
    scores: Mapping[int, float],
    context: PlanContext,
    literals: Sequence[TextLiteral],
    *,
    excluded: Collection[int],
    used: Collection[int],
) -> list[Choice]:
    """Return the tools that the *parts* of a goal may need, the likeliest first.

    A part needs a tool as surely as it means that tool, or a tool that needs it. The *excluded* and
    the *used* tools are left out.
    """
    tallies: dict[int, _Tally] = {}
    for place, part in enumerate(parts):
        chances: dict[int, float] = {}
        for tool, asked in [*part.asked.items()][:_MOST_MEANINGS]:
            tally = tallies.setdefault(tool, _Tally())
            tally.asked = max(tally.asked, (asked, -place))
            chances[tool] = chances.get(tool, 0.0) + asked
            if asked < _LEAST_MEANING:
                continue
            for need in context.closure(tool, literals, used):
                chance = asked * need.chance
                chances[need.tool] = chances.get(need.tool, 0.0) + chance
                tallies.setdefault(need.tool, _Tally()).needs.append((chance, need))
        for tool, chance in chances.items():
            tallies[tool].none *= 1 - min(1.0, chance)
    choices = []
    for tool, tally in tallies.items():
        if tool not in used and tool not in excluded:
            needs = sorted(tally.needs, key=lambda one: (-one[0], one[1].before))
            first = needs[0][1] if needs else None
            chance = round(1 - tally.none, DECIMALS)
            asked, at = tally.asked
            choices.append(Choice(tool, chance, asked, -at, scores.get(tool, 0.0), first))
    return sorted(choices, key=lambda one: (-one.chance, -one.score, one.tool))


def choose(
    choices: Sequence[Choice],
    first: Collection[int],
    context: PlanContext,
    model: PlanModel,
    *,
    allowed: Collection[int] | None,
    limit: int,
) -> list[Choice]:
    """Return at most *limit* of the *choices* that are worth a task, the likeliest first.

    Of these, the *first* matches of searches count before others. If none is worth a task, the
    likeliest becomes one. A tool that deletes becomes one only if the goal asks for that (*allowed*
    is `None`) or names it, a tool that is marked as destructive also if a search finds it.
    """
    steps: list[Choice] = []
    for one in sorted(choices, key=lambda one: one.tool not in first):
        profile = context.profile(one.tool)
        is_allowed = allowed is None or one.tool in allowed
        if len(steps) == limit or not (is_allowed or is_harmless(one, context)):
            continue
        if model.costs.worth(one.chance, profile.changes) > 0 and not any(
            _does_same(one, other, context) for other in steps
        ):
            steps.append(one)
    if not steps:
        steps = [
            one
            for one in choices
            if allowed is None or one.tool in allowed or is_harmless(one, context)
        ][:1]
    return sorted(steps, key=lambda one: (-one.chance, -one.score, one.tool))


def _does_same(choice: Choice, other: Choice, context: PlanContext) -> bool:
    """Return whether two tools do the same work, or both are guesses at what to change for a part.

    A tool of which a search is confident is not a guess.
    """
    one, another = context.profile(choice.tool), context.profile(other.tool)
    is_guess = choice.score < LOW_CONFIDENCE and choice.part == other.part and choice.need is None
    return likeness(one, another) > _SAME_WORK or (
        is_guess and min(one.changes, another.changes) > _CHANGES
    )


def is_harmless(choice: Choice, context: PlanContext) -> bool:
    """Return whether a tool was found, or neither deletes nor has a destructive mark."""
    profile = context.profile(choice.tool)
    return not profile.deletes and (bool(choice.score) or not profile.is_destructive)


def asks_destruction(analysis: Analysis) -> bool:
    """Return whether any word of the goal asks to delete something."""
    return any(
        shares[DELETE] >= _ASKED
        for clause in analysis.clauses
        if clause.origin == "query"
        for shares in (lexicon.shares_by([(wanted_operation(clause.meanings), 1.0)]),)
        if shares
    )


def alternatives(step: Choice, others: Iterable[Choice], context: PlanContext) -> list[Choice]:
    """Return which of *others* may do the work of *step*, the most alike first."""
    profile = context.profile(step.tool)
    found = []
    for place, other in enumerate(others):
        alike = likeness(profile, context.profile(other.tool))
        if alike >= _LIKE_WORK and not context.profile(other.tool).deletes:
            found.append((-round(alike, 6), place, other))
    return [other for _, _, other in sorted(found, key=lambda one: one[:2])[:MOST_ALTERNATIVES]]


def calibrate(value: float, best: float, by: Sequence[float]) -> float:
    """Return the probability for *value*, and the *best* score of a search for the goal."""
    return logistic(weigh_inputs((value, logit(best)), by[0], by[1:]))


def weigh_completeness(
    parts: Sequence[GoalPart], steps: Sequence[Choice], others: Sequence[Choice]
) -> float:
    """Return the logarithm of the probability that *steps* answer all that is asked.

    That is how surely they are meant by the part that is in most doubt, and that none of *others*
    is needed.
    """
    tools = [one.tool for one in steps]
    best = [max([part.asked.get(tool, 0.0) for tool in tools], default=0.0) for part in parts]
    outside = fsum(log(max(1 - one.chance, _LEAST_MEANING)) for one in others)
    return outside + log(max(min(best), _LEAST_MEANING))


def weigh_cleanness(steps: Sequence[Choice]) -> float:
    """Return the logarithm of the probability that all of *steps* are needed."""
    return fsum(log(max(one.chance, _LEAST_MEANING)) for one in steps)
