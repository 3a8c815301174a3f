"""The texts of a tool that every engine gets; without imports, as cold processes read it too."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def key(tool: dict[str, Any]) -> str:
    """Give `server::name`."""
    return f"{tool['server']}::{tool['name']}"


def document(tool: dict[str, Any]) -> str:
    """Join name, title, description, and the names and texts of the parameters."""
    parts = [tool["name"], tool.get("title"), tool.get("description")]
    for name, schema in ((tool.get("inputSchema") or {}).get("properties") or {}).items():
        parts += [name, schema.get("description") if isinstance(schema, dict) else None]
    return " ".join(part for part in parts if part)


def told(tool: dict[str, Any]) -> str:
    """Join title and description, for engines that know a description but no title."""
    return ". ".join(part for part in (tool.get("title"), tool.get("description")) if part)
