"""General knowledge of words: frequencies, related words, meanings.

The tables are made by `benchmarks/lexicon/`. They are mapped and searched by bisection, so that a
cold search reads the few pages that its words need. A table has words in the order of their UTF-8,
a frequency for each, and for each a row of numbered targets with strengths. The targets of all
tables are the English stems that are the words of `english.related`.

The language of a query is the language in which its words are most probable, independently (naive
Bayes). A script without spaces is cut into its most probable words (Viterbi).

`english.operations` has for each verb the share of each kind among the operations of public APIs
whose names begin with it. Words count as independent evidence, discounted because they are not. A
question asks to read, whatever its verb.

Source: Dunning, "Statistical identification of language", 1994; Sproat, Shih, Gale & Chang, "A
stochastic finite-state word-segmentation algorithm for Chinese", 1996.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from itertools import accumulate, chain, islice, pairwise, product, zip_longest
from math import exp, fsum, inf, log
from pathlib import Path
from struct import Struct
from typing import TypeAlias

from mcpg.errors import os_reason
from mcpg.text.spelling import allowed_edits, edit_distance
from mcpg.text.words import TEXT_LENGTH

ENGLISH = "english"
LATIN = ("dutch", "french", "german", "italian", "polish", "portuguese", "spanish", "turkish")
"""The languages with a table that are distinguished from English by their words."""

UNSPACED = ("chinese", "japanese", "korean")
"""The languages with a table that are cut into words here; Korean glues particles to its words."""

FOREIGN = frozenset((*LATIN, *UNSPACED, "arabic", "hindi", "russian", "ukrainian"))
"""The languages with a table of translations."""

COMPOUNDING = ("dutch", "german")
"""The languages of these that write compounds as one word."""

COMMON = 4.0
"""Zipf frequency from which a word is not corrected: ten times in a million words."""

_FOLDER = Path(__file__).parent / "data" / "lexicon"
_MAGIC = b"mcpgwt1\0"
_HEADER = Struct("<8s4I")
_AFTER_LETTERS = b"\xff"  # no UTF-8 has it
_EMPTY = _HEADER.pack(_MAGIC, 0, 0, 0, 0) + bytes(8)
_STEPS_OF_ZIPF = 25
# The assumed Zipf frequency of a word that a table does not list, and of a word that it lists
# without a frequency.
_UNLISTED, _RARE = 2.5, 3.2
# By how many orders of magnitude a query must be more probable in another language than in English.
_LEAD = 1.0
# The most words by which a language is detected.
_MOST_TELLING = 256
# The weight of a name of a thing as evidence of English.
_WEIGHT_OF_NAMES = 0.3
_LONGEST_SEGMENT, _COST_OF_UNLISTED = 8, 9.5
# Letters that folding keeps, because they are not accented, and their common replacements; and the
# plain form of the umlauts that German writes with an e. So many in a word are replaced.
_PLAIN_LETTERS = {
    "german": (("ae", "a"), ("oe", "o"), ("ue", "u")),
    "polish": (("l", "\u0142"),),
    "turkish": (("i", "\u0131"),),
}
_MOST_PLAIN_LETTERS = 5
# For a word that is not listed: the letters of affixes to try before misspellings, and after them;
# the least letters of a stem and of a part of a compound; and the credit of their translations.
_SHORT_AFFIXES, _LONG_AFFIXES = (1,), (2, 3)
_SHORTEST_STEM, _SHORTEST_PART = 4, 3
_CREDIT_OF_FORM = 0.8
_JOINTS_OF_COMPOUNDS = ("", "s", "es", "n", "en", "e")
# Words that share so many letters at their beginning are compared one by one for a misspelling.
_COMPARED_FROM = 3
_WORDS_THAT_SHOW_LETTERS = 512
_AFTER_LATIN = "\u0250"
# The most bytes of a letter of the tables.
_WIDEST_LETTER = 3
_SCRIPTS = (
    ("\u0400", "\u052f", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u1100", "\u11ff", "korean"),
    ("\u3040", "\u30ff", "japanese"),
    ("\u3400", "\u9fff", "chinese"),
    ("\uac00", "\ud7af", "korean"),
)
_FIRST_LETTERS = tuple(first for first, _, _ in _SCRIPTS)
_UKRAINIAN_LETTERS = frozenset("\u0454\u0456\u0457\u0491")
_SUPERLATIVE = "est"
# A correction has this frequency at least, and misspells a word of so many letters.
_LEAST_CORRECT, _SHORTEST_CORRECTED = 3.0, 5

# Earlier results, with bounds, because the words of queries are endless.
_segments: dict[tuple[str, str], tuple[str, ...]] = {}
_MOST_REMEMBERED, _MOST_SEGMENTS, _MOST_DECODED = 65_536, 4_096, 16_384
# The first word of each block of so many words is kept when as many words have been sought as make
# up this share of a table: by then, it has taken as long to seek them as to read these.
_BLOCK = 16
_SOUGHT_ONE_BY_ONE = 0.0125
_LONGEST_REMEMBERED = 64

faults: dict[str, str] = {}
"""Why a table is unusable, by the name of its file. Such a table counts as empty."""


class WordTable:
    """A mapped table of words; `ValueError` is raised for invalid data.

    Whatever is in the data, looking up a word raises nothing: it finds the wrong row at worst.
    """

    def __init__(self, data: memoryview) -> None:
        if len(data) < _HEADER.size:
            raise ValueError("it is shorter than its header")
        magic, count, pairs, length, _ = _HEADER.unpack_from(data)
        numbers = 4 * count + 4
        sizes = (numbers, numbers, 2 * pairs + -2 * pairs % 4, count, pairs, length)
        if magic != _MAGIC:
            raise ValueError("it is not a word table of this version")
        if _HEADER.size + sum(sizes) != len(data):
            raise ValueError("its length is wrong")
        places = accumulate(sizes, initial=_HEADER.size)
        parts = [data[start:end] for start, end in pairwise(places)]
        self._starts, self._ends = parts[0].cast("I"), parts[1].cast("I")
        self._targets = parts[2].cast("H")
        self._frequencies, self._strengths, self._words = parts[3:]
        self._count: int = count
        self._ranges: dict[str, tuple[int, int]] = {}
        self._sought = 0
        self._firsts: list[bytes] = []
        self._decoded: dict[int, str] = {}
        self._letters = ""
        if (self._starts[count], self._ends[count]) != (length, pairs):
            raise ValueError("its parts do not fit each other")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        """Return the UTF-8 of the word with *number*."""
        return self._words[self._starts[number] : self._starts[number + 1]].tobytes()

    def find(self, word: str) -> int:
        """Return the number of *word*, -1 where it is not listed."""
        key = _encode_text(word)
        if self._firsts and key:
            return self._find_in_block(key)
        self._sought += 1
        if self._sought > _SOUGHT_ONE_BY_ONE * self._count:
            self.read_ahead()
        low, high = self._range(word[:1])
        place = bisect_left(self, key, low, high)
        return place if place < high and self[place] == key else -1

    def read_ahead(self) -> None:
        self._firsts = [self[number] for number in range(0, self._count, _BLOCK)]

    def _find_in_block(self, key: bytes) -> int:
        """Return the same for its UTF-8, by the words that blocks of the table begin with."""
        first = (bisect_right(self._firsts, key) - 1) * _BLOCK
        if first < 0:
            return -1
        starts = self._starts[first : first + _BLOCK + 1].tolist()
        words = self._words[starts[0] : starts[-1]].tobytes()
        place = words.find(key)
        while place >= 0:
            start = starts[0] + place
            end = start + len(key)
            number = starts.index(end) - 1 if end in starts else -1
            if number >= 0 and starts[number] == start:
                return first + number
            place = words.find(key, place + 1)
        return -1

    def beginnings(self, text: str) -> Iterator[tuple[int, float]]:
        """Yield the length and the Zipf frequency of each word that *text* begins with."""
        place, high = self._range(text[:1])
        for length in range(1, len(text) + 1):
            key = _encode_text(text[:length])
            place = bisect_left(self, key, place, high)
            found = self[place] if place < high else b""
            if found == key:
                yield length, self.read_zipf(place)
            elif not found.startswith(key):
                return

    def _range(self, letter: str) -> tuple[int, int]:
        known = self._ranges.get(letter)
        if known is None:
            key = _encode_text(letter)
            low = bisect_left(self, key)
            known = low, bisect_left(self, key + _AFTER_LETTERS, low)
            if low < known[1]:
                self._ranges[letter] = known
        return known

    def near(self, word: str) -> Iterator[int]:
        """Yield the numbers of the words that one edit sets apart from *word*, some twice.

        Words that share its first letters are compared one by one; of others, every edit of
        these letters is looked up.
        """
        shared = word[:_COMPARED_FROM]
        place, length = bisect_left(self, _encode_text(shared)), len(_encode_text(word))
        end = bisect_left(self, _encode_text(shared) + _AFTER_LETTERS, place)
        starts = self._starts[place : end + 1].tolist()
        for number, (start, stop) in enumerate(pairwise(starts), place):
            is_like = -_WIDEST_LETTER <= stop - start - length <= _WIDEST_LETTER
            if is_like and edit_distance(word, self.word(number), 1) == 1:
                yield number
        letters, edits = self.find_alphabet(word), list[str]()
        for place in range(min(_COMPARED_FROM, len(word))):
            head, letter, tail = word[:place], word[place], word[place + 1 :]
            edits += head + tail, head + tail[:1] + letter + tail[1:]
            for other in letters:
                edits += head + other + tail, head + other + letter + tail
        yield from (number for number in map(self.find, edits) if number >= 0)

    def find_alphabet(self, word: str) -> str:
        """Return the letters that words are written with in the alphabet of *word*."""
        if not self._letters:
            some = range(0, self._count, self._count // _WORDS_THAT_SHOW_LETTERS + 1)
            self._letters = "".join(sorted({letter for at in some for letter in self.word(at)}))
        is_latin = max(word) < _AFTER_LATIN
        return "".join(one for one in self._letters if (one < _AFTER_LATIN) == is_latin)

    def word(self, number: int) -> str:
        known = self._decoded.get(number)
        if known is None:
            known = self[number].decode("utf-8", "replace")
            if len(self._decoded) < _MOST_DECODED:
                self._decoded[number] = known
        return known

    def numbers(self) -> dict[str, int]:
        words, starts = self._words.tobytes(), self._starts.tolist()
        return {
            words[start:end].decode("utf-8", "replace"): number
            for number, (start, end) in enumerate(pairwise(starts))
        }

    def zipf(self, word: str) -> float:
        number = self.find(word)
        return self.read_zipf(number) if number >= 0 else 0.0

    def read_zipf(self, number: int) -> float:
        return self._frequencies[number] / _STEPS_OF_ZIPF or _RARE

    def row(self, word: str) -> list[tuple[int, float]]:
        """Return the numbers of the targets of *word* with their strengths, strongest first."""
        number = self.find(word)
        return self.row_at(number) if number >= 0 else []

    def row_at(self, number: int) -> list[tuple[int, float]]:
        places = slice(self._ends[number], self._ends[number + 1])
        targets, strengths = self._targets[places].tolist(), self._strengths[places].tolist()
        pairs = zip(targets, strengths, strict=False)
        return [(target, strength / 0xFF) for target, strength in pairs]


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def map_table(name: str) -> memoryview:
    """Map the file called *name*; `OSError` or `ValueError` is raised without a usable file."""
    with (_FOLDER / name).open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@cache
def _table(name: str) -> WordTable:
    """Map the table in the file *name*; an unusable table counts as empty."""
    try:
        return WordTable(map_table(name))
    except (OSError, ValueError) as fault:
        faults[name] = os_reason(fault)
        return WordTable(memoryview(_EMPTY))


def read_ahead() -> None:
    """Read the search indexes of the tables that most searches use."""
    for name in ("commands", "operations", "related", "spellings", "words"):
        _table(f"{ENGLISH}.{name}").read_ahead()


@lru_cache(_MOST_REMEMBERED)
def zipf_frequency(word: str, language: str) -> float:
    """Return how frequent *word* is on the Zipf scale, 0 where *language* does not list it.

    It is the logarithm to base ten of occurrences in a thousand million words.
    """
    return _table(f"{language}.words").zipf(word)


def correct_spelling(word: str) -> str | None:
    """Return the most frequent English word at one edit from a folded *word* that is not short."""
    if len(word) < _SHORTEST_CORRECTED:
        return None
    table = _table(f"{ENGLISH}.words")
    near = sorted({*table.near(word)}, key=lambda one: (-table.read_zipf(one), one))
    return table.word(near[0]) if near and table.read_zipf(near[0]) > _LEAST_CORRECT else None


def frequent_words(language: str, count: int) -> list[str]:
    """Return the *count* most frequent words of *language*, none where the lexicon lacks it."""
    if language not in {ENGLISH, *FOREIGN}:
        return []
    table = _table(f"{language}.words")
    return list(map(table.word, nlargest(count, range(len(table)), key=table.read_zipf)))


def share_of_texts(word: str, language: str) -> float:
    """Return the share, in [0, 1], of texts of 100 words in *language* that contain *word*."""
    zipf = zipf_frequency(word, language)
    return 1 - (1 - 10 ** (zipf - 9)) ** TEXT_LENGTH if zipf else 0.0


def is_name(text: str) -> bool:
    """Return whether folded *text* only names an individual place, person or day.

    A name that is also an ordinary word is listed in title case, such as "Turkey". The words of a
    longer name have one space between them.
    """
    return _table("names.words").find(text) >= 0


def is_modifier(word: str) -> bool:
    """Return whether a folded English *word* is an adjective or adverb more often than not."""
    return _table(f"{ENGLISH}.modifiers").find(word) >= 0


def find_positives(word: str) -> list[str]:
    """Return the adjectives and adverbs that a folded English *word* is the superlative of."""
    if not word.endswith(_SUPERLATIVE):
        return []
    base = word.removesuffix(_SUPERLATIVE)
    forms = (base, f"{base}e", f"{base[:-1]}y" if base.endswith("i") else base[:-1])
    return [one for one in forms if len(one) > len(_SUPERLATIVE) - 1 and is_modifier(one)]


def related_stems(stem: str) -> list[tuple[str, float]]:
    """Return English stems of related meaning with the similarity of each, in (0, 1]."""
    return _resolve_stems(related_numbers(stem))


def related_numbers(stem: str) -> list[tuple[int, float]]:
    """Return the same by the numbers of the stems, see `read_stem`."""
    return _table(f"{ENGLISH}.related").row(stem)


def describe_command(name: str) -> list[tuple[str, float]]:
    """Return the English stems that describe the command of a shell called *name*, a folded word.

    There are none for a name that is also an English word. Each has its similarity, in (0, 1].
    """
    return _resolve_stems(_table(f"{ENGLISH}.commands").row(name))


def other_spellings(stem: str) -> list[str]:
    """Return the English stems that are spellings of the same word, such as "color" of "colour"."""
    table = _table(f"{ENGLISH}.spellings")
    return [table.word(number) for number, _ in table.row(stem) if number < len(table)]


def is_english(word: str, stem: str) -> bool:
    """Return whether English has a folded *word*, or another form of its *stem*."""
    return bool(zipf_frequency(word, ENGLISH) or find_stem_number(stem) >= 0)


def find_stem_number(stem: str) -> int:
    """Return the number of an English *stem*, -1 where it has none."""
    return _table(f"{ENGLISH}.related").find(stem)


def read_stem(number: int) -> str:
    """Return the English stem with *number*, "" if there is none."""
    return _table(f"{ENGLISH}.related").word(number) if number < count_stems() else ""


def count_stems() -> int:
    """Return how many English stems have a number."""
    return len(_table(f"{ENGLISH}.related"))


def numbers_of_stems() -> dict[str, int]:
    """Return the number of every English stem that has one."""
    return _table(f"{ENGLISH}.related").numbers()


def operation_shares(stem: str) -> list[float]:
    """Return the share of each kind among operations whose names begin with *stem*.

    The row of "" is for all operations. A stem that begins few names has none.
    """
    row = _table(f"{ENGLISH}.operations").row(stem)
    return [strength for _, strength in sorted(row)]


def translations(
    word: str, language: str, *, repairs: bool = True
) -> tuple[int, list[tuple[str, float]]]:
    """Return how many edits *word* is from a listed word, and the English stems of that word.

    Each stem has the probability that the word means it. An unlisted word counts as another form or
    spelling of a listed word, as a misspelling (1 edit), or as a compound of two, in this order;
    but an affix of several letters is less likely than an edit. Misspellings are slowest to find,
    and are only tried with *repairs*.
    """
    table, edits = _table(f"{language}.words"), 0
    row = (
        table.row(word)
        or _row_of_most_frequent(map(table.find, _spellings(word, language)), table)
        or _row_of_form(word, table, _SHORT_AFFIXES)
    )
    if not row and repairs and language not in UNSPACED and allowed_edits(word):
        row = _row_of_most_frequent(table.near(word), table)
        edits = int(bool(row))
    row = row or _row_of_form(word, table, _LONG_AFFIXES)
    if not row and language in COMPOUNDING:
        row = _row_of_compound(word, table)
    return edits, _resolve_stems(row)


def _row_of_most_frequent(numbers: Iterable[int], table: WordTable) -> list[tuple[int, float]]:
    """Return the targets of the most frequent word that has any; -1 is the number of none."""
    ranked = sorted({*numbers} - {-1}, key=lambda number: (-table.read_zipf(number), number))
    return next(filter(None, map(table.row_at, ranked)), [])


def _spellings(word: str, language: str) -> Iterator[str]:
    """Yield the words that *word* may be when letters that a keyboard lacks are written plainly."""
    for plain, letter in _PLAIN_LETTERS.get(language, ()):
        parts = word.split(plain, _MOST_PLAIN_LETTERS)
        joints = product((plain, letter), repeat=len(parts) - 1)
        for chosen in islice(joints, 1, None):
            yield "".join(chain.from_iterable(zip_longest(parts, chosen, fillvalue="")))


def _row_of_form(word: str, table: WordTable, affixes: Sequence[int]) -> list[tuple[int, float]]:
    """Return the targets of the longest listed word that is left without so many letters."""
    for affix in affixes:
        if len(word) - affix < _SHORTEST_STEM:
            return []
        row = table.row(word[:-affix]) or table.row(word[affix:])
        if row:
            return [(target, _CREDIT_OF_FORM * strength) for target, strength in row]
    return []


def _row_of_compound(word: str, table: WordTable) -> list[tuple[int, float]]:
    """Return the targets of two listed words that make up *word*, with or without a joint."""
    for cut in range(len(word) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
        last = table.row(word[cut:])
        if last:
            first = word[:cut]
            rows = (table.row(first.removesuffix(joint)) for joint in _JOINTS_OF_COMPOUNDS)
            found = next(filter(None, rows), [])
            if found:
                strengths: dict[int, float] = {}
                for target, strength in (*found, *last):
                    strengths[target] = max(strengths.get(target, 0.0), _CREDIT_OF_FORM * strength)
                return sorted(strengths.items(), key=lambda one: (-one[1], one[0]))
    return []


def _resolve_stems(row: list[tuple[int, float]]) -> list[tuple[str, float]]:
    stems = _table(f"{ENGLISH}.related")
    return [(stems.word(number), strength) for number, strength in row if number < len(stems)]


def foreign_language(
    words: Sequence[str], *, names: Collection[str] = (), is_accented: bool = False
) -> str | None:
    """Return the language of the folded *words* of a text if it is one of `FOREIGN`, else `None`.

    *names* may be names of things in any language, such as "commit": they count less for English.
    Words of English are seldom written with accents, so words that are (*is_accented*) are taken
    for foreign as soon as they are more probable in another language.
    """
    words = words[:_MOST_TELLING]
    scripts = [*filter(None, map(_language_of_script, words))]
    if "japanese" in scripts:
        return "japanese"
    if scripts:
        told = max(dict.fromkeys(scripts), key=scripts.count)
        # Few words have a letter that Russian lacks, and some Japanese ones have no kana.
        if told == "russian":
            return _most_probable(words, ("russian", "ukrainian"))
        return "japanese" if told == "chinese" and _lead(words, "japanese", told) > _LEAD else told
    spoken = _select_spoken(words)
    # Without a table of English, nothing would be known to be English.
    are_common = all(zipf_frequency(word, ENGLISH) >= COMMON for word in spoken)
    if are_common or f"{ENGLISH}.words" in faults:
        return None
    best = _most_probable(spoken, LATIN)
    lead = _lead(spoken, best, ENGLISH, names)
    return best if lead > (0.0 if is_accented else _LEAD) else None


def is_rather_english(words: Sequence[str], language: str) -> bool:
    """Return whether the folded *words* are more probable in English than in *language*."""
    spoken = _select_spoken(words[:_MOST_TELLING])
    return language in LATIN and _lead(spoken, ENGLISH, language) > 0


def _select_spoken(words: Iterable[str]) -> list[str]:
    return [word for word in words if len(word) > 1 and word.isalpha()]


def _most_probable(words: Sequence[str], languages: Sequence[str]) -> str:
    return max(languages, key=lambda one: fsum([_zipf_or_unlisted(word, one) for word in words]))


def _lead(words: Sequence[str], language: str, other: str, names: Collection[str] = ()) -> float:
    """Return by how many orders of magnitude *words* are more probable than in the *other*."""
    lead = 0.0
    for word in words:
        gain = _zipf_or_unlisted(word, language) - _zipf_or_unlisted(word, other)
        lead += gain * _WEIGHT_OF_NAMES if gain < 0 and word in names else gain
    return lead


def _zipf_or_unlisted(word: str, language: str) -> float:
    """Return the logarithm to base ten of the probability of *word*, up to a constant."""
    return max(_UNLISTED, zipf_frequency(word, language))


def _language_of_script(word: str) -> str | None:
    """Return the language of the letters of *word*, `None` for Latin and other letters."""
    if word.isascii():
        return None
    if not _UKRAINIAN_LETTERS.isdisjoint(word):
        return "ukrainian"
    places = [bisect_right(_FIRST_LETTERS, letter) - 1 for letter in word]
    found = [
        place
        for place, letter in zip(places, word, strict=True)
        if place >= 0 and letter <= _SCRIPTS[place][1]
    ]
    # Japanese, which mixes scripts, comes before Chinese.
    return _SCRIPTS[min(found)][2] if found else None


def segment(run: str, language: str) -> tuple[str, ...]:
    """Cut *run*, of a script written without spaces, into its most probable words."""
    if known := _segments.get((run, language)):
        return known
    table = _table(f"{language}.words")
    costs, starts = [0.0, *[inf] * len(run)], [0] * (len(run) + 1)
    for start in range(len(run)):
        ahead = run[start : start + _LONGEST_SEGMENT]
        for length, zipf in ((1, 0.0), *table.beginnings(ahead)):
            cost = costs[start] + (9 - zipf if zipf else _COST_OF_UNLISTED)
            if cost < costs[start + length]:
                costs[start + length], starts[start + length] = cost, start
    words: list[str] = []
    end = len(run)
    while end:
        words.append(run[starts[end] : end])
        end = starts[end]
    found = tuple(words[::-1])
    if len(run) <= _LONGEST_REMEMBERED and len(_segments) < _MOST_SEGMENTS:
        _segments[run, language] = found
    return found


Ratios: TypeAlias = tuple[float, ...]
"""For each kind of operation, the logarithm of how much more often a word names it than any."""

OPERATION_KINDS = ("read one", "read many", "create", "change", "delete")
READING_KINDS = 2
"""So many of these, the first ones, only read."""

MOST_AGREEMENT = 1.5
"""The greatest agreement, and minus the least."""

_ALL = ""
_DISCOUNT = 0.7
# The probability that a tool's hint to read only, or not to, is right.
_RELIABLE = 0.9
# An interrogative begins the question, perhaps after a preposition; in these languages it may be in
# any place.
_OPENING = 2
_ANYWHERE = frozenset(("chinese", "hindi", "japanese", "korean", "turkish"))
_NAME = "question_words.txt"
_RULED_OUT = -1.0

_MOST_STEMS = 4096
# A catalog has some hundred distributions of the kinds, and its requests some hundred verbs.
_MOST_AGREEMENTS = 32_768


@lru_cache(_MOST_STEMS)
def find_ratios(stem: str) -> Ratios:
    """Return the evidence of an English *stem* for each kind; nothing if it has none."""
    pairs = zip(_read_shares(stem), _read_shares(_ALL), strict=False)
    return tuple([log(share / any_) for share, any_ in pairs]) if stem else ()


def is_operation(stem: str) -> bool:
    """Return whether an English *stem* is a verb that asks for an operation: it rules out a kind.

    Nouns that open the names of operations go with every kind.
    """
    return min(find_ratios(stem), default=0.0) < _RULED_OUT


def ratios_of_hint(read_only: bool) -> Ratios:
    """Return the evidence for each kind of operation of a hint to read only, or not to."""
    reads = log(2 * (_RELIABLE if read_only else 1 - _RELIABLE))
    others = log(2 * (1 - _RELIABLE if read_only else _RELIABLE))
    return (reads,) * READING_KINDS + (others,) * (len(OPERATION_KINDS) - READING_KINDS)


@lru_cache(_MOST_STEMS)
def _read_shares(stem: str) -> list[float]:
    """Return the share of each kind, above 0; nothing where the table has no such row."""
    shares = operation_shares(stem)
    return shares if len(shares) == len(OPERATION_KINDS) and all(shares) else []


def shares_by(evidence: Iterable[tuple[Ratios, float]]) -> tuple[float, ...]:
    """Return the probability of each kind of operation by weighted evidence, if there is any."""
    return _combine_evidence(tuple([(ratios, credit) for ratios, credit in evidence if ratios]))


@lru_cache(_MOST_STEMS)
def _combine_evidence(evidence: tuple[tuple[Ratios, float], ...]) -> tuple[float, ...]:
    usual = _read_shares(_ALL)
    if not evidence or not usual:
        return ()
    logits = [
        log(share) + _DISCOUNT * fsum([credit * ratios[place] for ratios, credit in evidence])
        for place, share in enumerate(usual)
    ]
    odds = [exp(logit - max(logits)) for logit in logits]
    return tuple([one / fsum(odds) for one in odds])


@lru_cache(_MOST_AGREEMENTS)
def operation_agreement(asked: tuple[float, ...], done: bytes) -> float:
    """Return how much likelier a tool of kinds *done* does the *asked* kind than tools in general.

    It is the logarithm of a ratio, in ±`MOST_AGREEMENT`, and 0 if either is unknown.
    """
    usual = _read_shares(_ALL)
    if not asked or not any(done) or not usual:
        return 0.0
    ratio = fsum([one * other / any_ for one, other, any_ in zip(asked, done, usual, strict=True)])
    return _bounded_log(ratio / fsum(done))


def reading_likelihood(done: Sequence[float]) -> float:
    """Return how much more likely a tool of kinds *done* only reads than any tool does.

    It is the logarithm of a ratio, in ±`MOST_AGREEMENT`, and 0 where nothing is known.
    """
    usual = _read_shares(_ALL)
    if not any(done) or not usual:
        return 0.0
    return _bounded_log(fsum(done[:READING_KINDS]) / fsum(done) / fsum(usual[:READING_KINDS]))


def _bounded_log(ratio: float) -> float:
    return max(-MOST_AGREEMENT, min(MOST_AGREEMENT, log(ratio))) if ratio > 0 else -MOST_AGREEMENT


def is_question(words: Sequence[str], language: str | None) -> bool:
    """Return whether the folded *words* of a query in *language* ask something."""
    asking = _read_question_words().get(language or ENGLISH, frozenset())
    return not asking.isdisjoint(words if language in _ANYWHERE else words[:_OPENING])


@cache
def _read_question_words() -> dict[str, frozenset[str]]:
    """Read the words that ask; a file that is unusable counts as empty, as the tables do."""
    try:
        lines = (Path(__file__).parent / "data" / _NAME).read_text("utf-8").splitlines()
        lists = [line.split() for line in lines if not line.startswith("#")]
        if not all(lists) or ENGLISH not in [language for language, *_ in lists]:
            raise ValueError("it is not a list of words for each language")  # noqa: TRY301
    except (OSError, ValueError) as fault:
        faults[_NAME] = os_reason(fault)
        return {ENGLISH: frozenset()}
    return {language: frozenset(words) for language, *words in lists}
