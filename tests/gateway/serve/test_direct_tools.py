from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from mcpg.catalog.hints import hints_of_tool
from mcpg.catalog.model import Hints, Tier, Tool, ToolExample
from mcpg.gateway.serve.answers import RESULT, size
from mcpg.gateway.serve.catalogue import export_tool, output_schema

VERSIONS = ("2025-11-25", "2026-07-28")
_envelope: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def check(wire: Any) -> None:
    """Check a tool as clients of each version do."""
    for version in VERSIONS:
        validate_server_result("tools/list", version, {**_envelope, "tools": [wire]})
    properties = wire["inputSchema"].get("properties", {})
    # Some clients take no property that is not an object.
    assert all(isinstance(one, dict) for one in properties.values())


_texts = st.lists(st.text(min_size=1, max_size=5), max_size=3).map(tuple)
_hints = st.builds(
    lambda **members: Hints.merge(Hints(**members)),
    aliases=_texts,
    keywords=_texts,
    categories=_texts,
    tags=_texts,
    data_sources=_texts,
    examples=st.lists(
        st.builds(
            ToolExample,
            st.sampled_from(["ask", "wish"]),
            st.none() | st.just("answer"),
            st.none() | st.just("when"),
        ),
        max_size=2,
    ).map(lambda them: tuple(dict.fromkeys(them))),
    read_only=st.none() | st.booleans(),
    idempotent=st.none() | st.booleans(),
    destructive=st.none() | st.booleans(),
    open_world=st.none() | st.booleans(),
    cost_tier=st.none() | st.sampled_from(Tier),
    latency_tier=st.none() | st.sampled_from(Tier),
    enabled_by_default=st.none() | st.booleans(),
)


@given(_hints)
def test_a_gateway_reads_the_hints_of_a_gateway(hints: Hints) -> None:
    """The hints of a tool, wherever they were said, are the same behind a second gateway."""
    tool = Tool("one", "shop", "One", hints=hints)
    wire: Any = export_tool(tool).wire
    check(wire)
    assert hints_of_tool(wire, wire.get("annotations", {}), wire["_meta"]) == hints


def test_hints_said_in_several_places_come_back_in_order() -> None:
    """What `_meta` says besides stays, and does not change the order of hints."""
    meta: Any = {"tags": ["b"], "Tags": ["c"], "zoo": {"tags": ["z"], "kept": 1}, "ui": {"x": 1}}
    hints = Hints(tags=("a", "c", "b", "z"), read_only=True)
    wire: Any = export_tool(Tool("one", "shop", "One", meta=meta, hints=hints)).wire
    assert wire["_meta"]["ui"] == {"x": 1}
    assert wire["_meta"]["zoo"]["kept"] == 1
    assert wire["annotations"] == {"readOnlyHint": True}
    assert hints_of_tool(wire, wire["annotations"], wire["_meta"]) == hints


def test_the_origin_of_a_tool_stays_through_two_gateways() -> None:
    """Each gateway says its own id, source and name, and keeps what the one behind it said."""
    first: Any = export_tool(Tool("shop_one", "shop", "One")).wire
    second: Any = export_tool(Tool("one", "inner", "shop_one", meta=first["_meta"])).wire
    third: Any = export_tool(Tool("one", "outer", "one", meta=second["_meta"])).wire
    origin = {"toolId": "shop_one", "toolName": "One", "sourceId": "shop"}
    assert second["_meta"]["behind"] == origin
    assert third["_meta"]["sourceId"] == "outer"
    assert third["_meta"]["behind"]["behind"] == origin


def test_titles_descriptions_and_annotations_are_kept() -> None:
    """What a tool says of itself is said again, under its id."""
    tool = Tool("one", "shop", "One", "First", "Does it.", annotations={"title": "A", "x": 1})
    wire: Any = export_tool(tool).wire
    assert (wire["name"], wire["title"], wire["description"]) == ("one", "First", "Does it.")
    assert wire["annotations"] == {"title": "A", "x": 1}


@pytest.mark.parametrize("icons", [5, [1], [{"mimeType": "image/png"}], {"src": "a:b"}])
def test_members_that_clients_refuse_are_left_out(icons: Any) -> None:
    """Icons that are none cost no client the list; members of later versions stay."""
    wire: Any = export_tool(
        Tool("one", "shop", "One", listed={"icons": icons, "later": icons})
    ).wire
    check(wire)
    assert "icons" not in wire
    assert wire["later"] == icons


_json: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "$ref", "items", "$schema", "pattern", "anyOf"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
_schemas = st.dictionaries(
    st.sampled_from(["type", "properties", "required", "$schema", "$defs", "$ref", "x"]),
    _json,
    max_size=5,
)


@given(_schemas, st.none() | _schemas)
def test_every_page_of_tools_is_valid(schema: Any, output: Any) -> None:
    """Whatever a server gives for a schema, clients of every version accept the tool."""
    found = export_tool(Tool("one", "shop", "One", input_schema=schema, output_schema=output))
    check(found.wire)


def test_output_schemas_of_other_types_are_wrapped() -> None:
    """A result that is no object stands under a member, and so does its schema."""
    item = {"$ref": "#/$defs/row"}
    listed: Any = {"type": "array", "items": item, "$defs": {"row": {"type": "string"}}}
    found = export_tool(Tool("one", "shop", "One", output_schema=listed))
    check(found.wire)
    assert found.is_wrapped
    assert found.validator is not None
    assert found.validator.is_valid({RESULT: ["a"]})
    assert not found.validator.is_valid({RESULT: [1]})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/schema"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "object", "properties": {"a": {"$ref": "#anchor"}}},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "$schema": 7},
        {"type": "object", "properties": {"a": {"pattern": "["}}},
        {"type": "object", "properties": {"a": {"pattern": "x{4294967296}"}}},
        {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(4000)}},
    ],
)
def test_output_schemas_that_clients_refuse_are_left_out(schema: Any) -> None:
    """A schema that is none, or refers to what it does not hold, would spoil every result."""
    assert output_schema(schema) == (None, False)


def test_results_are_checked_against_patterns() -> None:
    """A stranger's regular expression is tried as far as that takes no time worth naming."""
    for pattern, is_valid in (("^(a+)+$", False), ("^a", True), ("(?=b)", True)):
        schema: Any = {"type": "object", "properties": {"a": {"pattern": pattern}}}
        found = export_tool(Tool("one", "shop", "One", output_schema=schema))
        assert found.validator is not None
        assert found.validator.is_valid({"a": "a" * 60 + "!"}) is is_valid


def test_a_check_that_would_take_for_ever_refuses_nothing() -> None:
    """What a schema makes of a result is looked at within bounds; beyond them, it counts as valid.

    The first takes 2^30 steps, the second never ends.
    """
    doubling: Any = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    bomb = {"type": "object", "$ref": "#/$defs/d0", "$defs": {**doubling, "d30": {"type": "null"}}}
    endless = {"type": "object", "allOf": [{"$ref": "#"}], "required": ["b"]}
    for schema in (bomb, endless):
        found = export_tool(Tool("one", "shop", "One", output_schema=schema))
        assert "outputSchema" in found.wire
        assert found.validator is not None
        assert found.validator.is_valid({"a": 1})


def test_a_schema_too_deep_to_be_written_down_costs_its_tool_alone() -> None:
    """A tool whose schemas nothing can be made of is listed under its name."""
    deep: Any = {}
    for _ in range(5000):
        deep = {"items": deep}
    found = export_tool(Tool("one", "shop", "One", input_schema=deep, output_schema=deep))
    assert found.wire == {"name": "one", "inputSchema": {"type": "object"}}


def test_a_huge_tool_is_told_in_part() -> None:
    """A tool that would fill a page alone loses prose, then depth, then everything."""
    deep: Any = {"type": "object", "properties": {"a": {"type": "string", "description": "x"}}}
    long = {**deep, "description": "x" * 200_000}
    wire: Any = export_tool(Tool("one", "shop", "One", input_schema=long, output_schema=deep)).wire
    assert wire["inputSchema"]["properties"] == {"a": {"type": "string"}}
    assert "outputSchema" not in wire
    assert size(export_tool(Tool("one", "shop", "One", description="x" * 200_000)).wire) < 999


def test_no_half_characters_are_listed() -> None:
    """Text that UTF-8 cannot hold is repaired."""
    wire: Any = export_tool(Tool("one", "shop", "One", description="a\ud800")).wire
    assert wire["description"] == "a\ufffd"
