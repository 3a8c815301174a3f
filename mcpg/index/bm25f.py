"""BM25F: one saturation over weighted, length-normalised field frequencies.

Source: Zaragoza, Craswell, Taylor, Saria & Robertson, "Microsoft Cambridge at TREC-13: Web and
HARD tracks", 2004; Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
2009, section 3.6.
"""

from __future__ import annotations

from mcpg.index.fields import FIELDS
from mcpg.values import value


@value
class FieldParameters:
    """How one field counts.

    Attributes:
        weight: How much an occurrence in the field weighs; at least 0.
        length_normalisation: How far long fields are discounted ("b"), in [0, 1].
    """

    weight: float
    length_normalisation: float


SATURATION = 2.5

PARAMETERS: dict[str, FieldParameters] = {
    "name": FieldParameters(1.5, 0.75),
    "title": FieldParameters(1.0, 0.5),
    "aliases": FieldParameters(2.5, 0.3),
    "keywords": FieldParameters(1.5, 0.3),
    "categories": FieldParameters(0.8, 0.3),
    "description": FieldParameters(0.75, 0.5),
    "parameters": FieldParameters(0.5, 0.25),
    "parameter_texts": FieldParameters(0.4, 0.25),
    "examples": FieldParameters(0.75, 0.5),
    "body": FieldParameters(0.5, 0.5),
    "source": FieldParameters(3.0, 0.75),
    "headings": FieldParameters(0.75, 0.5),
    "topics": FieldParameters(0.8, 0.3),
}

BY_NUMBER = tuple(PARAMETERS[name] for name in FIELDS)
"""The parameters in the order of `FIELDS`."""


def saturate(frequency: float, saturation: float = SATURATION) -> float:
    """Map a weighted frequency, at least 0, into [0, 1): each occurrence adds less."""
    return frequency / (saturation + frequency)


def occurrence_weight(length: int, mean_length: float, parameters: FieldParameters) -> float:
    """Give what one occurrence in a field of *length* words adds to a term's frequency."""
    b = parameters.length_normalisation
    return parameters.weight / (1 - b + b * length / mean_length)
