"""An MCP server whose tools are those of a file: `python changingserver.py FILE`.

A call returns its arguments. When the file has changed since the last list, a call announces it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from servers import say

FILE = Path(sys.argv[1])


def answer(request: dict[str, Any], listed: list[str]) -> None:
    """Answer a request; *listed* ends with the text of the file as it was listed last."""
    number, method = request.get("id"), request["method"]
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "changing", "version": "1"},
        }
    elif method == "tools/list":
        listed.append(FILE.read_text("utf-8"))
        result = {"tools": json.loads(listed[-1])}
    elif method == "tools/call":
        if FILE.read_text("utf-8") != listed[-1]:
            say({"method": "notifications/tools/list_changed"})
        arguments = request["params"].get("arguments")
        text = json.dumps(arguments, sort_keys=True)
        result = {"content": [{"type": "text", "text": text}], "structuredContent": arguments}
    elif number is not None:
        say({"id": number, "error": {"code": -32601, "message": "no such method"}})
        return
    else:
        return
    say({"id": number, "result": result})


if __name__ == "__main__":
    known: list[str] = [""]
    for line in sys.stdin:
        answer(json.loads(line), known)
