"""Analysis: from the text of a query to weighted clauses over the terms of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.engine.trace import QueryWord, Repair
from mcpg.text import function_words_of, iter_words, joined, language_of, stem
from mcpg.text.spelling import allowed_edits, edit_distance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.index import Index

MAX_CLAUSES = 256
# Evidence from the context weighs at most this much beside the query's own words.
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
        role: `term`, `literal` or `unknown`.
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
        dropped: Function words of the query, in order.
        language: Language whose function words were dropped.
        exact_keys: Joined forms of the whole query and of each identifier in it.
    """

    clauses: tuple[Clause, ...]
    dropped: tuple[str, ...] = ()
    language: str | None = None
    exact_keys: tuple[str, ...] = ()

    @property
    def total_weight(self) -> float:
        """What a perfect match of everything asked would weigh."""
        return sum(clause.weight for clause in self.clauses if clause.origin == "query")


def analyse(query: str, index: Index, *, context: str = "") -> Analysis:
    """Turn *query*, and the *context* it is asked in, into clauses over *index*."""
    words = list(iter_words(query))
    plain = [word.text for word in words if not word.whole]
    language = language_of(plain)
    wanted, dropped = _content_words(plain, language)
    wholes = [word.text for word in words if word.whole]
    clauses = [
        *_clauses(wanted, index, language, "query"),
        *_clauses((text for text in wholes if text in index.postings), index, None, "query"),
        *_context_clauses(context, index, set(wanted)),
    ]
    keys = dict.fromkeys(key for key in (joined(query), *wholes) if key)
    return Analysis(tuple(clauses[:MAX_CLAUSES]), tuple(dropped), language, tuple(keys))


def _content_words(words: list[str], language: str | None) -> tuple[list[str], list[str]]:
    """Part distinct *words* into those that carry content and the function words.

    A query of nothing but function words keeps them: they are all there is to go by.
    """
    function_words = function_words_of(language) if language else frozenset()
    distinct = list(dict.fromkeys(words))
    content = [word for word in distinct if word not in function_words]
    if not content:
        return distinct, []
    return content, [word for word in distinct if word in function_words]


def _context_clauses(context: str, index: Index, asked: set[str]) -> list[Clause]:
    """Make clauses of the words that the context adds."""
    words = [word.text for word in iter_words(context) if not word.whole]
    language = language_of(words)
    wanted, _ = _content_words(words, language)
    added = (word for word in wanted if word not in asked)
    return [
        clause
        for clause in _clauses(added, index, language, "context")
        if clause.role == "term" and all(repair.distance == 0 for repair in clause.repairs)
    ]


def _clauses(words: Iterable[str], index: Index, language: str | None, origin: str) -> list[Clause]:
    made = (_clause(word, index, language, origin) for word in words)
    return [clause for clause in made if clause is not None]


def _clause(word: str, index: Index, language: str | None, origin: str) -> Clause | None:
    """Make the clause of *word*; `None` for a misspelt function word."""
    repairs = _known(word, index) or _compound(word, index)
    if not repairs and not any(map(str.isdigit, word)):
        repairs = _respelt(word, index)
        distance = repairs[0].distance if repairs else allowed_edits(word)
        if language and _is_near_function_word(word, language, distance):
            return None
    return _weighed(word, repairs, index, origin)


def _weighed(word: str, repairs: tuple[Repair, ...], index: Index, origin: str) -> Clause:
    variants: dict[str, float] = {}
    for repair in repairs:
        term = repair.word if repair.kind == "stem" else index.stems.get(repair.word, repair.word)
        variants[term] = max(variants.get(term, 0.0), repair.similarity)
    frequency = max(map(index.document_frequency, variants), default=0)
    role = "term" if repairs else "literal" if any(map(str.isdigit, word)) else "unknown"
    weight = index.inverse_document_frequency(frequency)
    weight *= LITERAL_WEIGHT if role == "literal" else 1.0
    weight *= CONTEXT_WEIGHT if origin == "context" else 1.0
    return Clause(word, origin, repairs, tuple(variants.items()), weight, frequency, role)


def _known(word: str, index: Index) -> tuple[Repair, ...]:
    """Find *word* as it stands, or another inflection of it."""
    term = stem(word)
    if word not in index.stems and term in index.postings:
        return (Repair(term, "stem", 0, 1.0),)
    is_known = word in index.stems or word in index.postings
    return (Repair(word, "exact", 0, 1.0),) if is_known else ()


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
    """Say what became of each word, for an explanation."""
    total = analysis.total_weight or 1.0
    kept = (
        QueryWord(
            clause.text,
            clause.role,
            clause.origin,
            clause.weight / total,
            clause.document_frequency,
            clause.repairs,
        )
        for clause in analysis.clauses
    )
    return (*kept, *(QueryWord(word, "function word") for word in analysis.dropped))
