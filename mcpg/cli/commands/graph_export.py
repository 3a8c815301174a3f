"""`mcpg graph export`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.completion import complete_tool
from mcpg.cli.exits import ExitCode
from mcpg.cli.graphwriting import STDOUT, GraphFormat, format_for, write_graph, written_graph
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output
from mcpg.cli.wording import and_pages, counted
from mcpg.errors import UsageError

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument
    from mcpg.engine import Engine

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
    engine = open_engine(options.settings_of(bundle=bundle), output)
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
    """Give the documents of the whole graph, or of the part that is asked for."""
    from mcpg.graph.focus import induced, neighbourhood  # noqa: PLC0415 - help needs no graph

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
