"""Tools that are functions of this process: found, called, and their answers made JSON."""

from __future__ import annotations

import inspect
import json
import sys
from asyncio import CancelledError, current_task
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, get_type_hints

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator, to_json

from mcpg.catalog.json_text import repair_surrogates
from mcpg.gateway.calls.model import CallError, Fault, FaultCode
from mcpg.gateway.sources import FunctionSource
from mcpg.sources.live.client import CallResult
from mcpg.sources.python import functions_of
from mcpg.sources.python_functions import tool_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyio import CapacityLimiter

    from mcpg.gateway.sources import FileSource
    from mcpg.json_types import JsonObject

    Function = Callable[..., Any]

# SECTION quiet: Keeps what functions print from standard output, where perhaps a protocol is
# spoken.


_LOCK = Lock()
_count = [0]
_is_diverted: ContextVar[bool] = ContextVar("_is_diverted", default=False)


class _Door:
    """Stands in for standard output: whoever is diverted reaches standard error."""

    def __init__(self) -> None:
        self.real: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _is_diverted.get() else self.real, name)


# One for all times: `print` borrows `sys.stdout` from the interpreter, and crashes when another
# thread takes away the last reference while it writes (github.com/python/cpython/issues/130163).
_DOOR = _Door()


@contextmanager
def stdout_diverted() -> Iterator[None]:
    """Send what this thread or task prints to standard error; the others print as before."""
    with _LOCK:
        _count[0] += 1
        if sys.stdout is not _DOOR:
            _DOOR.real, sys.stdout = sys.stdout, _DOOR
    token = _is_diverted.set(True)
    try:
        yield
    finally:
        _is_diverted.reset(token)
        with _LOCK:
            _count[0] -= 1
            if _count[0] == 0 and sys.stdout is _DOOR:
                sys.stdout = _DOOR.real


_MOST_CAUSES = 20


class ArgumentsError(Exception):
    """A function does not take its arguments.

    Attributes:
        faults: What is wrong, each with the field.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(len(faults))
        self.faults = faults


def function_of(owner: FunctionSource | FileSource, name: str) -> Function | None:
    """Give the function that is the tool called *name*; `None` where there is none any more.

    Raises:
        McpgError: The module of *owner* cannot be imported.
    """
    if isinstance(owner, FunctionSource):
        found = [(function.__name__, function) for function in owner.functions]
    else:
        found = [*functions_of(owner.path)[1]]
    named = (function for plain, function in found if tool_name(function, plain) == name)
    return next(named, None)


async def call_function(
    function: Function, arguments: JsonObject, limiter: CapacityLimiter
) -> CallResult:
    """Call *function*, in a thread unless it is asynchronous.

    Args:
        function: The function.
        arguments: Its arguments by name, converted to what its annotations say.
        limiter: Bounds the threads.

    Raises:
        ArgumentsError: It does not take these arguments.
        CallError: It raised an exception, or what it returned is no JSON.
    """
    positional, named = _bound(function, arguments)
    work = partial(_outcome, partial(function, *positional, **named))
    if inspect.iscoroutinefunction(function):
        value = work()
    else:
        value = await anyio.to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)
    if inspect.isawaitable(value):
        value = await _awaited(value)
    if isinstance(value, _Raised):
        raise CallError(FaultCode.TOOL_FAILED, _told(value.fault))
    return _called(function, value)


class _Raised:
    """What a function raised, as something that can be returned."""

    def __init__(self, fault: BaseException) -> None:
        self.fault = fault


def _outcome(call: Function) -> Any:
    try:
        with stdout_diverted():
            return call()
    except (Exception, SystemExit, CancelledError) as fault:  # noqa: BLE001 - told
        return _Raised(fault)


async def _awaited(value: Any) -> Any:
    try:
        with stdout_diverted():
            return await value
    except CancelledError as fault:
        # Of a task that the function awaited, unless it is this one that is cancelled.
        task = current_task()
        if task is None or task.cancelling():
            raise
        return _Raised(fault)
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - as above
        return _Raised(fault)


@lru_cache(maxsize=256)
def _binder(function: Function) -> SchemaValidator:
    """Give what converts arguments, from the same description as the tool's schema."""
    form: Any = function  # its type does not say that a function is a form, too
    schema: Any = TypeAdapter[Any](form).core_schema
    if schema["type"] == "definitions":
        return SchemaValidator({**schema, "schema": _binding(schema["schema"])})
    return SchemaValidator(_binding(schema))


def _binding(schema: Any) -> Any:
    return {**schema, "function": lambda *positional, **named: (positional, named)}


def _bound(function: Function, arguments: JsonObject) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        found: tuple[tuple[Any, ...], dict[str, Any]]
        found = _binder(function).validate_json(json.dumps(arguments))
    except ValidationError as fault:
        raise ArgumentsError(tuple(_fault(error) for error in fault.errors())) from None
    return found


def _fault(error: Any) -> Fault:
    field = "".join(f"/{part}" for part in error["loc"])
    name = json.dumps("/".join(map(str, error["loc"])))
    message = f"the argument {name} is not as the function wants it: {error['msg']}"
    return Fault(FaultCode.ARGUMENTS_INVALID, message, field=field)


def _told(fault: BaseException) -> str:
    """Say what was raised, in the words of what lies at the bottom of it."""
    for _ in range(_MOST_CAUSES):
        inner = fault.exceptions[0] if isinstance(fault, BaseExceptionGroup) else fault.__cause__
        if inner is None:
            break
        fault = inner
    try:
        said = str(fault).strip()
    except Exception:  # noqa: BLE001 - even saying what is wrong is up to the function
        said = ""
    name = type(fault).__name__
    return str(repair_surrogates(f"{name}: {said}" if said else name, "", []))


def _called(function: Function, value: Any) -> CallResult:
    if value is None:
        return CallResult()
    if isinstance(value, str):
        return CallResult(({"type": "text", "text": str(repair_surrogates(value, "", []))},))
    try:
        plain = json.loads(_written(function, value))
    except Exception as fault:  # noqa: BLE001 - how a value of others is written is up to them
        message = f"what it returned cannot be written as JSON ({type(fault).__name__})"
        raise CallError(FaultCode.TOOL_FAILED, message) from None
    text = json.dumps(plain, ensure_ascii=False)
    return CallResult(({"type": "text", "text": text},), plain)


def _written(function: Function, value: Any) -> bytes:
    try:
        hint = get_type_hints(function, include_extras=True).get("return", Any)
        return TypeAdapter[Any](hint).dump_json(value, warnings="error")
    except Exception:  # noqa: BLE001 - it returns something else than it says
        return to_json(value, bytes_mode="base64", inf_nan_mode="null")
