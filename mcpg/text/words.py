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
# only where a letter follows, so that "don't" is one run and a closing quote is none. Runs that a
# single sign joins are one chunk: an identifier, a version, a date, an address.
_RUN = r"[^\W_](?:[^\W_]|[\u0300-\u036f\u0900-\u0dff]|['\u2019](?=[^\W\d_]))*"
_CHUNK = re.compile(rf"{_RUN}(?:[-_.@:]{_RUN})*")
_JOINT = re.compile(r"[-_.@:]")
_APOSTROPHE = re.compile("['\u2019]")
_LONGEST_CLITIC = 2
_ASCII_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_DIGIT = re.compile(r"\d")
_NO_WORD = re.compile(r"[\W_]+")
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

    Identifiers are cut where their case, a joining sign or a digit shows a seam, and appear whole
    as well; versions, dates, numbers and codes stay as they are; scripts without spaces are cut
    into overlapping pairs of characters.
    """
    for match in _CHUNK.finditer(text):
        start, end = match.span()
        for piece, whole in _cut_chunk(match.group()):
            yield Word(piece, start, end, whole)


def split_words(text: str) -> list[str]:
    """Give the folded words of *text*, without the whole forms of compound identifiers."""
    return [
        piece for chunk in _CHUNK.findall(text) for piece, whole in _cut_chunk(chunk) if not whole
    ]


def joined(text: str) -> str:
    """Give the letters and digits of *text* run together: one key for every way to write a name."""
    return strip_accents(fold(_NO_WORD.sub("", text)))


@lru_cache(maxsize=65_536)
def _cut_chunk(chunk: str) -> tuple[tuple[str, bool], ...]:
    """Cut one chunk into (word, is whole identifier) pairs."""
    runs = _JOINT.split(unicodedata.normalize("NFKC", chunk))
    pieces = [
        _canonical(piece)
        for run in runs
        for part in _without_clitics(run)
        for piece in _pieces(part)
    ]
    numeric = [piece for piece in pieces if not piece.isalpha() and _DIGIT.search(piece)]
    if len(runs) > 1 and 2 * len(numeric) >= len(pieces):
        literal = _canonical(chunk)
        return tuple((word, False) for word in (*sorted({*pieces} - {*numeric}), literal))
    return (*((piece, False) for piece in pieces), *_whole(chunk, pieces))


def _whole(chunk: str, pieces: list[str]) -> tuple[tuple[str, bool], ...]:
    """Give the whole form of a chunk that was cut at seams of its own."""
    is_identifier = len(pieces) > 1 and not (_UNSPACED.search(chunk) or _APOSTROPHE.search(chunk))
    return ((joined(chunk)[:_LONGEST_WORD], True),) if is_identifier else ()


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
