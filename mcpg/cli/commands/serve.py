"""`mcpg serve`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.output import Output

EXAMPLES = """\
mcpg serve mcp.json                # one server in place of those of a client's configuration
mcpg serve mcp.json --expose all
mcpg serve mcp.json --http 8080
MCPG_SERVE_TOKEN=... mcpg serve mcp.json --http 0.0.0.0:8080 --allow-host tools.example"""


class Exposed(StrEnum):
    """What clients see."""

    META = "meta"
    ALL = "all"


Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]...",
        show_default=False,
        help="What stands behind the server: the configuration file of an MCP client, "
        "https://HOST/PATH, python:MODULE, OpenAPI documents, manifests, bundles, or folders of "
        "these. Otherwise [[sources]] of mcpg.toml, or the bundle.",
    ),
]
Graph = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="PATH",
        help="A bundle or folder of documents to search, in place of what the sources say.",
    ),
]
HttpAddress = Annotated[
    str | None,
    typer.Option(
        "--http",
        metavar="[HOST:]PORT",
        help="Serve over streamable HTTP at http://HOST:PORT/mcp, in place of standard input and "
        "output. HOST is 127.0.0.1 unless it is said; another needs MCPG_SERVE_TOKEN in the "
        "environment, which clients send as a bearer token, and --allow-host. Otherwise the "
        "configuration file.",
    ),
]
Stdio = Annotated[
    bool,
    typer.Option(
        "--stdio",
        help="Serve over standard input and output whatever the configuration file says.",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="A name, perhaps with a port, by which clients may ask over HTTP, besides this "
        "machine's own. Repeatable. Otherwise the configuration file.",
    ),
]
Expose = Annotated[
    Exposed | None,
    typer.Option(
        "--expose",
        metavar="meta|all",
        help="What clients see: the tools that find, describe and call the others; or these and "
        "all the others, too. Otherwise the configuration file, or meta.",
    ),
]
ShowGraphTools = Annotated[
    bool | None, typer.Option("--graph-tools", help="Show the tools that read the graph, too.")
]
Endpoint = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="With --graph-tools, a SPARQL endpoint that clients may have asked, too; with https "
        "or on this machine. Repeatable.",
    ),
]
AnswerBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        metavar="BYTES",
        min=2048,
        help="The most bytes of an answer about tools; what has no room is left out, and said. "
        "Otherwise the configuration file, or 32768.",
    ),
]
ResultBytes = Annotated[
    int | None,
    typer.Option(
        "--max-result-bytes",
        metavar="BYTES",
        min=2048,
        help="The most bytes of a tool's own result; what is too much is cut off, and said. "
        "Otherwise the configuration file, or 262144.",
    ),
]
Requests = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        metavar="N",
        min=1,
        help="The most requests at once over HTTP. Otherwise the configuration file, or 64.",
    ),
]
MostSessions = Annotated[
    int | None,
    typer.Option(
        "--max-sessions",
        metavar="N",
        min=1,
        help="The most sessions at once over HTTP. Otherwise the configuration file, or 256.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "serve", examples=EXAMPLES)(serve)


def serve(
    output: Output,
    *,
    sources: Sources = None,
    graph: Graph = None,
    http: HttpAddress = None,
    stdio: Stdio = False,
    allow_host: AllowHost = None,
    expose: Expose = None,
    graph_tools: ShowGraphTools = None,
    endpoint: Endpoint = None,
    max_bytes: AnswerBytes = None,
    max_result_bytes: ResultBytes = None,
    max_requests: Requests = None,
    max_sessions: MostSessions = None,
    source_id: options.SourceId = None,
    header: options.Header = None,
    server_timeout: options.ServerTimeout = None,
    strategy: options.StrategyName = None,
    fusion: options.Fusion = None,
    embed_with: options.EmbedWith = None,
    candidates: options.CandidateSource = None,
    normalize: options.Normalize = None,
) -> int:
    """Serve the tools of many servers as one MCP server.

    A client sees a few tools in place of hundreds: they find the right one for a task, describe
    it, and call it. It speaks over standard input and output, as clients start their servers, or
    over HTTP. Sources are asked in the background; what goes wrong is told on standard error.
    """
    from mcpg.cli.gatewaying import Wanted  # noqa: PLC0415 - help needs none of it
    from mcpg.cli.serving import address_by, serve_gateway, served_by  # noqa: PLC0415

    settings = options.settings_of(
        strategy=strategy,
        fusion=fusion,
        embed_with=embed_with,
        candidates=candidates,
        normalize=normalize,
        http=http,
        allow_host=allow_host,
        expose=expose,
        graph_tools=graph_tools,
        max_bytes=max_bytes,
        max_result_bytes=max_result_bytes,
        max_requests=max_requests,
        max_sessions=max_sessions,
    )
    served = served_by(settings, tuple(endpoint or ()))
    address = address_by(settings, is_stdio=stdio)
    wanted = Wanted(tuple(sources or ()), graph, source_id, header, server_timeout)
    return serve_gateway(wanted, settings, served, address, output)
