"""Convert documents to JSON-LD and back, offline, for programs that import mcpg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpg.documents.model import ToolDocument
from mcpg.errors import DocumentError, SourceError
from mcpg.graph.iris import node_iri
from mcpg.graph.parsing import RdfFormat, triples_in, triples_of_json_ld
from mcpg.graph.reading import by_subject, tools_in
from mcpg.graph.terms import compact_iri, context
from mcpg.graph.triples import framed_documents, triples_of
from mcpg.text.json_values import JsonValue


def to_jsonld(document: ToolDocument) -> dict[str, Any]:
    """Return *document* as a JSON-LD object: the tool or page with all its parts, and the context.

    Of a tool, `from_jsonld` gives an equal document back, whatever a JSON-LD processor did to the
    object meanwhile, as long as arrays keep their order.
    """
    own = compact_iri(node_iri(document.uri))
    nodes = framed_documents(triples_of([document]))
    return {"@context": dict(context()), **next(node for node in nodes if node["id"] == own)}


def from_jsonld(
    data: str | JsonValue, *, place: str = "JSON-LD", contexts: Mapping[str, Any] | None = None
) -> list[ToolDocument]:
    """Read the tools in a JSON-LD document of any shape: expanded, flattened, compacted, framed.

    Nothing is fetched: a document may hold its context, refer to ours as `CONTEXT_IRI`, or refer
    to one in *contexts*.

    Args:
        data: The document, as text or parsed.
        place: What to call the document in messages.
        contexts: The documents of further contexts that it may refer to, by IRI.

    Returns:
        The documents of the tools, in the document's order.

    Raises:
        DocumentError: It is no JSON or no JSON-LD, it refers to a context that is not available, or
            what it says of a tool cannot be true of one.
    """
    try:
        found = (
            triples_in(data, RdfFormat.JSON_LD, place, contexts)
            if isinstance(data, str)
            else triples_of_json_ld(data, place, contexts)
        )
        statements = by_subject(found, place)
    except SourceError as fault:
        raise DocumentError(fault.message, place=fault.place, remedy=fault.remedy) from fault
    return [reader.tool() for reader in tools_in(statements, place)]
