"""From the arguments of a tool to the HTTP request of the operation that it is.

Arguments come from models, and models read what strangers write: whatever an argument holds, the
request goes to the operation's own path, below its base address, with the headers that were set.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from mcpg.gateway.calls.model import CallError, Fault, FaultCode, RefusedError
from mcpg.net.addresses import TCHAR, has_control, is_header_name
from mcpg.sources.openapi.operations import FORM, JSON, MULTIPART, is_json, kind_of_media

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcpg.json_types import JsonObject, JsonValue
    from mcpg.sources.openapi import Call
    from mcpg.sources.openapi.operations import Body, Parameter

    Part = tuple[str, tuple[str | None, bytes, str | None]]

# SECTION operationstyles: The styles of OpenAPI in which values are written into a request.
#
# After the table "Style Examples" of the OpenAPI Specification 3.1.1, section 4.8.12.4. Whatever
# is said of a value is percent-encoded, so that it stays the value that it is.


_DEFAULTS = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
_COLLECTIONS = {"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}
_EXACT = 2**53


class StyleError(Exception):
    """A value cannot be written in its style."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a value is written.

    Attributes:
        name: As OpenAPI calls it.
        is_exploded: Whether each member of a list or an object is written for itself.
    """

    name: str = "form"
    is_exploded: bool = True


def style_of(parameter: Parameter, *, is_swagger: bool) -> Style:
    """Give how a parameter is written."""
    usual = _DEFAULTS.get(parameter.place, "form")
    if not is_swagger:
        return stated_style(parameter.value, usual)
    collection = parameter.value.get("collectionFormat")
    if collection == "multi":
        return Style()
    return Style(_COLLECTIONS.get(str(collection), usual), is_exploded=False)


def stated_style(value: JsonObject, usual: str = "form") -> Style:
    """Give the style that a parameter or the encoding of a field states, else the *usual* one."""
    stated, explode = value.get("style"), value.get("explode")
    name = stated if isinstance(stated, str) else usual
    return Style(name, explode if isinstance(explode, bool) else name == "form")


def scalar(value: JsonValue) -> str:
    """Write one plain value.

    Raises:
        StyleError: It is a list or an object.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise StyleError("holds a list or an object where only a plain value can be written")
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return "" if value is None else json.dumps(value)


def in_query(name: str, value: JsonValue, style: Style) -> list[str]:
    """Write a value as the parts of a query, of a form, or of cookies, each `name=value`.

    Raises:
        StyleError: It cannot be written in this style.
    """
    key = encoded(name)
    if style.name == "deepObject":
        return list(_deep(key, value))
    if style.name not in _SEPARATORS:
        raise StyleError(f"would be written in the style {style.name[:40]!r}, which is not known")
    if isinstance(value, dict):
        members = [(encoded(member), _encoded(one)) for member, one in value.items()]
        if style.is_exploded:
            return [f"{member}={one}" for member, one in members]
        return [f"{key}={_joined((part for pair in members for part in pair), style)}"]
    if not isinstance(value, list):
        return [f"{key}={_encoded(value)}"]
    if style.is_exploded:
        return [f"{key}={_encoded(one)}" for one in value]
    return [f"{key}={_joined(map(_encoded, value), style)}"] if value else []


def in_path(name: str, value: JsonValue, style: Style) -> str:
    """Write a value into a path, in the styles `simple`, `label` and `matrix`.

    Raises:
        StyleError: It cannot be written in this style.
    """
    key = encoded(name)
    starts = {"simple": ("", ","), "label": (".", "."), "matrix": (";", ";")}
    if style.name not in starts:
        raise StyleError(f"would be written in the style {style.name[:40]!r}, which is not known")
    start, between = starts[style.name]
    is_named = style.name == "matrix"
    if not isinstance(value, dict | list):
        parts = [_encoded(value)]
    elif style.is_exploded:
        parts = _members(value, key if is_named else "")
        return start + between.join(parts)
    else:
        parts = [",".join(_flat(value))]
    return start + (f"{key}={parts[0]}" if is_named else parts[0])


def in_header(value: JsonValue, style: Style) -> str:
    """Write a value as that of a header, in the style `simple`; nothing is encoded.

    Raises:
        StyleError: It cannot be written so.
    """
    if isinstance(value, dict):
        sign = "=" if style.is_exploded else ","
        return ",".join(f"{name}{sign}{scalar(one)}" for name, one in value.items())
    return ",".join(map(scalar, value)) if isinstance(value, list) else scalar(value)


def encoded(text: str) -> str:
    """Percent-encode all of *text* that is not letter, digit, `-`, `.`, `_` or `~`."""
    return quote(text, safe="")


def _encoded(value: JsonValue) -> str:
    return encoded(scalar(value))


def _joined(parts: Iterator[str] | map[str], style: Style) -> str:
    return _SEPARATORS[style.name].join(parts)


def _flat(value: JsonObject | list[JsonValue]) -> Iterator[str]:
    if isinstance(value, list):
        yield from map(_encoded, value)
        return
    for name, one in value.items():
        yield from (encoded(name), _encoded(one))


def _members(value: JsonObject | list[JsonValue], key: str) -> list[str]:
    if isinstance(value, dict):
        return [f"{encoded(name)}={_encoded(one)}" for name, one in value.items()]
    return [f"{key}={_encoded(one)}" if key else _encoded(one) for one in value]


def _deep(key: str, value: JsonValue) -> Iterator[str]:
    """Write an object as `key[member]=value`; a list in it repeats its member."""
    if isinstance(value, dict):
        for member, one in value.items():
            yield from _deep(f"{key}%5B{encoded(member)}%5D", one)
    elif isinstance(value, list):
        for one in value:
            yield f"{key}={_encoded(one)}"
    else:
        yield f"{key}={_encoded(value)}"


_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_MEDIA = re.compile(f"{TCHAR}+/[ !-~]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BETWEEN_STEPS = re.compile(r"[/\\;]")
_LITERAL = "/:@!$&'()*+,;=~%"
_STEPS = (".", "..")
_DECODINGS = 4
_ANY = ("", "*/*", "application/*")
_OF_THE_CONNECTION = frozenset(
    {
        "connection",
        "content-length",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_ALWAYS = {
    "Accept": "application/json, text/*;q=0.9, */*;q=0.5",
    "Accept-Encoding": "identity",  # a few bytes could be packed gigabytes
    "User-Agent": "mcpg",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is ready to be sent; what may hold a secret is kept out of its repr.

    Attributes:
        method: HTTP method in capitals.
        url: The whole address.
        headers: Its headers, each once.
        content: Its body, `None` for none or where it has parts.
        parts: The parts of a body in `multipart/form-data`.
    """

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, bytes] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)


def request_of(call: Call, arguments: JsonObject, base: str, headers: Mapping[str, str]) -> Request:
    """Write a request.

    Args:
        call: How the operation is called.
        arguments: The arguments of the tool, by name.
        base: What its path stands below; its query goes with every request.
        headers: Headers that were set for it; no argument gets round them.

    Raises:
        RefusedError: An argument cannot be written, or would change where the request goes.
        CallError: The operation is one that cannot be called in this way.
    """
    _check_names(call, arguments)
    writer = _Writer(call, arguments)
    content, parts, media = writer.body()
    given = dict(writer.headers())
    cookies = "; ".join(writer.parts("cookie"))
    said = {
        **_ALWAYS,
        **({"Content-Type": media} if media else {}),
        **({"Cookie": cookies} if cookies else {}),
    }
    merged = _merged(said, given, headers)
    return Request(call.method, writer.url(base), merged, content, parts)


def _check_names(call: Call, arguments: JsonObject) -> None:
    """Check that every argument has its place."""
    known = [*call.layout.parameters, *([call.layout.body_name] if call.layout.body else [])]
    for name in arguments:
        if name not in known:
            remedy = f"known are {', '.join(known)}" if known else "it has no arguments"
            raise _refused(name, "is none of this tool", remedy)


class _Writer:
    """Writes the arguments of one call to their places."""

    def __init__(self, call: Call, arguments: JsonObject) -> None:
        self._call = call
        self._arguments = arguments

    def url(self, base: str) -> str:
        """Give the whole address."""
        parts = urlsplit(base)
        query = "&".join(part for part in (parts.query, *self.parts("query")) if part)
        path = parts.path.rstrip("/") + self._path()
        return urlunsplit((parts.scheme, parts.netloc, path, query, ""))

    def parts(self, place: str) -> Iterator[str]:
        """Write what goes into the query or into cookies."""
        for name, parameter, value in self._given(place):
            if value is None:
                continue
            try:
                yield from self._query(parameter, value)
            except StyleError as fault:
                raise _refused(name, str(fault)) from None

    def headers(self) -> Iterator[tuple[str, str]]:
        """Write what goes into headers."""
        for name, parameter, value in self._given("header"):
            key = parameter.name
            if not is_header_name(key) or key.casefold() in _OF_THE_CONNECTION:
                raise _refused(name, "is a header that no argument can say")
            try:
                text = _content(parameter, value)
                if text is None:
                    text = in_header(value, self._style(parameter))
            except StyleError as fault:
                raise _refused(name, str(fault)) from None
            if has_control(text):
                raise _refused(name, "holds a control character")
            yield key, text

    def body(self) -> tuple[bytes | None, tuple[Part, ...], str]:
        """Give the body, or its parts, and the kind of content that has to be said."""
        name, body = self._call.layout.body_name, self._call.layout.body
        if body is None or name not in self._arguments:
            return None, (), ""
        value = self._arguments[name]
        try:
            if kind_of_media(body.media) == MULTIPART:
                return None, tuple(_multipart(body, _fields(value))), ""
            return (*_written(body, value, is_swagger=self._call.is_swagger),)
        except StyleError as fault:
            raise _refused(name, str(fault)) from None

    def _given(self, place: str) -> Iterator[tuple[str, Parameter, JsonValue]]:
        for name, parameter in self._call.layout.parameters.items():
            if parameter.place == place and name in self._arguments:
                yield name, parameter, self._arguments[name]

    def _style(self, parameter: Parameter) -> Style:
        return style_of(parameter, is_swagger=self._call.is_swagger)

    def _query(self, parameter: Parameter, value: JsonValue) -> list[str]:
        text = _content(parameter, value)
        if text is not None:
            return in_query(parameter.name, text, Style())
        return in_query(parameter.name, value, self._style(parameter))

    def _path(self) -> str:
        given = {parameter.name: (name, value) for name, parameter, value in self._given("path")}
        parameters = {
            one.name: one for one in self._call.layout.parameters.values() if one.place == "path"
        }
        pieces: list[str] = []
        for number, piece in enumerate(_TEMPLATE.split(self._call.path)):
            if number % 2 == 0:
                pieces.append(quote(piece, safe=_LITERAL))
            elif piece not in parameters:
                message = f"its path has a part {piece[:60]!r} that no argument says"
                raise CallError(FaultCode.NOT_INVOKABLE, message)
            elif piece not in given:
                raise _refused(piece, "is missing")
            else:
                pieces.append(self._step(parameters[piece], *given[piece]))
        path = "".join(pieces)
        # A part may be harmless by itself, and lead out together with what stands beside it.
        if any(_leads_out(text) for text in _decodings(path)):
            raise CallError(FaultCode.ARGUMENTS_INVALID, "the arguments lead out of its path")
        return path

    def _step(self, parameter: Parameter, name: str, value: JsonValue) -> str:
        try:
            content = _content(parameter, value)
            text = in_path(
                parameter.name, value if content is None else content, self._style(parameter)
            )
        except StyleError as fault:
            raise _refused(name, str(fault)) from None
        if not text:
            raise _refused(name, "is empty, where it is a part of the path")
        _check_step(name, text)
        return text


def _check_step(name: str, text: str) -> None:
    """Check that a part of a path stays one, however often somebody behind decodes it.

    Raises:
        RefusedError: It does not.
    """
    for decoded in _decodings(text):
        if _CONTROL.search(decoded):
            raise _refused(name, "holds a control character")
        if _leads_out(decoded):
            raise _refused(name, "leads out of the path that it is a part of")


def _decodings(text: str) -> Iterator[str]:
    for _ in range(_DECODINGS):
        text = unquote(text)
        yield text


def _leads_out(path: str) -> bool:
    return any(step in _STEPS for step in _BETWEEN_STEPS.split(path))


def _content(parameter: Parameter, value: JsonValue) -> str | None:
    """Write a parameter that says its kind of content; `None` for one that says a style."""
    content = parameter.value.get("content")
    if not isinstance(content, dict) or not content:
        return None
    if any(is_json(kind_of_media(name)) for name in content):
        return json.dumps(value, ensure_ascii=False)
    return scalar(value)


def _written(body: Body, value: JsonValue, *, is_swagger: bool) -> tuple[bytes, tuple[()], str]:
    kind = kind_of_media(body.media)
    if is_json(kind) or kind in _ANY:
        media = body.media if is_json(kind) else JSON
        return json.dumps(value, ensure_ascii=False).encode(), (), _safe(media)
    if kind == FORM:
        parts = [
            part
            for name, one in _fields(value).items()
            if one is not None
            for part in _form_field(body, name, one, is_swagger=is_swagger)
        ]
        return "&".join(parts).encode(), (), FORM
    if kind.startswith("text/"):
        media = "text/plain" if kind == "text/*" else kind
        return scalar(value).encode(), (), f"{_safe(media)}; charset=utf-8"
    message = f"its body is {kind[:60]!r}; JSON, forms and text are what can be written"
    raise CallError(FaultCode.NOT_INVOKABLE, message)


def _safe(media: str) -> str:
    if not _MEDIA.fullmatch(media.strip()):
        raise CallError(FaultCode.NOT_INVOKABLE, "its document names no kind of content")
    return media.strip()


def _fields(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise StyleError("is no object, which a form is")
    return value


def _form_field(body: Body, name: str, value: JsonValue, *, is_swagger: bool) -> list[str]:
    for one in body.fields:
        if one.name == name:
            return in_query(name, value, style_of(one, is_swagger=is_swagger))
    encoding = body.encoding.get(name)
    said = encoding if isinstance(encoding, dict) else {}
    if isinstance(value, dict) and not {"style", "explode"} & said.keys():
        return in_query(name, json.dumps(value, ensure_ascii=False), Style())
    return in_query(name, value, stated_style(said))


def _multipart(body: Body, fields: JsonObject) -> Iterator[Part]:
    for name, value in fields.items():
        encoding = body.encoding.get(name)
        stated = encoding.get("contentType") if isinstance(encoding, dict) else None
        media = stated.partition(",")[0].strip() if isinstance(stated, str) else ""
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                yield name, _part(name, one, media, is_file=name in body.files)


def _part(
    name: str, value: JsonValue, media: str, *, is_file: bool
) -> tuple[str | None, bytes, str | None]:
    is_object = isinstance(value, dict | list)
    text = json.dumps(value, ensure_ascii=False) if is_object else scalar(value)
    usual = JSON if is_object else "application/octet-stream" if is_file else None
    said = media if _MEDIA.fullmatch(media) and "*" not in media else usual
    return (name if is_file else None), text.encode(), said


def _merged(*given: Mapping[str, str]) -> dict[str, bytes]:
    """Join headers; of those of one name, in any case, the last one counts."""
    found: dict[str, tuple[str, str]] = {}
    for headers in given:
        for name, text in headers.items():
            found[name.casefold()] = (name, text)
    return {name: text.strip().encode() for name, text in found.values()}


def _refused(name: str, message: str, remedy: str = "") -> RefusedError:
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    told = f"the argument {json.dumps(name[:120])} {message}"
    return RefusedError(Fault(FaultCode.ARGUMENTS_INVALID, told, remedy, pointer))
