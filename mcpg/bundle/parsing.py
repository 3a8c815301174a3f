"""From the content of a bundle file to one JSON object, each failure with its own message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from mcpg.errors import BundleError
from mcpg.files import MAX_BYTES

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject

_REBUILD = "rebuild it with `mcpg bundle`"
_NOT_A_BUNDLE = "name a file that `mcpg bundle` wrote"


def parse_object(data: bytes | str, place: str) -> JsonObject:
    """Parse *data* as one JSON object.

    Args:
        data: The whole content of the file.
        place: The file, for messages.

    Raises:
        BundleError: It is bigger than `MAX_BYTES`, no UTF-8, no JSON, cut short, nested too deeply,
            or no object.
    """
    if len(data) > MAX_BYTES:
        raise too_big(place)
    value = _parse(_text(data, place), place)
    if value is None:
        raise BundleError("holds JSON null, no bundle", place=place, remedy=_NOT_A_BUNDLE)
    if not isinstance(value, dict):
        raise BundleError("holds JSON, but no object", place=place, remedy=_NOT_A_BUNDLE)
    return value


def too_big(place: str) -> BundleError:
    """Make the error for a bundle of more than `MAX_BYTES`."""
    message = f"is bigger than {MAX_BYTES // (1024 * 1024)} MB"
    return BundleError(message, place=place, remedy="bundle fewer sources into one file")


def _text(data: bytes | str, place: str) -> str:
    try:
        text = data.decode() if isinstance(data, bytes) else data
    except UnicodeDecodeError as fault:
        raise _encoding_error(fault, place) from fault
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise BundleError("is empty", place=place, remedy=_REBUILD)
    return text


def _parse(text: str, place: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as fault:
        raise _syntax_error(fault, place) from fault
    except RecursionError as fault:
        raise BundleError("is nested too deeply", place=place, remedy=_REBUILD) from fault
    except ValueError as fault:
        raise BundleError(f"is no JSON: {fault}", place=place, remedy=_REBUILD) from fault


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _encoding_error(fault: UnicodeDecodeError, place: str) -> BundleError:
    if fault.reason == "unexpected end of data":
        return _cut_short(place)
    line = fault.object.count(b"\n", 0, fault.start) + 1
    return BundleError(
        f"is no UTF-8 text: byte {fault.start} (in line {line}) is broken",
        place=place,
        remedy=_REBUILD,
    )


def _syntax_error(fault: json.JSONDecodeError, place: str) -> BundleError:
    where = f"{place}:{fault.lineno}:{fault.colno}"
    if _stops_early(fault.doc.rstrip(), fault):
        return _cut_short(where)
    return BundleError(f"is no JSON: {fault.msg}", place=where, remedy=_NOT_A_BUNDLE)


def _stops_early(text: str, fault: json.JSONDecodeError) -> bool:
    """Tell a text that was cut off from one that never was JSON."""
    if not text.lstrip().startswith("{"):
        return False
    in_last_token = fault.pos >= len(text) - len("false") and not text.endswith("}")
    return in_last_token or fault.pos >= len(text) or fault.msg.startswith("Unterminated string")


def _cut_short(where: str) -> BundleError:
    return BundleError(
        "ends in the middle: the file was cut short",
        place=where,
        remedy=f"copy it again, or {_REBUILD}",
    )
