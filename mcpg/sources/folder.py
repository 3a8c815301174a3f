"""The source files of a folder, in an order that does not depend on the file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcpg.errors import Code, Diagnostic, SourceError, error, os_reason, warning
from mcpg.files import exists, is_file, text_of_path
from mcpg.sources.model import may_be_source


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of a folder that may be a source.

    Attributes:
        location: Where to open it.
        path: Its path relative to the folder, with `/`.
        place: The folder as given and the path, for messages.
    """

    location: Path
    path: str
    place: str


def walk_folder(folder: str) -> tuple[tuple[FolderFile, ...], tuple[Diagnostic, ...]]:
    """Find the files in *folder* and below that may be sources, sorted by path.

    Hidden files and folders, folders behind symbolic links and files of other types are passed
    over. A link to a file outside the folder is passed over with a diagnostic, since a folder
    from strangers must not show files that are not its own; so is a pipe, which could block.

    Raises:
        SourceError: The folder itself cannot be read.
    """
    failed: list[OSError] = []
    noticed: list[Diagnostic] = []
    files: list[FolderFile] = []
    root = os.path.realpath(folder)
    for location in sorted(_locations(folder, failed), key=lambda item: _relative(item, folder)):
        path = _relative(location, folder)
        place = f"{_prefix(folder)}{path}"
        fault = _fault(location, root)
        if fault is None:
            files.append(FolderFile(location, text_of_path(path), place))
        else:
            shown = place if _is_unicode(location.name) else ascii(place)[1:-1]
            noticed.append(warning(Code.SOURCE_SKIPPED, f"{fault}; it is passed over", shown))
    noticed.extend(_unreadable(fault, folder) for fault in failed)
    return tuple(files), tuple(noticed)


def _fault(location: Path, root: str) -> str | None:
    """Return why a file of the folder *root* cannot be a source, or `None`."""
    if not _is_unicode(location.name):
        return "the name of this file is not Unicode"
    if location.is_symlink() and not Path(os.path.realpath(location)).is_relative_to(root):
        return "this link leads out of its folder"
    if exists(location) and not is_file(location):
        return "this is a pipe or a device, no ordinary file"
    return None


def _locations(folder: str, failed: list[OSError]) -> Iterator[Path]:
    for here, folders, names in os.walk(folder, onerror=failed.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and may_be_source(name):
                yield Path(here, name)


def _unreadable(fault: OSError, folder: str) -> Diagnostic:
    message = f"this folder cannot be read: {os_reason(fault)}"
    path = _relative(Path(str(fault.filename)), folder)
    if path == ".":
        remedy = "give yourself the right to read it"
        raise SourceError(message, place=folder, remedy=remedy) from fault
    return error(Code.SOURCE_LOAD_FAILED, message, f"{_prefix(folder)}{path}")


def _relative(location: Path, folder: str) -> str:
    return location.relative_to(folder).as_posix()


def _prefix(folder: str) -> str:
    """Write the folder as given, so that a path can follow."""
    shown = Path(folder).as_posix()
    if shown == ".":
        return ""
    return shown if shown.endswith("/") else f"{shown}/"


def _is_unicode(name: str) -> bool:
    try:
        os.fsencode(name).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
