"""Words: where a text, an identifier or a run of characters without spaces is cut."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from mcpg.text.folding import fold, strip_accents

if TYPE_CHECKING:
    from collections.abc import Iterator

# A run of letters, digits and the marks that belong to them. Apostrophes hold a word together
# only where a letter follows, so that "don't" is one run and a closing quote is none.
_RUN = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f\u0900-\u0dff]|['\u2019](?=[^\W\d_]))*")
_APOSTROPHE = re.compile("['\u2019]")
_LONGEST_CLITIC = 2
_ASCII_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS = re.compile(r"[^\W\d_]{3,}")
# Scripts that are written without spaces between words; Hangul is written with them but
# glues its particles to the word, which pairs of syllables see through as well.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+",
)
_LONGEST_WORD = 64


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text.

    Attributes:
        text: The folded word, without accents.
        start: Offset of its first character in the text.
        end: Offset after its last character.
        whole: Whether it is a whole identifier that also appears as its parts.
    """

    text: str
    start: int
    end: int
    whole: bool = False


def iter_words(text: str) -> Iterator[Word]:
    """Cut *text* into words, in order of place.

    Identifiers are cut where their case, an underscore or a digit shows a seam, and appear whole
    as well; scripts without spaces are cut into overlapping pairs of characters.
    """
    for match in _RUN.finditer(text):
        start, end = match.span()
        for piece, whole in _cut_run(match.group()):
            yield Word(piece, start, end, whole)


def split_words(text: str) -> list[str]:
    """Give the folded words of *text*, without the whole forms of compound identifiers."""
    return [piece for run in _RUN.findall(text) for piece, whole in _cut_run(run) if not whole]


@lru_cache(maxsize=65_536)
def _cut_run(run: str) -> tuple[tuple[str, bool], ...]:
    """Cut one run into (word, is whole identifier) pairs."""
    run = unicodedata.normalize("NFKC", run)
    pieces = [_canonical(piece) for part in _without_clitics(run) for piece in _pieces(part)]
    is_identifier = len(pieces) > 1 and not _UNSPACED.search(run) and not _APOSTROPHE.search(run)
    whole = ((_canonical(run), True),) if is_identifier else ()
    return (*((piece, False) for piece in pieces), *whole)


def _without_clitics(run: str) -> list[str]:
    """Cut at apostrophes; what follows one is dropped when short ("it's", "we'll")."""
    first, *rest = _APOSTROPHE.split(run)
    return [first, *(part for part in rest if len(part) > _LONGEST_CLITIC)]


def _pieces(run: str) -> Iterator[str]:
    """Cut at the seams of scripts, case and digits."""
    position = 0
    for match in _UNSPACED.finditer(run):
        if position < match.start():
            yield from _spaced_pieces(run[position : match.start()])
        yield from _pairs(match.group())
        position = match.end()
    if position < len(run):
        yield from _spaced_pieces(run[position:])


def _spaced_pieces(run: str) -> list[str]:
    """Cut an identifier at its seams; codes that mix letters and digits stay whole."""
    is_plain = run.isalpha() and run.islower()
    is_code = not run.isalpha() and not _LETTERS.search(run)
    if is_plain or is_code:
        return [run]
    return _ASCII_PIECE.findall(run) if run.isascii() else _pieces_by_case(run)


def _pieces_by_case(run: str) -> list[str]:
    """Cut where a capital follows a small letter and where digits begin."""
    pieces = [run[0]]
    for before, character in pairwise(run):
        seam = (before.islower() and character.isupper()) or before.isdigit() != character.isdigit()
        if seam:
            pieces.append(character)
        else:
            pieces[-1] += character
    return pieces


def _pairs(characters: str) -> Iterator[str]:
    if len(characters) == 1:
        yield characters
    for index in range(len(characters) - 1):
        yield characters[index : index + 2]


def _canonical(word: str) -> str:
    return strip_accents(fold(word))[:_LONGEST_WORD]
