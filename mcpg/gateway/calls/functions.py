"""Calls of Python functions of this process."""

from __future__ import annotations

import inspect
import json
import sys
from asyncio import CancelledError, current_task
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from threading import Lock
from typing import Any, get_type_hints

import anyio.to_thread
from anyio import CapacityLimiter
from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator, to_json

from mcpg.catalog.json_text import repair_surrogates
from mcpg.gateway.calls import CallError, Fault, FaultCode
from mcpg.gateway.sources import FileSource, FunctionSource
from mcpg.json_types import JsonObject
from mcpg.library_errors import pydantic_expected
from mcpg.sources.live.requests import CallResult
from mcpg.sources.python import find_functions, plain_function, plain_name, tool_name

Function = Callable[..., Any]

_MAX_CAUSES = 20
_LOCK = Lock()
_count = [0]
_is_diverted: ContextVar[bool] = ContextVar("_is_diverted", default=False)


class _Stdout:
    """Replaces standard output; what is diverted goes to standard error."""

    def __init__(self) -> None:
        self.real: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _is_diverted.get() else self.real, name)


# A single one: `print` borrows `sys.stdout` from the interpreter, and crashes when another thread
# drops the last reference while it writes (github.com/python/cpython/issues/130163).
_STDOUT = _Stdout()


@contextmanager
def stdout_diverted() -> Iterator[None]:
    """Send what this thread or task prints to standard error, as standard output may be a protocol.

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


class ArgumentsError(Exception):
    """A function does not accept its arguments.

    Attributes:
        faults: What is wrong, each with its field.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(len(faults))
        self.faults = faults


def find_function(owner: FunctionSource | FileSource, name: str) -> Function | None:
    """Return the function of the tool *name*, `None` where there is none any more.

    Raises:
        McpgError: The module of *owner* cannot be imported.
    """
    if isinstance(owner, FunctionSource):
        found = [(plain_name(function), function) for function in owner.functions]
    else:
        found = [*find_functions(owner.path)[1]]
    named = (function for plain, function in found if tool_name(function, plain) == name)
    return next(named, None)


async def call_function(
    function: Function, arguments: JsonObject, limiter: CapacityLimiter
) -> CallResult:
    """Call *function*, in a thread unless it is asynchronous.

    Args:
        function: The function.
        arguments: Its arguments by name, to be converted to the types of its annotations.
        limiter: Bounds the threads.

    Raises:
        ArgumentsError: It does not accept these arguments.
        CallError: It raised an exception, or its result cannot be written as JSON.
    """
    positional, named = _bind_arguments(function, arguments)
    work = partial(_call_quietly, partial(function, *positional, **named))
    if inspect.iscoroutinefunction(function):
        value = work()
    else:
        value = await anyio.to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)
    if inspect.isawaitable(value):
        value = await _await_quietly(value)
    if isinstance(value, _FunctionFailure):
        raise CallError(FaultCode.TOOL_FAILED, _description(value.fault))
    return _result(function, value)


class _FunctionFailure:
    """An exception of a function, as a value."""

    def __init__(self, fault: BaseException) -> None:
        self.fault = fault


def _call_quietly(call: Function) -> Any:
    try:
        with stdout_diverted():
            return call()
    except (Exception, SystemExit, CancelledError) as fault:  # noqa: BLE001 - reported
        return _FunctionFailure(fault)


async def _await_quietly(value: Any) -> Any:
    try:
        with stdout_diverted():
            return await value
    except CancelledError as fault:
        # Of a task that the function awaited, unless it is this one that is cancelled.
        task = current_task()
        if task is None or task.cancelling():
            raise
        return _FunctionFailure(fault)
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - as above
        return _FunctionFailure(fault)


@lru_cache(maxsize=256)
def _binder(function: Function) -> SchemaValidator:
    """Return the converter of arguments, made of the same description as the tool's schema."""
    form: Any = plain_function(function)  # the types of pydantic allow classes alone
    schema: Any = TypeAdapter[Any](form).core_schema
    if schema["type"] == "definitions":
        return SchemaValidator({**schema, "schema": _binding(schema["schema"])})
    return SchemaValidator(_binding(schema))


def _binding(schema: Any) -> Any:
    return {**schema, "function": lambda *positional, **named: (positional, named)}


def _bind_arguments(
    function: Function, arguments: JsonObject
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        found: tuple[tuple[Any, ...], dict[str, Any]]
        found = _binder(function).validate_json(json.dumps(arguments))
    except ValidationError as fault:
        raise ArgumentsError(tuple(_fault(error) for error in fault.errors())) from None
    return found


def _fault(error: Any) -> Fault:
    field = "".join(f"/{part}" for part in error["loc"])
    name = json.dumps("/".join(map(str, error["loc"])))
    expected = pydantic_expected(error)
    wanted = f": expected {expected}" if expected else ""
    message = f"the argument {name} is invalid{wanted}"
    return Fault(FaultCode.ARGUMENTS_INVALID, message, field=field)


def _description(fault: BaseException) -> str:
    """Describe an exception by its innermost cause."""
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


def _result(function: Function, value: Any) -> CallResult:
    if value is None:
        return CallResult()
    if isinstance(value, str):
        return CallResult(({"type": "text", "text": str(repair_surrogates(value, "", []))},))
    try:
        plain = json.loads(_serialize_result(function, value))
    except Exception as fault:  # noqa: BLE001 - values of others raise anything
        message = f"its return value cannot be converted to JSON ({type(fault).__name__})"
        raise CallError(FaultCode.TOOL_FAILED, message) from None
    text = json.dumps(plain, ensure_ascii=False)
    return CallResult(({"type": "text", "text": text},), plain)


def _serialize_result(function: Function, value: Any) -> bytes:
    try:
        hints = get_type_hints(plain_function(function), include_extras=True)
        hint = hints.get("return", Any)
        return TypeAdapter[Any](hint).dump_json(value, warnings="error")
    except Exception:  # noqa: BLE001 - it returns another type than it declares
        return to_json(value, bytes_mode="base64", inf_nan_mode="null")
