"""Text from strangers made safe for a terminal, and measured as a terminal shows it."""

from __future__ import annotations

import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

_ELLIPSIS = "…"
_LINE_FEED = 0x0A
_LAST_OF_BASIC_PLANE = 0xFFFF


def one_line(text: str) -> str:
    """Bring *text* to one line: runs of white space become a space, the unsafe becomes visible."""
    line = " ".join(text.split())
    # What is unsafe is never printable, and most lines hold nothing else.
    if line.isprintable():
        return line
    from mcpg.text import unsafe  # noqa: PLC0415 - a search seldom meets what is unsafe

    return unsafe.UNSAFE.sub(unsafe.visible_form, line)


def lines_kept(text: str) -> str:
    """Make what is unsafe in *text* visible, keeping line ends and tabs."""
    from mcpg.text import unsafe  # noqa: PLC0415 - a search seldom meets what is unsafe

    return unsafe.lines_kept(text)


def json_safe(text: str) -> str:
    """Escape in a JSON *text* what JSON allows in strings but a terminal would obey."""
    from mcpg.text.unsafe import UNSAFE  # noqa: PLC0415 - a plain search writes no JSON

    return UNSAFE.sub(_json_escape, text)


def width(text: str) -> int:
    """Give the number of terminal columns that *text* takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def cut(text: str, columns: int, mark: str = _ELLIPSIS) -> str:
    """Shorten *text* to at most *columns* terminal columns, with *mark* where it is cut."""
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


def either(names: Sequence[str]) -> str:
    """Join *names*, at least one, as alternatives: `a, b or c`."""
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _json_escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code == _LINE_FEED:  # between members, where JSON itself puts it
        return "\n"
    if code > _LAST_OF_BASIC_PLANE:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"
