from __future__ import annotations

from typing import Any

import pytest
from bounded import output_of
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.model import Parameter, walk_parameters


def _paths(schema: dict[str, Any], **limits: int) -> list[str]:
    return [parameter.path for parameter in walk_parameters(schema, **limits)]


def test_a_plain_property() -> None:
    """Name, description, type, values and "required" are those of the schema."""
    schema = {
        "type": "object",
        "properties": {
            "unit": {
                "type": "string",
                "description": " Unit. ",
                "enum": ["kg", "lb", 3, "kg"],
                "examples": ["g"],
            },
            "now": {"const": "yes"},
        },
        "required": ["unit", 7],
    }
    assert walk_parameters(schema) == (
        Parameter("unit", "Unit.", "string", ("kg", "lb", "g"), True),
        Parameter("now", "", None, ("yes",), False),
    )


_MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "null", ["string", "null", 3], "t" * 90, 7]),
        "description": st.sampled_from([" A unit. ", "", 3, "word " * 30_000]),
        "format": st.sampled_from(["date", "f" * 90, 1]),
        "enum": st.sampled_from([["kg", " KG", 3], "kg", [], ["x" * 140_000]]),
        "const": st.just("yes"),
        "items": st.sampled_from([{"enum": ["a"]}, {"properties": {"b": {}}}, False]),
        "additionalProperties": st.booleans(),
    },
)


@given(
    st.dictionaries(
        st.sampled_from(["unit", "", "n" * 140_000, "m" * 140_000, "o"]), _MEMBERS | st.just(7)
    ),
    st.sampled_from([["unit", 7], "unit", []]),
    st.integers(1, 4),
)
def test_simple_schemas_are_walked_like_combined_ones(
    properties: dict[str, Any], required: Any, most: int
) -> None:
    """A schema has the parameters that it has as the only part of another one."""
    schema = {"properties": properties, "required": required}
    combined = {"allOf": [schema]}
    assert walk_parameters(schema) == walk_parameters(combined)
    assert _paths(schema, max_parameters=most) == _paths(combined, max_parameters=most)


def test_nested_properties_come_after_outer_ones() -> None:
    """Paths name objects, list items and unnamed members, level by level."""
    schema = {
        "properties": {
            "order": {
                "properties": {
                    "lines": {"items": {"properties": {"sku": {"type": "string"}}}},
                    "grid": {"items": {"items": {"properties": {"x": {}}}}},
                },
            },
            "labels": {"additionalProperties": {"properties": {"text": {}}}},
            "pair": {"prefixItems": [{"properties": {"left": {}}}, True]},
        },
    }
    assert _paths(schema) == [
        "order",
        "labels",
        "pair",
        "order.lines",
        "order.grid",
        "labels.*.text",
        "pair[].left",
        "order.lines[].sku",
        "order.grid[][].x",
    ]


def test_values_of_items_belong_to_the_list() -> None:
    """What a list may hold is what its parameter may take."""
    schema = {"properties": {"days": {"type": "array", "items": {"enum": ["mon", "tue"]}}}}
    assert walk_parameters(schema) == (Parameter("days", "", "array", ("mon", "tue"), False),)


def test_references_and_combinations() -> None:
    """Local references and branches are looked through; only what always holds is required."""
    schema = {
        "$defs": {
            "a/b": {"type": "string", "description": "By reference."},
            "base": {"properties": {"id": {"$ref": "#/$defs/a~1b"}}, "required": ["id"]},
        },
        "allOf": [{"$ref": "#/%24defs/base"}],
        "anyOf": [{"properties": {"left": {}}, "required": ["left"]}, False],
        "oneOf": [{"properties": {"right": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}],
        "properties": {"mixed": {"type": ["string", "number", "null"]}},
    }
    assert walk_parameters(schema) == (
        Parameter("mixed", "", "string|number", (), False),
        Parameter("id", "By reference.", "string", (), True),
        Parameter("left", "", None, (), False),
        Parameter("right", "", "integer", (), False),
    )


def test_references_into_lists_and_to_nothing() -> None:
    """A pointer may pass through an array; one that leads nowhere is passed over."""
    schema = {
        "defs": [{"type": "boolean"}],
        "properties": {
            "a": {"$ref": "#/defs/0"},
            "b": {"$ref": "#/defs/7"},
            "c": {"$ref": "#/defs/0/type"},
            "d": {"$ref": "https://example.com/schema"},
            "e": {"$ref": 5},
            "f": {"$ref": "#/defs/0/type/x"},
        },
    }
    assert [parameter.type for parameter in walk_parameters(schema)] == ["boolean"] + [None] * 5


def test_circles_are_cut() -> None:
    """A schema that contains itself is listed once on each way."""
    tree = {"properties": {"name": {}, "children": {"items": {"$ref": "#/$defs/tree"}}}}
    schema = {"$defs": {"tree": tree}, "properties": {"root": {"$ref": "#/$defs/tree"}}}
    assert _paths(schema) == ["root", "root.name", "root.children"]
    assert _paths({"properties": {"self": {"$ref": "#"}}}) == ["self"]
    loop: dict[str, Any] = {"$ref": "#/properties/a"}
    assert _paths({"properties": {"a": loop}}) == ["a"]


def test_bounds() -> None:
    """Depth and number of parameters are bounded."""
    deep: dict[str, Any] = {}
    for _ in range(9):
        deep = {"properties": {"p": deep}}
    assert _paths(deep, max_depth=3) == ["p", "p.p", "p.p.p"]
    assert _paths(deep, max_depth=1) == ["p"]
    wide = {"properties": {f"p{i}": {} for i in range(9)}}
    assert _paths(wide, max_parameters=2) == ["p0", "p1"]


def test_schemas_that_multiply_come_to_an_end() -> None:
    """References that double at every level are neither followed nor listed without end."""
    defs: dict[str, Any] = {
        f"d{i}": {
            "anyOf": [{"items": {"$ref": f"#/$defs/d{i + 1}"}} for _ in range(40)],
            "properties": {f"p{j}": {"$ref": f"#/$defs/d{i + 1}"} for j in range(40)},
        }
        for i in range(9)
    }
    assert len(_paths({"$defs": defs, "$ref": "#/$defs/d0"})) == 400
    same = {"anyOf": [{"items": {"properties": {"p": {}}}} for _ in range(30)]}
    assert _paths({"properties": {"a": same}}, max_parameters=2) == ["a", "a[].p"]


_keys = st.sampled_from(
    [
        "properties",
        "items",
        "$ref",
        "anyOf",
        "allOf",
        "required",
        "type",
        "enum",
        "a",
        "prefixItems",
    ]
)
_json = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["#", "#/properties/a", "#/anyOf/0", "string"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(_keys, _json))
def test_any_json_is_walked(schema: dict[str, Any]) -> None:
    """No JSON makes the walk fail, and no path is listed twice."""
    paths = _paths(schema)
    assert len(paths) == len(set(paths))


def _shared(**members: Any) -> dict[str, Any]:
    """Make a schema in which 300 parameters refer to one definition."""
    return {
        "properties": {f"p{number}": {"$ref": "#/$defs/one"} for number in range(300)},
        "$defs": {"one": members},
    }


@pytest.mark.parametrize(
    "shared",
    [
        "properties={f'q{n}': {} for n in range(100_000)}",
        "required=['a'] * 400_000, properties={'a': {}}",
        "anyOf=[{}] * 300_000",
        "items=[{}] * 300_000",
        "enum=[f'v{n}' for n in range(200_000)]",
        "type=[f'v{n}' for n in range(400_000)]",
        "**{'$ref': '#/' + 'a/' * 4_000_000}",
    ],
    ids=lambda text: text.partition("=")[0].strip("*"),
)
def test_a_definition_is_read_once_however_often_it_is_meant(shared: str) -> None:
    """The time that a schema takes does not grow with the references to a large definition."""
    program = (
        "from mcpg.catalog.model import walk_parameters\n"
        f"one = dict({shared})\n"
        "to_it = {f'p{n}': {'$ref': '#/$defs/one'} for n in range(300)}\n"
        "schema = {'properties': to_it, '$defs': {'one': one}}\n"
        "print([one.path for one in walk_parameters(schema)][299])"
    )
    assert output_of(program) == "p299\n"


@pytest.mark.parametrize(
    "members",
    [
        {"description": "word " * 20_000},
        {"enum": [f"value-{number}" for number in range(10_000)]},
        {"examples": ["x" * 200_000]},
        {"items": {"enum": ["x" * 100_000]}},
        {"type": ["t" * 100_000]},
    ],
    ids=["description", "enum", "examples", "items", "type"],
)
def test_the_text_of_a_schema_is_bounded(members: dict[str, Any]) -> None:
    """Texts that definitions repeat are cut at 256 Ki characters; every parameter is listed."""
    found = walk_parameters(_shared(**members))
    assert [one.path for one in found] == [f"p{number}" for number in range(300)]
    sizes = [
        len(one.description) + len(one.type or "") + sum(map(len, one.values)) for one in found
    ]
    assert sum(sizes) <= 262_144


def test_the_paths_of_a_schema_are_bounded() -> None:
    """Parameters whose paths make more than 256 Ki characters are left out, short ones are not."""
    inner = {"properties": {f"p{number}": {} for number in range(300)}}
    schema = {"properties": {"x" * 200_000: inner, "short": inner}}
    paths = _paths(schema)
    assert sum(map(len, paths)) <= 262_144
    assert paths[1:] == ["short", *(f"short.p{number}" for number in range(300))]
