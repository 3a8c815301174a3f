"""HTML reports on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.errors import McpgError, OutputError, UsageError
from mcpg.files import MAX_BYTES, atomic_write, is_file, read_bytes
from mcpg.reports import MARK

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.cli.output import Output


def write_report(path: Path | str, report: str, output: Output, *, force: bool = False) -> None:
    """Write *report* to *path* in one step, and say so.

    Raises:
        OutputError: See `check_place`; or the file cannot be written.
        UsageError: See `check_place`.
    """
    check_place(path, force=force)
    data = report.encode("utf-8")
    atomic_write(path, data)
    output.note(f"wrote {path}: {len(data):,} bytes")


def check_place(path: Path | str, *, force: bool = False) -> None:
    """See that a report may be written to *path*, before the work for it is done.

    Args:
        path: Where it is to be written.
        force: Whether to replace what is no report of mcpg.

    Raises:
        OutputError: The file holds something else than a report of mcpg.
        UsageError: *path* is `-`, where the answer itself goes.
    """
    if str(path) == "-":
        raise UsageError(
            "standard output cannot take both the answer and a report",
            place="--html",
            remedy="name a file",
        )
    if not force and is_file(path) and not _is_replaceable(path):
        raise OutputError(
            "the file exists and is no report of mcpg, so it is not overwritten",
            place=str(path),
            remedy="name another file, or move it away",
        )


def _is_replaceable(path: Path | str) -> bool:
    try:
        present = read_bytes(path, MAX_BYTES)
    except McpgError as fault:
        raise OutputError(
            f"the file exists and cannot be checked before it is overwritten: {fault.message}",
            place=str(path),
            remedy="move it away, or name another file",
        ) from fault
    return not present or present.startswith(MARK)
