"""How an index weighs the fields of a tool (BM25F), and the checksum of its rules."""

from __future__ import annotations

import zlib
from math import log1p
from typing import NamedTuple

from mcpg import __version__

RULES = 1014833846
"""Checksum of the modules and tables that decide the content of an index, or of a bundle.

Reading them takes longer than a search, so the number is written here. `tests/index/test_rules.py`
lists them, compares it, and renews it.
"""


def hash_recipe(recipe: bytes) -> int:
    """Return the number of an index made by this version, its `RULES`, and from *recipe*."""
    return zlib.crc32(recipe, zlib.crc32(b"%s %d" % (__version__.encode(), RULES)))


class FieldParameters(NamedTuple):
    """The weight of an occurrence in a field, at least 0, and the discount of long fields.

    The latter ("b") is in [0, 1].
    """

    weight: float
    length_normalisation: float


SATURATION = 2.5

PARAMETERS: dict[str, FieldParameters] = {
    "name": FieldParameters(1.5, 0.75),
    "title": FieldParameters(1.0, 0.5),
    "aliases": FieldParameters(2.5, 0.0),
    "keywords": FieldParameters(1.5, 0.0),
    "categories": FieldParameters(0.8, 0.3),
    "description": FieldParameters(0.75, 0.5),
    "parameters": FieldParameters(0.5, 0.25),
    "parameter_texts": FieldParameters(0.4, 0.25),
    "examples": FieldParameters(0.75, 0.0),
    "body": FieldParameters(0.5, 0.5),
    "source": FieldParameters(3.0, 0.75),
    "headings": FieldParameters(0.75, 0.5),
    "topics": FieldParameters(0.8, 0.3),
    "claims": FieldParameters(0.75, 0.5),
    "generated": FieldParameters(0.45, 0.5),
}

FIELDS = tuple(PARAMETERS)
BY_NUMBER = tuple(PARAMETERS.values())
"""The parameters in the order of `FIELDS`."""

OF_PARAMETERS = ("parameters", "parameter_texts")
"""The fields whose texts come from schemas."""

HINTS = ("aliases", "keywords", "examples")
"""The fields whose texts only ever add to a score.

Each of their texts is another way to find a tool, and is not discounted by the others: they have no
length normalization, and do not count in the length of the tool's vector.
"""

GENERATED = FIELDS.index("generated")
"""The field of texts that a language model wrote.

A term counts in it or in the fields of text, whichever weighs more, and not in both: these texts
repeat the tool's own, and a tool without them must not rank lower for that.
"""

HINTS_MASK = sum(1 << FIELDS.index(name) for name in HINTS)
"""The bits of `HINTS` in the field masks of postings."""


def saturate(frequency: float, saturation: float = SATURATION) -> float:
    """Map a weighted frequency, at least 0, into [0, 1): each occurrence adds less."""
    return frequency / (saturation + frequency)


def occurrence_weight(length: int, mean_length: float, parameters: FieldParameters) -> float:
    """Return what one occurrence in a field of *length* words adds to a term's frequency."""
    b = parameters.length_normalisation
    return parameters.weight / (1 - b + b * length / mean_length)


def inverse_document_frequency(size: float, frequency: float) -> float:
    """Return the weight of a term in *frequency* of *size* documents; above 0.

    Source: Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009, eq. 3.5, with 1
    added under the logarithm so that common terms stay positive.
    """
    return log1p((size - frequency + 0.5) / (frequency + 0.5))


def smoothed_idf(size: int, frequency: float, common: float, background: float) -> float:
    """Return the same weight in a collection extended by texts of the language; above 0.

    For every document, *background* texts are assumed of which a share of *common* contain the
    term. So a frequent word of the language weighs little, even if no document contains it.

    Source: smoothing by a collection model, Zhai & Lafferty, "A study of smoothing methods for
    language models applied to information retrieval", TOIS 22(2), 2004, carried over to
    document frequencies.
    """
    imagined = background * size
    return inverse_document_frequency(size + imagined, frequency + imagined * common)
