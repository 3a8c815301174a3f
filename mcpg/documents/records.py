"""Tool documents as records: one line of JSON each, fast to read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from mcpg.catalog.model import Hints, SourceKind, Tier, Tool, ToolExample
from mcpg.documents.model import Link, ToolDocument
from mcpg.relations.model import EdgeKind, EdgeOrigin

_ENUMS: dict[str, type[Enum]] = {
    "source_kind": SourceKind,
    "cost_tier": Tier,
    "latency_tier": Tier,
    "kind": EdgeKind,
    "origin": EdgeOrigin,
}
_SAID_IF_TRUE = {"further", "is_page"}
_LISTS_OF = {"examples": ToolExample, "links": Link}
_HINTS, _AFTER_HINTS, _READ_ONLY = b'"hints":{', b'"source_kind":', b'"read_only":'
_MEMBERS = {
    kind: tuple(member.name for member in fields(kind) if member.compare)
    for kind in (Hints, Link, Tool, ToolDocument, ToolExample)
}


def encode_record(document: ToolDocument, text: str | None = None) -> bytes:
    """Write *document*, and the Markdown *text* that says the same, as one line of JSON.

    Where the tool was read from is left out: it is no part of the tool.
    """
    members = _plain(document) | ({} if text is None else {"text": text})
    line = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    return line.encode("utf-8", "surrogatepass")


def decode_record(data: bytes) -> tuple[ToolDocument, str | None]:
    """Read what `encode_record` wrote.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: It is nothing of the kind.
    """
    members = json.loads(data.decode("utf-8", "surrogatepass"))
    text = members.pop("text", None)
    tool = members.pop("tool")
    hints = _made(Hints, tool.pop("hints", {}))
    made = _made(Tool, {**tool, "hints": hints})
    return _made(ToolDocument, {**members, "tool": made}), text


def said_read_only(data: bytes) -> bool | None:
    """Return whether the tool of a record says that it only reads; `None` where it does not say.

    It is what the hints of `decode_record` say, in a fraction of the time: quotes in texts are
    escaped, so that what looks like the beginning of a member is one.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: As `decode_record`.
    """
    start = data.find(_HINTS)
    # A schema may have a member of that name, too.
    if start != data.rfind(_HINTS):
        return decode_record(data)[0].tool.hints.read_only
    hints = data[start : data.index(_AFTER_HINTS, start)]
    if _READ_ONLY + b"true" in hints:
        return True
    return False if _READ_ONLY + b"false" in hints else None


def _plain(value: Any) -> dict[str, Any]:
    """Return the members of *value* that are said; what is not said is `None` or no list at all."""
    said = ((name, getattr(value, name)) for name in _MEMBERS[type(value)])
    return {name: _part(part) for name, part in said if _is_said(name, part)}


def _is_said(name: str, part: Any) -> bool:
    return part is not None and part != () and (name not in _SAID_IF_TRUE or bool(part))


def _part(part: Any) -> Any:
    if isinstance(part, tuple):
        return [_part(one) for one in part]
    return _plain(part) if type(part) in _MEMBERS else part


def _made(kind: type[Any], members: Mapping[str, Any]) -> Any:
    return kind(**{name: _read(name, part) for name, part in members.items()})


def _read(name: str, part: Any) -> Any:
    if name in _ENUMS:
        return _ENUMS[name](part)
    if name in _LISTS_OF:
        return tuple(_made(_LISTS_OF[name], one) for one in part)
    is_list_of_texts = isinstance(part, list)
    return tuple(part) if is_list_of_texts else part
