"""Tools as the APIs of language models take them: names, schemas, and calls mapped back."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcpg.catalog.api_schemas import acceptable
from mcpg.catalog.api_tools import APIS, api_tools
from mcpg.catalog.model import Tool
from mcpg.errors import NotFoundError, UsageError

MODEL_APIS = [name for name in APIS if name != "mcp"]
NAME = dict.fromkeys(MODEL_APIS, r"[a-zA-Z0-9_-]{1,64}\Z") | {
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}\Z",
    "mcp": r"[a-zA-Z0-9_.-]{1,128}\Z",
}
AT_TOP = {"$ref", "allOf", "anyOf", "oneOf", "enum", "const", "not"}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}

KEYWORDS = [
    *("type", "properties", "required", "items", "anyOf", "allOf", "oneOf", "not", "enum", "$ref"),
    *("$defs", "definitions", "minimum", "exclusiveMinimum", "additionalProperties", "pattern"),
    *("a", "b"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4) | st.just("object"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYWORDS) | st.sampled_from(["#", "#/$defs/a", "#/anyOf/0"]),
            inner | st.sampled_from(["#", "#/$defs/a", "#/anyOf/0", "http://x/y"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


def tool(tool_id: str, schema: dict[str, Any] | None = None, **members: Any) -> Tool:
    """Return a tool of the source `shop`."""
    named = {"input_schema": schema} if schema is not None else {}
    return Tool(tool_id, "shop", tool_id, description=f"About {tool_id}.", **named, **members)


def assert_acceptable(schema: dict[str, Any]) -> None:
    """Fail unless an API accepts *schema*."""
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert not AT_TOP & schema.keys()
    for part in parts_of(schema):
        if "$ref" in part:
            _, keyword, name = part["$ref"].split("/")
            assert name in schema[keyword]
        if part.get("type") == "array":
            assert isinstance(part["items"], dict | bool)


def parts_of(schema: Any) -> list[dict[str, Any]]:
    """Return the schemas within a schema."""
    if not isinstance(schema, dict):
        return []
    found = [schema]
    for key, member in schema.items():
        if key in {"properties", "$defs", "definitions"}:
            found += [part for one in member.values() for part in parts_of(one)]
        elif key in {"anyOf", "allOf", "oneOf", "prefixItems"}:
            found += [part for one in member for part in parts_of(one)]
        elif key in {"items", "additionalProperties", "not"}:
            found += parts_of(member)
    return found


@given(st.dictionaries(st.sampled_from(sorted(AT_TOP | {"type", "$defs", "properties"})), JSON))
def test_every_schema_becomes_acceptable(schema: dict[str, Any]) -> None:
    """Whatever a server sends, the result is a valid schema of an object."""
    before = copy.deepcopy(schema)
    found = acceptable(schema)
    assert schema == before
    assert_acceptable(found)
    assert acceptable(found) == found


@pytest.mark.xfail(strict=True, reason="what one alternative states of a property binds the others")
@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_alternatives_at_the_top_are_not_narrowed(keyword: str) -> None:
    """The result accepts all arguments that the schema of the server accepts."""
    branches = [
        {"properties": {"a": NUMBER}, "required": ["a"]},
        {"properties": {"b": TEXT}, "required": ["b"]},
    ]
    schema = {"type": "object", keyword: branches}
    arguments = {"a": "x", "b": "y"}
    assert Draft202012Validator(schema).is_valid(arguments)
    assert Draft202012Validator(acceptable(schema)).is_valid(arguments)


@pytest.mark.parametrize(
    ("schema", "arguments", "properties"),
    [
        ({"anyOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]}, {"b": "x"}, "ab"),
        (
            {"oneOf": [{"properties": {"a": TEXT}}, {"properties": {"a": NUMBER}}]},
            {"a": 1},
            "a",
        ),
        (
            {"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": TEXT}}}},
            {"a": "x"},
            "a",
        ),
        (
            {"allOf": [{"$ref": "#/definitions/x"}], "definitions": {"x": {"required": ["a"]}}},
            {"a": 1},
            "",
        ),
        ({"properties": {"a": {"$ref": "#"}, "b": TEXT}}, {"a": {"a": {"b": "x"}}}, "ab"),
        (
            {"properties": {"a": TEXT, "b": {"$ref": "#/properties/a"}}},
            {"b": "x"},
            "ab",
        ),
        (
            {
                "$id": "http://x/y",
                "properties": {"a": {"$ref": "http://x/y#/$defs/b"}},
                "$defs": {"b": TEXT},
            },
            {"a": "x"},
            "a",
        ),
        ({"properties": {"a": {"$ref": "http://elsewhere/"}}}, {"a": [1]}, "a"),
        ({"properties": {"a": {"type": "array", "items": [TEXT]}}}, {"a": ["x", 1]}, "a"),
        ({"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}, {"a": 2}, "a"),
        ({"properties": {"a": {"maximum": 10**400}}}, {"a": 2}, "a"),
        ({"properties": {"a": {"type": "str", "required": True}}, "required": None}, {"a": 1}, "a"),
        ({"type": ["object", "null"], "not": {"required": ["z"]}}, {"a": 1}, ""),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["a", "b"]}], "properties": {"a": TEXT}},
            {"a": "x"},
            "a",
        ),
    ],
)
def test_what_the_tool_accepts_is_accepted(
    schema: dict[str, Any], arguments: dict[str, Any], properties: str
) -> None:
    """A schema that an API refuses is widened, and states the properties of its branches."""
    found = acceptable(schema)
    assert_acceptable(found)
    assert "".join(found["properties"]) == properties
    assert Draft202012Validator(found).is_valid(arguments)


def test_what_is_always_required_stays_required() -> None:
    """Of alternatives it is what all of them require."""
    either = {"anyOf": [{"required": ["a", "b"]}, {"required": ["a"]}]}
    found = acceptable({"properties": {"a": TEXT, "b": TEXT}, **either})
    assert found["required"] == ["a"]


def test_references_of_references_take_no_longer_than_the_schema() -> None:
    """Definitions that each name the next twice are merged once each."""
    deep = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    found = acceptable(
        {"$ref": "#/$defs/d0", "$defs": {**deep, "d60": {"properties": {"a": TEXT}}}}
    )
    assert found["properties"] == {"a": TEXT}


def test_a_good_schema_is_kept_as_it_is() -> None:
    """Nothing is changed that no API refuses."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/x", "description": "An x."},
            "x-b": {"anyOf": [TEXT]},
        },
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"x": {"type": "array", "items": {"$ref": "#/$defs/x"}, "x-own": 1}},
    }
    assert acceptable(schema) == schema


@pytest.mark.parametrize("api", APIS)
@given(
    ids=st.lists(
        st.text(max_size=140) | st.sampled_from(["a", "tool_search_tool_bm25"]),
        unique=True,
        max_size=8,
    )
)
def test_names_are_valid_unique_and_stable(api: str, ids: list[str]) -> None:
    """Each tool has a name that the API accepts, the same in every list, that leads back to it."""
    found = api_tools(api, map(tool, ids))
    listed = found.definitions
    if api == "gemini" and ids:
        listed = listed[0]["functionDeclarations"]
    assert len(found.origins) == len(listed) == len(ids)
    assert all(re.match(NAME[api], name) for name in found.origins)
    assert [one.tool_id for one in found.origins.values()] == ids
    for name, one in found.origins.items():
        assert [*api_tools(api, [tool(one.tool_id)]).origins] == [name]


@pytest.mark.parametrize("tool_id", ["refund_issue", "None"])
@pytest.mark.parametrize("api", APIS)
def test_a_valid_id_is_the_name(api: str, tool_id: str) -> None:
    """A model sees the name that people see."""
    assert [*api_tools(api, [tool(tool_id)]).origins] == [tool_id]


def test_definitions_have_the_format_of_the_api() -> None:
    """Each API has its own members, and descriptions of the length that it accepts."""
    about = "long " * 2000
    one = Tool("a", "shop", "A", "Title", about, {"type": "object"}, {"type": "object"})
    schema = {"type": "object", "properties": {}}
    cut = f"{about[:1023].rstrip()}…"
    function = {"name": "a", "description": cut, "parameters": schema}
    expected = {
        "openai": {"type": "function", "function": function},
        "openai-responses": {"type": "function", **function, "strict": False},
        "anthropic": {"name": "a", "description": about, "input_schema": schema},
        "gemini": {"functionDeclarations": [{"name": "a", "description": about}]},
        "mcp": {
            "name": "a",
            "title": "Title",
            "description": about,
            "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object"},
        },
    }
    for api, definition in expected.items():
        assert api_tools(api, [one]).definitions == [definition]


@pytest.mark.parametrize("api", ["openai", "openai-responses"])
@pytest.mark.parametrize("length", [1023, 1024, 1025, 100_000])
def test_openai_gets_descriptions_of_1024_characters(api: str, length: int) -> None:
    """A longer one, for which the API refuses the whole request, is cut; others are whole."""
    about = "é" * length
    for strict in (False, True):
        (definition,) = api_tools(
            api, [Tool("a", "shop", "a", description=about)], strict=strict
        ).definitions
        found = definition.get("function", definition)["description"]
        assert found == (about if length <= 1024 else f"{about[:1023]}…")


def test_gemini_gets_one_tool_of_all_declarations() -> None:
    """The functions are in one list; arguments get names that Gemini accepts, and map back."""
    schema = {"properties": {"$top": NUMBER, "1st": TEXT, "a-b": TEXT}, "required": ["$top"]}
    found = api_tools("gemini", [tool("2fa.enable", schema), tool("plain")])
    ((member, declarations),) = found.definitions[0].items()
    assert (len(found.definitions), member) == (1, "functionDeclarations")
    given_schema = declarations[0]["parametersJsonSchema"]
    assert_acceptable(given_schema)
    assert [*given_schema["properties"]] == ["top", "_1st", "a_b"]
    assert given_schema["required"] == ["top"]
    call = found.call(declarations[0]["name"], {"top": 3, "_1st": "x"})
    assert (call.tool_id, call.arguments) == ("2fa.enable", {"$top": 3, "1st": "x"})
    assert declarations[1]["name"] == "plain"
    assert api_tools("gemini", []).definitions == []


@pytest.mark.parametrize("api", ["openai-responses", "anthropic"])
def test_other_tools_are_deferred(api: str) -> None:
    """The tool search of the API comes first; a tool that is loaded is not deferred as well."""
    tools = [tool("a"), tool("b"), tool("tool_search_tool_bm25")]
    found = api_tools(api, tools[:1], tools)
    search, loaded, *later = found.definitions
    if api == "openai-responses":
        (namespace,) = later
        later = namespace["tools"]
    assert search["type"] in {"tool_search", "tool_search_tool_bm25_20251119"}
    assert (loaded["name"], "defer_loading" in loaded) == ("a", False)
    assert [one["defer_loading"] for one in later] == [True, True]
    names = [one.get("name", "") for one in (search, loaded, *later)]
    assert len(set(names)) == 4
    assert api_tools(api, tools, tools).definitions == api_tools(api, tools).definitions


def test_deferred_tools_are_grouped_by_source() -> None:
    """A namespace has a valid name, and a description with the names of its tools, cut if long."""
    tools = [Tool(f"tool_{number}", "Web shop", "x") for number in range(90)]
    tools.append(Tool("b", "Web\nshop", "b"))
    _, first, second = api_tools("openai-responses", [], tools).definitions
    assert first["type"] == second["type"] == "namespace"
    assert [len(first["tools"]), len(second["tools"])] == [90, 1]
    for one in (first, second):
        assert re.match(NAME["openai-responses"], one["name"])
        assert 0 < len(one["description"]) <= 500
    assert first["name"] != second["name"]
    assert "tool_0, tool_1" in first["description"]
    assert re.search(r"and \d+ more\.$", first["description"])
    assert second["description"].endswith(": b.")


@pytest.mark.parametrize("length", range(1, 64))
def test_a_namespace_is_described_in_500_characters(length: int) -> None:
    """Whatever the lengths of names, the number of further tools fits as well."""
    tools = [Tool(f"{number:03}{'x' * 61}", "s" * length, "x") for number in range(990)]
    _, namespace = api_tools("openai-responses", [], tools).definitions
    assert 400 < len(namespace["description"]) <= 500


STRICT = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}


@pytest.mark.parametrize("api", ["openai", "openai-responses"])
def test_definitions_are_strict_where_they_can_be(api: str) -> None:
    """Others are as without strict mode, with the reason; null is as if left out."""
    combined = {"anyOf": [STRICT, {"type": "object", "properties": {"c": NUMBER}}]}
    tools = [tool("good", STRICT), tool("odd", combined)]
    found = api_tools(api, tools, strict=True)
    good, odd = (one.get("function", one) for one in found.definitions)
    assert good["strict"] is True
    assert good["parameters"]["required"] == ["a", "b"]
    assert good["parameters"]["additionalProperties"] is False
    assert found.definitions[1] == api_tools(api, tools).definitions[1]
    assert odd.get("strict") is not True
    assert [name for name, _ in found.not_strict] == ["odd"]
    assert found.call("good", '{"a": "x", "b": null}').arguments == {"a": "x"}
    assert found.call("odd", {"c": None}).arguments == {"c": None}
    listed = found.to_dict()
    assert listed["origins"]["good"]["optional"] == ["/b"]
    assert "optional" not in listed["origins"]["odd"]
    assert [*listed["notStrict"]] == ["odd"]


@pytest.mark.parametrize("api", ["anthropic", "gemini", "mcp"])
def test_an_api_without_strict_mode_is_named(api: str) -> None:
    """The error names the APIs that have one, with deferred tools only those with both."""
    with pytest.raises(UsageError, match="no strict mode") as raised:
        api_tools(api, [], strict=True)
    assert raised.value.remedy == "use openai or openai-responses"
    with pytest.raises(UsageError) as raised:
        api_tools("openai", [], [tool("a")], strict=True)
    assert raised.value.remedy == "use openai-responses"


@pytest.mark.parametrize("api", ["openai", "gemini", "mcp"])
def test_an_api_without_tool_search_defers_nothing(api: str) -> None:
    """The error names the APIs that have one."""
    with pytest.raises(UsageError, match="tool search") as raised:
        api_tools(api, [], [tool("a")])
    assert raised.value.remedy == "use openai-responses or anthropic"


def test_an_unknown_api_is_an_error() -> None:
    """The error names those that there are."""
    with pytest.raises(UsageError, match="'bedrock' is not an API"):
        api_tools("bedrock", [])


def test_a_call_is_mapped_back() -> None:
    """Arguments of a model get the names that the tool knows, from an object or its text."""
    properties = {"filter[name]": TEXT, "filter_name": TEXT, "$top": NUMBER, "größe": NUMBER}
    schema = {"properties": properties, "required": ["$top"], "propertyNames": {"pattern": "^."}}
    found = api_tools("anthropic", [tool("straße", schema)])
    (name,) = found.origins
    given_schema = found.definitions[0]["input_schema"]
    assert_acceptable(given_schema)
    keys = [*given_schema["properties"]]
    assert all(re.match(r"[a-zA-Z0-9_.-]{1,64}\Z", key) for key in keys)
    assert given_schema["required"] == ["top"]
    assert "propertyNames" not in given_schema
    call = found.call(name, {key: number for number, key in enumerate(keys)} | {"other": 9})
    assert (call.tool_id, call.source_id, call.tool_name) == ("straße", "shop", "straße")
    assert call.arguments == {**{key: n for n, key in enumerate(properties)}, "other": 9}
    assert found.call(name, '{"top": 3}').arguments == {"$top": 3}
    assert found.call(name).arguments == found.call(name, " ").arguments == {}


@pytest.mark.parametrize("arguments", ["{", "[1]", "3", "null ,", "[" * 100_000, [1], 3])
def test_arguments_that_are_no_object_are_an_error(arguments: Any) -> None:
    """A model may write anything; what it wrote is no fault of the program."""
    with pytest.raises(UsageError, match="the arguments of a are not a JSON object"):
        api_tools("openai", [tool("a")]).call("a", arguments)


def test_a_name_that_was_not_given_is_an_error() -> None:
    """A model may make up names."""
    with pytest.raises(NotFoundError, match="no tool was given as 'b'"):
        api_tools("openai", [tool("a")]).call("b", "{}")
