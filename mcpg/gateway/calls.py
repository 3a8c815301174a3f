"""Record calls of tools in a file, for `mcpg learn`: names, times and outcomes only.

A separate thread writes, so that a slow disk delays no call. Records that cannot be written are
dropped and reported as a diagnostic; calls never fail because of them.
"""

from __future__ import annotations

import json
import os
import queue
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from mcpg.errors import Code, Diagnostic, UsageError, error, os_reason
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import to_json


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of calls, and of the connections that sessions have of their own.

    Attributes:
        invoke_seconds: Default time of an invocation in seconds, above 0; progress renews it.
        longest_seconds: Maximum time of an invocation, at least `invoke_seconds`.
        result_bytes: Size of a result as JSON; a larger one becomes a fault.
        message_chars: Length of a message that quotes a tool's own.
        sessions: Maximum number of connections that sessions have of their own.
        sessions_per_source: Maximum number of sessions with a process of their own of one server.
        session_seconds: Seconds without a request after which such a connection ends.
        relist_seconds: Seconds after which the tools of a server are listed again if their list
            has no period of validity; 0 for no server.

    Raises:
        UsageError: A limit is not above 0, or `invoke_seconds` is above `longest_seconds`.
    """

    invoke_seconds: float = 60.0
    longest_seconds: float = 3600.0
    result_bytes: int = 16 << 20
    message_chars: int = 2000
    sessions: int = 1024
    sessions_per_source: int = 64
    session_seconds: float = 1800.0
    relist_seconds: float = 300.0

    def __post_init__(self) -> None:
        for one in fields(self):
            given = getattr(self, one.name)
            if not given > 0 and not (one.name == "relist_seconds" and given == 0):
                raise UsageError(f"the limit {one.name} must be above 0", remedy="leave it out")
        if self.invoke_seconds > self.longest_seconds:
            message = "the limit invoke_seconds is above longest_seconds"
            raise UsageError(message, remedy="raise longest_seconds, too")

    def seconds(self, requested: float | None) -> float:
        """Return the time limit of a call, *requested* up to the maximum, or the default."""
        return self.invoke_seconds if requested is None else min(requested, self.longest_seconds)


class FaultCode(StrEnum):
    """Why an invocation has no result."""

    NOTHING_NAMED = "nothing_named"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    DISABLED = "disabled"
    NOT_INVOKABLE = "not_invokable"
    ARGUMENTS_INVALID = "arguments_invalid"
    NO_SESSION = "no_session"
    SESSION_LIMIT = "session_limit"
    SOURCE_UNAVAILABLE = "source_unavailable"
    UNAUTHORIZED = "unauthorized"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    TOOL_FAILED = "tool_failed"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an invocation has no result, and the remedy.

    Attributes:
        code: The kind of fault.
            message: A description of the fault, without anything secret.
            remedy: A remedy for the caller, "" for none.
        field: The argument at fault, as a JSON pointer into the arguments; "" for none.
    """

    code: FaultCode
    message: str
    remedy: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of an invocation.

    Attributes:
        tool_id: The tool, "" when none was found.
        source_id: The server it belongs to.
        tool_name: The server's name of the tool.
        content: The content blocks of MCP, in their order.
        structured: The structured result, else the text parsed as JSON, or `None`.
        faults: The reasons for a missing result; empty on success.
        wire: The result of `tools/call` as an MCP server sent it; `None` for other sources.
        error: The JSON-RPC error with which an MCP server responded, `None` if it did not.
        is_parsed: Whether `structured` was parsed from the text.
    """

    tool_id: str
    source_id: str = ""
    tool_name: str = ""
    content: tuple[JsonObject, ...] = ()
    structured: JsonValue = None
    faults: tuple[Fault, ...] = ()
    wire: JsonObject | None = field(default=None, repr=False)
    error: JsonObject | None = None
    is_parsed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `mcpg invoke --format json` prints it."""
        return {
            "schema": "mcpg/invoke/1",
            "toolId": self.tool_id or None,
            "sourceId": self.source_id or None,
            "toolName": self.tool_name or None,
            "isSuccess": self.is_success,
            "content": [*self.content],
            "structured": self.structured,
            "faults": [to_json(one, nulls=("remedy", "field")) for one in self.faults],
        }

    @property
    def is_success(self) -> bool:
        return not self.faults

    @property
    def text(self) -> str:
        """The text of all text blocks, separated by line breaks."""
        texts = (block.get("text") for block in self.content if block.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))


class CallError(Exception):
    """A call failed.

    Attributes:
        message: A description of the failure, without anything secret.
            has_died: Whether the connection was lost between the request and its response.
        error: The JSON-RPC error with which a server responded, `None` if it did not.
    """

    def __init__(
        self,
        code: FaultCode,
        message: str,
        *,
        has_died: bool = False,
        error: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.has_died = has_died
        self.error = error


class RefusedError(Exception):
    """Nothing was called: *faults* of the tool or its arguments prevent the call."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(len(faults))
        self.faults = faults


MOST_BYTES = 64 << 20
"""Size in bytes at which a file is renamed, and a new one begun; one older file is kept."""

OLDER = ".1"
"""The suffix of the older file."""

_WAITING = 10_000
_BATCH = 1000
_PATIENCE = 5.0
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT
for _name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)
_BEGIN = '{"time":'
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call as it is recorded: no arguments and no result.

    Attributes:
        start: Its start, in seconds since 1970.
        seconds: Its duration.
        session: An opaque id of the conversation that it belongs to.
        tool: Id of the tool.
        source: Id of its source.
    """

    start: float
    seconds: float
    session: str
    tool: str
    source: str
    success: bool

    def line(self) -> str:
        moment = datetime.fromtimestamp(self.start, UTC).isoformat(timespec="microseconds")
        members = {
            "time": moment.replace("+00:00", "Z"),
            "session": self.session,
            "tool": self.tool,
            "source": self.source,
            # Cut, not rounded: a call must not seem to run when the next one begins.
            "duration": int(self.seconds * 1e6) / 1e6,
            "success": self.success,
        }
        return json.dumps(members, ensure_ascii=True, separators=(",", ":")) + "\n"


class CallRecorder:
    """Appends calls to a file that only its owner can read; may be shared between threads."""

    def __init__(self, path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> None:
        """Prepare to record at *path*; the first call or `check` opens the file.

        With *most_bytes*, it is renamed to `path.1`, which replaces an older one.
        """
        self._path = Path(path)
        self._most_bytes = most_bytes
        self._calls: queue.Queue[RecordedCall | None] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._fault = ""
        self._handle = -1

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The last reason why calls were not recorded."""
        if not self._fault:
            return ()
        message = f"calls were not recorded: {self._fault}"
        return (error(Code.CALLS_NOT_RECORDED, message, str(self._path)),)

    def check(self) -> None:
        """Open the file now, so that `diagnostics` reports if that is impossible."""
        with self._lock:
            self._attempt(())

    def record(self, call: RecordedCall) -> None:
        """Accept a call, to be written soon; it is dropped if too many are waiting."""
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._run, name="recorded calls", daemon=True
                    )
                    self._thread.start()
        try:
            self._calls.put_nowait(call)
        except queue.Full:
            self._fault = "the disk is too slow"

    def close(self) -> None:
        """Write the waiting records, within a few seconds, and close the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            with suppress(queue.Full):
                self._calls.put(None, timeout=_PATIENCE)
                thread.join(_PATIENCE)
        if thread is None or not thread.is_alive():
            self._close()

    def _run(self) -> None:
        while True:
            batch = [self._calls.get()]
            with suppress(queue.Empty):
                while len(batch) < _BATCH and batch[-1] is not None:
                    batch.append(self._calls.get_nowait())
            with self._lock:
                self._attempt([call for call in batch if call is not None])
            if batch[-1] is None:
                return

    def _attempt(self, calls: Sequence[RecordedCall]) -> None:
        try:
            data = "".join(call.line() for call in calls).encode()
            if self._handle >= 0:
                # Another process or a user may have renamed or removed the file.
                is_same = False
                with suppress(FileNotFoundError):
                    is_same = os.path.samestat(self._path.lstat(), os.fstat(self._handle))
                if not is_same:
                    self._close()
            if self._handle < 0:
                self._open_file()
            present = os.fstat(self._handle).st_size
            if present and present + len(data) > self._most_bytes:
                self._close()
                self._path.replace(f"{self._path}{OLDER}")
                self._open_file()
            while data:
                data = data[os.write(self._handle, data) :]
        except (OSError, ValueError, OverflowError) as fault:
            self._fault = os_reason(fault)
            self._close()

    def _open_file(self) -> None:
        self._handle = os.open(self._path, _FLAGS, stat.S_IRUSR | stat.S_IWUSR)
        found = os.fstat(self._handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if os.read(self._handle, len(_BEGIN)) not in {b"", _BEGIN.encode()}:
            raise ValueError("it contains something else than recorded calls")
        if found.st_mode & _OTHERS and hasattr(os, "fchmod"):
            os.fchmod(self._handle, stat.S_IRUSR | stat.S_IWUSR)
        if found.st_size:
            # A line cut off by a crash ends here; readers skip blank lines.
            os.write(self._handle, b"\n")

    def _close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                os.close(handle)
