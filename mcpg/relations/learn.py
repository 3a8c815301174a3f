"""Learn from traces of tool calls: lines of JSON, one call each, or exported OpenTelemetry spans.

A line is a JSON object with a session, a tool, a time and whether the call succeeded; common
spellings of these names are known. A line of an OpenTelemetry export, as the file exporter of the
collector writes it (OTLP/JSON), contains spans; spans of tool calls count, and their session is an
attribute or else the trace. Unusable lines are counted and skipped.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from sys import maxsize
from typing import IO, Any, NamedTuple, cast

from mcpg.errors import Code, Diagnostic, SourceError, info, os_reason, warning
from mcpg.files import open_at_once
from mcpg.relations.observed_calls import NOTHING, LearnedFile, ObservedCalls, merge, usable_name
from mcpg.relations.sessions import BOUNDS, SessionBounds, SessionCounter, SessionStatistics
from mcpg.values import format_count

_SHOWN = 5
_STDIN = "standard input"


@dataclass(frozen=True, slots=True)
class Lesson:
    """The result of learning from traces.

    Attributes:
        observed: The counts, including earlier ones.
        diagnostics: Unusable and repaired parts.
    """

    observed: ObservedCalls
    tally: Tally
    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[str, ...]


class Learner:
    """Learns from traces in turn; sessions may continue in the next."""

    def __init__(
        self,
        before: ObservedCalls = NOTHING,
        name_of: Callable[[str, str], str | None] | None = None,
        bounds: SessionBounds = BOUNDS,
    ) -> None:
        """Prepare to learn calls that are not in *before*; for *name_of* see `CallReader`."""
        self._before = before
        self._counter = SessionCounter(bounds)
        self._reader = CallReader(self._counter, name_of)
        self._files: set[LearnedFile] = set(before.files)
        self._skipped: list[str] = []

    def read(self, paths: Collection[str]) -> None:
        """Learn unknown calls from the files at *paths*.

        The common calls of a file and a longer copy of it count once, in any order.

        Raises:
            SourceError: A file cannot be read.
        """
        given = (find_beginnings(path, ()).contents for path in paths if len(paths) > 1)
        known = self._files.union(given)
        files = [find_beginnings(path, known) for path in paths]
        for file in files:
            learned = file.count_learned(self._files)
            self._files |= {one for one in file.beginnings if one.size <= learned}
        for file in files:
            if file.contents in self._files:
                self._skipped.append(file.path)
                continue
            with file.open(file.count_learned(self._files)) as stream:
                self._reader.read(stream, file.path)
            # What it began with stays known, for an older copy may be read later.
            self._files |= {file.contents, *file.beginnings}

    def read_stream(self, stream: IO[bytes]) -> None:
        """Learn from *stream*, which is not remembered: the same bytes count again."""
        self._reader.read(decompress_stream(stream, _STDIN), _STDIN)

    def finish(self) -> Lesson:
        """Return the result."""
        learned = self._counter.finish(frozenset(self._files))
        before = self._before
        kept = ObservedCalls(before.sessions, before.tools, before.pairs)
        known = "was learned from before: it is not counted again"
        return Lesson(
            merge([kept, learned]),
            self._reader.tally,
            (
                *[info(Code.TRACE_KNOWN, known, path) for path in self._skipped],
                *_report(self._reader.tally, self._counter.noticed),
            ),
            tuple(self._skipped),
        )


def learn(
    paths: Iterable[str],
    before: ObservedCalls = NOTHING,
    name_of: Callable[[str, str], str | None] | None = None,
) -> Lesson:
    """Learn from the traces at *paths*."""
    learner = Learner(before, name_of)
    learner.read([*paths])
    return learner.finish()


def _report(tally: Tally, noticed: SessionStatistics) -> Iterator[Diagnostic]:
    tools = tally.unknown_tools
    first = sorted(tools, key=lambda name: (-tools[name], name))[:_SHOWN]
    names = ", ".join(f"{name!r} ({tools[name]:,})" for name in first)
    unknown = f"{names}{', ...' if len(tools) > _SHOWN else ''}"
    skipped = (
        (tally.broken, "line", ": not a JSON object"),
        (tally.too_long, "line", f": longer than {LONGEST_LINE:,} bytes"),
        (tally.nameless, "call", ": without the name of a tool"),
        (tally.sessionless, "call", ": without a session"),
        (tally.cut, "compressed file", ": damaged or cut off"),
        (tally.unknown, "call", f" of tools that are not in the catalog: {unknown}"),
    )
    repaired = (
        (tally.timeless, "call", ": no valid time, so the order of the lines counts"),
        (tally.negative, "call", ": an end before the start, so no time between them"),
        (noticed.backwards, "call", ": earlier than the call before, so sorted by time"),
        (noticed.repeated, "call", ": the same as another one, so counted once"),
        (noticed.overlapping, "call", ": at the same time as another one, so in no order"),
    )
    bounded = (
        (noticed.parted, "session", " counted in parts, as too many were open or one was too long"),
        (noticed.tools_left_out, "call", " left out: there are too many different tools"),
        (noticed.pairs_left_out, "pair", " left out: there are too many different pairs of tools"),
    )
    for make, code, beginning, rows in (
        (warning, Code.TRACE_SKIPPED, "skipped ", skipped),
        (info, Code.TRACE_REPAIRED, "", repaired),
        (warning, Code.TRACE_BOUNDED, "", bounded),
    ):
        for count, noun, reason in rows:
            if count:
                yield make(code, f"{beginning}{format_count(count, noun)}{reason}")


LONGEST_LINE = 16 << 20
"""Maximum length of a line in bytes."""

Contents = io.BufferedIOBase
"""A stream of the lines of a trace, decompressed."""

_GZIP = b"\x1f\x8b"
_CUT = (EOFError, zlib.error, gzip.BadGzipFile)
_BLOCK = 1 << 20
_EARLIEST, _LATEST = 946_684_800.0, 4_102_444_800.0  # from 2000 up to 2100
# Bounds of the caches of layouts, names and tools.
_MOST_LAYOUTS, _LONGEST_NAMES, _MOST_TOOLS = 1024, 2048, 50_000
_MOST_UNKNOWN = 1000
_DECODE = json.JSONDecoder().raw_decode
_LONGEST_SHOWN = 80
_PUNCTUATION = re.compile(r"[\W_]+")
_NO_SESSION = frozenset({"", "0" * 32})

# Names of members, without case and punctuation; the first present one counts.
_SESSIONS = (
    *("session", "sessionid", "mcpsessionid", "conversationid", "genaiconversationid"),
    *("conversation", "threadid", "runid", "traceid", "trace"),
)
_TOOLS = ("toolid", "tool", "genaitoolname", "toolname", "name")
_SERVERS = ("sourceid", "source", "mcpginvokesourceid", "serverid", "servername", "server")
_STARTS = (
    *("start", "starttime", "startedat", "starttimeunixnano", "time", "timestamp", "ts"),
    *("datetime", "date"),
)
_ENDS = ("end", "endtime", "endedat", "endtimeunixnano")
_SECONDS = ("duration", "durations", "durationseconds", "seconds", "elapsed")
_MILLISECONDS = ("durationms", "elapsedms", "latencyms")
_SUCCESS = ("success", "succeeded", "issuccess", "ok")
_OUTCOMES = ("outcome", "status")
_FAILURE = ("iserror", "failed", "error", "errortype", "fault")
_GOOD = frozenset(
    {
        *("", "ok", "success", "succeeded", "successful", "complete", "completed", "done"),
        *("finished", "passed", "true", "unset"),
    }
)
_FIRST_FAILURE = 400
_STATUS_LINE = re.compile(r"([1-5]\d\d)\b")
_WORDS_FOR_FALSE = frozenset({"", "false", "no", "none", "null", "0"})


class TraceLayout(NamedTuple):
    """The names of the members of a line; "" for a missing member."""

    session: str
    tool: str
    server: str
    start: str
    end: str
    seconds: str
    milliseconds: str
    success: str
    outcome: str
    failure: str


_OF_SPANS = {
    "tool": "gen_ai.tool.name",
    "start": "startTimeUnixNano",
    "end": "endTimeUnixNano",
    "success": "",
    "outcome": "mcpg.invoke.outcome",
    "failure": "error.type",
}
"""The parts of a layout that are the same for all spans."""

_FIELDS = (
    *(_SESSIONS, _TOOLS, _SERVERS, _STARTS, _ENDS),
    *(_SECONDS, _MILLISECONDS, _SUCCESS, _OUTCOMES, _FAILURE),
)


def _simplify(name: str) -> str:
    return _PUNCTUATION.sub("", name).casefold()


@dataclass(slots=True)
class Tally:
    """Counts of read and skipped parts.

    Attributes:
        lines: Lines, without blank ones.
        spans: OpenTelemetry spans, including other operations than calls.
        nameless: Calls without a usable name of a tool.
        timeless: Calls without a plausible time; the order of the lines counts.
        negative: Calls that end before they begin; they count without a duration.
        unknown_tools: Unknown tools, the first thousand, with the number of their calls.
    """

    lines: int = 0
    calls: int = 0
    failures: int = 0
    spans: int = 0
    broken: int = 0
    too_long: int = 0
    nameless: int = 0
    sessionless: int = 0
    timeless: int = 0
    negative: int = 0
    unknown: int = 0
    unknown_tools: Counter[str] = field(default_factory=Counter)
    cut: int = 0


class CallReader:
    """Reads traces line by line into a counter of sessions."""

    def __init__(
        self, counter: SessionCounter, name_of: Callable[[str, str], str | None] | None = None
    ) -> None:
        """Read into *counter*.

        *name_of* returns the id of a tool by its name and server, "" without a server, `None` for
        an unknown tool. Without it, tools keep the names of the traces.
        """
        self.tally = Tally()
        self._counter = counter
        self._name_of = name_of or _qualify_name
        self._layouts: dict[tuple[str, ...], TraceLayout] = {}
        self._tools: dict[tuple[Any, Any], str] = {}

    def read(self, stream: Contents, place: str) -> None:
        """Read all lines of *stream*, see `decompress_stream`, but those that are too long."""
        try:
            while line := stream.readline(LONGEST_LINE):
                if len(line) < LONGEST_LINE or line.endswith(b"\n"):
                    self._take(line)
                    continue
                self.tally.lines += 1
                self.tally.too_long += 1
                while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
        except _CUT:
            # A compressed file that is damaged, or still being written.
            self.tally.cut += 1
        except OSError as fault:
            raise SourceError(f"cannot be read: {os_reason(fault)}", place=place) from fault

    def _take(self, line: bytes) -> None:
        if line.isspace():
            return
        self.tally.lines += 1
        record = _decode_object(line)
        if record is None:
            self.tally.broken += 1
        elif "resourceSpans" in record:
            # Exports from before 2022 call scopes instrumentation libraries.
            scopes = (
                scope
                for resource in _list_objects(record.get("resourceSpans"))
                for name in ("scopeSpans", "instrumentationLibrarySpans")
                for scope in _list_objects(resource.get(name))
            )
            for span in (one for scope in scopes for one in _list_objects(scope.get("spans"))):
                self._take_span(span)
        else:
            self._take_call(record, self._detect_layout(record))

    def _detect_layout(self, record: dict[str, Any]) -> TraceLayout:
        names = tuple(record)
        layout = self._layouts.get(names)
        if layout is None:
            plain = {_simplify(name): name for name in reversed(names)}  # the first counts
            found = (next((plain[one] for one in known if one in plain), "") for known in _FIELDS)
            layout = TraceLayout(*found)
            if len(self._layouts) < _MOST_LAYOUTS and sum(map(len, names)) < _LONGEST_NAMES:
                self._layouts[names] = layout
        return layout

    def _take_span(self, span: dict[str, Any]) -> None:
        """Read a span as a line, if it is of the call of a tool."""
        self.tally.spans += 1
        record = {
            one["key"]: next(iter(one["value"].values()), None)
            for one in _list_objects(span.get("attributes"))
            if isinstance(one.get("key"), str) and isinstance(one.get("value"), dict)
        }
        is_call = record.get("gen_ai.operation.name", "execute_tool") == "execute_tool"
        if "gen_ai.tool.name" not in record or not is_call:
            return
        record["startTimeUnixNano"] = span.get("startTimeUnixNano")
        record["endTimeUnixNano"] = span.get("endTimeUnixNano")
        status = span.get("status")
        code = status.get("code") if isinstance(status, dict) else None
        if code in (2, "STATUS_CODE_ERROR"):
            record["error.type"] = record.get("error.type") or "error"
        record["traceId"] = span.get("traceId")
        # Other attributes may have common names for other things.
        self._take_call(record, self._detect_layout(record)._replace(**_OF_SPANS))

    def _take_call(self, record: dict[str, Any], layout: TraceLayout) -> None:
        tally = self.tally
        name, session = record.get(layout.tool), record.get(layout.session)
        try:
            tool: str | None = self._tools[name, record.get(layout.server)]
        except (KeyError, TypeError):  # a new name, or none
            tool = self._find_tool(name, record.get(layout.server))
        if tool is None:
            return
        if not _is_session(session):
            # The values under any name of a session, the most specific first.
            plain = {_simplify(one): one for one in reversed(record)}
            stated = (record[plain[one]] for one in _SESSIONS if one in plain)
            session = next(filter(_is_session, stated), None)
            if session is None:
                tally.sessionless += 1
                return
        start, end = self._read_times(record, layout)
        has_succeeded = _is_success(record, layout)
        tally.calls += 1
        tally.failures += not has_succeeded
        self._counter.add(str(session), tool, start, end, succeeded=has_succeeded)

    def _find_tool(self, name: object, server: object) -> str | None:
        if not isinstance(name, str) or not usable_name(name):
            self.tally.nameless += 1
            return None
        source = server if isinstance(server, str) and usable_name(server) else ""
        tool = self._name_of(name, source)
        if tool is None:
            self.tally.unknown += 1
            shown, known = _qualify_name(name, source)[:_LONGEST_SHOWN], self.tally.unknown_tools
            if shown in known or len(known) < _MOST_UNKNOWN:
                known[shown] += 1
        elif len(self._tools) < _MOST_TOOLS and (server is None or source):
            self._tools[name, source or None] = tool
        return tool

    def _read_times(
        self, record: dict[str, Any], layout: TraceLayout
    ) -> tuple[float | None, float]:
        start = parse_seconds(record.get(layout.start))
        if start is None:
            self.tally.timeless += 1
            return None, 0.0
        end = parse_seconds(record.get(layout.end)) if layout.end else None
        if end is not None:
            took = end - start
        else:
            name, unit = (layout.seconds, 1.0) if layout.seconds else (layout.milliseconds, 1e3)
            stated = record.get(name)
            # NaN is not below anything, and a call takes no longer than a century.
            took = 0.0
            if isinstance(stated, int | float) and stated < _LATEST:
                took = max(stated, -_LATEST) / unit
        if took < 0:
            self.tally.negative += 1
            return start, start
        # A time in whole seconds was cut by up to one: so much proves nothing about its end.
        return start, start + (max(0.0, took - 1.0) if start.is_integer() else took)


def _qualify_name(name: str, server: str) -> str:
    return f"{server}::{name}" if server else name


def parse_seconds(value: object) -> float | None:
    """Return a time in seconds since 1970, `None` if it is not between 2000 and 2100.

    *value* is an ISO 8601 text, in UTC without a zone, or a number of seconds, milliseconds,
    microseconds or nanoseconds, by its size.
    """
    if type(value) is float and _EARLIEST <= value < _LATEST:
        return value
    if isinstance(value, str):
        text = value
        try:
            moment = datetime.fromisoformat(text)
            value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except ValueError:
            with suppress(ValueError):
                value = int(text) if text.isdecimal() else float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compared first, because a number too large for a float cannot be divided.
    for unit in (1, 1e3, 1e6, 1e9):
        if _EARLIEST * unit <= value < _LATEST * unit:
            return value / unit
    return None


def _is_success(record: dict[str, Any], layout: TraceLayout) -> bool:
    """Return whether a call succeeded, which is the default."""
    success = record.get(layout.success)
    if success is True:
        return True
    if success is not None and not _is_true(success):
        return False
    outcome = record.get(layout.outcome)
    if isinstance(outcome, str):
        word = outcome.strip()
        status = _STATUS_LINE.match(word)  # of an HTTP response
        has_failed = int(status[1]) >= _FIRST_FAILURE if status else word.casefold() not in _GOOD
    else:
        has_failed = isinstance(outcome, int | float) and not outcome < _FIRST_FAILURE
    return not (has_failed or _is_true(record.get(layout.failure)))


def _decode_object(line: bytes) -> dict[str, Any] | None:
    try:
        text = line.decode().strip()
        record, end = _DECODE(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and end == len(text) else None


def _is_session(value: object) -> bool:
    return isinstance(value, str | int) and value not in _NO_SESSION


def _is_true(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() not in _WORDS_FOR_FALSE
    return bool(value)


def _list_objects(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def decompress_stream(stream: IO[bytes] | io.RawIOBase, place: str) -> Contents:
    """Return *stream*, decompressed where it is compressed by gzip."""
    try:
        start = stream.read(2) or b""
    except OSError as fault:
        raise SourceError(f"cannot be read: {os_reason(fault)}", place=place) from fault
    whole = io.BufferedReader(_StreamPart(stream, start), _BLOCK)
    return gzip.GzipFile(fileobj=cast("IO[bytes]", whole)) if start == _GZIP else whole


class _StreamPart(io.RawIOBase):
    """A stream of the bytes already read, and at most *size* more."""

    def __init__(
        self, stream: IO[bytes] | io.RawIOBase, start: bytes = b"", size: int = maxsize
    ) -> None:
        self._stream = stream
        self._start = start
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start
        if not data:
            data = self._stream.read(min(len(buffer), self._left)) or b""
            self._left -= len(data)
        data, self._start = data[: len(buffer)], b""
        buffer[: len(data)] = data
        return len(data)


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A file of calls.

    Attributes:
        end: How many bytes of it count; bytes appended later are left for the next run.
        contents: The decompressed contents, up to the last whole line.
        beginnings: The known contents with which the file begins.
    """

    path: str
    end: int
    contents: LearnedFile
    beginnings: frozenset[LearnedFile]

    def count_learned(self, files: Collection[LearnedFile]) -> int:
        """Return how many bytes of the contents were learned from, if *files* were."""
        return max((one.size for one in self.beginnings if one in files), default=0)

    @contextmanager
    def open(self, start: int) -> Iterator[Contents]:
        """Open the contents of the file at *start*."""
        with _open_stream(self.path) as raw:
            stream = decompress_stream(_StreamPart(raw, size=self.end), self.path)
            left = start
            while left and (block := _read_block(stream, left)):
                left -= len(block)
            yield stream


def find_beginnings(path: str, known: Collection[LearnedFile]) -> TraceFile:
    """Find which of the *known* contents the file at *path* begins with.

    A file that has grown since begins as it did then, so its digest up to there is known. Digests
    are of the decompressed contents: a log that is compressed when it is rotated stays known.
    """
    contents = _Contents()
    found = set[LearnedFile]()
    with _open_stream(path) as raw:
        end = os.fstat(raw.fileno()).st_size
        stream = decompress_stream(_StreamPart(raw, size=end), path)
        for stop in (*sorted({file.size for file in known}), None):
            while block := _read_block(stream, maxsize if stop is None else stop - contents.size):
                contents.add(block)
            if contents.size and contents.file in known:
                found.add(contents.file)
    return TraceFile(path, end, contents.whole_lines(), frozenset(found))


class _Contents:
    """The read contents of a file."""

    def __init__(self) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self._lines = self.file
        self._rest = bytearray()

    @property
    def file(self) -> LearnedFile:
        """All of it, as it is remembered."""
        return LearnedFile(self._digest.hexdigest(), self.size)

    def add(self, block: bytes) -> None:
        lines = block.rfind(b"\n") + 1
        for part, ends_line in ((block[:lines], True), (block[lines:], False)):
            self._digest.update(part)
            self.size += len(part)
            if part and ends_line:
                self._lines = self.file
                self._rest.clear()
        if len(self._rest) < LONGEST_LINE:
            self._rest += block[lines:]

    def whole_lines(self) -> LearnedFile:
        """Return it without a last line that is still being written."""
        rest = bytes(self._rest)
        is_whole = len(rest) >= LONGEST_LINE or not rest.strip() or _decode_object(rest) is not None
        return self.file if is_whole else self._lines


def _read_block(stream: Contents, most: int) -> bytes:
    """Return the next bytes of *stream*, at most so many; none where it ends or is cut off."""
    try:
        return stream.read1(min(_BLOCK, most))
    except _CUT:
        return b""


def _open_stream(path: str) -> io.BufferedReader:
    try:
        stream = io.FileIO(path, opener=open_at_once)
        if not stream.seekable():
            stream.close()
            raise SourceError(
                "is a pipe or a device", place=path, remedy="send it to standard input: `-`"
            )
        return io.BufferedReader(stream, _BLOCK)
    except (OSError, ValueError) as fault:
        raise SourceError(
            f"cannot be read: {os_reason(fault)}", place=path, remedy="check the path"
        ) from fault
