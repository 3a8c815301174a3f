"""Atomic writes and bounded reads of files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcpg.errors import Code, Diagnostic, InputError, NotFoundError, OutputError, error, os_reason

if os.name == "posix":
    import fcntl

MAX_BYTES = 2 * 1024**3
"""Largest manifest, document or bundle that is read or written, in bytes."""

_TEMPORARY = (".mcpg-", ".tmp")
_ABANDONED_SECONDS = 3600.0  # where locks cannot be had, an older temporary file is in use no more
_CLOCK_SKEW_SECONDS = 3600.0
_CHUNK = 1024 * 1024
_HAS_LOCKS = os.name == "posix"
_LOCK_SECONDS = 60.0
_POLL_SECONDS = 0.02

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
    path: Path | str,
    data: bytes | Iterable[bytes | memoryview],
    *,
    sync: bool = True,
    private: bool = False,
    special: bool = True,
) -> None:
    """Write *data* to the file at *path* atomically.

    The bytes go to a temporary file in the same folder, reach the disk, and take the name in one
    step; owner, group and permissions of a file that is replaced stay, and missing folders are
    made. A symbolic link stays and the file it names is written. A pipe or device is written
    straight, because taking its name would destroy it. Temporary files that killed processes left
    in the folder are removed.

    Args:
        path: The file to write.
        data: Its whole new content, or the parts of it.
        sync: Wait until the disk has it. Without, a power cut may leave an empty file, but
            thousands of files that can be made again are written many times faster.
        private: Make the file readable by its owner only, whatever its mode was before.
        special: Also write to a pipe or a device, which may wait for its reader.

    Raises:
        OutputError: The file cannot be written; its previous content is intact.
    """
    with _convert_to_output_error(path):
        target = Path(path).resolve()
        remove_leftovers(target.parent)
        _write(target, data, sync=sync, private=private, special=special)


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write each of *files* atomically, without waiting until the disk has it."""
    tidied: set[Path] = set()
    for path, data in files.items():
        with _convert_to_output_error(path):
            target = path.resolve()
            if target.parent not in tidied:
                remove_leftovers(target.parent)
                tidied.add(target.parent)
            _write(target, data, sync=False, private=False, special=False)


@contextmanager
def temporary_folder(parent: Path | str) -> Iterator[Path]:
    """Make a folder in *parent*, which only its owner can read, and remove it after the block.

    A folder that a killed process left is removed by `remove_leftovers`.

    Raises:
        OutputError: It cannot be made.
    """
    with _convert_to_output_error(parent):
        remove_leftovers(parent)
        folder, handle = _make_folder(parent)
    try:
        yield folder
    finally:
        remove_folder(folder)
        if handle is not None:
            os.close(handle)


def _make_folder(parent: Path | str) -> tuple[Path, int | None]:
    """Make a temporary folder, and return its path and a handle of it that locks it."""
    while True:
        folder = temporary_name(parent)
        folder.mkdir(0o700)
        handle = os.open(folder, os.O_RDONLY) if _HAS_LOCKS else None
        if handle is None or (_lock(handle) is not False and folder.exists()):
            return folder, handle
        os.close(handle)  # as in `new_file`


def remove_folder(folder: Path | str) -> None:
    """Remove *folder* with its content, except what cannot be removed."""
    import shutil  # noqa: PLC0415 - slow, and a search removes no folder

    shutil.rmtree(folder, ignore_errors=True)


def temporary_name(folder: Path | str) -> Path:
    """Return a new path in *folder* that `remove_leftovers` removes unless it is locked."""
    prefix, suffix = _TEMPORARY
    return Path(folder, f"{prefix}{os.urandom(8).hex()}{suffix}")


def remove_leftovers(folder: Path | str) -> None:
    """Remove the temporary files that killed processes left in *folder*, except those in use.

    The same holds for temporary folders.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        prefix, suffix = _TEMPORARY
        for entry in found:
            if entry.name.startswith(prefix) and entry.name.endswith(suffix):
                with contextlib.suppress(OSError):  # a file that cannot be removed stays
                    _remove_unused(entry.path, is_folder=entry.is_dir(follow_symlinks=False))


@contextmanager
def locked_folder(folder: Path | str, *, seconds: float = _LOCK_SECONDS) -> Iterator[None]:
    """Lock *folder* for as long as the block runs; a missing folder is created.

    The operating system locks the folder itself, without a lock file, and the lock ends with
    its process. On systems without such locks, such as Windows, nothing is locked.

    Raises:
        OutputError: Another process has the lock for longer than *seconds*, or the folder cannot
            be created.
    """
    with _convert_to_output_error(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    handle = None
    with contextlib.suppress(OSError):  # of a folder that may be written and not be listed
        handle = os.open(folder, os.O_RDONLY) if _HAS_LOCKS else None
    try:
        deadline = time.monotonic() + seconds
        while handle is not None and _lock(handle) is False:
            if time.monotonic() > deadline:
                raise OutputError(
                    f"another process has been writing for more than {seconds:.0f} s",
                    place=str(folder),
                    remedy="wait until it has ended, or end it",
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def read_last_use(path: Path | str) -> float:
    """Return the modification time of *path*, or 0 if it cannot be read.

    A time in the future is also 0. Otherwise files from before the clock was set back would outlive
    all newer ones in a cache that keeps the last used.
    """
    with contextlib.suppress(OSError):
        used = Path(path).stat().st_mtime
        return used if used < time.time() + _CLOCK_SKEW_SECONDS else 0.0
    return 0.0


def _check(path: Path | str, test: Callable[[Path], bool]) -> bool:
    try:
        return test(Path(path))
    except (OSError, ValueError):
        return False


def exists(path: Path | str) -> bool:
    """Return whether *path* exists; false if it cannot be checked."""
    return _check(path, Path.exists)


def present_paths(paths: Sequence[str]) -> tuple[list[str], tuple[Diagnostic, ...]]:
    """Drop the *paths* that do not exist, each with a diagnostic.

    If none exists, all are kept, and reading them reports the error.
    """
    present = [path for path in paths if exists(path)]
    if not present:
        return list(paths), ()
    missing = (path for path in paths if path not in present)
    message = "no such bundle, folder or manifest: using only the others"
    return present, tuple(error(Code.GRAPH_PATH_MISSING, message, path) for path in missing)


def is_file(path: Path | str) -> bool:
    """Return whether *path* is a regular file; false if it cannot be checked."""
    return _check(path, Path.is_file)


def is_folder(path: Path | str) -> bool:
    """Return whether *path* is a folder; false if it cannot be checked."""
    return _check(path, Path.is_dir)


def is_link(path: Path | str) -> bool:
    """Return whether *path* is a symbolic link; false if it cannot be checked."""
    return _check(path, Path.is_symlink)


def text_of_path(path: Path | str) -> str:
    """Return *path* decoded as UTF-8, whatever the encoding of the system.

    Invalid bytes become U+FFFD, so the text is for people and names, not for opening.
    """
    return os.fsencode(path).decode("utf-8", "replace")


def read_bytes(path: Path | str, limit: int) -> bytes:
    """Read the file at *path*, of at most *limit* bytes.

    A pipe without a writer is empty; the call does not wait for one.

    Raises:
        NotFoundError: The file does not exist.
        InputError: It is a folder, cannot be read, or is larger than *limit* bytes.
    """
    try:
        with open(path, "rb", opener=open_at_once) as stream:
            # A file that is too large is refused unread; a pipe has no size beforehand.
            is_too_large = os.fstat(stream.fileno()).st_size > limit
            data = b"" if is_too_large else stream.read(limit + 1)
    except FileNotFoundError as fault:
        raise NotFoundError("no such file", place=str(path), remedy="check the path") from fault
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
    if is_too_large or len(data) > limit:
        raise InputError(
            f"is larger than {limit:,} bytes",
            place=str(path),
            remedy="split it into smaller files",
        )
    return data


def file_holds(path: Path | str, part: bytes) -> bool:
    """Return whether the regular file at *path* contains the bytes *part*, reading it in chunks.

    The result is false if the file cannot be read.
    """
    before = b""
    try:
        with open(path, "rb", buffering=0, opener=open_at_once) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return False
            while chunk := stream.read(_CHUNK):
                held = before + chunk
                if part in held:
                    return True
                before = held[-len(part) :]
    except (OSError, ValueError):
        return False
    return False


def open_at_once(path: str, flags: int) -> int:
    """Open *path* without waiting for who writes to a pipe; an opener for `open`."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    return handle


@contextmanager
def _convert_to_output_error(path: Path | str) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError) as fault:
        raise output_error(path, fault) from fault


def _write(
    target: Path,
    data: bytes | Iterable[bytes | memoryview],
    *,
    sync: bool,
    private: bool,
    special: bool,
) -> None:
    parts = (data,) if isinstance(data, bytes) else data
    status = None
    with contextlib.suppress(FileNotFoundError):
        status = target.stat()
    if status is None or stat.S_ISREG(status.st_mode):
        _replace(target, parts, status, sync=sync, private=private)
    elif stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    elif special:
        with target.open("wb") as stream:
            stream.writelines(parts)
    else:
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file")


def _replace(
    target: Path,
    parts: Iterable[bytes | memoryview],
    status: os.stat_result | None,
    *,
    sync: bool,
    private: bool,
) -> None:
    mode = None if status is None else status.st_mode
    if mode is not None and not (mode & 0o222 and os.access(target, os.W_OK)):
        # Renaming over it would work, but its owner has made it read-only.
        raise PermissionError(errno.EACCES, "the file is read-only")
    target.parent.mkdir(parents=True, exist_ok=True)
    final = 0o600 if private else mode
    temporary, handle = new_file(target.parent, final)
    # The copy keeps the lock while the file itself is closed, as Windows needs to rename it.
    lock = os.dup(handle) if _HAS_LOCKS else None
    try:
        _fill(temporary, handle, parts, final, status, sync=sync)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    if sync:
        _sync_folder(target.parent)


def new_file(folder: Path, mode: int | None) -> tuple[Path, int]:
    """Make a temporary file in *folder*, and return its path and a handle of it.

    If the system can, it is locked until the handle is closed. If the process is killed, a later
    write to the folder removes the file. It has the *mode*, `None` for that of any new file.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        temporary = temporary_name(folder)
        # Closed to others from the first moment: its mode is widened only once it is whole.
        handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
        if _lock(handle) is not False and temporary.exists():
            return temporary, handle
        os.close(handle)  # another process took it for a leftover before it was locked


def _fill(
    temporary: Path,
    handle: int,
    parts: Iterable[bytes | memoryview],
    mode: int | None,
    owner: os.stat_result | None,
    *,
    sync: bool,
) -> None:
    with os.fdopen(handle, "wb") as stream:
        stream.writelines(parts)
        stream.flush()
        if sync:
            os.fsync(stream.fileno())
    if owner is not None and hasattr(os, "chown"):
        for user, group in ((-1, owner.st_gid), (owner.st_uid, -1)):
            # Only root can give files away, and some file systems have no owners.
            with contextlib.suppress(OSError):
                os.chown(temporary, user, group)
    if mode is not None:
        temporary.chmod(stat.S_IMODE(mode))


def _remove_unused(path: str, *, is_folder: bool) -> None:
    """Remove a temporary file or folder that no process has locked."""
    flags = os.O_RDONLY if is_folder else os.O_RDWR
    handle = os.open(path, flags | os.O_NOFOLLOW) if _HAS_LOCKS else None
    try:
        is_ours = None if handle is None else _lock(handle)
        age = time.time() - Path(path).lstat().st_mtime
        if is_ours or (is_ours is None and age > _ABANDONED_SECONDS):
            remove_folder(path) if is_folder else Path(path).unlink()
    finally:
        if handle is not None:
            os.close(handle)


def _lock(handle: int) -> bool | None:
    """Lock an open file or folder; `False` if another process has, `None` without such locks."""
    if not _HAS_LOCKS:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # of some network file systems
        return None
    return True


def _sync_folder(folder: Path) -> None:
    # The new name itself must survive a power cut; not every platform can promise that.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def output_error(path: Path | str, fault: Exception) -> OutputError:
    """Return the error of a file at *path* that cannot be written because of *fault*."""
    number = getattr(fault, "errno", None)
    remedy = _REMEDIES.get(number or 0, "choose another place")
    if number == errno.EISDIR:
        remedy = "name a file inside it"
    return OutputError(f"cannot be written: {os_reason(fault)}", place=str(path), remedy=remedy)
