"""Text from strangers made safe for a terminal, and measured as a terminal shows it."""

from __future__ import annotations

import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

# Control characters, bidirectional overrides, invisible characters that hide or reorder text, tag
# characters, and halves of surrogate pairs. The joiners U+200C and U+200D stay: scripts need them.
_UNSAFE = (
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_ELLIPSIS = "…"
_LINE_FEED = 0x0A
_LAST_OF_LATIN, _LAST_OF_BASIC_PLANE = 0xFF, 0xFFFF


def one_line(text: str) -> str:
    """Bring *text* to one line: runs of white space become a space, the unsafe becomes visible."""
    line = " ".join(text.split())
    # What is unsafe is never printable, and most lines hold nothing else.
    return line if line.isprintable() else _unsafe().sub(_visible, line)


def lines_kept(text: str) -> str:
    """Make what is unsafe in *text* visible, keeping line ends and tabs."""
    return "\n".join(
        "\t".join(_unsafe().sub(_visible, part) for part in line.split("\t"))
        for line in text.replace("\r\n", "\n").split("\n")
    )


def json_safe(text: str) -> str:
    """Escape in a JSON *text* what JSON allows in strings but a terminal would obey."""
    return _unsafe().sub(_json_escape, text)


def width(text: str) -> int:
    """Give the number of terminal columns that *text* takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def cut(text: str, columns: int) -> str:
    """Shorten *text* to at most *columns* terminal columns, marking the cut."""
    if width(text) <= columns:
        return text
    taken, room = [], columns - 1
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        taken.append(character)
    return "".join(taken).rstrip() + _ELLIPSIS if columns > 0 else ""


def pad(text: str, columns: int) -> str:
    """Fill *text* with spaces to *columns* terminal columns."""
    return text + " " * (columns - width(text))


def either(names: Sequence[str]) -> str:
    """Join *names*, at least one, as alternatives: `a, b or c`."""
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last


def _unsafe() -> re.Pattern[str]:
    import re  # noqa: PLC0415 - a search seldom meets what is unsafe

    return re.compile(_UNSAFE)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code <= _LAST_OF_LATIN else f"\\u{{{code:x}}}"


def _json_escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code == _LINE_FEED:  # between members, where JSON itself puts it
        return "\n"
    if code > _LAST_OF_BASIC_PLANE:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"
