"""Assemblies under a lock: their sources' statements, and sources without unapproved tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from os import PathLike, fspath
from typing import Literal

from mcpg.bundle.assemble import Assembly
from mcpg.bundle.codec import Bundle, ReadDocument, as_authored, decode_bundle, encode_bundle
from mcpg.bundle.metadata import Definitions
from mcpg.catalog.catalog import apply_rules
from mcpg.catalog.definitions import (
    DefinitionPart,
    Key,
    PartChange,
    definition_changes,
    definition_text,
)
from mcpg.catalog.hints import TYPED_ANNOTATIONS
from mcpg.catalog.model import Hints, SourceDocument, Tool
from mcpg.errors import Code, Diagnostic, UsageError, info, warning
from mcpg.files import text_of_path
from mcpg.plugins.registry import is_item, list_item_contents
from mcpg.review.lock import (
    ApprovedTools,
    LockChange,
    LockChangeKind,
    LockedDocument,
    ToolStatement,
    as_approved,
    lock_changes,
    read_lock,
    state_item,
    stated_by_source,
)
from mcpg.sources import RawFile, SourceBatch
from mcpg.text.json_values import JsonObject
from mcpg.values import list_some

_SHOWN = 80
_NO_HINTS = Hints()


def collect_statements(assembly: Assembly) -> tuple[ToolStatement, ...]:
    """Return the statements of the sources of *assembly* about each tool.

    A document defines its tool if no manifest or server does; a document of a bundle does not
    if the bundle carries a definition beside it, which counts instead. Documents of a bundle
    are also statements, and so are documents of people if there is nothing else.
    """
    given = {tool.key for tool in assembly.given}
    # Hints from hints files for tools that have documents, which may repeat them.
    read = {item.document.tool.key for item in assembly.read} if assembly.rules else ()
    bare = [replace(one, hints=_NO_HINTS) for one in assembly.catalog.tools if one.key in read]
    added = {one.key: one.hints for one in apply_rules(bare, assembly.rules)[0]}
    # People's additions to a tool of the last build are not a statement of its source.
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
    return (*stated, *found, *map(state_item, list_item_contents(assembly.pages)))


def stated_in(
    batch: SourceBatch, assemble: Callable[[SourceBatch], Assembly]
) -> tuple[tuple[ToolStatement, ...], tuple[ReadDocument, ...]]:
    """Return the statements of *batch* about each tool, and its documents.

    If it has none, nothing is assembled.
    """
    if batch.documents or batch.bundles:
        assembly = assemble(batch)
        return collect_statements(assembly), assembly.read
    return tuple(map(stated_by_source, batch.tools)), ()


def assembly_changes(lock: ApprovedTools, assembly: Assembly) -> tuple[LockChange, ...]:
    """Return the tools of *assembly* that differ from *lock*."""
    return lock_changes(lock, collect_statements(assembly))


def leave_out_unapproved(
    batch: SourceBatch, read: Sequence[ReadDocument], changes: Iterable[LockChange], *, hides: bool
) -> SourceBatch:
    """Return *batch* without tools that a lock does not approve: new tools, by its *changes*.

    Changed ones are also left out if it *hides*, rather than described as approved, and changed
    items other than tools always. *read* are the documents of tools that were read from the batch.
    """
    changes = tuple(changes)
    places = {one.after.place for one in changes if one.after and one.after.files is not None}
    batch = _leave_out_pages(batch, places) if places else batch
    changes = tuple(one for one in changes if one.statement.files is None)
    approved: dict[Key, ToolStatement] = {}
    left_out: set[Key] = set()
    for change in changes:
        if change.kind is LockChangeKind.CHANGED and change.before is not None and not hides:
            approved[change.key] = change.before
        elif change.kind is not LockChangeKind.MISSING:
            left_out.add(change.key)
    given = {tool.key for tool in batch.tools}
    replaced = left_out | (approved.keys() - given)
    dropped = set(find_texts(read, replaced))
    # A server's own definition replaces a document that a bundle has changed.
    beside = {
        one.key
        for one in changes
        if any(part.part is DefinitionPart.DOCUMENT for part in one.parts)
    } & given
    dropped.update(find_texts((item for item in read if item.is_bundled), beside))
    # Documents with another definition than the approved one give way to their tools.
    documented: dict[Key, Tool] = {}
    for tool in (item.document.tool for item in read):
        if tool.key in replaced and tool.key in approved:
            documented.setdefault(tool.key, tool)
    tools = [one for one in batch.tools if one.key in approved or one.key not in left_out]
    return replace(
        keep_documents(batch, lambda one: one not in dropped) if dropped else batch,
        tools=(
            *(as_approved(one, approved[one.key]) if one.key in approved else one for one in tools),
            *(as_approved(one, approved[one.key]) for one in documented.values()),
        ),
    )


def _leave_out_pages(batch: SourceBatch, places: Collection[str]) -> SourceBatch:
    """Return *batch* without the pages at *places*, and without repetitions of these."""
    bundled = (decode_bundle(raw.text, raw.place).documents for raw in batch.bundles)
    texts = {
        as_authored(one).content
        for one in (*batch.documents, *chain.from_iterable(bundled))
        if one.place in places and is_item(one)
    }
    return keep_documents(batch, lambda one: one.content not in texts)


def keep_documents(batch: SourceBatch, is_kept: Callable[[SourceDocument], bool]) -> SourceBatch:
    """Return *batch* with those documents in it and in its bundles, as authored, that are kept."""
    return replace(
        batch,
        documents=tuple(one for one in batch.documents if is_kept(as_authored(one))),
        bundles=tuple(_keep_in_bundle(raw, is_kept) for raw in batch.bundles),
    )


def find_texts(read: Iterable[ReadDocument], keys: Collection[Key]) -> Iterator[SourceDocument]:
    """Yield the documents of the tools *keys* among those that were *read*."""
    for item in read if keys else ():
        if item.document.tool.key in keys:
            yield item.source
            yield from (page.source for page in item.about)


def _keep_in_bundle(raw: RawFile, is_kept: Callable[[SourceDocument], bool]) -> RawFile:
    bundle = decode_bundle(raw.text, raw.place)
    kept = tuple(one for one in bundle.documents if is_kept(as_authored(one)))
    if len(kept) == len(bundle.documents):
        return raw
    return RawFile(encode_bundle(Bundle(kept, bundle.extension)).decode(), raw.place)


def change_diagnostics(
    changes: Iterable[LockChange], place: str, *, hides: bool
) -> Iterator[Diagnostic]:
    """Report the treatment of the tools that differ from the lock at *place*."""
    for change in changes:
        source_id, name = change.key
        is_tool = change.statement.files is None
        noun, name = ("tool", name) if is_tool else (name.partition(":")[0], name.partition(":")[2])
        named = f"the {noun} {name[:_SHOWN]!r} of {source_id[:_SHOWN]!r}"
        if change.kind is LockChangeKind.CHANGED:
            parts = "; ".join(map(str, change.parts))
            is_left_out = hides or not is_tool
            effect = "it is left out" if is_left_out else "it is described as approved"
            message = f"{named} has changed since it was approved: {parts}; {effect}"
            yield warning(Code.TOOL_CHANGED, message, place)
        elif change.kind is LockChangeKind.NEW:
            message = f"{named} is not approved: it is left out"
            yield warning(Code.TOOL_UNREVIEWED, message, place)
        else:
            message = f"{named} is approved, but no source has it"
            yield warning(Code.TOOL_MISSING, message, place)


_NAMED = 12
# The protocol's assumptions about a tool without these annotations: the less safe.
_UNSAFE = dict(zip(TYPED_ANNOTATIONS, (False, True, False, True), strict=True))
_HINTS = dict(
    zip(TYPED_ANNOTATIONS, ("read_only", "destructive", "idempotent", "open_world"), strict=True)
)


class OnChange(StrEnum):
    """What becomes of a tool whose source changes its definition after the review of a graph."""

    WARN = "warn"
    """It is reported, and described with the reviewed text."""
    HIDE = "hide"
    """It is reported and hidden, as are tools that were never reviewed."""
    ACCEPT = "accept"
    """It is described with the text of its source."""


@dataclass(frozen=True, slots=True)
class ToolLock:
    """Definitions of tools that were approved; see `mcpg lock`.

    Attributes:
        lock: The approved tools.
        place: The lock file, for messages.
        on_change: What becomes of tools that have changed since: `warn` describes them as approved,
            `hide` hides them. Tools that the lock lacks are hidden.

    Raises:
        UsageError: *on_change* is something else.
    """

    lock: ApprovedTools = field(repr=False)
    place: str
    on_change: OnChange | Literal["warn", "hide"] = OnChange.WARN

    def __post_init__(self) -> None:
        if self.on_change not in (OnChange.WARN, OnChange.HIDE):
            remedy = "use 'warn' or 'hide': accepted changes are approved in a lock"
            raise UsageError(f"unknown value {self.on_change!r}", remedy=remedy)

    @classmethod
    def read(
        cls, path: str | PathLike[str], on_change: OnChange | Literal["warn", "hide"] = "warn"
    ) -> ToolLock:
        return cls(read_lock(path), text_of_path(fspath(path)), on_change)


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The live tools after a review.

    Attributes:
        shown: Changed tools as they are described, by identity.
        flags: Hints of these that override their documents, by identity.
        hidden: Tools that no client gets, by identity, with the ids that they had.
        schemas: Input schemas that the servers of changed tools have now, by identity.
        diagnostics: The findings.
    """

    shown: Mapping[Key, Tool] = field(default_factory=dict)
    flags: Mapping[Key, Mapping[str, bool]] = field(default_factory=dict)
    hidden: Mapping[Key, Tool] = field(default_factory=dict)
    schemas: Mapping[Key, JsonObject] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    def followed_by(self, later: ReviewOutcome) -> ReviewOutcome:
        """Return the joint outcome of this review and of a *later* one of the tools left."""
        return ReviewOutcome(
            shown={**self.shown, **later.shown},
            flags={
                key: {**self.flags.get(key, {}), **later.flags.get(key, {})}
                for key in self.flags.keys() | later.flags.keys()
            },
            hidden={**self.hidden, **later.hidden},
            # The later one compared this one's description, not the server's.
            schemas={**later.schemas, **self.schemas},
            diagnostics=(*self.diagnostics, *later.diagnostics),
        )


@dataclass(frozen=True, slots=True)
class ReviewedGraph:
    """A graph that was reviewed.

    Attributes:
        tools: Its tools, with their ids.
        definitions: Their definitions, by identity; none if a document has only prose.
    """

    tools: tuple[Tool, ...]
    definitions: Definitions


NO_REVIEW = ReviewOutcome()
"""Without a reviewed graph."""


@dataclass(frozen=True, slots=True)
class _ChangedTool:
    """A live tool that differs from the reviewed one."""

    reviewed: Tool
    live: Tool
    changes: tuple[PartChange, ...]


def review_tools(
    reviewed: ReviewedGraph, live: Sequence[Tool], on_change: OnChange, place: str
) -> ReviewOutcome:
    """Compare *live* tools with the reviewed ones."""
    unknown = {tool.key: tool for tool in live if not reviewed.definitions.get(tool.key)}
    changed = _find_changed(reviewed.definitions, live)
    report = [_report(one, on_change, place) for one in changed.values()]
    if on_change == OnChange.HIDE:
        hidden = {**unknown, **{key: one.live for key, one in changed.items()}}
        ids = {tool.key: tool.id for tool in reviewed.tools}
        named = {key: replace(one, id=ids.get(key, "")) for key, one in hidden.items()}
        return ReviewOutcome(
            hidden=named, diagnostics=(*report, *_report_unreviewed(unknown.values(), place))
        )
    if on_change == OnChange.ACCEPT:
        return ReviewOutcome(diagnostics=tuple(report))
    return replace(_describe_as_reviewed(changed), diagnostics=tuple(report))


def _describe_as_reviewed(changed: Mapping[Key, _ChangedTool]) -> ReviewOutcome:
    # Annotations that were reviewed as safe and are not so any more: a client that asks before it
    # changes things must not see such a tool as read-only.
    flags: dict[Key, dict[str, bool]] = {}
    for key, one in changed.items():
        before, now = one.reviewed.annotations, one.live.annotations
        flags[key] = {
            name: unsafe
            for name, unsafe in _UNSAFE.items()
            if before.get(name, unsafe) != unsafe == now.get(name, unsafe)
        }
    return ReviewOutcome(
        shown={key: _with_reviewed_definition(one, flags[key]) for key, one in changed.items()},
        flags={
            key: {_HINTS[name]: flag for name, flag in some.items()} for key, some in flags.items()
        },
        schemas={
            key: one.live.input_schema
            for key, one in changed.items()
            if any(change.part is DefinitionPart.INPUT_SCHEMA for change in one.changes)
        },
    )


def _find_changed(definitions: Definitions, live: Iterable[Tool]) -> dict[Key, _ChangedTool]:
    """Return the *live* tools that have none of their reviewed *definitions*, by identity."""
    changed: dict[Key, _ChangedTool] = {}
    texts: dict[Key, frozenset[str | None]] = {}
    for tool in live:
        key = tool.key
        known = definitions.get(key)
        changes = definition_changes(known[0], tool) if known and key not in changed else ()
        if not (known and changes):
            continue
        if len(known) > 1 and key not in texts:
            texts[key] = frozenset(map(definition_text, known))
        text = definition_text(tool) if len(known) > 1 else None
        if text is None or text not in texts[key]:
            changed[key] = _ChangedTool(known[0], tool, changes)
    return changed


def review_locked_tools(
    changes: Iterable[LockChange], lock: ToolLock, responding: Collection[str]
) -> ReviewOutcome:
    """Return the treatment of tools that differ from *lock*.

    Tools of sources that are not *responding* are unknown.
    """
    hides = lock.on_change == OnChange.HIDE
    every = [
        one for one in changes if one.kind is not LockChangeKind.MISSING or one.key[0] in responding
    ]
    changes = [one for one in every if one.statement.files is None]
    changed = {
        one.key: _ChangedTool(one.before.tool, one.after.tool, one.parts)
        for one in changes
        if one.before is not None and one.after is not None
    }
    hidden = {
        one.key: one.after.tool
        for one in changes
        if one.after is not None and (hides or one.before is None)
    }
    found = ReviewOutcome() if hides else _describe_as_reviewed(changed)
    noticed = change_diagnostics(every, lock.place, hides=hides)
    return replace(found, hidden=hidden, diagnostics=tuple(noticed))


def nothing_reviewed(live: Iterable[Tool], place: str) -> ReviewOutcome:
    """Return the review that hides all of *live*, for a graph that cannot be read."""
    hidden = {tool.key: tool for tool in live}
    return ReviewOutcome(
        hidden=hidden, diagnostics=tuple(_report_unreviewed(hidden.values(), place))
    )


def _report(one: _ChangedTool, on_change: OnChange, place: str) -> Diagnostic:
    effect = {
        OnChange.WARN: "it is described as reviewed",
        OnChange.HIDE: "it is hidden",
        OnChange.ACCEPT: "it is described as its source defines it now",
    }[on_change]
    named = f"the tool {one.live.name[:_SHOWN]!r} of {one.live.source_id[:_SHOWN]!r}"
    words = "; ".join(map(str, one.changes))
    message = f"{named} has changed since it was reviewed: {words}; {effect}"
    make = info if on_change == OnChange.ACCEPT else warning
    return make(Code.TOOL_CHANGED, message, place)


def _report_unreviewed(tools: Iterable[Tool], place: str) -> Iterator[Diagnostic]:
    """Report hidden tools that were never reviewed, source by source."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for tool in tools:
        names[tool.source_id].append(tool.name)
    for source_id, some in sorted(names.items()):
        shown = list_some([repr(name[:_SHOWN]) for name in sorted(some)], _NAMED)
        message = f"tools of {source_id[:_SHOWN]!r} are hidden until reviewed: {shown}"
        yield warning(Code.TOOL_UNREVIEWED, message, place)


def _with_reviewed_definition(one: _ChangedTool, flags: Mapping[str, bool]) -> Tool:
    reviewed = one.reviewed
    # Clients refuse results that violate an output schema: the reviewed one may be out of date.
    has_output = all(change.part is not DefinitionPart.OUTPUT_SCHEMA for change in one.changes)
    # `_meta` has hints that are not approved.
    has_meta = all(change.part is not DefinitionPart.HINTS for change in one.changes)
    return replace(
        one.live,
        meta=one.live.meta if has_meta else {},
        title=reviewed.title,
        description=reviewed.description,
        input_schema=reviewed.input_schema,
        output_schema=reviewed.output_schema if has_output else None,
        annotations={**reviewed.annotations, **flags},
        listed={},
    )
