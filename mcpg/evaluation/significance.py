"""Whether a difference between two runs over the same queries may be chance."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

RESAMPLES = 10_000
"""Random assignments of signs that are tried where all would be too many."""

_MOST_EXACT = 12
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Significance:
    """The result of a paired randomisation test.

    Attributes:
        difference: Mean difference over all pairs.
        p: Chance, in (0, 1], of a mean at least as far from 0 if signs were random.
        pairs: How many pairs there are.
        changed: How many of them differ.
    """

    difference: float
    p: float
    pairs: int
    changed: int


def paired_randomisation(differences: Sequence[float]) -> Significance:
    """Test whether the mean of *differences*, at least one, is 0.

    Were two runs equally good, each difference would as well have the other sign. With up to 12
    differences all assignments of signs are counted, otherwise 10,000 random ones from a fixed
    seed, so that the result is the same every time.

    Sources: Smucker, Allan, Carterette: A comparison of statistical significance tests for
    information retrieval evaluation. CIKM 2007. Phipson, Smyth: Permutation p-values should never
    be zero. Statistical Applications in Genetics and Molecular Biology 9(1), 2010.
    """
    changed = [abs(one) for one in differences if one]
    total = math.fsum(differences)
    is_exact = len(changed) <= _MOST_EXACT
    sums = list(_all_sums(changed) if is_exact else _random_sums(changed))
    extreme = sum(abs(one) >= abs(total) - _TOLERANCE for one in sums)
    p = extreme / len(sums) if is_exact else (extreme + 1) / (len(sums) + 1)
    return Significance(total / len(differences), p, len(differences), len(changed))


def _all_sums(sizes: Sequence[float]) -> Iterator[float]:
    for signs in product((1, -1), repeat=len(sizes)):
        yield math.fsum(sign * size for sign, size in zip(signs, sizes, strict=True))


def _random_sums(sizes: Sequence[float]) -> Iterator[float]:
    draw = random.Random(0)  # noqa: S311 - chance, not secrecy, is wanted
    total = math.fsum(sizes)
    for _ in range(RESAMPLES):
        signs = f"{draw.getrandbits(len(sizes)):0{len(sizes)}b}"
        negative = math.fsum(size for sign, size in zip(signs, sizes, strict=True) if sign == "1")
        yield total - 2 * negative
