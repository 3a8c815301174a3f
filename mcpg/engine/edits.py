"""Edits: which words of a query may be added to a tool's hints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints
from mcpg.text import iter_words
from mcpg.text.background import share_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.engine.analysis import Analysis, Clause

MOST_WORDS = 24
"""The most words of a query that are tried, the weightiest."""

LONGEST_ALIAS_WORDS, LONGEST_ALIAS = 8, 80
"""What is longer, in words or characters, is no name of anything."""

_SHORTEST = 3
# The share of texts of a hundred words that hold such a word.
_SMALL_TALK, _COMMON = 1 / 30, 1 / 100
_REPAIRS_TRIED = 2
_RESPELT = ("typo", "prefix", "compound")
# What stands in quotation marks is what a tool shall be given, not what it does.
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
# Addresses, paths, file names, versions, numbered codes: a sign joins two sides of one token.
_LITERAL = re.compile(r"@|://|\\|^~|^\.{0,2}/|/.*/|\w\.\w|\d[-_:]|[-_:]\d")
# Scripts without spaces between words: a number within is no part of the words around it.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff00-\uffef\U00020000-\U0003ffff]+)"
)
_SENTENCE_END = (".", "!", "?", ":", ";", "\n")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that may be added.

    Attributes:
        text: The word.
        place: Its place among the clauses of the query.
        weight: How much of the query it is.
        is_lacking: Whether the tool lacks the word.
        is_doubtful: Whether it is better left out where another word does: one that people say in
            any request, one of a letter or two, or the name of something that no tool speaks of.
        is_common: Whether it is one that people use often, whatever they speak of.
    """

    text: str
    place: int
    weight: float
    is_lacking: bool
    is_doubtful: bool
    is_common: bool


def candidates(
    query: str,
    analysis: Analysis,
    impacts: Sequence[float],
    present: Iterable[str],
    language: str | None,
) -> list[Candidate]:
    """Give the words of *query* that may be added to a tool, the weightiest `MOST_WORDS`.

    Numbers, codes, addresses, file names and quotations are what a tool is called with, and are
    left out. Of a misspelt word that was repaired, the catalogue's own word is meant.

    Args:
        query: The query as typed.
        analysis: What it became.
        impacts: For each clause, how strongly the tool holds it.
        present: Keywords that the tool has.
        language: The language whose every-day words are doubtful.
    """
    spoken, names = _spoken(query)
    has = {word.casefold() for word in present}
    found = [
        Candidate(
            text,
            place,
            clause.weight,
            not impacts[place],
            (clause.role == "unknown" and clause.text in names)
            or _is_short(text)
            or _share(text, language) > _SMALL_TALK,
            _share(text, language) > _COMMON,
        )
        for place, clause in enumerate(analysis.clauses)
        if _is_sayable(clause) and clause.text in spoken
        for text in _texts(clause, language)
        if text.casefold() not in has
    ]
    heaviest = sorted(found, key=lambda one: (-one.weight, one.place, one.text))[:MOST_WORDS]
    return sorted(heaviest, key=lambda one: preference([one]))


def whole_alias(query: str) -> str | None:
    """Give *query* as an alias, `None` when it is too long for one or holds what is no name."""
    text = " ".join(query.split()).rstrip(".?!")
    words = text.split(" ")
    is_short = len(words) <= LONGEST_ALIAS_WORDS and len(text) <= LONGEST_ALIAS
    is_literal = _QUOTED.search(text) or any(map(_is_literal, words))
    return text if is_short and not is_literal and text.isprintable() else None


def as_keywords(chosen: Iterable[Candidate]) -> Hints:
    """Give hints with a keyword for each of *chosen*."""
    return Hints(keywords=tuple(sorted(one.text for one in chosen)))


def as_alias(chosen: Iterable[Candidate]) -> Hints:
    """Give hints with one alias of all *chosen*, in the query's order."""
    ordered = sorted(chosen, key=lambda one: (one.place, one.text))
    return Hints(aliases=(" ".join(one.text for one in ordered),))


def preference(chosen: Sequence[Candidate]) -> tuple[int, int, int, list[str]]:
    """Give what sorts the better of two sets of equally many words first.

    Words that the tool lacks go before words that it has, words of a subject before common ones,
    short ones before long ones.
    """
    texts = sorted(one.text for one in chosen)
    present = sum(not one.is_lacking for one in chosen)
    return present, sum(one.is_common for one in chosen), sum(map(len, texts)), texts


def _is_sayable(clause: Clause) -> bool:
    """Tell whether a clause is a word that one would write down as a keyword."""
    if clause.origin != "query" or clause.role not in ("term", "unknown"):
        return False
    letters = sum(map(str.isalpha, clause.text))
    is_code = any(map(str.isdigit, clause.text)) and clause.role == "unknown"
    return 2 * letters > len(clause.text) and not is_code


def _is_short(word: str) -> bool:
    # Only scripts with small letters write words of several letters; in others two are a word.
    return len(word) < (_SHORTEST if word.islower() else _SHORTEST - 1)


def _share(word: str, language: str | None) -> float:
    return share_of_texts(word, language) if language else 0.0


def _texts(clause: Clause, language: str | None) -> list[str]:
    """Give the words to write down for a clause.

    A word of the language is taken as it stands, for it may well be meant, whatever the catalogue's
    nearest word is.
    """
    repairs = clause.repairs[:_REPAIRS_TRIED]
    if repairs and repairs[0].kind in _RESPELT and not _share(clause.text, language):
        return list(dict.fromkeys(repair.word for repair in repairs))
    return [clause.text]


def _spoken(query: str) -> tuple[set[str], set[str]]:
    """Give the folded words of *query* that are no literals, and of these the likely names."""
    spoken: set[str] = set()
    names: set[str] = set()
    # A request may be one quotation.
    text = _QUOTED.sub(" ", query)
    for token, begins in _tokens(text if text.strip() else query):
        if not _is_literal(token):
            words = [word.text for word in iter_words(token)]
            spoken.update(words)
            if token[:1].isupper() and not begins:
                names.update(words)
    return spoken, names


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Give each token with whether it begins a sentence."""
    begins = True
    for token in _UNSPACED.sub(r" \1 ", text).split():
        yield token.strip("()[]{}<>*_,;:!?\"'…“”«»"), begins
        begins = token.endswith(_SENTENCE_END)


def _is_literal(token: str) -> bool:
    return bool(_LITERAL.search(token.rstrip("."))) or (
        any(map(str.isdigit, token)) and not any(map(str.isalpha, token))
    )
