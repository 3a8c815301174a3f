"""From one operation of an OpenAPI document to a tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.catalog.hintkeys import hints_from
from mcpg.catalog.model import Hints, Tool, unique
from mcpg.catalog.openapi.schemas import Room, Schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.catalog.openapi.references import References
    from mcpg.jsontypes import JsonObject, JsonValue

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

_OF_THE_TRANSPORT = frozenset(
    ("header", name) for name in ("accept", "content-type", "authorization")
)
_PLACES = ("path", "query", "header", "cookie")
_OUTSIDE_NAME = re.compile(r"[^\w-]+")
_EXTENSION = re.compile(r"x-mcpg-|x-(?=search-)")
_MEDIA = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_BODY_LIMIT, _ANSWER_LIMIT = 1000, 200


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as it stands in a document.

    Attributes:
        method: HTTP method in lower case.
        path: The path, with its templates.
        value: The operation object.
        shared: Parameters of all operations of the path.
    """

    method: str
    path: str
    value: JsonObject
    shared: JsonValue = None

    @property
    def where(self) -> str:
        """Say where it stands in the document."""
        return f"paths.{self.path}.{self.method}"

    @property
    def name(self) -> str:
        """Give its `operationId`, else a name out of method and path."""
        stated = _text(self.value.get("operationId"))
        return stated or _OUTSIDE_NAME.sub("_", f"{self.method} {self.path}").strip("_")


@dataclass(frozen=True, slots=True)
class _Argument:
    """One argument: a parameter, or what becomes part of the body."""

    name: str
    place: str
    value: JsonObject

    @property
    def is_required(self) -> bool:
        return self.place == "path" or self.value.get("required") is True


class OperationReader:
    """Reads the operations of one document.

    Args:
        document: The whole document.
        references: Its references.
    """

    def __init__(self, document: JsonObject, references: References) -> None:
        self._references = references
        siblings = str(document.get("openapi", "")).startswith(("3.1", "3.2"))
        self._asked = Schemas(references, "readOnly", _BODY_LIMIT, siblings=siblings)
        self._answered = Schemas(references, "writeOnly", _ANSWER_LIMIT, siblings=siblings)
        self._left_out = _OF_THE_TRANSPORT | set(_secrets(document, references))

    def tool(self, operation: Operation, source_id: str, place: str) -> Tool:
        """Read one operation."""
        value = operation.value
        summary, description = _text(value.get("summary")), _text(value.get("description"))
        return Tool(
            id="",
            source_id=source_id,
            name=operation.name,
            title=(summary or None) if description else None,
            description=description or summary or f"{operation.method.upper()} {operation.path}",
            input_schema=self._input(operation),
            output_schema=self._output(operation),
            meta={"openapi": {"method": operation.method, "path": operation.path}},
            hints=_hints(operation),
            place=f"{place}: {operation.where}",
        )

    def _arguments(self, operation: Operation) -> Iterator[_Argument]:
        """Give parameters, those of the operation in place of the path's; nothing secret."""
        found: dict[tuple[str, str], _Argument] = {}
        for given in (operation.shared, operation.value.get("parameters")):
            for one in given if isinstance(given, list) else ():
                value = self._references.follow(one, operation.where)
                name, place = (_text((value or {}).get(key)) for key in ("name", "in"))
                if value is not None and name and place:
                    found[place, name] = _Argument(name, place, value)
        for (place, name), argument in found.items():
            if (place, name.casefold()) not in self._left_out:
                yield argument

    def _input(self, operation: Operation) -> JsonObject:
        room, where = self._asked.room(), operation.where
        arguments = list(self._arguments(operation))
        properties: JsonObject = {}
        required: list[JsonValue] = []
        for place in _PLACES:
            for argument in (one for one in arguments if one.place == place):
                name = _free(properties, argument.name, f"{argument.name}_{place}")
                properties[name] = self._parameter(argument, room, where)
                if argument.is_required:
                    required.append(name)
        body, needed = self._body(operation, arguments, room)
        if body is not None:
            name = _free(properties, "body", "requestBody")
            properties[name] = body
            if needed:
                required.append(name)
        schema: JsonObject = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        return self._asked.finished(schema, room, where)

    def _parameter(self, argument: _Argument, room: Room, where: str) -> JsonObject:
        value = argument.value
        content = value.get("content")
        given = value.get("schema", value)
        if isinstance(content, dict):
            given = self._media(content, where)
        kept = self._asked.copy(given, room, where)
        for key in ("required", "properties") if given is value else ():
            kept.pop(key, None)
        if _text(value.get("description")):
            kept["description"] = _text(value.get("description"))
        if value.get("deprecated") is True:
            kept["deprecated"] = True
        return kept

    def _body(
        self, operation: Operation, arguments: list[_Argument], room: Room
    ) -> tuple[JsonObject | None, bool]:
        """Give the schema of the body, `None` if there is none, and whether it must be given."""
        where = operation.where
        bodies = [one for one in arguments if one.place == "body"]
        fields = [one for one in arguments if one.place == "formData"]
        if bodies:
            value, schema = bodies[0].value, bodies[0].value.get("schema")
        elif fields:
            return self._form(fields, room, where)
        else:
            found = self._references.follow(operation.value.get("requestBody"), where)
            if found is None:
                return None, False
            value, schema = found, self._media(found.get("content"), where)
        kept = self._asked.copy(schema, room, where)
        if _text(value.get("description")):
            kept.setdefault("description", _text(value.get("description")))
        return kept, value.get("required") is True

    def _form(self, fields: list[_Argument], room: Room, where: str) -> tuple[JsonObject, bool]:
        properties: JsonObject = {one.name: self._parameter(one, room, where) for one in fields}
        schema: JsonObject = {"type": "object", "properties": properties}
        required: list[JsonValue] = [one.name for one in fields if one.is_required]
        return {**schema, "required": required} if required else schema, bool(required)

    def _media(self, content: JsonValue, where: str) -> JsonValue:
        """Choose among kinds of content the one that a model can write best; give its schema."""
        if not isinstance(content, dict) or not content:
            return None
        names = sorted(content, key=_media_order)
        media = self._references.follow(content[names[0]], where)
        return None if media is None else media.get("schema")

    def _output(self, operation: Operation) -> JsonObject | None:
        answers = operation.value.get("responses")
        if not isinstance(answers, dict):
            return None
        for code in sorted(answers):
            if code[:1] != "2" or len(code) != len("200"):
                continue
            answer = self._references.follow(answers[code], operation.where) or {}
            schema = answer.get("schema") or self._media(answer.get("content"), operation.where)
            if isinstance(schema, dict) and schema:
                room = self._answered.room()
                kept = self._answered.copy(schema, room, operation.where)
                return self._answered.finished(kept, room, operation.where) or None
        return None


def _media_order(name: str) -> tuple[int, int]:
    kind = name.partition(";")[0].strip().casefold()
    if kind in _MEDIA:
        return (_MEDIA.index(kind), 0)
    return (0, 1) if kind.endswith("json") else (len(_MEDIA), 0)


def _free(taken: JsonObject, *names: str) -> str:
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
            yield _text(scheme.get("in")), _text(scheme.get("name")).casefold()


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


def _text(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""
