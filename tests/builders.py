"""Makers of the objects that many tests need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.bundle import assemble
from mcpg.catalog.model import HintRule, Hints, Tool
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.index import Index
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.engine import Match


def make_tool(name: str = "shipment_track", **members: Any) -> Tool:
    """Make a tool with sensible members, any of which can be given."""
    hints = {key: members.pop(key) for key in list(members) if key in Hints.__dataclass_fields__}
    given = {"id": name, "source_id": "commerce", "description": "", "hints": Hints(**hints)}
    return Tool(name=name, **(given | members))


def make_engine(*tools: Tool, rules: tuple[HintRule, ...] = ()) -> Engine:
    """Make an engine of *tools* as a host would: catalogue, relations, documents, index."""
    assembly = assemble(SourceBatch(tools=tools, rules=rules))
    return Engine(Index(compile_assembly(assembly)), assembly.diagnostics)


def ids(matches: Iterable[Match]) -> list[str]:
    """Return the tool ids of *matches*, in order."""
    return [match.tool_id for match in matches]
