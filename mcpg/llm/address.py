"""Addresses of endpoints: what may be asked, and what of an address may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from mcpg.errors import UsageError

_SCHEMES = ("http", "https")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint stands.

    Attributes:
        parts: The address without user name, password and fragment.
    """

    parts: SplitResult

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def shown(self) -> str:
        """The address without its query, which may hold a key."""
        return urlunsplit(self.parts._replace(query=""))

    @property
    def origin(self) -> tuple[str, str | None, int | None]:
        """Scheme, host and port: whom a key is meant for."""
        scheme = self.parts.scheme
        return scheme, self.parts.hostname, self.parts.port or _PORTS[scheme]

    @property
    def whole(self) -> str:
        """The address as it is asked."""
        return urlunsplit(self.parts)

    def of(self, path: str) -> Address:
        """Give the address of *path* below this one; a query is kept."""
        return Address(self.parts._replace(path=f"{self.parts.path.rstrip('/')}/{path}"))


def address_of(url: str) -> Address:
    """Read *url*.

    Raises:
        UsageError: It is no address of HTTP, or holds a user name or a password.
    """
    parts = _split(url)
    if parts is None or parts.scheme not in _SCHEMES or not parts.hostname:
        raise UsageError(
            "the address of the endpoint is none",
            remedy="give one such as https://api.example.com/v1",
        )
    if "@" in parts.netloc:
        raise UsageError(
            "the address of the endpoint holds a user name or a password",
            remedy="give the key apart from the address",
        )
    return Address(parts._replace(fragment=""))


def _split(url: str) -> SplitResult | None:
    """Part *url*, `None` where that cannot be done."""
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port  # read only now, and refused when it is no number
    except ValueError:
        return None
    return parts
