"""Differences between two bundles: by tool for reviewers, by line for editors."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

from mcpg.bundle.codec import Bundle
from mcpg.catalog.definitions import definition_text
from mcpg.catalog.model import GENERATED_LISTS, Hints, SourceDocument, Tool, ToolExample
from mcpg.catalog.schema_changes import Compatibility, SchemaChange, input_changes, output_changes
from mcpg.documents.model import ToolDocument
from mcpg.documents.reader import TOOL_KEY, parse_document
from mcpg.documents.writer import with_indented_schemas
from mcpg.errors import DocumentError
from mcpg.plugins.registry import list_item_contents
from mcpg.relations.edges import EdgeOrigin
from mcpg.review.lock import ApprovedTools, LockChange, lock_changes, state_item
from mcpg.text.diffs import unified_diff

FieldValue: TypeAlias = str | tuple[str, ...]

GROUP = "group"
"""The kind of a relation to a group, beside those of edges."""

_FIELDS = ("id", "title", "description", "source_kind")
_OBJECTS = ("annotations", "meta")
# Clients' assumptions of a tool without annotations, by MCP's specification, and whether a tool
# becomes riskier when it is so.
_ASSUMED = {"read_only": False, "destructive": True, "idempotent": False, "open_world": True}
_RISKY = {"read_only": False, "destructive": True, "idempotent": False, "open_world": True}


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that differs: texts, or the items of a list.

    Attributes:
        name: The field, such as `description` or `hints.keywords`.
        before: The old value, "" or `()` for nothing.
        is_riskier: Whether a client may have to ask before calls that it did not ask for before.
    """

    name: str
    before: FieldValue
    after: FieldValue
    is_riskier: bool = False

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(one for one in _items(self.after) if one not in _items(self.before))

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(one for one in _items(self.before) if one not in _items(self.after))

    @property
    def is_list(self) -> bool:
        return isinstance(self.before, tuple) or isinstance(self.after, tuple)


@dataclass(frozen=True, slots=True)
class RelationDifference:
    """A relation that one of the catalogs has.

    Attributes:
        kind: `related`, `nextStep` or `GROUP`.
        target: The id of the linked tool, the URI of another document, or the group.
        is_added: Whether it is new, rather than gone. An edge that was inferred and is observed now
            is gone as inferred and new as observed.
        origin: The origin of an edge, such as `authored`; "" for a group.
    """

    kind: str
    target: str
    is_added: bool
    origin: str = ""


@dataclass(frozen=True, slots=True)
class ToolDifference:
    """A tool of both catalogs that is not the same in them.

    Attributes:
        fields: The fields that differ, schemas aside.
        relations: Relations that it gained or lost.
    """

    before: Tool
    after: Tool
    fields: tuple[FieldDifference, ...] = ()
    input: tuple[SchemaChange, ...] = ()
    output: tuple[SchemaChange, ...] = ()
    relations: tuple[RelationDifference, ...] = ()

    @property
    def is_renamed(self) -> bool:
        return self.before.key != self.after.key

    @property
    def is_itself_changed(self) -> bool:
        """Whether more than its relations differs."""
        return bool(self.fields or self.input or self.output or self.is_renamed)

    @property
    def is_riskier(self) -> bool:
        """Whether a client may have to ask before calls that it did not ask for before."""
        return any(field.is_riskier for field in self.fields)

    def with_verdict(self, verdict: Compatibility) -> tuple[SchemaChange, ...]:
        return tuple(one for one in (*self.input, *self.output) if one.verdict is verdict)


@dataclass(frozen=True, slots=True)
class CatalogueDiff:
    """The changes between two catalogs.

    Attributes:
        added: Tools of the new one only, in order of id.
        removed: Tools of the old one only.
        changed: Tools of both that differ, renamed ones among them.
        now_by_then: For each tool of both, its id in the new one by its id in the old one.
        items: Items other than tools, such as skills, with different parts.
    """

    added: tuple[Tool, ...]
    removed: tuple[Tool, ...]
    changed: tuple[ToolDifference, ...]
    now_by_then: Mapping[str, str]
    items: tuple[LockChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.changed or self.items)


def compare_catalogues(
    before: Mapping[str, ToolDocument], after: Mapping[str, ToolDocument]
) -> CatalogueDiff:
    """Compare the documents of two catalogs, each by tool id.

    Documents with one URI, or else with one tool id, are of the same tool. Of the others, a tool
    that is gone and a new one are the same tool under another name, or at another source, if
    both have the same description and schemas, and no third tool has.
    """
    old = {document.uri: document for document in before.values()}
    new = {document.uri: document for document in after.values()}
    pairs = {uri: uri for uri in old.keys() & new.keys()}
    pairs |= {
        before[one].uri: after[one].uri
        for one in before.keys() & after.keys()
        if before[one].uri not in new and after[one].uri not in old
    }
    kept = {*pairs.values()}
    gone = [document for uri, document in old.items() if uri not in pairs]
    come = [document for uri, document in new.items() if uri not in kept]
    pairs |= _pair_renamed_tools(gone, come)
    names = {one.uri: one.tool.id for one in (*old.values(), *new.values())}
    differences = [_difference(old[one], new[other], pairs, names) for one, other in pairs.items()]
    matched, by_id = {*pairs, *pairs.values()}, attrgetter("id")
    return CatalogueDiff(
        added=tuple(sorted((one.tool for one in come if one.uri not in matched), key=by_id)),
        removed=tuple(sorted((one.tool for one in gone if one.uri not in matched), key=by_id)),
        changed=tuple(sorted(filter(None, differences), key=attrgetter("after.id"))),
        now_by_then={old[one].tool.id: new[other].tool.id for one, other in pairs.items()},
    )


def compare_items(
    before: Sequence[ToolDocument], after: Sequence[ToolDocument]
) -> tuple[LockChange, ...]:
    """Return how items other than tools differ between the pages of two catalogs."""
    old, new = (tuple(map(state_item, list_item_contents(pages))) for pages in (before, after))
    return lock_changes(ApprovedTools(old), new)


def field_values(document: ToolDocument) -> dict[str, FieldValue]:
    """Return the fields of a document for a comparison, by name: schemas and relations aside."""
    tool, hints = document.tool, document.tool.hints
    values: dict[str, FieldValue] = {name: field_text(getattr(tool, name)) for name in _FIELDS}
    for name in _OBJECTS:
        members = sorted(getattr(tool, name).items())
        values[name] = tuple(
            f"{key}: {json.dumps(one, ensure_ascii=False, sort_keys=True)}" for key, one in members
        )
    for name in Hints.__match_args__:
        hint = getattr(hints, name)
        is_list = isinstance(hint, tuple)
        values[f"hints.{name}"] = tuple(map(field_text, hint)) if is_list else field_text(hint)
    for name in GENERATED_LISTS:
        values[f"generated.{name}"] = tuple(map(field_text, getattr(tool.generated, name)))
    values |= {
        key: json.dumps(value, ensure_ascii=False, sort_keys=True)
        for key, value in document.further.items()
    }
    return values | {"body": document.body}


def field_text(value: object) -> str:
    """Return the value of a field as text, "" for an empty one."""
    if value is None or value in ((), {}):
        return ""
    if isinstance(value, tuple):
        return ", ".join(map(field_text, value))
    if isinstance(value, ToolExample):
        return " -> ".join(filter(None, (value.input, value.output)))
    if isinstance(value, dict | bool):
        return json.dumps(value, ensure_ascii=False, sort_keys=isinstance(value, dict))
    return str(value.value) if isinstance(value, Enum) else str(value)


def _difference(
    old: ToolDocument, new: ToolDocument, pairs: Mapping[str, str], names: Mapping[str, str]
) -> ToolDifference | None:
    """Return the changes of a tool, `None` if it has none."""
    if old == new:
        return None
    before, after = old.tool, new.tool
    flags, now = _effective_flags(before.hints), _effective_flags(after.hints)
    risks = {
        f"hints.{name}"
        for name, risky in _RISKY.items()
        if flags[name] is not risky and now[name] is risky
    }
    values, others = field_values(old), field_values(new)
    sides = {
        name: (values.get(name, ""), others.get(name, ""))
        for name in dict.fromkeys((*values, *others))
    }
    found = ToolDifference(
        before,
        after,
        tuple(
            FieldDifference(name, one, other, name in risks)
            for name, (one, other) in sides.items()
            if _normal(one) != _normal(other)
        ),
        input_changes(before.input_schema, after.input_schema),
        output_changes(before.output_schema, after.output_schema),
        tuple(_relations(old, new, pairs, names)),
    )
    return found if found.is_itself_changed or found.relations else None


def _effective_flags(hints: Hints) -> dict[str, bool]:
    """Return the flags as clients take them; a tool that only reads destroys nothing."""
    stated = {name: getattr(hints, name) for name in _ASSUMED}
    flags = {name: _ASSUMED[name] if flag is None else bool(flag) for name, flag in stated.items()}
    return flags | ({"destructive": False, "idempotent": True} if flags["read_only"] else {})


def _relations(
    old: ToolDocument, new: ToolDocument, pairs: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[RelationDifference]:
    # An inferred edge that calls have shown since counts as another edge.
    seen = EdgeOrigin.OBSERVED
    before = {
        (link.kind, pairs.get(link.target, link.target), link.origin is seen): link
        for link in old.links
    }
    after = {(link.kind, link.target, link.origin is seen): link for link in new.links}
    for side, other, is_added in ((after, before, True), (before, after, False)):
        for link in (link for key, link in side.items() if key not in other):
            target = names.get(link.target, link.target)
            yield RelationDifference(link.kind.value, target, is_added, link.origin.value)
    for groups, others, is_added in (
        (new.groups, old.groups, True),
        (old.groups, new.groups, False),
    ):
        for one in groups:
            if one not in others:
                yield RelationDifference(GROUP, one, is_added)


def _pair_renamed_tools(
    gone: Iterable[ToolDocument], come: Iterable[ToolDocument]
) -> dict[str, str]:
    sides: defaultdict[str, tuple[list[ToolDocument], list[ToolDocument]]] = defaultdict(
        lambda: ([], [])
    )
    for side, documents in enumerate((gone, come)):
        for document in documents:
            nameless = replace(document.tool, title=None, annotations={})
            # Without a description, next to nothing is left.
            text = definition_text(nameless) if nameless.description.strip() else None
            if text is not None:
                sides[text][side].append(document)
    found: dict[str, str] = {}
    for olds, news in sides.values():
        # By their name at another source, or the only ones left.
        by_name = {one.tool.name: one.uri for one in news}
        pairs = {one.uri: by_name[one.tool.name] for one in olds if one.tool.name in by_name}
        if len(set(pairs.values())) < len(pairs):
            continue
        left = [one.uri for one in olds if one.uri not in pairs]
        free = [one.uri for one in news if one.uri not in pairs.values()]
        found |= pairs | (dict(zip(left, free, strict=True)) if len(left) == len(free) == 1 else {})
    return found


def _normal(value: FieldValue) -> FieldValue:
    return " ".join(value.split()) if isinstance(value, str) else value


def _items(value: FieldValue) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,) if value else ()


_SHORT = 80
_SCHEMAS = ("input_schema", "output_schema")


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One tool that both bundles have and that is not the same in them.

    Attributes:
        name: The tool's `source::name`; the path for a page or a document that cannot be read.
        fields: The changes, never empty; values are texts, cut short.
    """

    name: str
    fields: tuple[FieldDifference, ...]


@dataclass(frozen=True, slots=True)
class BundleDiff:
    """The changes between two bundles.

    Attributes:
        added: Tools of the new one only, as `source::name`, sorted.
        extension: Names of members under `mcpg` that differ, such as a calibration.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[ToolChange, ...] = ()
    extension: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == BundleDiff()


@dataclass(frozen=True, slots=True)
class _ComparedDocument:
    """A document under the name that it is compared by."""

    name: str
    source: SourceDocument
    document: ToolDocument | None


def diff_bundles(old: Bundle, new: Bundle) -> BundleDiff:
    """Compare two bundles tool by tool; those with one URI are the same tool."""
    before, after = (
        {source.canonical_uri or source.path: _read_entry(source) for source in bundle.documents}
        for bundle in (old, new)
    )
    changes = (
        ToolChange(after[key].name, found)
        for key in sorted(before.keys() & after.keys())
        if (found := tuple(_changes(before[key], after[key])))
    )
    members = old.extension.keys() | new.extension.keys()
    return BundleDiff(
        added=tuple(sorted(after[key].name for key in after.keys() - before.keys())),
        removed=tuple(sorted(before[key].name for key in before.keys() - after.keys())),
        changed=tuple(sorted(changes, key=lambda change: change.name)),
        extension=tuple(
            sorted(key for key in members if old.extension.get(key) != new.extension.get(key))
        ),
    )


def format_unified_diff(old: Bundle, new: Bundle, *, are_folders: bool = False) -> str:
    """Show the changed lines of every document, as `git diff` does; "" when none changed.

    A schema of a generated section that a bundle has on one line is shown indented; folders have
    no such schemas.
    """
    before = {document.path: document.content for document in old.documents}
    after = {document.path: document.content for document in new.documents}
    changed = sorted(path for path in before | after if before.get(path) != after.get(path))
    if not are_folders:  # documents in folders have their schemas indented
        before, after = (
            {
                path: _read_entry(SourceDocument(path, texts[path])).source.content
                for path in changed
                if path in texts
            }
            for texts in (before, after)
        )
    lines = chain.from_iterable(
        unified_diff(
            _lines(before.get(path)),
            _lines(after.get(path)),
            f"a/{path}" if path in before else "/dev/null",
            f"b/{path}" if path in after else "/dev/null",
        )
        for path in changed
        if before.get(path) != after.get(path)
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str | None) -> list[str]:
    # `splitlines` would also cut at characters that no diff tool takes for a line end.
    lines = (text or "").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _read_entry(source: SourceDocument) -> _ComparedDocument:
    try:
        document = parse_document(source)[0]
    except DocumentError:
        return _ComparedDocument(source.path, source, None)
    source = replace(source, content=with_indented_schemas(source.content, document.tool))
    tool = document.tool
    is_page = document.further.get(TOOL_KEY) is False
    name = source.path if is_page else f"{tool.source_id}::{tool.name}"
    return _ComparedDocument(name, source, document)


def _changes(old: _ComparedDocument, new: _ComparedDocument) -> list[FieldDifference]:
    if old.source == new.source:
        return []
    before, after = _values(old), _values(new)
    found = [
        FieldDifference(name, _short(before.get(name, "")), _short(after.get(name, "")))
        for name in dict.fromkeys((*before, *after))
        if before.get(name, "") != after.get(name, "")
    ]
    # Line ends, comments or the layout may change while the content stays the same.
    return found or [FieldDifference("text", "", "written differently")]


def _values(entry: _ComparedDocument) -> dict[str, str]:
    values = {"path": entry.source.path}
    document = entry.document
    if document is None:
        return values | {"text": entry.source.content}
    values |= {name: field_text(getattr(document.tool, name)) for name in _SCHEMAS}
    values |= {name: field_text(value) for name, value in field_values(document).items()}
    values |= {"groups": field_text(document.groups)}
    for link in document.links:
        pairs = (
            f"{one.given} to {one.argument}{'' if one.required else ' (optional)'}"
            for one in link.fields
        )
        parts = (link.origin, link.reason, ", ".join(pairs), link.coverage)
        text = f"{link.target} ({link.weight:g}, {'; '.join(filter(None, parts))})"
        name = f"relations.{link.kind.value}"
        values[name] = f"{values[name]}; {text}" if name in values else text
    return values


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHORT else f"{flat[: _SHORT - 1]}\u2026"
