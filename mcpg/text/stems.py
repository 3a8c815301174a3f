"""Light stemming: one form for the inflections of a word."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST_STEMMED = 4
_MOST_REMEMBERED = 65_536

_stems: dict[str, str] = {}
_stemmers: list[Callable[[str], str]] = []


def stem(word: str) -> str:
    """Give the stem of a folded *word*.

    Words of ASCII letters are stemmed by the Snowball English rules, which also bring the
    plurals of most Latin-script languages together; others, numbers and short words stay.

    Source: Porter, "Snowball: a language for stemming algorithms", 2001.
    """
    found = _stems.get(word)
    if found is None:
        if len(_stems) >= _MOST_REMEMBERED:
            _stems.clear()
        found = _stems[word] = _stemmed(word)
    return found


def _stemmed(word: str) -> str:
    if len(word) < _SHORTEST_STEMMED or not (word.isascii() and word.isalpha()):
        return word
    return _stemmer()(word)


def _stemmer() -> Callable[[str], str]:
    if not _stemmers:
        import Stemmer  # noqa: PLC0415 - a compiled module, loaded when first used

        _stemmers.append(Stemmer.Stemmer("english").stemWord)
    return _stemmers[0]
