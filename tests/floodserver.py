"""An MCP server with valid requests and odd responses, over standard input and output.

It is written without the SDK, which would refuse to send most of it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

TEMPLATES = (
    "note:{id}",
    "note://plain/{+path}",
    "note://plain/fragment{#id}",
    "note://shop/{region,city}/items",
    "files{/folder*}",
    "note://shop{;color,size}",
    "note://shop/search{?query,page}",
    "note://shop/more?fixed=1{&page}",
    "note://short/{id:3}",
    "note://{unclosed",
)
"""Templates of RFC 6570, levels 1 to 4, and one that is none."""

PROGRESS: list[Any] = [-1, 0, 0, 0.5, 0.5, 0.25, 1e308, 3]
COUNT = 200
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "flood"},
    {"name": "large_flood"},
    {"name": "long_flood"},
    {"name": "progress"},
    {"name": "malformed"},
    {"name": "invalid", "outputSchema": SCHEMA},
    {"name": "meta"},
    {"name": "twice"},
]
LISTS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": [{**one, "inputSchema": {"type": "object"}} for one in TOOLS]},
    "resources/list": {"resources": []},
    "resources/templates/list": {
        "resourceTemplates": [{"name": f"t{n}", "uriTemplate": t} for n, t in enumerate(TEMPLATES)]
    },
    "prompts/list": {"prompts": [{"name": "greet"}]},
}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
}


def write(line: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def send(message: dict[str, Any]) -> None:
    """Send a message."""
    write(json.dumps({"jsonrpc": "2.0", **message}))


def notify(method: str, **params: Any) -> None:
    """Send a notification."""
    send({"method": f"notifications/{method}", "params": params})


def flood(token: Any, count: int = COUNT) -> None:
    """Send more than a thousand notifications."""
    for number in range(count):
        for kind in ("tools", "prompts", "resources"):
            notify(f"{kind}/list_changed")
        notify("message", level="info", data=number)
        notify("progress", progressToken=token, progress=number)
        notify("progress", progressToken="of nobody", progress=number)
        notify("resources/updated", uri="note:unwatched")
        notify("unknown/notification", number=number)


def progress(token: Any) -> None:
    """Send progress that goes anywhere."""
    for done in PROGRESS:
        notify("progress", progressToken=token, progress=done)
    notify("progress", progressToken=token, progress="half")


def malformed(_: Any) -> None:
    """Send lines that are no messages, and a response to no request."""
    for line in ("{", "[]", "null", '{"jsonrpc": "1.0"}', '{"jsonrpc": "2.0", "id": []}'):
        write(line)
    send({"id": 10**9, "result": {}})


def large_flood(token: Any) -> None:
    """Send tens of thousands of notifications, and note that they are sent."""
    flood(token, 4000)
    Path(os.environ["NOTE"]).write_text("sent", "utf-8")


def long_flood(_: Any) -> None:
    """Send ten megabytes of notifications, and note that they are sent."""
    for _ in range(100):
        notify("message", level="info", data="x" * 100_000)
    Path(os.environ["NOTE"]).write_text("sent", "utf-8")


BEFORE = {one.__name__: one for one in (flood, large_flood, long_flood, progress, malformed)}
MORE: dict[str, dict[str, Any]] = {
    "invalid": {"structuredContent": {"n": "no number"}},
    "meta": {"_meta": {"example.com/huge": "x" * (100 << 10)}},
}


def call(name: str, token: Any) -> dict[str, Any]:
    """Return the result of a tool, having sent what comes before."""
    if name in BEFORE:
        BEFORE[name](token)
    return {"content": [{"type": "text", "text": f"{name} done"}], **MORE.get(name, {})}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a request."""
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        version = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES}
        return {"result": {**version, "serverInfo": {"name": "flood", "version": "1"}}}
    if method in LISTS:
        return {"result": LISTS[method]}
    if method == "tools/call":
        return {"result": call(params["name"], params.get("_meta", {}).get("progressToken"))}
    if method == "resources/read":
        return {"result": {"contents": [{"uri": params["uri"], "text": f"at {params['uri']}"}]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32603, "message": f"{method} fails", "data": {"is": "here"}}}


for line in sys.stdin:
    received = json.loads(line)
    if "id" in received and "method" in received:
        response = answer(received)
        send({"id": received["id"], **response})
        if received.get("params", {}).get("name") == "twice":
            send({"id": received["id"], **response})
