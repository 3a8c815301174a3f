"""BM25F: one saturation over weighted, length-normalised field frequencies; idf.

Here too: which text of a tool's document goes into which field.

Source: Zaragoza, Craswell, Taylor, Saria & Robertson, "Microsoft Cambridge at TREC-13: Web and
HARD tracks", 2004; Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
2009, section 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log1p

from mcpg.catalog.model import Tool, walk_parameters
from mcpg.documents.model import ToolDocument
from mcpg.text.json_values import JsonObject

FIELDS = (
    "name",
    "title",
    "aliases",
    "keywords",
    "categories",
    "description",
    "parameters",
    "parameter_texts",
    "examples",
    "body",
    "source",
    "headings",
    "topics",
    "claims",
)

OF_PARAMETERS = ("parameters", "parameter_texts")
"""The fields whose texts come from schemas."""

HINTS = ("aliases", "keywords", "examples")
"""The fields whose texts only ever add to a score.

Each of their texts is one more way to find a tool, so none is discounted by the others: they have
no length normalisation, and no part in the length of the tool's vector.
"""

_NUMBERS = {name: number for number, name in enumerate(FIELDS)}
HINTS_MASK = sum(1 << _NUMBERS[name] for name in HINTS)
"""The bits of `HINTS` in the field masks of postings."""


def field_texts(
    document: ToolDocument, *, with_parameters: bool = True
) -> Iterator[tuple[int, str]]:
    """Return (number of the field in `FIELDS`, text) for every text of *document*.

    To walk the schemas takes longest: `with_parameters=False` leaves their fields out.
    """
    tool = document.tool
    parameters = _parameter_texts(tool) if with_parameters else ()
    for name, text in (*_tool_texts(tool), *parameters):
        if text:
            yield _NUMBERS[name], text
    for name, text in (*_body_texts(document, with_parameters), *_stated_texts(document)):
        yield _NUMBERS[name], text


def _body_texts(document: ToolDocument, with_parameters: bool) -> Iterator[tuple[str, str]]:
    """Return what a person wrote below the front matter, as a reader sees it."""
    if not document.body:
        return
    from mcpg.documents.markdown import read_markdown  # noqa: PLC0415 - few tools have prose

    prose = read_markdown(document.body)
    yield from (("headings", text) for text in prose.headings)
    yield from (("body", text) for text in prose.texts)
    for schema in prose.schemas if with_parameters else ():
        yield from _of_schema(schema)


def _stated_texts(document: ToolDocument) -> Iterator[tuple[str, str]]:
    """Return what the front matter states: topics, things, and groups that are named in words."""
    yield from (("topics", group) for group in document.groups if ":" not in group)
    if not document.further:
        return
    from mcpg.documents.facts import parse_facts  # noqa: PLC0415 - few documents state any

    facts = parse_facts(document.further)
    yield from (("topics", entity.label) for entity in (*facts.about, *facts.mentions))


def _tool_texts(tool: Tool) -> Iterator[tuple[str, str]]:
    """Return what a tool is called, what it does, and the words of hints."""
    yield "name", tool.name
    if tool.display_name != tool.name:
        yield "title", tool.display_name
    yield "source", tool.source_id
    yield "description", tool.description
    hints = tool.hints
    for name, values in (
        ("aliases", hints.aliases),
        ("keywords", hints.keywords),
        ("categories", hints.categories),
        ("categories", hints.tags),
        ("categories", hints.data_sources),
    ):
        for entry in values:
            yield name, entry
    for example in hints.examples:
        yield "examples", example.input
        yield "examples", example.description or ""
        yield "examples", example.output or ""
    if tool.meta or tool.annotations:
        from mcpg.catalog.hints import claimed_words, read_claims  # noqa: PLC0415 - few tools have

        yield "claims", claimed_words(read_claims(tool)).text


def _parameter_texts(tool: Tool) -> Iterator[tuple[str, str]]:
    """Return argument and result fields; the words of JSON Schema itself are no text."""
    yield from _of_schema(tool.input_schema)
    if tool.output_schema is None:
        return
    for field in walk_parameters(tool.output_schema):
        yield "parameter_texts", field.path
        yield "parameter_texts", field.description


def _of_schema(schema: JsonObject) -> Iterator[tuple[str, str]]:
    """Return the arguments that a schema describes."""
    for parameter in walk_parameters(schema):
        yield "parameters", parameter.path
        yield "parameter_texts", parameter.description
        yield "parameter_texts", " ".join(parameter.values)


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
}

BY_NUMBER = tuple(PARAMETERS[name] for name in FIELDS)
"""The parameters in the order of `FIELDS`."""


def saturate(frequency: float, saturation: float = SATURATION) -> float:
    """Map a weighted frequency, at least 0, into [0, 1): each occurrence adds less."""
    return frequency / (saturation + frequency)


def occurrence_weight(length: int, mean_length: float, parameters: FieldParameters) -> float:
    """Return what one occurrence in a field of *length* words adds to a term's frequency."""
    b = parameters.length_normalisation
    return parameters.weight / (1 - b + b * length / mean_length)


def inverse_document_frequency(size: float, frequency: float) -> float:
    """Return the weight of a term that *frequency* of *size* documents hold; above 0.

    Source: Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009, eq. 3.5, with 1
    added under the logarithm so that common terms stay positive.
    """
    return log1p((size - frequency + 0.5) / (frequency + 0.5))


def smoothed_idf(size: int, frequency: float, common: float, background: float) -> float:
    """Return the same weight in a collection that the language has been added to; above 0.

    For every document, *background* texts are imagined of which a share of *common* hold the
    term. So a word that everybody uses all the time weighs little, though no document holds it.

    Source: smoothing by a collection model, Zhai & Lafferty, "A study of smoothing methods for
    language models applied to information retrieval", TOIS 22(2), 2004, carried over to
    document frequencies.
    """
    imagined = background * size
    return inverse_document_frequency(size + imagined, frequency + imagined * common)
