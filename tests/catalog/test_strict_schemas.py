"""Schemas for the strict mode of OpenAI keep their meaning, or are not written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcpg.catalog.api_schemas import NotStrictError, strict_schema, without_left_out

TEXT: dict[str, Any] = {"type": "string"}
NULL: dict[str, Any] = {"type": "null"}


def record(*required: str, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties, "required": [*required]}


_names = st.sampled_from(["a", "b", "c/d", "e~f", ""])
_scalars: Any = st.sampled_from(
    [
        TEXT,
        {"type": "integer", "minimum": 0, "x-vendor": True},
        {"type": ["boolean", "null"]},
        {"type": ["string", "integer"], "description": "Either.", "default": "x"},
        {"enum": ["a", 1, None]},
        {"const": "a"},
        {"enum": ["a", "b"], "pattern": "b"},
        {"type": "string", "format": "uri", "minLength": 0},
        {"anyOf": [TEXT, NULL], "default": None},
        {"$ref": "#/$defs/part"},
        {"$ref": "#/$defs/list", "description": "Some."},
        {"type": "string", "maxLength": 2},
        {},
        True,
        NULL,
    ]
)


def _objects(inner: Any) -> Any:
    return st.builds(
        lambda properties, required: record(*(required & properties.keys()), **properties),
        st.dictionaries(_names, inner, max_size=3),
        st.sets(_names, max_size=3),
    )


_schemas: Any = st.recursive(
    _scalars,
    lambda inner: (
        st.builds(lambda one: {"type": "array", "items": one}, inner)
        | st.builds(lambda one: {"allOf": [one], "title": "One"}, inner)
        | st.builds(lambda *ones: {"anyOf": [*ones]}, inner, inner)
        | _objects(inner)
    ),
    max_leaves=8,
)


_tops = _objects(_schemas).map(
    lambda schema: {
        **schema,
        "$defs": {
            "part": record("b", a=TEXT, b=TEXT),
            "list": {"type": "array", "items": {"type": "integer"}},
        },
    }
)


def values(schema: dict[str, Any]) -> Any:
    """Return a strategy of what a strict schema accepts."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([values(one) for one in schema["anyOf"]])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    made = {
        "string": st.text(max_size=3),
        "integer": st.integers(0, 9),
        "number": st.integers(0, 9),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    if "array" in types:
        made["array"] = st.lists(values(schema["items"]), max_size=2)
    if "object" in types:
        members = {name: values(one) for name, one in schema["properties"].items()}
        made["object"] = st.fixed_dictionaries(members)
    return st.one_of([made[name] for name in types])


def assert_strict(schema: dict[str, Any]) -> None:
    """Fail unless strict mode takes *schema*."""
    allowed = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum"}
    assert schema.keys() <= {*allowed, "description", "minimum"}
    if schema.get("type") == "object":
        assert schema["required"] == [*schema["properties"]]
        assert schema["additionalProperties"] is False
    for one in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        assert_strict(one)
    if "items" in schema:
        assert_strict(schema["items"])


@given(_tops, st.data())
def test_what_a_strict_schema_accepts_the_tool_accepts(schema: Any, data: Any) -> None:
    """Arguments of a model are those of the tool once what is left out is removed."""
    try:
        strict, optional = strict_schema(schema)
    except NotStrictError:
        return
    assert_strict(strict)
    arguments = data.draw(values(strict))
    Draft202012Validator(strict).validate(arguments)
    given_to_tool = without_left_out(arguments, frozenset(optional))
    Draft202012Validator(schema).validate(given_to_tool)


def test_what_the_tool_accepts_can_be_said() -> None:
    """Every choice to leave an argument out has a strict form, in lists and branches as well."""
    line = record("sku", sku=TEXT, note={**TEXT, "description": "A note."})
    schema = record(
        "lines",
        lines={"type": "array", "items": line},
        ship={"anyOf": [record("to", to=TEXT, on={"type": "string", "format": "date"}), TEXT]},
        limit={"type": "integer", "default": 20},
    )
    strict, optional = strict_schema(schema)
    assert optional == ("/limit", "/lines/*/note", "/ship", "/ship/on")
    assert strict["properties"]["limit"] == {
        "type": ["integer", "null"],
        "description": "Default: 20.",
    }
    assert strict["properties"]["lines"]["items"]["properties"]["note"] == {
        "type": ["string", "null"],
        "description": "A note.",
    }
    arguments = {
        "lines": [{"sku": "a", "note": None}, {"sku": "b", "note": "c"}],
        "ship": {"to": "d", "on": None},
        "limit": None,
    }
    Draft202012Validator(strict).validate(arguments)
    assert without_left_out(arguments, frozenset(optional)) == {
        "lines": [{"sku": "a"}, {"sku": "b", "note": "c"}],
        "ship": {"to": "d"},
    }


CIRCLE = {"$defs": {"node": record(next={"$ref": "#/$defs/node"})}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (record(a={}), "/a: it has no JSON type"),
        (record(a=True), "/a: it allows any value"),
        (record(a={"type": "object"}), "/a: it is an object with any members"),
        ({**record(), "additionalProperties": True}, "further members"),
        (record(a={"type": "string", "minLength": 1}), "/a: strict mode has no `minLength`"),
        (record(a={"oneOf": [TEXT, NULL]}), "`oneOf`"),
        (record(a={"allOf": [TEXT, TEXT]}), "`allOf`"),
        (record(a={"type": ["string", "null"]}), "/a: null and nothing"),
        (record(a={"anyOf": [TEXT, NULL], "default": "x"}), "/a: null and nothing"),
        ({"anyOf": [record(a=TEXT), record(b=TEXT)]}, "`anyOf` at the top"),
        ({"type": "array"}, "not an object"),
        (record("b", a=TEXT), "requires a member"),
        (record(a={"type": "array"}), "any value"),
        (record(a={"type": "string", "pattern": "(?=x)"}), "`pattern`"),
        (record(a={"type": "string", "pattern": "["}), "`pattern`"),
        (record(a={"type": "string", "pattern": "[[a]"}), "`pattern`"),
        (record(a={"type": "integer", "multipleOf": 0}), "`multipleOf`"),
        (record(a={"type": "integer", "maximum": 10**400}), "`maximum`"),
        (record(a={"type": "array", "items": TEXT, "minItems": -1}), "`minItems`"),
        (record(a={"enum": [1, 5], "minimum": 3}), "others beside it"),
        (record(a={"enum": ["a", "b"], "const": "a"}), "others beside it"),
        (record(a={"enum": ["a", "b"], "anyOf": [{"const": "a"}]}), "others beside it"),
        (record(a={"enum": [f"{number:060}" for number in range(251)]}), "too large"),
        (record(a={"type": "string", "enum": [1]}), "another type"),
        (record(a={"enum": [[1]]}), "lists or objects"),
        (record(a={"enum": [*map(str, range(1001))]}), "too large"),
        (record(a={"$ref": "#/$defs/none"}), "leads nowhere"),
        (record(a={"$ref": {}}), "refers to itself"),
        (record(a={"type": {}}), "no JSON type"),
        ({"properties": {}, "required": [{}]}, "requires a member"),
        ({**record(a={"$ref": "#/$defs/node"}), **CIRCLE}, "refers to itself"),
        (record(**{"*": TEXT}), "/*: it is called *"),
        (
            record(
                a={"anyOf": [record(b=TEXT), record("b", b={"type": ["string", "null"]})]},
            ),
            "/a/b: null and nothing",
        ),
    ],
)
def test_a_schema_that_would_change_its_meaning_is_not_written(schema: Any, reason: str) -> None:
    """The reason names the place."""
    with pytest.raises(NotStrictError) as caught:
        strict_schema(schema)
    assert reason in str(caught.value)


def test_a_schema_of_any_depth_and_breadth_ends() -> None:
    """Depth, references that multiply and long chains of them are refused, not followed."""
    deep: dict[str, Any] = TEXT
    for _ in range(3000):
        deep = {"anyOf": [deep]}
    wide: dict[str, Any] = {
        f"n{number}": record(
            "a", "b", **{name: {"$ref": f"#/$defs/n{number + 1}"} for name in "ab"}
        )
        for number in range(9)
    }
    wide["n9"] = record(**{f"p{number}": TEXT for number in range(200)})
    top = record(a={"$ref": "#/$defs/n0"})
    chain = {f"n{number}": {"$ref": f"#/$defs/n{number + 1}"} for number in range(2000)}
    chain["n2000"] = TEXT
    long = record(**{name: {"$ref": "#/$defs/n0"} for name in "abcdef"})
    for schema in (record(a=deep), {**top, "$defs": wide}, {**long, "$defs": chain}):
        with pytest.raises(NotStrictError, match="too deep or too large"):
            strict_schema(schema)
