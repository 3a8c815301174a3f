"""The vocabulary of several bundles, merged from their indexes.

Numbers of tools, frequencies and lengths of texts add up, so the vocabulary has the statistics of
one index of all tools. Only this file grows with the words of the catalog; tools stay in parts.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mcpg.errors import UsageError
from mcpg.index import Index
from mcpg.index.document_terms import spelling_sections, translation_sections
from mcpg.index.layout import (
    HINTED,
    MEANINGS,
    NO_KEY,
    NONE,
    PROBABILITY_BITS,
    SECTIONS,
    STEM,
    Header,
)
from mcpg.index.partial import DOUBLED, PHRASED, SIZE, SOURCE_SIZES, is_plain
from mcpg.index.recipe import FIELDS, HINTS_MASK, hash_recipe
from mcpg.index.tables import Section, array_section, keys_sections, pack, texts_sections
from mcpg.search.model import PROVENANCE

Numbers: TypeAlias = NDArray[Any]


class PartStatistics(NamedTuple):
    """What the index of a part tells of its terms and fields, in numbers that add up.

    Attributes:
        by_text: For each term, the number of tools with it in their text.
        by_hints: The same in hints.
        filled: For each field, the number of tools with words in it.
    """

    index: Index  # type: ignore[assignment]  # no one looks an item up by `tuple.index`
    by_text: Numbers
    by_hints: Numbers
    filled: Numbers


def measure_part(index: Index) -> PartStatistics:
    """Count the terms and fields of the tools of *index*."""
    starts = np.asarray(index.section("postings.at"))[:-1]
    fields = np.asarray(index.section("postings.fields"))
    masks = np.zeros(len(index), np.uint16)
    np.bitwise_or.at(masks, np.asarray(index.section("postings")), fields)
    filled = [np.count_nonzero(masks >> field & 1) for field in range(len(FIELDS))]
    rows = [(fields & mask) > 0 for mask in (~np.uint16(HINTS_MASK), np.uint16(HINTS_MASK))]
    by_text, by_hints = [
        np.add.reduceat(row, starts, dtype=np.int64) if len(starts) else starts for row in rows
    ]
    return PartStatistics(index, by_text, by_hints, np.array(filled))


def merge_vocabulary(indexes: Sequence[Index]) -> bytes:
    """Return the file of the vocabulary of all *indexes*.

    Raises:
        UsageError: They rank by different models.
    """
    models = {bytes(index.section("model")) for index in indexes}
    if len(models) > 1:
        raise UsageError(
            "the bundles rank by different models",
            remedy="make all of them with the same ranking, see docs/how-to/tune.md",
        )
    parts = [measure_part(index) for index in indexes]
    kept = [
        Section("model", "d", models.pop()),
        Section(PROVENANCE, "B", bytes(indexes[0].section(PROVENANCE))),
    ]
    made = {section.name: section for section in (*kept, *_merge_sections(parts))}
    missing = [
        Section(name, item_type[0], b"") for name, item_type in SECTIONS.items() if name not in made
    ]
    return pack([*made.values(), *missing], Header(NO_KEY, hash_recipe(b"")))


def _merge_sections(parts: Sequence[PartStatistics]) -> Iterator[Section]:
    indexes = [part.index for part in parts]
    languages = Counter[str]()
    for index in indexes:
        languages[index.language or ""] += len(index)
    yield Section("language", "B", max(sorted(languages), key=languages.__getitem__).encode())
    yield array_section("fields.mean", "d", _merge_means(parts))
    yield array_section(SIZE, "Q", [sum(map(len, indexes))])
    yield Section(PHRASED, "B", bytes([any(index.has_phrases for index in indexes)]))
    yield from texts_sections(DOUBLED, _find_doubled(indexes))
    yield from texts_sections(
        "categories", sorted({one for index in indexes for one in index.categories})
    )
    sizes = Counter[str]()
    for index in indexes:
        numbers = np.asarray(index.section("source_of"))
        counts = np.bincount(numbers, minlength=len(index.source_ids)).tolist()
        sizes.update(dict(zip(index.source_ids, counts, strict=True)))
    yield from texts_sections("sources", sorted(sizes))
    yield array_section(SOURCE_SIZES, "I", (sizes[source] for source in sorted(sizes)))
    grams = np.concatenate([np.asarray(index.section("grams")) for index in indexes])
    holders = np.concatenate([np.asarray(index.section("grams.tools")) for index in indexes])
    distinct, places = np.unique(grams, return_inverse=True)
    yield Section("grams", "Q", distinct.tobytes())
    counts = np.bincount(places, holders, len(distinct))
    yield Section("grams.tools", "I", counts.astype(np.uint32).tobytes())
    yield from _merge_terms(parts)


def _find_doubled(indexes: Sequence[Index]) -> list[str]:
    """Return the ids of tools that several *indexes* have.

    `source::id` is among them if several have that id of that source.
    """
    found = []
    rows = merge(*(_number_texts(index, "ids", place) for place, index in enumerate(indexes)))
    for one, group in groupby(rows, itemgetter(0)):
        holders = [(place, tool) for _, place, tool in group]
        if len(holders) > 1:
            sources = Counter(indexes[place].source_id(tool) for place, tool in holders)
            found += [one, *(f"{name}::{one}" for name, times in sources.items() if times > 1)]
    return found


def _merge_means(parts: Sequence[PartStatistics]) -> list[float]:
    """Return the mean lengths of fields: totals are whole numbers, so they add up exactly."""
    filled = np.array([part.filled for part in parts])
    # Claims have the mean of descriptions.
    filled[:, FIELDS.index("claims")] = filled[:, FIELDS.index("description")]
    means = np.array([list(part.index.field_means()) for part in parts])
    totals = np.rint(means * filled).sum(axis=0)
    return [
        total / max(1, count) or 1.0
        for total, count in zip(totals, filled.sum(axis=0), strict=True)
    ]


class _Terms(NamedTuple):
    """The terms of a vocabulary, in order; `numbers` has those of each part's terms, or `NONE`."""

    texts: list[str]
    kinds: bytearray
    holders: array[int]
    impacts: array[int]
    numbers: list[array[int]]


def _merge_terms(parts: Sequence[PartStatistics]) -> Iterator[Section]:
    terms = _collect_terms(parts)
    yield from keys_sections("terms", terms.texts)
    yield Section("terms.kind", "B", bytes(terms.kinds))
    yield Section("terms.tools", "I", terms.holders.tobytes())
    yield Section("terms.impact", "H", terms.impacts.tobytes())
    words, of_words = _collect_words(parts, terms.numbers)
    yield from keys_sections("words", words)
    yield Section("words.term", "I", of_words.tobytes())
    first = array("I", [NONE]) * len(terms.texts)
    for number in range(len(words) - 1, -1, -1):
        first[of_words[number]] = number
    yield Section("terms.word", "I", first.tobytes())
    yield from spelling_sections(words)
    languages = {one for part in parts for one in part.index.foreign_languages}
    kinds = zip(terms.texts, terms.kinds, strict=True)
    stems = [(text, number) for number, (text, kind) in enumerate(kinds) if kind & STEM]
    yield from translation_sections(_merge_meanings(parts, terms.numbers), languages, stems)


def _collect_terms(parts: Sequence[PartStatistics]) -> _Terms:
    found = _Terms(
        [],
        bytearray(),
        array("I"),
        array("H"),
        [array("I", [NONE]) * len(part.by_text) for part in parts],
    )
    columns = [
        (part.by_text.tolist(), part.by_hints.tolist(), *map(part.index.section, _OF_TERMS))
        for part in parts
    ]
    rows = merge(*(_number_texts(part.index, "terms", place) for place, part in enumerate(parts)))
    for text, group in groupby(rows, itemgetter(0)):
        kind = by_text = by_hints = most = 0
        members = list(group)
        for _, place, number in members:
            texts, hints, kinds, impacts = columns[place]
            by_text, by_hints = by_text + texts[number], by_hints + hints[number]
            kind, most = kind | kinds[number] & ~HINTED, max(most, impacts[number])
        holders = max(by_text, by_hints)
        if holders == 1 and not is_plain(text, kind):
            continue
        for _, place, number in members:
            found.numbers[place][number] = len(found.texts)
        found.texts.append(text)
        found.kinds.append(kind | (0 if by_text else HINTED))
        found.holders.append(holders)
        found.impacts.append(most)
    return found


_OF_TERMS = ("terms.kind", "terms.impact")


def _number_texts(index: Index, name: str, place: int) -> Iterator[tuple[str, int, int]]:
    for number, text in enumerate(index.texts(name)):
        yield text, place, number


def _collect_words(
    parts: Sequence[PartStatistics], numbers: Sequence[array[int]]
) -> tuple[list[str], array[int]]:
    """Return the words of the terms that are kept, in order, and the terms."""
    words: list[str] = []
    terms = array("I")
    of_words = [part.index.section("words.term") for part in parts]
    rows = merge(*(_number_texts(part.index, "words", place) for place, part in enumerate(parts)))
    for text, group in groupby(rows, itemgetter(0)):
        _, place, number = next(group)
        term = numbers[place][of_words[place][number]]
        if term != NONE:
            words.append(text)
            terms.append(term)
    return words, terms


def _merge_meanings(
    parts: Iterable[PartStatistics], numbers: Sequence[array[int]]
) -> dict[str, dict[int, float]]:
    """Return, for each English stem, the terms in other languages that mean it."""
    found: dict[str, dict[int, float]] = {}
    scale = (1 << PROBABILITY_BITS) - 1
    for part, final in zip(parts, numbers, strict=True):
        if not part.index.has_section(MEANINGS):
            continue
        rows = part.index.rows(f"{MEANINGS}.terms")
        for number, meant in enumerate(part.index.texts(MEANINGS)):
            row = found.setdefault(meant, {})
            for entry in rows[number].tolist():
                term = final[entry >> PROBABILITY_BITS]
                if term != NONE:
                    row[term] = max(row.get(term, 0.0), (entry & scale) / scale)
    return found
