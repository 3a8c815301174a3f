"""Merging: one list of two searches, that of a query and that of its rewrite.

A tool's score is the probability that it is wanted: with probability *trust* the rewrite asks for
what the query asks for, and then its search is right about the tool; otherwise the query's own is
(the law of total probability). What the query itself makes sure stays as sure as it was, so that a
bad rewrite cannot lose a good match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.engine.confidence import DECIMALS, worth_offering
from mcpg.engine.expansion import NEXT_STEP, RELATED, focused_graph
from mcpg.engine.results import RankingMode, SearchResult
from mcpg.engine.retrieval import POOL
from mcpg.values import replace, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine.request import Request
    from mcpg.engine.results import Match
    from mcpg.engine.searcher import Searcher

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


def merged_result(
    request: Request,
    results: tuple[SearchResult, SearchResult],
    found: Sequence[Merged],
    searcher: Searcher,
    diagnostics: Sequence[Diagnostic],
) -> tuple[SearchResult, list[Merged]]:
    """Give the answer to *request* and the tools *found* that it offers.

    Args:
        request: What was asked.
        results: What the query found, and what its rewrite found.
        found: All tools of both, in order.
        searcher: What both were searched with.
        diagnostics: What is told with the answer.
    """
    found = found[: request.limit]
    offered = list(found[: worth_offering([one.score for one in found], request)])
    matches = tuple(one.match for one in offered)
    scores = {match.tool_id: match.score for match in matches}
    reached = sorted(_reached(results, scores), key=_edge_order)
    related = _of_kind(RELATED, reached, request.limit)
    next_steps = _of_kind(NEXT_STEP, reached, request.limit)
    shown = [searcher.number(match.tool_id) for match in (*matches, *related, *next_steps)]
    modes = {result.ranking_mode for result in results}
    result = replace(
        results[0],
        ranking_mode=modes.pop() if len(modes) == 1 else RankingMode.HYBRID,
        matches=matches,
        related_matches=related,
        next_step_matches=next_steps,
        diagnostics=tuple(diagnostics),
        focused_graph=focused_graph(shown, searcher.index),
    )
    return result, offered


def _reached(
    results: tuple[SearchResult, SearchResult], scores: Mapping[str, float]
) -> Iterator[Match]:
    """Give the best edge to each tool that the offered matches reach, scored by these."""
    best: dict[str, Match] = {}
    for result in results:
        for match in (*result.related_matches, *result.next_step_matches):
            via = match.via
            if via is None or via.source not in scores or match.tool_id in scores:
                continue
            scored = replace(match, score=round(via.weight * scores[via.source], DECIMALS))
            known = best.get(match.tool_id)
            if known is None or _edge_order(scored) < _edge_order(known):
                best[match.tool_id] = scored
    yield from best.values()


def _edge_order(match: Match) -> tuple[float, bool, str, str]:
    edge, source = (match.via.edge, match.via.source) if match.via else ("", "")
    return -match.score, edge == RELATED, match.tool_id, source


def _of_kind(kind: str, reached: Sequence[Match], limit: int) -> tuple[Match, ...]:
    found = [match for match in reached if match.via and match.via.edge == kind]
    return tuple(found[:limit])
