"""Analysis: from the text of a query to weighted clauses over the terms of the index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.engine.trace import QueryWord, Repair
from mcpg.text import function_words_of, iter_words, joined, language_of, stem
from mcpg.text.spelling import allowed_edits, edit_distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.index import Index

MAX_WORDS = 256
# All the context's words together weigh at most this much beside the query's own.
CONTEXT_WEIGHT = 0.3
# A number or code that the catalogue does not hold is most often an argument, not a wish.
LITERAL_WEIGHT = 0.2
_TYPO_CREDIT = 0.9
_SHORTEST_COMPOUND_PART = 3


@dataclass(frozen=True, slots=True)
class Clause:
    """One word of the query that can find tools.

    Attributes:
        text: The word, folded.
        origin: `query` or `context`.
        repairs: The words of the catalogue that it stands for; none when unknown.
        variants: Terms of the index with the credit, in (0, 1], for a match of each.
        weight: Its rarity, times what its origin allows; above 0.
        document_frequency: Number of documents that hold one of the variants, at most.
        role: `term`, `identifier`, `literal` or `unknown`.
    """

    text: str
    origin: str
    repairs: tuple[Repair, ...]
    variants: tuple[tuple[str, float], ...]
    weight: float
    document_frequency: int
    role: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a query became.

    Attributes:
        clauses: The words that can find tools, the query's before the context's.
        words: The distinct words of the query in order, function words among them.
        language: Language whose function words were dropped.
        exact_keys: Joined forms of the whole query and of each identifier in it.
    """

    clauses: tuple[Clause, ...]
    words: tuple[str, ...] = ()
    language: str | None = None
    exact_keys: tuple[str, ...] = ()

    @property
    def total_weight(self) -> float:
        """What a perfect match of everything asked would weigh."""
        return sum(clause.weight for clause in self.clauses if clause.origin == "query")


def analyse(query: str, index: Index, *, context: str = "") -> Analysis:
    """Turn *query*, and the *context* it is asked in, into clauses over *index*."""
    words = list(iter_words(query))
    plain = _distinct(word.text for word in words if not word.whole)
    wholes = _distinct(word.text for word in words if word.whole)
    language = language_of(word.text for word in words)
    identifiers = _identifier_clauses(wholes, index)
    asked = [*_clauses(_content_words(plain, language), index, language), *identifiers]
    added = _lightened(_context_clauses(context, index, set(plain)), asked)
    said = (*plain, *(clause.text for clause in identifiers))
    keys = _distinct(key for key in (joined(query), *wholes) if key)
    return Analysis((*asked, *added), said, language, keys)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:MAX_WORDS]


def _content_words(words: Sequence[str], language: str | None) -> Sequence[str]:
    """Give those of the distinct *words* that carry content.

    A query of nothing but function words keeps them: they are all there is to go by.
    """
    function_words = function_words_of(language) if language else frozenset()
    return [word for word in words if word not in function_words] or words


def _identifier_clauses(wholes: Iterable[str], index: Index) -> list[Clause]:
    """Make clauses of the compound identifiers that the catalogue holds as they stand."""
    return [
        replace(_weighed(whole, (Repair(whole, "exact", 0, 1.0),), index), role="identifier")
        for whole in wholes
        if whole in index.postings
    ]


def _context_clauses(context: str, index: Index, asked: set[str]) -> list[Clause]:
    """Make clauses of the words that the context adds, as far as the catalogue holds them."""
    words = [word.text for word in iter_words(context) if not word.whole]
    language = language_of(words)
    return [
        replace(_weighed(word, repairs, index), origin="context")
        for word in _content_words(_distinct(words), language)
        if word not in asked and (repairs := _known(word, index))
    ]


def _lightened(added: Sequence[Clause], asked: Sequence[Clause]) -> list[Clause]:
    """Scale the context's clauses so that together they weigh their part of the query at most."""
    query = sum(clause.weight for clause in asked)
    context = sum(clause.weight for clause in added)
    factor = CONTEXT_WEIGHT * min(1.0, query / context) if context else 0.0
    return [replace(clause, weight=clause.weight * factor) for clause in added]


def _clauses(words: Iterable[str], index: Index, language: str | None) -> list[Clause]:
    made = (_clause(word, index, language) for word in words)
    return [clause for clause in made if clause is not None]


def _clause(word: str, index: Index, language: str | None) -> Clause | None:
    """Make the clause of *word*; `None` for a misspelt or inflected function word."""
    if word not in index.stems and language and stem(word) in function_words_of(language):
        return None
    repairs = _known(word, index) or _compound(word, index)
    if not repairs and not any(map(str.isdigit, word)):
        repairs = _respelt(word, index)
        distance = repairs[0].distance if repairs else allowed_edits(word)
        if language and _is_near_function_word(word, language, distance):
            return None
    return _weighed(word, repairs, index)


def _weighed(word: str, repairs: tuple[Repair, ...], index: Index) -> Clause:
    variants: dict[str, float] = {}
    for repair in repairs:
        term = index.term_of(repair.word)
        variants[term] = max(variants.get(term, 0.0), repair.similarity)
    frequency = max(map(index.document_frequency, variants), default=0)
    role = "term" if repairs else "literal" if any(map(str.isdigit, word)) else "unknown"
    weight = index.inverse_document_frequency(frequency)
    weight *= LITERAL_WEIGHT if role == "literal" else 1.0
    return Clause(word, "query", repairs, tuple(variants.items()), weight, frequency, role)


def _known(word: str, index: Index) -> tuple[Repair, ...]:
    """Find *word* as it stands, or another inflection of it."""
    if word in index.stems:
        return (Repair(word, "exact", 0, 1.0),)
    relative = index.word_of_stem.get(stem(word))
    if relative is not None:
        return (Repair(relative, "stem", 0, 1.0),)
    return (Repair(word, "exact", 0, 1.0),) if word in index.postings else ()


def _compound(word: str, index: Index) -> tuple[Repair, ...]:
    """Find *word* as two words of the catalogue written together."""
    shortest = _SHORTEST_COMPOUND_PART
    for cut in range(len(word) - shortest, shortest - 1, -1):
        parts = word[:cut], word[cut:]
        if all(part in index.stems for part in parts):
            return tuple(Repair(part, "compound", 0, 1.0) for part in parts)
    return ()


def _respelt(word: str, index: Index) -> tuple[Repair, ...]:
    """Find the words that *word* may be a misspelling of; credit falls with distance."""
    distance, words = index.spelling.nearest(word)
    similarity = _TYPO_CREDIT * (1 - distance / max(1, len(word)))
    return tuple(Repair(other, "typo", distance, similarity) for other in words)


def _is_near_function_word(word: str, language: str, distance: int) -> bool:
    """Tell whether *word* is as near to a function word as to any word of the catalogue."""
    return distance > 0 and any(
        edit_distance(word, other, distance) is not None for other in function_words_of(language)
    )


def words_of(analysis: Analysis) -> tuple[QueryWord, ...]:
    """Say what became of each word, the query's in order before the context's."""
    total = analysis.total_weight or 1.0
    asked = {clause.text: clause for clause in analysis.clauses if clause.origin == "query"}
    added = (clause for clause in analysis.clauses if clause.origin == "context")
    return (
        *(_word_of(word, asked.get(word), total) for word in analysis.words),
        *(_word_of(clause.text, clause, total) for clause in added),
    )


def _word_of(text: str, clause: Clause | None, total: float) -> QueryWord:
    if clause is None:
        return QueryWord(text, "function word")
    return QueryWord(
        text,
        clause.role,
        clause.origin,
        clause.weight / total,
        clause.document_frequency,
        clause.repairs,
    )
