"""Unicode folding: one spelling for texts that a reader would call the same."""

from __future__ import annotations

import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeAlias

    Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

# Putting the marks of one character in order takes time that grows with the square of their number.
_MOST_MARKS = 30
_FIRST_MARK = "\u0300"
_RIGHT_TO_LEFT = ("R", "AL")
_ACCENTED_SCRIPTS = ("LATIN ", "GREEK ")
_SEPARATOR = "COMBINING GRAPHEME JOINER"

# What a character is: a letter that keeps its marks or one that may do without, a vowel sign, a
# mark that may go with a letter of the second kind, or a mark that shows nothing itself.
_LETTER, _BARE_LETTER, _VOWEL, _POINT, _NOTHING = range(1, 6)
_kinds: dict[str, int] = {}
_sorted: dict[str, bool] = {}


def fold(text: str) -> str:
    """Give *text* in compatibility form and without case (NFKC, full case folding).

    Source: Unicode Standard, section 3.13, "toNFKC_Casefold" without the removal of ignorables.
    """
    if text.isascii():
        return text.lower()
    plain = normalized("NFKC", text)
    folded = plain.casefold()
    return plain if folded == plain else normalized("NFKC", folded)


def strip_accents(text: str) -> str:
    """Return *text* without the marks that people leave out when they type in a hurry.

    These are the accents of Latin and Greek, and the points of scripts that are written from right
    to left, such as Hebrew and Arabic. In Cyrillic, marks make other letters, and in the scripts of
    India and South-East Asia they are vowels.
    """
    if text.isascii():
        return text
    decomposed = normalized("NFD", text)
    if decomposed.isalnum():  # there is no mark
        return unicodedata.normalize("NFC", decomposed)
    kept: list[str] = []
    is_optional = False
    for character in decomposed:
        kind = _kinds.get(character) or _kind_of(character)
        if kind in (_LETTER, _BARE_LETTER):
            is_optional = kind == _BARE_LETTER
            kept.append(character)
        elif kind == _VOWEL or (kind == _POINT and not is_optional):
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def is_mark(character: str) -> bool:
    """Return whether *character* belongs to the letter before it: an accent or a vowel sign."""
    return unicodedata.category(character) in ("Mn", "Mc")


def normalized(form: Form, text: str) -> str:
    """Return *text* in a normal form of Unicode, with at most 30 marks on a character.

    Source: Unicode Standard Annex 15, section 13, "Stream-Safe Text Format".
    """
    # Of more marks in a row, one stands at one of these places.
    if len(text) > _MOST_MARKS and any(map(_is_sorted, text[_MOST_MARKS :: _MOST_MARKS + 1])):
        text = "".join(_bounded(text))
    return unicodedata.normalize(form, text)


def _bounded(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        marks = marks + 1 if _is_sorted(character) else 0
        if marks <= _MOST_MARKS:
            yield character


def _is_sorted(character: str) -> bool:
    """Return whether a normal form may put *character* before the one in front of it."""
    if character < _FIRST_MARK:
        return False
    known = _sorted.get(character)
    if known is None:
        first = unicodedata.normalize("NFKD", character)[0]
        known = _sorted[character] = unicodedata.combining(first) > 0
    return known


def _kind_of(character: str) -> int:
    """Tell what *character* is to `strip_accents`, and remember it."""
    if is_mark(character):
        kind = _POINT if unicodedata.combining(character) else _VOWEL
        name = unicodedata.name(character, "")
        if kind == _VOWEL and ("VARIATION SELECTOR" in name or name == _SEPARATOR):
            kind = _NOTHING
    else:
        kind = _BARE_LETTER if _sheds_marks(character) else _LETTER
    _kinds[character] = kind
    return kind


def _sheds_marks(letter: str) -> bool:
    return (
        letter.isascii()
        or unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT
        or unicodedata.name(letter, "").startswith(_ACCENTED_SCRIPTS)
    )
