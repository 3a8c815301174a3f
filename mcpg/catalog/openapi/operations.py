"""From one operation of an OpenAPI document to a tool."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mcpg.catalog.hintkeys import hints_from
from mcpg.catalog.model import Hints, Tool, unique
from mcpg.catalog.openapi.layout import Layouts, text_of
from mcpg.catalog.openapi.schemas import Schemas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.catalog.openapi.layout import Body, Operation, Parameter
    from mcpg.catalog.openapi.references import References
    from mcpg.catalog.openapi.schemas import Room
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
