"""Whether a request wants to read or to write, told by the catalogue and not by a list of verbs.

A gateway that looks for *get* and *delete* in a request reads English alone, and misreads *delete*
in a catalogue about undeleting. Here the tools that say what they are teach what their words mean:
a word of the request speaks for reading as far as it is likelier among the tools of this catalogue
that are read-only than among those that write. Words add up as in naive Bayes. A word counts only
where chance alone would hardly spread it so unevenly over the two kinds, which takes several tools;
words that the very same tools hold are one witness, heard once; and unless the whole evidence
reaches the odds asked for, nothing is preferred. In a catalogue that does not say what its tools
do, or for a request in a language that none of them is written in, that is always so.

Source: Dunning, "Accurate methods for the statistics of surprise and coincidence", Computational
Linguistics 19, 1993 (the likelihood ratio that tells chance from difference where counts are
small); Walter, "The distribution of Levin's measure of attributable risk", Biometrika 62, 1975 (a
half added to each count of a ratio of rates, so that none is 0); Maron, "Automatic indexing: an
experimental inquiry", Journal of the ACM 8, 1961 (independent words add up).
"""

from __future__ import annotations

from _thread import allocate_lock
from dataclasses import dataclass
from math import fsum, log
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcpg.documents.records import said_read_only
from mcpg.engine.query import analyse
from mcpg.index.layout import StaleIndexError, crc
from mcpg.index.scoring import FIELDS
from mcpg.values import DECIMALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine.query import QueryTerm
    from mcpg.index.reader import Index

# SECTION stances: What every tool of an index says of itself, without a look at all the rest of
# its record.


UNSAID, READS, WRITES = 0, 1, 2
_STANCES = {None: UNSAID, True: READS, False: WRITES}


def stances(index: Index) -> bytes:
    """Give for each tool of *index*, in order, `READS`, `WRITES`, or `UNSAID`.

    Raises:
        StaleIndexError: A record is damaged.
    """
    rows, sums = index.rows("records"), index.section("records.crc")
    if len(sums) != len(index):
        raise StaleIndexError("its records are not as many as its tools")
    return bytes(_stance(rows[tool], sums[tool]) for tool in range(len(index)))


def _stance(record: memoryview, checksum: int) -> int:
    if crc(record) != checksum:
        raise StaleIndexError("a record is damaged")
    try:
        return _STANCES[said_read_only(bytes(record))]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("a record is broken") from fault


READ_ONLY, WRITE, NONE = "read-only", "write", "none"
"""What can be preferred."""

# The fields that say what a tool does: parameters name what it does it to.
_TELLING = ("name", "title", "aliases", "keywords", "description", "examples")
_TELLING_MASK = sum(1 << FIELDS.index(name) for name in _TELLING)
# One in a hundred words that mean nothing exceeds it: chi-squared with one degree of freedom.
_SURPRISING = 6.635
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class WordLeaning:
    """What one word of a request tells.

    Attributes:
        text: The word.
        read_only: How many read-only tools hold it.
        writing: How many tools that write hold it.
        evidence: What it adds, in nats: above 0 it speaks for reading, below 0 for writing; 0 where
            chance may have spread it over the tools as it is.
    """

    text: str
    read_only: int
    writing: int
    evidence: float


@dataclass(frozen=True, slots=True)
class Preference:
    """Which kind of tool is preferred, and why.

    Attributes:
        name: `read-only`, `write` or `none`.
        is_asked: Whether the caller said so; else the catalogue was asked.
        evidence: The sum of what the words tell, in nats: above 0 for reading, below 0 for writing.
        needed: What the evidence must reach on either side for something to be preferred.
        read_only: How many tools of the catalogue say that they are read-only.
        writing: How many say that they are not.
        words: What the words of the request tell, the most telling first; without those that no
            tool holds, and those that only the same tools hold as another.
    """

    name: str = NONE
    is_asked: bool = False
    evidence: float = 0.0
    needed: float = 0.0
    read_only: int = 0
    writing: int = 0
    words: tuple[WordLeaning, ...] = ()


def asked_preference(prefer_read_only: bool | None) -> Preference:
    """Give the preference that a caller states; `None` is that for nothing."""
    names = {True: READ_ONLY, False: WRITE, None: NONE}
    return Preference(names[prefer_read_only], is_asked=True)


def derived_preference(index: Index, query: str, odds: float) -> Preference:
    """Say which kind of tool *query* seems to want, as far as the tools of *index* tell.

    Args:
        index: The tools.
        query: What is wanted; "" wants nothing in particular.
        odds: How many times likelier its words must be among tools of one kind; at least 1.

    Raises:
        StaleIndexError: The index is damaged.
    """
    kinds = _stances(index)
    total = kinds.count(READS), kinds.count(WRITES)
    needed = log(odds)
    if not query or not all(total):
        return Preference(needed=needed, read_only=total[0], writing=total[1])
    words = tuple(_leanings(index, query, kinds, total))
    evidence = round(fsum([word.evidence for word in words]), DECIMALS)
    name = NONE
    if evidence and abs(evidence) >= needed:
        name = READ_ONLY if evidence > 0 else WRITE
    told = tuple(sorted(words, key=lambda word: -abs(word.evidence)))
    return Preference(name, False, evidence, needed, *total, told)


def log_rate_ratio(first: int, of_first: int, second: int, of_second: int) -> float:
    """Give the logarithm of how many times likelier the first is than the second.

    Args:
        first: How often it was seen, of *of_first* times.
        of_first: Above 0.
        second: How often it was seen, of *of_second* times.
        of_second: Above 0.
    """
    rate, other = (first + _HALF) / (of_first + _HALF), (second + _HALF) / (of_second + _HALF)
    return log(rate) - log(other)


def surprise(first: int, of_first: int, second: int, of_second: int) -> float:
    """Give Dunning's statistic (G squared) of two rates, at least 0; 0 where they are equal.

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


def _leanings(
    index: Index, query: str, kinds: Sequence[int], total: tuple[int, int]
) -> Iterator[WordLeaning]:
    """Say of each word of *query* that tools hold what they tell; the same tools tell it once."""
    heard: set[frozenset[int]] = set()
    for clause in analyse(query, index).clauses:
        holders = _holders(clause, index) if clause.role == "term" else frozenset()
        if holders and holders not in heard:
            heard.add(holders)
            held = bytes(kinds[tool] for tool in holders)
            reads, writes = held.count(READS), held.count(WRITES)
            counts = reads, total[0], writes, total[1]
            tells = surprise(*counts) > _SURPRISING
            evidence = log_rate_ratio(*counts) if tells else 0.0
            yield WordLeaning(clause.text, reads, writes, evidence)


def _holders(clause: QueryTerm, index: Index) -> frozenset[int]:
    """Give the tools that hold a word, or what it stands for, where they say what they do."""
    found: set[int] = set()
    for term, _ in clause.variants:
        tools, _, fields = index.postings(term)
        found.update(tool for tool, mask in zip(tools, fields, strict=True) if mask & _TELLING_MASK)
    return frozenset(found)


_known: WeakKeyDictionary[Index, bytes] = WeakKeyDictionary()
_lock = allocate_lock()


def _stances(index: Index) -> bytes:
    """Give what each tool says of itself; it is read once for an index."""
    with _lock:
        known = _known.get(index)
    if known is None:
        known = stances(index)
        with _lock:
            _known[index] = known
    return known
