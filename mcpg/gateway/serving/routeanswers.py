"""What a route answers with: categories, each with its best tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.gateway.answerjson import score_json
from mcpg.gateway.serving.answers import LADDER, advice, match_answer, notes, share, truncated
from mcpg.gateway.serving.wording import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.gateway.routing import RouteResult
    from mcpg.gateway.serving.answers import Find
    from mcpg.jsontypes import JsonObject, JsonValue

_CATEGORY = 80


def route_answers(result: RouteResult, find: Find) -> Iterator[JsonObject]:
    """Give answers to a route, from the fullest to the barest; see `search_answers`."""
    total = sum(len(category.matches) for category in result.categories)
    best = max(
        (routed.match for category in result.categories for routed in category.matches),
        key=lambda match: match.score,
        default=None,
    )
    for brevity in LADDER:
        categories: list[JsonValue] = []
        shown = 0
        for category in result.categories:
            kept = share(category.matches, brevity)
            shown += len(kept)
            tools: list[JsonValue] = [match_answer(routed.match, find, brevity) for routed in kept]
            name = line(category.name, _CATEGORY)
            categories.append({"name": name, "score": score_json(category.score), "tools": tools})
        answer: JsonObject = {"preference": result.preference.name, "categories": categories}
        answer |= advice((best,) if best is not None else ())
        answer |= notes(result.diagnostics)
        yield answer | truncated(total - shown, brevity)
