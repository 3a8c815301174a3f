"""Search of prompts and resources: an index of their own beside that of the tools (ADR 22)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcpg.bundle import assemble
from mcpg.catalog.model import Tool
from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.gateway.brief_searches import is_brief_search
from mcpg.gateway.primitives.directory import Directory
from mcpg.index.reader import Index
from mcpg.json_types import JsonObject
from mcpg.sources.model import SourceBatch

_MOST = 5000
_TEXT = 2000


@dataclass(frozen=True, slots=True)
class ItemMatch:
    """A prompt or resource that matches a query.

    Attributes:
        kind: `prompts`, `resources` or `templates`.
        item: It as clients see it in a list.
        score: The probability that it is the right one, as for tools.
    """

    kind: str
    item: JsonObject
    score: float


class PrimitiveIndex:
    """An index of the prompts and resources of a directory."""

    def __init__(self, directory: Directory) -> None:
        """Build the index; without prompts and resources there is none."""
        self.directory = directory
        self._items: dict[tuple[str, str], tuple[str, JsonObject]] = {}
        for kind, item in islice(_items(directory), _MOST):
            self._items[self._free(item)] = kind, item
        self._engine: Engine | None = None
        if self._items:
            tools = tuple(_document(key, *one) for key, one in self._items.items())
            assembly = assemble(SourceBatch(tools=tools), texts=False)
            self._engine = Engine(Index(compile_assembly(assembly)))

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of which there are any: `prompts` and `resources`."""
        known = self.directory
        has_resources = bool(known.resources or known.templates)
        return frozenset(
            (*(("prompts",) if known.prompts else ()), *(("resources",) if has_resources else ()))
        )

    def _free(self, item: JsonObject) -> tuple[str, str]:
        """Return the source and the name of *item*, numbered where another has both."""
        meta: Any = item["_meta"]
        source, name, number = str(meta["sourceId"]), str(item["name"])[:_TEXT], 1
        found = name
        while (source, found) in self._items:
            number += 1
            found = f"{name} {number}"
        return source, found

    def is_brief(self, query: str, sources: Sequence[str] = ()) -> bool:
        """Return whether the same search is sure to be short."""
        return self._engine is None or is_brief_search(self._engine, query, sources=sources)

    def search(self, query: str, limit: int, sources: Sequence[str] = ()) -> list[ItemMatch]:
        """Return the best matches for *query*, those that are likely enough to be right.

        Args:
            query: The query.
            limit: Maximum number of matches.
            sources: Ids of the sources that they may come from; none for all.
        """
        if self._engine is None or not query.strip():
            return []
        return [
            ItemMatch(*self._items[match.source_id, match.descriptor.name], match.score)
            for match in self._engine.search(query, limit=limit, sources=sources).matches
            if match.score >= LOW_CONFIDENCE
        ]


def _items(directory: Directory) -> Iterator[tuple[str, JsonObject]]:
    for kind in ("prompts", "resources", "templates"):
        items: dict[str, JsonObject] = getattr(directory, kind)
        for item in items.values():
            yield kind, item


def _document(key: tuple[str, str], kind: str, item: JsonObject) -> Tool:
    """Return a document of *item* that can be searched, under its unique *key*."""
    uri = str(item.get("uri") or item.get("uriTemplate") or "")
    words = (item.get("title") or item.get("name"), item.get("description"), uri)
    text = ". ".join(str(one)[:_TEXT] for one in words if one)
    properties: JsonObject = {}
    given: Any = item.get("arguments") or []
    for one in given if kind == "prompts" else ():
        properties[str(one["name"])] = {"description": str(one.get("description") or "")}
    schema: JsonObject = {"type": "object", "properties": properties}
    title = str(item.get("title") or item["name"])[:_TEXT]
    return Tool("", *key, title, text, input_schema=schema)
