"""Tools that were given more than once."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mcpg.catalog.naming import content_key
from mcpg.diagnostics import Code, Diagnostic, info, warning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import Tool


def drop_repeats(tools: Iterable[Tool]) -> tuple[list[Tool], tuple[Diagnostic, ...]]:
    """Keep one of each set of identical tools; keep namesakes that differ, with a warning.

    Two tools are identical when all that they say is, wherever it was read.
    """
    namesakes: dict[tuple[str, str], list[Tool]] = defaultdict(list)
    for tool in tools:
        namesakes[tool.source_id, tool.name].append(tool)
    kept: list[Tool] = []
    noticed: list[Diagnostic] = []
    for group in namesakes.values():
        kept.extend(group if len(group) == 1 else _distinct(group, noticed))
    return kept, tuple(noticed)


def _distinct(group: list[Tool], noticed: list[Diagnostic]) -> list[Tool]:
    """Keep the tools of *group* that differ, noting what they are."""
    kept: dict[str, Tool] = {}
    for tool in group:
        first = kept.setdefault(content_key(tool), tool)
        if first is not tool:
            message = f"{_called(tool)} is given again, unchanged; it is kept once{_seen(first)}"
            noticed.append(info(Code.TOOL_REPEATED, message, tool.place or None))
    distinct = list(kept.values())
    for tool in distinct[1:]:
        message = (
            f"{_called(tool)} is given again with other content{_seen(distinct[0])}; "
            "both are kept: give one another name or source"
        )
        noticed.append(warning(Code.DUPLICATE_TOOL_NAME, message, tool.place or None))
    return distinct


def _called(tool: Tool) -> str:
    return f"the tool {tool.name!r} of source {tool.source_id!r}"


def _seen(first: Tool) -> str:
    return f" (first at {first.place})" if first.place else ""
