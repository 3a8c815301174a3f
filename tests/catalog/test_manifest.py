from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from mcpg.catalog.manifest import ManifestTools, read_manifest
from mcpg.catalog.model import SourceKind, ToolExample
from mcpg.errors import Code, SourceError

_SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
_MCP = {"name": "find", "description": "Finds.", "inputSchema": _SCHEMA}
_LOG = {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "serverInfo": {}}}


def _read(*values: Any, source_id: str | None = None) -> ManifestTools:
    text = "\n".join(json.dumps(value) for value in values)
    return read_manifest(text, "m.json", default_source="m", source_id=source_id)


def _envelope(*names: str, **members: Any) -> dict[str, Any]:
    tools = [{"name": name} for name in names]
    return {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, **members}}


@pytest.mark.parametrize(
    "value",
    [
        {"tools": [_MCP]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [_MCP]}},
        {"result": [_MCP]},
        [_MCP],
        _MCP,
        {"pages": [{"tools": [_MCP]}]},
        [{"tools": [_MCP]}],
        {"name": "server", "description": "A packed server.", "tools": [_MCP]},
        [{"name": "server", "description": "A packed server.", "tools": [_MCP]}],
        {"tools": [{"name": "find", "description": "Finds.", "input_schema": _SCHEMA}]},
        {"functions": [{"name": "find", "description": "Finds.", "parameters": _SCHEMA}]},
        [{"type": "function", "name": "find", "description": "Finds.", "parameters": _SCHEMA}],
        [
            {
                "type": "function",
                "function": {"name": "find", "description": "Finds.", "parameters": _SCHEMA},
            }
        ],
        {
            "type": "function",
            "function": {"name": "find", "description": "Finds.", "parameters": _SCHEMA},
        },
        {
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "name": "find",
                            "description": "Finds.",
                            "parameters": {
                                "type": "OBJECT",
                                "properties": {"q": {"type": "STRING"}},
                                "required": ["q"],
                            },
                        }
                    ]
                }
            ]
        },
        {
            "function_declarations": [
                {"name": "find", "description": "Finds.", "parametersJsonSchema": _SCHEMA}
            ]
        },
    ],
)
def test_every_shape_gives_the_same_tool(value: Any) -> None:
    """MCP, OpenAI, Anthropic and Gemini lists, bare or wrapped, say the same."""
    found = _read(value)
    assert found.diagnostics == ()
    assert [(t.source_id, t.name, t.description, t.input_schema) for t in found.tools] == [
        ("m", "find", "Finds.", _SCHEMA)
    ]


@pytest.mark.parametrize(
    "values",
    [
        (_envelope("a", nextCursor="2"), _envelope("b")),
        ([_envelope("a", nextCursor="2"), _envelope("b")],),
        ({"pages": [{"tools": [{"name": "a"}], "nextCursor": "2"}, {"tools": [{"name": "b"}]}]},),
        (_envelope("a", "b", nextCursor=""),),
        ([{"tools": [{"name": "a"}]}, {"tools": [{"name": "b"}]}],),
        ([{"name": "a"}], [{"name": "b"}]),
        (_LOG, {"jsonrpc": "2.0", "method": "notifications/initialized"}, _envelope("a", "b")),
        ([_LOG, _envelope("a", "b")],),
        (_envelope("a", "b"), {"jsonrpc": "2.0", "id": 9, "error": {"message": "no prompts"}}),
    ],
)
def test_pages_are_joined(values: tuple[Any, ...]) -> None:
    """Several pages give the tools of all; other messages of a session are passed over."""
    found = _read(*values)
    assert [tool.name for tool in found.tools] == ["a", "b"]
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    "value",
    [
        _envelope("a", nextCursor="x"),
        {"pages": [_envelope("a", nextCursor="x")]},
        _envelope("a", nextCursor="", resultType="complete"),
        {"tools": [{"name": "a"}], "nextCursor": "", "resultType": "complete"},
    ],
)
def test_a_missing_page_is_noticed(value: Any) -> None:
    """A list whose last page names another is used, with a warning that tools are missing."""
    found = _read(value)
    assert [tool.name for tool in found.tools] == ["a"]
    (noticed,) = found.diagnostics
    assert (noticed.code, noticed.place) == (Code.SOURCE_INCOMPLETE, "m.json")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no auth"}}, "no auth"),
        ({"error": "down"}, "down"),
        ([{"jsonrpc": "2.0", "id": 1, "error": {"message": "no auth"}}], "no auth"),
        ({"mcpServers": {}}, "client configuration"),
        ({"openapi": "3.1.0"}, "OpenAPI"),
        ({"swagger": "2.0"}, "OpenAPI"),
        ({"name": "x", "version": "1.0.0"}, "no `tools`"),
        ({"result": {}}, "no `tools`"),
        ({"tools": {"a": {}}}, "not an array"),
        ({"tools": "a"}, "not an array"),
        ({"result": 5}, "neither"),
        (_LOG, "no `tools`"),
        (7, "neither"),
        (None, "neither"),
        (["a", "b"], "neither"),
    ],
)
def test_what_holds_no_tools_is_refused(value: Any, says: str) -> None:
    """JSON of another kind is an error that says what it is, where, and what to give instead."""
    with pytest.raises(SourceError) as caught:
        _read(value)
    assert says in caught.value.message
    assert (caught.value.place or "").startswith("m.json")
    assert caught.value.remedy


def test_pages_within_pages() -> None:
    """Wrappers may lie in each other."""
    value: dict[str, Any] = {"tools": [{"name": "a"}]}
    for _ in range(6):
        value = {"pages": value}
    assert [tool.name for tool in _read(value).tools] == ["a"]


def test_lists_without_tools_are_empty() -> None:
    """A server may offer nothing."""
    assert _read({"tools": []}) == _read([]) == ManifestTools(())


def test_entries_that_are_no_tools_are_left_out() -> None:
    """A tool without a usable name is named by its place and the others stay."""
    found = _read({"result": {"tools": [{"description": "x"}, {"name": " "}, 5, {"name": "ok"}]}})
    assert [(tool.name, tool.place) for tool in found.tools] == [("ok", "m.json: result.tools[3]")]
    assert [(item.code, item.place) for item in found.diagnostics] == [
        (Code.TOOL_INVALID, f"m.json: result.tools[{index}]") for index in range(3)
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {"name": "odd", "error": "none"},
        {"name": "odd", "error": {"message": "none"}, "description": ""},
        {"name": "odd", "result": {"type": "string"}},
        {"name": "odd", "inputSchema": {}, "tools": ["a"], "functions": ["b"]},
        {"name": "odd", "parameters": {}, "result": [1]},
    ],
)
@pytest.mark.parametrize("wrap", [lambda tools: {"tools": tools}, lambda tools: tools])
def test_a_named_entry_is_a_tool_whatever_else_it_holds(odd: Any, wrap: Any) -> None:
    """Members called `error`, `result` or `tools` make no page of a tool."""
    found = _read(wrap([_MCP, odd]))
    assert [tool.name for tool in found.tools] == ["find", "odd"]
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    "message", [{"error": "down"}, {"error": {"message": "x"}}, {"result": 5}, {"result": {"a": 1}}]
)
@pytest.mark.parametrize("wrap", [lambda tools: {"tools": tools}, lambda tools: tools])
def test_a_message_beside_tools_costs_no_tool(message: Any, wrap: Any) -> None:
    """An entry that is an answer without tools is left out with a diagnostic, and alone."""
    found = _read(wrap([message, _MCP]))
    assert [tool.name for tool in found.tools] == ["find"]
    assert [one.code for one in found.diagnostics] == [Code.TOOL_INVALID]


def test_places_name_page_and_index() -> None:
    """A tool's place leads to it through pages."""
    found = _read([{"tools": [{"name": "a"}]}], [{"name": "b"}])
    assert [tool.place for tool in found.tools] == [
        "m.json: [0][0].tools[0]",
        "m.json: [1][0]",
    ]


@pytest.mark.parametrize("key", ["server", "sourceId", "source_id", "serverName", "source"])
def test_source_ids(key: str) -> None:
    """A tool's own source counts, then the manifest's, then the file's name; one can override."""
    manifest = {key: "  The Shop ", "tools": [{"name": "a"}, {"name": "b", key: "Zoo"}]}
    assert [tool.source_id for tool in _read(manifest).tools] == ["The Shop", "Zoo"]
    assert [tool.source_id for tool in _read({"tools": [{"name": "a", key: " "}]}).tools] == ["m"]
    assert {tool.source_id for tool in _read(manifest, source_id=" x ").tools} == {"x"}


def test_a_long_source_is_cut() -> None:
    """A source is repeated with every tool: one of more than 256 characters ends in a hash."""
    servers = [{"server": "S" * 90_000 + end, "tools": [{"name": "a"}]} for end in "xy"]
    first, second = (tool.source_id for tool in _read(servers).tools)
    assert len(first) == len(second) == 256
    assert first[:247] == second[:247] == "S" * 247
    assert first != second
    (whole,) = _read({"server": "S" * 256, "tools": [{"name": "a"}]}).tools
    assert whole.source_id == "S" * 256


def test_sources_around_pages_count() -> None:
    """What an envelope or a page states holds for its tools, the innermost first."""
    found = _read(
        {"server": "outer", "result": {"tools": [{"name": "a"}]}},
        {"server": {"name": "object"}, "pages": [{"server": "p", "tools": [{"name": "b"}]}]},
        {"server": {"name": "object"}, "functions": [{"name": "c"}]},
        [{"type": "function", "server": "nested", "function": {"name": "d"}}],
    )
    assert [tool.source_id for tool in found.tools] == ["outer", "p", "object", "nested"]


def test_all_members_of_a_tool() -> None:
    """Titles, schemas, annotations, `_meta`, kind and hints are kept."""
    entry = {
        "name": "  find ",
        "title": " Find ",
        "inputSchema": {},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True, "custom": 1},
        "_meta": {"fastmcp": {"tags": ["t"]}},
        "aliases": ["seek"],
        "examples": ["find it"],
        "sourceKind": "httpmcp",
    }
    (tool,) = _read({"tools": [entry]}).tools
    assert (tool.id, tool.name, tool.title, tool.description) == ("", "find", "Find", "")
    assert (tool.input_schema, tool.output_schema) == ({}, {"type": "object"})
    assert tool.annotations == {"readOnlyHint": True, "custom": 1}
    assert tool.meta == {"fastmcp": {"tags": ["t"]}}
    assert tool.source_kind is SourceKind.HTTP_MCP
    assert (tool.hints.aliases, tool.hints.tags) == (("seek",), ())
    assert (tool.hints.examples, tool.hints.read_only) == ((ToolExample("find it"),), True)


@pytest.mark.parametrize("schema", [None, True, "x", [1], 5])
def test_members_of_wrong_types_are_not_said(schema: Any) -> None:
    """A schema that is no object is an empty one; other members of wrong types are absent."""
    entry = {
        "name": "x",
        "title": 5,
        "description": schema,
        "inputSchema": schema,
        "outputSchema": schema,
        "annotations": schema,
        "_meta": schema,
        "sourceKind": "Moon",
    }
    (tool,) = _read({"tools": [entry]}).tools
    assert tool.input_schema == {"type": "object", "properties": {}}
    assert (tool.title, tool.output_schema, tool.annotations, tool.meta) == (None, None, {}, {})
    assert tool.source_kind is SourceKind.LOCAL


def test_half_characters_are_repaired() -> None:
    """Lone surrogates become U+FFFD with one warning that names the first place."""
    text = r'{"tools": [{"name": "a\ud800", "description": "b\udc00"}]}'
    found = read_manifest(text, "m.json", default_source="m")
    assert [(tool.name, tool.description) for tool in found.tools] == [("a\ufffd", "b\ufffd")]
    (item,) = found.diagnostics
    assert (item.code, item.place) == (Code.TEXT_REPAIRED, "m.json: tools[0].name")
    assert "2 texts have" in item.message
    whole = read_manifest(r'{"tools": [{"name": "\ud83d\ude00"}]}', "m.json", default_source="m")
    assert (whole.tools[0].name, whole.diagnostics) == ("😀", ())


def test_long_keys_are_not_repeated_with_every_repair() -> None:
    """What is remembered of repaired text does not grow with its number times its depth."""
    halves = ",".join([r'"\ud800"'] * 8_000)
    text = f'{{"tools": [{{"name": "a", "_meta": {{"{"K" * 90_000}": [{halves}]}}}}]}}'
    tracemalloc.start()
    try:
        found = read_manifest(text, "m.json", default_source="m")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (item,) = found.diagnostics
    assert item.place == f"m.json: tools[0]._meta.{'K' * 80}[0]"
    assert most < 20_000_000


def test_one_repair_among_documents() -> None:
    """The place of a repair names the document."""
    found = read_manifest('[{"name": "a"}]\n[{"name": "\\ud800"}]', "m", default_source="m")
    assert [item.place for item in found.diagnostics] == ["m: [1][0].name"]
    assert "one text has" in found.diagnostics[0].message


def test_gemini_types_inside_lists_are_lowered() -> None:
    """Type names are written as JSON Schema has them at every depth; other text stays."""
    schema = {
        "type": "OBJECT",
        "properties": {"type": {"type": "STRING", "enum": ["A"]}},
        "anyOf": [{"type": "NUMBER"}],
    }
    (tool,) = _read({"functionDeclarations": [{"name": "x", "parameters": schema}]}).tools
    assert tool.input_schema == {
        "type": "object",
        "properties": {"type": {"type": "string", "enum": ["A"]}},
        "anyOf": [{"type": "number"}],
    }
    assert [item.code for item in _read({"functionDeclarations": [5]}).diagnostics] == [
        Code.TOOL_INVALID
    ]


def test_repeated_keys_are_noticed() -> None:
    """An object that says a thing twice is read as its last word, with one warning."""
    twice = "".join(f'"k{n}": 1, "k{n}": 2, ' for n in range(6))
    text = f'{{"tools": [{{{twice}"name": "a", "name": "b"}}]}}'
    found = read_manifest(text, "m.json", default_source="m")
    assert [tool.name for tool in found.tools] == ["b"]
    (noticed,) = found.diagnostics
    assert (noticed.code, noticed.place) == (Code.KEY_REPEATED, "m.json")
    assert noticed.message.endswith(": 'k0', 'k1', 'k2', 'k3', 'k4' and 2 more")
    few = read_manifest('{"name": "a", "name": "b", "parameters": {}}', "m", default_source="m")
    assert few.diagnostics[0].message.endswith("the last value is used: 'name'")
