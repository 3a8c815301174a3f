"""The command `serve`: from options to a server that runs until it is told to end."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg.cli.equipping import Equipping
from mcpg.cli.exits import ExitCode
from mcpg.cli.gatewaying import gateway_of
from mcpg.cli.querying import fusion_of, strategy_of
from mcpg.cli.screen import is_terminal
from mcpg.cli.settingkeys import TOKEN_VARIABLE
from mcpg.diagnostics import Severity
from mcpg.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.cli.gatewaying import Wanted
    from mcpg.cli.output import Output
    from mcpg.cli.settings import Settings
    from mcpg.diagnostics import Diagnostic
    from mcpg.gateway import Gateway
    from mcpg.gateway.serving.http import Http
    from mcpg.gateway.serving.options import Serving

_ADDRESS = re.compile(r"(?:(\[[0-9a-fA-F:.]+\]|[^:\[\]]*):)?([0-9]{1,5})", re.ASCII)
_PORTS = 65_535
_PATIENCE = 0.5


@dataclass(frozen=True, slots=True)
class Served:
    """What clients see; see `mcpg.gateway.serving.options.Serving`. `None` is what is usual."""

    expose: str | None
    graph_tools: bool | None
    endpoints: tuple[str, ...]
    answer_bytes: int | None
    result_bytes: int | None


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is reached over HTTP, as the command line or a file says it.

    Attributes:
        text: `[HOST:]PORT`.
        hosts: Names by which clients may ask.
        requests: The most requests at once, `None` for what is usual.
        sessions: The most sessions at once, likewise.
        place: Who says it.
    """

    text: str
    hosts: tuple[str, ...] = ()
    requests: int | None = None
    sessions: int | None = None
    place: str = "--http"


def served_by(settings: Settings, endpoints: tuple[str, ...]) -> Served:
    """Give what clients see by *settings*, and the *endpoints* that they may have asked.

    Raises:
        UsageError: A setting makes no sense.
    """
    return Served(
        _said(settings, "serve.expose"),
        _said(settings, "serve.graph_tools"),
        endpoints,
        _said(settings, "serve.max_bytes"),
        _said(settings, "serve.max_result_bytes"),
    )


def address_by(settings: Settings, *, is_stdio: bool = False) -> Address | None:
    """Give where the server is reached by *settings*, `None` for standard input and output.

    Args:
        settings: What is set.
        is_stdio: Whether the command line asks for standard input and output.

    Raises:
        UsageError: A setting makes no sense, or the command line asks for both.
    """
    found = settings.find("serve.http")
    if is_stdio and settings.flags.get("http") is not None:
        message = "one server cannot speak over both"
        raise UsageError(message, place="--stdio", remedy="leave out --stdio or --http")
    if found is None or is_stdio:
        return None
    return Address(
        found.value,
        tuple(_said(settings, "serve.allow_hosts") or ()),
        _said(settings, "serve.requests"),
        _said(settings, "serve.sessions"),
        found.origin,
    )


def _said(settings: Settings, name: str) -> Any:
    found = settings.find(name)
    return None if found is None else found.value


def _given(**arguments: Any) -> dict[str, Any]:
    """Leave out what nobody said, so that the defaults hold of where it goes."""
    return {name: value for name, value in arguments.items() if value is not None}


def serve_gateway(
    wanted: Wanted, settings: Settings, served: Served, address: Address | None, output: Output
) -> int:
    """Serve until the client leaves, or the process is told to end.

    Raises:
        McpgError: An option or a setting makes no sense, or a file that is named cannot be used.
    """
    try:
        import anyio  # noqa: PLC0415 - an extra

        from mcpg.gateway.serving.names import META_TOOLS  # noqa: PLC0415

        http = http_of(address) if address is not None else None
        serving = _serving(served, settings, output)
    except ModuleNotFoundError as fault:
        raise UsageError(
            f"nothing can be served without the MCP SDK: {fault.name} is not installed",
            remedy="pip install 'mcpg-graph[mcp]'",
        ) from None
    gateway = gateway_of(wanted, settings, reserved=META_TOOLS)
    _hush(output)
    if http is None and is_terminal(sys.stdin):
        output.note("a client speaks here, over standard input; --http serves at an address")
    anyio.run(_run, gateway, serving, http, output)
    return _left(output)


def http_of(address: Address) -> Http:
    """Give how the server is reached over HTTP.

    Raises:
        UsageError: It is no address, or it would be open to others without protection.
    """
    from mcpg.gateway.serving.guard import Rules  # noqa: PLC0415 - an extra
    from mcpg.gateway.serving.http import Http  # noqa: PLC0415

    found = _ADDRESS.fullmatch(address.text)
    if found is None or int(found[2]) > _PORTS:
        raise UsageError(
            f"{address.text!r} is no address",
            place=address.place,
            remedy="give a port, or HOST:PORT such as 127.0.0.1:8080 or [::1]:8080",
        )
    host = (found[1] or "127.0.0.1").strip("[]")
    token = os.environ.get(TOKEN_VARIABLE, "")
    rules = Rules(token, address.hosts, **_given(requests=address.requests))
    return Http(host, int(found[2]), rules, **_given(sessions=address.sessions))


def _serving(served: Served, settings: Settings, output: Output) -> Serving:
    from mcpg.gateway.serving.options import Exposure, Serving  # noqa: PLC0415 - an extra

    strategy = strategy_of(settings)
    asked: dict[str, Any] = {
        "strategy": strategy,
        "fusion": fusion_of(settings, strategy),
        "normalize": Equipping(settings).is_normalizing,
    }
    return Serving(
        expose=Exposure(served.expose or Exposure.META),
        endpoints=served.endpoints,
        search=asked,
        route=asked,
        told=output.note if output.verbose else None,
        noticed=_Noticing(output),
        **_given(
            graph_tools=served.graph_tools,
            answer_bytes=served.answer_bytes,
            result_bytes=served.result_bytes,
        ),
    )


async def _run(gateway: Gateway, serving: Serving, http: Http | None, output: Output) -> None:
    from mcpg.gateway.serving.http import serve_http  # noqa: PLC0415 - an extra
    from mcpg.gateway.serving.server import GatewayServer  # noqa: PLC0415
    from mcpg.gateway.serving.stdio import serve_stdio  # noqa: PLC0415

    async with gateway:
        server = GatewayServer(gateway, serving)
        if http is None:
            await serve_stdio(server)
        else:
            await serve_http(server, http, lambda url: output.note(f"serving at {url}"))


class _Noticing:
    """Tells of diagnostics once each: of errors, and with `--verbose` of all."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._told: set[Diagnostic] = set()

    def __call__(self, diagnostics: Iterable[Diagnostic]) -> None:
        news = [
            one
            for one in dict.fromkeys(diagnostics)
            if one not in self._told and (self._output.verbose or one.severity == Severity.ERROR)
        ]
        self._told.update(news)
        self._output.diagnostics(news)


def _hush(output: Output) -> None:
    """Keep libraries from logging: they may repeat what was asked, or what is secret."""
    if not output.debug:
        logging.getLogger().addHandler(logging.NullHandler())


def _left(output: Output) -> int:
    """End, also where a thread is still at work that nobody waits for."""
    others = [
        one
        for one in threading.enumerate()
        if one is not threading.current_thread() and not one.daemon
    ]
    for one in others:
        one.join(_PATIENCE)
    if any(one.is_alive() for one in others):
        output.flush()
        os._exit(ExitCode.DONE)
    return ExitCode.DONE
