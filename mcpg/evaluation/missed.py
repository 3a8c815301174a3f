"""Judged queries that a tool answers and isn't found first for, and the aliases that mend it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mcpg.catalog.model import Hints
from mcpg.engine import Engine
from mcpg.engine.hint_words import find_alias
from mcpg.engine.results import MAX_LIMIT
from mcpg.evaluation.judged import Judgements, ResolvedQuery, resolve


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

    def ids(searched: Engine, asked: ResolvedQuery, limit: int) -> list[str]:
        result = searched.search(
            asked.judged.query,
            limit=limit,
            context_tools=asked.context_tools,
            include_disabled=include_disabled,
        )
        return [match.tool_id for match in result.matches]

    def rank(searched: Engine, asked: ResolvedQuery) -> int | None:
        found = ids(searched, asked, MAX_LIMIT)
        return found.index(tool) + 1 if tool in found else None

    missed = [
        (one, alias, rank(engine, one))
        for one in resolve(judgements, engine.catalog).queries
        if tool in one.relevant and not {*one.relevant}.intersection(ids(engine, one, 1))
        if (alias := engine.consult(partial(find_alias, one.judged.query))) is not None
    ]
    if not missed:
        return ()
    aliases = tuple(dict.fromkeys(alias for _, alias, _ in missed))
    changed = engine.with_hints(tool, Hints(aliases=aliases))
    found = (
        MissedQuery(one.judged.query, alias, before, rank(changed, one))
        for one, alias, before in missed
    )
    return tuple(
        one for one in found if one.rank_after and (one.rank is None or one.rank_after < one.rank)
    )
