"""Documents as JSON-LD, and back, by a JSON-LD processor that never goes to the network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyld import jsonld

from mcpg.catalog.jsontext import parse_json_documents
from mcpg.errors import DocumentError, InputError
from mcpg.graph.context import CONTEXT_IRI, compacted, context
from mcpg.graph.iris import node_iri
from mcpg.graph.nodes import framed_documents, framed_tools, node_objects
from mcpg.graph.triples import triples_of
from mcpg.graph.unlinked import document_of
from mcpg.graph.vocabulary import RDF_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcpg.documents.model import ToolDocument
    from mcpg.jsontypes import JsonObject, JsonValue

# A processor that embeds what is referred to can be made to do so without an end: where each of a
# few nodes refers to the next one twice, there are more ways than memory. So it embeds nothing.
_FRAME: JsonObject = {"@embed": "@never"}
_FAULTS = (jsonld.JsonLdError, AttributeError, KeyError, RecursionError, TypeError, ValueError)


def to_jsonld(document: ToolDocument) -> JsonObject:
    """Return *document* as a JSON-LD object: the tool or page with all its parts, and the context.

    Of a tool, `from_jsonld` gives an equal document back, whatever a JSON-LD processor did to the
    object meanwhile, as long as arrays keep their order.
    """
    own = compacted(node_iri(document.uri))
    nodes = framed_documents(node_objects(triples_of([document])))
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
        DocumentError: It is no JSON or no JSON-LD, it refers to a context that is not at hand, or
            what it says of a tool cannot be true of one.
    """
    value = _parsed(data, place) if isinstance(data, str) else data
    return [document_of(node, place) for node in framed(value, place=place, contexts=contexts)]


def framed(
    data: JsonValue, *, place: str = "JSON-LD", contexts: Mapping[str, Any] | None = None
) -> list[JsonObject]:
    """Give the tools in the JSON-LD *data* under our context, each with its parts within it.

    Args:
        data: A JSON-LD document of any shape.
        place: See `from_jsonld`.
        contexts: See `from_jsonld`.

    Raises:
        DocumentError: See `from_jsonld`.
    """
    options = {"documentLoader": _loader(contexts or {}), "omitDefault": True, "omitGraph": False}
    try:
        expanded = _with_json_as_text(jsonld.expand(data, options))
        found = jsonld.frame(expanded, {"@context": context(), **_FRAME}, options)
    except _FAULTS as fault:
        raise DocumentError(
            f"cannot be read as JSON-LD: {_cause(fault)}",
            place=place,
            remedy="check it with any JSON-LD processor; contexts are never fetched, so a document"
            f" holds its own or refers to {CONTEXT_IRI!r}",
        ) from fault
    return list(framed_tools(found["@graph"]))


def _parsed(text: str, place: str) -> JsonValue:
    try:
        value, *more = parse_json_documents(text, place)
    except InputError as fault:
        raise DocumentError(fault.message, place=fault.place, remedy=fault.remedy) from fault
    if more:
        remedy = "put them into one array"
        raise DocumentError("holds several JSON values", place=place, remedy=remedy)
    return value


def _with_json_as_text(value: Any) -> Any:
    """Write JSON values (`@json`) among expanded JSON-LD as text, as our context has them.

    Framing by the processor takes every `null` out of arrays, those of JSON values not excepted.
    """
    if isinstance(value, list):
        return [_with_json_as_text(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("@type") == "@json":
        return {"@type": RDF_JSON, "@value": json.dumps(value["@value"], ensure_ascii=False)}
    return {key: _with_json_as_text(one) for key, one in value.items()}


def _loader(contexts: Mapping[str, Any]) -> Callable[[str, Any], JsonObject]:
    known = {CONTEXT_IRI: {"@context": context()}, **contexts}

    def load(iri: str, _: Any) -> JsonObject:
        if iri not in known:
            raise ValueError(f"the context {iri!r} is not at hand")
        return {"contextUrl": None, "documentUrl": iri, "document": known[iri]}

    return load


def _cause(fault: Exception) -> str:
    """Say in one line what a JSON-LD processor found wrong."""
    while isinstance(fault.__cause__, Exception):
        fault = fault.__cause__
    if isinstance(fault, RecursionError):
        return "it is nested too deeply"
    text = fault.args[0] if fault.args else type(fault).__name__
    return str(text).removesuffix(".")
