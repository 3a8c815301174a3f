"""Background frequencies: how common a word is in its language, whatever the catalogue.

A request is made of words that name what is wanted and words that people say in any request. A
catalogue cannot tell them apart: "want" is as rare in it as "invoice". The language can.
"""

from __future__ import annotations

import os
from bisect import bisect_left

# The length, in words, of the imaginary text that `share_of_texts` asks about.
TEXT_LENGTH = 100

_FOLDER = os.path.join(os.path.dirname(__file__), "data", "background")  # noqa: PTH118, PTH120 - pathlib costs a cold search more than the list
_lines: dict[str, list[str]] = {}
# What has been asked before; words of queries are endless, so there is a bound.
_shares: dict[tuple[str, str], float] = {}
_MOST_SHARES = 65_536


def share_of_texts(word: str, language: str) -> float:
    """Give the share, in [0, 1], of texts of 100 words in *language* that hold a folded *word*.

    It is 0 for words that make up less than one in twenty thousand.
    """
    known = _shares.get((word, language))
    if known is None:
        zipf = _zipf(word, language)
        known = 1 - (1 - 10 ** (zipf - 9)) ** TEXT_LENGTH if zipf else 0.0
        if len(_shares) < _MOST_SHARES:
            _shares[word, language] = known
    return known


def _zipf(word: str, language: str) -> float:
    """Give the frequency of *word* on the Zipf scale, 0 when it is not listed.

    Source: van Heuven et al., "SUBTLEX-UK: a new and improved word frequency database for British
    English", Quarterly Journal of Experimental Psychology 67, 2014.
    """
    lines = _lines.get(language) or _read(language)
    start = f"{word} "
    place = bisect_left(lines, start)
    if place == len(lines) or not lines[place].startswith(start):
        return 0.0
    return int(lines[place][len(start) :]) / 100


def _read(language: str) -> list[str]:
    """Read the lines of *language*, which are sorted."""
    path = os.path.join(_FOLDER, f"{language}.txt")  # noqa: PTH118 - as above
    with open(path, encoding="utf-8", newline="\n") as file:  # noqa: PTH123 - as above
        return _lines.setdefault(language, file.read().split("\n")[1:-1])
