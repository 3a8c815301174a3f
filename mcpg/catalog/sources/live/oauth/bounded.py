"""The SDK's OAuth, bounded: where its requests may go, how long they last, what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import ValidationError

from mcpg.catalog.sources.live.oauth.turnstile import Turnstile
from mcpg.catalog.sources.live.trouble import AskingError
from mcpg.errors import McpgError
from mcpg.net.addresses import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import anyio
    from mcp.shared.auth import OAuthToken

    from mcpg.catalog.sources.live.trouble import Trouble
    from mcpg.catalog.sources.servers import HttpServer, OAuth

MARK = "mcpg.oauth"
"""The extension of a request by which a transport knows that it asks for no tools."""

OTHER_ISSUER = "it leads to another authorisation server than its client belongs to"
NO_SERVER = "it wants OAuth, but names no authorisation server that can be used"

_OK = 300
_UNAUTHORISED = 401


class Memory:
    """Tokens and a client for as long as a connection lasts."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self._tokens: OAuthToken | None = None
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class Bounded(OAuthClientProvider):
    """What all our ways of being let in have in common, around the flow of the SDK.

    Its hooks are those that the SDK's own kinds of provider override.
    """

    is_here = False
    seconds = 30.0
    scope = ""
    trouble: Trouble

    def bound(self, server: HttpServer, oauth: OAuth, trouble: Trouble, seconds: float) -> None:
        """Say what bounds the flow, before it begins."""
        parts = urlsplit(server.url)
        self.is_here = parts.scheme.lower() == "http" and is_loopback(parts.hostname or "")
        self.seconds = seconds
        self.scope = oauth.scope
        client = client_of(oauth, server.url)
        self._client_issuer = (client.issuer or "") if client else ""
        self.trouble = trouble
        self._turnstile = Turnstile()
        self.context.lock = cast("anyio.Lock", self._turnstile)

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        status = 0
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request:
                    self._turnstile.leave()
                    response = yield request
                    await self._turnstile.enter()
                    if response.status_code == _UNAUTHORISED and self._is_outdated(request):
                        self._add_auth_header(request)
                        continue
                else:
                    given = self.answer_of_our_own()
                    if given is None:
                        self.check(outgoing)
                        given = yield outgoing
                        status = given.status_code
                    response = given
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except (AskingError, McpgError, OAuthFlowError, ValidationError) as fault:
            self.trouble.said = self.reason(fault, status)
            raise AskingError(self.trouble.said) from None
        finally:
            await flow.aclose()
            await self.settle()

    def _is_outdated(self, request: httpx2.Request) -> bool:
        """Tell whether another request has brought a newer token than *request* was sent with."""
        tokens = self.context.current_tokens
        sent = request.headers.get("Authorization")
        return tokens is not None and sent != f"Bearer {tokens.access_token}"

    def answer_of_our_own(self) -> httpx2.Response | None:
        """Give the answer to a request that need not be sent, `None` for one that must be."""
        return None

    async def settle(self) -> None:
        """Let go of what was held during the flow."""

    def check(self, request: httpx2.Request) -> None:
        """See that a request of the flow goes nowhere it should not.

        Raises:
            AskingError: It would go unencrypted over a network.
        """
        self.trouble.here.said = None  # that the server wanted a token is no trouble yet
        self.check_address(str(request.url))
        request.headers["Accept-Encoding"] = "identity"
        request.extensions = {
            **request.extensions,
            "timeout": httpx2.Timeout(self.seconds).as_dict(),
            MARK: True,
        }

    def check_address(self, address: str) -> None:
        """See that nothing goes to *address* unencrypted over a network.

        Raises:
            AskingError: It would.
        """
        parts = urlsplit(address)
        is_local = self.is_here and parts.scheme == "http" and is_loopback(parts.hostname or "")
        if parts.scheme != "https" and not is_local:
            raise AskingError("its authorisation server has an address that is not https")

    def reason(self, fault: Exception, status: int) -> str:
        """Say what went wrong, in nothing but our own words; *status* is of the last answer."""
        if isinstance(fault, AskingError):
            return str(fault)
        if isinstance(fault, McpgError):
            return f"its login cannot be kept: {fault.message}"
        if isinstance(fault, OAuthRegistrationError):
            return f"its authorisation server registers no client{_told(status)}"
        if isinstance(fault, OAuthTokenError):
            return f"its authorisation server grants nothing{_told(status)}"
        if isinstance(fault, ValidationError):
            return "what its authorisation server answers is not as OAuth says"
        return NO_SERVER

    def check_issuer(self) -> None:
        """See that a configured client is shown to nobody but the issuer that it belongs to.

        Where an authorisation server publishes nothing, the SDK takes the server itself for one.

        Raises:
            AskingError: It would be shown to somebody else.
        """
        metadata = self.context.oauth_metadata
        issuer = str(metadata.issuer) if metadata else origin(self.context.server_url)
        if self._client_issuer and issuer.rstrip("/") != self._client_issuer.rstrip("/"):
            raise AskingError(OTHER_ISSUER if metadata else NO_SERVER)

    async def _perform_authorization(self) -> httpx2.Request:
        self.check_issuer()
        if self.scope:  # the SDK puts what the server names in its place
            self.context.client_metadata.scope = self.scope
        return await super()._perform_authorization()

    def _add_auth_header(self, request: httpx2.Request) -> None:
        tokens = self.context.current_tokens
        if tokens is not None:
            self.trouble.secrets |= {tokens.access_token, tokens.refresh_token or ""}
        super()._add_auth_header(request)


def origin(url: str) -> str:
    """Give scheme, host and port of *url*."""
    parts = urlsplit(url)
    return f"{parts.scheme.lower()}://{parts.netloc.rpartition('@')[2].lower()}"


def client_of(oauth: OAuth, url: str) -> OAuthClientInformationFull | None:
    """Give the client that a configuration names, bound to whom its secret may be sent."""
    if not oauth.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=oauth.client_secret or None,
        token_endpoint_auth_method=oauth.method if oauth.client_secret else "none",
        issuer=oauth.issuer or (origin(url) if oauth.client_secret else None),
    )


def _told(status: int) -> str:
    return f" (HTTP status {status})" if status >= _OK else ""
