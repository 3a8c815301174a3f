"""The settings there are: what each is called, who may say it, and what it holds."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg.cli.folders import login_folder
from mcpg.errors import UsageError
from mcpg.net.addresses import TCHAR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcpg.sources.client_config import Live

_NUMBER = "a number of seconds above 0"
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Key:
    """One setting.

    Attributes:
        name: What it is called in files: `section.key`, or `key` outside every section.
        kind: What it holds: `str`, `int`, `float` (seconds), `bool`, or `list` (of texts).
        variable: The variable of the environment that says it, "" for none.
        option: The option of the command line that says it, "" for none.
        choices: The texts that it may hold, none for any.
        least: The least whole number that it may hold, `None` for any.
    """

    name: str
    kind: type
    variable: str = ""
    option: str = ""
    choices: tuple[str, ...] = ()
    least: int | None = None

    @property
    def parameter(self) -> str:
        """Under what name the value of the option is handed on."""
        return self.option.removeprefix("--").replace("-", "_")


KEYS = {
    key.name: key
    for key in (
        Key("bundle", str, "MCPG_BUNDLE", "--bundle"),
        Key("limit", int, "MCPG_LIMIT", "--limit"),
        Key("strategy", str, "MCPG_STRATEGY", "--strategy"),
        Key("fusion", str, "MCPG_FUSION", "--fusion"),
        Key("candidates", str, "MCPG_CANDIDATES", "--candidates", ("local", "postgres")),
        Key("embeddings.with", str, "MCPG_EMBED_WITH", "--embed-with"),
        Key("embeddings.url", str, "MCPG_EMBED_URL"),
        Key("embeddings.dimensions", int, "MCPG_EMBED_DIMENSIONS"),
        Key("embeddings.timeout", float, "MCPG_EMBED_TIMEOUT"),
        Key("normalization.enabled", bool, "MCPG_NORMALIZE", "--normalize"),
        Key("normalization.url", str, "MCPG_LLM_URL"),
        Key("normalization.model", str, "MCPG_LLM_MODEL"),
        Key("normalization.timeout", float, "MCPG_LLM_TIMEOUT"),
        Key("cache.kind", str, "MCPG_SEARCH_CACHE", "", ("none", "memory", "postgres")),
        Key("cache.entries", int),
        Key("cache.absolute", float),
        Key("cache.sliding", float),
        Key("store.kind", str, "MCPG_STORE", "", ("sqlite", "memory", "postgres", "none")),
        Key("store.path", str, "MCPG_STORE_PATH"),
        Key("telemetry.enabled", bool, "MCPG_TELEMETRY"),
        Key("telemetry.queries", bool, "MCPG_TELEMETRY_QUERIES"),
        Key("postgres.schema", str, "MCPG_POSTGRES_SCHEMA"),
        Key("postgres.pool", int),
        Key("postgres.sslmode", str),
        Key("postgres.sslrootcert", str),
        Key("limits.invoke", float, "MCPG_INVOKE_TIMEOUT"),
        Key("limits.result", int, least=1),
        Key("serve.http", str, "", "--http"),
        Key("serve.allow_hosts", list, "", "--allow-host"),
        Key("serve.expose", str, "", "--expose", ("meta", "all")),
        Key("serve.graph_tools", bool, "", "--graph-tools"),
        Key("serve.max_bytes", int, "", "--max-bytes", least=2048),
        Key("serve.max_result_bytes", int, "", "--max-result-bytes", least=2048),
        Key("serve.requests", int, "", "--max-requests", least=1),
        Key("serve.sessions", int, "", "--max-sessions", least=1),
    )
}
"""Every setting by its name in files."""

PATHS = frozenset({"bundle", "store.path", "postgres.sslrootcert"})
"""Settings that hold a path, which a file gives relative to its own folder."""

SOURCES = "sources"
"""The list of sources in a file: a table for each, so it is neither a setting nor a section."""

SECTIONS = tuple(dict.fromkeys(name.partition(".")[0] for name in KEYS if "." in name))

POSTGRES_VARIABLE = "MCPG_POSTGRES"
KEY_VARIABLE = "MCPG_LLM_API_KEY"
FOREIGN_KEY_VARIABLE = "OPENAI_API_KEY"
FOREIGN_URL_VARIABLE = "OPENAI_BASE_URL"
TOKEN_VARIABLE = "MCPG_SERVE_TOKEN"  # noqa: S105 - the variable's name
SECRET_VARIABLES = {POSTGRES_VARIABLE, KEY_VARIABLE, FOREIGN_KEY_VARIABLE, TOKEN_VARIABLE}
"""Variables that may hold a secret: they are no settings, so that no file can say them."""

# What people take for settings, and which variable says it instead.
_SECRETS = {
    "dsn": POSTGRES_VARIABLE,
    "url": POSTGRES_VARIABLE,
    "host": POSTGRES_VARIABLE,
    "user": POSTGRES_VARIABLE,
    "password": POSTGRES_VARIABLE,
    "key": KEY_VARIABLE,
    "api_key": KEY_VARIABLE,
    "apikey": KEY_VARIABLE,
    "token": KEY_VARIABLE,
}


def check_value(key: Key, value: Any) -> Any:
    """Give the *value* of a file for *key*.

    Raises:
        UsageError: It is none that the setting can hold, or holds a password.
    """
    wanted, advice = _KINDS[key.kind]
    texts = value if isinstance(value, list) else [value]
    if any(isinstance(text, str) and holds_password(text) for text in texts):
        raise UsageError(
            f"{key.name!r} holds a password",
            remedy=f"take it out of the file, and set the variable {POSTGRES_VARIABLE} to the "
            f"database, or {KEY_VARIABLE} to the key",
        )
    is_no_list = key.kind is list and not all(isinstance(text, str) and text for text in texts)
    is_other = not isinstance(value, wanted) or isinstance(value, bool) != (key.kind is bool)
    if is_other or is_no_list:
        raise UsageError(f"{key.name!r} is {value!r}", remedy=f"give it {advice}")
    return _checked(key, value)


def read_value(key: Key, text: str) -> Any:
    """Give the value that *text* of the environment means for *key*.

    Raises:
        UsageError: It is none that the setting can hold.
    """
    try:
        value = _READERS[key.kind](text)
    except ValueError:
        advice = f"give it {_KINDS[key.kind][1]}"
        raise UsageError(f"{_shown(text)} is no {_NAMES[key.kind]}", remedy=advice) from None
    return _checked(key, value)


def holds_password(text: str) -> bool:
    """Say whether *text* is a connection string or an address with a password in it."""
    lower = text.casefold()
    user, is_with_user, _ = lower.partition("://")[2].partition("@")
    return "password=" in lower.replace(" ", "") or (bool(is_with_user) and ":" in user)


def unknown_key(name: str) -> UsageError:
    """Give the error for a key that is none."""
    section, _, last = name.rpartition(".")
    variable = _SECRETS.get(last.casefold())
    if variable and section == "serve":
        variable = TOKEN_VARIABLE
    if variable and (section == "postgres" or variable != POSTGRES_VARIABLE):
        remedy = f"set the variable {variable} instead: no file holds a secret"
    else:
        remedy = _advice(section, name)
    return UsageError(f"unknown key {name!r}", remedy=remedy)


def _advice(section: str, name: str) -> str:
    known = [key for key in KEYS if key.rpartition(".")[0] == section] if section else list(KEYS)
    near = difflib.get_close_matches(name, [*(known or KEYS), *SECTIONS, SOURCES], n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known keys are {', '.join(known or [*KEYS, SOURCES])}"


def _checked(key: Key, value: Any) -> Any:
    if key.choices and value not in key.choices:
        near = difflib.get_close_matches(str(value), key.choices, n=1)
        advice = f"did you mean {near[0]!r}? " if near else ""
        remedy = f"{advice}use {', '.join(key.choices)}"
        raise UsageError(f"{key.name!r} is {_shown(value)}", remedy=remedy)
    if key.least is not None and value < key.least:
        raise UsageError(f"{key.name!r} is {value}", remedy=f"give it {key.least:,} or more")
    # Not a number is above nothing, and nothing takes for ever.
    if key.kind is float and not 0 < value < float("inf"):
        raise UsageError(f"{key.name!r} is {value:g}", remedy=f"give it {_NUMBER}")
    return value


def _shown(text: str) -> str:
    return "a text with a password" if holds_password(text) else repr(text)


def _truth(text: str) -> bool:
    if text.casefold() in (*_TRUE, *_FALSE):
        return text.casefold() in _TRUE
    raise ValueError


_KINDS: dict[type, tuple[Any, str]] = {
    str: (str, "a text"),
    int: (int, "a whole number"),
    float: ((int, float), _NUMBER),
    bool: (bool, "true or false"),
    list: (list, 'a list of texts, as in ["one", "two"]'),
}
_NAMES: dict[type, str] = {int: "whole number", float: "number", bool: "yes or no"}
_READERS: dict[type, Callable[[str], Any]] = {str: str, int: int, float: float, bool: _truth}

# SECTION asking: How the servers among the sources are asked: options and environment.


_HEADER = re.compile(rf"({TCHAR}+):[ \t]*([^\r\n\0]*)")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
LONGEST = 86_400
"""Seconds that a server can have at most."""


class Asking:
    """The options that concern servers, checked.

    Attributes:
        asked: Whether a server was asked, so that nothing tells whether the sources are the same.
        seconds: Time that each server is said to have, `None` where nothing is said.
    """

    def __init__(
        self,
        sources: Sequence[str],
        headers: Sequence[str] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Check the options.

        Raises:
            UsageError: One makes no sense.
        """
        self.asked = False
        self._headers = _headers(sources, headers or ())
        if seconds is not None and not 0 < seconds <= LONGEST:
            raise UsageError(
                f"{seconds:g} is no time that a server can have",
                place="--server-timeout",
                remedy=f"give seconds above 0, up to {LONGEST}",
            )
        self.seconds = seconds

    def live(self, tell: Callable[[int, int], None] | None = None) -> Live:
        """Give what sources need to know; progress goes to *tell*."""
        from mcpg.sources.client_config import DEFAULT_TIMEOUT, Live  # noqa: PLC0415 - help does without

        def told(done: int, of: int) -> None:
            self.asked = True
            if tell is not None:
                tell(done, of)

        seconds = self.seconds or DEFAULT_TIMEOUT
        return Live(os.environ, self._headers, seconds, told, login_folder())


def _headers(sources: Sequence[str], headers: Sequence[str]) -> dict[str, str]:
    if not headers:
        return {}
    hosts = {source.split("/")[2] for source in sources if _ADDRESS.match(source)}
    if len(hosts) != 1:
        raise UsageError(
            "there must be one server for headers to be sent to",
            place="--header",
            remedy="name one https://HOST/PATH, or write several servers into a configuration",
        )
    found = [_HEADER.fullmatch(header) for header in headers]
    if None in found:
        raise UsageError(
            "this is no header",
            place="--header",
            remedy="write 'Name: value'; its value is not shown here",
        )
    return {one[1]: one[2].strip() for one in found if one is not None}
