"""Conversations with `mcpg serve` that `freeze.py` records: over standard streams, and over HTTP.

Two servers of the tests stand behind the gateway, one with tools, the other with prompts and
resources as well, and beside them a manifest, whose tools cannot be called.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Message = dict[str, Any]
    Send = Callable[[Message], "Message | None"]

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))

import conformance  # noqa: E402

PATIENCE = 60.0
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "freeze", "version": "0"},
}
GOAL = "ship an order and track the parcel"
A = {"name": "name", "value": "a"}
READY = ("gateway_tools_search", {"query": "add two numbers", "sources": ["numbers"]})
CALLS: tuple[tuple[str, Message], ...] = (
    ("gateway_tools_search", {"query": "shipmnt status"}),
    ("gateway_tools_search", {"query": "add two numbers", "limit": 1, "readOnly": True}),
    ("gateway_tools_search", {"query": "best pizza in town"}),
    ("gateway_tools_search", {"query": "greet", "kinds": ["prompt"]}),
    ("gateway_tools_search", {"limit": 0}),
    ("gateway_tools_route", {"query": GOAL}),
    ("gateway_plan", {"goal": GOAL}),
    ("gateway_ask", {"question": "what comes before shipment_create"}),
    ("gateway_tool_describe", {"toolId": "add"}),
    ("gateway_tool_describe", {"toolId": "shipment_status"}),
    ("gateway_tool_describe", {"toolId": "shipmnt_status"}),
    ("gateway_tool_invoke", {"toolId": "add", "arguments": {"a": 1, "b": 2}}),
    ("gateway_tool_invoke", {"toolId": "add", "arguments": {"a": "1"}}),
    ("gateway_tool_invoke", {"toolId": "fail", "arguments": {"why": "it is late"}}),
    ("gateway_tool_invoke", {"toolId": "shipment_status", "arguments": {}}),
    ("gateway_resource_read", {"uri": "shop://own"}),
    ("gateway_resource_read", {"uri": "note://missing"}),
    ("gateway_prompt_get", {"name": "greet"}),
    ("none_such", {}),
)
REQUESTS: tuple[tuple[str, Message], ...] = (
    ("tools/list", {}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "x"}}),
    ("prompts/get", {"name": "none-such"}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "note://shared"}),
    ("resources/read", {"uri": "note://none-such"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": A}),
    ("none/such", {}),
    *(("tools/call", {"name": name, "arguments": arguments}) for name, arguments in CALLS),
)


def hold_conversations(command: Sequence[str]) -> Iterator[tuple[str, Message]]:
    """Yield each request and its answer, over both transports.

    The working folder has the sources; *command* is the program, after that of Python.
    """
    python = sys.executable
    servers = {
        "numbers": {"command": python, "args": [str(TESTS / "sdkserver.py")]},
        "shop": {"command": python, "args": [str(TESTS / "primitiveserver.py"), "legacy"]},
    }
    Path("serve.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    serve = [*command, "serve", "serve.json", "tools"]
    for name, connect in (("stdio", serve_streams), ("http", serve_http)):
        for exposed in ("gateway", "all"):
            with connect([*serve, "--expose", exposed]) as send:
                for line, answer in ask_all(send):
                    yield f"{name} {exposed} {line}", answer


def ask_all(send: Send) -> Iterator[tuple[str, Message]]:
    """Introduce a client, wait until the servers have started, and make each request."""
    yield "initialize", send(make_request("initialize", HELLO)) or {}
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    name, arguments = READY
    end = time.monotonic() + PATIENCE
    while not _is_ready(send(make_request("tools/call", {"name": name, "arguments": arguments}))):
        assert time.monotonic() < end, "the servers do not start"
        time.sleep(0.2)
    for method, params in REQUESTS:
        answer = send(make_request(method, params)) or {}
        answer.pop("id", None)
        yield f"{method} {json.dumps(params)}", answer


def make_request(method: str, params: Message) -> Message:
    """Return a request; its id is the same for all, for each waits for its answer."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _is_ready(answer: Message | None) -> bool:
    found = ((answer or {}).get("result") or {}).get("structuredContent") or {}
    return bool(found.get("matches")) and not found.get("starting")


@contextmanager
def serve_streams(command: Sequence[str]) -> Iterator[Send]:
    """Serve over standard input and output."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, given = process.stdin, process.stdout

        def send(message: Message) -> Message | None:
            to.write(json.dumps(message) + "\n")
            to.flush()
            if "id" not in message:
                return None
            found = (json.loads(line) for line in given)
            return next(one for one in found if one.get("id") == message["id"])

        try:
            yield send
        finally:
            to.close()
            process.wait(PATIENCE)


@contextmanager
def serve_http(command: Sequence[str]) -> Iterator[Send]:
    """Serve over streamable HTTP on loopback."""
    session: dict[str, str] = {}
    with conformance.served(*command[1:], "--http", "{port}") as url:

        def send(message: Message) -> Message | None:
            headers = {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": str(HELLO["protocolVersion"]),
                **session,
            }
            asked = urllib.request.Request(url, json.dumps(message).encode(), headers)
            try:
                with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                    if "Mcp-Session-Id" in answer.headers:
                        session["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
                    return _answer(answer.read().decode(), message)
            except urllib.error.HTTPError as fault:
                with fault:
                    return {"status": fault.code, "body": fault.read().decode()}

        yield send


def _answer(text: str, message: Message) -> Message | None:
    """Return the answer to *message* in a body, JSON or a stream of events."""
    lines = [text] if text.startswith("{") else text.splitlines()
    found = [json.loads(line.removeprefix("data:")) for line in lines if "{" in line]
    return next((one for one in found if one.get("id") == message.get("id", 0)), None)
