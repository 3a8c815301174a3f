"""Markdown-LD documents of tools and pages as values, with their tags.

Facts about a tool are `prefix:value` tags, as in the .NET gateway; they are not searched.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mcpg.catalog.model import NO_HINTS, Hints, SourceKind, Tier, Tool, ToolExample
from mcpg.catalog.view import unique
from mcpg.errors import DocumentError
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping, ToolRelations
from mcpg.text.json_values import JsonObject, JsonValue, read_float, read_json, write_exact_json

if TYPE_CHECKING:
    from mcpg.text.safeyaml import YamlPath


@dataclass(frozen=True, slots=True)
class Link:
    """An edge as a document writes it: to the URI of another document.

    Attributes:
        target: Canonical URI of the target document, which may be missing.
        weight: Strength in (0, 1]; 1 for an author's link.
        reason: Why, for people; "" if the document gives none.
        fields: The output fields of the tool that fill arguments of the target.
        coverage: How much of the target's input these are; `None` if unknown.
    """

    kind: EdgeKind
    target: str
    weight: float = 1.0
    reason: str = ""
    origin: EdgeOrigin = EdgeOrigin.AUTHORED
    fields: tuple[FieldMapping, ...] = ()
    coverage: Coverage | None = None


@dataclass(frozen=True, slots=True)
class ToolDocument:
    """One tool, its place in the graph, and the prose that a person wrote about it.

    A page, which has no tool, is also one: its `tool` has title, description and hints.

    Attributes:
        path: Relative path of the document in a folder or bundle.
        uri: Canonical URI of the document.
        groups: Group ids that the tool belongs to.
        links: Edges to other documents, in the document's order.
        body: Markdown that a person wrote outside the generated sections; "" when none.
        states_relations: Whether the text itself carries any `graph_*` key; without one,
            relations are inferred when a bundle is made.
        further: Front-matter keys that are not about the tool itself, as their author wrote them;
            `mcpg.documents.facts` reads them. Shared, not copied: read-only.
        written: The YAML of *further* as its author wrote it, with the comments of all front
            matter; "" if it adds nothing to *further*. See
            `mcpg.documents.front_matter_edits`.
    """

    tool: Tool
    path: str
    uri: str
    groups: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    body: str = ""
    states_relations: bool = True
    further: JsonObject = field(default_factory=dict)
    is_page: bool = False
    written: str = ""


GENERATED_TAG = "mcp-gateway-tool"
"""The tag that every generated document carries."""

TAG_KEYS = ("tags", "Tags")
"""Front-matter keys that list the tags of a document."""

_SOURCE, _KIND, _ARGUMENT, _ENABLED = "source", "kind", "argument", "enabled"
_LISTS = {
    "alias": "aliases",
    "keyword": "keywords",
    "category": "categories",
    "tag": "tags",
    "data-source": "data_sources",
}
_FLAGS = {
    "read-only": "read_only",
    "idempotent": "idempotent",
    "destructive": "destructive",
    "open-world": "open_world",
}
_TIERS = {"cost-tier": "cost_tier", "latency-tier": "latency_tier"}


@dataclass(frozen=True, slots=True)
class TagFacts:
    """The facts in the tags of a document; generated tags are complete, others add to the tool."""

    generated: bool
    source_id: str
    kind: str
    hints: Hints


def make_tags(tool: Tool) -> list[str]:
    """Return the facts about *tool* as tags, in the .NET gateway's order."""
    hints = tool.hints
    tags = [GENERATED_TAG, f"{_SOURCE}:{tool.source_id}", f"{_KIND}:{tool.source_kind}"]
    tags += [f"{_ARGUMENT}:{name}" for name in tool.required_arguments]
    for prefix, attribute in _LISTS.items():
        tags += [f"{prefix}:{value}" for value in getattr(hints, attribute)]
    for prefix, attribute in _FLAGS.items():
        flag = getattr(hints, attribute)
        if flag is not None:
            tags.append(f"{prefix}:{str(flag).lower()}")
    for prefix, attribute in _TIERS.items():
        tier = getattr(hints, attribute)
        if tier is not None:
            tags.append(f"{prefix}:{tier}")
    tags.append(f"{_ENABLED}:{str(tool.enabled).lower()}")
    return tags


def read_tags(tags: Iterable[str]) -> TagFacts:
    """Take facts and the tool's own tags from the tags of a document."""
    known: dict[str, list[str]] = {}
    for tag in tags:
        prefix, colon, value = tag.partition(":")
        if colon and prefix in _PREFIXES:
            known.setdefault(prefix, []).append(value)
        elif tag != GENERATED_TAG:
            known.setdefault("tag", []).append(tag)
        else:
            known.setdefault(GENERATED_TAG, [])
    first = {prefix: values[0] for prefix, values in known.items() if values}
    hints: dict[str, Any] = {
        **{name: unique(known.get(prefix, ())) for prefix, name in _LISTS.items()},
        **{name: read_flag(first.get(prefix, "")) for prefix, name in _FLAGS.items()},
        **{name: read_tier(first.get(prefix, "")) for prefix, name in _TIERS.items()},
    }
    is_off = read_flag(first.get(_ENABLED, "")) is False  # to be enabled is the rule
    return TagFacts(
        generated=GENERATED_TAG in known,
        source_id=first.get(_SOURCE, "").strip(),
        kind=first.get(_KIND, "").strip(),
        hints=Hints(**hints, enabled_by_default=False if is_off else None),
    )


def read_flag(text: str) -> bool | None:
    """Read `true` or `false` in any case; `None` for anything else."""
    return {"true": True, "false": False}.get(text.strip().lower())


def read_tier(text: str) -> Tier | None:
    """Read the name of a tier in any case; `None` for anything else."""
    return _TIERS_BY_NAME.get(text.strip().lower())


def text_items(value: JsonValue) -> list[str]:
    """Return the texts and numbers of a YAML list, or of a lone value, as text."""
    items = value if isinstance(value, list) else [value]
    return [
        str(item)
        for item in items
        if isinstance(item, str | int | float) and not isinstance(item, bool)
    ]


def possible_values(tag: str) -> tuple[str, ...]:
    """Return the values that the prefix of *tag* accepts, `()` if it accepts the present one."""
    prefix, colon, value = tag.partition(":")
    known = _CLOSED.get(prefix, ()) if colon else ()
    return () if value.strip().lower() in map(str.lower, known) else known


_TIERS_BY_NAME = {tier.lower(): tier for tier in Tier}
_CLOSED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((_ENABLED, *_FLAGS), ("true", "false")),
    **dict.fromkeys(_TIERS, tuple(tier.value for tier in Tier)),
    _KIND: tuple(kind.value for kind in SourceKind),
}
_PREFIXES = {_SOURCE, _KIND, _ARGUMENT, _ENABLED, *_LISTS, *_FLAGS, *_TIERS}


@dataclass(slots=True)
class LineNumbers:
    """Names the place of each value of a front matter, which begins on *first_line*."""

    text: str
    place: str
    first_line: int
    _lines: Mapping[YamlPath, int] | None = field(default=None, init=False)

    def at(self, *path: str | int) -> str:
        """Return `file:line` of the value under *path*, or of the nearest parent."""
        if self._lines is None:
            from mcpg.text.safeyaml import load_yaml_with_lines  # noqa: PLC0415 - only for faults

            try:
                self._lines = load_yaml_with_lines(
                    self.text, self.place, first_line=self.first_line, error=DocumentError
                )[1]
            except DocumentError:
                self._lines = {}
        held = (self._lines.get(path[:end]) for end in range(len(path), 0, -1))
        line = next(filter(None, held), None)
        return self.place if line is None else f"{self.place}:{line}"


def document_for(
    tool: Tool, relations: ToolRelations, addresses: Mapping[str, tuple[str, str]]
) -> ToolDocument:
    """Make the document of *tool*, with a link for every edge.

    A tool without any relation has no keys for them, as in the .NET gateway's layout. The
    *addresses* come from `uris_for`; without one of the tool, or of the target of an edge,
    `KeyError` is raised.
    """
    path, uri = addresses[tool.id]
    edges = (*relations.related, *relations.next_steps)
    links: list[Link] = []
    for edge in edges:
        evidence = (edge.weight, edge.reason, edge.origin, edge.fields, edge.coverage)
        links.append(Link(edge.kind, addresses[edge.target][1], *evidence))
    return ToolDocument(
        tool=tool,
        path=path,
        uri=uri,
        groups=relations.groups,
        links=tuple(links),
        states_relations=bool(relations.groups or edges),
    )


_ENUMS: dict[str, type[Enum]] = {
    "source_kind": SourceKind,
    "cost_tier": Tier,
    "latency_tier": Tier,
    "kind": EdgeKind,
    "origin": EdgeOrigin,
    "coverage": Coverage,
}
_SAID_BY_NONE = {"cost_tier", "latency_tier", "coverage"}
_GENERATED = "generated"
_SAID_IF_TRUE = {"further", "is_page", "written"}
_LISTS_OF = {"examples": ToolExample, "links": Link, "fields": FieldMapping}
_VALUES = {"tool": Tool, "hints": Hints, "generated": Hints}
_MEMBERS = {
    kind: tuple(one.name for one in fields(kind) if one.compare)
    for kind in (FieldMapping, Hints, Link, Tool, ToolDocument, ToolExample)
}

_PARTS = {kind: attrgetter(*names) for kind, names in _MEMBERS.items()}


# Of this version, equal values have equal bytes, whatever else refers to their parts.
_MARSHAL_VERSION = 2
_PLAIN = frozenset({str, dict, bool, type(None)})


def encode_content(document: ToolDocument) -> bytes:
    """Write the content of *document* about its tool, without relations to others.

    Of its groups those stay that are named in words, which have no colon. The bytes are for keys of
    results and for other processes, and are in no file: reading them trusts their writer.
    """
    words = tuple([group for group in document.groups if ":" not in group])
    return document_key(replace(document, groups=words, links=(), states_relations=True))


def document_key(document: ToolDocument) -> bytes:
    """Write all that `encode_record` writes of *document*, in less time, for keys of results."""
    try:
        return marshal.dumps(_flatten_value(document), _MARSHAL_VERSION)
    except ValueError:  # a number as its author wrote it
        return encode_record(document)


def decode_content(data: bytes) -> ToolDocument:
    """Read the output of `encode_content`."""
    if data.startswith(b"{"):
        return decode_record(data)[0]
    made: ToolDocument = _make_value(ToolDocument, marshal.loads(data))  # noqa: S302 - see above
    return made


def _flatten_value(part: Any) -> Any:
    """Return the members of a value, and of values within it, as tuples, and enums as texts."""
    kind = type(part)
    if part is NO_HINTS:
        return _PARTS[kind](part)
    if kind in _PARTS:
        return tuple(
            [one if type(one) in _PLAIN else _flatten_value(one) for one in _PARTS[kind](part)]
        )
    if kind is tuple:
        return tuple(map(_flatten_value, part))
    return str(part) if isinstance(part, Enum) else part


def encode_record(document: ToolDocument, text: str | None = None) -> bytes:
    """Write *document*, and the equivalent Markdown *text*, as one line of JSON.

    The file that the tool was read from is left out: it is not part of the tool.
    """
    members = _plain(document) | ({} if text is None else {"text": text})
    return write_exact_json(members).encode("utf-8", "surrogatepass")


def decode_record(data: bytes) -> tuple[ToolDocument, str | None]:
    """Read the output of `encode_record`.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: It is nothing of the kind.
    """
    members = read_json(data.decode("utf-8", "surrogatepass"), read_float)
    text = members.pop("text", None)
    return _make_value(ToolDocument, members), text


def _plain(value: Any) -> dict[str, Any]:
    """Return the members of *value* that are set; others are `None` or an empty list."""
    if value is NO_HINTS:
        return {}
    kind = type(value)
    said = zip(_MEMBERS[kind], _PARTS[kind](value), strict=True)
    return {
        name: _part(part)
        for name, part in said
        if (part or not (part is None or name in _SAID_IF_TRUE or isinstance(part, tuple)))
        and (name != _GENERATED or part != NO_HINTS)
    }


def _part(part: Any) -> Any:
    kind = type(part)
    if kind is str or kind is dict:
        return part
    if kind is tuple:
        return [one if type(one) is str else _part(one) for one in part]
    return _plain(part) if kind in _MEMBERS else part


def _make_value(kind: type[Any], members: Mapping[str, Any] | tuple[Any, ...]) -> Any:
    if isinstance(members, tuple):
        members = dict(zip(_MEMBERS[kind], members, strict=True))
    return kind(**{name: _read(name, part) for name, part in members.items()})


def _read(name: str, part: Any) -> Any:
    if name in _ENUMS:
        return None if part is None and name in _SAID_BY_NONE else _ENUMS[name](part)
    if name in _VALUES:
        return _make_value(_VALUES[name], part)
    if name in _LISTS_OF:
        return tuple(_make_value(_LISTS_OF[name], one) for one in part)
    return tuple(part) if isinstance(part, list) else part
