"""Being let in with a secret of one's own: the grant `client_credentials`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

from mcpg.catalog.sources.live.oauth.bounded import OTHER_ISSUER, Bounded, Memory, origin
from mcpg.catalog.sources.live.trouble import AskingError

if TYPE_CHECKING:
    from mcpg.catalog.sources.live.trouble import Trouble
    from mcpg.catalog.sources.servers import HttpServer, OAuth


class Machine(Bounded, ClientCredentialsOAuthProvider):
    """Fetches a token when a server wants one; it lasts as long as the connection.

    The secret is sent to nobody but the issuer that is named, or else the origin of the server:
    otherwise it would be the server that decides who gets it.
    """

    def __init__(self, server: HttpServer, oauth: OAuth, trouble: Trouble, seconds: float) -> None:
        issuer = oauth.issuer or origin(server.url)
        super().__init__(
            server.url,
            Memory(),
            oauth.client_id,
            oauth.client_secret,
            cast("Literal['client_secret_basic', 'client_secret_post']", oauth.method),
            oauth.scope or None,
            issuer,
        )
        self._belongs_to = issuer
        self.bound(server, oauth, trouble, seconds)

    def _select_authorization_server(self, advertised: list[str]) -> str:
        found = super()._select_authorization_server(advertised)
        if found.rstrip("/") != self._belongs_to.rstrip("/"):
            raise AskingError(f"{OTHER_ISSUER} (name that as `issuer` in its `oauth`)")
        return found
