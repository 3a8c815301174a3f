"""Answers of normalisers: which of them may stand beside a query, decided by their form alone.

What an answer means cannot be checked here, and need not: a query is searched as it was given too,
and the rewrite counts only as far as it can be trusted. What is refused here is what does not look
like a search query at all: prose, lists, code, orders to somebody, other languages. Literals, the
parts of a query that mean themselves, must survive as they stand.

Whether a query is plain English is told by counting words. A word is English when it is one of the
language's stop words or of its most common words. It is foreign when neither English nor the
catalogue knows it. Once another language knows more of the words than English does, the text is
taken to be in that one: then what the catalogue knows is no evidence, and what the other language
knows is foreign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mcpg.text import fold, split_words, stem, stop_words_of, strip_accents
from mcpg.text.literals import QUOTED, TextLiteral, find_literals
from mcpg.text.safeyaml import UNSAFE
from mcpg.text.words import LANGUAGES, is_unspaced, share_of_texts

LONGEST_PHRASE = 80
"""What is quoted or holds spaces, and is longer, is a text to work on, not a name."""

_SHORTEST_NUMBER = 4
_SPOKEN = ("date", "time")


def select_literals(query: str) -> tuple[TextLiteral, ...]:
    """Return the literals of *query* that a rewrite must keep, each text once, in order of place.

    Dates in words, percentages and small numbers may be written otherwise.
    """
    found: dict[str, TextLiteral] = {}
    end = 0
    for one in find_literals(query, with_names=True):
        text = one.text.strip()
        if one.start >= end and _is_kept(one.kind, text):
            found.setdefault(text, one._replace(text=text))
            end = one.end
    return tuple(found.values())


def _is_kept(kind: str, text: str) -> bool:
    if kind in {"number", "percentage"}:
        is_long = sum(map(str.isdecimal, text)) >= _SHORTEST_NUMBER
        return is_long or text[0] == "#" or any(sign in text for sign in ".,:")
    is_phrase = kind == QUOTED or any(map(str.isspace, text))
    is_name = not is_phrase or (kind not in _SPOKEN and len(text) <= LONGEST_PHRASE)
    return is_name and any(map(str.isalnum, text))


def without(text: str, literals: Iterable[TextLiteral]) -> str:
    """Return *text* with a space for each of *literals* that it holds as a whole."""
    for literal in sorted(literals, key=lambda one: -len(one.text)):
        kept, end = [], 0
        for start in _places(text, literal.text):
            kept.append(text[end:start])
            end = start + len(literal.text)
        text = " ".join((*kept, text[end:]))
    return text


def find_lost_literals(literals: Iterable[TextLiteral], rewrite: str) -> tuple[TextLiteral, ...]:
    """Return those of *literals* that *rewrite* does not hold; any white space is one blank."""
    folded = _fold_line(rewrite)
    return tuple([one for one in literals if not [*_places(folded, _fold_line(one.text))]])


def append_literals(rewrite: str, missing: Iterable[TextLiteral]) -> str:
    """Return *rewrite* with the *missing* literals behind it."""
    return " ".join((rewrite, *(literal.text for literal in missing)))


def _fold_line(text: str) -> str:
    return fold(" ".join(text.split()))


def _places(text: str, part: str) -> Iterator[int]:
    """Return where *text* holds *part*, not as a piece of a longer word or number."""
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if _joins(text[start - 1 : start], part[0]) or _joins(part[-1], text[end : end + 1]):
            end = start + 1
        else:
            yield start
        start = text.find(part, end)


def _joins(left: str, right: str) -> bool:
    """Return whether two characters are of one word; scripts may meet without a space."""
    if not (left.isalnum() and right.isalnum()) or is_unspaced(left) or is_unspaced(right):
        return False
    return strip_accents(left).isascii() == strip_accents(right).isascii()


MOST_FOREIGN = 0.2
"""Of plain English, at most this share of the words is foreign."""

MOST_WORDS = 256
_ENGLISH = "english"
_LAST_OF_LATIN = 0x024F
_LATIN_ADDITIONAL = (0x1E00, 0x1EFF)


@dataclass(frozen=True, slots=True)
class LanguageTest:
    """What the words of a text say about its language.

    Attributes:
        words: How many distinct words, without numbers and codes, were counted.
        english: The share of them that is English, in [0, 1].
        other: The share that the likeliest other language knows, in [0, 1].
        foreign: The share that is foreign, in [0, 1].
        is_latin: Whether all letters are of the Latin alphabet.
    """

    words: int
    english: float
    other: float
    foreign: float
    is_latin: bool

    @property
    def is_plain_english(self) -> bool:
        is_english = self.english >= self.other and self.foreign <= MOST_FOREIGN
        return self.is_latin and (is_english or not self.words)


def read_language(
    text: str, is_known: Callable[[str], bool] = frozenset[str]().__contains__
) -> LanguageTest:
    """Count the words of *text*; *is_known* tells whether the catalogue holds a folded word."""
    distinct = dict.fromkeys(split_words(text))
    # Numbers and codes are no words; vowel signs are no letters to `str.isalpha`.
    words = [
        one for one in distinct if any(map(str.isalpha, one)) and not any(map(str.isdigit, one))
    ]
    words = words[:MOST_WORDS]
    if not words:
        return LanguageTest(0, 0.0, 0.0, 0.0, _is_latin(text))
    english = [_is_word_in(word, _ENGLISH) or _is_word_in(stem(word), _ENGLISH) for word in words]
    others = (language for language in LANGUAGES if language != _ENGLISH)
    other = max(_share([_is_word_in(word, language) for word in words]) for language in others)
    foreign = max(other, 1 - _share(english))
    if other <= _share(english):
        known = [one or is_known(word) for one, word in zip(english, words, strict=True)]
        foreign = 1 - _share(known)
    return LanguageTest(len(words), _share(english), other, foreign, _is_latin(text))


def _is_word_in(word: str, language: str) -> bool:
    return word in stop_words_of(language) or share_of_texts(word, language) > 0


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _is_latin(text: str) -> bool:
    low, high = _LATIN_ADDITIONAL
    return all(
        ord(letter) <= _LAST_OF_LATIN or low <= ord(letter) <= high
        for letter in text
        if letter.isalpha()
    )


LONGEST = 480
"""The most characters of a rewrite."""

MOST_TIMES_LONGER = 4
"""A rewrite has at most this many times the query's characters, or `ALWAYS_ALLOWED`."""

ALWAYS_ALLOWED = 160
PROSE = 0.5
"""From this share of stop words on, a sentence is prose."""

_SHORTEST_PROSE = 5
_QUOTES = (
    *('""', "''", "``", "\u201c\u201d", "\u2018\u2019"),
    *("\u00ab\u00bb", "\u300c\u300d", "\u201e\u201c", "\u00bb\u00ab"),
)
_MARKUP = re.compile(r"[<>{}|\\]|\*\*|__|\]\(|\);|==|^\s*(?:[#*•-]|\d+[.)])\s")
_LABEL = re.compile(r"^\W*[^\W\d_][\w ]{0,30}:(?:\s|$)")
_SENTENCE_END = re.compile("[.!?\u2026](?=\\s+\\S)|[\u3002\uff01\uff1f](?=\\S)")
_CLOSES = re.compile("[.!\u2026]$")


@dataclass(frozen=True, slots=True)
class RewriteVerdict:
    """What became of an answer.

    Attributes:
        text: The rewrite; "" when there is none.
        reason: Why the answer is refused; "" when it is not. Without text or reason, the answer
            says no more than the query.
    """

    text: str = ""
    reason: str = ""


def judge(query: str, answer: str, literals: Iterable[TextLiteral] = ()) -> RewriteVerdict:
    """Accept or refuse *answer* as a rewrite of *query*, which has these *literals*."""
    text = answer.strip()
    while len(text) > 1 and text[0] + text[-1] in _QUOTES and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    text = text.strip("`").strip()
    if fold(text) == fold(query.strip()):
        return RewriteVerdict()
    reason = next(_find_faults(query, text, without(text, literals)), "")
    return RewriteVerdict(reason=reason) if reason else RewriteVerdict(" ".join(text.split()))


def _find_faults(query: str, text: str, bare: str) -> Iterator[str]:
    """Yield why *text* is no rewrite of *query*; *bare* is the text without literals."""
    if not any(map(str.isalnum, text)):
        yield "it is blank"
    if len(text.splitlines()) > 1:
        yield "it has several lines"
    if len(text) > min(LONGEST, max(ALWAYS_ALLOWED, MOST_TIMES_LONGER * len(query))):
        yield "it is too long for a query"
    if UNSAFE.search(text.replace("\t", " ")):
        yield "it holds control or hidden characters"
    if _MARKUP.search(bare):
        yield "it looks like markup, a list or code"
    label = _LABEL.match(bare)
    if label and fold(label.group().strip()) not in fold(query):
        yield "it begins with a label or a role"
    if len(_SENTENCE_END.findall(text)) > len(_SENTENCE_END.findall(query)):
        yield "it has more sentences than the query"
    if _is_prose(query, text, bare):
        yield "it reads as a reply, not as a query"
    read = read_language(bare)
    is_beaten = read.other > read.english and read.english < PROSE
    if not read.is_latin or (is_beaten and read.words > 1):
        yield "it is not in English"


def _is_prose(query: str, text: str, bare: str) -> bool:
    """Return whether a whole sentence of its own words is mostly words that name nothing."""
    if _CLOSES.search(text) is None:
        return False
    words = set(split_words(bare)) - set(split_words(query))
    named = words - stop_words_of("english")
    return len(words) >= _SHORTEST_PROSE and len(named) <= (1 - PROSE) * len(words)
