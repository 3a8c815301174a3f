"""Bundles on disk: one file, or a folder in which no author's file is ever overwritten."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from mcpg.bundle.codec import Bundle, checked_document, decode_bundle, encode_bundle, path_fault
from mcpg.catalog.model import SourceDocument
from mcpg.documents.addresses import normal_path, path_key
from mcpg.documents.front_matter import split_front_matter
from mcpg.documents.model import GENERATED_TAG, text_items
from mcpg.documents.writer import addressed_text
from mcpg.errors import BundleError, InputError, McpgError, NotFoundError, OutputError, os_reason
from mcpg.files import (
    MAX_BYTES,
    atomic_write,
    exists,
    is_file,
    is_folder,
    is_link,
    locked_folder,
    open_at_once,
    read_bytes,
    remove_leftovers,
    write_files,
)
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import list_some

LOCK_NAME = ".mcpg-generated.json"
"""The file in an output folder that records the files written there."""

_LOCK_VERSION = 1
_WRITTEN = "written"
"""The member that is true if the record has only files that were written."""

_EMPTY = f"sha256:{hashlib.sha256().hexdigest()}"
_MOST_SHOWN = 5
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FolderPlan:
    """The effect of writing documents into a folder. All paths are relative and sorted.

    Attributes:
        obsolete: Paths of files of ours, not edited since, that no document is for any more.
        conflicts: Paths of files that would be overwritten and that a person made or edited.
        kept: Paths of files of ours that no document is for any more and that a person edited.
        renamed: Paths of files of ours that a document has under another spelling, if the file
            system treats both spellings as one file.
        sources: Paths of files that their own documents were read from, by any author.
        recorded: Digest of every file of ours, by path.
    """

    root: Path
    documents: Mapping[str, str]
    create: tuple[str, ...]
    update: tuple[str, ...]
    unchanged: tuple[str, ...]
    obsolete: tuple[str, ...]
    conflicts: tuple[str, ...]
    kept: tuple[str, ...]
    renamed: tuple[str, ...]
    sources: frozenset[str]
    recorded: Mapping[str, str]

    @property
    def is_current(self) -> bool:
        """Whether the folder has exactly these documents already."""
        return not (self.create or self.update or self.obsolete or self.conflicts)


def plan_folder(root: Path | str, documents: Sequence[SourceDocument]) -> FolderPlan:
    """Return the effect of writing *documents* into the folder *root*, which need not exist.

    A file is ours if its content matches the folder's record. Any other file in the place of a
    document is a conflict, unless it has the document's text already. A URI that only *documents*
    have, and not their texts, is put into the front matter.

    Raises:
        BundleError: A document's path climbs out of the folder, or its text is blank.
        OutputError: A path leaves the folder through a symbolic link, or belongs to two documents;
            *root* is a file; or the folder's record is damaged or a symbolic link.
    """
    folder = Path(root)
    if exists(folder) and not is_folder(folder):
        raise _make_refusal(folder, "is a file where a folder is needed", "name a folder")
    wanted = _check_documents(folder, documents)
    sources = (
        path
        for path, document in zip(wanted, documents, strict=True)
        if document.place and _is_one(Path(document.place), folder / path)
    )
    return _make_plan(folder, wanted, frozenset(sources))


def _make_plan(folder: Path, wanted: Mapping[str, str], sources: frozenset[str]) -> FolderPlan:
    recorded = _read_lock(folder)
    by_key = {path_key(path): path for path in wanted}
    pairs = ((path, by_key.get(path_key(path), path)) for path in recorded)
    # The file system may take two spellings of a path for one file.
    renamed = {old: new for old, new in pairs if old != new and _is_one(folder / old, folder / new)}
    known = {path: recorded[old] for old, path in renamed.items()} | recorded
    states = {path: _find_state(folder, path, text, known) for path, text in wanted.items()}
    others = [path for path in recorded if path not in wanted and path not in renamed]
    states |= {path: _find_state(folder, path, None, recorded) for path in others}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path, state in sorted(states.items()):
        found[state].append(path)
    return FolderPlan(
        root=folder,
        documents=wanted,
        create=tuple(found["create"]),
        update=tuple(found["update"]),
        unchanged=tuple(found["unchanged"]),
        conflicts=tuple(found["conflict"]),
        obsolete=tuple(found["obsolete"]),
        kept=tuple(found["kept"]),
        renamed=tuple(sorted(renamed)),
        sources=sources,
        recorded=recorded,
    )


def apply_plan(plan: FolderPlan, *, prune: bool = False, force: bool = False) -> FolderPlan:
    """Write the files of *plan*, and return the plan that was carried out.

    The digests of all files to write are recorded first, so that a run that is killed, or out of
    disk, leaves no file that the next one mistakes for a person's. The folder is locked meanwhile,
    and the plan is made again, for a person or another run may have written there since. To *prune*
    removes obsolete files, *force* overwrites those in conflict.

    Raises:
        OutputError: There are conflicts and *force* is not set, in which case nothing is written;
            or a file cannot be written, or another process writes there for too long.
    """
    _check_conflicts(plan, force=force)
    with locked_folder(plan.root):
        plan = _make_plan(plan.root, plan.documents, plan.sources)
        _check_conflicts(plan, force=force)
        _carry_out(plan, prune=prune)
    return plan


def _check_conflicts(plan: FolderPlan, *, force: bool) -> None:
    if force or not plan.conflicts:
        return
    shown = list_some(plan.conflicts, _MOST_SHOWN)
    fault = f"has files that were made or edited by someone else: {shown}"
    remedy = "move your edits into a hints file or another folder, or overwrite with --force"
    raise _make_refusal(plan.root, f"{fault}; nothing was written", remedy)


def _carry_out(plan: FolderPlan, *, prune: bool) -> None:
    for folder in {(plan.root / path).parent for path in (LOCK_NAME, *plan.recorded)}:
        remove_leftovers(folder)
    written = (*plan.create, *plan.update, *plan.conflicts)
    digests = {path: _digest(text.encode()) for path, text in plan.documents.items()}
    if written:
        _write_lock(plan.root, plan.recorded, {path: digests[path] for path in written})
    write_files({plan.root / path: plan.documents[path].encode() for path in written})
    for path in plan.obsolete if prune else ():
        try:
            (plan.root / path).unlink(missing_ok=True)
        except OSError as fault:
            message = f"{path!r} cannot be removed: {fault.strerror}"
            raise _make_refusal(plan.root, message, "remove it by hand") from fault
    for path in plan.recorded.keys() - plan.documents.keys() if prune else ():
        with contextlib.suppress(OSError):
            # A folder with anything else in it cannot be removed, nor can those above it.
            for folder in Path(path).parents[:-1]:
                (plan.root / folder).rmdir()
    # A file that is unchanged in its own source may be a person's, or edited by one.
    own = plan.sources.difference(written)
    left = own if prune else {*own, *plan.obsolete}
    kept = {path: plan.recorded[path] for path in plan.recorded.keys() & left}
    ours = {path: digest for path, digest in digests.items() if path not in own}
    _write_lock(plan.root, kept | ours)


def generated_documents(root: Path | str) -> tuple[SourceDocument, ...]:
    """Return the documents in the folder *root* that `apply_plan` wrote, unedited since.

    Raises `OutputError` as `plan_folder` does.
    """
    folder = Path(root)
    recorded = _read_lock(folder)
    ours = sorted(
        path for path in recorded if _find_state(folder, path, None, recorded) == "obsolete"
    )
    texts = ((path, read_bytes(folder / path, MAX_BYTES).decode()) for path in ours)
    return tuple(SourceDocument(path, text, place=str(folder / path)) for path, text in texts)


def _check_documents(root: Path, documents: Iterable[SourceDocument]) -> dict[str, str]:
    wanted: dict[str, str] = {}
    seen: set[str] = {path_key(LOCK_NAME)}
    for given in documents:
        document = checked_document(given, given.place or given.path)
        path = document.path
        if path_key(path) in seen:
            fault = f"two files would be written to {path!r}"
            raise _make_refusal(root, fault, "give each document a path of its own")
        if not _is_inside(root, path):
            fault = f"{path!r} leads out of the folder through a symbolic link"
            raise _make_refusal(root, fault, "remove the link, or choose another folder")
        seen.add(path_key(path))
        wanted[path] = addressed_text(document)
    return wanted


def _is_inside(root: Path, path: str) -> bool:
    return Path(os.path.realpath(root / path)).is_relative_to(os.path.realpath(root))


def _is_one(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return False


def _find_state(root: Path, path: str, text: str | None, recorded: Mapping[str, str]) -> str:
    """Return the action for a file that shall have *text*, or shall no longer be."""
    found = _digest_file(root / path)
    if found is None:
        return "gone" if text is None else "create"
    # Nothing is lost with an empty file, which a power cut may leave of one of ours.
    is_ours = found in (recorded.get(path), _EMPTY)
    if text is None:
        return "obsolete" if is_ours and _is_inside(root, path) else "kept"
    if found == _digest(text.encode()):
        return "unchanged"
    return "update" if is_ours else "conflict"


def _digest_file(path: Path) -> str | None:
    """Return the digest of a file, `None` if there is none, "" if it cannot be read as one."""
    if exists(path) and not is_file(path):
        return ""
    try:
        return _digest(read_bytes(path, MAX_BYTES))
    except NotFoundError:
        return None
    except InputError:
        return ""


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _read_lock(root: Path) -> dict[str, str]:
    if is_link(root / LOCK_NAME):
        fault = f"{LOCK_NAME!r} is a symbolic link, through which another file would be written"
        raise _make_refusal(root, fault, "remove the link")
    try:
        record = json.loads(read_bytes(root / LOCK_NAME, MAX_BYTES))
    except NotFoundError:
        return {}
    except InputError as fault:
        place = os.fspath(root / LOCK_NAME)
        raise OutputError(fault.message, place=place, remedy=fault.remedy) from fault
    except (ValueError, RecursionError):
        record = None
    files = record.get("files") if isinstance(record, dict) else None
    if not isinstance(files, dict) or record.get("version") != _LOCK_VERSION:
        raise OutputError(
            "the record of generated files is damaged",
            place=os.fspath(root / LOCK_NAME),
            remedy="delete it; files that differ from the new ones will then count as yours",
        )
    recorded, pending = _keep_safe(files), _keep_safe(record.get("pending"))
    if record.get(_WRITTEN) is not True:
        # Earlier versions also recorded files of a person.
        recorded = {path: one for path, one in recorded.items() if _may_be_ours(root / path)}
    # A run that broke off has written some of the files that it recorded as pending.
    unwritten = (
        path for path in pending.keys() & recorded if _digest_file(root / path) == recorded[path]
    )
    return recorded | pending | {path: recorded[path] for path in unwritten}


def _may_be_ours(path: Path) -> bool:
    """Return whether the file at *path* is not there, empty, or tagged as generated."""
    try:
        text = read_bytes(path, MAX_BYTES).decode()
        tags = split_front_matter(text, "").values.get("tags")
    except NotFoundError:
        return True
    except (InputError, UnicodeDecodeError):
        return False
    return not text or GENERATED_TAG in text_items(tags)


def _keep_safe(files: JsonValue) -> dict[str, str]:
    """Return the digests by path of a record, with only paths as safe as a document's."""
    return {
        path: digest
        for path, digest in (files.items() if isinstance(files, dict) else ())
        if isinstance(digest, str) and path_fault(path) is None and path == normal_path(path)
    }


def _write_lock(
    root: Path, files: Mapping[str, str], pending: Mapping[str, str] | None = None
) -> None:
    record: JsonObject = {
        "version": _LOCK_VERSION,
        _WRITTEN: True,
        "files": dict(sorted(files.items())),
    }
    if pending:
        record["pending"] = dict(sorted(pending.items()))
    data = (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode()
    target = root / LOCK_NAME
    if _digest_file(target) != _digest(data):
        atomic_write(target, data, special=False)


def _make_refusal(root: Path, message: str, remedy: str) -> OutputError:
    return OutputError(message, place=os.fspath(root), remedy=remedy)


# How every bundle of this version begins, damaged further on or not.
_START = 4096
_OURS = re.compile(rb'\s*\{\s*"version"\s*:\s*1\s*,\s*"documents"\s*:\s*\[')


def read_bundle(path: Path | str) -> Bundle:
    """Read the bundle file at *path*.

    Raises:
        NotFoundError: The file does not exist.
        InputError: It cannot be read.
        BundleError: It is not a bundle, or a damaged one.
    """
    # One byte more than a bundle may have, so that the limit is reported as a bundle's own.
    return decode_bundle(read_bytes(path, MAX_BYTES + 1), str(path))


def write_bundle(path: Path | str, bundle: Bundle, *, force: bool = False) -> bool:
    """Write *bundle* to *path* in one step; return whether the bytes of the file changed.

    Raises:
        BundleError: The bundle cannot be written as it is.
        OutputError: The file cannot be written, or is not a bundle and *force* is not set.
    """
    return write_encoded(path, encode_bundle(bundle), force=force)


def write_encoded(path: Path | str, data: bytes | Iterable[bytes], *, force: bool = False) -> bool:
    """Write the bytes of a bundle, or parts of them that are made once, as `write_bundle` does."""
    parts = iter((data,) if isinstance(data, bytes) else data)
    if is_file(path):
        size, digest, remaining = _compare_beginning(path, parts)
        if remaining is None:
            return False
        parts = chain(_read_beginning(path, size, digest), remaining)
        if not (force or _is_replaceable(path)):
            raise OutputError(
                "the file exists and is not a bundle, so it is not overwritten",
                place=str(path),
                remedy="name another file, or use --force",
            )
    atomic_write(path, parts)
    return True


def _compare_beginning(
    path: Path | str, parts: Iterator[bytes]
) -> tuple[int, bytes, Iterator[bytes] | None]:
    """Return size and digest of the *parts* that the file at *path* begins with, and the others.

    The others are `None` if the file has only *parts*: none is made twice.
    """
    size, digest = 0, hashlib.sha256()
    try:
        with open(path, "rb", opener=open_at_once) as stream:
            for part in parts:
                if stream.read(len(part)) != part:
                    return size, digest.digest(), chain((part,), parts)
                size += len(part)
                digest.update(part)
            return size, digest.digest(), iter(()) if stream.read(1) else None
    except OSError as fault:
        raise _make_unchecked_error(path, f"cannot be read: {os_reason(fault)}") from fault


def _read_beginning(path: Path | str, size: int, digest: bytes) -> Iterator[bytes]:
    """Yield the first *size* bytes of the file at *path*, unless it has changed meanwhile."""
    found, left = hashlib.sha256(), size
    with open(path, "rb", opener=open_at_once) as stream:
        while left and (piece := stream.read(min(left, _PIECE))):
            left -= len(piece)
            found.update(piece)
            yield piece
    if found.digest() != digest:
        raise _make_unchecked_error(path, "cannot be read: it is being written")


def _is_replaceable(path: Path | str) -> bool:
    with open(path, "rb", opener=open_at_once) as stream:
        start = stream.read(_START)
    if not start or _OURS.match(start):
        # A damaged bundle is ours to replace: its error message advises to rebuild it.
        return True
    try:
        data = read_bytes(path, MAX_BYTES)
    except McpgError as fault:
        raise _make_unchecked_error(path, fault.message) from fault
    try:
        decode_bundle(data, str(path))
    except BundleError:
        return False
    return True


def _make_unchecked_error(path: Path | str, reason: str) -> OutputError:
    return OutputError(
        f"the file exists and cannot be checked before it is overwritten: {reason}",
        place=str(path),
        remedy="move it away, or name another file",
    )
