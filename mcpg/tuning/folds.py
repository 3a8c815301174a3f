"""Folds: parts of the queries, each of which is held out once."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence


def grouped(keys: Sequence[Collection[Hashable]]) -> list[int]:
    """Give each item the number of its group: items that share a key, directly or by way of others.

    Groups are numbered in the order of their first items.
    """
    parents = list(range(len(keys)))

    def root(item: int) -> int:
        while parents[item] != item:
            parents[item] = parents[parents[item]]
            item = parents[item]
        return item

    first: dict[Hashable, int] = {}
    for item, own in enumerate(keys):
        for key in own:
            one, other = root(first.setdefault(key, item)), root(item)
            parents[max(one, other)] = min(one, other)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(item), len(numbers)) for item in range(len(keys))]


def folds_of(groups: Sequence[int], count: int, seed: int = 0) -> list[int]:
    """Give each item its fold, from 0 to *count* - 1; no group is in two.

    In an order drawn by *seed*, the greatest groups first, each goes to the fold with the fewest
    items.
    """
    sizes = dict.fromkeys(groups, 0)
    for group in groups:
        sizes[group] += 1
    order = list(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311 - chance, not secrecy, is wanted
    order.sort(key=lambda group: -sizes[group])
    filled = [0] * count
    fold: dict[int, int] = {}
    for group in order:
        fold[group] = min(range(count), key=filled.__getitem__)
        filled[fold[group]] += sizes[group]
    return [fold[group] for group in groups]
