"""Judged queries that a tool answers and isn't found first for, and the aliases that mend it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints
from mcpg.engine.hint_words import alias_of
from mcpg.engine.results import MAX_LIMIT
from mcpg.evaluation.judged import Judgements, resolve

if TYPE_CHECKING:
    from mcpg.engine import Engine


@dataclass(frozen=True, slots=True)
class MissedQuery:
    """A judged query of a tool that another tool is first for, and what an alias makes of it.

    Attributes:
        query: The query.
        alias: What remains of it without literals and names.
        rank: The rank of the tool; `None` where it is not found.
        rank_after: Its rank once it has the aliases of all the queries that it misses.
    """

    query: str
    alias: str
    rank: int | None
    rank_after: int | None


def missed_queries(
    engine: Engine, tool: str, judgements: Judgements, *, include_disabled: bool = False
) -> tuple[MissedQuery, ...]:
    """Return the judged queries that *tool* answers and misses, and that aliases of it improve.

    Args:
        engine: What is searched.
        tool: The id of the tool.
        judgements: The queries.
        include_disabled: Whether tools that are off by default may be found.

    Raises:
        DocumentError: With the aliases, the tool's document becomes too long to be written.
    """

    def rank(searched: Engine, query: str) -> int | None:
        result = searched.search(query, limit=MAX_LIMIT, include_disabled=include_disabled)
        ids = [match.tool_id for match in result.matches]
        return ids.index(tool) + 1 if tool in ids else None

    missed = [
        (query, alias, rank(engine, query))
        for query, alias in _with_aliases(engine, tool, judgements, include_disabled)
    ]
    if not missed:
        return ()
    aliases = tuple(dict.fromkeys(alias for _, alias, _ in missed))
    changed = engine.with_hints(tool, Hints(aliases=aliases))
    found = (MissedQuery(*one, rank(changed, one[0])) for one in missed)
    return tuple(
        one for one in found if one.rank_after and (one.rank is None or one.rank_after < one.rank)
    )


def _with_aliases(
    engine: Engine, tool: str, judgements: Judgements, include_disabled: bool
) -> Iterator[tuple[str, str]]:
    """Yield the queries that *tool* answers, and no tool that does is first for."""
    for one in resolve(judgements, engine.catalog).queries:
        query = one.judged.query
        if tool not in one.relevant:
            continue
        first = engine.search(query, limit=1, include_disabled=include_disabled).matches
        if not first or first[0].tool_id not in one.relevant:
            alias = engine.consult(partial(alias_of, query))
            if alias is not None:
                yield query, alias
