"""Light stemming: one form for the inflections of a word."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST_STEMMED = 4


@cache
def _stemmer() -> Callable[[str], str]:
    import Stemmer  # noqa: PLC0415 - a compiled module, loaded when first used

    stem_word: Callable[[str], str] = Stemmer.Stemmer("english").stemWord
    return stem_word


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Give the stem of a folded *word*.

    Words of ASCII letters are stemmed by the Snowball English rules, which also bring the
    plurals of most Latin-script languages together; others, numbers and short words stay.

    Source: Porter, "Snowball: a language for stemming algorithms", 2001.
    """
    if len(word) < _SHORTEST_STEMMED or not (word.isascii() and word.isalpha()):
        return word
    return _stemmer()(word)
