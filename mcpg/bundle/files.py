"""The bundle file on disk."""

from __future__ import annotations

import re
from pathlib import Path

from mcpg.bundle.codec import Bundle, decode_bundle, encode_bundle
from mcpg.errors import BundleError, McpgError, OutputError
from mcpg.files import MAX_BYTES, atomic_write, is_file, read_bytes

# How every bundle of this version begins, damaged further on or not.
_OURS = re.compile(rb'\s*\{\s*"version"\s*:\s*1\s*,\s*"documents"\s*:\s*\[')


def read_bundle(path: Path | str) -> Bundle:
    """Read the bundle file at *path*.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read.
        BundleError: It is no bundle, or a damaged one.
    """
    # One byte more than a bundle may have, so that the limit is reported as a bundle's own.
    return decode_bundle(read_bytes(path, MAX_BYTES + 1), str(path))


def write_bundle(path: Path | str, bundle: Bundle, *, force: bool = False) -> bool:
    """Write *bundle* to *path* in one step; an equal file is not touched.

    Args:
        path: The file to write.
        bundle: What it shall hold.
        force: Replace a file that is no bundle as well.

    Returns:
        Whether the bytes of the file changed.

    Raises:
        BundleError: The bundle cannot be written as it is.
        OutputError: The file cannot be written, or is no bundle and *force* is not set.
    """
    return write_encoded(path, encode_bundle(bundle), force=force)


def write_encoded(path: Path | str, data: bytes, *, force: bool = False) -> bool:
    """Write the bytes of a bundle as `write_bundle` does.

    Raises:
        OutputError: See `write_bundle`.
    """
    present = _present(Path(path))
    if present == data:
        return False
    if present and not force and not _is_bundle(present, str(path)):
        raise OutputError(
            "the file exists and is no bundle, so it is not overwritten",
            place=str(path),
            remedy="name another file, or use --force",
        )
    atomic_write(path, data)
    return True


def _present(path: Path) -> bytes | None:
    if not is_file(path):
        return None
    try:
        return read_bytes(path, MAX_BYTES)
    except McpgError as fault:
        raise OutputError(
            f"the file exists and cannot be checked before it is overwritten: {fault.message}",
            place=str(path),
            remedy="move it away, or name another file",
        ) from fault


def _is_bundle(data: bytes, place: str) -> bool:
    if _OURS.match(data):
        # A damaged bundle is ours to replace: rebuilding it is what its error message advises.
        return True
    try:
        decode_bundle(data, place)
    except BundleError:
        return False
    return True
