"""Federation proxy: reaches only listed endpoints, with a time limit and a bounded response.

The query engine would call endpoints directly, without bounds, and follow any redirect. So it gets
an address on this machine instead, from which this proxy forwards the query.
"""

from __future__ import annotations

import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Collection
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from mcpg.errors import UsageError
from mcpg.net.addresses import is_loopback, split_address

_LARGEST_QUERY = 4 * 1024 * 1024
_PIECE = 64 * 1024


class EndpointBlockedError(UsageError):
    """A query names an endpoint that is not on the list."""


class EndpointInvalidError(UsageError):
    """What should be the address of an endpoint is none."""


class _EndpointFailedError(Exception):
    """An endpoint did not answer as it should; says how."""


class _NoRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: where it leads is on nobody's list."""

    def redirect_request(self, *_: Any) -> None:
        return None


class FederationProxy:
    """Asks endpoints on a list for the process that evaluates queries.

    It listens on the loopback interface, under a path that cannot be guessed, from the first
    address that it gives until it is closed.

    Attributes:
        seconds: What an endpoint has for one answer.
    """

    def __init__(self, allowed: Collection[str], seconds: float, size: int) -> None:
        """Allow the endpoints of *allowed*; one has *seconds* for *size* bytes.

        Raises:
            EndpointInvalidError: An address is none, or is neither safe nor on this machine.
        """
        self.allowed = tuple(check_endpoint(one) for one in allowed)
        self.seconds, self._size = seconds, size
        self._path = secrets.token_urlsafe(24)
        self._server: ThreadingHTTPServer | None = None
        self._failures: list[str] = []
        # Neither proxies of the environment nor redirections: the address is what it is.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _NoRedirectHandler
        )

    def get_proxy_address(self, endpoint: str) -> str:
        """Return the address behind which this proxy asks *endpoint*.

        Raises:
            EndpointBlockedError: It is not on the list.
        """
        if endpoint not in self.allowed:
            raise EndpointBlockedError(
                f"the query uses the endpoint {endpoint!r}, which is not allowed",
                remedy=f"allow it with --allow-service {endpoint}, or leave the SERVICE out",
            )
        port = self._running().server_address[1]
        return f"http://127.0.0.1:{port}/{self._path}/{self.allowed.index(endpoint)}"

    def failures(self) -> list[str]:
        """Return the failures since the last call."""
        failures, self._failures = self._failures, []
        return failures

    def close(self) -> None:
        """Stop listening."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def forward_query(self, path: str, query: bytes, kinds: str) -> tuple[HTTPStatus, str, bytes]:
        """Ask the endpoint behind *path*; give status, content type and content."""
        token, _, place = path.strip("/").partition("/")
        if not (secrets.compare_digest(token, self._path) and place.isdecimal()):
            return HTTPStatus.NOT_FOUND, "text/plain", b""
        endpoint = self.allowed[int(place)]
        try:
            return HTTPStatus.OK, *self._fetch(endpoint, query, kinds)
        except _EndpointFailedError as fault:
            message = f"the endpoint {endpoint} {fault}"
            self._failures.append(message)
            return HTTPStatus.BAD_GATEWAY, "text/plain", message.encode()

    def _fetch(self, endpoint: str, query: bytes, kinds: str) -> tuple[str, bytes]:
        headers = {"Content-Type": "application/sparql-query", "Accept": kinds}
        request = urllib.request.Request(endpoint, query, headers, method="POST")  # noqa: S310 - checked
        seconds = self.seconds
        until = time.monotonic() + seconds
        late = f"did not respond within {round(seconds, 1):g} seconds"
        try:
            with self._opener.open(request, timeout=seconds) as answer:
                return answer.headers.get_content_type(), self._read(answer, until)
        except TimeoutError:
            raise _EndpointFailedError(late) from None
        except urllib.error.HTTPError as fault:
            fault.close()
            raise _EndpointFailedError(f"responded with status {fault.code}") from None
        except (OSError, ValueError) as fault:
            reason = getattr(fault, "reason", fault)
            if isinstance(reason, TimeoutError):
                raise _EndpointFailedError(late) from None
            raise _EndpointFailedError(f"cannot be reached: {type(reason).__name__}") from None

    def _read(self, answer: Any, until: float) -> bytes:
        """Read an answer piece by piece, for it may drip."""
        data = bytearray()
        while piece := answer.read1(_PIECE):
            data += piece
            if len(data) > self._size:
                raise _EndpointFailedError(f"returned more than {self._size:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError
        return bytes(data)

    def _running(self) -> ThreadingHTTPServer:
        if self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
            Thread(target=self._server.serve_forever, daemon=True).start()
        return self._server


def check_endpoint(address: str) -> str:
    """Return *address* if an endpoint may be asked there: with https, or with http on this machine.

    Raises:
        EndpointInvalidError: It may not.
    """
    parts = split_address(address) or urlsplit("")
    host = parts.hostname or ""
    is_local = parts.scheme == "http" and is_loopback(host)
    if not (host and (parts.scheme == "https" or is_local)):
        raise EndpointInvalidError(
            f"{address!r} is not the address of an endpoint: write https://HOST/PATH",
            remedy="use an absolute https address, or http on this machine",
        )
    if parts.username is not None or parts.password is not None:
        raise EndpointInvalidError(
            "an endpoint's address has a name or password in it",
            remedy="remove it: it would appear in queries and logs",
        )
    return address


def _handler(proxy: FederationProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Takes one question of the process that evaluates."""

        def do_POST(self) -> None:
            size = min(int(self.headers.get("Content-Length") or 0), _LARGEST_QUERY)
            kinds = self.headers.get("Accept") or "application/sparql-results+json"
            status, kind, data = proxy.forward_query(self.path, self.rfile.read(size), kinds)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            # Whoever asked may have been ended meanwhile.
            with suppress(OSError):
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Return nothing: nobody asked."""

    return Handler
