from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpg.catalog.model import Hints, Tool, walk_parameters
from mcpg.errors import Code, SourceError
from mcpg.sources import read_sources
from mcpg.sources.openapi import read_openapi

if TYPE_CHECKING:
    from pathlib import Path

SHOP = """\
openapi: 3.0.3
info: {title: "Pet Shop: API", version: "1"}
servers: [{url: "https://user:hunter2@shop.example"}]
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-API-Key}
  parameters:
    Limit: {name: limit, in: query, description: How many at most, schema: {type: integer}}
  requestBodies:
    Pet:
      required: true
      content: {text/xml: {}, application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
  schemas:
    Pet:
      type: object
      required: [id, name]
      additionalProperties: false
      properties:
        id: {type: integer, readOnly: true}
        secret: {type: string, writeOnly: true}
        name: {type: string, description: What it is called, example: Rex}
        parent: {nullable: true, allOf: [{$ref: "#/components/schemas/Pet"}]}
        kind: {type: string, enum: [cat, dog], nullable: true}
paths:
  /pets:
    parameters:
      - {name: X-API-Key, in: header, required: true, schema: {type: string}}
      - {name: limit, in: query, schema: {type: string}}
    get:
      operationId: listPets
      tags: [pets, " "]
      summary: List pets
      parameters:
        - $ref: "#/components/parameters/Limit"
        - {name: Authorization, in: header, schema: {type: string}}
      responses:
        default: {description: bad}
        200:
          content:
            application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}
    post:
      operationId: addPet
      description: Take in a pet.
      deprecated: true
      x-mcpg: {aliases: [neues Tier]}
      x-mcpg-cost-tier: low
      x-search-keywords: [adopt]
      requestBody: {$ref: "#/components/requestBodies/Pet"}
  /pets/{id}:
    x-internal: true
    delete:
      parameters:
        - {name: id, in: path, schema: {type: integer}}
        - {name: id, in: query, schema: {type: string}}
        - {name: body, in: query, content: {application/json: {schema: {type: string}}}}
      requestBody: {content: {application/json: {schema: {type: boolean}}}}
      responses: {"204": {description: gone}}
"""

SWAGGER = {
    "swagger": "2.0",
    "info": {"title": "Old"},
    "securityDefinitions": {"t": {"type": "apiKey", "in": "query", "name": "token"}},
    "definitions": {"A": {"type": "object", "properties": {"n": {"type": "number"}}}},
    "paths": {
        "/a": {
            "put": {
                "parameters": [
                    {"in": "query", "name": "token", "type": "string"},
                    {"in": "query", "name": "q", "type": "string", "required": True},
                    {
                        "in": "body",
                        "name": "a",
                        "required": True,
                        "description": "All of it",
                        "schema": {"$ref": "#/definitions/A"},
                    },
                ],
                "responses": {"200": {"schema": {"$ref": "#/definitions/A"}}},
            },
            "post": {
                "parameters": [
                    {"in": "formData", "name": "f", "type": "file", "required": True},
                    {"in": "formData", "name": "n", "type": "integer"},
                ],
            },
        }
    },
}


def tools(text: str | dict[str, Any], **options: Any) -> dict[str, Tool]:
    """Read the operations of a document by name."""
    content = text if isinstance(text, str) else json.dumps(text)
    found = read_openapi(content, "a.json", default_source="file", **options)
    return {tool.name: tool for tool in found.tools}


def one(operation: Any, **document: Any) -> tuple[Tool, list[str]]:
    """Read a document with one operation; give its tool and the messages."""
    whole = {"openapi": "3.1.0", "paths": {"/x": {"post": operation}}, **document}
    found = read_openapi(json.dumps(whole), "a.json", default_source="file")
    return found.tools[0], [item.message for item in found.diagnostics]


def with_body(schema: Any, **schemas: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the input schema that a body of *schema* leads to, and the messages."""
    body = {"content": {"application/json": {"schema": schema}}}
    tool, noticed = one({"requestBody": body}, components={"schemas": schemas})
    return tool.input_schema, noticed


def test_operations_become_tools() -> None:
    """Names, titles, descriptions, categories and hints come from the operation."""
    found = tools(SHOP)
    assert list(found) == ["listPets", "addPet", "delete_pets_id"]
    listing, adding, deleting = found.values()
    assert (listing.title, listing.description) == (None, "List pets")
    assert (adding.title, adding.description) == (None, "Take in a pet.")
    assert deleting.description == "DELETE /pets/{id}"
    both, _ = one({"summary": "Short", "description": "Long"})
    assert (both.title, both.description) == ("Short", "Long")
    assert {tool.source_id for tool in found.values()} == {"pet_shop_api"}
    assert listing.hints == Hints(
        categories=("pets",), read_only=True, idempotent=True, destructive=False
    )
    assert deleting.hints == Hints(read_only=False, idempotent=True, destructive=True)
    assert adding.hints.aliases == ("neues Tier",)
    assert adding.hints.keywords == ("adopt",)
    assert adding.hints.cost_tier == "Low"
    assert not adding.enabled
    assert deleting.meta == {"openapi": {"method": "delete", "path": "/pets/{id}"}}
    assert deleting.place == "a.json: paths./pets/{id}.delete"


def test_parameters_and_body_are_one_schema() -> None:
    """An operation's parameter stands before the path's; equal names are told apart."""
    found = tools(SHOP)
    assert found["listPets"].input_schema == {
        "type": "object",
        "properties": {"limit": {"type": "integer", "description": "How many at most"}},
    }
    assert found["delete_pets_id"].input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "id_query": {"type": "string"},
            "body": {"type": "string"},
            "requestBody": {"type": "boolean"},
        },
        "required": ["id"],
    }


def test_circles_stay_and_directions_differ() -> None:
    """A schema that contains itself is kept; what is only read is not asked for."""
    found = tools(SHOP)
    asked = found["addPet"].input_schema
    assert asked["required"] == ["body"]
    jsonschema.Draft202012Validator.check_schema(asked)
    jsonschema.validate({"body": {"name": "a", "kind": None, "parent": {"name": "b"}}}, asked)
    jsonschema.validate({"body": {"name": "a", "parent": None}}, asked)
    for wrong in ({"name": 1}, {"name": "a", "id": 1}, {"name": "a", "parent": {"name": 1}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"body": wrong}, asked)
    assert {"limit", "body.parent", "body.kind"} <= {
        parameter.path for parameter in walk_parameters(asked)
    }
    answered = found["listPets"].output_schema
    assert answered is not None
    assert answered["items"] == {"$ref": "#/$defs/Pet"}
    assert set(answered["$defs"]["Pet"]["properties"]) == {"id", "name", "parent", "kind"}  # type: ignore[index,call-overload]


READ_ONLY = {"properties": {"id": {"type": "integer", "readOnly": True}, "name": {}}}
NEEDS_ID = {"type": "object", "required": ["id", "name"]}
REF = "#/components/schemas/"


@pytest.mark.parametrize(
    ("body", "schemas"),
    [
        ({"allOf": [READ_ONLY, NEEDS_ID]}, {}),
        ({"allOf": [{"$ref": f"{REF}A"}, NEEDS_ID]}, {"A": READ_ONLY}),
        ({"allOf": [READ_ONLY, {"$ref": f"{REF}A"}]}, {"A": NEEDS_ID}),
        ({**NEEDS_ID, "allOf": [{"$ref": f"{REF}A"}]}, {"A": READ_ONLY}),
        ({**NEEDS_ID, "$ref": f"{REF}A"}, {"A": READ_ONLY}),
        ({**READ_ONLY, "$ref": f"{REF}A"}, {"A": {"$ref": f"{REF}B"}, "B": NEEDS_ID}),
        ({"$ref": f"{REF}A"}, {"A": {"allOf": [{"$ref": f"{REF}B"}, NEEDS_ID]}, "B": READ_ONLY}),
        ({**READ_ONLY, "anyOf": [NEEDS_ID, {"required": ["id", "name"]}]}, {}),
        (
            {**NEEDS_ID, "properties": {"id": {"$ref": f"{REF}A"}, "name": {}}},
            {"A": {"allOf": [{"$ref": f"{REF}B"}]}, "B": {"type": "integer", "readOnly": True}},
        ),
    ],
)
def test_nobody_has_to_send_what_is_only_read(body: Any, schemas: dict[str, Any]) -> None:
    """A property that a request does not have is not required, wherever either is said."""
    schema, _ = with_body(body, **schemas)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"body": {"name": "a"}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"body": {}}, schema)


def test_a_definition_requires_elsewhere_what_is_hidden_here() -> None:
    """What one schema hides of a definition, another that refers to it still needs."""
    properties = {
        "new": {"allOf": [READ_ONLY, {"$ref": f"{REF}Needs"}]},
        "old": {"$ref": f"{REF}Needs"},
    }
    schema, _ = with_body({"type": "object", "properties": properties}, Needs=NEEDS_ID)
    known = {"id": 1, "name": "a"}
    jsonschema.validate({"body": {"new": {"name": "a"}, "old": known}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"body": {"new": {"name": "a"}, "old": {"name": "a"}}}, schema)


def test_items_have_schemas_by_position() -> None:
    """The first items of a list and the others each keep their own schema."""
    pair = {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}
    schema, _ = with_body({"type": "object", "properties": {"pair": pair}})
    assert schema["properties"]["body"]["properties"]["pair"] == pair
    alone = {"type": "array", "prefixItems": [{"$ref": f"{REF}A"}, True]}
    schema, _ = with_body(alone, A={"type": "integer"})
    jsonschema.validate({"body": [1, "x", None]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"body": ["x"]}, schema)


def test_a_list_with_too_many_positions_only_widens() -> None:
    """Where there is no room for the schemas of all positions, the list takes any items."""
    many = [{"type": "integer", "description": f"d{number}"} for number in range(20_000)]
    whole = {"type": "array", "prefixItems": many, "items": {"type": "string"}}
    schema, _ = with_body(whole)
    jsonschema.validate({"body": [1, "x"]}, schema)
    assert len(json.dumps(schema)) < 1_000_000


def test_nothing_secret_is_carried() -> None:
    """Keys, tokens, servers and the headers of the transport appear in no tool."""
    text = repr(tools(SHOP)) + repr(tools(SWAGGER))
    assert not [word for word in ("API-Key", "hunter2", "Authorization", "token") if word in text]


def test_swagger_2() -> None:
    """Bodies, forms and answers of Swagger 2 are read, too."""
    found = tools(SWAGGER)
    put, post = found["put_a"], found["post_a"]
    definitions = {"A": {"type": "object", "properties": {"n": {"type": "number"}}}}
    assert put.input_schema == {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "body": {"$ref": "#/$defs/A", "description": "All of it"},
        },
        "required": ["q", "body"],
        "$defs": definitions,
    }
    assert put.output_schema == {"$ref": "#/$defs/A", "$defs": definitions}
    form = post.input_schema["properties"]["body"]  # type: ignore[index,call-overload]
    assert form == {
        "type": "object",
        "properties": {"f": {"type": "string", "format": "binary"}, "n": {"type": "integer"}},
        "required": ["f"],
    }


def test_references_that_lead_nowhere() -> None:
    """The operation is kept without that part, each reference is told once, nothing is fetched."""
    lost = {"$ref": "#/components/schemas/None"}
    away = {"$ref": "https://example.invalid/a.json#/B", "description": "Away"}
    schema, noticed = with_body({"type": "object", "properties": {"a": lost, "b": away, "c": lost}})
    assert schema["properties"]["body"]["properties"] == {
        "a": {},
        "b": {"description": "Away"},
        "c": {},
    }
    assert noticed == [
        "'#/components/schemas/None' cannot be resolved; that part is omitted",
        (
            "'https://example.invalid/a.json#/B' points outside the document and is not followed; "
            "that part is omitted (to join the files, use `redocly bundle`)"
        ),
    ]
    tool, noticed = one(
        {"parameters": [lost, 5, {"in": "query"}], "requestBody": {"$ref": "b.yaml"}}
    )
    assert tool.input_schema == {"type": "object", "properties": {}}
    assert len(noticed) == 2


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$ref": "#/components/schemas/A"}},
        {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
        {"A": {"type": "object", "allOf": [{"anyOf": [{"$ref": "#/components/schemas/A"}]}]}},
    ],
)
def test_circles_without_end_are_cut(schemas: Any) -> None:
    """A schema that is nothing but itself becomes one that a validator comes to the end of."""
    schema, noticed = with_body({"$ref": "#/components/schemas/A"}, **schemas)
    jsonschema.validate({"body": {"a": 1}}, schema)
    assert noticed == ["'A' refers to itself endlessly; that part is omitted"]


def test_a_chain_of_parameters_without_end() -> None:
    """A parameter that refers to itself is left out."""
    chain = {"parameters": {"A": {"$ref": "#/components/parameters/A"}}}
    tool, noticed = one({"parameters": [{"$ref": "#/components/parameters/A"}]}, components=chain)
    assert tool.input_schema["properties"] == {}
    assert noticed == ["a chain of references is circular; that part is omitted"]


def test_what_is_too_much_only_widens() -> None:
    """A schema of many parts is cut to one that lets everything through that the whole one does."""
    many = {
        f"p{n}": {"type": "object", "properties": {"q": {"type": "string"}}} for n in range(3000)
    }
    closed = {
        "type": "object",
        "properties": many,
        "required": list(many),
        "additionalProperties": False,
    }
    chain = {
        f"S{n}": {"type": "object", "properties": {"n": {"$ref": f"#/components/schemas/S{n + 1}"}}}
        for n in range(3000)
    }
    value = {name: {"q": "a"} for name in many}
    for schema in (closed, {"$ref": "#/components/schemas/Closed"}):
        made, _ = with_body(schema, Closed=closed)
        jsonschema.validate({"body": value}, made)
        assert len(json.dumps(made)) < 200_000
    made, noticed = with_body({"$ref": "#/components/schemas/S0"}, **chain, S3000={})
    assert len(made["$defs"]) < 1001
    assert not noticed
    branches = [{"type": "string", "enum": [str(n)]} for n in range(3000)]
    made, _ = with_body({"oneOf": branches})
    assert made["properties"]["body"] == {}


def body_of(reference: str, media: str = "application/json") -> dict[str, Any]:
    """Return a body of the schema at *reference*."""
    return {"requestBody": {"content": {media: {"schema": {"$ref": reference}}}}}


def test_a_path_item_is_used_by_few_paths() -> None:
    """Paths that lead by `$ref` to one path item over and over are left out and reported."""
    paths = {f"/{n}": {"$ref": "#/components/pathItems/A"} for n in range(1000)}
    item = {"get": {}, "post": {"description": "d" * 1000}}
    text = json.dumps(
        {"openapi": "3.1.0", "paths": paths, "components": {"pathItems": {"A": item}}}
    )
    found = read_openapi(text, "a.json", default_source="file")
    assert len(found.tools) == 40
    assert {item.code for item in found.diagnostics} == {Code.TOOL_INVALID}
    assert [item.place for item in found.diagnostics] == [
        f"a.json: paths./{n}" for n in range(20, 1000)
    ]
    assert "get, post of this one are left out" in found.diagnostics[0].message


def test_what_schemas_come_to_grows_with_the_document() -> None:
    """Operations that share a large schema lose it, one by one reported, when it is too much."""
    large = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(900)}}
    paths = {f"/{n}": {"post": body_of("#/components/schemas/A")} for n in range(2000)}
    text = json.dumps({"openapi": "3.1.0", "paths": paths, "components": {"schemas": {"A": large}}})
    found = read_openapi(text, "a.json", default_source="file")
    sizes = [len(json.dumps(tool.input_schema)) for tool in found.tools]
    assert len(sizes) == 2000
    assert sum(sizes) < 2_100_000 + 20 * len(text)
    cut = [tool.place for tool in found.tools if tool.input_schema == {"type": "object"}]
    assert cut
    assert [item.place for item in found.diagnostics] == cut
    assert {item.code for item in found.diagnostics} == {Code.SCHEMA_INCOMPLETE}


@pytest.mark.parametrize(
    "part",
    [
        {"title": "t" * 20_000},
        {"pattern": "t" * 20_000},
        {"const": "t" * 20_000},
        {"enum": ["t" * 20_000]},
        {"properties": {"t" * 20_000: {}}},
        {"required": ["t" * 20_000]},
        {"required": [str(n) for n in range(2_000)]},
    ],
)
def test_long_texts_count_as_many_parts(part: dict[str, Any]) -> None:
    """Long titles, patterns, values and names take the room of many parts of a schema."""
    parts = {f"p{n}": part for n in range(100)}
    schema, _ = with_body({"type": "object", "properties": parts})
    assert len(json.dumps(schema)) < 500_000


def test_long_texts_of_definitions_without_room_are_bounded() -> None:
    """One definition that is reached under many names is described only so often."""
    long = {"type": "object", "description": "d" * 250_000}
    names = ["".join("%41" if n >> bit & 1 else "A" for bit in range(8)) for n in range(256)]
    parts = {f"p{n}": {"$ref": f"#/components/schemas/{name}"} for n, name in enumerate(names)}
    schema, _ = with_body({"type": "object", "properties": parts}, **{"A" * 8: long})
    assert len(json.dumps(schema)) < 1_000_000


@pytest.mark.parametrize("media", ["application/json", "multipart/form-data"])
def test_a_schema_of_many_operations_is_gone_through_once(media: str, tmp_path: Path) -> None:
    """Many operations over one schema of many properties are read in a moment."""
    many = {f"p{n}": {"readOnly": True} for n in range(20_000)}
    paths = {f"/{n}": {"post": {"requestBody": {"$ref": "#/b"}}} for n in range(6_000)}
    body = body_of("#/s", media)["requestBody"]
    shared = {"properties": many, "required": list(many)}
    inline = {"properties": {name: {} for name in many}, "required": list(many)}
    paths["/inline"] = {"post": {"requestBody": {"content": {media: {"schema": inline}}}}}
    place = tmp_path / "a.json"
    place.write_text(json.dumps({"openapi": "3.1.0", "paths": paths, "b": body, "s": shared}))
    code = (
        "import sys; from mcpg.sources import read_sources; "
        "print(len(read_sources([sys.argv[1]]).tools))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, timeout=60, check=True
    )
    assert int(done.stdout) == 6_001


def test_dialects_become_json_schema() -> None:
    """Keywords of older dialects are written in JSON Schema 2020-12, ill-typed ones dropped."""
    schema, _ = with_body(
        {
            "type": ["object", "null"],
            "properties": {
                "bound": {"type": "number", "minimum": 1, "exclusiveMinimum": True},
                "odd": {
                    "type": "any",
                    "minLength": -1,
                    "enum": [{}],
                    "required": True,
                    "items": [],
                },
                "many": {"type": "integer", "enum": list(range(600))},
                "null": {"nullable": True, "anyOf": [{"type": "string"}]},
                "plain": {"nullable": True},
                "two": {"anyOf": [{"type": "string"}], "oneOf": [{"minLength": 1}], "not": {}},
                "list": {"type": "array", "items": {"const": 1, "default": "x"}},
                "no": False,
                "yes": True,
                "map": {"additionalProperties": {"type": "string"}},
                "pattern": {"patternProperties": {"a": {}}, "additionalProperties": False},
                "beside": {"$ref": "#/components/schemas/S", "minLength": 2},
            },
        },
        S={"type": "string"},
    )
    assert schema["properties"]["body"]["properties"] == {
        "bound": {"type": "number", "exclusiveMinimum": 1},
        "odd": {},
        "many": {"type": "integer", "examples": list(range(10))},
        "null": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "plain": {},
        "two": {"allOf": [{"anyOf": [{"type": "string"}]}, {"anyOf": [{"minLength": 1}]}]},
        "list": {"type": "array", "items": {"const": 1, "default": "x"}},
        "no": {"not": {}},
        "yes": {},
        "map": {"additionalProperties": {"type": "string"}},
        "pattern": {},
        "beside": {"$ref": "#/$defs/S", "minLength": 2},
    }


def test_definitions_of_one_name_are_told_apart() -> None:
    """Definitions from different places of a document that end alike get different names."""
    both = {"a": {"$ref": "#/components/schemas/A"}, "b": {"$ref": "#/components/other/A"}}
    body = {"content": {"application/json": {"schema": {"properties": both}}}}
    tool, _ = one(
        {"requestBody": body},
        components={"schemas": {"A": {"type": "string"}}, "other": {"A": {"type": "null"}}},
    )
    assert tool.input_schema["$defs"] == {"A": {"type": "string"}, "A_2": {"type": "null"}}


def test_things_that_are_no_operations() -> None:
    """What stands where an operation should and is none is reported; the rest is passed over."""
    paths = {
        "/a": {"get": 5, "summary": "s"},
        "x-extra": {"get": {}},
        "/b": None,
        "/c": {"GET": {}},
    }
    text = json.dumps({"openapi": "3.1.0", "paths": paths})
    found = read_openapi(text, "a.json", default_source="file")
    assert [(tool.name, tool.source_id) for tool in found.tools] == [("get_c", "file")]
    assert [(item.code, item.place) for item in found.diagnostics] == [
        (Code.TOOL_INVALID, "a.json: paths./a.get")
    ]


def test_operations_of_openapi_3_2() -> None:
    """The method `query` and methods in `additionalOperations` are operations, others reported."""
    whole = {"in": "querystring", "name": "q", "content": {"application/json": {"schema": {}}}}
    others = {"PURGE": {"summary": "Drop"}, "GET": {}, "CONNECT": {}, "A B": {}, "LOCK": 5}
    paths = {"/a": {"query": {"parameters": [whole]}, "additionalOperations": others}}
    text = json.dumps({"openapi": "3.2.0", "paths": paths})
    found = read_openapi(text, "a.json", default_source="file")
    query, purge = found.tools
    assert (query.name, query.hints.read_only, query.hints.idempotent) == ("query_a", True, True)
    assert query.input_schema["properties"] == {"q": {}}
    assert (purge.name, purge.hints, purge.meta["openapi"]["method"]) == (
        "purge_a",
        Hints(),
        "purge",
    )
    assert purge.place == "a.json: paths./a.additionalOperations.PURGE"
    at = "a.json: paths./a.additionalOperations."
    assert [(item.code, item.place) for item in found.diagnostics] == [
        (Code.TOOL_INVALID, f"{at}{name}") for name in ("GET", "CONNECT", "A B", "LOCK")
    ]


def test_a_parameter_of_an_unknown_place_is_reported() -> None:
    """A parameter that no request can have is left out with a diagnostic."""
    tool, noticed = one({"parameters": [{"in": "trailer", "name": "a"}]})
    assert tool.input_schema["properties"] == {}
    assert noticed == ["the parameter 'a' is in 'trailer', which is unknown; it is omitted"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"openapi": "4.0", "paths": {}}', "version '4.0'"),
        ('{"openapi": "3.1.0"}', "no mapping `paths`"),
        ('{"swagger": "2.0", "paths": []}', "no mapping `paths`"),
        ("openapi: [", "invalid YAML"),
        ("a: &x {}\nopenapi: 3.1.0\nb: *x", "anchors and aliases are not allowed"),
        ("- openapi", "version ''"),
        ('{"openapi": ', "invalid JSON"),
        ('{"openapi":' + "[" * 200 + "]" * 200 + "}", "nested deeper"),
    ],
)
def test_documents_that_cannot_be_used(text: str, message: str) -> None:
    """A document that is broken or of an unknown version is an error."""
    with pytest.raises(SourceError, match=message.replace("[", r"\[")):
        tools(text)


def test_half_characters_are_mended() -> None:
    """Lone surrogates become U+FFFD and are reported."""
    text = '{"openapi": "3.0.0", "paths": {"/a": {"get": {"summary": "a\\ud800"}}}}'
    found = read_openapi(text, "a.json", default_source="file", source_id=" mine ")
    assert (found.tools[0].description, found.tools[0].source_id) == ("a\ufffd", "mine")
    assert [item.code for item in found.diagnostics] == [Code.TEXT_REPAIRED]


def test_documents_are_recognised(tmp_path: Path) -> None:
    """JSON and YAML are known by their content, in folders as well; other YAML is passed over."""
    later = json.dumps(
        {"info": {"title": "Late"}, "paths": {"/l": {"get": {}}}, "openapi": "3.1.0"}
    )
    (tmp_path / "shop.yaml").write_text(SHOP, encoding="utf-8")
    (tmp_path / "old.json").write_text(json.dumps(SWAGGER), encoding="utf-8")
    (tmp_path / "late.json").write_text(later, encoding="utf-8")
    (tmp_path / "json.yml").write_text(later.replace("Late", "Json"), encoding="utf-8")
    (tmp_path / "compose.yaml").write_text("services: {}", encoding="utf-8")
    (tmp_path / "noend").write_text(SHOP, encoding="utf-8")
    batch = read_sources([tmp_path])
    assert {tool.source_id for tool in batch.tools} == {"pet_shop_api", "old", "late", "json"}
    assert not batch.diagnostics
    for name in ("shop.yaml", "old.json", "late.json", "json.yml", "noend"):
        assert read_sources([tmp_path / name]).tools
    piped = read_sources(["-"], stdin=SHOP.encode, source_id="mine")
    assert {tool.source_id for tool in piped.tools} == {"mine"}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "allOf",
                    "oneOf",
                    "$ref",
                    "enum",
                    "required",
                    "in",
                    "name",
                    "schema",
                    "content",
                    "nullable",
                    "additionalProperties",
                    "a",
                ]
            ),
            inner
            | st.sampled_from(["#/components/schemas/A", "object", "#/paths", "#", "#/-", "#a"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(_JSON, _JSON, _JSON)
def test_whatever_stands_there_a_schema_comes_out(body: Any, schema: Any, parameters: Any) -> None:
    """Schemas that are none survive: what is made of them is JSON Schema that can be applied."""
    content = {"content": {"application/json": {"schema": body}}}
    operation = {
        "parameters": [parameters, {"name": "p", "in": "query", "schema": schema}],
        "requestBody": content,
        "responses": {"200": content, "201": parameters},
    }
    tool, _ = one(operation, components={"schemas": {"A": schema}, "securitySchemes": parameters})
    for made in (tool.input_schema, tool.output_schema or {}):
        jsonschema.Draft202012Validator.check_schema(made)
        list(jsonschema.Draft202012Validator(made).iter_errors({"body": {"a": 1}, "p": [1]}))
    walk_parameters(tool.input_schema)
