"""Text from strangers made safe within Markdown, as GitHub reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.cli.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What ends a code span or a cell of a table, or begins an escape within one.
_UNSAFE_IN_CODE = re.compile(r"[`|\\]")
LEFT, RIGHT = "---", "---:"
"""How a column of a table is aligned."""

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
    return element(line)


def element(text: str) -> str:
    """Give *text* on one line as an HTML element, for places where no Markdown is read."""
    escaped = _PUNCTUATION.sub(lambda found: f"&#{ord(found.group())};", one_line(text))
    return f"<code>{escaped}</code>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Give a table of cells that are Markdown already.

    Args:
        heads: The head of each column.
        rows: The cells of each row.
        numbers: How many columns, from the second on, hold numbers and stand to the right.
    """
    rules = [LEFT, *[RIGHT] * numbers, *[LEFT] * (len(heads) - 1 - numbers)]
    return "\n".join(aligned_table(heads, rules, rows))


def aligned_table(
    heads: Sequence[str], aligned: Sequence[str], rows: Iterable[Sequence[str]]
) -> list[str]:
    """Give the lines of a table as `table` does, its columns *aligned* `LEFT` or `RIGHT`."""
    return [f"| {' | '.join(cells)} |" for cells in (heads, aligned, *rows)]
