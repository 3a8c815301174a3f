"""`mcpg graph sparql`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output
from mcpg.cli.sparqlview import ResultFormat, query_of, write_answer

EXAMPLES = """\
mcpg graph sparql 'SELECT ?id ?name { ?tool mcpg:toolId ?id ; schema:name ?name } ORDER BY ?id'
mcpg graph sparql 'ASK { ?tool mcpg:destructive true }'
mcpg graph sparql steps.rq --format csv"""

_SECONDS, _ROWS = 10.0, 1_000

Query = Annotated[
    str,
    typer.Argument(
        metavar="QUERY",
        help="The query, or the name of a file that holds it; - reads standard input.",
    ),
]
Form = Annotated[
    ResultFormat | None,
    typer.Option(
        "--format",
        metavar="table|json|csv|ttl",
        show_default=False,
        help="What to write: a table, the W3C's JSON or CSV, or Turtle for CONSTRUCT and DESCRIBE. "
        "Otherwise ttl for these two, and a table.",
    ),
]
Rows = Annotated[
    int,
    typer.Option("--limit", "-n", metavar="N", min=1, help="The most rows or triples to give."),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        max=3_600,
        help="When to end a query that takes too long.",
    ),
]
AllowService = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-service",
        metavar="URL",
        help="An endpoint that SERVICE may ask, with https or on this machine; give it again for "
        "several. Without it nobody is asked.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "sparql", examples=EXAMPLES)(sparql)


def sparql(
    output: Output,
    *,
    query: Query,
    bundle: options.BundlePaths = None,
    form: Form = None,
    rows: Rows = _ROWS,
    timeout: Timeout = _SECONDS,
    services: AllowService = None,
) -> int:
    """Ask the graph of the tools in SPARQL 1.1.

    The graph is only read: updates are refused. The prefixes kb, mcpg, owl, prov, rdf, rdfs,
    schema, skos and xsd are known. A query that takes too long is ended.
    """
    from mcpg.diagnostics import Code, warning  # noqa: PLC0415 - help needs none of it
    from mcpg.graph.sparql import Door, Limits  # noqa: PLC0415
    from mcpg.graph.triples import distinct_documents  # noqa: PLC0415

    text = query_of(query)
    engine = open_engine(options.settings_of(bundle=bundle), output)
    documents, noticed = distinct_documents((*engine.documents.values(), *engine.pages))
    output.diagnostics((*engine.diagnostics, *noticed))
    limits = Limits(seconds=timeout, rows=rows)
    with Door(documents, services=services or (), limits=limits) as door:
        answer = door.query(text)
    write_answer(answer, form, output)
    if answer.cut:
        message = f"these are not all results: {answer.cut}"
        output.diagnostics([warning(Code.GRAPH_RESULTS_CUT, message)])
    return ExitCode.DONE
