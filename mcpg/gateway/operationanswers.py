"""From the answer of an HTTP API to what a tool answers, within bounds whatever is answered."""

from __future__ import annotations

import base64
import codecs
import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx2

from mcpg.catalog.entries import parse_repaired
from mcpg.catalog.openapi.layout import is_json, kind_of_media
from mcpg.catalog.sources.live.veil import veiled
from mcpg.errors import McpgError
from mcpg.gateway.called import Called, CallError
from mcpg.gateway.results import FaultCode
from mcpg.net.headers import TCHAR

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcpg.gateway.limits import Limits
    from mcpg.jsontypes import JsonObject, JsonValue

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
) -> Called:
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


async def _failed(response: httpx2.Response, limits: Limits, secrets: Collection[str]) -> Called:
    data, is_whole = await _bytes(response, min(_MOST_OF_A_FAILURE, limits.result_bytes))
    kind = kind_of_media(response.headers.get("content-type", ""))
    text = _text(response, data, is_told=bool(_TEXT.fullmatch(kind) or is_json(kind))) or ""
    structured = _json(text, kind) if is_whole else None
    if structured is not None:
        structured = veiled(structured, secrets)[0]
        text = json.dumps(structured, ensure_ascii=False)
    said = veiled(text, secrets)[0].strip()
    if len(said) > limits.message_chars:
        said = f"{said[: limits.message_chars]}..."
    content = _block(f"{_status(response)}\n{said}" if said else _status(response))
    return Called((content,), structured, is_error=True)


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


def _texts(text: str, structured: JsonValue) -> Called:
    return Called((_block(text),), structured)


def _note(text: str) -> Called:
    return Called((_block(text),))


def _block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _shown(kind: str) -> str:
    return kind if _KIND.fullmatch(kind) else _UNKNOWN


def _binary(kind: str, data: bytes) -> Called:
    media, blob = _shown(kind), base64.b64encode(data).decode("ascii")
    if _IMAGE.fullmatch(media):
        return Called(({"type": "image", "data": blob, "mimeType": media},))
    resource: JsonObject = {"uri": "answer:body", "mimeType": media, "blob": blob}
    return Called(({"type": "resource", "resource": resource},))
