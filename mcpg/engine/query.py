"""Query analysis: from the text of a query to weighted clauses over the terms of the index.

A query is cut into segments: sentences, and within them what stands between commas, unless that is
short. Each segment may be an intent of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from math import fsum

from mcpg.index import Index
from mcpg.index.scoring import smoothed_idf
from mcpg.text import iter_words, joined, language_of, stem, stop_words_of
from mcpg.text.spelling import allowed_edits
from mcpg.text.words import is_near_stop_word, share_of_texts
from mcpg.values import replace, value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import TypeAlias

    Part: TypeAlias = tuple[int, ...]
    Memo: TypeAlias = "dict[tuple[str, str | None], QueryTerm | None]"


# A request has no more intents than this; they are those that weigh most.
FOREIGN_POWER = 4
"""How sharply a query counts as foreign: some words are unknown in most queries."""

MOST_INTENTS = 8
# What stands between two commas and has fewer words than this, stop words left out, is an item
# of a list or an aside, no wish of its own.
FEWEST_WORDS = 4
_SENTENCE_ENDS = (". ", "? ", "! ", "; ", "\u3002", "\uff01", "\uff1f")
_CLAUSE_ENDS = (", ", "\uff0c")


def segments_of(query: str, texts: Sequence[str]) -> list[list[Part]]:
    """Return the parts of each sentence of *query*, as the places of their words in *texts*.

    A part reaches from comma to comma; one with too few words belongs to the part before it, or,
    at the beginning of a sentence, to the one after it.
    """
    sentences = _cut(query, _SENTENCE_ENDS)
    if len(sentences) == 1 and len(_cut(query, _CLAUSE_ENDS)) == 1:
        return []
    places = {text: place for place, text in enumerate(texts)}
    return [_parts(sentence, places) for sentence in sentences]


def _cut(text: str, ends: Iterable[str]) -> list[str]:
    for end in ends:
        text = text.replace(end, "\n")
    return [part for part in text.split("\n") if part.strip()]


def _parts(sentence: str, places: dict[str, int]) -> list[Part]:
    parts: list[Part] = []
    for text in _cut(sentence, _CLAUSE_ENDS):
        words = (places.get(word.text) for word in iter_words(text))
        part = tuple(dict.fromkeys(place for place in words if place is not None))
        if parts and min(len(part), len(parts[-1])) < FEWEST_WORDS:
            parts[-1] = tuple(dict.fromkeys((*parts[-1], *part)))
        elif part:
            parts.append(part)
    return parts


def sentences_of(parts: Sequence[Sequence[Part]], count: int) -> tuple[Part, ...]:
    """Return the places below *count* of each sentence; none for a query of one sentence."""
    if len(parts) <= 1:
        return ()
    rows = (dict.fromkeys(chain.from_iterable(sentence)) for sentence in parts)
    kept = (tuple([place for place in row if place < count]) for row in rows)
    return tuple([row for row in kept if row])


def intents_of(parts: Iterable[Iterable[Part]], weights: Sequence[float]) -> tuple[Part, ...]:
    """Return the distinct parts that weigh most, in their order; none where there is only one."""
    distinct = tuple(dict.fromkeys(chain.from_iterable(parts)))
    if len(distinct) <= MOST_INTENTS:
        return distinct if len(distinct) > 1 else ()
    by_weight = sorted(distinct, key=lambda part: -fsum([weights[place] for place in part]))
    heaviest = frozenset(by_weight[:MOST_INTENTS])
    return tuple([part for part in distinct if part in heaviest])


MAX_WORDS = 256
# All the context's words together weigh at most this much beside the query's own.
CONTEXT_WEIGHT = 0.3
# A number, or a code that the catalogue does not hold, is most often an argument, not a wish.
LITERAL_WEIGHT = 0.2
# The catalogue's frequencies are smoothed by the language's as if for every document there were
# this many of a hundred words of running text.
BACKGROUND_TEXTS = 3.0
_TYPO_CREDIT = 0.9
_SHORTEST_COMPOUND_PART = 3
_MOST_COMPLETIONS = 8
# Words of queries are endless, so there is a bound.
_MOST_REMEMBERED = 16_384


@value
class TermExpansion:
    """A word of the catalogue that a word of the query may have meant.

    Attributes:
        word: The word in the catalogue.
        term: Number of its term in the index.
        kind: `exact`, `stem`, `compound`, `prefix` or `typo`.
        distance: Edits between the two (insertion, deletion, substitution, transposition).
        similarity: Credit for a match of it, in (0, 1].
    """

    word: str
    term: int
    kind: str
    distance: int = 0
    similarity: float = 1.0


@value
class QueryTerm:
    """One word of the query that can find tools.

    Attributes:
        text: The word, folded.
        repairs: The words of the catalogue that it stands for; none when unknown.
        variants: The terms of these words with the credit, in (0, 1], for a match of each.
        weight: Its idf, times what its origin allows; above 0.
        document_frequency: Number of documents that hold what it stands for, at least.
        role: `term`, `identifier`, `literal` or `unknown`.
        origin: `query` or `context`.
    """

    text: str
    repairs: tuple[TermExpansion, ...]
    variants: tuple[tuple[int, float], ...]
    weight: float
    document_frequency: int
    role: str
    origin: str = "query"


@value
class Analysis:
    """What a query became.

    Attributes:
        clauses: The words that can find tools, the query's before the context's.
        sentences: For each sentence, the places of its words in `clauses`.
        intents: For each of its parts that may be a wish of its own, the same; none when there is
            one, and of many those that weigh most.
        words: The distinct words of the query in order, stop words among them.
        language: Language whose stop words were dropped.
        exact_keys: Joined forms of the whole query and of each identifier in it.
        total_weight: What a perfect match of everything asked would weigh; above 0.
    """

    clauses: tuple[QueryTerm, ...]
    sentences: tuple[tuple[int, ...], ...] = ()
    intents: tuple[tuple[int, ...], ...] = ()
    words: tuple[str, ...] = ()
    language: str | None = None
    exact_keys: tuple[str, ...] = ()
    total_weight: float = 1.0


def analyse(query: str, index: Index, *, context: str = "", memo: Memo | None = None) -> Analysis:
    """Turn *query*, and the *context* it is asked in, into clauses over *index*.

    What a word becomes depends on nothing but the index and the language, and is kept in *memo*.
    """
    words = list(iter_words(query))
    plain = _distinct(word.text for word in words if not word.whole)
    wholes = _distinct(word.text for word in words if word.whole)
    language = language_of((word.text for word in words), index.language)
    reader = _Reader(index, language, {} if memo is None else memo)
    asked = reader.clauses(_content_words(plain, language))
    # A word that is asked for as it stands counts once, however else it is written.
    identifiers = reader.identifiers(whole for whole in wholes if whole not in plain)
    added = _lightened(reader.context(context, plain), asked)
    found = (*asked, *identifiers)
    parts = segments_of(query, [clause.text for clause in found])
    return Analysis(
        (*found, *added),
        sentences_of(parts, len(asked)),
        intents_of(parts, [clause.weight for clause in found]),
        (*plain, *(clause.text for clause in identifiers)),
        language,
        _distinct(key for key in (joined(query), *wholes) if key),
        fsum(clause.weight for clause in found) or 1.0,
    )


class _Reader:
    """Reads words in one language against one index."""

    def __init__(self, index: Index, language: str | None, memo: Memo) -> None:
        self._index = index
        self._memo = memo
        self._language = language
        self._stop_words = stop_words_of(language) if language else frozenset()
        self._expected = index.language
        self._background = language or self._expected

    def clauses(self, words: Iterable[str]) -> list[QueryTerm]:
        made = map(self._remembered, words)
        return [clause for clause in made if clause is not None]

    def _remembered(self, word: str) -> QueryTerm | None:
        key = word, self._language
        if key in self._memo:
            return self._memo[key]
        clause = self._clause(word)
        if len(self._memo) < _MOST_REMEMBERED:
            self._memo[key] = clause
        return clause

    def identifiers(self, wholes: Iterable[str]) -> list[QueryTerm]:
        """Make clauses of the compound identifiers that the catalogue holds as they stand."""
        found = ((whole, self._index.find_identifier(whole)) for whole in wholes)
        return [
            self._weighed(whole, (TermExpansion(whole, term, "exact"),), "identifier")
            for whole, term in found
            if term >= 0
        ]

    def context(self, context: str, asked: Sequence[str]) -> list[QueryTerm]:
        """Make clauses of the words that the context adds, as far as the catalogue holds them."""
        words = _distinct(word.text for word in iter_words(context) if not word.whole)
        added = (
            word
            for word in _content_words(words, language_of(words, self._expected))
            if word not in asked
        )
        known = ((word, self._known(word)) for word in added)
        return [
            replace(self._weighed(word, repairs, "term"), origin="context")
            for word, repairs in known
            if repairs
        ]

    def _clause(self, word: str) -> QueryTerm | None:
        known = self._known(word)
        if known and known[0].kind == "exact":
            return self._weighed(word, known, "term")
        if stem(word) in self._stop_words:
            return None
        is_literal = any(map(str.isdigit, word))
        repairs = known or self._compound(word)
        if not repairs and not is_literal:
            words = self._index.completions(word, _MOST_COMPLETIONS)
            repairs = tuple(
                TermExpansion(
                    other, self._term(other), "prefix", 0, _TYPO_CREDIT * len(word) / len(other)
                )
                for other in sorted(words, key=lambda other: (len(other), other))
            ) or self._respelt(word)
        if not repairs and is_literal:
            return self._weighed(word, (), "literal")
        if self._is_misspelt_stop_word(word, repairs):
            return None
        return self._weighed(word, repairs, "term" if repairs else "unknown")

    def _is_misspelt_stop_word(self, word: str, repairs: Sequence[TermExpansion]) -> bool:
        """Return whether *word* is as near to a stop word as to any word of the catalogue."""
        distance = allowed_edits(word)
        if repairs:
            distance = 1 if repairs[0].kind == "prefix" else repairs[0].distance
        return bool(
            self._language and distance and is_near_stop_word(word, self._language, distance)
        )

    def _weighed(self, word: str, repairs: tuple[TermExpansion, ...], role: str) -> QueryTerm:
        index = self._index
        frequency = max((index.document_frequency(one.term) for one in repairs), default=0)
        common = share_of_texts(word, self._background) if self._background else 0.0
        weight = smoothed_idf(len(index), frequency, common, BACKGROUND_TEXTS)
        weight *= LITERAL_WEIGHT if role == "literal" or word.isdecimal() else 1.0
        # The most similar come first: of two words of one term the first counts.
        variants = tuple({one.term: one.similarity for one in reversed(repairs)}.items())
        return QueryTerm(word, repairs, variants, weight, frequency, role, "query")

    def _known(self, word: str) -> tuple[TermExpansion, ...]:
        index = self._index
        number = index.find_word(word)
        if number >= 0:
            return (TermExpansion(word, index.term_of_word(number), "exact", 0, 1.0),)
        term = index.find_stem(stem(word))
        if term >= 0:
            return (TermExpansion(index.word(index.word_of_term(term)), term, "stem"),)
        term = index.find_identifier(word)
        return (TermExpansion(word, term, "exact"),) if term >= 0 else ()

    def _compound(self, word: str) -> tuple[TermExpansion, ...]:
        """Find *word* as two words of the catalogue written together."""
        shortest = _SHORTEST_COMPOUND_PART
        for cut in range(len(word) - shortest, shortest - 1, -1):
            first = self._index.find_word(word[:cut])
            second = self._index.find_word(word[cut:]) if first >= 0 else -1
            if second >= 0:
                return (
                    TermExpansion(word[:cut], self._index.term_of_word(first), "compound"),
                    TermExpansion(word[cut:], self._index.term_of_word(second), "compound"),
                )
        return ()

    def _term(self, word: str) -> int:
        return self._index.term_of_word(self._index.find_word(word))

    def _respelt(self, word: str) -> tuple[TermExpansion, ...]:
        """Find the words that *word* may be a misspelling of; credit falls with distance."""
        distance, words = self._index.nearest(word)
        similarity = _TYPO_CREDIT * (1 - distance / max(1, len(word)))
        return tuple(
            TermExpansion(other, self._term(other), "typo", distance, similarity) for other in words
        )


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:MAX_WORDS]


def _content_words(words: Sequence[str], language: str | None) -> Sequence[str]:
    """Return those of the distinct *words* that carry content.

    A query of nothing but stop words keeps them: they are all there is to go by.
    """
    stop_words = stop_words_of(language) if language else frozenset()
    return [word for word in words if word not in stop_words] or words


def _lightened(added: Sequence[QueryTerm], asked: Sequence[QueryTerm]) -> list[QueryTerm]:
    """Scale the context's clauses so that together they weigh their part of the query at most."""
    query = fsum(clause.weight for clause in asked)
    context = fsum(clause.weight for clause in added)
    factor = CONTEXT_WEIGHT * min(1.0, query / context) if context else 0.0
    return [replace(clause, weight=clause.weight * factor) for clause in added]
