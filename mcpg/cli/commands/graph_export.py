"""`mcpg graph export`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_engine, settings_of
from mcpg.cli.options import complete_tool
from mcpg.cli.output import Output, check_replaceable
from mcpg.cli.terminal import and_pages, counted
from mcpg.documents.model import ToolDocument
from mcpg.errors import UsageError
from mcpg.files import atomic_write
from mcpg.graph.terms import Triple

if TYPE_CHECKING:
    from mcpg.engine import Engine

# The formats in which a graph is written, and the files that may be replaced
# by one.


STDOUT = "-"


class GraphFormat(StrEnum):
    """What a graph is written as; by rdflib's names where it has one."""

    TURTLE = "turtle"
    JSON_LD = "json-ld"
    NQUADS = "nquads"
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
    ".graphml": GraphFormat.GRAPHML,
    ".mmd": GraphFormat.MERMAID,
    ".mermaid": GraphFormat.MERMAID,
    ".dot": GraphFormat.DOT,
    ".gv": GraphFormat.DOT,
    ".html": GraphFormat.HTML,
    ".htm": GraphFormat.HTML,
}
"""The format that the end of a file's name stands for."""

_MARK = "A graph of tools, made by mcpg"
_OPENINGS = {
    GraphFormat.TURTLE: f"# {_MARK}\n",
    GraphFormat.JSON_LD: '{\n  "@context": {\n    "@version": 1.1,\n    "kb": "urn:managedcode:',
    GraphFormat.NQUADS: f"# {_MARK}\n",
    GraphFormat.GRAPHML: f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {_MARK} -->\n',
    GraphFormat.MERMAID: f"%% {_MARK}\n",
    GraphFormat.DOT: f"// {_MARK}\n",
    GraphFormat.HTML: '<!doctype html>\n<html lang="en" data-mcpg-report=',
}
"""How the files of each format begin that mcpg wrote."""


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
    documents: Sequence[ToolDocument], form: GraphFormat, *, is_framed: bool = False
) -> str:
    """Write what *documents* say as *form*; JSON-LD *is_framed* where asked for."""
    from mcpg.graph.triples import triples_of  # noqa: PLC0415 - help needs no graph

    if form is GraphFormat.HTML:
        from mcpg.reports.graph import graph_page  # noqa: PLC0415

        return graph_page(documents)
    pieces = _pieces(triples_of(documents), form, is_framed=is_framed)
    # JSON has no comments.
    opening = () if form is GraphFormat.JSON_LD else (_OPENINGS[form],)
    return "".join((*opening, *pieces))


def _pieces(triples: Iterator[Triple], form: GraphFormat, *, is_framed: bool) -> Iterator[str]:
    from mcpg.graph import exports  # noqa: PLC0415
    from mcpg.graph.network import network_of  # noqa: PLC0415

    statements = {
        GraphFormat.TURTLE: exports.turtle,
        GraphFormat.NQUADS: exports.nquads,
        GraphFormat.JSON_LD: exports.framed_json_ld if is_framed else exports.json_ld,
    }
    drawings = {
        GraphFormat.GRAPHML: exports.graphml,
        GraphFormat.MERMAID: exports.mermaid,
        GraphFormat.DOT: exports.dot,
    }
    if form in statements:
        return statements[form](triples)
    return drawings[form](network_of(triples))


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


EXAMPLES = """\
mcpg graph export -o graph.ttl
mcpg graph export --around shipment_status --depth 2
mcpg graph export --query "where is my parcel" -o parcel.nq"""

_DEFAULT_DEPTH = 1

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
        help=f"How to write: {', '.join(GraphFormat)}. Otherwise by the end of the file's name; "
        "turtle on standard output.",
    ),
]
Around = Annotated[
    list[str] | None,
    typer.Option(
        "--around",
        metavar="TOOL",
        autocompletion=complete_tool,
        help="Only this tool and those near it; give it again for several.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="TEXT",
        help="Only what a search for this finds, with what edges bring in.",
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        metavar="N",
        min=0,
        help=f"How many edges to follow from --around (otherwise {_DEFAULT_DEPTH}), or further "
        "from what --query finds (otherwise 0).",
    ),
]


Framed = Annotated[
    bool,
    typer.Option(
        "--framed",
        help="In JSON-LD, put parameters, examples, groups and edges within each tool.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "export", examples=EXAMPLES)(export)


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
    include_disabled: options.IncludeDisabled = False,
    force: options.Force = False,
) -> int:
    """Write the graph of the tools, or a part of it, for other programs to read.

    The same tools give the same bytes on every machine.
    """
    chosen = format_for(target, form)
    if depth is not None and not around and query is None:
        raise UsageError(
            "there is no tool to begin with", place="--depth", remedy="add --around or --query"
        )
    if framed and chosen is not GraphFormat.JSON_LD:
        raise UsageError(
            f"the format {chosen} has no frames", place="--framed", remedy="add --format json-ld"
        )
    engine = open_engine(settings_of(bundle=bundle), output)
    output.diagnostics(engine.diagnostics)
    documents = _documents(engine, around or [], query, depth, include_disabled=include_disabled)
    text = _written(documents, chosen, output, is_framed=framed)
    size = write_graph(target, text, chosen, output, force=force)
    if target != STDOUT:
        output.note(f"wrote {target}: {_counts(documents)}, {size:,} bytes")
    return ExitCode.DONE


def _documents(
    engine: Engine,
    around: list[str],
    query: str | None,
    depth: int | None,
    *,
    include_disabled: bool,
) -> list[ToolDocument]:
    """Return the documents of the whole graph, or of the part that is asked for."""
    from mcpg.graph.network import induced, neighbourhood  # noqa: PLC0415 - help needs no graph

    tools = engine.documents
    documents = [*tools.values(), *engine.pages]
    if not around and query is None:
        return documents
    found: set[str] = set()
    if around:
        catalog = engine.catalog
        roots = {tools[catalog.named(name).id].uri for name in around}
        found |= neighbourhood(documents, roots, _DEFAULT_DEPTH if depth is None else depth)
    if query is not None:
        matches = {tools[one].uri for one in _matches(engine, query, include_disabled)}
        found |= neighbourhood(documents, matches, depth or 0)
    return induced(documents, found)


def _counts(documents: list[ToolDocument]) -> str:
    pages = sum(document.is_page for document in documents)
    edges = sum(len(document.links) for document in documents)
    tools = counted(len(documents) - pages, "tool")
    return f"{tools}{and_pages(pages)}, {counted(edges, 'edge')}"


def _matches(engine: Engine, query: str, include_disabled: bool) -> set[str]:
    result = engine.search(query, include_disabled=include_disabled)
    lists = (result.matches, result.related_matches, result.next_step_matches)
    return {match.tool_id for matches in lists for match in matches}


def _written(
    documents: list[ToolDocument], form: GraphFormat, output: Output, *, is_framed: bool
) -> str:
    from mcpg.graph.triples import distinct_documents  # noqa: PLC0415

    kept, noticed = distinct_documents(documents)
    output.diagnostics(noticed)
    return written_graph(kept, form, is_framed=is_framed)
