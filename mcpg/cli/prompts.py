"""Questions to the person at the terminal."""

from __future__ import annotations

import sys
from functools import cache

import typer

from mcpg.cli.output import pause_progress
from mcpg.cli.terminal import is_terminal, one_line
from mcpg.errors import UsageError
from mcpg.sources.client_inputs import AskUser, ClientInput


def confirm(question: str, place: str, remedy: str) -> bool:
    """Ask the person at the terminal; without a terminal, *remedy* is the advice of the error."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError("no terminal to confirm on", place=place, remedy=remedy)
    return typer.confirm(question, err=True)


def find_asker() -> AskUser | None:
    """Return a function that asks for an input at the terminal; `None` without a terminal."""
    is_answered = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    return _ask_input if is_answered else None


@cache  # a configuration may be read several times
def _ask_input(one: ClientInput) -> str:
    purpose = f" ({one_line(one.description)})" if one.description else ""
    with pause_progress():
        try:
            found: str = typer.prompt(
                f"{one_line(one.name)}{purpose}",
                default=one.default or None,
                hide_input=one.is_password,
                show_default=not one.is_password,
                err=True,
            )
        except typer.Abort:
            raise KeyboardInterrupt from None
    return found
