"""Known names like one that is unknown, for the remedies of errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

# Names come from catalogues and arguments, which may be of any size.
_MOST_NAMES, _LONGEST = 100_000, 100
_LIKENESS = 80.0
_LIKENESS_OF_OTHERS = 65.0
_WITH_MISSING_WORDS = 90.0
_ONE_EDIT_FROM, _TWO_EDITS_FROM = 3, 8
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Suggester:
    """Finds the known names that an unknown one may be meant to be.

    Case, the order of words and what separates them do not count. A name is suggested

    - if the ratio of its words to those of the unknown name is at least 80 of 100, both in
      alphabetical order: twice the length of their longest common subsequence, divided by the sum
      of their lengths; and if that of the words that only one of them has is at least 65, or one
      has no such words, since words in common alone are no likeness;
    - if at most one edit separates them, in names of 3 letters or more, or two edits, from 8 on;
    - if it has all words of the unknown name, and others.

    Args:
        known: The names, of which the first 100,000 are compared, by their first 100 characters.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._names = [*islice(known, _MOST_NAMES)]
        words = [_words(name) for name in self._names]
        self._words = [frozenset(one) for one in words]
        self._sorted = [" ".join(sorted(one)) for one in words]
        self._joined = ["".join(one) for one in words]

    def suggest(self, name: str, limit: int = 1) -> list[str]:
        """Return at most *limit* known names like *name*, the likeliest first."""
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - most names are right
        from rapidfuzz.distance import OSA  # noqa: PLC0415 - as above

        words = _words(name)
        if not words:
            return []
        text, joined = " ".join(sorted(words)), "".join(words)
        edits = (len(joined) >= _ONE_EDIT_FROM) + (len(joined) >= _TWO_EDITS_FROM)
        like = process.extract(
            text, self._sorted, scorer=fuzz.ratio, score_cutoff=_LIKENESS, limit=None
        )
        near = process.extract(
            joined, self._joined, scorer=OSA.distance, score_cutoff=edits, limit=None
        )
        wanted = frozenset(words)

        def has_like_others(at: int) -> bool:
            ours, theirs = wanted - self._words[at], self._words[at] - wanted
            ratio = fuzz.ratio(" ".join(sorted(ours)), " ".join(sorted(theirs)))
            return not ours or not theirs or ratio >= _LIKENESS_OF_OTHERS

        scores = {at: score for _, score, at in like if has_like_others(at)}
        for _, distance, at in near:
            scores[at] = max(scores.get(at, 0), 100 - distance)
        for at in [at for at, other in enumerate(self._words) if wanted < other]:
            whole = _WITH_MISSING_WORDS + len(text) / len(self._sorted[at])
            scores[at] = max(scores.get(at, 0), whole)

        def rank(at: int) -> tuple[float, float, str]:
            other = self._names[at]  # of several spellings, the one of the same case and separators
            return -scores[at], -fuzz.ratio(name[:_LONGEST], other[:_LONGEST]), other

        return [*dict.fromkeys(self._names[at] for at in sorted(scores, key=rank))][:limit]


def suggest(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return at most *limit* of the *known* names like *name*; see `Suggester`."""
    return Suggester(known).suggest(name, limit)


def _words(name: str) -> list[str]:
    """Return the words of *name*, in lower case."""
    from rapidfuzz.utils import default_process  # noqa: PLC0415 - most names are right

    return default_process(_CAMEL_CASE.sub(" ", name[:_LONGEST])).split()
