"""An authorisation server and an MCP server that trusts it, made with the SDK, on this machine."""

from __future__ import annotations

import base64
import secrets
import socket
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio
import jwt
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.shared.auth import OAuthClientInformationFull
    from starlette.datastructures import FormData

MACHINE = "machine-client"
MACHINE_SECRET = "marker-machine-secret"
MACHINE_KEY = ec.generate_private_key(ec.SECP256R1())
MACHINE_PEM = MACHINE_KEY.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
).decode()
LONGEST_ASSERTION = 600
ASSERTION = "marker-assertion-of-an-identity-provider"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ACCESS = "marker-access-token"
REFRESH = "marker-refresh-token"


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Registers anybody, and lets in whom its person agrees to; a refresh token serves once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.agrees = True
        self.asked: list[AuthorizationParams] = []
        self.issued = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Return what was registered."""
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Let anybody be a client."""
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """Answer as the person would who looks at the page."""
        self.asked.append(params)
        back = str(params.redirect_uri)
        if not self.agrees:
            return construct_redirect_uri(back, error="access_denied", state=params.state)
        code = AuthorizationCode(
            code=f"marker-code-{secrets.token_hex(8)}",
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(back, code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Return what stands behind a code."""
        code = self.codes.get(authorization_code)
        return code if code and code.client_id == client.client_id else None

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Take a code, once."""
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        """Return what stands behind a refresh token."""
        found = self.refresh.get(refresh_token)
        return found if found and found.client_id == client.client_id else None

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Take a refresh token, once; the access tokens before it are void."""
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.access.clear()
        return self.issue(client.client_id, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return what stands behind a token."""
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Forget a token."""
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def issue(self, client_id: str, scopes: list[str], *, renews: bool = True) -> OAuthToken:
        """Make tokens that tests can foretell."""
        self.issued += 1
        access, refresh = f"{ACCESS}-{self.issued}", f"{REFRESH}-{self.issued}"
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes)
        if renews:
            self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(
            access_token=access,
            expires_in=3600,
            scope=" ".join(scopes) or None,
            refresh_token=refresh if renews else None,
        )


@dataclass
class Realm:
    """Servers that run, what they know, and what was asked of them.

    Attributes:
        origin: The address of all.
        provider: What the authorisation server knows.
        asked: Method, path and form of each request.
        here: How many calls of `meet` have come.
        met: Set when two have.
        required: The only header `Authorization` that has the permission, empty for any.
        instead: Answers that stand in for those of a path: status, headers, and body.
    """

    origin: str
    provider: Provider = field(default_factory=Provider)
    asked: list[tuple[str, str, FormData | None]] = field(default_factory=list)
    here: int = 0
    met: anyio.Event = field(default_factory=anyio.Event)
    required: str = ""
    instead: dict[str, tuple[int, dict[str, str], Any]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address of the MCP server."""
        return f"{self.origin}/mcp"

    def paths(self, method: str = "POST") -> list[str]:
        """Return the paths that were asked for."""
        return [path for how, path, _ in self.asked if how == method]

    def grants(self) -> list[str]:
        """Return the grants by which tokens were asked for."""
        forms = [form for _, path, form in self.asked if path == "/token"]
        return [str(form["grant_type"]) for form in forms if form is not None]


class _Front:
    """Stands before the servers of the SDK: takes note, and does what these do not."""

    def __init__(self, app: Any, realm: Realm) -> None:
        self._app = app
        self._realm = realm

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        request, replay = await _read(scope, receive) if path == "/token" else (None, receive)
        form = await request.form() if request is not None else None
        self._realm.asked.append((scope["method"], path, form))
        sent = dict(scope["headers"]).get(b"authorization", b"").decode()
        if path == "/mcp" and self._realm.required not in {"", sent}:
            lacking = {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="write"'}
            await self._other((403, lacking, b""), send)
        elif path in self._realm.instead:
            await self._other(self._realm.instead[path], send)
        elif form is not None and form.get("grant_type") in {"client_credentials", JWT_BEARER}:
            await self._machine(request, form)(scope, receive, send)
        else:
            await self._app(scope, replay, send)

    async def _other(self, answer: tuple[int, dict[str, str], Any], send: Any) -> None:
        status, headers, body = answer
        raw = [(name.encode(), text.encode()) for name, text in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        if callable(body):
            await body(send)
        else:
            await send({"type": "http.response.body", "body": body})

    def _machine(self, request: Any, form: FormData) -> JSONResponse:
        """Answer a client that has a secret of its own, which the SDK's server does not."""
        if "client_assertion" in form:
            return self._signed(str(form["client_assertion"]), form)
        if form.get("grant_type") == JWT_BEARER and form.get("assertion") != ASSERTION:
            return JSONResponse({"error": "invalid_grant", "told": form.get("assertion")}, 400)
        kind, _, word = request.headers.get("authorization", "").partition(" ")
        name, _, secret = base64.b64decode(word).decode().partition(":")
        if kind != "Basic":
            name, secret = str(form.get("client_id")), str(form.get("client_secret"))
        if (unquote(name), unquote(secret)) != (MACHINE, MACHINE_SECRET):
            return JSONResponse({"error": "invalid_client", "told": secret}, 401)
        return self._token(form)

    def _signed(self, assertion: str, form: FormData) -> JSONResponse:
        """Answer a client that signs with its private key."""
        try:
            claims = jwt.decode(
                assertion,
                MACHINE_KEY.public_key(),
                algorithms=["ES256"],
                audience=[self._realm.origin, f"{self._realm.origin}/"],
                issuer=MACHINE,
            )
        except jwt.PyJWTError:
            return JSONResponse({"error": "invalid_client", "told": assertion}, 401)
        is_own = claims["sub"] == MACHINE and claims["exp"] - claims["iat"] <= LONGEST_ASSERTION
        return self._token(form) if is_own else JSONResponse({"error": "invalid_client"}, 401)

    def _token(self, form: FormData) -> JSONResponse:
        scopes = str(form.get("scope", "")).split()
        token = self._realm.provider.issue(MACHINE, scopes, renews=False)
        return JSONResponse(token.model_dump(exclude_none=True))


async def _read(scope: Any, receive: Any) -> tuple[Request, Any]:
    """Read a request whole, and give what lets another read it again."""
    body = await Request(scope, receive).body()

    async def replay() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, replay), replay


def _app(realm: Realm, issuer: str, *, is_open: bool, meets: bool) -> Any:
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(issuer),
        resource_server_url=AnyHttpUrl(realm.url),
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=False,
    )
    guard: dict[str, Any] = {"auth": auth, "auth_server_provider": realm.provider}
    server = MCPServer("guarded", **({} if is_open else guard))

    @server.tool(description=f"Tell what was let in, such as {ACCESS}-1.")
    def whoami() -> str:
        return "a client"

    if meets:

        @server.tool()
        async def meet() -> str:
            """Wait until two are here."""
            return await _meet(realm)

    return _Front(server.streamable_http_app(json_response=True), realm)


async def _meet(realm: Realm) -> str:
    """Wait until two are here."""
    realm.here += 1
    if realm.here > 1:
        realm.met.set()
    with anyio.fail_after(5):
        await realm.met.wait()
    return "met"


@contextmanager
def authorising(
    issuer: str | None = None, *, is_open: bool = False, meets: bool = False
) -> Iterator[Realm]:
    """Run an authorisation server and an MCP server at one address.

    Args:
        issuer: Whom the MCP server names as its authorisation server, `None` for the one here.
        is_open: Whether the MCP server lets in everybody.
        meets: Whether it has a tool that answers only when it is called twice at once.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        realm = Realm(f"http://127.0.0.1:{listening.getsockname()[1]}")
        config = uvicorn.Config(
            _app(realm, issuer or realm.origin, is_open=is_open, meets=meets),
            log_level="critical",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield realm
        finally:
            server.should_exit = True
            thread.join()
