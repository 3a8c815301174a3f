"""Which English stems mean something related: embedding neighbours and paraphrases.

A paraphrase is a stem that the words of other languages translate to as well.

Source: Bannard and Callison-Burch, "Paraphrasing with bilingual parallel corpora", 2005.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import vectors
import vocabulary
from alignment import Alignment, alignment
from translation import Table

from mcpg.text import stem, stop_words_of

LEAST_COSINE = 0.5
MOST_RELATED = 8
MOST_CONSIDERED = 12
LEAST_USES = 4.0
"""Links that a stem must have in a language to be paraphrased through it."""

LEAST_LINKS = 1.5
LEAST_PIVOT = 0.01
LEAST_LANGUAGES = 2

# Paraphrases count with EVEN + SLOPE * log(probability / USUAL), and SUPPORT is added where the
# neighbours know the stem too. Fitted to the labelled queries of `bench_quality.py`.
EVEN = 0.9
SLOPE = 0.15
USUAL = 0.27
SUPPORT = 0.2

_AT_ONCE = 1500
_CANDIDATES = 40
_STOPS = stop_words_of("english")
_STOP_STEMS = frozenset(map(stem, _STOPS))


def related(codes: Iterable[str], cache: Path) -> Table:
    """Return the stems related to a stem with the similarity of each, in (0, 1]."""
    near = _neighbours(cache)
    pivots = paraphrases([alignment(code, cache) for code in codes])
    vulgar = vocabulary.vulgar_stems(cache)
    table: Table = {}
    for one in sorted({*near, *pivots} - vulgar):
        row = dict(near.get(one, {}))
        for other, probability in pivots.get(one, {}).items():
            strength = min(1.0, max(0.0, EVEN + SLOPE * math.log(probability / USUAL)))
            support = SUPPORT if other in row else 0.0
            row[other] = min(1.0, max(row.get(other, 0.0), strength) + support)
        best = sorted(row.items(), key=lambda other: (-other[1], other[0]))
        best = [other for other in best if other[1] > 0 and other[0] not in vulgar]
        if best:
            table[one] = dict(best[:MOST_RELATED])
    return table


def _neighbours(cache: Path) -> Table:
    """Return the stems of the nearest words; the most frequent form of a stem speaks for it."""
    english = vocabulary.english_words(cache)
    rows = vectors.vectors("minilm", "en", english.values(), cache)
    words = list(english)
    kept = [
        number
        for number, word in enumerate(words)
        if word.isascii() and word not in _STOPS and len(word) > 1
    ]
    rows, stems = rows[kept], [stem(words[number]) for number in kept]
    table: Table = {}
    for start in range(0, len(rows), _AT_ONCE):
        cosines = rows[start : start + _AT_ONCE] @ rows.T
        best = np.argpartition(-cosines, _CANDIDATES, axis=1)[:, :_CANDIDATES]
        for place, candidates in enumerate(best):
            if stems[start + place] not in table:
                row = {stems[one]: round(float(cosines[place, one]), 3) for one in candidates[::-1]}
                for one in sorted(candidates, key=lambda one: cosines[place, one]):
                    row[stems[one]] = round(float(cosines[place, one]), 3)
                row.pop(stems[start + place], None)
                best_first = sorted(row.items(), key=lambda one: (-one[1], one[0]))
                chosen = [one for one in best_first if one[1] >= LEAST_COSINE]
                if chosen:
                    table[stems[start + place]] = dict(chosen[:MOST_CONSIDERED])
    return table


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
