"""Servers named on the command line: `stdio:COMMAND ...` and `https://HOST/PATH`."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING

from mcpg.catalog.sources.servers import HttpServer, StdioServer, secrets_of
from mcpg.catalog.sources.variables import expand
from mcpg.errors import UsageError
from mcpg.net.addresses import split_address

if TYPE_CHECKING:
    from mcpg.catalog.sources.servers import Live, Server

_STDIO = "stdio:"
_HTTP = re.compile(r"https?://", re.IGNORECASE)
_FILES = (".json", ".yaml", ".yml")


def is_address(argument: str) -> bool:
    """Tell whether *argument* names a server rather than a path.

    An address that ends like a file is none of a server.
    """
    if argument.startswith(_STDIO):
        return True
    path = argument.partition("?")[0].partition("#")[0].casefold()
    return bool(_HTTP.match(argument)) and not path.endswith(_FILES)


def server_at(argument: str, live: Live) -> Server:
    """Read what `is_address` takes for a server; variables in headers are filled in.

    Raises:
        UsageError: The command or the address makes no sense.
        SourceError: A header names a variable that is not set.
    """
    if argument.startswith(_STDIO):
        return _program(argument.removeprefix(_STDIO))
    host = host_of(argument)
    headers = {name: expand(text, live.environ, "--header") for name, text in live.headers.items()}
    secrets = secrets_of(argument, headers)
    return HttpServer(host, None, argument, headers, secrets=secrets)


def _program(line: str) -> StdioServer:
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if not words or not words[0] or "\0" in line:
        raise UsageError(
            "no command follows, or its quotes do not match",
            place=_STDIO,
            remedy="write 'stdio:COMMAND ARGUMENT ...' in one pair of quotes",
        )
    return StdioServer(f"{_STDIO}{PurePath(words[0]).name}", None, words[0], tuple(words[1:]))


def host_of(address: str) -> str:
    """Give the *address* without what may be secret in it: user, path and query.

    Raises:
        UsageError: It makes no sense.
    """
    parts = split_address(address)
    host = parts.hostname if parts else None
    if not (parts and host):
        raise UsageError("this is no address", place="SOURCE", remedy="write https://HOST/PATH")
    port = f":{parts.port}" if parts.port else ""
    shown = f"[{host}]" if ":" in host else host
    return f"{address.partition(':')[0].lower()}://{shown}{port}"
