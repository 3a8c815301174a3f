"""Which English stems a word stands for in texts and their translations.

Source: Brown et al., "The mathematics of statistical machine translation: parameter estimation",
Computational Linguistics 19, 1993, model 1. A link counts only where both directions see it, as in
Liang et al., "Alignment by agreement", 2006.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import numpy as np
import parallel
import vocabulary
import wordfreq
from numpy.typing import NDArray

from mcpg.text import split_words, stem
from mcpg.text.words import is_unspaced

Alignment: TypeAlias = dict[str, dict[str, tuple[float, float]]]
"""For each word its English stems, with the probability of each and how often it is expected."""

UNSPACED = ("ja", "ko", "zh")
ROUNDS = 6
LEAST_PROBABILITY = 0.05
LEAST_COUNT = 0.8
LEAST_BACK = 0.001
"""Probability below which the other direction knows nothing of a link."""

_MOST_STEMS = 8
_LONGEST = 60
_NULL = "\0"
_UNLISTED = 9.5  # orders of magnitude


def alignment(code: str, cache: Path) -> Alignment:
    """Return what the parallel texts of a language say of its words."""
    path = cache / "made" / f"links_{code}.json"
    if not path.exists():
        found = _aligned(code, cache)
        path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {word: {one: (p, n) for one, (p, n) in row.items()} for word, row in rows.items()}


def _aligned(code: str, cache: Path) -> Alignment:
    cut = words_of(code)
    texts = []
    for _, one, other in parallel.pairs(code, cache):
        english = [stem(word) for word in _distinct(split_words(one)) if not word.isdigit()]
        foreign = _distinct(cut(other))
        if 0 < len(english) < _LONGEST and 0 < len(foreign) < _LONGEST:
            texts.append((foreign, english))
    forward = model_1([([*foreign, _NULL], english) for foreign, english in texts])
    back = model_1([([*english, _NULL], foreign) for foreign, english in texts])
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for (word, one), (probability, count) in forward.items():
        is_seen_back = back.get((one, word), (0.0, 0.0))[0] >= LEAST_BACK
        is_likely = probability >= LEAST_PROBABILITY and count >= LEAST_COUNT
        if word != _NULL and is_likely and is_seen_back:
            found.setdefault(word, {})[one] = (round(probability, 4), round(count, 2))
    return {word: dict(_strongest(row)) for word, row in found.items()}


def _strongest(row: dict[str, tuple[float, float]]) -> list[tuple[str, tuple[float, float]]]:
    return sorted(row.items(), key=lambda one: (-one[1][0], one[0]))[:_MOST_STEMS]


def model_1(
    texts: Iterable[tuple[Sequence[str], Sequence[str]]],
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the probability of a target given a source, and how often the two are linked."""
    sources: dict[str, int] = defaultdict(lambda: len(sources))
    targets: dict[str, int] = defaultdict(lambda: len(targets))
    ends: list[tuple[int, int, int]] = []
    cells = 0
    for given, made in texts:
        numbers = [sources[word] for word in given]
        for word in made:
            ends += [(number, targets[word], cells) for number in numbers]
            cells += 1
    source, target, cell = np.array(ends, dtype=np.int64).T
    kinds, kind = np.unique(source * len(targets) + target, return_inverse=True)
    of_kind = kinds // len(targets)
    probability: NDArray[np.float64] = 1 / np.bincount(of_kind)[of_kind]
    count = np.zeros(len(kinds))
    for _ in range(ROUNDS):
        share = probability[kind]
        share /= np.bincount(cell, share)[cell]
        count = np.bincount(kind, share).astype(np.float64)
        probability = count / np.bincount(of_kind, count)[of_kind]
    words, others = list(sources), list(targets)
    kept = np.flatnonzero((probability >= LEAST_BACK) & (count > 0))
    return {
        (words[kinds[place] // len(others)], others[kinds[place] % len(others)]): (
            float(probability[place]),
            float(count[place]),
        )
        for place in kept
    }


def words_of(code: str) -> Callable[[str], list[str]]:
    """Return the function that cuts a text of a language into folded words."""
    if code not in UNSPACED:
        return lambda text: [word for word in split_words(text) if not word.isdigit()]
    segment = _segmenter(code)

    def cut(text: str) -> list[str]:
        words = []
        for run in re.findall(r"[^\W\d_]+", vocabulary.folded(text)):
            for unspaced, letters in groupby(run, is_unspaced):
                part = "".join(letters)
                words += segment(part) if unspaced else [part]
        return words

    return cut


def _segmenter(code: str) -> Callable[[str], list[str]]:
    """Return the function that cuts a run of letters into its most probable words (Viterbi)."""
    frequencies = wordfreq.get_frequency_dict(code)
    words = vocabulary.frequent_words(code, vocabulary.FOREIGN_WORDS)
    costs = {word: -math.log10(frequencies[written]) for word, written in words.items()}
    longest = max(map(len, costs))

    def segment(run: str) -> list[str]:
        best = [0.0] + [math.inf] * len(run)
        back = [0] * (len(run) + 1)
        for start in range(len(run)):
            for end in range(start + 1, min(len(run), start + longest) + 1):
                unlisted = _UNLISTED if end == start + 1 else math.inf
                cost = best[start] + costs.get(run[start:end], unlisted)
                if cost < best[end]:
                    best[end], back[end] = cost, start
        found: list[str] = []
        end = len(run)
        while end:
            found.append(run[back[end] : end])
            end = back[end]
        return found[::-1]

    return segment


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
