"""Models of a configuration file: the settings, and the entries of `[[sources]]`.

They check what a file or a variable holds. The docstrings below their fields, their defaults and
bounds are the tables of the reference page (`mcpg.cli.reference`). Imported only where a value
needs a check, since pydantic takes longer to import than a search.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mcpg.cli.setting_keys import (
    KEY_VARIABLE,
    KEYS,
    POSTGRES_VARIABLE,
    SECTIONS,
    SOURCES,
    TOKEN_VARIABLE,
    holds_password,
)
from mcpg.errors import McpgError
from mcpg.net.addresses import is_header_name
from mcpg.sources.client_config import (
    CLIENT_CREDENTIALS,
    DEFAULT_TIMEOUT,
    MAX_TIMEOUT,
    check_variables,
    host_of,
    without_variables,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_core import ErrorDetails

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def unset(default: str) -> Any:
    """Return a field without a default value; *default* describes what applies instead."""
    return Field(None, json_schema_extra={"default": default})


class Table(BaseModel):
    """A table of a configuration file, which has no other keys than the fields."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        # A docstring below a field is its description; an underscore behind a name is no part.
        use_attribute_docstrings=True,
        alias_generator=lambda name: name.rstrip("_"),
    )


class Embeddings(Table):
    """The section `[embeddings]`."""

    with_: str = "local"
    """the embedding provider: `local`, `local:multilingual`, `fastembed:NAME`,
    `sentence-transformers:NAME`, `openai:MODEL`, `none`"""
    url: str = unset("`OPENAI_BASE_URL`; with a key and no address, that of OpenAI")
    """for `openai:`: the address above `/embeddings`"""
    dimensions: int = unset("the model's own")
    """for `openai:`: the requested number of dimensions"""
    timeout: Seconds = 60
    """for `openai:`: the timeout of one request in seconds, retries included"""


class Normalization(Table):
    """The section `[normalization]`."""

    enabled: bool = False
    """whether queries are rewritten; the variable also accepts `1`, `yes`, `on` and `0`, `no`,
    `off`, and there is `--no-normalize`"""
    model: str = unset("none")
    """the chat model"""
    url: str = unset("as `embeddings.url`")
    """the address above `/chat/completions`"""
    timeout: Seconds = 5
    """the timeout of one rewrite in seconds, retries included"""


class Store(Table):
    """The section `[store]`."""

    kind: Literal["sqlite", "memory", "postgres", "none"] = "sqlite"
    """the store of tool vectors"""
    path: str = unset("`embeddings.sqlite` in the cache folder")
    """the file of the store `sqlite`"""


class Cache(Table):
    """The section `[cache]`."""

    kind: Literal["none", "memory", "postgres"] = "none"
    """the search cache"""
    entries: int = unset("2,048 in memory, more in PostgreSQL")
    """the maximum number of entries"""
    absolute: Seconds = 86_400
    """the maximum age of an entry in seconds"""
    sliding: Seconds = unset("1,800 for rewrites, 900 for vectors, 300 for results")
    """seconds after which an unused entry expires"""


class Limits(Table):
    """The section `[limits]`."""

    invoke: Seconds = 60
    """the timeout of a call in seconds, unless the caller sets one"""
    result: Annotated[int, Field(ge=1)] = 4_194_304
    """the maximum size of a result as JSON in bytes"""


class Serve(Table):
    """The section `[serve]`."""

    http: str = unset("standard input and output")
    """the HTTP address: a port, or `HOST:PORT`; `--stdio` overrides it"""
    allow_hosts: list[Annotated[str, Field(min_length=1)]] = unset("this machine's own")
    """a list of allowed host names for HTTP, optionally with a port"""
    expose: Literal["meta", "all"] = "meta"
    """what clients see: `meta`, the tools that find, describe and call the others, or `all`"""
    graph_tools: bool = False
    """whether the tools that read the graph are listed, too"""
    max_bytes: Annotated[int, Field(ge=2048)] = 32_768
    """the maximum size of a response about tools in bytes"""
    max_result_bytes: Annotated[int, Field(ge=2048)] = 262_144
    """the maximum size of a tool's own result in bytes"""
    requests: Annotated[int, Field(ge=1)] = 64
    """the maximum number of concurrent HTTP requests"""
    sessions: Annotated[int, Field(ge=1)] = 256
    """the maximum number of concurrent HTTP sessions"""


class Postgres(Table):
    """The section `[postgres]`."""

    schema_: str = "mcpg"
    """the schema of all tables of mcpg"""
    pool: int = 4
    """the maximum number of connections per process"""
    sslmode: str = unset("libpq's default")
    """the TLS mode of libpq; the address takes precedence"""
    sslrootcert: str = unset("libpq's default")
    """file with the certificates of trusted authorities; the address takes precedence"""


class Telemetry(Table):
    """The section `[telemetry]`."""

    enabled: bool = False
    """whether searches, builds and calls are reported to OpenTelemetry"""
    queries: bool = False
    """whether spans contain the text of queries"""


class Configuration(Table):
    """A configuration file without its sources."""

    bundle: str = unset("`graph.mdld` here or in the nearest parent folder")
    """the bundle, folder or manifest to work on"""
    limit: int = 5
    """the maximum number of matches, 1 to 50"""
    strategy: str = "graph"
    """the strategy: `graph`, `embeddings` or `auto`"""
    fusion: str = unset("the order of the vectors")
    """how `auto` merges its two lists: `learned` or `rrf`"""
    candidates: Literal["local", "postgres"] = "local"
    """the candidate source"""
    embeddings: Embeddings = Embeddings()
    normalization: Normalization = Normalization()
    store: Store = Store()
    cache: Cache = Cache()
    limits: Limits = Limits()
    serve: Serve = Serve()
    postgres: Postgres = Postgres()
    telemetry: Telemetry = Telemetry()


_LONGEST_ID = 200
_VARIABLE = "write ${NAME} in its place, and set that variable"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@|password\s*=\s*[^\s&;]", re.IGNORECASE)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::[^\W\d]\w*(?:\.[^\W\d]\w*)*)?")


def _invalid(problem: str, remedy: str, *at: str) -> PydanticCustomError:
    """Return the error of a value, or of what is *at* a key in it."""
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
        if name.casefold() in _SECRET_HEADERS and not _has_variable(str(value)):
            raise _invalid("contains a secret", _VARIABLE, name)
    return headers


def _has_variable(text: str) -> bool:
    return without_variables(text) != text


def _has_no_user(url: str) -> bool:
    return "@" not in urlsplit(without_variables(url, "1")).netloc


def _is_line(value: str | float) -> bool:
    return not {"\r", "\n"} & {*str(value)}


def _is_variable(name: str) -> bool:
    return bool(name) and not {"=", "\0"} & {*name}


def _is_id(text: str) -> bool:
    return text == text.strip() and text.isprintable() and len(text) <= _LONGEST_ID


def _is_url(text: str) -> bool:
    if text.startswith("${"):
        return True  # checked once it is expanded
    try:
        host_of(without_variables(text, "1"))
    except McpgError:
        return False
    return text.casefold().startswith(("http://", "https://"))


def _joined(scope: Any) -> Any:
    is_list = isinstance(scope, list) and all(isinstance(word, str) for word in scope)
    return " ".join(scope) if is_list else scope


_SCALAR = _unless(
    lambda value: isinstance(value, str | int | float),
    "has the wrong type",
    "use a string, a number or a boolean",
)
_ID = _unless(
    _is_id,
    "is not the name of a source",
    f"use up to {_LONGEST_ID} visible characters, without blanks around them",
)
_PATH = _unless(
    lambda text: "${" not in text,
    "contains `${`, and variables are not expanded in paths",
    "write the path relative to the file, or begin it with ~/",
)
_MODULE_NAME = _unless(
    _MODULE.fullmatch,
    "is not the name of a module",
    "write package.module, or package.module:attribute",
)
_USERLESS = _unless(
    _has_no_user, "contains a user", "put user and password into the header Authorization"
)
_ADDRESS = _unless(_is_url, "is not the address of a server", "write https://HOST/PATH")
Text = Annotated[str, AfterValidator(_check_characters)]
Filled = Annotated[Text, _unless(str.strip, "is empty", "use a string with visible characters")]
Secret = Annotated[Text, _unless(_has_variable, "contains a secret", _VARIABLE)]
Scalar = Annotated[Any, _SCALAR, AfterValidator(_check_characters)]
Variable = Annotated[str, _unless(_is_variable, "is not the name of a variable", "correct it")]
Header = Annotated[str, _unless(is_header_name, "is not the name of a header", "correct it")]
HeaderText = Annotated[Scalar, _unless(_is_line, "contains a line break", "remove it")]
Headers = Annotated[dict[Header, HeaderText], AfterValidator(_check_secrets)]


class OAuthTable(Table):
    """The key `oauth` of a server."""

    client_id: Text = ""
    client_secret: Secret = ""
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    scope: Annotated[Text, BeforeValidator(_joined)] = ""
    issuer: Text = ""
    auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"
    redirect_uri: Text = ""
    callback_port: Annotated[int, Field(ge=1, le=65_535)] = unset("any")

    @model_validator(mode="after")
    def _check_credentials(self) -> OAuthTable:
        has_both = bool(self.client_id and self.client_secret)
        if self.grant == CLIENT_CREDENTIALS and not has_both:
            remedy = f"add both: the grant {CLIENT_CREDENTIALS} needs them"
            raise _invalid("has no 'client_id' and 'client_secret'", remedy)
        return self


class SourceTable(Table):
    """An entry of `[[sources]]`; `kind` is the key that names what it is."""

    kind: ClassVar[str]

    id: Annotated[Filled, _ID] = unset(
        "for servers, their own name; for files, see [Source ids](sources.md#source-ids)"
    )
    """the name of the source, and the source id of its tools, as with `--source-id`; unique,
    ignoring case"""
    timeout: Annotated[Seconds, Field(le=MAX_TIMEOUT)] = unset(f"{DEFAULT_TIMEOUT:g}")
    """the timeout of a server in seconds, from its start to its last tool"""
    enabled: bool = True
    """`false` skips the source, and reports it"""

    @classmethod
    def related(cls) -> tuple[str, ...]:
        """Return the keys that go with this kind."""
        others = {*SourceTable.model_fields, cls.kind}
        return tuple(key for key in cls.model_fields if key not in others)


class PathSource(SourceTable):
    """A file or folder as on the command line.

    Manifests, documents, hints, bundles, an OpenAPI document, or a client configuration, which
    stands for all servers in it.
    """

    kind: ClassVar = "path"

    path: Annotated[Filled, _PATH]
    base_url: Annotated[Filled, _ADDRESS, _USERLESS] = unset("the servers that the document names")
    """the address below which the operations of an OpenAPI document are
    [called](sources.md#calling-operations); a query in it is sent with every request"""
    headers: Headers = unset("none")
    """a table of headers; for an OpenAPI document only beside `base_url`"""

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
    """a list of strings, numbers and booleans"""
    env: dict[Variable, Scalar] = unset("none")
    """a table of variables, added to the few that every server gets"""
    cwd: Filled = unset("the folder of the file")
    """the working folder of the program"""


class UrlSource(SourceTable):
    """The address of an MCP server."""

    kind: ClassVar = "url"

    url: Annotated[Filled, _ADDRESS]
    headers: Headers = unset("none")
    """a table of headers; for an OpenAPI document only beside `base_url`"""
    transport: Literal["http", "sse"] = "http"
    """`http` for streamable HTTP, or `sse` for the older transport"""
    oauth: Annotated[
        OAuthTable | None, BeforeValidator(lambda value: None if value is False else value)
    ] = unset("a login by `mcpg login`, if there is one")
    """a table with `client_id`, `client_secret`, `grant`, `scope`, `issuer`, `auth_method`,
    `redirect_uri` and `callback_port`, see [OAuth](sources.md#oauth); `false` for no OAuth"""


class PythonSource(SourceTable):
    """A module, as in `python = "package.module"`."""

    kind: ClassVar = "python"

    python: Annotated[Filled, _MODULE_NAME]


KINDS: dict[str, type[SourceTable]] = {
    model.kind: model for model in (PathSource, CommandSource, UrlSource, PythonSource)
}
_SOURCE_KEYS = dict.fromkeys((*KINDS, *(key for one in KINDS.values() for key in one.model_fields)))
_HEADING = f"write [[{SOURCES}]] before each source, and its keys below"


def check_settings(
    values: Mapping[str, Any], fail: Callable[..., McpgError], *, are_texts: bool = False
) -> dict[str, Any]:
    """Return the settings of *values*, those of a section in a table of their own.

    Args:
        values: The tables of a file without its sources.
        fail: Makes the error that is raised, from a message, a remedy, and the keys and indices
            that lead to the value.
        are_texts: Whether all values are texts of the environment, such as `yes` for `True`.
    """
    validate = Configuration.model_validate_strings if are_texts else Configuration.model_validate
    try:
        return validate(values).model_dump(exclude_unset=True, by_alias=True)
    except ValidationError as faults:
        fault = faults.errors(include_url=False)[0]
    path, value, name = fault["loc"], fault["input"], shown_path(fault["loc"])
    if fault["type"] == "extra_forbidden":
        raise fail(f"unknown key {name!r}", _advice_on_key(name), *path)
    if fault["type"] == "model_type":
        raise fail(f"{name!r} is a section", f"write [{name}], and its keys below", *path)
    is_secret = isinstance(value, str) and holds_password(value)
    shown = "a string with a password" if is_secret else repr(value)
    raise fail(f"{name!r} is {shown}", _remedy(fault), *path)


def check_sources(values: Any, fail: Callable[..., McpgError]) -> tuple[SourceTable, ...]:
    """Return the entries of `[[sources]]`.

    Args:
        values: What the file holds under that key.
        fail: As for `check_settings`.
    """
    if not isinstance(values, list):
        raise fail(f"{SOURCES!r} is {_type(values)}", _HEADING)
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
        raise fail(f"a source is {_type(value)}", _HEADING, number)
    for key in value:
        if key not in _SOURCE_KEYS:
            raise fail(f"unknown key {key!r}", _suggested(key, _SOURCE_KEYS), number, key)
    kinds = [key for key in value if key in KINDS]
    if len(kinds) > 1:
        message = f"this source has both {kinds[0]!r} and {kinds[1]!r}"
        raise fail(message, f"write a [[{SOURCES}]] for each", number, kinds[1])
    if not kinds:
        meant = [kind for kind in reversed(KINDS) if {*KINDS[kind].related()} & {*value}]
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
    """Return what is wrong with a value, which may be secret, and what to do about it."""
    if fault["type"] == "mcpg":
        return fault["ctx"]["problem"], fault["ctx"]["remedy"]
    value, key = fault["input"], str(fault["loc"][-1])
    if fault["type"] == "extra_forbidden" and len(fault["loc"]) > 1:
        return "is an unknown key", _suggested(key, OAuthTable.model_fields)
    if fault["type"] == "extra_forbidden":
        owners = " or ".join(repr(one) for one in KINDS if key in KINDS[one].model_fields)
        return f"goes with {owners}, and this source has {kind!r}", f"remove {key!r}"
    if fault["type"] == "literal_error":
        return "has an unknown value", _remedy(fault)
    if key == "command" and isinstance(value, list):
        return "is a list", "name the program, and put its arguments into 'args'"
    is_type = fault["type"].endswith("_type")
    return f"is {_type(value) if is_type else value}", _remedy(fault)


_REMEDIES = {
    "string": "use a string",
    "int": "use a whole number",
    "bool": "use true or false",
    "float": "use a number of seconds above 0",
    "greater": "use a number of seconds above 0",
    "finite": "use a number of seconds above 0",
    "list": 'use a list, as in ["one", "two"]',
    "dict": 'use a table, as in { NAME = "value" }',
    "model": 'use a table, as in { NAME = "value" }',
}


def _remedy(fault: ErrorDetails) -> str:
    """Return what to do about an error of pydantic's own."""
    context = fault.get("ctx", {})
    if fault["type"] == "literal_error":
        return _suggested(str(fault["input"]), re.findall(r"'(\w+)'", context["expected"]))
    if "ge" in context:
        return f"use {context['ge']:,} or more"
    if "le" in context:
        return f"use {context['le']:,} or less"
    return _REMEDIES[fault["type"].partition("_")[0]]


# What people take for settings, and which variable sets it instead.
_SECRETS = {
    **dict.fromkeys(("dsn", "url", "host", "user", "password"), POSTGRES_VARIABLE),
    **dict.fromkeys(("key", "api_key", "apikey", "token"), KEY_VARIABLE),
}


def _advice_on_key(name: str) -> str:
    section, _, last = name.rpartition(".")
    variable = _SECRETS.get(last.casefold())
    if variable and section == "serve":
        variable = TOKEN_VARIABLE
    if variable and (section == "postgres" or variable != POSTGRES_VARIABLE):
        return f"set the variable {variable} instead: secrets are not read from files"
    siblings = [key for key in KEYS if section and key.startswith(f"{section}.")]
    return _suggested(name, siblings or [*KEYS, *SECTIONS, SOURCES])


def _suggested(word: str, known: Iterable[str]) -> str:
    names = tuple(known)
    near = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(names)}"


def shown_path(path: Iterable[str | int]) -> str:
    """Return keys and indices as messages show them, such as `sources[1].url`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def _type(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a number"
    names = {dict: "a table", list: "a list", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a date or a time")
