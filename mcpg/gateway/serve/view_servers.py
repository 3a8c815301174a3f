"""The servers of views over HTTP: the token and header of a request select its server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mcpg.errors import NotFoundError
from mcpg.gateway.serve.server import GatewayServer
from mcpg.gateway.views import View

HEADER = "mcpg-view"
"""The header by which a request names a view, within that of its token."""

VIEW = "mcpg.view"
"""The member of a request's scope that names the view of its token, "" for the whole gateway."""


class _RunningServer(NamedTuple):
    """A server of a view, and the manager of its sessions."""

    server: GatewayServer
    manager: StreamableHTTPSessionManager


class ViewServers:
    """Passes requests on to the server of their view, an ASGI application.

    Each view has a server with sessions of its own. It starts with the first request for it, or
    at once if the view has a token.
    """

    def __init__(
        self,
        served: GatewayServer,
        views: Mapping[str, View],
        make_manager: Callable[[GatewayServer], StreamableHTTPSessionManager],
    ) -> None:
        """Serve *served* whole, and its *views* by their names."""
        self._served = served
        self._views = views
        self._make_manager = make_manager
        self._running: dict[frozenset[str], _RunningServer] = {}
        self._lock = anyio.Lock()
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def running(self, tokens: Mapping[str, str]) -> AsyncIterator[None]:
        """Run the servers of the views that have *tokens* inside the context."""
        async with anyio.create_task_group() as self._group:
            # The whole gateway reads the sources of all views, and reports on them.
            for name in ("", *tokens):
                await self._find_running(frozenset(filter(None, [name])))
            try:
                yield
            finally:
                self._group.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            found = await self._find_running(self._name_views(scope))
        except NotFoundError as fault:
            await PlainTextResponse(fault.message, 400)(scope, receive, send)
            return
        await StreamableHTTPASGIApp(found.manager)(scope, receive, send)

    async def find_server(self, scope: Scope) -> GatewayServer:
        """Return the server of a request's views; raises `NotFoundError` for an unknown view."""
        return (await self._find_running(self._name_views(scope))).server

    def _name_views(self, scope: Scope) -> frozenset[str]:
        """Return the names of a request's views; it sees only items that all of them show."""
        named = Request(scope).headers.getlist(HEADER)
        if not {*named} <= self._views.keys() or len(named) > 1:
            raise NotFoundError("unknown view", place=HEADER)
        return frozenset(filter(None, (scope.get(VIEW, ""), *named)))

    async def _find_running(self, names: frozenset[str]) -> _RunningServer:
        async with self._lock:
            if names not in self._running:
                views = [self._views[name] for name in sorted(names)]
                server = self._served.narrow(*views) if views else self._served
                found = _RunningServer(server, self._make_manager(server))
                assert self._group is not None  # noqa: S101 - the servers are running
                await self._group.start(_run, found)
                self._running[names] = found
        return self._running[names]


async def _run(one: _RunningServer, *, task_status: TaskStatus[None]) -> None:
    async with one.server.running(), one.manager.run():
        task_status.started()
        await anyio.sleep_forever()
