"""The sources of the configuration file: each is started or read, and asked for its tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcpg.cli.checks.checks import Check, Status, timed, tried
from mcpg.cli.live_gateway import ServerOptions
from mcpg.cli.setting_keys import SOURCES
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import counted
from mcpg.errors import Diagnostic, McpgError, Severity, remedy_of
from mcpg.gateway.sources import FileSource, ServerSource, Source
from mcpg.sources.client_config import Live, Server
from mcpg.sources.model import Reply, SourceBatch

if TYPE_CHECKING:
    from mcpg.cli.source_settings import ConfiguredSource

_LONGEST_NAME = 80
_TOLD = 10
_SEVERAL = 2
_RAISE = "raise its 'timeout', or run it yourself: does it answer at all?"
_PROGRAM = (
    "run its command yourself: what it writes to standard error may be secret, and is not shown"
)
_ADDRESS = "check the address and its headers, and whether a server runs there"
_SKIPPED = "they are not started: --no-sources"


def check_sources(settings: Settings, *, starts: bool) -> Iterator[Check]:
    """Open every source and ask it for its tools, servers side by side.

    Args:
        settings: What is configured.
        starts: Whether anything is started and read at all.
    """
    entries = settings.sources() or ()
    if not entries:
        yield Check(SOURCES, Status.OFF, "no configuration file names any")
    elif not starts:
        yield Check(SOURCES, Status.OFF, f"{counted(len(entries), 'source')}: {_SKIPPED}")
    else:
        yield from _Round(entries).checks()


@dataclass(slots=True)
class _Opened:
    """What came of opening one entry.

    Attributes:
        entry: The entry.
        sources: Its sources: of the configuration of a client, one for each server.
        diagnostics: What was noticed.
        fault: Why there are none.
    """

    entry: ConfiguredSource
    sources: tuple[Source, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    fault: McpgError | None = None


@dataclass(slots=True)
class _Round:
    """One round of questions to all entries."""

    entries: Sequence[ConfiguredSource]
    replies: dict[str, Reply] = field(default_factory=dict)
    batches: list[SourceBatch] = field(default_factory=list)

    def checks(self) -> Iterator[Check]:
        """Return a check for every source, and one for all of them together."""
        live = ServerOptions(()).live()
        opened = _open_all(self.entries, live)
        failed = self._ask([source for one in opened for source in one.sources], live)
        for one in opened:
            yield from self._of_entry(one, failed)
        yield from _together(self.batches)

    def _ask(self, sources: Iterable[Source], live: Live) -> McpgError | None:
        """Ask all servers, side by side; give why none of them can be asked."""
        from mcpg.gateway.sources import ServerSource  # noqa: PLC0415
        from mcpg.sources.live import query_each  # noqa: PLC0415 - as above

        servers = [one for one in sources if isinstance(one, ServerSource)]
        timeouts = [one.timeout for one in servers]
        try:
            replies = query_each([one.server for one in servers], live, timeouts=timeouts)
        except McpgError as fault:
            return fault
        self.replies = {one.id: reply for one, reply in zip(servers, replies, strict=True)}
        return None

    def _of_entry(self, one: _Opened, failed: McpgError | None) -> Iterator[Check]:
        from mcpg.gateway.sources import FileSource, ServerSource  # noqa: PLC0415 - as above

        if one.fault is not None:
            yield _failed(_name(one.entry.name), one.fault)
        for noticed in one.diagnostics:
            yield _unopened(noticed)
        for source in one.sources:
            name = _name(source.id)
            if isinstance(source, FileSource):
                yield tried(name, lambda source=source, name=name: self._file(source, name))  # type: ignore[misc]
            elif isinstance(source, ServerSource):
                yield _failed(name, failed) if failed else self._server(source, name)

    def _file(self, source: FileSource, name: str) -> Check:
        from mcpg.sources import read_sources  # noqa: PLC0415 - as above
        from mcpg.sources.model import PYTHON  # noqa: PLC0415

        def read() -> tuple[SourceBatch, int, Sequence[Diagnostic]]:
            batch = read_sources([source.path], source_id=source.source_id, imports=True)
            return batch, *_contents(batch)

        (batch, count, noticed), took = timed(read)
        self.batches.append(batch)
        is_module = source.path.startswith(PYTHON)
        kind = "python" if is_module else "path"
        message = f"{source.path}: {counted(count, 'tool')}, read in {took:g} ms"
        return _judged(name, message, noticed, count, kind=kind, durationMs=took)

    def _server(self, source: ServerSource, name: str) -> Check:
        reply = self.replies[source.id]
        took = round(reply.seconds * 1000, 1)
        kind = _kind(source.server)
        if not reply.has_answered:
            message = reply.batch.diagnostics[0].message
            details: dict[str, Any] = {"kind": kind, "durationMs": took}
            return Check(name, Status.FAILED, message, _advice(source, reply), details)
        self.batches.append(reply.batch)
        count, noticed = _contents(reply.batch)
        called = f"{reply.name} {reply.version}".strip()[:_LONGEST_NAME] or "it"
        message = f"{called} answers in {took:g} ms: {counted(count, 'tool')}, MCP {reply.protocol}"
        return _judged(
            name,
            message,
            noticed,
            count,
            kind=kind,
            server=reply.name[:_LONGEST_NAME],
            version=reply.version[:_LONGEST_NAME],
            protocolVersion=reply.protocol,
            durationMs=took,
        )


def _open_all(entries: Sequence[ConfiguredSource], live: Live) -> list[_Opened]:
    from mcpg.cli.source_settings import open_entry  # noqa: PLC0415 - as above
    from mcpg.gateway.opening import Opening  # noqa: PLC0415

    opening, opened, ends = Opening(live), [], []
    for entry in entries:
        one = _Opened(entry)
        before = len(opening.diagnostics)
        try:
            open_entry(entry, opening, live)
        except McpgError as fault:
            one.fault = fault
        one.diagnostics = opening.diagnostics[before:]
        opened.append(one)
        ends.append(len(opening.sources))
    # Ids are settled once all sources are known.
    for one, begin, end in zip(opened, [0, *ends], ends, strict=False):
        one.sources = opening.sources[begin:end]
    return opened


def _contents(batch: SourceBatch) -> tuple[int, Sequence[Diagnostic]]:
    """Return how many tools a batch has, and what is noticed of them."""
    if batch.documents or batch.bundles:
        from mcpg.bundle import assemble  # noqa: PLC0415 - as above

        assembly = assemble(batch)
        return len(assembly.catalog.tools), assembly.diagnostics
    from mcpg.catalog.catalog import build_catalog  # noqa: PLC0415 - as above

    # Hints alone name tools of other sources.
    catalog = build_catalog(batch.tools, batch.rules if batch.tools else ())
    return len(catalog.tools), (*batch.diagnostics, *catalog.diagnostics)


def _together(batches: Sequence[SourceBatch]) -> Iterator[Check]:
    """Look for what is noticed only when the sources stand side by side, such as equal names."""
    from mcpg.sources.model import SourceBatch  # noqa: PLC0415 - as above

    if len(batches) < _SEVERAL:
        return

    def trial() -> Check:
        count, noticed = _contents(SourceBatch.join(batches))
        alone = {one for batch in batches for one in _contents(batch)[1]}
        message = f"{counted(len(batches), 'source')}: {counted(count, 'tool')}"
        return _judged(SOURCES, message, [one for one in noticed if one not in alone], count)

    yield tried(SOURCES, trial)


def _judged(
    name: str,
    message: str,
    noticed: Iterable[Diagnostic],
    count: int,
    **details: Any,
) -> Check:
    """Return the check of what was read, by what was *noticed* of it."""
    told = [one for one in noticed if one.severity != Severity.INFO]
    warnings = [
        {"code": one.code, "message": one.message, "place": one.place} for one in told[:_TOLD]
    ]
    found = {"tools": count, **details, "warnings": warnings}
    if not told:
        status = Status.OK if count else Status.NOTE
        return Check(name, status, message, details=found)
    is_broken = any(one.severity == Severity.ERROR for one in told)
    counts = Counter(one.code for one in told)
    codes = ", ".join(f"{code} ({number})" for code, number in counts.items())
    remedy = f"{told[0].place}: {told[0].message}. {remedy_of(told[0].code)}"
    status = Status.FAILED if is_broken else Status.NOTE
    return Check(name, status, f"{message}; {codes}", remedy, found)


def _failed(name: str, fault: McpgError) -> Check:
    where = f"{fault.place}: " if fault.place else ""
    return Check(name, Status.FAILED, f"{where}{fault.message}", fault.remedy)


def _unopened(noticed: Diagnostic) -> Check:
    """Return the check of a source that is switched off, or cannot be used as it is configured."""
    is_failure = noticed.severity == Severity.ERROR
    name = _name(str(noticed.place).rpartition(": ")[2])
    status = Status.FAILED if is_failure else Status.OFF
    return Check(name, status, noticed.message, details={"place": noticed.place})


def _name(source: str) -> str:
    return f"source {source[:_LONGEST_NAME]}"


def _kind(server: Server) -> str:
    from mcpg.sources.client_config import StdioServer  # noqa: PLC0415 - as above

    if isinstance(server, StdioServer):
        return "stdio"
    return "sse" if server.is_sse else "http"


def _advice(source: ServerSource, reply: Reply) -> str:
    """Say what to do about a server that did not answer."""
    from mcpg.sources.client_config import DEFAULT_TIMEOUT  # noqa: PLC0415 - as above

    if reply.seconds >= (source.timeout or DEFAULT_TIMEOUT):
        return _RAISE
    return _PROGRAM if _kind(source.server) == "stdio" else _ADDRESS
