"""The texts of a tool that every engine gets; without imports, as cold processes read it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def key(tool: dict[str, Any]) -> str:
    """Give `server::name`."""
    return f"{tool['server']}::{tool['name']}"


def qualified(tool: dict[str, Any]) -> str:
    """Return the name as gateways qualify it, for engines that know a name but no server."""
    return f"{tool['server']}__{tool['name']}"


def document(tool: dict[str, Any]) -> str:
    """Join server, name, title, description, and the names and texts of the parameters.

    Names are cut into words, which engines of plain text would not do by themselves.
    """
    parts = [cut(tool["server"]), cut(tool["name"]), tool.get("title"), tool.get("description")]
    for name, schema in ((tool.get("inputSchema") or {}).get("properties") or {}).items():
        parts += [cut(name), schema.get("description") if isinstance(schema, dict) else None]
    return " ".join(part for part in parts if part)


def cut(name: str) -> str:
    """Cut an identifier into words at its signs and before its capitals."""
    words = "".join(
        " " + sign if sign.isupper() and not before.isupper() else sign
        for before, sign in zip(" " + name, name, strict=False)
    )
    return " ".join("".join(sign if sign.isalnum() else " " for sign in words).split())


def told(tool: dict[str, Any]) -> str:
    """Join title and description, for engines that know a description but no title."""
    return ". ".join(part for part in (tool.get("title"), tool.get("description")) if part)
