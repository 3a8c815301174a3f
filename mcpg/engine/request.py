"""What a search is asked for, checked once at the door."""

from __future__ import annotations

from mcpg.engine.results import FUSIONS, STRATEGIES, STRATEGY_ALIASES, Strategy
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from mcpg.diagnostics import Diagnostic

    # A text or a JSON value; whatever else a host puts in is left out, not refused.
    Context: TypeAlias = Any

DEFAULT_LIMIT = 5
MAX_LIMIT = 50
MAX_QUERY_CHARACTERS = 8_192
_DEEPEST_CONTEXT = 8


@value
class Request:
    """One search, as checked.

    Attributes:
        query: What is wanted; "" browses.
        context: What else is known about the wish; weighs less than the query.
        limit: Most matches to give, in [1, 50].
        strategy: How to rank.
        include_disabled: Whether tools that are off by default may be offered.
        min_score: The least score of a match worth offering, in [0, 1].
        abstain: Whether nothing is to be offered when the best match is doubtful.
        fusion: How `auto` makes one list of the graph's and the vectors': `learned` or `rrf`; ""
            keeps the order of the vectors.
        normalize: Whether the query may be rewritten in English, to be searched beside itself.
    """

    query: str = ""
    context: str = ""
    limit: int = DEFAULT_LIMIT
    strategy: str = Strategy.GRAPH
    include_disabled: bool = False
    min_score: float = 0.0
    abstain: bool = False
    fusion: str = ""
    normalize: bool = False

    @property
    def is_browsing(self) -> bool:
        """Whether nothing is asked."""
        return not self.query and not self.context


def check_request(
    query: str | None, context: Context, asked: Request
) -> tuple[Request, tuple[Diagnostic, ...]]:
    """Check what a caller asks; too much is cut, with a diagnostic.

    Args:
        query: What is wanted.
        context: What else is known, as it was given.
        asked: The rest, unchecked.

    Raises:
        UsageError: The limit is below 1, the strategy or the fusion is unknown, a fusion is asked
            of another strategy than `auto`, or the least score is no probability.
    """
    limit, min_score = asked.limit, asked.min_score
    if limit < 1:
        raise _usage_error(f"the limit is {limit}", "ask for at least 1 match")
    if not 0 <= min_score <= 1:
        raise _usage_error(f"the least score is {min_score}", "ask for a score in [0, 1]")
    query, context = (query or "").strip(), flatten_context(context).strip()
    strategy = check_strategy(asked.strategy)
    request = Request(
        query[:MAX_QUERY_CHARACTERS],
        context[:MAX_QUERY_CHARACTERS],
        min(limit, MAX_LIMIT),
        strategy,
        asked.include_disabled,
        min_score,
        asked.abstain,
        check_fusion(asked.fusion, strategy) if asked.fusion else "",
        asked.normalize,
    )
    cut = limit > MAX_LIMIT or max(len(query), len(context)) > MAX_QUERY_CHARACTERS
    return request, tuple(_cuts(query, context, limit)) if cut else ()


def flatten_context(context: Context, depth: int = 0) -> str:
    """Give *context* as text: of an object its keys and values, of a list its items.

    What is nested deeper than any sensible context, a number longer than Python writes, and what is
    no JSON value, is left out.
    """
    if isinstance(context, str):
        return context
    if context is None or depth > _DEEPEST_CONTEXT:
        return ""
    if isinstance(context, dict):
        parts = (
            f"{flatten_context(key, depth + 1)} {flatten_context(part, depth + 1)}"
            for key, part in context.items()
        )
        return "; ".join(parts)
    if isinstance(context, list | tuple):
        return " ".join([flatten_context(part, depth + 1) for part in context])
    try:
        return str(context) if isinstance(context, bool | int | float) else ""
    except ValueError:  # an integer of thousands of digits
        return ""


def check_strategy(name: str) -> str:
    """Give the strategy called *name*; `markdown-ld` is another name for `graph`.

    Raises:
        UsageError: No strategy has that name.
    """
    strategy = STRATEGY_ALIASES.get(name, name)
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise _usage_error(f"no strategy is called {name!r}", f"use {known}")
    return strategy


def check_fusion(name: str, strategy: str) -> str:
    """Give the fusion called *name*, if *strategy* has something to fuse.

    Raises:
        UsageError: No fusion has that name, or *strategy* is not `auto`.
    """
    if name not in FUSIONS:
        raise _usage_error(f"no fusion is called {name!r}", f"use {' or '.join(FUSIONS)}")
    if strategy != Strategy.AUTO:
        message = f"the strategy {strategy!r} has one list alone: there is nothing to fuse"
        raise _usage_error(message, "ask for the strategy 'auto', or for no fusion")
    return name


def _usage_error(message: str, remedy: str) -> Exception:
    from mcpg.errors import UsageError  # noqa: PLC0415 - most searches need no error

    return UsageError(message, remedy=remedy)


def _cuts(query: str, context: str, limit: int) -> list[Diagnostic]:
    from mcpg.diagnostics import Code, warning  # noqa: PLC0415 - most searches notice nothing

    found = []
    if limit > MAX_LIMIT:
        found.append(
            warning(Code.LIMIT_CAPPED, f"{limit} matches were asked for; {MAX_LIMIT} is the most")
        )
    if max(len(query), len(context)) > MAX_QUERY_CHARACTERS:
        message = f"only the first {MAX_QUERY_CHARACTERS} characters of the query were read"
        found.append(warning(Code.QUERY_TRUNCATED, message))
    return found
