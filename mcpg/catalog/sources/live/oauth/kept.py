"""Being let in by a login that was made before, which is renewed where that needs no person."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from mcpg.catalog.sources.live.oauth.bounded import Bounded, Memory, client_of
from mcpg.catalog.sources.live.trouble import AskingError

if TYPE_CHECKING:
    from mcpg.catalog.sources.live.oauth.logins import Login, LoginFile
    from mcpg.catalog.sources.live.trouble import Trouble
    from mcpg.catalog.sources.servers import HttpServer, OAuth

_OK = 200
_REFUSALS = (400, 401)


class Kept(Bounded):
    """Uses the login of a file, and puts renewed tokens there.

    What the SDK keeps from one process to the next is not enough to renew a token: it forgets when
    the token ends and where it is renewed. Both stand in the file and are put back.
    """

    def __init__(
        self, server: HttpServer, oauth: OAuth, file: LoginFile, trouble: Trouble, seconds: float
    ) -> None:
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1/callback")])
        super().__init__(server.url, metadata, Memory())
        self.bound(server, oauth, trouble, seconds)
        self._client = client_of(oauth, server.url)
        self._file = file
        self._turn = AsyncExitStack()
        self._turn_of = 0
        self._endpoint = httpx2.URL()
        self._adopted: Login | None = None
        self._again = f"run `{server.login}`"

    async def _initialize(self) -> None:
        self._use(self._file.read())
        self._initialized = True

    def _use(self, login: Login | None) -> None:
        """Take *login* for what the SDK knows."""
        if login is None:
            raise AskingError(f"its login is gone: {self._again}")
        try:
            self._put_back(login)
        except (ValidationError, httpx2.InvalidURL):
            raise AskingError(f"its login cannot be read: {self._again}") from None

    def _put_back(self, login: Login) -> None:
        context = self.context
        client = OAuthClientInformationFull.model_validate(login.client)
        if self._client is not None and self._client.client_id != client.client_id:
            raise AskingError(f"its login was made for another client: {self._again}")
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

    def check(self, request: httpx2.Request) -> None:
        """See that nothing is sent but where the login was made: no token to anybody else."""
        super().check(request)
        if request.method != "GET" and request.url != self._endpoint:
            raise AskingError(f"its authorisation server has changed: {self._again}")

    async def _refresh_token(self) -> httpx2.Request:
        await self._turn.enter_async_context(self._file.turn(self.seconds))
        self._turn_of = anyio.get_current_task().id
        present, newest = self.context.current_tokens, self._file.read()
        self._use(newest)
        is_other = newest and present and newest.access != present.access_token
        if newest and is_other and (newest.expires is None or newest.expires > time.time()):
            self._adopted = newest  # another process was faster: its token need not be renewed
            return httpx2.Request("POST", self._endpoint)
        self.check_issuer()
        return await super()._refresh_token()

    def answer_of_our_own(self) -> httpx2.Response | None:
        """Answer with the tokens of another process, as the authorisation server did to it."""
        adopted, self._adopted = self._adopted, None
        if adopted is None:
            return None
        left = None if adopted.expires is None else int(adopted.expires - time.time())
        return httpx2.Response(_OK, json={**adopted.tokens, "expires_in": left})

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        renewed = await super()._handle_refresh_response(response)
        if renewed:
            self._keep()
        elif response.status_code not in _REFUSALS:
            status = response.status_code
            raise AskingError(f"its login cannot be renewed now (HTTP status {status})")
        await self.settle()
        return renewed

    def _keep(self) -> None:
        """Put renewed tokens into the file, unless the login was removed meanwhile."""
        tokens, login = self.context.current_tokens, self._file.read()
        if tokens is None or login is None or login.access == tokens.access_token:
            return
        kept = tokens.model_dump(mode="json", exclude_none=True)
        self._file.write(replace(login, tokens=kept, expires=self.context.token_expiry_time))

    async def _perform_authorization(self) -> httpx2.Request:
        if self.context.can_refresh_token():  # the token was refused although its time is not over
            return await self._refresh_token()
        raise AskingError(f"its login has ended: {self._again}")

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if not await self._handle_refresh_response(response):
            raise AskingError(f"its login has ended: {self._again}")

    async def settle(self) -> None:
        """Let other processes renew the login, if it is this request that holds them up."""
        if self._turn_of == anyio.get_current_task().id:
            self._turn_of = 0
            await self._turn.aclose()
