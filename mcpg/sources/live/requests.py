"""Requests to live servers: the clients that cause them, their time, progress, and results."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import anyio

from mcpg.net.http import list_encodings
from mcpg.sources.client_config import Server
from mcpg.text.json_values import JsonObject, JsonValue

MAX_RESPONSE = 32 << 20
"""Bytes of one response of a server, and of its list of tools as a whole."""

TOO_LARGE = f"response is larger than {MAX_RESPONSE >> 20} MB"

MAX_STDERR = 16_384
"""Bytes of the standard error of a program that are kept, the last ones."""

_MIN_SECRET, _MIN_NAMED = 12, 4
_REDACTED = "***"


class FailureKind(StrEnum):
    """Kind of a failure, as the fault of a call names it."""

    UNAVAILABLE = "source_unavailable"
    UNAUTHORIZED = "unauthorized"
    TOO_LARGE = "too_large"
    FAILED = "tool_failed"
    NO_SESSION = "no_session"
    SESSION_LIMIT = "session_limit"


class ServerError(Exception):
    """A server could not be connected to, or a request to it failed.

    Attributes:
        has_died: Whether the connection was lost between the request and its response.
        error: The JSON-RPC error with which the server responded, `None` if it did not.
    """

    def __init__(
        self,
        message: str,
        kind: FailureKind = FailureKind.UNAVAILABLE,
        *,
        has_died: bool = False,
        error: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.has_died = has_died
        self.error = error


class NotProcessedError(Exception):
    """The connection was lost before the server processed the request: it is safe to retry."""


@dataclass(slots=True)
class TransportErrors:
    """Errors and other observations of a transport, of which the SDK reports less.

    Attributes:
        is_unauthorized: Whether the server or its authorization server refused the credentials.
        invalid_lines: Lines on standard output since the last message that were not messages.
        noise: The first of all such lines, and how many there were.
        is_too_large: Whether a response exceeded `MAX_RESPONSE`.
        is_interrupted: Whether the connection was lost in the middle of a response.
        on_end: Called when the connection is lost, unless `None`.
        on_silence: Called when the stream of announcements cannot be opened, unless `None`.
        stderr: The last bytes that the program wrote on standard error.
        has_session: Whether the transport has a session of its own for this connection.
        is_forgotten: Whether the server has forgotten that session.
        crash: How the program has exited with an error, or stopped to respond; "" if it has not.
        has_exited: Whether the program has exited.
    """

    message: str | None = None
    is_unauthorized: bool = False
    invalid_lines: int = 0
    noise: tuple[str, int] = ("", 0)
    is_too_large: bool = False
    is_interrupted: bool = False
    on_end: Callable[[], None] | None = None
    on_silence: Callable[[], None] | None = None
    stderr: bytes = field(default=b"", repr=False)
    secrets: set[str] = field(default_factory=set, repr=False)
    has_session: bool = False
    is_forgotten: bool = False
    crash: str = ""
    has_exited: bool = False

    def forget_exit(self) -> None:
        """Forget all of a program that has exited, since it is started again."""
        self.message, self.crash, self.has_exited = None, "", False
        self.stderr, self.invalid_lines = b"", 0

    @property
    def kind(self) -> FailureKind:
        if self.is_too_large:
            return FailureKind.TOO_LARGE
        return FailureKind.UNAUTHORIZED if self.is_unauthorized else FailureKind.UNAVAILABLE

    def end(self, message: str) -> None:
        """Record that the whole connection was lost; an earlier message stays."""
        if self.on_end is not None:
            self.message = self.message or message
            self.on_end()

    @property
    def current(self) -> TransportErrors:
        """The errors of the request that runs in this context, else the connection's."""
        connection, request = _of_request.get()
        return request if connection is self else self

    @contextmanager
    def of_request(self) -> Iterator[TransportErrors]:
        """Record errors of the requests made inside apart from the connection's errors.

        Concurrent requests over HTTP fail independently; the SDK sends each in a copy of the
        context in which it was made.
        """
        request = TransportErrors(on_end=self.on_end, secrets=self.secrets)
        token = _of_request.set((self, request))
        try:
            yield request
        finally:
            _of_request.reset(token)


_of_request: ContextVar[tuple[TransportErrors | None, TransportErrors]] = ContextVar(
    "_of_request", default=(None, TransportErrors())
)


@dataclass(slots=True)
class SizeLimit:
    """Counts the bytes of a response, up to `MAX_RESPONSE`; 0 starts the next response."""

    _errors: TransportErrors
    size: int = 0

    def add(self, size: int) -> None:
        """Count *size* more bytes; of too many, a `ServerError` is raised and recorded."""
        self.size += size
        if self.size > MAX_RESPONSE:
            self._errors.message = TOO_LARGE
            self._errors.is_too_large = True
            raise ServerError(TOO_LARGE)


def redact(
    value: Any, secrets: Iterable[str], named: Iterable[str] = (), identifiers: Collection[str] = ()
) -> tuple[Any, bool]:
    """Replace secrets in the texts of a JSON value, keys included, however they are encoded.

    Secrets of fewer than 12 characters are left: words such as `localhost` occur in the
    descriptions of honest tools. Those that are *named* secret are replaced from 4 characters on,
    except in keys and in the members *identifiers*, since calls depend on these.

    Returns the value, and whether anything was replaced.
    """
    known = {one for one in named if len(one) >= _MIN_NAMED}
    long = {one for one in (*secrets, *known) if len(one) >= _MIN_SECRET}
    if not (known or long):
        return value, False
    longer, every = (
        # However they are encoded, the longest first.
        sorted(
            {form for one in group for form in list_encodings(one)},
            key=lambda one: (-len(one), one),
        )
        for group in (long, long | known)
    )

    def walk(item: Any, forms: Sequence[str]) -> Any:
        if isinstance(item, str):
            for form in forms:
                item = item.replace(form, _REDACTED)
            return item
        if isinstance(item, list):
            return [walk(member, forms) for member in item]
        if isinstance(item, dict):
            return {
                walk(key, longer): walk(member, longer if key in identifiers else every)
                for key, member in item.items()
            }
        return item

    result = walk(value, every)
    return result, result != value


_NOTIFYING = 1.0

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives the progress of a call: how much is done, the total if known, and a message."""


@dataclass(frozen=True, slots=True)
class CallResponse:
    """The result of a call.

    Attributes:
        wire: The result as its server sent it; `None` for other sources.
    """

    content: tuple[JsonObject, ...] = ()
    structured: JsonValue = None
    is_error: bool = False
    wire: JsonObject | None = None


class Caller(Protocol):
    """A client that waits for the result of its request, and can be asked meanwhile."""

    @property
    def client(self) -> Hashable | None:
        """The identity of the client, `None` for one without a session."""

    @property
    def takes_input(self) -> bool:
        """Whether it gets results that require input, and repeats its request with it."""

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Return the client's response to the request of a server.

        Raises:
            MCPError: The client refuses, or does not respond in time.
        """

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification to the client."""


current_caller: ContextVar[Caller | None] = ContextVar("current_caller", default=None)
"""The client for which requests are made."""

current_session: ContextVar[str] = ContextVar("current_session", default="")
"""The session that requests of the program itself belong to, "" for none."""


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """Where a message of a server comes from.

    Attributes:
        callers: Clients with requests under way that may have caused the message, each once.
        is_certain: Whether the transport shows which request it is, as HTTP does for messages in
            the stream of a response.
        is_alone: Whether no client outside of *callers* has used the connection.
    """

    server: Server
    callers: tuple[Caller, ...] = ()
    is_certain: bool = False
    client: Hashable | None = None
    is_alone: bool = False


class Host(Protocol):
    """The host that serves the requests and receives the notifications of servers."""

    @property
    def has_many(self) -> bool:
        """Whether there may be several clients at a time."""

    @property
    def has_clients(self) -> bool:
        """Whether a client is connected, as far as connections show."""

    async def answer_request(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> JsonObject:
        """Return the response to a request for sampling, elicitation or roots.

        Raises:
            MCPError: There is none.
        """

    async def receive_notification(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> None:
        """Pass a notification on."""


class RequestDeadline:
    """The time of a request, an extendable limit of its cancel scope."""

    def __init__(self, seconds: float, left: float, end: float = math.inf) -> None:
        """Limit the scope to *left* seconds, and to *seconds* again when it is renewed.

        By the clock of the event loop, it is over at *end* in any case.
        """
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + left)
        self._seconds = seconds
        self._end = end
        self._waits = 0

    def renew(self) -> None:
        if not self._waits:
            renewed = min(anyio.current_time() + self._seconds, self._end)
            self.scope.deadline = max(self.scope.deadline, renewed)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Stop the clock while the server waits for a response of the client."""
        self._waits += 1
        self.scope.deadline = self._end
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                self.scope.deadline = min(anyio.current_time() + self._seconds, self._end)


@dataclass(eq=False, slots=True)
class PendingRequest:
    """A request that is under way."""

    caller: Caller | None
    patience: RequestDeadline
    listener: Progress | None = None
    _latest: tuple[float, float | None, str | None] | None = None
    _is_reporting: bool = False
    _is_over: bool = False
    _notifying: set[anyio.Event] = field(default_factory=set)

    @contextmanager
    def count_notification(self) -> Iterator[None]:
        """Pass a notification on in the context that the request may have caused."""
        end = anyio.Event()
        self._notifying.add(end)
        try:
            yield
        finally:
            self._notifying.discard(end)
            end.set()

    async def wait_for_notifications(self) -> None:
        """Wait until notifications are passed on that came before; nothing can follow a result."""
        with anyio.move_on_after(_NOTIFYING):
            for end in [*self._notifying]:
                await end.wait()

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Receive progress, which renews the time.

        It is passed on; if the listener is too slow, only the latest progress reaches it.
        """
        self.patience.renew()
        self._latest = (progress, total, message)
        if self.listener is None or self._is_reporting:
            return
        self._is_reporting = True
        try:
            while self._latest is not None and not self._is_over:
                latest, self._latest = self._latest, None
                await self.listener(*latest)
        finally:
            self._is_reporting = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Limit the context to the time of the request; when it is over, progress is ignored."""
        with self.patience.scope:
            try:
                yield
            finally:
                self._is_over = True
