"""Building an index from documents."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from mcpg.index.fields import FIELDS, field_texts
from mcpg.index.model import Index, Postings
from mcpg.text import iter_words, joined, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.documents.model import ToolDocument


def build_index(documents: Iterable[ToolDocument]) -> Index:
    """Index *documents*; their order does not matter."""
    ordered = tuple(sorted(documents, key=lambda document: document.tool.id))
    lengths = tuple(array("I", bytes(4 * len(ordered))) for _ in FIELDS)
    postings: defaultdict[str, Postings] = defaultdict(Postings)
    stems: dict[str, str] = {}
    for number, document in enumerate(ordered):
        counts, field_lengths = _count_terms(document, stems)
        for (term, field), count in sorted(counts.items()):
            postings[term].add(number, field, count)
        for field, length in field_lengths.items():
            lengths[field][number] = length
    return Index(ordered, dict(postings), lengths, stems, _exact_keys(ordered))


def _count_terms(
    document: ToolDocument, stems: dict[str, str]
) -> tuple[Counter[tuple[str, int]], Counter[int]]:
    """Count the terms of each field, and its words; every word met is added to *stems*.

    The whole form of an identifier is a term as it stands, but no word more: its parts are
    counted already.
    """
    counts: Counter[tuple[str, int]] = Counter()
    lengths: Counter[int] = Counter()
    for field, text in field_texts(document):
        for word in iter_words(text):
            if word.whole:
                counts[word.text, field] += 1
                continue
            term = stems.get(word.text)
            if term is None:
                term = stems[word.text] = stem(word.text)
            counts[term, field] += 1
            lengths[field] += 1
    return counts, lengths


def _exact_keys(documents: tuple[ToolDocument, ...]) -> dict[str, tuple[int, ...]]:
    keys: defaultdict[str, list[int]] = defaultdict(list)
    for number, document in enumerate(documents):
        tool = document.tool
        names = (tool.id, tool.name, tool.display_name, *tool.hints.aliases)
        for key in dict.fromkeys(joined(name) for name in names):
            if key:
                keys[key].append(number)
    return {key: tuple(numbers) for key, numbers in keys.items()}
