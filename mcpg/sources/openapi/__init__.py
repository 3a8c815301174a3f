"""OpenAPI 3 and Swagger 2 documents, whose operations become tools."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.catalog.catalog import normalize
from mcpg.catalog.manifest import ManifestTools, parse_repaired
from mcpg.errors import Code, Diagnostic, SourceError, warning
from mcpg.sources.openapi.operations import (
    METHODS,
    Operation,
    OperationReader,
    server_address,
    text_of,
)
from mcpg.sources.openapi.schemas import References
from mcpg.text.safeyaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.catalog.model import Tool
    from mcpg.json_types import JsonObject, JsonValue
    from mcpg.sources.openapi.operations import Layout

# SECTION document: An OpenAPI 3 or Swagger 2 document: its operations, and how they are called.


_MOST_USES = 20
_REMEDY = "give an OpenAPI 3 or Swagger 2 document"


@dataclass(frozen=True, slots=True)
class Call:
    """How an operation is called.

    Attributes:
        method: HTTP method in capitals.
        path: The path, with its templates.
        layout: How its arguments lie.
        address: What the path stands below, as the document says it; `None` where it names no
            address with a host.
        is_swagger: Whether parameters say how they are written as those of Swagger 2 do.
    """

    method: str
    path: str
    layout: Layout
    address: str | None
    is_swagger: bool


class Document:
    """A document that was parsed.

    Attributes:
        title: The title of the API, "" for none.
        reader: Reads its operations.
        references: Its references, with what was noticed of them.
        noticed: What was noticed of the text.
    """

    def __init__(self, text: str, place: str) -> None:
        """Parse a document, JSON or YAML.

        Args:
            text: The whole document.
            place: Its file, for messages.

        Raises:
            SourceError: The text is broken, of a version that is not known, or has no `paths`.
        """
        self._content, self.noticed = _parsed(text, place)
        paths = self._content.get("paths")
        if not isinstance(paths, dict):
            message = "this OpenAPI document has no mapping `paths`, so no operations"
            raise SourceError(message, place=place, remedy=_REMEDY)
        self._paths = paths
        self._place = place
        self.references = References(self._content, place)
        self.reader = OperationReader(self._content, self.references, len(text))
        info = self._content.get("info")
        self.title = text_of(info.get("title")) if isinstance(info, dict) else ""

    def operations(self) -> Iterator[Operation | Diagnostic]:
        """Give the operations in their order, and a diagnostic for each that is none."""
        uses: Counter[int] = Counter()
        for path, given in self._paths.items():
            where = f"paths.{path}"
            item = (self.references.follow(given, where) if path.startswith("/") else None) or {}
            found = {method: one for method, one in item.items() if method.lower() in METHODS}
            uses[id(item)] += 1
            if found and uses[id(item)] > _MOST_USES:
                yield self._used_up(found, where)
                continue
            for method, value in found.items():
                if isinstance(value, dict):
                    shared, servers = item.get("parameters"), item.get("servers")
                    yield Operation(method.lower(), path, value, shared, servers)
                else:
                    message = "this is no operation; it is left out"
                    yield warning(Code.TOOL_INVALID, message, f"{self._place}: {where}.{method}")

    def _used_up(self, methods: Iterable[str], where: str) -> Diagnostic:
        """Say that the operations *methods* of the path *where* are those of many other paths."""
        names = ", ".join(sorted({method.lower() for method in methods}))
        message = (
            f"more than {_MOST_USES} paths have the same operations by `$ref`: "
            f"{names} of this one are left out"
        )
        return warning(Code.TOOL_INVALID, message, f"{self._place}: {where}")

    def call(self, operation: Operation) -> Call:
        """Say how one of the operations is called."""
        return Call(
            operation.method.upper(),
            operation.path,
            self.reader.layouts.of(operation),
            server_address(self._content, operation),
            "openapi" not in self._content,
        )


def _parsed(text: str, place: str) -> tuple[JsonObject, list[Diagnostic]]:
    noticed: list[Diagnostic] = []
    value: JsonValue
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
    document = Document(text, place)
    source = (source_id or "").strip() or normalize(document.title, default_source)
    tools: list[Tool] = []
    noticed = document.noticed
    for operation in document.operations():
        if isinstance(operation, Operation):
            tools.append(document.reader.tool(operation, source, place))
        else:
            noticed.append(operation)
    return ManifestTools(tuple(tools), (*noticed, *document.references.diagnostics))
