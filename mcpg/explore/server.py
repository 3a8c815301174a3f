"""The server of the page: only on loopback, only with its token.

A page of another origin can neither read an answer nor cause one: every request needs the right
`Host`, which a DNS rebinding attack lacks, and requests for answers need the token in a header,
which forms and links cannot send.
"""

from __future__ import annotations

import hmac
import io
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from mcpg.catalog.json_text import repair_surrogates
from mcpg.errors import McpgError, NotFoundError, UsageError
from mcpg.explore.explorer import Explorer
from mcpg.net.addresses import split_address
from mcpg.review.authored import ChangedFileError

HOST = "127.0.0.1"

MOST_BYTES = 256 << 10
"""Largest body of a request, in bytes."""

MOST_CONNECTIONS = 64
"""Connections that are served at a time; browsers have up to six for each page."""

_NAMES = frozenset({HOST, "localhost"})
_SECONDS = 15.0
"""Time limit for a request, from the previous one, and for its body."""

_API, _MAP, _ASSETS = "/api/", "/map/", "/assets/"
_HTML, _JSON = "text/html; charset=utf-8", "application/json"
_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_OWN = (
    *("explore.css", "explore.js", "api.js", "dom.js", "choices.js", "matches.js"),
    *("why.js", "hints.js", "judged.js"),
)
_PACKAGES = dict.fromkeys(_OWN, "mcpg.explore") | {"report.css": "mcpg.show"}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{what} 'self'" for what in ("script-src", "style-src", "connect-src", "frame-src")),
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_STATUSES: dict[type[McpgError], HTTPStatus] = {
    ChangedFileError: HTTPStatus.CONFLICT,
    NotFoundError: HTTPStatus.NOT_FOUND,
    McpgError: HTTPStatus.BAD_REQUEST,
}
_SAFETY = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@cache
def _asset(name: str) -> bytes:
    return (files(_PACKAGES.get(name, "mcpg.explore")) / "assets" / name).read_bytes()


@dataclass(frozen=True, slots=True)
class _Response:
    """An answer to a request; *kind* is the type of its content."""

    status: int
    kind: str
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class _BadRequestError(Exception):
    """A request breaks a rule; the text is the reason."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class ExploreServer(ThreadingHTTPServer):
    """Serves the page to clients with *token*; *failing* is called with each fault of mcpg."""

    daemon_threads = True
    request_queue_size = 32
    # Elsewhere another program could take a port that is in use.
    allow_reuse_address = os.name == "posix"

    def __init__(self, explorer: Explorer, port: int, failing: Callable[[Exception], None]) -> None:
        """Listen on *port* of loopback, 0 for any that is free.

        Raises:
            UsageError: The port cannot be had.
        """
        self.token = secrets.token_urlsafe(24)
        self.explorer, self.failing = explorer, failing
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        try:
            super().__init__((HOST, port), _PageHandler)
        except (OSError, OverflowError) as fault:
            reason = (getattr(fault, "strerror", None) or "it is not a port").lower()
            raise UsageError(
                f"cannot listen: {reason}",
                place=f"{HOST}:{port}",
                remedy="choose another --port, or leave it out",
            ) from None

    @property
    def address(self) -> str:
        """The address of the page. The token is in its fragment, which browsers never send."""
        return f"http://{HOST}:{self.server_port}/#{self.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, or close it if there are too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over connections that break."""


class _DeadlineReader(io.RawIOBase):
    """The bytes of a connection until a deadline, however slowly they arrive.

    The time limit of a socket begins anew with every byte, so that a few slow clients could block
    all connections.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = self._seconds = 0.0

    def allow(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(self._seconds)  # for the answer


class _PageHandler(BaseHTTPRequestHandler):
    """Serves the requests of one connection."""

    server: ExploreServer
    protocol_version = "HTTP/1.1"
    server_version = "mcpg"
    sys_version = ""
    timeout = _SECONDS
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self._arriving = _DeadlineReader(self.connection)
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self) -> None:
        self._arriving.allow(self.timeout)
        super().handle_one_request()

    def do_GET(self) -> None:
        self._respond(self._page)

    def do_POST(self) -> None:
        self._respond(self._answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Log nothing: addresses contain queries and tokens."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Reject unsupported requests, such as another method."""
        del explain
        self.close_connection = True
        self._send(_refusal(code, message or HTTPStatus(code).phrase))

    def _respond(self, respond: Callable[[], _Response]) -> None:
        try:
            self._check_host()
            response = respond()
        except _BadRequestError as fault:
            # The rest of the request is not read.
            self.close_connection = True
            response = _refusal(fault.status, str(fault))
        except McpgError as fault:
            status = next(status for kind, status in _STATUSES.items() if isinstance(fault, kind))
            response = _refusal(status, fault.message, fault.place, fault.remedy)
        except Exception as fault:  # noqa: BLE001 - one request must not end the server
            self.server.failing(fault)
            message = f"mcpg failed unexpectedly: {type(fault).__name__}"
            response = _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, message)
        self._send(response)

    def _send(self, response: _Response) -> None:
        with suppress(ConnectionError, socket.timeout):
            self.send_response(response.status)
            for name, value in (_SAFETY | dict(response.headers)).items():
                self.send_header(name, value)
            self.send_header("Content-Type", response.kind)
            self.send_header("Content-Length", str(len(response.content)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(response.content)
            self.wfile.flush()

    def _check_host(self) -> None:
        """Reject requests for another host, as after DNS rebinding."""
        hosts = self.headers.get_all("Host") or []
        parts = split_address(f"//{hosts[0]}") if len(hosts) == 1 else None
        port = self.server.server_port
        if parts is None or parts.hostname not in _NAMES or (parts.port or 80) != port:
            raise _BadRequestError(HTTPStatus.MISDIRECTED_REQUEST, "this host is not served")

    def _page(self) -> _Response:
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            # Unread bytes would be taken for the next request.
            raise _BadRequestError(HTTPStatus.BAD_REQUEST, "a request for a page has no body")
        path = self.path.partition("?")[0]
        if path == "/":
            page = _asset("explore.html")
            return _Response(200, _HTML, page, {"Content-Security-Policy": _POLICY})
        name = path.removeprefix(_ASSETS)
        if path.startswith(_ASSETS) and name in _PACKAGES:
            return _Response(200, _KINDS[name.rpartition(".")[2]], _asset(name))
        if path.startswith(_MAP):
            page_of_map = self.server.explorer.map(path.removeprefix(_MAP))
            if page_of_map is not None:
                # The page has its own policy, by the hashes of its scripts.
                framed = {"Content-Security-Policy": "frame-ancestors 'self'"}
                return _Response(200, _HTML, page_of_map.encode("utf-8"), framed)
        raise _BadRequestError(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _answer(self) -> _Response:
        self._check_caller()
        body = self._read_body()
        answer = self.server.explorer.answers.get(self.path.removeprefix(_API))
        if answer is None or not self.path.startswith(_API):
            raise _BadRequestError(HTTPStatus.NOT_FOUND, "unknown address")
        return _json(200, answer(body))

    def _check_caller(self) -> None:
        """Reject requests from pages of another origin, or without the token."""
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers['Host']}":
            raise _BadRequestError(HTTPStatus.FORBIDDEN, "this origin is not served")
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise _BadRequestError(HTTPStatus.FORBIDDEN, "this site is not served")
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        given, wanted = token.strip().encode("latin-1", "replace"), self.server.token.encode()
        if not (hmac.compare_digest(given, wanted) and scheme.lower() == "bearer"):
            raise _BadRequestError(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong")

    def _read_body(self) -> dict[str, Any]:
        kind = self.headers.get_content_type()
        if kind != _JSON:
            raise _BadRequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {_JSON}")
        lengths = self.headers.get_all("Content-Length") or []
        length = lengths[0] if len(lengths) == 1 else ""
        if not (length.isascii() and length.isdecimal()) or "Transfer-Encoding" in self.headers:
            raise _BadRequestError(HTTPStatus.LENGTH_REQUIRED, "the body needs a Content-Length")
        if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            message = f"the body is larger than {MOST_BYTES:,} bytes"
            raise _BadRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        self._arriving.allow(self.timeout)
        content = b""
        with suppress(TimeoutError):
            content = self.rfile.read(int(length))
        if len(content) < int(length):
            raise _BadRequestError(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive")
        try:
            # A surrogate cannot be written to a file or shown.
            body = repair_surrogates(json.loads(content), "", [])
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise _BadRequestError(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
        return body


def _json(status: int, members: Mapping[str, Any]) -> _Response:
    text = json.dumps(members, ensure_ascii=False)
    return _Response(status, _JSON, text.encode("utf-8", "replace"))


def _refusal(
    status: int, message: str, place: str | None = None, remedy: str | None = None
) -> _Response:
    return _json(status, {"error": {"message": message, "place": place, "remedy": remedy}})
