"""The address of an API, as its document says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcpg.net.addresses import split_address

if TYPE_CHECKING:
    from mcpg.catalog.openapi.layout import Operation
    from mcpg.jsontypes import JsonObject, JsonValue

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f\x7f\\{}]+", re.IGNORECASE)
_SCHEMES = ("https", "http")


def is_base_address(text: str) -> bool:
    """Say whether *text* is an address with a host that paths can stand below."""
    if not _ADDRESS.fullmatch(text):
        return False
    parts = split_address(text)
    return parts is not None and bool(parts.hostname) and parts.port != 0


def server_address(document: JsonObject, operation: Operation) -> str | None:
    """Give what the paths of *document* stand below; `None` where it names no host.

    The servers of the operation go before those of its path, and these before those of the
    document; of several the first that can be used is taken, its variables by their defaults.
    In Swagger 2 it is made of scheme, `host` and `basePath`. One that holds a user, a query or a
    fragment cannot be used.
    """
    if "openapi" not in document:
        return _usable(_of_swagger(document, operation))
    for servers in (operation.value.get("servers"), operation.servers, document.get("servers")):
        if isinstance(servers, list) and servers:
            return next((found for one in servers if (found := _usable(_of_server(one)))), None)
    return None


def _usable(address: str) -> str | None:
    if not is_base_address(address):
        return None
    parts = urlsplit(address)
    return None if "@" in parts.netloc or parts.query or parts.fragment else address


def _of_server(server: JsonValue) -> str:
    url = server.get("url") if isinstance(server, dict) else None
    given = server.get("variables") if isinstance(server, dict) else None
    variables = given if isinstance(given, dict) else {}

    def default(found: re.Match[str]) -> str:
        variable = variables.get(found[1])
        value = variable.get("default") if isinstance(variable, dict) else None
        return str(value) if isinstance(value, str | int) else found[0]

    return _VARIABLE.sub(default, url.strip()) if isinstance(url, str) else ""


def _of_swagger(document: JsonObject, operation: Operation) -> str:
    host, path = document.get("host"), document.get("basePath", "")
    stated = operation.value.get("schemes", document.get("schemes"))
    schemes = stated if isinstance(stated, list) and stated else _SCHEMES[:1]
    scheme = next((one for one in _SCHEMES if one in schemes), "")
    if not isinstance(host, str) or not isinstance(path, str) or set("/?#@") & set(host):
        return ""
    return f"{scheme}://{host.strip()}/{path.strip().lstrip('/')}".rstrip("/")
