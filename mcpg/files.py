"""Atomic writes and bounded reads of files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from mcpg.errors import Code, Diagnostic, InputError, NotFoundError, OutputError, error, os_reason

MAX_BYTES = 256 * 1024 * 1024
"""Largest manifest, document or bundle that is read or written, in bytes."""

_REMEDIES = {
    errno.EACCES: "give yourself the right to write there, or choose another place",
    errno.EPERM: "give yourself the right to write there, or choose another place",
    errno.EROFS: "choose a place on a file system that can be written",
    errno.ENOSPC: "free some space, or choose another disk",
    errno.EDQUOT: "free some space, or choose another disk",
    errno.ENOTDIR: "a part of the path is a file where a folder is needed: choose another path",
    errno.EEXIST: "a part of the path is a file where a folder is needed: choose another path",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ELOOP: "the path runs through a circle of symbolic links: remove it",
}


def atomic_write(
    path: Path | str, data: bytes, *, sync: bool = True, private: bool = False
) -> None:
    """Write *data* to the file at *path* atomically.

    The bytes go to a temporary file in the same folder, reach the disk, and take the name in one
    step; permissions of a file that is replaced stay, and missing folders are made. A symbolic link
    stays and the file it names is written. A pipe or device is written straight, because taking
    its name would destroy it.

    Args:
        path: The file to write.
        data: Its whole new content.
        sync: Wait until the disk has it. Without, a power cut may leave an empty file, but
            thousands of files that can be made again are written many times faster.
        private: Let nobody but its owner read the file, whatever stood there before.

    Raises:
        OutputError: The file cannot be written; what stood there before still stands.
    """
    try:
        target = Path(path).resolve()
        mode = _mode_of(target)
        if mode is None or stat.S_ISREG(mode):
            _replace(target, data, mode, sync=sync, private=private)
        else:
            _write_special(target, data, mode)
    except (OSError, RuntimeError, ValueError) as fault:
        raise _output_error(path, fault) from fault


def exists(path: Path | str) -> bool:
    """Return whether *path* exists; false where it cannot be checked."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def present_paths(paths: Sequence[str]) -> tuple[list[str], tuple[Diagnostic, ...]]:
    """Leave out those of several *paths* at which nothing stands, each with a diagnostic.

    Where nothing stands at any of them, all are kept: reading them says what is wrong.
    """
    present = [path for path in paths if exists(path)]
    if not present:
        return list(paths), ()
    missing = (path for path in paths if path not in present)
    message = "nothing is there: the others are used without it"
    return present, tuple(error(Code.GRAPH_PATH_MISSING, message, path) for path in missing)


def is_file(path: Path | str) -> bool:
    """Return whether *path* is a regular file; false where it cannot be checked."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path | str) -> bool:
    """Return whether *path* is a folder; false where it cannot be checked."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_link(path: Path | str) -> bool:
    """Return whether *path* is a symbolic link; false where it cannot be checked."""
    try:
        return Path(path).is_symlink()
    except (OSError, ValueError):
        return False


def text_of_path(path: Path | str) -> str:
    """Return *path* decoded as UTF-8, whatever the encoding of the system.

    Invalid bytes become U+FFFD, so the text is for people and names, not for opening.
    """
    return os.fsencode(path).decode("utf-8", "replace")


def read_bytes(path: Path | str, limit: int) -> bytes:
    """Read the file at *path*.

    A pipe without a writer is empty; the call does not wait for one.

    Args:
        path: The file to read.
        limit: Maximum size in bytes.

    Raises:
        NotFoundError: There is no such file.
        InputError: It is a folder, cannot be read, or holds more than *limit* bytes.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError as fault:
        raise NotFoundError(
            "there is no such file", place=str(path), remedy="check the path"
        ) from fault
    except IsADirectoryError as fault:
        raise InputError(
            "is a folder where a file is needed", place=str(path), remedy="name a file"
        ) from fault
    except (OSError, ValueError) as fault:
        raise InputError(
            f"cannot be read: {os_reason(fault)}",
            place=str(path),
            remedy="check the path and your right to read it",
        ) from fault
    if len(data) > limit:
        raise InputError(
            f"holds more than {limit:,} bytes",
            place=str(path),
            remedy="split it into smaller files",
        )
    return data


def _open_at_once(path: str, flags: int) -> int:
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    return handle


def _mode_of(target: Path) -> int | None:
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(target: Path, data: bytes, mode: int | None, *, sync: bool, private: bool) -> None:
    if mode is not None and not (mode & 0o222 and os.access(target, os.W_OK)):
        # Renaming over it would work, but its owner has said that it is not to be changed.
        raise PermissionError(errno.EACCES, "the file is read-only")
    target.parent.mkdir(parents=True, exist_ok=True)
    import secrets  # noqa: PLC0415 - what only reads needs none

    temporary = target.parent / f".mcpg-{secrets.token_hex(8)}.tmp"
    try:
        _write_new(temporary, data, 0o600 if private else mode, sync=sync)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if sync:
        _sync_folder(target.parent)


def _write_new(temporary: Path, data: bytes, mode: int | None, *, sync: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # Closed to others from the first moment: its mode is widened only once it is whole.
    with os.fdopen(os.open(temporary, flags, 0o666 if mode is None else 0o600), "wb") as stream:
        stream.write(data)
        stream.flush()
        if sync:
            os.fsync(stream.fileno())
    if mode is not None:
        temporary.chmod(stat.S_IMODE(mode))


def _sync_folder(folder: Path) -> None:
    # The new name itself must survive a power cut; not every platform can promise that.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_special(target: Path, data: bytes, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    with target.open("wb") as stream:
        stream.write(data)


def _output_error(path: Path | str, fault: Exception) -> OutputError:
    number = getattr(fault, "errno", None)
    remedy = _REMEDIES.get(number or 0, "choose another place")
    if number == errno.EISDIR:
        remedy = "name a file inside it"
    return OutputError(f"cannot be written: {os_reason(fault)}", place=str(path), remedy=remedy)
