"""The operations of OpenAPI documents: found again in their files, and called by HTTP."""

from __future__ import annotations

import base64
import codecs
import json
import os
import re
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import httpx2

from mcpg.catalog.manifest import parse_repaired
from mcpg.errors import McpgError
from mcpg.files import is_file, text_of_path
from mcpg.gateway.calls.model import CallError, Fault, FaultCode, RefusedError
from mcpg.gateway.calls.openapi_requests import request_of
from mcpg.gateway.sources import secrets_of_source
from mcpg.net.addresses import TCHAR
from mcpg.sources.live.client import CallResult
from mcpg.sources.live.errors import redact
from mcpg.sources.model import FileKind, kind_of_named, read_text
from mcpg.sources.openapi import Document
from mcpg.sources.openapi.operations import Operation, is_json, kind_of_media

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mcpg.gateway.calls.openapi_requests import Request
    from mcpg.gateway.limits import Limits
    from mcpg.gateway.sources import FileSource
    from mcpg.json_types import JsonObject, JsonValue
    from mcpg.sources.openapi import Call

# SECTION operationanswers: From the answer of an HTTP API to what a tool answers, within bounds
# whatever is answered.


_MOST_BINARY = 1 << 18
_MOST_OF_A_FAILURE = 1 << 16
_SUCCESS = range(200, 300)
_REDIRECTS = (301, 302, 303, 307, 308)
_STATUSES = {int(status): status.phrase for status in HTTPStatus}
_KIND = re.compile(f"{TCHAR}+/{TCHAR}+")
_TEXT = re.compile(
    r"text/.*|.*[/+](?:xml|yaml|x-yaml)|application/(?:(?:x-|ecma)?javascript|ecmascript|sql"
    r"|x-www-form-urlencoded|x-ndjson|jsonl|x-sh|toml|graphql)"
)
_IMAGE = re.compile(r"image/(?:png|jpeg|gif|webp)")
_CHARSET = re.compile(r"utf-(?:8|16)|ascii|iso8859|cp12|gb|big5|shift_jis|euc")
_UNKNOWN = "application/octet-stream"


def is_redirect(response: httpx2.Response) -> bool:
    """Say whether an answer sends us to another address."""
    return response.status_code in _REDIRECTS and "location" in response.headers


async def read_answer(
    response: httpx2.Response, limits: Limits, secrets: Collection[str]
) -> CallResult:
    """Read an answer, of which the head was read.

    Args:
        response: The answer.
        limits: What it is granted.
        secrets: Texts that must not come back in what it says of a failure.

    Raises:
        CallError: It is too large, packed, or breaks off.
    """
    if response.headers.get("content-encoding", "identity").casefold() not in ("", "identity"):
        message = "it packed its answer, which it was not asked to"
        raise CallError(FaultCode.TOOL_FAILED, message)
    if response.status_code not in _SUCCESS:
        return await _failed(response, limits, secrets)
    kind = kind_of_media(response.headers.get("content-type", ""))
    is_binary = bool(kind) and not (is_json(kind) or _TEXT.fullmatch(kind))
    most = min(_MOST_BINARY, limits.result_bytes) if is_binary else limits.result_bytes
    data, is_whole = await _bytes(response, most)
    if not is_whole and is_binary:
        return _note(f"it answered with more than {most} bytes of {_shown(kind)}, which stay there")
    if not is_whole:
        message = f"its answer is larger than {limits.result_bytes} bytes"
        raise CallError(FaultCode.TOO_LARGE, message)
    if not data:
        return _note(_status(response))
    text = None if is_binary else _text(response, data, is_told=bool(kind))
    return _binary(kind, data) if text is None else _texts(text, _json(text, kind))


async def _failed(
    response: httpx2.Response, limits: Limits, secrets: Collection[str]
) -> CallResult:
    data, is_whole = await _bytes(response, min(_MOST_OF_A_FAILURE, limits.result_bytes))
    kind = kind_of_media(response.headers.get("content-type", ""))
    text = _text(response, data, is_told=bool(_TEXT.fullmatch(kind) or is_json(kind))) or ""
    structured = _json(text, kind) if is_whole else None
    if structured is not None:
        structured = redact(structured, secrets)[0]
        text = json.dumps(structured, ensure_ascii=False)
    said = redact(text, secrets)[0].strip()
    if len(said) > limits.message_chars:
        said = f"{said[: limits.message_chars]}..."
    content = _block(f"{_status(response)}\n{said}" if said else _status(response))
    return CallResult((content,), structured, is_error=True)


async def _bytes(response: httpx2.Response, most: int) -> tuple[bytes, bool]:
    """Read up to *most* bytes; say whether that is all of them."""
    found = bytearray()
    try:
        async for piece in response.aiter_raw():
            found += piece
            if len(found) > most:
                return bytes(found[:most]), False
    except httpx2.TransportError:
        raise CallError(FaultCode.SOURCE_UNAVAILABLE, "its answer broke off") from None
    return bytes(found), True


def _status(response: httpx2.Response) -> str:
    """Name the status; the words are the standard's, not the server's."""
    code = response.status_code
    return f"HTTP status {code} {_STATUSES.get(code, '')}".rstrip()


def _text(response: httpx2.Response, data: bytes, *, is_told: bool) -> str | None:
    """Give *data* as text; `None` where nothing says that it is one, and it is none."""
    name = response.charset_encoding or "utf-8"
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    # Some encodings of Python's take for ever, or are none of text.
    encoding = known if _CHARSET.match(known) else "utf-8"
    if is_told:
        return data.decode(encoding, "replace")
    try:
        return None if b"\0" in data else data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _json(text: str, kind: str) -> JsonValue:
    """Parse what says that it is JSON; `None` where it is none."""
    if not is_json(kind):
        return None
    try:
        found = parse_repaired(text, "", [])
    except McpgError:
        return None
    return found[0] if len(found) == 1 else None


def _texts(text: str, structured: JsonValue) -> CallResult:
    return CallResult((_block(text),), structured)


def _note(text: str) -> CallResult:
    return CallResult((_block(text),))


def _block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _shown(kind: str) -> str:
    return kind if _KIND.fullmatch(kind) else _UNKNOWN


def _binary(kind: str, data: bytes) -> CallResult:
    media, blob = _shown(kind), base64.b64encode(data).decode("ascii")
    if _IMAGE.fullmatch(media):
        return CallResult(({"type": "image", "data": blob, "mimeType": media},))
    resource: JsonObject = {"uri": "answer:body", "mimeType": media, "blob": blob}
    return CallResult(({"type": "resource", "resource": resource},))


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

    async def call(self, call: Call, owner: FileSource, arguments: JsonObject) -> CallResult:
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
