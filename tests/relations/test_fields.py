from __future__ import annotations

import pytest
from builders import make_tool

from mcpg.relations.vocabulary import accepts, field_key, given_fields, taken_fields


@pytest.mark.parametrize("name", ["order_id", "orderId", "OrderID", "id-of-order"])
def test_spelling_does_not_part_fields(name: str) -> None:
    """Fields are the same when their names have the same stems."""
    assert set(field_key("order_id")) <= set(field_key(name))


@pytest.mark.parametrize("name", ["order_ids", "orders_id", "orderIds"])
def test_plural_does_not_part_fields(name: str) -> None:
    """A list of ids and one id are the same field, short words included."""
    assert field_key(name) == ("id", "order")
    assert field_key("business") == ("busi",)


def test_arguments_are_those_of_the_top_level() -> None:
    """Arguments are the fields of the top level, required or not."""
    tool = make_tool(
        input_schema={
            "type": "object",
            "properties": {
                "order_id": {"type": "string"},
                "note": {"type": "string"},
                "lines": {"type": "array", "items": {"required": ["sku"]}},
            },
            "required": ["order_id", "lines", "ghost"],
        }
    )
    found = [(field.path, sorted(field.types), field.required) for field in taken_fields(tool)]
    assert found == [
        ("order_id", ["string"], True),
        ("note", ["string"], False),
        ("lines", ["array"], True),
    ]
    assert taken_fields(make_tool()) == []


def test_given_fields_are_the_innermost() -> None:
    """A record of the result gives its fields, each with the name of the record that owns it."""
    tool = make_tool(
        output_schema={
            "type": "object",
            "properties": {
                "orders": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
                },
                "tags": {"type": "array", "items": {"type": "string"}},
                "total": {},
            },
        }
    )
    found = {field.name: (field.owner, field.types) for field in given_fields(tool)}
    assert found == {
        "id": (("order",), {"integer"}),
        "tags": ((), {"array"}),
        "total": ((), frozenset()),
    }
    assert given_fields(make_tool()) == []


@pytest.mark.parametrize(
    ("needed", "given", "fits"),
    [
        ({"string"}, {"string"}, True),
        ({"string"}, {"integer"}, True),
        ({"integer"}, {"string"}, False),
        ({"number"}, {"integer"}, True),
        ({"integer"}, {"number"}, False),
        ({"object"}, {"string"}, False),
        ({"string"}, {"array"}, True),
        ({"array"}, {"object"}, True),
        (set(), {"object"}, True),
        ({"object"}, set(), True),
    ],
)
def test_types_have_to_fit(needed: set[str], given: set[str], fits: bool) -> None:
    """Equal, wider and unknown types fit; a list gives its elements."""
    assert accepts(frozenset(needed), frozenset(given)) is fits
