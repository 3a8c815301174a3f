"""Tools of live servers: query servers concurrently, and read their lists of tools."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio

from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.manifest import ManifestTools, bounded_source, read_manifest
from mcpg.catalog.model import SourceKind
from mcpg.errors import Code, McpgError, SourceError, error, warning
from mcpg.sources.client_config import Live, Server, StdioServer
from mcpg.sources.live.client import ServerTools, query_once
from mcpg.sources.live.errors import ServerError, redact
from mcpg.sources.live.transports import MAX_OPENING, ProcessGroups, sdk_muted
from mcpg.sources.model import FailedSource, ServerListing, SourceBatch

# Of a tool and its schemas: what calls and checks of arguments depend on.
_IDENTIFIERS = frozenset(("name", "type", "required", "enum", "const", "$ref"))


def query_all(
    servers: Sequence[Server],
    live: Live,
    source_id: str | None,
    timeouts: Sequence[float | None],
) -> tuple[ServerListing, ...]:
    """Query *servers* for their tools; see `mcpg.sources.live.query_each`."""
    groups = ProcessGroups()
    answers: dict[int, tuple[ServerTools | str, float]] = {}

    def report() -> None:
        if live.told is not None:
            live.told(len(answers), len(servers))

    async def one(index: int, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            start = time.perf_counter()
            timed = replace(live, timeout=timeouts[index] or live.timeout)
            try:
                answer: ServerTools | str = await query_once(servers[index], timed, groups)
            except ServerError as fault:
                answer = str(fault)
            answers[index] = answer, time.perf_counter() - start
        report()

    async def every() -> None:
        report()
        limiter = anyio.CapacityLimiter(MAX_OPENING)
        async with anyio.create_task_group() as group:
            for index in range(len(servers)):
                group.start_soon(one, index, limiter)

    try:
        with sdk_muted():
            anyio.run(every)
    finally:
        groups.kill()
    return tuple(_reply(server, *answers[index], source_id) for index, server in enumerate(servers))


def _reply(
    server: Server, answer: ServerTools | str, seconds: float, source_id: str | None
) -> ServerListing:
    batch = read_listing(server, answer, source_id)
    if isinstance(answer, str):
        return ServerListing(batch, seconds, has_answered=False)
    named = (*server.named_secrets, *answer.secrets)
    names, _ = redact([answer.name, answer.version, answer.protocol], server.secrets, named)
    return ServerListing(batch, seconds, True, *names)


def read_listing(
    server: Server, answer: ServerTools | str, source_id: str | None = None
) -> SourceBatch:
    """Read the tools of a server, or make a diagnostic of why there are none.

    Args:
        server: The server.
        answer: Its list of tools, or the reason of a failure.
        source_id: Source id of all tools, in place of the server's name.
    """
    kind = SourceKind.STDIO_MCP if isinstance(server, StdioServer) else SourceKind.HTTP_MCP
    if isinstance(answer, str):
        return _failed_batch(answer, server, kind, source_id)
    named = (*server.named_secrets, *answer.secrets)
    shown = [answer.name, list(answer.tools)]
    (stated, tools), is_redacted = redact(shown, server.secrets, named, _IDENTIFIERS)
    name = source_id or server.name or bounded_source(stated) or server.place
    try:
        found = _read(tools, kind, server.place, name, trust_hints=server.trust_hints)
    except McpgError as fault:
        return _failed_batch(fault.message, server, kind, source_id)
    diagnostics = found.diagnostics
    if is_redacted:
        message = "tools repeat a value of the configuration, which was replaced by ***"
        diagnostics = (*diagnostics, warning(Code.TEXT_REPAIRED, message, server.place))
    if not answer.is_whole:
        message = f"list of tools has no end; the first {len(answer.tools):,} are used"
        diagnostics = (*diagnostics, warning(Code.SOURCE_INCOMPLETE, message, server.place))
    return SourceBatch(tools=found.tools, diagnostics=diagnostics)


def _failed_batch(
    message: str, server: Server, kind: SourceKind, source_id: str | None
) -> SourceBatch:
    name = source_id or server.name
    failed = FailedSource(server.place, frozenset(filter(None, [name])), bool(name), kind)
    noticed = error(Code.SOURCE_LOAD_FAILED, message, server.place)
    return SourceBatch(diagnostics=(noticed,), failed=(failed,))


def _read(
    tools: list[Any], kind: SourceKind, place: str, name: str, *, trust_hints: bool
) -> ManifestTools:
    """Read *tools*; one that is no JSON, or too deep, is left out rather than all."""

    def read(some: list[Any]) -> ManifestTools:
        text = json.dumps({"sourceKind": kind.value, "tools": some})
        return read_manifest(
            text,
            place,
            default_source=name,
            source_id=name,
            trust_hints=trust_hints,
            is_response=True,
        )

    try:
        return read(tools)
    except SourceError:
        faults = {number: fault for number, one in enumerate(tools) if (fault := _fault(one))}
    # Others keep their numbers.
    found = read([None if number in faults else one for number, one in enumerate(tools)])
    reasons = {f"{place}: tools[{number}]": fault for number, fault in faults.items()}
    diagnostics = (
        warning(one.code, reasons[one.place], one.place) if one.place in reasons else one
        for one in found.diagnostics
    )
    return replace(found, diagnostics=tuple(diagnostics))


def _fault(tool: Any) -> str | None:
    """Explain why a tool cannot be read, `None` where it can."""
    try:
        parse_json_documents(json.dumps({"tools": [tool]}), "")
    except SourceError as fault:
        return f"{fault.message}; this tool is left out"
    return None
