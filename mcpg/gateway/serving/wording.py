"""Texts of strangers made fit to stand among our own words, and measured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcpg.catalog.jsontext import repair_surrogates
from mcpg.catalog.naming import SOURCE_FALLBACK, normalize
from mcpg.text.unsafe import UNSAFE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.jsontypes import JsonValue

_LONGEST_NAME = 32
_MARK = "…"


def line(text: str, characters: int) -> str:
    """Bring *text* to one line of at most *characters*; what hides or steers is left out."""
    return cut(" ".join(UNSAFE.sub(" ", text).split()), characters)


def prose(text: str, characters: int) -> str:
    """Shorten *text* to at most *characters*, and leave out what hides or steers; lines stay."""
    lines = (UNSAFE.sub(" ", one.replace("\t", " ")).rstrip() for one in text.splitlines())
    return cut("\n".join(lines), characters)


def cut(text: str, characters: int) -> str:
    """Shorten *text* to at most *characters*, at a word's end where one is near."""
    if len(text) <= characters:
        return text
    kept = text[: max(0, characters - 1)]
    head, _, tail = kept.rpartition(" ")
    return f"{(head if head and len(tail) < characters // 4 else kept).rstrip()}{_MARK}"


def source_name(source_id: str) -> str:
    """Give the name of a source as our own sentences bear it.

    Whoever names a server must not be able to speak to a model in our words: nothing but letters,
    digits, `_` and `-` is left.
    """
    return normalize(source_id, SOURCE_FALLBACK)[:_LONGEST_NAME]


def listed(items: Iterable[str], most: int) -> str:
    """Join *items* by commas, and say how many more there are than *most*."""
    known = list(items)
    rest = len(known) - most
    return ", ".join(known[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def counted(number: int, one: str) -> str:
    """Give *number* and its noun."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def written(value: JsonValue) -> str:
    """Write *value* as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: JsonValue) -> int:
    """Give the bytes of *value* as JSON."""
    return len(written(value).encode("utf-8", "surrogatepass"))


def whole(value: JsonValue) -> JsonValue:
    """Give *value* with halves of characters replaced, which JSON in UTF-8 cannot hold."""
    try:
        written(value).encode()
    except UnicodeEncodeError:
        return repair_surrogates(value, "", [])
    return value
