"""Items beside tools, and items with their own index, which are searched like tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from mcpg.catalog.model import Tool
from mcpg.engine.engine import Engine
from mcpg.plugins.hooks import Item, ItemKind, ItemSearch
from mcpg.plugins.registry import list_item_kinds


class IndexedItems:
    """Lists and searches the items of one kind."""

    def __init__(self, engine: Engine | None) -> None:
        """Search with *engine*, the `Engine.kind_engine` of the kind; `None` for no items."""
        self._engine = engine

    def list_items(self) -> Iterator[Item]:
        """Yield all items, in order of their ids."""
        for tool in self._engine.tools if self._engine else ():
            yield Item(tool.name, _read_type(tool), tool.source_id, tool.description)

    def search_items(self, query: str, limit: int) -> Iterator[Item]:
        """Yield the items that fit a query, the best first."""
        matches = self._engine.search(query, limit=limit).matches if self._engine else ()
        for match in matches:
            tool, evidence = match.descriptor, match.evidence
            title = "" if tool.display_name == tool.name else f"{tool.display_name}: "
            why = [f"has {', '.join(evidence.terms)} in its {', '.join(evidence.fields)}"]
            why += [f"lacks {', '.join(evidence.missing)}"] if evidence.missing else []
            yield Item(
                *(tool.name, _read_type(tool), tool.source_id),
                *(f"{title}{tool.description}", match.score, tuple(why)),
            )

    def count_items(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many items there are of each type."""
        return {"items": Counter(item.type for item in self.list_items())}


def _read_type(tool: Tool) -> str:
    stated = tool.meta.get("type")
    return stated if isinstance(stated, str) else ""


def has_items(engine: Engine) -> bool:
    """Return whether there are items of a kind that is compared by its contents."""
    kinds = (one for one in list_item_kinds() if one.contents)
    return any(engine.kind_engine(one.name) is not None for one in kinds)


def open_kind(engine: Engine, kind: ItemKind) -> ItemSearch:
    """Return what lists and searches the items of a *kind*."""
    if kind.documents:
        return IndexedItems(engine.kind_engine(kind.name))
    found: ItemSearch = engine.items(kind.name)
    return found
