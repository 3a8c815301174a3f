"""Properties of the two streams: whether they are terminals, their colors, their width."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from io import BufferedReader
from typing import Any, TextIO

from mcpg.errors import Diagnostic
from mcpg.text.json_values import write_json
from mcpg.values import first_sentence, format_count

PIPE_WIDTH = 100
"""Columns at which text that goes to a pipe or a file is wrapped."""

SENTENCE_WIDTH = 200
"""Columns at which the first sentence of a description is cut in a pipe."""

UNLIMITED = sys.maxsize
"""Columns of a row that is never cut."""

AUTO, ALWAYS, NEVER = "auto", "always", "never"
"""When to color."""

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_SEVERITY_STYLES = {"info": "cyan", "warning": "yellow", "error": "red"}


class Screen:
    """Formats text for the streams of this process.

    Attributes:
        shows_all: Whether descriptions are shown whole.
    """

    def __init__(self, color: str = AUTO) -> None:
        self.color = color
        self.shows_all = False

    def is_colored(self, stream: TextIO | None) -> bool:
        if self.color != AUTO:
            return self.color == ALWAYS
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return is_terminal(stream) and os.environ.get("TERM") != "dumb"

    def paint(self, text: str, style: str) -> str:
        return paint(text, style, on=self.is_colored(sys.stdout))

    @property
    def columns(self) -> int:
        return _terminal_columns() if is_terminal(sys.stdout) else PIPE_WIDTH

    @property
    def row_columns(self) -> int:
        """Columns that a row may take before it is cut: in a pipe, which others search, any."""
        is_cut = is_terminal(sys.stdout) and not self.shows_all
        return _terminal_columns() if is_cut else UNLIMITED

    @property
    def is_brief(self) -> bool:
        """Whether a description is cut to a sentence: in a pipe, unless it is wanted whole."""
        return not (self.shows_all or is_terminal(sys.stdout))

    def shorten(self, description: str) -> str:
        """Return a *description*, or its first sentence if that is enough."""
        if not self.is_brief:
            return description
        return cut(one_line(first_sentence(description[: 8 * SENTENCE_WIDTH])), SENTENCE_WIDTH)

    def diagnostic_line(self, item: Diagnostic) -> str:
        """Return the line, with its end, that reports *item* on standard error."""
        style = _SEVERITY_STYLES[item.severity]
        label = paint(f"{item.severity}[{item.code}]:", style, on=self.is_colored(sys.stderr))
        where = f" ({one_line(item.place)})" if item.place else ""
        return f"{label} {one_line(item.message)}{where}\n"


def paint(text: str, style: str, *, on: bool) -> str:
    """Put *text* in one of the known styles when *on*."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if on and text else text


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person looks at *stream*."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def prepare_streams() -> None:
    """Make both streams speak UTF-8 with LF on any platform, and never fail on a character."""
    if sys.stdout is None:  # closed by the parent process
        # Something that cannot be written takes its number, so that no file gets it and data are
        # not lost without a message.
        closed = os.open(os.devnull, os.O_RDONLY)
        sys.stdout = open(closed, "w", encoding="utf-8")  # noqa: PTH123, SIM115
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
    """Return the width of the terminal, as `shutil.get_terminal_size` does."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or PIPE_WIDTH
    except (OSError, ValueError, AttributeError):
        return 80


_ELLIPSIS = "…"


def one_line(text: str) -> str:
    """Bring *text* to one line: runs of white space become a space, the unsafe becomes visible."""
    line = " ".join(text.split())
    # Unsafe characters are never printable, and most lines contain only printable ones.
    if line.isprintable():
        return line
    from mcpg.text import safeyaml  # noqa: PLC0415 - a search seldom meets unsafe text

    return safeyaml.UNSAFE.sub(safeyaml.visible_form, line)


def one_lines(texts: list[str]) -> list[str]:
    """Bring each of *texts* to one line, as `one_line` does; of many, most are so already."""
    joined = "\n".join(("", *texts, ""))
    is_one_each = joined.count("\n") == len(texts) + 1 and joined.replace("\n", "").isprintable()
    # The only white space that is printable is the space.
    if is_one_each and not any(run in joined for run in ("  ", "\n ", " \n")):
        return texts
    return [one_line(text) for text in texts]


def lines_kept(text: str) -> str:
    """Make unsafe characters in *text* visible, keeping line ends and tabs."""
    # As in `one_line`.
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    from mcpg.text import safeyaml  # noqa: PLC0415 - a search seldom meets unsafe text

    return safeyaml.escape_unsafe(text)


def json_safe(text: str) -> str:
    """Escape characters in a JSON *text* that JSON allows in strings but a terminal would obey."""
    # As in `one_line`; line feeds are only at the places where JSON itself puts them.
    if text.replace("\n", "").isprintable():
        return text
    from mcpg.text import safeyaml  # noqa: PLC0415 - seldom needed, and slow to import

    # Line feeds are only between members, in the places where JSON itself puts them.
    return "\n".join(safeyaml.UNSAFE.sub(safeyaml.json_form, line) for line in text.split("\n"))


def json_text(members: Mapping[str, Any]) -> str:
    """Return *members* as indented JSON in which nothing can steer a terminal."""
    return json_safe(write_json(members, indent=2))


def width(text: str) -> int:
    """Return the number of terminal columns that *text* takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def widths(texts: Sequence[str]) -> list[int]:
    """Return the number of terminal columns that each of *texts* takes."""
    return [*map(len if all(map(str.isascii, texts)) else width, texts)]


def cut(text: str, columns: int, mark: str = _ELLIPSIS) -> str:
    """Shorten *text* to at most *columns* terminal columns, with *mark* at the cut."""
    if width(text) <= columns:
        return text
    taken, room = [], columns - len(mark)
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        taken.append(character)
    return "".join(taken).rstrip() + mark[: max(0, columns)]


def pad(text: str, columns: int) -> str:
    """Fill *text* with spaces to *columns* terminal columns."""
    return text + " " * (columns - width(text))


def name_some(names: Sequence[str], most: int, gap: str = ", ", last: str = " and ") -> str:
    """Join the first *names*, and add how many more there are than *most*."""
    more = len(names) - most
    return gap.join(names[:most]) + (f"{last}{more:,} more" if more > 0 else "")


def either(names: Sequence[str]) -> str:
    """Join *names*, at least one, as alternatives: `a, b or c`."""
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def and_pages(number: int) -> str:
    """Return *number* of pages as a further part of a list; "" for none."""
    return f", {format_count(number, 'page')}" if number else ""


def diagnostic_text(item: Mapping[str, Any]) -> str:
    """Return the subject and the remedy of a diagnostic in JSON, on one safe line."""
    remedy, message = item["remedy"] or "", item["message"]
    is_known = not remedy or remedy.rstrip(".").casefold() in message.casefold()
    what_to_do = "" if is_known else f". {remedy}"
    return one_line(f"{item['severity']}[{item['code']}]: {message}{what_to_do}")


_CHUNK = 1024 * 1024


def standard_input(limit: int) -> bytes:
    """Read standard input to its end, or at most *limit* bytes; nothing when it is closed."""
    if sys.stdin is None:
        return b""
    stream: BufferedReader = sys.stdin.buffer  # type: ignore[assignment]  # what Python documents
    chunks: list[bytes] = []
    left = limit
    # In pieces, between which Ctrl-C is heard: one long read may sleep through it.
    while left and (chunk := stream.read1(min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)
