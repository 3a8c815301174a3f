"""Gateways and live servers, as options and settings name them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcpg.cli.environment import SOURCES, cache_folder, login_folder
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.errors import Diagnostic, NotFoundError, UsageError
from mcpg.gateway import Gateway, Limits, OnChange, Source, ToolLock
from mcpg.net.addresses import TCHAR
from mcpg.search.results import EngineServices
from mcpg.sources.client_config import DEFAULT_TIMEOUT, MAX_TIMEOUT, Live

_LIMITS = {
    "invoke_seconds": "invoke",
    "result_bytes": "result",
    "sessions": "sessions",
    "sessions_per_source": "sessions_per_source",
    "session_seconds": "session_idle",
    "relist_seconds": "relist",
}
"""The limits that settings may hold, by attribute."""


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """What of a gateway the command line names.

    Attributes:
        sources: Files, folders, servers and modules; none for the bundle that an option names, for
            those of the configuration file, for *graph*, or for the bundle, whichever is first.
        graph: A bundle, folder or document to search in place of what the sources define.
        source_id: Source id of all tools.
        header: Headers for the one server that is named by its address, or for the one OpenAPI
            document, as `NAME: VALUE`.
        server_timeout: Seconds that each server has to tell its tools.
        allow_private: Whether servers that OpenAPI documents name may have private addresses.
    """

    sources: Sequence[str] = ()
    graph: str | None = None
    source_id: str | None = None
    header: Sequence[str] | None = None
    server_timeout: float | None = None
    allow_private: bool = False


def make_gateway(
    wanted: GatewayRequest,
    settings: Settings,
    *,
    reserved: Collection[str] = (),
    record_calls: str | None = None,
) -> Gateway:
    """Make a gateway; nothing is started, and only files that were named are looked at.

    Args:
        wanted: What the command line names.
        settings: What is set.
        reserved: Ids that no tool may get.
        record_calls: File to which calls are appended, `None` for none.

    Raises:
        UsageError: An option or a setting makes no sense.
        McpgError: A file that is named cannot be used, or something that is set cannot be had.
    """
    from mcpg.gateway import Gateway  # noqa: PLC0415 - help needs none

    return Gateway(**_arguments(wanted, settings, reserved), record_calls=record_calls)


def open_wanted(
    wanted: GatewayRequest, settings: Settings, live: Live
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources of a gateway; see `Wanted.sources`.

    Raises:
        McpgError: See `make_gateway`.
    """
    from mcpg.files import present_paths  # noqa: PLC0415 - as above
    from mcpg.sources.arguments import open_sources  # noqa: PLC0415

    is_bundle = bool(settings.flags.get("bundle"))
    if wanted.sources and is_bundle:
        raise UsageError(
            "a bundle is named beside other sources",
            place="--bundle",
            remedy="pass it as a further SOURCE; to search its documents instead of the sources' "
            "own, use --graph",
        )
    if wanted.sources:
        return open_sources(wanted.sources, live, source_id=wanted.source_id)
    entries = None if is_bundle else settings.sources()
    if entries:
        from mcpg.cli.source_settings import open_entries  # noqa: PLC0415 - most runs have none

        return open_entries(
            entries, live, source_id=wanted.source_id, timeout=wanted.server_timeout
        )
    if wanted.graph and not is_bundle:
        return open_sources([wanted.graph], live, source_id=wanted.source_id)
    present, missing = present_paths(_bundles(settings))
    sources, noticed = open_sources(present, live, source_id=wanted.source_id)
    return sources, (*missing, *noticed)


def _bundles(settings: Settings) -> list[str]:
    try:
        return [str(one.value) for one in settings.bundles()]
    except NotFoundError as fault:
        if settings.find("bundle") is not None:
            raise
        raise UsageError(
            f"no source is named, and there is {fault.message}",
            remedy=f"name one, write [[{SOURCES}]] into mcpg.toml, or make a bundle",
        ) from None


def read_limits(settings: Settings) -> Limits:
    """Return the limits that *settings* hold.

    Raises:
        UsageError: A setting makes no sense.
    """
    from mcpg.gateway.calls import Limits  # noqa: PLC0415 - as above

    usual = Limits()
    found = {name: settings.find(f"limits.{key}") for name, key in _LIMITS.items()}
    given = {name: one.value for name, one in found.items() if one is not None}
    longest = max(given.get("invoke_seconds", usual.invoke_seconds), usual.longest_seconds)
    return Limits(longest_seconds=longest, **given)


def _arguments(
    wanted: GatewayRequest, settings: Settings, reserved: Collection[str]
) -> dict[str, Any]:
    from mcpg.sources.arguments import with_headers  # noqa: PLC0415 - as above
    from mcpg.sources.registry import GENERATED, FileGraph, FileSource  # noqa: PLC0415

    live = _options(wanted).live()
    sources, noticed = open_wanted(wanted, settings, live)
    if live.headers and not _hosts(wanted.sources):
        sources = tuple(with_headers(one, live) for one in sources)
    if wanted.allow_private:
        sources = tuple(
            replace(one, allow_private=True) if isinstance(one, FileSource) else one
            for one in sources
        )
    return {
        "sources": sources,
        "graph": FileGraph(wanted.graph, _reaction(settings)) if wanted.graph else GENERATED,
        "lock": _tool_lock(settings),
        "live": live,
        "reserved": reserved,
        "services": _services(settings),
        "limits": read_limits(settings),
        "cache_dir": cache_folder(),
        "diagnostics": noticed,
    }


def _reaction(settings: Settings) -> OnChange:
    from mcpg.sources.registry import OnChange  # noqa: PLC0415 - as above

    found = settings.find("serve.on_change")
    return OnChange(found.value) if found else OnChange.WARN


def _tool_lock(settings: Settings) -> ToolLock | None:
    """Return the lock to which tools are held, `None` where nothing asks for that."""
    from mcpg.cli.locks import is_locked, lock_path, open_lock  # noqa: PLC0415 - as above
    from mcpg.sources.registry import OnChange, ToolLock  # noqa: PLC0415 - as above

    if not is_locked(settings):
        return None
    found = settings.find("serve.on_change")
    if found is not None and found.value == OnChange.ACCEPT:
        raise UsageError(
            "changes are not accepted under a lock",
            place=found.origin,
            remedy="approve them with `mcpg lock --approve`, or use --no-locked",
        )
    path = lock_path(settings)
    return ToolLock(open_lock(path), path, OnChange(found.value) if found else OnChange.WARN)


def _options(wanted: GatewayRequest) -> ServerOptions:
    is_single = len(wanted.sources) == 1
    return ServerOptions(
        wanted.sources, wanted.header, wanted.server_timeout, takes_document=is_single
    )


def _services(settings: Settings) -> EngineServices:
    from mcpg.search.results import EngineServices  # noqa: PLC0415 - as above

    factory = ServiceFactory(settings)
    given = factory.arguments()
    # A gateway lives long, so that a cache pays where a single search would not gain from it.
    given["cache"] = factory.cache()
    return EngineServices(embeddings=given.pop("embeddings"), **given)


_HEADER = re.compile(rf"({TCHAR}+):[ \t]*([^\r\n\0]*)")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


class ServerOptions:
    """The options that concern servers.

    Attributes:
        asked: Whether a server was queried, so that the sources may differ at the next run.
        seconds: Timeout of each server in seconds, `None` for the default.
    """

    def __init__(
        self,
        sources: Sequence[str],
        headers: Sequence[str] | None = None,
        seconds: float | None = None,
        *,
        takes_document: bool = False,
    ) -> None:
        """Check the options.

        Args:
            sources: The sources that the command line names.
            headers: Headers, as `NAME: VALUE`.
            seconds: Timeout of each server.
            takes_document: Whether headers may be for a source without an address.

        Raises:
            UsageError: One is invalid.
        """
        self.asked = False
        hosts = _hosts(sources)
        if headers and len(hosts) != 1 and (hosts or not takes_document):
            raise UsageError(
                "headers need exactly one server that they are sent to",
                place="--header",
                remedy="name one https://HOST/PATH, or write several servers into a configuration",
            )
        self._headers = _headers(headers or ())
        if seconds is not None and not 0 < seconds <= MAX_TIMEOUT:
            raise UsageError(
                f"{seconds:g} is not a valid timeout",
                place="--server-timeout",
                remedy=f"use seconds above 0, up to {MAX_TIMEOUT}",
            )
        self.seconds = seconds

    def live(self, tell: Callable[[int, int], None] | None = None) -> Live:
        """Return how servers are queried; progress goes to *tell*."""

        def note_progress(done: int, of: int) -> None:
            self.asked = True
            if tell is not None:
                tell(done, of)

        seconds = self.seconds or DEFAULT_TIMEOUT
        return Live(os.environ, self._headers, seconds, note_progress, login_folder())


def _hosts(sources: Sequence[str]) -> set[str]:
    return {source.split("/")[2] for source in sources if _ADDRESS.match(source)}


def _headers(headers: Sequence[str]) -> dict[str, str]:
    found = [_HEADER.fullmatch(header) for header in headers]
    if None in found:
        raise UsageError(
            "invalid header",
            place="--header",
            remedy="write 'Name: value'; its value is not shown here",
        )
    return {one[1]: one[2].strip() for one in found if one is not None}
