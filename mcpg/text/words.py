"""Words: where a text, an identifier or a run of characters without spaces is cut."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mcpg.text.folding import fold, strip_accents

if TYPE_CHECKING:
    from collections.abc import Iterator

# A run of letters, digits and the marks that belong to them. Apostrophes hold a word together
# only where a letter follows, so that "don't" is one run and a closing quote is none.
_RUN = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f\u0900-\u0dff]|['\u2019](?=[^\W\d_]))*")
_PIECE = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+[a-z]*",
)
_CLITIC = re.compile(r"['\u2019].*$")
# Scripts that are written without spaces between words; Hangul is written with them but
# glues its particles to the word, which pairs of syllables see through as well.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+",
)
_LONGEST_WORD = 64
_MIXED_KEPT_WHOLE = 4


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
    run = _CLITIC.sub("", unicodedata.normalize("NFKC", run))
    if _UNSPACED.search(run):
        return tuple((piece, False) for piece in _cut_unspaced(run))
    pieces = [_canonical(piece) for piece in _pieces(run)]
    if len(pieces) < 2:  # noqa: PLR2004
        return ((_canonical(run), False),) if run else ()
    return (*((piece, False) for piece in pieces), (_canonical(run), True))


def _pieces(run: str) -> list[str]:
    has_digit = any(character.isdigit() for character in run)
    if has_digit and len(run) <= _MIXED_KEPT_WHOLE:
        return [run]
    return _PIECE.findall(run)


def _cut_unspaced(run: str) -> Iterator[str]:
    """Cut a run that holds characters of an unspaced script into pairs; the rest as usual."""
    position = 0
    for match in _UNSPACED.finditer(run):
        for other in _pieces(run[position : match.start()]):
            yield _canonical(other)
        yield from _pairs(fold(match.group()))
        position = match.end()
    for other in _pieces(run[position:]):
        yield _canonical(other)


def _pairs(characters: str) -> Iterator[str]:
    if len(characters) == 1:
        yield characters
    for index in range(len(characters) - 1):
        yield characters[index : index + 2]


def _canonical(word: str) -> str:
    return strip_accents(fold(word))[:_LONGEST_WORD]
