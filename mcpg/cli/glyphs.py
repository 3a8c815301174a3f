"""The signs that draw bars and arrows: block elements on a terminal, plain ASCII in a pipe.

What is piped ends in logs, diffs and tickets, where block elements are often broken; a person at a
terminal reads a finer bar.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.cli.sanitise import cut, pad, width
from mcpg.cli.screen import is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Signs of one kind of output.

    Attributes:
        steps: The last column of a bar by how full it is, from empty to full.
        arrow: Stands between a word and what it became.
        ellipsis: Stands where a text was cut.
        dash: Stands where there is nothing.
    """

    steps: str
    arrow: str
    ellipsis: str
    dash: str

    def bar(self, share: float, columns: int) -> str:
        """Draw a bar of *share*, in [0, 1], of *columns*, padded to them; never empty above 0."""
        parts = len(self.steps) - 1
        filled = math.ceil(min(1.0, max(0.0, share)) * columns * parts)
        full, rest = divmod(filled, parts)
        return (self.steps[-1] * full + (self.steps[rest] if rest else "")).ljust(columns)

    def cut(self, text: str, columns: int) -> str:
        """Shorten *text* to at most *columns* terminal columns, marking the cut."""
        return cut(text, columns, self.ellipsis)


BLOCKS = Glyphs(" ▏▎▍▌▋▊▉█", "→", "…", "-")
ASCII = Glyphs(" #", "->", "...", "-")


def glyphs_of_standard_output() -> Glyphs:
    """Give the signs that whoever reads standard output can be sure to see."""
    return BLOCKS if is_terminal(sys.stdout) else ASCII


def columns_of(texts: list[str], most: int) -> int:
    """Give the columns that the widest of *texts* takes, at most *most*."""
    return min(most, max(map(width, texts), default=0))


def fitted(text: str, columns: int, glyphs: Glyphs) -> str:
    """Give *text* in exactly *columns* terminal columns, cut or padded."""
    return pad(glyphs.cut(text, columns), columns)


def wrapped(parts: list[str], columns: int) -> Iterator[str]:
    """Put *parts* into lines of at most *columns* terminal columns; a wider part stands alone."""
    line = ""
    for part in parts:
        longer = f"{line} {part}" if line else part
        if line and width(longer) > columns:
            yield line
            line = part
        else:
            line = longer
    if line:
        yield line


def hanging(text: str, columns: int, first: str, others: str) -> Iterator[str]:
    """Wrap *text* at its spaces: behind *first*, and in all lines but one behind *others*."""
    for number, line in enumerate(wrapped(text.split(" "), columns - len(others))):
        yield f"{others if number else first}{line}"
