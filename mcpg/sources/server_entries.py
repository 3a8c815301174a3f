"""Entries of servers in configurations, and how mcpg is let in if they require OAuth."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from mcpg.catalog.json_text import parse_json_documents
from mcpg.errors import SourceError
from mcpg.text.json_values import JsonObject, JsonValue, read_float
from mcpg.text.library_errors import toml_reason
from mcpg.text.safeyaml import load_yaml

CLIENTS_OWN = "mcpServers"
"""The member that identifies a file as the configuration of a client, whatever its value."""

_KEYS = (CLIENTS_OWN, "context_servers", "servers", "amp.mcpServers")
_MENTIONS = {
    ".toml": re.compile(r"^\s*\[\s*\"?mcp_servers\"?\s*[.\]]|^\s*mcp_servers\s*[.=]", re.MULTILINE),
    ".yaml": re.compile(r"^(?:mcpServers|extensions)\s*:", re.MULTILINE),
}
_MENTIONS[".yml"] = _MENTIONS[".yaml"]
_MENTIONS_IN_JSON = re.compile(r'"(?:(?:amp\.)?mcpServers|context_servers|servers|mcp)"\s*:')
# Text that is not closed matches to its end, and is kept: its end is searched only once.
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
_OF_EDITORS = re.compile(r"\$\{(workspaceFolder(?:Basename)?|userHome|pathSeparator|/)\}")
_EDITOR_FOLDERS = (".vscode", ".cursor", ".roo")


def mentions_servers(text: str, place: str) -> bool:
    """Return whether a configuration seems to have a member for servers."""
    pattern = _MENTIONS.get(PurePath(place).suffix.casefold(), _MENTIONS_IN_JSON)
    return pattern.search(text) is not None


def parse_configuration(text: str, place: str, repeated: set[str]) -> JsonValue:
    """Parse the configuration of a client; *repeated* gets keys that repeat in an object."""
    suffix = PurePath(place).suffix.casefold()
    if suffix == ".toml":
        try:
            return tomllib.loads(text, parse_float=read_float)
        except (ValueError, RecursionError) as fault:
            problem, remedy, at = toml_reason(fault, text)
            message = f"invalid TOML: {problem}"
            raise SourceError(message, place=f"{place}:{at}", remedy=remedy) from None
    if suffix in _MENTIONS:
        return load_yaml(text, place, error=SourceError)
    return parse_json_documents(mask_comments(text), place, repeated, read_float)[0]


def mask_comments(text: str) -> str:
    """Return JSON with spaces for comments and trailing commas, so that places stay."""
    plain = _COMMENT.sub(
        lambda found: found[1] or found[2] or re.sub(r"[^\n]", " ", found[0]), text
    )
    return _TRAILING_COMMA.sub(lambda found: found[1] or " ", plain)


def servers_in(value: JsonValue, environ: Mapping[str, str], place: str = "") -> JsonObject | None:
    """Return the entries of servers by their names, `None` if a configuration has none.

    Entries may pass on values of the *environ*ment, and the file's *place* may show the client.
    """
    found = _find_entries(value, environ) if isinstance(value, dict) else None
    if found is None:
        return None
    normal = f"/{place.replace(os.sep, '/')}"
    client = next((end for end in _UNITS if normal.endswith(f"/{end}")), None)
    values = _find_editor_values(place)

    def fill_in(text: str) -> str:
        return _OF_EDITORS.sub(lambda one: values.get(one[1], one[0]), text)

    entries: JsonObject = {}
    for name, given in found.items():
        entry = given
        if client is not None and isinstance(given, dict):
            entry = _with_timeout(given, given.get("timeout"), _UNITS[client])
        if client == _GEMINI:
            entry = _with_bare_variables(entry, environ)
        entries[name] = _map_texts(entry, fill_in)
    return entries


def _find_editor_values(place: str) -> dict[str, str]:
    """Return the variables of editors; the workspace of a user's own file is the working folder.

    A working folder that contains the home folder is not a workspace: clients start programs there,
    and a server of files would get all of them.
    """
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path` may raise
    path = os.path.abspath(os.path.expanduser(place))  # noqa: PTH100, PTH111 - as above
    folder, name = os.path.split(os.path.dirname(path))  # noqa: PTH120 - as above
    if name not in _EDITOR_FOLDERS or folder == home:
        folder = os.getcwd()  # noqa: PTH109 - a text
    values = {"userHome": home, "pathSeparator": os.sep, "/": os.sep}
    if not PurePath(home).is_relative_to(folder):
        values |= {"workspaceFolder": folder, "workspaceFolderBasename": PurePath(folder).name}
    return values


def _find_entries(value: JsonObject, environ: Mapping[str, str]) -> JsonObject | None:
    found = _find_for_project(value)
    if found is None:
        found = _find_usual(value)
    for key, translate in _TRANSLATORS.items():
        entries = value.get(key)
        if found is None and isinstance(entries, dict):
            tables = {name: one for name, one in entries.items() if isinstance(one, dict)}
            if len(tables) == len(entries):
                own = {name: translate(one, environ) for name, one in tables.items()}
                found = {name: one for name, one in own.items() if one is not None} or None
    return found


def _find_for_project(value: JsonObject) -> JsonObject | None:
    """Return the servers of Claude Code, of the user and of the project around this folder.

    The project's servers come before others of the same name.
    """
    projects = value.get("projects")
    if not isinstance(projects, dict):
        return None
    here = Path.cwd()
    names = (name for one in (here, *here.parents) for name in (str(one), one.as_posix()))
    own = next((one for name in names if isinstance(one := projects.get(name), dict)), {})
    found = [one for one in (_find_usual(value), _find_usual(own)) if one is not None]
    if not found:
        return None
    servers = {name: entry for one in found for name, entry in one.items()}
    return _disable_excluded(servers, None, own.get("disabledMcpServers"))


def _find_usual(value: JsonObject) -> JsonObject | None:
    inner = _table(value, "mcp")
    for holder in (value, inner):
        for key in _KEYS:
            found = holder.get(key)
            if isinstance(found, list):
                found = _by_name(found)
            # Files of other programs may have members of the remaining names.
            if isinstance(found, dict) and (
                key == CLIENTS_OWN or all(isinstance(one, dict) for one in found.values())
            ):
                return _disable_excluded(found, inner.get("allowed"), inner.get("excluded"))
    return None


def _by_name(entries: list[JsonValue]) -> JsonObject | None:
    """Return the entries of a list, as Continue keeps them, by their names."""
    tables = [one for one in entries if isinstance(one, dict) and isinstance(one.get("name"), str)]
    if not entries or len(tables) < len(entries):
        return None
    return {
        str(one["name"]): _map_texts(one, lambda text: _CONTINUE_SECRET.sub(r"${\1}", text))
        for one in tables
    }


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


def _translate_opencode(entry: JsonObject, environ: Mapping[str, str]) -> JsonObject | None:
    """Return an entry of OpenCode or Crush, which name types differently; `None` for no server."""
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


def _translate_codex(entry: JsonObject, environ: Mapping[str, str]) -> JsonObject:
    """Return an entry of Codex, which names variables rather than referring to them."""
    headers = dict(_table(entry, "http_headers"))
    for name, variable in _table(entry, "env_http_headers").items():
        if isinstance(variable, str) and environ.get(variable):
            headers[name] = f"${{{variable}}}"
    token = entry.get("bearer_token_env_var")
    if isinstance(token, str):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    env = {name: one for name, one in _refer(entry, "env_vars").items() if name in environ}
    given = {**entry, "headers": headers, "env": env | _table(entry, "env")}
    return _with_timeout(given, entry.get("tool_timeout_sec"), 1)


def _translate_goose(entry: JsonObject, _: Mapping[str, str]) -> JsonObject | None:
    """Return an entry of Goose; `None` for a part of Goose itself."""
    kind = _GOOSE_KINDS.get(str(entry.get("type")))
    if kind is None:
        return None
    given: JsonObject = {"command": entry.get("cmd"), "url": entry.get("uri"), "type": kind}
    keys = ("args", "headers", "enabled", "available_tools")
    given |= {key: entry[key] for key in keys if key in entry}
    given["env"] = _refer(entry, "env_keys") | _table(entry, "envs")
    return _with_timeout(given, entry.get("timeout"), 1)


_TRANSLATORS: dict[str, Callable[[JsonObject, Mapping[str, str]], JsonObject | None]] = {
    "mcp": _translate_opencode,
    "mcp_servers": _translate_codex,
    "extensions": _translate_goose,
}


def _refer(entry: JsonObject, key: str) -> JsonObject:
    names = entry.get(key)
    listed = names if isinstance(names, list) else []
    return {name: f"${{{name}}}" for name in listed if isinstance(name, str)}


def _with_timeout(entry: JsonObject, value: JsonValue, unit: float) -> JsonObject:
    """Return *entry* with a timeout of *value* units, each so many seconds.

    From 1,000 on, the member `timeout` is in milliseconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return entry
    seconds = value * unit
    return {**entry, "timeout": seconds * 1000 if seconds >= 1 else seconds}


def _with_bare_variables(value: JsonValue, environ: Mapping[str, str]) -> JsonValue:
    return _map_texts(
        value,
        lambda text: _BARE_VARIABLE.sub(
            lambda found: f"${{{found[1]}}}" if found[1] in environ else found[0], text
        ),
    )


def _map_texts(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(one, change) for one in value]
    if isinstance(value, dict):
        return {key: _map_texts(one, change) for key, one in value.items()}
    return value


def _table(entry: JsonObject, key: str) -> JsonObject:
    found = entry.get(key)
    return found if isinstance(found, dict) else {}


AUTHORIZATION_CODE = "authorization_code"
"""The grant by which a person lets mcpg in, once, in a browser."""

CLIENT_CREDENTIALS = "client_credentials"
"""The grant by which mcpg lets itself in, with a secret or a private key of its own."""

JWT_BEARER = "jwt_bearer"
"""The grant by which mcpg presents an assertion of an identity provider (RFC 7523)."""

GRANTS = (AUTHORIZATION_CODE, CLIENT_CREDENTIALS, JWT_BEARER)

PRIVATE_KEY_JWT = "private_key_jwt"
"""The method by which a client signs assertions with a private key instead of a secret."""

METHODS = ("client_secret_basic", "client_secret_post", PRIVATE_KEY_JWT)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Algorithms of assertions signed with a private key, by their names in RFC 7518 and RFC 8037."""

_PRIVATE_KEY_MEMBERS = ("private_key", "private_key_file")
_ASSERTIONS = ("assertion", "assertion_file")


@dataclass(frozen=True, slots=True)
class OAuth:
    """How mcpg is let in to a server that requires OAuth; all but the grant may be empty.

    Attributes:
        client_id: The client as which mcpg is registered; empty when it registers itself.
        method: How the client authenticates, one of `METHODS`.
        issuer: The authorisation server to which the client belongs; empty for the origin of the
            server itself. A secret is sent to no other.
        redirect: The address on this machine that is registered for the client; a browser
            comes back to; empty for any port.
        private_key_file: The file that contains this key, in its place.
        assertion: The assertion that an identity provider has issued for the client.
        assertion_file: The file that contains this assertion, in its place.
    """

    grant: str = AUTHORIZATION_CODE
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    method: str = field(default=METHODS[0], repr=False)
    issuer: str = ""
    redirect: str = ""
    private_key: str = field(default="", repr=False)
    private_key_file: str = ""
    algorithm: str = ALGORITHMS[0]
    assertion: str = field(default="", repr=False)
    assertion_file: str = ""

    @property
    def has_key(self) -> bool:
        return bool(self.private_key or self.private_key_file)

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.client_secret, self.private_key, self.assertion


def find_problem(oauth: OAuth, quoted: Callable[[str], str]) -> tuple[str, str] | None:
    """Return message and remedy if fields of *oauth* are missing or contradict each other.

    *quoted* returns the name of a field as the configuration spells it.
    """
    for names in (("client_secret", *_PRIVATE_KEY_MEMBERS), _ASSERTIONS):
        given = [name for name in names if getattr(oauth, name)]
        if len(given) > 1:
            return f"has both {quoted(given[0])} and {quoted(given[1])}", "leave out one of them"
    for grant, names in ((CLIENT_CREDENTIALS, _PRIVATE_KEY_MEMBERS), (JWT_BEARER, _ASSERTIONS)):
        given = [name for name in names if getattr(oauth, name)]
        if given and oauth.grant != grant:
            return f"has {quoted(given[0])} without its grant", f"add the grant {grant}"
    if oauth.method == PRIVATE_KEY_JWT and oauth.grant != CLIENT_CREDENTIALS:
        remedy = f"add the grant {CLIENT_CREDENTIALS}"
        return f"has the method {PRIVATE_KEY_JWT} without its grant", remedy
    return _find_missing(oauth, quoted)


def _find_missing(oauth: OAuth, quoted: Callable[[str], str]) -> tuple[str, str] | None:
    if oauth.grant == CLIENT_CREDENTIALS:
        secret, key = quoted("client_secret"), quoted("private_key")
        if oauth.method == PRIVATE_KEY_JWT and not (oauth.client_id and oauth.has_key):
            return f"has no {quoted('client_id')} and {key}", f"{PRIVATE_KEY_JWT} needs both"
        if not (oauth.client_id and (oauth.client_secret or oauth.has_key)):
            remedy = f"the grant {CLIENT_CREDENTIALS} needs both, or {key} instead of the secret"
            return f"has no {quoted('client_id')} and {secret}", remedy
    if oauth.grant == JWT_BEARER:
        needed = ("client_id", "client_secret", "issuer")
        missing = [name for name in needed if not getattr(oauth, name)]
        if not (oauth.assertion or oauth.assertion_file):
            missing.append("assertion")
        if missing:
            return (
                f"has no {' and '.join(map(quoted, missing))}",
                f"the grant {JWT_BEARER} needs it",
            )
    return None


_SHOWN = {
    "assertionfile": "assertionFile",
    "authmethod": "authMethod",
    "clientid": "clientId",
    "clientsecret": "clientSecret",
    "privatekey": "privateKey",
    "privatekeyfile": "privateKeyFile",
    "redirecturi": "redirectUri",
}
_MOST_PORT = 65535
_OAUTH_MEMBERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "grant": (("grant", "granttype"), GRANTS),
    "client_id": (("clientid",), ()),
    "client_secret": (("clientsecret",), ()),
    "scope": (("scope",), ()),
    "method": (("authmethod", "tokenendpointauthmethod"), METHODS),
    "issuer": (("issuer",), ()),
    "redirect": (("redirecturi",), ()),
    "private_key": (("privatekey",), ()),
    "private_key_file": (("privatekeyfile",), ()),
    "algorithm": (("algorithm",), ALGORITHMS),
    "assertion": (("assertion",), ()),
    "assertion_file": (("assertionfile",), ()),
}
"""The members of `OAuth`: their plain names in configurations, and what they may be."""

_NEVER_WRITTEN = ("private_key", "assertion")
"""Secrets that must not be part of the file."""

_LONG_GRANTS = {"urn:ietf:params:oauth:grant_type:jwt_bearer": JWT_BEARER}
_OAUTH_REMEDY = "see the documentation of mcpg for its layout"


def read_oauth(
    entry: JsonObject, fill: Callable[[str], str], fail: Callable[[str, str], SourceError]
) -> OAuth | None:
    """Read how a server lets mcpg in; `None` when the entry configures no OAuth.

    Variables are filled in by *fill*, and errors made of message and remedy by *fail*.
    """
    said = entry.get("oauth", entry.get("auth"))
    if said is False:
        return None
    members = _plain(said if isinstance(said, dict) else {})
    if members.get("enabled") is False:
        return None
    flat = _plain(entry)
    beside = {key[5:]: value for key, value in flat.items() if key.startswith("oauth")}
    members = {**beside, **members}
    members.setdefault("scope", members.get("scopes"))
    given: dict[str, str] = {}
    for name in _OAUTH_MEMBERS:
        port = members.get("callbackport")
        if name != "redirect" or port is None:
            given[name] = _read_member(members, name, fill, fail)
        elif isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= _MOST_PORT:
            raise fail("the `callbackPort` of its `oauth` is not a port", "write a number")
        else:
            given[name] = f"http://localhost:{port}/callback"
    found = OAuth(**given)
    problem = find_problem(
        found, lambda name: f"`{_SHOWN.get(plain := name.replace('_', ''), plain)}`"
    )
    if problem is not None:
        raise fail(f"its `oauth` {problem[0]}", problem[1])
    return replace(found, method=PRIVATE_KEY_JWT) if found.has_key else found


def _plain(members: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return *members* by names without case, hyphens and underscores."""
    return {
        name.casefold().replace("_", "").replace("-", ""): value for name, value in members.items()
    }


def _read_member(
    members: Mapping[str, JsonValue],
    name: str,
    fill: Callable[[str], str],
    fail: Callable[[str, str], SourceError],
) -> str:
    keys, choices = _OAUTH_MEMBERS[name]
    shown = _SHOWN.get(keys[0], keys[0])
    written = next((members[key] for key in keys if members.get(key)), "")
    if name in _NEVER_WRITTEN and isinstance(written, str) and written and "${" not in written:
        remedy = f"write ${{NAME}} in its place, and set that variable, or use `{shown}File`"
        raise fail(f"the `{shown}` of its `oauth` contains a secret", remedy)
    words: list[str] = []
    for one in written if name == "scope" and isinstance(written, list) else [written]:
        if not isinstance(one, str):
            raise fail(f"the `{shown}` of its `oauth` is not a string", _OAUTH_REMEDY)
        words.append(fill(one))
    text = " ".join(words).strip()
    if not choices:
        return text
    text = text.replace("-", "_")
    text = _LONG_GRANTS.get(text, text) or choices[0]
    if text not in choices:
        message = f"the `{shown}` of its `oauth` is not a known value"
        raise fail(message, f"write {' or '.join(choices)}")
    return text
