"""Requests of servers to clients that take none: the client's own request is interrupted.

Clients of the protocol from 2026-07-28 on get a result that requires input, and repeat their
request with it. Until then the call of a server of an older protocol is kept waiting.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Hashable, Sized
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

from mcpg.gateway.serve.clients import RequestCaller, check_capability
from mcpg.json_types import JsonObject

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from mcpg.gateway.serve.requests import Context

_MOST = 256
_KEPT = 60.0


class _InterruptibleCall:
    """A call that may be interrupted, the caller of its servers.

    Attributes:
        scope: Cancels its work.
        result: What came of its work, `None` before.
        questions: The question that waits for an answer, by a key of its own.
    """

    def __init__(self, context: Context, parked: Sized) -> None:
        self.scope = anyio.CancelScope()
        self.result: JsonObject | Exception | None = None
        self.questions: JsonObject = {}
        self._caller = RequestCaller(context, None)
        self._parked = parked
        self._turn = anyio.Event()
        self._answered = anyio.Event()
        self._answer: JsonObject = {}
        self._asked = 0
        self._lock = anyio.Lock()

    @property
    def client(self) -> Hashable | None:
        return self._caller.client

    @property
    def takes_input(self) -> bool:
        return True

    @property
    def context(self) -> Context:
        return self._caller.context

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        check_capability(self.context.session.client_capabilities, method, params)
        async with self._lock:
            if self.result is not None:
                raise MCPError(INVALID_REQUEST, "the request of the client has ended")
            if len(self._parked) >= _MOST:
                raise MCPError(INVALID_REQUEST, "too many calls wait for input")
            self._asked += 1
            self._answered = anyio.Event()
            self.questions = {str(self._asked): {"method": method, "params": params}}
            self._turn.set()
            try:
                await self._answered.wait()
            finally:
                self.questions = {}  # also one that the server has given up
            return self._answer

    async def tell(self, method: str, params: JsonObject) -> None:
        await self._caller.tell(method, params)

    @property
    def level(self) -> str | None:
        return None

    async def report(self, done: float, total: float | None, message: str | None) -> None:
        await self._caller.report(done, total, message)

    def resume(self, context: Context, answers: Any) -> None:
        """Go on in the request *context*, with the client's *answers* by the keys of questions."""
        self._caller.context = context
        for key in self.questions.keys() & (answers if isinstance(answers, dict) else ()):
            self._answer = answers[key]
            self.questions = {}
            self._answered.set()

    async def wait_for_turn(self) -> None:
        """Wait until there is a question or a result."""
        while not self.questions and self.result is None:
            self._turn = anyio.Event()
            await self._turn.wait()

    async def run(self, work: Callable[[Any], Awaitable[JsonObject]]) -> None:
        """Do the work, and keep what comes of it."""
        try:
            with self.scope:
                self.result = await work(self)
        except Exception as fault:  # noqa: BLE001 - raised again by the request that gets it
            self.result = fault
        finally:
            self._turn.set()


class PendingCalls:
    """Runs calls that are interrupted by questions to their client."""

    def __init__(self) -> None:
        """Begin without calls."""
        self.group: TaskGroup | None = None
        self._parked: dict[str, _InterruptibleCall] = {}

    async def run(
        self, context: Context, work: Callable[[Any], Awaitable[JsonObject]]
    ) -> JsonObject:
        """Return the result of *work*, or a result that requires input.

        Args:
            context: The request of the client.
            work: Gets the caller; left out where the request repeats another.

        Raises:
            MCPError: As *work* does.
        """
        params = context.params or {}
        call = self._parked.pop(str(params.get("requestState")), None)
        if call is not None:
            call.resume(context, params.get("inputResponses"))
        else:
            assert self.group is not None  # noqa: S101 - the server is running
            call = _InterruptibleCall(context, self._parked)
            self.group.start_soon(self._run, call, work)
        try:
            await call.wait_for_turn()
        except BaseException:
            call.scope.cancel()
            raise
        return self._take_turn(call)

    async def _run(
        self, call: _InterruptibleCall, work: Callable[[Any], Awaitable[JsonObject]]
    ) -> None:
        """Run a call; its result is kept for a while where the client has yet to come back."""
        await call.run(work)
        if call in self._parked.values():
            await anyio.sleep(_KEPT)
            for state in [one for one, parked in self._parked.items() if parked is call]:
                del self._parked[state]

    def _take_turn(self, call: _InterruptibleCall) -> JsonObject:
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
