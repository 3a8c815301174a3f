"""Names of the settings in files, in the environment and on the command line; the user's folders.

What each setting means and may hold is defined in `mcpg.cli.setting_models`. That imports pydantic,
which a run with a plain configuration can do without.
"""

from __future__ import annotations

import os
import sys
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
