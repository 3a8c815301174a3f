"""Names of the settings in files, in the environment and on the command line.

What each means and may hold is defined in `mcpg.cli.setting_models`. That imports pydantic, which a
run with a plain configuration can do without.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Key(NamedTuple):
    """Where a setting comes from.

    Attributes:
        name: Name in files: `section.key`, or `key` outside every section.
        variable: Environment variable, or empty.
        option: Command-line option, or empty.
        plain: Type of which every value is valid; `None` where only the models can tell.
    """

    name: str
    variable: str = ""
    option: str = ""
    plain: type | None = None

    @property
    def parameter(self) -> str:
        """Name of the option's value among the flags."""
        return self.option.removeprefix("--").replace("-", "_")

    def is_plain(self, value: Any) -> bool:
        """Return whether *value* is valid without a look at the models."""
        return type(value) is self.plain


KEYS = {
    key.name: key
    for key in (
        Key("bundle", "MCPG_BUNDLE", "--bundle", str),
        Key("limit", "MCPG_LIMIT", "--limit", int),
        Key("strategy", "MCPG_STRATEGY", "--strategy", str),
        Key("fusion", "MCPG_FUSION", "--fusion", str),
        Key("candidates", "MCPG_CANDIDATES", "--candidates"),
        Key("embeddings.with", "MCPG_EMBED_WITH", "--embed-with", str),
        Key("embeddings.url", "MCPG_EMBED_URL", plain=str),
        Key("embeddings.dimensions", "MCPG_EMBED_DIMENSIONS", plain=int),
        Key("embeddings.timeout", "MCPG_EMBED_TIMEOUT"),
        Key("normalization.enabled", "MCPG_NORMALIZE", "--normalize", bool),
        Key("normalization.url", "MCPG_LLM_URL", plain=str),
        Key("normalization.model", "MCPG_LLM_MODEL", plain=str),
        Key("normalization.timeout", "MCPG_LLM_TIMEOUT"),
        Key("cache.kind", "MCPG_SEARCH_CACHE"),
        Key("cache.entries", plain=int),
        Key("cache.absolute"),
        Key("cache.sliding"),
        Key("store.kind", "MCPG_STORE"),
        Key("store.path", "MCPG_STORE_PATH", plain=str),
        Key("telemetry.enabled", "MCPG_TELEMETRY", plain=bool),
        Key("telemetry.queries", "MCPG_TELEMETRY_QUERIES", plain=bool),
        Key("postgres.schema", "MCPG_POSTGRES_SCHEMA", plain=str),
        Key("postgres.pool", plain=int),
        Key("postgres.sslmode", plain=str),
        Key("postgres.sslrootcert", plain=str),
        Key("limits.invoke", "MCPG_INVOKE_TIMEOUT"),
        Key("limits.result"),
        Key("serve.http", option="--http", plain=str),
        Key("serve.allow_hosts", option="--allow-host"),
        Key("serve.expose", option="--expose"),
        Key("serve.graph_tools", option="--graph-tools", plain=bool),
        Key("serve.max_bytes", option="--max-bytes"),
        Key("serve.max_result_bytes", option="--max-result-bytes"),
        Key("serve.requests", option="--max-requests"),
        Key("serve.sessions", option="--max-sessions"),
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
TOKEN_VARIABLE = "MCPG_SERVE_TOKEN"  # noqa: S105 - the variable's name
SECRET_VARIABLES = {POSTGRES_VARIABLE, KEY_VARIABLE, FOREIGN_KEY_VARIABLE, TOKEN_VARIABLE}
"""Variables that may hold a secret. They are no settings, so no file can set them."""


def holds_password(text: str) -> bool:
    """Return whether *text* is a connection string or an address with a password in it."""
    lower = text.casefold()
    user, is_with_user, _ = lower.partition("://")[2].partition("@")
    return "password=" in lower.replace(" ", "") or (bool(is_with_user) and ":" in user)
