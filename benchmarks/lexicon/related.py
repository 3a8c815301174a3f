"""Which English stems mean something related: embedding neighbours, paraphrases and WordNet.

A paraphrase is a stem that the words of other languages translate to as well. Few of the nearest
words are such as tool catalogues use, so those that are have places of their own.

Source: Bannard and Callison-Burch, "Paraphrasing with bilingual parallel corpora", 2005.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import vectors
import vocabulary
from alignment import Alignment, alignment
from concepts import same_concept
from translation import Table

from mcpg.text import get_stop_words, stem

LEAST_COSINE = 0.5
LEAST_COSINE_IN_CATALOGUES = 0.45
MOST_RELATED = 4
MOST_IN_CATALOGUES = 10
"""Related stems of any kind, and further ones that tool catalogues use."""

CREDIT_IN_CATALOGUES = 0.75
"""What these further ones count of their strength: what everybody says tells less."""

MOST_CONSIDERED = 12
LEAST_USES = 4.0
"""Links that a stem must have in a language to be paraphrased through it."""

LEAST_LINKS = 1.5
LEAST_PIVOT = 0.01
LEAST_LANGUAGES = 2


class Scale(NamedTuple):
    """From a probability to a strength: `even + slope * log(probability / usual)`.

    `support` is added where other evidence knows the pair too. Fitted to the labelled queries of
    `bench_quality.py`.
    """

    even: float
    slope: float
    usual: float
    support: float


PARAPHRASES = Scale(0.9, 0.15, 0.27, 0.2)
WORDNET = Scale(0.75, 0.08, 0.3, 0.1)

_AT_ONCE = 1500
_CANDIDATES = 40
_STOPS = get_stop_words("english")
_STOP_STEMS = frozenset(map(stem, _STOPS))


def related(codes: Iterable[str], cache: Path) -> Table:
    """Return the stems related to a stem with the similarity of each, in (0, 1]."""
    usual = frozenset(map(stem, vocabulary.catalogue_words(cache)))
    near, near_usual = _neighbours(cache, usual)
    pivots = paraphrases([alignment(code, cache) for code in codes])
    concepts = same_concept(cache)
    vulgar = vocabulary.vulgar_stems(cache)
    known = frozenset(map(stem, vocabulary.english_words(cache)))
    table: Table = {}
    for one in sorted({*near, *near_usual, *pivots, *(known & concepts.keys())} - vulgar):
        row = dict(near.get(one, {}))
        _blend(row, pivots.get(one, {}), PARAPHRASES)
        best = dict(_best(row, vulgar)[:MOST_RELATED])
        row = dict(near_usual.get(one, {}))
        _blend(row, pivots.get(one, {}), PARAPHRASES)
        _blend(row, concepts.get(one, {}), WORDNET)
        further = [
            (other, CREDIT_IN_CATALOGUES * strength)
            for other, strength in _best(row, vulgar)
            if other in usual and other not in best and _is_content(other)
        ]
        if best or further:
            table[one] = best | dict(further[:MOST_IN_CATALOGUES])
    return table


def _blend(row: dict[str, float], chances: Mapping[str, float], scale: Scale) -> None:
    """Add to the strengths in *row* what probabilities say."""
    for other, chance in chances.items():
        strength = scale.even + scale.slope * math.log(chance / scale.usual)
        if strength > 0:
            support = scale.support if other in row else 0.0
            row[other] = min(1.0, max(row.get(other, 0.0), min(1.0, strength)) + support)


def _best(row: Mapping[str, float], vulgar: frozenset[str]) -> list[tuple[str, float]]:
    ordered = sorted(row.items(), key=lambda other: (-other[1], other[0]))
    return [other for other in ordered if other[0] not in vulgar]


def _neighbours(cache: Path, usual: frozenset[str]) -> tuple[Table, Table]:
    """Return the stems of the nearest words, and those of the nearest *usual* ones.

    The most frequent form of a stem speaks for it.
    """
    english = vocabulary.english_words(cache)
    rows = vectors.vectors("minilm", "en", english.values(), cache)
    words = list(english)
    kept = [
        number
        for number, word in enumerate(words)
        if word.isascii() and word not in _STOPS and len(word) > 1
    ]
    rows, stems = rows[kept], [stem(words[number]) for number in kept]
    places = [place for place, one in enumerate(stems) if one in usual]
    usual_stems = [stems[place] for place in places]
    near: Table = {}
    near_usual: Table = {}
    for start in range(0, len(rows), _AT_ONCE):
        cosines = rows[start : start + _AT_ONCE] @ rows.T
        mine = stems[start : start + _AT_ONCE]
        _add_nearest(near, mine, cosines, stems, LEAST_COSINE)
        _add_nearest(near_usual, mine, cosines[:, places], usual_stems, LEAST_COSINE_IN_CATALOGUES)
    return near, near_usual


def _add_nearest(
    table: Table, mine: list[str], cosines: np.ndarray, others: list[str], least: float
) -> None:
    """Add the nearest of the *others* to the rows of *mine* that *table* lacks."""
    best = np.argpartition(-cosines, _CANDIDATES, axis=1)[:, :_CANDIDATES]
    for place, candidates in enumerate(best):
        if mine[place] not in table:
            row: dict[str, float] = {}
            for one in sorted(candidates, key=lambda one: cosines[place, one]):
                row[others[one]] = round(float(cosines[place, one]), 3)
            row.pop(mine[place], None)
            chosen = [one for one in _best(row, frozenset()) if one[1] >= least]
            if chosen:
                table[mine[place]] = dict(chosen[: 2 * MOST_CONSIDERED])


def paraphrases(alignments: Iterable[Alignment]) -> Table:
    """Return how probable it is that a word that translates a stem translates another.

    It is the mean over the languages that know the stem; two must know the paraphrase.
    """
    total: dict[str, Counter[str]] = defaultdict(Counter)
    support: dict[str, Counter[str]] = defaultdict(Counter)
    languages: Counter[str] = Counter()
    for known in alignments:
        for one, row in _paraphrases_through(known).items():
            languages[one] += 1
            total[one].update(row)
            support[one].update(row.keys())
    table: Table = {}
    for one, sums in total.items():
        means = {
            other: round(chance / languages[one], 4)
            for other, chance in sums.items()
            if support[one][other] >= LEAST_LANGUAGES
        }
        best = sorted(means.items(), key=lambda other: (-other[1], other[0]))
        best = [other for other in best if other[1] >= LEAST_PIVOT]
        if best:
            table[one] = dict(best[:MOST_CONSIDERED])
    return table


def _paraphrases_through(known: Alignment) -> Table:
    """Return the paraphrases that one language knows; every stem with enough uses has a row."""
    uses: Counter[str] = Counter()
    words: dict[str, dict[str, float]] = defaultdict(dict)
    for word, row in known.items():
        for one, (_, count) in row.items():
            uses[one] += count  # type: ignore[assignment]
            words[one][word] = count
    table: Table = {}
    for one, links in words.items():
        if uses[one] >= LEAST_USES and _is_content(one):
            sums: dict[str, float] = defaultdict(float)
            for word, count in links.items():
                for other, (chance, others) in known[word].items():
                    if other != one and _is_content(other) and others >= LEAST_LINKS:
                        sums[other] += count / uses[one] * chance
            table[one] = dict(sums)
    return table


def _is_content(one: str) -> bool:
    return one.isascii() and one.isalpha() and one not in _STOP_STEMS
