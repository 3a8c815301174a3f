"""How mcpg is let in to servers that require OAuth, as configurations state it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from mcpg.errors import SourceError
from mcpg.json_types import JsonObject, JsonValue

AUTHORIZATION_CODE = "authorization_code"
"""The grant by which a person lets mcpg in, once, in a browser."""

CLIENT_CREDENTIALS = "client_credentials"
"""The grant by which mcpg lets itself in, with a secret or a private key of its own."""

JWT_BEARER = "jwt_bearer"
"""The grant by which mcpg presents an assertion of an identity provider (RFC 7523)."""

GRANTS = (AUTHORIZATION_CODE, CLIENT_CREDENTIALS, JWT_BEARER)

PRIVATE_KEY_JWT = "private_key_jwt"
"""The method by which a client signs assertions with a private key, in place of a secret."""

METHODS = ("client_secret_basic", "client_secret_post", PRIVATE_KEY_JWT)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Algorithms of assertions signed with a private key, by their names in RFC 7518 and RFC 8037."""

_PRIVATE_KEY_MEMBERS = ("private_key", "private_key_file")
_ASSERTIONS = ("assertion", "assertion_file")


@dataclass(frozen=True, slots=True)
class OAuth:
    """How mcpg is let in to a server that requires OAuth; all but the grant may be empty.

    Attributes:
        grant: One of `GRANTS`; for `AUTHORIZATION_CODE`, `mcpg login` must have been run.
        client_id: The client as which mcpg is registered; empty when it registers itself.
        client_secret: The secret of that client.
        scope: The requested scopes, with spaces between; empty for what the server names.
        method: How the client authenticates, one of `METHODS`.
        issuer: The authorisation server to which the client belongs; empty for the origin of the
            server itself. A secret is sent to no other.
        redirect: The address on this machine that is registered for the client, where a browser
            comes back to; empty for any port.
        private_key: The private key of the client, in PEM.
        private_key_file: The file that contains this key, in its place.
        algorithm: The algorithm of the key, one of `ALGORITHMS`.
        assertion: The assertion that an identity provider has issued for the client.
        assertion_file: The file that contains this assertion, in its place.
    """

    grant: str = AUTHORIZATION_CODE
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    method: str = field(default=METHODS[0], repr=False)
    issuer: str = ""
    redirect: str = ""
    private_key: str = field(default="", repr=False)
    private_key_file: str = ""
    algorithm: str = ALGORITHMS[0]
    assertion: str = field(default="", repr=False)
    assertion_file: str = ""

    @property
    def has_key(self) -> bool:
        """Whether the client has a private key."""
        return bool(self.private_key or self.private_key_file)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that must not be shown."""
        return self.client_secret, self.private_key, self.assertion


def find_problem(oauth: OAuth, quoted: Callable[[str], str]) -> tuple[str, str] | None:
    """Return a message and a remedy where fields of *oauth* are missing or contradict each other.

    Args:
        oauth: The settings.
        quoted: Returns the name of a field as the configuration spells it.
    """
    return (
        _contradiction(oauth, quoted)
        or (_missing_credentials(oauth, quoted) if oauth.grant == CLIENT_CREDENTIALS else None)
        or (_missing_assertion(oauth, quoted) if oauth.grant == JWT_BEARER else None)
    )


def _contradiction(oauth: OAuth, quoted: Callable[[str], str]) -> tuple[str, str] | None:
    for names in (("client_secret", *_PRIVATE_KEY_MEMBERS), _ASSERTIONS):
        given = [name for name in names if getattr(oauth, name)]
        if len(given) > 1:
            return f"has both {quoted(given[0])} and {quoted(given[1])}", "leave out one of them"
    for grant, names in ((CLIENT_CREDENTIALS, _PRIVATE_KEY_MEMBERS), (JWT_BEARER, _ASSERTIONS)):
        given = [name for name in names if getattr(oauth, name)]
        if given and oauth.grant != grant:
            return f"has {quoted(given[0])} without its grant", f"add the grant {grant}"
    if oauth.method == PRIVATE_KEY_JWT and oauth.grant != CLIENT_CREDENTIALS:
        remedy = f"add the grant {CLIENT_CREDENTIALS}"
        return f"has the method {PRIVATE_KEY_JWT} without its grant", remedy
    return None


def _missing_credentials(oauth: OAuth, quoted: Callable[[str], str]) -> tuple[str, str] | None:
    secret, key = quoted("client_secret"), quoted("private_key")
    if oauth.method == PRIVATE_KEY_JWT and not (oauth.client_id and oauth.has_key):
        return f"has no {quoted('client_id')} and {key}", f"{PRIVATE_KEY_JWT} needs both"
    if not (oauth.client_id and (oauth.client_secret or oauth.has_key)):
        remedy = f"the grant {CLIENT_CREDENTIALS} needs both, or {key} in place of the secret"
        return f"has no {quoted('client_id')} and {secret}", remedy
    return None


def _missing_assertion(oauth: OAuth, quoted: Callable[[str], str]) -> tuple[str, str] | None:
    needed = ("client_id", "client_secret", "issuer")
    missing = [name for name in needed if not getattr(oauth, name)]
    if not (oauth.assertion or oauth.assertion_file):
        missing.append("assertion")
    if not missing:
        return None
    return f"has no {' and '.join(map(quoted, missing))}", f"the grant {JWT_BEARER} needs it"


_SHOWN = {
    "assertionfile": "assertionFile",
    "authmethod": "authMethod",
    "clientid": "clientId",
    "clientsecret": "clientSecret",
    "privatekey": "privateKey",
    "privatekeyfile": "privateKeyFile",
    "redirecturi": "redirectUri",
}
_MOST_PORT = 65535
_LONG_GRANTS = {"urn:ietf:params:oauth:grant_type:jwt_bearer": JWT_BEARER}
_OAUTH_REMEDY = "see the documentation of mcpg for its layout"


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
    return _OAuthMembers({**beside, **members}, fill, fail).oauth()


def _usual_spelling(name: str) -> str:
    """Return the usual spelling of a plain *name*."""
    return _SHOWN.get(name, name)


def _plain(members: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return *members* by names without case, hyphens and underscores."""
    return {
        name.casefold().replace("_", "").replace("-", ""): value for name, value in members.items()
    }


class _OAuthMembers:
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
        scope = self._members.get("scope", self._members.get("scopes"))
        words = scope if isinstance(scope, list) else [scope or ""]
        found = OAuth(
            grant=self._choice(GRANTS, "grant", "granttype"),
            client_id=self._text("clientid"),
            client_secret=self._text("clientsecret"),
            scope=" ".join(self._expand("scope", word) for word in words).strip(),
            method=self._choice(METHODS, "authmethod", "tokenendpointauthmethod"),
            issuer=self._text("issuer"),
            redirect=self._redirect(),
            private_key=self._variable("privatekey"),
            private_key_file=self._text("privatekeyfile"),
            algorithm=self._choice(ALGORITHMS, "algorithm"),
            assertion=self._variable("assertion"),
            assertion_file=self._text("assertionfile"),
        )
        problem = find_problem(found, lambda name: f"`{_usual_spelling(name.replace('_', ''))}`")
        if problem is not None:
            raise self._fail(f"its `oauth` {problem[0]}", problem[1])
        return replace(found, method=PRIVATE_KEY_JWT) if found.has_key else found

    def _choice(self, choices: tuple[str, ...], *keys: str) -> str:
        written = self._text(*keys).replace("-", "_")
        found = _LONG_GRANTS.get(written, written) or choices[0]
        if found not in choices:
            message = f"the `{_usual_spelling(keys[0])}` of its `oauth` is not a known value"
            raise self._fail(message, f"write {' or '.join(choices)}")
        return found

    def _variable(self, key: str) -> str:
        """Return a secret, which must not be part of the file.

        Raises:
            SourceError: It is.
        """
        written = self._members.get(key)
        if isinstance(written, str) and written and "${" not in written:
            remedy = f"write ${{NAME}} in its place, and set that variable, or use `{_usual_spelling(key)}File`"
            raise self._fail(
                f"the `{_usual_spelling(key)}` of its `oauth` contains a secret", remedy
            )
        return self._text(key)

    def _redirect(self) -> str:
        port = self._members.get("callbackport")
        if port is None:
            return self._text("redirecturi")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= _MOST_PORT:
            raise self._fail("the `callbackPort` of its `oauth` is not a port", "write a number")
        return f"http://localhost:{port}/callback"

    def _text(self, *keys: str) -> str:
        value = next((self._members[key] for key in keys if self._members.get(key)), "")
        return self._expand(keys[0], value).strip()

    def _expand(self, key: str, value: JsonValue) -> str:
        if not isinstance(value, str):
            raise self._fail(
                f"the `{_usual_spelling(key)}` of its `oauth` is not a string", _OAUTH_REMEDY
            )
        return self._fill(value)
