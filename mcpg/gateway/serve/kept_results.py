"""Results that exceed the limit of a response, kept for a while to be read in parts."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mcpg.errors import NotFoundError
from mcpg.text.json_values import JsonObject

SCHEME = "mcpg-result:"
"""How the addresses of kept results begin; a random handle follows."""

KEPT_SECONDS = 900.0
"""Seconds after which a result is dropped that is not read."""

_OF_SESSION, _IN_ALL = 32 << 20, 128 << 20
_GONE = (
    "this session has no such result: it may have expired, or made room for others; call the tool "
    "again, or narrow the request by its arguments"
)


@dataclass(slots=True)
class _KeptResult:
    texts: tuple[bytes, ...]
    session: str
    size: int
    read: float


@dataclass(eq=False, slots=True)
class ResultStore:
    """Results by their addresses, each for the session that called.

    It is bounded: a session's results make room for its later results, and the results that were
    read longest ago for other sessions. May be shared between threads.

    Attributes:
        clock: Returns the time in seconds.
    """

    clock: Callable[[], float] = time.monotonic
    _results: dict[str, _KeptResult] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, texts: Sequence[str], session: str) -> str | None:
        """Keep the *texts* of a result; return its address, or `None` if it is too large."""
        # A text of Python may take four times as much.
        encoded = tuple(text.encode("utf-8", "surrogatepass") for text in texts)
        size = sum(map(len, encoded))
        if size > _OF_SESSION:
            return None
        address = f"{SCHEME}{secrets.token_urlsafe(24)}"
        with self._lock:
            self._drop_expired()
            self._make_room(_OF_SESSION - size, [session])
            self._make_room(_IN_ALL - size)
            self._results[address] = _KeptResult(encoded, session, size, self.clock())
        return address

    def read(self, address: str, session: str) -> list[JsonObject]:
        """Return the contents of a result as contents of a resource.

        Raises:
            NotFoundError: The *session* has no such result.
        """
        with self._lock:
            self._drop_expired()
            found = self._results.get(address)
            if found is None or found.session != session:
                raise NotFoundError(_GONE)
            found.read = self.clock()
            self._results[address] = self._results.pop(address)  # the last that makes room
        texts = (text.decode("utf-8", "surrogatepass") for text in found.texts)
        return [{"uri": address, "mimeType": "text/plain", "text": text} for text in texts]

    def _drop_expired(self) -> None:
        oldest = self.clock() - KEPT_SECONDS
        for address in [key for key, one in self._results.items() if one.read < oldest]:
            del self._results[address]

    def _make_room(self, room: int, sessions: Sequence[str] | None = None) -> None:
        """Drop the first results, of *sessions* unless that is `None`, until the others fit."""
        counted = {
            key: one.size
            for key, one in self._results.items()
            if sessions is None or one.session in sessions
        }
        taken = sum(counted.values())
        for key, size in counted.items():
            if taken <= room:
                return
            del self._results[key]
            taken -= size
