"""Tools that only run as tasks: they are started, and their result is waited for.

These are the tasks of the protocol 2025-11-25. The SDK has their models, but refuses the result of
a call that starts one, so that requests are sent below it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
from mcp import Client, MCPError

from mcpg.json_types import JsonObject
from mcpg.sources.live.errors import FailureKind, ServerError
from mcpg.sources.live.requests import PendingRequest

_ENDED = frozenset({"completed", "failed", "cancelled"})
_TTL = 3_600_000
_SHORTEST, _LONGEST = 0.05, 30.0
_CANCEL_SECONDS = 3.0


async def run_task(client: Client, params: JsonObject, request: PendingRequest) -> JsonObject:
    """Return the result of a call that is run as a task; a cancellation is passed on.

    Args:
        client: The connected client.
        params: Parameters of `tools/call`.
        request: The request, whose time is renewed while the task is at work.

    Raises:
        MCPError: The server responded with an error.
        ServerError: The server started no task.
    """
    started: JsonObject = await _send(
        client, "tools/call", {**params, "task": {"ttl": _TTL}}, request
    )
    task = started.get("task")
    if not isinstance(task, dict):
        return started  # it was done at once
    if not isinstance(task.get("taskId"), str):
        raise ServerError("invalid MCP response", FailureKind.FAILED)
    named: JsonObject = {"taskId": task["taskId"]}
    try:
        return await _result(client, task, named, request)
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True), suppress(MCPError):
            await _send(client, "tasks/cancel", named)
        raise


async def _result(
    client: Client, task: Any, named: JsonObject, request: PendingRequest
) -> JsonObject:
    """Return the result of *task*, once it has ended or needs input."""
    step = 0
    while task.get("status") not in _ENDED:
        if task.get("status") == "input_required":
            break  # the request for the result lets the server ask
        await anyio.sleep(_interval(task))
        task = await _send(client, "tasks/get", named)
        step += 1
        message = task.get("statusMessage")
        await request.report(step, None, message if isinstance(message, str) else None)
    result: JsonObject = await _send(client, "tasks/result", named, request)
    return result


def _interval(task: Any) -> float:
    """Return the seconds after which the state of *task* is asked for again."""
    stated = task.get("pollInterval")
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return min(max(stated / 1000 if is_number else 1.0, _SHORTEST), _LONGEST)


async def _send(
    client: Client, method: str, params: JsonObject, request: PendingRequest | None = None
) -> Any:
    session: Any = client.session
    options: dict[str, Any] = {} if request is None else {"on_progress": request.report}
    data: dict[str, Any] = {"method": method, "params": {**params}}
    session._stamp(data, options)  # noqa: SLF001 - see above
    return await session._dispatcher.send_raw_request(method, data["params"], options)  # noqa: SLF001
