"""Configuration files of desktop and editor clients: which servers they name.

`mcpg.sources.server_entries` reads the entries of each client.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain, pairwise
from pathlib import PurePath
from typing import Any, Literal
from urllib.parse import unquote

from mcpg.errors import Code, Diagnostic, SourceError, UsageError, error, info, warning
from mcpg.net.addresses import split_address
from mcpg.sources.client_inputs import AskUser, InputValues, find_inputs
from mcpg.sources.server_entries import (
    CLIENTS_OWN,
    OAuth,
    mentions_servers,
    parse_configuration,
    read_oauth,
    servers_in,
)
from mcpg.text.json_values import JsonObject, JsonValue

DEFAULT_TIMEOUT = 30.0
"""Timeout of a server in seconds, from its start to its last page of tools."""

MAX_TIMEOUT = 86_400
"""The longest timeout of a server in seconds."""

SessionSetting = Literal["client", "shared"]
"""Whether each client session has a connection to a server of its own, or all share one."""

SESSION_SETTINGS: tuple[SessionSetting, ...] = ("client", "shared")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Configured:
    """The common attributes of programs and addresses.

    Attributes:
        secrets: Texts to remove from the server's descriptions of its tools.
        timeout: Seconds for a call without progress, `None` for the default.
        trust_hints: Whether its lists of hints count as the operator's.
        sessions: `client` for a connection for each client session, `shared` for one of all,
            `None` for what `mcpg.sources.registry` finds.
        variables: The environment variables that were filled in, with their values.
        included: The only tools that are used, by names or globs; none for all.
        excluded: Tools that are not used, whether or not they are *included*.
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    timeout: float | None = None
    trust_hints: bool = False
    sessions: SessionSetting | None = None
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    included: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def uses_tool(self, name: str) -> bool:
        """Return whether the tool that the server calls *name* is used."""
        is_included = not self.included or _is_named(name, self.included)
        return is_included and not _is_named(name, self.excluded)


def _is_named(name: str, patterns: Sequence[str]) -> bool:
    return name in patterns or any(fnmatchcase(name, one) for one in patterns)


@dataclass(frozen=True, slots=True)
class StdioServer(_Configured):
    """A server that is a program, spoken to over its standard input and output.

    Its repr leaves out all values that may contain a secret.

    Attributes:
        place: How messages name it; contains no secret.
        name: The source id of its tools; `None` for the server's own name.
        env: Environment variables beside the few that every server gets.
        cwd: The folder in which it runs, or `None` for the present one.
    """

    place: str
    name: str | None
    command: str = field(repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = field(default=None, repr=False)

    @property
    def named_secrets(self) -> tuple[str, ...]:
        """Texts that a name marks as secret."""
        return named_secrets(self.env, self.args) + named_secrets(self.variables)


@dataclass(frozen=True, slots=True)
class HttpServer(_Configured):
    """A server at an address, named as a `StdioServer`.

    Attributes:
        is_sse: Whether it speaks the older transport of two addresses.
        oauth: How mcpg is let in if the server requires OAuth; `None` for not at all.
    """

    place: str
    name: str | None
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_sse: bool = False
    oauth: OAuth | None = OAuth()  # noqa: RUF009 - frozen

    @property
    def named_secrets(self) -> tuple[str, ...]:
        """Texts that a name marks as secret."""
        own = self.oauth.secrets if self.oauth is not None else ()
        return (*named_secrets(self.headers, (self.url,)), *named_secrets(self.variables), *own)

    @property
    def has_key(self) -> bool:
        """Whether its headers let mcpg in already, so that no OAuth is needed."""
        return any(name.casefold() == "authorization" for name in self.headers)

    def login_with(self, scope: str = "") -> str:
        """Return the command by which a person logs in to it with *scope*, empty for the usual."""
        file, _, name = self.place.rpartition(": ")
        options = ["--scope", scope] if scope else []
        if not file:
            # The address may contain a key.
            return f"`{shlex.join(['mcpg', 'login', *options])}` with its address"
        words = [name] if PurePath(file).name in _OUR_FILES else [name, file]
        return f"`{shlex.join(['mcpg', 'login', *words, *options])}`"


_OUR_FILES = ("mcpg.toml", "pyproject.toml")
Server = StdioServer | HttpServer


def find_secrets(url: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the possible secrets of an address and its headers, also without `Bearer` before."""
    values = tuple(headers.values())
    return (url, *secrets_in([url]), *values, *(word for one in values for word in one.split()))


# A name, and the characters between it and its value.
_NAME = re.compile(
    r"(?<![\w.-])([\w.-]++)[\"']?\s*+[=:]\s*+[\"']?(?:(?:bearer|basic|token)\s++)?", re.IGNORECASE
)
_VALUE = re.compile(r"[^\s\"'&;,]{1,500}")
# The end of a name such as `--api-key`, `GITHUB_TOKEN`, `X-Auth-Token` or `password`.
_OF_A_SECRET = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|passphrase|authorization|credential"
    r"|(?<![a-z])(?:pwd|pat|auth))s?\Z",
    re.IGNORECASE,
)
# Values of switches, such as `REQUIRE_AUTH`.
_FLAGS = frozenset(("true", "false", "none", "null"))
_OF_A_USER = re.compile(r"://[^\s/@:]{0,200}:([^\s/@]{1,500})@")


def secrets_in(args: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that may be secret in the arguments of a program, or in an address.

    These are the value of an option, a variable, a header or a part of a query with the name of
    a secret, and the password of a user before a host.
    """
    named = ((one, name) for one in args for name in _NAME.finditer(one) if _is_secret(name[1]))
    return (
        *(found[0] for one, name in named if (found := _VALUE.match(one, name.end()))),
        *(value for name, value in pairwise(args) if name.startswith("-") and _is_secret(name)),
        *(password for one in args for password in _OF_A_USER.findall(one)),
    )


def named_secrets(given: Mapping[str, str], words: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the texts that a name marks as secret, even if they are a part of another text."""
    stated = (f"{name}={value}" for name, value in given.items())
    whole = (value for name, value in given.items() if _is_secret(name))
    found = (*whole, *secrets_in([*words, *stated]))
    return tuple(one for one in (*found, *map(unquote, found)) if one.casefold() not in _FLAGS)


def _is_secret(name: str) -> bool:
    return _OF_A_SECRET.search(name[-20:]) is not None


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """How servers are queried.

    Attributes:
        timeout: Seconds that each server has, above 0.
        told: Gets how many servers are done, and of how many.
        tokens: The folder in which logins are kept, `None` when there are none.
        listings: The folder in which lists of tools are kept, `None` for none.
        ask: Asks the user for an input, `None` if no user can be asked.
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    told: Callable[[int, int], None] | None = None
    tokens: str | None = field(default=None, repr=False)
    ask: AskUser | None = None
    listings: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """How to log in.

    Attributes:
        show: Shows an address to the user; may block, and runs in a thread.
        scope: The scope instead of the configured one, words with spaces between; empty for that.
    """

    show: Callable[[str], None]
    port: int = 0
    seconds: float = 300.0
    step: float = 30.0
    scope: str = ""


@dataclass(frozen=True, slots=True)
class LoginResult:
    """The result of logging in."""

    is_new: bool
    tools: int


_VARIABLE = re.compile(
    r"\$\{(?:(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?|input:([^}]{1,60}))\}"
)
_OTHER = re.compile(r"\$\{([^}]{0,60})\}")
_OF_EDITORS = ("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator")


def check_variables(text: str, place: str, *, has_inputs: bool = False) -> None:
    """Raise a `SourceError` if a `${...}` in *text* is neither a variable nor an input."""
    for one in _OTHER.finditer(text):
        known = _VARIABLE.match(one[0])
        if known is None or (known[3] and not has_inputs):
            raise SourceError(
                f"`{one[0]}` is not an environment variable reference",
                place=place,
                remedy="write `${NAME}` or `${env:NAME}` instead, and set that variable",
            )


def without_variables(text: str, stand_in: str = "") -> str:
    """Return *text* with *stand_in* in the place of every variable."""
    return _VARIABLE.sub(lambda _: stand_in, text)


def expand(
    text: str,
    environ: Mapping[str, str],
    place: str,
    used: dict[str, str] | None = None,
    inputs: InputValues | None = None,
) -> str:
    """Fill in `${NAME}`, `${env:NAME}` and `${NAME:-default}` from *environ*, and *inputs*.

    The default replaces a variable that is not set or empty, as in a shell. Inserted values are
    not expanded again; *used* gets these variables with their values.

    Raises:
        SourceError: A variable without default is not set, an input has no value, or `${...}`
            contains something else.
    """
    check_variables(text, place, has_inputs=inputs is not None)

    def value(found: re.Match[str]) -> str:
        name, default, asked = found.groups()
        if asked and inputs is not None:
            return inputs.find(asked, place, {} if used is None else used)
        said = environ.get(name)
        if default is not None and not said:
            return default
        if said is None and name in _OF_EDITORS:
            message = f"`{found[0]}` is known to the editor only"
            raise SourceError(message, place=place, remedy="write the path instead")
        if said is None:
            raise SourceError(
                f"the environment variable `{name}` is not set",
                place=place,
                remedy=f"set it, or write `${{{name}:-default}}`",
            )
        if used is not None:
            used[name] = said
        return said

    return _VARIABLE.sub(value, text)


_STDIO_PREFIX = "stdio:"
HTTP_PREFIX = re.compile(r"https?://", re.IGNORECASE)
_FILES = (".json", ".yaml", ".yml")


def is_address(argument: str) -> bool:
    """Return whether *argument* names a server rather than a path.

    An address that ends like a file is none of a server.
    """
    if argument.startswith(_STDIO_PREFIX):
        return True
    path = argument.partition("?")[0].partition("#")[0].casefold()
    return bool(HTTP_PREFIX.match(argument)) and not path.endswith(_FILES)


def server_at(argument: str, live: ServerAccess) -> Server:
    """Read what `is_address` takes for a server; variables in headers are filled in."""
    if argument.startswith(_STDIO_PREFIX):
        line = argument.removeprefix(_STDIO_PREFIX)
        try:
            words = shlex.split(line)
        except ValueError:
            words = []
        if not words or not words[0] or "\0" in line:
            raise UsageError(
                "no command follows, or its quotes do not match",
                place=_STDIO_PREFIX.rstrip(":"),
                remedy="write 'stdio:COMMAND ARGUMENT ...' in one pair of quotes",
            )
        place, args = f"{_STDIO_PREFIX}{PurePath(words[0]).name}", tuple(words[1:])
        return StdioServer(place, None, words[0], args, secrets=secrets_in(args))
    host = bare_address(argument)
    used: dict[str, str] = {}
    headers = {
        name: expand(text, live.environ, "--header", used) for name, text in live.headers.items()
    }
    secrets = (*find_secrets(argument, headers), *used.values())
    return HttpServer(host, None, argument, headers, secrets=secrets, variables=used)


def bare_address(address: str) -> str:
    """Return the *address* without its possible secrets: user, path and query."""
    parts = split_address(address)
    host = parts.hostname if parts else None
    if not (parts and host):
        raise UsageError("invalid address", place="SOURCE", remedy="write https://HOST/PATH")
    port = f":{parts.port}" if parts.port else ""
    shown = f"[{host}]" if ":" in host else host
    return f"{address.partition(':')[0].lower()}://{shown}{port}"


_URLS = ("url", "serverUrl", "httpUrl")
_HTTP = frozenset({"http", "streamable-http", "streamablehttp", "streamable_http", "remote"})
_STDIO = frozenset({"stdio", "local", ""})
_ADDRESS = re.compile(r"https?://[^\s/?#]", re.IGNORECASE)
_MILLISECONDS = 1000
_REMEDY = "see the documentation of the client for its layout"
_INCLUDED = ("includeTools", "enabledTools", "enabled_tools", "available_tools", "tools")
_EXCLUDED = ("excludeTools", "disabledTools", "disabled_tools")
_BARE = re.compile(
    r"(?:bearer )?(\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\$\(.*|\{(?:env|file):[^}]*\})", re.IGNORECASE
)
_OURS = "mcpg"
_TRUST = ("trustHints", "trust_hints")
_SESSIONS = "sessions"
_OURS_REMEDY = f'write "{_OURS}": {{"{_TRUST[0]}": true, "{_SESSIONS}": "client"}}'


def is_client_configuration(text: str, place: str = "") -> bool:
    """Return whether *text* is the configuration of an MCP client."""
    try:
        return names_servers(text, place)
    except SourceError:
        return False


def names_servers(text: str, place: str) -> bool:
    """Return whether a file has a member for servers, as the configuration of a client has."""
    if not mentions_servers(text, place):
        return False
    value = parse_configuration(text, place, set())
    is_clients_own = isinstance(value, dict) and CLIENTS_OWN in value
    return is_clients_own or servers_in(value, {}) is not None


def repeated_name(server: Server, first: Server) -> Diagnostic:
    """Return the diagnostic of a *server* that is skipped, since the *first* one has its name."""
    if replace(server, place=first.place) == first:
        message = f"this server is also configured in {first.place}; it is used once"
        return info(Code.SOURCE_SKIPPED, message, server.place)
    message = f"{first.place} has the name of this server; it is skipped (rename one)"
    return error(Code.SOURCE_LOAD_FAILED, message, server.place)


def lack_servers(place: str, *, are_disabled: bool = False) -> SourceError:
    """Return the error of a configuration without servers, or with disabled ones only."""
    if are_disabled:
        return SourceError("disables all its servers", place=place, remedy="enable one")
    remedy = f'write "{CLIENTS_OWN}": {{"NAME": {{"command": "PROGRAM"}}}}'
    return SourceError("names no servers", place=place, remedy=remedy)


def read_client_configuration(
    text: str, place: str, environ: Mapping[str, str], ask: AskUser | None = None
) -> tuple[tuple[Server, ...], tuple[Diagnostic, ...]]:
    """Read the servers that a configuration names, in its order; for *ask* see `ServerAccess`.

    An unusable server is reported as an error, a disabled one as information. Features of its
    client that mcpg lacks are warnings.
    """
    repeated: set[str] = set()
    value = parse_configuration(text, place, repeated) if text.strip() else None
    found = servers_in(value, environ, place)
    if found is None:
        raise lack_servers(place)
    servers: list[Server] = []
    message = "repeated keys in one object, the last value is used: "
    noticed = [
        warning(Code.KEY_REPEATED, f"{message}{key[:80]!r}", place) for key in sorted(repeated)
    ]
    tools = value.get("tools") if isinstance(value, dict) else None
    # OpenCode disables tools by their names, which begin with their server's name.
    disabled = (
        [one for one, is_on in tools.items() if is_on is False] if isinstance(tools, dict) else []
    )
    if any(one.startswith(("*", *found)) for one in disabled):
        message = "its `tools` has no effect: all tools of its servers are used"
        noticed.append(warning(Code.FILTER_IGNORED, message, place))
    inputs = InputValues(find_inputs(value), environ, ask)
    for name, entry in found.items():
        where = f"{place}: {name}" if name.strip() else place
        try:
            servers.append(parse_server(name.strip(), entry, where, environ, inputs))
            noticed.extend(_warn_unsupported(entry, where))
        except DisabledServerError:
            message = "this server is disabled in the configuration; it is skipped"
            noticed.append(info(Code.SOURCE_SKIPPED, message, where))
        except SourceError as fault:
            message = f"{fault.message} ({fault.remedy})"
            noticed.append(error(Code.SOURCE_LOAD_FAILED, message, where))
    return tuple(servers), tuple(noticed)


def _warn_unsupported(entry: JsonValue, where: str) -> Iterator[Diagnostic]:
    """Yield warnings of features that the client of an *entry* has and mcpg lacks."""
    members = entry if isinstance(entry, dict) else {}
    if members.get("envFile"):
        message = "its `envFile` is not read; write the variables into `env`"
        yield warning(Code.VALUE_INVALID, message, where)
    for key in ("args", "env", "headers"):
        given = members.get(key)
        texts = [*given.values()] if isinstance(given, dict) else given
        for one in texts if isinstance(texts, list) else ():
            if isinstance(one, str) and (bare := _BARE.fullmatch(one)):
                shown = "$(...)" if bare[1].startswith("$(") else bare[1]
                message = f"`{shown}` in its `{key}` is passed as it is; write `${{NAME}}`"
                yield warning(Code.VALUE_INVALID, message, where)


class DisabledServerError(Exception):
    """The configuration disables this server."""


def parse_server(
    name: str,
    entry: JsonValue,
    place: str,
    environ: Mapping[str, str],
    inputs: InputValues | None = None,
) -> Server:
    """Read one server's *entry*, as in a configuration; variables and *inputs* are filled in.

    Raises:
        SourceError: It cannot be used.
        DisabledServerError: It is disabled.
    """
    members = entry if isinstance(entry, dict) else {}
    fields = _EntryFields(members, place, environ, inputs)
    if not isinstance(entry, dict):
        raise fields.fail("it is not an object", 'write {"command": "PROGRAM"} or {"url": ...}')
    if fields.entry.get("disabled") is True or fields.entry.get("enabled") is False:
        raise DisabledServerError
    if not name:
        raise fields.fail(
            "this server has no name", "name it; this becomes the source of its tools"
        )
    kind = fields.text("type", fields.text("transport")).casefold()
    if kind not in {*_STDIO, *_HTTP, "sse"}:
        raise fields.fail("its `type` is not a known value", "write stdio, http or sse")
    if kind in _STDIO and fields.entry.get("command") is not None:
        return fields.program(name)
    if kind in ("stdio", "local"):
        raise fields.fail("it names no `command`", _REMEDY)
    return fields.address(name, is_sse=kind == "sse")


@dataclass(frozen=True, slots=True)
class _EntryFields:
    """The members of one server's entry, checked and with variables filled in."""

    entry: JsonObject
    place: str
    environ: Mapping[str, str]
    inputs: InputValues | None = None
    used: dict[str, str] = field(default_factory=dict)

    def program(self, name: str) -> StdioServer:
        nested = self.entry.get("command")
        if isinstance(nested, dict):  # an older layout of Zed
            entry = {**nested, "command": nested.get("path")}
            return _EntryFields(entry, self.place, self.environ, self.inputs).program(name)
        command = self.text("command")
        if not command:
            raise self.fail("its `command` is empty", "name the server's program")
        env = self._texts("env")
        cwd = self.text("cwd") or None
        listed = self.entry.get("args")
        if not isinstance(listed, list | None):
            raise self.fail("its `args` are not a list", _REMEDY)
        args = tuple(self._scalar("args", item) for item in listed or ())
        common = self._read_common((*env.values(), *secrets_in(args)))
        return StdioServer(self.place, name, command, args, env, cwd, **common)

    def address(self, name: str, *, is_sse: bool) -> HttpServer:
        url = next((url for key in _URLS if (url := self.text(key))), "")
        if not url:
            raise self.fail("it names neither a `command` nor a `url`", _REMEDY)
        try:
            is_address = _ADDRESS.match(url) is not None and bool(bare_address(url))
        except UsageError:
            is_address = False
        if not is_address:
            raise self.fail("its `url` is not a URL", "write http://... or https://...")
        headers = self._texts("headers")
        oauth = read_oauth(self.entry, self.expand, self.fail)
        common = self._read_common((*find_secrets(url, headers), *(oauth.secrets if oauth else ())))
        return HttpServer(self.place, name, url, headers, is_sse, oauth, **common)

    def text(self, key: str, default: str = "") -> str:
        value = self.entry.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.fail(f"its `{key}` is not a string", _REMEDY)
        return self.expand(value).strip()

    def fail(self, message: str, remedy: str) -> SourceError:
        return SourceError(message, place=self.place, remedy=remedy)

    def _read_common(self, secrets: Sequence[str]) -> dict[str, Any]:
        """Return the fields of all servers, with *secrets* and the variables filled in."""
        timeout, value = None, self.entry.get("timeout")
        if not isinstance(value, bool) and isinstance(value, int | float) and value > 0:
            # Some clients write milliseconds, and a whole number may be too long to divide.
            value = min(value, MAX_TIMEOUT * _MILLISECONDS)
            timeout = float(value / _MILLISECONDS if value >= _MILLISECONDS else value)
        trusts, sessions = self._read_ours()
        return {
            "secrets": (*secrets, *self.used.values()),
            "timeout": timeout,
            "trust_hints": trusts,
            "sessions": sessions,
            "variables": self.used,
            "included": self._names(_INCLUDED),
            "excluded": self._names(_EXCLUDED),
        }

    def _names(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the names in the lists of tools that clients write under one of *keys*."""
        lists = (given for key in keys if isinstance(given := self.entry.get(key), list))
        return tuple(name for name in chain.from_iterable(lists) if isinstance(name, str))

    def _read_ours(self) -> tuple[bool, SessionSetting | None]:
        """Return the content of the object `mcpg`, which no client reads: trust and sessions."""
        ours = self.entry.get(_OURS)
        if ours is None:
            return False, None
        if not isinstance(ours, dict):
            raise self.fail(f"its `{_OURS}` is not an object", _OURS_REMEDY)
        trusts, sessions = False, None
        for key, given in ours.items():
            if key == _SESSIONS:
                sessions = next((one for one in SESSION_SETTINGS if one == given), None)
                if sessions is None:
                    choices = " or ".join(SESSION_SETTINGS)
                    raise self.fail(f"its `{_OURS}.{key}` is not {choices}", _OURS_REMEDY)
            elif key not in _TRUST:
                raise self.fail(f"its `{_OURS}` has an unknown key {key[:40]!r}", _OURS_REMEDY)
            elif not isinstance(given, bool):
                raise self.fail(f"its `{_OURS}.{key}` is not true or false", _OURS_REMEDY)
            else:
                trusts = trusts or given
        return trusts, sessions

    def _texts(self, key: str) -> dict[str, str]:
        value = self.entry.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.fail(f"its `{key}` is not an object", _REMEDY)
        return {name: self._scalar(key, item) for name, item in value.items()}

    def _scalar(self, key: str, value: JsonValue) -> str:
        if isinstance(value, bool):
            return self.expand("true" if value else "false")
        if isinstance(value, str | int | float):
            return self.expand(str(value))
        raise self.fail(f"its `{key}` has values that are not strings", _REMEDY)

    def expand(self, text: str) -> str:
        filled = expand(text, self.environ, self.place, self.used, self.inputs)
        if "\0" in filled:
            raise self.fail("it contains a null character", "remove it")
        return filled
