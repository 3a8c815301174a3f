"""Names of the settings in files, in the environment and on the command line; the user's folders.

`mcpg.cli.setting_models` defines the meaning and the values of settings. It imports pydantic,
which a run with a plain configuration does not need.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class SettingKey(NamedTuple):
    """The places that a setting comes from.

    Attributes:
        name: Name in files: `section.key`, or `key` outside every section.
        variable: Environment variable, or empty.
        option: Command-line option, or empty.
        plain: Type of which every value is valid; `None` if only the models can check values.
        most: Of numbers from 1 on, the largest that is valid; 0 if all are.
        choices: The only valid texts; empty if all are.
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
        """Return whether the value *held* is valid without a check by the models."""
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
        SettingKey("fusion", "MCPG_FUSION", "--fusion", str, choices=("cosine", "learned", "rrf")),
        SettingKey("candidates", "MCPG_CANDIDATES", "--candidates"),
        SettingKey("lexicon", "MCPG_LEXICON", "--lexicon", bool),
        SettingKey("generated_hints", "MCPG_GENERATED_HINTS", "--generated-hints", bool),
        SettingKey("embeddings.provider", "MCPG_EMBED_WITH", "--embed-with", str),
        SettingKey("embeddings.url", "MCPG_EMBED_URL", plain=str),
        SettingKey("embeddings.dimensions", "MCPG_EMBED_DIMENSIONS", plain=int, most=_ANY),
        SettingKey("embeddings.timeout", "MCPG_EMBED_TIMEOUT"),
        SettingKey("rewrite.enabled", "MCPG_REWRITE", "--rewrite", bool),
        SettingKey("rewrite.url", "MCPG_LLM_URL", plain=str),
        SettingKey("rewrite.model", "MCPG_LLM_MODEL", plain=str),
        SettingKey("rewrite.timeout", "MCPG_LLM_TIMEOUT"),
        SettingKey("rerank.enabled", "MCPG_RERANK", "--rerank", bool),
        SettingKey("rerank.model", plain=str),
        SettingKey("enrich.model", "MCPG_ENRICH_MODEL", "--model", str),
        SettingKey("enrich.url", "MCPG_ENRICH_URL", plain=str),
        SettingKey("enrich.timeout", "MCPG_ENRICH_TIMEOUT"),
        SettingKey("enrich.languages", option="--language", plain=list),
        SettingKey("enrich.exclude", option="--exclude", plain=list),
        SettingKey("enrich.input_price"),
        SettingKey("enrich.output_price"),
        SettingKey("cache.kind", "MCPG_SEARCH_CACHE"),
        SettingKey("cache.entries", plain=int, most=_ANY),
        SettingKey("cache.max_age"),
        SettingKey("cache.idle_timeout"),
        SettingKey("store.kind", "MCPG_EMBEDDING_STORE"),
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
        SettingKey("ask.strategy", plain=str, choices=_STRATEGIES),
        SettingKey("ask.weights"),
        SettingKey("ask.patterns"),
        SettingKey("graph.base_iri", "MCPG_BASE_IRI", "--base-iri", plain=str),
        SettingKey("lock.file", "MCPG_LOCK", plain=str),
        SettingKey("lock.enforce", "MCPG_LOCKED", "--locked", bool),
        SettingKey("lock.on_change", plain=str, choices=("fail", "warn", "hide")),
        SettingKey("limits.invoke_timeout", "MCPG_INVOKE_TIMEOUT", "--timeout"),
        SettingKey("limits.result_bytes"),
        SettingKey("limits.sessions"),
        SettingKey("limits.sessions_per_source"),
        SettingKey("limits.session_idle_timeout"),
        SettingKey("limits.relist_interval"),
        SettingKey("limits.query_memory_bytes", "MCPG_QUERY_MEMORY", "--max-memory"),
        SettingKey("serve.http", option="--http", plain=str),
        SettingKey("serve.allow_hosts", option="--allow-host"),
        SettingKey("serve.view", option="--view", plain=str),
        SettingKey("serve.pin", option="--pin"),
        SettingKey("serve.about", option="--about", plain=str),
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

VIEWS = "views"
"""The table of tables for the views in a file; neither a setting nor a section."""

POSTGRES_VARIABLE = "MCPG_POSTGRES"
KEY_VARIABLE = "MCPG_LLM_API_KEY"
FOREIGN_KEY_VARIABLE = "OPENAI_API_KEY"
FOREIGN_URL_VARIABLE = "OPENAI_BASE_URL"
LOGIN_VARIABLE = "MCPG_LOGIN_DIR"
TOKEN_VARIABLE = "MCPG_SERVE_TOKEN"  # noqa: S105 - the variable's name
SECRET_VARIABLES = {POSTGRES_VARIABLE, KEY_VARIABLE, FOREIGN_KEY_VARIABLE, TOKEN_VARIABLE}
"""Variables that may contain a secret. They are not settings, so no file can set them."""


def holds_password(text: str) -> bool:
    """Return whether *text* is a connection string or an address with a password in it."""
    lower = text.casefold()
    user, is_with_user, _ = lower.partition("://")[2].partition("@")
    return "password=" in lower.replace(" ", "") or (bool(is_with_user) and ":" in user)


def may_be_key(name: str, text: str) -> bool:
    """Return whether *name* may be a key in a TOML *text*, or begin a broken line.

    This check comes before the text is parsed, which takes longer.
    """
    after = (part.lstrip("\"' \t")[:1] for part in text.split(name)[1:])
    return any(sign in ".=]\r\n" for sign in after)


def cache_folder() -> str | None:
    """Return the user's cache folder for mcpg, which need not exist; `None` when there is none."""
    named = os.environ.get("MCPG_CACHE_DIR")
    base = None if named else _find_base("~/Library/Caches", "XDG_CACHE_HOME", "~/.cache")
    name = "mcpg\\Cache" if sys.platform == "win32" else "mcpg"
    return str(base / name) if base else named or None


def login_folder() -> str | None:
    """Return the user's folder for logins, which mcpg does not empty; `None` for none."""
    if named := os.environ.get(LOGIN_VARIABLE):
        return os.path.abspath(named)  # noqa: PTH100 - `Path.absolute` keeps `..`
    base = _find_base("~/Library/Application Support", "XDG_DATA_HOME", "~/.local/share")
    return str(base / "mcpg" / "logins") if base else None


def _find_base(mac: str, variable: str, other: str) -> Path | None:
    """Return the platform's folder for data of programs: on Windows, on a *mac*, or elsewhere."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser(mac)  # noqa: PTH111 - `Path` may raise
    else:
        # By the XDG Base Directory Specification, a relative path counts as none.
        base = os.environ.get(variable, "")
        if not Path(base).is_absolute():
            base = os.path.expanduser(other)  # noqa: PTH111 - as above
    return Path(base) if Path(base).is_absolute() else None


_LONGEST = 64 * 1024
_MOST_DIGITS = 9
# Settings that a search only by the graph does not need.
_NEEDS_MORE = ("rewrite.enabled", "rerank.enabled", "telemetry.enabled")
_LEFT_IN_VARIABLES = ("fusion", "candidates", "lexicon", *_NEEDS_MORE)
_BY_GRAPH = ("graph", "markdown-ld")


class NotPlainError(Exception):
    """Settings that are left to `mcpg.cli.settings`."""


def plain_settings(file: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a plain search that the environment, or else a file, sets.

    Raises:
        NotPlainError: Something is not plain, or needs more than a plain search.
        OSError: The file cannot be read.
        ValueError: It is not TOML.
    """
    if any(environment.get(KEYS[name].variable) for name in _LEFT_IN_VARIABLES):
        raise NotPlainError
    found = _read_plain_file(Path(file)) if file else {}
    for name in ("bundle", "strategy", "limit"):
        if text := environment.get(KEYS[name].variable, ""):
            found[name] = _read_number(text) if name == "limit" else text
    if found.get("strategy", _BY_GRAPH[0]) not in _BY_GRAPH:
        raise NotPlainError
    return found


def _read_plain_file(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most searches have no file

    with path.open("rb") as file:
        text = file.read(_LONGEST + 1).decode("utf-8-sig")
    if len(text) > _LONGEST:
        raise NotPlainError
    table = tomllib.loads(text)
    for name in (SOURCES, VIEWS):
        table.pop(name, None)
    values = flatten_sections(table)
    for name, held in values.items():
        is_plain = name in KEYS and KEYS[name].is_plain(held)
        if not is_plain or (isinstance(held, str) and holds_password(held)):
            raise NotPlainError
    if any(values.get(name) for name in _NEEDS_MORE):
        raise NotPlainError
    found: dict[str, Any] = {
        name: values[name] for name in ("limit", "strategy", "lexicon") if name in values
    }
    if "bundle" in values:
        found["bundle"] = str(path.parent / values["bundle"])
    return found


def _read_number(text: str) -> int:
    """Return *text* as a whole number above 0, if it has only digits."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and text[0] != "0"):
        raise NotPlainError
    return int(text)


def flatten_sections(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of *table* and of the sections in it by name."""
    flat: dict[str, Any] = {}
    for key, held in table.items():
        if key in SECTIONS and isinstance(held, dict):
            flat |= {f"{key}.{inner}": one for inner, one in held.items()}
        else:
            flat[key] = held
    return flat


def relative_path(path: str) -> str:
    """Return *path* relative to the working folder, if possible."""
    try:
        return os.path.relpath(path)
    except ValueError:  # on another drive
        return path
