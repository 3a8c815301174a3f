"""Words of a request that are suitable as hints of a tool.

Arguments are left out: numbers, codes, addresses, file names, quotations, placeholders such as
"foo", and names of individual places, persons and days. The rest of a short request is an alias.
Misspellings are corrected.

Source of the placeholders: Eastlake et al., "Etymology of 'Foo'", RFC 3092, 2001.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, groupby

from mcpg.catalog.model import Hints
from mcpg.index import Index
from mcpg.index.recipe import FIELDS
from mcpg.search.query import Analysis, analyse, without_literals
from mcpg.search.query_terms import QueryTerm
from mcpg.text import fold, get_stop_words, iter_words, join_words, lexicon, stem
from mcpg.text.literals import QUOTED, blank_literals
from mcpg.text.words import LANGUAGES, is_unspaced, share_of_texts

MOST_WORDS = 24
"""The most words of a query that are tried, the weightiest."""

FEWEST_ALIAS_WORDS, LONGEST_ALIAS_WORDS, LONGEST_ALIAS = 2, 6, 80
"""A longer text, in words or characters, is a sentence, not a name; one word is a keyword."""

_SHORTEST = 3
# The share of texts of a hundred words with such a word.
_SMALL_TALK, _COMMON = 1 / 30, 1 / 100
_REPAIRS_TRIED = 2
_PLACEHOLDERS = (
    *("foo", "bar", "foobar", "baz", "qux", "quux", "corge", "grault", "garply", "waldo", "fred"),
    *("plugh", "xyzzy", "thud"),
)
_RESPELT = ("typo", "prefix", "compound")
_LONGEST_NAME = 3
# Nouns have a capital in these languages, names of individuals or not.
_CAPITALISING = ("german",)
_OF_NAMES = 1 << FIELDS.index("name") | 1 << FIELDS.index("source")
# Scripts without spaces between words: a number in them is not part of the words around it.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff"
)
# Text between spaces, cut at the ends of these scripts.
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\s{_UNSPACED}]+")
_PUNCTUATION = "()[]{}<>*_-,;:!?.\"'…“”«»\u3002\uff0c\uff1f\uff01"
_SENTENCE_END = (".", "!", "?", ":", ";")


LITERAL, NAME, STRANGE = "literal", "name", "strange"


@dataclass(frozen=True, slots=True)
class RequestToken:
    """A word of a request as it is written.

    Attributes:
        words: The folded words in it.
        is_attached: Whether it follows without a space.
        is_capitalised: Whether it has a capital other than at the beginning of a sentence.
        kind: `LITERAL` or `NAME` if it is an argument, `STRANGE` if neither a tool nor a word list
            has it, else `None`.
    """

    text: str
    words: tuple[str, ...]
    is_attached: bool
    is_capitalised: bool
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class HintWord:
    """A word that may be added.

    Attributes:
        place: Its place among the clauses of the query.
        weight: Its share of the query.
        is_lacking: Whether the tool has neither the word nor a related one.
        is_doubtful: Whether another word is preferable: a word of any request, a word of a letter
            or two, an adjective or adverb, or a word that neither the language nor a tool has,
            which may be a name.
        is_common: Whether it is frequent in texts on any subject.
    """

    text: str
    place: int
    weight: float
    is_lacking: bool
    is_doubtful: bool
    is_common: bool


class RequestWords:
    """The words of one request, and which of them describe its object."""

    def __init__(self, query: str, analysis: Analysis, language: str | None, index: Index) -> None:
        self._query = query
        # A request of nothing else is ranked by its literals, but they remain arguments.
        formal = [one for one in analysis.literals if one.kind != QUOTED]
        text, _ = without_literals(query, analysis.literals, index.language)
        self._literals = analysis.literals
        self._text = blank_literals(text, formal)
        self._clauses = analysis.clauses
        self._index = index
        self._language = language
        self._stop_words = get_stop_words(language)
        self._unknown = {one.text for one in self._clauses if one.role in ("unknown", "literal")}
        self._tokens = self._mark_individuals(list(self._read()))

    @property
    def arguments(self) -> frozenset[str]:
        """The folded words that are only arguments of a tool."""
        return frozenset(self._words(is_argument=True)) - self._words(is_argument=False)

    def _words(self, *, is_argument: bool) -> set[str]:
        return {
            word
            for one in self._tokens
            if (one.kind in (LITERAL, NAME)) == is_argument
            for word in one.words
        }

    def is_strange(self, word: str) -> bool:
        """Return whether neither a tool nor English has a folded *word* of an English request.

        The tables of other languages only have frequent words.
        """
        is_english = self._language == lexicon.ENGLISH
        return is_english and word in self._unknown and not self._is_listed(word)

    def _is_listed(self, word: str) -> bool:
        """Return whether English, or the language of the request, has the folded *word*."""
        return bool(self._share(word) or lexicon.zipf_frequency(word, lexicon.ENGLISH))

    def is_telling(self, word: str) -> bool:
        """Return whether a folded *word* may distinguish tools: a rarer noun or verb."""
        is_modifier = self._language == lexicon.ENGLISH and lexicon.is_modifier(word)
        return not is_modifier and not self._is_small_talk(word)

    def hint_words(self, is_held: Sequence[bool], present: Iterable[str] = ()) -> list[HintWord]:
        """Return the words that may be added to a tool, the weightiest `MOST_WORDS`.

        *is_held* is for each clause whether the tool has it, *present* are the tool's keywords.
        """
        spoken = self._words(is_argument=False)
        has = {word.casefold() for word in present}
        found: list[HintWord] = []
        for place, clause in enumerate(self._clauses):
            # It must be suitable as a keyword.
            letters = sum(map(str.isalpha, clause.text))
            is_code = any(map(str.isdigit, clause.text)) and clause.role == "unknown"
            is_word = clause.origin == "query" and clause.role in ("term", "unknown")
            is_sayable = is_word and 2 * letters > len(clause.text) and not is_code
            if not is_sayable or clause.text not in spoken:
                continue
            # A word of the language is not corrected, because it may be intended, whatever the
            # catalog's nearest word is.
            texts: Iterable[str] = (clause.text,)
            if self._is_respelt(clause):
                texts = dict.fromkeys(one.word for one in clause.repairs[:_REPAIRS_TRIED])
            elif self.is_strange(clause.text):
                texts = (lexicon.correct_spelling(clause.text) or clause.text,)
            for text in texts:
                if text.casefold() not in has:
                    is_doubtful = self.is_strange(text) or not self.is_telling(text)
                    is_common, is_lacking = self._share(text) > _COMMON, not is_held[place]
                    traits = is_lacking, is_doubtful, is_common
                    found.append(HintWord(text, place, clause.weight, *traits))
        heaviest = sorted(found, key=lambda one: (-one.weight, one.place, one.text))[:MOST_WORDS]
        return sorted(heaviest, key=lambda one: preference([one]))

    def alias(self) -> str | None:
        """Return the request as an alias, `None` if it is too short or too long.

        Arguments are left out, and so are stop words that only introduce one.
        """
        tokens = max(self._parts(), key=len, default=[])
        # As typed, or as in the catalog if that corrects a misspelling.
        respelt = [one for one in reversed(self._clauses) if self._is_respelt(one)]
        repaired: dict[tuple[str, ...], str] = {(one.text,): one.repairs[0].word for one in respelt}
        spelt = [repaired.get(one.words, one.text) for one in tokens]
        spaced = zip(tokens, spelt, strict=True)
        text = "".join(("" if one.is_attached else " ") + word for one, word in spaced)
        words = [word for one in tokens for word in one.words]
        is_name = (
            FEWEST_ALIAS_WORDS <= len(words) <= LONGEST_ALIAS_WORDS
            and len(text.strip()) <= LONGEST_ALIAS
            and text.isprintable()
        )
        says_something = any(
            not self._is_stop_word(one) and not all(map(self._is_small_talk, one.words))
            for one in tokens
        )
        return text.strip() if is_name and says_something else None

    def _parts(self) -> Iterator[list[RequestToken]]:
        """Yield the parts between names: the part before a name may end in another sentence.

        A literal is usually the object of a request, and the text around it belongs together; the
        same applies to names in scripts without spaces.
        """
        ends = (STRANGE,) if self._language in lexicon.UNSPACED else (NAME, STRANGE)
        groups = [(kind, list(one)) for kind, one in groupby(self._tokens, lambda one: one.kind)]
        part: list[RequestToken] = []
        for place, (kind, tokens) in enumerate(groups):
            if kind is None and not (len(groups) > 1 and all(map(self._is_stop_word, tokens))):
                part += tokens if part or not place else dropwhile(self._is_stop_word, tokens)
            is_last = place == len(groups) - 1
            if part and (kind in ends or is_last):
                if kind is not None and self._is_stop_word(part[-1]):
                    part.pop()
                yield part
                part = []

    def _is_stop_word(self, token: RequestToken) -> bool:
        return self._stop_words.issuperset(token.words)

    def _is_respelt(self, clause: QueryTerm) -> bool:
        return clause.kind in _RESPELT and not self._is_listed(clause.text)

    def _is_small_talk(self, word: str) -> bool:
        """Return whether *word* is in any request, and no tool is called after it."""
        # Only scripts with small letters write words of several letters; in others two are a word.
        shortest = _SHORTEST if word.islower() else _SHORTEST - 1
        is_usual = len(word) < shortest or self._share(word) > _SMALL_TALK
        return is_usual and not self._is_in_a_name(word)

    def _share(self, word: str) -> float:
        if self._language in LANGUAGES:
            return share_of_texts(word, self._language)
        if self._language in lexicon.FOREIGN:
            return lexicon.share_of_texts(word, self._language)
        return 0.0

    # Tokens

    def _read(self) -> Iterator[RequestToken]:
        """Yield the tokens of the request, without finding names."""
        set_aside = (
            (one.start, self._query[one.start : one.end], True)
            for one in self._literals
            if not self._text[one.start : one.end].strip()
        )
        begins, last_end = True, -1
        for start, run, is_literal in sorted((*set_aside, *self._runs())):
            text = run.strip(_PUNCTUATION)
            words = tuple(word.text for word in iter_words(text) if not word.is_compound)
            if words or is_literal:
                is_code = any(one in self._unknown and any(map(str.isdigit, one)) for one in words)
                is_attached = start == last_end and is_unspaced(run[0])
                is_capitalised = text[:1].isupper() and not begins
                is_placeholder = bool(words) and all(map(_is_placeholder, words))
                kind = LITERAL if is_literal or is_code or is_placeholder else None
                yield RequestToken(text, words, is_attached, is_capitalised, kind)
            begins = run.endswith(_SENTENCE_END)
            last_end = start + len(run)

    def _runs(self) -> Iterator[tuple[int, str, bool]]:
        """Yield the texts between spaces, and in scripts without spaces the texts between names."""
        for found in _RUN.finditer(self._text):
            run, place = found.group(), found.start()
            parts = [run]
            if self._language in lexicon.UNSPACED and is_unspaced(run[0]):
                words = groupby(lexicon.segment(fold(run), self._language), lexicon.is_name)
                names = [[*part] if is_name else ["".join(part)] for is_name, part in words]
                parts = [part for group in names for part in group]
            for part in parts:
                yield place, part, False
                place += len(part)

    def _mark_individuals(self, tokens: Sequence[RequestToken]) -> list[RequestToken]:
        named: set[int] = set()
        for place in range(len(tokens)):
            for length in range(_LONGEST_NAME, 0, -1):
                part = tokens[place : place + length]
                if len(part) == length and self._is_name(part):
                    named.update(range(place, place + length))
        marked = []
        for place, one in enumerate(tokens):
            kind = one.kind or (NAME if place in named else None)
            if not kind and one.words and all(map(self.is_strange, one.words)):
                kind = STRANGE
            marked.append(replace(one, kind=kind))
        return marked

    def _is_name(self, tokens: Sequence[RequestToken]) -> bool:
        """Return whether *tokens* name an individual place, person or day.

        What a tool or server is called names no individual.
        """
        words = [word for token in tokens for word in token.words]
        if not words or all(map(self._is_in_a_name, words)):
            return False
        text = " ".join(words)
        if lexicon.is_name(text):
            return True
        is_capitalised = self._language not in _CAPITALISING and all(
            token.is_capitalised for token in tokens
        )
        return is_capitalised and (
            lexicon.is_name(text.title()) or all(map(self.is_strange, words))
        )

    def _is_in_a_name(self, word: str) -> bool:
        term = self._index.find_stem(stem(word))
        return term >= 0 and any(mask & _OF_NAMES for mask in self._index.postings(term)[2])


def _is_placeholder(word: str) -> bool:
    """Return whether *word* is a placeholder, and not a frequent English word such as "bar"."""
    is_frequent = lexicon.zipf_frequency(word, lexicon.ENGLISH) >= lexicon.COMMON
    return word in _PLACEHOLDERS and not is_frequent


def as_keywords(chosen: Iterable[HintWord]) -> Hints:
    """Return hints with a keyword for each of *chosen*."""
    return Hints(keywords=tuple(sorted(one.text for one in chosen)))


def as_alias(chosen: Iterable[HintWord]) -> Hints:
    """Return hints with one alias of all *chosen*, in the query's order."""
    ordered = sorted(chosen, key=lambda one: (one.place, one.text))
    return Hints(aliases=(" ".join(one.text for one in ordered),))


def preference(chosen: Sequence[HintWord]) -> tuple[int, int, int, list[str]]:
    """Return what sorts the better of two sets of equally many words first.

    Words that the tool lacks go before words that it has, words of a subject before common ones,
    short ones before long ones.
    """
    texts = sorted(one.text for one in chosen)
    present = sum(not one.is_lacking for one in chosen)
    return present, sum(one.is_common for one in chosen), sum(map(len, texts)), texts


def find_alias(query: str, index: Index) -> str | None:
    """Return *query* as an alias, `None` if it is unsuitable or a tool's name."""
    analysis = analyse(query, index)
    alias = RequestWords(query, analysis, analysis.language or index.language, index).alias()
    return alias if alias and not index.exact(join_words(alias)) else None
