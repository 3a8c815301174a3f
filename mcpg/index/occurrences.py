"""Where in a document a term occurs: counted anew, for explanations alone."""

from __future__ import annotations

from collections import Counter
from math import fsum
from typing import TYPE_CHECKING

from mcpg.index.bm25f import BY_NUMBER, occurrence_weight
from mcpg.index.fields import FIELDS, OF_PARAMETERS, field_texts
from mcpg.index.postings import posting
from mcpg.text import iter_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcpg.index.reader import Index

_MASK_OF_PARAMETERS = sum(1 << FIELDS.index(name) for name in OF_PARAMETERS)


def field_shares(index: Index, document: int, terms: Iterable[int]) -> dict[int, dict[str, float]]:
    """Give the share, summing to 1, of each field in the frequency of each term in *document*.

    Terms that do not occur there are left out. The document is read only where a term occurs in
    several fields, for a single one has it all.
    """
    masks = {term: posting(index, term, document)[1] for term in terms}
    several = {term: mask for term, mask in masks.items() if mask & mask - 1}
    counted = _counted(index, document, several) if several else {}
    return {
        term: counted[term] if term in several else {FIELDS[mask.bit_length() - 1]: 1.0}
        for term, mask in masks.items()
        if mask
    }


def _counted(index: Index, document: int, masks: Mapping[int, int]) -> dict[int, dict[str, float]]:
    """Count the terms of *masks* in the fields that any of them names."""
    wanted = 0
    for mask in masks.values():
        wanted |= mask
    terms = {index.term(term): term for term in masks}
    counts: dict[int, Counter[int]] = {term: Counter() for term in masks}
    lengths: Counter[int] = Counter()
    document_texts = field_texts(
        index.record(document), with_parameters=bool(wanted & _MASK_OF_PARAMETERS)
    )
    for field, content in document_texts:
        if not wanted >> field & 1:
            continue
        for word in iter_words(content):
            term = terms.get(word.text if word.whole else stem(word.text))
            lengths[field] += not word.whole
            if term is not None:
                counts[term][field] += 1
    means = index.section("fields.mean")
    weights = {
        field: occurrence_weight(lengths[field], means[field], BY_NUMBER[field])
        for field in lengths
    }
    return {term: _shares(found, weights) for term, found in counts.items()}


def _shares(counts: Mapping[int, int], weights: Mapping[int, float]) -> dict[str, float]:
    parts = {FIELDS[field]: count * weights[field] for field, count in sorted(counts.items())}
    total = fsum(parts.values())
    return {name: part / total for name, part in parts.items()}
