"""`mcpg graph export`: the graph, or a part of it, in a standard format."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated, Any

import typer

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.options import complete_tool
from mcpg.cli.output import Output, check_replaceable
from mcpg.cli.query import uses_lexicon
from mcpg.cli.terminal import and_pages
from mcpg.documents.model import ToolDocument
from mcpg.engine import Engine
from mcpg.errors import Code, Diagnostic, UsageError, warning
from mcpg.files import atomic_write
from mcpg.graph import exports
from mcpg.graph.iris import BASE
from mcpg.graph.map import graph_page
from mcpg.graph.query_command import find_base_iri
from mcpg.graph.schema import build_network, neighbourhood, select_subgraph
from mcpg.graph.terms import context_text, ontology_text
from mcpg.graph.triples import distinct_documents, triples_of
from mcpg.values import format_count

STDOUT = "-"


class GraphFormat(StrEnum):
    """The formats of an export, by rdflib's names where it has one."""

    TURTLE = "turtle"
    JSON_LD = "json-ld"
    NQUADS = "nquads"
    TRIG = "trig"
    N3 = "n3"
    RDF_XML = "rdf-xml"
    GRAPHML = "graphml"
    MERMAID = "mermaid"
    DOT = "dot"
    HTML = "html"


EXTENSIONS = {
    ".ttl": GraphFormat.TURTLE,
    ".turtle": GraphFormat.TURTLE,
    ".jsonld": GraphFormat.JSON_LD,
    ".nq": GraphFormat.NQUADS,
    ".nt": GraphFormat.NQUADS,
    ".trig": GraphFormat.TRIG,
    ".n3": GraphFormat.N3,
    ".rdf": GraphFormat.RDF_XML,
    ".owl": GraphFormat.RDF_XML,
    ".graphml": GraphFormat.GRAPHML,
    ".mmd": GraphFormat.MERMAID,
    ".mermaid": GraphFormat.MERMAID,
    ".dot": GraphFormat.DOT,
    ".gv": GraphFormat.DOT,
    ".html": GraphFormat.HTML,
    ".htm": GraphFormat.HTML,
}
"""The format of each file name extension."""

_MARK = "A graph of tools, made by mcpg"
_OPENINGS = {
    GraphFormat.TURTLE: f"# {_MARK}\n",
    GraphFormat.JSON_LD: '{\n  "@context": {\n    "@version": 1.1,\n    "kb": "urn:managedcode:',
    GraphFormat.NQUADS: f"# {_MARK}\n",
    GraphFormat.TRIG: f"# {_MARK}\n",
    GraphFormat.N3: f"# {_MARK}\n",
    GraphFormat.RDF_XML: f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {_MARK} -->\n',
    GraphFormat.GRAPHML: f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {_MARK} -->\n',
    GraphFormat.MERMAID: f"%% {_MARK}\n",
    GraphFormat.DOT: f"// {_MARK}\n",
    GraphFormat.HTML: '<!doctype html>\n<html lang="en" data-mcpg-report=',
}
"""The start of files of each format that mcpg wrote."""


def format_for(target: str, stated: GraphFormat | None) -> GraphFormat:
    """Return the format that is *stated*, or the one that the name of the file *target* ends in.

    Raises:
        UsageError: Neither says which.
    """
    if stated is not None:
        return stated
    if target == STDOUT:
        return GraphFormat.TURTLE
    found = EXTENSIONS.get(PurePath(target).suffix.lower())
    if found is None:
        raise UsageError(
            "the name of the file does not say in which format to write",
            place=f"--output {target}",
            remedy=f"add --format, or end the name in one of {', '.join(EXTENSIONS)}",
        )
    return found


def written_graph(
    documents: Sequence[ToolDocument],
    form: GraphFormat,
    *,
    is_framed: bool = False,
    base: str | None = None,
) -> str:
    """Return *documents* in the format *form*, their IRIs below *base*.

    JSON-LD *is_framed* where asked for.
    """
    if form is GraphFormat.HTML:
        return graph_page(documents)
    triples = triples_of(documents, base or BASE)
    if form is GraphFormat.JSON_LD:  # JSON has no comments
        return "".join((exports.framed_json_ld if is_framed else exports.json_ld)(triples))
    written = {
        # TriG and N3 have all that Turtle has.
        GraphFormat.TURTLE: exports.turtle,
        GraphFormat.TRIG: exports.turtle,
        GraphFormat.N3: exports.turtle,
        GraphFormat.NQUADS: exports.nquads,
        GraphFormat.RDF_XML: exports.rdf_xml,
    }
    if form in written:
        return "".join((_OPENINGS[form], *written[form](triples)))
    drawings = {
        GraphFormat.GRAPHML: exports.graphml,
        GraphFormat.MERMAID: exports.mermaid,
        GraphFormat.DOT: exports.dot,
    }
    return "".join((_OPENINGS[form], *drawings[form](build_network(triples))))


def write_graph(target: str, text: str, form: GraphFormat, output: Output, *, force: bool) -> int:
    """Write *text* to the file *target*, or to standard output, and give its size in bytes.

    Raises:
        OutputError: The file holds something else than an export of mcpg, or cannot be written.
    """
    data = text.encode()
    if target == STDOUT:
        output.document(text)
        return len(data)
    if not force:
        check_replaceable(
            target,
            (_OPENINGS[form].encode(),),
            "graph that mcpg wrote in this format",
            "name another file, or add --force",
        )
    atomic_write(target, data)
    return len(data)


EXPORT_EXAMPLES = """\
mcpg graph export -o graph.ttl
mcpg graph export --around shipment_status --depth 2
mcpg graph export --query "where is my parcel" -o parcel.nq"""

_DEFAULT_DEPTH = 1


CONTEXT_EXAMPLES = """\
mcpg graph context > context.jsonld
mcpg graph context | jq '.["@context"].toolId'"""
ONTOLOGY_EXAMPLES = """\
mcpg graph ontology > mcpg.ttl
mcpg graph ontology | riot --syntax=turtle --count -"""
_VOCABULARY = "docs/reference/graph-vocabulary.md"


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    options.command(app, "context", examples=CONTEXT_EXAMPLES, more=_VOCABULARY)(context)
    options.command(app, "export", examples=EXPORT_EXAMPLES, more="docs/how-to/graph.md")(export)
    options.command(app, "ontology", examples=ONTOLOGY_EXAMPLES, more=_VOCABULARY)(ontology)


def context(output: Output) -> int:
    """Print the JSON-LD context of the graph."""
    output.document(context_text())
    return ExitCode.DONE


def ontology(output: Output) -> int:
    """Print the ontology of the graph's vocabulary, in Turtle."""
    output.document(ontology_text())
    return ExitCode.DONE


Target = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output."),
]
Form = Annotated[
    GraphFormat | None,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help=f"What to write: {', '.join(GraphFormat)}. [default: by the file's extension, or "
        "turtle]",
    ),
]
Around = Annotated[
    list[str] | None,
    typer.Option(
        "--around",
        metavar="TOOL",
        autocompletion=complete_tool,
        help="Only this tool and those near it. Repeatable.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="TEXT",
        help="Only what a search for this finds, related tools included.",
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        metavar="N",
        min=0,
        help=f"How many edges to follow from there. [default: {_DEFAULT_DEPTH}; with --query 0]",
    ),
]


Framed = Annotated[
    bool,
    typer.Option(
        "--framed",
        help="In JSON-LD, nest the parts of each tool in it.",
    ),
]


def export(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    target: Target = STDOUT,
    form: Form = None,
    around: Around = None,
    query: Query = None,
    depth: Depth = None,
    framed: Framed = False,
    lexicon: options.Lexicon = None,
    include_disabled: options.IncludeDisabled = False,
    base_iri: options.BaseIri = None,
    force: options.Force = False,
) -> int:
    """Write the graph of the tools, or a part of it, in a standard format."""
    chosen = format_for(target, form)
    if depth is not None and not around and query is None:
        raise UsageError(
            "there is no tool to begin with", place="--depth", remedy="add --around or --query"
        )
    if framed and chosen is not GraphFormat.JSON_LD:
        raise UsageError(
            f"the format {chosen} has no frames", place="--framed", remedy="add --format json-ld"
        )
    settings = read_settings(bundle=bundle, lexicon=lexicon, base_iri=base_iri)
    base = find_base_iri(settings)
    engine = open_engine(settings, output)
    output.note_opening(engine.diagnostics)
    asked = {"include_disabled": include_disabled, "lexicon": uses_lexicon(settings)}
    documents = _choose_documents(engine, around or [], query, depth, asked)
    kept, repeated = distinct_documents(documents)
    output.diagnostics(repeated)
    text = written_graph(kept, chosen, is_framed=framed, base=base)
    output.diagnostics(_report_left_out(kept, chosen))
    size = write_graph(target, text, chosen, output, force=force)
    if target != STDOUT:
        pages = sum(document.is_page for document in documents)
        edges = format_count(sum(len(document.links) for document in documents), "edge")
        tools = format_count(len(documents) - pages, "tool")
        output.note(f"wrote {target}: {tools}{and_pages(pages)}, {edges}, {size:,} bytes")
    return ExitCode.DONE


def _report_left_out(documents: Sequence[ToolDocument], form: GraphFormat) -> Sequence[Diagnostic]:
    """Return what the format *form* has no room for."""
    if form is not GraphFormat.RDF_XML:
        return ()
    count = exports.beyond_xml(triples_of(documents))
    message = (
        f"XML cannot hold {format_count(count, 'statement')} as they are, for control characters or"
        " predicates that end in no name; use another format"
    )
    return [warning(Code.GRAPH_STATEMENTS_LEFT_OUT, message)] if count else ()


def _choose_documents(
    engine: Engine,
    around: list[str],
    query: str | None,
    depth: int | None,
    asked: dict[str, Any],
) -> list[ToolDocument]:
    """Return the documents of the whole graph, or of the part around tools and a query's matches.

    *asked* are the options of the search for *query*.
    """
    tools = engine.documents
    documents = [*tools.values(), *engine.pages]
    if not around and query is None:
        return documents
    found: set[str] = set()
    if around:
        catalog = engine.catalog
        roots = {tools[catalog.find_named(name).id].uri for name in around}
        found |= neighbourhood(documents, roots, _DEFAULT_DEPTH if depth is None else depth)
    if query is not None:
        result = engine.search(query, **asked)
        expanded = (result.prerequisites, result.related_matches, result.next_step_matches)
        lists = (result.matches, *expanded)
        matches = {tools[match.tool_id].uri for matches in lists for match in matches}
        found |= neighbourhood(documents, matches, depth or 0)
    return select_subgraph(documents, found)
