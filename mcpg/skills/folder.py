"""Folders of skills: the class `Skill`, and its reading.

The format is Agent Skills (https://agentskills.io/specification). A skill is untrusted: nothing
of it is run, and no file outside its folder is read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mcpg.documents.front_matter import split_front_matter
from mcpg.errors import (
    Code,
    Diagnostic,
    InputError,
    NotFoundError,
    SourceError,
    os_reason,
    warning,
)
from mcpg.files import is_file, is_link, read_bytes
from mcpg.sources.model import SKILL_FILE
from mcpg.text.json_values import JsonObject

MOST_FILES = 512
MOST_BYTES = 16 * 1024**2
"""How many files a skill has at most, and their bytes: what every host of SEP-2640 accepts."""

LONGEST_SKILL_FILE = 1024**2
"""Most bytes of a `SKILL.md`."""

_MOST_FOLDERS = 1024
_MADE = frozenset({"__pycache__"})


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a skill.

    Attributes:
        path: Its path in the folder of the skill, with `/`.
        size: Its bytes.
        digest: `sha256:` and the digest of its bytes in hexadecimal digits.
        content: Its bytes, `None` if only size and digest are known.
    """

    path: str
    size: int
    digest: str
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill.

    Attributes:
        name: The name in its front matter, else the name of its folder.
        body: The text below the front matter.
        folder: The path of its folder in the source, with `/`; "" if that is the source.
        files: All its files by path, `SKILL.md` among them.
        place: Its `SKILL.md`, for messages.
        page_place: The place of its page, "" for a skill that was read from its folder.
    """

    name: str
    description: str
    frontmatter: JsonObject
    body: str
    folder: str
    files: tuple[SkillFile, ...]
    source_id: str = ""
    folder_name: str = ""
    place: str = field(default="", compare=False)
    page_place: str = field(default="", compare=False)
    diagnostics: tuple[Diagnostic, ...] = field(default=(), compare=False)


def read_skill(
    folder: Path | str, *, path: str = "", source_id: str = "", place: str = ""
) -> Skill:
    """Read the skill in *folder*.

    Hidden files and files compiled by Python are not part of a skill. Links to these or out of the
    folder, pipes, and files with names that are not UTF-8 are left out with a diagnostic.

    *path* is the path of the folder in its source, *place* its name in messages.

    Raises:
        SourceError: `SKILL.md` is missing or cannot be read, its front matter is not valid, or the
            skill is larger than `MOST_FILES` and `MOST_BYTES`.
    """
    root = Path(os.path.realpath(folder))
    shown = (place or Path(folder).as_posix()).rstrip("/")
    noticed: list[Diagnostic] = []
    files: list[SkillFile] = []
    size = 0
    for name, file in _walk(root, shown, noticed):
        found = _read_file(name, file, f"{shown}/{name}", MOST_BYTES - size)
        size += found.size
        files.append(found)
        if len(files) > MOST_FILES:
            raise _too_large(f"{MOST_FILES} files", shown)
    return make_skill(
        tuple(files),
        path=path,
        source_id=source_id,
        place=shown,
        folder_name=root.name,
        diagnostics=tuple(noticed),
    )


def make_skill(
    files: tuple[SkillFile, ...],
    *,
    path: str,
    source_id: str,
    place: str,
    folder_name: str,
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Skill:
    """Return the skill of these *files*; its name should equal *folder_name*.

    Errors and further arguments are as in `read_skill`.
    """
    main = next((one.content for one in files if one.path == SKILL_FILE), None)
    place = f"{place}/{SKILL_FILE}"
    if main is None:
        raise SourceError("is not a file that can be read", place=place, remedy="write it")
    values, body = split_skill_file(main, place)
    name = values.get("name")
    description = values.get("description")
    if not (isinstance(name, str) and name.strip()):
        message = "the front matter has no name; the folder's is used"
        diagnostics = (*diagnostics, warning(Code.SKILL_INVALID, message, place))
        name = folder_name
    elif name != folder_name:
        message = f"the name {name[:80]!r} differs from the folder's, {folder_name[:80]!r}"
        diagnostics = (*diagnostics, warning(Code.SKILL_INVALID, message, place))
    return Skill(
        name=name.strip(),
        description=description.strip() if isinstance(description, str) else "",
        frontmatter=values,
        body=body,
        folder=path,
        files=files,
        source_id=source_id,
        folder_name=folder_name,
        place=place,
        diagnostics=diagnostics,
    )


def split_skill_file(data: bytes, place: str) -> tuple[JsonObject, str]:
    """Return the front matter of a `SKILL.md` and the text below; raises `SourceError`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        message = f"is not UTF-8 text: byte 0x{data[fault.start]:02x} at offset {fault.start}"
        raise SourceError(message, place=place, remedy="save it as UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        parts = split_front_matter(text, place)
    except InputError as fault:
        raise SourceError(fault.message, place=fault.place, remedy=fault.remedy) from fault
    if not parts.values:
        remedy = "begin it with front matter that has a name and a description"
        raise SourceError("has no front matter", place=place, remedy=remedy)
    return parts.values, parts.markdown.strip("\n")


def _walk(root: Path, place: str, noticed: list[Diagnostic]) -> Iterator[tuple[str, Path]]:
    """Yield the paths of a skill's files, sorted, and the files of the file system."""
    found: list[tuple[str, Path]] = []
    folders = [root]
    for number, folder in enumerate(folders):
        if number >= _MOST_FOLDERS or len(found) > MOST_FILES:
            raise _too_large(f"{MOST_FILES} files", place)
        try:
            entries = sorted(folder.iterdir())
        except OSError as fault:
            message = f"cannot be read: {os_reason(fault)}"
            raise SourceError(message, place=place, remedy="check its permissions") from fault
        for entry in entries:
            if _is_left_out(entry.name):
                continue
            name = entry.relative_to(root).as_posix()
            reason = _find_fault(entry, root, name)
            if reason:
                shown = f"{place}/{ascii(name)[1:-1] if not name.isprintable() else name}"
                message = f"{reason}; it is not part of the skill"
                noticed.append(warning(Code.SKILL_INVALID, message, shown))
            elif entry.is_dir():
                folders.append(entry)
            else:
                found.append((name, entry))
    yield from sorted(found)


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name in _MADE


def _find_fault(entry: Path, root: Path, name: str) -> str:
    """Return why an entry of a folder is not part of the skill, "" if it is."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "the name is not UTF-8"
    if is_link(entry):
        target = Path(os.path.realpath(entry))
        if not target.is_relative_to(root):
            return "this link points outside the skill"
        if any(map(_is_left_out, target.relative_to(root).parts)):
            return "this link points to a hidden file"
        if not is_file(target):
            return "this link does not point to a file"
    elif not (entry.is_dir() or is_file(entry)):
        return "this is not a regular file"
    return ""


def _read_file(name: str, file: Path, place: str, left: int) -> SkillFile:
    limit = min(left, LONGEST_SKILL_FILE) if name == SKILL_FILE else left
    try:
        data = read_bytes(file, max(limit, 0))
    except (InputError, NotFoundError) as fault:  # the file may have been removed just now
        remedy = "check its size and permissions"
        raise SourceError(fault.message, place=place, remedy=remedy) from fault
    return SkillFile(name, len(data), compute_digest(data), data)


def compute_digest(data: bytes) -> str:
    """Return the digest of *data* as SEP-2640 writes it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _too_large(limit: str, place: str) -> SourceError:
    remedy = "move unneeded files out of its folder"
    return SourceError(f"the skill has more than {limit}", place=place, remedy=remedy)
