"""Words: folding, splitting, stop words, stems, and frequencies in the language.

Texts are scanned only by methods of `str`: compiling regular expressions would take a cold search
longer than the search itself. Results are remembered, because words repeat.

Stop words are neutral to language. Each supported language has the list of the Snowball project, or
of stopwords-iso. The language of a text is the language with the Snowball list that it uses most,
counted in running words; only that language's list applies to it, so that *die* is a word in
English and an article in German.

A catalog cannot distinguish words that name an object from words of any request: "please" is as
rare in it as "invoice". Background frequencies of the language can.

Source: stop word profiles as language identification, Grefenstette, "Comparing two language
identification schemes", JADT 1995.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby, pairwise, repeat
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from mcpg.text.spelling import edit_distance, signature

T = TypeVar("T")

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]


# Where lists tie, the first wins.
LANGUAGES = (
    *("english", "danish", "dutch", "finnish", "french", "german", "hungarian"),
    *("italian", "norwegian", "portuguese", "russian", "spanish", "swedish", "turkish"),
)

_MOST_REMEMBERED = 65_536
_LONGEST_REMEMBERED = 64


class CachedFunction(dict[str, "T"]):
    """What a function returns of each text met: words repeat, so most are in it already.

    Of endless texts a bounded number is remembered, and of these none that is long.
    """

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        made = self._make(text)
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[text] = made
        return made


_DATA = Path(__file__).parent / "data"
_NUMBERS = range(len(LANGUAGES))


@cache
def read_stop_words() -> tuple[dict[str, frozenset[str]], dict[str, bytes]]:
    """Return the folded stop words of each language, and the numbers of the languages of each."""
    lists = _read_lists("function_words.txt")
    languages: dict[str, bytes] = {}
    for number, name in enumerate(LANGUAGES):
        mark = bytes((number,))
        for word in lists[name]:
            languages[word] = languages.get(word, b"") + mark
    return lists, languages


def _read_lists(name: str) -> dict[str, frozenset[str]]:
    lines = (_DATA / name).read_text("utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {language: frozenset(words) for language, *words in rows}


@cache
def get_stop_words(language: str | None) -> frozenset[str]:
    """Return the folded stop words of *language*, none where it has no list."""
    if language is None or language in LANGUAGES:
        return read_stop_words()[0].get(language or "", frozenset())
    return _read_lists("stop_words.txt").get(language, frozenset())


def detect_language(words: Iterable[str], expected: str | None = None) -> str | None:
    """Name the language whose stop words *words* uses most, `None` if unknown.

    One stop word is not evidence, because it may be the name of a thing in another language ("dog"
    is "though" in Danish); it counts only for the language that is *expected*.
    """
    return language_by(language_votes(words), expected)


def language_votes(words: Iterable[str]) -> list[int]:
    """Return how many of *words* are stop words of each of `LANGUAGES`."""
    found = b"".join(map(read_stop_words()[1].get, words, repeat(b"")))
    return [*map(found.count, _NUMBERS)]


def language_by(votes: Sequence[int], expected: str | None = None) -> str | None:
    """Name the language for which most *votes* are, see `detect_language`."""
    best = max(votes)
    if expected and votes[LANGUAGES.index(expected)] == best > 0:
        return expected
    return LANGUAGES[votes.index(best)] if best > 1 else None


def are_stop_words(words: Iterable[str]) -> bool:
    """Return whether each of *words* is a stop word of any language."""
    return all(map(read_stop_words()[1].__contains__, words))


def stop_words_in(words: Iterable[str], expected: str | None = None) -> frozenset[str]:
    """Return the *words* that are stop words in their language.

    *expected* is the language that one stop word is enough to detect.
    """
    words = list(words)
    language = detect_language(words, expected)
    return get_stop_words(language).intersection(words) if language else frozenset()


def is_near_stop_word(word: str, language: str, distance: int) -> bool:
    """Return whether at most *distance* edits, at least 1, make *word* a stop word."""
    mine = signature(word)
    by_length = _sort_by_length(language)
    return any(
        (mine ^ theirs).bit_count() <= 2 * distance
        and edit_distance(word, other, distance) is not None
        for length in range(len(word) - distance, len(word) + distance + 1)
        for other, theirs in by_length.get(length, ())
    )


@cache
def _sort_by_length(language: str) -> dict[int, list[tuple[str, int]]]:
    rows: dict[int, list[tuple[str, int]]] = {}
    for word in sorted(get_stop_words(language)):
        rows.setdefault(len(word), []).append((word, signature(word)))
    return rows


# Putting the marks of one character in order takes time that grows with the square of their number.
_MOST_MARKS = 30
_FIRST_MARK = "\u0300"
_RIGHT_TO_LEFT = ("R", "AL")
_ACCENTED_SCRIPTS = ("LATIN ", "GREEK ")
_SEPARATOR = "COMBINING GRAPHEME JOINER"
# Letters of Hangul that show nothing.
_BLANK_LETTERS = dict.fromkeys((0x115F, 0x1160))
# Soft hyphen and word joiner, which copied texts have within words (Unicode Annex 29, rule WB4).
_WITHIN_WORDS = dict.fromkeys((0xAD, 0x2060))

# Kinds of characters: a letter that keeps its marks, a letter whose marks may be missing, a vowel
# sign, a mark for a letter of the second kind, or an invisible mark.
_LETTER, _BARE_LETTER, _VOWEL, _POINT, _NOTHING = range(1, 6)
_kinds: dict[str, int] = {}
_sorted: dict[str, bool] = {}


def fold(text: str) -> str:
    """Return *text* in compatibility form and without case (NFKC, full case folding).

    Source: Unicode Standard, section 3.13, "toNFKC_Casefold" without the removal of ignorables.
    """
    if text.isascii():
        return text.lower()
    plain = normalize_unicode("NFKC", text)
    folded = plain.casefold()
    return plain if folded == plain else normalize_unicode("NFKC", folded)


def strip_accents(text: str) -> str:
    """Return *text* without the marks that people often omit.

    These are the accents of Latin and Greek, and the points of scripts that are written from right
    to left, such as Hebrew and Arabic. In Cyrillic, marks make other letters, and in the scripts of
    India and South-East Asia they are vowels. Blank letters of Hangul are also removed.
    """
    if text.isascii():
        return text
    decomposed = normalize_unicode("NFD", text).translate(_BLANK_LETTERS)
    if decomposed.isalnum():  # without a mark
        return unicodedata.normalize("NFC", decomposed)
    kept: list[str] = []
    is_optional = False
    for character in decomposed:
        kind = _kinds.get(character) or _classify_character(character)
        if kind in (_LETTER, _BARE_LETTER):
            is_optional = kind == _BARE_LETTER
            kept.append(character)
        elif kind == _VOWEL or (kind == _POINT and not is_optional):
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def is_mark(character: str) -> bool:
    """Return whether *character* belongs to the letter before it: an accent or a vowel sign."""
    return unicodedata.category(character) in ("Mn", "Mc")


def normalize_unicode(form: Form, text: str) -> str:
    """Return *text* in a normal form of Unicode, with at most 30 marks on a character.

    Source: Unicode Standard Annex 15, section 13, "Stream-Safe Text Format".
    """
    if text.isascii():
        return text
    # If there are more marks in a row, one is at one of these places.
    if len(text) > _MOST_MARKS and any(map(_is_sorted, text[_MOST_MARKS :: _MOST_MARKS + 1])):
        marks, kept = 0, []
        for character in text:
            marks = marks + 1 if _is_sorted(character) else 0
            if marks <= _MOST_MARKS:
                kept.append(character)
        text = "".join(kept)
    return unicodedata.normalize(form, text)


def _is_sorted(character: str) -> bool:
    """Return whether a normal form may swap *character* with its predecessor."""
    if character < _FIRST_MARK:
        return False
    known = _sorted.get(character)
    if known is None:
        first = unicodedata.normalize("NFKD", character)[0]
        known = _sorted[character] = unicodedata.combining(first) > 0
    return known


def _classify_character(character: str) -> int:
    if is_mark(character):
        kind = _POINT if unicodedata.combining(character) else _VOWEL
        name = unicodedata.name(character, "")
        if kind == _VOWEL and ("VARIATION SELECTOR" in name or name == _SEPARATOR):
            kind = _NOTHING
    else:
        sheds_marks = (
            character.isascii()
            or unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
            or unicodedata.name(character, "").startswith(_ACCENTED_SCRIPTS)
        )
        kind = _BARE_LETTER if sheds_marks else _LETTER
    _kinds[character] = kind
    return kind


# Runs that a single sign joins are one chunk: an identifier, a version, a date, an address.
_JOINTS = "-_.@:"
# An apostrophe joins a word only before a letter, so that "don't" is one run and a closing quote is
# not part of it.
_APOSTROPHES = "'\u2019"
_AS_ONE_SIGN = str.maketrans(
    {_APOSTROPHES[1]: _APOSTROPHES[0], **dict.fromkeys(_JOINTS, _JOINTS[0])}
)
# Scripts without spaces between words; Hangul has spaces, but joins particles to the word, which
# pairs of syllables also handle.
_UNSPACED = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF)),
    *((0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)),
    *((0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)
_FIRST_UNSPACED = chr(_UNSPACED[0][0])
LONGEST_WORD = 64
"""The most characters of a word; longer words are cut."""

# The most characters without a break that are read. Without it, a ligature for a phrase makes some
# millions of letters of a small text.
_LONGEST_CHUNK = 16_384
_LONGEST_CLITIC = 2
_SHORTEST_SPOKEN = 3
# Of a short name with digits, before them and after.
_MOST_LETTERS = 2


class Word(NamedTuple):
    """One word of a text.

    Attributes:
        text: The folded word, without accents.
        is_compound: Whether it is a joined identifier whose parts are also words of the text. A
            version, date or code that stays whole is a plain word.
    """

    text: str
    is_compound: bool = False

    @property
    def term(self) -> str:
        """What an index, and PostgreSQL, finds it by: the stem of a word, a compound as it is."""
        return self.text if self.is_compound else stem(self.text)


def iter_words(text: str) -> Iterator[Word]:
    """Cut *text* into words, in order of place.

    Identifiers are cut at changes of case, joining signs and digits, and also appear whole; short
    names with digits, such as `k8s`, are words; versions, dates, numbers and codes stay whole;
    scripts without spaces are cut into overlapping pairs of characters.
    """
    return chain.from_iterable(map(_words.__getitem__, text.split()))


def split_words(text: str) -> list[str]:
    """Return the folded words of *text*, without the whole forms of compound identifiers."""
    return list(chain.from_iterable(map(_parts.__getitem__, text.split())))


_parts = CachedFunction(
    lambda token: tuple([word.text for word in words_of_token(token) if not word.is_compound])
)


def join_words(text: str) -> str:
    """Return the letters and digits of *text* run together: one key for all spellings of a name."""
    return _run_together(text if text.isascii() else _bare(text))


def _run_together(bare: str) -> str:
    if bare.isascii():
        return bare.encode().translate(None, _SIGNS_IN_ASCII).decode().lower()
    if bare.isalnum():
        return fold(bare)
    letters = (sign for chunk in _chunks(bare) for sign in chunk if sign.isalnum() or is_mark(sign))
    return fold("".join(letters))


def is_unspaced(character: str) -> bool:
    """Return whether *character* is of a script that is written without spaces between words."""
    if character < _FIRST_UNSPACED:
        return False
    place = bisect_right(_UNSPACED, (ord(character), 0x10FFFF)) - 1
    return place >= 0 and ord(character) <= _UNSPACED[place][1]


def words_of_token(token: str) -> tuple[Word, ...]:
    """Cut *token*, a text without white space, as `iter_words` does."""
    return _words[token]


# The ASCII characters that are not letters or digits.
_SIGNS = "".join([chr(code) for code in range(0x80) if not chr(code).isalnum()])
_SIGNS_IN_ASCII = _SIGNS.encode()


def _cut_token(token: str) -> tuple[Word, ...]:
    bare = token.strip(_SIGNS)  # most tokens are a word and perhaps a sign behind it
    is_of_one_case = bare.islower() or bare.istitle() or bare.isupper()
    if bare.isascii() and (bare.isdecimal() or (bare.isalpha() and is_of_one_case)):
        word = bare[:LONGEST_WORD].lower()
        return _words[word] if word != token else (Word(word, False),)
    whole = token.translate(_WITHIN_WORDS)
    return tuple([word for chunk in _chunks(whole) for word in _cut_chunk(chunk)])


_words = CachedFunction(_cut_token)


def _chunks(token: str) -> Iterator[str]:
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
    """Return whether the sign at *place*, not a letter or digit, joins a chunk."""
    sign, following = token[place], token[place + 1 : place + 2]
    if sign in _JOINTS:
        return following.isalnum()
    if sign in _APOSTROPHES:
        return following.isalnum() and not following.isdecimal()
    return is_mark(sign) and not token[place - 1].isdigit()


def _cut_chunk(chunk: str) -> tuple[Word, ...]:
    if (
        chunk.isalpha()
        and chunk.isascii()
        and (chunk.islower() or chunk.istitle() or chunk.isupper())
    ):
        return (Word(chunk[:LONGEST_WORD].lower(), False),)
    chunk = chunk[:_LONGEST_CHUNK]
    chunk = chunk if chunk.isascii() else _bare(chunk)
    runs = chunk.translate(_AS_ONE_SIGN).split(_JOINTS[0])
    pieces = [
        fold(piece)[:LONGEST_WORD]
        for run in runs
        for place, part in enumerate(
            run.replace(_APOSTROPHES[1], _APOSTROPHES[0]).split(_APOSTROPHES[0])
        )
        if not place or len(part) > _LONGEST_CLITIC
        for piece in _pieces(part)
        if piece.isalnum() or any(map(str.isalnum, piece))  # a fraction has its own slash
    ]
    if pieces and len(runs) > 1:
        numeric = {one for one in pieces if not one.isalpha() and any(map(str.isdecimal, one))}
        if 2 * sum(piece in numeric for piece in pieces) >= len(pieces):
            # A version, a date or a numbered code is also a word as a whole.
            kept = fold(chunk)[:LONGEST_WORD]
            inside = {*pieces} - numeric
            if not any(map(str.isdecimal, pieces)):
                inside |= {one for one in numeric if _end_short_name(one) == len(one)}
            return tuple([Word(text, False) for text in (*sorted(inside - {kept}), kept)])
    made = {piece: Word(piece, False) for piece in {*pieces}}
    words = tuple(map(made.__getitem__, pieces))
    # A chunk that was cut is also a compound.
    if len(pieces) <= 1 or any(sign in chunk for sign in _APOSTROPHES) or _has_unspaced(chunk):
        return words
    return (*words, Word(_run_together(chunk)[:LONGEST_WORD], True))


def _bare(text: str) -> str:
    # The plain form of a ligature may contain spaces.
    return strip_accents("".join(normalize_unicode("NFKC", text).split()))


def _pieces(run: str) -> Iterator[str]:
    """Cut at the seams of scripts, case and digits."""
    if not _has_unspaced(run):
        yield from _spaced_pieces(run)
        return
    letters: list[str] = []  # each character with the marks that belong to it
    for character in run:
        if letters and is_mark(character):
            letters[-1] += character
        else:
            letters.append(character)
    for unspaced, part in groupby(letters, lambda letter: is_unspaced(letter[0])):
        if unspaced:
            signs = [*part]
            yield from map("".join, pairwise(signs)) if len(signs) > 1 else signs
        else:
            yield from _spaced_pieces("".join(part))


def _spaced_pieces(run: str) -> Iterable[str]:
    """Cut an identifier at its seams; codes that mix letters and digits stay whole."""
    if not run:
        return []
    if run == run.lower() if run.isalpha() else not _is_spoken(run):
        return [run]
    return _ascii_pieces(run) if run.isascii() else _pieces_by_case(run)


def _ascii_pieces(run: str) -> list[str]:
    """Cut into words with or without a capital, abbreviations in capitals, names, and numbers."""
    pieces: list[str] = []
    start = 0
    while start < len(run):
        stop = _end_short_name(run, start)
        if stop > start:
            pieces.append(run[start:stop])
            start = stop
            continue
        stop = _find_end(str.isupper, run, start)
        if stop - start > 1 and run[stop : stop + 1].islower():
            stop += 1 if _ends_abbreviation(run, stop) else -1
        elif stop - start <= 1:
            stop = _find_end(str.islower, run, stop)
        if stop == start:
            stop = _find_end(str.isdigit, run, start)
        if stop > start:
            pieces.append(run[start:stop])
        start = max(stop, start + 1)
    return pieces


def _end_short_name(run: str, start: int = 0) -> int:
    """Return where a name such as `k8s`, `Mp4` or `x509` ends that begins at *start*, else *start*.

    It is one or two letters, digits, and at most two small letters that end a word.
    """
    digits = start
    while digits < len(run) and digits < start + _MOST_LETTERS and run[digits].isalpha():
        digits += 1
    end = _find_end(str.isdecimal, run, digits)
    if digits in (start, end):
        return start
    letters = _find_end(str.islower, run, end)
    return letters if letters - end <= _MOST_LETTERS else end


def _ends_abbreviation(run: str, place: int) -> bool:
    """Return whether the small letter at *place* belongs to the capitals before it.

    It does as the s of a plural and as the v of a version: "PRs", "IPv6". Before a further word,
    the last capital and the s may be a separate word: "PDFAsImage".
    """
    letter, following = run[place], run[place + 1 : place + 2]
    if letter == "v":
        return following.isdigit()
    if letter != "s" or following.islower():
        return False
    is_last = not following.isupper()
    return is_last or run[place - 1 : place + 1].lower() not in get_stop_words("english")


def _find_end(is_kind: Callable[[str], bool], run: str, start: int) -> int:
    while start < len(run) and is_kind(run[start]):
        start += 1
    return start


def _pieces_by_case(run: str) -> Iterator[str]:
    """Cut before a capital after a small letter, and around digits."""
    for _, signs in groupby(run, str.isdigit):
        part = "".join(signs)
        start = 0
        if part != part.lower():
            for place, (before, character) in enumerate(pairwise(part), start=1):
                if before.islower() and character.isupper():
                    yield part[start:place]
                    start = place
        yield part[start:]


def _is_spoken(run: str) -> bool:
    if run.isdecimal():
        return False
    letters = 0
    for character in run:
        if is_mark(character):
            continue
        letters = letters + 1 if character.isalnum() and not character.isdecimal() else 0
        if letters == _SHORTEST_SPOKEN:
            return True
    return False


def _has_unspaced(run: str) -> bool:
    return not run.isascii() and max(run) >= _FIRST_UNSPACED and any(map(is_unspaced, run))


_SHORTEST_STEMMED = 4
_MOST_STEMS = 65_536


@cache
def _load_stemmer() -> Callable[[str], str]:
    import Stemmer  # noqa: PLC0415 - a compiled module, loaded when first used

    stemmer: Callable[[str], str] = Stemmer.Stemmer("english").stemWord
    return stemmer


@lru_cache(_MOST_STEMS)
def stem(word: str) -> str:
    """Return the stem of a folded *word*.

    Words of ASCII letters are stemmed by the Snowball English rules, which also bring the
    plurals of most Latin-script languages together; others, numbers and short words stay.

    Source: Porter, "Snowball: a language for stemming algorithms", 2001.
    """
    is_stemmed = len(word) >= _SHORTEST_STEMMED and word.isascii() and word.isalpha()
    return _load_stemmer()(word) if is_stemmed else word


# The length, in words, of the imaginary text that `share_of_texts` asks about.
TEXT_LENGTH = 100

# The words of queries are endless, so the cache is bounded.
_MOST_SHARES = 65_536


@lru_cache(_MOST_SHARES)
def share_of_texts(word: str, language: str) -> float:
    """Return the share, in [0, 1], of texts of 100 words in *language* with the folded *word*.

    It is 0 for words that make up less than one in twenty thousand.

    Source: the Zipf scale of frequencies, van Heuven et al., "SUBTLEX-UK: a new and improved word
    frequency database for British English", Quarterly Journal of Experimental Psychology 67, 2014.
    """
    lines = _read_frequencies(language)
    start = f"{word} "
    place = bisect_left(lines, start)
    if place == len(lines) or not lines[place].startswith(start):
        return 0.0
    zipf = int(lines[place][len(start) :]) / 100
    return 1 - (1 - 10 ** (zipf - 9)) ** TEXT_LENGTH if zipf else 0.0


@cache
def _read_frequencies(language: str) -> list[str]:
    with (_DATA / "background" / f"{language}.txt").open(encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[1:-1]
