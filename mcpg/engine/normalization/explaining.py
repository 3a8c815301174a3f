"""Explaining: two explanations, of a query and of its rewrite, as one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.engine.explanation import advice_on, expansions_of, explanation_of
from mcpg.engine.findings import expanded
from mcpg.engine.results import SearchResult
from mcpg.engine.trace import FoundBy, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine.normalization.asking import Rewrite
    from mcpg.engine.normalization.merging import Merged, Place
    from mcpg.engine.pipeline import Outcome
    from mcpg.engine.request import Request
    from mcpg.engine.searcher import Searcher
    from mcpg.engine.trace import Explanation, MatchExplanation, QueryWord, Trace

STAGE = "normalise"
OF_REWRITE = "rewrite"
"""Origin of words, and the beginning of the names of stages, that belong to the rewrite."""


def with_stage(explanation: Explanation, rewrite: Rewrite, duration_ms: float) -> Explanation:
    """Put what became of the query before everything else that *explanation* tells."""
    stage = Stage(STAGE, duration_ms, rewrite.details())
    return replace(explanation, stages=(stage, *explanation.stages))


def joined_explanation(
    parts: Sequence[Request],
    outcomes: Sequence[Outcome],
    traces: Sequence[Trace],
    result: SearchResult,
    offered: Sequence[Merged],
    searcher: Searcher,
) -> Explanation:
    """Give the explanation of a merged *result*, each match explained by the search that counts.

    Args:
        parts: What was asked: the query as it was given, and its rewrite.
        outcomes: What came of each.
        traces: The stages of each, and those after merging.
        result: What was made of both.
        offered: Its matches, with their places in both.
        searcher: What both were searched with.
    """
    asked, rewritten = (
        explanation_of(
            part,
            SearchResult(part.query, part.strategy, result.ranking_mode, searcher.matches(outcome)),
            outcome,
            trace,
            searcher,
        )
        for part, outcome, trace in zip(parts, outcomes, traces, strict=False)
    )
    words = (*asked.words, *map(_of_rewrite, rewritten.words))
    disabled = searcher.disabled(parts[0])
    return replace(
        asked,
        result=result,
        normalized_query=result.normalized_query,
        words=words,
        stages=(
            *asked.stages,
            *(replace(one, name=f"{OF_REWRITE}.{one.name}") for one in rewritten.stages),
            *(
                replace(one, details=expanded(result, searcher.index, disabled))
                for one in traces[-1].stages
            ),
        ),
        matches=tuple(_matches((asked, rewritten), offered)),
        expansions=tuple(expansions_of(result)),
        advice=advice_on(result, words, outcomes, searcher.index, disabled),
    )


def _of_rewrite(word: QueryWord) -> QueryWord:
    return replace(word, origin=OF_REWRITE) if word.origin == "query" else word


def _matches(
    both: tuple[Explanation, Explanation], offered: Sequence[Merged]
) -> Iterator[MatchExplanation]:
    by_id = [{match.tool_id: match for match in one.matches} for one in both]
    for rank, merged in enumerate(offered, start=1):
        match = by_id[merged.is_by_rewrite].get(merged.match.tool_id)
        if match is not None:
            yield replace(match, rank=rank, score=merged.score, found_by=_found_by(merged))


def _found_by(merged: Merged) -> tuple[FoundBy, ...]:
    places = (("query", merged.asked), (OF_REWRITE, merged.rewritten))
    return tuple(_placed(text, place) for text, place in places if place)


def _placed(text: str, place: Place) -> FoundBy:
    return FoundBy(text, place.rank, place.match.score, place.weight)
