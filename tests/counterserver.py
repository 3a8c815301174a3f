"""MCP servers that keep state: `python counterserver.py [http PORT [stateless]]`.

The tool `count` returns how often it was called, and by which process or session; its arguments
make it announce changes, die, be late, or send many messages first. They speak the protocol by
hand, so that hundreds of them start quickly.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

FLOOD = '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "wet"}}\n'

counts: dict[str, int] = {}


def answer(request: dict, session: str) -> dict | None:
    """Return the answer to one message, `None` for a notification."""
    number, method = request.get("id"), request["method"]
    if number is None:
        return None
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        result = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "counter", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": [{"name": "count", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        counts[session] = counts.get(session, 0) + 1
        asked = request["params"].get("arguments", {})
        if asked.get("announces"):
            sys.stdout.write('{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n')
        if asked.get("dies"):
            os._exit(3)
        time.sleep(asked.get("seconds", 0))
        sys.stdout.write(FLOOD * asked.get("floods", 0))
        result = {"content": [{"type": "text", "text": f"{counts[session]} {session}"}]}
    elif method == "ping":
        result = {}
    else:
        return {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "unknown"}}
    return {"jsonrpc": "2.0", "id": number, "result": result}


class Handler(BaseHTTPRequestHandler):
    """Counts by session, or, where none are assigned, all together."""

    protocol_version = "HTTP/1.1"
    assigns = True

    def do_POST(self) -> None:
        """Answer a message."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        session = self.headers.get("Mcp-Session-Id", "all")
        is_first = request["method"] == "initialize" and self.assigns
        session = uuid4().hex if is_first else session
        given = answer(request, session)
        body = b"" if given is None else json.dumps(given).encode()
        self.send_response(202 if given is None else 200)
        if is_first:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Offer no stream."""
        self.send_error(405)

    def do_DELETE(self) -> None:
        """Forget a session."""
        counts.pop(self.headers.get("Mcp-Session-Id", ""), None)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main(mode: str = "", port: str = "0", kind: str = "") -> None:
    """Serve until nobody asks any more."""
    if mode == "http":
        Handler.assigns = kind != "stateless"
        ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
    for line in sys.stdin:
        given = answer(json.loads(line), str(os.getpid()))
        if given is not None:
            sys.stdout.write(json.dumps(given) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
