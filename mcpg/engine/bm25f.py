"""BM25F: one saturation over weighted, length-normalised field frequencies.

Source: Zaragoza, Craswell, Taylor, Saria & Robertson, "Microsoft Cambridge at TREC-13: Web and
HARD tracks", 2004; Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
2009, section 3.6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpg.index import FIELDS

if TYPE_CHECKING:
    from mcpg.index import Index


@dataclass(frozen=True, slots=True)
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
}


def saturate(frequency: float, saturation: float = SATURATION) -> float:
    """Map a weighted frequency, at least 0, into [0, 1): each occurrence adds less."""
    return frequency / (saturation + frequency)


def field_frequency(
    count: int, length: int, mean_length: float, parameters: FieldParameters
) -> float:
    """Give the weighted frequency of a term in one field of one document."""
    b = parameters.length_normalisation
    return parameters.weight * count / (1 - b + b * length / mean_length)


@dataclass(slots=True)
class FieldedScorer:
    """Scores the documents that hold a term.

    Attributes:
        index: Where terms occur.
        parameters: How each field counts, in the order of `FIELDS`.
    """

    index: Index
    parameters: tuple[FieldParameters, ...] = tuple(PARAMETERS[name] for name in FIELDS)
    _impacts: dict[str, dict[int, float]] = field(default_factory=dict)

    def impacts(self, term: str) -> dict[int, float]:
        """Give, for each document that holds *term*, its saturated frequency in (0, 1)."""
        known = self._impacts.get(term)
        if known is None:
            frequencies: dict[int, float] = {}
            for document, field_number, count in self.index.postings.get(term, ()):
                part = self._part(document, field_number, count)
                frequencies[document] = frequencies.get(document, 0.0) + part
            known = {document: saturate(value) for document, value in frequencies.items()}
            self._impacts[term] = known
        return known

    def parts(self, term: str, document: int) -> dict[str, float]:
        """Give each field's share, summing to 1, of the impact of *term* in *document*."""
        parts = {
            FIELDS[field_number]: self._part(document, field_number, count)
            for number, field_number, count in self.index.postings.get(term, ())
            if number == document
        }
        total = sum(parts.values())
        return {name: part / total for name, part in parts.items()}

    def _part(self, document: int, field_number: int, count: int) -> float:
        length = self.index.lengths[field_number][document]
        mean = self.index.mean_lengths[field_number]
        return field_frequency(count, length, mean, self.parameters[field_number])
