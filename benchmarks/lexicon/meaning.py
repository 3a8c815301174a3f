"""The table of meaning: vectors of English stems whose sums are near where texts mean the same.

Sums of vectors first learn to be like the vectors that a model of sentences gives whole texts, by
ridge regression. Pairs of texts that mean the same are then drawn together, and pushed apart from
the other pairs of a batch.

Sources: Hinton, Vinyals & Dean, "Distilling the knowledge in a neural network", 2015; van den Oord,
Li & Vinyals, "Representation learning with contrastive predictive coding", 2018, for the loss;
Duchi, Hazan & Singer, "Adaptive subgradient methods", JMLR 12, 2011, for the steps.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import vectors
from meaning_texts import Pairs, read_corpus
from numpy.typing import NDArray

from mcpg.text import get_stop_words, split_words, stem
from mcpg.text.meaning import DIMENSIONS

MOST_STEMS = 15_000
MAGIC = b"mcpgmv2\0"
NO_VECTOR = 0xFFFF

LENGTH_POWER = 0.75
"""How far a word of a long text counts less than one of a short text."""

RIDGE, STEPS = 0.3, 40
EPOCHS, BATCH, RATE, TEMPERATURE = 10, 256, 0.02, 0.07
ANCHOR = 1e-3
"""How strongly a vector is held where the regression put it."""

DROPPED, MOST_DROPPED = 0.1, 0.7
"""Share of the words of a text that are left out each time; of a text that stands for a request it
is drawn up to the greater one, for requests are short."""

CLIPPED, MOST = 0.005, 7
"""Share of the numbers that are cut to fit into four bits, and the greatest that fits."""

Rows = NDArray[np.float32]


def write_meaning(path: Path, numbers: Mapping[str, int], cache: Path) -> None:
    """Train the table of the stems that have *numbers*, and write it."""
    corpus = read_corpus(cache)
    pairs = (corpus.operations, corpus.concepts, corpus.commands)
    texts = [*corpus.texts, *(text for some in pairs for pair in some for text in pair)]
    bags = Bags(texts, numbers)
    taught = vectors.centred(vectors.vectors("minilm", "meaning", corpus.texts, cache))
    trained = draw_together(
        regress(bags.rows(corpus.texts), reduce_dimensions(taught)), bags, pairs
    )
    most = np.quantile(np.abs(trained), 1 - CLIPPED)
    rows = np.clip(np.rint(trained * (MOST / most)), -MOST, MOST).astype(np.int8) + (MOST + 1)
    packed = (rows[:, 0::2] | rows[:, 1::2] << 4).astype(np.uint8)
    places = array("H", [NO_VECTOR]) * len(numbers)
    for one, place in bags.places.items():
        places[numbers[one]] = place
    header = struct.pack("<8s2I", MAGIC, len(places), len(rows))
    path.write_bytes(header + places.tobytes() + packed.tobytes())


class Bags:
    """Texts as the stems that they hold, with places for the most frequent ones of all texts."""

    def __init__(self, texts: Iterable[str], numbers: Mapping[str, int]) -> None:
        self._stop_words = get_stop_words("english")
        self._stem = lru_cache(None)(stem)
        counts: Counter[str] = Counter()
        for text in dict.fromkeys(texts):
            counts.update({one for one in self._stems(text) if one in numbers})
        kept = sorted(counts, key=lambda one: (-counts[one], one))[:MOST_STEMS]
        self.places = {one: place for place, one in enumerate(kept)}

    def _stems(self, text: str) -> Iterator[str]:
        return (self._stem(word) for word in split_words(text) if word not in self._stop_words)

    def rows(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Return how much each stem counts in each text."""
        ends, places, weights = [0], array("I"), array("f")
        for text in texts:
            found = [self.places[one] for one in self._stems(text) if one in self.places]
            places.extend(found)
            weights.extend([max(1, len(found)) ** -LENGTH_POWER] * len(found))
            ends.append(len(places))
        shape = len(texts), len(self.places)
        matrix = sp.csr_matrix((np.array(weights), np.array(places), ends), shape=shape)
        matrix.sum_duplicates()
        return matrix


def reduce_dimensions(rows: Rows) -> Rows:
    """Return *rows* in the directions in which they differ most."""
    _, directions = np.linalg.eigh(rows.T @ rows)
    found: Rows = rows @ directions[:, ::-1][:, :DIMENSIONS]
    return found


def regress(texts: sp.csr_matrix, wanted: Rows) -> Rows:
    """Return the vectors whose sums over *texts* are most like the *wanted* rows.

    Source: Hestenes & Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.
    """
    found = np.zeros((texts.shape[1], wanted.shape[1]), np.float32)
    left = texts.T @ wanted
    way, size = left.copy(), (left * left).sum(axis=0)
    for _ in range(STEPS):
        moved = texts.T @ (texts @ way) + RIDGE * way
        step = size / np.maximum(1e-12, (way * moved).sum(axis=0))
        found += step * way
        left -= step * moved
        now = (left * left).sum(axis=0)
        way, size = left + now / np.maximum(1e-12, size) * way, now
    return found


def draw_together(start: Rows, bags: Bags, sources: Iterable[Pairs]) -> Rows:
    """Return vectors by which each text of a pair is nearer to the other than to other texts."""
    chooser = np.random.default_rng(0)
    found, squares = start.copy(), np.full(len(start), 1e-2, np.float32)
    sides = [[bags.rows(side) for side in zip(*pairs, strict=True)] for pairs in sources]
    for _ in range(EPOCHS):
        batches = []
        for first, second in sides:
            # Neighbours stay together: those that are alike are the hardest to tell apart.
            order = np.roll(np.arange(first.shape[0]), chooser.integers(first.shape[0]))
            parts = np.array_split(order, max(1, len(order) // BATCH))
            batches += [(first[part], second[part]) for part in parts]
        for number in chooser.permutation(len(batches)):
            one, other = batches[number]
            shares = chooser.uniform(DROPPED, MOST_DROPPED, one.shape[0])
            one = drop_words(one, np.repeat(shares, np.diff(one.indptr)), chooser)
            other = drop_words(other, DROPPED, chooser)
            slopes = contrast_slopes(one @ found, other @ found)
            columns = sp.vstack([one, other]).tocsc()
            used = np.flatnonzero(np.diff(columns.indptr))
            slope = columns[:, used].T @ slopes + ANCHOR * (found[used] - start[used])
            squares[used] += (slope**2).sum(axis=1)
            found[used] -= RATE * slope / np.sqrt(squares[used])[:, None]
    return found


def drop_words(
    rows: sp.csr_matrix, shares: float | Rows, chooser: np.random.Generator
) -> sp.csr_matrix:
    """Return *rows* without *shares* of their words."""
    kept = rows.copy()
    kept.data *= chooser.random(len(kept.data)) > shares
    return kept


def contrast_slopes(one: Rows, other: Rows) -> Rows:
    """Return by how much the loss grows with each number of *one*, and below with the *other*."""
    lengths = [
        np.maximum(1e-6, np.linalg.norm(side, axis=1, keepdims=True)) for side in (one, other)
    ]
    first, second = one / lengths[0], other / lengths[1]
    scores = np.exp((first @ second.T - 1) / TEMPERATURE)
    slopes = scores / scores.sum(axis=1, keepdims=True) + scores / scores.sum(axis=0)
    slopes = (slopes / 2 - np.eye(len(one), dtype=np.float32)) / (len(one) * TEMPERATURE)
    sides = zip((slopes @ second, slopes.T @ first), (first, second), lengths, strict=True)
    # A longer vector is not nearer, so that no slope leads along it.
    return np.vstack(
        [
            (own - (own * unit).sum(axis=1, keepdims=True) * unit) / length
            for own, unit, length in sides
        ]
    )
