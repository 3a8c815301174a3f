"""Layouts in which clients keep their servers, brought to the one of `mcpServers`.

Known are the members `mcpServers` (most clients; a list in Continue), `servers` and `mcp.servers`
(VS Code), `context_servers` (Zed), `projects` (Claude Code), `mcp_servers` (Codex) and
`extensions` (Goose): in JSON with comments and trailing commas, TOML or YAML.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from mcpg.catalog.json_text import parse_json_documents
from mcpg.errors import SourceError
from mcpg.library_errors import toml_reason
from mcpg.text.safeyaml import load_yaml

if TYPE_CHECKING:
    from mcpg.json_types import JsonObject, JsonValue

CLIENTS_OWN = "mcpServers"
"""The member by which a file is known as the configuration of a client, whatever it holds."""

_KEYS = (CLIENTS_OWN, "context_servers", "servers")
_MENTIONS = {
    ".toml": re.compile(r"^\s*\[\s*\"?mcp_servers\"?\s*[.\]]|^\s*mcp_servers\s*[.=]", re.MULTILINE),
    ".yaml": re.compile(r"^(?:mcpServers|extensions)\s*:", re.MULTILINE),
}
_MENTIONS[".yml"] = _MENTIONS[".yaml"]
_MENTIONS_IN_JSON = re.compile(r'"(?:mcpServers|context_servers|servers)"\s*:')
# What is not closed is taken to its end, and kept: nobody has to look for its end again.
_STRING = r'"(?:[^"\\\n]++|\\.)*+"?'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/|(/\*.*)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)
# Continue fills in secrets of its user, which are variables in a file of its own.
_CONTINUE_SECRET = re.compile(r"\$\{\{\s*secrets\.([A-Za-z_]\w*)\s*\}\}")
_GOOSE_KINDS = {"stdio": "stdio", "sse": "sse", "streamable_http": "http"}


def mentions_servers(text: str, place: str) -> bool:
    """Return whether a configuration seems to have a member for servers."""
    pattern = _MENTIONS.get(_suffix(place), _MENTIONS_IN_JSON)
    return pattern.search(text) is not None


def parse_configuration(text: str, place: str, repeated: set[str]) -> JsonValue:
    """Parse the configuration of a client.

    Args:
        text: The whole file.
        place: Its path, whose ending tells TOML and YAML from JSON.
        repeated: Gets every key that stands more than once in one object of JSON.

    Raises:
        SourceError: The file is broken.
    """
    suffix = _suffix(place)
    if suffix == ".toml":
        return _toml(text, place)
    if suffix in _MENTIONS:
        return load_yaml(text, place, error=SourceError)
    # Comments and trailing commas become spaces, so that places stay.
    plain = _COMMENT.sub(
        lambda found: found[1] or found[2] or re.sub(r"[^\n]", " ", found[0]), text
    )
    plain = _TRAILING_COMMA.sub(lambda found: found[1] or " ", plain)
    return parse_json_documents(plain, place, repeated)[0]


def servers_in(value: JsonValue, environ: Mapping[str, str]) -> JsonObject | None:
    """Return the entries of servers by their names, `None` where a configuration has none.

    Args:
        value: The configuration.
        environ: The environment, which may hold what an entry passes on if it is there.
    """
    if not isinstance(value, dict):
        return None
    for layout in (_projects, _common, _codex, _goose):
        found = layout(value, environ)
        if found is not None:
            return found
    return None


def _suffix(place: str) -> str:
    return os.path.splitext(place)[1].casefold()  # noqa: PTH122 - a place need not be a path


def _toml(text: str, place: str) -> JsonValue:
    import tomllib  # noqa: PLC0415 - one client writes TOML

    try:
        value: JsonValue = tomllib.loads(text)
    except (ValueError, RecursionError) as fault:
        problem, remedy, at = toml_reason(fault, text)
        message = f"invalid TOML: {problem}"
        raise SourceError(message, place=f"{place}:{at}", remedy=remedy) from None
    return value


def _common(value: JsonObject, _: Mapping[str, str]) -> JsonObject | None:
    inner = value.get("mcp")
    for holder in (value, inner if isinstance(inner, dict) else {}):
        for key in _KEYS:
            found = holder.get(key)
            if isinstance(found, list):
                found = _by_name(found)
            # Others than clients may have members of the other names.
            if isinstance(found, dict) and (key == CLIENTS_OWN or _all_tables(found)):
                return found
    return None


def _by_name(entries: list[JsonValue]) -> JsonObject | None:
    """Return the entries of a list, as Continue keeps them, by their names."""
    if not entries or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in entries
    ):
        return None
    return {str(one["name"]): _with_variables(one) for one in entries if isinstance(one, dict)}


def _with_variables(value: JsonValue) -> JsonValue:
    """Return *value* with variables of the environment in the place of secrets of Continue."""
    if isinstance(value, str):
        return _CONTINUE_SECRET.sub(r"${\1}", value)
    if isinstance(value, list):
        return [_with_variables(one) for one in value]
    if isinstance(value, dict):
        return {key: _with_variables(one) for key, one in value.items()}
    return value


def _projects(value: JsonObject, environ: Mapping[str, str]) -> JsonObject | None:
    """Return the servers of Claude Code: those of the user, and of the project around this folder.

    Those of the project come before others of the same name.
    """
    projects = value.get("projects")
    if not isinstance(projects, dict):
        return None
    ours = (projects[one] for one in _folders_from(os.getcwd()) if one in projects)  # noqa: PTH109
    own = next((one for one in ours if isinstance(one, dict)), {})
    found = [one for one in (_common(value, environ), _common(own, environ)) if one is not None]
    return {name: entry for one in found for name, entry in one.items()} if found else None


def _folders_from(folder: str) -> Iterator[str]:
    """Yield *folder* and those above it, as Claude Code writes them."""
    while True:
        yield folder
        if os.sep != "/":
            yield folder.replace(os.sep, "/")
        parent = os.path.dirname(folder)  # noqa: PTH120 - a text stays
        if parent == folder:
            return
        folder = parent


def _codex(value: JsonObject, environ: Mapping[str, str]) -> JsonObject | None:
    return _translated(value.get("mcp_servers"), lambda entry: _of_codex(entry, environ))


def _of_codex(entry: JsonObject, environ: Mapping[str, str]) -> JsonObject:
    """Return an entry of Codex, which names variables rather than referring to them."""
    headers = dict(_table(entry, "http_headers"))
    for name, variable in _table(entry, "env_http_headers").items():
        if isinstance(variable, str) and environ.get(variable):
            headers[name] = f"${{{variable}}}"
    token = entry.get("bearer_token_env_var")
    if isinstance(token, str):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    passed = entry.get("env_vars")
    names = passed if isinstance(passed, list) else []
    env: JsonObject = {
        name: f"${{{name}}}" for name in names if isinstance(name, str) and name in environ
    }
    given = {**entry, "headers": headers, "env": env | _table(entry, "env")}
    seconds = entry.get("tool_timeout_sec")
    return given if seconds is None else {**given, "timeout": seconds}


def _goose(value: JsonObject, _: Mapping[str, str]) -> JsonObject | None:
    return _translated(value.get("extensions"), _of_goose)


def _of_goose(entry: JsonObject) -> JsonObject | None:
    """Return an entry of Goose; `None` for what is a part of Goose itself."""
    kind = _GOOSE_KINDS.get(str(entry.get("type")))
    if kind is None:
        return None
    secrets = entry.get("env_keys")
    names = secrets if isinstance(secrets, list) else []
    env: JsonObject = {name: f"${{{name}}}" for name in names if isinstance(name, str)}
    given: JsonObject = {"command": entry.get("cmd"), "url": entry.get("uri"), "type": kind}
    shared: JsonObject = {
        key: entry[key] for key in ("args", "headers", "enabled", "timeout") if key in entry
    }
    return {**given, **shared, "env": env | _table(entry, "envs")}


def _translated(
    entries: JsonValue, translate: Callable[[JsonObject], JsonObject | None]
) -> JsonObject | None:
    if not isinstance(entries, dict) or not _all_tables(entries):
        return None
    found = {name: translate(one) for name, one in entries.items() if isinstance(one, dict)}
    return {name: one for name, one in found.items() if one is not None} or None


def _all_tables(entries: JsonObject) -> bool:
    return all(isinstance(one, dict) for one in entries.values())


def _table(entry: JsonObject, key: str) -> JsonObject:
    found = entry.get(key)
    return found if isinstance(found, dict) else {}
