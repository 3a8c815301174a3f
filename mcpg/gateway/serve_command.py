"""`mcpg serve`."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_chosen_settings
from mcpg.cli.options import argument, option
from mcpg.cli.output import Output
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.query import find_fusion, find_strategy, make_ask_arguments, uses_lexicon
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import is_terminal
from mcpg.errors import Code, Diagnostic, Severity, UsageError
from mcpg.gateway.from_settings import (
    GatewayRequest,
    find_view,
    make_gateway,
    read_tokens,
    read_views,
)
from mcpg.gateway.serve import META_TOOLS, Exposure, ServingOptions
from mcpg.review.lock_sources import OnChange
from mcpg.sources.registry import ServerSource, decide_scope
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.serve.http import HttpOptions
    from mcpg.gateway.views import View

EXAMPLES = """\
mcpg serve mcp.json                # one server instead of a client's configuration
mcpg serve mcp.json --expose on-demand # the tools that a search finds are listed
mcpg serve mcp.json --http 8080
mcpg serve mcp.json --reviewed graph.mdld --on-change hide   # only tools that were reviewed
mcpg serve mcp.json --locked       # tools as approved in mcpg.lock
mcpg serve -b graph.mdld           # search and describe; nothing is called
mcpg serve mcp.json --record-calls calls.jsonl     # for `mcpg learn`
MCPG_SERVE_TOKEN=... mcpg serve mcp.json --http 0.0.0.0:8080 --allow-host tools.example"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "serve", examples=EXAMPLES, more="docs/how-to/serve.md")(serve)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Options of `mcpg serve`."""

    sources: Annotated[
        list[str] | None,
        argument(
            "SOURCE",
            "A client configuration, 'stdio:COMMAND ...', https://HOST/PATH, python:MODULE, a "
            "file or a folder. [default: the sources in mcpg.toml, or the bundle]",
        ),
    ] = None
    bundle: Annotated[
        list[str] | None,
        option(
            "--bundle -b",
            "Bundle, folder or manifest to serve instead of SOURCE. Repeatable. [env: MCPG_BUNDLE]",
            "PATH",
        ),
    ] = None
    graph: Annotated[
        str | None,
        option(
            "--reviewed",
            "Bundle or folder of documents to search instead of the sources' own.",
            "PATH",
        ),
    ] = None
    on_change: Annotated[
        OnChange | None,
        option(
            "--on-change",
            "With --reviewed or --locked, describe changed tools as reviewed, hide them, or "
            "(not with --locked) describe them as changed. [default: warn]",
            "warn|hide|accept",
        ),
    ] = None
    locked: options.Locked = None
    http: Annotated[
        str | None,
        option(
            "--http",
            "Serve over HTTP at http://HOST:PORT/mcp. A HOST other than 127.0.0.1 needs "
            "--allow-host and a token in MCPG_SERVE_TOKEN.",
            "[HOST:]PORT",
        ),
    ] = None
    stdio: Annotated[
        bool,
        option("--stdio", "Serve over standard input and output, despite serve.http."),
    ] = False
    allow_host: Annotated[
        list[str] | None,
        option("--allow-host", "Another host name that clients may use. Repeatable.", "NAME"),
    ] = None
    view: Annotated[
        str | None,
        option("--view", "Serve only the view [views.NAME] of mcpg.toml.", "NAME"),
    ] = None
    expose: Annotated[
        Exposure | None,
        option(
            "--expose",
            "Tools that clients see: the meta-tools; two of these and the tools found by their "
            "searches; or all. [default: gateway]",
            "gateway|on-demand|all",
        ),
    ] = None
    pin: Annotated[
        list[str] | None,
        option("--pin", "Also list this tool: an id, SOURCE::NAME or name. Repeatable.", "TOOL"),
    ] = None
    about: Annotated[
        str | None,
        option("--about", "Text to add to the description of the search tool.", "TEXT"),
    ] = None
    graph_tools: Annotated[
        bool | None, option("--graph-tools", "Also offer tools that query the graph.")
    ] = None
    endpoint: Annotated[
        list[str] | None,
        option("--endpoint", "With --graph-tools, SPARQL endpoint to allow. Repeatable.", "URL"),
    ] = None
    max_bytes: Annotated[
        int | None,
        option(
            "--max-bytes",
            "Maximum size of an answer about tools in bytes. [default: 32768]",
            "BYTES",
            min=2048,
        ),
    ] = None
    max_result_bytes: Annotated[
        int | None,
        option(
            "--max-result-bytes",
            "Maximum size of a tool's result in bytes. [default: 262144]",
            "BYTES",
            min=2048,
        ),
    ] = None
    max_requests: Annotated[
        int | None,
        option(
            "--max-requests", "Maximum number of concurrent requests. [default: 64]", "N", min=1
        ),
    ] = None
    max_sessions: Annotated[
        int | None,
        option(
            "--max-sessions", "Maximum number of concurrent sessions. [default: 256]", "N", min=1
        ),
    ] = None
    timeout: Annotated[
        float | None,
        option(
            "--timeout",
            "Timeout of a call in seconds, unless its source sets one. [default: "
            "limits.invoke_timeout in mcpg.toml, or 60]",
            "SECONDS",
        ),
    ] = None
    answer_timeout: Annotated[
        float | None,
        option(
            "--answer-timeout",
            "Seconds for a client to answer a request of a server, such as an elicitation. "
            "[default: 300]",
            "SECONDS",
        ),
    ] = None
    record_calls: Annotated[
        str | None,
        option(
            "--record-calls",
            "Record calls for `mcpg learn`, without arguments and results.",
            "FILE",
        ),
    ] = None
    source_id: options.SourceId = None
    header: options.CallHeader = None
    allow_private: options.AllowPrivate = False
    server_timeout: options.ServerTimeout = None
    strategy: options.StrategyName = None
    fusion: options.Fusion = None
    embed_with: options.EmbedWith = None
    candidates: options.CandidateSource = None
    rewrite: options.Rewrite = None
    lexicon: options.Lexicon = None


def serve(output: Output, chosen: ServeOptions) -> int:
    """Serve the tools of many servers as one MCP server.

    Clients see a few tools that find, describe and call the others. Tools of bundles and manifests
    cannot be called.
    """
    settings = read_chosen_settings(chosen)
    shown = find_given(settings, SERVING_SETTINGS) | {"endpoints": tuple(chosen.endpoint or ())}
    views = read_views(settings)
    address = find_address(settings, is_stdio=chosen.stdio, views=views)
    wanted = GatewayRequest(
        tuple(chosen.sources or ()),
        chosen.graph,
        chosen.source_id,
        chosen.header,
        chosen.server_timeout,
        chosen.allow_private,
    )
    return serve_gateway(wanted, settings, shown, address, output, views)


_ADDRESS = re.compile(r"(?:(\[[0-9a-fA-F:.]+\]|[^:\[\]]*):)?([0-9]{1,5})", re.ASCII)
_PORTS = 65_535
_PATIENCE = 0.5
_OF_REVIEW = (Code.TOOL_CHANGED, Code.TOOL_UNREVIEWED, Code.TOOL_MISSING)
_REPORTED = (*_OF_REVIEW, Code.SERVED_NAME_UNKNOWN)

SERVING_SETTINGS = {
    "expose": "serve.expose",
    "pins": "serve.pin",
    "about": "serve.about",
    "graph_tools": "serve.graph_tools",
    "answer_bytes": "serve.max_bytes",
    "result_bytes": "serve.max_result_bytes",
    "ask_seconds": "serve.answer_timeout",
}
"""Settings of what clients see, by attributes of `ServingOptions`."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where the server is reached over HTTP, `[HOST:]PORT`, as set in *place*.

    Attributes:
        given: The set values of `hosts`, `requests` and `sessions`, as `AccessRules` and
            `HttpOptions` have them.
        tokens: Bearer tokens by the view of each; see `AccessRules.tokens`.
    """

    text: str
    given: Mapping[str, Any] = field(default_factory=dict)
    place: str = "--http"
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)


def find_given(settings: Settings, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of those *names* that are set; others have their defaults."""
    found = {to: settings.find(name) for to, name in names.items()}
    return {to: one.value for to, one in found.items() if one is not None}


def find_address(
    settings: Settings, *, is_stdio: bool = False, views: Mapping[str, View] | None = None
) -> ListenAddress | None:
    """Return where the server is reached by *settings*, `None` for standard input and output.

    *views* may have tokens of their own. It is an error if the command line, if it *is_stdio*,
    asks for both.
    """
    found = settings.find("serve.http")
    if is_stdio and settings.flags.get("http") is not None:
        message = "one server cannot speak over both"
        raise UsageError(message, place="--stdio", remedy="leave out --stdio or --http")
    if found is None or is_stdio:
        return None
    names = {"hosts": "serve.allow_hosts", "requests": "serve.requests"}
    given = find_given(settings, {**names, "sessions": "serve.sessions"})
    tokens = read_tokens(os.environ, views or {})
    return ListenAddress(found.value, given, found.origin, tokens)


def serve_gateway(
    wanted: GatewayRequest,
    settings: Settings,
    shown: Mapping[str, Any],
    address: ListenAddress | None,
    output: Output,
    views: Mapping[str, View] | None = None,
) -> int:
    """Serve until the client leaves, or the process receives a signal to end.

    Over HTTP, requests may name some of the *views*.
    """
    views = views or {}
    named = settings.find("serve.view")
    view = None if named is None else find_view(named.value, views, named.origin)
    try:
        import anyio  # noqa: PLC0415 - an extra

        http = make_http(address) if address is not None else None
        serving = _make_serving_options(shown, settings, output)
        reserved = (*META_TOOLS, *(one.item.name for one in serving.plugin_tools))
    except ModuleNotFoundError as fault:
        raise UsageError(
            f"nothing can be served without the MCP SDK: {fault.name} is not installed",
            remedy=install_command("mcp"),
        ) from None
    recorded = find_given(settings, {"file": "serve.record_calls"}).get("file")
    if recorded == "-":
        message = "standard output belongs to the protocol"
        raise UsageError(message, place="--record-calls", remedy="name a file")
    tokens = address.tokens if address is not None else {}
    # Without a view or tokens only for views, the whole gateway is served.
    served = [view] if view else [views[name] for name in tokens if "" not in tokens]
    gateway = make_gateway(wanted, settings, reserved=reserved, record_calls=recorded, views=served)
    if not output.debug:  # libraries may log requests or secrets
        logging.getLogger().addHandler(logging.NullHandler())
    if http is None and is_terminal(sys.stdin):
        output.note("a client speaks here, over standard input; --http serves at an address")
    anyio.run(_run, _Served(gateway, view, views), serving, http, output)
    return _wait_for_threads(output)


def make_http(address: ListenAddress) -> HttpOptions:
    """Return how the server is reached over HTTP.

    Raises:
        UsageError: It is not an address, or it would be open to others without protection.
    """
    from mcpg.gateway.serve.http import AccessRules, HttpOptions  # noqa: PLC0415 - an extra

    found = _ADDRESS.fullmatch(address.text)
    if found is None or int(found[2]) > _PORTS:
        raise UsageError(
            f"{address.text!r} is not an address",
            place=address.place,
            remedy="give a port, or HOST:PORT such as 127.0.0.1:8080 or [::1]:8080",
        )
    host = (found[1] or "127.0.0.1").strip("[]")
    given, tokens = {**address.given}, {**address.tokens}
    hosts = tuple(given.pop("hosts", ()))
    sessions = {"sessions": given.pop("sessions")} if "sessions" in given else {}
    return HttpOptions(
        host,
        int(found[2]),
        AccessRules(tokens.pop("", ""), hosts, view_tokens=tokens, **given),
        **sessions,
    )


def _make_serving_options(
    shown: Mapping[str, Any], settings: Settings, output: Output
) -> ServingOptions:
    from mcpg.gateway.serve.catalogue import find_plugin_tools  # noqa: PLC0415 - an extra

    plugin_tools, noticed = find_plugin_tools()
    output.diagnostics(noticed)
    strategy = find_strategy(settings)
    asked: dict[str, Any] = {
        "strategy": strategy,
        "fusion": find_fusion(settings, strategy),
        "rewrite": ServiceFactory(settings).is_rewriting,
        "lexicon": uses_lexicon(settings),
    }
    reported: set[Diagnostic] = set()

    def report(diagnostics: Iterable[Diagnostic]) -> None:
        """Report each diagnostic once: errors, changed tools, unknown names; all if verbose."""
        unseen = [one for one in dict.fromkeys(diagnostics) if one not in reported]
        news = [
            one
            for one in unseen
            if output.verbose
            or one.severity == Severity.ERROR
            or (one.severity != Severity.INFO and one.code in _REPORTED)
        ]
        reported.update(news)
        output.diagnostics(news)

    return ServingOptions(
        **{
            **shown,
            "expose": Exposure(shown.get("expose") or Exposure.META),
            "pins": tuple(shown.get("pins", ())),
            "about": " ".join(shown.get("about", "").split()),
        },
        search=asked,
        route=asked,
        ask=make_ask_arguments(settings),
        log=output.note if output.verbose else None,
        plugin_tools=plugin_tools,
        on_diagnostics=report,
    )


class _Served(NamedTuple):
    """A gateway, the view of it that is served, and the views that requests may name."""

    gateway: Gateway
    view: View | None
    views: Mapping[str, View]


async def _run(
    served: _Served, serving: ServingOptions, http: HttpOptions | None, output: Output
) -> None:
    from mcpg.gateway.serve.server import GatewayServer, serve_stdio  # noqa: PLC0415 - loads the SDK

    gateway, view, views = served
    for source in gateway.sources if output.verbose else ():
        if isinstance(source, ServerSource) and (found := decide_scope(source.server)).description:
            output.note(f"connections to {source.id}: {found.description}")
    async with gateway:
        server = GatewayServer(gateway.narrow(view) if view else gateway, serving)
        if http is None:
            await serve_stdio(server)
        else:
            from mcpg.gateway.serve.http import serve_http  # noqa: PLC0415 - an extra

            await serve_http(server, http, lambda url: output.note(f"serving at {url}"), views)
    if serving.on_diagnostics is not None:
        serving.on_diagnostics(gateway.diagnostics)


def _wait_for_threads(output: Output) -> int:
    """End, even if a thread still runs."""
    threads = set(threading.enumerate()) - {threading.current_thread()}
    others = [one for one in threads if not one.daemon]
    for one in others:
        one.join(_PATIENCE)
    if any(one.is_alive() for one in others):
        output.flush()
        os._exit(ExitCode.DONE)
    return ExitCode.DONE
