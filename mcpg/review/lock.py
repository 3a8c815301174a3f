"""A lock: definitions of tools that people have approved, and how sources differ from them.

A lock has an entry for each tool, sorted by source and name: its definition from its source,
and a SHA-256 for each part of that. The definition is there to be read, to be compared with later
definitions of the source, and to describe a tool that has changed since. The digests name the part
that was changed by hand or by a merge, without approval. If a document of a bundle differs from
the definition, the entry also has the document's texts, which models read. See ADR 39.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any

from mcpg.catalog.definitions import (
    DefinitionPart,
    Key,
    PartChange,
    definition_changes,
    describe_files,
    normal_parts,
    one_line,
    part_digests,
    stated_hints,
    text_change,
)
from mcpg.catalog.flat_schema import canonical_text
from mcpg.catalog.hints import claimed_hints, hints_from, read_claims
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper, parse_json_documents
from mcpg.catalog.model import HINT_LISTS, Hints, Tool
from mcpg.errors import InputError, SourceError
from mcpg.files import MAX_BYTES, read_bytes
from mcpg.plugins.hooks import ItemContent
from mcpg.text.diffs import unified_diff
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.safeyaml import UNSAFE, json_form
from mcpg.values import format_count

DIGITS = 32
"""How many digits of a digest are shown: too many to find two texts with the same."""

BODY = "body"
"""The member of a document's entry that has its prose."""

PARTS = {
    "title": DefinitionPart.TITLE,
    "description": DefinitionPart.DESCRIPTION,
    "input_schema": DefinitionPart.INPUT_SCHEMA,
    "output_schema": DefinitionPart.OUTPUT_SCHEMA,
    "annotations": DefinitionPart.ANNOTATIONS,
    "hints": DefinitionPart.HINTS,
}
"""The parts of a definition, by the attribute of `Tool` that has each."""

_SHOWN = 80
_NO_HINTS = Hints()


@dataclass(frozen=True, slots=True)
class LockedDocument:
    """A document's description of a tool, which models read instead of its definition.

    Attributes:
        tool: The tool as the document describes it, with its hints.
        body: Its prose beyond the description, as Markdown; "" for none.
    """

    tool: Tool
    body: str = ""


@dataclass(frozen=True, slots=True)
class ToolStatement:
    """A source's description of a tool.

    Attributes:
        tool: The tool. Only the members of a definition and the hints count.
        has_hints: Whether *tool* has its source's hints. Definitions that a bundle
            carries beside its documents have none.
        document: A differing document of the source; `None` if there is none.
        added: The tool's hints from hints files, which do not count as a change.
        files: The digests of the files of an item other than a tool, by path; `None` for a tool.
            Such an item has only these parts and the description.
        place: The place of such an item's page.
    """

    tool: Tool
    has_hints: bool
    document: LockedDocument | None = None
    added: Hints = field(default=_NO_HINTS, compare=False)
    files: Mapping[str, str] | None = None
    place: str = field(default="", compare=False)

    @property
    def key(self) -> Key:
        return self.tool.key

    @property
    def name(self) -> str:
        return "::".join(self.key)

    @property
    def hints(self) -> Hints:
        """The hints of the tool; at least the ones from its annotations."""
        stated = self.tool.hints if self.has_hints else claimed_hints(self.tool.annotations, {})
        return Hints.merge(stated, self.document.tool.hints) if self.document else stated


@dataclass(frozen=True, slots=True)
class ApprovedTools:
    """Tools that people have approved."""

    statements: tuple[ToolStatement, ...] = ()

    @property
    def by_key(self) -> dict[Key, ToolStatement]:
        return {one.key: one for one in self.statements}


class LockChangeKind(StrEnum):
    """How a tool differs from a lock."""

    CHANGED = "changed"
    """Its source has another definition."""
    NEW = "new"
    """The lock does not have it."""
    MISSING = "missing"
    """The lock has it, and no source does."""


@dataclass(frozen=True, slots=True)
class LockChange:
    """A tool that differs from a lock.

    Attributes:
        before: The approved statement; `None` for a new tool.
        after: The source's present statement; `None` for a missing tool.
        parts: The parts that differ, of a changed tool.
    """

    kind: LockChangeKind
    before: ToolStatement | None
    after: ToolStatement | None
    parts: tuple[PartChange, ...] = ()

    @property
    def statement(self) -> ToolStatement:
        """The present statement, or the approved one of a missing tool."""
        found = self.after or self.before
        assert found is not None, "a change has at least one"  # noqa: S101
        return found

    @property
    def key(self) -> Key:
        return self.statement.key

    @property
    def name(self) -> str:
        return self.statement.name

    @property
    def digest(self) -> str:
        """SHA-256 of the present statement, in hexadecimal; of a missing tool, that it is gone."""
        digests = compute_digests(self.after).items() if self.after else ()
        stated: list[JsonValue] = [*self.key, {part.member: one for part, one in digests}]
        return hashlib.sha256(canonical_text(stated).encode()).hexdigest()

    @property
    def label(self) -> str:
        """The tool with the digest of its present statement, by which it can be approved."""
        return f"{self.name}@{self.digest[:DIGITS]}"


def stated_by_source(tool: Tool) -> ToolStatement:
    """Return the statement of *tool*'s source, including its claims, which are unreviewed."""
    claims = read_claims(tool)
    if claims != _NO_HINTS:
        tool = replace(tool, hints=Hints.merge(tool.hints, claims))
    return ToolStatement(tool, has_hints=True)


def state_item(content: ItemContent) -> ToolStatement:
    """Return the statement of the source of an item other than a tool."""
    named = Tool("", content.source_id, content.name, description=content.description)
    return ToolStatement(named, has_hints=False, files=content.files, place=content.place)


def lock_changes(lock: ApprovedTools, stated: Iterable[ToolStatement]) -> tuple[LockChange, ...]:
    """Return the tools that differ from *lock*, sorted by source and name.

    If a source has several tools of one name, each must equal its approved state.
    """
    approved, seen, found = lock.by_key, set(), []
    for one in stated:
        known = approved.get(one.key)
        seen.add(one.key)
        if known is None:
            found.append(LockChange(LockChangeKind.NEW, None, one))
            continue
        parts = definition_changes(known.tool, one.tool)
        if one.has_hints and _adds_hints(known.hints, one.tool.hints, one.added):
            hinted = replace(one.tool, hints=known.hints)
            parts += definition_changes(hinted, one.tool, hints=True)
        if one.document is not None:
            parts += _changed_document(known, one, one.document)
        if known.files != one.files:
            parts += (describe_files(known.files or {}, one.files or {}),)
        if parts:
            found.append(LockChange(LockChangeKind.CHANGED, known, one, parts))
    missing = (one for key, one in approved.items() if key not in seen)
    found += [LockChange(LockChangeKind.MISSING, one, None) for one in missing]
    return tuple(sorted(found, key=lambda change: change.key))


def as_approved(tool: Tool, approved: ToolStatement) -> Tool:
    """Return *tool* with its approved definition.

    Of hints that have changed, only entries of lists are kept that the source still has, so
    that text of a server never becomes a hint of a person.
    """
    stated = approved.tool
    hints, meta = tool.hints, tool.meta
    now, known = stated_by_source(tool).tool, approved.hints
    if _adds_hints(known, now.hints, _NO_HINTS):
        lists: dict[str, Any] = {
            name: tuple(one for one in getattr(hints, name) if one in getattr(known, name))
            for name in HINT_LISTS
        }
        # Single values of `_meta` are hints already, and its lists are text without approval.
        hints, meta = replace(known, **lists), {}
    return replace(
        tool,
        title=stated.title,
        description=stated.description,
        input_schema=stated.input_schema,
        output_schema=stated.output_schema,
        annotations=stated.annotations,
        meta=meta,
        hints=hints,
        listed={},
    )


def _adds_hints(approved: Hints, now: Hints, added: Hints) -> bool:
    """Return whether hints *now* have anything neither *approved* nor *added* by people.

    Entries and values may be missing: missing entries do not help to find a tool, and it counts as
    riskier. A bundle has the hints of files of people, which its sources do not have. But a tool
    that was approved as disabled is not enabled by a missing value.
    """
    if now == approved:
        return False
    is_disabled = Hints.merge(now, added).enabled_by_default is False
    if approved.enabled_by_default is False and not is_disabled:
        return True
    for name in Hints.__match_args__:
        known, one, own = (getattr(hints, name) for hints in (approved, now, added))
        if name in HINT_LISTS:
            if not set(one) <= {*known, *own}:
                return True
        elif one not in (None, known, own):
            return True
    return False


def _changed_document(
    before: ToolStatement, after: ToolStatement, document: LockedDocument
) -> tuple[PartChange, ...]:
    """Return the change of the *document* of *after*, as one part."""
    approved = before.document or LockedDocument(replace(before.tool, hints=before.hints))
    old, new = approved.tool, document.tool
    if not _adds_hints(old.hints, new.hints, after.added):
        new = replace(new, hints=old.hints)
    # A document without a definition beside it is compared already.
    is_compared = after.has_hints and document.tool == after.tool
    changes = () if is_compared else definition_changes(old, new, hints=True)
    details = [*map(str, changes)]
    old_body, new_body = one_line(approved.body), one_line(document.body)
    if old_body != new_body and new_body:
        details.append(f"body ({text_change(old_body, new_body)})")
    return (PartChange(DefinitionPart.DOCUMENT, tuple(details)),) if details else ()


def approve(lock: ApprovedTools, changes: Iterable[LockChange]) -> ApprovedTools:
    """Return *lock* with *changes*; two tools with one source and name are an `InputError`."""
    statements: dict[Key, ToolStatement | None] = {**lock.by_key}
    changes = tuple(changes)
    for (source_id, name), count in Counter(change.key for change in changes).items():
        if count > 1:
            raise InputError(
                f"{format_count(count, 'tool')} called {name[:_SHOWN]!r} of {source_id[:_SHOWN]!r} "
                "differ: a lock has one of each name",
                remedy="rename one, or give each source an id of its own",
            )
    for change in changes:
        statements[change.key] = _keep_approved(change.before, change.after)
    return ApprovedTools(tuple(one for _, one in sorted(statements.items()) if one is not None))


def _keep_approved(
    before: ToolStatement | None, after: ToolStatement | None
) -> ToolStatement | None:
    """Return *after* with approved members of *before* that its source leaves open."""
    if before is None or after is None:
        return after
    if before.has_hints and not after.has_hints:
        tool = replace(after.tool, hints=before.tool.hints)
        after = replace(after, tool=tool, has_hints=True)
    if after.document is not None or before.document is None:
        return after
    # Where the document repeated the definition, it may repeat the new one.
    old, now, stated = before.tool, after.tool, before.document.tool
    followed = {
        name: getattr(now, name)
        for name, part in PARTS.items()
        if part is not DefinitionPart.HINTS and getattr(stated, name) == getattr(old, name)
    }
    return replace(after, document=replace(before.document, tool=replace(stated, **followed)))


def written_parts(one: ToolStatement) -> dict[DefinitionPart, JsonValue]:
    """Return the parts that a lock has of a tool, as they are written."""
    if one.files is not None:
        description = _as_lines(one.tool.description)
        return {DefinitionPart.DESCRIPTION: description, DefinitionPart.FILES: {**one.files}}
    parts = _raw_parts(one.tool)
    parts[DefinitionPart.ANNOTATIONS] = one.tool.annotations or None
    parts[DefinitionPart.HINTS] = stated_hints(one.tool.hints) if one.has_hints else None
    parts[DefinitionPart.DOCUMENT] = _written_document(one) or None
    return {part: stated for part, stated in parts.items() if stated is not None}


def _raw_parts(tool: Tool) -> dict[DefinitionPart, JsonValue]:
    return {
        DefinitionPart.TITLE: tool.title,
        DefinitionPart.DESCRIPTION: _as_lines(tool.description),
        DefinitionPart.INPUT_SCHEMA: tool.input_schema,
        DefinitionPart.OUTPUT_SCHEMA: tool.output_schema,
        DefinitionPart.ANNOTATIONS: tool.annotations,
    }


def _as_lines(text: str) -> JsonValue:
    lines = text.split("\n")
    return [*lines] if len(lines) > 1 else text


def _written_document(one: ToolStatement) -> JsonObject:
    if one.document is None:
        return {}
    tool, body = one.document.tool, one.document.body
    own, base = normal_parts(tool), normal_parts(one.tool)
    members: JsonObject = {
        part.member: stated
        for part, stated in _raw_parts(tool).items()
        if canonical_text(own[part]) != canonical_text(base[part])
    }
    if canonical_text(own[DefinitionPart.HINTS]) != canonical_text(
        base[DefinitionPart.HINTS] if one.has_hints else {}
    ):
        members[DefinitionPart.HINTS.member] = stated_hints(tool.hints)
    return members | ({BODY: _as_lines(body)} if body else {})


def compute_digests(one: ToolStatement) -> dict[DefinitionPart, str]:
    """Return the digest of each part of *one*, and of its document if that differs."""
    digests = part_digests(one.tool)
    if one.files is not None:
        files: JsonObject = {**one.files}
        digest = hashlib.sha256(canonical_text(files).encode()).hexdigest()
        return {
            DefinitionPart.DESCRIPTION: digests[DefinitionPart.DESCRIPTION],
            DefinitionPart.FILES: digest,
        }
    if not one.has_hints:
        del digests[DefinitionPart.HINTS]
    if one.document is not None and _written_document(one):
        parts = part_digests(one.document.tool)
        stated: JsonObject = {part.member: digest for part, digest in parts.items()}
        text = canonical_text([stated, one_line(one.document.body)])
        digests[DefinitionPart.DOCUMENT] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def change_diff(change: LockChange) -> str:
    """Return the lines in which a tool differs, as `git diff` shows them.

    Texts are shown as they are, with escapes for characters that no reader sees.
    """
    before, after = change.before, change.after
    if before is not None and after is not None:  # as far as they are compared
        if not any(one.part is DefinitionPart.HINTS for one in change.parts):
            before, after = (replace(one, has_hints=False) for one in (before, after))
        elif not before.has_hints:
            before = replace(before, tool=replace(before.tool, hints=before.hints), has_hints=True)
        if after.document is None:
            before = replace(before, document=None)
    lines = unified_diff(
        list(_lines(before)) if before else [],
        list(_lines(after)) if after else [],
        f"a/{change.name}" if before else "/dev/null",
        f"b/{change.name}" if after else "/dev/null",
        "",
    )
    return "".join(f"{visible(line)}\n" for line in lines)


def visible(line: str) -> str:
    """Return *line* with escapes for line feeds and for characters that no reader sees."""
    return UNSAFE.sub(lambda found: "\t" if found.group() == "\t" else json_form(found), line)


def _lines(one: ToolStatement) -> Iterator[str]:
    """Yield a definition line by line: texts, then the schemas as JSON."""
    for part, stated in written_parts(one).items():
        if isinstance(stated, Mapping):
            yield f"{part}:"
            text = json.dumps(stated, ensure_ascii=False, indent=2, sort_keys=True)
            yield from (f"  {line}" for line in text.split("\n"))
        else:
            first, *others = stated if isinstance(stated, list) else [stated]
            yield f"{part}: {first}"
            yield from (f"  {line}" for line in others)


DEFAULT_LOCK = "mcpg.lock"
"""Name of the lock file if nothing names one."""

SCHEMA = "mcpg/lock-file/1"

_SCHEMA = re.compile(r"mcpg/lock-file/([0-9]+)")
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_RESTORE = "restore the file from version control, or remove it and run `mcpg lock` to review anew"
# A part of an entry of the list in the object.
_DEEPEST = MAX_DEPTH - 3


def lock_text(lock: ApprovedTools) -> str:
    """Return the text of a lock file.

    Characters that no reader sees are written as escapes.
    """
    members = {"schema": SCHEMA, "tools": [_write_entry(one) for one in lock.statements]}
    text = json.dumps(members, ensure_ascii=False, indent=2)
    # Line feeds are only between members.
    return (
        UNSAFE.sub(lambda found: "\n" if found.group() == "\n" else json_form(found), text) + "\n"
    )


def _write_entry(one: ToolStatement) -> JsonObject:
    parts = written_parts(one)
    if is_deeper(parts.values(), _DEEPEST):
        message = f"the tool nests deeper than {_DEEPEST} levels"
        raise InputError(message, place=one.name, remedy="flatten its schemas")
    try:
        json.dumps([*parts.values()], allow_nan=False)
    except ValueError:
        message = "a number is not finite"
        raise InputError(message, place=one.name, remedy="correct it at its source") from None
    digests = compute_digests(one)
    entry: JsonObject = {"source": one.tool.source_id, "name": one.tool.name}
    entry["digests"] = {part.member: f"sha256:{digests[part]}" for part in parts}
    return entry | {part.member: stated for part, stated in parts.items()}


def read_lock(path: str | PathLike[str]) -> ApprovedTools:
    """Read the lock file at *path*."""
    place = str(path)
    try:
        text = read_bytes(Path(path), MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = fault.object.count(b"\n", 0, fault.start) + 1
        raise _damage_error("is not UTF-8", f"{place}:{line}") from None
    return parse_lock(text, place)


def parse_lock(text: str, place: str) -> ApprovedTools:
    """Return the lock with this *text*, read from *place*."""
    conflict = _CONFLICT.search(text)
    if conflict:
        raise InputError(
            "has conflict markers of a merge",
            place=f"{place}:{text.count(chr(10), 0, conflict.start()) + 1}",
            remedy="take one of the two versions (`git checkout --ours` or `--theirs`), and approve"
            " what it lacks with `mcpg lock --approve`",
        )
    members = _read_object(text, place)
    stated = members.get("schema")
    version = _SCHEMA.fullmatch(stated) if isinstance(stated, str) else None
    if version is None:
        remedy = "name a file that `mcpg lock` wrote"
        raise InputError("is not a lock file", place=place, remedy=remedy)
    if stated != SCHEMA:
        raise InputError(
            f"is a lock file of version {version[1]}; this mcpg reads version "
            f"{SCHEMA.rpartition('/')[2]}",
            place=place,
            remedy="install a version of mcpg that reads it, or remove it and run `mcpg lock` to"
            " review anew",
        )
    entries = members.get("tools")
    if not isinstance(entries, list):
        raise _damage_error("the list 'tools' is missing", place)
    numbered: dict[Key, int] = {}
    statements: list[ToolStatement] = []
    for number, entry in enumerate(entries):
        one = _read_statement(entry, f"{place}: tools[{number}]")
        first = numbered.setdefault(one.key, number)
        if first != number:
            message = f"{one.name[:_SHOWN]!r} is in tools[{first}] and in tools[{number}]"
            remedy = "keep one of them, and run `mcpg lock --check`"
            raise InputError(message, place=place, remedy=remedy)
        statements.append(one)
    return ApprovedTools(tuple(sorted(statements, key=lambda one: one.key)))


def _read_object(text: str, place: str) -> JsonObject:
    """Parse *text* as one JSON object without repeated keys; empty for another value."""
    if not text.strip():
        raise _damage_error("is empty", place)
    repeated: set[str] = set()
    try:
        documents = parse_json_documents(text, place, repeated)
    except SourceError as fault:
        raise _damage_error(fault.message, fault.place) from None
    if repeated:
        keys = ", ".join(repr(key[:_SHOWN]) for key in sorted(repeated)[:3])
        raise _damage_error(f"a key is twice in one object: {keys}", place)
    found = documents[0] if len(documents) == 1 else None
    return found if isinstance(found, dict) else {}


def _read_statement(entry: JsonValue, place: str) -> ToolStatement:
    if not isinstance(entry, dict):
        raise _damage_error("is not an object", place)
    source_id, name = entry.get("source"), entry.get("name")
    if not (isinstance(source_id, str) and isinstance(name, str) and name):
        raise _damage_error("has no 'source' and 'name'", place)
    tool = _read_tool(entry, Tool(id="", source_id=source_id, name=name, input_schema={}), place)
    has_hints = DefinitionPart.HINTS.member in entry
    document = None
    stated = _members(entry, DefinitionPart.DOCUMENT.member, place)
    if stated is not None:
        document = LockedDocument(_read_tool(stated, tool, place), _text(stated, BODY, place) or "")
    files = _members(entry, DefinitionPart.FILES.member, place)
    if files is not None:
        tool = replace(Tool("", source_id, name), description=tool.description)
    digests_of_files = None if files is None else {key: str(one) for key, one in files.items()}
    one = ToolStatement(tool, has_hints, document, files=digests_of_files)
    digests, computed, parts = entry.get("digests"), compute_digests(one), written_parts(one)
    if not isinstance(digests, dict):
        raise _damage_error("has no 'digests'", place)
    wrong = [
        part.member
        for part in DefinitionPart
        if digests.get(part.member) != (f"sha256:{computed[part]}" if part in parts else None)
    ]
    if wrong:
        raise InputError(
            f"the digest of {' and '.join(wrong)} of {one.name[:_SHOWN]!r} does not match: the "
            "entry was changed by hand or by a merge",
            place=place,
            remedy="restore the file from version control, or remove the entry and approve the tool"
            " with `mcpg lock --approve`",
        )
    return one


def _read_tool(entry: JsonObject, base: Tool, place: str) -> Tool:
    found: dict[str, Any] = {
        "title": _text(entry, DefinitionPart.TITLE.member, place),
        "description": _text(entry, DefinitionPart.DESCRIPTION.member, place) or "",
        "input_schema": _members(entry, DefinitionPart.INPUT_SCHEMA.member, place) or {},
        "output_schema": _members(entry, DefinitionPart.OUTPUT_SCHEMA.member, place),
        "annotations": _members(entry, DefinitionPart.ANNOTATIONS.member, place) or {},
        "hints": hints_from(_members(entry, DefinitionPart.HINTS.member, place) or {}),
    }
    return replace(
        base, **{name: one for name, one in found.items() if PARTS[name].member in entry}
    )


def _text(entry: JsonObject, member: str, place: str) -> str | None:
    stated = entry.get(member)
    if isinstance(stated, list) and all(isinstance(line, str) for line in stated):
        return "\n".join(map(str, stated))
    if stated is not None and not isinstance(stated, str):
        raise _damage_error(f"{member!r} is not text", place)
    return stated


def _members(entry: JsonObject, member: str, place: str) -> JsonObject | None:
    stated = entry.get(member)
    if stated is not None and not isinstance(stated, dict):
        raise _damage_error(f"{member!r} is not an object", place)
    return stated


def _damage_error(message: str, place: str | None) -> InputError:
    return InputError(message, place=place, remedy=_RESTORE)
