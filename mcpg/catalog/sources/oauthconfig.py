"""What configurations of clients say of OAuth: which client mcpg is, and what it asks for.

Clients write this in several ways: an object `oauth` (most) or `auth` (Cursor) with members such as
`clientId`, `client_id` or `CLIENT_ID`, or members of the server itself such as `oauthClientId`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.catalog.sources.servers import AUTHORIZATION_CODE, CLIENT_CREDENTIALS, OAuth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcpg.errors import SourceError
    from mcpg.jsontypes import JsonObject, JsonValue

_METHODS = ("client_secret_basic", "client_secret_post")
_SHOWN = {
    "authmethod": "authMethod",
    "clientid": "clientId",
    "clientsecret": "clientSecret",
    "redirecturi": "redirectUri",
}
_MOST_PORT = 65535
_REMEDY = "see the documentation of mcpg for its layout"


def read_oauth(
    entry: JsonObject, fill: Callable[[str], str], fail: Callable[[str, str], SourceError]
) -> OAuth | None:
    """Read how a server lets mcpg in; `None` when the entry wants no OAuth.

    Args:
        entry: The entry of the server.
        fill: Fills in variables.
        fail: Makes the error from a message and a remedy.

    Raises:
        SourceError: A member makes no sense.
    """
    said = entry.get("oauth", entry.get("auth"))
    if said is False:
        return None
    members = _plain(said if isinstance(said, dict) else {})
    if members.get("enabled") is False:
        return None
    flat = _plain(entry)
    beside = {key[5:]: value for key, value in flat.items() if key.startswith("oauth")}
    return _Members({**beside, **members}, fill, fail).oauth()


def _plain(members: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give the members by names without case, hyphens and underscores."""
    return {
        name.casefold().replace("_", "").replace("-", ""): value for name, value in members.items()
    }


class _Members:
    """What is said of OAuth, by plain names."""

    def __init__(
        self,
        members: Mapping[str, JsonValue],
        fill: Callable[[str], str],
        fail: Callable[[str, str], SourceError],
    ) -> None:
        self._members = members
        self._fill = fill
        self._fail = fail

    def oauth(self) -> OAuth:
        """Read all of it."""
        found = OAuth(
            grant=self._grant(),
            client_id=self._text("clientid"),
            client_secret=self._text("clientsecret"),
            scope=self._scope(),
            method=self._method(),
            issuer=self._text("issuer"),
            redirect=self._redirect(),
        )
        if found.grant == CLIENT_CREDENTIALS and not (found.client_id and found.client_secret):
            message = "its `oauth` has no `clientId` and `clientSecret`"
            raise self._fail(message, f"the grant {CLIENT_CREDENTIALS} needs both")
        return found

    def _grant(self) -> str:
        said = self._text("grant", "granttype").replace("-", "_") or AUTHORIZATION_CODE
        if said not in {AUTHORIZATION_CODE, CLIENT_CREDENTIALS}:
            message = "the `grant` of its `oauth` is none that is known"
            raise self._fail(message, f"write {AUTHORIZATION_CODE} or {CLIENT_CREDENTIALS}")
        return said

    def _method(self) -> str:
        said = self._text("authmethod", "tokenendpointauthmethod") or _METHODS[0]
        if said not in _METHODS:
            message = "the `authMethod` of its `oauth` is none that is known"
            raise self._fail(message, f"write {' or '.join(_METHODS)}")
        return said

    def _scope(self) -> str:
        value = self._members.get("scope", self._members.get("scopes"))
        words = value if isinstance(value, list) else [value or ""]
        return " ".join(self._filled("scope", word) for word in words).strip()

    def _redirect(self) -> str:
        port = self._members.get("callbackport")
        if port is None:
            return self._text("redirecturi")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= _MOST_PORT:
            raise self._fail("the `callbackPort` of its `oauth` is no port", "write a number")
        return f"http://localhost:{port}/callback"

    def _text(self, *keys: str) -> str:
        value = next((self._members[key] for key in keys if self._members.get(key)), "")
        return self._filled(keys[0], value).strip()

    def _filled(self, key: str, value: JsonValue) -> str:
        if not isinstance(value, str):
            raise self._fail(f"the `{_SHOWN.get(key, key)}` of its `oauth` is no text", _REMEDY)
        return self._fill(value)
