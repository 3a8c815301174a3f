"""Commands that hold commands."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from mcpg.cli.helptext import group_help
from mcpg.cli.options import HELP_NAMES, output_of


class HelpfulGroup(TyperGroup):
    """A group of commands whose help is plain text."""

    def get_help(self, ctx: Any) -> str:
        return group_help(self, ctx.command_path)


def group(name: str, *, text: str, examples: str) -> typer.Typer:
    """Make the group of commands called *name*, which by itself shows its help.

    Args:
        name: What it is called by.
        text: What its commands are for.
        examples: Calls of its commands, one a line.
    """
    app = typer.Typer(
        name=name,
        cls=HelpfulGroup,
        help=text,
        epilog=examples,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP_NAMES,
    )

    @app.callback(invoke_without_command=True)
    def show_help(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            output_of(ctx.find_root().params).text(ctx.get_help())

    return app
