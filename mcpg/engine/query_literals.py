"""Literals of a query: what arguments add to it.

A path or an order number says nothing of the tool that takes it, and must not count against the
right one. So a query is analysed without its literals. Their words and the names of their kinds
only add: a tool whose texts hold them gains, and one that lacks them loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from mcpg.engine.query_terms import QueryTerm, TermReader
from mcpg.index import Index
from mcpg.text import Word, fold, iter_words, joined, language_of, stop_words_of
from mcpg.text.literals import QUOTED, WORDS_OF_KINDS, TextLiteral, blank_literals, find_literals
from mcpg.text.words import are_stop_words

WORD_WEIGHT = 0.5
"""What a word of a literal weighs beside one that is asked for."""

MOST_OF_WORDS = 0.5
"""All words of literals together weigh at most this much of the query."""

KIND_WEIGHT = 0.6
"""What a name of a kind of literal weighs beside a word that is asked for."""

MOST_OF_KINDS = 0.3
"""All names of kinds together weigh at most this much of the query."""

_MOST_WORDS = 64


def query_literals(query: str, index: Index) -> tuple[TextLiteral, ...]:
    """Return the literals of *query*, but for what the catalogue holds as it stands.

    Quoted texts, and what has no letter, are literals all the same.
    """
    return tuple([one for one in find_literals(query) if not _is_held(one, index)])


def _is_held(literal: TextLiteral, index: Index) -> bool:
    if literal.kind == QUOTED or not any(map(str.isalpha, literal.text)):
        return False
    whole = joined(literal.text)
    return index.find_word(fold(literal.text)) >= 0 or index.find_identifier(whole) >= 0


def without_literals(query: str, literals: Sequence[TextLiteral], expected: str | None) -> str:
    """Return *query* with spaces in the place of its *literals*, if that leaves any content word.

    Else quoted texts are kept, or all of them: they are what there is to go by. *expected* is the
    language that one stop word is enough to tell.
    """
    return spoken_part(query, literals, expected)[0]


def spoken_part(
    query: str, literals: Sequence[TextLiteral], expected: str | None
) -> tuple[str, list[Word]]:
    """Return the same with its words."""
    if literals:
        others = [one for one in literals if one.kind != QUOTED]
        for hidden in (literals, others):
            text = blank_literals(query, hidden)
            words = list(iter_words(text))
            if _have_content([word.text for word in words], expected):
                return text, words
    return query, list(iter_words(query))


def _have_content(words: Sequence[str], expected: str | None) -> bool:
    if not are_stop_words(words):  # most texts have such a word soon
        return True
    language = language_of(words, expected)
    return not (stop_words_of(language) if language else frozenset()).issuperset(words)


def words_of_literals(
    literals: Sequence[TextLiteral],
    asked: Sequence[QueryTerm],
    reader: TermReader,
    stop_words: frozenset[str],
) -> list[QueryTerm]:
    """Return the clauses that *literals* add to those that are *asked* for."""
    most = fsum([clause.weight for clause in asked])
    has = [clause.text for clause in asked]
    words = [one for one in _words(literals) if one not in stop_words and one not in has]
    names = [name for one in literals for name in WORDS_OF_KINDS.get(one.kind, ())]
    # A name of a kind that is asked for as well counts twice: both speak for one tool.
    return [
        *_lighten_clauses(reader.of_literals(words), WORD_WEIGHT, MOST_OF_WORDS * most),
        *_lighten_clauses(
            reader.of_literals(dict.fromkeys(names)), KIND_WEIGHT, MOST_OF_KINDS * most
        ),
    ]


def _lighten_clauses(
    clauses: Sequence[QueryTerm], factor: float, most: float
) -> Iterable[QueryTerm]:
    """Return *clauses* that weigh less by *factor*, and together at most *most*."""
    total = fsum([clause.weight for clause in clauses])
    factor = min(factor, most / total) if total else 0.0
    return [one.weighing(one.weight * factor) for one in clauses] if factor else ()


def _words(literals: Iterable[TextLiteral]) -> list[str]:
    words = [word.text for one in literals for word in iter_words(one.text) if not word.whole]
    return [*dict.fromkeys(words)][:_MOST_WORDS]
