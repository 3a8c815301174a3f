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
from typing import TYPE_CHECKING

from mcpg.text import fold, split_words, stem, stop_words_of, strip_accents
from mcpg.text.safeyaml import UNSAFE
from mcpg.text.words import LANGUAGES, is_unspaced, share_of_texts
from mcpg.values import value

if TYPE_CHECKING:
    _Test = Callable[[str, str, str], bool]


MOST = 32
"""The most literals of a query that are looked after."""

LONGEST_QUOTE = 80
"""What is quoted at greater length is a text to work on, not a name."""

_TRAILING = ".,;:!?)]}"
_MARKS = ('""', "\u201c\u201d", "\u00ab\u00bb", "\u300c\u300d", "``", "\u2018\u2019")


def _quoted() -> str:
    """Return the pattern of what stands in quotation marks; apostrophes are none within a word."""
    inner = f"[^{{0}}{{1}}\\n]{{{{1,{LONGEST_QUOTE}}}}}"
    pairs = [f"{one[0]}({inner.format(one[0], one[1])}){one[1]}" for one in _MARKS]
    single = f"(?<![^\\W_])'({inner.format(chr(39), chr(39))})'(?![^\\W_])"
    return "|".join((*pairs, single))


_ASCII, _ANY_CASE = re.ASCII, re.ASCII | re.IGNORECASE
_CODE = r"[A-Za-z0-9]{1,64}(?:[-_][A-Za-z0-9]{1,64}){0,8}"
# Letters and digits are those of ASCII: in scripts without spaces a name is glued to its sentence.
# The first kind that fits takes the characters, so that a URL is no path as well.
_KINDS = (
    ("quoted", _quoted(), 0),
    ("url", r"\b[a-z][a-z0-9+.-]{0,20}://[^\s<>\"'`\u201c\u201d\u00ab\u00bb]{1,500}", _ANY_CASE),
    ("e-mail", r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", _ASCII),
    ("path", r"(?<![\w/.~])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)*/?", _ASCII),
    ("path", r"\b[A-Z]:[\\/][\w.@+-]+(?:[\\/][\w.@+-]+)*", _ANY_CASE),
    ("cve", r"\bCVE-\d{4}-\d{4,19}\b", _ANY_CASE),
    ("repository", r"(?<![\w/.@-])[\w.-]{1,100}/[\w.-]{1,100}(?![\w/])", _ASCII),
    ("number", r"(?<![\w.])v?\d+(?:[.:/-]\d+)+(?:[-+][\w.]{1,40})?(?!\w)", _ASCII),
    ("file", r"(?<![\w.@-])[\w-]{1,100}(?:\.[\w-]{1,100}){0,4}\.[a-z][a-z0-9]{0,5}\b", _ASCII),
    ("code", rf"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z]){_CODE}(?![\w-])", _ASCII),
    ("number", r"#\d+\b|(?<!\w)\+?\d{4,64}(?!\w)", _ASCII),
    ("identifier", r"(?<!\w)(?:[A-Za-z]\w{0,64}_\w{1,64}|[a-z]{1,64}[A-Z]\w{0,64})(?!\w)", _ASCII),
)
_PATTERNS = tuple((kind, re.compile(pattern, flags)) for kind, pattern, flags in _KINDS)
_QUOTED = _PATTERNS[0][1]
_SHORTEST = 2


@value
class Literal:
    """A part of a query that means itself.

    Attributes:
        kind: `quoted`, `url`, `e-mail`, `path`, `cve`, `repository`, `file`, `code` (letters and
            digits mixed), `number` (a long one, a version, a date), or `identifier`.
        text: The part, without quotation marks.
    """

    kind: str
    text: str


def literals_of(text: str) -> tuple[Literal, ...]:
    """Return the literals of *text*, at most 32, in order of place."""
    whole = _QUOTED.fullmatch(text.strip())
    text = text if whole is None else next(filter(None, whole.groups()))
    found = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            literal = _literal(kind, match)
            if literal is not None:
                found.append((match.start(), literal))
        # What has been taken can be no part of another one.
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    found.sort(key=lambda one: one[0])
    distinct = {literal.text: literal for _, literal in found}
    return tuple(distinct.values())[:MOST]


def without(text: str, literals: Iterable[Literal]) -> str:
    """Return *text* with a space for each of *literals* that it holds as a whole."""
    for literal in sorted(literals, key=lambda one: -len(one.text)):
        kept, end = [], 0
        for start in _places(text, literal.text):
            kept.append(text[end:start])
            end = start + len(literal.text)
        text = " ".join((*kept, text[end:]))
    return text


def lost(literals: Iterable[Literal], rewrite: str) -> tuple[Literal, ...]:
    """Return those of *literals* that *rewrite* does not hold."""
    folded = fold(rewrite)
    return tuple(
        literal
        for literal in literals
        if not next(_places(folded, fold(literal.text)), None) is not None
    )


def restored(rewrite: str, missing: Iterable[Literal]) -> str:
    """Return *rewrite* with the *missing* literals behind it."""
    return " ".join((rewrite, *(literal.text for literal in missing)))


def _literal(kind: str, match: re.Match[str]) -> Literal | None:
    if kind == "quoted":
        text = next(group for group in match.groups() if group is not None).strip()
        return Literal(kind, text) if text else None
    text = match.group().rstrip(_TRAILING)
    is_none = len(text) < _SHORTEST or (
        kind == "repository" and stop_words_of("english").issuperset(text.lower().split("/"))
    )
    return None if is_none else Literal(kind, text)


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


@value
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


def _nothing(_: str) -> bool:
    return False


def read_language(text: str, is_known: Callable[[str], bool] = _nothing) -> LanguageTest:
    """Count the words of *text*; *is_known* tells whether the catalogue holds a folded word."""
    distinct = dict.fromkeys(split_words(text))
    words = [word for word in distinct if _is_spoken(word)][:MOST_WORDS]
    if not words:
        return LanguageTest(0, 0.0, 0.0, 0.0, _is_latin(text))
    english = [_is_of(word, _ENGLISH) or _is_of(stem(word), _ENGLISH) for word in words]
    others = (language for language in LANGUAGES if language != _ENGLISH)
    other = max(_share([_is_of(word, language) for word in words]) for language in others)
    foreign = max(other, 1 - _share(english))
    if other <= _share(english):
        known = [one or is_known(word) for one, word in zip(english, words, strict=True)]
        foreign = 1 - _share(known)
    return LanguageTest(len(words), _share(english), other, foreign, _is_latin(text))


def _is_spoken(word: str) -> bool:
    """Return whether *word* is no number or code; vowel signs are no letters to `str.isalpha`."""
    return any(map(str.isalpha, word)) and not any(map(str.isdigit, word))


def _is_of(word: str, language: str) -> bool:
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


@value
class Verdict:
    """What became of an answer.

    Attributes:
        text: The rewrite; "" when there is none.
        reason: Why the answer is refused; "" when it is not. Without text or reason, the answer
            says no more than the query.
    """

    text: str = ""
    reason: str = ""


def judge(query: str, answer: str, literals: Iterable[Literal] = ()) -> Verdict:
    """Accept or refuse *answer* as a rewrite of *query*, which has these *literals*."""
    text = unquoted(answer)
    if fold(text) == fold(query.strip()):
        return Verdict()
    bare = without(text, literals)
    for is_refused, reason in _TESTS:
        if is_refused(query, text, bare):
            return Verdict(reason=reason)
    return Verdict(" ".join(text.split()))


def unquoted(text: str) -> str:
    """Return *text* without white space and quotation marks around it."""
    text = text.strip()
    while len(text) > 1 and text[0] + text[-1] in _QUOTES and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text.strip("`").strip()


def _is_blank(_query: str, text: str, _bare: str) -> bool:
    return not any(map(str.isalnum, text))


def _has_lines(_query: str, text: str, _bare: str) -> bool:
    return len(text.splitlines()) > 1


def _is_long(query: str, text: str, _bare: str) -> bool:
    return len(text) > min(LONGEST, max(ALWAYS_ALLOWED, MOST_TIMES_LONGER * len(query)))


def _has_controls(_query: str, text: str, _bare: str) -> bool:
    return UNSAFE.search(text.replace("\t", " ")) is not None


def _has_markup(_query: str, _text: str, bare: str) -> bool:
    return _MARKUP.search(bare) is not None


def _has_label(query: str, _text: str, bare: str) -> bool:
    found = _LABEL.match(bare)
    return found is not None and fold(found.group().strip()) not in fold(query)


def _has_sentences(query: str, text: str, _bare: str) -> bool:
    return len(_SENTENCE_END.findall(text)) > len(_SENTENCE_END.findall(query))


def _is_prose(query: str, text: str, bare: str) -> bool:
    """Return whether a whole sentence of its own words is mostly words that name nothing."""
    if _CLOSES.search(text) is None:
        return False
    words = set(split_words(bare)) - set(split_words(query))
    named = words - stop_words_of("english")
    return len(words) >= _SHORTEST_PROSE and len(named) <= (1 - PROSE) * len(words)


def _is_foreign(_query: str, _text: str, bare: str) -> bool:
    read = read_language(bare)
    is_beaten = read.other > read.english and read.english < PROSE
    return not read.is_latin or (is_beaten and read.words > 1)


_TESTS: tuple[tuple[_Test, str], ...] = (
    (_is_blank, "it is blank"),
    (_has_lines, "it has several lines"),
    (_is_long, "it is too long for a query"),
    (_has_controls, "it holds control or hidden characters"),
    (_has_markup, "it looks like markup, a list or code"),
    (_has_label, "it begins with a label or a role"),
    (_has_sentences, "it has more sentences than the query"),
    (_is_prose, "it reads as a reply, not as a query"),
    (_is_foreign, "it is not in English"),
)
