"""Prompts and resources of the servers, served to clients: lists, requests and subscriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpg.errors import NotFoundError
from mcpg.gateway.primitives.service import RequestError
from mcpg.gateway.serve import ServingOptions
from mcpg.gateway.serve.answers import line, size
from mcpg.gateway.serve.clients import MOST_URIS, check_subscriptions
from mcpg.gateway.serve.requests import ClientRequest, make_mcp_error, keep_unaltered
from mcpg.json_types import JsonObject
from mcpg.sources.client_config import Server as McpServer

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.primitives.directory import Directory
    from mcpg.gateway.serve.clients import Clients
    from mcpg.gateway.serve.requests import Context
    from mcpg.sources.live.requests import Caller

OnBehalf: TypeAlias = (
    "Callable[[Context, Callable[[Caller], Awaitable[JsonObject]]], Awaitable[JsonObject]]"
)

RESOURCE_NOT_FOUND = -32002
"""The code of the protocol up to 2025-11-25; later versions have invalid parameters."""

_PAGE_ITEMS, _PAGE_BYTES = 200, 1 << 20
_AFTER = "after:"
_LIST: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_LONGEST = 300
_MOST_LISTENED = 10 * MOST_URIS


def page(
    items: Mapping[str, JsonObject], cursor: str | None
) -> tuple[list[JsonObject], str | None]:
    """Return the items after *cursor*, and the cursor of the next page.

    A cursor names the last item of its page, so it stays valid when others change.

    Raises:
        MCPError: The cursor is invalid.
    """
    keys = list(items)
    start = 0
    if cursor is not None:
        last = cursor.removeprefix(_AFTER)
        if not cursor.startswith(_AFTER) or last not in items:
            raise MCPError(INVALID_PARAMS, "invalid cursor")
        start = keys.index(last) + 1
    found: list[JsonObject] = []
    room = _PAGE_BYTES
    for key in keys[start:]:
        room -= size(items[key])
        if found and (room < 0 or len(found) == _PAGE_ITEMS):
            return found, f"{_AFTER}{keys[start + len(found) - 1]}"
        found.append(items[key])
    return found, None


class PrimitiveHandlers:
    """Handles requests for prompts and resources."""

    def __init__(
        self,
        gateway: Gateway,
        serving: ServingOptions,
        clients: Clients,
        on_behalf: OnBehalf,
        unwatch: Callable[[], None],
    ) -> None:
        """Serve those of *gateway*.

        Args:
            gateway: The gateway.
            serving: The size of an error.
            clients: The connected clients.
            on_behalf: Does work on behalf of the client of a request.
            unwatch: Called when a subscription has ended, to begin `watch`.
        """
        self._gateway = gateway
        self._serving = serving
        self._clients = clients
        self._on_behalf = on_behalf
        self._unwatch = unwatch
        self._watching = anyio.Lock()
        self._listened: Counter[str] = Counter()
        self._watched: dict[tuple[str, str], str] = {}

    def register(self, sdk: Server[Any]) -> None:
        """Register the handlers, by which the capabilities are declared."""
        pages, request = types.PaginatedRequestParams, sdk.add_request_handler
        request("resources/list", pages, self._resources)
        request("resources/templates/list", pages, self._templates)
        request("resources/read", types.ReadResourceRequestParams, self._read)
        request("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        request("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        request("prompts/list", pages, self._prompts)
        request("prompts/get", types.GetPromptRequestParams, self._prompt)
        request("completion/complete", types.CompleteRequestParams, self._complete)
        request("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        request(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen_to_changes
        )

    async def _resources(self, _: Context, params: types.PaginatedRequestParams) -> JsonObject:
        return await self._list("resources", params, lambda known: known.resources)

    async def _templates(self, _: Context, params: types.PaginatedRequestParams) -> JsonObject:
        return await self._list("resourceTemplates", params, lambda known: known.templates)

    async def _prompts(self, _: Context, params: types.PaginatedRequestParams) -> JsonObject:
        return await self._list("prompts", params, lambda known: known.prompts)

    async def _list(
        self,
        member: str,
        params: types.PaginatedRequestParams,
        items: Callable[[Directory], dict[str, JsonObject]],
    ) -> JsonObject:
        known = await self._gateway.primitives.list_directory(is_fresh=params.cursor is None)
        shown, cursor = page(items(known), params.cursor)
        more: JsonObject = {} if cursor is None else {"nextCursor": cursor}
        return keep_unaltered({**_LIST, member: [*shown], **more})

    async def _read(self, context: Context, params: types.ReadResourceRequestParams) -> JsonObject:
        async def work(caller: Caller) -> JsonObject:
            request = ClientRequest.of(context, caller)
            given = {**request.params, "_meta": request.meta}
            return await self._gateway.primitives.read(params.uri, given, request.progress)

        return await self._answer_request(context, work, RESOURCE_NOT_FOUND)

    async def _prompt(self, context: Context, params: types.GetPromptRequestParams) -> JsonObject:
        async def work(caller: Caller) -> JsonObject:
            request = ClientRequest.of(context, caller)
            given: JsonObject = {**request.params, "_meta": request.meta}
            if params.arguments is not None:
                given["arguments"] = {**params.arguments}
            return await self._gateway.primitives.prompt(params.name, given, request.progress)

        return await self._answer_request(context, work)

    async def _complete(self, context: Context, _: types.CompleteRequestParams) -> JsonObject:
        async def work(caller: Caller) -> JsonObject:
            given: Any = {**(context.params or {})}
            given["_meta"] = ClientRequest.of(context, caller).meta
            return await self._gateway.primitives.complete(given)

        return await self._answer_request(context, work)

    async def _answer_request(
        self,
        context: Context,
        work: Callable[[Caller], Awaitable[JsonObject]],
        unknown: int = INVALID_PARAMS,
    ) -> JsonObject:
        """Return the result of *work*, with the error of the server where it has one."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            unknown = INVALID_PARAMS
        try:
            result = await self._on_behalf(context, work)
        except NotFoundError as fault:
            raise MCPError(unknown, line(fault.message, _LONGEST)) from None
        except RequestError as fault:
            if fault.error is not None:
                raise make_mcp_error(fault.error, self._serving.result_bytes) from None
            raise MCPError(INTERNAL_ERROR, line(fault.message, _LONGEST)) from None
        return keep_unaltered(result if "ttlMs" in result else {**_LIST, **result})

    async def _subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        client = self._clients.of(context)
        if client is not None:
            try:
                await self._gateway.primitives.resource(params.uri)
            except NotFoundError as fault:
                raise MCPError(RESOURCE_NOT_FOUND, line(fault.message, _LONGEST)) from None
            check_subscriptions(len({*client.uris, params.uri}))
            client.uris.add(params.uri)
            await self.watch()
        return types.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        client = self._clients.of(context)
        if client is not None:
            client.uris.discard(params.uri)
            await self.watch()
        return types.EmptyResult()

    async def _listen_to_changes(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        uris = {*(params.notifications.resource_subscriptions or ())}
        check_subscriptions(len(uris))
        # Over standard input there is one client; over HTTP, nothing tells them apart.
        most = MOST_URIS if context.request is None else _MOST_LISTENED
        check_subscriptions(self._listened.total() + len(uris), most)
        self._listened.update(uris)
        try:
            if uris:
                await self.watch()
            return await self._clients.listen(context, params)
        finally:
            self._listened.subtract(uris)
            if uris:
                self._unwatch()

    async def watch(self) -> None:
        """Subscribe to the resources that clients have subscribed to, and to no others."""
        async with self._watching:  # what was begun later has the later subscriptions
            self._listened = +self._listened
            uris = {uri for client in self._clients for uri in client.uris}
            if uris or self._listened or self._watched:
                known = self._gateway.primitives
                self._watched = await known.watch(frozenset({*uris, *self._listened}))

    async def announce_update(self, server: McpServer, uri: str) -> None:
        """Notify clients that the resource *uri* of *server* has changed."""
        sources = [one for one in self._gateway.primitives.servers if one.server == server]
        shown = (self._watched.get((source.id, uri)) for source in sources)
        await self._clients.notify_updated(frozenset(filter(None, shown)))

    async def _set_level(
        self, context: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        client = self._clients.of(context)
        if client is not None:
            client.level = params.level
            self._gateway.sessions.log(self._clients.level)
        return types.EmptyResult()
