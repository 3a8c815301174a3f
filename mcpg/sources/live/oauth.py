"""OAuth for servers at addresses: the flows of the `mcp` SDK, guarded.

The guards bound the targets and the time of a flow's requests, and describe failures.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import httpx2
from filelock import FileLock, Timeout
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from mcpg.errors import InputError, McpgError, NotFoundError, OutputError, os_reason
from mcpg.files import atomic_write, read_bytes
from mcpg.net.addresses import is_loopback
from mcpg.sources.client_config import HttpServer
from mcpg.sources.live.requests import ServerError, TransportErrors
from mcpg.sources.server_entries import OAuth

SCHEMA = "mcpg/login/1"

_MAX_BYTES = 1 << 20
_POLL_SECONDS = 0.05
_SUFFIX = ".login.json"


@dataclass(frozen=True, slots=True)
class Login:
    """A login to a server; its repr shows nothing of it.

    Attributes:
        expires: When the access token expires, in seconds since 1970; `None` if unknown.
        endpoint: Address at which tokens are renewed.
    """

    url: str = field(repr=False)
    tokens: dict[str, Any] = field(repr=False)
    expires: float | None = field(repr=False)
    client: dict[str, Any] = field(repr=False)
    endpoint: str = field(repr=False)
    issuer: str = field(default="", repr=False)
    server: dict[str, Any] | None = field(default=None, repr=False)
    resource: dict[str, Any] | None = field(default=None, repr=False)


class LoginFile:
    """The login to one server, in a file of its own."""

    def __init__(self, folder: str, url: str) -> None:
        parts = urlsplit(url)
        netloc, path = parts.netloc.lower(), parts.path or "/"
        parts = parts._replace(scheme=parts.scheme.lower(), netloc=netloc, path=path, fragment="")
        self._url = parts.geturl()
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
            texts = (login.tokens["access_token"], login.endpoint, login.issuer)
            tables = (login.client, login.server or {}, login.resource or {})
            is_ours = (
                login.url == self._url
                and all(isinstance(text, str) for text in texts)
                and all(isinstance(table, dict) for table in tables)
                and isinstance(login.expires, int | float | None)
            )
        except (NotFoundError, InputError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return login if is_ours else None

    def prepare(self, *, for_writing: bool = True) -> None:
        reason, cause = "", None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if for_writing and not os.access(self._folder, os.W_OK):
                reason = "it cannot be written"
        except OSError as fault:
            reason, cause = os_reason(fault), fault
        if reason:
            raise OutputError(
                f"no login can be kept there: {reason}",
                place=str(self._folder),
                remedy="name another folder with MCPG_LOGIN_DIR",
            ) from cause

    def write(self, login: Login) -> None:
        """Store *login* and replace any earlier one."""
        members = {"schema": SCHEMA, **asdict(replace(login, url=self._url))}
        self.prepare(for_writing=False)
        atomic_write(
            self._path, f"{json.dumps(members, indent=1)}\n".encode(), private=True, special=False
        )

    def remove(self) -> bool:
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
            ServerError: Another process keeps the lock for longer than *seconds*, or the folder
                is not writable.
        """
        self.prepare(for_writing=False)
        lock = FileLock(self._lock, timeout=0, thread_local=False)
        deadline = anyio.current_time() + seconds
        while not lock.is_locked:
            try:
                lock.acquire()
            except Timeout:
                if anyio.current_time() > deadline:
                    message = "another program has been renewing the login for too long"
                    raise ServerError(message) from None
                await anyio.sleep(_POLL_SECONDS)
            except OSError:
                message = "stored login cannot be renewed: its folder cannot be written"
                raise ServerError(message) from None
        try:
            yield
        finally:
            lock.release()


OAUTH_REQUEST = "mcpg.oauth"
"""The extension of a request that is part of an OAuth flow."""

OTHER_ISSUER = "server names another authorization server than its client"

_NO_ISSUER = "OAuth required, but no usable authorisation server is named"
_OK, _ERROR = 200, 300
_UNAUTHORISED, _FORBIDDEN, _TOO_MANY, _SERVER_ERROR = 401, 403, 429, 500
_SCOPE = re.compile(r"(?<![^ ])[A-Za-z][\w:./-]{0,39}(?![^ ])", re.ASCII)
_MOST_SCOPES = 8
_REFUSALS = (400, 401)


def is_token_safe(url: str) -> bool:
    """Return whether a token may be sent to *url*: over https, or within this machine."""
    parts = urlsplit(url)
    return parts.scheme.lower() == "https" or is_loopback(parts.hostname or "")


@dataclass(eq=False, slots=True)
class RequestLock:
    """Replaces the lock that the SDK keeps from before a request until its response begins.

    That is right for tokens: one request renews them, and the others wait. But a server may begin
    to respond only when a tool is done; then concurrent calls would run one after another, and not
    even a cancellation would come through. So the lock is released while the request itself is
    under way.
    """

    _lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def acquire(self) -> None:
        await self._lock.acquire()

    __aenter__ = acquire

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Release the lock, if the present task has it."""
        owner = self._lock.statistics().owner
        if owner is not None and owner.id == anyio.get_current_task().id:
            self._lock.release()


@dataclass(slots=True)
class MemoryStorage:
    """Tokens and a client for as long as a connection lasts."""

    client: OAuthClientInformationFull | None = None
    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class GuardedFlow(httpx2.Auth):
    """The guards around a flow of the SDK, the next class in the order of bases."""

    is_local = False
    seconds = 30.0
    errors: TransportErrors
    request_lock: RequestLock

    def set_guards(self, server: HttpServer, errors: TransportErrors, seconds: float) -> None:
        parts = urlsplit(server.url)
        self.is_local = parts.scheme.lower() == "http" and is_loopback(parts.hostname or "")
        self.seconds = seconds
        self.errors = errors
        self.request_lock = RequestLock()

    @property
    def tokens(self) -> OAuthToken | None:
        raise NotImplementedError

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)  # type: ignore[misc]  # the next class has it
        status = 0
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request:
                    if (tokens := self.tokens) is not None:  # keep them out of what it sends
                        self.errors.secrets |= {tokens.access_token, tokens.refresh_token or ""}
                    self.request_lock.release()
                    response = yield request
                    await self.request_lock.acquire()
                    if self._put_newer_token(request, response):
                        continue
                    if self.is_final(response):
                        return
                else:
                    given = self.check(outgoing)
                    if given is None:
                        given = yield outgoing
                        status = given.status_code
                    response = given
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except (ServerError, McpgError, OAuthFlowError, ValidationError) as fault:
            self.errors.message = self.describe(fault, status)
            is_transient = status == _TOO_MANY or status >= _SERVER_ERROR
            self.errors.is_unauthorized = not (is_transient or isinstance(fault, McpgError))
            raise ServerError(self.errors.message) from None
        finally:
            await flow.aclose()
            await self.settle()

    def _put_newer_token(self, request: httpx2.Request, response: httpx2.Response) -> bool:
        """Put a newer token into a *request* that was refused; return whether there is one."""
        is_refused = response.status_code == _UNAUTHORISED
        if response.status_code == _FORBIDDEN:
            is_refused = self.adopt_newer()
        if not is_refused or self.tokens is None:
            return False
        header = f"Bearer {self.tokens.access_token}"
        is_newer = request.headers.get("Authorization") != header
        request.headers["Authorization"] = header
        return is_newer or response.status_code == _FORBIDDEN

    def adopt_newer(self) -> bool:
        """Adopt tokens that a person has obtained meanwhile; return whether there are any."""
        return False

    def is_final(self, response: httpx2.Response) -> bool:  # noqa: ARG002 - of the hook
        """Return whether *response* is returned whatever a flow could do about it."""
        return False

    async def settle(self) -> None:
        """Release the locks of the flow."""

    def check(self, request: httpx2.Request) -> httpx2.Response | None:
        """Check the target of a request of the flow, and bound it.

        Returns:
            Its response if it need not be sent, `None` if it must be.
        """
        self.errors.current.message = None  # a server that requires a token has not failed yet
        self.check_address(str(request.url))
        request.headers["Accept-Encoding"] = "identity"
        request.extensions = {
            **request.extensions,
            "timeout": httpx2.Timeout(self.seconds).as_dict(),
            OAUTH_REQUEST: True,
        }
        return None

    def check_address(self, address: str) -> None:
        """Raise a `ServerError` if something would go to *address* unencrypted over a network."""
        parts = urlsplit(address)
        is_local = self.is_local and parts.scheme == "http" and is_loopback(parts.hostname or "")
        if parts.scheme != "https" and not is_local:
            raise ServerError("address of the authorisation server is not https")

    def describe(self, fault: Exception, status: int) -> str:
        """Describe a failure, without a word of the server's; *status* is of the last response."""
        shown = f" (HTTP status {status})" if status >= _ERROR else ""
        if isinstance(fault, ServerError):
            return str(fault)
        if isinstance(fault, McpgError):
            return f"login cannot be stored: {fault.message}"
        if isinstance(fault, OAuthRegistrationError):
            return f"authorisation server registered no client{shown}"
        if isinstance(fault, OAuthTokenError):
            return f"authorisation server granted no token{shown}"
        if isinstance(fault, ValidationError):
            return "invalid OAuth response of the authorisation server"
        return _NO_ISSUER


class GuardedOAuthProvider(GuardedFlow, OAuthClientProvider):
    """The guards around the flows of the SDK that discover the authorization server."""

    scope = ""

    def guard(
        self, server: HttpServer, oauth: OAuth, errors: TransportErrors, seconds: float
    ) -> None:
        self.set_guards(server, errors, seconds)
        self.scope = oauth.scope
        client = configured_client(oauth, server.url)
        self._client_issuer = (client.issuer or "") if client else ""
        self.context.lock = cast("anyio.Lock", self.request_lock)

    @property
    def tokens(self) -> OAuthToken | None:
        return self.context.current_tokens

    def check_issuer(self) -> None:
        """Check that a configured client is sent only to its own issuer.

        If an authorization server publishes no metadata, the SDK takes the server itself for it.
        """
        metadata = self.context.oauth_metadata
        issuer = str(metadata.issuer) if metadata else origin(self.context.server_url)
        if self._client_issuer and issuer.rstrip("/") != self._client_issuer.rstrip("/"):
            raise ServerError(OTHER_ISSUER if metadata else _NO_ISSUER)

    async def _perform_authorization(self) -> httpx2.Request:
        self.check_issuer()
        if self.scope:  # the SDK puts what the server names in its place
            self.context.client_metadata.scope = self.scope
        return await super()._perform_authorization()


def origin(url: str) -> str:
    """Return scheme, host and port of *url*."""
    parts = urlsplit(url)
    return f"{parts.scheme.lower()}://{parts.netloc.rpartition('@')[2].lower()}"


def configured_client(oauth: OAuth, url: str) -> OAuthClientInformationFull | None:
    """Return the client that a configuration names, bound to whom its secret may be sent."""
    if not oauth.client_id:
        return None
    has_secret = bool(oauth.client_secret or oauth.has_key)
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=oauth.client_secret or None,
        token_endpoint_auth_method=oauth.method if has_secret else "none",
        issuer=oauth.issuer or (origin(url) if has_secret else None),
    )


class StoredLogin(GuardedOAuthProvider):
    """Uses the login of a file, renews it without the user, and stores the renewed tokens.

    The SDK does not keep enough from one process to the next to renew a token: neither the time
    it expires nor the address that renews it. Both are in the file and put back.
    """

    def __init__(
        self,
        server: HttpServer,
        oauth: OAuth,
        file: LoginFile,
        errors: TransportErrors,
        seconds: float,
    ) -> None:
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1/callback")])
        super().__init__(server.url, metadata, MemoryStorage())
        self.guard(server, oauth, errors, seconds)
        self._client = configured_client(oauth, server.url)
        self._file = file
        self._file_lock = AsyncExitStack()
        self._locked_by = 0
        self._endpoint = httpx2.URL()
        self._adopted: Login | None = None
        self._server = server
        self._remedy = f"run {server.login_with()}"

    async def _initialize(self) -> None:
        self._use(self._file.read())
        self._initialized = True

    def _use(self, login: Login | None) -> None:
        """Put *login* into the state of the SDK."""
        if login is None:
            raise ServerError(f"stored login was removed: {self._remedy}")
        context = self.context
        try:
            client = OAuthClientInformationFull.model_validate(login.client)
            if self._client is not None and self._client.client_id != client.client_id:
                raise ServerError(f"stored login belongs to another client: {self._remedy}")
            context.client_info = self._client or client
            context.current_tokens = OAuthToken.model_validate(login.tokens)
            context.token_expiry_time = login.expires
            context.auth_server_url = login.issuer or None
            if login.server is not None:
                context.oauth_metadata = OAuthMetadata.model_validate(login.server)
            if login.resource is not None:
                resource = ProtectedResourceMetadata.model_validate(login.resource)
                context.protected_resource_metadata = resource
            self._endpoint = httpx2.URL(login.endpoint)
        except (ValidationError, httpx2.InvalidURL):
            raise ServerError(f"stored login cannot be read: {self._remedy}") from None

    def adopt_newer(self) -> bool:
        """Adopt a login that was stored since; return whether there is one."""
        present, newest = self.tokens, self._file.read()
        if (
            newest is None
            or present is None
            or newest.tokens["access_token"] == present.access_token
        ):
            return False
        self._use(newest)
        return True

    def is_final(self, response: httpx2.Response) -> bool:
        """Return whether the login lacks a permission, which only a person can grant."""
        is_lacking = response.status_code == _FORBIDDEN and (
            extract_field_from_www_auth(response, "error") == "insufficient_scope"
        )
        if is_lacking:
            stated = _SCOPE.findall(extract_field_from_www_auth(response, "scope") or "")
            scopes = stated[:_MOST_SCOPES]
            tokens = self.context.current_tokens
            granted = _SCOPE.findall(self.scope or (tokens and tokens.scope) or "")
            wanted = " ".join(dict.fromkeys([*granted, *scopes]))
            remedy = (
                f" ({' '.join(scopes)}): run {self._server.login_with(wanted)}"
                if scopes
                else f": name it as `scope` in its `oauth`, and {self._remedy}"
            )
            message = "stored login lacks a permission that the server requires"
            self.errors.current.message = message + remedy
        return is_lacking

    def check(self, request: httpx2.Request) -> httpx2.Response | None:
        """Check that tokens are sent only to the endpoint of the login.

        The tokens of another process are returned as the authorization server did to it.
        """
        adopted, self._adopted = self._adopted, None
        if adopted is not None:
            left = None if adopted.expires is None else int(adopted.expires - time.time())
            return httpx2.Response(_OK, json={**adopted.tokens, "expires_in": left})
        super().check(request)
        if request.method != "GET" and request.url != self._endpoint:
            raise ServerError(f"authorisation server has changed: {self._remedy}")
        return None

    async def _refresh_token(self) -> httpx2.Request:
        await self._file_lock.enter_async_context(self._file.hold_lock(self.seconds))
        self._locked_by = anyio.get_current_task().id
        present, newest = self.context.current_tokens, self._file.read()
        self._use(newest)
        is_other = newest and present and newest.tokens["access_token"] != present.access_token
        if newest and is_other and (newest.expires is None or newest.expires > time.time()):
            self._adopted = newest  # another process was faster: its token need not be renewed
            return httpx2.Request("POST", self._endpoint)
        self.check_issuer()
        return await super()._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        renewed = await super()._handle_refresh_response(response)
        if renewed:
            # Stored, unless the login was removed meanwhile.
            tokens, login = self.context.current_tokens, self._file.read()
            if (
                tokens is not None
                and login is not None
                and login.tokens["access_token"] != tokens.access_token
            ):
                stored = tokens.model_dump(mode="json", exclude_none=True)
                expires = self.context.token_expiry_time
                self._file.write(replace(login, tokens=stored, expires=expires))
        elif response.status_code not in _REFUSALS:
            status = response.status_code
            raise ServerError(f"stored login cannot be renewed now (HTTP status {status})")
        await self.settle()
        return renewed

    async def _perform_authorization(self) -> httpx2.Request:
        if self.context.can_refresh_token():  # the token was refused before it expired
            return await self._refresh_token()
        raise ServerError(f"stored login has expired: {self._remedy}")

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if not await self._handle_refresh_response(response):
            raise ServerError(f"stored login has expired: {self._remedy}")

    async def settle(self) -> None:
        """Let other processes renew the login, if the present request locks it."""
        if self._locked_by == anyio.get_current_task().id:
            self._locked_by = 0
            await self._file_lock.aclose()
