"""`mcpg graph schema`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output, OutputFormat

if TYPE_CHECKING:
    import typer

EXAMPLES = """\
mcpg graph schema
mcpg graph schema --format json | jq -r '.predicates[].name'"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "schema", examples=EXAMPLES)(schema)


def schema(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Describe the graph of the tools, for whoever writes a query.

    Prefixes, classes, predicates with what stands on either side of them and an example each, and
    what `mcpg graph search` reads.
    """
    from mcpg.cli.graphsearchview import schema_text  # noqa: PLC0415 - help needs none
    from mcpg.gateway.graphjson import schema_json  # noqa: PLC0415
    from mcpg.graph.schema import schema_of  # noqa: PLC0415
    from mcpg.graph.triples import distinct_documents  # noqa: PLC0415

    engine = open_engine(options.settings_of(bundle=bundle), output)
    documents, noticed = distinct_documents((*engine.documents.values(), *engine.pages))
    found = schema_of(documents)
    diagnostics = (*engine.diagnostics, *noticed)
    if form is OutputFormat.JSON:
        output.json(schema_json(found, diagnostics))
    else:
        output.diagnostics(diagnostics)
        output.text(schema_text(found))
    return ExitCode.DONE
