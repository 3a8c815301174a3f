"""Tools from the operations of OpenAPI 3 and Swagger 2 documents."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mcpg.catalog.catalog import normalize
from mcpg.catalog.hints import hints_from
from mcpg.catalog.manifest import ManifestTools, parse_repaired
from mcpg.catalog.model import Hints, Tool
from mcpg.catalog.view import unique
from mcpg.errors import Code, Diagnostic, SourceError, warning
from mcpg.net.addresses import TCHAR, split_address
from mcpg.sources.openapi.schemas import CopyBudget, ReferenceResolver, SchemaCopier, shallow
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.safeyaml import load_yaml

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
ANY = ("", "*/*", "application/*")
"""Kinds of content that leave the kind open: such a body is JSON."""

METHODS = frozenset({"get", "head", "options", "trace", "put", "post", "patch", "delete", "query"})
"""The members of a path that are operations."""

_REMEDY = "give an OpenAPI 3 or Swagger 2 document"
_MAX_USES = 20
_OUTSIDE_NAME = re.compile(r"[^\w-]+")
_OF_THE_TRANSPORT = frozenset(
    ("header", name) for name in ("accept", "content-type", "authorization")
)
_PLACES = ("path", "query", "querystring", "header", "cookie")
_OF_SWAGGER = ("body", "formData")
_OTHERS = "additionalOperations"
_METHOD = re.compile(f"{TCHAR}{{1,40}}")
_UNSENT = ("", "connect")
_MEDIA = (JSON, FORM, MULTIPART)
_STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
_COLLECTIONS = {"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f\x7f\\{}]+", re.IGNORECASE)
_SCHEMES = ("https", "http")
_TEXT = re.compile(
    r"text/.*|.*[/+](?:xml|yaml|x-yaml)|application/(?:(?:x-|ecma)?javascript|ecmascript|sql"
    r"|x-www-form-urlencoded|x-ndjson|jsonl|x-sh|toml|graphql)"
)


@dataclass(frozen=True, slots=True)
class StatedOperation:
    """An operation as the document defines it.

    Attributes:
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
        method = self.method if self.method in METHODS else f"{_OTHERS}.{self.method.upper()}"
        return f"paths.{self.path}.{method}"

    @property
    def name(self) -> str:
        """Its `operationId`, else a name made of method and path."""
        stated = stripped_text(self.value.get("operationId"))
        return stated or _OUTSIDE_NAME.sub("_", f"{self.method} {self.path}").strip("_")


@dataclass(frozen=True, slots=True)
class Style:
    """How a value is written: by a style of OpenAPI, and whether each of its members is apart."""

    name: str = "form"
    is_exploded: bool = True


@dataclass(frozen=True, slots=True)
class ApiParameter:
    """One parameter.

    Attributes:
        place: `path`, `query`, `querystring`, `header` or `cookie`; in Swagger 2 also `body` and
            `formData`.
        media: `JSON` or `text/plain` for a parameter with a kind of content, else "".
    """

    name: str
    place: str
    value: JsonObject
    style: Style = Style()
    media: str = ""

    @property
    def is_required(self) -> bool:
        return self.place == "path" or self.value.get("required") is True


@dataclass(frozen=True, slots=True)
class FormEncoding:
    """The style and kind of content of a field of a form, `None` and "" without them."""

    style: Style | None = None
    media: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request.

    Attributes:
        fields: The fields of a form of Swagger 2, which replace the schema.
        files: Names of the fields of a form that are files.
    """

    media: str
    schema: JsonValue = None
    description: str = ""
    is_required: bool = False
    fields: tuple[ApiParameter, ...] = ()
    encoding: Mapping[str, FormEncoding] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation, as it is called.

    Attributes:
        parameters: Parameters by the names of the tool's arguments, in order.
        body_name: Name of the argument that is the body.
        address: The base to which the path is appended; `None` if the document has no address
            with a host.
    """

    method: str
    path: str
    parameters: Mapping[str, ApiParameter]
    body_name: str
    body: Body | None
    address: str | None


class ApiDocument:
    """A parsed document, with its references and diagnostics of the text."""

    def __init__(self, text: str, place: str) -> None:
        self.noticed: list[Diagnostic] = []
        value: JsonValue
        if text.lstrip().startswith("{"):
            value = parse_repaired(text, place, self.noticed)[0]
        else:
            value = load_yaml(text, place, error=SourceError)
        self.content = value if isinstance(value, dict) else {}
        version = str(self.content.get("openapi", self.content.get("swagger", "")))
        if not version.startswith(("3", "2")):
            message = f"version {version[:20]!r} of OpenAPI is not known"
            raise SourceError(message, place=place, remedy=_REMEDY)
        paths = self.content.get("paths")
        if not isinstance(paths, dict):
            message = "this OpenAPI document has no mapping `paths`, so no operations"
            raise SourceError(message, place=place, remedy=_REMEDY)
        self._paths = paths
        self._place = place
        self._is_swagger = "openapi" not in self.content
        self.references = ReferenceResolver(self.content, place)
        info = self.content.get("info")
        self.title = stripped_text(info.get("title")) if isinstance(info, dict) else ""
        self._files_among: dict[int, frozenset[str]] = {}
        components = self.content.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, dict) else None
        groups = (schemes, self.content.get("securityDefinitions"))
        named = (one for group in groups if isinstance(group, dict) for one in group.values())
        secrets = [self.references.follow(one, "") or {} for one in named]
        self._hidden = _OF_THE_TRANSPORT | {
            (stripped_text(one.get("in")), stripped_text(one.get("name")).casefold())
            for one in secrets
        }

    def iterate_operations(self) -> Iterator[StatedOperation | Diagnostic]:
        """Iterate over the operations in their order, with a diagnostic for each invalid one."""
        uses: Counter[int] = Counter()
        for path, given in self._paths.items():
            where = f"paths.{path}"
            item = (self.references.follow(given, where) if path.startswith("/") else None) or {}
            found = [
                (name.lower(), name, value)
                for name, value in item.items()
                if name.lower() in METHODS
            ]
            others = item.get(_OTHERS)
            for name, value in others.items() if isinstance(others, dict) else ():
                is_other = _METHOD.fullmatch(name) and name.lower() not in METHODS
                found.append((name.lower() if is_other else "", f"{_OTHERS}.{name}", value))
            uses[id(item)] += 1
            if found and uses[id(item)] > _MAX_USES:
                names = ", ".join(sorted({method for method, _, _ in found}))
                message = (
                    f"more than {_MAX_USES} paths have the same operations by `$ref`: "
                    f"{names} of this one are left out"
                )
                yield warning(Code.TOOL_INVALID, message, f"{self._place}: {where}")
                continue
            shared, servers = item.get("parameters"), item.get("servers")
            for method, at, value in found:
                if isinstance(value, dict) and method not in _UNSENT:
                    yield StatedOperation(method, path, value, shared, servers)
                else:
                    message = "this is not an operation and is ignored"
                    yield warning(Code.TOOL_INVALID, message, f"{self._place}: {where}.{at}")

    def operation(self, stated: StatedOperation) -> ApiOperation:
        given = list(self._parameters(stated))
        named: dict[str, ApiParameter] = {}
        for place in _PLACES:
            for one in (one for one in given if one.place == place):
                named[_free(named, one.name, f"{one.name}_{place}")] = one
        for one in (one for one in given if one.place not in (*_PLACES, *_OF_SWAGGER)):
            message = f"the parameter {one.name[:80]!r} is in {one.place[:80]!r}, which is unknown"
            self.references.note(f"{message}; it is omitted", stated.where)
        return ApiOperation(
            stated.method.upper(),
            stated.path,
            named,
            _free(named, "body", "requestBody"),
            self._body(stated, given),
            self._address(stated),
        )

    def media(self, content: JsonValue, where: str) -> tuple[str, JsonObject]:
        """Choose the kind of *content* that a model writes best, and return it with its object."""
        if not isinstance(content, dict) or not content:
            return "", {}
        name = min(content, key=_media_order)
        return name, self.references.follow(content[name], where) or {}

    def _parameters(self, stated: StatedOperation) -> Iterator[ApiParameter]:
        """Yield parameters without secrets; the operation's replace the path's."""
        found: dict[tuple[str, str], JsonObject] = {}
        for given in (stated.shared, stated.value.get("parameters")):
            for one in given if isinstance(given, list) else ():
                value = self.references.follow(one, stated.where)
                name, place = (stripped_text((value or {}).get(key)) for key in ("name", "in"))
                if value is not None and name and place:
                    found[place, name] = value
        for (place, name), value in found.items():
            if (place, name.casefold()) in self._hidden:
                continue
            style = _stated_style(value, _STYLES.get(place, "form"))
            if self._is_swagger:
                collection = str(value.get("collectionFormat"))
                default = _STYLES.get(place, "form")
                style = Style(_COLLECTIONS.get(collection, default), is_exploded=False)
                style = Style() if collection == "multi" else style
            content, media = value.get("content"), ""
            if isinstance(content, dict) and content:
                kinds = map(kind_of_media, content)
                media = JSON if any(map(is_json, kinds)) else "text/plain"
            yield ApiParameter(name, place, value, style, media)

    def _body(self, stated: StatedOperation, given: Sequence[ApiParameter]) -> Body | None:
        consumed = stated.value.get("consumes", self.content.get("consumes"))
        listed = consumed if isinstance(consumed, list) else []
        accepted = [one for one in listed if isinstance(one, str)]  # in Swagger 2
        if bodies := [one.value for one in given if one.place == "body"]:
            media = min(accepted, key=_media_order) if accepted else JSON
            about, is_required = bodies[0].get("description"), bodies[0].get("required") is True
            return Body(media, bodies[0].get("schema"), stripped_text(about), is_required)
        if fields := tuple(one for one in given if one.place == "formData"):
            is_required = any(one.is_required for one in fields)
            files = frozenset(one.name for one in fields if one.value.get("type") == "file")
            known = [kind_of_media(one) for one in accepted]
            forms = [kind for kind in known if kind in (FORM, MULTIPART)] or [FORM]
            media = MULTIPART if files else min(forms, key=_media_order)
            encoding = {one.name: FormEncoding(one.style) for one in fields}
            return Body(media, None, "", is_required, fields, encoding, files)
        found = self.references.follow(stated.value.get("requestBody"), stated.where)
        if found is None:
            return None
        media, content = self.media(found.get("content"), stated.where)
        schema, encodings = content.get("schema"), content.get("encoding")
        encoding = {
            name: FormEncoding(
                _stated_style(one) if {"style", "explode"} & one.keys() else None,
                stripped_text(stripped_text(one.get("contentType")).partition(",")[0]),
            )
            for name, one in (encodings.items() if isinstance(encodings, dict) else ())
            if isinstance(one, dict)
        }
        is_form = kind_of_media(media) == MULTIPART
        files = self._files(schema, stated.where) if is_form else frozenset[str]()
        about, is_required = stripped_text(found.get("description")), found.get("required") is True
        return Body(media, schema, about, is_required, (), encoding, files)

    def _files(self, schema: JsonValue, where: str) -> frozenset[str]:
        """Return the names of the properties of a form that are files, or lists of files."""
        properties = (self.references.follow(schema, where) or {}).get("properties")
        if not isinstance(properties, dict):
            return frozenset()
        known = self._files_among.get(id(properties))  # many operations may take one form
        if known is None:
            found: set[str] = set()
            for name, one in properties.items():
                value = self.references.follow(one, where) or {}
                items = self.references.follow(value.get("items"), where) or {}
                if any(
                    kind.get("format") == "binary"
                    # Raw bytes in OpenAPI 3.1.
                    or ("contentMediaType" in kind and "contentEncoding" not in kind)
                    for kind in (value, items)
                ):
                    found.add(name)
            known = self._files_among[id(properties)] = frozenset(found)
        return known

    def _address(self, stated: StatedOperation) -> str | None:
        """Return the base of an operation's path, `None` for no address with a host.

        Servers of the operation take precedence over its path's servers, and these over the
        document's; the first usable one is taken, its variables by their defaults. In Swagger 2 it
        is made of scheme, `host` and `basePath`. A user, a query or a fragment makes it unusable.
        """
        if self._is_swagger:
            host, path = self.content.get("host"), self.content.get("basePath", "")
            given = stated.value.get("schemes", self.content.get("schemes"))
            schemes = given if isinstance(given, list) and given else _SCHEMES[:1]
            scheme = next((one for one in _SCHEMES if one in schemes), "")
            if not isinstance(host, str) or not isinstance(path, str) or set("/?#@") & set(host):
                return None
            return _usable(f"{scheme}://{host.strip()}/{path.strip().lstrip('/')}".rstrip("/"))
        document = self.content.get("servers")
        for servers in (stated.value.get("servers"), stated.servers, document):
            if isinstance(servers, list) and servers:
                found = (_usable(_server_address(one)) for one in servers)
                return next((one for one in found if one), None)
        return None

    @property
    def address(self) -> str | None:
        """The first usable server of the document itself, `None` without one."""
        return self._address(StatedOperation("", "", {}))


def stripped_text(value: JsonValue) -> str:
    """Return a text without blanks around it, "" for anything else."""
    return value.strip() if isinstance(value, str) else ""


def kind_of_media(name: str) -> str:
    """Return a kind of content in lower case, without its parameters."""
    return name.partition(";")[0].strip().casefold()


def is_json(kind: str) -> bool:
    """Return whether a kind of content, as `kind_of_media` returns it, is JSON."""
    return kind.endswith("json")


def is_text(kind: str) -> bool:
    """Return whether a kind of content is text, such as XML, though not JSON."""
    return _TEXT.fullmatch(kind) is not None


def is_binary(kind: str) -> bool:
    """Return whether a body of this kind is neither text nor JSON, a form, or of any kind."""
    return not (is_json(kind) or is_text(kind) or kind in (FORM, MULTIPART, *ANY))


def is_base_address(text: str) -> bool:
    """Return whether *text* is an address with a host that paths can be appended to."""
    if not _ADDRESS.fullmatch(text):
        return False
    parts = split_address(text)
    return parts is not None and bool(parts.hostname) and parts.port != 0


def _usable(address: str) -> str | None:
    if not is_base_address(address):
        return None
    parts = urlsplit(address)
    return None if "@" in parts.netloc or parts.query or parts.fragment else address


def _server_address(server: JsonValue) -> str:
    url = server.get("url") if isinstance(server, dict) else None
    given = server.get("variables") if isinstance(server, dict) else None
    variables = given if isinstance(given, dict) else {}
    defaults = {
        name: str(one["default"])
        for name, one in variables.items()
        if isinstance(one, dict) and isinstance(one.get("default"), str | int)
    }
    if not isinstance(url, str):
        return ""
    return _VARIABLE.sub(lambda found: defaults.get(found[1], found[0]), url.strip())


def _stated_style(value: JsonObject, default: str = "form") -> Style:
    stated, explode = value.get("style"), value.get("explode")
    name = stated if isinstance(stated, str) else default
    return Style(name, explode if isinstance(explode, bool) else name == "form")


def _media_order(name: str) -> tuple[int, int]:
    kind = kind_of_media(name)
    if kind in _MEDIA:
        return (_MEDIA.index(kind), 0)
    return (0, 1) if is_json(kind) else (len(_MEDIA), 0)


def _free(taken: Collection[str], *names: str) -> str:
    """Return the first of *names* that is not taken, else the last with a number."""
    last = names[-1]
    numbered = (f"{last}_{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (*names, *numbered) if name not in taken)


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
    "query": _SAFE,
}
_EXTENSION = re.compile(r"x-mcpg-|x-(?=search-)")
_FILES = "A file is text, or a data: URL in base64."
_INPUT_LIMIT, _OUTPUT_LIMIT = 1000, 200
_LEAST_LENGTH, _GROWTH = 2_000_000, 20


def read_openapi(
    text: str, place: str, *, default_source: str, source_id: str | None = None
) -> ManifestTools:
    """Read the operations of an OpenAPI 3.x or Swagger 2 document, JSON or YAML, as tools.

    The source of the tools is *source_id*, else the title, else *default_source*.
    """
    document = ApiDocument(text, place)
    source = (source_id or "").strip() or normalize(document.title, default_source)
    reader = _OperationReader(document, len(text))
    tools: list[Tool] = []
    noticed = document.noticed
    for stated in document.iterate_operations():
        if isinstance(stated, StatedOperation):
            tools.append(reader.tool(stated, source, place))
        else:
            noticed.append(stated)
    return ManifestTools(tuple(tools), (*noticed, *document.references.diagnostics))


class _OperationReader:
    """Makes tools of a document's operations; its length bounds the size of all schemas."""

    def __init__(self, document: ApiDocument, length: int) -> None:
        self._document = document
        references = document.references
        siblings = str(document.content.get("openapi", "")).startswith(("3.1", "3.2"))
        self._inputs = SchemaCopier(references, "readOnly", _INPUT_LIMIT, siblings=siblings)
        self._outputs = SchemaCopier(references, "writeOnly", _OUTPUT_LIMIT, siblings=siblings)
        self._left = _LEAST_LENGTH + _GROWTH * length

    def tool(self, stated: StatedOperation, source_id: str, place: str) -> Tool:
        schemas: tuple[JsonObject, JsonObject | None] | None = None
        if self._left > 0:
            schemas = self._input(stated), self._output(stated)
            self._left -= len(json.dumps(schemas, ensure_ascii=False))
            if self._left < 0:
                # The operations that follow are not tried: a small document could take long.
                schemas, self._left = None, 0
        if schemas is None:
            message = "the schemas of this document are too large"
            omitted = f"{message}: they are omitted for this operation"
            self._document.references.note(omitted, stated.where)
            schemas = {"type": "object"}, None
        summary = stripped_text(stated.value.get("summary"))
        description = stripped_text(stated.value.get("description"))
        return Tool(
            id="",
            source_id=source_id,
            name=stated.name,
            title=(summary or None) if description else None,
            description=description or summary or f"{stated.method.upper()} {stated.path}",
            input_schema=schemas[0],
            output_schema=schemas[1],
            meta={"openapi": {"method": stated.method, "path": stated.path}},
            hints=_hints(stated),
            place=f"{place}: {stated.where}",
        )

    def _input(self, stated: StatedOperation) -> JsonObject:
        room = CopyBudget(self._inputs.limit, stated.where)
        operation = self._document.operation(stated)
        properties: JsonObject = {
            name: self._parameter(one, room) for name, one in operation.parameters.items()
        }
        required = [name for name, one in operation.parameters.items() if one.is_required]
        if operation.body is not None:
            properties[operation.body_name] = self._body(operation.body, room)
            required += [operation.body_name] * operation.body.is_required
        return self._inputs.add_definitions(_object(properties, required), room)

    def _parameter(self, parameter: ApiParameter, room: CopyBudget) -> JsonObject:
        value = parameter.value
        content = value.get("content")
        given = value.get("schema", value)
        if isinstance(content, dict):
            given = self._document.media(content, room.where)[1].get("schema")
        kept = self._inputs.copy(given, room)
        for key in ("required", "properties") if given is value else ():
            kept.pop(key, None)
        if stripped_text(value.get("description")):
            kept["description"] = stripped_text(value.get("description"))
        if value.get("deprecated") is True:
            kept["deprecated"] = True
        return kept

    def _body(self, body: Body, room: CopyBudget) -> JsonObject:
        if body.fields:
            return _object(
                {one.name: self._parameter(one, room) for one in body.fields},
                [one.name for one in body.fields if one.is_required],
            )
        kept, kind = self._inputs.copy(body.schema, room), kind_of_media(body.media)
        # Anything but JSON is passed as text.
        if is_binary(kind):
            media: JsonObject = {} if "*" in kind else {"contentMediaType": kind}
            kept = {**shallow(kept), "type": "string", "contentEncoding": "base64", **media}
        elif kept and is_text(kind) and not kind.startswith("text/") and kind != FORM:
            kept = {"anyOf": [{"type": "string", "contentMediaType": kind}, kept]}
        if body.description:
            kept.setdefault("description", body.description)
        if body.files:
            stated = stripped_text(kept.get("description"))
            kept["description"] = f"{stated} {_FILES}".lstrip()
        return kept

    def _output(self, stated: StatedOperation) -> JsonObject | None:
        responses = stated.value.get("responses")
        if not isinstance(responses, dict):
            return None
        for code in sorted(responses):
            if code[:1] != "2" or len(code) != len("200"):
                continue
            response = self._document.references.follow(responses[code], stated.where) or {}
            name, media = self._document.media(response.get("content"), stated.where)
            kind = kind_of_media(name)
            if not is_json(kind) and kind not in ANY:
                return None  # such a result has no structure
            schema = response.get("schema") or media.get("schema")
            if isinstance(schema, dict) and schema:
                room = CopyBudget(self._outputs.limit, stated.where)
                kept = self._outputs.copy(schema, room)
                return self._outputs.add_definitions(kept, room) or None
        return None


def _object(properties: JsonObject, required: Sequence[JsonValue]) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties}
    return {**schema, "required": [*required]} if required else schema


def _hints(stated: StatedOperation) -> Hints:
    """Return the hints of extensions, completed from tags, `deprecated` and method."""
    value = stated.value
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
        _BY_METHOD.get(stated.method, Hints()),
    )
