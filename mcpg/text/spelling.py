"""Spelling: distances of words, limits for misspellings, and suggestions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

_ONE_EDIT_FROM = 4
_TWO_EDITS_FROM = 8
_SIGNATURE_BITS = 63


def allowed_edits(word: str) -> int:
    """Return how many edits a misspelling of *word* may have: 0 below 4 characters, 1, 2 from 8."""
    return (len(word) >= _ONE_EDIT_FROM) + (len(word) >= _TWO_EDITS_FROM)


def signature(word: str) -> int:
    """Return a set of bits for the characters of *word*.

    An edit changes at most two of the characters in a word, so the signatures of words *n* edits
    apart differ in at most 2 *n* bits.
    """
    bits = 0
    for character in word:
        bits |= 1 << (ord(character) & _SIGNATURE_BITS)
    return bits


def edit_distance(left: str, right: str, bound: int) -> int | None:
    """Return the number of edits between two words, `None` when it is above *bound*.

    Edits are insertion, deletion, substitution and transposition of neighbors, no character
    being edited twice (optimal string alignment).

    Source: Damerau, "A technique for computer detection and correction of spelling errors",
    CACM 7(3), 1964.
    """
    if abs(len(left) - len(right)) > bound or not left:
        return len(right) if not left and len(right) <= bound else None
    if bound in (1, 2):
        return _one_edit(left, right) if bound == 1 else _two_edits(left, right)
    if not bound:
        return 0 if left == right else None
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - a search allows for two edits at most

    distance = OSA.distance(left, right, score_cutoff=bound)
    return distance if distance <= bound else None


def _one_edit(left: str, right: str) -> int | None:
    """Return 0 for equal words, 1 for words that one edit sets apart, else `None`."""
    if left == right:
        return 0
    rest, others = _from_difference(left, right)
    is_one_edit = (
        rest[1:] == others[1:]
        or rest[1:] == others
        or rest == others[1:]
        or (rest[:2] == others[1::-1] and rest[2:] == others[2:])
    )
    return 1 if is_one_edit else None


def _two_edits(left: str, right: str) -> int | None:
    rest, others = _from_difference(left, right)
    one, other = _from_difference(rest[::-1], others[::-1])
    if len(one) < len(other):
        one, other = other, one
    if len(one) <= 1 or (one == other[::-1] and len(one) == 2):  # noqa: PLR2004 - neighbors
        return min(len(one), 1)
    return 2 if _is_two_edits(one, other) else None


def _is_two_edits(one: str, other: str) -> bool:
    """Return whether two edits separate texts that differ in their first and last characters.

    One edit is at the beginning then and one at the end, and the text between them is equal. The
    text that is not shorter comes first.
    """
    within, more = one[1:-1], len(one) - len(other)
    if more > 1:
        return within == other
    begins, ends = one[:2] == other[1::-1], one[-2:] == other[:-3:-1]  # with a transposition
    if more:
        return (
            within in (other[:-1], other[1:])
            or (begins and one[2:-1] == other[2:])
            or (ends and one[1:-2] == other[:-2])
        )
    return (
        within == other[1:-1]
        or one[1:] == other[:-1]
        or one[:-1] == other[1:]
        or (begins and one[2:-1] == other[2:-1])
        or (ends and one[1:-2] == other[1:-2])
        or (begins and ends and one[2:-2] == other[2:-2])
    )


def _from_difference(left: str, right: str) -> tuple[str, str]:
    """Return the rests of two words from their first difference."""
    place = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        place += 1
    return left[place:], right[place:]


def likeliest(word: str, known: Iterable[str]) -> str | None:
    """Return the *known* name that *word* is a misspelling of, `None` for none.

    Case and separators of words (`_`, `-`, spaces) do not count, and an edit or two in a name that
    is long enough are allowed; see `allowed_edits`. The nearest name wins, then the first.
    """
    meant = joined_name(word)
    found: tuple[int, str] | None = None
    for name in known:
        other = joined_name(name)
        distance = edit_distance(meant, other, min(allowed_edits(other), allowed_edits(meant) + 1))
        if distance is not None and (found is None or distance < found[0]):
            found = distance, name
    return found[1] if found else None


def joined_name(name: str) -> str:
    """Return *name* in lower case, without what parts its words."""
    return "".join(name.casefold().replace("_", " ").replace("-", " ").split())


# Names come from catalogs and arguments, which may be of any size.
_MOST_NAMES, _LONGEST = 100_000, 100
_LIKENESS = 80.0
_LIKENESS_OF_OTHERS = 65.0
_WITH_MISSING_WORDS = 90.0
_NAME_OF_ONE_EDIT, _NAME_OF_TWO_EDITS = 3, 8
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Suggester:
    """Finds the known names that an unknown name may mean.

    Case, the order of words and separators do not count. A name is suggested

    - if the ratio of its words to those of the unknown name is at least 80 of 100, both in
      alphabetical order: twice the length of their longest common subsequence, divided by the sum
      of their lengths; and if the ratio of the words that only one of them has is at least 65, or
      one has no such words, since common words are not enough;
    - if at most one edit separates them, in names of 3 letters or more, or two edits, from 8 on;
    - if it has all words of the unknown name, and others.

    The first 100,000 names are compared, by their first 100 characters.
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
        edits = (len(joined) >= _NAME_OF_ONE_EDIT) + (len(joined) >= _NAME_OF_TWO_EDITS)
        like = process.extract(
            text, self._sorted, scorer=fuzz.ratio, score_cutoff=_LIKENESS, limit=None
        )
        near = process.extract(
            joined, self._joined, scorer=OSA.distance, score_cutoff=edits, limit=None
        )
        wanted, scores = frozenset(words), dict[int, float]()
        for _, score, at in like:
            ours, theirs = wanted - self._words[at], self._words[at] - wanted
            ratio = fuzz.ratio(" ".join(sorted(ours)), " ".join(sorted(theirs)))
            if not ours or not theirs or ratio >= _LIKENESS_OF_OTHERS:
                scores[at] = score
        for _, distance, at in near:
            scores[at] = max(scores.get(at, 0), 100 - distance)
        for at, other in enumerate(self._words):
            if wanted < other:
                whole = _WITH_MISSING_WORDS + len(text) / len(self._sorted[at])
                scores[at] = max(scores.get(at, 0), whole)

        def rank(at: int) -> tuple[float, float, str]:
            other = self._names[at]  # prefer the spelling with the same case and separators
            return -scores[at], -fuzz.ratio(name[:_LONGEST], other[:_LONGEST]), other

        return [*dict.fromkeys(self._names[at] for at in sorted(scores, key=rank))][:limit]


def suggest(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return at most *limit* of the *known* names like *name*; see `Suggester`."""
    return Suggester(known).suggest(name, limit)


def _words(name: str) -> list[str]:
    from rapidfuzz.utils import default_process  # noqa: PLC0415 - most names are right

    return default_process(_CAMEL_CASE.sub(" ", name[:_LONGEST])).split()
