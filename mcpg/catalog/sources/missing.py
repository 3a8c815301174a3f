"""What to do about paths that do not exist."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, error
from mcpg.errors import NotFoundError
from mcpg.files import exists

if TYPE_CHECKING:
    from collections.abc import Sequence


def present_sources(paths: Sequence[str]) -> tuple[list[str], tuple[Diagnostic, ...]]:
    """Leave out those of several *paths* at which nothing stands, each with a diagnostic.

    Where nothing stands at any of them, all are kept: reading them says what is wrong.
    """
    present = [path for path in paths if exists(path)]
    if not present:
        return list(paths), ()
    missing = (path for path in paths if path not in present)
    message = "nothing is there: the others are used without it"
    return present, tuple(error(Code.GRAPH_PATH_MISSING, message, path) for path in missing)


def missing_source(argument: str) -> NotFoundError:
    """Make the error for a source that is not there, with the likeliest thing that was meant."""
    if "://" in argument:
        remedy = "files are not fetched: save it first; a server is named as https://HOST/PATH"
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
