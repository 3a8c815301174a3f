"""Texts of strangers, made fit for formats that cannot hold every character."""

from __future__ import annotations

from mcpg.text.unsafe import lines_kept

# Not unsafe on a screen, yet no characters of XML, which Graphviz writes as well.
_NO_XML = {0xFFFE: "\\u{fffe}", 0xFFFF: "\\u{ffff}"}


def shown(text: str) -> str:
    """Write what is unsafe in *text*, and what XML has no room for, as visible escapes."""
    return lines_kept(text).translate(_NO_XML)


def on_one_line(text: str, longest: int) -> str:
    """Give *text* as `shown`, on one line, and cut to *longest* characters."""
    line = " ".join(shown(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
