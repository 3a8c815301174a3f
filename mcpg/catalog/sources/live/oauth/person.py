"""Being let in by a person: authorisation code with PKCE, as the SDK does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from mcpg.catalog.sources.live.oauth.bounded import OTHER_ISSUER, Bounded, Memory, client_of
from mcpg.catalog.sources.live.oauth.logins import Login
from mcpg.catalog.sources.live.trouble import AskingError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx2
    from pydantic import BaseModel

    from mcpg.catalog.sources.live.oauth.callback import Callback
    from mcpg.catalog.sources.live.trouble import Trouble
    from mcpg.catalog.sources.servers import HttpServer, OAuth

_CLIENT = "mcpg"
_DENIED = "access_denied"


class Person(Bounded):
    """Sends a person to the authorisation server, once, and keeps what comes of it."""

    def __init__(
        self,
        server: HttpServer,
        oauth: OAuth,
        callback: Callback,
        show: Callable[[str], Awaitable[None]],
        trouble: Trouble,
        seconds: float,
    ) -> None:
        """Prepare a login.

        Args:
            server: The address.
            oauth: The client, where one is configured.
            callback: Where the browser comes back to.
            show: Brings an address before the person.
            trouble: Gets what goes wrong.
            seconds: Time for each step that needs no person.
        """
        self._client = client_of(oauth, server.url)
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(callback.address)],
            client_name=_CLIENT,
            scope=oauth.scope or None,
        )
        storage = Memory(self._client)
        super().__init__(server.url, metadata, storage, self._shown, self._answered)
        self.bound(server, oauth, trouble, seconds)
        self._callback = callback
        self._show = show
        self._was_shown = False
        self._over = ""

    def check(self, request: httpx2.Request) -> None:
        """See that the flow goes on only while it can come to a good end."""
        super().check(request)
        if self._over:
            raise AskingError(self._over)
        if self._client is not None and self.context.client_info is None:
            self._over = f"{OTHER_ISSUER} (name that as `issuer` in its `oauth`)"
            raise AskingError(self._over)

    def reason(self, fault: Exception, status: int) -> str:
        """Say what went wrong, and take care that nothing is tried again."""
        self._over = self._over or self._why(fault, status)
        return self._over

    def _why(self, fault: Exception, status: int) -> str:
        is_plain = not isinstance(fault, OAuthTokenError | OAuthRegistrationError)
        if self._was_shown and is_plain and isinstance(fault, OAuthFlowError):
            return "what the browser brought back does not belong to this login"
        return super().reason(fault, status)

    async def _shown(self, address: str) -> None:
        if self._was_shown:
            raise AskingError("it wants another login although one was just made")
        self._was_shown = True
        self.check_address(address)
        await self._show(address)

    async def _answered(self) -> AuthorizationCodeResult:
        brought = await self._callback.wait()
        if "error" in brought:
            is_denied = brought["error"] == _DENIED
            raise AskingError(
                "the login was refused" if is_denied else "its authorisation server made no login"
            )
        members = {key: brought.get(key) for key in ("state", "iss")}
        return AuthorizationCodeResult(code=brought.get("code", ""), **members)

    def login(self) -> Login | None:
        """Give what the login yielded; `None` when the server wanted none."""
        context = self.context
        if context.current_tokens is None or context.client_info is None:
            return None
        hidden = {"client_secret"} if self._client is not None else set()
        metadata = context.oauth_metadata
        issuer = context.auth_server_url or (str(metadata.issuer) if metadata else "")
        return Login(
            url=context.server_url,
            tokens=_members(context.current_tokens) or {},
            expires=context.token_expiry_time,
            client=context.client_info.model_dump(mode="json", exclude_none=True, exclude=hidden),
            endpoint=self._get_token_endpoint(),
            issuer=issuer,
            server=_members(metadata),
            resource=_members(context.protected_resource_metadata),
        )


def _members(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)
