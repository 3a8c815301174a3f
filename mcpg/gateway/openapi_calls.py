"""Calls of OpenAPI operations over HTTP."""

from __future__ import annotations

import base64
import codecs
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2

from mcpg.catalog.manifest import parse_repaired
from mcpg.errors import McpgError
from mcpg.gateway.calls import CallError, Fault, FaultCode, Limits, RefusedError
from mcpg.gateway.openapi_requests import HttpRequest, write_request
from mcpg.net.addresses import TCHAR
from mcpg.net.public import PrivateAddressError, public_only
from mcpg.sources.client_config import named_secrets
from mcpg.sources.live.requests import CallResponse, redact
from mcpg.sources.openapi import (
    ApiDocument,
    ApiOperation,
    StatedOperation,
    is_json,
    is_text,
    kind_of_media,
)
from mcpg.sources.registry import FileSource, openapi_text, secrets_of_source
from mcpg.text.json_values import JsonObject, JsonValue

_MAX_REDIRECTS = 5
_CLOSE_SECONDS = 3.0
_SAFE_METHODS = ("GET", "HEAD")
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.LocalProtocolError,
    UnicodeError,  # an invalid host name
)
_SET_ADDRESS = "set the address of the API as `base_url` of the source"
_TRUST = "set `base_url` or `allow_private = true` of the source, or pass --allow-private"
_MAX_BINARY = 1 << 18
_MAX_FAILURE = 1 << 16
_SUCCESS = range(200, 300)
_REDIRECTS = (301, 302, 303, 307, 308)
_PHRASES = {int(status): status.phrase for status in HTTPStatus}
_MEDIA = re.compile(f"{TCHAR}+/{TCHAR}+")
_MEDIA_BLOCKS = re.compile(
    r"(image)/(?:png|jpeg|gif|webp)|(audio)/(?:wav|x-wav|mpeg|mp3|ogg|flac|aac|webm)"
)
_CHARSET = re.compile(r"utf-(?:8|16)|ascii|iso8859|cp12|gb|big5|shift_jis|euc")
_UNKNOWN = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class _OpenFile:
    """A file as it was read, with its operations that were called before.

    Attributes:
        signature: Changes when the file does.
        document: The document, `None` if the file is not one.
        stated: Its operations by name.
    """

    signature: tuple[int, ...]
    document: ApiDocument | None = None
    stated: Mapping[str, Sequence[StatedOperation]] = field(default_factory=dict)
    operations: dict[str, ApiOperation] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class OperationCaller:
    """Calls the operations of documents; keeps documents and connections until it is closed."""

    limits: Limits
    _files: dict[str, _OpenFile] = field(default_factory=dict)
    _reading: anyio.Lock = field(default_factory=anyio.Lock)
    # Connections to a private address are never reused for a document that may not reach it.
    _clients: dict[bool, httpx2.AsyncClient] = field(default_factory=dict)

    async def find(self, owner: FileSource, name: str) -> ApiOperation | None:
        """Return the operation of the tool *name*, `None` if *owner* is not an OpenAPI document.

        Raises `RefusedError` if the document no longer has exactly one such operation, and
        `CallError` if it cannot be read any more.
        """
        async with self._reading:
            read = partial(self._read, owner.path)
            try:
                file = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
            except McpgError as fault:
                message = f"its document cannot be read: {fault.message}"
                raise CallError(FaultCode.SOURCE_UNAVAILABLE, message) from None
            self._files[owner.path] = file
        if file.document is None:
            return None
        found = file.stated.get(name, ())
        if len(found) > 1:
            message = f"{len(found)} operations of its document have the same operationId"
            raise _make_refusal(message, "give each its own")
        if not found:
            raise _make_refusal("its document no longer has this operation", "list the tools again")
        if name not in file.operations:
            file.operations[name] = file.document.operation(found[0])
        return file.operations[name]

    def _read(self, path: str) -> _OpenFile:
        """Read the document at *path*, unless it was read and has not changed."""
        signature: tuple[int, ...] = ()
        with suppress(OSError, ValueError):
            stat = Path(path).stat()
            signature = (stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_dev)
        known = self._files.get(path)
        if known is not None and known.signature == signature:
            return known
        text = openapi_text(path)
        if text is None:
            return _OpenFile(signature)
        document = ApiDocument(text, path)
        stated: dict[str, list[StatedOperation]] = {}
        for one in document.iterate_operations():
            if isinstance(one, StatedOperation):
                stated.setdefault(one.name, []).append(one)
        return _OpenFile(signature, document, stated)

    async def call(
        self, operation: ApiOperation, owner: FileSource, arguments: JsonObject
    ) -> CallResponse:
        """Call an operation of *owner*, which has the base address and headers.

        Only a request that reads follows redirects, on the same host, and is repeated once if the
        connection was lost before the response. Raises `RefusedError` if the arguments cannot be
        sent, and `CallError` without a result; a reported failure is a result.
        """
        base = owner.base_url or operation.address
        if base is None:
            raise _make_refusal("its document names no server with a host", _SET_ADDRESS)
        if owner.base_url is None and owner.headers_for not in (None, base):
            try:
                is_same = _origin(httpx2.URL(base)) == _origin(httpx2.URL(owner.headers_for or ""))
            except (httpx2.InvalidURL, ValueError):
                is_same = False
            if not is_same:
                message = "it is at another server than its document, to which the headers are sent"
                raise _make_refusal(message, _SET_ADDRESS)
        request = write_request(operation, arguments, base, owner.headers)
        is_trusted = owner.base_url is not None or owner.allow_private
        try:
            response = await self._send_request(request, is_trusted=is_trusted)
        except PrivateAddressError as fault:
            message = f"its document names a server with a private address: {fault.host!r}"
            raise _make_refusal(message, _TRUST) from None
        async with aclosing(response):
            return await _read_response(response, self.limits, owner)

    async def aclose(self) -> None:
        clients, self._clients = self._clients, {}
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            for client in clients.values():
                await client.aclose()

    async def _send_request(self, request: HttpRequest, *, is_trusted: bool) -> httpx2.Response:
        """Send a request, and return the response with its body still to be read.

        Its address may be private if it *is_trusted*, because the user chose it.
        """
        if is_trusted not in self._clients:
            # Cookies of one session are not sent in another.
            jar = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
            self._clients[is_trusted] = httpx2.AsyncClient(
                cookies=jar, timeout=None, trust_env=False
            )
        client = self._clients[is_trusted]
        try:
            sent = client.build_request(
                request.method,
                request.url,
                headers=[(name.encode(), text) for name, text in request.headers.items()],
                content=request.content,
                files=list(request.parts) or None,
                extensions={} if is_trusted else {"trace": public_only},
            )
        except (httpx2.InvalidURL, ValueError):
            raise CallError(FaultCode.NOT_INVOKABLE, "invalid request address") from None
        is_safe = request.method in _SAFE_METHODS
        for _ in range(_MAX_REDIRECTS):
            response = await _send(client, sent, attempts=2 if is_safe else 1)
            status = response.status_code
            if status not in _REDIRECTS or "location" not in response.headers:
                return response
            await response.aclose()
            further = response.next_request
            if not is_safe or further is None or _origin(further.url) != _origin(sent.url):
                message = (
                    f"redirected to another address (HTTP status {status}), which is not followed"
                )
                raise CallError(FaultCode.TOOL_FAILED, message)
            if "Cookie" in sent.headers:
                further.headers["Cookie"] = sent.headers["Cookie"]
            sent = further
        raise CallError(FaultCode.TOOL_FAILED, "too many redirects")


async def _send(
    client: httpx2.AsyncClient, request: httpx2.Request, attempts: int
) -> httpx2.Response:
    while True:
        attempts -= 1
        try:
            return await client.send(request, stream=True)
        except _UNSENT:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, "server cannot be reached") from None
        except httpx2.TransportError:
            if not attempts:
                message = "connection was lost before the response"
                raise CallError(FaultCode.SOURCE_UNAVAILABLE, message, has_died=True) from None


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _make_refusal(message: str, remedy: str) -> RefusedError:
    return RefusedError(Fault(FaultCode.NOT_INVOKABLE, message, remedy))


async def _read_response(
    response: httpx2.Response, limits: Limits, owner: FileSource
) -> CallResponse:
    if response.headers.get("content-encoding", "identity").casefold() not in ("", "identity"):
        message = "response is compressed, which was not requested"
        raise CallError(FaultCode.TOOL_FAILED, message)
    # The standard's phrase rather than the server's.
    code = response.status_code
    status = f"HTTP status {code} {_PHRASES.get(code, '')}".rstrip()
    if code not in _SUCCESS:
        return await _make_failed_result(response, status, limits, owner)
    kind = kind_of_media(response.headers.get("content-type", ""))
    is_binary = bool(kind) and not (is_json(kind) or is_text(kind))
    limit = min(_MAX_BINARY, limits.result_bytes) if is_binary else limits.result_bytes
    data, is_whole = await _read_bytes(response, limit)
    media = kind if _MEDIA.fullmatch(kind) else _UNKNOWN
    if not is_whole and is_binary:
        return _text_result(
            f"it answered with more than {limit} bytes of {media}, which stay there"
        )
    if not is_whole:
        message = f"response is larger than {limits.result_bytes} bytes"
        raise CallError(FaultCode.TOO_LARGE, message)
    if not data:
        return _text_result(status)
    text = None if is_binary else _decode_body(response, data, is_text=bool(kind))
    if text is not None:
        return _text_result(text, _parse_body(text, kind))
    blob = base64.b64encode(data).decode("ascii")
    if shown := _MEDIA_BLOCKS.fullmatch(media):
        block: JsonObject = {"type": shown[1] or shown[2], "data": blob, "mimeType": media}
        return CallResponse((block,))
    resource: JsonObject = {"uri": "answer:body", "mimeType": media, "blob": blob}
    return CallResponse(({"type": "resource", "resource": resource},))


async def _make_failed_result(
    response: httpx2.Response, status: str, limits: Limits, owner: FileSource
) -> CallResponse:
    secrets = secrets_of_source(owner)
    named = (*named_secrets(owner.headers, [owner.base_url or ""]), *owner.secrets)
    data, is_whole = await _read_bytes(response, min(_MAX_FAILURE, limits.result_bytes))
    kind = kind_of_media(response.headers.get("content-type", ""))
    text = _decode_body(response, data, is_text=is_text(kind) or is_json(kind)) or ""
    structured = _parse_body(text, kind) if is_whole else None
    if structured is not None:
        structured = redact(structured, secrets, named)[0]
        text = json.dumps(structured, ensure_ascii=False)
    text = redact(text, secrets, named)[0].strip()
    if len(text) > limits.message_chars:
        text = f"{text[: limits.message_chars]}..."
    return _text_result(f"{status}\n{text}" if text else status, structured, is_error=True)


async def _read_bytes(response: httpx2.Response, limit: int) -> tuple[bytes, bool]:
    """Read up to *limit* bytes; return them, and whether they are complete."""
    found = bytearray()
    try:
        async for piece in response.aiter_raw():
            found += piece
            if len(found) > limit:
                return bytes(found[:limit]), False
    except httpx2.TransportError:
        raise CallError(FaultCode.SOURCE_UNAVAILABLE, "response was cut off") from None
    return bytes(found), True


def _decode_body(response: httpx2.Response, data: bytes, *, is_text: bool) -> str | None:
    """Decode *data*; return `None` if it is not text and not declared as text."""
    try:
        known = codecs.lookup(response.charset_encoding or "utf-8").name
    except (LookupError, ValueError):
        known = ""
    # Some encodings of Python never end, or do not encode text.
    encoding = known if _CHARSET.match(known) else "utf-8"
    if is_text:
        return data.decode(encoding, "replace")
    try:
        return None if b"\0" in data else data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _parse_body(text: str, kind: str) -> JsonValue:
    """Parse data declared as JSON; return `None` if it is not declared so, or invalid."""
    if not is_json(kind):
        return None
    try:
        found = parse_repaired(text, "", [])
    except McpgError:
        return None
    return found[0] if len(found) == 1 else None


def _text_result(
    text: str, structured: JsonValue = None, *, is_error: bool = False
) -> CallResponse:
    return CallResponse(({"type": "text", "text": text},), structured, is_error)
