"""The value objects of tools and hints, and the parameters of schemas."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import islice
from typing import Any, TypeAlias
from urllib.parse import unquote

from mcpg.catalog.view import ToolView, display_name, hints_json, required_arguments, unique
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import to_json


class SourceKind(StrEnum):
    """How a tool's server is reached, in the .NET gateway's words."""

    LOCAL = "Local"
    HTTP_MCP = "HttpMcp"
    STDIO_MCP = "StdioMcp"
    CUSTOM_MCP = "CustomMcpClient"


class Tier(StrEnum):
    """A coarse price: of money or of time."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"


@dataclass(frozen=True, slots=True)
class ToolExample:
    """One request that a tool serves: the input, never blank, the answer, and when to use it."""

    input: str
    output: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Hints:
    """Additions of an author, so that a tool is found and judged well.

    Lists have no blanks and no case-insensitive repeats; `None` means "not set".
    """

    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    data_sources: tuple[str, ...] = ()
    examples: tuple[ToolExample, ...] = ()
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None
    cost_tier: Tier | None = None
    latency_tier: Tier | None = None
    enabled_by_default: bool | None = None

    @classmethod
    def merge(cls, *parts: Hints) -> Hints:
        """Join hints in order of precedence: lists are unioned, scalars take the first set."""
        merged: dict[str, object] = {}
        for name in cls.__match_args__:
            values = [getattr(part, name) for part in parts]
            if name == "examples":
                merged[name] = tuple(dict.fromkeys(item for value in values for item in value))
            elif name in HINT_LISTS:
                merged[name] = unique(item for value in values for item in value)
            else:
                merged[name] = next((value for value in values if value is not None), None)
        return cls(**merged)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return all hints; unset ones are `null`, but a tool is enabled by default."""
        members = {name: getattr(self, name) for name in type(self).__match_args__}
        return hints_json(members | {"examples": [to_json(one) for one in self.examples]})


NO_HINTS = Hints()
"""No hints: most tools share it."""

HINT_LISTS = tuple(one.name for one in fields(Hints) if one.default == ())
"""The members of `Hints` that are lists."""

GENERATED_LISTS = ("aliases", "keywords", "examples")
"""The members of `Hints` that a language model may write; of examples, only the input."""

MOST_GENERATED = 64
"""How many texts each of these lists has at most."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as its server describes it, with the author's hints.

    JSON members are shared, not copied: treat them as read-only.

    Attributes:
        id: Unique in its catalog, stable, safe as a file name; "" until a catalog assigns it.
        source_id: The server it comes from, as given.
        name: Its name at its server, as given.
        place: The file (and member) it was read from, for messages; not part of its identity.
        listed: Other members of its entry in the list of a running server, such as `icons`, as
            given, and the `icons` of a manifest; neither kept in documents nor part of its
            identity.
        generated: Texts that a language model wrote: the lists of `GENERATED_LISTS`. They rank in a
            field of their own.
    """

    id: str
    source_id: str
    name: str
    title: str | None = None
    description: str = ""
    input_schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    output_schema: JsonObject | None = None
    annotations: JsonObject = field(default_factory=dict)
    meta: JsonObject = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)
    source_kind: SourceKind = SourceKind.LOCAL
    place: str = field(default="", compare=False)
    listed: JsonObject = field(default_factory=dict, compare=False)
    generated: Hints = NO_HINTS

    @property
    def key(self) -> tuple[str, str]:
        """Its source id and its name there, which identify it."""
        return self.source_id, self.name

    def __repr__(self) -> str:
        """Return the tool without its schemas and hints, which may be long."""
        return f"Tool({self.id!r}, source_id={self.source_id!r}, name={self.name!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return the names, the description and the hints of the tool, as `mcpg list` prints it."""
        return {**self.card(), **self.hints.to_dict()}

    def card(self) -> dict[str, Any]:
        """Return the names and the description of the tool, as a JSON object."""
        return {
            "toolId": self.id,
            "sourceId": self.source_id,
            "toolName": self.name,
            "displayName": self.display_name,
            "description": self.description,
        }

    def view(self) -> ToolView:
        """Return the tool as lists show it."""
        hints = self.hints.to_dict()
        return ToolView(self.card(), self.required_arguments, hints, self.input_schema)

    @property
    def display_name(self) -> str:
        """The name to show: the title, else the annotations' title, else the raw name."""
        return display_name(self.title, self.annotations, self.name)

    @property
    def required_arguments(self) -> tuple[str, ...]:
        """Names of the arguments that must be given, in the schema's order."""
        return required_arguments(self.input_schema)

    @property
    def enabled(self) -> bool:
        """Whether a search may offer the tool without a request for disabled ones."""
        return self.hints.enabled_by_default is not False


@dataclass(frozen=True, slots=True)
class HintRule:
    """One entry of a hints file: hints for every tool that its pattern names.

    The pattern is a tool id, `source::name`, a raw name, or a glob over any of these; so are those
    of related tools and next steps. The place is `file:line`; `mcpg lint` does not report the
    ignored codes. Generated hints have the digest of the definition that the model saw, "" if the
    file lacks it; handwritten ones have `None`.
    """

    pattern: str
    hints: Hints = NO_HINTS
    related: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    place: str = ""
    lint_ignore: tuple[str, ...] = ()
    written_for: str | None = None


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A Markdown-LD document from a folder or a bundle, not yet parsed.

    Attributes:
        path: Relative path with `/`, unique in its bundle, never climbing out of its folder.
        content: The whole text, LF line ends.
        canonical_uri: Absolute URI of the document, or `None` if it has none.
        place: The file it was read from, for messages; not part of its identity.
    """

    path: str
    content: str
    canonical_uri: str | None = None
    place: str = field(default="", compare=False)


MAX_TEXT = 256 * 1024
"""How much text the parameters of one schema have at most, in characters, and as much in paths.

A schema can repeat a text by reference until it is many times the size of its file.
"""

_MAX_PARTS = 32
_MAX_HOLDERS = 8
_MAX_TYPES = 8
_LONGEST_TYPE = 80
_NODES_PER_PARAMETER = 4
_POSITION = re.compile("0|[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool.

    Attributes:
        path: Its name; within objects and lists the way to it, as in `order.lines[].sku`.
        description: Its meaning; "" if the schema has none.
        type: JSON types joined by `|`, `null` left out, or `None` if the schema has none.
        values: The texts that it may or typically does take.
        format: The `format` of its values, or of those of its list; "" if there is none.
    """

    path: str
    description: str
    type: str | None
    values: tuple[str, ...]
    required: bool
    format: str = ""


# A schema to look into: itself, what goes before the names of its properties, how many objects and
# lists it is in, and the identities of these, to notice a circle.
_SchemaNode: TypeAlias = tuple[JsonObject, str, int, frozenset[int]]


@dataclass(frozen=True, slots=True)
class _SchemaPart:
    """One schema without the schemas that it refers to, read once however often it is met.

    Attributes:
        values: The texts that it may or typically does take.
        branches: Schemas that it refers to or combines, the first few, each with whether it
            always applies: a branch of `anyOf` or `oneOf` need not.
        items: Schemas of a list's items and of a mapping's unnamed values, the first few of each
            kind, each with its addition to a path.
    """

    schema: JsonObject
    properties: JsonObject
    required: frozenset[str]
    description: str | None
    types: tuple[str, ...]
    format: str
    values: tuple[str, ...]
    branches: tuple[tuple[JsonObject, bool], ...]
    items: tuple[tuple[JsonObject, str], ...]


def walk_parameters(
    schema: JsonObject, *, max_depth: int = 6, max_parameters: int = 400
) -> tuple[Parameter, ...]:
    """List up to *max_parameters* of a schema, outer ones first, each level in the schema's order.

    Properties are found through local `$ref`, `allOf`, `anyOf`, `oneOf`, array items and
    `additionalProperties`, on *max_depth* levels. Whatever is not a schema is passed over. When
    `MAX_TEXT` is reached, descriptions and values are cut, and parameters whose paths do not fit
    are left out.
    """
    simple = _simple_parameters(schema, max_parameters)
    if simple is None:
        return tuple(_SchemaWalk(schema, max_depth, max_parameters).run().values())
    return simple


_BRANCHES = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_NESTING = _BRANCHES | {"properties", "items", "prefixItems", "additionalProperties"}


def _simple_parameters(schema: JsonObject, most: int) -> tuple[Parameter, ...] | None:
    """Return the result of a walk over *schema*, `None` unless its properties have no schemas.

    It is also `None` for more properties than *most* and for long texts. Most tools have such a
    schema, and a walk takes ten times as long.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict) or len(properties) > most:
        return None
    members = [one if isinstance(one, dict) else {} for one in properties.values()]
    if not (_BRANCHES.isdisjoint(schema) and all(map(_NESTING.isdisjoint, members))):
        return None
    required = schema.get("required")
    needed = frozenset(_texts(required)) if isinstance(required, list) else frozenset()
    values = [
        [text for key in _VALUES if key in one for text in _texts(one[key])] for one in members
    ]
    found = tuple(
        Parameter(
            name,
            _description(one) or "",
            "|".join(_types(one.get("type"))) or None,
            unique(texts) if texts else (),
            name in needed,
            _format(one),
        )
        for name, one, texts in zip(properties, members, values, strict=True)
    )
    length = sum(len(one.path) + len(one.description) for one in found)
    length += sum(len(text) + 1 for row in values for text in row)
    return found if length < MAX_TEXT else None


@dataclass(slots=True)
class _SchemaWalk:
    """One walk through a schema; each schema in it is read and unfolded once."""

    root: JsonObject
    max_depth: int
    max_parameters: int
    path_room: int = MAX_TEXT
    room: int = MAX_TEXT
    read: dict[int, _SchemaPart] = field(default_factory=dict)
    unfolded: dict[int, list[tuple[_SchemaPart, bool]]] = field(default_factory=dict)

    def run(self) -> dict[str, Parameter]:
        found: dict[str, Parameter] = {}
        queue: deque[_SchemaNode] = deque([(self.root, "", 1, frozenset())])
        # Schemas that repeat the same paths must also come to an end.
        for _ in range(_NODES_PER_PARAMETER * self.max_parameters):
            if not queue:
                break
            node = queue.popleft()
            for name, schema, required in self._properties(node[0]):
                if len(found) == self.max_parameters:
                    return found
                path = f"{node[1]}{name}"
                if path not in found and len(path) <= self.path_room:
                    self.path_room -= len(path)
                    found[path] = self._parameter(path, schema, required)
                    queue.extend(self._inner(node, schema, path))
        return found

    def _properties(self, schema: JsonObject) -> Iterator[tuple[str, JsonObject, bool]]:
        """Return name, schema and "is required" of every property, each name once."""
        parts = self._parts(schema)
        if len(parts) == 1:  # as most are
            (part, _), *_ = parts
            for name, member in part.properties.items():
                yield name, member if isinstance(member, dict) else {}, name in part.required
            return
        required = [part.required for part, certain in parts if certain and part.required]
        seen: set[str] = set()
        for part, _ in parts:
            for name, member in part.properties.items():
                if name not in seen:
                    seen.add(name)
                    is_required = any(name in names for names in required)
                    yield name, member if isinstance(member, dict) else {}, is_required

    def _inner(self, node: _SchemaNode, member: JsonObject, path: str) -> Iterator[_SchemaNode]:
        """Return the schemas within *member* that have properties of their own."""
        outer, _, level, around = node
        if level >= self.max_depth:
            return
        holders = [(member, path)]
        trail = around | {id(part.schema) for part, _ in self._parts(outer)}
        for depth in range(level + 1, self.max_depth + 1):
            inner: list[tuple[JsonObject, str]] = []
            for holder, at in holders[:_MAX_HOLDERS]:
                parts = [part for part, _ in self._parts(holder)]
                if any(id(part.schema) in trail for part in parts):
                    continue
                if any(isinstance(part.schema.get("properties"), dict) for part in parts):
                    yield holder, f"{at}.", depth, trail
                inner.extend((item, at + mark) for part in parts for item, mark in part.items)
            holders = inner

    def _parameter(self, path: str, schema: JsonObject, required: bool) -> Parameter:
        parts = [part for part, _ in self._parts(schema)]
        texts = (part.description for part in parts)
        description = next((text for text in texts if text is not None), "")
        items = [item for part in parts for item, mark in part.items if mark == "[]"]
        nested = [part for item in items[:_MAX_HOLDERS] for part, _ in self._parts(item)]
        types = dict.fromkeys(name for part in parts for name in part.types)
        fitting = description[: self.room]
        self.room -= len(fitting)
        values: list[str] = []
        for text in (text for part in (*parts, *nested) for text in part.values):
            if len(text) >= self.room:
                break
            # Each also costs a place, for a repeated one still has to be examined.
            self.room -= len(text) + 1
            values.append(text)
        return Parameter(
            path,
            fitting,
            "|".join(types) or None,
            unique(values),
            required,
            next((part.format for part in (*parts, *nested) if part.format), ""),
        )

    def _parts(self, schema: JsonObject) -> list[tuple[_SchemaPart, bool]]:
        """Unfold a schema into itself and its branches, each with whether it always applies."""
        known = self.unfolded.get(id(schema))
        if known is not None:
            return known
        parts = self.unfolded[id(schema)] = []
        seen: set[int] = set()
        waiting = [(schema, True)]
        while waiting and len(parts) < _MAX_PARTS:
            one, certain = waiting.pop()
            if id(one) not in seen:
                seen.add(id(one))
                part = self._read_part(one)
                parts.append((part, certain))
                branches = ((branch, certain and always) for branch, always in part.branches)
                waiting.extend(reversed(list(branches)))
        return parts

    def _read_part(self, schema: JsonObject) -> _SchemaPart:
        known = self.read.get(id(schema))
        if known is not None:
            return known
        properties, required = schema.get("properties"), schema.get("required")
        is_plain = _PLAIN.issuperset(schema)  # as most are
        branches = () if is_plain else islice(_subschemas(schema, self.root), _MAX_PARTS)
        found = self.read[id(schema)] = _SchemaPart(
            schema,
            properties if isinstance(properties, dict) else {},
            frozenset(_texts(required)) if isinstance(required, list) else frozenset(),
            _description(schema),
            _types(schema.get("type")),
            _format(schema),
            () if is_plain else tuple(text for key in _VALUES for text in _texts(schema.get(key))),
            tuple(branches),
            () if is_plain else tuple(_items(schema)),
        )
        return found


_VALUES = ("enum", "const", "examples")
_ITEMS = {"items": "[]", "prefixItems": "[]", "additionalProperties": ".*"}
_COMBINED = ("allOf", "anyOf", "oneOf")
_PLAIN = frozenset({"properties", "required", "description", "type", "title", "default", "format"})


def _description(schema: JsonObject) -> str | None:
    description = schema.get("description")
    return description.strip() if isinstance(description, str) else None


def _format(schema: JsonObject) -> str:
    form = schema.get("format")
    return form if isinstance(form, str) and len(form) < _LONGEST_TYPE else ""


def _texts(value: JsonValue) -> Iterator[str]:
    """Return the texts in a list, or a single text without one."""
    items = value if isinstance(value, list) else [value]
    return (item for item in items if isinstance(item, str))


def _types(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, str):  # as most are
        return (value,) if value != "null" and len(value) < _LONGEST_TYPE else ()
    names = (name for name in _texts(value) if name != "null" and len(name) < _LONGEST_TYPE)
    return tuple(dict.fromkeys(islice(names, _MAX_TYPES)))


def _items(schema: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    for key, mark in _ITEMS.items():
        value = schema.get(key)
        items = value if isinstance(value, list) else [value]
        yield from islice(((item, mark) for item in items if isinstance(item, dict)), _MAX_HOLDERS)


def _subschemas(schema: JsonObject, root: JsonObject) -> Iterator[tuple[JsonObject, bool]]:
    target = resolve(schema.get("$ref"), root)
    if target is not None:
        yield target, True
    for key in _COMBINED:
        branches = schema.get(key)
        for branch in branches if isinstance(branches, list) else ():
            if isinstance(branch, dict):
                yield branch, key == "allOf"


def resolve(reference: JsonValue, root: JsonObject) -> JsonObject | None:
    """Follow a local reference such as `#/$defs/address`; `None` when it leads to no schema."""
    found: JsonValue = None
    with suppress(LookupError):
        found = follow_pointer(reference, root) if isinstance(reference, str) else None
    return found if isinstance(found, dict) else None


def follow_pointer(reference: str, root: JsonObject) -> JsonValue:
    """Return the target of a JSON pointer (RFC 6901) after `#`; a `LookupError` for none."""
    start, *steps = unquote(reference[1:]).split("/")
    if start or reference[:1] != "#":  # the name of an anchor, or another document
        raise LookupError(reference)
    here: JsonValue = root
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = here[name]
        elif isinstance(here, list) and _POSITION.fullmatch(name):
            here = here[int(name)]
        else:
            raise LookupError(reference)
    return here
