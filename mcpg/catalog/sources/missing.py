"""What to say about a path that does not exist."""

from __future__ import annotations

import difflib
from pathlib import Path

from mcpg.errors import NotFoundError


def missing_source(argument: str) -> NotFoundError:
    """Make the error for a source that is not there, with the likeliest thing that was meant."""
    if "://" in argument:
        remedy = "addresses are not read: save the answer into a file first"
    elif (close := _close_names(argument)) is not None:
        remedy = f"did you mean {close!r}?"
    else:
        remedy = "check the path"
    return NotFoundError("there is no such file or folder", place=argument or "''", remedy=remedy)


def _close_names(argument: str) -> str | None:
    parent = Path(argument).parent
    try:
        names = sorted(entry.name for entry in parent.iterdir())
    except (OSError, ValueError):
        return None
    close = difflib.get_close_matches(Path(argument).name, names, n=1)
    return (parent / close[0]).as_posix() if close else None
