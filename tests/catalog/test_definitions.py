"""Definitions of tools: what counts as a change, and how it is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.definitions import DefinitionPart, definition_changes, is_same_definition

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, width=16)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)


def schema(**members: Any) -> dict[str, Any]:
    """Return a schema of objects."""
    return {"type": "object", "properties": {}, **members}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"description": "Find\n  things. "}, {"description": "Find things."}),
        ({"title": None}, {"title": ""}),
        ({"input_schema": {}}, {"input_schema": schema(required=[])}),
        (
            {"input_schema": schema(required=["a", "b"], additionalProperties=False)},
            {"input_schema": {"additionalProperties": False, **schema(required=["b", "a"])}},
        ),
        (
            {
                "input_schema": schema(
                    properties={"a": {"enum": ["x", 1], "type": ["string", "null"]}}
                )
            },
            {
                "input_schema": schema(
                    properties={"a": {"type": ["null", "string"], "enum": [1, "x"]}}
                )
            },
        ),
        (
            {"input_schema": schema(properties={"a": {"maximum": 10, "description": "a\nb"}})},
            {"input_schema": schema(properties={"a": {"description": "a b", "maximum": 10.0}})},
        ),
        ({"annotations": {}}, {"annotations": {"title": None, "readOnlyHint": None}}),
        ({"meta": {"a": 1}, "hints": {}}, {"meta": {"b": 2}}),
    ],
)
def test_what_no_reader_could_tell_apart_is_no_change(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Line breaks, the order of keys and sets, empty members and `_meta` change nothing."""
    before.pop("hints", None)
    assert definition_changes(make_tool(**before), make_tool(**after)) == ()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"title": "Ask"}, {"title": "Tell"}, 'title ("Ask" is now "Tell")'),
        ({}, {"title": "Tell"}, 'title ("Tell" added)'),
        (
            {"description": "Find the things that a customer has lost."},
            {"description": "Find the things that a customer has won."},
            'description ("...that a customer has lost." is now "...that a customer has won.")',
        ),
        (
            {"description": "Find"},
            {"description": "Fi\u200bnd"},
            r'description ("Find" is now "Fi\u200bnd")',
        ),
        (
            {"input_schema": schema(properties={"b": {"type": "string"}, "gone": {}})},
            {
                "input_schema": schema(
                    properties={"b": {"type": "integer"}, "note": {}}, required=["note"]
                )
            },
            (
                "input schema (argument 'b' no longer accepts string (breaking); "
                "argument 'note' is new and required (breaking); "
                "argument 'gone' is gone: it may be ignored; argument 'b' also accepts integer)"
            ),
        ),
        (
            {"input_schema": schema(properties={"a": {"default": True}})},
            {"input_schema": schema(properties={"a": {"default": 1}})},
            "input schema (argument 'a' has another default: 1, was true)",
        ),
        ({}, {"output_schema": schema()}, "output schema (added)"),
        ({"output_schema": schema()}, {}, "output schema (removed)"),
        (
            {"output_schema": schema(properties={"a": {}})},
            {"output_schema": schema(properties={"b": {}})},
            "output schema (field 'a' is gone (breaking); field 'b' is new)",
        ),
        (
            {"annotations": {"readOnlyHint": True}},
            {"annotations": {"readOnlyHint": False, "destructiveHint": True}},
            "annotations ('destructiveHint' added; 'readOnlyHint' true is now false)",
        ),
    ],
)
def test_a_change_is_told_in_words(
    before: dict[str, Any], after: dict[str, Any], said: str
) -> None:
    """Each part that changed is named, with what a person needs to judge it."""
    changes = definition_changes(make_tool(**before), make_tool(**after))
    assert "; ".join(map(str, changes)).startswith(said)


def test_words_are_bounded() -> None:
    """Neither a thousand changes nor endless texts and names make a long message."""
    many = schema(properties={f"{'x' * 1000}{number}": {} for number in range(1000)})
    after = make_tool(description="y" * 100_000, input_schema=many, annotations={"a": "z" * 9999})
    changes = definition_changes(make_tool(), after)
    assert [change.part for change in changes] == [
        DefinitionPart.DESCRIPTION,
        DefinitionPart.INPUT_SCHEMA,
        DefinitionPart.ANNOTATIONS,
    ]
    assert "and more" in str(changes[1])
    assert all(len(str(change)) < 1000 for change in changes)


def test_a_schema_that_is_too_deep_is_a_change() -> None:
    """What cannot be read back cannot be compared, and is the same as nothing."""
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"properties": {"a": deep}}
    tools = make_tool(input_schema=deep), make_tool(input_schema=json.loads("{}"))
    assert definition_changes(*tools)
    assert not is_same_definition(make_tool(input_schema=deep), make_tool(input_schema=deep))


@given(st.dictionaries(st.text(max_size=6), _json, max_size=4))
def test_a_definition_is_the_same_after_json(members: dict[str, Any]) -> None:
    """Whatever a schema holds, it is the same when it is written and read with sorted keys."""
    before = make_tool(input_schema=members, annotations=members)
    again = json.loads(json.dumps(members, sort_keys=True))
    after = make_tool(input_schema=again, annotations=again)
    assert definition_changes(before, after) == ()
