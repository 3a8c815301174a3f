"""The operations of OpenAPI documents: found again in their files, and called by HTTP."""

from __future__ import annotations

import os
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import httpx2

from mcpg.catalog.openapi.document import Document
from mcpg.catalog.openapi.layout import Operation
from mcpg.catalog.sources.kinds import FileKind, kind_of_named
from mcpg.catalog.sources.textfile import read_text
from mcpg.errors import McpgError
from mcpg.files import is_file, text_of_path
from mcpg.gateway.addressing import secrets_of_source
from mcpg.gateway.called import CallError, RefusedError
from mcpg.gateway.operationanswers import is_redirect, read_answer
from mcpg.gateway.operationrequests import request_of
from mcpg.gateway.results import Fault, FaultCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcpg.catalog.openapi.document import Call
    from mcpg.gateway.called import Called
    from mcpg.gateway.limits import Limits
    from mcpg.gateway.operationrequests import Request
    from mcpg.gateway.sources import FileSource
    from mcpg.jsontypes import JsonObject

_MOST_REDIRECTS = 5
_CLOSING = 3.0
_SAFE = ("GET", "HEAD")
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.LocalProtocolError,
    UnicodeError,  # a host that is no name
)
_UNWRITABLE = "its request cannot be written"


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file as it was read.

    Attributes:
        signature: What tells whether it has changed.
        document: The document, `None` where it is none.
        operations: Its operations, by name.
        calls: How those are called that were called before.
    """

    signature: tuple[int, ...]
    document: Document | None = None
    operations: Mapping[str, Sequence[Operation]] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)


class Operations:
    """Calls the operations of documents; keeps documents and connections until it is closed."""

    def __init__(self, limits: Limits) -> None:
        """Prepare to call; nothing is read or reached yet.

        Args:
            limits: What an answer is granted.
        """
        self._limits = limits
        self._documents: dict[str, _Opened] = {}
        self._reading = anyio.Lock()
        self._client: httpx2.AsyncClient | None = None

    async def find(self, owner: FileSource, name: str) -> Call | None:
        """Give how the tool called *name* is called; `None` where *owner* is no such document.

        Raises:
            RefusedError: The document has no such operation any more, or several.
            CallError: The document cannot be read any more.
        """
        async with self._reading:
            read = partial(self._read, owner.path)
            try:
                opened = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
            except McpgError as fault:
                message = f"its document cannot be read: {fault.message}"
                raise CallError(FaultCode.SOURCE_UNAVAILABLE, message) from None
            self._documents[owner.path] = opened
        if opened.document is None:
            return None
        found = opened.operations.get(name, ())
        if len(found) != 1:
            raise RefusedError(_not_one(len(found)))
        if name not in opened.calls:
            opened.calls[name] = opened.document.call(found[0])
        return opened.calls[name]

    async def call(self, call: Call, owner: FileSource, arguments: JsonObject) -> Called:
        """Call an operation.

        A redirect is followed only from a request that reads, and on the same host. A request that
        reads is sent once more where the connection was lost before there was an answer.

        Args:
            call: How it is called.
            owner: The source that has it, with its base address and headers.
            arguments: The arguments of the tool.

        Raises:
            RefusedError: The arguments cannot be sent.
            CallError: There is no result; an answer that says that it failed is one.
        """
        base = owner.base_url or call.address
        if base is None:
            raise RefusedError(_nowhere())
        request = request_of(call, arguments, base, owner.headers)
        async with aclosing(await self._answer(request)) as response:
            return await read_answer(response, self._limits, secrets_of_source(owner))

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        client, self._client = self._client, None
        if client is not None:
            with anyio.move_on_after(_CLOSING, shield=True):
                await client.aclose()

    def _read(self, path: str) -> _Opened:
        """Read the document at *path*, unless that was done and it has not changed."""
        signature = _signature(path)
        known = self._documents.get(path)
        if known is not None and known.signature == signature:
            return known
        if not is_file(path):
            return _Opened(signature)
        text = read_text(Path(path), path)
        if kind_of_named(text_of_path(Path(path).name), text, path) is not FileKind.OPENAPI:
            return _Opened(signature)
        document = Document(text, path)
        operations: dict[str, list[Operation]] = {}
        for one in document.operations():
            if isinstance(one, Operation):
                operations.setdefault(one.name, []).append(one)
        return _Opened(signature, document, operations)

    async def _answer(self, request: Request) -> httpx2.Response:
        """Send a request, and give the answer, of which nothing but its head was read."""
        client = self._opened()
        try:
            sent = client.build_request(
                request.method,
                request.url,
                headers=[(name.encode(), text) for name, text in request.headers.items()],
                content=request.content,
                files=list(request.parts) or None,
            )
        except (httpx2.InvalidURL, ValueError):
            raise CallError(FaultCode.NOT_INVOKABLE, _UNWRITABLE) from None
        is_safe = request.method in _SAFE
        for _ in range(_MOST_REDIRECTS):
            response = await _sent(client, sent, is_safe=is_safe)
            if not is_redirect(response):
                return response
            await response.aclose()
            further = response.next_request
            if not is_safe or further is None or _origin(further.url) != _origin(sent.url):
                message = (
                    f"it sends us to another address (HTTP status {response.status_code}), which is"
                    " not followed"
                )
                raise CallError(FaultCode.TOOL_FAILED, message)
            if "Cookie" in sent.headers:
                further.headers["Cookie"] = sent.headers["Cookie"]
            sent = further
        raise CallError(FaultCode.TOOL_FAILED, "it sends us from one address to another for ever")

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            # Nobody's session is anybody else's.
            jar = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
            self._client = httpx2.AsyncClient(cookies=jar, timeout=None, trust_env=False)
        return self._client


async def _sent(
    client: httpx2.AsyncClient, request: httpx2.Request, *, is_safe: bool
) -> httpx2.Response:
    try:
        return await _sent_once(client, request)
    except CallError as fault:
        if not (is_safe and fault.has_died):
            raise
    return await _sent_once(client, request)


async def _sent_once(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    try:
        return await client.send(request, stream=True)
    except _UNSENT:
        raise CallError(FaultCode.SOURCE_UNAVAILABLE, "it cannot be reached") from None
    except httpx2.TransportError:
        message = "its connection was lost before there was an answer"
        raise CallError(FaultCode.SOURCE_UNAVAILABLE, message, has_died=True) from None


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _signature(path: str) -> tuple[int, ...]:
    """Give what changes when the file at *path* does."""
    try:
        found = os.stat(path)  # noqa: PTH116 - the path may be one that `Path` refuses
    except (OSError, ValueError):
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


def _not_one(count: int) -> Fault:
    if not count:
        message = "its document has no such operation any more"
        return Fault(FaultCode.NOT_INVOKABLE, message, "have the tools listed anew")
    message = f"{count} operations of its document have the same operationId"
    return Fault(FaultCode.NOT_INVOKABLE, message, "give each its own")


def _nowhere() -> Fault:
    message = "its document names no address with a host"
    remedy = "give the source the address of the API as `base_url`"
    return Fault(FaultCode.NOT_INVOKABLE, message, remedy)
