"""HTML reports on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.replacing import check_replaceable
from mcpg.errors import UsageError
from mcpg.files import atomic_write
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
        OutputError: The file holds something else than a report of mcpg, or cannot be looked at.
        UsageError: *path* is `-`, where the answer itself goes.
    """
    if str(path) == "-":
        raise UsageError(
            "standard output cannot take both the answer and a report",
            place="--html",
            remedy="name a file",
        )
    if not force:
        check_replaceable(path, (MARK,), "report of mcpg")
