from __future__ import annotations

from typing import Any

import pytest
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.model import Tool
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping, compute_weight
from mcpg.relations.provisions import Provision, build_field_index


def schema(*required: str, **optional: Any) -> dict[str, Any]:
    """Make a schema of strings *required*, and of *optional* members."""
    properties = {name: {"type": "string"} for name in required} | optional
    return {"type": "object", "properties": properties, "required": list(required)}


def takes(name: str, *required: str, **members: Any) -> Tool:
    """Make a tool that requires arguments."""
    return make_tool(name, input_schema=schema(*required), **members)


def gives(name: str, *fields: str, **members: Any) -> Tool:
    """Make a tool that returns fields."""
    return make_tool(name, output_schema=schema(*fields), **members)


def provided(*tools: Tool) -> dict[tuple[str, str], Provision]:
    """Return what *tools* provide to each other, by their ids."""
    ordered = sorted(tools, key=lambda tool: tool.id)
    rows = build_field_index(ordered).provisions()
    return {
        (tool.id, ordered[one.target].id): one
        for tool, row in zip(ordered, rows, strict=True)
        for one in row
    }


class TestNames:
    """Which field fills which argument."""

    def test_an_id_feeds_the_tools_of_its_entity(self) -> None:
        """`order_id` feeds `order_ship`, and nothing that wants the id of a user."""
        found = provided(
            gives("order_create", "order_id"),
            takes("order_ship", "order_id"),
            takes("user_delete", "user_id"),
        )
        assert [*found] == [("order_create", "order_ship")]

    def test_owner_and_field_are_not_exchanged(self) -> None:
        """The range of a sheet is no sheet of a range, though both are named by the same words."""
        found = provided(
            gives("sheet_describe", "range"),
            takes("range_copy", "sheet"),
            takes("range_clear", "sheet", "range"),
        )
        assert {end: [one.argument for one in row.fields] for end, row in found.items()} == {
            ("sheet_describe", "range_clear"): ["range"]
        }

    @pytest.mark.parametrize(
        ("field", "argument", "is_filled"),
        [("input_format", "input", False), ("format_input", "input", True)],
    )
    def test_a_field_is_what_its_last_word_names(
        self, field: str, argument: str, is_filled: bool
    ) -> None:
        """An input format is not an input, though a tool for formats takes an input."""
        found = provided(
            gives("data_convert", field, source_id="files"),
            takes("format_validate", argument, source_id="text"),
        )
        assert bool(found) == is_filled

    def test_a_bare_id_is_that_of_the_tool(self) -> None:
        """An argument `id` takes the id of what its tool works on, whoever gives it."""
        found = provided(
            gives("create_order", "id", "total"),
            takes("ship_order", "id"),
            takes("ban_user", "id"),
        )
        assert found["create_order", "ship_order"].fields == (FieldMapping("id", "id"),)
        assert found["create_order", "ship_order"].strength > 0.3
        weak = found.get(("create_order", "ban_user"))
        assert weak is None or weak.strength < found["create_order", "ship_order"].strength

    def test_the_path_of_a_field_is_told(self) -> None:
        """A field within a list is named with the way to it."""
        orders = {"type": "array", "items": schema("id")}
        giver = make_tool("search", output_schema={"properties": {"orders": orders}})
        (one,) = provided(giver, takes("ship", "order_id")).values()
        assert one.fields == (FieldMapping("orders[].id", "order_id"),)

    def test_wrappers_provide_nothing(self) -> None:
        """What is all that most tools of a server give names no property of anything."""
        givers = [gives(f"read_{word}", "content") for word in ("ant", "bee", "cat", "dog", "eel")]
        assert provided(*givers, takes("write_ant", "content")) == {}

    def test_each_server_has_ids_of_its_own(self) -> None:
        """A server that gives its own ids takes none of another server."""
        giver = gives("find_user", "user_id")
        taker = takes("ban", "user_id", source_id="chat")
        assert [*provided(giver, taker)] == [("find_user", "ban")]
        own = gives("list_members", "user_id", source_id="chat")
        assert [*provided(giver, taker, own)] == [("list_members", "ban")]


@pytest.mark.parametrize(
    ("given", "needed", "fits"),
    [
        ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}, True),
        ({"type": "string", "format": "uuid"}, {"type": "string", "format": "email"}, False),
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "URL"}, True),
        ({"type": "string"}, {"type": "string", "format": "email"}, True),
        ({"type": "array", "items": {"format": "uuid"}}, {"format": "date"}, False),
        ({"type": "string"}, {"type": "integer"}, False),
    ],
)
def test_types_and_formats_have_to_fit(
    given: dict[str, Any], needed: dict[str, Any], fits: bool
) -> None:
    """A field of another type or format fills no argument; what no schema says is no obstacle."""
    giver = make_tool("ant", output_schema={"properties": {"order_key": given}})
    taker = {"properties": {"order_key": needed}, "required": ["order_key"]}
    assert bool(provided(giver, make_tool("bee", input_schema=taker))) is fits


class TestCoverage:
    """How much of a need is met."""

    def test_strict_where_every_required_argument_is_met(self) -> None:
        """Strict is all of what is required, partial a part of it, and worth less."""
        giver = gives("ant", "order_id", "user_id")
        whole = takes("bee", "order_id", "user_id")
        part = takes("cat", "order_id", "reason_code")
        found = provided(giver, whole, part)
        assert found["ant", "bee"].coverage is Coverage.STRICT
        assert found["ant", "cat"].coverage is Coverage.PARTIAL
        assert found["ant", "bee"].weight > found["ant", "cat"].weight

    def test_an_option_takes_what_others_require(self) -> None:
        """An optional argument is filled by an id that other tools require, never by a filter."""
        properties = {"order_id": {"type": "string"}, "sort_order": {"type": "string"}}
        note = make_tool("add_note", input_schema={"properties": properties})
        found = provided(
            gives("create_order", "order_id", "sort_order"), takes("ship", "order_id"), note
        )
        assert found["create_order", "add_note"].coverage is Coverage.OPTIONAL
        assert found["create_order", "add_note"].fields == (
            FieldMapping("order_id", "order_id", required=False),
        )

    def test_a_filter_provides_nothing(self) -> None:
        """What a tool takes as a filter, it doesn't provide to another filter."""
        properties = {"order_id": {"type": "string"}}
        listing = make_tool(
            "list_orders",
            input_schema={"properties": properties},
            output_schema=schema("order_id"),
        )
        other = make_tool("list_parcels", input_schema={"properties": properties})
        found = provided(listing, other, takes("ship", "order_id"))
        assert [*found] == [("list_orders", "ship")]

    def test_an_argument_may_have_a_dot_in_its_name(self) -> None:
        """The whole name of an argument is told, whatever characters it has."""
        taker = make_tool(
            "bee",
            input_schema={"properties": {"order.id": {}}, "required": ["order.id"]},
        )
        (one,) = provided(gives("ant", "id"), taker, gives("x", "y")).values() or (None,)
        assert one is None or one.fields[0].argument == "order.id"


def test_nothing_is_capped() -> None:
    """However many tools take a field, the index knows them all."""
    takers = [takes(f"use_{number}x", "order_id") for number in range(40)]
    others = [make_tool(f"filler_{number}x") for number in range(400)]
    found = provided(gives("ant", "order_id"), *takers, *others)
    assert len(found) == 40


def test_work_is_bounded_where_everybody_holds_a_field() -> None:
    """Where too many tools meet in a field, each that takes it still has somebody who gives it."""
    givers = [gives(f"give_{number:03}x", "order_id") for number in range(150)]
    takers = [takes(f"take_{number:03}x", "order_id") for number in range(150)]
    others = [make_tool(f"filler_{number}x") for number in range(1500)]
    found = provided(*givers, *takers, *others)
    assert len(found) <= 1 << 14
    assert {target for _, target in found} == {tool.id for tool in takers}


NAMES = st.sampled_from(["id", "order_id", "orderId", "user", "content", "große", "a.b", "..", ""])
SCHEMAS = st.builds(schema, *[NAMES] * 2) | st.builds(schema, NAMES, x_id=st.just({}))
TOOLS = st.lists(
    st.builds(
        make_tool,
        st.sampled_from(["get_order", "create_user", "x", "注文検索", "_"]),
        source_id=st.sampled_from(["a", "b"]),
        input_schema=SCHEMAS,
        output_schema=st.none() | SCHEMAS,
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(TOOLS)
def test_provisions_keep_the_contract(tools: list[Tool]) -> None:
    """A provision is to another tool, names arguments that it has, and covers what it says."""
    ordered = build_catalog(tools).tools
    rows = build_field_index(ordered).provisions()
    for position, row in enumerate(rows):
        assert [one.target for one in row] == sorted({one.target for one in row} - {position})
        for one in row:
            needs = set(ordered[one.target].input_schema["required"])
            met = {field.argument for field in one.fields if field.required}
            assert 0 < one.weight <= 0.7
            assert {field.argument for field in one.fields} <= set(
                ordered[one.target].input_schema["properties"]
            )
            assert met <= needs
            expected = Coverage.STRICT if met == needs else Coverage.PARTIAL
            assert one.coverage is (expected if met else Coverage.OPTIONAL)
            assert one.reason


@pytest.mark.parametrize("kind", EdgeKind)
def test_an_author_weighs_most(kind: EdgeKind) -> None:
    """Of equal evidence an author's and an observation weigh most, a guess least."""
    weights = [compute_weight(EdgeKind.NEXT_STEP, origin, 0.8) for origin in EdgeOrigin]
    assert weights == [0.8, 0.8, 0.56, 0.4]
    assert (
        0
        < compute_weight(kind, EdgeOrigin.INFERRED, 1e-9)
        <= compute_weight(kind, EdgeOrigin.SCHEMA, 1.0)
    )
