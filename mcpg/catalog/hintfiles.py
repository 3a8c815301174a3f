"""Hints files: what an author adds to tools whose manifests they do not own."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

from mcpg.catalog.hintkeys import HINT_KEYS, hints_from, is_usable, read_texts, unusable_keys
from mcpg.catalog.jsontext import parse_json_documents
from mcpg.catalog.model import HintRule
from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.errors import SourceError
from mcpg.text.safeyaml import load_yaml_with_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcpg.jsontypes import JsonObject, JsonValue

_RELATED = ("related",)
_NEXT_STEPS = ("nextSteps", "next_steps")
_KNOWN = (*HINT_KEYS, *_RELATED, *_NEXT_STEPS)
_LAYOUT = "write `tools:`, below it a tool's id, and below that its hints"


def read_hint_rules(text: str, place: str) -> tuple[tuple[HintRule, ...], tuple[Diagnostic, ...]]:
    """Read the rules of a hints file, YAML or JSON.

    Args:
        text: The whole file.
        place: Its path, for messages.

    Returns:
        The rules in the file's order, and a diagnostic for every member that says nothing.

    Raises:
        SourceError: The file is broken, uses YAML that is refused, or has no mapping `tools`.
    """
    value, line_of = _parse(text, place)
    if value is None:
        return (), (warning(Code.HINT_INVALID, "this hints file is empty", place),)
    tools = value.get("tools") if isinstance(value, dict) else None
    if not isinstance(value, dict) or "tools" not in value or not isinstance(tools, dict | None):
        raise SourceError("this hints file has no mapping `tools`", place=place, remedy=_LAYOUT)
    diagnostics = list(_unknown(value, ("tools",), place))
    rules: list[HintRule] = []
    for pattern, entry in (tools or {}).items():
        at = line_of(pattern)
        if isinstance(entry, dict) and pattern.strip():
            rules.append(_rule(pattern.strip(), entry, at))
            diagnostics.extend(_problems(entry, at))
        else:
            message = f"the entry {pattern!r} is no mapping of hints; it is left out"
            diagnostics.append(warning(Code.HINT_INVALID, message, at))
    return tuple(rules), tuple(diagnostics)


def _parse(text: str, place: str) -> tuple[JsonValue, Callable[[str], str]]:
    """Parse the file; give the value and a way to find the place of a tool's entry."""
    if text.lstrip().startswith("{") and place.casefold().endswith(".json"):
        repeated: set[str] = set()
        values = parse_json_documents(text, place, repeated)
        if repeated:
            message = f"the key {min(repeated)[:80]!r} stands twice in one object"
            raise SourceError(message, place=place, remedy="keep one of them")
        if len(values) > 1:
            raise SourceError("holds several JSON documents", place=place, remedy="keep one")
        return values[0], lambda pattern: f"{place}:{_line_of_key(text, pattern)}"
    value, lines = load_yaml_with_lines(text, place, error=SourceError)
    return value, lambda pattern: f"{place}:{lines[('tools', pattern)]}"


def _line_of_key(text: str, key: str) -> int:
    spellings = (json.dumps(key, ensure_ascii=False), json.dumps(key))
    found = next((at for spelling in spellings if (at := text.find(spelling)) >= 0), 0)
    return text.count("\n", 0, found) + 1


def _rule(pattern: str, entry: JsonObject, place: str) -> HintRule:
    return HintRule(
        pattern=pattern,
        hints=hints_from(entry),
        related=_patterns(entry, _RELATED),
        next_steps=_patterns(entry, _NEXT_STEPS),
        place=place,
    )


def _patterns(entry: JsonObject, keys: tuple[str, ...]) -> tuple[str, ...]:
    found = (read_texts(entry[key]) for key in keys if key in entry)
    return next((patterns for patterns in found if patterns), ())


def _problems(entry: JsonObject, place: str) -> Iterator[Diagnostic]:
    relations = [key for key in (*_RELATED, *_NEXT_STEPS) if entry.get(key) is not None]
    unusable = [key for key in relations if not is_usable(entry[key], read_texts)]
    for key in (*unusable_keys(entry), *unusable):
        part = "an item" if isinstance(entry[key], list) else "the value"
        message = f"{part} of {key!r} is not of a kind that this hint takes; it is left out"
        yield warning(Code.HINT_INVALID, message, place)
    yield from _unknown(entry, _KNOWN, place)


def _unknown(mapping: JsonObject, known: Iterable[str], place: str) -> Iterator[Diagnostic]:
    names = tuple(known)
    for key in mapping:
        if key not in names:
            close = difflib.get_close_matches(key, names, n=1)
            advice = f"; did you mean {close[0]!r}?" if close else ""
            yield warning(Code.HINT_INVALID, f"{key[:80]!r} is no known hint{advice}", place)
