"""Assemblies under a lock: what their sources state, and sources without what nobody approved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from mcpg.bundle.assemble import Assembly
from mcpg.bundle.codec import (
    Bundle,
    ReadDocument,
    as_authored,
    decode_bundle,
    encode_bundle,
)
from mcpg.catalog.catalog import apply_rules
from mcpg.catalog.definitions import DefinitionPart, Key
from mcpg.catalog.model import Hints, SourceDocument, Tool
from mcpg.errors import Code, Diagnostic, warning
from mcpg.review.lock import (
    ApprovedTools,
    LockChange,
    LockChangeKind,
    LockedDocument,
    ToolStatement,
    as_approved,
    lock_changes,
    stated_by_source,
)
from mcpg.sources import RawBundle, SourceBatch

_SHOWN = 80
_NO_HINTS = Hints()


def collect_statements(assembly: Assembly) -> tuple[ToolStatement, ...]:
    """Return what the sources of *assembly* state of each tool.

    A document states the definition of its tool where no manifest or server does, and a bundle the
    definition that it carries beside a document. Documents of a bundle are statements as well, and
    documents of people where there is nothing else.
    """
    given = {tool.key for tool in assembly.given}
    added = _added_by_rules(assembly)
    # What people added to a tool of the last build is no statement of its source.
    kept = {tool.key for tool in assembly.catalog.tools if tool.id in assembly.kept}
    bundled: dict[Key, LockedDocument] = {}
    found: list[ToolStatement] = []
    for item in assembly.read:
        tool, body = item.document.tool, item.document.body
        document = LockedDocument(tool, body)
        if tool.key in given:
            if item.is_bundled:
                bundled[tool.key] = document
            continue
        carried = assembly.definitions.get(tool.key)
        has_body = body and tool.key not in kept
        whole = ToolStatement(tool, has_hints=True, document=document if has_body else None)
        parts = [ToolStatement(one, has_hints=False, document=document) for one in carried or ()]
        found += [replace(one, added=added.get(tool.key, _NO_HINTS)) for one in parts or [whole]]
    stated = [stated_by_source(tool) for tool in assembly.given]
    for number, one in enumerate(stated):
        if one.key in bundled:
            own = added.get(one.key, _NO_HINTS)
            stated[number] = replace(one, document=bundled[one.key], added=own)
    return (*stated, *found)


def _added_by_rules(assembly: Assembly) -> dict[Key, Hints]:
    """Return what hints files state of tools that have documents, which may repeat it."""
    read = {item.document.tool.key for item in assembly.read} if assembly.rules else ()
    bare = [replace(one, hints=_NO_HINTS) for one in assembly.catalog.tools if one.key in read]
    hinted, _, _ = apply_rules(bare, assembly.rules)
    return {one.key: one.hints for one in hinted}


def stated_in(
    batch: SourceBatch, assemble: Callable[[SourceBatch], Assembly]
) -> tuple[tuple[ToolStatement, ...], tuple[ReadDocument, ...]]:
    """Return what *batch* states of each tool, and the documents among it.

    Where it has none, nothing is assembled.
    """
    if batch.documents or batch.bundles:
        assembly = assemble(batch)
        return collect_statements(assembly), assembly.read
    return tuple(map(stated_by_source, batch.tools)), ()


def assembly_changes(lock: ApprovedTools, assembly: Assembly) -> tuple[LockChange, ...]:
    """Return the tools of *assembly* that differ from *lock*."""
    return lock_changes(lock, collect_statements(assembly))


def leave_out_unapproved(
    batch: SourceBatch,
    read: Sequence[ReadDocument],
    changes: Iterable[LockChange],
    *,
    hides: bool,
) -> SourceBatch:
    """Return *batch* without what a lock does not approve.

    Args:
        batch: What the sources hold.
        read: The documents of tools that were read from it.
        changes: How its tools differ from the lock; new ones are left out.
        hides: Whether changed tools are left out as well, rather than described as approved.
    """
    changes = tuple(changes)
    approved: dict[Key, ToolStatement] = {}
    left_out: set[Key] = set()
    for change in changes:
        if change.kind is LockChangeKind.CHANGED and change.before is not None and not hides:
            approved[change.key] = change.before
        elif change.kind is not LockChangeKind.MISSING:
            left_out.add(change.key)
    given = {tool.key for tool in batch.tools}
    replaced = left_out | (approved.keys() - given)
    dropped = set(_find_texts(read, replaced))
    # A server's own definition takes the place of a document that a bundle has changed.
    beside = {
        one.key
        for one in changes
        if any(part.part is DefinitionPart.DOCUMENT for part in one.parts)
    } & given
    dropped.update(_find_texts((item for item in read if item.is_bundled), beside))
    # Documents that state another definition than the approved one give way to their tools.
    documented: dict[Key, Tool] = {}
    for tool in (item.document.tool for item in read):
        if tool.key in replaced and tool.key in approved:
            documented.setdefault(tool.key, tool)
    tools = [one for one in batch.tools if one.key in approved or one.key not in left_out]
    bundles = (_without(raw, dropped) for raw in batch.bundles) if dropped else batch.bundles
    return replace(
        batch,
        tools=(
            *(as_approved(one, approved[one.key]) if one.key in approved else one for one in tools),
            *(as_approved(one, approved[one.key]) for one in documented.values()),
        ),
        documents=tuple(one for one in batch.documents if as_authored(one) not in dropped),
        bundles=tuple(bundles),
    )


def _find_texts(read: Iterable[ReadDocument], keys: Collection[Key]) -> Iterator[SourceDocument]:
    """Yield the documents of tools, and those that are about them."""
    for item in read if keys else ():
        if item.document.tool.key in keys:
            yield item.source
            yield from (page.source for page in item.about)


def _without(raw: RawBundle, dropped: Collection[SourceDocument]) -> RawBundle:
    bundle = decode_bundle(raw.text, raw.place)
    kept = tuple(one for one in bundle.documents if as_authored(one) not in dropped)
    if len(kept) == len(bundle.documents):
        return raw
    return RawBundle(encode_bundle(Bundle(kept, bundle.extension)).decode(), raw.place)


def change_diagnostics(
    changes: Iterable[LockChange], place: str, *, hides: bool
) -> Iterator[Diagnostic]:
    """Report what became of the tools that differ from the lock at *place*."""
    for change in changes:
        source_id, name = change.key
        named = f"the tool {name[:_SHOWN]!r} of {source_id[:_SHOWN]!r}"
        if change.kind is LockChangeKind.CHANGED:
            parts = "; ".join(map(str, change.parts))
            effect = "it is left out" if hides else "it is described as approved"
            message = f"{named} has changed since it was approved: {parts}; {effect}"
            yield warning(Code.TOOL_CHANGED, message, place)
        elif change.kind is LockChangeKind.NEW:
            message = f"{named} is not approved: it is left out"
            yield warning(Code.TOOL_UNREVIEWED, message, place)
        else:
            message = f"{named} is approved, but no source has it"
            yield warning(Code.TOOL_MISSING, message, place)
