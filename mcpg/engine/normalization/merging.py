"""Merging: one list of two searches, that of a query and that of its rewrite.

A tool's score is the probability that it is wanted: with probability *trust* the rewrite asks for
what the query asks for, and then its search is right about the tool; otherwise the query's own is
(the law of total probability). What the query itself makes sure stays as sure as it was, so that a
bad rewrite cannot lose a good match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.engine.confidence import DECIMALS
from mcpg.engine.retrieval import POOL
from mcpg.values import replace, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine.results import Match

DEPTH = POOL
"""How many matches of each search are merged first, whatever the limit."""

SURE = 0.5
"""A match with this score, by the query as it was given, keeps it."""


@value
class Place:
    """Where one of the searches puts a tool.

    Attributes:
        match: The tool as that search gives it.
        rank: Its place there, from 1.
        weight: How much its score there counts, in [0, 1].
    """

    match: Match
    rank: int
    weight: float


@value
class Merged:
    """One tool in the merged list.

    Attributes:
        score: The probability that it is wanted, in [0, 1]: the sum of weights times scores of its
            places, or what the tool above has where neither place is among the first `DEPTH` and
            that is less.
        asked: Its place by the query as it was given, `None` where that does not find it.
        rewritten: Its place by the rewrite, likewise.
    """

    score: float
    asked: Place | None
    rewritten: Place | None

    @property
    def is_by_rewrite(self) -> bool:
        """Whether the rewrite has the greater part in its score."""
        return self.asked is None or _part(self.rewritten) > _part(self.asked)

    @property
    def match(self) -> Match:
        """The tool, as the search that has the greater part in it gives it."""
        place = self.rewritten if self.is_by_rewrite else self.asked
        if place is None:
            raise AssertionError
        return replace(place.match, score=self.score)


def merge(asked: Sequence[Match], rewritten: Sequence[Match], trust: float) -> list[Merged]:
    """Give every tool of both lists, the likeliest first; of ties the one that ranks higher.

    The first `DEPTH` of each are merged by themselves, and the rest follows below: so a limit only
    cuts. What only a rewrite finds that is not trusted at all is left out.
    """
    rewritten = rewritten if trust else ()
    first = _merge(asked[:DEPTH], rewritten[:DEPTH], trust)
    known = {one.match.tool_id for one in first}
    rest = [one for one in _merge(asked, rewritten, trust) if one.match.tool_id not in known]
    return [*first, *(replace(one, score=min(one.score, first[-1].score)) for one in rest)]


def _merge(asked: Sequence[Match], rewritten: Sequence[Match], trust: float) -> list[Merged]:
    ours = {match.tool_id: (match, rank) for rank, match in enumerate(asked, start=1)}
    theirs = {match.tool_id: (match, rank) for rank, match in enumerate(rewritten, start=1)}
    found = [_merged(ours.get(one), theirs.get(one), trust) for one in {**ours, **theirs}]
    return sorted(found, key=_order)


def _merged(
    ours: tuple[Match, int] | None, theirs: tuple[Match, int] | None, trust: float
) -> Merged:
    sure = ours is not None and ours[0].score >= SURE
    if sure and ours is not None and (theirs is None or theirs[0].score < ours[0].score):
        trust = 0.0
    asked = Place(*ours, 1 - trust) if ours else None
    rewritten = Place(*theirs, trust) if theirs else None
    return Merged(round(_part(asked) + _part(rewritten), DECIMALS), asked, rewritten)


def _part(place: Place | None) -> float:
    return place.weight * place.match.score if place else 0.0


def _order(merged: Merged) -> tuple[float, float, str]:
    places = (merged.asked, merged.rewritten)
    height = sum(place.weight / place.rank for place in places if place)
    return -merged.score, -round(height, DECIMALS), merged.match.tool_id
