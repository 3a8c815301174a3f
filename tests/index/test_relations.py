from __future__ import annotations

from typing import Any

import pytest
from builders import make_engine, make_tool
from generated import documents as any_document
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.bundle import assemble
from mcpg.catalog.model import Tool
from mcpg.documents.model import Link, ToolDocument
from mcpg.index.compile import compile_index
from mcpg.index.layout import StaleIndexError, unpack
from mcpg.index.reader import Index
from mcpg.index.tables import Section, pack
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping
from mcpg.sources import SourceBatch


def schema(*names: str) -> dict[str, Any]:
    """Make a schema that requires strings."""
    return {"properties": {name: {"type": "string"} for name in names}, "required": list(names)}


SHOP = (
    make_tool("order_search", output_schema=schema("order_id")),
    make_tool("order_get", input_schema=schema("order_id"), output_schema=schema("invoice_id")),
    make_tool("order_cancel", input_schema=schema("order_id", "reason")),
    make_tool("invoice_send", input_schema=schema("invoice_id")),
)


@pytest.fixture(scope="module")
def shop() -> Index:
    """Return the index of a shop."""
    return make_engine(*SHOP).index


def test_required_arguments_are_known_without_the_document() -> None:
    """Names of required arguments stand in the order of the schema, whatever their characters."""
    names = ["to", "from", "to", "\ud800", "", "größe"]
    index = make_engine(
        make_tool("mail_send", input_schema={"required": names}), make_tool("ping")
    ).index
    assert index.required_arguments(0) == list(index.record(0).tool.required_arguments)
    assert index.required_arguments(0)[:2] == ["to", "from"]
    assert index.required_arguments(1) == []


def test_edges_are_known_from_both_ends(shop: Index) -> None:
    """A link that leaves one tool reaches another, with the same number, kind and weight."""
    out = {
        (number, tool, target, kind, weight)
        for tool in range(len(shop))
        for number, target, kind, weight in shop.edges(tool)
    }
    into = {
        (number, source, tool, kind, weight)
        for tool in range(len(shop))
        for number, source, kind, weight in shop.edges_to(tool)
    }
    assert out == into != set()


def test_provisions_are_known_from_both_ends(shop: Index) -> None:
    """What a tool provides to another is provided to that by it."""
    out = {(n, tool, to, w) for tool in range(len(shop)) for n, to, w in shop.provides(tool)}
    into = {(n, by, tool, w) for tool in range(len(shop)) for n, by, w in shop.provided_by(tool)}
    assert out == into
    search, cancel = shop.find_tool("order_search"), shop.find_tool("order_cancel")
    (number,) = (n for n, to, _ in shop.provides(search) if to == cancel)
    assert shop.provision(number) == ("partial", (("order_id", "order_id", True),))


def test_a_link_has_its_origin_and_its_fields(shop: Index) -> None:
    """A step over a schema tells the fields; what is inferred from words has none."""
    get = shop.find_tool("order_get")
    (step,) = (link for link, _, kind, _ in shop.edges(get) if shop.origin(link) == "schema")
    assert shop.mapping(step) == ("strict", (("invoice_id", "invoice_id"),))
    others = [link for link, *_ in shop.edges(get) if shop.origin(link) == "inferred"]
    assert {shop.mapping(link) for link in others} == {("", ())}


@pytest.mark.parametrize("origin", EdgeOrigin)
@pytest.mark.parametrize("coverage", [None, *Coverage])
def test_every_origin_and_coverage_is_kept(origin: EdgeOrigin, coverage: Coverage | None) -> None:
    """An index returns what the document of a link says."""
    fields = (FieldMapping("a[].b", "b", required=False), FieldMapping("c", "d"))
    link = Link(EdgeKind.RELATED, "urn:b", 0.5, "why", origin, fields, coverage)
    documents = [
        ToolDocument(Tool("a", "s", "a"), "a.md", "urn:a", links=(link,)),
        ToolDocument(Tool("b", "s", "b"), "b.md", "urn:b"),
    ]
    index = Index(compile_index(documents))
    ((number, target, kind, weight),) = index.edges(0)
    assert (target, kind, weight, index.origin(number)) == (1, "related", 0.5, origin.value)
    expected = ("a[].b", "b"), ("c", "d")
    assert index.mapping(number) == (coverage.value if coverage else "", expected)


@settings(max_examples=30, deadline=None)
@given(st.lists(any_document(), max_size=3, unique_by=lambda document: document.tool.id))
def test_links_of_any_document_can_be_read(documents: list[ToolDocument]) -> None:
    """Whatever documents hold, their links and provisions come out as they went in."""
    index = Index(compile_index(documents))
    ordered = sorted(documents, key=lambda document: document.tool.id)
    number = 0
    for document in ordered:
        for link in document.links:
            pairs = tuple((one.given, one.argument) for one in link.fields)
            assert index.mapping(number) == (link.coverage or "", pairs)
            assert index.origin(number) == link.origin
            number += 1


@pytest.mark.parametrize("section", ["linked_by", "provided_by", "provides.mapping", "mappings"])
def test_numbers_that_lead_nowhere_are_damage(section: str) -> None:
    """A section whose numbers lead out of another one raises the error of a damaged index."""
    index = Index(broken_index(section))
    with pytest.raises(StaleIndexError):
        everything(index)


def everything(index: Index) -> None:
    """Read all links and provisions of *index*, from the end that they reach."""
    for tool in range(len(index)):
        index.edges_to(tool)
        for number, *_ in index.provided_by(tool):
            index.provision(number)


def broken_index(broken: str) -> bytes:
    """Return an index whose section *broken* holds numbers far beyond every table."""
    data = compile_index(assemble(SourceBatch(tools=SHOP)).documents)
    header, entries = unpack(data)
    sections = []
    for name, entry in entries.items():
        held = data[entry.start : entry.end]
        held = b"\xf0" * len(held) if name == broken else held
        sections.append(Section(name, entry.item_type, held))
    return pack(sections, header)
