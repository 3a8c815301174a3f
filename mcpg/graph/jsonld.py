"""Convert documents to JSON-LD and back with a JSON-LD processor, offline.

For programs that import mcpg (see docs/how-to/graph.md); no command reads JSON-LD.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from pyld import jsonld

from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.model import Hints, SourceKind, Tier, Tool, ToolExample
from mcpg.documents.model import Link, ToolDocument, tool_path, tool_uri
from mcpg.documents.reader import read_mappings
from mcpg.errors import DocumentError, InputError
from mcpg.graph.terms import (
    CONTEXT_IRI,
    RDF_JSON,
    SOURCES,
    Literal,
    compacted,
    context,
    expanded,
    node_iri,
    terms,
)
from mcpg.graph.triples import (
    FLAGS,
    PREDICATES,
    TEXTS,
    TIERS,
    framed_documents,
    framed_tools,
    node_objects,
    stated_by,
    triples_of,
)
from mcpg.json_types import JsonObject, JsonValue
from mcpg.relations.model import Coverage, EdgeOrigin, FieldMapping

if TYPE_CHECKING:
    Choice = TypeVar("Choice", bound=StrEnum)


_ANONYMOUS = "_:"
_KINDS = {iri: kind for kind, iri in PREDICATES.items()}


def document_of(node: Mapping[str, Any], place: str) -> ToolDocument:
    """Read the document of the tool *node*.

    Args:
        node: The tool with its parts within it, as `mcpg.graph.jsonld.framed` gives it.
        place: What to call the JSON-LD document in messages.

    Raises:
        DocumentError: Nothing names the tool, or something is said of it that can be said of none.
    """
    return _Reader(node, f"{place}: {node.get('id', 'a tool')}").document()


class _Reader:
    """Reads one node, of which any member may be anything that JSON-LD allows."""

    def __init__(self, node: Mapping[str, Any], place: str) -> None:
        self._node = node
        self._place = place

    def document(self) -> ToolDocument:
        name = self._text("toolName") or self._text("name")
        if not name:
            raise self._refused("nothing names the tool", "give it a `toolName`")
        schema = self._json("inputSchema")
        members: JsonObject = {} if schema is None else {"input_schema": schema}
        tool = Tool(
            id=self._text("toolId") or "",
            source_id=self._source(),
            name=name,
            title=self._text("title"),
            description=self._text("description") or "",
            output_schema=self._json("outputSchema"),
            annotations=self._json("annotations") or {},
            meta=self._json("meta") or {},
            hints=self._hints(),
            source_kind=self._choice(SourceKind, "sourceKind") or SourceKind.LOCAL,
            place=self._place,
            **members,  # type: ignore[arg-type]
        )
        iri = self._iri(self._node)
        own = "" if iri.startswith(_ANONYMOUS) else iri
        document = ToolDocument(
            tool=tool,
            path=self._text("path") or tool_path(tool.source_id, tool.name),
            uri=self._text("statedUri") or own or tool_uri(tool.source_id, tool.name),
            groups=self._groups(),
            body=self._text("body") or "",
            states_relations=self._flag("statesRelations") is not False,
            further=self._json("frontMatter") or {},
        )
        # What the front matter states beside the links is read with it.
        stated = stated_by([document]).of[node_iri(document.uri)]
        return replace(document, links=tuple(self._links(stated)))

    def _source(self) -> str:
        """Return the name of the source, which its IRI carries as well."""
        for source in self._all("source"):
            name = _Reader(source, self._place)._text("name") if _is_node(source) else None  # noqa: SLF001
            return self._iri(source).removeprefix(SOURCES) if name is None else name
        return ""

    def _hints(self) -> Hints:
        keys = terms()
        lists = {name: tuple(self._texts(keys[iri].name)) for name, iri in TEXTS.items()}
        flags = {name: self._flag(keys[iri].name) for name, iri in FLAGS.items()}
        tiers = {name: self._choice(Tier, keys[iri].name) for name, iri in TIERS.items()}
        examples = [_Reader(one, self._place) for one in self._all("examples") if _is_node(one)]
        return Hints(**lists, **flags, **tiers, examples=tuple(map(_Reader.example, examples)))  # type: ignore[arg-type]

    def example(self) -> ToolExample:
        return ToolExample(
            self._text("input") or "", self._text("output"), self._text("description")
        )

    def _groups(self) -> tuple[str, ...]:
        stated = list(self._texts("statedGroups"))
        covered = set(map(node_iri, stated))
        others = [self._iri(group) for group in self._all("groups")]
        return (*stated, *(iri for iri in others if iri not in covered))

    def _links(self, stated: Container[tuple[str, str | Literal]]) -> Iterator[Link]:
        """Return the edges that statements describe, then lone ones that are not *stated*."""
        statements = [_Reader(one, self._place) for one in self._all("relations") if _is_node(one)]
        links = [link for link in map(_Reader.link, statements) if link is not None]
        yield from links
        described = {(link.kind, node_iri(link.target)) for link in links}
        for predicate, kind in _KINDS.items():
            for target in map(self._iri, self._all(terms()[predicate].name)):
                if (kind, target) not in described and (predicate, target) not in stated:
                    yield Link(kind, target)

    def link(self) -> Link | None:
        """Read a statement; `None` when it is about no edge between tools."""
        kind = next(map(_KINDS.get, map(self._iri, self._all("predicate"))), None)
        target = self._text("statedTarget") or next(map(self._iri, self._all("object")), "")
        if kind is None or not target:
            return None
        return Link(
            kind,
            target,
            self._weight(),
            self._text("reason") or "",
            self._choice(EdgeOrigin, "origin") or EdgeOrigin.AUTHORED,
            self._mapping(),
            self._choice(Coverage, "coverage"),
        )

    def _mapping(self) -> tuple[FieldMapping, ...]:
        stated = self._json("mapping")
        found, faults = read_mappings(stated.get("fields") if stated else [])
        if faults:
            raise self._refused(f"the mapping of an edge has {faults[0]}", "correct the mapping")
        return found

    def _weight(self) -> float:
        stated = next(self._texts("confidence"), "1")
        try:
            weight = float(stated)
        except ValueError:
            weight = 0.0
        if not 0 < weight <= 1:
            remedy = "use a number in (0, 1]"
            raise self._refused(f"the confidence {stated!r} of an edge is invalid", remedy)
        return weight

    def _all(self, key: str) -> list[Any]:
        value = self._node.get(key)
        return value if isinstance(value, list) else [] if value is None else [value]

    def _texts(self, key: str) -> Iterator[str]:
        for value in self._all(key):
            plain = value.get("@value") if isinstance(value, dict) else value
            if isinstance(plain, str | int | float) and not isinstance(plain, bool):
                yield str(plain)

    def _text(self, key: str) -> str | None:
        return next(self._texts(key), None)

    def _flag(self, key: str) -> bool | None:
        values = self._all(key)
        return None if not values else values[0] in (True, "true", "1")

    def _json(self, key: str) -> JsonObject | None:
        stated = self._text(key)
        try:
            value = None if stated is None else json.loads(stated)
        except (ValueError, RecursionError):
            value = stated
        if value is not None and not isinstance(value, dict):
            raise self._refused(f"its `{key}` is no JSON object", "write it as an object")
        return value

    def _choice(self, kind: type[Choice], key: str) -> Choice | None:
        stated = self._text(key)
        try:
            return None if stated is None else kind(stated)
        except ValueError as fault:
            remedy = f"write {', '.join(kind)}"
            raise self._refused(f"its `{key}` is {stated!r}", remedy) from fault

    @staticmethod
    def _iri(value: Any) -> str:
        return expanded(str(value.get("id", "")) if isinstance(value, dict) else str(value))

    def _refused(self, message: str, remedy: str) -> DocumentError:
        return DocumentError(message, place=self._place, remedy=remedy)


def _is_node(value: Any) -> bool:
    return isinstance(value, dict)


# A processor that embeds what is referred to can be made to do so without an end: where each of a
# few nodes refers to the next one twice, there are more ways than memory. So it embeds nothing.
_FRAME: JsonObject = {"@embed": "@never"}
_FAULTS = (jsonld.JsonLdError, AttributeError, KeyError, RecursionError, TypeError, ValueError)


def to_jsonld(document: ToolDocument) -> dict[str, Any]:
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
        DocumentError: It is no JSON or no JSON-LD, it refers to a context that is not available, or
            what it says of a tool cannot be true of one.
    """
    value = _parsed(data, place) if isinstance(data, str) else data
    return [document_of(node, place) for node in framed(value, place=place, contexts=contexts)]


def framed(
    data: JsonValue, *, place: str = "JSON-LD", contexts: Mapping[str, Any] | None = None
) -> list[JsonObject]:
    """Return the tools in the JSON-LD *data* under our context, each with its parts within it.

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
            raise ValueError(f"the context {iri!r} is not available")
        return {"contextUrl": None, "documentUrl": iri, "document": known[iri]}

    return load


def _cause(fault: Exception) -> str:
    while isinstance(fault.__cause__, Exception):
        fault = fault.__cause__
    if isinstance(fault, RecursionError):
        return "it is nested too deeply"
    text = fault.args[0] if fault.args else type(fault).__name__
    return str(text).removesuffix(".")
