"""Serialization of a tool's arguments into the HTTP request of an OpenAPI operation.

Arguments come from models, which read untrusted text: whatever an argument contains, the request
goes to the operation's own path, below its base address, with the configured headers.

Styles follow the OpenAPI Specification 3.1.1, section 4.8.12.4, table "Style Examples".
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from mcpg.gateway.calls import CallError, Fault, FaultCode, RefusedError
from mcpg.net.addresses import TCHAR, has_control, is_header_name
from mcpg.sources.openapi import (
    ANY,
    FORM,
    JSON,
    MULTIPART,
    ApiOperation,
    ApiParameter,
    Body,
    FormEncoding,
    Style,
    is_binary,
    is_json,
    kind_of_media,
)
from mcpg.text.json_values import JsonObject, JsonValue

Part = tuple[str, tuple[str | None, bytes, str | None]]

_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
_PATH_STYLES = {"simple": ("", ","), "label": (".", "."), "matrix": (";", ";")}
# A value stays unchanged: all but letters, digits, `-`, `.`, `_` and `~` is encoded.
_percent_encode = partial(quote, safe="")
_UNKNOWN_STYLE = "would be written in the style {!r}, which is not known"
_NO_FORM = "must be an object, because the body is a form"
_EXACT = 2**53
_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_MEDIA = re.compile(f"{TCHAR}+/[ !-~]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BETWEEN_STEPS = re.compile(r"[/\\;]")
_LITERAL = "/:@!$&'()*+,;=~%"
_STEPS = (".", "..")
_DECODINGS = 4
_DATA = re.compile(r"data:([^;,]*)((?:;[^;,]*)*);base64,(.*)", re.DOTALL | re.IGNORECASE)
_BLANK = re.compile(r"\s+")
_UNKNOWN = "application/octet-stream"
_MAX_BODY = 16 << 20
_OF_THE_CONNECTION = frozenset(
    (
        *("connection", "content-length", "cookie", "expect", "host", "keep-alive", "te"),
        *("proxy-authorization", "proxy-connection", "trailer", "transfer-encoding", "upgrade"),
    )
)
_ALWAYS = {
    "Accept": "application/json, text/*;q=0.9, */*;q=0.5",
    "Accept-Encoding": "identity",  # a few compressed bytes could expand to gigabytes
    "User-Agent": "mcpg",
}


class _StyleError(Exception):
    """A value cannot be written in its style."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that is ready to be sent; its repr shows nothing that may be secret.

    Attributes:
        method: HTTP method in capitals.
        url: The whole address.
        content: Its body, `None` if it has none or has parts.
        parts: The parts of a body in `multipart/form-data`.
    """

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, bytes] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)


def write_request(
    operation: ApiOperation, arguments: JsonObject, base: str, headers: Mapping[str, str]
) -> HttpRequest:
    """Write the request of *operation* with the *arguments* of its tool, by name.

    Its path is appended to *base*; the query of *base* is part of each request. No argument
    overrides the configured *headers*.

    Raises:
        RefusedError: An argument cannot be written, or would change the request's destination.
        CallError: The operation cannot be called in this way.
    """
    known = [*operation.parameters, *([operation.body_name] if operation.body else [])]
    for name in arguments:
        if name not in known:
            remedy = f"known are {', '.join(known)}" if known else "it has no arguments"
            raise _make_argument_refusal(name, "is unknown", remedy)
    writer = _RequestWriter(operation, arguments)
    content, parts, media = writer.body()
    given = dict(writer.headers())
    cookies = "; ".join(writer.query("cookie"))
    own = {
        **_ALWAYS,
        **({"Content-Type": media} if media else {}),
        **({"Cookie": cookies} if cookies else {}),
    }
    # The last header of a name, in any case, counts.
    merged = {
        name.casefold(): (name, text.strip().encode())
        for group in (own, given, headers)
        for name, text in group.items()
    }
    place = urlsplit(base)
    own_query = (*writer.query("query"), *writer.query("querystring"))
    query = "&".join(part for part in (place.query, *own_query) if part)
    path = place.path.rstrip("/") + writer.write_path()
    url = urlunsplit((place.scheme, place.netloc, path, query, ""))
    return HttpRequest(operation.method, url, dict(merged.values()), content, parts)


@dataclass(frozen=True, slots=True)
class _RequestWriter:
    operation: ApiOperation
    arguments: JsonObject

    def query(self, place: str) -> Iterator[str]:
        for name, parameter, value in self._find_arguments(place):
            if value is None:
                continue
            try:
                if place == "querystring":
                    if parameter.media == JSON or not isinstance(value, dict):
                        yield _encode_scalar(_render_content(parameter, value))
                        continue
                    for member, one in value.items():  # the fields of a form
                        if one is not None:
                            yield from _write_form_field(member, one, None)
                    continue
                style = Style() if parameter.media else parameter.style
                yield from _write_query_parts(
                    parameter.name, _render_content(parameter, value), style
                )
            except _StyleError as fault:
                raise _make_argument_refusal(name, str(fault)) from None

    def headers(self) -> Iterator[tuple[str, str]]:
        for name, parameter, value in self._find_arguments("header"):
            key = parameter.name
            if not is_header_name(key) or key.casefold() in _OF_THE_CONNECTION:
                raise _make_argument_refusal(name, "is a header that arguments cannot set")
            try:
                given = _render_content(parameter, value)
                if isinstance(given, dict):
                    sign = "=" if parameter.style.is_exploded else ","
                    text = ",".join(
                        f"{member}{sign}{_render_scalar(one)}" for member, one in given.items()
                    )
                else:
                    text = ",".join(
                        map(_render_scalar, given if isinstance(given, list) else [given])
                    )
            except _StyleError as fault:
                raise _make_argument_refusal(name, str(fault)) from None
            if has_control(text):
                raise _make_argument_refusal(name, "contains a control character")
            yield key, text

    def body(self) -> tuple[bytes | None, tuple[Part, ...], str]:
        """Return the body, or its parts, and the `Content-Type` to be set."""
        name, body = self.operation.body_name, self.operation.body
        if body is None or name not in self.arguments:
            return None, (), ""
        value = self.arguments[name]
        try:
            if kind_of_media(body.media) == MULTIPART:
                parts, media = tuple(_write_parts(body, value)), ""
                sizes = [len(content) for _, (_, content, _) in parts]
                content = None
            else:
                parts = ()
                content, media = _write_body(body, value)
                sizes = [len(content)]
        except _StyleError as fault:
            raise _make_argument_refusal(name, str(fault)) from None
        if sum(sizes) > _MAX_BODY:
            raise _make_argument_refusal(name, f"is larger than {_MAX_BODY >> 20} MB")
        return content, parts, media

    def _find_arguments(self, place: str) -> Iterator[tuple[str, ApiParameter, JsonValue]]:
        for name, parameter in self.operation.parameters.items():
            if parameter.place == place and name in self.arguments:
                yield name, parameter, self.arguments[name]

    def write_path(self) -> str:
        """Write the path; a part of it stays one part however often it is decoded later."""
        names = {
            one.name: name for name, one in self.operation.parameters.items() if one.place == "path"
        }
        pieces: list[str] = []
        for number, piece in enumerate(_TEMPLATE.split(self.operation.path)):
            if number % 2 == 0:
                pieces.append(quote(piece, safe=_LITERAL))
            elif piece not in names:
                message = f"its path has a part {piece[:60]!r} without an argument"
                raise CallError(FaultCode.NOT_INVOKABLE, message)
            elif names[piece] not in self.arguments:
                raise _make_argument_refusal(piece, "is missing")
            else:
                pieces.append(self._write_step(names[piece]))
        path = "".join(pieces)
        # A part may be harmless by itself, and lead out together with its neighbors.
        if any(_leads_out(text) for text in _decode_repeatedly(path)):
            raise CallError(FaultCode.ARGUMENTS_INVALID, "the arguments lead out of its path")
        return path

    def _write_step(self, name: str) -> str:
        parameter, value = self.operation.parameters[name], self.arguments[name]
        try:
            value = _render_content(parameter, value)
            text = _write_path_part(parameter.name, value, parameter.style)
        except _StyleError as fault:
            raise _make_argument_refusal(name, str(fault)) from None
        if not text:
            raise _make_argument_refusal(name, "is empty, but a part of the path")
        for decoded in _decode_repeatedly(text):
            if _CONTROL.search(decoded):
                raise _make_argument_refusal(name, "contains a control character")
            if _leads_out(decoded):
                raise _make_argument_refusal(name, "leads out of the path that it is a part of")
        return text


def _decode_repeatedly(text: str) -> Iterator[str]:
    for _ in range(_DECODINGS):
        text = unquote(text)
        yield text


def _leads_out(path: str) -> bool:
    return any(step in _STEPS for step in _BETWEEN_STEPS.split(path))


def _make_argument_refusal(name: str, message: str, remedy: str = "") -> RefusedError:
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    message = f"the argument {json.dumps(name[:120])} {message}"
    return RefusedError(Fault(FaultCode.ARGUMENTS_INVALID, message, remedy, pointer))


def _write_body(body: Body, value: JsonValue) -> tuple[bytes, str]:
    """Write a body of one part; return it with its kind of content."""
    kind = kind_of_media(body.media)
    if is_json(kind) or kind in ANY:
        media = body.media if is_json(kind) else JSON
        return json.dumps(value, ensure_ascii=False).encode(), _check_media(media)
    if kind == FORM:
        if not isinstance(value, dict):
            raise _StyleError(_NO_FORM)
        parts = (
            part
            for name, one in value.items()
            if one is not None
            for part in _write_form_field(name, one, body.encoding.get(name, FormEncoding()).style)
        )
        return "&".join(parts).encode(), FORM
    if is_binary(kind):
        data, stated = _decode_base64(value)
        return data, _check_media(stated or _UNKNOWN if "*" in kind else kind)
    media = "text/plain" if kind == "text/*" else kind
    if not kind.startswith("text/") and not isinstance(value, str):
        raise _StyleError(f"must be a text, the whole {kind[:60]!r}")
    return _render_scalar(value).encode(), f"{_check_media(media)}; charset=utf-8"


def _decode_base64(value: JsonValue) -> tuple[bytes, str]:
    """Decode base64, or a `data:` URL (RFC 2397); return it with its media type, "" for none."""
    found = _DATA.fullmatch(value) if isinstance(value, str) else None
    text = found[3] if found else value
    try:
        if isinstance(text, str):
            data = base64.b64decode(_BLANK.sub("", text), validate=True)
            return data, found[1].strip() if found else ""
    except (binascii.Error, ValueError):
        pass
    raise _StyleError("must be binary content as base64, or as a data: URL in base64")


def _check_media(media: str) -> str:
    if not _MEDIA.fullmatch(media.strip()):
        raise CallError(FaultCode.NOT_INVOKABLE, "its document names no valid media type")
    return media.strip()


def _write_form_field(name: str, value: JsonValue, style: Style | None) -> list[str]:
    if isinstance(value, dict) and style is None:
        value = json.dumps(value, ensure_ascii=False)
    return _write_query_parts(name, value, style or Style())


def _write_parts(body: Body, fields: JsonValue) -> Iterator[Part]:
    """Write the parts of a form, each with its media type; a file may be a `data:` URL."""
    if not isinstance(fields, dict):
        raise _StyleError(_NO_FORM)
    for name, value in fields.items():
        stated = body.encoding.get(name, FormEncoding()).media
        is_file = name in body.files
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            media: str | None = _UNKNOWN if is_file else None
            if isinstance(one, dict | list):
                content, media = json.dumps(one, ensure_ascii=False).encode(), JSON
            elif is_file and isinstance(one, str) and _DATA.fullmatch(one):
                content, own = _decode_base64(one)
                media = own if _MEDIA.fullmatch(own) else _UNKNOWN
            else:
                content = _render_scalar(one).encode()
            if _MEDIA.fullmatch(stated) and "*" not in stated:
                media = stated
            yield name, (name if is_file else None, content, media)


def _render_content(parameter: ApiParameter, value: JsonValue) -> JsonValue:
    """Write the value of a parameter by its media type, if it has one."""
    if parameter.media == JSON:
        return json.dumps(value, ensure_ascii=False)
    return _render_scalar(value) if parameter.media else value


def _write_query_parts(name: str, value: JsonValue, style: Style) -> list[str]:
    """Write a value as the parts of a query, of a form, or of cookies, each `name=value`."""
    key = _percent_encode(name)
    if style.name == "deepObject":
        return list(_write_deep(key, value))
    if style.name not in _SEPARATORS:
        raise _StyleError(_UNKNOWN_STYLE.format(style.name[:40]))
    between = _SEPARATORS[style.name]
    if isinstance(value, dict):
        if style.is_exploded:
            return [
                f"{_percent_encode(member)}={_encode_scalar(one)}" for member, one in value.items()
            ]
        return [f"{key}={_join_members(between, value)}"]
    if not isinstance(value, list):
        return [f"{key}={_encode_scalar(value)}"]
    if style.is_exploded:
        return [f"{key}={_encode_scalar(one)}" for one in value]
    return [f"{key}={_join_members(between, value)}"] if value else []


def _write_path_part(name: str, value: JsonValue, style: Style) -> str:
    """Write a value into a path, in the styles `simple`, `label` and `matrix`."""
    if style.name not in _PATH_STYLES:
        raise _StyleError(_UNKNOWN_STYLE.format(style.name[:40]))
    start, between = _PATH_STYLES[style.name]
    key = f"{_percent_encode(name)}=" if style.name == "matrix" else ""
    if not isinstance(value, dict | list):
        return f"{start}{key}{_encode_scalar(value)}"
    if not style.is_exploded:
        return f"{start}{key}{_join_members(',', value)}"
    if isinstance(value, dict):
        members = (
            f"{_percent_encode(member)}={_encode_scalar(one)}" for member, one in value.items()
        )
    else:
        members = (f"{key}{_encode_scalar(one)}" for one in value)
    return start + between.join(members)


def _write_deep(key: str, value: JsonValue) -> Iterator[str]:
    """Write an object as `key[member]=value`; a list in it repeats its member."""
    if isinstance(value, dict):
        for member, one in value.items():
            yield from _write_deep(f"{key}%5B{_percent_encode(member)}%5D", one)
    elif isinstance(value, list):
        for one in value:
            yield f"{key}={_encode_scalar(one)}"
    else:
        yield f"{key}={_encode_scalar(value)}"


def _join_members(between: str, value: JsonObject | list[JsonValue]) -> str:
    """Join the items of a list, or the names and values of an object."""
    items = value if isinstance(value, list) else [part for pair in value.items() for part in pair]
    return between.join(map(_encode_scalar, items))


def _render_scalar(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise _StyleError("is a list or an object, but only plain values are possible")
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return "" if value is None else json.dumps(value)


def _encode_scalar(value: JsonValue) -> str:
    return _percent_encode(_render_scalar(value))
