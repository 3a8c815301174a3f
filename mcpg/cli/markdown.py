"""Text from strangers made safe within Markdown, as GitHub reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.cli.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What ends a code span or a cell of a table, or begins an escape within one.
_UNSAFE_IN_CODE = re.compile(r"[`|\\]")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def code(text: str) -> str:
    """Give *text* on one line as code, in which nothing is a link, a mention or a tag.

    It may stand in a cell of a table. A plain code span is written where it holds the text, and
    references to characters in an HTML element otherwise.
    """
    line = one_line(text)
    if not line:
        return ""
    if _UNSAFE_IN_CODE.search(line) is None:
        return f"`{line}`"
    escaped = _PUNCTUATION.sub(lambda found: f"&#{ord(found.group())};", line)
    return f"<code>{escaped}</code>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Give a table of cells that are Markdown already.

    Args:
        heads: The head of each column.
        rows: The cells of each row.
        numbers: How many columns, from the second on, hold numbers and stand to the right.
    """
    rules = ["---", *["---:"] * numbers, *["---"] * (len(heads) - 1 - numbers)]
    lines = [heads, rules, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
