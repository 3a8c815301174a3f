"""The words of a query, and how to look for them in SPARQL.

SPARQL knows no stems. So a query looks for words that begin as the stem does, which finds too much
and leaves out nothing but spellings with other accents; the words of what it finds decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from mcpg.text import fold, function_words_in, split_words, stem, strip_accents
from mcpg.text.words import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_TERMS = 64
"""The most words of a query that are looked for."""

_SHORTEST_BEGINNING = 3
_BETWEEN_WORDS = r"(^|[^\p{L}\p{N}])"
_WORD = re.compile(r"\w+")
_SIGNS = re.compile(r"[\\|.?*+(){}\[\]^$]")


@dataclass(frozen=True, slots=True)
class Term:
    """A word that is looked for.

    Attributes:
        text: As it was asked, folded.
        stem: What its inflections share.
        beginnings: How a word that may be one of them begins, in lower case.
    """

    text: str
    stem: str
    beginnings: tuple[str, ...]


def terms_of(query: str, language: str | None = None) -> tuple[Term, ...]:
    """Give the words of *query*, each stem once, in order; function words only if all are.

    Args:
        query: In any words.
        language: That of the graph, which the query is most likely in; `None` if unknown.
    """
    words = split_words(query)
    empty = function_words_in(words, language)
    kept = [word for word in words if word not in empty] or words
    accented = {strip_accents(word): word for word in _WORD.findall(fold(query))}
    found: dict[str, Term] = {}
    for word in kept:
        found.setdefault(stem(word), _term(word, accented.get(word, word)))
    return tuple(found.values())[:MOST_TERMS]


def pattern_of(terms: Sequence[Term]) -> str:
    """Give a regular expression of XPath, to be used with the flag `i`, that finds *terms*."""
    spaced: list[str] = []
    run_together: list[str] = []
    for term in terms:
        for beginning in term.beginnings:
            (run_together if is_unspaced(beginning[0]) else spaced).append(_escaped(beginning))
    parts = [f"{_BETWEEN_WORDS}({'|'.join(spaced)})"] if spaced else []
    return "|".join((*parts, *run_together))


def _term(word: str, accented: str) -> Term:
    ending = stem(word)
    # "query" and "queries" share a stem that ends with another letter than one of them.
    common = _common(word, ending.removesuffix("i"))
    length = max(common, min(_SHORTEST_BEGINNING, len(word)))
    forms = (word[:length], accented[:length] if len(accented) == len(word) else accented)
    return Term(word, ending, tuple(dict.fromkeys(forms)))


def _common(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _escaped(text: str) -> str:
    # XPath knows no escapes but these: a vowel sign after a backslash makes the pattern invalid.
    return _SIGNS.sub(r"\\\g<0>", text)
