"""Invocation of a tool of any source; failures are part of the outcome."""

from __future__ import annotations

import inspect
import json
import sys
from asyncio import CancelledError, current_task
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, get_type_hints

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator, to_json

from mcpg.catalog.json_text import repair_surrogates
from mcpg.catalog.model import Tool
from mcpg.errors import McpgError, UsageError, wrong_type
from mcpg.gateway.calls import CallError, CallResult, Fault, FaultCode, Limits, RefusedError
from mcpg.gateway.sessions import RequestTimeout, Sessions
from mcpg.gateway.validation import accepts_at_once, as_json, check_arguments, is_brief
from mcpg.search.results import flatten_context
from mcpg.sources.live.requests import CallResponse, Progress
from mcpg.sources.model import PYTHON
from mcpg.sources.openapi import ApiOperation
from mcpg.sources.python import find_functions, plain_function, plain_name, tool_name
from mcpg.sources.registry import FileSource, FunctionSource, ServerSource, Source
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.library_errors import pydantic_expected

if TYPE_CHECKING:
    from mcpg.gateway.openapi_calls import OperationCaller


Function = Callable[..., Any]

_MAX_CAUSES = 20
_LOCK = Lock()
_count = [0]
_is_diverted: ContextVar[bool] = ContextVar("_is_diverted", default=False)


class _Stdout:
    def __init__(self) -> None:
        self.real: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _is_diverted.get() else self.real, name)


# A single one: `print` borrows `sys.stdout` from the interpreter, and crashes when another thread
# drops the last reference while it writes (github.com/python/cpython/issues/130163).
_STDOUT = _Stdout()


@contextmanager
def stdout_diverted() -> Iterator[None]:
    """Send prints of this thread or task to standard error, as standard output may be a protocol.

    Other threads and tasks print as before.
    """
    with _LOCK:
        _count[0] += 1
        if sys.stdout is not _STDOUT:
            _STDOUT.real, sys.stdout = sys.stdout, _STDOUT
    token = _is_diverted.set(True)
    try:
        yield
    finally:
        _is_diverted.reset(token)
        with _LOCK:
            _count[0] -= 1
            if _count[0] == 0 and sys.stdout is _STDOUT:
                sys.stdout = _STDOUT.real


def find_function(owner: FunctionSource | FileSource, name: str) -> Function | None:
    """Return the function of the tool *name*, `None` if it no longer exists."""
    if isinstance(owner, FunctionSource):
        found = [(plain_name(function), function) for function in owner.functions]
    else:
        found = [*find_functions(owner.path)[1]]
    named = (function for plain, function in found if tool_name(function, plain) == name)
    return next(named, None)


async def call_function(
    function: Function, arguments: JsonObject, limiter: CapacityLimiter
) -> CallResponse:
    """Call *function*, in a thread of *limiter* unless it is asynchronous.

    Its *arguments* by name are converted to the types of its annotations.

    Raises:
        RefusedError: It does not accept these arguments.
        CallError: It raised an exception, or its result cannot be written as JSON.
    """
    try:
        positional, named = _make_binder(function).validate_json(json.dumps(arguments))
    except ValidationError as refused:
        faults = []
        for error in refused.errors():
            field = "".join(f"/{part}" for part in error["loc"])
            expected = pydantic_expected(error)
            message = f"the argument {json.dumps(field[1:])} is invalid"
            message = f"{message}: expected {expected}" if expected else message
            faults.append(Fault(FaultCode.ARGUMENTS_INVALID, message, field=field))
        raise RefusedError(*faults) from None
    work = partial(_call_quietly, partial(function, *positional, **named))
    if inspect.iscoroutinefunction(function):
        value, fault = work()
    else:
        value, fault = await anyio.to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)
    if inspect.isawaitable(value):
        value, fault = await _await_quietly(value)
    if fault is not None:
        raise CallError(FaultCode.TOOL_FAILED, _describe_exception(fault))
    return _make_result(function, value)


def _call_quietly(call: Function) -> tuple[Any, BaseException | None]:
    """Return the result of a function, or its exception."""
    try:
        with stdout_diverted():
            return call(), None
    except (Exception, SystemExit, CancelledError) as fault:  # noqa: BLE001 - reported
        return None, fault


async def _await_quietly(value: Any) -> tuple[Any, BaseException | None]:
    try:
        with stdout_diverted():
            return await value, None
    except CancelledError as fault:
        # A task that the function awaited was cancelled, unless this task is.
        task = current_task()
        if task is None or task.cancelling():
            raise
        return None, fault
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - as above
        return None, fault


@lru_cache(maxsize=256)
def _make_binder(function: Function) -> SchemaValidator:
    # Same source as the tool's schema; pydantic allows only classes.
    form: Any = plain_function(function)
    schema: Any = TypeAdapter[Any](form).core_schema
    binding: Any = {"function": lambda *positional, **named: (positional, named)}
    if schema["type"] == "definitions":
        return SchemaValidator({**schema, "schema": {**schema["schema"], **binding}})
    return SchemaValidator({**schema, **binding})


def _describe_exception(fault: BaseException) -> str:
    for _ in range(_MAX_CAUSES):
        inner = fault.exceptions[0] if isinstance(fault, BaseExceptionGroup) else fault.__cause__
        if inner is None:
            break
        fault = inner
    try:
        message = str(fault).strip()
    except Exception:  # noqa: BLE001 - `__str__` is the function's own
        message = ""
    name = type(fault).__name__
    return str(repair_surrogates(f"{name}: {message}" if message else name, "", []))


def _make_result(function: Function, value: Any) -> CallResponse:
    if value is None:
        return CallResponse()
    if isinstance(value, str):
        return CallResponse(({"type": "text", "text": str(repair_surrogates(value, "", []))},))
    try:
        hints = get_type_hints(plain_function(function), include_extras=True)
        form = TypeAdapter[Any](hints.get("return", Any))
        data = form.dump_json(value, warnings="error")
    except Exception:  # noqa: BLE001 - it returns another type than it declares
        try:
            data = to_json(value, bytes_mode="base64", inf_nan_mode="null")
        except Exception as fault:  # noqa: BLE001 - values of others raise anything
            message = f"its return value cannot be converted to JSON ({type(fault).__name__})"
            raise CallError(FaultCode.TOOL_FAILED, message) from None
    plain = json.loads(data)
    text = json.dumps(plain, ensure_ascii=False)
    return CallResponse(({"type": "text", "text": text},), plain)


META = "managedCodeMcpGateway"
"""The member of a request's `_meta` with query and context, by the .NET gateway's name."""

_TYPES = {"string": str, "object": dict, "array": list, "boolean": bool, "number": int | float}
_THREADS = 40
_REMEDIES = {
    FaultCode.SOURCE_UNAVAILABLE: "try again: the connection is opened again",
    FaultCode.UNAUTHORIZED: (
        "run the command that the message names, else correct the credentials of the source"
    ),
    FaultCode.TIMED_OUT: (
        "request less, or raise the timeout: for this call, `timeout` beside the arguments; for "
        "all, `timeout` of the source in its file, `limits.invoke_timeout` in mcpg.toml, or "
        "`mcpg serve --timeout`"
    ),
    FaultCode.TOO_LARGE: "request less",
}


@dataclass(frozen=True, slots=True)
class _ToolCall:
    """A call of a tool.

    Attributes:
        seconds: Its time, which progress renews.
        deadline: The end of this time without progress, by the clock of the event loop.
        end: The end regardless of progress, by the same clock.
        schema: The input schema that applies. A bundle that is older than its server refuses
            nothing that the server accepts.
    """

    tool: Tool
    query: str
    context: JsonValue
    summary: str
    seconds: float
    deadline: float
    end: float
    progress: Progress | None
    given_meta: JsonObject
    params: JsonObject
    schema: JsonObject

    @property
    def remaining_seconds(self) -> float:
        return max(0.0, self.deadline - anyio.current_time())

    def timed_out(self) -> CallError:
        return CallError(FaultCode.TIMED_OUT, f"no response within {self.seconds:g} s")

    def meta(self) -> JsonObject | None:
        """Return the caller's `_meta` with query and context, `None` without any of these."""
        is_summary = isinstance(self.context, str) and not self.summary
        members = {"query": self.query, "context": None if is_summary else self.context}
        members["contextSummary"] = self.context if is_summary else self.summary
        given: JsonObject = {key: value for key, value in members.items() if value}
        return {**self.given_meta, **({META: given} if given else {})} or None

    def check_at_once(self, arguments: Mapping[str, JsonValue]) -> JsonObject | None:
        """Return *arguments* if a few steps show that they are valid and complete."""
        if self._has_context or not is_brief(arguments):
            return None
        plain = as_json(arguments)
        if isinstance(plain, Fault) or not accepts_at_once(self.schema, plain):
            return None
        return plain

    @property
    def _has_context(self) -> bool:
        return bool(self.query or self.summary) or self.context is not None

    def check_arguments_fully(self, arguments: Mapping[str, JsonValue]) -> JsonObject:
        """Return *arguments*, completed by query and context."""
        plain = as_json(arguments)
        if isinstance(plain, Fault):
            raise RefusedError(plain)
        reviewed = self.tool.input_schema
        if self._has_context:
            context = self.query, self.context, self.summary
            plain = with_context_arguments(reviewed, plain, *context)
        faults = check_arguments(self.schema, plain)
        if faults and self.schema is not reviewed:
            # Nothing of an unreviewed schema is repeated.
            message = (
                f"the arguments fit {self.tool.id} as reviewed, but its source has changed its "
                "arguments"
            )
            remedy = "the operator can review the change and build the bundle again"
            changed = Fault(FaultCode.ARGUMENTS_INVALID, message, remedy)
            faults = check_arguments(reviewed, plain) or (changed,)
        if faults:
            raise RefusedError(*faults)
        return plain


def with_context_arguments(
    schema: JsonObject, arguments: JsonObject, query: str, context: JsonValue, summary: str = ""
) -> JsonObject:
    """Add query and context to *arguments* if the tool has such an argument and none is given.

    The *query* goes to the argument `query`, the *context* to `context`, as it is or as a text,
    whichever the input *schema* allows, and the *summary*, or else the context as a text, to
    `contextSummary`.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return arguments
    offered: dict[str, tuple[JsonValue, ...]] = {
        "query": (query,),
        "context": (context, flatten_context(context)),
        "contextSummary": (summary or flatten_context(context),),
    }
    added = dict(arguments)
    for name, values in offered.items():
        if name not in properties or name in arguments:
            continue
        member = properties[name]
        types = member.get("type") if isinstance(member, dict) else None
        names = types if isinstance(types, list) else [types]
        known = tuple(_TYPES[one] for one in names if isinstance(one, str) and one in _TYPES)
        suitable = [one for one in values if one and (types is None or isinstance(one, known))]
        if suitable:
            added[name] = suitable[0]
    return added


@dataclass(eq=False, slots=True)
class Invoker:
    """Invokes tools over *sessions*, within *limits*."""

    sessions: Sessions
    limits: Limits = field(default_factory=Limits)
    # Functions that block do not delay the check of other calls' arguments.
    _checks: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _THREADS))
    _functions: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _THREADS))
    _operations: OperationCaller | None = None
    _is_closed: bool = False

    async def aclose(self) -> None:
        """Refuse further calls, and close the connections that do not belong to sessions."""
        self._is_closed = True
        if self._operations is not None:
            await self._operations.aclose()

    async def invoke(  # noqa: PLR0913 - as in `Gateway.invoke`
        self,
        tool: Tool,
        owner: Source | None,
        arguments: Mapping[str, JsonValue],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the tool's time
        progress: Progress | None = None,
        include_disabled: bool = False,
        query: str = "",
        context: Any = None,
        context_summary: str = "",
        meta: JsonObject | None = None,
        params: JsonObject | None = None,
        current_schema: JsonObject | None = None,
    ) -> CallResult:
        """Invoke a tool of *owner*, `None` if that is unknown; see `Gateway.invoke`.

        If *tool* has the reviewed input schema, *current_schema* is the server's schema.

        Raises:
            UsageError: The time is not a number, or not above 0.
        """
        if not isinstance(timeout, float | int | None):
            raise wrong_type("timeout", timeout, "a number of seconds")
        if timeout is not None and not timeout > 0:
            raise UsageError(f"the time is {timeout} s", remedy="give more than 0 seconds")
        if timeout is None and isinstance(owner, ServerSource):
            timeout = owner.server.timeout
        elif timeout is None and isinstance(owner, FileSource):
            timeout = owner.timeout
        seconds, now = self.limits.seconds(timeout), anyio.current_time()
        deadline, end = now + seconds, now + self.limits.longest_seconds
        task, summary = (str(_as_json(one or None) or "") for one in (query, context_summary))
        wish = task, _as_json(context), summary
        given = meta or {}, params or {}
        schema = tool.input_schema if current_schema is None else current_schema
        call = _ToolCall(tool, *wish, seconds, deadline, end, progress, *given, schema)
        try:
            if not (tool.enabled or include_disabled):
                message = f"the tool {tool.id} is disabled by default"
                remedy = "invoke it with disabled tools included"
                raise RefusedError(Fault(FaultCode.DISABLED, message, remedy))  # noqa: TRY301 - as below
            if owner is None:
                raise _make_refusal(tool)
            operation, checked = await self._prepare_call(call, owner, arguments)
            result = await self._call_owner(call, owner, operation, checked)
        except RefusedError as refused:
            return CallResult(tool.id, tool.source_id, tool.name, faults=refused.faults)
        except CallError as fault:
            return self._make_failure(tool, fault)
        return self._limit_result(tool, result)

    async def _prepare_call(
        self, call: _ToolCall, owner: Source, arguments: Mapping[str, JsonValue]
    ) -> tuple[ApiOperation | None, JsonObject]:
        """Return the operation that is called, if the tool is one, and the checked arguments."""
        operation = None
        with anyio.move_on_after(call.remaining_seconds):
            if isinstance(owner, FileSource) and not owner.path.startswith(PYTHON):
                if self._operations is None:
                    # HTTP and OpenAPI are imported only for such documents.
                    from mcpg.gateway.openapi_calls import OperationCaller  # noqa: PLC0415

                    self._operations = OperationCaller(self.limits)
                operation = await self._operations.find(owner, call.tool.name)
                if operation is None:
                    raise _make_refusal(call.tool)
            given = call.check_at_once(arguments)
            if given is None:
                # In a thread: a schema may take long, and needs a stack of its own.
                check = partial(call.check_arguments_fully, arguments)
                given = await anyio.to_thread.run_sync(
                    check, limiter=self._checks, abandon_on_cancel=True
                )
            return operation, given
        raise call.timed_out()

    async def _call_owner(
        self, call: _ToolCall, owner: Source, operation: ApiOperation | None, given: JsonObject
    ) -> CallResponse:
        if self._is_closed:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, "the gateway was closed")
        if isinstance(owner, ServerSource):
            return await self._call_server(call, owner, given)
        with anyio.move_on_after(call.remaining_seconds):
            if operation is not None and self._operations and isinstance(owner, FileSource):
                return await self._operations.call(operation, owner, given)
            try:
                find = partial(find_function, owner, call.tool.name)
                if isinstance(owner, FunctionSource):
                    function = find()
                else:  # the module may have to be imported
                    function = await anyio.to_thread.run_sync(
                        find, limiter=self._functions, abandon_on_cancel=True
                    )
                if function is None:
                    raise _make_refusal(call.tool)
                return await call_function(function, given, self._functions)
            except McpgError as fault:
                raise CallError(FaultCode.SOURCE_UNAVAILABLE, fault.message) from None
        raise call.timed_out()

    async def _call_server(
        self, call: _ToolCall, owner: ServerSource, arguments: JsonObject
    ) -> CallResponse:
        async def attempt() -> CallResponse:
            return await self.sessions.call(
                owner.server,
                call.tool.name,
                arguments,
                timeout=RequestTimeout(call.remaining_seconds, call.seconds, call.end),
                progress=call.progress,
                meta=call.meta(),
                params=call.params,
            )

        try:
            return await attempt()
        except CallError as fault:
            if not fault.has_died or not call.remaining_seconds:
                raise
            # Only a tool declared as idempotent or read-only is called again.
            hints, stated = call.tool.hints, call.tool.annotations
            declared = ("readOnlyHint", hints.read_only), ("idempotentHint", hints.idempotent)
            if not any(stated.get(name) is True if one is None else one for name, one in declared):
                raise
        return await attempt()

    def _limit_result(self, tool: Tool, result: CallResponse) -> CallResult:
        text = json.dumps([result.content, result.structured], ensure_ascii=False)
        if len(text.encode("utf-8", "surrogatepass")) > self.limits.result_bytes:
            message = f"its result is larger than {self.limits.result_bytes} bytes"
            return self._make_failure(tool, CallError(FaultCode.TOO_LARGE, message))
        structured: JsonValue = result.structured
        if structured is None:
            texts = (block.get("text") for block in result.content if block.get("type") == "text")
            first = next(texts, None)
            with suppress(ValueError, RecursionError):  # `int` refuses NaN and infinities
                structured = (
                    json.loads(first, parse_constant=int) if isinstance(first, str) else None
                )
        is_parsed = result.structured is None and structured is not None
        invoked = CallResult(tool.id, tool.source_id, tool.name, result.content, structured)
        faults: tuple[Fault, ...] = ()
        if result.is_error:
            message = invoked.text or "tool failed without a message"
            failed = self._make_failure(tool, CallError(FaultCode.TOOL_FAILED, message))
            faults = failed.faults
        return replace(invoked, faults=faults, wire=result.wire, is_parsed=is_parsed)

    def _make_failure(self, tool: Tool, fault: CallError) -> CallResult:
        longest, message = self.limits.message_chars, fault.message
        short = message if len(message) <= longest else f"{message[:longest]}..."
        faults = (Fault(fault.code, short, _REMEDIES.get(fault.code, "")),)
        return CallResult(tool.id, tool.source_id, tool.name, faults=faults, error=fault.error)


def _make_refusal(tool: Tool) -> RefusedError:
    message = f"the tool {tool.id} cannot be called: no source that runs it is configured"
    remedy = "add the server, module or OpenAPI document that it comes from as a source"
    return RefusedError(Fault(FaultCode.NOT_INVOKABLE, message, remedy))


def _as_json(value: Any) -> JsonValue:
    """Return *value* as JSON that can be sent; a value that is not JSON counts as missing."""
    if value is None:
        return None
    try:
        return repair_surrogates(json.loads(json.dumps(value, allow_nan=False)), "", [])
    except (TypeError, ValueError, RecursionError):
        return None
