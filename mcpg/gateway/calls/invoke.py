"""Invoking a tool, wherever it lives; whatever goes wrong is part of the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from mcpg.catalog.json_text import repair_surrogates
from mcpg.engine.results import flatten_context
from mcpg.errors import McpgError, UsageError
from mcpg.gateway.calls.arguments import as_json, check_arguments
from mcpg.gateway.calls.model import CallError, Fault, FaultCode, Invoked, RefusedError
from mcpg.gateway.limits import Limits
from mcpg.gateway.sources import FileSource, FunctionSource, ServerSource
from mcpg.sources.model import PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcpg.catalog.model import Tool
    from mcpg.gateway.calls.openapi import OperationCaller
    from mcpg.gateway.sessions.pool import Sessions
    from mcpg.gateway.sources import Source
    from mcpg.json_types import JsonObject, JsonValue
    from mcpg.sources.live.client import CallResult, Progress
    from mcpg.sources.openapi.operations import Operation

# SECTION wish: What a tool is wanted for, as its arguments and its server may hear of it.


META = "managedCodeMcpGateway"
"""The member of a request's `_meta` that holds the wish, by the .NET gateway's name."""

_TYPES = {"string": str, "object": dict, "array": list, "boolean": bool, "number": int | float}


def filled(schema: JsonObject, arguments: JsonObject, query: str, context: JsonValue) -> JsonObject:
    """Add the wish to *arguments*, where the tool has an argument for it and nobody gave one.

    Args:
        schema: The tool's input schema.
        arguments: What the caller gave.
        query: What the tool is wanted for, goes into `query`.
        context: What else is known: goes into `context` as it is or as a text, whatever the schema
            wants, and into `contextSummary` as a text.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return arguments
    offered: dict[str, tuple[JsonValue, ...]] = {
        "query": (query,),
        "context": (context, flatten_context(context)),
        "contextSummary": (flatten_context(context),),
    }
    added = dict(arguments)
    for name, values in offered.items():
        if name in properties and name not in arguments:
            suitable = [one for one in values if one and _suits(one, properties[name])]
            if suitable:
                added[name] = suitable[0]
    return added


def _suits(value: JsonValue, schema: JsonValue) -> bool:
    wanted = schema.get("type") if isinstance(schema, dict) else None
    names = wanted if isinstance(wanted, list) else [wanted]
    return wanted is None or any(
        isinstance(value, _TYPES[name])
        for name in names
        if isinstance(name, str) and name in _TYPES
    )


def meta_of(query: str, context: JsonValue) -> JsonObject | None:
    """Give the `_meta` that tells a server of the wish, `None` where there is none."""
    said = dict(_said(query, context))
    return {META: said} if said else None


def _said(query: str, context: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if query:
        yield "query", query
    if isinstance(context, str) and context:
        yield "contextSummary", context
    elif context:
        yield "context", context


def plain_wish(wish: Any) -> JsonValue:
    """Return *wish* as JSON that can be sent; one that is none counts as not given."""
    try:
        return repair_surrogates(json.loads(json.dumps(wish, allow_nan=False)), "", [])
    except (TypeError, ValueError, RecursionError):
        return None


_THREADS = 40
_REMEDIES = {
    FaultCode.SOURCE_UNAVAILABLE: "try again: its server is asked anew",
    FaultCode.TIMED_OUT: "give it more time, or ask it for less",
    FaultCode.TOO_LARGE: "ask it for less",
}


@dataclass(frozen=True, slots=True)
class _Order:
    """An invocation, checked.

    Attributes:
        tool: The tool.
        arguments: Its arguments.
        seconds: The time that its caller has.
        deadline: When that is over.
        progress: Gets the progress that the server tells of.
        meta: The `_meta` of the request.
    """

    tool: Tool
    arguments: JsonObject
    seconds: float
    deadline: float
    progress: Progress | None
    meta: JsonObject | None

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.deadline - anyio.current_time())

    def timed_out(self) -> CallError:
        """Return the error of a call that took too long."""
        return CallError(FaultCode.TIMED_OUT, f"it gave no answer within {self.seconds:g} s")


class Invoker:
    """Invokes tools."""

    def __init__(self, sessions: Sessions, limits: Limits | None = None) -> None:
        """Make an invoker.

        Args:
            sessions: The connections to the servers.
            limits: What an invocation is granted.
        """
        self._sessions = sessions
        self._limits = limits or Limits()
        # Functions that block do not keep the arguments of others from being checked.
        self._checks = anyio.CapacityLimiter(_THREADS)
        self._functions = anyio.CapacityLimiter(_THREADS)
        self._operations: OperationCaller | None = None
        self._is_closed = False

    async def aclose(self) -> None:
        """Invoke nothing any more, and close the connections that are none of the sessions'."""
        self._is_closed = True
        if self._operations is not None:
            await self._operations.aclose()

    async def invoke(
        self,
        tool: Tool,
        owner: Source | None,
        arguments: Mapping[str, JsonValue],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the tool's time; a late one is told to stop
        progress: Progress | None = None,
        include_disabled: bool = False,
        query: str = "",
        context: Any = None,
    ) -> Invoked:
        """Invoke a tool. A cancellation is passed on to its server.

        Nothing is done twice, unless the tool says that it only reads or that repeating it changes
        nothing, and the connection to its server was lost before there was an answer.

        Args:
            tool: The tool.
            owner: Where it lives, `None` where nobody knows.
            arguments: The arguments by name.
            timeout: Seconds for all of it, up to what the limits grant; `None` for the usual.
            progress: Gets the progress that the server tells of.
            include_disabled: Whether a tool that is off by default is invoked.
            query: What the tool is wanted for; its server is told, and an argument `query` that it
                has and the caller did not give is filled in.
            context: What else is known, a text or JSON; likewise for the arguments `context` and
                `contextSummary`.

        Raises:
            UsageError: The time is not above 0.
        """
        if timeout is not None and not timeout > 0:
            raise UsageError(f"the time is {timeout} s", remedy="give more than 0 seconds")
        asked, known = str(plain_wish(query) or ""), plain_wish(context)
        seconds = self._limits.seconds(timeout)
        deadline = anyio.current_time() + seconds
        order = _Order(tool, {}, seconds, deadline, progress, meta_of(asked, known))
        try:
            _refuse(tool, owner, include_disabled)
            check = partial(_checked, tool, arguments, asked, known)
            order, operation = await self._prepared(order, owner, check)
            called = await self._called(order, owner, operation)
        except RefusedError as refused:
            return _invoked(tool, faults=refused.faults)
        except CallError as fault:
            return _invoked(tool, faults=(self._fault(fault),))
        return self._kept(tool, called)

    async def _operation(self, tool: Tool, owner: Source | None) -> Operation | None:
        """Give how the operation that *tool* is has to be called, `None` for other tools."""
        if not isinstance(owner, FileSource) or owner.path.startswith(PYTHON):
            return None
        if self._operations is None:
            # HTTP and OpenAPI are looked at only by those who have such a document.
            from mcpg.gateway.calls.openapi import OperationCaller  # noqa: PLC0415

            self._operations = OperationCaller(self._limits)
        call = await self._operations.find(owner, tool.name)
        if call is None:
            raise RefusedError(_not_invokable(tool))
        return call

    async def _prepared(
        self, order: _Order, owner: Source | None, check: Callable[[], JsonObject]
    ) -> tuple[_Order, Operation | None]:
        """Return *order* with the arguments that *check* gives, and the operation that it calls."""
        with anyio.move_on_after(order.left):
            operation = await self._operation(order.tool, owner)
            # In a thread: a schema may take its time, and needs a stack of its own.
            given = await anyio.to_thread.run_sync(
                check, limiter=self._checks, abandon_on_cancel=True
            )
            return replace(order, arguments=given), operation
        raise order.timed_out()

    async def _called(
        self, order: _Order, owner: Source | None, operation: Operation | None
    ) -> CallResult:
        if self._is_closed:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, "the gateway was closed")
        if isinstance(owner, ServerSource):
            return await self._by_server(order, owner)
        assert owner is not None  # noqa: S101 - it would have been refused
        with anyio.move_on_after(order.left):
            if operation is not None and self._operations and isinstance(owner, FileSource):
                return await self._operations.call(operation, owner, order.arguments)
            return await self._by_function(order, owner)
        raise order.timed_out()

    async def _by_server(self, order: _Order, owner: ServerSource) -> CallResult:
        try:
            return await self._asked(order, owner)
        except CallError as fault:
            if not fault.has_died or not order.left or not _may_be_repeated(order.tool):
                raise
        return await self._asked(order, owner)

    async def _asked(self, order: _Order, owner: ServerSource) -> CallResult:
        return await self._sessions.call(
            owner.server,
            order.tool.name,
            order.arguments,
            timeout=order.left,
            granted=order.seconds,
            progress=order.progress,
            meta=order.meta,
        )

    async def _by_function(self, order: _Order, owner: FunctionSource | FileSource) -> CallResult:
        # Pydantic is imported only by those who have functions.
        from mcpg.gateway.calls.functions import ArgumentsError, call_function, function_of  # noqa: PLC0415

        try:
            find = partial(function_of, owner, order.tool.name)
            if isinstance(owner, FunctionSource):
                function = find()
            else:  # the module may have to be imported
                function = await anyio.to_thread.run_sync(
                    find, limiter=self._functions, abandon_on_cancel=True
                )
            if function is None:
                raise RefusedError(_not_invokable(order.tool))
            return await call_function(function, order.arguments, self._functions)
        except ArgumentsError as fault:
            raise RefusedError(*fault.faults) from None
        except McpgError as fault:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, fault.message) from None

    def _kept(self, tool: Tool, called: CallResult) -> Invoked:
        structured = called.structured
        if structured is None:
            structured = _parsed(called)
        if _size(called) > self._limits.result_bytes:
            message = f"its result is larger than {self._limits.result_bytes} bytes"
            return _invoked(tool, faults=(self._fault(CallError(FaultCode.TOO_LARGE, message)),))
        result = _invoked(tool, called.content, structured)
        if not called.is_error:
            return result
        said = result.text or "it says that it failed, and not why"
        failed = self._fault(CallError(FaultCode.TOOL_FAILED, said))
        return _invoked(tool, called.content, structured, (failed,))

    def _fault(self, fault: CallError) -> Fault:
        longest = self._limits.message_chars
        message = fault.message
        short = message if len(message) <= longest else f"{message[:longest]}..."
        return Fault(fault.code, short, _REMEDIES.get(fault.code, ""))


def _invoked(
    tool: Tool,
    content: tuple[JsonObject, ...] = (),
    structured: JsonValue = None,
    faults: tuple[Fault, ...] = (),
) -> Invoked:
    return Invoked(tool.id, tool.source_id, tool.name, content, structured, faults)


def _checked(
    tool: Tool, arguments: Mapping[str, JsonValue], query: str, context: JsonValue
) -> JsonObject:
    plain = as_json(arguments)
    if isinstance(plain, Fault):
        raise RefusedError(plain)
    given = filled(tool.input_schema, plain, query, context)
    faults = check_arguments(tool.input_schema, given)
    if faults:
        raise RefusedError(*faults)
    return given


def _refuse(tool: Tool, owner: Source | None, include_disabled: bool) -> None:
    if not (tool.enabled or include_disabled):
        raise RefusedError(_disabled(tool))
    if owner is None:
        raise RefusedError(_not_invokable(tool))


def _disabled(tool: Tool) -> Fault:
    message = f"the tool {tool.id} is off unless it is asked for"
    return Fault(FaultCode.DISABLED, message, "invoke it with disabled tools included")


def _not_invokable(tool: Tool) -> Fault:
    message = f"the tool {tool.id} is only described here, not run"
    remedy = "add the server, module or OpenAPI document that it comes from as a source"
    return Fault(FaultCode.NOT_INVOKABLE, message, remedy)


def _may_be_repeated(tool: Tool) -> bool:
    """Say whether a tool says of itself that calling it twice does no more than once."""
    said = {"readOnlyHint": tool.hints.read_only, "idempotentHint": tool.hints.idempotent}
    return any(
        tool.annotations.get(name) is True if hint is None else hint for name, hint in said.items()
    )


def _size(called: CallResult) -> int:
    text = json.dumps([called.content, called.structured], ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass"))


def _parsed(called: CallResult) -> JsonValue:
    """Give the first text as JSON, `None` where it is none."""
    texts = (block.get("text") for block in called.content if block.get("type") == "text")
    first = next(texts, None)
    if not isinstance(first, str):
        return None
    try:
        parsed: JsonValue = json.loads(first, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return parsed


def _no_number(name: str) -> None:
    raise ValueError(name)
