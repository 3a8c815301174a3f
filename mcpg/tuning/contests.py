"""Contests: for each relevant tool, how far ahead of it each of its rivals is.

Of a ranking, nDCG sees only how many tools are ahead of each relevant one. So all that a fit need
know of a query are differences between features; and rivals that are ahead, or are not, whatever
the weights in their bounds, need no further look. What a tool adds for an intent of the query is
left out, because it depends on the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, log2
from operator import mul
from typing import TYPE_CHECKING

from mcpg.engine.features import FEATURES
from mcpg.engine.fusion import fuse
from mcpg.engine.ranking import BY_ORDER, FITTED, GIVEN, MOST_WEIGHT
from mcpg.tuning.samples import DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.tuning.samples import Sample

DISCOUNTS = tuple(1 / log2(place + 2) for place in range(DEPTH))
"""What a relevant tool at each place is worth."""

_PLACES = [FEATURES.index(name) for name in FITTED]
_FIXED = [FEATURES.index(name) for name in GIVEN if name not in BY_ORDER]
# Of equal scores, rounded to nine decimals, the smaller document number comes first.
_TIE = 5e-10


@dataclass(frozen=True, slots=True)
class Contest:
    """A relevant tool against its rivals.

    Attributes:
        worth: What it adds to the objective when it comes first.
        ahead: How many rivals are ahead of it whatever the fitted weights are.
        leads: For each other rival, how far it is ahead by features that are not fitted.
        columns: For each fitted feature, by how much each of these rivals has more of it.
    """

    worth: float
    ahead: int
    leads: tuple[float, ...]
    columns: tuple[tuple[float, ...], ...]


def contests_of(sample: Sample, given: Sequence[float], share: float) -> Iterator[Contest]:
    """Give the contests of the relevant tools that can be among the first `DEPTH`.

    Args:
        sample: The query.
        given: All weights, of which those that are fitted do not count.
        share: What the query counts for in the objective.
    """
    ranked = fuse(sample.sights, [0.0] * len(FEATURES), len(sample.sights))
    rows = [(one.candidate.document, one.values) for one in ranked]
    ideal = sum(DISCOUNTS[: sample.count])
    for document, values in rows:
        if document in sample.right:
            rivals = [one for one in rows if one[0] != document]
            contest = _contest(document, values, rivals, given, share / ideal)
            if contest.ahead < DEPTH:
                yield contest


def _contest(
    document: int,
    values: Sequence[float],
    rivals: Sequence[tuple[int, Sequence[float]]],
    given: Sequence[float],
    worth: float,
) -> Contest:
    fixed = [weight if place in _FIXED else 0.0 for place, weight in enumerate(given)]
    ahead, leads, rows = 0, [], []
    for rival, has in rivals:
        more = [one - own for one, own in zip(has, values, strict=True)]
        lead = fsum(map(mul, more, fixed)) + (_TIE if rival < document else -_TIE)
        row = [more[place] for place in _PLACES]
        if lead + MOST_WEIGHT * fsum(min(one, 0.0) for one in row) > 0:
            ahead += 1
        elif lead + MOST_WEIGHT * fsum(max(one, 0.0) for one in row) > 0:
            leads.append(lead)
            rows.append(row)
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * len(_PLACES)
    return Contest(worth, ahead, tuple(leads), columns)
