"""Reranking: a model of the host orders the first matches, or finds that none fits.

The texts of tools are untrusted and may instruct the model to rank a tool first. So it is called
twice: with all texts, and with names only. A tool passes another only if both answers agree;
otherwise the order of the search decides. One listed tool does nothing: if an answer prefers it to
the best match, or the two answers differ much, both are rejected.

Scores do not change, confident matches keep their places, and errors leave the order unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations, islice
from math import sqrt
from threading import Thread
from typing import Any, NamedTuple

from mcpg.errors import Code, Diagnostic, McpgError, info, warning
from mcpg.llm import RerankCandidate
from mcpg.net.http import within
from mcpg.search.guards import GRACE, CircuitBreaker, read_seconds
from mcpg.search.results import Match, SearchResult
from mcpg.text import split_words

DEPTH = 20
"""How many matches a model is shown."""

SURE = 0.9
"""Matches with this score keep their places before all others."""

SIGNIFICANT = 1.645
"""Standard errors by which both answers must agree more than by chance (5 %, one-sided)."""

MISSING = info(
    Code.RERANKER_MISSING,
    "not reranked: no language model is configured (set MCPG_LLM_MODEL and MCPG_LLM_URL)",
)
"""The diagnostic of a search that requests a missing reranker."""

_DECOY = RerankCandidate("", "no_operation", "", "Does nothing and returns nothing.", ())
_LONGEST_NAME, _LONGEST_TEXT = 100, 400
_MOST_PARAMETERS = 12


class RerankOutcome(NamedTuple):
    """What became of the order.

    Attributes:
        reason: Why the order stays, "" if a model has decided.
    """

    order: tuple[str, ...]
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def describe(self, before: Sequence[Match]) -> dict[str, Any]:
        """Return the details of the stage, for explanations."""
        places = {one.tool_id: place for place, one in enumerate(before, 1)}
        return {"placesBefore": [places[one] for one in self.order], "kept": self.reason or None}


class GuardedReranker:
    """A host's reranker with a time limit, behind a circuit breaker that slow failures open.

    May be shared between threads.
    """

    def __init__(self, reranker: Any) -> None:
        self._reranker = reranker
        self._breaker: CircuitBreaker[str] = CircuitBreaker(time.monotonic)

    def rerank(self, query: str, matches: Sequence[Match]) -> RerankOutcome:
        """Return the order of up to `DEPTH` *matches* of a search for *query*; none if none fits.

        Nothing that the model does is raised.
        """
        ids = [one.tool_id for one in matches]
        sure = next((n for n, one in enumerate(matches) if one.score < SURE), len(ids))
        if not ids or (sure and sure >= len(ids) - 1):
            return RerankOutcome(tuple(ids), "there is nothing to order")
        try:
            full, names = self._ask_twice(query, matches[sure:])
        except McpgError as fault:
            message = f"not reranked: {fault}"
            return RerankOutcome(tuple(ids), str(fault), (warning(Code.RERANK_FAILED, message),))
        if not (full or names or sure):
            message = "the reranker finds that no match serves the request"
            return RerankOutcome((), "", (info(Code.RERANK_NONE, message),))
        return RerankOutcome((*ids[:sure], *vote(ids[sure:], full, names)))

    def _ask_twice(self, query: str, matches: Sequence[Match]) -> tuple[list[str], list[str]]:
        """Return the model's orders by all texts and by names only."""
        shown = [*map(_show, matches), _DECOY]
        answers: dict[int, list[str] | McpgError] = {}

        def ask(number: int, candidates: Sequence[RerankCandidate]) -> None:
            try:
                answers[number] = self._ask(query, candidates)
            except McpgError as fault:
                answers[number] = fault

        other = Thread(target=ask, args=(1, [_show_name(one) for one in shown]), daemon=True)
        other.start()
        ask(0, shown)
        other.join()
        found: list[list[str]] = []
        for _, answer in sorted(answers.items()):
            if isinstance(answer, McpgError):
                raise answer
            if _DECOY.id in answer and matches[0].tool_id not in answer[: answer.index(_DECOY.id)]:
                raise McpgError("it prefers a tool that does nothing to the best match")
            found.append([one for one in answer if one != _DECOY.id])
        full, names = found
        if full and names and not _agree([one.tool_id for one in matches], full, names):
            raise McpgError("its answers differ too much to be believed")
        return full, names

    def _ask(self, query: str, candidates: Sequence[RerankCandidate]) -> list[str]:
        reason = self._breaker.reason
        if reason is not None:
            raise McpgError(reason)
        start = self._breaker.now()
        seconds = read_seconds(self._reranker)
        most = len(candidates) + 1
        work = within(
            seconds + GRACE, lambda _: [*islice(self._reranker.rerank(query, candidates), most)]
        )
        known = {one.id for one in candidates}
        if work is None:
            reason = f"nothing was ranked within {seconds:g} seconds"
        elif work.fault is not None:
            # An error of a model may contain a key, so only its type is reported.
            is_ours = isinstance(work.fault, McpgError)
            reason = str(work.fault) if is_ours else f"ranking ended in {type(work.fault).__name__}"
        elif not all(type(one) is str and one in known for one in work.result or ()):
            reason = "the answer names tools that were not shown"
        elif len(set(work.result or ())) < len(work.result or ()):
            reason = "the answer names a tool twice"
        else:
            return work.result or []
        self._breaker.open_if_slow(reason, start)
        raise McpgError(reason)


def _show(match: Match) -> RerankCandidate:
    tool = match.descriptor
    properties = tool.input_schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    texts = (tool.name, tool.display_name, tool.description)
    name, title, description = (" ".join(one.split()) for one in texts)
    return RerankCandidate(
        match.tool_id,
        name[:_LONGEST_NAME],
        title[:_LONGEST_NAME] if title != name else "",
        description[:_LONGEST_TEXT],
        tuple(one[:_LONGEST_NAME] for one in names[:_MOST_PARAMETERS]),
    )


def _show_name(shown: RerankCandidate) -> RerankCandidate:
    """Return a tool by the words of its name, in which no sentence has room."""
    words = " ".join(split_words(shown.name)[:_MOST_PARAMETERS])
    return RerankCandidate(shown.id, words, "", "", ())


def _complete(ours: Sequence[str], answer: Sequence[str]) -> dict[str, int]:
    """Return the places of all tools in an *answer*; in our order come last those it lacks."""
    order = [*answer, *(tool for tool in ours if tool not in answer)]
    return {tool: place for place, tool in enumerate(order)}


def _agree(ours: Sequence[str], *answers: Sequence[str]) -> bool:
    """Return whether both *answers* agree more than by chance (tau; Kendall, 1938)."""
    count, (first, second) = len(ours), (_complete(ours, one) for one in answers)
    pairs = [*combinations(ours, 2)]
    if not pairs:
        return True
    alike = sum((first[a] < first[b]) == (second[a] < second[b]) for a, b in pairs)
    tau = 2 * alike / len(pairs) - 1
    error = sqrt(2 * (2 * count + 5) / (9 * count * (count - 1)))
    return tau >= min(1.0, SIGNIFICANT * error)


def vote(ours: Sequence[str], *answers: Sequence[str]) -> list[str]:
    """Return the order by the majority of our own and two *answers*.

    Each tool is placed by how many others it precedes in two of three orders (Copeland, 1951); of
    ties our order decides.
    """
    places = [_complete(ours, order) for order in (ours, *answers)]

    def count_wins(tool: str) -> int:
        return sum(
            sum(place[tool] < place[other] for place in places) * 2 > len(places)
            for other in ours
            if other != tool
        )

    return sorted(ours, key=lambda tool: -count_wins(tool))


def reorder(result: SearchResult, outcome: RerankOutcome, limit: int) -> SearchResult:
    """Return a *result* of `DEPTH` matches in the order of *outcome*, cut to *limit* matches."""
    by_id = {one.tool_id: one for one in result.matches}
    order = dict.fromkeys((*outcome.order, *(by_id if outcome.order else ())))
    kept = tuple(by_id[one] for one in order)[:limit]
    shown = {one.tool_id for one in kept}
    reached, before = set(shown), list[Match]()
    for one in result.prerequisites:  # one may be needed by another
        if one.via is not None and one.via.source in reached and one.tool_id not in shown:
            before.append(one)
            reached.add(one.tool_id)

    def select(others: Sequence[Match]) -> tuple[Match, ...]:
        found = (one for one in others if one.via is not None and one.via.source in shown)
        return tuple(one for one in found if one.tool_id not in reached)[:limit]

    return result._replace(
        matches=kept,
        prerequisites=tuple(before),
        related_matches=select(result.related_matches),
        next_step_matches=select(result.next_step_matches),
        diagnostics=(*result.diagnostics, *outcome.diagnostics),
    )
