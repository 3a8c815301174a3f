"""The tools of a bundle as its index has them: each part is read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from mcpg.catalog.model import Tool
from mcpg.catalog.view import ToolView
from mcpg.cli.environment import cache_folder
from mcpg.documents.model import ToolDocument
from mcpg.engine.model import recipe
from mcpg.engine.opening import read_notices
from mcpg.errors import Diagnostic
from mcpg.index.file import fresh_index
from mcpg.index.layout import ABSENT, SUMMARY_LENGTH, StaleIndexError
from mcpg.index.reader import Index

if TYPE_CHECKING:
    from mcpg.json_types import JsonObject


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class IndexedBundle:
    """The index of a bundle.

    Attributes:
        index: The index.
        path: The bundle.
        diagnostics: What reading the bundle noticed.
    """

    index: Index
    path: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def size(self) -> int:
        """The number of all tools."""
        return len(self.index)

    def list_filtered(
        self, limit: int | None, filters: Mapping[str, Any]
    ) -> tuple[Sequence[IndexedTool], tuple[Diagnostic, ...]]:
        """Return at most *limit* tools that pass the *filters* of a search, with diagnostics.

        They are in the order of their ids.
        """
        if not filters:
            return self._tools(range(self.size)[:limit]), ()
        from mcpg.engine.filters import filter_index  # noqa: PLC0415 - most lists are whole

        numbers, noticed = filter_index(self.index, **filters)
        return self._tools(numbers[:limit]), noticed

    def _tools(self, numbers: Sequence[int]) -> list[IndexedTool]:
        cards = self.index.cards(numbers)
        return [IndexedTool(self.index, *one) for one in zip(numbers, cards, strict=True)]

    def find_number(self, name: str) -> int:
        """Return the number of the one tool that *name* means, as `Catalog.named` finds it.

        Raises:
            NotFoundError: No tool is called so, or several are.
        """
        number = self.index.find_tool(name.strip().casefold())
        if number != ABSENT:
            return number
        from mcpg.catalog.lookup import ToolLookup  # noqa: PLC0415 - most are named by their ids

        return self.index.find_tool(ToolLookup(self._tools(range(self.size))).find_named(name).id)

    def document(self, number: int) -> ToolDocument:
        """Return the document of a tool, with its place in the bundle."""
        document = self.index.record(number)
        place = f"{self.path}: documents[{self.index.place(number)}]"
        return replace(document, tool=replace(document.tool, place=place))

    def target_ids(self, number: int) -> list[str | None]:
        """Return the ids of the tools that the links of a tool reach, `None` for other targets."""
        index = self.index
        targets = index.targets(number)
        return [index.tool_id(target) if target < len(index) else None for target in targets]

    def server(self, number: int) -> list[Tool]:
        """Return the tools of the server of a tool, in the order of their ids."""
        sources = self.index.find_source_numbers(range(len(self.index)))
        same = (other for other, source in enumerate(sources) if source == sources[number])
        return [self.index.record(other).tool for other in same]


def from_index(paths: Sequence[str], answer: Callable[[IndexedBundle], Answer]) -> Answer | None:
    """Return what *answer* makes of the bundle at the only one of *paths*.

    Returns:
        The answer; `None` where there is no fresh index, or it is damaged.
    """
    if len(paths) != 1:
        return None
    index = fresh_index(paths[0], recipe(), cache_folder())
    if index is None:
        return None
    try:
        if not index.is_checked:
            index.verify(records=False)
        noticed = read_notices(index, paths[0])
        return None if noticed is None else answer(IndexedBundle(index, paths[0], noticed))
    except (StaleIndexError, TypeError, ValueError):
        return None


class IndexedTool:
    """A tool of an index, as lists show it."""

    __slots__ = (
        "_index",
        "_number",
        "_summary",
        "display_name",
        "enabled",
        "id",
        "name",
        "source_id",
    )

    def __init__(
        self, index: Index, number: int, card: tuple[str, str, str, str, str, bool]
    ) -> None:
        self._index, self._number = index, number
        self.id, self.source_id, self.name, self.display_name, self._summary, self.enabled = card

    @property
    def description(self) -> str:
        """The description on one line."""
        summary = self._summary
        # The rest stands in the record, which takes longer.
        return summary if len(summary) < SUMMARY_LENGTH else self.view().description

    @property
    def input_schema(self) -> JsonObject:
        return self.view().input_schema

    def view(self) -> ToolView:
        return self._index.view(self._number)

    def to_dict(self) -> JsonObject:
        """Return what `mcpg list` prints of the tool."""
        view = self.view()
        return view.card | view.hints
