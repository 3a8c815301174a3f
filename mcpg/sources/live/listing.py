"""The tools of a server, over a connection to it that is open."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client, MCPError
from mcp_types import ListToolsRequest, PaginatedRequestParams
from pydantic import BaseModel, Field, ValidationError

from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.manifest import ManifestTools, bounded_source, read_manifest
from mcpg.catalog.model import SourceKind
from mcpg.errors import Code, McpgError, SourceError, error, warning
from mcpg.sources.client_config import StdioServer
from mcpg.sources.live.errors import MAX_ANSWER, AskingError, Trouble, too_large, veiled
from mcpg.sources.live.transports import ALL_TOOLS, AT_ONCE, Living, muted, transport_to
from mcpg.sources.model import Reply, SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.sources.client_config import Live, Server

_MAX_PAGES = 1000
_MAX_TOOLS = 100_000


class _Page(BaseModel):
    """A page of tools, of which nothing is dropped."""

    tools: list[Any]
    everything: list[Any] | None = Field(default=None, validation_alias=ALL_TOOLS)
    cursor: str | None = Field(default=None, alias="nextCursor")


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server told.

    Attributes:
        name: What it calls itself, or "".
        tools: Its tools, as it describes them; some may be no tools at all.
        version: Its version, or "".
        protocol: The version of the protocol that it speaks.
        secrets: Texts that must not come back in any of this, beside those of the server.
    """

    name: str
    tools: tuple[Any, ...] = ()
    version: str = ""
    protocol: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)


async def listing_of(client: Client, trouble: Trouble) -> Listing:
    """Fetch all pages of tools.

    Args:
        client: The connection.
        trouble: Knows the tokens that were used for it.

    Raises:
        AskingError: They have no end, or are too many.
        MCPError: The server answered with an error, or the connection was lost.
        pydantic.ValidationError: What it answered is not as MCP says.
    """
    info = client.server_info
    name, version = (info.name, info.version) if info is not None else ("", "")
    tools = () if client.server_capabilities.tools is None else tuple(await _tools(client))
    return Listing(name, tools, version, client.protocol_version, tuple(sorted(trouble.secrets)))


async def _tools(client: Client) -> list[Any]:
    tools: list[Any] = []
    cursor: str | None = None
    seen: set[str | None] = set()
    size = 0
    while cursor not in seen and len(seen) < _MAX_PAGES and len(tools) <= _MAX_TOOLS:
        seen.add(cursor)
        params = PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await client.session.send_request(ListToolsRequest(params=params), _Page)
        told = page.tools if page.everything is None else page.everything
        size += len(json.dumps(told))
        if size > MAX_ANSWER:
            raise AskingError(too_large())
        tools += told
        cursor = page.cursor
        if not cursor:
            return tools
    raise AskingError("its list of tools has no end")


def reason(fault: BaseException, trouble: Trouble, timeout: float) -> str:
    """Say why there is no answer, in nothing but our own words."""
    causes = list(_leaves(fault))
    ours = next((str(one) for one in causes if isinstance(one, AskingError)), None)
    if ours or trouble.said:
        return ours or trouble.said or ""
    if any(isinstance(one, TimeoutError) for one in causes):
        return no_answer(trouble, timeout)
    code = next((one.error.code for one in causes if isinstance(one, MCPError)), None)
    if code is not None:
        return f"it answered with the error {code}"
    if any(isinstance(one, ValidationError) for one in causes):
        return "its answer is not as MCP says"
    return f"asking it failed ({type(causes[0]).__name__})"


def no_answer(trouble: Trouble, timeout: float) -> str:
    """Say that a server did not answer in time."""
    lines = f", and {trouble.rubbish} lines that are no messages" if trouble.rubbish else ""
    return f"it gave no answer within {timeout:g} s{lines}"


def _leaves(fault: BaseException) -> Iterator[BaseException]:
    if isinstance(fault, BaseExceptionGroup):
        for one in fault.exceptions:
            yield from _leaves(one)
    else:
        yield fault


def reply_of(
    server: Server, answer: Listing | str, seconds: float, source_id: str | None = None
) -> Reply:
    """Give what came of asking a server, which took *seconds*; see `read_listing`."""
    batch = read_listing(server, answer, source_id)
    if isinstance(answer, str):
        return Reply(batch, seconds, has_answered=False)
    secrets = (*server.secrets, *answer.secrets)
    said, _ = veiled([answer.name, answer.version, answer.protocol], secrets)
    return Reply(batch, seconds, True, *said)


def read_listing(
    server: Server, answer: Listing | str, source_id: str | None = None
) -> SourceBatch:
    """Make tools of what a server told, or a diagnostic of why it told nothing.

    Args:
        server: The server.
        answer: What it told, or why it did not.
        source_id: Source id of all tools, in place of the server's name.
    """
    if isinstance(answer, str):
        failed = error(Code.SOURCE_LOAD_FAILED, answer, server.place)
        return SourceBatch(diagnostics=(failed,))
    kind = SourceKind.STDIO_MCP if isinstance(server, StdioServer) else SourceKind.HTTP_MCP
    secrets = (*server.secrets, *answer.secrets)
    (said, tools), hidden = veiled([answer.name, list(answer.tools)], secrets)
    name = source_id or server.name or bounded_source(said) or server.place
    try:
        found = _read(tools, kind, server.place, name)
    except McpgError as fault:
        failed = error(Code.SOURCE_LOAD_FAILED, fault.message, server.place)
        return SourceBatch(diagnostics=(failed,))
    noticed = found.diagnostics
    if hidden:
        message = "its tools repeat a value of its configuration, which was replaced by ***"
        noticed = (*noticed, warning(Code.TEXT_REPAIRED, message, server.place))
    return SourceBatch(tools=found.tools, diagnostics=noticed)


def _read(tools: list[Any], kind: SourceKind, place: str, name: str) -> ManifestTools:
    """Read *tools*; one that is no JSON, or too deep, is left out rather than all.

    Raises:
        SourceError: The tools cannot be read.
    """

    def read(some: list[Any]) -> ManifestTools:
        text = json.dumps({"sourceKind": kind.value, "tools": some})
        return read_manifest(text, place, default_source=name, source_id=name)

    try:
        return read(tools)
    except SourceError:
        faults = {number: fault for number, one in enumerate(tools) if (fault := _fault(one))}
    # Others keep their numbers.
    found = read([None if number in faults else one for number, one in enumerate(tools)])
    told = {f"{place}: tools[{number}]": fault for number, fault in faults.items()}
    noticed = (
        warning(one.code, told[one.place], one.place) if one.place in told else one
        for one in found.diagnostics
    )
    return replace(found, diagnostics=tuple(noticed))


def _fault(tool: Any) -> str | None:
    """Explain why a tool cannot be read, `None` where it can."""
    try:
        parse_json_documents(json.dumps({"tools": [tool]}), "")
    except SourceError as fault:
        return f"{fault.message}; this tool is left out"
    return None


# SECTION asking: Asks servers for their tools, side by side in one thread.


def ask_all(
    servers: Sequence[Server],
    live: Live,
    source_id: str | None,
    timeouts: Sequence[float | None],
) -> tuple[Reply, ...]:
    """Ask *servers* and give what they replied, in their order; see `ask_each`."""
    asking = _Asking(live, timeouts)
    try:
        with muted():
            answers = anyio.run(asking.all, servers)
    finally:
        asking.living.kill()
    return tuple(
        reply_of(server, answer, seconds, source_id)
        for server, (answer, seconds) in zip(servers, answers, strict=True)
    )


class _Asking:
    """One round of questions."""

    def __init__(self, live: Live, timeouts: Sequence[float | None]) -> None:
        self.living = Living()
        self._live = live
        self._timeouts = [seconds or live.timeout for seconds in timeouts]
        self._done = 0
        self._answers: list[tuple[Listing | str, float]] = [("", 0.0)] * len(timeouts)

    async def all(self, servers: Sequence[Server]) -> list[tuple[Listing | str, float]]:
        """Give, for each server, its answer or why there is none, and the seconds it took."""
        self._tell()
        limiter = anyio.CapacityLimiter(AT_ONCE)
        async with anyio.create_task_group() as group:
            for index, server in enumerate(servers):
                group.start_soon(self._one, index, server, limiter)
        return self._answers

    async def _one(self, index: int, server: Server, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            start = time.perf_counter()
            live = replace(self._live, timeout=self._timeouts[index])
            answer = await self._answer(server, live)
            self._answers[index] = answer, time.perf_counter() - start
        self._done += 1
        self._tell()

    async def _answer(self, server: Server, live: Live) -> Listing | str:
        trouble = Trouble()
        transport = transport_to(server, live, trouble, self.living)
        answer: Listing | str = ""
        try:
            with anyio.fail_after(live.timeout):
                async with Client(transport, cache=None) as client:
                    answer = await listing_of(client, trouble)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the others go on
            return reason(fault, trouble, live.timeout)
        return answer

    def _tell(self) -> None:
        if self._live.told is not None:
            self._live.told(self._done, len(self._timeouts))
