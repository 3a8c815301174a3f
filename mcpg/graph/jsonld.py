"""Convert documents to JSON-LD and back, offline, for programs that import mcpg."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.model import Hints, SourceDocument, SourceKind, Tier, Tool, ToolExample
from mcpg.documents.addresses import BASE, slug, tool_path, tool_uri
from mcpg.documents.facts import infer_datatype, lexical_form
from mcpg.documents.front_matter import EXTRAS_KEY, member
from mcpg.documents.front_matter_edits import write_authored_lines
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.reader import (
    GROUPS_KEY,
    LINK_KEYS,
    RELATIONS_KEY,
    TOOL_KEY,
    parse_stem,
    read_mappings,
    state_evidence,
)
from mcpg.documents.writer import write_document
from mcpg.errors import Code, Diagnostic, DocumentError, SourceError, error, warning
from mcpg.graph import terms as v
from mcpg.graph.parsing import ANONYMOUS, RdfFormat, detect_format, triples_in, triples_of_json_ld
from mcpg.graph.terms import (
    SOURCES,
    RdfLiteral,
    Triple,
    compact_iri,
    context,
    document_uri,
    node_iri,
    original_iri,
    source_iri,
)
from mcpg.graph.triples import (
    FLAGS,
    PREDICATES,
    TEXTS,
    TIERS,
    distinct_documents,
    framed_documents,
    gather_stated,
    make_triples,
    number,
)
from mcpg.relations.edges import Coverage, EdgeOrigin
from mcpg.sources import SourceBatch
from mcpg.text.json_values import JsonObject, JsonValue, read_float
from mcpg.text.safeyaml import plain_value
from mcpg.values import format_count


def to_jsonld(document: ToolDocument) -> dict[str, Any]:
    """Return *document* as a JSON-LD object: the tool or page with all its parts, and the context.

    Of a tool, `from_jsonld` gives an equal document back, whatever a JSON-LD processor did to the
    object meanwhile, as long as arrays keep their order.
    """
    own = compact_iri(node_iri(document.uri))
    nodes = framed_documents(make_triples([document]))
    return {"@context": dict(context()), **next(node for node in nodes if node["id"] == own)}


def from_jsonld(
    data: str | JsonValue, *, place: str = "JSON-LD", contexts: Mapping[str, Any] | None = None
) -> list[ToolDocument]:
    """Read the tools in a JSON-LD document of any shape: expanded, flattened, compacted, framed.

    Nothing is fetched: *data*, text or parsed, may contain its context, refer to ours as
    `CONTEXT_IRI`, or refer to one in *contexts*, by IRI. *place* is what to call it in messages.
    What cannot be read, or needs a context that is not available, is a `DocumentError`.
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
    return [reader.tool() for reader in find_readers(statements, place)[0]]


Choice = TypeVar("Choice", bound=StrEnum)

Statements: TypeAlias = Mapping[str, Mapping[str, Sequence[str | RdfLiteral]]]
"""The values of each predicate of each subject, in the order of the graph."""

_Gathered: TypeAlias = dict[str, dict[str, dict[str | RdfLiteral, None]]]

MAX_PARTS = 256 * 1024 * 1024
"""The most characters of all examples, edges and sources of the tools of a graph."""

_PARTS = (v.mcpg.source, v.mcpg.example, v.mcpg.relation)
_KINDS = {iri: kind for kind, iri in PREDICATES.items()}
_ORDER = {kind: place for place, kind in enumerate(PREDICATES)}
_NUMBERED = re.compile(r"example/(\d{1,9})\Z")
_TRUE = frozenset({"true", "1"})


def by_subject(triples: Iterable[Triple], place: str) -> Statements:
    """Gather the *triples* of the graph *place* by subject and predicate, each once.

    A `SourceError` is raised if tools share parts that are together far longer than the graph.
    """
    found = _collect_statements(triples)
    base = _find_base(found)
    if base is not None:
        names = cache(partial(original_iri, base=base))
        found = _collect_statements(
            (names(node), predicate, value if isinstance(value, RdfLiteral) else names(value))
            for node, facts in found.items()
            for predicate, values in facts.items()
            for value in values
        )
    if _measure_parts(found) > MAX_PARTS:
        message = f"has parts of tools that come to more than {MAX_PARTS:,} characters"
        raise SourceError(message, place=place, remedy="give each tool examples of its own")
    return {
        subject: {predicate: tuple(values) for predicate, values in facts.items()}
        for subject, facts in found.items()
    }


def _collect_statements(triples: Iterable[Triple]) -> _Gathered:
    found: _Gathered = {}
    for subject, predicate, value in triples:
        found.setdefault(subject, {}).setdefault(predicate, {})[value] = None
    return found


def _measure_parts(found: _Gathered) -> int:
    sizes = {
        node: sum(len(one.text) for one in chain(*facts.values()) if isinstance(one, RdfLiteral))
        for node, facts in found.items()
    }
    return sum(
        sizes.get(one, 0)
        for facts in found.values()
        for predicate in _PARTS
        for one in facts.get(predicate, ())
        if isinstance(one, str)
    )


def _find_base(found: _Gathered) -> str | None:
    """Return the base IRI of the nodes of a graph, which sources reveal.

    A graph that was merged of several keeps the IRIs that distinguish them.
    """
    bases: set[str] = set()
    for node, facts in found.items():
        is_source = v.mcpg.Source in facts.get(v.rdf.type, ())
        for name in facts.get(v.schema.name, ()) if is_source else ():
            usual = source_iri(name.text if isinstance(name, RdfLiteral) else name)
            own = f"source/{usual.removeprefix(SOURCES)}"
            is_own = node != usual and node.endswith(own)
            bases.add(node.removesuffix(own) if is_own else BASE)
    # One without sources has at most the names of the .NET library, which are replaced.
    return BASE if not bases else bases.pop() if len(bases) == 1 else None


def find_readers(statements: Statements, place: str) -> tuple[list[NodeReader], list[NodeReader]]:
    """Return readers of the tools and of the documents of none, in the order of the graph."""
    tools, pages = [], []
    for node, facts in statements.items():
        kinds = facts.get(v.rdf.type, ())
        if v.mcpg.Tool in kinds:
            tools.append(NodeReader(node, statements, f"{place}: {node}"))
        elif v.kb.MarkdownDocument in kinds:
            pages.append(NodeReader(node, statements, f"{place}: {node}"))
    return tools, pages


class NodeReader:
    """Reads one node, with any values that RDF allows.

    *node* is its IRI, or the name of a blank node; *place* is what to call it in messages. A tool
    or page with an impossible value is a `DocumentError`.
    """

    def __init__(self, node: str, statements: Statements, place: str) -> None:
        self.node = node
        self.place = place
        self._statements = statements
        self._facts = statements.get(node, {})
        self._stated: Mapping[tuple[str, str | RdfLiteral], None] = {}

    def tool(self) -> ToolDocument:
        """Read the document of the tool."""
        self._read_front_matter()
        name = self._text(v.mcpg.toolName) or self._text(v.schema.name)
        if not name:
            raise self._make_error("nothing names the tool", "give it a `toolName`")
        source = next(iter(self._facts.get(v.mcpg.source, ())), "")
        source_id = source.text if isinstance(source, RdfLiteral) else source.removeprefix(SOURCES)
        if source and isinstance(source, str):
            # Its IRI also contains the name.
            stated = self._read_node(source)._text(v.schema.name)  # noqa: SLF001
            source_id = source_id if stated is None else stated
        schema = self._json(v.mcpg.inputSchema)
        members: JsonObject = {} if schema is None else {"input_schema": schema}
        tool = Tool(
            id=self._text(v.mcpg.toolId) or "",
            source_id=source_id,
            name=name,
            title=self._text(v.mcpg.title),
            description=self._text(v.schema.description) or "",
            output_schema=self._json(v.mcpg.outputSchema),
            annotations=self._json(v.mcpg.annotations) or {},
            meta=self._json(v.mcpg.meta) or {},
            hints=self._hints(),
            source_kind=self._choice(SourceKind, v.mcpg.sourceKind) or SourceKind.LOCAL,
            place=self.place,
            **members,  # type: ignore[arg-type]
        )
        path = self._text(v.mcpg.path) or tool_path(tool.source_id, tool.name)
        return self._document(tool, path, tool_uri(tool.source_id, tool.name))

    def page(self) -> ToolDocument:
        """Read the document of no tool."""
        self._read_front_matter()
        title = self._text(v.schema.name) or self._text(v.mcpg.path) or self.node
        path = self._text(v.mcpg.path) or f"pages/{slug(title)}.md"
        # Links may name a page by its file.
        name = parse_stem(path) or title
        tool = Tool(
            id="",
            source_id="",
            name=name,
            title=None if title == name else title,
            description=self._text(v.schema.description) or "",
            hints=self._hints(),
            place=self.place,
        )
        page = self._document(tool, path, tool_uri("pages", slug(title)))
        further = page.further if TOOL_KEY in page.further else {TOOL_KEY: False, **page.further}
        return replace(page, further=further, is_page=True)

    def _read_front_matter(self) -> None:
        """Find out which statements about the node its front matter makes, beside the rest."""
        further = self._json(v.mcpg.frontMatter)
        if further:
            bare = ToolDocument(
                Tool("", "", self.node),
                "",
                self._uri(""),
                further=further,
                written=self._text(v.mcpg.frontMatterText) or "",
            )
            stated = gather_stated([bare])[node_iri(bare.uri)]
            own = (v.mcpg.frontMatter, v.mcpg.frontMatterText)
            self._stated = {key: None for key in stated if key[0] not in own}

    def _uri(self, standard: str) -> str:
        own = "" if self.node.startswith(ANONYMOUS) else document_uri(self.node)
        return self._text(v.mcpg.statedUri) or own or standard

    def _document(self, tool: Tool, path: str, standard: str) -> ToolDocument:
        stated = list(self._texts(v.mcpg.statedGroup))
        covered = set(map(node_iri, stated))
        others = (group for group in self._nodes(v.kb.memberOf) if group not in covered)
        uri, groups = self._uri(standard), (*stated, *others)
        described = (self._read_node(one)._link() for one in self._parts(v.mcpg.relation))  # noqa: SLF001
        links = {(link.kind, node_iri(link.target)): link for link in described if link}
        for predicate, kind in _KINDS.items():
            for target in self._nodes(predicate):
                if (predicate, target) not in self._stated:
                    links.setdefault((kind, target), Link(kind, document_uri(target)))
        return ToolDocument(
            tool=tool,
            path=path,
            uri=uri,
            groups=groups,
            links=tuple(sorted(links.values(), key=lambda link: _ORDER[link.kind])),
            body=self._text(v.schema.articleBody) or "",
            states_relations=self._flag(v.mcpg.statesRelations) is not False,
            further=self._json(v.mcpg.frontMatter) or {},
            written=self._text(v.mcpg.frontMatterText) or "",
        )

    def _hints(self) -> Hints:
        lists = {name: tuple(self._texts(predicate)) for name, predicate in TEXTS.items()}
        # Keywords from another producer, which has no other lists.
        own = {*lists["keywords"], *lists["tags"]}
        own |= {one.text for key, one in self._stated if isinstance(one, RdfLiteral)}
        further = (text for text in self._texts(v.schema.keywords) if text not in own)
        lists["keywords"] = (*lists["keywords"], *further)
        # The number that the IRI of an example ends in is its place.
        parts = sorted(
            self._parts(v.mcpg.example),
            key=lambda one: int(found[1]) if (found := _NUMBERED.search(one)) else 0,
        )
        asked = v.mcpg.input, v.mcpg.output, v.schema.description
        texts = ([self._read_node(one)._text(key) for key in asked] for one in parts)  # noqa: SLF001
        examples = tuple(ToolExample(first or "", *rest) for first, *rest in texts)
        flags = {name: self._flag(predicate) for name, predicate in FLAGS.items()}
        tiers = {name: self._choice(Tier, predicate) for name, predicate in TIERS.items()}
        return Hints(**lists, **flags, **tiers, examples=examples)  # type: ignore[arg-type]

    def _link(self) -> Link | None:
        """Read a statement; `None` when it is about no edge between tools."""
        kind = next(map(_KINDS.get, self._nodes(v.rdf.predicate)), None)
        stated = self._text(v.mcpg.statedTarget)
        target = stated or next(map(document_uri, self._nodes(v.rdf.object)), "")
        if kind is None or not target:
            return None
        confidence = self._text(v.kb.confidence) or "1"
        try:
            weight = float(confidence)
        except ValueError:
            weight = 0.0
        if not 0 < weight <= 1:
            message = f"the confidence {confidence!r} of an edge is invalid"
            raise self._make_error(message, "use a number in (0, 1]")
        reason = self._text(v.mcpg.reason) or ""
        origin = self._choice(EdgeOrigin, v.mcpg.origin) or EdgeOrigin.AUTHORED
        mapping = self._json(v.mcpg.mapping)
        fields, faults = read_mappings(mapping.get("fields") if mapping else [])
        if faults:
            raise self._make_error(f"the mapping of an edge has {faults[0]}", "correct the mapping")
        coverage = self._choice(Coverage, v.mcpg.coverage)
        return Link(kind, target, weight, reason, origin, fields, coverage)

    def _read_node(self, node: str) -> NodeReader:
        return NodeReader(node, self._statements, self.place)

    def _parts(self, predicate: str) -> Iterator[str]:
        return (one for one in self._facts.get(predicate, ()) if isinstance(one, str))

    def _nodes(self, predicate: str) -> Iterator[str]:
        return (one for one in self._parts(predicate) if not one.startswith(ANONYMOUS))

    def _texts(self, predicate: str) -> Iterator[str]:
        """Return the texts of *predicate*, those in no language first.

        Texts in front matter with a language, or of another type, come beside the text.
        """
        found = [one for one in self._facts.get(predicate, ()) if isinstance(one, RdfLiteral)]
        for one in sorted(found, key=lambda one: bool(one.language)):
            if one.datatype == v.xsd.string or (predicate, one) not in self._stated:
                yield one.text

    def _text(self, predicate: str) -> str | None:
        return next(self._texts(predicate), None)

    def _flag(self, predicate: str) -> bool | None:
        stated = self._text(predicate)
        return None if stated is None else stated.lower() in _TRUE

    def _json(self, predicate: str) -> JsonObject | None:
        stated = self._text(predicate)
        if stated is None:
            return None
        name = v.terms()[predicate].name
        try:
            values = parse_json_documents(stated, self.place, parse_float=read_float)
        except SourceError as fault:
            message = f"its `{name}` is not a JSON object: {fault.message}"
            raise self._make_error(message, fault.remedy or "write an object") from fault
        if len(values) > 1 or not isinstance(values[0], dict):
            raise self._make_error(f"its `{name}` is not a JSON object", "write an object")
        return values[0]

    def _choice(self, kind: type[Choice], predicate: str) -> Choice | None:
        stated = self._text(predicate)
        try:
            return None if stated is None else kind(stated)
        except ValueError as fault:
            message = f"its `{v.terms()[predicate].name}` is {stated!r}"
            raise self._make_error(message, f"write {', '.join(kind)}") from fault

    def _make_error(self, message: str, remedy: str) -> DocumentError:
        return DocumentError(message, place=self.place, remedy=remedy)


_TYPES, _PROPERTIES = "rdf_types", "rdf_properties"
_THINGS = {v.schema.about: "about", v.schema.mentions: "entity_hints", v.schema.author: "author"}
_DOCUMENTS = frozenset({v.mcpg.Tool, v.kb.MarkdownDocument})
_NUMBERS = frozenset({v.xsd.decimal, f"{v.XSD}integer", f"{v.XSD}double", f"{v.XSD}float"})
_SHOWN, _LONGEST_LABEL = 160, 1_000


@dataclass(frozen=True, slots=True)
class GraphDocuments:
    """The content of a graph: the documents of its tools, then its pages, and the omitted parts."""

    documents: tuple[ToolDocument, ...]
    diagnostics: tuple[Diagnostic, ...]


def with_graphs_read(batch: SourceBatch) -> SourceBatch:
    """Return *batch* with the documents of its graphs instead of these.

    A graph that is broken, too large, or without tools and pages is a `SourceError`.
    """
    if not batch.graphs:
        return batch
    documents, diagnostics = list(batch.documents), list(batch.diagnostics)
    for graph in batch.graphs:
        found = read_graph(graph.text, graph.place)
        diagnostics += found.diagnostics
        for document in found.documents:
            try:
                text = _page_text(document) if document.is_page else write_document(document)
                written = document.tool.place or graph.place
                documents.append(SourceDocument(document.path, text, document.uri, written))
            except DocumentError as fault:
                diagnostics.append(_make_diagnostic(fault))
    return replace(batch, documents=tuple(documents), diagnostics=tuple(diagnostics), graphs=())


def read_graph(text: str, place: str) -> GraphDocuments:
    """Read the tools and pages of a graph in any format of RDF.

    The extension of *place*, its file, determines the format.
    """
    statements = by_subject(triples_in(text, detect_format(place, text), place), place)
    found: dict[str, ToolDocument] = {}
    refused: list[Diagnostic] = []
    tools, pages = find_readers(statements, place)
    reading = chain(((one, one.tool) for one in tools), ((one, one.page) for one in pages))
    for reader, read in reading:
        try:
            found[reader.node] = read()
        except DocumentError as fault:
            refused.append(_make_diagnostic(fault))
    if not found and not refused:
        raise SourceError(
            "is a graph without a tool",
            place=place,
            remedy=f"give each tool the class {v.mcpg.Tool}, as `mcpg graph export` does",
        )
    kept, repeated = distinct_documents(found.values())
    whole = _add_front_matter(found, kept, statements)
    left_out = _report_left_out(found, whole, statements, place)
    return GraphDocuments(tuple(whole), (*refused, *repeated, *left_out))


def _make_diagnostic(fault: DocumentError) -> Diagnostic:
    advice = f": {fault.remedy}" if fault.remedy else ""
    return error(Code.DOCUMENT_INVALID, f"{fault.message}{advice}", fault.place)


def _add_front_matter(
    found: Mapping[str, ToolDocument], kept: Iterable[ToolDocument], statements: Statements
) -> list[ToolDocument]:
    """Return the documents *kept* with all other *statements* about them as front matter."""
    kept = list(kept)
    given = set(map(_comparable, make_triples(kept)))
    nodes = {id(document): node for node, document in found.items()}
    whole = []
    described: set[str] = set()
    for document in kept:
        own, node = node_iri(document.uri), nodes[id(document)]
        beyond = [
            (predicate, value)
            for predicate, values in statements[node].items()
            for value in values
            if _comparable((own, predicate, value)) not in given
        ]
        whole.append(_with_front_matter(document, beyond, statements, described))
    return whole


def _with_front_matter(
    document: ToolDocument,
    said: Iterable[tuple[str, str | RdfLiteral]],
    statements: Statements,
    described: set[str],
) -> ToolDocument:
    """Return *document* with the statements *said* in the keys of its front matter.

    A thing is described by the first document that names it.
    """
    further: dict[str, list[JsonValue]] = {}
    # A document may have prefixes of its own.
    shortened = str if "rdf_prefixes" in document.further else compact_iri
    for predicate, value in said:
        if isinstance(value, str) and value.startswith(ANONYMOUS):
            continue
        if predicate == v.rdf.type and isinstance(value, str):
            further.setdefault(_TYPES, []).append(shortened(value))
        elif (
            predicate in _THINGS
            and isinstance(value, str)
            and (item := _describe_thing(value, statements, described))
        ):
            further.setdefault(_THINGS[predicate], []).append(item)
        elif not predicate.startswith(v.MCPG):
            stated = {shortened(predicate): _format_property(value, shortened)}
            further.setdefault(_PROPERTIES, []).append(stated)
    for key, items in further.items():
        old = document.further.get(key)
        further[key] = [*(old if isinstance(old, list) else [] if old is None else [old]), *items]
    return replace(document, further={**document.further, **further}) if further else document


def _format_property(value: str | RdfLiteral, shortened: Callable[[str], str]) -> JsonValue:
    if isinstance(value, str):
        return {"id": value}
    if value.language:
        return {"value": value.text, "lang": value.language}
    if value.datatype == v.xsd.string:
        return value.text
    native = plain_value(value.text)
    if infer_datatype(native) == value.datatype and lexical_form(native) == value.text:
        return native
    return {"value": value.text, "datatype": shortened(value.datatype)}


def _describe_thing(node: str, statements: Statements, described: set[str]) -> JsonObject:
    """Return the item of a thing: its label, class and addresses.

    It is empty if the thing has no name, or one too long to be repeated in every document.
    """
    facts = statements.get(node, {})
    names = facts.get(v.schema.name, ())
    label = next((one.text.strip() for one in names if isinstance(one, RdfLiteral)), "")
    if not 0 < len(label) <= _LONGEST_LABEL:
        return {}
    item: JsonObject = {"label": label, "id": node}
    own = {v.schema.Thing, v.skos.Concept}
    kinds = [one for one in facts.get(v.rdf.type, ()) if isinstance(one, str) and one not in own]
    if kinds:
        item["type"] = kinds[0]
    same = [one for one in facts.get(v.schema.sameAs, ()) if isinstance(one, str)]
    if same and node not in described:
        item["sameAs"] = list(same)
    described.add(node)
    return item


def _report_left_out(
    found: Mapping[str, ToolDocument],
    whole: Iterable[ToolDocument],
    statements: Statements,
    place: str,
) -> list[Diagnostic]:
    given = set(map(_comparable, make_triples(whole)))
    names = {node: node_iri(document.uri) for node, document in found.items()}
    missing = [
        (subject, predicate)
        for subject, facts in statements.items()
        if subject in names or _DOCUMENTS.isdisjoint(facts.get(v.rdf.type, ()))
        for predicate, values in facts.items()
        for value in values
        if _comparable(
            (
                names.get(subject, subject),
                predicate,
                value if isinstance(value, RdfLiteral) else names.get(value, value),
            )
        )
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


def _page_text(page: ToolDocument) -> str:
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
