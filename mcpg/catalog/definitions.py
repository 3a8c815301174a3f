"""Definitions of tools as servers give them, and the differences of two.

Models read a definition and callers rely on it: title, description, schemas and annotations. Two
are the same if neither a model nor a caller could distinguish them, whatever the order of keys and
of set-like lists, and the line breaks in texts. `_meta` is left out: its content changes with every
release, and models don't see it. Hints are left out because documents add theirs; they are compared
if both tools have only those of their source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from mcpg.catalog.flat_schema import canonical_text, plain_number
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper
from mcpg.catalog.model import NO_HINTS, Hints, Tool
from mcpg.catalog.schema_changes import Compatibility, input_changes, output_changes
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import to_json

Key = tuple[str, str]
"""Identity of a tool: its source id and its name there."""


class DefinitionPart(StrEnum):
    """A part of a definition."""

    TITLE = "title"
    DESCRIPTION = "description"
    INPUT_SCHEMA = "input schema"
    OUTPUT_SCHEMA = "output schema"
    ANNOTATIONS = "annotations"
    HINTS = "hints"
    DOCUMENT = "document"
    """The document that replaces the source's definition; see `mcpg.review.lock`."""
    FILES = "files"
    """The digests of the files of an item that is not a tool, such as a skill."""

    @property
    def member(self) -> str:
        """Its name in JSON, such as `inputSchema`."""
        return self.value.replace(" s", "S")


@dataclass(frozen=True, slots=True)
class PartChange:
    """A part that differs between two definitions of one tool, with a few details for people."""

    part: DefinitionPart
    details: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.part} ({'; '.join(self.details)})"


_PROSE = frozenset(("title", "description", "$comment"))
_SETS = frozenset(("required", "enum", "type"))
_FLAT = (DefinitionPart.ANNOTATIONS, DefinitionPart.HINTS)
_DETAILS = 4
_BEFORE, _SHOWN, _NAME = 20, 80, 60


def definition_changes(before: Tool, after: Tool, *, hints: bool = False) -> tuple[PartChange, ...]:
    """Return how the definition of *after* differs from that of *before*, empty if it does not.

    A definition that nests too deeply to be read back differs from any other.

    Hints count only if *hints* is true; both tools must then have only the hints of their source.
    """
    if any(is_deeper(_parts(tool), MAX_DEPTH) for tool in (before, after)):
        return (PartChange(DefinitionPart.INPUT_SCHEMA, ("nests too deeply",)),)
    are_same_hints = not hints or before.hints == after.hints
    if are_same_hints and canonical_text(_parts(before)) == canonical_text(_parts(after)):
        return ()
    old, new = normal_parts(before), normal_parts(after)
    return tuple(
        PartChange(part, _describe_difference(part, old[part], new[part]))
        for part in old
        if (hints or part is not DefinitionPart.HINTS)
        and canonical_text(old[part]) != canonical_text(new[part])
    )


def is_same_definition(before: Tool, after: Tool) -> bool:
    """Return whether two tools are defined in the same way."""
    return before is after or not definition_changes(before, after)


def definition_text(tool: Tool) -> str | None:
    """Return a text that equal definitions share; `None` if this one differs from any other."""
    if is_deeper(_parts(tool), MAX_DEPTH):
        return None
    return canonical_text(
        [one for part, one in normal_parts(tool).items() if part is not DefinitionPart.HINTS]
    )


_SHOWN_TO_MODELS = (
    DefinitionPart.TITLE,
    DefinitionPart.DESCRIPTION,
    DefinitionPart.INPUT_SCHEMA,
    DefinitionPart.OUTPUT_SCHEMA,
)


def definition_digest(tool: Tool) -> str:
    """Return the SHA-256 of *tool* as a language model sees it, in hexadecimal.

    It covers source, name, title, description and schemas. It is "" for a definition that nests
    deeper than `MAX_DEPTH`.
    """
    if is_deeper(_parts(tool), MAX_DEPTH):
        return ""
    parts = part_digests(tool)
    shown = canonical_text([tool.source_id, tool.name, *(parts[one] for one in _SHOWN_TO_MODELS)])
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


def part_digests(tool: Tool) -> dict[DefinitionPart, str]:
    """Return the SHA-256 of the normal form of each part of *tool*, in hexadecimal.

    Digests of a part are equal if `definition_changes` finds no difference in it. The definition
    must not nest deeper than `MAX_DEPTH`.
    """
    return {
        part: hashlib.sha256(canonical_text(one).encode()).hexdigest()
        for part, one in normal_parts(tool).items()
    }


def _parts(tool: Tool) -> list[JsonValue]:
    texts: list[JsonValue] = [tool.title, tool.description]
    return [*texts, tool.input_schema, tool.output_schema, tool.annotations]


def normal_parts(tool: Tool) -> dict[DefinitionPart, JsonValue]:
    """Return the parts of *tool* in their normal form: equal if no reader can distinguish them."""
    assumed: JsonObject = {"type": "object", "properties": {}}
    arguments = _normal(assumed | tool.input_schema)
    if isinstance(arguments, dict) and arguments.get("required") == []:
        del arguments["required"]
    stated: JsonObject = {name: one for name, one in tool.annotations.items() if one is not None}
    return {
        DefinitionPart.TITLE: one_line(tool.title or ""),
        DefinitionPart.DESCRIPTION: one_line(tool.description),
        DefinitionPart.INPUT_SCHEMA: arguments,
        DefinitionPart.OUTPUT_SCHEMA: _normal(tool.output_schema),
        DefinitionPart.ANNOTATIONS: _normal(stated),
        DefinitionPart.HINTS: {
            name: sorted(one, key=canonical_text) if isinstance(one, list) else one
            for name, one in stated_hints(tool.hints).items()
        },
    }


def stated_hints(hints: Hints) -> JsonObject:
    """Return the *hints* that are set, as a JSON object."""
    if hints == NO_HINTS:
        return {}
    return {name: one for name, one in to_json(hints).items() if one not in (None, [])}


def _normal(json_value: JsonValue, key: str = "") -> JsonValue:
    """Return *json_value*, the member *key* of an object, in its normal form."""
    if isinstance(json_value, dict):
        return {name: _normal(one, name) for name, one in json_value.items()}
    if isinstance(json_value, list):
        items = [_normal(one) for one in json_value]
        return sorted(items, key=canonical_text) if key in _SETS else items
    if isinstance(json_value, str):
        return one_line(json_value) if key in _PROSE else json_value
    return plain_number(json_value) if isinstance(json_value, float) else json_value


def one_line(text: str) -> str:
    """Return *text* with its words separated by single spaces."""
    return " ".join(text.split())


def _describe_difference(
    part: DefinitionPart, before: JsonValue, after: JsonValue
) -> tuple[str, ...]:
    details: Iterable[str]
    if isinstance(before, str) and isinstance(after, str):
        details = [text_change(before, after)]
    elif not (isinstance(before, dict) and isinstance(after, dict)):
        details = ["added" if before is None else "removed"]
    elif part in _FLAT:
        details = _member_differences(before, after)
    else:
        details = _schema_differences(part, before, after)
    found = tuple(islice(details, _DETAILS + 1))
    return found if len(found) <= _DETAILS else (*found[:_DETAILS], "and more")


def _schema_differences(
    part: DefinitionPart, before: JsonObject, after: JsonObject
) -> Iterator[str]:
    """Describe how two schemas differ, changes that break callers or readers first."""
    is_input = part is DefinitionPart.INPUT_SCHEMA
    noun, compare = ("argument", input_changes) if is_input else ("field", output_changes)
    changes = compare(before, after, _DETAILS + 1)
    for one in changes:
        path = f"{noun} {one.path[:_NAME]!r} " if one.path else ""
        breaks = " (breaking)" if one.verdict is Compatibility.BREAKING else ""
        values = f" {', '.join(map(_visible, one.values))}" if one.values else ""
        yield f"{path}{one.what}{values}{breaks}"
    if not changes:
        yield "written otherwise"


def describe_files(before: Mapping[str, str], after: Mapping[str, str]) -> PartChange:
    """Return how the files of an item differ, by the digest of each."""
    changes = {path: "changed" if path in after else "removed" for path in before}
    changes |= {path: "added" for path in after if path not in before}
    found = (
        f"{_short(path)} {changes[path]}"
        for path in sorted(changes)
        if before.get(path) != after.get(path)
    )
    details = tuple(islice(found, _DETAILS + 1))
    cut = details if len(details) <= _DETAILS else (*details[:_DETAILS], "and more")
    return PartChange(DefinitionPart.FILES, cut)


def _member_differences(
    before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]
) -> Iterator[str]:
    for name in sorted({*before, *after}):
        shown = f"{name[:_NAME]!r}"
        if name not in before:
            yield f"{shown} added"
        elif name not in after:
            yield f"{shown} removed"
        elif canonical_text(before[name]) != canonical_text(after[name]):
            yield f"{shown} {_short(before[name])} is now {_short(after[name])}"


def text_change(before: str, after: str) -> str:
    """Show where two texts begin to differ."""
    if not before or not after:
        return f"{_short(before or after)} {'removed' if before else 'added'}"
    pairs = enumerate(zip(before, after, strict=False))
    at = next((at for at, (old, new) in pairs if old != new), min(len(before), len(after)))
    start = max(0, at - _BEFORE)
    mark = "..." if start else ""
    old, new = (f"{mark}{text[start:]}" for text in (before, after))
    return f"{_short(old)} is now {_short(new)}"


def _short(one: JsonValue) -> str:
    text = json.dumps(one, ensure_ascii=False)
    return _visible(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _visible(text: str) -> str:
    # Characters without a glyph may be all that differs.
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
