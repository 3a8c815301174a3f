"""OAuth for servers at addresses, as the `mcp` SDK gives it."""

from __future__ import annotations

import threading
import time
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from mcpg.errors import McpgError, UsageError, os_reason
from mcpg.net.addresses import is_loopback
from mcpg.sources.client_config import CLIENT_CREDENTIALS
from mcpg.sources.live.errors import AskingError
from mcpg.sources.live.oauth_store import Login, LoginFile

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

    from pydantic import BaseModel

    from mcpg.sources.client_config import HttpServer, OAuth
    from mcpg.sources.live.errors import Trouble

# SECTION turnstile: A lock around OAuth, which lets go while the request itself is under way.


class Turnstile:
    """Stands in for the lock that the SDK holds from before a request until its answer begins.

    That is right for tokens: one renews them, and the others wait. But a server may begin to answer
    only when a tool is done, and then calls at the same time would go one after another, and not
    even a cancellation would come through. So whoever sends the request itself steps aside.
    """

    def __init__(self) -> None:
        self._lock = anyio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Let others pass, if it is us that holds them up."""
        owner = self._lock.statistics().owner
        if owner is not None and owner.id == anyio.get_current_task().id:
            self._lock.release()

    async def enter(self) -> None:
        """Wait for one's turn."""
        await self._lock.acquire()


# SECTION bounded: The SDK's OAuth, bounded: where its requests may go, how long they last, what is
# said of them.


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


# SECTION machine: Being let in with a secret of one's own: the grant `client_credentials`.


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


# SECTION person: Being let in by a person: authorisation code with PKCE, as the SDK does it.


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


# SECTION callback: Where a browser comes back to after a login: an address of this machine, for
# one visit.


_HERE = "127.0.0.1"
_PATH = "/callback"
_POLL = 0.05
_PATIENCE = 5.0
_KEYS = ("code", "state", "iss", "error")
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mcpg</title>
<body style="font: 1.1rem sans-serif; margin: 4rem auto; max-width: 32rem">
<p>%s</p>
"""
_DONE = "mcpg has the answer. You can close this page; the terminal says how it went."
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


class Callback:
    """Gets the answer of a browser.

    Attributes:
        address: Where the browser is sent.
    """

    def __init__(self, host: str, path: str) -> None:
        """Wait at *path*; the port of *host* is not known before it is listened at."""
        self.address = ""
        self._host = host
        self._path = path
        self._lock = threading.Lock()
        self._answer: dict[str, str] | None = None

    def at(self, port: int) -> None:
        """Say at which port it is listened."""
        self.address = f"http://{self._host}:{port}{self._path}"

    async def wait(self) -> dict[str, str]:
        """Give `code`, `state`, `iss` and `error` as the browser brings them, once it does."""
        while self._answer is None:  # noqa: ASYNC110 - it comes from a thread
            await anyio.sleep(_POLL)
        return self._answer

    def visit(self, target: str) -> int:
        """Take the target of a request, and give the status to answer with.

        Only the first visit that brings a `state` counts; whether it is ours is for others to see.
        """
        path, _, told = target.partition("?")
        if path != self._path:
            return 404
        query = parse_qs(told)  # as long as a line of a request may be, so no cost
        brought = {key: query[key][0] for key in _KEYS if key in query}
        with self._lock:
            if "state" not in brought or self._answer is not None:
                return 400
            self._answer = brought
        return 200


@contextmanager
def listening(redirect: str = "", port: int = 0) -> Iterator[Callback]:
    """Listen for a browser, on this machine alone, for as long as the context lasts.

    Args:
        redirect: The address that is registered, empty for any.
        port: The port where none is registered, 0 for any that is free.

    Raises:
        UsageError: The address is none of this machine, or the port is taken.
    """
    host, wanted, path = _place(redirect, port)
    callback = Callback(host, path)
    handler = type("_Browser", (_Handler,), {"callback": callback})
    try:
        server = ThreadingHTTPServer((_HERE, wanted), handler)
    except OSError as fault:
        message = f"nothing can be received at port {wanted}: {os_reason(fault)}"
        raise UsageError(message, remedy="name another with --port") from None
    callback.at(server.server_port)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(_POLL,), daemon=True)
    thread.start()
    try:
        yield callback
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _place(redirect: str, port: int) -> tuple[str, int, str]:
    if not redirect:
        return _HERE, port, _PATH
    try:
        parts = urlsplit(redirect)
        host, own = parts.hostname or "", parts.port
    except ValueError:
        host, own, parts = "", None, urlsplit("")
    if parts.scheme != "http" or host not in {"localhost", _HERE}:
        raise UsageError(
            "its `redirectUri` leads to no address of this machine",
            remedy="register http://127.0.0.1/callback for the client, and name that",
        )
    return host, own or port, parts.path or "/"


class _Handler(BaseHTTPRequestHandler):
    """Answers a browser with a page that repeats nothing of what it brought."""

    callback: Callback
    timeout = _PATIENCE

    def do_GET(self) -> None:
        status = self.callback.visit(self.path)
        page = _PAGE % (_DONE if status == 200 else "There is nothing here.")  # noqa: PLR2004
        self.send_response(status)
        for name, text in _HEADERS.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing: what a browser brings is secret."""


# SECTION kept: Being let in by a login that was made before, which is renewed where that needs no
# person.


_OK_of_kept = 200
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
        return httpx2.Response(_OK_of_kept, json={**adopted.tokens, "expires_in": left})

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


# SECTION choosing: Which way mcpg is let in to a server.


def authorisation(
    server: HttpServer, tokens: str | None, trouble: Trouble, seconds: float
) -> Bounded | None:
    """Give what lets mcpg in, `None` where nothing is configured and nobody has logged in.

    A token never goes over a network unencrypted: over `http` there is no OAuth but to this
    machine. A server whose headers hold a key is left to these.

    Args:
        server: The address.
        tokens: The folder in which logins are kept.
        trouble: Gets what goes wrong.
        seconds: Time for one step of a request.
    """
    oauth = server.oauth
    if oauth is None or server.has_key or not may_be_told(server.url):
        return None
    if oauth.grant == CLIENT_CREDENTIALS:
        return Machine(server, oauth, trouble, seconds)
    file = LoginFile(tokens, server.url) if tokens else None
    if file is None or file.read() is None:
        return None
    return Kept(server, oauth, file, trouble, seconds)


def may_be_told(url: str) -> bool:
    """Tell whether a token may be sent to *url*: over https, or within this machine."""
    parts = urlsplit(url)
    return parts.scheme.lower() == "https" or is_loopback(parts.hostname or "")
