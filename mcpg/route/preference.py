"""Whether a query asks to read or to write, inferred from the catalogue, not from a list of verbs.

A list of verbs (*get*, *delete*) would be limited to English and misread *delete* in a catalogue
about undeleting. Here the read-only hints of the tools are the training data of a naive Bayes
classifier: a word of the query is evidence for reading as far as it is likelier among the read-only
tools of this catalogue than among those that write. A word counts only if chance alone would hardly
distribute it so unevenly, which takes several tools; words held by the same tools count once; and
unless the evidence reaches the required odds, there is no preference. A catalogue without hints, or
a query in a language of none of its tools, yields none either.

Source: Dunning, "Accurate methods for the statistics of surprise and coincidence", Computational
Linguistics 19, 1993 (the likelihood ratio for small counts); Walter, "The distribution of Levin's
measure of attributable risk", Biometrika 62, 1975 (a half added to each count of a ratio of rates);
Maron, "Automatic indexing: an experimental inquiry", Journal of the ACM 8, 1961 (naive Bayes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum, log
from typing import Any

from mcpg.index.layout import READS, WRITES
from mcpg.index.reader import Index
from mcpg.index.recipe import FIELDS
from mcpg.search.query import analyse
from mcpg.search.query_terms import QueryTerm
from mcpg.values import DECIMALS, round_shown_score, to_json

READ_ONLY, WRITE, NONE = "read-only", "write", "none"
"""Kinds of preference."""

# The fields that describe the action of a tool; parameters name its objects.
_ACTION_FIELDS = ("name", "title", "aliases", "keywords", "description", "examples")
_ACTION_MASK = sum(1 << FIELDS.index(name) for name in _ACTION_FIELDS)
# Exceeded by one in a hundred meaningless words: chi-squared with one degree of freedom.
_SIGNIFICANT = 6.635
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class WordLeaning:
    """The evidence of one word of a query.

    Attributes:
        text: The word.
        read_only: Number of read-only tools with it.
        writing: Number of tools that write with it.
        evidence: Its evidence in nats: above 0 for reading, below 0 for writing; 0 where the
            difference may be due to chance.
    """

    text: str
    read_only: int
    writing: int
    evidence: float


@dataclass(frozen=True, slots=True)
class Preference:
    """The preferred kind of tool, and the evidence for it.

    Attributes:
        name: `read-only`, `write` or `none`.
        is_asked: Whether the caller stated it; otherwise it is inferred.
        evidence: Sum of the evidence of the words, in nats: above 0 for reading, below for writing.
        needed: The absolute evidence required for a preference, in nats.
        read_only: Number of tools of the catalogue that are marked as read-only.
        writing: Number of tools that are marked as not read-only.
        words: Evidence of the words of the query, strongest first; without words that no tool has,
            and words whose tools are those of another word.
    """

    name: str = NONE
    is_asked: bool = False
    evidence: float = 0.0
    needed: float = 0.0
    read_only: int = 0
    writing: int = 0
    words: tuple[WordLeaning, ...] = ()

    def to_dict(self, *, with_words: bool = False) -> dict[str, Any]:
        """Return the preference as a JSON object."""
        names = {"read_only": "readOnlyTools", "writing": "writingTools"}
        return to_json(self, names, () if with_words else ("words",)) | {
            "evidence": round_shown_score(self.evidence),
            "needed": round_shown_score(self.needed),
        }


def asked_preference(prefer_read_only: bool | None) -> Preference:
    """Return the preference that a caller states; `None` for no preference."""
    names = {True: READ_ONLY, False: WRITE, None: NONE}
    return Preference(names[prefer_read_only], is_asked=True)


def derived_preference(
    index: Index, query: str, odds: float, *, uses_lexicon: bool = True
) -> Preference:
    """Return the kind of tool that *query* asks for, inferred from the tools of *index*.

    Args:
        index: The tools.
        query: The query; "" for no preference.
        odds: How many times likelier its words must be among tools of one kind; at least 1.
        uses_lexicon: Whether a word also counts as its translations.

    Raises:
        StaleIndexError: The index is damaged.
    """
    kinds = index.read_only_flags()
    total = kinds.count(READS), kinds.count(WRITES)
    needed = log(odds)
    if not query or not all(total):
        return Preference(needed=needed, read_only=total[0], writing=total[1])
    words = tuple(_word_evidence(index, query, kinds, total, uses_lexicon=uses_lexicon))
    evidence = round(fsum([word.evidence for word in words]), DECIMALS)
    name = NONE
    if evidence and abs(evidence) >= needed:
        name = READ_ONLY if evidence > 0 else WRITE
    ordered = tuple(sorted(words, key=lambda word: -abs(word.evidence)))
    return Preference(name, False, evidence, needed, *total, ordered)


def log_rate_ratio(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the logarithm of the ratio of two rates, in nats.

    Args:
        first: How often it was seen, of *of_first* times.
        of_first: Above 0.
        second: How often it was seen, of *of_second* times.
        of_second: Above 0.
    """
    rate, other = (first + _HALF) / (of_first + _HALF), (second + _HALF) / (of_second + _HALF)
    return log(rate) - log(other)


def surprise(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return Dunning's statistic (G squared) of two rates, at least 0; 0 where they are equal.

    Args:
        first: As for `log_rate_ratio`.
        of_first: As there.
        second: As there.
        of_second: As there.
    """
    both, of_both = first + second, of_first + of_second
    rows = ((first, of_first), (second, of_second))
    cells = [
        (seen, seen_in_both * of / of_both)
        for count, of in rows
        for seen, seen_in_both in ((count, both), (of - count, of_both - both))
    ]
    return 2 * fsum([seen * log(seen / expected) for seen, expected in cells if seen])


def _word_evidence(
    index: Index, query: str, kinds: Sequence[int], total: tuple[int, int], *, uses_lexicon: bool
) -> Iterator[WordLeaning]:
    """Yield the evidence of each word of *query*; words with the same tools count once."""
    counted: set[frozenset[int]] = set()
    for clause in analyse(query, index, uses_lexicon=uses_lexicon).clauses:
        holders = _holders(clause, index) if clause.role == "term" else frozenset()
        if holders and holders not in counted:
            counted.add(holders)
            held = bytes(kinds[tool] for tool in holders)
            reads, writes = held.count(READS), held.count(WRITES)
            counts = reads, total[0], writes, total[1]
            is_significant = surprise(*counts) > _SIGNIFICANT
            evidence = log_rate_ratio(*counts) if is_significant else 0.0
            yield WordLeaning(clause.text, reads, writes, evidence)


def _holders(clause: QueryTerm, index: Index) -> frozenset[int]:
    """Return the tools with a word, or a variant of it, in a field that describes their action."""
    found: set[int] = set()
    # Of several translations, only the likeliest says what is to be done.
    terms = [term for term, _ in clause.variants]
    for term in [clause.repairs[0].term] if clause.kind == "translation" else terms:
        tools, _, fields = index.postings(term)
        found.update(tool for tool, mask in zip(tools, fields, strict=True) if mask & _ACTION_MASK)
    return frozenset(found)
