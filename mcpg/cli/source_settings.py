"""The `[[sources]]` of a configuration file, and options that concern servers.

The sources: their models, their names, and how they are opened.

The models check what can be checked before variables are expanded. Their docstrings and fields are
the tables of the reference page (`tests/reference.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import models_json_schema
from pydantic_core import ErrorDetails, PydanticCustomError

from mcpg.cli.environment import SOURCES, VIEWS, cache_folder, login_folder, relative_path
from mcpg.cli.prompts import find_asker
from mcpg.cli.setting_models import (
    UNSET,
    Configuration,
    Seconds,
    SettingsTable,
    ViewTable,
    remedy_for,
    shown_path,
    suggest_known,
    type_name,
    unset,
)
from mcpg.errors import Code, Diagnostic, McpgError, UsageError, error, info
from mcpg.net.addresses import TCHAR, is_header_name
from mcpg.sources.client_config import (
    DEFAULT_TIMEOUT,
    MAX_TIMEOUT,
    Server,
    ServerAccess,
    StdioServer,
    bare_address,
    check_variables,
    expand,
    parse_server,
    without_variables,
)
from mcpg.sources.model import CODE, PYTHON, SKILLS
from mcpg.sources.registry import Addressing, Source, SourceCollector, free_name
from mcpg.sources.server_entries import OAuth, find_problem
from mcpg.text.json_values import JsonObject

_LONGEST_ID = 200
_OAUTH_FILES = ("private_key_file", "assertion_file")
_VARIABLE = "write ${NAME} in its place, and set that variable"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@|password\s*=\s*[^\s&;]", re.IGNORECASE)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::[^\W\d]\w*(?:\.[^\W\d]\w*)*)?")


def _invalid(problem: str, remedy: str, *at: str) -> PydanticCustomError:
    """Return the error of a value, or of the part *at* a key in it."""
    context = {"problem": problem, "remedy": remedy, "at": at}
    return PydanticCustomError("mcpg", "{problem}", context)


def _unless(holds: Callable[[Any], object], problem: str, remedy: str) -> AfterValidator:
    """Return a validator that reports a *problem* unless something *holds* for a value."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise _invalid(problem, remedy)
        return value

    return AfterValidator(check)


def _check_characters(value: str | float) -> str | float:
    text = str(value)
    if "\0" in text:
        raise _invalid("contains a null character", "remove it")
    try:
        check_variables(text, "")
    except McpgError as fault:
        raise _invalid(f"is invalid: {fault.message}", str(fault.remedy)) from None
    if _PASSWORD.search(without_variables(text)):
        raise _invalid("contains a password", _VARIABLE)
    return value


def _check_secrets(headers: dict[str, Any]) -> dict[str, Any]:
    for name, value in headers.items():
        if name.casefold() in _SECRET_HEADERS and without_variables(str(value)) == str(value):
            raise _invalid("contains a secret", _VARIABLE, name)
    return headers


def _is_url(text: str) -> bool:
    if text.startswith("${"):
        return True  # checked once it is expanded
    try:
        bare_address(without_variables(text, "1"))
    except McpgError:
        return False
    return text.casefold().startswith(("http://", "https://"))


_ADDRESS = _unless(_is_url, "is not the address of a server", "write https://HOST/PATH")
_ID = _unless(
    lambda text: text == text.strip() and text.isprintable() and len(text) <= _LONGEST_ID,
    "is not the name of a source",
    f"use up to {_LONGEST_ID} visible characters, without blanks around them",
)
_MODULE_NAME = _unless(
    _MODULE.fullmatch,
    "is not the name of a module",
    "write package.module, or package.module:attribute",
)
_PATH = _unless(
    lambda text: "${" not in text,
    "contains `${`, and variables are not expanded in paths",
    "write the path relative to the file, or begin it with ~/",
)
_USERLESS = _unless(
    lambda url: "@" not in urlsplit(without_variables(url, "1")).netloc,
    "contains a user",
    "put user and password into the header Authorization",
)
_VARIABLE_NAME = _unless(
    lambda name: name and not {"=", "\0"} & {*name}, "is not the name of a variable", "correct it"
)
_SCALAR = _unless(
    lambda value: isinstance(value, str | int | float),
    "has the wrong type",
    "use a string, a number or a boolean",
)
_ONE_LINE = _unless(
    lambda value: not {"\r", "\n"} & {*str(value)}, "contains a line break", "remove it"
)
Text = Annotated[str, AfterValidator(_check_characters)]
Filled = Annotated[Text, _unless(str.strip, "is empty", "use a string with visible characters")]
Secret = Annotated[
    Text, _unless(lambda text: without_variables(text) != text, "contains a secret", _VARIABLE)
]
Scalar = Annotated[Any, _SCALAR, AfterValidator(_check_characters)]
Header = Annotated[str, _unless(is_header_name, "is not the name of a header", "correct it")]
Headers = Annotated[dict[Header, Annotated[Scalar, _ONE_LINE]], AfterValidator(_check_secrets)]


class OAuthTable(SettingsTable):
    """The key `oauth` of a server."""

    client_id: Text = ""
    client_secret: Secret = ""
    grant: Annotated[
        Literal["authorization_code", "client_credentials", "jwt_bearer"],
        BeforeValidator(lambda text: text.replace("-", "_") if isinstance(text, str) else text),
    ] = "authorization_code"
    scope: Annotated[
        Text,
        BeforeValidator(
            lambda scope: (
                " ".join(scope)
                if isinstance(scope, list) and all(isinstance(word, str) for word in scope)
                else scope
            )
        ),
        WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}}),
    ] = ""
    issuer: Text = ""
    auth_method: Literal["client_secret_basic", "client_secret_post", "private_key_jwt"] = (
        "client_secret_basic"
    )
    private_key: Secret = ""
    private_key_file: Text = ""
    algorithm: Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"] = "RS256"
    assertion: Secret = ""
    assertion_file: Text = ""
    redirect_uri: Text = ""
    callback_port: Annotated[int, Field(ge=1, le=65_535)] = unset("any")

    @model_validator(mode="after")
    def _check_fields(self) -> OAuthTable:
        given = self.model_dump(exclude={"auth_method", "redirect_uri", "callback_port"})
        problem = find_problem(OAuth(method=self.auth_method, **given), "'{}'".format)
        if problem is not None:
            raise _invalid(*problem)
        return self


class SourceTable(SettingsTable):
    """An entry of `[[sources]]`; `kind` is the key that decides its kind."""

    kind: ClassVar[str]

    id: Annotated[Filled, _ID] = unset(
        "for servers, their own name; for files, see [Source ids](sources.md#source-ids)"
    )
    """name of the source and source id of its tools; unique, ignoring case"""
    timeout: Annotated[Seconds, Field(le=MAX_TIMEOUT)] = unset(f"{DEFAULT_TIMEOUT:g}")
    """timeout of a server in seconds, from its start to its last tool; also of a call without
    progress (default `limits.invoke_timeout`)"""
    enabled: bool = True
    """`false` skips the source"""
    trust_hints: bool = False
    """`true` trusts the [hints of a server](sources.md#hints-of-servers)"""
    sessions: Literal["client", "shared"] = unset(
        "by [kind of server](../how-to/serve-sessions.md)"
    )
    """`client` for a connection per client session, `shared` for one of all clients"""

    @classmethod
    def related_keys(cls) -> tuple[str, ...]:
        others = {*SourceTable.model_fields, cls.kind}
        return tuple(key for key in cls.model_fields if key not in others)


class PathSource(SourceTable):
    """A file or folder: manifests, a bundle, an OpenAPI document, a client configuration ..."""

    kind: ClassVar = "path"

    path: Annotated[Filled, _PATH]
    base_url: Annotated[Filled, _ADDRESS, _USERLESS] = unset("the servers that the document names")
    """address below which OpenAPI operations are [called](sources.md#calling-operations); its query
    is sent with every request"""
    headers: Headers = unset("none")
    """table of headers; for an OpenAPI document only with `base_url`"""
    allow_private: bool = False
    """`true` permits loopback, private and link-local servers in an OpenAPI document"""

    @model_validator(mode="after")
    def _check_pair(self) -> PathSource:
        if "headers" in self.model_fields_set and "base_url" not in self.model_fields_set:
            raise _invalid("has no 'base_url' to go to", "add 'base_url'", "headers")
        return self


class CommandSource(SourceTable):
    """A program that is an MCP server."""

    kind: ClassVar = "command"

    command: Filled
    args: list[Scalar] = unset("none")
    """list of strings, numbers and booleans"""
    env: dict[Annotated[str, _VARIABLE_NAME], Scalar] = unset("none")
    """table of additional variables"""
    cwd: Filled = unset("the folder of the file")
    """working folder of the program"""


class UrlSource(SourceTable):
    """The address of an MCP server."""

    kind: ClassVar = "url"

    url: Annotated[Filled, _ADDRESS]
    headers: Headers = unset("none")
    """table of headers; for an OpenAPI document only with `base_url`"""
    transport: Literal["http", "sse"] = "http"
    """`http` for streamable HTTP, or `sse` for the older transport"""
    oauth: Annotated[
        OAuthTable | None, BeforeValidator(lambda value: None if value is False else value)
    ] = unset("a login by `mcpg login`, if there is one")
    """table with `client_id`, `client_secret`, `grant`, `scope`, `issuer`, `auth_method`,
    `private_key`, `private_key_file`, `algorithm`, `assertion`, `assertion_file`, `redirect_uri`
    and `callback_port`, see [OAuth](sources.md#oauth); `false` for no OAuth"""


class PythonSource(SourceTable):
    """A module, as in `python = "package.module"`."""

    kind: ClassVar = "python"

    python: Annotated[Filled, _MODULE_NAME]


class CodeSource(SourceTable):
    """A file or folder of [source code](../how-to/code-graph.md), as in `code = "src"`."""

    kind: ClassVar = "code"

    code: Annotated[Filled, _PATH]


class SkillsSource(SourceTable):
    """A folder of [skills](../how-to/skills.md), as in `skills = "~/.claude/skills"`."""

    kind: ClassVar = "skills"

    skills: Annotated[Filled, _PATH]


KINDS: dict[str, type[SourceTable]] = {
    model.kind: model
    for model in (PathSource, CommandSource, UrlSource, PythonSource, CodeSource, SkillsSource)
}
_SOURCE_KEYS = dict.fromkeys((*KINDS, *(key for one in KINDS.values() for key in one.model_fields)))
_HEADING = f"write [[{SOURCES}]] before each source, and its keys below"


def check_sources(values: Any, fail: Callable[..., McpgError]) -> tuple[SourceTable, ...]:
    """Return the entries of `[[sources]]`."""
    if not isinstance(values, list):
        raise fail(f"{SOURCES!r} is {type_name(values)}", _HEADING)
    entries: list[SourceTable] = []
    for number, value in enumerate(values):
        entry = _check_entry(value, number, fail)
        if entry.id and entry.id.casefold() in {(one.id or "").casefold() for one in entries}:
            message = f"another source has the id {entry.id!r}"
            raise fail(message, "give each its own, ignoring case", number, "id")
        entries.append(entry)
    return tuple(entries)


def _check_entry(value: Any, number: int, fail: Callable[..., McpgError]) -> SourceTable:
    if not isinstance(value, dict):
        raise fail(f"a source is {type_name(value)}", _HEADING, number)
    for key in value:
        if key not in _SOURCE_KEYS:
            raise fail(f"unknown key {key!r}", suggest_known(key, _SOURCE_KEYS), number, key)
    kinds = [key for key in value if key in KINDS]
    if len(kinds) > 1:
        message = f"this source has both {kinds[0]!r} and {kinds[1]!r}"
        raise fail(message, f"write a [[{SOURCES}]] for each", number, kinds[1])
    if not kinds:
        meant = [kind for kind in reversed(KINDS) if {*KINDS[kind].related_keys()} & {*value}]
        message = f"this source has no {meant[0]!r}" if meant else "this source names nothing"
        remedy = f"add {meant[0]!r}" if meant else f"add one of {', '.join(KINDS)}"
        raise fail(message, remedy, number)
    try:
        return KINDS[kinds[0]].model_validate(value)
    except ValidationError as faults:
        fault = faults.errors(include_url=False)[0]
    path = (*fault["loc"], *fault.get("ctx", {}).get("at", ()))
    path = path[:-1] if path[-1] == "[key]" else path
    problem, remedy = _source_error(fault, kinds[0])
    raise fail(f"{shown_path(path)!r} {problem}", remedy, number, *path)


def _source_error(fault: ErrorDetails, kind: str) -> tuple[str, str]:
    if fault["type"] == "mcpg":
        return fault["ctx"]["problem"], fault["ctx"]["remedy"]
    value, key = fault["input"], str(fault["loc"][-1])
    if fault["type"] == "extra_forbidden" and len(fault["loc"]) > 1:
        return "is an unknown key", suggest_known(key, OAuthTable.model_fields)
    if fault["type"] == "extra_forbidden":
        owners = " or ".join(repr(one) for one in KINDS if key in KINDS[one].model_fields)
        return f"goes with {owners}, and this source has {kind!r}", f"remove {key!r}"
    if fault["type"] == "literal_error":
        return "has an unknown value", remedy_for(fault)
    if key == "command" and isinstance(value, list):
        return "is a list", "name the program, and put its arguments into 'args'"
    is_type = fault["type"].endswith("_type")
    return f"is {type_name(value) if is_type else value}", remedy_for(fault)


_UNKNOWN = "variable"
_DISABLED = "this source is disabled; it is skipped"


@dataclass(frozen=True, slots=True)
class ConfiguredSource:
    """An entry, whose variables are expanded when it is used.

    Attributes:
        name: Its id, or a name derived from its value; unique among the entries.
    """

    name: str
    entry: SourceTable = field(repr=False)
    file: Path

    @property
    def place(self) -> str:
        """How messages name it; contains neither a secret nor a folder."""
        return f"{self.file.name}: {self.name}"

    @property
    def is_server(self) -> bool:
        """Whether it is a server; a path may still lead to the configuration of a client."""
        return isinstance(self.entry, CommandSource | UrlSource)

    @property
    def argument(self) -> str:
        """Its name on the command line: a path from the working folder, or a module."""
        if isinstance(self.entry, PythonSource):
            return f"{PYTHON}{self.entry.python}"
        if isinstance(self.entry, CodeSource):
            return f"{CODE}{relative_path(_below(self.file.parent, self.entry.code))}"
        if isinstance(self.entry, SkillsSource):
            return f"{SKILLS}{relative_path(_below(self.file.parent, self.entry.skills))}"
        return relative_path(_below(self.file.parent, self._own["path"]))

    @property
    def _own(self) -> dict[str, Any]:
        return self.entry.model_dump(exclude_unset=True, exclude={*SourceTable.model_fields})

    def server(self, environ: Mapping[str, str]) -> Server:
        """Return the server, with variables expanded from *environ*."""
        kind = "http" if isinstance(self.entry, UrlSource) else "stdio"
        members: dict[str, Any] = {"transport": kind, **self._own}
        oauth = members.get("oauth", {})
        if oauth is None:
            members["oauth"] = False
        for key in _OAUTH_FILES:
            if oauth and oauth.get(key):
                oauth[key] = _below(self.file.parent.absolute(), oauth[key])
        server = replace(parse_server(self.name, members, self.place, environ), name=self.entry.id)
        if not isinstance(server, StdioServer):
            return server
        return replace(server, cwd=_below(self.file.parent.absolute(), server.cwd or "."))

    def addressing(self, environ: Mapping[str, str]) -> Addressing | None:
        """Return where the operations of a document are called, with variables expanded."""
        own = self._own
        if "base_url" not in own and not own.get("allow_private"):
            return None
        used: dict[str, str] = {}

        def expand_text(value: Any) -> str:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            return expand(text, environ, self.place, used)

        headers = {name: expand_text(value) for name, value in own.get("headers", {}).items()}
        base_url = expand_text(own["base_url"]).strip() if "base_url" in own else None
        is_trusted = bool(own.get("allow_private"))
        return Addressing(base_url, headers, tuple(used.values()), is_trusted)

    def as_read(self) -> ConfiguredSource:
        """Return it without what only calls need."""
        if not isinstance(self.entry, PathSource):
            return self
        given = self.entry.model_dump(
            exclude_unset=True, exclude={"base_url", "headers", "allow_private"}
        )
        return replace(self, entry=PathSource(**given))


def read_entries(
    value: Any, file: Path, fail: Callable[..., McpgError]
) -> tuple[ConfiguredSource, ...]:
    """Read *value*, which *file* has under `sources`.

    *fail* is as for `check_settings`.
    """
    entries = check_sources(value, fail)
    taken = {entry.id.casefold() for entry in entries if entry.id}
    return tuple(
        ConfiguredSource(entry.id or free_name(_derived_name(entry), taken), entry, file)
        for entry in entries
    )


def open_entries(
    entries: Iterable[ConfiguredSource],
    live: ServerAccess,
    *,
    source_id: str | None = None,
    timeout: float | None = None,
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources of *entries*, and diagnostics of those that are disabled or unusable.

    *source_id* and *timeout*, in seconds, take precedence over those of the entries.
    """
    opening = SourceCollector(live)
    for one in entries:
        open_entry(one, opening, live, source_id=source_id, timeout=timeout)
    return opening.sources, opening.diagnostics


def open_entry(
    one: ConfiguredSource,
    opening: SourceCollector,
    live: ServerAccess,
    *,
    source_id: str | None = None,
    timeout: float | None = None,
) -> None:
    """Add the sources of *one* entry to *opening*; see `open_entries`."""
    if not one.entry.enabled:
        opening.report([info(Code.SOURCE_SKIPPED, _DISABLED, one.place)])
        return
    is_fixed, timeout = one.entry.id is not None, timeout or one.entry.timeout
    source_id = source_id or one.entry.id
    try:
        if one.is_server:
            server = replace(
                one.server(live.environ),
                name=source_id,
                timeout=one.entry.timeout,
                trust_hints=one.entry.trust_hints,
                sessions=one.entry.sessions,
            )
            opening.server(server, one.name, timeout, is_fixed=is_fixed)
            return
        addressing = one.addressing(live.environ)
    except McpgError as fault:
        message = f"{fault.message} ({fault.remedy})"
        opening.report([error(Code.SOURCE_LOAD_FAILED, message, one.place)])
        return
    try:
        opening.add_named(
            one.argument,
            source_id=source_id,
            timeout=timeout,
            call_timeout=one.entry.timeout,
            addressing=addressing,
            trust_hints=one.entry.trust_hints,
            sessions=one.entry.sessions,
        )
    except McpgError as fault:
        parts = (one.place, fault.place)
        place = ": ".join(dict.fromkeys(": ".join(filter(None, parts)).split(": ")))
        raise type(fault)(fault.message, place=place, remedy=fault.remedy) from None


def _derived_name(entry: SourceTable) -> str:
    match entry:
        case UrlSource(url=url):
            host = bare_address(without_variables(url, _UNKNOWN)) if url[0] != "$" else _UNKNOWN
            return entry.kind if _UNKNOWN in host else host
        case CommandSource(command=command):
            return PurePath(command).name
        case PathSource(path=path):
            return PurePath(path).stem or path
        case PythonSource(python=name):
            return name
        case CodeSource(code=path) | SkillsSource(skills=path):
            return PurePath(path).name or path
    return entry.kind


def _below(folder: Path, path: str) -> str:
    return os.path.normpath(folder / os.path.expanduser(path))  # noqa: PTH111 - `Path` may raise


# Descriptions are texts of the reference page; a schema has them without links and line breaks.
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_REWRITTEN = ("title", "description", "default", UNSET)


def settings_schema() -> JsonObject:
    """Return the schema of a configuration file, without its `$schema`."""
    models: tuple[type[SettingsTable], ...] = (Configuration, ViewTable, *KINDS.values())
    references, made = models_json_schema([(model, "validation") for model in models])
    definitions = {name: _describe_schema(one) for name, one in made["$defs"].items()}
    root = definitions.pop(Configuration.__name__)
    sources = {
        "type": "array",
        "items": {"anyOf": [references[model, "validation"] for model in KINDS.values()]},
        "description": "The sources of `mcpg bundle`, `mcpg generate` and `mcpg serve`.",
    }
    views = {
        "type": "object",
        "additionalProperties": references[ViewTable, "validation"],
        "description": "The views of `mcpg serve`, by their names.",
    }
    return {
        "$id": "urn:mcpg:schema:settings:1",
        "title": "mcpg.toml",
        "description": "Settings of mcpg: a file mcpg.toml, or [tool.mcpg] in a pyproject.toml.",
        "type": "object",
        "properties": root["properties"] | {SOURCES: sources, VIEWS: views},
        "additionalProperties": False,
        "$defs": definitions,
    }


def _describe_schema(part: Any) -> Any:
    """Return a schema of pydantic with descriptions that need no context."""
    if part == {"type": "null"}:
        return {"const": False}  # TOML has no null
    if not isinstance(part, dict):
        return part  # `false` allows no further keys
    kept = {key: one for key, one in part.items() if key not in _REWRITTEN}
    if "properties" in part:
        kept["properties"] = {
            name: _describe_schema(one) for name, one in part["properties"].items()
        }
    if "anyOf" in part:
        kept["anyOf"] = [_describe_schema(one) for one in part["anyOf"]]
    kept |= {
        key: _describe_schema(part[key]) for key in ("items", "additionalProperties") if key in part
    }
    said, absent = (
        " ".join(_LINK.sub(r"\1", str(part.get(key) or "")).split()).removesuffix(".")
        for key in ("description", UNSET)
    )
    text = ". ".join(filter(None, (said, f"Default: {absent}" if absent else "")))
    described = {"description": f"{text[0].upper()}{text[1:]}."} if text else {}
    has_default = UNSET not in part and isinstance(part.get("default"), str | int | float)
    return described | kept | ({"default": part["default"]} if has_default else {})


_HEADER = re.compile(rf"({TCHAR}+):[ \t]*([^\r\n\0]*)")
_HTTP_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


class ServerOptions:
    """The options that concern servers.

    Attributes:
        asked: Whether a server was queried, so that the sources may differ at the next run.
    """

    def __init__(
        self,
        sources: Sequence[str],
        headers: Sequence[str] | None = None,
        seconds: float | None = None,
        *,
        takes_document: bool = False,
    ) -> None:
        self.asked = False
        self.hosts = frozenset(one.split("/")[2] for one in sources if _HTTP_ADDRESS.match(one))
        if headers and len(self.hosts) != 1 and (self.hosts or not takes_document):
            message = "headers need exactly one server address"
            remedy = "name one https://HOST/PATH, or write the headers into a client configuration"
            raise UsageError(message, place="--header", remedy=remedy)
        matches = [_HEADER.fullmatch(header) for header in headers or ()]
        if None in matches:
            remedy = "write 'Name: value'; its value is not shown here"
            raise UsageError("invalid header", place="--header", remedy=remedy)
        self._headers = {one[1]: one[2].strip() for one in matches if one is not None}
        if seconds is not None and not 0 < seconds <= MAX_TIMEOUT:
            message = f"{seconds:g} is not a valid timeout"
            remedy = f"use seconds above 0, up to {MAX_TIMEOUT}"
            raise UsageError(message, place="--server-timeout", remedy=remedy)
        self.seconds = seconds

    def live(self, tell: Callable[[int, int], None] | None = None) -> ServerAccess:
        def note_progress(done: int, of: int) -> None:
            self.asked = True
            if tell is not None:
                tell(done, of)

        seconds = self.seconds or DEFAULT_TIMEOUT
        return ServerAccess(
            os.environ,
            self._headers,
            seconds,
            note_progress,
            login_folder(),
            find_asker(),
            cache_folder(),
        )
