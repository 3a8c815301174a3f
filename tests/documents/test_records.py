from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.model import Hints, SourceKind, Tier, Tool, ToolExample
from mcpg.catalog.view import record_view
from mcpg.documents.model import Link, ToolDocument, decode_record, encode_record
from mcpg.relations.edges import EdgeKind, EdgeOrigin
from mcpg.text.json_values import read_json

ANY_TEXT = st.text(st.characters(), max_size=8)
LISTS = st.lists(ANY_TEXT, max_size=2).map(tuple)
JSON = st.dictionaries(
    ANY_TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ANY_TEXT, inner, max_size=2),
        max_leaves=4,
    ),
    max_size=2,
)
MAYBE = st.none() | st.booleans()
TIERS = st.none() | st.sampled_from(Tier)
EXAMPLES = st.builds(ToolExample, ANY_TEXT, st.none() | ANY_TEXT, st.none() | ANY_TEXT)
HINTS = st.builds(
    Hints,
    *(LISTS for _ in range(5)),
    st.lists(EXAMPLES, max_size=2).map(tuple),
    *(MAYBE for _ in range(4)),
    TIERS,
    TIERS,
    MAYBE,
)
TOOLS = st.builds(
    Tool,
    ANY_TEXT,
    ANY_TEXT,
    ANY_TEXT,
    st.none() | ANY_TEXT,
    ANY_TEXT,
    JSON,
    st.none() | JSON,
    JSON,
    JSON,
    HINTS,
    st.sampled_from(SourceKind),
)
LINKS = st.builds(
    Link,
    st.sampled_from(EdgeKind),
    ANY_TEXT,
    st.floats(0, 1),
    ANY_TEXT,
    st.sampled_from(EdgeOrigin),
)
DOCUMENTS = st.builds(
    ToolDocument,
    TOOLS,
    ANY_TEXT,
    ANY_TEXT,
    LISTS,
    st.lists(LINKS, max_size=2).map(tuple),
    ANY_TEXT,
    st.booleans(),
)


@given(DOCUMENTS, st.none() | ANY_TEXT)
def test_documents_come_back(document: ToolDocument, text: str | None) -> None:
    """A record says all that the document said, and its text when it was given one."""
    assert decode_record(encode_record(document, text)) == (document, text)


@given(DOCUMENTS)
def test_a_record_shows_what_its_tool_shows(document: ToolDocument) -> None:
    """What lists show of a tool can be read from its record without making the tool."""
    members = read_json(encode_record(document).decode("utf-8", "surrogatepass"))["tool"]

    assert record_view(members) == document.tool.view()


def test_types_come_back() -> None:
    """Names of enumerations are no mere texts once they are read."""
    hints = Hints(cost_tier=Tier.LOW, examples=(ToolExample("why"),))
    tool = Tool("id", "source", "name", hints=hints, source_kind=SourceKind.HTTP_MCP)
    links = (Link(EdgeKind.NEXT_STEP, "urn:other"),)
    found, _ = decode_record(encode_record(ToolDocument(tool, "a.md", "urn:a", links=links)))

    assert found.tool.source_kind is SourceKind.HTTP_MCP
    assert found.tool.hints.cost_tier is Tier.LOW
    assert found.links[0].kind is EdgeKind.NEXT_STEP
    assert found.links[0].origin is EdgeOrigin.AUTHORED


def test_the_place_of_a_tool_is_left_out() -> None:
    """Where a tool was read from is no part of it: the same tool gives the same bytes."""
    document = ToolDocument(Tool("id", "source", "name"), "a.md", "urn:a")
    elsewhere = replace(document, tool=replace(document.tool, place="/home/me/tools.json"))

    assert encode_record(elsewhere) == encode_record(document)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"tool":[]}', b'{"tool":{"id":1}}', b"\xff"])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    """Foreign bytes raise one of the errors that the reader expects."""
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        decode_record(data)
