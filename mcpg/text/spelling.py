"""Spelling: how far words are apart, and how far a misspelling may be."""

from __future__ import annotations

from collections.abc import Iterable

_ONE_EDIT_FROM = 4
_TWO_EDITS_FROM = 8
_SIGNATURE_BITS = 63


def allowed_edits(word: str) -> int:
    """Return how many edits a misspelling of *word* may hold: 0 below 4 characters, 1, 2 from 8."""
    return (len(word) >= _ONE_EDIT_FROM) + (len(word) >= _TWO_EDITS_FROM)


def signature(word: str) -> int:
    """Return a set of bits that stands for the characters of *word*.

    An edit changes at most two of the characters that a word is made of, so the signatures of
    words *n* edits apart differ in at most 2 *n* bits.
    """
    bits = 0
    for character in word:
        bits |= 1 << (ord(character) & _SIGNATURE_BITS)
    return bits


def edit_distance(left: str, right: str, bound: int) -> int | None:
    """Return the number of edits between two words, `None` when it is above *bound*.

    Edits are insertion, deletion, substitution and transposition of neighbours, no character
    being edited twice (optimal string alignment). A column of the table of distances is kept as
    differences in the bits of whole numbers.

    Source: Damerau, "A technique for computer detection and correction of spelling errors",
    CACM 7(3), 1964; Hyyro, "A bit-vector algorithm for computing Levenshtein and Damerau edit
    distances", Nordic Journal of Computing 10, 2003.
    """
    if abs(len(left) - len(right)) > bound or not left:
        return len(right) if not left and len(right) <= bound else None
    if bound in (1, 2):
        return _one_edit(left, right) if bound == 1 else _two_edits(left, right)
    places: dict[str, int] = {}
    for place, character in enumerate(left):
        places[character] = places.get(character, 0) | 1 << place
    every = (1 << len(left)) - 1
    last = 1 << len(left) - 1
    rises, falls, kept, before, distance = every, 0, 0, 0, len(left)
    for character in right:
        here = places.get(character, 0)
        crossed = (~kept & here) << 1 & before
        kept = (((here & rises) + rises) ^ rises | here | falls | crossed) & every
        up, down = falls | ~(kept | rises) & every, kept & rises
        distance += bool(up & last) - bool(down & last)
        up = (up << 1 | 1) & every
        rises, falls = down << 1 & every | ~(kept | up) & every, up & kept
        before = here
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
    """Return the number of edits between two words, `None` when there are more than two."""
    rest, others = _from_difference(left, right)
    one, other = _from_difference(rest[::-1], others[::-1])
    if len(one) < len(other):
        one, other = other, one
    if len(one) <= 1 or (one == other[::-1] and len(one) == 2):  # noqa: PLR2004 - neighbours
        return min(len(one), 1)
    return 2 if _is_two_edits(one, other) else None


def _is_two_edits(one: str, other: str) -> bool:
    """Return whether two edits set texts apart that differ in their first and last characters.

    One of the edits is at the beginning then and one at the end, and what is between them is equal.
    The text that is not shorter comes first.
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
    """Return what is left of two words from the place where they begin to differ."""
    place = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        place += 1
    return left[place:], right[place:]


def likeliest(word: str, known: Iterable[str]) -> str | None:
    """Return the one of *known* names that *word* is a misspelling of, `None` for none.

    Case and what parts words (`_`, `-`, blanks) do not count, nor does an edit or two in a name
    that is long enough for that; see `allowed_edits`. Of several the nearest counts, then the
    first.
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
