"""Authentication at a server, as configured: by a stored login, or by credentials of a machine.

The `mcp` SDK implements the flows: client credentials with a secret, the same with a private key
(`private_key_jwt`, RFC 7523 section 2.2), and an assertion of an identity provider (RFC 7523
section 2.1, as MCP's enterprise-managed authorization uses it).
"""

from __future__ import annotations

from typing import Literal, cast

import anyio
import httpx2
from jwt.exceptions import PyJWTError
from mcp.client.auth import OAuthFlowError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import OAuthToken

from mcpg.errors import os_reason
from mcpg.sources.client_config import HttpServer
from mcpg.sources.live.oauth import (
    OTHER_ISSUER,
    GuardedFlow,
    GuardedOAuthProvider,
    LoginFile,
    MemoryStorage,
    StoredLogin,
    is_token_safe,
    origin,
)
from mcpg.sources.live.requests import ServerError, TransportErrors
from mcpg.sources.server_entries import CLIENT_CREDENTIALS, JWT_BEARER, OAuth

_MAX_FILE = 64 << 10
_SecretMethod = Literal["client_secret_basic", "client_secret_post"]


def find_authentication(
    server: HttpServer, tokens: str | None, errors: TransportErrors, seconds: float
) -> GuardedFlow | None:
    """Return the authentication for a server, `None` without configuration or stored login.

    A token never goes over a network unencrypted: over `http`, OAuth is only for this
    machine. A server with a key in its headers gets no other.
    """
    oauth = server.oauth
    if oauth is None or server.has_key or not is_token_safe(server.url):
        return None
    if oauth.grant == CLIENT_CREDENTIALS:
        kind = PrivateKey if oauth.has_key else ClientCredentials
        return kind(server, oauth, errors, seconds)
    if oauth.grant == JWT_BEARER:
        return IdentityAssertion(server, oauth, errors, seconds)
    file = LoginFile(tokens, server.url) if tokens else None
    if file is None or file.read() is None:
        return None
    return StoredLogin(server, oauth, file, errors, seconds)


class _OwnClient(GuardedOAuthProvider):
    """Fetches a token for a client of its own; it lasts as long as the connection.

    Credentials are sent only to the configured issuer, or else to the origin of the server:
    otherwise the server would decide who gets them.
    """

    own_issuer = ""

    def _select_authorization_server(self, advertised: list[str]) -> str:
        found = super()._select_authorization_server(advertised)
        if found.rstrip("/") != self.own_issuer.rstrip("/"):
            raise ServerError(f"{OTHER_ISSUER} (name that as `issuer` in its `oauth`)")
        return found


class ClientCredentials(_OwnClient, ClientCredentialsOAuthProvider):
    """Fetches a token by the grant `client_credentials` with a secret."""

    def __init__(
        self, server: HttpServer, oauth: OAuth, errors: TransportErrors, seconds: float
    ) -> None:
        self.own_issuer = oauth.issuer or origin(server.url)
        super().__init__(
            server.url,
            MemoryStorage(),
            oauth.client_id,
            oauth.client_secret,
            cast("_SecretMethod", oauth.method),
            oauth.scope or None,
            self.own_issuer,
        )
        self.guard(server, oauth, errors, seconds)


class PrivateKey(_OwnClient, PrivateKeyJWTOAuthProvider):
    """Fetches a token by the grant `client_credentials` with a signed assertion."""

    def __init__(
        self, server: HttpServer, oauth: OAuth, errors: TransportErrors, seconds: float
    ) -> None:
        self.own_issuer = oauth.issuer or origin(server.url)
        self._oauth = oauth
        super().__init__(
            server.url,
            MemoryStorage(),
            oauth.client_id,
            self._sign_assertion,
            oauth.scope or None,
            self.own_issuer,
        )
        self.guard(server, oauth, errors, seconds)

    async def _sign_assertion(self, audience: str) -> str:
        """Return an assertion for *audience*; the key is read anew, because keys are rotated."""
        oauth = self._oauth
        key = oauth.private_key or await read_secret(oauth.private_key_file, "private key")
        self.errors.secrets.add(key)
        given = SignedJWTParameters(
            issuer=oauth.client_id,
            subject=oauth.client_id,
            signing_key=key,
            signing_algorithm=oauth.algorithm,
        )
        try:
            return await given.create_assertion_provider()(audience)
        except (PyJWTError, ValueError, TypeError):  # their texts may quote the key
            raise ServerError(
                f"private key of the client is not a key in PEM for the algorithm {oauth.algorithm}"
            ) from None


class IdentityAssertion(GuardedFlow, IdentityAssertionOAuthProvider):
    """Fetches a token by the grant `jwt-bearer`; it lasts as long as the connection."""

    def __init__(
        self, server: HttpServer, oauth: OAuth, errors: TransportErrors, seconds: float
    ) -> None:
        super().__init__(
            server.url,
            MemoryStorage(),
            oauth.client_id,
            oauth.client_secret,
            oauth.issuer,
            self._read_assertion,
            oauth.scope or None,
            cast("_SecretMethod", oauth.method),
        )
        self._oauth = oauth
        self.set_guards(server, errors, seconds)
        self._lock = cast("anyio.Lock", self.request_lock)

    @property
    def tokens(self) -> OAuthToken | None:
        return self._tokens

    async def _read_assertion(self, *_: str) -> str:
        """Return the assertion; a file is read anew, because assertions last for minutes."""
        oauth = self._oauth
        found = oauth.assertion or await read_secret(oauth.assertion_file, "assertion")
        self.errors.secrets.add(found)
        return found

    def _build_token_request(self, scope: str | None, assertion: str) -> httpx2.Request:
        # A configured scope takes precedence over what a server requires.
        return super()._build_token_request(self._oauth.scope or scope, assertion)

    def describe(self, fault: Exception, status: int) -> str:
        if isinstance(fault, OAuthFlowError) and not isinstance(fault, OAuthTokenError):
            return "configured issuer publishes no usable metadata of an authorisation server"
        return super().describe(fault, status)


async def read_secret(path: str, what: str) -> str:
    """Return the text of the file at *path*."""
    try:
        file = await (await anyio.Path(path).expanduser()).open(encoding="utf-8")
        async with file:
            found = (await file.read(_MAX_FILE + 1)).strip()
    except (OSError, RuntimeError, ValueError) as fault:
        reason = os_reason(fault) if isinstance(fault, OSError) else "it is not text"
        raise ServerError(f"{what} of the client cannot be read: {reason}") from None
    if not found or len(found) > _MAX_FILE:
        how = "is too large" if found else "is empty"
        raise ServerError(f"file of the {what} of the client {how}")
    return found
