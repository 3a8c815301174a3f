"""A gateway made from options and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.cli.environment import SOURCES, TOKEN_VARIABLE, VIEWS, cache_folder
from mcpg.cli.locks import is_locked, lock_path, open_lock
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.cli.source_settings import ServerOptions, open_entries
from mcpg.errors import Diagnostic, NotFoundError, UsageError
from mcpg.files import present_paths
from mcpg.gateway.calls import Limits
from mcpg.gateway.registry import GENERATED, ReviewedDocuments
from mcpg.gateway.views import ItemKind, Selection, View, name_server
from mcpg.review.lock_sources import OnChange, ToolLock
from mcpg.search.results import EngineServices
from mcpg.sources.client_config import ServerAccess
from mcpg.sources.registry import FileSource, Source, open_sources, with_headers
from mcpg.text.spelling import suggest

if TYPE_CHECKING:
    from mcpg.gateway.gateway import Gateway

_VIEW_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_LIMITS = {
    "invoke_seconds": "invoke_timeout",
    "result_bytes": "result_bytes",
    "sessions": "sessions",
    "sessions_per_source": "sessions_per_source",
    "session_seconds": "session_idle_timeout",
    "relist_seconds": "relist_interval",
}
"""The limits that settings can have, by attribute."""


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """The arguments of the command line that configure a gateway.

    Attributes:
        sources: Files, folders, servers and modules; none for the bundle that an option names, the
            sources of the configuration file, *graph*, or the bundle, whichever is first.
        graph: A bundle, folder or document to search instead of the sources' definitions.
        source_id: Source id of all tools.
        header: Headers for the only server that is named by its address, or for the only OpenAPI
            document, as `NAME: VALUE`.
        server_timeout: Seconds that each server has to list its tools.
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
    views: Collection[View] = (),
) -> Gateway:
    """Make a gateway; it starts nothing, and reads only files that were named.

    No tool gets an id that is *reserved*; calls are appended to the file *record_calls*. If only
    *views* are used, sources that none of them can show are left out.

    Raises:
        McpgError: A named file cannot be used, or a setting is unavailable or makes no sense.
    """
    from mcpg.gateway.gateway import Gateway  # noqa: PLC0415 - an extra

    is_single = len(wanted.sources) == 1
    options = ServerOptions(
        wanted.sources, wanted.header, wanted.server_timeout, takes_document=is_single
    )
    live = options.live()
    sources, noticed = open_wanted(wanted, settings, live)
    if live.headers and not options.hosts:
        sources = tuple(with_headers(one, live) for one in sources)
    if wanted.allow_private:
        sources = tuple(
            replace(one, allow_private=True) if isinstance(one, FileSource) else one
            for one in sources
        )
    shown = [one for one in sources if not views or any(view.may_show(one) for view in views)]
    found = settings.find("serve.on_change")
    reaction = OnChange(found.value) if found else OnChange.WARN
    factory = ServiceFactory(settings)
    # A gateway lives long, so that a cache pays, unlike for a single search.
    given = factory.arguments() | {"cache": factory.cache()}
    return Gateway(
        sources=shown,
        graph=ReviewedDocuments(wanted.graph, reaction) if wanted.graph else GENERATED,
        lock=_open_tool_lock(settings, reaction),
        live=live,
        reserved=reserved,
        services=EngineServices(**given),
        limits=read_limits(settings),
        cache_dir=cache_folder(),
        diagnostics=noticed,
        left_out=[name for one in sources if one not in shown for name in name_server(one)],
        record_calls=record_calls,
    )


def read_views(settings: Settings) -> dict[str, View]:
    """Return the views that *settings* define, by their names.

    Raises:
        UsageError: A view is invalid.
    """
    found: dict[str, View] = {}
    for name, table in settings.views().items():
        if not _VIEW_NAME.fullmatch(name):
            remedy = "use letters, digits, `-` and `_`, and begin with a letter"
            raise UsageError(f"{name[:80]!r} is not the name of a view", place=VIEWS, remedy=remedy)
        allow, deny = (
            Selection(tuple(one.servers or ()), tuple(one.categories or ()), tuple(one.tools or ()))
            for one in (table, table.deny)
        )
        has_kinds = "kinds" in table.model_fields_set
        kinds = frozenset(map(ItemKind, table.kinds)) if has_kinds else None
        found[name] = View(name, allow, deny, table.read_only, kinds)
    return found


def find_view(name: str, views: Mapping[str, View], place: str) -> View:
    """Return the view called *name*, which *place* names."""
    if name in views:
        return views[name]
    near = suggest(name, views)
    advice = f"did you mean {near[0]!r}?" if near else f"write [{VIEWS}.NAME] into mcpg.toml"
    raise UsageError(f"no view is called {name[:80]!r}", place=place, remedy=advice)


def read_tokens(environ: Mapping[str, str], views: Mapping[str, View]) -> dict[str, str]:
    """Return the bearer tokens that the environment sets, by the view that each opens.

    The token of the whole gateway has the name "".

    Raises:
        UsageError: A variable matches no view, or two views have the same token or variable.
    """
    names = {f"{TOKEN_VARIABLE}_{name.upper().replace('-', '_')}": name for name in views}
    if len(names) < len(views):
        message = "two views have the same variable for their tokens"
        raise UsageError(message, place=VIEWS, remedy="rename one")
    names[TOKEN_VARIABLE] = ""
    found: dict[str, str] = {}
    for variable, token in environ.items():
        if not token or not variable.startswith(TOKEN_VARIABLE):
            continue
        if variable not in names:
            remedy = f"unset it, or write [{VIEWS}.NAME] into mcpg.toml"
            raise UsageError("it is the token of no view", place=variable, remedy=remedy)
        if token in found.values():
            remedy = "make another one: openssl rand -hex 32"
            raise UsageError("another view has the same token", place=variable, remedy=remedy)
        found[names[variable]] = token
    return found


def open_wanted(
    wanted: GatewayRequest, settings: Settings, live: ServerAccess
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources of a gateway; see `GatewayRequest.sources`."""
    is_bundle = bool(settings.flags.get("bundle"))
    if wanted.sources and is_bundle:
        raise UsageError(
            "a bundle is named beside other sources",
            place="--bundle",
            remedy="pass it as a further SOURCE; to search its documents instead of the sources' "
            "own, use --reviewed",
        )
    if wanted.sources:
        return open_sources(wanted.sources, live, source_id=wanted.source_id)
    entries = None if is_bundle else settings.sources()
    if entries:
        return open_entries(
            entries, live, source_id=wanted.source_id, timeout=wanted.server_timeout
        )
    if wanted.graph and not is_bundle:
        return open_sources([wanted.graph], live, source_id=wanted.source_id)
    try:
        paths = [str(one.value) for one in settings.bundles()]
    except NotFoundError as fault:
        if settings.find("bundle") is not None:
            raise
        raise UsageError(
            f"no source is named, and there is {fault.message}",
            remedy=f"name one, write [[{SOURCES}]] into mcpg.toml, or make a bundle",
        ) from None
    present, missing = present_paths(paths)
    sources, noticed = open_sources(present, live, source_id=wanted.source_id)
    return sources, (*missing, *noticed)


def read_limits(settings: Settings) -> Limits:
    """Return the limits in *settings*; raises `UsageError` if they make no sense."""
    usual = Limits()
    found = {name: settings.find(f"limits.{key}") for name, key in _LIMITS.items()}
    given = {name: one.value for name, one in found.items() if one is not None}
    longest = max(given.get("invoke_seconds", usual.invoke_seconds), usual.longest_seconds)
    return Limits(longest_seconds=longest, **given)


def _open_tool_lock(settings: Settings, reaction: OnChange) -> ToolLock | None:
    """Return the lock that tools must match, `None` if none is requested."""
    if not is_locked(settings):
        return None
    if reaction is OnChange.ACCEPT:
        found = settings.find("serve.on_change")
        raise UsageError(
            "changes are not accepted under a lock",
            place=found.origin if found else None,
            remedy="approve them with `mcpg lock --approve`, or use --no-locked",
        )
    path = lock_path(settings)
    return ToolLock(open_lock(path), path, reaction)
