"""The command `invoke`: from options to a call, and its answer for people and programs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg.cli.argvalue import value_of
from mcpg.cli.exits import ExitCode
from mcpg.cli.gatewaying import gateway_of
from mcpg.cli.invokeview import invoke_json, invoke_text, progress_line
from mcpg.cli.output import OutputFormat
from mcpg.cli.stdin import standard_input
from mcpg.diagnostics import Severity
from mcpg.errors import UsageError
from mcpg.files import read_bytes
from mcpg.gateway.results import Fault, FaultCode, Invoked

if TYPE_CHECKING:
    from mcpg.cli.gatewaying import Wanted
    from mcpg.cli.output import Output
    from mcpg.cli.settings import Settings
    from mcpg.gateway import Gateway
    from mcpg.gateway.progress import Progress
    from mcpg.jsontypes import JsonObject

_LIMIT = 32 << 20
_PLACE = "--arguments"
_REMEDY = """give an object, as in --arguments '{"city": "Lisbon"}'"""
_OF_THE_CALLER = frozenset(
    {
        FaultCode.NOTHING_NAMED,
        FaultCode.NOT_FOUND,
        FaultCode.AMBIGUOUS,
        FaultCode.DISABLED,
        FaultCode.NOT_INVOKABLE,
        FaultCode.ARGUMENTS_INVALID,
    }
)


@dataclass(frozen=True, slots=True)
class Call:
    """What the command line wants called.

    Attributes:
        tool: An id, `source::name`, or a raw name.
        arguments: A JSON object, `@` and a file that holds one, or `-` for standard input.
        each: Arguments as `NAME=VALUE`.
        seconds: Time of the call, `None` for the usual.
        include_disabled: Whether a tool that is off by default is called.
    """

    tool: str
    arguments: str | None = None
    each: tuple[str, ...] = ()
    seconds: float | None = None
    include_disabled: bool = False


def invoke_tool(
    wanted: Wanted, settings: Settings, call: Call, form: OutputFormat, output: Output
) -> int:
    """Call a tool and write its answer.

    Raises:
        McpgError: An option or a setting makes no sense, or a file that is named cannot be used.
    """
    given = _arguments(call)
    pairs = [_pair(one) for one in call.each]
    try:
        import anyio  # noqa: PLC0415 - an extra

        gateway = gateway_of(wanted, settings)
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"nothing can be invoked without the MCP SDK: {missing.name} is not installed",
            remedy="pip install 'mcpg-graph[mcp]'",
        ) from None
    invoked: Invoked = anyio.run(_run, gateway, call, given, pairs, output)
    if form is OutputFormat.JSON:
        output.json(invoke_json(invoked))
    else:
        output.text(invoke_text(invoked))
    for fault in invoked.faults:
        output.error(fault.message, remedy=fault.remedy)
    return _exit_code(invoked)


async def _run(
    gateway: Gateway,
    call: Call,
    given: JsonObject,
    pairs: list[tuple[str, str]],
    output: Output,
) -> Invoked:
    with output.progress(f"invoking {progress_line(call.tool)}") as shown:
        async with gateway:
            snapshot = await gateway.snapshot()
            told = gateway.diagnostics
            output.diagnostics(
                one for one in told if output.verbose or one.severity is Severity.ERROR
            )
            found = snapshot.find(call.tool)
            if isinstance(found, Fault):
                return Invoked("", faults=(found,))
            named = {name: value_of(found.input_schema, name, text) for name, text in pairs}
            return await gateway.invoke(
                found.id,
                {**given, **named},
                timeout=call.seconds,
                progress=_telling(shown),
                include_disabled=call.include_disabled,
            )


def _telling(shown: Any) -> Progress | None:
    """Give what shows a tool's progress beside the spinner; nothing where there is none."""
    if shown is None:
        return None

    async def tell(done: float, total: float | None, message: str | None) -> None:
        from rich.text import Text  # noqa: PLC0415 - only where somebody looks

        of = f" of {total:g}" if total is not None else ""
        shown.update(Text(f"{done:g}{of} {progress_line(message or '')}".rstrip()))

    return tell


def _arguments(call: Call) -> JsonObject:
    text = call.arguments
    if text is None:
        return {}
    if text == "-":
        data = standard_input(_LIMIT)
    elif text.startswith("@"):
        data = read_bytes(text[1:], _LIMIT)
    else:
        data = text.encode("utf-8", "surrogatepass")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"this is no JSON: {fault}", place=_PLACE, remedy=_REMEDY) from None
    if not isinstance(found, dict):
        raise UsageError("this is no JSON object", place=_PLACE, remedy=_REMEDY)
    return found


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text!r} is no argument", place="--arg", remedy="write it as NAME=VALUE")
    return name, value


def _exit_code(invoked: Invoked) -> int:
    if invoked.is_success:
        return ExitCode.DONE
    is_ours = any(fault.code in _OF_THE_CALLER for fault in invoked.faults)
    return ExitCode.FAILED if is_ours else ExitCode.FINDINGS
