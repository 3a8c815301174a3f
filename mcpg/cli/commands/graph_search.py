"""`mcpg graph search`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output, OutputFormat
from mcpg.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.engine import Engine
    from mcpg.graph.search import GraphSearcher, GraphSearchRequest

EXAMPLES = """\
mcpg graph search "where is my parcel"
mcpg graph search "refund an order" --mode schema-aware --explain
mcpg graph search "restore cache" --federate --endpoint https://sparql.example/query --no-local"""

_LIMIT, _SECONDS = 5, 10.0


class GraphMode(StrEnum):
    """The modes of `mcpg.graph.search`, which help does without."""

    HYBRID = "hybrid"
    SCHEMA_AWARE = "schema-aware"
    TOKEN_DISTANCE = "token-distance"  # noqa: S105 - tokens of a text


Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in any words.")]
ModeName = Annotated[
    GraphMode,
    typer.Option(
        "--mode",
        metavar="hybrid|schema-aware|token-distance",
        help="How to find: by the words in registered predicates, with an ordinary search in "
        "their stead where they find no tool; by them alone; or by the nearest text.",
    ),
]
Limit = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=1, max=50, help="The most matches to give.")
]
Federate = Annotated[
    bool, typer.Option("--federate", help="Ask the endpoints of --endpoint, too; matches only.")
]
Endpoint = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="A SPARQL endpoint to ask, with https or on this machine; give it again for several.",
    ),
]
NoLocal = Annotated[
    bool, typer.Option("--no-local", help="With --federate, leave out the graph at hand.")
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        max=3_600,
        help="What an endpoint has for one answer.",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show the SPARQL that was asked.")]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "search", examples=EXAMPLES)(search)


def search(
    output: Output,
    *,
    query: Query,
    bundle: options.BundlePaths = None,
    mode: ModeName = GraphMode.HYBRID,
    limit: Limit = _LIMIT,
    federate: Federate = False,
    endpoint: Endpoint = None,
    no_local: NoLocal = False,
    timeout: Timeout = _SECONDS,
    explain: Explain = False,
    include_disabled: options.IncludeDisabled = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Search the graph by its predicates, and show what speaks for each match.

    Words are looked for in SPARQL, under the predicates that `mcpg graph schema` lists. To find
    the right tool, `mcpg search` is faster and ranks better; this shows the graph at work, and
    asks other graphs.
    """
    from mcpg.cli.graphsearchview import result_text  # noqa: PLC0415 - help needs none
    from mcpg.gateway.graphjson import result_json  # noqa: PLC0415
    from mcpg.graph.search.model import GraphSearchRequest, Mode  # noqa: PLC0415

    endpoints = tuple(endpoint or ())
    _check(federate=federate, is_told=bool(endpoints), no_local=no_local)
    request = GraphSearchRequest(query, limit, Mode(mode), federate, not no_local, endpoints)
    engine = open_engine(options.settings_of(bundle=bundle), output)
    searcher = _searcher(engine, request, output, timeout, include_disabled=include_disabled)
    found = searcher.search(request)
    if form is OutputFormat.JSON:
        output.json(result_json(found, engine.diagnostics))
    else:
        output.diagnostics((*engine.diagnostics, *found.diagnostics))
        output.text(result_text(found, explain=explain))
    is_unheard = no_local and not found.endpoints
    return ExitCode.FINDINGS if is_unheard else ExitCode.DONE


def _check(*, federate: bool, is_told: bool, no_local: bool) -> None:
    """Make sure that the options say the same."""
    if (is_told or no_local) and not federate:
        raise UsageError(
            "only a federated search asks endpoints",
            place="--endpoint" if is_told else "--no-local",
            remedy="add --federate",
        )
    if no_local and not is_told:
        raise UsageError(
            "there is nothing to search", place="--no-local", remedy="add --endpoint URL"
        )


def _searcher(
    engine: Engine,
    request: GraphSearchRequest,
    output: Output,
    timeout: float,
    *,
    include_disabled: bool,
) -> GraphSearcher:
    from mcpg.graph.search import GraphSearcher  # noqa: PLC0415 - help needs no graph
    from mcpg.graph.sparql import Limits  # noqa: PLC0415
    from mcpg.graph.triples import distinct_documents  # noqa: PLC0415

    def ranked(query: str, limit: int) -> Iterator[tuple[str, float]]:
        result = engine.search(query, limit=limit, include_disabled=include_disabled)
        return ((match.tool_id, match.score) for match in result.matches)

    offered = (
        document
        for document in engine.documents.values()
        if include_disabled or document.tool.enabled
    )
    documents, noticed = distinct_documents((*offered, *engine.pages))
    output.diagnostics(noticed)
    return GraphSearcher(
        documents,
        allowed=request.endpoints,
        fallback=ranked,
        limits=Limits(seconds=timeout, rows=10_000),
    )
