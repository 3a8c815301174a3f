"""Client of one MCP server: to connect, list its tools, and disconnect."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.caching import MAX_TTL_MS
from mcp_types import ListToolsRequest, PaginatedRequestParams
from pydantic import BaseModel, Field, ValidationError

from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.manifest import ManifestTools, bounded_source, read_manifest
from mcpg.catalog.model import SourceKind
from mcpg.errors import Code, McpgError, SourceError, error, warning
from mcpg.sources.client_config import HttpServer, Server, ServerAccess, StdioServer, bare_address
from mcpg.sources.live.kept_listings import IDENTIFIERS, ListingCache
from mcpg.sources.live.programs import ProcessGroups
from mcpg.sources.live.requests import (
    MAX_RESPONSE,
    MAX_STDERR,
    ServerError,
    TransportErrors,
    redact,
)
from mcpg.sources.live.transports import ALL_TOOLS, connect
from mcpg.sources.model import FailedSource, ServerListing, SourceBatch

AUTO, LEGACY = "auto", "legacy"

_MOST_LINES = 3
_LONGEST_LINE = 200
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_REASON = re.compile(r"\b\w*(?:error|exception|panic|fatal)\b[^:]{0,80}: *\S", re.IGNORECASE)
_FEWEST_LETTERS = 3
_LATE = "raise its `timeout`, or --server-timeout"


def quote_stderr(errors: TransportErrors, secrets: Collection[str]) -> str:
    """Return the last lines of standard error, *secrets* redacted, as the end of a message."""
    text = _SEQUENCE.sub("", errors.stderr.decode("utf-8", "replace"))
    if len(errors.stderr) >= MAX_STDERR:
        text = text.partition("\n")[2]  # the first line may begin in the middle of a secret
    known = (*secrets, *errors.secrets)
    parts = (line.strip() for secret in known for line in secret.splitlines())
    # Shorter ones than in tools: a line of a log need not read well.
    text, _ = redact(text, (), [*known, *parts])
    lines = (" ".join(line.split()) for line in text.splitlines())
    worded = [one for one in lines if sum(map(str.isalnum, one)) >= _FEWEST_LETTERS]
    chosen = worded[-_MOST_LINES:]
    # Node.js writes a stack trace below the error.
    reasons = [number for number, line in enumerate(worded) if _REASON.search(line)]
    if reasons and reasons[-1] < len(worded) - _MOST_LINES:
        chosen = [worded[reasons[-1]], *chosen[1:]]
    if not chosen:
        return ""
    cut = (line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in chosen)
    return f"; last lines of its standard error: {' | '.join(cut)}"


MAX_PAGES = 1000
"""Pages of a list that are read."""

_MAX_TOOLS = 100_000


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The tools of a server, as it describes them.

    Attributes:
        tools: Its tools, not yet validated.
        secrets: Tokens to be redacted in all of this.
        is_whole: Whether the list has an end; of an endless list, *tools* has those until a limit.
        ttl: Seconds for which the server declares the list valid, `None` if it does not.
        noise: The first line on its standard output that was not a message, and their number.
    """

    name: str
    tools: tuple[Any, ...] = ()
    version: str = ""
    protocol: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    is_whole: bool = True
    ttl: float | None = None
    noise: tuple[str, int] = ("", 0)


class _ToolsPage(BaseModel):
    """A page of tools, of which nothing is dropped."""

    tools: list[Any]
    all_tools: list[Any] | None = Field(default=None, validation_alias=ALL_TOOLS)
    cursor: str | None = Field(default=None, alias="nextCursor")
    ttl: Any = Field(default=None, alias="ttlMs")


@asynccontextmanager
async def open_client(
    connect: Callable[[], AbstractAsyncContextManager[Any]],
    errors: TransportErrors,
    mode: str = AUTO,
    **options: Any,
) -> AsyncIterator[Client]:
    """Open a client of the SDK with these *options*.

    Some servers of the older protocol exit at an unknown request, such as the first of
    a newer client. A program that exits before it has responded is therefore started once more, for
    the older handshake.
    """
    async with AsyncExitStack() as stack:
        on_end, errors.on_end = errors.on_end, None
        try:
            try:
                client = Client(connect(), mode=mode, cache=None, **options)
                await stack.enter_async_context(client)
            except Exception:
                if mode == LEGACY or not errors.has_exited:
                    raise
                errors.forget_exit()
                client = Client(connect(), mode=LEGACY, cache=None, **options)
                await stack.enter_async_context(client)
        finally:
            errors.on_end = on_end
        if errors.has_exited and on_end is not None:
            on_end()
        yield client


async def query_once(
    server: Server,
    live: ServerAccess,
    groups: ProcessGroups,
    *,
    seconds: float | None = None,
    auth: httpx2.Auth | None = None,
    errors: TransportErrors | None = None,
    advice: str = "",
) -> ServerTools:
    """Connect to a server, list its tools, and disconnect within *seconds*.

    The timeout of *live* bounds each step over HTTP; *auth* replaces the configured authentication;
    *advice* is for a server that takes longer.
    """
    errors = errors or TransportErrors()
    limit = live.timeout if seconds is None else seconds
    try:
        with anyio.fail_after(limit):
            opening = partial(connect, server, live, errors, groups, auth=auth)
            async with open_client(opening, errors) as client:
                found = await list_tools(client, errors)
        return replace(found, noise=errors.noise)
    except Exception as fault:  # noqa: BLE001 - servers fail in any way, and others go on
        secrets = (*server.secrets, *server.named_secrets)
        reason = describe_failure(fault, errors, limit)
        if advice and reason == describe_timeout(errors, limit):
            reason += f" ({advice})"
        raise ServerError(reason + quote_stderr(errors, secrets)) from None


async def list_tools(client: Client, errors: TransportErrors) -> ServerTools:
    """Fetch all pages of tools, as far as the limits go."""
    info = client.server_info
    name, version = (info.name, info.version) if info is not None else ("", "")
    secrets = tuple(sorted(errors.secrets))
    listing = ServerTools(name, (), version, client.protocol_version, secrets)
    if client.server_capabilities.tools is None:
        return listing
    tools: list[Any] = []
    cursor: str | None = None
    known: set[str] = set()
    ttls: list[float] = []
    size = 0
    is_whole = False
    for _ in range(MAX_PAGES):
        params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        page = await client.session.send_request(ListToolsRequest(params=params), _ToolsPage)
        found = page.tools if page.all_tools is None else page.all_tools
        if isinstance(page.ttl, int):
            ttls.append(min(max(page.ttl, 0), MAX_TTL_MS) / 1000)
        is_whole = is_repeated(found, "name", known)
        size += len(json.dumps(found))
        if is_whole or size > MAX_RESPONSE or len(tools) + len(found) > _MAX_TOOLS:
            break
        tools += found
        cursor = page.cursor
        if cursor is None:
            is_whole = True
            break
    return replace(listing, tools=tuple(tools), ttl=min(ttls, default=None), is_whole=is_whole)


def is_repeated(items: Iterable[Any], key: str, known: set[str]) -> bool:
    """Return whether a page only has items of pages before, as from a server without cursors.

    A page without items is none of these. The identities of its items, by *key*, join the *known*.
    """
    found = {
        one[key]
        if isinstance(one, dict) and isinstance(one.get(key), str)
        else json.dumps(one, sort_keys=True)
        for one in items
    }
    is_known = bool(found) and found <= known
    known |= found
    return is_known


def describe_failure(fault: BaseException, errors: TransportErrors, seconds: float) -> str:
    """Describe why a request failed, without a word of the server's."""
    causes = list(find_causes(fault))
    own = next((str(one) for one in causes if isinstance(one, ServerError)), None)
    if own or errors.message:
        return own or errors.message or ""
    if any(isinstance(one, TimeoutError) for one in causes):
        return describe_timeout(errors, seconds)
    code = next((one.error.code for one in causes if isinstance(one, MCPError)), None)
    if code is not None:
        return f"server responded with error {code}"
    if any(isinstance(one, ValidationError) for one in causes):
        return "invalid MCP response"
    return f"query failed ({type(causes[0]).__name__})"


def describe_timeout(errors: TransportErrors, seconds: float) -> str:
    """Describe a time-out after *seconds*."""
    count = errors.invalid_lines
    lines = f", and {count} lines that are not messages" if count else ""
    return f"no response within {seconds:g} s{lines}"


def find_causes(fault: BaseException) -> Iterator[BaseException]:
    """Yield the parts of *fault*, itself unless it is a group."""
    if isinstance(fault, BaseExceptionGroup):
        for one in fault.exceptions:
            yield from find_causes(one)
    else:
        yield fault


async def query_listing(
    server: Server, live: ServerAccess, groups: ProcessGroups, source_id: str | None, start: float
) -> ServerListing:
    """Query *server* for its tools as `query_once` does; a failure becomes a diagnostic.

    Its time counts from *start*.
    """
    answer: ServerTools | str
    try:
        answer = await query_once(server, live, groups, advice=_LATE)
    except ServerError as fault:
        answer = str(fault)
    seconds = time.perf_counter() - start
    batch = read_listing(server, answer, source_id)
    if isinstance(answer, str):
        return ServerListing(batch, seconds, has_answered=False)
    keep_listing(server, answer, live)
    secrets = (*server.named_secrets, *answer.secrets)
    first, count = answer.noise
    stated = [answer.name, answer.version, answer.protocol, first]
    (name, version, protocol, first), _ = redact(stated, server.secrets, secrets)
    first = " ".join(_SEQUENCE.sub("", first).split())[:_LONGEST_LINE]
    return ServerListing(batch, seconds, True, name, version, protocol, (first, count))


def keep_listing(server: Server, answer: ServerTools, live: ServerAccess) -> None:
    """Keep the tools of *server* for gateways that start, if *live* has a folder for that."""
    if live.listings is not None and answer.is_whole:
        tools = [one for one in answer.tools if _is_used(one, server)]
        ListingCache(live.listings).keep(server, answer.name, tools, answer.secrets)


def find_kept_listing(server: Server, folder: str) -> SourceBatch | None:
    """Return the tools that *server* had when they were last listed, as far as *folder* has them.

    They come without diagnostics, which concern the server's present tools.
    """
    kept = ListingCache(folder).find(server)
    if kept is None:
        return None
    name, tools = kept
    return replace(read_listing(server, ServerTools(name, tuple(tools))), diagnostics=())


def read_listing(
    server: Server, answer: ServerTools | str, source_id: str | None = None
) -> SourceBatch:
    """Read the tools of a server, or make a diagnostic of the reason why there are none."""
    kind = SourceKind.STDIO_MCP if isinstance(server, StdioServer) else SourceKind.HTTP_MCP
    if isinstance(answer, str):
        known = source_id or server.name
        failed = FailedSource(server.place, frozenset(filter(None, [known])), bool(known), kind)
        message = f"{_name_address(server)}{answer}"
        noticed = error(Code.SOURCE_LOAD_FAILED, message, server.place)
        return SourceBatch(diagnostics=(noticed,), failed=(failed,))
    named = (*server.named_secrets, *answer.secrets)
    used = [one for one in answer.tools if _is_used(one, server)]
    shown = [answer.name, used]
    (stated, tools), is_redacted = redact(shown, server.secrets, named, IDENTIFIERS)
    name = source_id or server.name or bounded_source(stated) or server.place
    try:
        found = _read_tools(tools, kind, server.place, name, trust_hints=server.trust_hints)
    except McpgError as fault:
        return read_listing(server, fault.message, source_id)
    diagnostics = found.diagnostics
    if is_redacted:
        message = "tools repeat a value of the configuration, which was replaced by ***"
        diagnostics = (*diagnostics, warning(Code.TEXT_REPAIRED, message, server.place))
    if not answer.is_whole:
        message = f"list of tools has no end; the first {len(answer.tools):,} are used"
        diagnostics = (*diagnostics, warning(Code.SOURCE_INCOMPLETE, message, server.place))
    return SourceBatch(tools=found.tools, diagnostics=diagnostics)


def _name_address(server: Server) -> str:
    """Return the address of *server* as the start of a message, unless its place names it."""
    address = bare_address(server.url) if isinstance(server, HttpServer) else server.place
    shown, _ = redact(address, server.variables.values(), server.named_secrets)
    return f"{shown}: " if address != server.place else ""


def _is_used(tool: Any, server: Server) -> bool:
    name = tool.get("name") if isinstance(tool, dict) else None
    return not isinstance(name, str) or server.uses_tool(name)


def _read_tools(
    tools: list[Any], kind: SourceKind, place: str, name: str, *, trust_hints: bool
) -> ManifestTools:
    """Read *tools*; leave out only the tools that are not JSON, or too deep."""
    read = partial(
        read_manifest,
        place=place,
        default_source=name,
        source_id=name,
        trust_hints=trust_hints,
        is_response=True,
    )
    with suppress(SourceError):
        return read(json.dumps({"sourceKind": kind.value, "tools": tools}))
    others: list[Any] = []  # keep their numbers
    reasons: dict[str, str] = {}
    for number, tool in enumerate(tools):
        try:
            parse_json_documents(json.dumps({"tools": [tool]}), "")
            others.append(tool)
        except SourceError as fault:
            others.append(None)
            reasons[f"{place}: tools[{number}]"] = f"{fault.message}; this tool is left out"
    found = read(json.dumps({"sourceKind": kind.value, "tools": others}))
    diagnostics = (
        warning(one.code, reasons[one.place], one.place) if one.place in reasons else one
        for one in found.diagnostics
    )
    return replace(found, diagnostics=tuple(diagnostics))
