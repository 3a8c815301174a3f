"""MCP servers for tests, one program: `python servers.py MODE [PORT]`.

`sdk`, `http` and `sse` are servers made with the SDK. The others speak the protocol by hand, since
the SDK keeps a server from doing what these do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

PAGES = 3

CRASH = """\
\x1b[31mconnecting with {0}\x1b[0m
node:internal/modules/cjs/loader:1228
Error: Cannot find module 'server.js'
    at Module._resolve (node:internal/modules/cjs/loader:1225:15)
    at Module._load (node:internal/modules/cjs/loader:1051:27) {{
  code: 'MODULE_NOT_FOUND',
}}

tried with {0}
Node.js v20.19.2
"""
"""What a program writes on standard error before it exits."""


def tool(name: str, **more: Any) -> dict[str, Any]:
    """Describe a tool."""
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **more}


def say(message: dict[str, Any]) -> None:
    """Write a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def odd_tools() -> list[Any]:
    """Describe tools of which some are none."""
    nameless = {"inputSchema": {"type": "object"}}
    odd = [nameless, tool("number") | {"name": 3}, "text", None, {"name": "no_schema"}]
    bad = [tool("bad_schema") | {"inputSchema": "none"}, tool("bad_more", annotations=[1])]
    deep: list[Any] = []
    for _ in range(120):
        deep = [deep]
    unreadable = [tool("infinite", _meta={"x": float("inf")}), tool("deep", _meta={"x": deep})]
    return [tool("first"), *odd, *bad, *unreadable, tool("last")]


def half_tools() -> list[Any]:
    """Describe tools as a server that cuts texts in the middle of a character."""
    told = "An emoji \U0001f600, a path \\ud800, and half an emoji \ud83d"
    return [tool("half", description=told), tool("other")]


def stuffed_tools() -> list[Any]:
    """Describe an honest tool, and one that lists words to be found by."""
    words = ["ship", "parcel", "track", "order", *(f"word{number}" for number in range(500))]
    hints = {"searchAliases": ["track my parcel"], "searchKeywords": words, "readOnly": True}
    return [
        tool("parcel_track", description="Track a parcel by its number."),
        tool("helper", _meta=hints, keywords=["stray"]),
        tool("modest", _meta={"mcpg": {"tags": ["umbrella"], "categories": ["weather"]}}),
    ]


def page(mode: str, cursor: str) -> dict[str, Any]:
    """Return a page of tools, as *mode* would have it."""
    number = int(cursor or 0)
    if mode == "endless":
        return {"tools": [tool(f"tool_{number}")], "nextCursor": str(number + 1)}
    if mode == "dies" and number:
        os._exit(3)
    if mode in {"pages", "dies"} and number < PAGES - 1:
        return {"tools": [tool(f"tool_{number}")], "nextCursor": str(number + 1)}
    if mode == "flood":
        while True:
            sys.stdout.write("x" * 1_000_000)
    if mode == "secret":
        sys.stderr.write(" ".join(f"{key}={value}" for key, value in os.environ.items()))
        told = f"Look things up with {os.environ.get('TOKEN')}."
        return {"tools": [tool("secret_lookup", description=told)]}
    special = {
        "given": lambda: json.loads(sys.argv[2]),
        "odd": odd_tools,
        "halves": half_tools,
        "stuffed": stuffed_tools,
        "environment": lambda: [tool(name) for name in os.environ],
    }
    if mode in special and not number:
        return {"tools": special[mode](), **({"nextCursor": "7"} if mode == "odd" else {})}
    rich = {
        "title": "Last",
        "annotations": {"readOnlyHint": True, "custom": 1},
        "_meta": {"tags": ["kept"]},
        "outputSchema": {"type": "object", "properties": {"when": {"type": "string"}}},
    }
    return {"tools": [tool(f"tool_{number}", **rich)]}


def answer(mode: str, request: dict[str, Any]) -> None:
    """Answer a request."""
    number, method = request.get("id"), request["method"]
    if method == "initialize":
        said = {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {} if mode == "toolless" else {"tools": {}},
            "serverInfo": {
                "name": " ".join(["by hand", *filter(None, [os.environ.get("NAME")])]),
                "version": "1",
            },
        }
        say({"id": number, "result": said})
    elif method == "tools/list" and mode == "invalid":
        say({"id": number, "result": {"tools": "none"}})
    elif method == "tools/list" and mode == "error":
        fault = {"code": -32000 - 5, "message": f"no: {os.environ.get('TOKEN')}"}
        say({"id": number, "error": fault})
    elif method == "tools/list":
        cursor = (request.get("params") or {}).get("cursor") or ""
        say({"id": number, "result": page(mode, cursor)})
    elif number is not None:
        if mode in {"older", "stuck"}:
            if mode == "stuck":
                sys.stdin.readline()
            sys.stderr.write(f"unknown method {method}\n")
            sys.exit(1)
        say({"id": number, "error": {"code": -32601, "message": "no such method"}})


def by_hand(mode: str) -> None:
    """Answer until nobody asks any more."""
    if mode == "silent":
        time.sleep(600)
    if mode == "chatty":
        sys.stdout.write("welcome\n\n")
    while mode == "rubbish":
        sys.stdout.write("rubbish\n" * 100)
    if mode == "crash":
        sys.stderr.write(CRASH.format(os.environ.get("TOKEN")))
        sys.exit(1)
    if mode == "parent":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{os.getpid()} {child.pid}")
    for line in sys.stdin:
        answer(mode, json.loads(line))
    if mode == "farewell":
        sys.stderr.write("good-bye\n" * 100_000)
        with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write("ended by itself")


def by_sdk(mode: str) -> None:
    """Serve with the SDK."""
    from mcp.server import MCPServer  # noqa: PLC0415 - slow, and most modes do without
    from mcp_types import ToolAnnotations  # noqa: PLC0415

    server = MCPServer("sdk server")

    @server.tool(title="Add", annotations=ToolAnnotations(readOnlyHint=True))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    if mode == "sdk":
        server.run()
        return
    import uvicorn  # noqa: PLC0415

    app = server.sse_app() if mode == "sse" else server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        token = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
        if scope["type"] == "http" and token != "Bearer marker-token-1234":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": f"no {token}".encode()})
        else:
            await app(scope, receive, send)

    uvicorn.run(guarded, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")


if __name__ == "__main__":
    if sys.argv[1] in {"sdk", "http", "sse"}:
        by_sdk(sys.argv[1])
    else:
        by_hand(sys.argv[1])
