"""MCP servers whose tools misbehave when called: `python callservers.py MODE`.

They speak the protocol by hand, since the SDK keeps a server from doing what these do.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from servers import say, tool

NOTE = Path(os.environ["NOTE"])
"""A file in which a server notes what it has seen, one line each."""


OTHER_NAME = NOTE.with_suffix(".name")
"""Is there where the tool has its other name from the start."""

NAMES = ["second"] if OTHER_NAME.exists() else ["first", "second"]
"""The names of the one tool, one after the other."""


def note(line: str) -> None:
    """Note *line*."""
    with NOTE.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def dies(_: int, __: dict[str, Any]) -> None:
    """Explain that on standard error, and end."""
    os.write(2, os.environ.get("LAST_WORDS", "").encode())
    os._exit(3)


def dies_deaf(_: int, __: dict[str, Any]) -> None:
    """Hear nothing any more, and end a little later."""
    os.close(0)
    note("deaf")
    time.sleep(0.5)
    os._exit(3)


def dies_once(number: int, params: dict[str, Any]) -> None:
    """End when called for the first time."""
    if len(NOTE.read_text("utf-8").splitlines()) == 1:
        os._exit(3)
    plain(number, params)


def dies_after(number: int, params: dict[str, Any]) -> None:
    """Answer, and end."""
    plain(number, params)
    os._exit(0)


def dies_renamed(number: int, params: dict[str, Any]) -> None:
    """Answer, and for the first time take another name for the next time, and end."""
    plain(number, params)
    if not OTHER_NAME.exists():
        OTHER_NAME.touch()
        os._exit(0)


def mute(_: int, __: dict[str, Any]) -> None:
    """Say nothing."""


def deaf(_: int, __: dict[str, Any]) -> None:
    """Hear nothing any more."""
    time.sleep(600)


def huge(number: int, params: dict[str, Any]) -> None:
    """Answer a gigabyte."""
    for _ in range(1024):
        sys.stdout.write("x" * (1 << 20))
    plain(number, params)


def rubbish(_: int, __: dict[str, Any]) -> None:
    """Write what is no message, without end."""
    while True:
        sys.stdout.write("rubbish\n" * 100)


def chatty(number: int, params: dict[str, Any]) -> None:
    """Write some lines that are no messages, and answer."""
    sys.stdout.write("rubbish\n" * 900)
    plain(number, params)


def refuses(number: int, _: dict[str, Any]) -> None:
    """Answer with an error."""
    fault = {"code": -32602, "message": f"no tool of {os.environ.get('TOKEN')}"}
    say({"id": number, "error": fault})


def wrong(number: int, _: dict[str, Any]) -> None:
    """Answer with what is no result."""
    say({"id": number, "result": {"content": "none"}})


def latin(number: int, _: dict[str, Any]) -> None:
    """Answer in another encoding than UTF-8."""
    result = {"content": [{"type": "text", "text": "caf\u00e9"}]}
    line = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, ensure_ascii=False)
    sys.stdout.buffer.write(line.encode("latin-1") + b"\n")
    sys.stdout.flush()


def floods(number: int, params: dict[str, Any]) -> None:
    """Tell of 1000 steps, and answer."""
    for step in range(1000):
        told = {"progressToken": params["_meta"]["progressToken"], "progress": step}
        say({"method": "notifications/progress", "params": told})
    plain(number, params)


def renames(number: int, params: dict[str, Any]) -> None:
    """Take another name, and answer."""
    NAMES.pop(0)
    say({"method": "notifications/tools/list_changed"})
    plain(number, params)


def announces(number: int, params: dict[str, Any]) -> None:
    """Take another name, say nothing of it, and answer."""
    NAMES.pop(0)
    plain(number, params)


def structured(number: int, _: dict[str, Any]) -> None:
    """Answer what the environment gives for a structured result."""
    result = json.loads(os.environ["RESULT"])
    say({"id": number, "result": {"content": [], "structuredContent": result}})


ANSWERS: dict[str, Any] = json.loads(os.environ.get("ANSWERS", "{}"))
"""Results of further methods, as the environment gives them."""

CLAIMED = sorted({method.partition("/")[0] for method in ANSWERS})
"""Capabilities beside tools."""

STEPS = ["working", "working", "completed"]
"""The states of the one task, one after the other."""


def task(number: int, params: dict[str, Any]) -> None:
    """Begin a task where one is wanted, as it has to be."""
    if "task" not in params:
        say({"id": number, "error": {"code": -32601, "message": "only as a task"}})
    else:
        say({"id": number, "result": {"task": state()}})


def endless(number: int, params: dict[str, Any]) -> None:
    """Begin a task that never ends."""
    STEPS[:] = ["working"] * 1000
    task(number, params)


def state() -> dict[str, Any]:
    """Tell of the task."""
    step = STEPS.pop(0)
    times = {"createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z"}
    return {"taskId": "t1", "status": step, "statusMessage": step, "ttl": 9, **times}


def of_task(number: int, method: str, params: dict[str, Any]) -> None:
    """Answer what is asked of the task."""
    note(f"{method} {params['taskId']}")
    if method == "tasks/result":
        say({"id": number, "result": {"content": [{"type": "text", "text": "all done"}]}})
    else:
        say({"id": number, "result": {**state(), "pollInterval": 50}})


def raw(number: int, _: dict[str, Any]) -> None:
    """Answer what the environment gives for the whole result, or for the error."""
    answer = json.loads(os.environ["RAW"])
    say({"id": number, **(answer if "error" in answer else {"result": answer})})


def described() -> dict[str, Any]:
    """Describe the tool, with what the environment gives besides."""
    return tool(NAMES[0], **json.loads(os.environ.get("TOOL", "{}")))


def plain(number: int, params: dict[str, Any]) -> None:
    """Answer what was asked, without the token of the progress."""
    params.get("_meta", {}).pop("progressToken", None)
    if not params.get("_meta", True):
        del params["_meta"]
    say({"id": number, "result": {"content": [{"type": "text", "text": json.dumps(params)}]}})


def greet(number: int, version: str) -> None:
    """Answer who this is."""
    said = {
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": True}, **{key: {} for key in CLAIMED}},
        "serverInfo": {"name": "by hand", "version": "1"},
    }
    say({"id": number, "result": said})


def tell(mode: str, number: int) -> None:
    """Answer which tools there are."""
    if mode == "dies_listing":
        os._exit(4)
    if mode == "announces":
        say({"method": "notifications/tools/list_changed"})
    say({"id": number, "result": {"tools": [described()]}})


CALLS = {
    made.__name__: made
    for made in (
        dies,
        dies_deaf,
        dies_once,
        dies_after,
        dies_renamed,
        mute,
        deaf,
        huge,
        rubbish,
        chatty,
        refuses,
        renames,
        announces,
        wrong,
        latin,
        floods,
        structured,
        raw,
        task,
        endless,
    )
}


def main(mode: str) -> None:
    """Answer until nobody asks any more."""
    if mode == "hangs":
        time.sleep(600)
    for line in sys.stdin:
        answer(mode, json.loads(line))


def answer(mode: str, request: Any) -> None:
    """Answer one message."""
    number, method = request.get("id"), request["method"]
    if method == "initialize":
        greet(number, request["params"]["protocolVersion"])
    elif method == "tools/list":
        tell(mode, number)
    elif method == "tools/call":
        note(f"call {request['params']['name']} {os.getpid()}")
        CALLS.get(mode, plain)(number, request["params"])
    elif method in ANSWERS:
        say({"id": number, "result": ANSWERS[method]})
    elif method.startswith("tasks/"):
        of_task(number, method, request["params"])
    elif number is not None:
        say({"id": number, "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    main(sys.argv[1])
