"""Makers of the objects that many tests need."""

from __future__ import annotations

from typing import Any

from mcpg.catalog.model import Hints, Tool


def make_tool(name: str = "shipment_track", **members: Any) -> Tool:
    """Make a tool with sensible members, any of which can be given."""
    hints = {key: members.pop(key) for key in list(members) if key in Hints.__dataclass_fields__}
    given = {"id": name, "source_id": "commerce", "description": "", "hints": Hints(**hints)}
    return Tool(name=name, **(given | members))
