"""Read graphs among the sources of a bundle as documents.

What a graph says of a tool or a page beyond what documents have keys for becomes front matter:
types, properties and topics. What no document can say, such as facts about other nodes, is
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from mcpg.catalog.model import SourceDocument
from mcpg.documents.authored import write_authored_lines
from mcpg.documents.facts import infer_datatype, lexical_form
from mcpg.documents.front_matter import EXTRAS_KEY, member
from mcpg.documents.model import ToolDocument
from mcpg.documents.reader import GROUPS_KEY, LINK_KEYS, RELATIONS_KEY, state_evidence
from mcpg.documents.writer import write_document
from mcpg.errors import Code, Diagnostic, DocumentError, SourceError, error, warning
from mcpg.graph import terms as v
from mcpg.graph.document_nodes import NodeReader, Statements, by_subject, pages_in, tools_in
from mcpg.graph.iris import node_iri
from mcpg.graph.parsing import ANONYMOUS, detect_format, triples_in
from mcpg.graph.terms import RdfLiteral, Triple, compact_iri
from mcpg.graph.triples import FLAGS, TEXTS, TIERS, distinct_documents, number, triples_of
from mcpg.json_types import JsonObject, JsonValue
from mcpg.sources import SourceBatch
from mcpg.sources.model import RawGraph
from mcpg.text.safeyaml import plain_value
from mcpg.values import format_count

_TYPES, _PROPERTIES = "rdf_types", "rdf_properties"
_THINGS = {
    v.SCHEMA_ABOUT: "about",
    v.SCHEMA_MENTIONS: "entity_hints",
    v.SCHEMA_AUTHOR: "author",
}
_DOCUMENTS = frozenset({v.MCPG_TOOL, v.KB_MARKDOWN_DOCUMENT})
_NUMBERS = frozenset({v.XSD_DECIMAL, f"{v.XSD}integer", f"{v.XSD}double", f"{v.XSD}float"})
_SHOWN, _LONGEST_LABEL = 160, 1_000


@dataclass(frozen=True, slots=True)
class GraphDocuments:
    """What a graph holds.

    Attributes:
        documents: The documents of its tools, then its pages, in the order of the graph.
        diagnostics: What is left out.
    """

    documents: tuple[ToolDocument, ...]
    diagnostics: tuple[Diagnostic, ...]


def with_graphs_read(batch: SourceBatch) -> SourceBatch:
    """Return *batch* with the documents of its graphs instead of these.

    Raises:
        SourceError: A graph is broken or too large, or has neither tools nor pages.
    """
    if not batch.graphs:
        return batch
    documents, diagnostics = list(batch.documents), list(batch.diagnostics)
    for graph in batch.graphs:
        found = read_graph(graph.text, graph.place)
        diagnostics += found.diagnostics
        for document in found.documents:
            try:
                documents.append(_write_source_document(document, graph))
            except DocumentError as fault:
                diagnostics.append(_make_diagnostic(fault))
    return replace(batch, documents=tuple(documents), diagnostics=tuple(diagnostics), graphs=())


def read_graph(text: str, place: str) -> GraphDocuments:
    """Read the tools and pages of a graph.

    Args:
        text: The whole text, in any format of RDF.
        place: Its file, for messages; the extension tells the format.

    Raises:
        SourceError: It is broken or too large, or has neither tools nor pages.
    """
    statements = by_subject(triples_in(text, detect_format(place, text), place), place)
    found: dict[str, ToolDocument] = {}
    refused: list[Diagnostic] = []
    for reader in tools_in(statements, place):
        _read(reader, reader.tool, found, refused)
    for reader in pages_in(statements, place):
        _read(reader, reader.page, found, refused)
    if not found and not refused:
        raise SourceError(
            "is a graph without a tool",
            place=place,
            remedy=f"give each tool the class {v.MCPG_TOOL}, as `mcpg graph export` does",
        )
    kept, repeated = distinct_documents(found.values())
    whole = _add_front_matter(found, kept, statements)
    left_out = _left_out(found, whole, statements, place)
    return GraphDocuments(tuple(whole), (*refused, *repeated, *left_out))


def _read(
    reader: NodeReader,
    read: Callable[[], ToolDocument],
    found: dict[str, ToolDocument],
    refused: list[Diagnostic],
) -> None:
    try:
        found[reader.node] = read()
    except DocumentError as fault:
        refused.append(_make_diagnostic(fault))


def _make_diagnostic(fault: DocumentError) -> Diagnostic:
    advice = f": {fault.remedy}" if fault.remedy else ""
    return error(Code.DOCUMENT_INVALID, f"{fault.message}{advice}", fault.place)


def _add_front_matter(
    found: Mapping[str, ToolDocument], kept: Iterable[ToolDocument], statements: Statements
) -> list[ToolDocument]:
    """Return the documents *kept* with what else *statements* say of them as front matter."""
    kept = list(kept)
    given = set(map(_comparable, triples_of(kept)))
    nodes = {id(document): node for node, document in found.items()}
    whole: list[ToolDocument] = []
    described: set[str] = set()
    for document in kept:
        own, node = node_iri(document.uri), nodes[id(document)]
        beyond = [
            (predicate, value)
            for predicate, values in statements[node].items()
            for value in values
            if _comparable((own, predicate, value)) not in given
        ]
        whole.append(
            _with_front_matter(document, beyond, statements, described) if beyond else document
        )
    return whole


def _with_front_matter(
    document: ToolDocument,
    said: Iterable[tuple[str, str | RdfLiteral]],
    statements: Statements,
    described: set[str],
) -> ToolDocument:
    """Return *document* with what is *said* of it in the keys of its front matter.

    A thing is described by the first document that names it.
    """
    further: dict[str, list[JsonValue]] = {}
    # A document may have prefixes of its own.
    shortened = str if "rdf_prefixes" in document.further else compact_iri
    for predicate, value in said:
        if isinstance(value, str) and value.startswith(ANONYMOUS):
            continue
        if predicate == v.RDF_TYPE and isinstance(value, str):
            further.setdefault(_TYPES, []).append(shortened(value))
        elif predicate in _THINGS and isinstance(value, str) and _label(value, statements):
            item = _thing(value, statements, described)
            further.setdefault(_THINGS[predicate], []).append(item)
        elif not predicate.startswith(v.MCPG):
            property_ = {shortened(predicate): _property(value, shortened)}
            further.setdefault(_PROPERTIES, []).append(property_)
    joined = {key: [*_as_list(document.further.get(key)), *items] for key, items in further.items()}
    return replace(document, further={**document.further, **joined})


def _property(value: str | RdfLiteral, shortened: Callable[[str], str]) -> JsonValue:
    if isinstance(value, str):
        return {"id": value}
    if value.language:
        return {"value": value.text, "lang": value.language}
    if value.datatype == v.XSD_STRING:
        return value.text
    native = plain_value(value.text)
    if infer_datatype(native) == value.datatype and lexical_form(native) == value.text:
        return native
    return {"value": value.text, "datatype": shortened(value.datatype)}


def _label(node: str, statements: Statements) -> str:
    """Return the name of a thing, "" for one that is too long to stand in every document."""
    names = statements.get(node, {}).get(v.SCHEMA_NAME, ())
    found = next((one.text.strip() for one in names if isinstance(one, RdfLiteral)), "")
    return found if len(found) <= _LONGEST_LABEL else ""


def _thing(node: str, statements: Statements, described: set[str]) -> JsonValue:
    """Return the item of a thing, of which documents say label, class and addresses."""
    facts = statements[node]
    item: JsonObject = {"label": _label(node, statements), "id": node}
    own = {v.SCHEMA_THING, v.SKOS_CONCEPT}
    kinds = [one for one in facts.get(v.RDF_TYPE, ()) if isinstance(one, str) and one not in own]
    if kinds:
        item["type"] = kinds[0]
    same = [one for one in facts.get(v.SCHEMA_SAME_AS, ()) if isinstance(one, str)]
    if same and node not in described:
        item["sameAs"] = list(same)
    described.add(node)
    return item


def _as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _left_out(
    found: Mapping[str, ToolDocument],
    whole: Iterable[ToolDocument],
    statements: Statements,
    place: str,
) -> list[Diagnostic]:
    """Report the statements that no document makes."""
    given = set(map(_comparable, triples_of(whole)))
    names = {node: node_iri(document.uri) for node, document in found.items()}
    missing = [
        (subject, predicate)
        for subject, facts in statements.items()
        if subject in names or _DOCUMENTS.isdisjoint(facts.get(v.RDF_TYPE, ()))
        for predicate, values in facts.items()
        for value in values
        if _comparable((names.get(subject, subject), predicate, _replace_name(value, names)))
        not in given
    ]
    if not missing:
        return []
    subject, predicate = missing[0]
    first = f"{compact_iri(predicate)} of {subject}"
    shown = first if len(first) <= _SHOWN else f"{first[: _SHOWN - 1]}…"
    statements_ = format_count(len(missing), "statement")
    message = f"{statements_} that no document can make: left out, such as {shown}"
    return [warning(Code.GRAPH_STATEMENTS_LEFT_OUT, message, place)]


def _comparable(triple: Triple) -> Triple:
    """Return *triple* with a number in one form, which other programs write in another."""
    subject, predicate, value = triple
    if not isinstance(value, RdfLiteral) or value.datatype not in _NUMBERS:
        return triple
    try:
        return subject, predicate, number(float(value.text))
    except ValueError:
        return triple


def _replace_name(value: str | RdfLiteral, names: Mapping[str, str]) -> str | RdfLiteral:
    return value if isinstance(value, RdfLiteral) else names.get(value, value)


def _write_source_document(document: ToolDocument, graph: RawGraph) -> SourceDocument:
    text = _page_text(document) if document.is_page else write_document(document)
    return SourceDocument(document.path, text, document.uri, document.tool.place or graph.place)


def _page_text(page: ToolDocument) -> str:
    """Write a page as Markdown-LD, its prose as its author wrote it."""
    hints = page.tool.hints
    values: JsonObject = {
        "title": page.tool.title,
        "summary": page.tool.description,
        **{name: list(getattr(hints, name)) for name in TEXTS},
        **{name: getattr(hints, name) for name in (*FLAGS, *TIERS)},
        GROUPS_KEY: list(page.groups),
    }
    for kind, key in LINK_KEYS.items():
        values[key] = [link.target for link in page.links if link.kind is kind]
    evidence = state_evidence(page.links)
    if evidence:
        values[EXTRAS_KEY] = {RELATIONS_KEY: evidence}
    front = {key: value for key, value in values.items() if value not in ([], "", None)}
    kept = write_authored_lines(page.further, page.written).removesuffix("\n")
    own = (line for key, value in front.items() for line in member(key, value))
    lines = (*own, *([kept] if kept else ()))
    return "\n".join(("---", *lines, "---", "", page.body, ""))
