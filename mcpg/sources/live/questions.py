"""Requests of a server to its client, for sampling, elicitation and roots; its notifications."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Notification,
    SamplingCapability,
    SamplingContextCapability,
    SamplingToolsCapability,
)
from pydantic import BaseModel, ValidationError

from mcpg.json_types import JsonObject
from mcpg.sources.client_config import Server
from mcpg.sources.live.errors import FailureKind, ServerError
from mcpg.sources.live.requests import Caller, Host, MessageOrigin, PendingRequest, current_caller

SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"
ROOTS = "roots/list"

# Requests of a server over one connection that wait for an answer at the same time.
_MOST_OPEN = 1000
_METHODS = {SAMPLING, ELICITATION, ROOTS}
_FIRST, _SETTLING, _APPLYING = 2.0, 5.0, 0.1


def requires_input(result: JsonObject) -> bool:
    """Return whether *result* is none yet: the server requires input of the client."""
    return result.get("resultType") == "input_required"


class ServerRequests:
    """The requests of one server over one connection, and the requests that may have caused them.

    Without a host, the server gets the error of a client that takes no requests.
    """

    def __init__(self, server: Server, host: Host | None, client: Hashable | None) -> None:
        """Pass requests of *server* on to *host*; *client* is as for `Origin`."""
        self._server = server
        self._host = host
        self._client = client
        self._underway: list[PendingRequest] = []
        self._users: set[object] = set()
        self._open = 0
        self._asked = anyio.Event()
        self._answered = anyio.Event()

    def callbacks(self) -> dict[str, Any]:
        """Return arguments of the client of the SDK; they declare its capabilities."""
        if self._host is None:
            return {}
        return {
            "sampling_callback": self._sampling,
            "sampling_capabilities": SamplingCapability(
                context=SamplingContextCapability(), tools=SamplingToolsCapability()
            ),
            "elicitation_callback": self._elicitation,
            "list_roots_callback": self._roots,
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
        """Take *request* for one that may cause requests of the server, in the context."""
        if request is None:
            yield
            return
        self._underway.append(request)
        if request.caller is not None and len(self._users) <= 1:
            self._users.add(_identify(request.caller))
        try:
            yield
        finally:
            self._underway.remove(request)

    async def pass_on(self, message: Notification[Any, Any]) -> None:
        """Pass a notification on to the host."""
        if self._host is None:
            return
        causes = self._causes()
        origin = self._origin(causes, is_certain=current_caller.get() is not None)
        params = message.model_dump(by_alias=True, mode="json", exclude_none=True)
        with ExitStack() as stack:
            for one in causes:
                stack.enter_context(one.count_notification())
            await self._host.receive_notification(
                origin, str(message.method), params.get("params") or {}
            )

    async def responses(self, result: JsonObject, request: PendingRequest) -> JsonObject:
        """Return the parameters that repeat a request with the input that *result* requires.

        Raises:
            MCPError: The client refuses.
            ServerError: The server requires something unknown.
        """
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

    async def _sampling(self, _: Any, params: BaseModel) -> Any:
        answer = await self._response(SAMPLING, params)
        if isinstance(answer, dict):
            has_blocks = isinstance(answer.get("content"), list)
            model = CreateMessageResultWithTools if has_blocks else CreateMessageResult
            return _valid(model, answer)
        return answer

    async def _elicitation(self, _: Any, params: BaseModel) -> Any:
        answer = await self._response(ELICITATION, params)
        return _valid(ElicitResult, answer) if isinstance(answer, dict) else answer

    async def _roots(self, _: Any) -> Any:
        answer = await self._response(ROOTS, None)
        return _valid(ListRootsResult, answer) if isinstance(answer, dict) else answer

    async def _response(self, method: str, params: BaseModel | None) -> JsonObject | ErrorData:
        given: JsonObject = {}
        if params is not None:
            given = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        self._asked.set()
        if self._open >= _MOST_OPEN:
            return ErrorData(code=INVALID_REQUEST, message="too many requests wait for an answer")
        self._open += 1
        try:
            is_certain = current_caller.get() is not None
            return await self._ask(method, given, self._causes(), is_certain=is_certain)
        except MCPError as fault:
            return fault.error
        finally:
            self._open -= 1
            self._answered.set()

    async def _ask(
        self, method: str, params: JsonObject, causes: list[PendingRequest], *, is_certain: bool
    ) -> JsonObject:
        assert self._host is not None  # noqa: S101 - only then are there callbacks
        origin = self._origin(causes, is_certain=is_certain)
        with ExitStack() as stack:
            for one in causes:
                stack.enter_context(one.patience.suspend())
            return await self._host.answer_request(origin, method, params)

    def _causes(self) -> list[PendingRequest]:
        """Return the requests that may have caused the message that is being handled."""
        known = current_caller.get()
        if known is None:
            return list(self._underway)
        return [one for one in self._underway if one.caller is known]

    def _origin(self, causes: list[PendingRequest], *, is_certain: bool) -> MessageOrigin:
        each = {_identify(one.caller): one.caller for one in causes if one.caller is not None}
        is_alone = len(self._users) == 1
        return MessageOrigin(self._server, tuple(each.values()), is_certain, self._client, is_alone)


def _identify(caller: Caller) -> object:
    """Return the client of *caller*; without a session it may be another one in each call."""
    return caller if caller.client is None else caller.client


def _valid(model: type[BaseModel], answer: JsonObject) -> Any:
    try:
        return model.model_validate(answer)
    except ValidationError:
        return ErrorData(code=-32603, message="the client sent an invalid response")
