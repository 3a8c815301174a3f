"""Where a browser comes back to after a login: an address of this machine, for one visit."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import anyio

from mcpg.errors import UsageError, os_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

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
