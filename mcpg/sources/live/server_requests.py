"""Requests and announcements of servers: their own requests, tasks, and subscribed changes."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import mcp_types
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from mcpg.sources.client_config import Server
from mcpg.sources.live.requests import (
    FailureKind,
    Host,
    MessageOrigin,
    PendingRequest,
    ServerError,
    TransportErrors,
    current_caller,
)
from mcpg.text.json_values import JsonObject

SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"
ROOTS = "roots/list"

# Requests of a server over one connection that wait for an answer at the same time.
_MOST_OPEN = 1000
_METHODS = {SAMPLING, ELICITATION, ROOTS}
_FIRST, _SETTLING, _APPLYING = 2.0, 5.0, 0.1


class RawRequest(mcp_types.Request[dict[str, Any] | None, str]):
    """A request of any method, with its parameters sent unchanged."""


class UncheckedResult(BaseModel):
    """A result that is not examined."""


@dataclass(eq=False, slots=True)
class ServerRequests:
    """The requests of one server over one connection, and the requests that may have caused them.

    Without a host, the server gets the error of a client that takes no requests. The client is as
    for `MessageOrigin`.
    """

    _server: Server
    _host: Host | None
    _client: Hashable | None
    _underway: list[PendingRequest] = field(default_factory=list)
    _users: set[object] = field(default_factory=set)
    _open: int = 0
    _asked: anyio.Event = field(default_factory=anyio.Event)
    _answered: anyio.Event = field(default_factory=anyio.Event)

    def make_callbacks(self) -> dict[str, Any]:
        """Return arguments of the client of the SDK; they declare its capabilities."""
        if self._host is None:
            return {}
        return {
            "sampling_callback": partial(self._respond, SAMPLING, mcp_types.CreateMessageResult),
            "sampling_capabilities": mcp_types.SamplingCapability(
                context=mcp_types.SamplingContextCapability(),
                tools=mcp_types.SamplingToolsCapability(),
            ),
            "elicitation_callback": partial(self._respond, ELICITATION, mcp_types.ElicitResult),
            "list_roots_callback": partial(self._respond, ROOTS, mcp_types.ListRootsResult),
        }

    def expect(self) -> None:
        """Take the next request for the first one."""
        self._asked, self._answered = anyio.Event(), anyio.Event()

    async def settle(self) -> None:
        """Wait until a server that is known to ask, such as for roots, has its first answer."""
        with anyio.move_on_after(_FIRST):
            await self._asked.wait()
            with anyio.move_on_after(_SETTLING):
                await self._answered.wait()
                await anyio.sleep(_APPLYING)  # the server has yet to make use of it

    @contextmanager
    def during(self, request: PendingRequest | None) -> Iterator[None]:
        """Let *request* count as a possible cause of requests of the server, in the context."""
        if request is None:
            yield
            return
        self._underway.append(request)
        if request.caller is not None and len(self._users) <= 1:
            # Without a session it may be another client in each call.
            client = request.caller.client
            self._users.add(request.caller if client is None else client)
        try:
            yield
        finally:
            self._underway.remove(request)

    async def pass_on(self, message: mcp_types.Notification[Any, Any]) -> None:
        if self._host is None:
            return
        causes = self._find_causes()
        origin = self._make_origin(causes, is_certain=current_caller.get() is not None)
        params = message.model_dump(by_alias=True, mode="json", exclude_none=True)
        with ExitStack() as stack:
            for one in causes:
                stack.enter_context(one.count_notification())
            await self._host.receive_notification(
                origin, str(message.method), params.get("params") or {}
            )

    async def collect_responses(self, result: JsonObject, request: PendingRequest) -> JsonObject:
        """Return the parameters that repeat a request with the input that *result* requires."""
        asked = result.get("inputRequests")
        given: JsonObject = {}
        for key, one in (asked if isinstance(asked, dict) else {}).items():
            method = one.get("method") if isinstance(one, dict) else None
            if not isinstance(one, dict) or method not in _METHODS:
                raise ServerError("tool requests unknown input", FailureKind.FAILED)
            params: Any = one.get("params") or {}
            given[key] = await self._ask(str(method), params, [request], is_certain=True)
        more: JsonObject = {"inputResponses": given} if given else {}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        if not given:
            await anyio.sleep(_APPLYING)
        return more

    async def _respond(
        self, method: str, model: type[BaseModel], _: Any, params: BaseModel | None = None
    ) -> Any:
        """Return the response of the host to a request of the server, as a *model*, or an error."""
        given: JsonObject = {}
        if params is not None:
            given = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        self._asked.set()
        if self._open >= _MOST_OPEN:
            return mcp_types.ErrorData(
                code=mcp_types.INVALID_REQUEST, message="too many requests wait for an answer"
            )
        self._open += 1
        try:
            is_certain = current_caller.get() is not None
            answer = await self._ask(method, given, self._find_causes(), is_certain=is_certain)
        except MCPError as fault:
            return fault.error
        finally:
            self._open -= 1
            self._answered.set()
        if method == SAMPLING and isinstance(answer.get("content"), list):
            model = mcp_types.CreateMessageResultWithTools
        try:
            return model.model_validate(answer)
        except ValidationError:
            return mcp_types.ErrorData(code=-32603, message="the client sent an invalid response")

    async def _ask(
        self, method: str, params: JsonObject, causes: list[PendingRequest], *, is_certain: bool
    ) -> JsonObject:
        assert self._host is not None  # noqa: S101 - only then are there callbacks
        origin = self._make_origin(causes, is_certain=is_certain)
        with ExitStack() as stack:
            for one in causes:
                stack.enter_context(one.patience.suspend())
            return await self._host.answer_request(origin, method, params)

    def _find_causes(self) -> list[PendingRequest]:
        """Return the requests that may have caused the message that is being handled."""
        known = current_caller.get()
        if known is None:
            return list(self._underway)
        return [one for one in self._underway if one.caller is known]

    def _make_origin(self, causes: list[PendingRequest], *, is_certain: bool) -> MessageOrigin:
        callers = [one.caller for one in causes if one.caller is not None]
        each = {one if one.client is None else one.client: one for one in callers}
        is_alone = len(self._users) == 1
        return MessageOrigin(self._server, tuple(each.values()), is_certain, self._client, is_alone)


# The request for the result lets a server ask that requires input.
_ENDED = frozenset({"completed", "failed", "cancelled", "input_required"})
_TTL = 3_600_000
_SHORTEST, _LONGEST = 0.05, 30.0
_CANCEL_SECONDS = 3.0


async def run_task(client: Client, params: JsonObject, request: PendingRequest) -> JsonObject:
    """Return the result of a call that is run as a task; a cancellation is passed on.

    The time of *request* is renewed while the task is at work.

    Raises:
        MCPError: The server responded with an error.
        ServerError: The server started no task.
    """
    started: JsonObject = await _send(
        client, "tools/call", {**params, "task": {"ttl": _TTL}}, request
    )
    task = started.get("task")
    if not isinstance(task, dict):
        return started  # it was done at once
    if not isinstance(task.get("taskId"), str):
        raise ServerError("invalid MCP response", FailureKind.FAILED)
    named: JsonObject = {"taskId": task["taskId"]}
    state: Any = task
    step = 0
    try:
        while state.get("status") not in _ENDED:
            stated = state.get("pollInterval")
            is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
            await anyio.sleep(min(max(stated / 1000 if is_number else 1.0, _SHORTEST), _LONGEST))
            state = await _send(client, "tasks/get", named)
            step += 1
            message = state.get("statusMessage")
            await request.report(step, None, message if isinstance(message, str) else None)
        result: JsonObject = await _send(client, "tasks/result", named, request)
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True), suppress(MCPError):
            await _send(client, "tasks/cancel", named)
        raise
    return result


async def _send(
    client: Client, method: str, params: JsonObject, request: PendingRequest | None = None
) -> Any:
    session: Any = client.session
    options: dict[str, Any] = {} if request is None else {"on_progress": request.report}
    data: dict[str, Any] = {"method": method, "params": {**params}}
    session._stamp(data, options)  # noqa: SLF001 - the SDK has no type for results of tasks
    return await session._dispatcher.send_raw_request(method, data["params"], options)  # noqa: SLF001


_PAUSE, _MAX_PAUSE = 1.0, 60.0
# Messages of the SDK: for a status of HTTP without an error of the protocol, and a lost session.
_OUTAGES = frozenset(("Server returned an error response", "Not Found", "Session terminated"))


@dataclass(eq=False, slots=True)
class SubscriptionKeeper:
    """Keeps the subscriptions of a connection.

    Servers of the protocol up to 2025-11-25 announce changes of their lists unasked, and get a
    request for each resource. Later ones get a single request that lists all of these.
    """

    uris: frozenset[str] = frozenset()
    level: str | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)
    _refused: frozenset[str] = frozenset()
    _is_lost: bool = False

    async def run(
        self, client: Client, errors: TransportErrors, missed: Callable[[], Awaitable[None]]
    ) -> None:
        """Keep the subscriptions until it is cancelled, or the server takes none.

        *missed* is called when changes may have been missed, and the server is heard again.
        """
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await self._receive_changes(client, errors, missed)
        else:
            await self._subscribe(client, errors)

    async def _subscribe(self, client: Client, errors: TransportErrors) -> None:
        subscribed: frozenset[str] = frozenset()
        level: str | None = None
        pause = _PAUSE
        while True:
            changed, wanted, stated = self.changed, self.uris, self.level
            requests = [("resources/unsubscribe", {"uri": uri}) for uri in subscribed - wanted]
            requests += [("resources/subscribe", {"uri": uri}) for uri in wanted - subscribed]
            if stated not in {None, level} and client.server_capabilities.logging is not None:
                requests.append(("logging/setLevel", {"level": str(stated)}))
            is_sent = True
            for method, params in requests:
                with errors.of_request():
                    try:
                        request = RawRequest(method=method, params={**params})
                        await client.session.send_request(request, UncheckedResult)
                    except MCPError as fault:
                        is_sent &= not _is_outage(fault)
                    except Exception:  # noqa: BLE001 - it is lost in any way
                        is_sent = False
            if is_sent:
                subscribed, level, pause = wanted, stated, _PAUSE
            with anyio.move_on_after(math.inf if is_sent else pause):
                await changed.wait()
                self.changed = anyio.Event()
                continue
            pause = min(2 * pause, _MAX_PAUSE)

    async def _receive_changes(
        self, client: Client, errors: TransportErrors, missed: Callable[[], Awaitable[None]]
    ) -> None:
        pause = _PAUSE
        while True:
            changed, self.changed = self.changed, anyio.Event()
            self._refused &= self.uris
            wanted = self._choose_filter(client)
            if not wanted:
                await self.changed.wait()
                continue
            start = anyio.current_time()
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_on_change, group.cancel_scope)
                with errors.of_request():
                    is_supported = await self._hear(client, wanted, missed)
                if not is_supported:
                    group.cancel_scope.cancel()
                    break
                self._is_lost = True
                if changed.is_set() or anyio.current_time() - start > _MAX_PAUSE:
                    pause = _PAUSE
                await anyio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
                group.cancel_scope.cancel()
        if self._is_lost:
            await missed()

    async def _hear(
        self, client: Client, wanted: Mapping[str, Any], missed: Callable[[], Awaitable[None]]
    ) -> bool:
        """Listen until the subscription ends; return whether the server takes any.

        A resource that the server refuses is left out from then on, so that it costs no other.
        """
        try:
            async with client.listen(**wanted) as events:
                if self._is_lost:
                    await missed()
                    self._is_lost = False
                async for _ in events:
                    """The handler of messages also gets it."""
        except MCPError as fault:
            if _is_outage(fault):
                return True
            if fault.code == mcp_types.METHOD_NOT_FOUND:
                return False
            with suppress(Exception):  # it is lost meanwhile
                self._refused |= await _find_refused(
                    client, wanted.get("resource_subscriptions", [])
                )
        except Exception:  # noqa: BLE001, S110 - it is lost, and tried again
            pass
        return True

    async def _end_on_change(self, scope: anyio.CancelScope) -> None:
        await self.changed.wait()
        scope.cancel()

    def _choose_filter(self, client: Client) -> dict[str, Any]:
        """Return the subscriptions, empty for none."""
        declared = client.server_capabilities
        lists = {
            "tools_list_changed": declared.tools,
            "prompts_list_changed": declared.prompts,
            "resources_list_changed": declared.resources,
        }
        wanted: dict[str, Any] = {
            name: True for name, one in lists.items() if one is not None and one.list_changed
        }
        uris = sorted(self.uris - self._refused)
        return {**wanted, **({"resource_subscriptions": uris} if uris else {})}


async def _find_refused(client: Client, uris: Sequence[str]) -> frozenset[str]:
    """Return the *uris* to which a server refuses subscriptions, by halves."""
    if not uris:
        return frozenset()
    try:
        async with client.listen(resource_subscriptions=uris):
            return frozenset()
    except MCPError as fault:
        if _is_outage(fault):
            raise
    if len(uris) == 1:
        return frozenset(uris)
    middle = len(uris) // 2
    return await _find_refused(client, uris[:middle]) | await _find_refused(client, uris[middle:])


def _is_outage(fault: MCPError) -> bool:
    """Return whether an error is not the server's, but the transport's."""
    return fault.code == mcp_types.CONNECTION_CLOSED or fault.message in _OUTAGES
