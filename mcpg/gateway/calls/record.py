"""Record calls of tools in a file, for `mcpg learn`: names, times and outcomes only.

A thread of its own writes, so that a slow disk delays no call. What cannot be written is dropped
and reported as a diagnostic; calls never fail because of it.
"""

from __future__ import annotations

import json
import os
import queue
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mcpg.errors import Code, Diagnostic, error, os_reason

MOST_BYTES = 64 << 20
"""Size in bytes at which a file is renamed, and a new one begun; one older file is kept."""

OLDER = ".1"
"""What is appended to the name of the older file."""

_WAITING = 10_000
_BATCH = 1000
_PATIENCE = 5.0
_FLAGS = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_BEGIN = '{"time":'
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call as it is recorded: no arguments and no result.

    Attributes:
        start: When it began, in seconds since 1970.
        seconds: How long it took.
        session: What it belongs to, an id without a meaning.
        tool: Id of the tool.
        source: Id of its source.
        success: Whether it succeeded.
    """

    start: float
    seconds: float
    session: str
    tool: str
    source: str
    success: bool

    def line(self) -> str:
        """Return the call as a line of JSON."""
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
        """Prepare to record; the file is opened by the first call or by `check`.

        Args:
            path: The file.
            most_bytes: Size at which it is renamed to `path.1`, in place of an older one.
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
        """Why calls were not recorded, the last reason."""
        if not self._fault:
            return ()
        message = f"calls were not recorded: {self._fault}"
        return (error(Code.CALLS_NOT_RECORDED, message, str(self._path)),)

    def check(self) -> None:
        """Open the file now, so that `diagnostics` says whether that is possible."""
        with self._lock:
            self._attempt(())

    def record(self, call: RecordedCall) -> None:
        """Take a call, to be written soon; it is dropped where too many are waiting."""
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
        """Write what is waiting, within a few seconds, and close the file."""
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
            self._make_ready(len(data))
            while data:
                data = data[os.write(self._handle, data) :]
        except (OSError, ValueError, OverflowError) as fault:
            self._fault = os_reason(fault)
            self._close()

    def _make_ready(self, size: int) -> None:
        """Open the file, unless it is open and has room for *size* bytes more."""
        if self._handle >= 0 and self._was_moved():
            self._close()
        if self._handle < 0:
            self._open_file()
        present = os.fstat(self._handle).st_size
        if present and present + size > self._most_bytes:
            self._close()
            self._path.replace(f"{self._path}{OLDER}")
            self._open_file()

    def _was_moved(self) -> bool:
        """Return whether another process has renamed the file, or somebody has removed it."""
        try:
            return not os.path.samestat(self._path.lstat(), os.fstat(self._handle))
        except FileNotFoundError:
            return True

    def _open_file(self) -> None:
        self._handle = os.open(self._path, _FLAGS, stat.S_IRUSR | stat.S_IWUSR)
        found = os.fstat(self._handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if os.read(self._handle, len(_BEGIN)) not in {b"", _BEGIN.encode()}:
            raise ValueError("it holds something else than recorded calls")
        if found.st_mode & _OTHERS and hasattr(os, "fchmod"):
            os.fchmod(self._handle, stat.S_IRUSR | stat.S_IWUSR)
        if found.st_size:
            # A line that a crash has cut off ends here; blank lines are passed over.
            os.write(self._handle, b"\n")

    def _close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                os.close(handle)
