"""Coordinate ascent: the fusion weights that put relevant tools highest.

Source: Metzler & Croft, "Linear feature-based models for information retrieval", Information
Retrieval 10(3), 2007: nDCG is no smooth function of the weights, so one weight after the other is
set to the best value of a grid. Here with a cost for every step away from the weights to begin
with, which what is found must be worth: few queries cannot move them far.
"""

from __future__ import annotations

import random
from math import fsum
from operator import mul
from typing import TYPE_CHECKING

from mcpg.engine.ranking import FITTED
from mcpg.tuning.contests import DISCOUNTS
from mcpg.tuning.samples import DEPTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.tuning.contests import Contest

GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)
"""The values that a fitted weight may have."""

STARTS = 3
"""From how many places the ascent begins: the given weights, and others drawn by a seed."""

_ROUNDS = 4
_LEAST_GAIN = 1e-4
_WORTHS = (*DISCOUNTS, 0.0)


def ascend(
    contests: Sequence[Contest], start: Sequence[float], *, cost: float = 0.0, seed: int = 0
) -> tuple[float, ...]:
    """Give the fitted weights, in the order of `FITTED`, that maximise what *contests* are worth.

    Args:
        contests: What is to be won.
        start: The weights to begin with, and to stay near.
        cost: What the square of a step away from them costs.
        seed: Draws further weights to begin with.
    """
    draw = random.Random(seed)  # noqa: S311 - chance, not secrecy, is wanted
    starts = [list(start)]
    starts += [[draw.choice(GRID) for _ in FITTED] for _ in range(STARTS - 1)]
    climbs = [_Climb(contests, one, start, cost) for one in starts]
    return tuple(max(climbs, key=_Climb.top).weights)


def won(contests: Sequence[Contest], weights: Sequence[float]) -> float:
    """Give what *contests* are worth under fitted *weights*; of one query, its nDCG@5."""
    return fsum(
        contest.worth * _WORTHS[min(contest.ahead + _count(_leads(contest, weights)), DEPTH)]
        for contest in contests
    )


def _count(leads: Sequence[float]) -> int:
    return sum([lead > 0 for lead in leads])


class _Climb:
    """One way up.

    Attributes:
        weights: Where it stands.
    """

    def __init__(
        self,
        contests: Sequence[Contest],
        begin: Sequence[float],
        home: Sequence[float],
        cost: float,
    ) -> None:
        self.weights = list(begin)
        self._contests = contests
        self._home, self._cost = home, cost
        self._leads = [_leads(contest, begin) for contest in contests]

    def top(self) -> float:
        """Climb, and give the height reached."""
        reached = self._heights(0, [self.weights[0]])[0]
        for _ in range(_ROUNDS):
            before = reached
            for place in range(len(self.weights)):
                reached = self._step(place, reached)
            if reached == before:
                break
        return reached

    def _step(self, place: int, reached: float) -> float:
        """Set one weight to its best value, and give the height then."""
        heights = self._heights(place, GRID)
        best = max(heights)
        if best <= reached + _LEAST_GAIN:
            return reached
        value = GRID[heights.index(best)]
        delta = value - self.weights[place]
        for contest, leads in zip(self._contests, self._leads, strict=True):
            column = contest.columns[place]
            leads[:] = [lead + delta * more for lead, more in zip(leads, column, strict=True)]
        self.weights[place] = value
        return best

    def _heights(self, place: int, values: Sequence[float]) -> list[float]:
        """Give the objective at each of the *values* of one weight."""
        own = self.weights[place]
        deltas = [value - own for value in values]
        won: list[list[float]] = [[] for _ in values]
        for contest, leads in zip(self._contests, self._leads, strict=True):
            pairs = list(zip(leads, contest.columns[place], strict=True))
            for gains, delta in zip(won, deltas, strict=True):
                ahead = contest.ahead + sum([lead + delta * more > 0 for lead, more in pairs])
                gains.append(contest.worth * _WORTHS[min(ahead, DEPTH)])
        steps = [one - home for one, home in zip(self.weights, self._home, strict=True)]
        others = fsum(step * step for at, step in enumerate(steps) if at != place)
        tolls = [self._cost * (others + (value - self._home[place]) ** 2) for value in values]
        return [fsum(gains) - toll for gains, toll in zip(won, tolls, strict=True)]


def _leads(contest: Contest, weights: Sequence[float]) -> list[float]:
    """Give how far each rival is ahead under *weights*."""
    rows = zip(*contest.columns, strict=True)
    return [
        lead + fsum(map(mul, row, weights)) for lead, row in zip(contest.leads, rows, strict=True)
    ]
