"""How often terms occur in the fields of one document, counted as an index is compiled."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from mcpg.index.bm25f import BY_NUMBER, occurrence_weight
from mcpg.index.fields import field_texts
from mcpg.text import iter_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from mcpg.documents.model import ToolDocument

    # For each field: how often each term occurs in it, and its number of words.
    Counts: TypeAlias = Mapping[int, tuple[Counter[str], int]]


def count_terms(document: ToolDocument) -> Counts:
    """Give for each field of *document* that has words, in order, its terms and its length."""
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for field, text in field_texts(document):
        texts[field].append(text)
    counted = {field: count_words(texts[field]) for field in sorted(texts)}
    return {field: counts for field, counts in counted.items() if counts[0]}


def count_words(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Give how often each term occurs in the *texts* of one field, and the number of words."""
    counts: Counter[str] = Counter()
    length = 0
    for word in iter_words(" ".join(texts)):
        counts[word.text if word.whole else stem(word.text)] += 1
        length += not word.whole
    return counts, length


def frequency_of(term: str, counts: Counts, means: Sequence[float]) -> float:
    """Give the weighted frequency of *term* in a document, whose fields have *means* of length."""
    parts = (
        terms[term] * occurrence_weight(length, means[field], BY_NUMBER[field])
        for field, (terms, length) in counts.items()
        if terms[term]
    )
    # One by one, as an index is compiled: `sum` adds in other ways from one Python to the next.
    return reduce(add, parts, 0.0)
