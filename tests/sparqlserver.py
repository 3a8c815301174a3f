"""A SPARQL endpoint on this machine, which behaves as it is told."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import TYPE_CHECKING

import pyoxigraph

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON_RESULTS = "application/sparql-results+json"
MEBIBYTE = 1024 * 1024


class Endpoint:
    """What a running endpoint is, and what it was asked."""

    def __init__(self, data: str, manner: str) -> None:
        self.store = pyoxigraph.Store()
        self.store.load(data.encode(), format=pyoxigraph.RdfFormat.TURTLE)
        self.manner = manner
        self.asked: list[str] = []
        self.leaving = Event()
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer by this endpoint's manner."""
        getattr(self, self.manner)(handler)

    def honest(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer as an endpoint should."""
        found = self.store.query(self.asked[-1])
        data = found.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        self._send(handler, 200, data or b"", JSON_RESULTS)

    def failing(self, handler: BaseHTTPRequestHandler) -> None:
        """Say that something went wrong."""
        self._send(handler, 500, b"\x1b[31mno", "text/plain")

    def interrupting(self, handler: BaseHTTPRequestHandler) -> None:
        """Interrupt whoever started this program, and answer as an endpoint should."""
        os.kill(os.getpid(), signal.SIGINT)
        self.honest(handler)

    def lying(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer with what is no result."""
        self._send(handler, 200, b"<html>", JSON_RESULTS)

    def redirecting(self, handler: BaseHTTPRequestHandler) -> None:
        """Send whoever asks to itself, for ever."""
        handler.send_response(307)
        handler.send_header("Location", self.url)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def hanging(self, _: BaseHTTPRequestHandler) -> None:
        """Answer nothing until the test is over."""
        self.leaving.wait(30)

    def dripping(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a byte at a time, without end."""
        handler.send_response(200)
        handler.end_headers()
        while not self.leaving.wait(0.05):
            handler.wfile.write(b" ")

    def flooding(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a gibibyte, for as long as somebody reads it."""
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1024):
            handler.wfile.write(b" " * MEBIBYTE)

    def _send(self, handler: BaseHTTPRequestHandler, status: int, data: bytes, kind: str) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


@contextmanager
def serving(data: str = "", manner: str = "honest") -> Iterator[Endpoint]:
    """Serve the graph of *data*, which is Turtle, in one of the manners of `Endpoint`."""
    endpoint = Endpoint(data, manner)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"])).decode()
            endpoint.asked.append(query)
            with suppress(ConnectionError):
                endpoint.answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/sparql"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.leaving.set()
        server.shutdown()
        server.server_close()
        thread.join()
