"""Operations of OpenAPI documents are called over HTTP, and nothing gets them off their path."""

from __future__ import annotations

import base64
import json
import socket
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Conversation, answer, serving

from mcpg.errors import UsageError
from mcpg.gateway import FaultCode, FileSource, Gateway, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from loopback import Asked, Loopback

    from mcpg.gateway import CallResult

    Script = Callable[[Conversation], None]

pytestmark = pytest.mark.anyio

TOKEN = "s3cr3t-t0ken-of-16+"


def parameter(name: str, place: str = "query", **said: Any) -> dict[str, Any]:
    """Write a parameter of OpenAPI 3."""
    return {"name": name, "in": place, "required": place == "path", "schema": {}, **said}


def document(path: str = "/things", method: str = "get", **operation: Any) -> dict[str, Any]:
    """Write a document of one operation, whose tool is `op`."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "paths": {path: {method: {"operationId": "op", "summary": "Do it", **operation}}},
    }


def body(media: str, schema: Any = None, **said: Any) -> dict[str, Any]:
    """Write a body of one kind of content."""
    return {"content": {media: {"schema": schema or {}, **said}}}


class Trying:
    """A server, and a folder for documents that are called there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.limits = Limits()
        self.headers: dict[str, str] = {}
        self.secrets: tuple[str, ...] = ()
        self.allow_private = True

    def write(self, content: Any) -> str:
        """Write the document."""
        path = self.folder / "things.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    @asynccontextmanager
    async def gateway(self, content: Any, base: str | None) -> AsyncIterator[Gateway]:
        """Open a gateway whose only source is the document."""
        source = FileSource(
            "things",
            self.write(content),
            None,
            base,
            self.headers,
            self.secrets,
            allow_private=self.allow_private,
        )
        async with Gateway([source], limits=self.limits) as gateway:
            yield gateway

    async def asked(self, content: Any, **arguments: Any) -> Asked:
        """Call the operation of the document, and give what the server got."""
        with serving(answer({"done": True})) as server:
            async with self.gateway(content, server.url) as gateway:
                found = await gateway.invoke("op", arguments)
                assert found.structured == {"done": True}, found.faults
                assert not found.faults
            return server.asked[-1]

    async def answered(self, *scripts: Script, **operation: Any) -> tuple[CallResult, Loopback]:
        """Call an operation of a server that answers by *scripts*."""
        with serving(*scripts) as server:
            async with self.gateway(document(**operation), server.url) as gateway:
                return await gateway.invoke("op", timeout=operation.get("timeout")), server

    async def refused(self, content: Any, **arguments: Any) -> tuple[FaultCode, str, str]:
        """Call an operation that cannot be called; the server hears nothing of it."""
        with serving(answer({})) as server:
            async with self.gateway(content, server.url) as gateway:
                found = await gateway.invoke("op", arguments)
            assert not server.asked
        (fault,) = found.faults
        return fault.code, fault.message, fault.field


@pytest.fixture
def trying(tmp_path: Path) -> Trying:
    """Return what calls operations."""
    return Trying(tmp_path)


async def test_parameters_go_to_their_places(trying: Trying) -> None:
    """Path, query, headers and cookies get what the tool's arguments say, and nothing else."""
    shared = document(
        "/things/{id}/parts/{part}",
        parameters=[
            parameter("id", "path"),
            parameter("part", "path"),
            parameter("id"),
            parameter("X-Trace", "header"),
            parameter("flavour", "cookie"),
            parameter("left"),
        ],
    )
    given = {"id": "a/b c", "part": 7.0, "id_query": "x&y=z#1", "X-Trace": " ü ", "flavour": "a;b"}
    asked = await trying.asked(shared, **given)
    assert asked.method == "GET"
    assert asked.path == "/v1/things/a%2Fb%20c/parts/7?id=x%26y%3Dz%231"
    assert asked.headers["X-Trace"].encode("latin-1").decode() == "ü"
    assert asked.headers["Cookie"] == "flavour=a%3Bb"
    assert asked.headers["Accept-Encoding"] == "identity"
    assert "Content-Type" not in asked.headers


STYLES = [
    ({}, ["a b", "c,d"], "p=a%20b&p=c%2Cd"),
    ({"explode": False}, ["a b", "c,d"], "p=a%20b,c%2Cd"),
    ({"style": "spaceDelimited", "explode": False}, [1, True, None], "p=1%20true%20"),
    ({"style": "pipeDelimited", "explode": False}, ["a", 1.5], "p=a%7C1.5"),
    ({"style": "pipeDelimited", "explode": True}, ["a", "b"], "p=a&p=b"),
    ({}, {"x": 1, "y z": "&"}, "x=1&y%20z=%26"),
    ({"explode": False}, {"x": 1, "y": 2}, "p=x,1,y,2"),
    (
        {"style": "deepObject", "explode": True},
        {"a": 1, "b": {"c": "d"}, "e[": [1, 2]},
        "p%5Ba%5D=1&p%5Bb%5D%5Bc%5D=d&p%5Be%5B%5D=1&p%5Be%5B%5D=2",
    ),
    ({"style": "deepObject"}, "plain", "p=plain"),
    (
        {"schema": None, "content": {"application/json": {}}},
        {"a": [1]},
        "p=%7B%22a%22%3A%20%5B1%5D%7D",
    ),
    ({"schema": None, "content": {"text/plain": {}}}, 5, "p=5"),
    ({}, [], ""),
    ({"explode": False}, [], ""),
    ({}, None, ""),
]


@pytest.mark.parametrize(("said", "value", "query"), STYLES)
async def test_styles_of_a_query(trying: Trying, said: Any, value: Any, query: str) -> None:
    """Lists and objects are written into the query as the document says."""
    asked = await trying.asked(document(parameters=[parameter("p", **said)]), p=value)
    assert asked.path.partition("?")[2] == query


@pytest.mark.parametrize(
    ("media", "value", "query"),
    [
        ("application/x-www-form-urlencoded", {"a": "x&y", "b": [1, 2]}, "a=x%26y&b=1&b=2"),
        ("application/json", {"a": [1]}, "%7B%22a%22%3A%20%5B1%5D%7D"),
        ("text/plain", "a=b c", "a%3Db%20c"),
    ],
)
async def test_a_parameter_is_the_whole_query(
    trying: Trying, media: str, value: Any, query: str
) -> None:
    """A parameter in `querystring` is written by its kind of content, without its name."""
    whole = parameter("p", "querystring", schema=None, content={media: {}})
    asked = await trying.asked(document(parameters=[whole]), p=value)
    assert asked.path.partition("?")[2] == query


@pytest.mark.parametrize("method", ["query", "PURGE"])
async def test_methods_of_openapi_3_2(trying: Trying, method: str) -> None:
    """The method `query` and others have a body."""
    given = document(method=method, requestBody=body("application/json"))
    if method == "PURGE":
        given["paths"]["/things"] = {"additionalOperations": given["paths"]["/things"]}
    asked = await trying.asked(given, body={"a": 1})
    assert (asked.method, asked.body) == (method.upper(), {"a": 1})


@pytest.mark.parametrize(
    ("said", "value", "path"),
    [
        ({}, ["a", "b/c"], "a,b%2Fc"),
        ({}, {"x": 1, "y": 2}, "x,1,y,2"),
        ({"explode": True}, {"x": 1, "y": 2}, "x=1,y=2"),
        ({"style": "label"}, "a", ".a"),
        ({"style": "label"}, ["a", "b"], ".a,b"),
        ({"style": "label", "explode": True}, ["a", "b"], ".a.b"),
        ({"style": "matrix"}, "a", ";p=a"),
        ({"style": "matrix"}, ["a", "b"], ";p=a,b"),
        ({"style": "matrix", "explode": True}, ["a", "b"], ";p=a;p=b"),
        ({"style": "matrix", "explode": True}, {"x": 1}, ";x=1"),
        ({"content": {"application/json": {}}}, "a", "%22a%22"),
    ],
)
async def test_styles_of_a_path(trying: Trying, said: Any, value: Any, path: str) -> None:
    """A path gets its parts in the styles that the document says."""
    asked = await trying.asked(
        document("/{p}", parameters=[parameter("p", "path", **said)]), p=value
    )
    assert asked.path == f"/v1/{path}"


@pytest.mark.parametrize(
    ("said", "value", "text"),
    [
        ({}, ["a", 1], "a,1"),
        ({}, {"x": 1}, "x,1"),
        ({"explode": True}, {"x": 1}, "x=1"),
        ({"content": {"application/json": {}}}, {"x": 1}, '{"x": 1}'),
    ],
)
async def test_styles_of_a_header(trying: Trying, said: Any, value: Any, text: str) -> None:
    """A header gets a list or an object in the style `simple`."""
    asked = await trying.asked(
        document(parameters=[parameter("X-P", "header", **said)]), **{"X-P": value}
    )
    assert asked.headers["X-P"] == text


STEPS = [
    "..",
    ".",
    "../x",
    "a/../b",
    "a\\..",
    "..;/x",
    "%2e%2e",
    "%252e%252e/x",
    "",
    "\n",
    "%0a",
    "\x7f",
]


@pytest.mark.parametrize("value", [*STEPS, ["a/.."], {"a": {}}, [[1]]])
async def test_a_path_cannot_be_left(trying: Trying, value: Any) -> None:
    """What would change the path of a request is refused before anything is sent."""
    shared = document("/things/{id}/x", "delete", parameters=[parameter("id", "path")])
    code, message, field = await trying.refused(shared, id=value)
    assert (code, field) == (FaultCode.ARGUMENTS_INVALID, "/id")
    assert 'the argument "id"' in message


async def test_parts_of_a_path_cannot_join_to_a_step(trying: Trying) -> None:
    """Neither can two arguments together make a step upwards."""
    shared = document("/a/{x}{y}", parameters=[parameter("x", "path"), parameter("y", "path")])
    assert (await trying.refused(shared, x="a", y=".."))[0] == FaultCode.ARGUMENTS_INVALID
    shared = document("/a/.{x}", parameters=[parameter("x", "path", style="label")])
    assert (await trying.refused(shared, x="a/.."))[0] == FaultCode.ARGUMENTS_INVALID
    shared = document("/a/{x}..", parameters=[parameter("x", "path", style="label")])
    asked = await trying.asked(shared, x="a")
    assert asked.path == "/v1/a/.a.."
    shared = document("/../{x}", parameters=[parameter("x", "path")])
    assert (await trying.refused(shared, x="a"))[0] == FaultCode.ARGUMENTS_INVALID


@pytest.mark.parametrize(
    ("path", "value", "style"),
    [
        ("/a/..{x}", "/b", "simple"),
        ("/a/..{x}", ";b", "simple"),
        ("/a/..{x}", "\\b", "simple"),
        ("/a/..{x}", "%2Fb", "simple"),
        ("/a/..{x}", "b", "matrix"),
        ("/a/%2e{x}", "./b", "simple"),
        ("/a/%2e%2e/{x}", "b", "simple"),
        ("/a/{x}..", "b/", "simple"),
    ],
)
async def test_dots_of_a_template_make_no_step(
    trying: Trying, path: str, value: str, style: str
) -> None:
    """No argument, however often it is decoded, makes a step up of dots that stand in the path."""
    shared = document(path, parameters=[parameter("x", "path", style=style)])
    assert (await trying.refused(shared, x=value))[0] == FaultCode.ARGUMENTS_INVALID


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"X-A": "a\r\nX-B: c"}, "/X-A", "control character"),
        ({"X-A": {"b": [1]}}, "/X-A", "a list or an object"),
        ({"Host": "other.example"}, "/Host", "arguments cannot set"),
        ({"bad name": "a"}, "/bad name", "arguments cannot set"),
        ({"q": "\ud800"}, "/q", "half a character"),
        ({"q": [[1]]}, "/q", "a list or an object"),
        ({"odd": "a"}, "/odd", "'upsideDown'"),
        ({"q/~": "a"}, "/q~1~0", "is unknown"),
    ],
)
async def test_arguments_that_cannot_be_sent(
    trying: Trying, given: Any, field: str, message: str
) -> None:
    """An argument that would be something else in the request is refused by its name."""
    shared = document(
        parameters=[
            parameter("X-A", "header"),
            parameter("Host", "header"),
            parameter("bad name", "header"),
            parameter("q"),
            parameter("odd", style="upsideDown"),
        ]
    )
    code, said, where = await trying.refused(shared, **given)
    assert (code, where) == (FaultCode.ARGUMENTS_INVALID, field)
    assert message in said


BODIES: list[tuple[dict[str, Any], Any, str, Any]] = [
    (body("application/json"), {"a": "ü"}, "application/json", {"a": "ü"}),
    (body("application/vnd.x+json; v=1"), [1], "application/vnd.x+json; v=1", [1]),
    (body("*/*"), None, "application/json", None),
    ({"content": {}}, 5, "application/json", 5),
    (body("text/*"), "a,b", "text/plain; charset=utf-8", b"a,b"),
    (body("text/csv"), 5.5, "text/csv; charset=utf-8", 5.5),
    (body("application/xml"), "<a>ü</a>", "application/xml; charset=utf-8", "<a>ü</a>".encode()),
    (
        body("application/soap+xml", {"type": "object", "properties": {"a": {}}}),
        "<a/>",
        "application/soap+xml; charset=utf-8",
        b"<a/>",
    ),
    (body("application/octet-stream"), "/wA=", "application/octet-stream", b"\xff\0"),
    (
        body("application/pdf", {"type": "string", "format": "binary"}),
        "data:text/plain;x=y;base64,/w\nA=",
        "application/pdf",
        b"\xff\0",
    ),
    (body("image/*"), "data:image/png;base64,/wA=", "image/png", b"\xff\0"),
    (body("image/*"), "/wA=", "application/octet-stream", b"\xff\0"),
    (
        body(
            "application/x-www-form-urlencoded",
            encoding={"deep": {"style": "deepObject"}, "flat": {"explode": False}},
        ),
        {"a": "x y&", "l": [1, 2], "o": {"k": 1}, "deep": {"k": 1}, "flat": [1, 2], "n": None},
        "application/x-www-form-urlencoded",
        b"a=x%20y%26&l=1&l=2&o=%7B%22k%22%3A%201%7D&deep%5Bk%5D=1&flat=1,2",
    ),
]


@pytest.mark.parametrize(("given", "value", "media", "sent"), BODIES)
async def test_bodies(trying: Trying, given: Any, value: Any, media: str, sent: Any) -> None:
    """A body is written as its kind of content wants it."""
    asked = await trying.asked(document(method="post", requestBody=given), body=value)
    assert (asked.method, asked.headers["Content-Type"]) == ("POST", media)
    assert asked.body == sent


async def test_forms_of_several_parts(trying: Trying) -> None:
    """Each field of a form is a part; files have a name, objects are JSON."""
    schema = {
        "properties": {
            "f": {"type": "string", "format": "binary"},
            "m": {"contentMediaType": "a/b"},
        }
    }
    given = body("multipart/form-data", schema, encoding={"f": {"contentType": "text/csv, text/x"}})
    schema["properties"]["p"] = {"type": "string", "format": "binary"}
    values = {
        "p": "data:image/png;base64,/wA=",
        "f": "a,ü",
        "m": "x",
        "o": {"k": 1},
        "l": ["1", 2],
        "n": None,
    }
    asked = await trying.asked(document(method="put", requestBody=given), body=values)
    boundary = asked.headers["Content-Type"].partition("boundary=")[2].encode()
    parts = [part.strip(b"\r\n-") for part in asked.body.split(b"--" + boundary)]
    name = b"Content-Disposition: form-data; name="
    assert [part for part in parts if part] == [
        name + b'"p"; filename="p"\r\nContent-Type: image/png\r\n\r\n\xff\0',
        name + b'"f"; filename="f"\r\nContent-Type: text/csv\r\n\r\na,\xc3\xbc',
        name + b'"m"; filename="m"\r\nContent-Type: application/octet-stream\r\n\r\nx',
        name + b'"o"\r\nContent-Type: application/json\r\n\r\n{"k": 1}',
        name + b'"l"\r\n\r\n1',
        name + b'"l"\r\n\r\n2',
    ]


@pytest.mark.parametrize(
    ("media", "value", "code", "message"),
    [
        ("application/xml", {"a": 1}, FaultCode.ARGUMENTS_INVALID, "must be a text"),
        ("application/pdf", "no base64!", FaultCode.ARGUMENTS_INVALID, "as base64"),
        ("application/pdf", {"a": 1}, FaultCode.ARGUMENTS_INVALID, "must be a text"),
        ("image/*", "data:a b;base64,AA==", FaultCode.NOT_INVOKABLE, "no valid media type"),
        ("text/plain", "x" * (17 << 20), FaultCode.ARGUMENTS_INVALID, "larger than 16 MB"),
        ("a\r\nb/json", 1, FaultCode.NOT_INVOKABLE, "no valid media type"),
        ("text/plain", [1], FaultCode.ARGUMENTS_INVALID, "a list or an object"),
        ("multipart/form-data", "a", FaultCode.ARGUMENTS_INVALID, "must be an object"),
        ("application/x-www-form-urlencoded", {"a": [[1]]}, FaultCode.ARGUMENTS_INVALID, "a list"),
    ],
)
async def test_bodies_that_cannot_be_written(
    trying: Trying, media: str, value: Any, code: FaultCode, message: str
) -> None:
    """A kind of content that is not known, and a value that does not fit, are told as such."""
    found = await trying.refused(document(method="post", requestBody=body(media)), body=value)
    assert found[0] == code
    assert message in found[1]


async def test_schemas_of_bodies_and_answers_without_json(trying: Trying) -> None:
    """The tool states how such a body is given, and no structure for an answer without one."""
    xml = {"type": "object", "properties": {"a": {"type": "string"}}}
    answers = {"200": {"description": "", "content": {"application/xml": {"schema": xml}}}}
    stated = document(method="post", requestBody=body("application/xml", xml), responses=answers)
    raw = {"type": "string", "format": "binary", "title": "Scan"}
    stated["paths"]["/scan"] = {
        "post": {"operationId": "scan", "requestBody": body("application/pdf", raw)}
    }
    form = {"type": "object", "properties": {"f": raw}}
    stated["paths"]["/form"] = {
        "post": {"operationId": "form", "requestBody": body("multipart/form-data", form)}
    }
    async with trying.gateway(stated, "http://127.0.0.1:9") as gateway:
        tools = {tool.name: tool for tool in await gateway.list_tools()}
    bodies = {name: tool.input_schema["properties"]["body"] for name, tool in tools.items()}
    assert bodies["op"]["anyOf"] == [
        {"type": "string", "contentMediaType": "application/xml"},
        xml,
    ]
    assert bodies["scan"] == {
        "title": "Scan",
        "type": "string",
        "contentEncoding": "base64",
        "contentMediaType": "application/pdf",
    }
    assert "data: URL" in bodies["form"]["description"]
    assert tools["op"].output_schema is None


async def test_a_body_may_be_left_out(trying: Trying) -> None:
    """Without the argument there is no body."""
    asked = await trying.asked(document(method="post", requestBody=body("application/json")))
    assert (asked.body, asked.headers.get("Content-Type")) == (None, None)


async def test_swagger_2(trying: Trying) -> None:
    """Documents of the older kind say scheme, host, base path, and how lists are written."""
    swagger = {
        "swagger": "2.0",
        "info": {"title": "Old"},
        "schemes": ["ws", "http"],
        "basePath": "/old",
        "consumes": ["text/xml", "application/merge+json"],
        "paths": {
            "/a": {
                "post": {
                    "operationId": "op",
                    "parameters": [
                        {"name": "csv", "in": "query", "type": "array"},
                        {"name": "tsv", "in": "query", "type": "array", "collectionFormat": "tsv"},
                        {"name": "multi", "in": "query", "collectionFormat": "multi"},
                        {"name": "thing", "in": "body", "schema": {}},
                    ],
                },
                "put": {
                    "operationId": "form",
                    "parameters": [{"name": "l", "in": "formData", "collectionFormat": "pipes"}],
                },
                "patch": {
                    "operationId": "file",
                    "parameters": [{"name": "f", "in": "formData", "type": "file"}],
                },
            }
        },
    }
    with serving(answer("ok")) as server:
        swagger["host"] = server.url.removeprefix("http://").removesuffix("/v1")
        async with trying.gateway(swagger, None) as gateway:
            given = {"csv": ["a", "b"], "tsv": [1, 2], "multi": [1, 2], "body": {"k": 1}}
            assert (await gateway.invoke("op", given)).text == "ok"
            assert (await gateway.invoke("form", {"body": {"l": ["a", "b"]}})).text == "ok"
            assert (await gateway.invoke("file", {"body": {"f": "x"}})).text == "ok"
    first, form, file = server.asked
    assert first.path == "/old/a?csv=a,b&tsv=1%092&multi=1&multi=2"
    assert (first.headers["Content-Type"], first.body) == ("application/merge+json", {"k": 1})
    assert (form.method, form.body) == ("PUT", b"l=a%7Cb")
    assert b'name="f"; filename="f"' in file.body


async def test_an_older_document_without_a_host(trying: Trying) -> None:
    """Nor does one of the older kind that names no host, or more than one, say where to call."""
    for host in (None, "a/b", "user@a", "a?b"):
        swagger = {"swagger": "2.0", "host": host, "paths": {"/a": {"get": {"operationId": "op"}}}}
        async with trying.gateway(swagger, None) as gateway:
            assert "base_url" in (await gateway.invoke("op")).faults[0].remedy


async def test_servers_of_the_document(trying: Trying) -> None:
    """The server that stands nearest to the operation counts, with its variables filled in."""
    with serving(answer("ok")) as server:
        address = server.url.removesuffix("/v1")
        near = {
            "url": "{host}/{v}/",
            "variables": {"host": {"default": address}, "v": {"default": 2}},
        }
        shared = document(servers=[{"url": "/relative"}, None, {"url": "{open}"}, near])
        item = shared["paths"]["/things"]
        item["servers"] = [{"url": f"{address}/path"}]
        item["put"] = {"operationId": "of_path"}
        shared["servers"] = [{"url": f"{address}/document"}]
        shared["paths"]["/others"] = {"get": {"operationId": "of_document"}}
        async with trying.gateway(shared, None) as gateway:
            for name in ("op", "of_path", "of_document"):
                assert (await gateway.invoke(name)).is_success
    assert [asked.path for asked in server.asked] == [
        "/2/things",
        "/path/things",
        "/document/others",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "/v1",
        "//host/v1",
        "ftp://host",
        "http://user:pw@host",
        "https://host?a=b",
        "https://[host",
        "https://{region}.host",
        "http://host\\@other",
        "http://host:0",
    ],
)
async def test_a_document_without_an_address(trying: Trying, url: str) -> None:
    """Where the document names no host that can be used, the remedy says what to set."""
    for shared in ({**document(), "servers": [{"url": url}]}, document()):
        async with trying.gateway(shared, None) as gateway:
            (fault,) = (await gateway.invoke("op")).faults
            assert (fault.code, "base_url" in fault.remedy) == (FaultCode.NOT_INVOKABLE, True)


PRIVATE = [
    "http://127.0.0.1:{port}",
    "http://localhost:{port}",
    "http://LOCALHOST:{port}",
    "http://127.1:{port}",
    "http://2130706433:{port}",
    "http://0x7f.1:{port}",
    "http://0.0.0.0:{port}",
    "http://[::1]:{port}",
    "http://[::]:{port}",
    "http://[::ffff:127.0.0.1]:{port}",
    "http://[64:ff9b::7f00:1]:{port}",
    "http://10.0.0.1",
    "http://169.254.169.254/latest",
    "http://192.0.0.192/opc/v2",
    "http://168.63.129.16/machine",
    "http://[::ffff:168.63.129.16]",
    "http://100.64.0.1",
    "http://[fe80::1]",
    "http://[fd00::1]",
]


@pytest.mark.parametrize("url", PRIVATE)
async def test_a_document_reaches_no_private_address(trying: Trying, url: str) -> None:
    """A private address that only the document names is refused before it is connected to."""
    trying.allow_private = False
    with serving(answer("metadata")) as server:
        port = server.url.split(":")[2].partition("/")[0]
        stated = {**document(), "servers": [{"url": url.format(port=port)}]}
        async with trying.gateway(stated, None) as gateway:
            (fault,) = (await gateway.invoke("op")).faults
        assert not server.asked
    assert fault.code == FaultCode.NOT_INVOKABLE
    assert "private address" in fault.message
    for name in ("base_url", "allow_private", "--allow-private"):
        assert name in fault.remedy


async def test_names_that_resolve_again_to_a_private_address(
    trying: Trying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public when it is checked and private when it is used gets no request."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 80))]

    async def looked_up(*_: object, **__: object) -> object:
        return found

    monkeypatch.setattr("mcpg.net.public.anyio.getaddrinfo", looked_up)
    trying.allow_private = False
    with serving(answer("metadata")) as server:
        stated = {**document(), "servers": [{"url": server.url}]}
        async with trying.gateway(stated, None) as gateway:
            (fault,) = (await gateway.invoke("op")).faults
        assert not server.asked
    assert "private address" in fault.message


async def test_a_kept_connection_is_no_way_to_a_private_address(trying: Trying) -> None:
    """One source may reach a private address; a connection of it serves no other source."""
    with serving(answer("ok")) as server:
        path = trying.write({**document(), "servers": [{"url": server.url}]})
        sources = [
            FileSource("open", path, "open", allow_private=True),
            FileSource("shut", path, "shut"),
        ]
        async with Gateway(sources) as gateway:
            assert (await gateway.invoke("open::op")).is_success
            assert "private" in (await gateway.invoke("shut::op")).faults[0].message
            assert (await gateway.invoke("open::op")).is_success
        assert len(server.asked) == 2


async def test_headers_for_one_server_of_the_document(trying: Trying) -> None:
    """Headers go to the server that was meant, and an operation elsewhere is not called."""
    with serving(answer("ok")) as server, serving(answer("stolen")) as other:
        stated = {**document(), "servers": [{"url": server.url}]}
        stated["paths"]["/away"] = {"get": {"operationId": "away", "servers": [{"url": other.url}]}}
        source = FileSource(
            "things",
            trying.write(stated),
            headers={"Authorization": f"Bearer {TOKEN}"},
            allow_private=True,
            headers_for=server.url,
        )
        async with Gateway([source]) as gateway:
            assert (await gateway.invoke("op")).text == "ok"
            (fault,) = (await gateway.invoke("away")).faults
        assert server.asked[0].headers["Authorization"] == f"Bearer {TOKEN}"
        assert not other.asked
    assert (fault.code, "base_url" in fault.remedy) == (FaultCode.NOT_INVOKABLE, True)


async def test_what_is_set_counts_whatever_is_said(trying: Trying) -> None:
    """The address and the headers that were set win over document and arguments."""
    trying.headers = {"Authorization": f" Bearer {TOKEN}", "x-tenant": "mine", "Cookie": "s=1"}
    shared = document(
        servers=[{"url": "https://other.invalid"}],
        parameters=[parameter("X-Tenant", "header"), parameter("s", "cookie"), parameter("q")],
    )
    with serving(answer("ok")) as server:
        async with trying.gateway(shared, f"{server.url}/?key={TOKEN}#f") as gateway:
            given = {"X-Tenant": "theirs", "s": "2", "q": "1"}
            assert (await gateway.invoke("op", given)).text == "ok"
    (asked,) = server.asked
    assert asked.path == f"/v1/things?key={TOKEN}&q=1"
    assert asked.headers["Authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["x-tenant"] == "mine"
    assert asked.headers["Cookie"] == "s=1"


@pytest.mark.parametrize(
    ("base", "headers"),
    [
        (None, {"Authorization": TOKEN}),
        (f"{TOKEN}://host", {}),
        (f"https://user:{TOKEN}@host", {}),
        ("https://host", {f"{TOKEN} ": "a"}),
        ("https://host", {"a": f"{TOKEN}\n"}),
    ],
)
def test_addresses_that_make_no_sense(base: str | None, headers: dict[str, str]) -> None:
    """Headers without an address, and what cannot be sent, are refused without repeating it."""
    with pytest.raises(UsageError) as raised:
        FileSource("a", "a.json", None, base, headers)
    assert TOKEN not in str(raised.value)


def test_nothing_secret_is_shown() -> None:
    """Neither address nor headers stand in the repr of a source."""
    source = FileSource("a", "a.json", None, f"https://host/{TOKEN}", {"a": TOKEN})
    assert TOKEN not in repr(source)
    assert hash(source)


async def test_answers_become_results(trying: Trying) -> None:
    """JSON is structured, text is text, what is small and binary comes whole."""

    async def of(content: Any, **headers: str) -> CallResult:
        found, _ = await trying.answered(answer(content, **headers))
        assert found.is_success
        return found

    found = await of('{"a": "\\ud800"}', Content_Type="application/problem+json; charset=utf-8")
    assert found.structured == {"a": "\ufffd"}
    assert found.text == '{"a": "\\ud800"}'
    broken = await of('{"a": NaN', Content_Type="application/json")
    assert (broken.text, broken.structured) == ('{"a": NaN', None)
    assert (
        await of("h\xe9".encode("latin-1"), Content_Type="text/a; charset=latin-1")
    ).text == "hé"
    assert (await of(b"h\xe9", Content_Type="text/a; charset=punycode")).text == "h\ufffd"
    assert (await of(b"a\x1b[31m\x00b", Content_Type="text/plain")).text == "a\x1b[31m\x00b"
    assert (await of("<a/>", Content_Type="application/atom+xml; charset=none")).text == "<a/>"
    png = await of(b"\x89PNG", Content_Type="image/png")
    data = base64.b64encode(b"\x89PNG").decode()
    assert png.content == ({"type": "image", "data": data, "mimeType": "image/png"},)
    wav = await of(b"RIFF\0", Content_Type="audio/wav")
    assert [(one["type"], one["mimeType"]) for one in wav.content] == [("audio", "audio/wav")]
    for headers in ({"Content_Type": "odd\x7f/type"}, {}):
        (block,) = (await of(b"\xff\x00", **headers)).content
        assert block["resource"] == {
            "uri": "answer:body",
            "mimeType": "application/octet-stream",
            "blob": "/wA=",
        }
    assert (await of("", Content_Type="application/pdf")).text == "HTTP status 200 OK"
    large = await of(b"\xff" * (1 << 19), Content_Type="application/zip")
    assert (
        large.text == "it answered with more than 262144 bytes of application/zip, which stay there"
    )
    found, _ = await trying.answered(answer("", 204))
    assert found.text == "HTTP status 204 No Content"


async def test_failures_say_what_the_server_says(trying: Trying) -> None:
    """A status of failure is a fault, with what the server says, bounded and without secrets."""
    trying.headers = {"Authorization": f"Bearer {TOKEN}"}
    echo = json.dumps({"error": f"no {TOKEN}"}).replace("+", "\\u002b")
    found, _ = await trying.answered(answer(echo, 404, Content_Type="application/json"))
    assert found.faults[0].code == FaultCode.TOOL_FAILED
    assert found.faults[0].message == 'HTTP status 404 Not Found\n{"error": "no ***"}'
    assert found.structured == {"error": "no ***"}
    trying.headers["X-Api-Key"] = "a/b7"
    found, _ = await trying.answered(answer("no a%2fb7, api", 403))
    assert found.text == "HTTP status 403 Forbidden\nno ***, api"
    trying.secrets = ("s3c/4",)
    found, _ = await trying.answered(answer("no s3c%2F4", 403))
    assert found.text == "HTTP status 403 Forbidden\nno ***"
    trying.limits = Limits(message_chars=50)
    found, _ = await trying.answered(
        answer(f"{TOKEN} " + "x" * 200_000, 599, Content_Type="text/a")
    )
    assert found.text == "HTTP status 599\n*** " + "x" * 46 + "..."
    assert len(found.faults[0].message) == 53
    found, _ = await trying.answered(answer(b"\xff\xfe", 500))
    assert found.text == "HTTP status 500 Internal Server Error"
    found, _ = await trying.answered(answer("", 304))
    assert found.text == "HTTP status 304 Not Modified"


async def test_answers_that_are_too_much(trying: Trying) -> None:
    """An answer without end, and one that is packed, are cut off."""

    def endless(conversation: Conversation) -> None:
        conversation.send_response(200)
        conversation.send_header("Content-Type", "text/plain")
        conversation.end_headers()
        while not conversation.wait(0):
            conversation.wfile.write(b"x" * 65536)

    trying.limits = Limits(result_bytes=100_000)
    found, _ = await trying.answered(endless)
    assert found.faults[0].code == FaultCode.TOO_LARGE
    found, _ = await trying.answered(answer("x", Content_Encoding="gzip"))
    assert "compressed" in found.faults[0].message


async def test_servers_that_are_slow_or_break_off(trying: Trying) -> None:
    """Time is bounded, and an answer that breaks off is none."""
    found, _ = await trying.answered(lambda conversation: conversation.wait(30), timeout=0.2)
    assert found.faults[0].code == FaultCode.TIMED_OUT

    def dripping(conversation: Conversation) -> None:
        conversation.send(b"x", length=100)
        conversation.wait(30)

    found, _ = await trying.answered(dripping, timeout=0.3)
    assert found.faults[0].code == FaultCode.TIMED_OUT
    found, _ = await trying.answered(lambda one: one.send("x", length=100))
    assert found.faults[0].message == "response was cut off"


def hangs_up(conversation: Conversation) -> None:
    """End the connection without an answer."""
    conversation.close_connection = True


async def test_only_what_reads_is_sent_again(trying: Trying) -> None:
    """A lost connection is tried once more for GET; for anything else it is told."""
    found, server = await trying.answered(hangs_up, answer("ok"))
    assert (found.text, len(server.asked)) == ("ok", 2)
    found, server = await trying.answered(hangs_up)
    assert (found.faults[0].code, len(server.asked)) == (FaultCode.SOURCE_UNAVAILABLE, 2)
    found, server = await trying.answered(hangs_up, answer("ok"), method="put")
    assert (found.faults[0].code, len(server.asked)) == (FaultCode.SOURCE_UNAVAILABLE, 1)
    async with trying.gateway(document(), "http://127.0.0.1:9") as gateway:
        (fault,) = (await gateway.invoke("op")).faults
        assert (fault.code, fault.message) == (
            FaultCode.SOURCE_UNAVAILABLE,
            "server cannot be reached",
        )


@pytest.mark.parametrize("host", ["a..b", "\u2024.example", "x" * 300])
async def test_hosts_that_are_no_names(trying: Trying, host: str) -> None:
    """A host that cannot be asked for is a fault like another."""
    async with trying.gateway(document(), f"http://{host}") as gateway:
        (fault,) = (await gateway.invoke("op")).faults
    assert fault.code in {FaultCode.SOURCE_UNAVAILABLE, FaultCode.NOT_INVOKABLE}


async def test_redirects_stay_on_the_host(trying: Trying) -> None:
    """Only what reads is redirected, and never to another host, which gets no header either."""
    trying.headers = {"Authorization": f"Bearer {TOKEN}", "Cookie": "a=b"}
    away = lambda one: one.send("", 302, Location="/v2/here")  # noqa: E731
    found, server = await trying.answered(away, answer("ok"))
    assert (found.text, server.asked[1].path) == ("ok", "/v2/here")
    assert server.asked[1].headers["Authorization"] == f"Bearer {TOKEN}"
    assert server.asked[1].headers["Cookie"] == "a=b"
    found, server = await trying.answered(away)
    assert "too many redirects" in found.faults[0].message
    found, server = await trying.answered(away, method="post")
    assert "(HTTP status 302), which is not followed" in found.faults[0].message
    with serving(answer("stolen")) as other:
        for place in (f"{other.url}/x", f"//user@{other.url.removeprefix('http://')}"):
            found, _ = await trying.answered(lambda one, to=place: one.send("", 307, Location=to))  # type: ignore[misc]
            assert "is not followed" in found.faults[0].message
        assert not other.asked
    found, _ = await trying.answered(lambda one: one.send("", 302, Location="http://[bad"))
    assert "is not followed" in found.faults[0].message


async def test_sessions_are_nobodys(trying: Trying) -> None:
    """A cookie that a server sets is not sent again."""
    with serving(answer("ok", Set_Cookie="session=1")) as server:
        async with trying.gateway(document(), server.url) as gateway:
            await gateway.invoke("op")
            await gateway.invoke("op")
    assert "Cookie" not in server.asked[1].headers


async def test_a_head_has_no_body(trying: Trying) -> None:
    """What has no body is told by its status."""
    found, server = await trying.answered(answer(""), method="head")
    assert (found.text, server.asked[0].method) == ("HTTP status 200 OK", "HEAD")


async def test_documents_are_read_again_when_they_change(trying: Trying) -> None:
    """The file decides, as it is now; one that is gone or has no such operation is told."""
    with serving(answer("ok")) as server:
        async with trying.gateway(document("/old"), server.url) as gateway:
            assert (await gateway.invoke("op")).is_success
            path = trying.write(document("/newer"))
            assert (await gateway.invoke("op")).is_success
            assert [asked.path for asked in server.asked] == ["/v1/old", "/v1/newer"]
            trying.write(document("/{later}", parameters=[parameter("later", "path")]))
            (fault,) = (await gateway.invoke("op")).faults
            assert (fault.code, fault.field) == (FaultCode.ARGUMENTS_INVALID, "/later")
            trying.write({**document(), "paths": {}})
            (fault,) = (await gateway.invoke("op")).faults
            assert (fault.code, "no longer has this operation" in fault.message) == (
                FaultCode.NOT_INVOKABLE,
                True,
            )
            trying.write('{"openapi": "3.1"')
            assert (await gateway.invoke("op")).faults[0].code == FaultCode.SOURCE_UNAVAILABLE
            Path(path).unlink()  # noqa: ASYNC240 - it is a small file
            assert (await gateway.invoke("op")).faults[0].code == FaultCode.NOT_INVOKABLE


async def test_an_operation_has_to_be_the_only_one(trying: Trying) -> None:
    """Two operations of one id are not taken for each other."""
    shared = document()
    shared["paths"]["/others"] = {"delete": {"operationId": "op"}}
    async with trying.gateway(shared, "http://127.0.0.1:9") as gateway:
        tools = await gateway.list_tools()
        assert tools
        for tool in tools:
            (fault,) = (await gateway.invoke(tool.id)).faults
            assert (fault.code, fault.message[:12]) == (FaultCode.NOT_INVOKABLE, "2 operations")


async def test_a_path_has_an_argument_for_each_part(trying: Trying) -> None:
    """A part of the path that nothing says is a fault of the document."""
    code, message, _ = await trying.refused(document("/{x}"))
    assert (code, "'x'" in message) == (FaultCode.NOT_INVOKABLE, True)


async def test_other_files_are_only_described(trying: Trying) -> None:
    """Tools of a manifest are no operations, and a folder calls nothing that lies in it."""
    manifest = {"tools": [{"name": "op", "inputSchema": {"type": "object"}}]}
    async with trying.gateway(manifest, None) as gateway:
        assert (await gateway.invoke("op")).faults[0].code == FaultCode.NOT_INVOKABLE
    trying.write(document(servers=[{"url": "http://127.0.0.1:9"}]))
    async with Gateway([FileSource("folder", str(trying.folder))]) as gateway:
        assert (await gateway.invoke("op")).faults[0].code == FaultCode.NOT_INVOKABLE
