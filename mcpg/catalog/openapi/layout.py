"""How the parameters and the body of an operation lie in the arguments of its tool.

The schema of a tool's arguments is made by this layout, and so is the request when it is called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mcpg.catalog.openapi.references import References
    from mcpg.jsontypes import JsonObject, JsonValue

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
