"""Configuration files of desktop and editor clients: which servers they name.

Known are the members `mcpServers` (most clients), `servers` and `mcp.servers` (VS Code) and
`context_servers` (Zed), with comments and trailing commas.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.catalog.jsontext import parse_json_documents
from mcpg.catalog.sources.addresses import host_of
from mcpg.catalog.sources.oauthconfig import read_oauth
from mcpg.catalog.sources.servers import HttpServer, StdioServer, secrets_of
from mcpg.catalog.sources.variables import expand
from mcpg.diagnostics import Code, Diagnostic, error, info, warning
from mcpg.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.catalog.sources.servers import Server
    from mcpg.jsontypes import JsonObject, JsonValue

_KEYS = ("mcpServers", "context_servers", "servers")
_MENTIONS = re.compile(r'"(?:mcpServers|context_servers|servers)"\s*:')
# What is not closed is taken to its end, and kept: nobody has to look for its end again.
_STRING = r'"(?:[^"\\\n]|\\.)*"?'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/|(/\*.*)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)
_URLS = ("url", "serverUrl", "httpUrl")
_HTTP = frozenset({"http", "streamable-http", "streamablehttp", "streamable_http"})
_STDIO = frozenset({"stdio", ""})
_ADDRESS = re.compile(r"https?://[^\s/?#]", re.IGNORECASE)
_REMEDY = "see the documentation of the client for its layout"


def is_client_configuration(text: str) -> bool:
    """Tell whether a file is the configuration of an MCP client."""
    if not _MENTIONS.search(text):
        return False
    try:
        value = _parse(text, "", set())
    except SourceError:
        return False
    return _servers(value) is not None


def read_client_configuration(
    text: str, place: str, environ: Mapping[str, str]
) -> tuple[tuple[Server, ...], tuple[Diagnostic, ...]]:
    """Read the servers that a configuration names, in its order.

    One that cannot be used becomes a diagnostic; one that is switched off, an information.

    Args:
        text: The whole file.
        place: Its path, for messages.
        environ: The environment from which variables are filled in.

    Raises:
        SourceError: The text is no such configuration.
    """
    repeated: set[str] = set()
    found = _servers(_parse(text, place, repeated))
    if found is None:
        raise SourceError("names no servers", place=place, remedy=_REMEDY)
    servers: list[Server] = []
    noticed = [_repeated(key, place) for key in sorted(repeated)]
    for name, entry in found.items():
        where = f"{place}: {name}"
        try:
            servers.append(server_of(name.strip(), entry, where, environ))
        except SwitchedOffError:
            message = "this server is switched off in the configuration; it is not asked"
            noticed.append(info(Code.SOURCE_SKIPPED, message, where))
        except SourceError as fault:
            message = f"{fault.message} ({fault.remedy})"
            noticed.append(error(Code.SOURCE_LOAD_FAILED, message, where))
    return tuple(servers), tuple(noticed)


class SwitchedOffError(Exception):
    """The user does not want this server."""


def _parse(text: str, place: str, repeated: set[str]) -> JsonValue:
    """Parse JSON with comments and trailing commas; both become spaces, so that places stay."""
    plain = _COMMENT.sub(lambda found: found[1] or found[2] or _blank(found[0]), text)
    plain = _TRAILING_COMMA.sub(lambda found: found[1] or " ", plain)
    return parse_json_documents(plain, place, repeated)[0]


def _blank(comment: str) -> str:
    return re.sub(r"[^\n]", " ", comment)


def _servers(value: JsonValue) -> JsonObject | None:
    """Give the servers by their names, `None` where there are none."""
    if not isinstance(value, dict):
        return None
    inner = value.get("mcp")
    for holder in (value, inner if isinstance(inner, dict) else {}):
        for key in _KEYS:
            found = holder.get(key)
            if isinstance(found, dict) and all(isinstance(one, dict) for one in found.values()):
                return found
    return None


def server_of(name: str, entry: JsonValue, place: str, environ: Mapping[str, str]) -> Server:
    """Read one server's *entry*, as it stands in a configuration; variables are filled in.

    Raises:
        SourceError: It cannot be used.
        SwitchedOffError: It is switched off.
    """
    fields = _Fields(entry if isinstance(entry, dict) else {}, place, environ)
    if fields.entry.get("disabled") is True or fields.entry.get("enabled") is False:
        raise SwitchedOffError
    if not name:
        raise fields.fail("this server has no name", "give it one: its tools are called after it")
    kind = fields.text("type", fields.text("transport")).casefold()
    if kind not in {*_STDIO, *_HTTP, "sse"}:
        raise fields.fail("its `type` is none that is known", "write stdio, http or sse")
    if kind in _STDIO and fields.entry.get("command") is not None:
        return fields.program(name)
    if kind == "stdio":
        raise fields.fail("it names no `command`", _REMEDY)
    return fields.address(name, is_sse=kind == "sse")


class _Fields:
    """The members of one server's entry, checked and with variables filled in."""

    def __init__(self, entry: JsonObject, place: str, environ: Mapping[str, str]) -> None:
        self.entry = entry
        self._place = place
        self._environ = environ
        self._used: list[str] = []

    def program(self, name: str) -> StdioServer:
        """Read a server that is a program."""
        nested = self.entry.get("command")
        if isinstance(nested, dict):  # an older layout of Zed
            entry = {**nested, "command": nested.get("path")}
            return _Fields(entry, self._place, self._environ).program(name)
        command = self.text("command")
        if not command:
            raise self.fail("its `command` is empty", "name the program that is the server")
        env = self._texts("env")
        cwd = self.text("cwd") or None
        args = self._args()
        secrets = (*env.values(), *self._used)
        return StdioServer(self._place, name, command, args, env, cwd, secrets)

    def address(self, name: str, *, is_sse: bool) -> HttpServer:
        """Read a server at an address."""
        url = next((url for key in _URLS if (url := self.text(key))), "")
        if not url:
            raise self.fail("it names neither a `command` nor a `url`", _REMEDY)
        if not _is_address(url):
            raise self.fail("its `url` is no address", "write http://... or https://...")
        headers = self._texts("headers")
        oauth = read_oauth(self.entry, self._filled, self.fail)
        secret = oauth.client_secret if oauth else ""
        secrets = (*secrets_of(url, headers), secret, *self._used)
        return HttpServer(self._place, name, url, headers, is_sse, secrets, oauth)

    def text(self, key: str, default: str = "") -> str:
        """Give a member that is text."""
        value = self.entry.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.fail(f"its `{key}` is no text", _REMEDY)
        return self._filled(value).strip()

    def fail(self, message: str, remedy: str) -> SourceError:
        """Make the error for this entry."""
        return SourceError(message, place=self._place, remedy=remedy)

    def _args(self) -> tuple[str, ...]:
        value = self.entry.get("args")
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.fail("its `args` are no list", _REMEDY)
        return tuple(self._filled(self._scalar("args", item)) for item in value)

    def _texts(self, key: str) -> dict[str, str]:
        value = self.entry.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.fail(f"its `{key}` is no object", _REMEDY)
        return {name: self._filled(self._scalar(key, item)) for name, item in value.items()}

    def _scalar(self, key: str, value: JsonValue) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int | float):
            return str(value)
        raise self.fail(f"its `{key}` holds what is no text", _REMEDY)

    def _filled(self, text: str) -> str:
        filled = expand(text, self._environ, self._place, self._used)
        if "\0" in filled:
            raise self.fail("it holds a null character", "remove it")
        return filled


def _is_address(url: str) -> bool:
    try:
        return bool(_ADDRESS.match(url) and host_of(url))
    except UsageError:
        return False


def _repeated(key: str, place: str) -> Diagnostic:
    message = f"stands more than once in one object, where the last one counts: {key[:80]!r}"
    return warning(Code.KEY_REPEATED, message, place)
