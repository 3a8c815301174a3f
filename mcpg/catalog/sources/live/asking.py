"""Asks servers for their tools, side by side in one thread."""

from __future__ import annotations

import json
import logging
import os
import signal
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client, MCPError
from mcp_types import ListToolsRequest, PaginatedRequestParams
from pydantic import BaseModel, Field, ValidationError

from mcpg.catalog.entries import read_manifest
from mcpg.catalog.model import SourceKind
from mcpg.catalog.sources.batch import SourceBatch
from mcpg.catalog.sources.live.http import http_transport
from mcpg.catalog.sources.live.stdio import stdio_transport
from mcpg.catalog.sources.live.trouble import AskingError, Trouble
from mcpg.catalog.sources.live.veil import veiled
from mcpg.catalog.sources.servers import StdioServer
from mcpg.diagnostics import Code, error, warning
from mcpg.errors import McpgError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp.client import Transport

    from mcpg.catalog.sources.servers import Live, Server

_MAX_PAGES = 1000
_MAX_TOOLS = 100_000
_AT_ONCE = 16
_LOGGERS = ("mcp", "client", "httpx2", "httpcore2")


class _Page(BaseModel):
    """A page of tools, of which nothing is dropped."""

    tools: list[dict[str, Any]]
    cursor: str | None = Field(default=None, alias="nextCursor")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a server told: what it calls itself, and its tools."""

    name: str
    tools: tuple[dict[str, Any], ...]


def ask_all(servers: Sequence[Server], live: Live, source_id: str | None) -> SourceBatch:
    """Ask *servers* and give their tools in the order of the servers; see `ask_servers`."""
    asking = _Asking(live, len(servers))
    try:
        with _muted():
            answers = anyio.run(asking.all, servers)
    finally:
        asking.kill()
    pairs = zip(servers, answers, strict=True)
    return SourceBatch.join(_read(server, answer, source_id) for server, answer in pairs)


class _Asking:
    """One round of questions."""

    def __init__(self, live: Live, count: int) -> None:
        self._live = live
        self._count = count
        self._done = 0
        self._living: set[int] = set()
        self._answers: list[_Answer | str] = [""] * count

    async def all(self, servers: Sequence[Server]) -> list[_Answer | str]:
        """Give, for each server, its answer or why there is none."""
        self._tell()
        limiter = anyio.CapacityLimiter(_AT_ONCE)
        async with anyio.create_task_group() as group:
            for index, server in enumerate(servers):
                group.start_soon(self._one, index, server, limiter)
        return self._answers

    def kill(self) -> None:
        """End what is still alive because even the tidying up was interrupted."""
        for group in self._living:
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)

    async def _one(self, index: int, server: Server, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            trouble = Trouble()
            try:
                with anyio.fail_after(self._live.timeout):
                    answer: _Answer | str = await _ask(self._transport(server, trouble))
            except Exception as fault:  # noqa: BLE001 - whatever it is, the others go on
                answer = _reason(fault, trouble, self._live.timeout)
            self._answers[index] = answer
        self._done += 1
        self._tell()

    def _transport(self, server: Server, trouble: Trouble) -> Transport:
        if isinstance(server, StdioServer):
            return stdio_transport(server, self._live.environ, trouble, self._living)
        return http_transport(server, self._live.timeout, trouble)

    def _tell(self) -> None:
        if self._live.told is not None:
            self._live.told(self._done, self._count)


async def _ask(transport: Transport) -> _Answer:
    async with Client(transport, cache=None) as client:
        info = client.server_info
        tools: list[dict[str, Any]] = []
        if client.server_capabilities.tools is not None:
            tools = await _tools(client)
        return _Answer(info.name if info is not None else "", tuple(tools))


async def _tools(client: Client) -> list[dict[str, Any]]:
    """Fetch all pages."""
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    seen: set[str | None] = set()
    while cursor not in seen and len(seen) < _MAX_PAGES and len(tools) <= _MAX_TOOLS:
        seen.add(cursor)
        params = PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await client.session.send_request(ListToolsRequest(params=params), _Page)
        tools += page.tools
        cursor = page.cursor
        if not cursor:
            return tools
    raise AskingError("its list of tools has no end")


def _reason(fault: Exception, trouble: Trouble, timeout: float) -> str:
    """Say why there is no answer, in nothing but our own words."""
    causes = list(_leaves(fault))
    ours = next((str(one) for one in causes if isinstance(one, AskingError)), None)
    if ours or trouble.said:
        return ours or trouble.said or ""
    if any(isinstance(one, TimeoutError) for one in causes):
        lines = f", and {trouble.rubbish} lines that are no messages" if trouble.rubbish else ""
        return f"it gave no answer within {timeout:g} s{lines}"
    code = next((one.error.code for one in causes if isinstance(one, MCPError)), None)
    if code is not None:
        return f"it answered with the error {code}"
    if any(isinstance(one, ValidationError) for one in causes):
        return "its answer is not as MCP says"
    return f"asking it failed ({type(causes[0]).__name__})"


def _leaves(fault: BaseException) -> Iterator[BaseException]:
    if isinstance(fault, BaseExceptionGroup):
        for one in fault.exceptions:
            yield from _leaves(one)
    else:
        yield fault


def _read(server: Server, answer: _Answer | str, source_id: str | None) -> SourceBatch:
    if isinstance(answer, str):
        failed = error(Code.SOURCE_LOAD_FAILED, answer, server.place)
        return SourceBatch(diagnostics=(failed,))
    kind = SourceKind.STDIO_MCP if isinstance(server, StdioServer) else SourceKind.HTTP_MCP
    tools, hidden = veiled(list(answer.tools), server.secrets)
    text = json.dumps({"sourceKind": kind.value, "tools": tools})
    name = source_id or server.name or answer.name.strip() or server.place
    try:
        found = read_manifest(text, server.place, default_source=name, source_id=name)
    except McpgError as fault:
        failed = error(Code.SOURCE_LOAD_FAILED, fault.message, server.place)
        return SourceBatch(diagnostics=(failed,))
    noticed = found.diagnostics
    if hidden:
        message = "its tools repeat a value of its configuration, which was replaced by ***"
        noticed = (*noticed, warning(Code.TEXT_REPAIRED, message, server.place))
    return SourceBatch(tools=found.tools, diagnostics=noticed)


@contextmanager
def _muted() -> Iterator[None]:
    """Keep the SDK from logging what servers say: it may repeat what is secret."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.propagate for logger in loggers]
    silent = logging.NullHandler()
    for logger in loggers:
        logger.propagate = False
        logger.addHandler(silent)
    try:
        yield
    finally:
        for logger, propagates in zip(loggers, before, strict=True):
            logger.propagate = propagates
            logger.removeHandler(silent)
