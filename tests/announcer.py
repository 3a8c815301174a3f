"""A server on the web that announces its changes well or badly, or not at all."""

from __future__ import annotations

import json
from threading import Event
from typing import TYPE_CHECKING, Any

from mcp_types import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from loopback import Conversation

OLD, NEW = "2025-11-25", "2026-07-28"
"""Versions of the protocol."""

_ABOUT = {"serverInfo": {"name": "web", "version": "1"}, "content": []}


class Announcer:
    """A script of a server on loopback.

    Attributes:
        names: The names of its tools.
        ttl: Milliseconds for which it states that its list is valid, `None` to state nothing.
        lists: How often its tools were listed.
        listened: What each subscription was for.
        heard: Set when a subscription is kept open.
        is_gone: Whether calls fail as a proxy does without a server.
        silenced: Ends the stream of announcements of a session, as such a proxy does.
    """

    def __init__(
        self,
        *steps: str,
        version: str = NEW,
        code: int = -32602,
        ttl: int | None = 0,
    ) -> None:
        """Take the *steps* one after the other when listened to, the last for ever.

        Args:
            steps: `cut` ends a subscription that has begun, `gone` fails as a proxy does without
                a server, `refuse` refuses resources that are `bad:` by *code*, and `keep` listens.
                Without any, the server announces nothing.
            version: The version of the protocol.
            code: The code of an error.
            ttl: See above.
        """
        self.names = ["first"]
        self.ttl = ttl
        self.lists = 0
        self.listened: list[dict[str, Any]] = []
        self.heard = Event()
        self.is_gone = False
        self.silenced = Event()
        self._steps = list(steps)
        self._version = version
        self._code = code

    def __call__(self, conversation: Conversation) -> None:
        """Answer a request."""
        body = conversation.asked.body or {}
        method = body.get("method")
        self.lists += method == "tools/list"
        if conversation.command == "GET":
            self.silenced.wait(60)
            conversation.send("no server", 503)
        elif method in {"subscriptions/listen", "resources/subscribe"}:
            self.listen(conversation, body)
        elif method == "tools/call" and self.is_gone:
            conversation.send("no server", 503)
        elif self.refuses(body):
            error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
            answered = {"jsonrpc": "2.0", "id": body["id"], "error": error}
            conversation.send(answered, Content_Type="application/json")
        else:
            answered = {"jsonrpc": "2.0", "id": body.get("id"), "result": self.result()}
            session = {"Mcp_Session_Id": "1"} if self._version == OLD else {}
            conversation.send(answered, Content_Type="application/json", **session)

    def refuses(self, body: dict[str, Any]) -> bool:
        """Return whether there is no such method in this version, or no such tool."""
        method, name = body.get("method"), (body.get("params") or {}).get("name")
        is_later = method == "server/discover" and self._version != NEW
        return is_later or (method == "tools/call" and name == "unknown")

    def result(self) -> dict[str, Any]:
        """Return a result that suits every method."""
        declared = {"tools": {"listChanged": bool(self._steps)}, "resources": {"subscribe": True}}
        tools = [{"name": one, "inputSchema": {"type": "object"}} for one in self.names]
        result = {**_ABOUT, "capabilities": declared, "tools": tools}
        result |= {"supportedVersions": [self._version], "protocolVersion": self._version}
        if self.ttl is None:
            return result
        return {**result, "resultType": "complete", "ttlMs": self.ttl, "cacheScope": "public"}

    def listen(self, conversation: Conversation, body: dict[str, Any]) -> None:
        """Answer a request to be kept up to date, by the next step."""
        wanted = body["params"].get("notifications") or {"resourceSubscriptions": []}
        self.listened.append(wanted)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        is_bad = any(one.startswith("bad:") for one in wanted.get("resourceSubscriptions", ()))
        if step == "gone":
            conversation.send("no server", 503)
        elif step == "refuse" and (is_bad or self._code == METHOD_NOT_FOUND):
            error = {"code": self._code, "message": "no such resource"}
            answered = {"jsonrpc": "2.0", "id": body["id"], "error": error}
            conversation.send(answered, 400, Content_Type="application/json")
        else:
            self.acknowledge(conversation, body["id"], wanted)
            if step != "cut" and wanted.get("toolsListChanged"):
                self.heard.set()
            if step != "cut":
                conversation.wait(60)

    def acknowledge(self, conversation: Conversation, number: Any, wanted: dict[str, Any]) -> None:
        """Begin a subscription."""
        meta = {"io.modelcontextprotocol/subscriptionId": number}
        method = "notifications/subscriptions/acknowledged"
        params = {"notifications": wanted, "_meta": meta}
        told = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
        conversation.send_response(200)
        conversation.send_header("Content-Type", "text/event-stream")
        conversation.send_header("Connection", "close")
        conversation.end_headers()
        conversation.wfile.write(f"data: {told}\n\n".encode())
