"""What a search is asked for, checked once at the door."""

from __future__ import annotations

from dataclasses import dataclass

from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.engine.results import Strategy
from mcpg.errors import UsageError

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
MAX_QUERY_CHARACTERS = 8_192


@dataclass(frozen=True, slots=True)
class Request:
    """One search, as checked.

    Attributes:
        query: What is wanted; "" browses.
        context: What else is known about the wish; weighs less than the query.
        limit: Most matches to give, in [1, 50].
        strategy: How to rank.
        include_disabled: Whether tools that are off by default may be offered.
    """

    query: str = ""
    context: str = ""
    limit: int = DEFAULT_LIMIT
    strategy: Strategy = Strategy.GRAPH
    include_disabled: bool = False

    @property
    def is_browsing(self) -> bool:
        """Whether nothing is asked."""
        return not self.query and not self.context


def check_request(
    query: str | None, limit: int, strategy: str, context: str | None, include_disabled: bool
) -> tuple[Request, tuple[Diagnostic, ...]]:
    """Check what a caller asks; too much is cut, with a diagnostic.

    Raises:
        UsageError: *limit* is below 1, or *strategy* is unknown.
    """
    if limit < 1:
        raise UsageError(f"the limit is {limit}", remedy="ask for at least 1 match")
    query, context = (query or "").strip(), (context or "").strip()
    request = Request(
        query[:MAX_QUERY_CHARACTERS],
        context[:MAX_QUERY_CHARACTERS],
        min(limit, MAX_LIMIT),
        Strategy.named(strategy),
        include_disabled,
    )
    return request, tuple(_cuts(query, context, limit))


def _cuts(query: str, context: str, limit: int) -> list[Diagnostic]:
    found = []
    if limit > MAX_LIMIT:
        found.append(
            warning(Code.LIMIT_CAPPED, f"{limit} matches were asked for; {MAX_LIMIT} is the most")
        )
    if max(len(query), len(context)) > MAX_QUERY_CHARACTERS:
        message = f"only the first {MAX_QUERY_CHARACTERS} characters of the query were read"
        found.append(warning(Code.QUERY_TRUNCATED, message))
    return found
