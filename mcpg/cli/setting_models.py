"""Models of the settings in a configuration file.

They check the values of files and variables. The docstrings below their fields, their defaults and
bounds are the tables of the reference page (`tests/reference.py`). Imported only where a value
needs a check, since pydantic takes longer to import than a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mcpg.cli.environment import (
    KEY_VARIABLE,
    KEYS,
    POSTGRES_VARIABLE,
    SECTIONS,
    SOURCES,
    TOKEN_VARIABLE,
    VIEWS,
    holds_password,
)
from mcpg.errors import McpgError
from mcpg.search.results import STRATEGY_ALIASES
from mcpg.text.library_errors import pydantic_choices, pydantic_expected
from mcpg.text.spelling import suggest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SHOWN = 80
IntentName = Literal[
    "navigation", "relations", "documentation", "examples", "similar", "search", "catalog"
]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


UNSET = "unset"
"""Name of the member of a field's schema that describes the value if the field is not set."""


def unset(default: str) -> Any:
    """Return a field without a default value; *default* describes what applies instead."""
    return Field(None, json_schema_extra={UNSET: default})


class SettingsTable(BaseModel):
    """A table of a configuration file, which has no other keys than the fields."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        # A docstring below a field is its description; names lose an underscore at their end.
        use_attribute_docstrings=True,
        alias_generator=lambda name: name.rstrip("_"),
    )


class Embeddings(SettingsTable):
    """The section `[embeddings]`."""

    provider: str = "local"
    """embedding provider: `local`, `local:multilingual`, `fastembed:NAME`,
    `sentence-transformers:NAME`, `openai:MODEL`, `none`"""
    url: str = unset("`OPENAI_BASE_URL`; with a key and no address, that of OpenAI")
    """for `openai:`: address above `/embeddings`"""
    dimensions: Annotated[int, Field(ge=1)] = unset("the model's own")
    """for `openai:`: requested dimensions"""
    timeout: Seconds = 60
    """for `openai:`: timeout of a request in seconds, with retries"""


class Rewrite(SettingsTable):
    """The section `[rewrite]`."""

    enabled: bool = False
    """whether queries are rewritten"""
    model: str = unset("none")
    """chat model"""
    url: str = unset("as `embeddings.url`")
    """address above `/chat/completions`"""
    timeout: Seconds = 5
    """timeout of a rewrite in seconds, with retries"""


class Rerank(SettingsTable):
    """The section `[rerank]`."""

    enabled: bool = False
    """whether a chat model [ranks the first
    matches](../how-to/search.md#let-a-model-rank-the-matches) of a search"""
    model: str = unset("as `rewrite.model`")
    """chat model, with address and timeout of `[rewrite]`"""


class Enrich(SettingsTable):
    """The section `[enrich]`."""

    model: str = unset("as `rewrite.model`")
    """chat model that writes texts"""
    url: str = unset("as `rewrite.url`")
    """address above `/chat/completions`"""
    timeout: Seconds = 120
    """timeout of a prompt in seconds, with retries"""
    languages: list[str] = unset("English")
    """languages of the users, which share the texts"""
    exclude: list[str] = unset("none")
    """tools to leave out: ids, `source::name`, names or globs"""
    input_price: Price = unset("none")
    """price of a million prompt tokens, for `--dry-run`"""
    output_price: Price = unset("none")
    """price of a million answer tokens, for `--dry-run`"""


class Store(SettingsTable):
    """The section `[store]`."""

    kind: Literal["sqlite", "memory", "postgres", "none"] = "sqlite"
    """store of tool vectors"""
    path: str = unset("`embeddings.sqlite` in the cache folder")
    """file of the store `sqlite`"""


class Cache(SettingsTable):
    """The section `[cache]`."""

    kind: Literal["none", "memory", "postgres"] = "none"
    """search cache"""
    entries: Annotated[int, Field(ge=1)] = unset("2,048 in memory, more in PostgreSQL")
    """maximum number of entries"""
    max_age: Seconds = 86_400
    """maximum age of an entry in seconds"""
    idle_timeout: Seconds = unset("1,800 for rewrites, 900 for vectors, 300 for results")
    """seconds after which an unused entry expires"""


class Limits(SettingsTable):
    """The section `[limits]`."""

    invoke_timeout: Seconds = 60
    """timeout of a call in seconds, unless source or caller sets one; progress renews it"""
    result_bytes: Annotated[int, Field(ge=1)] = 16_777_216
    """maximum size of a result as JSON in bytes"""
    sessions: Annotated[int, Field(ge=1)] = 1024
    """maximum number of own connections of [sessions](../how-to/serve-sessions.md)"""
    sessions_per_source: Annotated[int, Field(ge=1)] = 64
    """maximum number of sessions with an own process of one server"""
    session_idle_timeout: Seconds = 1800
    """seconds without a request after which such a connection ends"""
    relist_interval: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 300
    """seconds after which a gateway [lists tools again](../how-to/serve-sessions.md#changes) of a
    server without `ttlMs`; `0` for never"""
    query_memory_bytes: Annotated[int, Field(ge=1)] = 1_073_741_824
    """memory of a [SPARQL query](../how-to/sparql.md#limits) in bytes, beyond the graph"""


class Serve(SettingsTable):
    """The section `[serve]`."""

    http: str = unset("standard input and output")
    """HTTP address: a port or `HOST:PORT`; `--stdio` overrides it"""
    allow_hosts: list[Annotated[str, Field(min_length=1)]] = unset("this machine's own")
    """allowed host names for HTTP, optionally with a port"""
    view: str = unset("none: everything")
    """[view](../how-to/serve-http.md#views) to serve"""
    expose: Literal["gateway", "on-demand", "all"] = "gateway"
    """tools that clients see: `gateway`, the meta-tools; `on-demand`, those to search and call, and
    found tools; or `all`"""
    pin: list[Annotated[str, Field(min_length=1)]] = unset("none")
    """up to 32 [pinned](../how-to/serve.md#pin-tools) tools: ids, `source::name` or names"""
    about: str = unset("none")
    """up to 1,000 characters for the description of the search tool"""
    on_change: Literal["warn", "hide", "accept"] = "warn"
    """tools that changed since the [reviewed
    bundle](../how-to/lock.md#serve-a-reviewed-bundle) or the [lock
    file](../how-to/lock.md#serve-under-the-lock): `warn` describes them as reviewed, `hide` hides
    them and unreviewed ones, `accept` (without a lock) describes them as changed"""
    graph_tools: bool = False
    """whether tools that read the graph are also listed"""
    max_bytes: Annotated[int, Field(ge=2048)] = 32_768
    """maximum size of a response about tools in bytes"""
    max_result_bytes: Annotated[int, Field(ge=2048)] = 262_144
    """maximum size of a tool's own result in bytes"""
    requests: Annotated[int, Field(ge=1)] = 64
    """maximum number of concurrent HTTP requests"""
    sessions: Annotated[int, Field(ge=1)] = 256
    """maximum number of concurrent HTTP sessions"""
    answer_timeout: Seconds = 300
    """seconds for a client to answer a request of a server, such as an elicitation"""
    record_calls: str = unset("none")
    """file of recorded calls, without arguments and results, for `mcpg learn`"""


Pattern = Annotated[str, Field(min_length=1)]


class ViewConditions(SettingsTable):
    """The table `deny` of a view: conditions on what it hides."""

    servers: list[Pattern] = unset("any")
    """ids of sources, or globs"""
    categories: list[Pattern] = unset("any")
    """categories among the hints of tools, or globs"""
    tools: list[Pattern] = unset("any")
    """tools by `source::name`, name or id, or globs"""


class ViewTable(ViewConditions):
    """An entry of `[views]`: what clients see."""

    read_only: bool = False
    """`true` shows only read-only tools"""
    kinds: list[Literal["tool", "prompt", "resource", "skill", "page"]] = unset(
        "all, but only `tool` with `categories` or `tools`"
    )
    """kinds of items; `resource` includes templates, `skill` the files of skills, `page` is a
    document without a tool"""
    deny: ViewConditions = Field(ViewConditions(), json_schema_extra={UNSET: "none"})
    """a table with `servers`, `categories` and `tools` to hide"""


class Learn(SettingsTable):
    """The section `[learn]`."""

    output: str = unset("`graph.observed.jsonl`")
    """file to which `mcpg learn` adds, unless `-o` names one; also name it in `[[sources]]` for
    builds"""


class Lock(SettingsTable):
    """The section `[lock]`."""

    file: str = unset("`mcpg.lock` beside the configuration file")
    """[lock file](lock-file.md)"""
    enforce: bool = False
    """whether commands with live tools enforce the lock file"""
    on_change: Literal["fail", "warn", "hide"] = "fail"
    """if tools [differ from the lock](../how-to/lock.md#build-under-the-lock), `mcpg bundle` exits
    1 (`fail`), describes changed tools as approved (`warn`), or leaves them out (`hide`); both
    leave out new tools"""


class Lint(SettingsTable):
    """The section `[lint]`."""

    select: list[str] = unset("the rules that are on by default")
    """[rules](rules.md) to check: codes, their beginnings, or `ALL`"""
    ignore: list[str] = unset("none")
    """rules not to check"""
    tools: dict[str, list[str]] = unset("none")
    """rules not to check, by tool: id, `source::name`, name or glob"""


class Ask(SettingsTable):
    """The section `[ask]`."""

    strategy: Literal["graph", "markdown-ld", "embeddings", "auto"] = "graph"
    """search for questions: `graph`, by words; `embeddings`, by vectors, also of symbols;
    `auto`, by both"""
    weights: Annotated[
        list[Annotated[float, Field(ge=0, allow_inf_nan=False)]],
        Field(min_length=2, max_length=2),
    ] = [0.3, 0.7]
    """weights of words and vectors in searches of source code by `auto`"""
    patterns: dict[str, IntentName] = unset("none")
    """intents of your own wordings, such as `"who owns {tool}" = "documentation"`"""


class Graph(SettingsTable):
    """The section `[graph]`."""

    base_iri: str = unset("`urn:mcpg:`")
    """beginning of [the graph's IRIs](../how-to/graph.md#give-the-graph-an-address-of-your-own)"""


class Postgres(SettingsTable):
    """The section `[postgres]`."""

    schema_: str = "mcpg"
    """schema of the tables"""
    pool: Annotated[int, Field(ge=1)] = 4
    """maximum number of connections per process"""
    sslmode: str = unset("libpq's default")
    """TLS mode of libpq; the address takes precedence"""
    sslrootcert: str = unset("libpq's default")
    """certificates of trusted authorities; the address takes precedence"""


class Telemetry(SettingsTable):
    """The section `[telemetry]`."""

    enabled: bool = False
    """whether searches, builds and calls are reported to OpenTelemetry"""
    queries: bool = False
    """whether spans contain the text of queries"""


class Configuration(SettingsTable):
    """A configuration file without its sources."""

    bundle: str = unset("`graph.mdld` here or in the nearest parent folder")
    """bundle, folder or manifest; a bundle (`.mdld`) is also the output of `mcpg bundle`"""
    limit: Annotated[int, Field(ge=1, le=50)] = 5
    """maximum number of matches, at most 50"""
    strategy: Literal["graph", "markdown-ld", "embeddings", "auto"] = "graph"
    """strategy: `graph`, `embeddings` or `auto`"""
    fusion: Literal["cosine", "learned", "rrf"] = "learned"
    """how `auto` merges its rankings: `learned`, `rrf`, or `cosine` for that by vectors"""
    candidates: Literal["local", "postgres"] = "local"
    """candidate source"""
    lexicon: bool = True
    """whether words also match related words and translations"""
    generated_hints: bool = True
    """whether bundles keep [texts of a language
    model](../how-to/hints.md#texts-that-a-model-writes)"""
    embeddings: Embeddings = Embeddings()
    rewrite: Rewrite = Rewrite()
    rerank: Rerank = Rerank()
    enrich: Enrich = Enrich()
    store: Store = Store()
    cache: Cache = Cache()
    learn: Learn = Learn()
    lock: Lock = Lock()
    lint: Lint = Lint()
    ask: Ask = Ask()
    graph: Graph = Graph()
    limits: Limits = Limits()
    serve: Serve = Serve()
    postgres: Postgres = Postgres()
    telemetry: Telemetry = Telemetry()


def check_settings(
    values: Mapping[str, Any], fail: Callable[..., McpgError], *, are_texts: bool = False
) -> dict[str, Any]:
    """Return the settings of *values*, those of a section in a table of their own.

    *fail* makes the error that is raised, from a message, a remedy, and the keys and indices that
    lead to the value. Values that *are_texts* come from the environment, such as `yes` for `True`.
    """
    validate = Configuration.model_validate_strings if are_texts else Configuration.model_validate
    try:
        return validate(values).model_dump(exclude_unset=True, by_alias=True)
    except ValidationError as faults:
        raise _setting_error(faults, fail, are_texts=are_texts) from None


def check_views(values: Any, fail: Callable[..., McpgError]) -> dict[str, ViewTable]:
    """Return the tables of `[views]` by their names; *fail* is as for `check_settings`."""
    try:
        return TypeAdapter(dict[str, ViewTable]).validate_python(values)
    except ValidationError as faults:
        raise _setting_error(faults, fail, section=VIEWS) from None


def _setting_error(
    faults: ValidationError,
    fail: Callable[..., McpgError],
    *,
    are_texts: bool = False,
    section: str = "",
) -> McpgError:
    """Return the error of the first of *faults*, within a *section*; see `check_settings`."""
    fault = faults.errors(include_url=False)[0]
    path, value = fault["loc"], fault["input"]
    name = shown_path((section, *path) if section else path)
    if fault["type"] == "extra_forbidden":
        return fail(f"unknown key {_cut(repr(name))}", _advice_on_key(name), *path)
    if fault["type"] == "model_type":
        return fail(f"{name!r} is a section", f"write [{name}], and its keys below", *path)
    is_plain = isinstance(value, str | bool | int | float | list | dict)
    is_secret = isinstance(value, str) and holds_password(value)
    shown = (
        "a string with a password" if is_secret else _cut(repr(value) if is_plain else str(value))
    )
    # A variable is named by its place already.
    subject = "the value" if are_texts else repr(name)
    return fail(f"{subject} is {shown}", remedy_for(fault), *path)


def remedy_for(fault: ErrorDetails) -> str:
    """Return the remedy for an error of pydantic's own."""
    if fault["type"] == "literal_error" and (choices := pydantic_choices(fault)):
        # Aliases are accepted, and not recommended.
        known = (one for one in choices if one not in STRATEGY_ALIASES)
        return suggest_known(str(fault["input"]), known)
    return f"use {pydantic_expected(fault) or 'another value'}"


# What people take for settings, and which variable sets it instead.
_SECRETS = {
    **dict.fromkeys(("dsn", "url", "host", "user", "password"), POSTGRES_VARIABLE),
    **dict.fromkeys(("key", "api_key", "apikey", "token"), KEY_VARIABLE),
}


def _advice_on_key(name: str) -> str:
    section, _, last = name.rpartition(".")
    if section.startswith(f"{VIEWS}."):
        table = ViewTable if section.count(".") == 1 else ViewConditions
        return suggest_known(last, table.model_fields)
    variable = _SECRETS.get(last.casefold())
    if variable and section == "serve":
        variable = TOKEN_VARIABLE
    if variable and (section == "postgres" or variable != POSTGRES_VARIABLE):
        return f"set the variable {variable} instead: secrets are not read from files"
    siblings = [key for key in KEYS if section and key.startswith(f"{section}.")]
    top = (key for key in KEYS if "." not in key)
    return suggest_known(name, siblings or [*top, *SECTIONS, SOURCES, VIEWS])


def suggest_known(word: str, known: Iterable[str]) -> str:
    """Return a remedy that names the *known* word most like *word*, or all of them."""
    names = tuple(known)
    near = suggest(word, names)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(names)}"


def shown_path(path: Iterable[str | int]) -> str:
    """Return keys and indices as messages show them, such as `sources[1].url`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_cut(part)}" for part in path)
    return "".join(parts).removeprefix(".")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def type_name(value: Any) -> str:
    """Return what messages call the type of a value that may be secret."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a number"
    names = {dict: "a table", list: "a list", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a date or a time")
