"""Results as bytes and back, for caches: JSON under a digest, and read with distrust.

What a class declares of its members is what may stand in its place, so a new member needs no line
here, and what does not fit the declarations is no result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_origin, get_type_hints

from mcpg.diagnostics import Diagnostic
from mcpg.engine.cache_entries import json_bytes, sealed, unsealed
from mcpg.engine.results import Match, SearchResult

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool

_HANDED_OVER = "_load"
# What the declarations name and their modules import for type checkers alone.
_NAMES: dict[str, Any] = {
    "Callable": Callable,
    "ClassVar": ClassVar,
    "Diagnostic": Diagnostic,
    "Mapping": Mapping,
    "Tool": object,
}


def encode_result(result: SearchResult, key: str) -> bytes:
    """Give the bytes to keep under *key*.

    Raises:
        ValueError: A number of the result is not finite.
    """
    return sealed(json_bytes(_plain(result)), key)


def decode_result(data: bytes | None, key: str, load: Callable[[str], Tool]) -> SearchResult | None:
    """Give the result that was kept under *key*, `None` when *data* is not what was kept there.

    Args:
        data: What a cache gave.
        key: What it was asked for.
        load: Gives the whole tool of an id.
    """
    payload = unsealed(data, key)
    if payload is None:
        return None
    try:
        part = json.loads(payload.decode("utf-8", "surrogatepass"))
        result: SearchResult = _read(SearchResult, part, load)
    except (ValueError, RecursionError):
        return None
    return result


def _plain(part: Any) -> Any:
    """Give *part* as JSON has it: of a value its members in the order of their declaration."""
    if isinstance(part, tuple):
        return [_plain(one) for one in part]
    names = getattr(type(part), "__match_args__", None)
    if names is None:
        return part
    return [_plain(getattr(part, name)) for name in names if name != _HANDED_OVER]


def _read(kind: Any, part: Any, load: Callable[[str], Tool]) -> Any:
    """Give *part* as the *kind* that a declaration names.

    Raises:
        ValueError: It is none.
    """
    if isinstance(kind, UnionType):
        return _read_either(get_args(kind), part, load)
    if get_origin(kind) is tuple and isinstance(part, list):
        (item, _) = get_args(kind)
        return tuple(_read(item, one, load) for one in part)
    if hasattr(kind, "__match_args__") and isinstance(part, list):
        return _read_value(kind, part, load)
    if type(part) is kind or (kind is float and type(part) is int):
        return part
    raise ValueError


def _read_either(kinds: tuple[Any, ...], part: Any, load: Callable[[str], Tool]) -> Any:
    if part is None and NoneType in kinds:
        return None
    (kind,) = [one for one in kinds if one is not NoneType]
    return _read(kind, part, load)


def _read_value(kind: Any, parts: list[Any], load: Callable[[str], Tool]) -> Any:
    declared = _declared(kind)
    if len(parts) != len(declared):
        raise ValueError
    members = {
        name: _read(what, part, load)
        for (name, what), part in zip(declared.items(), parts, strict=True)
    }
    if kind is Match:
        members[_HANDED_OVER] = _loader(members["tool_id"], load)
    return kind(**members)


def _loader(tool_id: str, load: Callable[[str], Tool]) -> Callable[[], Tool]:
    return lambda: load(tool_id)


@cache
def _declared(kind: Any) -> dict[str, Any]:
    """Give the members that are kept of a value of *kind*, and the kind of each."""
    hints = get_type_hints(kind, localns=_NAMES)
    return {name: hints[name] for name in kind.__match_args__ if name != _HANDED_OVER}
