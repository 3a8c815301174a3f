"""Layouts in which clients keep their servers, brought to the one of `mcpServers`.

Known are the members `mcpServers` (most clients; a list in Continue), `servers` and `mcp.servers`
(VS Code), `context_servers` (Zed), `projects` (Claude Code), `amp.mcpServers` (Amp), `mcp`
(OpenCode, Crush), `mcp_servers` (Codex) and `extensions` (Goose): in JSON with comments and
trailing commas, TOML or YAML.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from mcpg.catalog.json_text import parse_json_documents
from mcpg.errors import SourceError
from mcpg.json_types import JsonObject, JsonValue
from mcpg.library_errors import toml_reason
from mcpg.text.safeyaml import load_yaml
from mcpg.text.written_numbers import read_float

CLIENTS_OWN = "mcpServers"
"""The member by which a file is known as the configuration of a client, whatever it holds."""

_KEYS = (CLIENTS_OWN, "context_servers", "servers", "amp.mcpServers")
_MENTIONS = {
    ".toml": re.compile(r"^\s*\[\s*\"?mcp_servers\"?\s*[.\]]|^\s*mcp_servers\s*[.=]", re.MULTILINE),
    ".yaml": re.compile(r"^(?:mcpServers|extensions)\s*:", re.MULTILINE),
}
_MENTIONS[".yml"] = _MENTIONS[".yaml"]
_MENTIONS_IN_JSON = re.compile(r'"(?:(?:amp\.)?mcpServers|context_servers|servers|mcp)"\s*:')
# What is not closed is taken to its end, and kept: nobody has to look for its end again.
_STRING = r'"(?:[^"\\\n]++|\\.)*+"?'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/|(/\*.*)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)
# Continue fills in secrets of its user, which are variables in a file of its own.
_CONTINUE_SECRET = re.compile(r"\$\{\{\s*secrets\.([A-Za-z_]\w*)\s*\}\}")
_GOOSE_KINDS = {"stdio": "stdio", "sse": "sse", "streamable_http": "http"}
_OPENCODE_VARIABLE = re.compile(r"\{env:([A-Za-z_]\w*)\}")
_BARE_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
_GEMINI = ".gemini/settings.json"
# In seconds, by the ends of paths; in other files, the size of a timeout decides.
_UNITS = {
    _GEMINI: 0.001,
    ".copilot/mcp-config.json": 0.001,
    ".aws/amazonq/mcp.json": 0.001,
    "settings/cline_mcp_settings.json": 1,
    "settings/mcp_settings.json": 1,
    ".roo/mcp.json": 1,
}
_WORKSPACE = "${workspaceFolder}"
_EDITOR_FOLDERS = (".vscode", ".cursor", ".roo")


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
    return parse_json_documents(plain, place, repeated, read_float)[0]


def servers_in(value: JsonValue, environ: Mapping[str, str], place: str = "") -> JsonObject | None:
    """Return the entries of servers by their names, `None` where a configuration has none.

    Args:
        value: The configuration.
        environ: The environment, which may hold what an entry passes on if it is there.
        place: Its path, which may tell the client.
    """
    if not isinstance(value, dict):
        return None
    for layout in (_projects, _common, _opencode_or_crush, _codex, _goose):
        found = layout(value, environ)
        if found is not None:
            return {name: _at(place, entry, environ) for name, entry in found.items()}
    return None


def _at(place: str, entry: JsonValue, environ: Mapping[str, str]) -> JsonValue:
    """Return an *entry* of the file at *place* without what only the file's client can read."""
    normal = f"/{place.replace(os.sep, '/')}"
    client = next((end for end in _UNITS if normal.endswith(f"/{end}")), None)
    if client is not None and isinstance(entry, dict):
        entry = _with_timeout(entry, entry.get("timeout"), _UNITS[client])
    if client == _GEMINI:
        entry = _with_bare_variables(entry, environ)
    workspace = _workspace(place)
    return _map_texts(entry, lambda text: text.replace(_WORKSPACE, workspace))


def _workspace(place: str) -> str:
    """Return the folder for `${workspaceFolder}`, or that variable itself if it is not known.

    The settings of a user in the home folder are those of every workspace.
    """
    path = os.path.abspath(os.path.expanduser(place))  # noqa: PTH100, PTH111 - `Path` may raise
    folder, name = os.path.split(os.path.dirname(path))  # noqa: PTH120 - as above
    is_known = name in _EDITOR_FOLDERS and folder != os.path.expanduser("~")  # noqa: PTH111
    return folder if is_known else _WORKSPACE


def _with_timeout(entry: JsonObject, value: JsonValue, unit: float) -> JsonObject:
    """Return *entry* with a timeout of *value* units, each so many seconds.

    From 1,000 on, the member `timeout` is in milliseconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return entry
    seconds = value * unit
    return {**entry, "timeout": seconds * 1000 if seconds >= 1 else seconds}


def _with_bare_variables(entry: JsonValue, environ: Mapping[str, str]) -> JsonValue:
    """Return *entry* with `${NAME}` for each `$NAME` that is set."""

    def add_braces(found: re.Match[str]) -> str:
        return f"${{{found[1]}}}" if found[1] in environ else found[0]

    return _map_texts(entry, lambda text: _BARE_VARIABLE.sub(add_braces, text))


def _map_texts(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Return *value* with every text of it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(one, change) for one in value]
    if isinstance(value, dict):
        return {key: _map_texts(one, change) for key, one in value.items()}
    return value


def _suffix(place: str) -> str:
    return os.path.splitext(place)[1].casefold()  # noqa: PTH122 - a place need not be a path


def _toml(text: str, place: str) -> JsonValue:
    import tomllib  # noqa: PLC0415 - one client writes TOML

    try:
        value: JsonValue = tomllib.loads(text, parse_float=read_float)
    except (ValueError, RecursionError) as fault:
        problem, remedy, at = toml_reason(fault, text)
        message = f"invalid TOML: {problem}"
        raise SourceError(message, place=f"{place}:{at}", remedy=remedy) from None
    return value


def _common(value: JsonObject, _: Mapping[str, str]) -> JsonObject | None:
    inner = _table(value, "mcp")
    for holder in (value, inner):
        for key in _KEYS:
            found = holder.get(key)
            if isinstance(found, list):
                found = _by_name(found)
            # Others than clients may have members of the other names.
            if isinstance(found, dict) and (key == CLIENTS_OWN or _all_tables(found)):
                return _disable_excluded(found, inner.get("allowed"), inner.get("excluded"))
    return None


def _disable_excluded(servers: JsonObject, allowed: JsonValue, excluded: JsonValue) -> JsonObject:
    """Return *servers*, disabling those that a list of their client leaves out."""
    kept = allowed if isinstance(allowed, list) and allowed else [*servers]
    left_out = excluded if isinstance(excluded, list) else []
    return {
        name: {**entry, "disabled": True}
        if isinstance(entry, dict) and (name not in kept or name in left_out)
        else entry
        for name, entry in servers.items()
    }


def _by_name(entries: list[JsonValue]) -> JsonObject | None:
    """Return the entries of a list, as Continue keeps them, by their names."""
    if not entries or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in entries
    ):
        return None
    return {str(one["name"]): _of_continue(one) for one in entries if isinstance(one, dict)}


def _of_continue(entry: JsonObject) -> JsonValue:
    return _map_texts(entry, lambda text: _CONTINUE_SECRET.sub(r"${\1}", text))


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
    if not found:
        return None
    servers = {name: entry for one in found for name, entry in one.items()}
    return _disable_excluded(servers, None, own.get("disabledMcpServers"))


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


def _opencode_or_crush(value: JsonObject, environ: Mapping[str, str]) -> JsonObject | None:
    return _translate_entries(value.get("mcp"), lambda entry: _of_opencode_or_crush(entry, environ))


def disables_tools(value: JsonObject, servers: Iterable[str]) -> bool:
    """Return whether OpenCode disables tools of *servers*, whose names these begin with."""
    of_servers = ("*", *servers)
    return any(
        is_on is False and name.startswith(of_servers)
        for name, is_on in _table(value, "tools").items()
    )


def _of_opencode_or_crush(entry: JsonObject, environ: Mapping[str, str]) -> JsonObject | None:
    """Return an entry of OpenCode or Crush, whose types differ; `None` for no server."""
    kind, timeout = entry.get("type"), entry.get("timeout")
    if kind in ("stdio", "http", "sse"):
        found = _with_bare_variables(_with_timeout(entry, timeout, 1), environ)
        return found if isinstance(found, dict) else None
    if kind not in ("local", "remote"):
        return entry if {"command", "url"} & entry.keys() else None
    words = entry.get("command")
    command, *args = words if isinstance(words, list) and words else [words]
    given: JsonObject = {**entry, "command": command, "args": args, "env": entry.get("environment")}
    if isinstance(timeout, dict):
        timeout = timeout.get("request")
    # A variable that is not set is empty.
    return {
        key: _map_texts(one, lambda text: _OPENCODE_VARIABLE.sub(r"${\1:-}", text))
        for key, one in _with_timeout(given, timeout, 0.001).items()
    }


def _codex(value: JsonObject, environ: Mapping[str, str]) -> JsonObject | None:
    return _translate_entries(value.get("mcp_servers"), lambda entry: _of_codex(entry, environ))


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
    return _with_timeout(given, entry.get("tool_timeout_sec"), 1)


def _goose(value: JsonObject, _: Mapping[str, str]) -> JsonObject | None:
    return _translate_entries(value.get("extensions"), _of_goose)


def _of_goose(entry: JsonObject) -> JsonObject | None:
    """Return an entry of Goose; `None` for what is a part of Goose itself."""
    kind = _GOOSE_KINDS.get(str(entry.get("type")))
    if kind is None:
        return None
    secrets = entry.get("env_keys")
    names = secrets if isinstance(secrets, list) else []
    env: JsonObject = {name: f"${{{name}}}" for name in names if isinstance(name, str)}
    given: JsonObject = {"command": entry.get("cmd"), "url": entry.get("uri"), "type": kind}
    keys = ("args", "headers", "enabled", "available_tools")
    shared: JsonObject = {key: entry[key] for key in keys if key in entry}
    given = {**given, **shared, "env": env | _table(entry, "envs")}
    return _with_timeout(given, entry.get("timeout"), 1)


def _translate_entries(
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
