"""Source code as triples: the symbols of code pages, the edges between them, and their tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mcpg.code.graph import CodeGraph
from mcpg.code.model import SEPARATOR, CodeEdge, CodeEdgeKind, CodeFile, page_uri, read_body
from mcpg.documents.model import ToolDocument
from mcpg.graph import terms as v
from mcpg.graph.terms import RdfLiteral, Triple, node_iri, part_iri, plain

PREDICATES = {
    CodeEdgeKind.CALLS: v.mcpg.calls,
    CodeEdgeKind.IMPORTS: v.mcpg.imports,
    CodeEdgeKind.INHERITS: v.mcpg.inherits,
    CodeEdgeKind.REFERENCES: v.mcpg.references,
}
"""The predicate of each kind of edge of source code."""


def read_files(documents: Iterable[ToolDocument]) -> dict[str, CodeFile]:
    """Return the source files among *documents*, by the URI of their page."""
    found = ((one.uri, one.further.get("code"), one.body) for one in documents if one.is_page)
    files = ((uri, read_body(facts, body)) for uri, facts, body in found if facts)
    return {uri: file for uri, file in files if file is not None}


def file_triples(node: str, file: CodeFile) -> Iterator[Triple]:
    """Yield the facts of a source file, whose page is *node*, and then of its symbols.

    Guessed edges are left out.
    """
    for predicate, text in (
        (v.mcpg.language, file.language),
        (v.mcpg.repository, file.repository),
        (v.mcpg.branch, file.branch),
    ):
        if text:
            yield node, predicate, plain(text)
    members: defaultdict[str, list[str]] = defaultdict(list)
    for one in file.symbols:
        members[one.parent].append(one.name)
    edges: defaultdict[str, list[CodeEdge]] = defaultdict(list)
    for edge in file.edges:
        if not edge.is_guess and edge.kind in PREDICATES:
            edges[edge.source].append(edge)
    yield from _relations(node, file, members[""], edges[""])
    for one in file.symbols:
        own = _target_iri(file, file.symbol_id(one))
        yield own, v.rdf.type, v.mcpg.Symbol
        yield own, v.schema.name, plain(one.plain_name)
        yield own, v.mcpg.symbolKind, plain(one.kind.value)
        yield own, v.mcpg.definedIn, node
        yield own, v.mcpg.firstLine, RdfLiteral(str(one.first_line), v.xsd.integer)
        yield own, v.mcpg.lastLine, RdfLiteral(str(one.last_line), v.xsd.integer)
        if one.documentation:
            yield own, v.schema.description, plain(one.documentation)
        if one.signature:
            yield own, v.mcpg.signature, plain(one.signature)
        yield from _relations(own, file, members[one.name], edges[one.name])


def _relations(
    node: str, file: CodeFile, members: Iterable[str], edges: Iterable[CodeEdge]
) -> Iterator[Triple]:
    """Yield the definitions of a symbol or file, and the edges that leave it, each once."""
    for name in members:
        yield node, v.mcpg.defines, _target_iri(file, f"{file.path}{SEPARATOR}{name}")
    found = dict.fromkeys(
        (v.mcpg.library, plain(one.target))
        if one.is_external
        else (PREDICATES[one.kind], _target_iri(file, one.target))
        for one in edges
    )
    yield from ((node, *one) for one in found)


def _target_iri(file: CodeFile, target: str) -> str:
    path, mark, name = target.partition(SEPARATOR)
    page = node_iri(page_uri(file.repository, file.branch, path))
    return part_iri(page, "symbol", name) if mark else page


def link_tools(
    documents: Sequence[ToolDocument], files: Iterable[CodeFile]
) -> dict[str, tuple[str]]:
    """Return the IRI of the symbol that implements a tool, by the URI of the tool's document."""
    graph = CodeGraph(files)
    found = (
        (one.uri, graph.find_handler(one.tool.name, one.tool.description))
        for one in documents
        if not one.is_page and graph.definitions
    )
    return {uri: (_target_iri(one.file, one.id),) for uri, one in found if one is not None}
