from __future__ import annotations

import pytest

from mcpg.catalog.model import Hints, Tool, ToolExample
from mcpg.documents.model import ToolDocument
from mcpg.index.compile import compile_index
from mcpg.index.field_texts import field_texts
from mcpg.index.layout import IMPACT_SCALE
from mcpg.index.reader import Index
from mcpg.index.recipe import BY_NUMBER, FIELDS, PARAMETERS, SATURATION, occurrence_weight, saturate


def index_of(*tools: Tool) -> Index:
    """Make an index of *tools*."""
    return Index(compile_index(ToolDocument(tool, tool.id, tool.id) for tool in tools))


def impact(index: Index, word: str, tool: int) -> float:
    """Return the impact of the term of *word* in *tool*, in (0, 1]."""
    tools, impacts, _ = index.postings(index.term_of_word(index.find_word(word)))
    return dict(zip(tools, impacts, strict=True))[tool] / IMPACT_SCALE


def test_impacts_are_bm25f() -> None:
    """Weighted frequencies of all fields are added before they are saturated, once."""
    index = index_of(
        Tool("a", "s", "parcel", description="send one parcel to a person"),
        Tool("b", "s", "other", description="wait for it here"),
    )
    # Mean lengths: names 1 word, descriptions (6 + 4) / 2 = 5 words.
    name = 1.5 * 1 / (1 - 0.75 + 0.75 * 1 / 1)
    description = 0.75 * 1 / (1 - 0.5 + 0.5 * 6 / 5)

    expected = (name + description) / (2.5 + name + description)
    assert impact(index, "parcel", 0) == pytest.approx(expected, abs=1e-5)


def test_long_fields_count_less() -> None:
    """An occurrence among many words says less than one among few."""
    index = index_of(
        Tool("a", "s", "x", description="parcel"),
        Tool("b", "s", "y", description="parcel among many other things"),
    )

    assert impact(index, "parcel", 0) > impact(index, "parcel", 1)


def test_whole_identifiers_do_not_lengthen_a_field() -> None:
    """The whole form of an identifier is a term beside its parts, but no word more."""
    joined = index_of(Tool("a", "s", "x", description="getParcel now"))
    apart = index_of(Tool("a", "s", "x", description="get parcel now"))

    assert impact(joined, "parcel", 0) == impact(apart, "parcel", 0)


def test_every_occurrence_adds_less() -> None:
    """Saturation maps frequencies into [0, 1) and keeps their order."""
    values = [saturate(frequency) for frequency in (0, 1, 2, 3, 1e9)]

    assert values[0] == 0
    assert values == sorted(values)
    assert values[-1] < 1
    assert saturate(SATURATION) == 0.5


def test_every_field_has_its_parameters() -> None:
    """Weights are at least 0 and length normalisation is a share."""
    assert tuple(PARAMETERS) == FIELDS
    assert all(one.weight >= 0 and 0 <= one.length_normalisation <= 1 for one in BY_NUMBER)
    assert occurrence_weight(5, 5.0, PARAMETERS["name"]) == PARAMETERS["name"].weight


def test_every_text_of_a_document_goes_into_a_field() -> None:
    """Names, texts, hints, schemas and what a person wrote can all be searched."""
    hints = Hints(
        aliases=("alias",),
        keywords=("keyword",),
        categories=("category",),
        tags=("tag",),
        data_sources=("table",),
        examples=(ToolExample("asked", "answered", "when"),),
    )
    schema = {
        "type": "object",
        "properties": {"size": {"type": "string", "description": "how big", "enum": ["XL"]}},
    }
    output = {"type": "object", "properties": {"sum": {"type": "number", "description": "all"}}}
    tool = Tool("id", "source", "name", "title", "text", schema, output, hints=hints)
    texts: dict[str, list[str]] = {}
    for field, text in field_texts(ToolDocument(tool, "p", "u", body="notes")):
        texts.setdefault(FIELDS[field], []).append(text)

    assert texts == {
        "name": ["name"],
        "title": ["title"],
        "source": ["source"],
        "description": ["text"],
        "aliases": ["alias"],
        "keywords": ["keyword"],
        "categories": ["category", "tag", "table"],
        "examples": ["asked", "when", "answered"],
        "parameters": ["size"],
        "parameter_texts": ["how big", "XL", "sum", "all"],
        "body": ["notes"],
    }


def test_a_catalogue_of_equal_tools_is_indexed() -> None:
    """A thousand equal tools have equal impacts."""
    tools = [Tool(f"t{number:04}", "s", "parcel") for number in range(1_000)]
    index = index_of(*tools)
    term = index.find_stem("parcel")

    assert index.document_frequency(term) == 1_000
    assert len(set(index.postings(term)[1])) == 1
    assert len(index.exact("parcel")) == 1_000
