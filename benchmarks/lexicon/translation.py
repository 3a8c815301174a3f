"""What the words of a language translate to: aligned texts, smoothed with multilingual embeddings.

The neighbours of a word in a space of two languages are its likely translations. How likely is
learned, for each language, from the words that the aligned texts know well: from the measure of
nearness, the rank, how many forms of the English word are near, how frequent it is, and how far the
frequencies are apart.

Sources: Conneau et al., "Word translation without parallel data", 2018, for the measure of
neighbours (CSLS); Cox, "The regression analysis of binary sequences", 1958.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache as remembered
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import vectors
import vocabulary
from alignment import Alignment, alignment
from numpy.typing import NDArray

from mcpg.text import get_stop_words, stem

Table: TypeAlias = dict[str, dict[str, float]]

FOREIGN_OF_E5 = 10_000
ENGLISH_OF_E5 = 20_000
"""The model is slow: it sees only the most frequent words."""

NEIGHBOURS = 10
PRIOR = 3.0
"""Uses of a word in aligned texts that weigh as much as its neighbours do."""

LEAST_USES = 5
"""Uses from which a word is taken to be known well."""

LEAST_USES_ALONE = 2
"""Uses from which aligned texts are believed on a word that has no neighbours."""

LEAST_PROBABILITY = 0.08
MOST_STEMS = 4
_AT_ONCE = 1000
_STEPS = 30
_STOP_STEMS = frozenset(map(stem, get_stop_words("english")))


class Neighbour(NamedTuple):
    """An English word near a foreign one."""

    word: str
    csls: float
    cosine: float


def translations(code: str, cache: Path) -> Table:
    """Return the English stems of the words of a language with the probability of each."""
    known = alignment(code, cache)
    near = neighbours(code, cache)
    weights = calibrated(code, near, known, cache)
    vulgar = vocabulary.vulgar_stems(cache)
    table: Table = {}
    for word in sorted({*near, *known}):
        row = known.get(word, {})
        uses = sum(count for _, count in row.values())
        if word not in near and uses < LEAST_USES_ALONE:
            continue
        chances: dict[str, float] = defaultdict(float)
        for one, features in _features(code, word, near.get(word, ()), cache):
            chance = 1 / (1 + math.exp(-np.dot(weights, features)))
            chances[one] += PRIOR / (uses + PRIOR) * chance
        for one, (chance, _) in row.items():
            if one.isascii() and one.isalpha() and one not in _STOP_STEMS:
                chances[one] += uses / (uses + PRIOR) * chance
        best = sorted(chances.items(), key=lambda one: (-one[1], one[0]))
        best = [one for one in best if one[1] >= LEAST_PROBABILITY and one[0] not in vulgar]
        if best:
            table[word] = {one: min(1.0, round(chance, 3)) for one, chance in best[:MOST_STEMS]}
    return table


def frequent_words(code: str) -> dict[str, str]:
    """Return the words of a language that get into its table, folded and as written."""
    is_slow = vectors.model_of(code) == "e5"
    return vocabulary.frequent_words(code, FOREIGN_OF_E5 if is_slow else vocabulary.FOREIGN_WORDS)


def neighbours(code: str, cache: Path) -> dict[str, list[Neighbour]]:
    """Return the nearest English words of the frequent words of a language, nearest first."""
    path = cache / "made" / f"near_{code}.json"
    if not path.exists():
        text = json.dumps(_neighbours(code, cache), ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {word: [Neighbour(*one) for one in row] for word, row in rows.items()}


def _neighbours(code: str, cache: Path) -> dict[str, list[Neighbour]]:
    model = vectors.model_of(code)
    english = list(vocabulary.english_words(cache).items())
    if model == "e5":
        english = english[:ENGLISH_OF_E5]
    foreign = frequent_words(code)
    stops = get_stop_words("english")
    kept = [
        number
        for number, (word, _) in enumerate(english)
        if word.isascii() and word not in stops and len(word) > 1
    ]
    rows = vectors.vectors(model, "en", (written for _, written in english), cache)
    targets = vectors.centred(rows)[kept]
    sources = vectors.centred(vectors.vectors(model, code, foreign.values(), cache))
    density = _mean_of_nearest(targets, sources)
    found: dict[str, list[Neighbour]] = {}
    for start in range(0, len(sources), _AT_ONCE):
        cosines = sources[start : start + _AT_ONCE] @ targets.T
        own = -np.partition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS].mean(axis=1)
        csls = 2 * cosines - own[:, None] - density[None]
        for place, best in enumerate(np.argpartition(-csls, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]):
            row = [
                Neighbour(
                    english[kept[one]][0],
                    round(float(csls[place, one]), 4),
                    round(float(cosines[place, one]), 4),
                )
                for one in best
            ]
            row.sort(key=lambda one: (-one.csls, one.word))
            found[list(foreign)[start + place]] = row
    return found


def _mean_of_nearest(rows: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean cosine of each of *rows* with its nearest *others*."""
    means = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        cosines = rows[start : start + _AT_ONCE] @ others.T
        nearest = -np.partition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        means[start : start + _AT_ONCE] = nearest.mean(axis=1)
    return means


def _features(
    code: str, word: str, row: Sequence[Neighbour], cache: Path
) -> Iterator[tuple[str, list[float]]]:
    """Return the stems of the neighbours of *word*, and what tells how likely each is."""
    zipf = _zipfs(code, cache).get(word, 0.0)
    forms: dict[str, list[Neighbour]] = defaultdict(list)
    for near in row:
        forms[stem(near.word)].append(near)
    for rank, (one, near_forms) in enumerate(forms.items()):
        nearest = near_forms[0]
        other = max(_zipfs("en", cache)[near.word] for near in near_forms)
        gap = abs(zipf - other)
        order, count = math.log1p(rank), math.log(len(near_forms))
        yield one, [nearest.csls, nearest.cosine, order, count, other, gap, 1.0]


@remembered
def _zipfs(code: str, cache: Path) -> dict[str, float]:
    """Return the Zipf frequencies of the folded words of a language."""
    words = vocabulary.english_words(cache) if code == "en" else frequent_words(code)
    return {word: vocabulary.read_zipf(code, written) for word, written in words.items()}


def calibrated(
    code: str, near: dict[str, list[Neighbour]], known: Alignment, cache: Path
) -> NDArray[np.float64]:
    """Fit, by logistic regression, how likely a neighbour is to what the aligned texts tell."""
    rows, chances = [], []
    for word, neighbours_of_word in near.items():
        links = known.get(word, {})
        if sum(count for _, count in links.values()) >= LEAST_USES:
            for one, features in _features(code, word, neighbours_of_word, cache):
                rows.append(features)
                chances.append(links.get(one, (0.0, 0.0))[0])
    given, wanted = np.array(rows), np.array(chances)
    weights = np.zeros(given.shape[1])
    for _ in range(_STEPS):  # Newton's method
        made = 1 / (1 + np.exp(-given @ weights))
        curve = (given * (made * (1 - made))[:, None]).T @ given
        slope = given.T @ (wanted - made)
        weights += np.linalg.solve(curve + 1e-3 * np.eye(len(weights)), slope)
    print(f"{code}: calibrated on {len(wanted):,} pairs: {np.round(weights, 2).tolist()}")
    return weights
