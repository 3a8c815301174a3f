"""Log in to a server with an authorization code: send the user to a browser, store the login."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl, BaseModel

from mcpg.errors import SourceError, UsageError, os_reason
from mcpg.sources.client_config import HttpServer, LoginOptions, LoginResult, ServerAccess
from mcpg.sources.live.client import query_once
from mcpg.sources.live.oauth import (
    OTHER_ISSUER,
    GuardedOAuthProvider,
    Login,
    LoginFile,
    MemoryStorage,
    configured_client,
    is_token_safe,
)
from mcpg.sources.live.programs import ProcessGroups
from mcpg.sources.live.requests import ServerError, TransportErrors
from mcpg.sources.live.transports import sdk_muted
from mcpg.sources.server_entries import AUTHORIZATION_CODE, OAuth

_REMEDY = "try again, or see its documentation of OAuth"
_CLIENT = "mcpg"
_DENIED = "access_denied"

_LOOPBACK = "127.0.0.1"
_PATH = "/callback"
_POLL_SECONDS = 0.05
_VISIT_SECONDS = 5.0
_KEYS = ("code", "state", "iss", "error")
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mcpg</title>
<body style="font: 1.1rem sans-serif; margin: 4rem auto; max-width: 32rem">
<p>%s</p>
"""
_DONE = "mcpg has the answer. You can close this page; the terminal shows the result."
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


def log_in(server: HttpServer, folder: str, options: LoginOptions) -> LoginResult:
    """Log in to *server*; see `mcpg.sources.live.log_in`."""
    oauth, place = server.oauth, server.place
    if server.has_key:
        message = "its headers let mcpg in already"
        raise UsageError(message, place=place, remedy="leave out `Authorization` to log in")
    if oauth is None:
        message = "its configuration disables OAuth"
        raise UsageError(message, place=place, remedy="leave out `oauth` to log in")
    if oauth.grant != AUTHORIZATION_CODE:
        message = f"it uses the grant {oauth.grant}, so no login is needed"
        raise UsageError(message, place=place, remedy="leave out `grant` to log in")
    if not is_token_safe(server.url):
        message = "a login would be sent over the network unencrypted"
        raise UsageError(message, place=place, remedy="use an https address")
    if options.scope:
        oauth = replace(oauth, scope=options.scope)
    file = LoginFile(folder, server.url)
    file.prepare()  # fail before the user has to log in
    with sdk_muted():
        return anyio.run(_log_in, server, oauth, file, options)


async def _log_in(
    server: HttpServer, oauth: OAuth, file: LoginFile, options: LoginOptions
) -> LoginResult:
    errors = TransportErrors()

    with listening(oauth.redirect, options.port) as callback:
        provider = AuthorizationCode(server, oauth, callback, options.show, errors, options.step)
        live = ServerAccess(timeout=options.step)
        try:
            listing = await query_once(
                server, live, ProcessGroups(), seconds=options.seconds, auth=provider, errors=errors
            )
        except ServerError as fault:
            raise SourceError(str(fault), place=server.place, remedy=_REMEDY) from None
    login = provider.login()
    if login is None:
        return LoginResult(is_new=False, tools=len(listing.tools))
    try:
        async with file.hold_lock(options.step):  # against concurrent renewal of an earlier login
            file.write(login)
    except ServerError as fault:
        raise SourceError(str(fault), place=server.place, remedy="try again") from None
    return LoginResult(is_new=True, tools=len(listing.tools))


class AuthorizationCode(GuardedOAuthProvider):
    """Gets an authorization code with PKCE from the user's browser, once."""

    def __init__(
        self,
        server: HttpServer,
        oauth: OAuth,
        callback: Callback,
        show: Callable[[str], None],
        errors: TransportErrors,
        seconds: float,
    ) -> None:
        self._client = configured_client(oauth, server.url)
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(callback.address)], client_name=_CLIENT, scope=oauth.scope or None
        )
        storage = MemoryStorage(self._client)
        super().__init__(server.url, metadata, storage, self._redirect, self._wait_for_code)
        self.guard(server, oauth, errors, seconds)
        self._callback = callback
        self._show = show
        self._was_shown = False
        self._failure = ""

    def check(self, request: httpx2.Request) -> httpx2.Response | None:
        """Check that the flow goes on only while it can succeed."""
        given = super().check(request)
        if self._client is not None and self.context.client_info is None:
            self._failure = (
                self._failure or f"{OTHER_ISSUER} (name that as `issuer` in its `oauth`)"
            )
        if self._failure:
            raise ServerError(self._failure)
        return given

    def describe(self, fault: Exception, status: int) -> str:
        """Describe a failure, and keep the flow from being tried again."""
        if not self._failure:
            is_plain = not isinstance(fault, OAuthTokenError | OAuthRegistrationError)
            if self._was_shown and is_plain and isinstance(fault, OAuthFlowError):
                self._failure = "the response from the browser does not belong to this login"
            else:
                self._failure = super().describe(fault, status)
        return self._failure

    async def _redirect(self, address: str) -> None:
        if self._was_shown:
            raise ServerError("another login required although one was just made")
        self._was_shown = True
        self.check_address(address)
        # A browser within the terminal runs for as long as it is used.
        await anyio.to_thread.run_sync(self._show, address, abandon_on_cancel=True)

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        answer = await self._callback.wait()
        if "error" in answer:
            is_denied = answer["error"] == _DENIED
            raise ServerError(
                "the login was refused" if is_denied else "authorisation server returned an error"
            )
        members = {key: answer.get(key) for key in ("state", "iss")}
        return AuthorizationCodeResult(code=answer.get("code", ""), **members)

    def login(self) -> Login | None:
        context = self.context
        if context.current_tokens is None or context.client_info is None:
            return None
        hidden = {"client_secret"} if self._client is not None else set()
        metadata = context.oauth_metadata
        issuer = context.auth_server_url or (str(metadata.issuer) if metadata else "")
        return Login(
            url=context.server_url,
            tokens=_dump_model(context.current_tokens) or {},
            expires=context.token_expiry_time,
            client=context.client_info.model_dump(mode="json", exclude_none=True, exclude=hidden),
            endpoint=self._get_token_endpoint(),
            issuer=issuer,
            server=_dump_model(metadata),
            resource=_dump_model(context.protected_resource_metadata),
        )


def _dump_model(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


@dataclass(slots=True)
class Callback:
    """The redirect URI, which receives the answer of a browser."""

    path: str
    address: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _answer: dict[str, str] | None = None

    async def wait(self) -> dict[str, str]:
        """Wait for the browser, and return which of `code`, `state`, `iss`, `error` it sends."""
        while self._answer is None:  # noqa: ASYNC110 - it comes from a thread
            await anyio.sleep(_POLL_SECONDS)
        return self._answer

    def visit(self, target: str) -> int:
        """Accept the target of a request, and return the HTTP status of the response.

        Only the first visit with a `state` counts; the SDK verifies that it is ours.
        """
        path, _, query = target.partition("?")
        if path != self.path:
            return 404
        values = parse_qs(query)  # bounded by the length of a request line
        answer = {key: values[key][0] for key in _KEYS if key in values}
        with self._lock:
            if "state" not in answer or self._answer is not None:
                return 400
            self._answer = answer
        return 200


@contextmanager
def listening(redirect: str = "", port: int = 0) -> Iterator[Callback]:
    """Listen for a browser, only on this machine, while the context is open."""
    host, wanted, path = _LOOPBACK, port, _PATH
    if redirect:
        scheme = ""
        with suppress(ValueError):
            parts = urlsplit(redirect)
            host, wanted, path = parts.hostname or "", parts.port or port, parts.path or "/"
            scheme = parts.scheme
        if scheme != "http" or host not in {"localhost", _LOOPBACK}:
            raise UsageError(
                "its `redirectUri` is not an address of this machine",
                remedy="register http://127.0.0.1/callback for the client, and name that",
            )
    callback = Callback(path)
    handler = type("_Browser", (_CallbackHandler,), {"callback": callback})
    try:
        server = ThreadingHTTPServer((_LOOPBACK, wanted), handler)
    except OSError as fault:
        message = f"nothing can be received at port {wanted}: {os_reason(fault)}"
        raise UsageError(message, remedy="name another with --port") from None
    callback.address = f"http://{host}:{server.server_port}{path}"
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        yield callback
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _CallbackHandler(BaseHTTPRequestHandler):
    """Responds to a browser with a page that repeats nothing of the request."""

    callback: Callback
    timeout = _VISIT_SECONDS

    def do_GET(self) -> None:
        status = self.callback.visit(self.path)
        page = _PAGE % (_DONE if status == 200 else "There is nothing here.")  # noqa: PLR2004
        self.send_response(status)
        for name, text in _HEADERS.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing: the request is secret."""
