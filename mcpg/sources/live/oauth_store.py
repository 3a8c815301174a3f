"""Logins stored in files, one for each server, readable by their owner alone."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from filelock import FileLock, Timeout

from mcpg.errors import InputError, NotFoundError, OutputError, os_reason
from mcpg.files import atomic_write, read_bytes
from mcpg.sources.live.errors import ServerError

SCHEMA = "mcpg/login/1"

_MAX_BYTES = 1 << 20
_POLL_SECONDS = 0.05
_SUFFIX = ".login.json"


@dataclass(frozen=True, slots=True)
class Login:
    """A login to a server; its repr shows nothing of it.

    Attributes:
        url: The address of the server.
        tokens: The response of the authorisation server.
        expires: When the access token expires, in seconds since 1970; `None` if unknown.
        client: The registered client, without a configured secret.
        endpoint: Address at which tokens are renewed.
        issuer: The authorisation server, empty if unknown.
        server: Metadata of the authorisation server, or `None`.
        resource: Metadata of the server, or `None`.
    """

    url: str = field(repr=False)
    tokens: dict[str, Any] = field(repr=False)
    expires: float | None = field(repr=False)
    client: dict[str, Any] = field(repr=False)
    endpoint: str = field(repr=False)
    issuer: str = field(default="", repr=False)
    server: dict[str, Any] | None = field(default=None, repr=False)
    resource: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def is_valid(self) -> bool:
        """Whether its parts have the right types."""
        texts = (self.access, self.endpoint, self.issuer)
        tables = (self.client, self.server or {}, self.resource or {})
        return (
            all(isinstance(text, str) for text in texts)
            and all(isinstance(table, dict) for table in tables)
            and isinstance(self.expires, int | float | None)
        )

    @property
    def access(self) -> str:
        """The access token."""
        found: str = self.tokens["access_token"]
        return found


class LoginFile:
    """The login to one server, in a file of its own."""

    def __init__(self, folder: str, url: str) -> None:
        self._url = canonical(url)
        name = hashlib.sha256(self._url.encode("utf-8", "replace")).hexdigest()[:32]
        self._folder = Path(folder)
        self._path = self._folder / f"{name}{_SUFFIX}"
        self._lock = self._folder / f".{name}.lock"

    def read(self) -> Login | None:
        """Return the login, `None` without a valid file."""
        try:
            found = json.loads(read_bytes(self._path, _MAX_BYTES))
            if found.pop("schema") != SCHEMA:
                return None
            login = Login(**found)
            is_ours = login.url == self._url and login.is_valid
        except (NotFoundError, InputError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return login if is_ours else None

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            OutputError: No file can be written there.
        """
        self._make_folder()
        if not os.access(self._folder, os.W_OK):
            raise self._unusable("it cannot be written")

    def write(self, login: Login) -> None:
        """Store *login* in place of any earlier one.

        Raises:
            OutputError: The file cannot be written.
        """
        members = {"schema": SCHEMA, **asdict(replace(login, url=self._url))}
        self._make_folder()
        atomic_write(
            self._path, f"{json.dumps(members, indent=1)}\n".encode(), private=True, special=False
        )

    def remove(self) -> bool:
        """Remove the login; return whether there was one.

        Raises:
            OutputError: The file cannot be removed.
        """
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        except OSError as fault:
            message = f"cannot be removed: {os_reason(fault)}"
            raise OutputError(message, place=str(self._path)) from fault
        return True

    @asynccontextmanager
    async def hold_lock(self, seconds: float) -> AsyncIterator[None]:
        """Lock the login, so that two processes do not spend one refresh token.

        Raises:
            ServerError: Another process holds the lock for longer than *seconds*, or the folder
                is not writable.
        """
        self._make_folder()
        lock = FileLock(self._lock, timeout=0, thread_local=False)
        deadline = anyio.current_time() + seconds
        while not _try_lock(lock):
            if anyio.current_time() > deadline:
                raise ServerError("another program has been renewing the login for too long")
            await anyio.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            lock.release()

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as fault:
            raise self._unusable(os_reason(fault)) from fault

    def _unusable(self, reason: str) -> OutputError:
        return OutputError(
            f"no login can be kept there: {reason}",
            place=str(self._folder),
            remedy="name another folder with MCPG_TOKENS",
        )


def canonical(url: str) -> str:
    """Normalise *url*: scheme and host in lower case, no fragment."""
    parts = urlsplit(url)
    return parts._replace(
        scheme=parts.scheme.lower(),
        netloc=parts.netloc.lower(),
        path=parts.path or "/",
        fragment="",
    ).geturl()


def _try_lock(lock: FileLock) -> bool:
    try:
        lock.acquire()
    except Timeout:
        return False
    except OSError:
        raise ServerError("stored login cannot be renewed: its folder cannot be written") from None
    return True
