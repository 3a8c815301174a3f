"""Answers within a budget of bytes: details go first, then results from the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mcpg.engine.ask.model import Answer, AskResult

_SHORT_DOCS, _FEW_RELATED = 160, 3
_SHORT_QUERY, _SHORT_MESSAGE = 200, 160
_SCHEMAS = frozenset({"inputSchema", "outputSchema", "annotations", "notes"})


def fit_budget(
    result: AskResult, size: Callable[[AskResult], int], budget: int
) -> AskResult | None:
    """Return *result* with as much of it as a *budget* allows, `None` if nothing fits.

    Args:
        result: The whole answer.
        size: Returns the size of an answer as it will be written, in bytes.
        budget: The most bytes.
    """
    least = result
    for least in _shorten_stepwise(result):
        if size(least) <= budget:
            return least
    low, high = -1, len(least.results)
    while low < high:
        middle = (low + high + 1) // 2
        if size(_cut(least, middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    return _cut(least, low) if low >= 0 else None


def _shorten_stepwise(result: AskResult) -> Iterator[AskResult]:
    """Yield *result* in less and less detail."""
    yield result
    for shorten in (_without_schemas, _with_short_docs, _bare):
        result = replace(result, results=tuple(map(shorten, result.results)))
        yield result
    decision = replace(result.decision, evidence=result.decision.evidence[:1])
    yield replace(
        result,
        query=result.query[:_SHORT_QUERY],
        decision=decision,
        parsed=replace(result.parsed, keywords=(), literals=()),
        diagnostics=tuple(
            replace(one, message=one.message[:_SHORT_MESSAGE]) for one in result.diagnostics[:2]
        ),
    )


def _without_schemas(answer: Answer) -> Answer:
    if answer.card is None:
        return answer
    card = {key: part for key, part in answer.card.items() if key not in _SCHEMAS}
    return replace(answer, card=card)


def _with_short_docs(answer: Answer) -> Answer:
    docs = answer.docs[:_SHORT_DOCS]
    return replace(answer, docs=docs, related=answer.related[:_FEW_RELATED], card=None)


def _bare(answer: Answer) -> Answer:
    return replace(answer, docs="", sig="", related=(), why=answer.why[:1])


def _cut(result: AskResult, count: int) -> AskResult:
    omitted = len(result.results) - count
    changed = replace(result, results=result.results[:count], omitted=omitted)
    if count:
        return changed
    return replace(changed, suggestions=(), parsed=replace(result.parsed, tools=(), fields=()))
