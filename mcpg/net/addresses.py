"""Addresses and header fields: which can be sent, and which hosts are this machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from mcpg.errors import UsageError

TCHAR = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"
"""The pattern of a character of a token, such as a field name (RFC 9110, section 5.6.2)."""

_NAME = re.compile(f"{TCHAR}+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PORTS = {"http": 80, "https": 443}


def is_header_name(text: str) -> bool:
    """Return whether *text* can be the name of a header field."""
    return _NAME.fullmatch(text) is not None


def has_control(text: str) -> bool:
    """Return whether *text* has a control character other than a tab: no value may have one."""
    return _CONTROL.search(text) is not None


def is_loopback(host: str) -> bool:
    """Return whether *host* is this machine: `localhost`, or an address of its loopback interface.

    An IPv6 address may be in brackets, as in a URL.
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host[1:-1] if host[:1] + host[-1:] == "[]" else host).is_loopback
    except ValueError:
        return False


def split_address(url: str) -> SplitResult | None:
    """Return the parts of *url*, `None` if it cannot be split or its port is invalid."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed only when it is read
    except ValueError:
        return None
    return parts


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an endpoint, without user name, password and fragment."""

    parts: SplitResult

    def __repr__(self) -> str:
        return f"Address({self.display!r})"

    @property
    def display(self) -> str:
        """The address without its query, which may contain a key."""
        return self.parts._replace(query="").geturl()

    @property
    def origin(self) -> tuple[str, str | None, int | None]:
        """Scheme, host and port: the server that a key is meant for."""
        scheme = self.parts.scheme
        return scheme, self.parts.hostname, self.parts.port or _PORTS[scheme]

    def join(self, path: str) -> Address:
        """Return the address of *path* below this one; a query is kept."""
        return Address(self.parts._replace(path=f"{self.parts.path.rstrip('/')}/{path}"))


def parse_address(url: str) -> Address:
    """Parse *url*."""
    parts = split_address(url) if url.isprintable() and " " not in url else None
    if parts is None or parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError(
            "the address of the endpoint is invalid",
            remedy="give one such as https://api.example.com/v1",
        )
    if "@" in parts.netloc:
        raise UsageError(
            "the address of the endpoint contains a user name or a password",
            remedy="give the key apart from the address",
        )
    return Address(parts._replace(fragment=""))
