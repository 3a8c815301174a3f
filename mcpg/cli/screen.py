"""What is known of the two streams: whether somebody looks, in which colours, how wide."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from mcpg.diagnostics import Diagnostic

PIPE_WIDTH = 100
"""Columns of text that goes to a pipe or a file."""

AUTO, ALWAYS, NEVER = "auto", "always", "never"
"""When to colour."""

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_SEVERITY_STYLES = {"info": "cyan", "warning": "yellow", "error": "red"}


class Screen:
    """Formats text for the streams of this process."""

    def __init__(self, color: str = AUTO) -> None:
        self._color = color

    def colored(self, stream: TextIO | None) -> bool:
        """Say whether text on *stream* is coloured."""
        if self._color != AUTO:
            return self._color == ALWAYS
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return is_terminal(stream) and os.environ.get("TERM") != "dumb"

    def paint(self, text: str, style: str) -> str:
        """Colour *text* for standard output where colour is wanted."""
        return paint(text, style, on=self.colored(sys.stdout))

    @property
    def columns(self) -> int:
        """Columns that a line of data may take."""
        return _terminal_columns() if is_terminal(sys.stdout) else PIPE_WIDTH

    def diagnostic_line(self, item: Diagnostic) -> str:
        """Give the line, with its end, that tells *item* on standard error."""
        from mcpg.cli.sanitise import one_line  # noqa: PLC0415 - most searches notice nothing

        style = _SEVERITY_STYLES[item.severity]
        label = paint(f"{item.severity}[{item.code}]:", style, on=self.colored(sys.stderr))
        where = f" ({one_line(item.place)})" if item.place else ""
        return f"{label} {one_line(item.message)}{where}\n"


def paint(text: str, style: str, *, on: bool) -> str:
    """Put *text* in one of the known styles when *on*."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if on and text else text


def is_terminal(stream: TextIO | None) -> bool:
    """Say whether a person looks at *stream*."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def prepare_streams() -> None:
    """Make both streams speak UTF-8 with LF on any platform, and never fail on a character."""
    if sys.stdout is None:  # closed by whoever started the program
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def silence() -> None:
    """Point standard output at nothing, so that the interpreter's last flush stays quiet."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


def _terminal_columns() -> int:
    """Give the width of the terminal, as `shutil.get_terminal_size` does."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or PIPE_WIDTH
    except (OSError, ValueError, AttributeError):
        return 80
