"""The styles of OpenAPI in which values are written into a request.

After the table "Style Examples" of the OpenAPI Specification 3.1.1, section 4.8.12.4. Whatever is
said of a value is percent-encoded, so that it stays the value that it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.catalog.openapi.layout import Parameter
    from mcpg.jsontypes import JsonObject, JsonValue

_DEFAULTS = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
_COLLECTIONS = {"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}
_EXACT = 2**53


class StyleError(Exception):
    """A value cannot be written in its style."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a value is written.

    Attributes:
        name: As OpenAPI calls it.
        is_exploded: Whether each member of a list or an object is written for itself.
    """

    name: str = "form"
    is_exploded: bool = True


def style_of(parameter: Parameter, *, is_swagger: bool) -> Style:
    """Give how a parameter is written."""
    usual = _DEFAULTS.get(parameter.place, "form")
    if not is_swagger:
        return stated_style(parameter.value, usual)
    collection = parameter.value.get("collectionFormat")
    if collection == "multi":
        return Style()
    return Style(_COLLECTIONS.get(str(collection), usual), is_exploded=False)


def stated_style(value: JsonObject, usual: str = "form") -> Style:
    """Give the style that a parameter or the encoding of a field states, else the *usual* one."""
    stated, explode = value.get("style"), value.get("explode")
    name = stated if isinstance(stated, str) else usual
    return Style(name, explode if isinstance(explode, bool) else name == "form")


def scalar(value: JsonValue) -> str:
    """Write one plain value.

    Raises:
        StyleError: It is a list or an object.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise StyleError("holds a list or an object where only a plain value can be written")
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return "" if value is None else json.dumps(value)


def in_query(name: str, value: JsonValue, style: Style) -> list[str]:
    """Write a value as the parts of a query, of a form, or of cookies, each `name=value`.

    Raises:
        StyleError: It cannot be written in this style.
    """
    key = encoded(name)
    if style.name == "deepObject":
        return list(_deep(key, value))
    if style.name not in _SEPARATORS:
        raise StyleError(f"would be written in the style {style.name[:40]!r}, which is not known")
    if isinstance(value, dict):
        members = [(encoded(member), _encoded(one)) for member, one in value.items()]
        if style.is_exploded:
            return [f"{member}={one}" for member, one in members]
        return [f"{key}={_joined((part for pair in members for part in pair), style)}"]
    if not isinstance(value, list):
        return [f"{key}={_encoded(value)}"]
    if style.is_exploded:
        return [f"{key}={_encoded(one)}" for one in value]
    return [f"{key}={_joined(map(_encoded, value), style)}"] if value else []


def in_path(name: str, value: JsonValue, style: Style) -> str:
    """Write a value into a path, in the styles `simple`, `label` and `matrix`.

    Raises:
        StyleError: It cannot be written in this style.
    """
    key = encoded(name)
    starts = {"simple": ("", ","), "label": (".", "."), "matrix": (";", ";")}
    if style.name not in starts:
        raise StyleError(f"would be written in the style {style.name[:40]!r}, which is not known")
    start, between = starts[style.name]
    is_named = style.name == "matrix"
    if not isinstance(value, dict | list):
        parts = [_encoded(value)]
    elif style.is_exploded:
        parts = _members(value, key if is_named else "")
        return start + between.join(parts)
    else:
        parts = [",".join(_flat(value))]
    return start + (f"{key}={parts[0]}" if is_named else parts[0])


def in_header(value: JsonValue, style: Style) -> str:
    """Write a value as that of a header, in the style `simple`; nothing is encoded.

    Raises:
        StyleError: It cannot be written so.
    """
    if isinstance(value, dict):
        sign = "=" if style.is_exploded else ","
        return ",".join(f"{name}{sign}{scalar(one)}" for name, one in value.items())
    return ",".join(map(scalar, value)) if isinstance(value, list) else scalar(value)


def encoded(text: str) -> str:
    """Percent-encode all of *text* that is not letter, digit, `-`, `.`, `_` or `~`."""
    return quote(text, safe="")


def _encoded(value: JsonValue) -> str:
    return encoded(scalar(value))


def _joined(parts: Iterator[str] | map[str], style: Style) -> str:
    return _SEPARATORS[style.name].join(parts)


def _flat(value: JsonObject | list[JsonValue]) -> Iterator[str]:
    if isinstance(value, list):
        yield from map(_encoded, value)
        return
    for name, one in value.items():
        yield from (encoded(name), _encoded(one))


def _members(value: JsonObject | list[JsonValue], key: str) -> list[str]:
    if isinstance(value, dict):
        return [f"{encoded(name)}={_encoded(one)}" for name, one in value.items()]
    return [f"{key}={_encoded(one)}" if key else _encoded(one) for one in value]


def _deep(key: str, value: JsonValue) -> Iterator[str]:
    """Write an object as `key[member]=value`; a list in it repeats its member."""
    if isinstance(value, dict):
        for member, one in value.items():
            yield from _deep(f"{key}%5B{encoded(member)}%5D", one)
    elif isinstance(value, list):
        for one in value:
            yield f"{key}={_encoded(one)}"
    else:
        yield f"{key}={_encoded(value)}"
