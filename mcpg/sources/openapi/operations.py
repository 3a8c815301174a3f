"""From one operation of an OpenAPI document to a tool."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcpg.catalog.hints import hints_from
from mcpg.catalog.model import Hints, Tool, unique
from mcpg.net.addresses import split_address
from mcpg.sources.openapi.schemas import Schemas

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mcpg.json_types import JsonObject, JsonValue
    from mcpg.sources.openapi.schemas import References, Room

# SECTION layout: How the parameters and the body of an operation lie in the arguments of its tool.
#
# The schema of a tool's arguments is made by this layout, and so is the request when it is called.


JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)

_OUTSIDE_NAME = re.compile(r"[^\w-]+")
_OF_THE_TRANSPORT = frozenset(
    ("header", name) for name in ("accept", "content-type", "authorization")
)
_PLACES = ("path", "query", "header", "cookie")
_MEDIA = (JSON, FORM, MULTIPART)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as it stands in a document.

    Attributes:
        method: HTTP method in lower case.
        path: The path, with its templates.
        value: The operation object.
        shared: Parameters of all operations of the path.
        servers: Servers of all operations of the path.
    """

    method: str
    path: str
    value: JsonObject
    shared: JsonValue = None
    servers: JsonValue = None

    @property
    def where(self) -> str:
        """Say where it stands in the document."""
        return f"paths.{self.path}.{self.method}"

    @property
    def name(self) -> str:
        """Give its `operationId`, else a name out of method and path."""
        stated = text_of(self.value.get("operationId"))
        return stated or _OUTSIDE_NAME.sub("_", f"{self.method} {self.path}").strip("_")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    Attributes:
        name: What it is called in the request.
        place: Where it stands there: `path`, `query`, `header`, `cookie`; in Swagger 2 also `body`
            and `formData`.
        value: The parameter object.
    """

    name: str
    place: str
    value: JsonObject

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.place == "path" or self.value.get("required") is True


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request.

    Attributes:
        media: Its kind of content, "" where the document names none.
        schema: Its schema as it stands in the document; `None` where there is none.
        description: What it is.
        is_required: Whether it must be given.
        fields: Of a form of Swagger 2, its fields; they stand for the schema.
        encoding: How the fields of a form are written, by name.
        files: Names of the fields of a form that are files.
    """

    media: str
    schema: JsonValue = None
    description: str = ""
    is_required: bool = False
    fields: tuple[Parameter, ...] = ()
    encoding: JsonObject = field(default_factory=dict)
    files: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Layout:
    """The arguments of a tool.

    Attributes:
        parameters: Parameters by the names of their arguments, in order.
        body_name: The name of the argument that is the body.
        body: The body, `None` where there is none.
    """

    parameters: Mapping[str, Parameter]
    body_name: str
    body: Body | None


class Layouts:
    """Lays out the operations of one document."""

    def __init__(self, document: JsonObject, references: References) -> None:
        self._references = references
        self._consumes = document.get("consumes")
        self._files_among: dict[int, frozenset[str]] = {}
        self._left_out = _OF_THE_TRANSPORT | set(_secrets(document, references))

    def of(self, operation: Operation) -> Layout:
        """Lay out one operation."""
        given = list(self._parameters(operation))
        named: dict[str, Parameter] = {}
        for place in _PLACES:
            for one in (one for one in given if one.place == place):
                named[_free(named, one.name, f"{one.name}_{place}")] = one
        body = self._body(operation, given)
        return Layout(named, _free(named, "body", "requestBody"), body)

    def media(self, content: JsonValue, where: str) -> tuple[str, JsonObject]:
        """Choose among kinds of *content* the one that a model can write best."""
        if not isinstance(content, dict) or not content:
            return "", {}
        name = min(content, key=_media_order)
        return name, self._references.follow(content[name], where) or {}

    def _parameters(self, operation: Operation) -> Iterator[Parameter]:
        """Give parameters, those of the operation in place of the path's; nothing secret."""
        found: dict[tuple[str, str], Parameter] = {}
        for given in (operation.shared, operation.value.get("parameters")):
            for one in given if isinstance(given, list) else ():
                value = self._references.follow(one, operation.where)
                name, place = (text_of((value or {}).get(key)) for key in ("name", "in"))
                if value is not None and name and place:
                    found[place, name] = Parameter(name, place, value)
        for (place, name), parameter in found.items():
            if (place, name.casefold()) not in self._left_out:
                yield parameter

    def _body(self, operation: Operation, given: Sequence[Parameter]) -> Body | None:
        bodies = [one for one in given if one.place == "body"]
        fields = tuple(one for one in given if one.place == "formData")
        if bodies:
            value, kinds = bodies[0].value, self._consumed(operation)
            media = min(kinds, key=_media_order) if kinds else JSON
            return _described(value, Body(media, value.get("schema")))
        if fields:
            is_required = any(one.is_required for one in fields)
            files = frozenset(one.name for one in fields if one.value.get("type") == "file")
            media = MULTIPART if files else _form_media(self._consumed(operation))
            return Body(media, is_required=is_required, fields=fields, files=files)
        found = self._references.follow(operation.value.get("requestBody"), operation.where)
        if found is None:
            return None
        name, content = self.media(found.get("content"), operation.where)
        encoding = content.get("encoding")
        known = encoding if isinstance(encoding, dict) else {}
        schema = content.get("schema")
        is_form = kind_of_media(name) == MULTIPART
        files = self._files(schema, operation.where) if is_form else frozenset[str]()
        return _described(found, Body(name, schema, encoding=known, files=files))

    def _files(self, schema: JsonValue, where: str) -> frozenset[str]:
        """Name the properties of a form that are files, or lists of files."""
        properties = (self._references.follow(schema, where) or {}).get("properties")
        if not isinstance(properties, dict):
            return frozenset()
        # Many operations may take one form.
        known = self._files_among.get(id(properties))
        if known is None:
            known = frozenset(
                name for name, one in properties.items() if self._takes_files(one, where)
            )
            self._files_among[id(properties)] = known
        return known

    def _takes_files(self, given: JsonValue, where: str) -> bool:
        value = self._references.follow(given, where) or {}
        items = self._references.follow(value.get("items"), where) or {}
        return any(one.get("format") == "binary" or _is_file(one) for one in (value, items))

    def _consumed(self, operation: Operation) -> list[str]:
        """Name the kinds of content that an operation of Swagger 2 takes."""
        kinds = operation.value.get("consumes", self._consumes)
        return [one for one in kinds if isinstance(one, str)] if isinstance(kinds, list) else []


def kind_of_media(name: str) -> str:
    """Give a kind of content without its parameters, in lower case."""
    return name.partition(";")[0].strip().casefold()


def is_json(kind: str) -> bool:
    """Say whether a kind of content, as `kind_of_media` gives it, is JSON."""
    return kind.endswith("json")


def text_of(value: JsonValue) -> str:
    """Give a text without blanks around it, "" for anything else."""
    return value.strip() if isinstance(value, str) else ""


def _described(value: JsonObject, body: Body) -> Body:
    text, is_required = text_of(value.get("description")), value.get("required") is True
    return replace(body, description=text, is_required=is_required)


def _is_file(schema: JsonObject) -> bool:
    """Say whether a schema of OpenAPI 3.1 describes raw bytes."""
    return "contentMediaType" in schema and "contentEncoding" not in schema


def _form_media(kinds: Sequence[str]) -> str:
    known = [kind for kind in map(kind_of_media, kinds) if kind in (FORM, MULTIPART)]
    return min(known, key=_media_order) if known else FORM


def _media_order(name: str) -> tuple[int, int]:
    kind = kind_of_media(name)
    if kind in _MEDIA:
        return (_MEDIA.index(kind), 0)
    return (0, 1) if is_json(kind) else (len(_MEDIA), 0)


def _free(taken: Collection[str], *names: str) -> str:
    """Give the first of *names* that is not taken, else the last with a number."""
    last = names[-1]
    numbered = (f"{last}_{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (*names, *numbered) if name not in taken)


def _secrets(document: JsonObject, references: References) -> Iterator[tuple[str, str]]:
    """Give place and name of the parameters that hold keys and tokens."""
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    for group in (schemes, document.get("securityDefinitions")):
        for one in group.values() if isinstance(group, dict) else ():
            scheme = references.follow(one, "") or {}
            yield text_of(scheme.get("in")), text_of(scheme.get("name")).casefold()


_SAFE = Hints(read_only=True, idempotent=True, destructive=False)
_BY_METHOD = {
    "get": _SAFE,
    "head": _SAFE,
    "options": _SAFE,
    "trace": _SAFE,
    "put": Hints(read_only=False, idempotent=True),
    "post": Hints(),
    "patch": Hints(read_only=False),
    "delete": Hints(read_only=False, idempotent=True, destructive=True),
}
METHODS = frozenset(_BY_METHOD)
"""The members of a path that are operations."""

_EXTENSION = re.compile(r"x-mcpg-|x-(?=search-)")
_BODY_LIMIT, _ANSWER_LIMIT = 1000, 200
_LEAST_LENGTH, _GROWTH = 2_000_000, 20


class OperationReader:
    """Reads the operations of one document.

    Args:
        document: The whole document.
        references: Its references.
        length: How many characters its text has: what its schemas may come to grows with it.

    Attributes:
        layouts: How the arguments of their tools lie.
    """

    def __init__(self, document: JsonObject, references: References, length: int) -> None:
        self._references = references
        siblings = str(document.get("openapi", "")).startswith(("3.1", "3.2"))
        self._asked = Schemas(references, "readOnly", _BODY_LIMIT, siblings=siblings)
        self._answered = Schemas(references, "writeOnly", _ANSWER_LIMIT, siblings=siblings)
        self.layouts = Layouts(document, references)
        self._left = _LEAST_LENGTH + _GROWTH * length

    def tool(self, operation: Operation, source_id: str, place: str) -> Tool:
        """Read one operation."""
        value = operation.value
        summary, description = text_of(value.get("summary")), text_of(value.get("description"))
        asked, answered = self._schemas(operation)
        return Tool(
            id="",
            source_id=source_id,
            name=operation.name,
            title=(summary or None) if description else None,
            description=description or summary or f"{operation.method.upper()} {operation.path}",
            input_schema=asked,
            output_schema=answered,
            meta={"openapi": {"method": operation.method, "path": operation.path}},
            hints=_hints(operation),
            place=f"{place}: {operation.where}",
        )

    def _schemas(self, operation: Operation) -> tuple[JsonObject, JsonObject | None]:
        """Make the schemas of arguments and answer, unless the document's come to too much."""
        if self._left > 0:
            made = self._input(operation), self._output(operation)
            self._left -= len(json.dumps(made, ensure_ascii=False))
            if self._left >= 0:
                return made
            # What follows is not tried: a small document would keep us busy for long.
            self._left = 0
        message = (
            "the schemas of this document come to too much: those of this operation are left out"
        )
        self._references.note(message, operation.where)
        return {"type": "object"}, None

    def _input(self, operation: Operation) -> JsonObject:
        room, where = self._asked.room(), operation.where
        layout = self.layouts.of(operation)
        properties: JsonObject = {}
        required: list[JsonValue] = []
        for name, parameter in layout.parameters.items():
            properties[name] = self._parameter(parameter, room, where)
            if parameter.is_required:
                required.append(name)
        if layout.body is not None:
            properties[layout.body_name] = self._body(layout.body, room, where)
            if layout.body.is_required:
                required.append(layout.body_name)
        schema: JsonObject = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        return self._asked.finished(schema, room, where)

    def _parameter(self, parameter: Parameter, room: Room, where: str) -> JsonObject:
        value = parameter.value
        content = value.get("content")
        given = value.get("schema", value)
        if isinstance(content, dict):
            given = self.layouts.media(content, where)[1].get("schema")
        kept = self._asked.copy(given, room, where)
        for key in ("required", "properties") if given is value else ():
            kept.pop(key, None)
        if text_of(value.get("description")):
            kept["description"] = text_of(value.get("description"))
        if value.get("deprecated") is True:
            kept["deprecated"] = True
        return kept

    def _body(self, body: Body, room: Room, where: str) -> JsonObject:
        if body.fields:
            return self._form(body.fields, room, where)
        kept = self._asked.copy(body.schema, room, where)
        if body.description:
            kept.setdefault("description", body.description)
        return kept

    def _form(self, fields: Sequence[Parameter], room: Room, where: str) -> JsonObject:
        properties: JsonObject = {one.name: self._parameter(one, room, where) for one in fields}
        schema: JsonObject = {"type": "object", "properties": properties}
        required: list[JsonValue] = [one.name for one in fields if one.is_required]
        return {**schema, "required": required} if required else schema

    def _output(self, operation: Operation) -> JsonObject | None:
        answers = operation.value.get("responses")
        if not isinstance(answers, dict):
            return None
        for code in sorted(answers):
            if code[:1] != "2" or len(code) != len("200"):
                continue
            answer = self._references.follow(answers[code], operation.where) or {}
            _, media = self.layouts.media(answer.get("content"), operation.where)
            schema = answer.get("schema") or media.get("schema")
            if isinstance(schema, dict) and schema:
                room = self._answered.room()
                kept = self._answered.copy(schema, room, operation.where)
                return self._answered.finished(kept, room, operation.where) or None
        return None


def _hints(operation: Operation) -> Hints:
    """Read what the author says in extensions, then what tags, method and `deprecated` say."""
    value = operation.value
    own = value.get("x-mcpg")
    single: JsonObject = {
        _EXTENSION.sub("", key, count=1).replace("-", "_"): member
        for key, member in value.items()
        if _EXTENSION.match(key)
    }
    tags = value.get("tags")
    names = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return Hints.merge(
        hints_from(own if isinstance(own, dict) else {}),
        hints_from(single),
        Hints(
            categories=unique(names),
            enabled_by_default=False if value.get("deprecated") is True else None,
        ),
        _BY_METHOD[operation.method],
    )


# SECTION servers: The address of an API, as its document says it.


_VARIABLE = re.compile(r"\{([^{}]*)\}")
_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f\x7f\\{}]+", re.IGNORECASE)
_SCHEMES = ("https", "http")


def is_base_address(text: str) -> bool:
    """Say whether *text* is an address with a host that paths can stand below."""
    if not _ADDRESS.fullmatch(text):
        return False
    parts = split_address(text)
    return parts is not None and bool(parts.hostname) and parts.port != 0


def server_address(document: JsonObject, operation: Operation) -> str | None:
    """Give what the paths of *document* stand below; `None` where it names no host.

    The servers of the operation go before those of its path, and these before those of the
    document; of several the first that can be used is taken, its variables by their defaults.
    In Swagger 2 it is made of scheme, `host` and `basePath`. One that holds a user, a query or a
    fragment cannot be used.
    """
    if "openapi" not in document:
        return _usable(_of_swagger(document, operation))
    for servers in (operation.value.get("servers"), operation.servers, document.get("servers")):
        if isinstance(servers, list) and servers:
            return next((found for one in servers if (found := _usable(_of_server(one)))), None)
    return None


def _usable(address: str) -> str | None:
    if not is_base_address(address):
        return None
    parts = urlsplit(address)
    return None if "@" in parts.netloc or parts.query or parts.fragment else address


def _of_server(server: JsonValue) -> str:
    url = server.get("url") if isinstance(server, dict) else None
    given = server.get("variables") if isinstance(server, dict) else None
    variables = given if isinstance(given, dict) else {}

    def default(found: re.Match[str]) -> str:
        variable = variables.get(found[1])
        value = variable.get("default") if isinstance(variable, dict) else None
        return str(value) if isinstance(value, str | int) else found[0]

    return _VARIABLE.sub(default, url.strip()) if isinstance(url, str) else ""


def _of_swagger(document: JsonObject, operation: Operation) -> str:
    host, path = document.get("host"), document.get("basePath", "")
    stated = operation.value.get("schemes", document.get("schemes"))
    schemes = stated if isinstance(stated, list) and stated else _SCHEMES[:1]
    scheme = next((one for one in _SCHEMES if one in schemes), "")
    if not isinstance(host, str) or not isinstance(path, str) or set("/?#@") & set(host):
        return ""
    return f"{scheme}://{host.strip()}/{path.strip().lstrip('/')}".rstrip("/")
