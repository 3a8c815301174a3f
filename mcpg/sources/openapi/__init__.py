"""OpenAPI 3 and Swagger 2 documents, whose operations become tools."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from mcpg.catalog.catalog import normalize
from mcpg.catalog.hints import hints_from
from mcpg.catalog.manifest import ManifestTools
from mcpg.catalog.model import Hints, Tool
from mcpg.catalog.view import unique
from mcpg.sources.openapi.operations import (
    ANY,
    FORM,
    ApiDocument,
    ApiParameter,
    Body,
    StatedOperation,
    is_binary,
    is_json,
    is_text,
    kind_of_media,
    stripped_text,
)
from mcpg.sources.openapi.schemas import CopyBudget, SchemaCopier, shallow
from mcpg.text.json_values import JsonObject, JsonValue

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

    Args:
        text: The whole document.
        place: Its file, for messages.
        default_source: Source id where the document has no title.
        source_id: Source id that overrides the title.

    Raises:
        SourceError: The text is malformed, of an unknown version, or has no `paths`.
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
    """Makes tools of the operations of one document.

    Args:
        document: The document.
        length: Length of its text in characters, by which the size of all schemas is bounded.
    """

    def __init__(self, document: ApiDocument, length: int) -> None:
        self._document = document
        references = document.references
        siblings = str(document.content.get("openapi", "")).startswith(("3.1", "3.2"))
        self._inputs = SchemaCopier(references, "readOnly", _INPUT_LIMIT, siblings=siblings)
        self._outputs = SchemaCopier(references, "writeOnly", _OUTPUT_LIMIT, siblings=siblings)
        self._left = _LEAST_LENGTH + _GROWTH * length

    def tool(self, stated: StatedOperation, source_id: str, place: str) -> Tool:
        value = stated.value
        summary, description = (
            stripped_text(value.get("summary")),
            stripped_text(value.get("description")),
        )
        input_schema, output_schema = self._schemas(stated)
        return Tool(
            id="",
            source_id=source_id,
            name=stated.name,
            title=(summary or None) if description else None,
            description=description or summary or f"{stated.method.upper()} {stated.path}",
            input_schema=input_schema,
            output_schema=output_schema,
            meta={"openapi": {"method": stated.method, "path": stated.path}},
            hints=_hints(stated),
            place=f"{place}: {stated.where}",
        )

    def _schemas(self, stated: StatedOperation) -> tuple[JsonObject, JsonObject | None]:
        """Make the schemas of arguments and response, while those of the document are bounded."""
        if self._left > 0:
            made = self._input(stated), self._output(stated)
            self._left -= len(json.dumps(made, ensure_ascii=False))
            if self._left >= 0:
                return made
            # The operations that follow are not tried: a small document could take long.
            self._left = 0
        message = "the schemas of this document are too large: those of this operation are omitted"
        self._document.references.note(message, stated.where)
        return {"type": "object"}, None

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
        # What is no JSON is given as a text.
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
    """Return the hints of extensions, completed by those of tags, `deprecated` and method."""
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
