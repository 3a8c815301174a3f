"""Requests and notifications of servers, passed on to the clients that they concern."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, REQUEST_TIMEOUT

from mcpg.errors import Code, Diagnostic, info
from mcpg.gateway.serve.answers import line
from mcpg.gateway.serve.clients import Client, Clients
from mcpg.json_types import JsonObject
from mcpg.sources.client_config import Server
from mcpg.sources.live.questions import ELICITATION, ROOTS

if TYPE_CHECKING:
    from mcpg.sources.live.requests import Caller, MessageOrigin

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


class Relay:
    """The host of the servers behind a gateway: asks clients on their behalf.

    Attributes:
        has_many: Whether there may be several clients at a time.
    """

    def __init__(
        self,
        clients: Clients,
        seconds: float,
        changed: Callable[[Server], None],
        updated: Callable[[Server, str], Awaitable[None]],
        report: Callable[[Diagnostic], None],
    ) -> None:
        """Ask *clients*.

        Args:
            clients: The clients.
            seconds: The time that each has to respond.
            changed: Called when a server announces a change of its prompts or resources.
            updated: Called when a server announces a change of a resource.
            report: Called when a log message is dropped.
        """
        self.has_many = False
        self._clients = clients
        self._seconds = seconds
        self._changed = changed
        self._updated = updated
        self._report = report
        self._arrived = anyio.Event()

    @property
    def has_clients(self) -> bool:
        """Whether a client is connected, as far as connections tell."""
        return not self.has_many or any(True for _ in self._clients)

    def note_arrival(self) -> None:
        """Wake up servers that wait for a first client."""
        self._arrived.set()

    async def answer_request(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> JsonObject:
        """Return the response of the client that caused the request; see `Host.asked`.

        Raises:
            MCPError: There is no such client, it refuses, or it does not respond in time.
        """
        if method == ROOTS and not (origin.callers or self.has_many or self._arrived.is_set()):
            with anyio.move_on_after(_FIRST_CLIENT):
                await self._arrived.wait()
        asked = self._receiver(origin)
        if asked is None:
            several = bool(origin.callers) or self.has_many
            raise MCPError(INVALID_REQUEST, _SEVERAL if several else "no client is connected")
        with anyio.move_on_after(self._seconds):
            return await asked.ask(method, name_server(origin.server, method, params))
        raise MCPError(REQUEST_TIMEOUT, f"no response of the client within {self._seconds:g} s")

    async def receive_notification(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> None:
        """Pass on a notification; see `Host.told`."""
        server, uri = origin.server, params.get("uri")
        match method.split("/")[1:]:
            case ["message"]:
                await self._pass_on_log(origin, params)
            case ["prompts" | "resources", "list_changed"]:
                self._changed(server)
            case ["resources", "updated"] if isinstance(uri, str):
                await self._updated(server, uri)
            case ["elicitation", "complete"]:
                await self._pass_on_completion(origin, params)

    async def _pass_on_completion(self, origin: MessageOrigin, params: JsonObject) -> None:
        """Pass on that an elicitation is complete; other clients ignore what they did not begin."""
        receiver = self._receiver(origin)
        if receiver is not None:
            await receiver.tell(_ELICITED, params)
            return
        for client in self._clients:
            self._clients.tell(client, _ELICITED, params)

    async def _pass_on_log(self, origin: MessageOrigin, params: JsonObject) -> None:
        """Pass on a log message to the one client that it concerns."""
        name = line(origin.server.name or origin.server.place, _NAME)
        receiver = self._receiver(origin)
        if receiver is not None:
            await receiver.tell(_MESSAGE, {"logger": name, **_add_source_meta(params, name)})
        elif self.has_many and origin.client is None:
            message = f"log messages of {name!r} are dropped: clients share its process"
            self._report(info(Code.LOG_DROPPED, message, origin.server.place))

    def _receiver(self, origin: MessageOrigin) -> Caller | Client | None:
        """Return the client that a message concerns, `None` if that is not certain.

        A message over a connection that clients share concerns the client of the request whose
        response has it. Any other may come of an earlier call of each client that has used it.
        """
        if self.has_many and origin.client is None:
            is_certain = origin.is_certain or origin.is_alone
            return origin.callers[0] if is_certain and origin.callers else None
        if origin.callers:  # clients may never come back to an earlier call
            return origin.callers[-1]
        clients = [one for one in self._clients if origin.client in (None, one.identity)]
        return clients[0] if len(clients) == 1 else None


def name_server(server: Server, method: str, params: JsonObject) -> JsonObject:
    """Return the parameters of a server's request, which name the server.

    Users see nothing of `_meta`, and are to know who wants what they type in.
    """
    name = line(server.name or server.place, _NAME)
    shown = _add_source_meta(params, name)
    if method == ELICITATION and isinstance(message := params.get("message"), str):
        shown["message"] = f"{name}: {message}"
    return shown


def _add_source_meta(params: JsonObject, name: str) -> JsonObject:
    given = params.get("_meta")
    meta: JsonObject = {**(given if isinstance(given, dict) else {}), SOURCE: name}
    return {**params, "_meta": meta}
