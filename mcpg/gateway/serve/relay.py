"""Requests and notifications of servers, passed on to the clients that they concern."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sized
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, REQUEST_TIMEOUT

from mcpg.errors import Code, Diagnostic, info
from mcpg.gateway.serve.answers import line
from mcpg.gateway.serve.clients import (
    Client,
    Clients,
    Context,
    RequestCaller,
    check_capability,
    least_level,
)
from mcpg.sources.client_config import Server
from mcpg.sources.live.requests import Caller, MessageOrigin
from mcpg.sources.live.server_requests import ELICITATION, ROOTS
from mcpg.text.json_values import JsonObject

_MOST = 256
_KEPT = 60.0


class _InterruptibleCall(RequestCaller):
    """A call that may be interrupted, the caller of its servers; its client has no connection.

    Attributes:
        scope: Cancels its work.
        result: The outcome of its work, `None` before.
        questions: The question that waits for an answer, by a key of its own.
        turn: Set when there is a question or a result.
    """

    def __init__(self, context: Context, parked: Sized) -> None:
        super().__init__(context, None)
        self.scope = anyio.CancelScope()
        self.result: JsonObject | Exception | None = None
        self.questions: JsonObject = {}
        self._parked = parked
        self.turn = anyio.Event()
        self.answered = anyio.Event()
        self.answer: JsonObject = {}
        self._asked = 0
        self._lock = anyio.Lock()

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        check_capability(self.context.session.client_capabilities, method, params)
        async with self._lock:
            if self.result is not None:
                raise MCPError(INVALID_REQUEST, "the request of the client has ended")
            if len(self._parked) >= _MOST:
                raise MCPError(INVALID_REQUEST, "too many calls wait for input")
            self._asked += 1
            self.answered = anyio.Event()
            self.questions = {str(self._asked): {"method": method, "params": params}}
            self.turn.set()
            try:
                await self.answered.wait()
            finally:
                self.questions = {}  # also a request that the server has given up
            return self.answer


@dataclass(eq=False, slots=True)
class PendingCalls:
    """Runs calls that are interrupted by questions to their client."""

    group: TaskGroup | None = None
    _parked: dict[str, _InterruptibleCall] = field(default_factory=dict)

    async def run(
        self, context: Context, work: Callable[[Any], Awaitable[JsonObject]]
    ) -> JsonObject:
        """Return the result of *work*, or a result that requires input.

        The work gets the caller; it is left out if the request of *context* repeats another.
        """
        params = context.params or {}
        call = self._parked.pop(str(params.get("requestState")), None)
        if call is not None:
            call.context = context
            answers: Any = params.get("inputResponses")
            for key in call.questions.keys() & (answers if isinstance(answers, dict) else ()):
                call.answer = answers[key]
                call.questions = {}
                call.answered.set()
        else:
            assert self.group is not None  # noqa: S101 - the server is running
            call = _InterruptibleCall(context, self._parked)
            self.group.start_soon(self._run, call, work)
        try:
            while not call.questions and call.result is None:
                call.turn = anyio.Event()
                await call.turn.wait()
        except BaseException:
            call.scope.cancel()
            raise
        if call.questions:
            state = secrets.token_urlsafe()
            self._parked[state] = call
            return {
                "resultType": "input_required",
                "inputRequests": call.questions,
                "requestState": state,
            }
        if isinstance(call.result, Exception):
            raise call.result
        assert call.result is not None  # noqa: S101 - that was waited for
        return call.result

    async def _run(
        self, call: _InterruptibleCall, work: Callable[[Any], Awaitable[JsonObject]]
    ) -> None:
        """Run a call; its result is kept for a while if the client has yet to come back."""
        try:
            with call.scope:
                call.result = await work(call)
        except Exception as fault:  # noqa: BLE001 - raised again by the request that gets it
            call.result = fault
        finally:
            call.turn.set()
        if call in self._parked.values():
            await anyio.sleep(_KEPT)
            for state in [one for one, parked in self._parked.items() if parked is call]:
                del self._parked[state]


SOURCE = "sourceId"
"""The member of `_meta` that names the server."""

_MESSAGE = "notifications/message"
_ELICITED = "notifications/elicitation/complete"
_NAME = 64
_SEVERAL = (
    "several clients share this server, and it is uncertain which of them is asked: set "
    '`sessions = "client"` of its source'
)
_FIRST_CLIENT = 5.0


@dataclass(frozen=True, slots=True)
class Audience:
    """The clients of a gateway, or of a view of it.

    Attributes:
        clients: The clients.
        shows: Returns whether a server exists for them.
        changed: Called when a server announces a change of its prompts or resources.
        updated: Called when a server announces a change of a resource.
    """

    clients: Clients
    shows: Callable[[Server], bool]
    changed: Callable[[Server], None]
    updated: Callable[[Server, str], Awaitable[None]]


@dataclass(eq=False, slots=True)
class Relay:
    """The host of the servers behind a gateway: asks clients on their behalf.

    Attributes:
        seconds: The time that each client has to respond.
        report: Called when a log message is dropped.
        audiences: The clients of the gateway and of its views.
        has_many: Whether there may be several clients at a time.
        arrived: Wakes up servers that wait for a first client.
    """

    seconds: float
    report: Callable[[Diagnostic], None]
    audiences: list[Audience] = field(default_factory=list)
    has_many: bool = False
    arrived: anyio.Event = field(default_factory=anyio.Event)

    @property
    def has_clients(self) -> bool:
        """Whether a client is connected, as far as connections show."""
        return not self.has_many or any(True for one in self.audiences for _ in one.clients)

    @property
    def level(self) -> str | None:
        """The least level of log messages that any client has requested."""
        return least_level(client for one in self.audiences for client in one.clients)

    async def answer_request(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> JsonObject:
        if method == ROOTS and not (origin.callers or self.has_many or self.arrived.is_set()):
            with anyio.move_on_after(_FIRST_CLIENT):
                await self.arrived.wait()
        asked = self._find_receiver(origin)
        if asked is None:
            several = bool(origin.callers) or self.has_many
            raise MCPError(INVALID_REQUEST, _SEVERAL if several else "no client is connected")
        with anyio.move_on_after(self.seconds):
            # Users do not see `_meta`, and must see who requests their input.
            name = line(origin.server.name or origin.server.place, _NAME)
            named = _add_source_meta(params, name)
            if method == ELICITATION and isinstance(message := params.get("message"), str):
                named["message"] = f"{name}: {message}"
            return await asked.ask(method, named)
        raise MCPError(REQUEST_TIMEOUT, f"no response of the client within {self.seconds:g} s")

    async def receive_notification(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> None:
        server, uri = origin.server, params.get("uri")
        match method.split("/")[1:]:
            case ["message"]:
                name = line(server.name or server.place, _NAME)
                receiver = self._find_receiver(origin)
                if receiver is not None:
                    marked = {"logger": name, **_add_source_meta(params, name)}
                    await receiver.tell(_MESSAGE, marked)
                elif self.has_many and origin.client is None:
                    message = f"log messages of {name!r} are dropped: clients share its process"
                    self.report(info(Code.LOG_DROPPED, message, server.place))
            case ["prompts" | "resources", "list_changed"]:
                for audience in self._find_audiences(server):
                    audience.changed(server)
            case ["resources", "updated"] if isinstance(uri, str):
                await self._announce_update(server, uri)
            case ["elicitation", "complete"]:
                receiver = self._find_receiver(origin)
                if receiver is not None:
                    await receiver.tell(_ELICITED, params)
                    return
                for audience in self._find_audiences(server):
                    audience.clients.tell_all(_ELICITED, params)  # others ignore it

    def _find_receiver(self, origin: MessageOrigin) -> Caller | Client | None:
        """Return the client that a message concerns, `None` if that is not certain.

        A message in a response over a shared connection concerns the client of the request. Any
        other message may result from an earlier call of each client that has used the connection.
        """
        if self.has_many and origin.client is None:
            is_certain = origin.is_certain or origin.is_alone
            return origin.callers[0] if is_certain and origin.callers else None
        if origin.callers:  # clients may never come back to an earlier call
            return origin.callers[-1]
        clients = [
            one
            for audience in self._find_audiences(origin.server)
            for one in audience.clients
            if origin.client in (None, one.identity)
        ]
        return clients[0] if len(clients) == 1 else None

    async def _announce_update(self, server: Server, uri: str) -> None:
        for audience in self._find_audiences(server):
            await audience.updated(server, uri)

    def _find_audiences(self, server: Server) -> list[Audience]:
        return [one for one in self.audiences if one.shows(server)]


def _add_source_meta(params: JsonObject, name: str) -> JsonObject:
    given = params.get("_meta")
    meta: JsonObject = {**(given if isinstance(given, dict) else {}), SOURCE: name}
    return {**params, "_meta": meta}
