"""Words: where a text, an identifier or a run of characters without spaces is cut.

Texts are scanned by the methods of `str` alone: compiling regular expressions would take a cold
search longer than the search itself. What was cut once is remembered, for words repeat.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby, pairwise

from mcpg.text.folding import fold, is_mark, normalized, strip_accents
from mcpg.text.function_words import function_words_of
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# Runs that a single sign joins are one chunk: an identifier, a version, a date, an address.
_JOINTS = "-_.@:"
# Apostrophes hold a word together only where a letter follows, so that "don't" is one run and a
# closing quote is none.
_APOSTROPHES = "'\u2019"
# Scripts that are written without spaces between words; Hangul is written with them but
# glues its particles to the word, which pairs of syllables see through as well.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_FIRST_UNSPACED = chr(_UNSPACED[0][0])
LONGEST_WORD = 64
"""The most characters of a word; what is longer is cut."""

# The most characters without a break that are read. Without it, a ligature that stands for a phrase
# makes some millions of letters of a small text.
_LONGEST_CHUNK = 16_384
_LONGEST_CLITIC = 2
_SHORTEST_SPOKEN = 3
_MOST_REMEMBERED = 65_536
_LONGEST_REMEMBERED = 64


@value
class Word:
    """One word of a text.

    Attributes:
        text: The folded word, without accents.
        whole: Whether it is a whole identifier that also appears as its parts.
    """

    text: str
    whole: bool = False


_words: dict[str, tuple[Word, ...]] = {}


def iter_words(text: str) -> Iterator[Word]:
    """Cut *text* into words, in order of place.

    Identifiers are cut where their case, a joining sign or a digit shows a seam, and appear whole
    as well; versions, dates, numbers and codes stay as they are; scripts without spaces are cut
    into overlapping pairs of characters.
    """
    for token in text.split():
        yield from _words.get(token) or words_of_token(token)


def split_words(text: str) -> list[str]:
    """Give the folded words of *text*, without the whole forms of compound identifiers."""
    return [
        word.text
        for token in text.split()
        for word in _words.get(token) or words_of_token(token)
        if not word.whole
    ]


def joined(text: str) -> str:
    """Give the letters and digits of *text* run together: one key for every way to write a name."""
    return _run_together(text if text.isascii() else _bare(text))


def _run_together(bare: str) -> str:
    if bare.isascii():
        return "".join(filter(str.isalnum, bare)).lower()
    if bare.isalnum():
        return fold(bare)
    letters = (sign for chunk in _chunks(bare) for sign in chunk if sign.isalnum() or is_mark(sign))
    return fold("".join(letters))


def is_unspaced(character: str) -> bool:
    """Tell whether *character* is of a script that is written without spaces between words."""
    place = bisect_right(_UNSPACED, (ord(character), 0x10FFFF)) - 1
    return place >= 0 and ord(character) <= _UNSPACED[place][1]


def words_of_token(token: str) -> tuple[Word, ...]:
    """Cut *token*, a text without white space, as `iter_words` does."""
    found = _words.get(token)
    if found is None:
        found = tuple(word for chunk in _chunks(token) for word in _cut_chunk(chunk))
        if len(token) <= _LONGEST_REMEMBERED:
            if len(_words) >= _MOST_REMEMBERED:
                _words.clear()
            _words[token] = found
    return found


def _chunks(token: str) -> Iterator[str]:
    """Give the runs of letters and digits in *token*, those that a joint connects as one."""
    if token.isalnum():
        yield token
        return
    start, end = 0, len(token)
    while start < end:
        if not token[start].isalnum():
            start += 1
            continue
        stop = start + 1
        while stop < end and (token[stop].isalnum() or _continues(token, stop)):
            stop += 1
        yield token[start:stop]
        start = stop


def _continues(token: str, place: int) -> bool:
    """Return whether the sign at *place*, which is no letter or digit, holds a chunk together."""
    sign, following = token[place], token[place + 1 : place + 2]
    if sign in _JOINTS:
        return following.isalnum()
    if sign in _APOSTROPHES:
        return following.isalnum() and not following.isdecimal()
    return is_mark(sign) and not token[place - 1].isdigit()


def _cut_chunk(chunk: str) -> tuple[Word, ...]:
    if chunk.isalpha() and chunk.isascii() and _has_no_seam(chunk):
        return (Word(chunk[:LONGEST_WORD].lower(), False),)
    chunk = _bare(chunk[:_LONGEST_CHUNK])
    runs = _runs(chunk)
    pieces = [
        fold(piece)[:LONGEST_WORD]
        for run in runs
        for part in _without_clitics(run)
        for piece in _pieces(part)
    ]
    if len(runs) > 1:
        numeric = {piece for piece in pieces if _is_numeric(piece)}
        if 2 * sum(piece in numeric for piece in pieces) >= len(pieces):
            return _literal(chunk, {*pieces} - numeric)
    made = {piece: Word(piece, False) for piece in {*pieces}}
    return (*map(made.__getitem__, pieces), *_whole(chunk, pieces))


def _bare(text: str) -> str:
    """Return the letters of *text* in their plain forms; that of a ligature may hold spaces."""
    return strip_accents("".join(normalized("NFKC", text).split()))


def _has_no_seam(letters: str) -> bool:
    return letters.islower() or letters.istitle() or letters.isupper()


def _literal(chunk: str, spoken: set[str]) -> tuple[Word, ...]:
    """Keep a version, a date or a numbered code whole beside the words in it."""
    return tuple(Word(text, False) for text in (*sorted(spoken), fold(chunk)[:LONGEST_WORD]))


def _whole(chunk: str, pieces: list[str]) -> tuple[Word, ...]:
    """Give the whole form of a chunk that was cut at seams of its own."""
    if len(pieces) < 2 or any(sign in chunk for sign in _APOSTROPHES) or _has_unspaced(chunk):  # noqa: PLR2004
        return ()
    return (Word(_run_together(chunk)[:LONGEST_WORD], True),)


def _runs(chunk: str) -> list[str]:
    for joint in _JOINTS[1:]:
        chunk = chunk.replace(joint, _JOINTS[0])
    return chunk.split(_JOINTS[0])


def _without_clitics(run: str) -> list[str]:
    """Cut at apostrophes; what follows one is dropped when short ("it's", "we'll")."""
    first, *rest = run.replace(_APOSTROPHES[1], _APOSTROPHES[0]).split(_APOSTROPHES[0])
    return [first, *(part for part in rest if len(part) > _LONGEST_CLITIC)]


def _pieces(run: str) -> Iterator[str]:
    """Cut at the seams of scripts, case and digits."""
    if not _has_unspaced(run):
        yield from _spaced_pieces(run)
        return
    for unspaced, letters in groupby(_letters(run), lambda letter: is_unspaced(letter[0])):
        if unspaced:
            yield from _pairs([*letters])
        else:
            yield from _spaced_pieces("".join(letters))


def _letters(run: str) -> list[str]:
    """Return each character of *run* with the marks that belong to it."""
    letters: list[str] = []
    for character in run:
        if letters and is_mark(character):
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _spaced_pieces(run: str) -> Iterable[str]:
    """Cut an identifier at its seams; codes that mix letters and digits stay whole."""
    if not run:
        return []
    is_one_piece = run == run.lower() if run.isalpha() else not _is_spoken(run)
    if is_one_piece:
        return [run]
    return _ascii_pieces(run) if run.isascii() else _pieces_by_case(run)


def _ascii_pieces(run: str) -> list[str]:
    """Cut into words with or without a capital, abbreviations in capitals, and numbers."""
    pieces: list[str] = []
    start = 0
    while start < len(run):
        stop = _end_of(str.isupper, run, start)
        if stop - start > 1 and run[stop : stop + 1].islower():
            stop += 1 if _ends_abbreviation(run, stop) else -1
        elif stop - start <= 1:
            stop = _end_of(str.islower, run, stop)
        if stop == start:
            stop = _end_of(str.isdigit, run, start)
        if stop > start:
            pieces.append(run[start:stop])
        start = max(stop, start + 1)
    return pieces


def _ends_abbreviation(run: str, place: int) -> bool:
    """Return whether the small letter at *place* belongs to the capitals before it.

    It does as the s of a plural and as the v of a version: "PRs", "IPv6". Before a further word,
    the last capital and the s may be a word of their own: "PDFAsImage".
    """
    letter, following = run[place], run[place + 1 : place + 2]
    if letter == "v":
        return following.isdigit()
    if letter != "s" or following.islower():
        return False
    is_last = not following.isupper()
    return is_last or run[place - 1 : place + 1].lower() not in function_words_of("english")


def _end_of(is_kind: Callable[[str], bool], run: str, start: int) -> int:
    while start < len(run) and is_kind(run[start]):
        start += 1
    return start


def _pieces_by_case(run: str) -> Iterator[str]:
    """Cut where a capital follows a small letter and where digits begin or end."""
    for _, signs in groupby(run, str.isdigit):
        part = "".join(signs)
        start = 0
        if part != part.lower():
            for place, (before, character) in enumerate(pairwise(part), start=1):
                if before.islower() and character.isupper():
                    yield part[start:place]
                    start = place
        yield part[start:]


def _pairs(letters: Sequence[str]) -> Iterator[str]:
    if len(letters) == 1:
        yield letters[0]
    for first, second in pairwise(letters):
        yield first + second


def _is_numeric(piece: str) -> bool:
    return not piece.isalpha() and any(map(str.isdecimal, piece))


def _is_spoken(run: str) -> bool:
    """Tell whether *run* holds enough letters in a row to be more than a code."""
    letters = 0
    for character in run:
        if is_mark(character):
            continue
        letters = letters + 1 if character.isalnum() and not character.isdecimal() else 0
        if letters == _SHORTEST_SPOKEN:
            return True
    return False


def _has_unspaced(run: str) -> bool:
    return max(run, default="") >= _FIRST_UNSPACED and any(map(is_unspaced, run))
