"""Servers on this machine that speak the protocol of language models, well or badly."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any
    method: str = "POST"


@dataclass
class Loopback:
    """A server that runs, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    leaving: threading.Event = field(default_factory=threading.Event)


class Conversation(BaseHTTPRequestHandler):
    """Answers one request by the script of its server."""

    protocol_version = "HTTP/1.1"
    script: Callable[[Conversation], None]
    loopback: Loopback
    asked: Asked

    def do_POST(self) -> None:
        """Read the request, keep it, and let the script answer; a body that is no JSON is bytes."""
        body: Any = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with suppress(ValueError):
            body = json.loads(body or b"null")
        self.asked = Asked(self.path, dict(self.headers.items()), body, self.command)
        self.loopback.asked.append(self.asked)
        with suppress(ConnectionError):
            type(self).script(self)

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - as above
    do_QUERY = do_PURGE = do_POST  # noqa: N815 - as above

    def send(
        self,
        content: bytes | str | object,
        status: int = 200,
        length: int | None = None,
        **headers: str,
    ) -> None:
        """Answer with *content*, JSON unless it is text or bytes; *length* is what is promised."""
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        raw = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw) if length is None else length))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(raw)
        if length is not None:
            self.close_connection = True

    def wait(self, seconds: float) -> bool:
        """Hold the answer back; say whether the test has ended meanwhile."""
        return self.loopback.leaving.wait(seconds)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(*scripts: Callable[[Conversation], None]) -> Iterator[Loopback]:
    """Run a server that answers each request by the next of *scripts*, the last one for ever."""
    loopback = Loopback("")
    rest = list(scripts)

    def script(conversation: Conversation) -> None:
        (rest.pop(0) if len(rest) > 1 else rest[0])(conversation)

    members = {"script": staticmethod(script), "loopback": loopback}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Scripted", (Conversation,), members))
    server.daemon_threads = True
    server.block_on_close = False
    loopback.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield loopback
    finally:
        loopback.leaving.set()
        server.shutdown()
        server.server_close()
        thread.join()


def answer(content: Any, status: int = 200, **headers: str) -> Callable[[Conversation], None]:
    """Make a script that answers with *content*."""
    return lambda conversation: conversation.send(content, status, **headers)


def chat(text: Any, finish: str = "stop") -> dict[str, Any]:
    """Return the answer of a chat model that writes *text*."""
    message = {"role": "assistant", "content": text}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37},
    }
