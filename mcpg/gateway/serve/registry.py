"""The registry over HTTP: `POST /search` of Agentic Resource Discovery."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Scope

from mcpg.engine import Engine
from mcpg.errors import NotFoundError
from mcpg.gateway.serve.server import GatewayServer
from mcpg.servers.publish import (
    Publisher,
    RegistryRequest,
    RequestError,
    answer_request,
    make_entries,
    parse_request,
)
from mcpg.text.json_values import JsonObject

SEARCH, EXPLORE = "/search", "/explore"


@dataclass(frozen=True, slots=True)
class Registry:
    """Answers searches for servers with the tools that a request may see.

    Attributes:
        find_server: Returns the server of the view of a request.
        domain: The domain that identifiers begin with.
    """

    find_server: Callable[[Scope], Awaitable[GatewayServer]]
    domain: str
    _entries: WeakKeyDictionary[Engine, dict[str, JsonObject]] = field(
        default_factory=WeakKeyDictionary
    )

    @property
    def routes(self) -> list[Route]:
        return [
            Route(SEARCH, endpoint=self.search, methods=["POST"]),
            Route(EXPLORE, endpoint=self.explore, methods=["POST"]),
        ]

    async def search(self, request: Request) -> JSONResponse:
        """Return the requested servers."""
        try:
            asked = parse_request(json.loads(await request.body()))
        except RequestError as fault:
            return _fail(fault.message, 400, "INVALID_ARGUMENT")
        except (ValueError, RecursionError):
            return _fail("the body is not JSON", 400, "INVALID_ARGUMENT")
        try:
            engine = await (await self.find_server(request.scope)).engine()
        except NotFoundError as fault:
            return _fail(fault.message, 400, "INVALID_ARGUMENT")
        publisher = Publisher(self.domain, str(request.base_url).rstrip("/"))
        work = partial(self._answer, engine, asked, publisher)
        return JSONResponse(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))

    def _answer(self, engine: Engine, asked: RegistryRequest, publisher: Publisher) -> JsonObject:
        entries = self._entries.get(engine)
        if entries is None:  # reading all tools takes long
            entries = self._entries[engine] = make_entries(engine.tools, Publisher(self.domain))
        return answer_request(engine, entries, asked, publisher)

    async def explore(self, _: Request) -> JSONResponse:
        """Return that facets are not offered."""
        return _fail("facets are not offered: use POST /search", 501, "NOT_IMPLEMENTED")


def _fail(message: str, status: int, code: str) -> JSONResponse:
    return JSONResponse({"errorCode": code, "message": message}, status)
