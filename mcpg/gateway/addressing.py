"""Where the operations of an OpenAPI document are called, as a user sets it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from mcpg.catalog.openapi.servers import is_base_address
from mcpg.catalog.sources.servers import secrets_of
from mcpg.errors import UsageError
from mcpg.net.headers import has_control, is_header_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.gateway.sources import FileSource


@dataclass(frozen=True, slots=True)
class Addressing:
    """Where the operations of a document are called; the members of `FileSource`.

    Raises:
        UsageError: See `check_addressing`.
    """

    base_url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_addressing(self.base_url, self.headers)


def check_addressing(base_url: str | None, headers: Mapping[str, str]) -> None:
    """Check a base address and the headers that go there; no message repeats them.

    Headers without an address are refused: the document would say who gets them.

    Raises:
        UsageError: They cannot be used.
    """
    if base_url is None:
        message = "there are headers, and no base address that they go to"
        raise UsageError(message, place="headers", remedy="set the base address as well")
    if not is_base_address(base_url):
        message = "the base address is none"
        raise UsageError(message, place="base_url", remedy="write https://HOST/PATH")
    if "@" in urlsplit(base_url).netloc:
        message = "the base address names a user"
        remedy = "give user and password in the header Authorization"
        raise UsageError(message, place="base_url", remedy=remedy)
    for name, text in headers.items():
        if not is_header_name(name):
            raise UsageError("a header has no name that can be sent", place="headers")
        if has_control(text):
            message = f"the header {name!r} holds a control character"
            raise UsageError(message, place="headers", remedy="remove it")


def secrets_of_source(source: FileSource) -> tuple[str, ...]:
    """Give what may be secret: the address, the parts of its path and query, and the headers."""
    base_url = source.base_url or ""
    parts = urlsplit(base_url)
    query = [text for _, text in parse_qsl(parts.query)]
    raw = [pair.partition("=")[2] for pair in parts.query.split("&")]
    known = secrets_of(base_url, source.headers)
    return (*known, *parts.path.split("/"), *query, *raw, *source.secrets)
