"""Differences between two bundles: by tool for reviewers, by line for editors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mcpg.bundle.changes import field_text, field_values
from mcpg.bundle.codec import Bundle
from mcpg.catalog.model import SourceDocument
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import with_indented_schemas
from mcpg.errors import DocumentError
from mcpg.text.diffs import unified_diff

_SHORT = 80
_SCHEMAS = ("input_schema", "output_schema")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One changed field of a tool.

    Attributes:
        name: The field, such as `description` or `hints.keywords`.
        before: The former value, cut short; "" for none.
        after: The present value, cut short; "" for none.
    """

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One tool that both bundles have and that is not the same in them.

    Attributes:
        name: The tool's `source::name`; the path for a document that cannot be read.
        fields: What changed, never empty.
    """

    name: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class BundleDiff:
    """What changed between two bundles.

    Attributes:
        added: Tools of the new one only, as `source::name`, sorted.
        removed: Tools of the old one only.
        changed: Tools of both that differ.
        extension: Names of members under `mcpg` that differ, such as a calibration.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[ToolChange, ...] = ()
    extension: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return self == BundleDiff()


@dataclass(frozen=True, slots=True)
class _ComparedDocument:
    """A document under the name that it is compared by."""

    name: str
    source: SourceDocument
    document: ToolDocument | None


def diff_bundles(old: Bundle, new: Bundle) -> BundleDiff:
    """Compare two bundles tool by tool; those with one URI are the same tool.

    Args:
        old: The former bundle.
        new: The present one.
    """
    before, after = _entries(old), _entries(new)
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


def unified_text(old: Bundle, new: Bundle, *, are_folders: bool = False) -> str:
    """Show the changed lines of every document, as `git diff` does; "" when none changed.

    A schema of a generated section that a bundle has on one line is shown indented.

    Args:
        old: The former documents.
        new: The present ones.
        are_folders: Whether both are of folders, which have no such schemas.
    """
    before = {document.path: document.content for document in old.documents}
    after = {document.path: document.content for document in new.documents}
    changed = sorted(path for path in before | after if before.get(path) != after.get(path))
    if not are_folders:
        before, after = (_indent_schemas(texts, changed) for texts in (before, after))
    return "".join(
        _document_diff(path, before.get(path), after.get(path))
        for path in changed
        if before.get(path) != after.get(path)
    )


def _indent_schemas(texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, str]:
    """Return those of *texts* at *paths* in the form that documents have in folders."""
    sources = (SourceDocument(path, texts[path]) for path in paths if path in texts)
    return {source.path: _entry(source).source.content for source in sources}


def _document_diff(path: str, before: str | None, after: str | None) -> str:
    lines = unified_diff(
        _lines(before),
        _lines(after),
        "/dev/null" if before is None else f"a/{path}",
        "/dev/null" if after is None else f"b/{path}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str | None) -> list[str]:
    # `splitlines` would also cut at characters that no diff tool takes for a line end.
    lines = (text or "").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _entries(bundle: Bundle) -> Mapping[str, _ComparedDocument]:
    return {(source.canonical_uri or source.path): _entry(source) for source in bundle.documents}


def _entry(source: SourceDocument) -> _ComparedDocument:
    try:
        document = parse_document(source)[0]
    except DocumentError:
        return _ComparedDocument(source.path, source, None)
    source = replace(source, content=with_indented_schemas(source.content, document.tool))
    return _ComparedDocument(f"{document.tool.source_id}::{document.tool.name}", source, document)


def _changes(old: _ComparedDocument, new: _ComparedDocument) -> list[FieldChange]:
    if old.source == new.source:
        return []
    before, after = _values(old), _values(new)
    found = [
        FieldChange(name, _short(before.get(name, "")), _short(after.get(name, "")))
        for name in dict.fromkeys((*before, *after))
        if before.get(name, "") != after.get(name, "")
    ]
    # Line ends, comments or the layout may change while everything said stays the same.
    return found or [FieldChange("text", "", "written differently")]


def _values(entry: _ComparedDocument) -> dict[str, str]:
    values = {"path": entry.source.path}
    document = entry.document
    if document is None:
        return values | {"text": entry.source.content}
    values |= {name: field_text(getattr(document.tool, name)) for name in _SCHEMAS}
    values |= {name: field_text(value) for name, value in field_values(document).items()}
    values |= {"groups": field_text(document.groups)}
    for link in document.links:
        name = f"relations.{link.kind.value}"
        text = f"{link.target} ({link.weight:g}, {_evidence(link)})"
        values[name] = f"{values[name]}; {text}" if name in values else text
    return values


def _evidence(link: Link) -> str:
    """Return origin and reason of a link, which fields fill which arguments, and the coverage."""
    pairs = (
        f"{one.given} to {one.argument}{'' if one.required else ' (optional)'}"
        for one in link.fields
    )
    parts = (link.origin, link.reason, ", ".join(pairs), link.coverage)
    return "; ".join(filter(None, parts))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHORT else f"{flat[: _SHORT - 1]}\u2026"
