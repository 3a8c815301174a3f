"""OpenAPI 3 and Swagger 2 documents, whose operations become tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.catalog.entries import ManifestTools
from mcpg.catalog.naming import normalize
from mcpg.catalog.openapi.document import Document
from mcpg.catalog.openapi.layout import Operation

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool


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
