"""`mcpg cache`."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import keeping, options
from mcpg.cli.exits import ExitCode
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.sanitise import one_line
from mcpg.cli.screen import is_terminal
from mcpg.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = """\
mcpg cache
mcpg cache clear
mcpg cache clear --what store --what vectors --yes"""


class Action(StrEnum):
    """What to do with what is kept."""

    SHOW = "show"
    CLEAR = "clear"


What = Annotated[
    list[keeping.Kind] | None,
    typer.Option(
        "--what",
        metavar="|".join(keeping.Kind),
        show_default=False,
        help="Only these; give it again for several.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "cache", examples=EXAMPLES)(cache)


def cache(
    output: Output,
    *,
    action: Annotated[
        Action, typer.Argument(metavar="show|clear", help="List what is kept, or remove it.")
    ] = Action.SHOW,
    what: What = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    bundle: options.BundlePaths = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Show what mcpg keeps on this machine, where and how large; or remove it.

    That is indexes and vectors beside the bundle; and in the cache folder (MCPG_CACHE) those of
    bundles that lie where nothing can be written, graphs of many vectors, what building remembers,
    and the store of vectors. All of it is made again when it is needed; your own files are never
    touched.
    """
    found = keeping.kept_files(options.settings_of(bundle=bundle))
    chosen = [kept for kept in found if not what or kept.kind in what]
    is_clearing = action is Action.CLEAR and bool(chosen)
    if form is OutputFormat.TEXT:
        _show(chosen, output)
    if is_clearing and (yes or _agrees(chosen)):
        keeping.remove(chosen)
        output.note(f"removed {_told(chosen)}")
    elif is_clearing:
        is_clearing = False
        output.note("nothing is removed")
    if form is OutputFormat.JSON:
        output.json(keeping.cache_json(chosen, removed=is_clearing))
    return ExitCode.DONE


def _show(files: Sequence[keeping.Kept], output: Output) -> None:
    for kept in files:
        output.text(
            f"{kept.kind:<8}{keeping.shown_size(kept.size):>12}  {one_line(str(kept.path))}"
        )
    if not files:
        output.note("nothing is kept")


def _told(files: Sequence[keeping.Kept]) -> str:
    size = keeping.shown_size(sum(kept.size for kept in files))
    return f"{len(files)} file{'s' if len(files) > 1 else ''}, {size}"


def _agrees(files: Sequence[keeping.Kept]) -> bool:
    """Ask the person at the terminal.

    Raises:
        UsageError: There is nobody to ask.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError("there is nobody to ask", place="clear", remedy="say --yes to remove")
    return typer.confirm(f"Remove {_told(files)}?", err=True)
