"""Client of one MCP server: to connect, list its tools, and disconnect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client, MCPError
from mcp.client.caching import MAX_TTL_MS
from mcp_types import ListToolsRequest, PaginatedRequestParams
from pydantic import BaseModel, Field, ValidationError

from mcpg.sources.client_config import Live, Server
from mcpg.sources.live.errors import MAX_RESPONSE, ServerError, TransportErrors
from mcpg.sources.live.stderr import quoted_stderr
from mcpg.sources.live.transports import ALL_TOOLS, ProcessGroups, connect

if TYPE_CHECKING:
    import httpx2

MAX_PAGES = 1000
"""Pages of a list that are read."""

_MAX_TOOLS = 100_000


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The tools of a server, as it describes them.

    Attributes:
        name: The server's name, or "".
        tools: Its tools, not yet validated.
        version: Its version, or "".
        protocol: The version of the protocol in use.
        secrets: Tokens to be redacted in all of this.
        is_whole: Whether the list has an end; of one without, the tools are those until a limit.
        ttl: Seconds for which the server states that the list is valid, `None` if it does not.
    """

    name: str
    tools: tuple[Any, ...] = ()
    version: str = ""
    protocol: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    is_whole: bool = True
    ttl: float | None = None


class _ToolsPage(BaseModel):
    """A page of tools, of which nothing is dropped."""

    tools: list[Any]
    all_tools: list[Any] | None = Field(default=None, validation_alias=ALL_TOOLS)
    cursor: str | None = Field(default=None, alias="nextCursor")
    ttl: Any = Field(default=None, alias="ttlMs")


async def query_once(
    server: Server,
    live: Live,
    groups: ProcessGroups,
    *,
    seconds: float | None = None,
    auth: httpx2.Auth | None = None,
    errors: TransportErrors | None = None,
) -> ServerTools:
    """Connect to a server, list its tools, and disconnect.

    Args:
        server: The server.
        live: Environment and stored logins; its timeout bounds each step over HTTP.
        groups: Holds the process group of a program while it may be alive.
        seconds: Time for all of it, `None` for the timeout of *live*.
        auth: Authentication, in place of what *server* and *live* configure.
        errors: Receives what goes wrong in the transport.

    Raises:
        ServerError: The tools cannot be listed.
    """
    errors = errors or TransportErrors()
    limit = live.timeout if seconds is None else seconds
    try:
        with anyio.fail_after(limit):
            async with Client(
                connect(server, live, errors, groups, auth=auth), cache=None
            ) as client:
                return await list_tools(client, errors)
    except Exception as fault:  # noqa: BLE001 - servers fail in any way, and others go on
        secrets = (*server.secrets, *server.named_secrets)
        reason = failure(fault, errors, limit) + quoted_stderr(errors, secrets)
        raise ServerError(reason) from None


async def list_tools(client: Client, errors: TransportErrors) -> ServerTools:
    """Fetch all pages of tools, as far as the limits go."""
    info = client.server_info
    name, version = (info.name, info.version) if info is not None else ("", "")
    secrets = tuple(sorted(errors.secrets))
    listing = ServerTools(name, (), version, client.protocol_version, secrets)
    return (
        listing
        if client.server_capabilities.tools is None
        else await _list_all_pages(client, listing)
    )


async def _list_all_pages(client: Client, listing: ServerTools) -> ServerTools:
    """Return *listing* with the tools of all pages."""
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
        is_whole = cursor is None
        if is_whole:
            break
    return replace(listing, tools=tuple(tools), ttl=min(ttls, default=None), is_whole=is_whole)


def is_repeated(items: Iterable[Any], key: str, known: set[str]) -> bool:
    """Return whether a page only has items of pages before, as from a server without cursors.

    A page without items is none of these.

    Args:
        items: The items of the page.
        key: Their member that identifies them.
        known: Identities of items so far, to which those of the page are added.
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


def failure(fault: BaseException, errors: TransportErrors, seconds: float) -> str:
    """Describe why a request failed, without a word of the server's."""
    causes = list(_leaves(fault))
    own = next((str(one) for one in causes if isinstance(one, ServerError)), None)
    if own or errors.message:
        return own or errors.message or ""
    if any(isinstance(one, TimeoutError) for one in causes):
        return timed_out(errors, seconds)
    code = next((one.error.code for one in causes if isinstance(one, MCPError)), None)
    if code is not None:
        return f"server responded with error {code}"
    if any(isinstance(one, ValidationError) for one in causes):
        return "invalid MCP response"
    return f"query failed ({type(causes[0]).__name__})"


def timed_out(errors: TransportErrors, seconds: float) -> str:
    """Describe a time-out after *seconds*."""
    count = errors.invalid_lines
    lines = f", and {count} lines that are not messages" if count else ""
    return f"no response within {seconds:g} s{lines}"


def _leaves(fault: BaseException) -> Iterator[BaseException]:
    if isinstance(fault, BaseExceptionGroup):
        for one in fault.exceptions:
            yield from _leaves(one)
    else:
        yield fault
