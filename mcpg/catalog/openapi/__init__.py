"""OpenAPI 3 and Swagger 2 documents, whose operations become tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.catalog.entries import ManifestTools, parse_repaired
from mcpg.catalog.naming import normalize
from mcpg.catalog.openapi.operations import METHODS, Operation, OperationReader
from mcpg.catalog.openapi.references import References
from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.errors import SourceError
from mcpg.text.safeyaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.catalog.model import Tool
    from mcpg.jsontypes import JsonObject, JsonValue

_REMEDY = "give an OpenAPI 3 or Swagger 2 document"


def read_openapi(
    text: str, place: str, *, default_source: str, source_id: str | None = None
) -> ManifestTools:
    """Read the operations of an OpenAPI 3.x or Swagger 2 document, JSON or YAML.

    Args:
        text: The whole document.
        place: Its file, for messages.
        default_source: Source id where the document has no title.
        source_id: Source id that overrides the title.

    Raises:
        SourceError: The text is broken, of a version that is not known, or has no `paths`.
    """
    document, noticed = _parsed(text, place)
    paths = document.get("paths")
    if not isinstance(paths, dict):
        message = "this OpenAPI document has no mapping `paths`, so no operations"
        raise SourceError(message, place=place, remedy=_REMEDY)
    references = References(document, place)
    reader = OperationReader(document, references)
    source = (source_id or "").strip() or normalize(_title(document), default_source)
    tools: list[Tool] = []
    for operation in _operations(paths, references, place):
        if isinstance(operation, Operation):
            tools.append(reader.tool(operation, source, place))
        else:
            noticed.append(operation)
    return ManifestTools(tuple(tools), (*noticed, *references.diagnostics))


def _parsed(text: str, place: str) -> tuple[JsonObject, list[Diagnostic]]:
    noticed: list[Diagnostic] = []
    if text.lstrip().startswith("{"):
        value = parse_repaired(text, place, noticed)[0]
    else:
        value = load_yaml(text, place, error=SourceError)
    document = value if isinstance(value, dict) else {}
    version = str(document.get("openapi", document.get("swagger", "")))
    if not version.startswith(("3", "2")):
        message = f"version {version[:20]!r} of OpenAPI is not known"
        raise SourceError(message, place=place, remedy=_REMEDY)
    return document, noticed


def _title(document: JsonObject) -> str:
    info = document.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    return title if isinstance(title, str) else ""


def _operations(
    paths: JsonObject, references: References, place: str
) -> Iterator[Operation | Diagnostic]:
    """Give the operations in the document's order, and a diagnostic for each that is none."""
    for path, given in paths.items():
        where = f"paths.{path}"
        item = references.follow(given, where) if path.startswith("/") else {}
        for method, value in (item or {}).items():
            if method.lower() not in METHODS:
                continue
            if isinstance(value, dict):
                shared: JsonValue = (item or {}).get("parameters")
                yield Operation(method.lower(), path, value, shared)
            else:
                message = "this is no operation; it is left out"
                yield warning(Code.TOOL_INVALID, message, f"{place}: {where}.{method}")
