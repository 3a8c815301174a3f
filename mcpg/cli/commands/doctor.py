"""`mcpg doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Annotated

from mcpg.bundle import assemble
from mcpg.catalog.catalog import build_catalog
from mcpg.cli import checks as trials
from mcpg.cli import options
from mcpg.cli.checks import (
    Check,
    Status,
    check_lock,
    check_review,
    failure,
    run_check,
    time_call,
    warnings_json,
)
from mcpg.cli.environment import SOURCES
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_chosen_settings
from mcpg.cli.options import option
from mcpg.cli.output import Output
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.query import refuse
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.settings import Settings
from mcpg.cli.source_settings import ConfiguredSource, ServerOptions, open_entry
from mcpg.engine.loading import with_graphs_read
from mcpg.errors import Diagnostic, McpgError, Severity, find_remedy
from mcpg.plugins.hooks import DoctorCheck
from mcpg.plugins.registry import load_reference, own_items, package_plugins
from mcpg.show.blocks import CodeSpan, Column, Inline, Styled, Table
from mcpg.sources import read_sources
from mcpg.sources.client_config import DEFAULT_TIMEOUT, ServerAccess, StdioServer
from mcpg.sources.live import query_each
from mcpg.sources.model import ServerListing, SourceBatch
from mcpg.sources.read import MODULE, REGISTERED, find_kind
from mcpg.sources.registry import FileSource, ServerSource, Source, SourceCollector, decide_scope
from mcpg.values import format_count, to_json

EXAMPLES = """\
mcpg doctor
mcpg doctor ~/.cursor/mcp.json        # these servers, not those of mcpg.toml
mcpg doctor --strategy auto --embed-with local:multilingual
mcpg doctor --format json | jq '.checks[] | select(.status == "failed")'"""
MORE = "docs/how-to/live-servers.md"

_STYLES = {Status.OK: "green", Status.NOTE: "yellow", Status.OFF: "dim", Status.FAILED: "red"}
_TRIALS: dict[str, Callable[[Settings, ServiceFactory], Check] | None] = {
    "embeddings": trials.check_provider,
    "query rewriting": trials.check_rewriter,
    "postgres": None,
    "store": trials.check_store,
    "search cache": trials.check_cache,
    "telemetry": None,
}
"""The checks by name; `None` if a plugin registers it. Checks of other packages come last."""


_LONGEST_NAME = 80
_LATE = "run it yourself to see whether it responds"
_PROGRAM = (
    "run its command yourself: what it writes to standard error may be secret, and is not shown"
)
_NOISE = "have it write logs to standard error: other clients may refuse the server"
_ADDRESS = "check the address and its headers, and whether a server runs there"
_SKIPPED = "they are not started: --no-sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """Options of `mcpg doctor`."""

    sources: options.Sources = None
    bundle: options.BundlePaths = None
    strategy: options.StrategyName = None
    embed_with: options.EmbedWith = None
    rewrite: options.Rewrite = None
    no_sources: Annotated[bool, option("--no-sources", "Skip the sources.")] = False
    form: options.ListFormat = "text"


def run(output: Output, chosen: DoctorOptions) -> int:
    """Check every configured part, and suggest fixes.

    Starts or reaches servers and lists their tools. Exits 1 if a part does not work.
    """
    refuse({"--no-sources": chosen.sources and chosen.no_sources}, "skips SOURCE", "remove {flag}")
    settings = read_chosen_settings(chosen)
    with output.progress("checking"):
        starts = not chosen.no_sources
        checks = list(examine(settings, chosen.sources or (), starts_sources=starts))
    is_healthy = all(check.status is not Status.FAILED for check in checks)
    records = [to_json(check) for check in checks]
    if chosen.form == "json":
        output.json({"schema": "mcpg/doctor/1", "healthy": is_healthy, "checks": [*records]})
    else:
        rows: list[tuple[Inline, ...]] = []
        for one in checks:
            remedy = one.remedy or ""
            mark = ". " if remedy[:1].isupper() else "; " if remedy else ""
            result = (CodeSpan(one.message), mark, CodeSpan(remedy))
            rows.append((Styled(one.status.value, _STYLES[one.status]), CodeSpan(one.name), result))
        columns = (Column("status"), Column("check"), Column("result"))
        table = Table("Checks", columns, tuple(rows), has_heads=True, wraps=True)
        listing = RecordListing(records, ("status", "name", "message", "remedy"), "name", table)
        write_listing(listing, chosen.form, output)
    return ExitCode.DONE if is_healthy else ExitCode.FINDINGS


def examine(
    settings: Settings, named: Sequence[str] = (), *, starts_sources: bool = True
) -> Iterator[Check]:
    """Check every part that *settings* configure; sources at the same time as other parts.

    The *named* sources replace those of the settings.

    Invalid settings end it, because they no longer name the parts.
    """
    read = run_check("settings", lambda: trials.check_settings(settings))
    yield read
    yield from map(trials.check_extra, trials.EXTRAS)
    yield trials.check_cache_folder()
    if read.status is Status.FAILED:
        return
    parts: Future[list[Check]] = Future()

    def check_parts() -> None:
        try:
            parts.set_result([*_check_parts(settings)])
        except BaseException as fault:  # noqa: BLE001 - raised below, with the result
            parts.set_exception(fault)

    # A daemon does not keep an interrupted run alive; servers are ended in the main thread.
    Thread(target=check_parts, daemon=True).start()
    sources = [*_check_sources(settings, named, starts=starts_sources)]
    yield from parts.result()
    yield from sources


def _check_parts(settings: Settings) -> Iterator[Check]:
    factory = ServiceFactory(settings)
    bundle, engine = trials.check_bundle(settings)
    yield bundle
    if engine is not None:
        yield run_check("index", lambda: trials.check_index(settings))
        yield run_check("vectors", lambda: trials.check_vectors(engine, factory))
    rooms = {one.name: one.run for one in own_items(DoctorCheck)}
    for name, trial in _TRIALS.items():
        run_trial = trial or load_reference(rooms[name])
        yield run_check(name, partial(run_trial, settings, factory))
    plugins = package_plugins()
    for fault in plugins.diagnostics:
        yield Check("plugins", Status.FAILED, fault.message, find_remedy(fault.code))
    for one in plugins.items(DoctorCheck):
        yield run_check(
            one.item.name,
            lambda: load_reference(one.item.run)(settings, factory),  # noqa: B023 - called at once
        )


def _check_sources(settings: Settings, named: Sequence[str], *, starts: bool) -> Iterator[Check]:
    """Open every source and list its tools, servers side by side, if it *starts* them at all."""
    entries = named or settings.sources() or ()
    if not (entries and starts):
        skipped = f"{format_count(len(entries), 'source')}: {_SKIPPED}"
        yield Check(SOURCES, Status.OFF, skipped if entries else "no configuration file names any")
        return
    live = ServerOptions(named).live()
    opened = _open_all(entries, live)
    replies = _query_opened(opened, live)
    batches: list[SourceBatch] = []
    for opening in opened:
        if opening.fault is not None:
            yield failure(_name_check(opening.name), opening.fault)
        for item in opening.diagnostics:  # it is off, or cannot be used as it is configured
            name = _name_check(str(item.place).rpartition(": ")[2])
            status = Status.FAILED if item.severity == Severity.ERROR else Status.OFF
            yield Check(name, status, item.message, details={"place": item.place})
        for source in opening.sources:
            if isinstance(source, FileSource):
                yield run_check(_name_check(source.id), partial(_check_file, source, batches))
            elif isinstance(source, ServerSource):
                yield _check_server(source, replies, batches)
    if len(batches) > 1:
        yield run_check(SOURCES, partial(_check_together, batches))
    if named:  # the reviewed files are about all sources
        return
    yield from check_review(settings, [tool for batch in batches for tool in batch.tools])
    yield from check_lock(settings, batches)


def _query_opened(
    opened: Iterable[_OpenedEntry], live: ServerAccess
) -> Mapping[str, ServerListing] | McpgError:
    """Return the replies of all servers by the ids of their sources, or why there are none."""
    servers = [one for entry in opened for one in entry.sources if isinstance(one, ServerSource)]
    addresses, timeouts = [one.server for one in servers], [one.timeout for one in servers]
    try:
        found = query_each(addresses, live, timeouts=timeouts)
    except McpgError as fault:
        return fault
    return {one.id: reply for one, reply in zip(servers, found, strict=True)}


@dataclass(slots=True)
class _OpenedEntry:
    """An entry or a named source: one for each server of a client configuration."""

    name: str
    sources: tuple[Source, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    fault: McpgError | None = None


def _open_all(entries: Sequence[ConfiguredSource | str], live: ServerAccess) -> list[_OpenedEntry]:
    opening, opened, ends = SourceCollector(live), [], [0]
    for entry in entries:
        name = entry if isinstance(entry, str) else entry.name
        one, before = _OpenedEntry(name), len(opening.diagnostics)
        try:
            if isinstance(entry, str):
                opening.add_named(entry)
            else:
                open_entry(entry, opening, live)
        except McpgError as fault:
            one.fault = fault
        one.diagnostics = opening.diagnostics[before:]
        opened.append(one)
        ends.append(len(opening.sources))
    # Ids are settled once all sources are known.
    for one, begin, end in zip(opened, ends, ends[1:], strict=False):
        one.sources = opening.sources[begin:end]
    return opened


def _check_file(source: FileSource, batches: list[SourceBatch]) -> Check:
    """Read a source that is not a server; add its content to *batches*."""

    def read() -> tuple[SourceBatch, int, Sequence[Diagnostic]]:
        batch = read_sources(
            [source.path], source_id=source.source_id, imports=True, trust_hints=source.trust_hints
        )
        batch = with_graphs_read(batch)
        return batch, *_assemble(batch)

    (batch, count, found), took = time_call(read)
    batches.append(batch)
    names = {MODULE: "python", REGISTERED: source.path.partition(":")[0]}
    details = {"kind": names.get(find_kind(source.path).name, "path"), "durationMs": took}
    message = f"{source.path}: {format_count(count, 'tool')}, read in {took:g} ms"
    return _check_read_source(_name_check(source.id), message, found, count, details)


def _check_server(
    source: ServerSource,
    replies: Mapping[str, ServerListing] | McpgError,
    batches: list[SourceBatch],
) -> Check:
    """Check a server's reply; add its tools to *batches*."""
    name, server = _name_check(source.id), source.server
    if isinstance(replies, McpgError):
        return failure(name, replies)
    reply = replies[source.id]
    took = round(reply.seconds * 1000, 1)
    is_program = isinstance(server, StdioServer)
    kind = "stdio" if isinstance(server, StdioServer) else "sse" if server.is_sse else "http"
    if not reply.has_answered:
        message = reply.batch.diagnostics[0].message
        is_late = reply.seconds >= (source.timeout or DEFAULT_TIMEOUT)
        remedy = _LATE if is_late else _PROGRAM if is_program else _ADDRESS
        return Check(name, Status.FAILED, message, remedy, {"kind": kind, "durationMs": took})
    batches.append(reply.batch)
    count, found = _assemble(reply.batch)
    called = f"{reply.name} {reply.version}".strip()[:_LONGEST_NAME] or "it"
    scope = decide_scope(server)
    shared = f"; {scope.description}" if scope.description else ""
    tools = format_count(count, "tool")
    message = f"{called} answers in {took:g} ms: {tools}, MCP {reply.protocol}{shared}"
    details = {
        "kind": kind,
        "server": reply.name[:_LONGEST_NAME],
        "version": reply.version[:_LONGEST_NAME],
        "protocolVersion": reply.protocol,
        "durationMs": took,
        "sessions": scope.scope.value,
    }
    return _with_noise(_check_read_source(name, message, found, count, details), reply.noise)


def _with_noise(check: Check, noise: tuple[str, int]) -> Check:
    """Return *check* of a server with the lines on its standard output that are not messages."""
    first, count = noise
    if not count:
        return check
    lines = format_count(count, "line")
    message = f"{check.message}; standard output has {lines} without JSON-RPC, first {first!r}"
    details = {**check.details, "noise": {"lines": count, "first": first}}
    status = Status.NOTE if check.status is Status.OK else check.status
    return Check(check.name, status, message, check.remedy or _NOISE, details)


def _assemble(batch: SourceBatch) -> tuple[int, Sequence[Diagnostic]]:
    if batch.documents or batch.bundles:
        assembly = assemble(batch)
        return len(assembly.catalog.tools), assembly.diagnostics
    # Only hints name tools of other sources.
    catalog = build_catalog(batch.tools, batch.rules if batch.tools else ())
    return len(catalog.tools), (*batch.diagnostics, *catalog.diagnostics)


def _check_together(batches: Sequence[SourceBatch]) -> Check:
    """Return a check across several sources, such as of equal names."""
    count, found = _assemble(SourceBatch.join(batches))
    alone = {one for batch in batches for one in _assemble(batch)[1]}
    shared = [one for one in found if one not in alone]
    message = f"{format_count(len(batches), 'source')}: {format_count(count, 'tool')}"
    return _check_read_source(SOURCES, message, shared, count, {})


def _check_read_source(
    name: str,
    message: str,
    diagnostics: Iterable[Diagnostic],
    count: int,
    details: Mapping[str, object],
) -> Check:
    serious = [one for one in diagnostics if one.severity != Severity.INFO]
    found = {"tools": count, **details, "warnings": warnings_json(serious)}
    if not serious:
        return Check(name, Status.OK if count else Status.NOTE, message, details=found)
    is_broken = any(one.severity == Severity.ERROR for one in serious)
    counts = Counter(one.code for one in serious)
    codes = ", ".join(f"{code} ({number})" for code, number in counts.items())
    first = serious[0]
    remedy = f"{first.place}: {first.message}. {find_remedy(first.code)}"
    status = Status.FAILED if is_broken else Status.NOTE
    return Check(name, status, f"{message}; {codes}", remedy, found)


def _name_check(source: str) -> str:
    return f"source {source[:_LONGEST_NAME]}"
