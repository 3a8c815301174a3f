"""Names of the settings in files, in the environment and on the command line; the user's folders.

What each setting means and may hold is defined in `mcpg.cli.setting_models`. That imports pydantic,
which a run with a plain configuration can do without.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SettingKey:
    """Where a setting comes from.

    Attributes:
        name: Name in files: `section.key`, or `key` outside every section.
        variable: Environment variable, or empty.
        option: Command-line option, or empty.
        plain: Type of which every value is valid; `None` where only the models can tell.
        most: Of numbers from 1 on, the largest that is valid; 0 where all are.
        choices: Texts that alone are valid; empty where all are.
    """

    name: str
    variable: str = ""
    option: str = ""
    plain: type | None = None
    most: int = 0
    choices: tuple[str, ...] = ()

    @property
    def parameter(self) -> str:
        """Name of the option's value among the flags."""
        return self.option.removeprefix("--").replace("-", "_")

    def is_plain(self, held: Any) -> bool:
        """Return whether the value *held* is valid without a look at the models."""
        is_within = not self.most or (type(held) is int and 1 <= held <= self.most)
        return type(held) is self.plain and is_within and (not self.choices or held in self.choices)


_ANY = 1 << 62
_STRATEGIES = ("graph", "markdown-ld", "embeddings", "auto")

KEYS = {
    key.name: key
    for key in (
        SettingKey("bundle", "MCPG_BUNDLE", "--bundle", str),
        SettingKey("limit", "MCPG_LIMIT", "--limit", int, most=50),
        SettingKey("strategy", "MCPG_STRATEGY", "--strategy", str, choices=_STRATEGIES),
        SettingKey("fusion", "MCPG_FUSION", "--fusion", str, choices=("learned", "rrf")),
        SettingKey("candidates", "MCPG_CANDIDATES", "--candidates"),
        SettingKey("lexicon", "MCPG_LEXICON", "--lexicon", bool),
        SettingKey("embeddings.with", "MCPG_EMBED_WITH", "--embed-with", str),
        SettingKey("embeddings.url", "MCPG_EMBED_URL", plain=str),
        SettingKey("embeddings.dimensions", "MCPG_EMBED_DIMENSIONS", plain=int, most=_ANY),
        SettingKey("embeddings.timeout", "MCPG_EMBED_TIMEOUT"),
        SettingKey("normalization.enabled", "MCPG_NORMALIZE", "--normalize", bool),
        SettingKey("normalization.url", "MCPG_LLM_URL", plain=str),
        SettingKey("normalization.model", "MCPG_LLM_MODEL", plain=str),
        SettingKey("normalization.timeout", "MCPG_LLM_TIMEOUT"),
        SettingKey("cache.kind", "MCPG_SEARCH_CACHE"),
        SettingKey("cache.entries", plain=int, most=_ANY),
        SettingKey("cache.absolute"),
        SettingKey("cache.sliding"),
        SettingKey("store.kind", "MCPG_STORE"),
        SettingKey("store.path", "MCPG_STORE_PATH", plain=str),
        SettingKey("telemetry.enabled", "MCPG_TELEMETRY", plain=bool),
        SettingKey("telemetry.queries", "MCPG_TELEMETRY_QUERIES", plain=bool),
        SettingKey("postgres.schema", "MCPG_POSTGRES_SCHEMA", plain=str),
        SettingKey("postgres.pool", plain=int, most=_ANY),
        SettingKey("postgres.sslmode", plain=str),
        SettingKey("postgres.sslrootcert", plain=str),
        SettingKey("learn.output", plain=str),
        SettingKey("lint.select", plain=list),
        SettingKey("lint.ignore", plain=list),
        SettingKey("lint.tools", plain=dict),
        SettingKey("graph.base_iri", "MCPG_BASE_IRI", "--base-iri", plain=str),
        SettingKey("lock.file", "MCPG_LOCK", plain=str),
        SettingKey("lock.enforce", "MCPG_LOCKED", "--locked", bool),
        SettingKey("lock.on_change", plain=str, choices=("refuse", "warn", "hide")),
        SettingKey("limits.invoke", "MCPG_INVOKE_TIMEOUT", "--timeout"),
        SettingKey("limits.result"),
        SettingKey("limits.sessions"),
        SettingKey("limits.sessions_per_source"),
        SettingKey("limits.session_idle"),
        SettingKey("limits.relist"),
        SettingKey("limits.query_memory", "MCPG_QUERY_MEMORY", "--max-memory"),
        SettingKey("serve.http", option="--http", plain=str),
        SettingKey("serve.allow_hosts", option="--allow-host"),
        SettingKey("serve.expose", option="--expose"),
        SettingKey("serve.on_change", option="--on-change"),
        SettingKey("serve.graph_tools", option="--graph-tools", plain=bool),
        SettingKey("serve.max_bytes", option="--max-bytes"),
        SettingKey("serve.max_result_bytes", option="--max-result-bytes"),
        SettingKey("serve.requests", option="--max-requests"),
        SettingKey("serve.sessions", option="--max-sessions"),
        SettingKey("serve.answer_timeout", option="--answer-timeout"),
        SettingKey("serve.record_calls", option="--record-calls", plain=str),
    )
}
"""Every setting by its name in files."""

SECTIONS = tuple(dict.fromkeys(name.partition(".")[0] for name in KEYS if "." in name))

SOURCES = "sources"
"""The array of tables for the sources in a file; neither a setting nor a section."""

POSTGRES_VARIABLE = "MCPG_POSTGRES"
KEY_VARIABLE = "MCPG_LLM_API_KEY"
FOREIGN_KEY_VARIABLE = "OPENAI_API_KEY"
FOREIGN_URL_VARIABLE = "OPENAI_BASE_URL"
LOGIN_VARIABLE = "MCPG_TOKENS"
TOKEN_VARIABLE = "MCPG_SERVE_TOKEN"  # noqa: S105 - the variable's name
SECRET_VARIABLES = {POSTGRES_VARIABLE, KEY_VARIABLE, FOREIGN_KEY_VARIABLE, TOKEN_VARIABLE}
"""Variables that may hold a secret. They are no settings, so no file can set them."""


def holds_password(text: str) -> bool:
    """Return whether *text* is a connection string or an address with a password in it."""
    lower = text.casefold()
    user, is_with_user, _ = lower.partition("://")[2].partition("@")
    return "password=" in lower.replace(" ", "") or (bool(is_with_user) and ":" in user)


def may_be_key(name: str, text: str) -> bool:
    """Return whether *name* may stand in a TOML *text* as a key, or begin a broken line.

    That is looked at before the text is parsed, which takes longer.
    """
    after = (part.lstrip("\"' \t")[:1] for part in text.split(name)[1:])
    return any(sign in ".=]\r\n" for sign in after)


def cache_folder() -> str | None:
    """Return the user's cache folder for mcpg, which need not exist; `None` when there is none."""
    return os.environ.get("MCPG_CACHE") or _default_cache_folder()


def _default_cache_folder() -> str | None:
    if sys.platform == "win32":
        base, name = os.environ.get("LOCALAPPDATA", ""), "mcpg\\Cache"
    elif sys.platform == "darwin":
        base, name = os.path.expanduser("~/Library/Caches"), "mcpg"  # noqa: PTH111 - as below
    else:
        # By the XDG Base Directory Specification, a relative path counts as none.
        base, name = os.environ.get("XDG_CACHE_HOME", ""), "mcpg"
        if not os.path.isabs(base):  # noqa: PTH117 - pathlib costs a cold search more than this
            base = os.path.expanduser("~/.cache")  # noqa: PTH111 - as above
    return os.path.join(base, name) if os.path.isabs(base) else None  # noqa: PTH117, PTH118 - as above


def login_folder() -> str | None:
    """Return the user's folder for logins, which nothing empties; `None` when there is none."""
    base = os.environ.get(LOGIN_VARIABLE) or _default_login_folder()
    return os.path.abspath(base) if base else None  # noqa: PTH100 - as `cache_folder`


def _default_login_folder() -> str | None:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")  # noqa: PTH111 - as above
    else:
        # By the XDG Base Directory Specification, a relative path counts as none.
        base = os.environ.get("XDG_DATA_HOME", "")
        if not os.path.isabs(base):  # noqa: PTH117 - as above
            base = os.path.expanduser("~/.local/share")  # noqa: PTH111 - as above
    return os.path.join(base, "mcpg", "logins") if os.path.isabs(base) else None  # noqa: PTH117, PTH118 - as above


_LONGEST = 64 * 1024
_MOST_DIGITS = 9
_BLANK = " \t"
_ENDS = " \t,]#"
_LITERALS = {"true": True, "false": False}
# What a search by the graph alone does without.
_NEEDS_MORE = ("normalization.enabled", "telemetry.enabled")
_LEFT_IN_VARIABLES = ("fusion", "candidates", "lexicon", *_NEEDS_MORE)
_BY_GRAPH = ("graph", "markdown-ld")


class NotPlainError(Exception):
    """Settings that are left to `mcpg.cli.settings`."""


def plain_settings(file: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a plain search that the environment, or else a file, sets.

    Args:
        file: The path of an `mcpg.toml`, "" for none.
        environment: Environment variables.

    Raises:
        NotPlainError: Something is not plain, or asks for more than a plain search.
        OSError: The file cannot be read.
        ValueError: It is not UTF-8.
    """
    if any(environment.get(KEYS[name].variable) for name in _LEFT_IN_VARIABLES):
        raise NotPlainError
    found = _read(file) if file else {}
    found |= _of_environment(environment)
    if found.get("strategy", _BY_GRAPH[0]) not in _BY_GRAPH:
        raise NotPlainError
    return found


def _of_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("bundle", "strategy", "limit"):
        text = environment.get(KEYS[name].variable, "")
        if text:
            found[name] = _number(text) if KEYS[name].plain is int else text
    return found


def _read(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs more than the search
        data = file.read(_LONGEST + 1)
    values = plain_values(data.decode("utf-8-sig"))
    if any(values.get(name) for name in _NEEDS_MORE):
        raise NotPlainError
    read = ("limit", "strategy", "lexicon")
    found: dict[str, Any] = {name: values[name] for name in read if name in values}
    if "bundle" in values:
        found["bundle"] = os.path.join(os.path.dirname(path), values["bundle"])  # noqa: PTH118, PTH120 - as above
    return found


def plain_values(text: str) -> dict[str, Any]:
    """Return the settings in the *text* of a file by name, without its sources.

    Raises:
        NotPlainError: It is long, or not plain, or only the models can tell whether it is valid.
    """
    if len(text) > _LONGEST:
        raise NotPlainError
    values = read_plain_toml(text)
    for name, held in values.items():
        if name not in KEYS or not KEYS[name].is_plain(held):
            raise NotPlainError
        if isinstance(held, str) and holds_password(held):
            raise NotPlainError
    return values


def read_plain_toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML document by name, those of sections as `section.key`.

    The tables of `[[sources]]` are passed over.

    Raises:
        NotPlainError: There is anything but tables of settings and sources, and keys without
            quotes, each with a string, a whole number, a truth value, or a list of such, on one
            line and without escapes.
    """
    values: dict[str, Any] = {}
    section, known = "", {""}
    for line in text.replace("\r\n", "\n").split("\n"):
        bare = line.strip(_BLANK)
        if not bare.replace("\t", "").isprintable():
            raise NotPlainError
        if bare[:1] == "[":
            section = _header(bare)
            if section in known and section != SOURCES:
                raise NotPlainError
            known = {*known, section}
            held: set[str] = set()
        elif bare and bare[0] != "#":
            key, value = _statement(bare)
            name = f"{section}.{key}" if section else key
            held = held if section else set(values)
            if name in held or key in SECTIONS:
                raise NotPlainError
            held.add(name)
            if section != SOURCES:
                values[name] = value
    return values


def _header(line: str) -> str:
    """Return the name of the table that begins with a *line*: a section, or that of a source."""
    header = line.partition("#")[0].rstrip(_BLANK)
    if header == f"[[{SOURCES}]]":
        return SOURCES
    section = header[1:-1]
    if header[-1:] != "]" or section not in SECTIONS:
        raise NotPlainError
    return section


def _statement(line: str) -> tuple[str, Any]:
    key, _, rest = line.partition("=")
    key = key.rstrip(_BLANK)
    if not (key.isascii() and key.replace("_", "").isalnum()):
        raise NotPlainError
    value, rest = _value(rest)
    if rest and rest[0] != "#":
        raise NotPlainError
    return key, value


def _value(text: str) -> tuple[Any, str]:
    """Return the value that a *text* begins with, and what follows."""
    text = text.lstrip(_BLANK)
    quote = text[:1]
    if quote in ('"', "'"):
        value, closing, rest = text[1:].partition(quote)
        # Three quotation marks begin a text of several lines.
        if not closing or "\\" in value or (not value and rest[:1] == quote):
            raise NotPlainError
        return value, rest.lstrip(_BLANK)
    if quote == "[":
        return _list(text[1:].lstrip(_BLANK))
    end = min([place for place in map(text.find, _ENDS) if place >= 0], default=len(text))
    word, rest = text[:end], text[end:].lstrip(_BLANK)
    return (_LITERALS[word] if word in _LITERALS else _number(word)), rest


def _list(text: str) -> tuple[list[Any], str]:
    found = []
    while text[:1] != "]":
        if text[:1] == "[":
            raise NotPlainError
        value, text = _value(text)
        found.append(value)
        if text[:1] == ",":
            text = text[1:].lstrip(_BLANK)
        elif text[:1] != "]":
            raise NotPlainError
    return found, text[1:].lstrip(_BLANK)


def _number(text: str) -> int:
    """Return the whole number above 0 that *text* is, in digits alone."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and text[0] != "0"):
        raise NotPlainError
    return int(text)
