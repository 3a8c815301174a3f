"""A snapshot: what a gateway knows at one moment, which never changes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcpg.gateway.results import Fault, FaultCode

if TYPE_CHECKING:
    from mcpg.catalog.catalog import Catalog
    from mcpg.catalog.model import Tool
    from mcpg.gateway.building import Built
    from mcpg.gateway.sources import Source

_NAMED = 5
_SHOWN = 120


class Snapshot:
    """An index with the tools it was made of.

    Attributes:
        version: The state of the registry that it shows.
        engine: Searches it.
        diagnostics: What was noticed while it was made.
    """

    def __init__(self, version: int, built: Built) -> None:
        """Make a snapshot of *built*, which shows the registry in the state *version*."""
        self.version = version
        self.engine = built.engine
        self.diagnostics = built.diagnostics
        self._built = built

    def at(self, version: int) -> Snapshot:
        """Give the same for another state of the registry, which could not be shown."""
        return Snapshot(version, self._built)

    @cached_property
    def catalog(self) -> Catalog:
        """The tools as their sources have them, with the hints of their documents."""
        return self._built.catalog()

    @property
    def tool_count(self) -> int:
        """How many tools can be found."""
        return len(self.engine.index)

    def owner(self, tool: Tool) -> Source | None:
        """Give the source that has *tool*; `None` for tools that are only written about."""
        return self._built.owners.get((tool.source_id, tool.name), self._built.sole)

    def find(
        self, tool: str | None, source_id: str | None = None, name: str | None = None
    ) -> Tool | Fault:
        """Give the one tool that is meant, or why there is none.

        Args:
            tool: An id in any case, `source::name`, or a raw name.
            source_id: With *name*, the server it belongs to.
            name: A raw name, in place of *tool*.
        """
        asked = (tool or "").strip() or (name or "").strip()
        if not asked:
            message = "no tool is named"
            return Fault(FaultCode.NOTHING_NAMED, message, "give the id of one, as search has it")
        found = self._named(asked, is_id=bool((tool or "").strip()))
        if source_id:
            found = [one for one in found if one.source_id.casefold() == source_id.casefold()]
        if len(found) == 1:
            return found[0]
        return _several(asked, found) if found else self._unknown(asked)

    def _named(self, asked: str, *, is_id: bool) -> list[Tool]:
        found = self.catalog.get(asked) if is_id else None
        return [found] if found is not None else self._by_name.get(asked.casefold(), [])

    @cached_property
    def _by_name(self) -> dict[str, list[Tool]]:
        """The tools by their names, with the source and without."""
        names: dict[str, list[Tool]] = {}
        for tool in self.catalog.tools:
            for name in (tool.name, f"{tool.source_id}::{tool.name}"):
                names.setdefault(name.casefold(), []).append(tool)
        return names

    def _unknown(self, asked: str) -> Fault:
        near = self.catalog.suggest(asked)
        remedy = f"did you mean {' or '.join(near)}?" if near else "search for it first"
        return Fault(FaultCode.NOT_FOUND, f"no tool is called {asked[:_SHOWN]!r}", remedy)


def _several(asked: str, found: list[Tool]) -> Fault:
    ids = ", ".join(tool.id for tool in found[:_NAMED])
    message = f"{asked[:_SHOWN]!r} is the name of {len(found)} tools"
    return Fault(FaultCode.AMBIGUOUS, message, f"use an id: {ids}")
