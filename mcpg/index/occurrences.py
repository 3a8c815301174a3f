"""Where in a document a term occurs: counted anew, for explanations alone."""

from __future__ import annotations

from collections import Counter
from math import fsum
from typing import TYPE_CHECKING

from mcpg.index.bm25f import BY_NUMBER, occurrence_weight
from mcpg.index.fields import FIELDS, field_texts
from mcpg.text import iter_words, stem

if TYPE_CHECKING:
    from mcpg.index.reader import Index


def field_shares(index: Index, document: int, term: int) -> dict[str, float]:
    """Give the share, summing to 1, of each field in the frequency of *term* in *document*."""
    text = index.term(term)
    counts: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for field, content in field_texts(index.record(document)):
        for word in iter_words(content):
            counts[field] += (word.text if word.whole else stem(word.text)) == text
            lengths[field] += not word.whole
    means = index.section("fields.mean")
    parts = {
        FIELDS[field]: count * occurrence_weight(lengths[field], means[field], BY_NUMBER[field])
        for field, count in sorted(counts.items())
        if count
    }
    total = fsum(parts.values())
    return {name: part / total for name, part in parts.items()}
