"""Tools with much text in common, found without comparing each with each.

Two tools are compared only if they share one of the rarest words of the one: whoever covers a large
share of the weight of a text must have at least one of the words that together weigh more than the
rest. This is the prefix filter of similarity joins (Chaudhuri, Ganti & Kaushik, "A primitive
operator for similarity joins in data cleaning", ICDE 2006), with weights by idf.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log

_MOST_SHARING = 100
_ROUNDING = 1e-9


class WordWeights:
    """How rare words are in a collection of texts.

    Args:
        texts: The words of each text, by its key.
    """

    def __init__(self, texts: Mapping[str, Collection[str]]) -> None:
        counts = Counter(word for words in texts.values() for word in set(words))
        self._size = len(texts)
        self._weights = {word: self._weigh(count) for word, count in counts.items()}
        self.holders: defaultdict[str, list[str]] = defaultdict(list)
        for key, words in texts.items():
            for word in set(words):
                self.holders[word].append(key)

    def _weigh(self, count: int) -> float:
        return log(1 + self._size / (0.5 + count))

    def weight(self, word: str) -> float:
        """Return the weight of a word: the logarithm of its rarity."""
        return self._weights.get(word) or self._weigh(0)

    def total(self, words: Collection[str]) -> float:
        """Return the sum of the weights of distinct *words*."""
        return sum(map(self.weight, words))

    def sum_known_weights(self, words: Collection[str]) -> float:
        """Return the same of *words* that all stand in the texts."""
        return sum(map(self._weights.__getitem__, words))

    def rarest(self, words: Collection[str], share: float) -> Sequence[str]:
        """Return the rarest of *words* that together weigh more than *share* of all."""
        bound = share * self.total(words)
        found: list[str] = []
        weight = 0.0
        for word in sorted(words, key=lambda word: (-self.weight(word), word)):
            found.append(word)
            weight += self.weight(word)
            if weight > bound:
                break
        return found


def covering(
    words: Collection[str],
    texts: Mapping[str, Collection[str]],
    weights: WordWeights,
    share: float,
) -> Iterator[tuple[str, float]]:
    """Yield the texts that cover at least *share* of the weight of *words*, and how much.

    Of words that stand in very many texts only the first of these are looked at.
    """
    total = weights.total(words)
    if not total:
        return
    # What a text may cover: all but those of the rare words that it is known to lack.
    rest = total
    held: defaultdict[str, float] = defaultdict(float)
    for word in weights.rarest(words, 1 - share):
        holders = weights.holders.get(word, ())
        weight = weights.weight(word) if len(holders) <= _MOST_SHARING else 0.0
        rest -= weight
        for key in holders[:_MOST_SHARING]:
            held[key] += weight
    least = (share - _ROUNDING) * total - rest
    distinct = frozenset(words)
    for key in sorted(key for key, weight in held.items() if weight >= least):
        covered = weights.sum_known_weights(distinct.intersection(texts[key])) / total
        if covered >= share:
            yield key, covered
