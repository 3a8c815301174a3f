"""Lock files: how they are written, and read with all that can be wrong with them checked."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from mcpg.catalog.definitions import Key, DefinitionPart
from mcpg.catalog.hints import hints_from
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper, parse_json_documents
from mcpg.catalog.lock import (
    BODY,
    PARTS,
    LockedDocument,
    ApprovedTools,
    ToolStatement,
    compute_digests,
    written_parts,
)
from mcpg.catalog.model import Tool
from mcpg.errors import InputError, SourceError
from mcpg.files import MAX_BYTES, read_bytes
from mcpg.json_types import JsonObject, JsonValue
from mcpg.text.safeyaml import UNSAFE, json_form

DEFAULT_LOCK = "mcpg.lock"
"""Name of the lock file where nothing names one."""

SCHEMA = "mcpg/lock-file/1"

_SCHEMA = re.compile(r"mcpg/lock-file/([0-9]+)")
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_RESTORE = "restore the file from version control, or remove it and run `mcpg lock` to review anew"
_SHOWN = 80
# A part of an entry of the list in the object.
_DEEPEST = MAX_DEPTH - 3


def lock_text(lock: ApprovedTools) -> str:
    """Return the text of a lock file.

    Characters that no reader sees are written as escapes.

    Raises:
        InputError: A tool could not be read back.
    """
    members = {"schema": SCHEMA, "tools": [_entry(one) for one in lock.statements]}
    return UNSAFE.sub(_escape_match, json.dumps(members, ensure_ascii=False, indent=2)) + "\n"


def _escape_match(found: re.Match[str]) -> str:
    # Line feeds stand between members alone.
    return "\n" if found.group() == "\n" else json_form(found)


def _entry(one: ToolStatement) -> JsonObject:
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


def parse_lock(text: str, place: str) -> ApprovedTools:
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
    statements: list[ToolStatement] = []
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
    return ApprovedTools(tuple(sorted(statements, key=lambda one: one.key)))


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


def _statement(entry: JsonValue, place: str) -> ToolStatement:
    """Read an entry, and check its digests."""
    if not isinstance(entry, dict):
        raise _damage_error("is no object", place)
    source_id, name = entry.get("source"), entry.get("name")
    if not (isinstance(source_id, str) and isinstance(name, str) and name):
        raise _damage_error("has no 'source' and 'name'", place)
    tool = _read_tool(entry, Tool(id="", source_id=source_id, name=name, input_schema={}), place)
    has_hints = DefinitionPart.HINTS.member in entry
    document = None
    stated = _members(entry, DefinitionPart.DOCUMENT.member, place)
    if stated is not None:
        document = LockedDocument(_read_tool(stated, tool, place), _text(stated, BODY, place) or "")
    one = ToolStatement(tool, has_hints, document)
    _check_digests(one, entry, place)
    return one


def _read_tool(entry: JsonObject, base: Tool, place: str) -> Tool:
    """Return *base* with those parts of a definition that *entry* has."""
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
        raise _damage_error(f"{member!r} is no text", place)
    return stated


def _members(entry: JsonObject, member: str, place: str) -> JsonObject | None:
    stated = entry.get(member)
    if stated is not None and not isinstance(stated, dict):
        raise _damage_error(f"{member!r} is no object", place)
    return stated


def _check_digests(one: ToolStatement, entry: JsonObject, place: str) -> None:
    """Check that the parts of an entry are those that its digests were made of."""
    stated, computed = entry.get("digests"), compute_digests(one)
    if not isinstance(stated, dict):
        raise _damage_error("has no 'digests'", place)
    parts = written_parts(one)
    wrong = [
        part.member
        for part in DefinitionPart
        if stated.get(part.member) != (f"sha256:{computed[part]}" if part in parts else None)
    ]
    if wrong:
        raise InputError(
            f"the digest of {' and '.join(wrong)} of {one.name[:_SHOWN]!r} does not match: the "
            "entry was changed by hand or by a merge",
            place=place,
            remedy="restore the file from version control, or remove the entry and approve the tool"
            " with `mcpg lock --approve`",
        )


def _damage_error(message: str, place: str) -> InputError:
    return InputError(message, place=place, remedy=_RESTORE)
