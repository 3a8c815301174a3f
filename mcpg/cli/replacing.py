"""Files that a command may replace: those that it wrote, known by how they begin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.errors import OutputError, os_reason
from mcpg.files import is_file

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_replaceable(
    path: Path | str,
    marks: Sequence[bytes],
    what: str,
    remedy: str = "name another file, or move it away",
) -> None:
    """See that nothing is lost by writing to *path*.

    An empty file, and what is no ordinary file, may be written.

    Args:
        path: Where something is to be written.
        marks: How files begin that may be replaced.
        what: What such a file is, for the message.
        remedy: What to do about a file that is none.

    Raises:
        OutputError: The file begins otherwise, or cannot be looked at.
    """
    if not is_file(path):
        return
    start = _start_of(path, max(map(len, marks)), remedy)
    if start and not start.startswith(tuple(marks)):
        raise OutputError(
            f"the file exists and is no {what}, so it is not overwritten",
            place=str(path),
            remedy=remedy,
        )


def _start_of(path: Path | str, size: int, remedy: str) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(size)
    except OSError as fault:
        raise OutputError(
            f"the file exists and cannot be checked before it is overwritten: {os_reason(fault)}",
            place=str(path),
            remedy=remedy,
        ) from fault
