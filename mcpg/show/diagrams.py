"""Texts in drawings: labels of Mermaid and strings of DOT, safe whatever they hold."""

from __future__ import annotations

import re

from mcpg.text.safeyaml import escape_unsafe

# Not unsafe on a screen, yet no characters of XML, which Graphviz writes as well.
NO_XML = {0xFFFE: "\\u{fffe}", 0xFFFF: "\\u{ffff}"}


def escape_visibly(text: str) -> str:
    """Write what is unsafe in *text*, and what XML has no room for, as visible escapes."""
    return escape_unsafe(text).translate(NO_XML)


def on_one_line(text: str, longest: int) -> str:
    """Return *text* as `shown`, on one line, and cut to *longest* characters."""
    line = " ".join(escape_visibly(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


# Graphviz refuses a text of more than 16,384 bytes.
_LONGEST_DOT = 1000


def quoted_dot(text: str) -> str:
    """Return *text* as a quoted string of DOT, cut where it is too long for one."""
    # Graphviz reads HTML entities in texts, and escapes of its own after a backslash.
    safe = (
        on_one_line(text, _LONGEST_DOT)
        .replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("&", "&amp;")
    )
    return f'"{safe}"'


_LONGEST_LABEL = 120
# Whatever is no letter, digit or harmless sign is written as the number of its character, and so is
# what would make a list or a heading of a label, or stress a part of it.
_SPECIAL = re.compile(r"[^\w .,:;/()=!?'-]|(?<!\w)-|\.(?= )|_(?=_)")


def mermaid_label(text: str) -> str:
    """Return *text* as the inside of a quoted label of Mermaid, cut where it is long."""
    return (
        _SPECIAL.sub(lambda found: f"#{ord(found.group())};", on_one_line(text, _LONGEST_LABEL))
        or "#32;"
    )
