"""The lock file: definitions of tools that people have approved, as text that is easy to review.

A lock has an entry for each tool, sorted by source and name: its definition as its source states
it, and a SHA-256 for each part of that. The definition is there to be read, to be shown beside what
a source states later, and to describe a tool that has changed since. The digests name the part that
was changed by hand or by a merge, without approval. See ADR 39.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.catalog.claims import claims_of
from mcpg.catalog.definitions import (
    Key,
    Part,
    PartChange,
    definition_changes,
    part_digests,
    stated_hints,
)
from mcpg.catalog.hints import hints_from
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper, parse_json_documents
from mcpg.catalog.model import HINT_LISTS, Hints, Tool
from mcpg.errors import InputError, SourceError
from mcpg.files import MAX_BYTES, read_bytes
from mcpg.text.safeyaml import UNSAFE, json_form
from mcpg.values import counted, replace, value

if TYPE_CHECKING:
    from os import PathLike

    from mcpg.json_types import JsonObject, JsonValue

DEFAULT_LOCK = "mcpg.lock"
"""Name of the lock file where nothing names one."""

SCHEMA = "mcpg/lock-file/1"

_SCHEMA = re.compile(r"mcpg/lock-file/([0-9]+)")
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_RESTORE = "restore the file from version control, or remove it and run `mcpg lock` to review anew"
_SHOWN = 80
_NO_HINTS = Hints()
# A part of an entry of the list in the object.
_DEEPEST = MAX_DEPTH - 3


@value
class Statement:
    """What a source states of a tool.

    Attributes:
        tool: The tool. Of its members those of a definition count, and its hints.
        has_hints: Whether its hints are those of its source alone, as of tools in manifests and on
            servers. Documents have hints of people among theirs.
    """

    tool: Tool
    has_hints: bool

    @property
    def key(self) -> Key:
        """The identity of the tool."""
        return self.tool.source_id, self.tool.name

    @property
    def name(self) -> str:
        """The tool as `source::name`."""
        return "::".join(self.key)


@value
class Lock:
    """Tools that people have approved.

    Attributes:
        statements: What was approved of each tool, sorted by source and name.
    """

    statements: tuple[Statement, ...] = ()

    @property
    def by_key(self) -> dict[Key, Statement]:
        """The statements by identity of the tool."""
        return {one.key: one for one in self.statements}


class Kind(StrEnum):
    """How a tool differs from a lock."""

    CHANGED = "changed"
    """Its source states another definition."""
    NEW = "new"
    """The lock does not have it."""
    MISSING = "missing"
    """The lock has it, and no source does."""


@value
class LockChange:
    """A tool that differs from a lock.

    Attributes:
        kind: How it differs.
        before: What was approved; `None` for a new tool.
        after: What its source states now; `None` for a missing one.
        parts: The parts that differ, of a changed tool.
    """

    kind: Kind
    before: Statement | None
    after: Statement | None
    parts: tuple[PartChange, ...] = ()

    @property
    def statement(self) -> Statement:
        """What is stated now, or was approved of a tool that is missing."""
        found = self.after or self.before
        assert found is not None, "a change has one or the other"  # noqa: S101
        return found

    @property
    def key(self) -> Key:
        """The identity of the tool."""
        return self.statement.key

    @property
    def name(self) -> str:
        """The tool as `source::name`."""
        return self.statement.name


def stated_by_source(tool: Tool) -> Statement:
    """Return what the source of *tool* states: also the hints that are text, being unreviewed."""
    claims = claims_of(tool)
    if claims != _NO_HINTS:
        tool = replace(tool, hints=Hints.merge(tool.hints, claims))
    return Statement(tool, has_hints=True)


def lock_changes(lock: Lock, stated: Iterable[Statement]) -> tuple[LockChange, ...]:
    """Return the tools that differ from *lock*, sorted by source and name.

    Where a source states several tools of one name, each has to be as it was approved.
    """
    approved, seen, found = lock.by_key, set(), []
    for one in stated:
        known = approved.get(one.key)
        seen.add(one.key)
        if known is None:
            found.append(LockChange(Kind.NEW, None, one))
        elif parts := _changed_parts(known, one):
            found.append(LockChange(Kind.CHANGED, known, one, parts))
    missing = (one for key, one in approved.items() if key not in seen)
    found += [LockChange(Kind.MISSING, one, None) for one in missing]
    return tuple(sorted(found, key=lambda change: change.key))


def as_approved(tool: Tool, approved: Statement) -> Tool:
    """Return *tool* with its approved definition.

    Of hints that have changed, those entries of lists are kept that the source still states, so
    that text of a server never becomes a hint of a person.
    """
    stated = approved.tool
    hints, meta = tool.hints, tool.meta
    now = stated_by_source(tool).tool
    if approved.has_hints and now.hints != stated.hints:
        lists = {
            name: tuple(one for one in getattr(hints, name) if one in getattr(stated.hints, name))
            for name in HINT_LISTS
        }
        # Single values of `_meta` are hints already, and its lists are text that nobody approved.
        hints, meta = replace(stated.hints, **lists), {}
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


def _changed_parts(before: Statement, after: Statement) -> tuple[PartChange, ...]:
    with_hints = before.has_hints and after.has_hints
    return definition_changes(before.tool, after.tool, hints=with_hints)


def approve(lock: Lock, changes: Iterable[LockChange]) -> Lock:
    """Return *lock* with *changes*.

    Raises:
        InputError: A source states several tools of one name, or one that nests too deeply.
    """
    statements: dict[Key, Statement | None] = {**lock.by_key}
    changes = tuple(changes)
    for (source_id, name), count in Counter(change.key for change in changes).items():
        if count > 1:
            raise InputError(
                f"{counted(count, 'tool')} called {name[:_SHOWN]!r} of {source_id[:_SHOWN]!r} "
                "differ: a lock has one of each name",
                remedy="rename one, or give each source an id of its own",
            )
    for change in changes:
        statements[change.key] = change.after
    return Lock(tuple(one for _, one in sorted(statements.items()) if one is not None))


def lock_text(lock: Lock) -> str:
    """Return the text of a lock file.

    Characters that no reader sees are written as escapes.

    Raises:
        InputError: A tool could not be read back.
    """
    members = {"schema": SCHEMA, "tools": [_entry(one) for one in lock.statements]}
    return UNSAFE.sub(_escaped, json.dumps(members, ensure_ascii=False, indent=2)) + "\n"


def _escaped(found: re.Match[str]) -> str:
    # Line feeds stand between members alone.
    return "\n" if found.group() == "\n" else json_form(found)


def _entry(one: Statement) -> JsonObject:
    parts = _written_parts(one)
    if is_deeper(parts.values(), _DEEPEST):
        message = f"the tool nests deeper than {_DEEPEST} levels"
        raise InputError(message, place=one.name, remedy="flatten its schemas")
    try:
        json.dumps([*parts.values()], allow_nan=False)
    except ValueError:
        message = "a number is not finite"
        raise InputError(message, place=one.name, remedy="correct it at its source") from None
    digests = part_digests(one.tool)
    entry: JsonObject = {"source": one.tool.source_id, "name": one.tool.name}
    entry["digests"] = {part.member: f"sha256:{digests[part]}" for part in parts}
    return entry | {part.member: stated for part, stated in parts.items()}


def _written_parts(one: Statement) -> dict[Part, JsonValue]:
    """Return the parts that a lock has of a tool, as they are written."""
    tool = one.tool
    lines = tool.description.split("\n")
    parts: dict[Part, JsonValue] = {
        Part.TITLE: tool.title,
        Part.DESCRIPTION: [*lines] if len(lines) > 1 else tool.description,
        Part.INPUT_SCHEMA: tool.input_schema,
        Part.OUTPUT_SCHEMA: tool.output_schema,
        Part.ANNOTATIONS: tool.annotations or None,
        Part.HINTS: stated_hints(tool.hints) if one.has_hints else None,
    }
    return {part: stated for part, stated in parts.items() if stated is not None}


def read_lock(path: str | PathLike[str]) -> Lock:
    """Read the lock file at *path*.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is no valid lock.
    """
    place = str(path)
    try:
        text = read_bytes(Path(path), MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = fault.object.count(b"\n", 0, fault.start) + 1
        raise InputError("is not UTF-8", place=f"{place}:{line}", remedy=_RESTORE) from None
    return parse_lock(text, place)


def parse_lock(text: str, place: str) -> Lock:
    """Return the lock with this *text*, read from *place*.

    Raises:
        InputError: It is no valid lock.
    """
    conflict = _CONFLICT.search(text)
    if conflict:
        raise InputError(
            "has conflict markers of a merge",
            place=f"{place}:{text.count(chr(10), 0, conflict.start()) + 1}",
            remedy="take one of the two versions (`git checkout --ours` or `--theirs`), and approve"
            " what it lacks with `mcpg lock --approve`",
        )
    members = _object(text, place)
    _check_version(members.get("schema"), place)
    entries = members.get("tools")
    if not isinstance(entries, list):
        raise InputError("the list 'tools' is missing", place=place, remedy=_RESTORE)
    numbered: dict[Key, int] = {}
    statements: list[Statement] = []
    for number, entry in enumerate(entries):
        one = _statement(entry, f"{place}: tools[{number}]")
        first = numbered.setdefault(one.key, number)
        if first != number:
            raise InputError(
                f"{one.name[:_SHOWN]!r} stands in tools[{first}] and in tools[{number}]",
                place=place,
                remedy="keep one of them, and run `mcpg lock --check`",
            )
        statements.append(one)
    return Lock(tuple(sorted(statements, key=lambda one: one.key)))


def _object(text: str, place: str) -> JsonObject:
    """Parse *text* as one JSON object without repeated keys."""
    if not text.strip():
        raise InputError("is empty", place=place, remedy=_RESTORE)
    repeated: set[str] = set()
    try:
        documents = parse_json_documents(text, place, repeated)
    except SourceError as fault:
        raise InputError(fault.message, place=fault.place, remedy=_RESTORE) from None
    if repeated:
        keys = ", ".join(repr(key[:_SHOWN]) for key in sorted(repeated)[:3])
        message = f"a key stands twice in one object: {keys}"
        raise InputError(message, place=place, remedy=_RESTORE)
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise _no_lock(place)
    return documents[0]


def _no_lock(place: str) -> InputError:
    return InputError("is no lock file", place=place, remedy="name a file that `mcpg lock` wrote")


def _check_version(stated: JsonValue, place: str) -> None:
    found = _SCHEMA.fullmatch(stated) if isinstance(stated, str) else None
    if found is None:
        raise _no_lock(place)
    if stated != SCHEMA:
        raise InputError(
            f"is a lock file of version {found[1]}; this mcpg reads version "
            f"{SCHEMA.rpartition('/')[2]}",
            place=place,
            remedy="install a version of mcpg that reads it, or remove it and run `mcpg lock` to"
            " review anew",
        )


def _statement(entry: JsonValue, place: str) -> Statement:
    """Read an entry, and check its digests."""
    if not isinstance(entry, dict):
        raise _damaged("is no object", place)
    source_id, name = entry.get("source"), entry.get("name")
    if not (isinstance(source_id, str) and isinstance(name, str) and name):
        raise _damaged("has no 'source' and 'name'", place)
    tool = Tool(
        id="",
        source_id=source_id,
        name=name,
        title=_text(entry, Part.TITLE, place),
        description=_text(entry, Part.DESCRIPTION, place) or "",
        input_schema=_members(entry, Part.INPUT_SCHEMA, place) or {},
        output_schema=_members(entry, Part.OUTPUT_SCHEMA, place),
        annotations=_members(entry, Part.ANNOTATIONS, place) or {},
        hints=hints_from(_members(entry, Part.HINTS, place) or {}),
    )
    one = Statement(tool, has_hints=Part.HINTS.member in entry)
    _check_digests(one, entry, place)
    return one


def _text(entry: JsonObject, part: Part, place: str) -> str | None:
    stated = entry.get(part.member)
    if isinstance(stated, list) and all(isinstance(line, str) for line in stated):
        return "\n".join(map(str, stated))
    if stated is not None and not isinstance(stated, str):
        raise _damaged(f"{part.member!r} is no text", place)
    return stated


def _members(entry: JsonObject, part: Part, place: str) -> JsonObject | None:
    stated = entry.get(part.member)
    if stated is not None and not isinstance(stated, dict):
        raise _damaged(f"{part.member!r} is no object", place)
    return stated


def _check_digests(one: Statement, entry: JsonObject, place: str) -> None:
    """Check that nobody has changed the text of an entry without its digests, or a part alone."""
    stated, computed = entry.get("digests"), part_digests(one.tool)
    if not isinstance(stated, dict):
        raise _damaged("has no 'digests'", place)
    written = _written_parts(one)
    wrong = [
        part.member
        for part in Part
        if stated.get(part.member) != (f"sha256:{computed[part]}" if part in written else None)
    ]
    if wrong:
        raise InputError(
            f"the digest of {' and '.join(wrong)} of {one.name[:_SHOWN]!r} does not match: the "
            "entry was changed by hand or by a merge",
            place=place,
            remedy="restore the file from version control, or remove the entry and approve the tool"
            " with `mcpg lock --approve`",
        )


def _damaged(message: str, place: str) -> InputError:
    return InputError(message, place=place, remedy=_RESTORE)


def change_diff(change: LockChange) -> str:
    """Return the lines in which a tool differs, as `git diff` shows them.

    Texts are shown as they are, with escapes for characters that no reader sees.
    """
    with_hints = all(one.has_hints for one in (change.before, change.after) if one)
    sides = (one and _lines(one, with_hints=with_hints) for one in (change.before, change.after))
    before, after = (list(side or ()) for side in sides)
    lines = difflib.unified_diff(
        before,
        after,
        f"a/{change.name}" if change.before else "/dev/null",
        f"b/{change.name}" if change.after else "/dev/null",
        lineterm="",
    )
    return "".join(f"{UNSAFE.sub(_visible, line)}\n" for line in lines)


def _visible(found: re.Match[str]) -> str:
    return found.group() if found.group() == "\t" else json_form(found)


def _lines(one: Statement, *, with_hints: bool) -> Iterator[str]:
    """Yield a definition line by line: texts, then the schemas as JSON."""
    for part, stated in _written_parts(one).items():
        if part is Part.HINTS and not with_hints:
            continue
        if isinstance(stated, Mapping):
            yield f"{part}:"
            text = json.dumps(stated, ensure_ascii=False, indent=2, sort_keys=True)
            yield from (f"  {line}" for line in text.split("\n"))
        else:
            first, *others = stated if isinstance(stated, list) else [stated]
            yield f"{part}: {first}"
            yield from (f"  {line}" for line in others)
