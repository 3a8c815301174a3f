"""What kind of operation words ask for: to read one thing or many, to create, change or delete.

For a verb, the table `english.operations` has the share of each kind among the operations of public
APIs that it opens the name of. Words are taken for independent evidence, discounted because they
are not (naive Bayes). A question asks to read, whatever its verb.

The table is made by `benchmarks/lexicon/operations.py`, the words that ask by `questions.py` there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from math import exp, fsum, log
from pathlib import Path
from typing import TypeAlias

from mcpg.text import lexicon

Ratios: TypeAlias = tuple[float, ...]
"""For each of `KINDS`, the logarithm of how much more often a word names it than any does."""

KINDS = ("read one", "read many", "create", "change", "delete")
READS = 2
"""So many of the `KINDS`, the first ones, only read."""

MOST = 1.5
"""The greatest agreement, and minus the least."""

_ALL = ""
_DISCOUNT = 0.7
# How often a tool that is said to read only, or not to, does as said.
_RELIABLE = 0.9
# A word that asks opens the question, perhaps after a preposition; in these languages it may stand
# in any place.
_OPENING = 2
_ANYWHERE = frozenset(("chinese", "hindi", "japanese", "korean", "turkish"))
_NAME = "question_words.txt"

_MOST_REMEMBERED = 4096
# A catalogue has some hundred ways to share out the kinds, and its requests some hundred verbs.
_MOST_AGREEMENTS = 32_768


@lru_cache(_MOST_REMEMBERED)
def find_ratios(stem: str) -> Ratios:
    """Return what an English *stem* says of each of `KINDS`; nothing where it says nothing."""
    pairs = zip(_read_shares(stem), _read_shares(_ALL), strict=False)
    return tuple([log(share / any_) for share, any_ in pairs]) if stem else ()


def ratios_of_hint(read_only: bool) -> Ratios:
    """Return what it says of each of `KINDS` that a tool is said to read only, or not to."""
    reads = log(2 * (_RELIABLE if read_only else 1 - _RELIABLE))
    others = log(2 * (1 - _RELIABLE if read_only else _RELIABLE))
    return (reads,) * READS + (others,) * (len(KINDS) - READS)


@lru_cache(_MOST_REMEMBERED)
def _read_shares(stem: str) -> list[float]:
    """Return the share of each of `KINDS`, above 0; nothing where the table has no such row."""
    shares = lexicon.operation_shares(stem)
    return shares if len(shares) == len(KINDS) and all(shares) else []


def shares_by(evidence: Iterable[tuple[Ratios, float]]) -> tuple[float, ...]:
    """Return the probability of each of `KINDS`, by what is said and how much each counts.

    Nothing is returned where nothing is said.
    """
    return _combine_evidence(tuple([(ratios, credit) for ratios, credit in evidence if ratios]))


@lru_cache(_MOST_REMEMBERED)
def _combine_evidence(said: tuple[tuple[Ratios, float], ...]) -> tuple[float, ...]:
    usual = _read_shares(_ALL)
    if not said or not usual:
        return ()
    logits = [
        log(share) + _DISCOUNT * fsum([credit * ratios[place] for ratios, credit in said])
        for place, share in enumerate(usual)
    ]
    odds = [exp(logit - max(logits)) for logit in logits]
    return tuple([one / fsum(odds) for one in odds])


@lru_cache(_MOST_AGREEMENTS)
def agreement(asked: tuple[float, ...], done: bytes) -> float:
    """Return how much more likely a tool of kinds *done* does what is *asked* than any tool does.

    It is the logarithm of a ratio, in [-`MOST`, `MOST`], and 0 where either is not known.
    """
    usual = _read_shares(_ALL)
    if not asked or not any(done) or not usual:
        return 0.0
    ratio = fsum([one * other / any_ for one, other, any_ in zip(asked, done, usual, strict=True)])
    return max(-MOST, min(MOST, log(ratio / fsum(done)))) if ratio > 0 else -MOST


def reading(done: Sequence[float]) -> float:
    """Return how much more likely a tool of kinds *done* only reads than any tool does.

    It is the logarithm of a ratio, in [-`MOST`, `MOST`], and 0 where nothing is known.
    """
    usual = _read_shares(_ALL)
    if not any(done) or not usual:
        return 0.0
    ratio = fsum(done[:READS]) / fsum(done) / fsum(usual[:READS])
    return max(-MOST, min(MOST, log(ratio))) if ratio > 0 else -MOST


def is_question(words: Sequence[str], language: str | None) -> bool:
    """Return whether the folded *words* of a query in *language* ask something."""
    asking = _read_question_words().get(language or lexicon.ENGLISH, frozenset())
    return not asking.isdisjoint(words if language in _ANYWHERE else words[:_OPENING])


@cache
def _read_question_words() -> dict[str, frozenset[str]]:
    """Read the words that ask; a file that is unusable counts as empty, as the tables do."""
    try:
        lines = (Path(__file__).parent / "data" / _NAME).read_text("utf-8").splitlines()
        lists = [line.split() for line in lines if not line.startswith("#")]
        if not all(lists) or lexicon.ENGLISH not in [language for language, *_ in lists]:
            raise ValueError("it is not a list of words for each language")  # noqa: TRY301
    except (OSError, ValueError) as fault:
        lexicon.record_fault(_NAME, fault)
        return {lexicon.ENGLISH: frozenset()}
    return {language: frozenset(words) for language, *words in lists}
