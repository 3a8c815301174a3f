"""Requests to live servers: on whose behalf they are made, their time, progress, and results."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import anyio

from mcpg.json_types import JsonObject, JsonValue
from mcpg.sources.client_config import Server

_NOTIFYING = 1.0

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives the progress of a call: how much is done, the total if known, and a message."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call.

    Attributes:
        content: The content blocks of MCP, in their order.
        structured: The structured result, or `None`.
        is_error: Whether the tool reports a failure, which the content describes.
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
        """Send a notification of a server to the client."""


current_caller: ContextVar[Caller | None] = ContextVar("current_caller", default=None)
"""On whose behalf requests are made."""

current_session: ContextVar[str] = ContextVar("current_session", default="")
"""The session that requests of the program itself belong to, "" for none."""


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """Where a message of a server comes from.

    Attributes:
        server: The server.
        callers: Whose requests are under way and may have caused the message, each client once.
        is_certain: Whether the transport tells which request it is, as HTTP does for messages in
            the stream of a response.
        client: The client whose own connection to the server it is, `None` for that of all.
        is_alone: Whether no other client than that of *callers* has used the connection.
    """

    server: Server
    callers: tuple[Caller, ...] = ()
    is_certain: bool = False
    client: Hashable | None = None
    is_alone: bool = False


class Host(Protocol):
    """What serves the requests and receives the notifications of servers."""

    @property
    def has_many(self) -> bool:
        """Whether there may be several clients at a time."""

    @property
    def has_clients(self) -> bool:
        """Whether a client is connected, as far as connections tell."""

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
        """Receive a notification."""


class RequestDeadline:
    """The time of a request, an extendable limit of its cancel scope.

    Attributes:
        scope: The scope.
    """

    def __init__(self, seconds: float, left: float, end: float = math.inf) -> None:
        """Limit the scope to *left* seconds.

        Args:
            seconds: The time that the request gets again when it is renewed.
            left: The time that it has now.
            end: When it ends in any case, by the clock of the event loop.
        """
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + left)
        self._seconds = seconds
        self._end = end
        self._waits = 0

    def renew(self) -> None:
        """Grant the whole time again."""
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


class LatestProgress:
    """Passes on the latest progress; what a listener is too slow for is left out.

    Attributes:
        is_over: Whether there is a result, after which nothing is passed on.
    """

    def __init__(self, listener: Progress) -> None:
        """Pass progress on to *listener*."""
        self.is_over = False
        self._listener = listener
        self._next: tuple[float, float | None, str | None] | None = None
        self._is_reporting = False

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on progress, unless the listener is still busy with the one before."""
        self._next = (progress, total, message)
        if self._is_reporting:
            return
        self._is_reporting = True
        try:
            while self._next is not None and not self.is_over:
                latest, self._next = self._next, None
                await self._listener(*latest)
        finally:
            self._is_reporting = False


class PendingRequest:
    """A request that is under way.

    Attributes:
        caller: On whose behalf it is made, `None` for nobody's.
        patience: Its time.
    """

    def __init__(
        self, caller: Caller | None, patience: RequestDeadline, progress: Progress | None = None
    ) -> None:
        """Begin a request, whose progress *progress* receives."""
        self.caller = caller
        self.patience = patience
        self._latest = LatestProgress(progress) if progress is not None else None
        self._notifying: set[anyio.Event] = set()

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
        """Receive progress, which renews the time."""
        self.patience.renew()
        if self._latest is not None:
            await self._latest.report(progress, total, message)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Limit the context to the time of the request; when it is over, progress is ignored."""
        with self.patience.scope:
            try:
                yield
            finally:
                if self._latest is not None:
                    self._latest.is_over = True
