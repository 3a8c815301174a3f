"""`mcpg invoke`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from mcpg.catalog.model import resolve
from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import OutputFormat, argument, option
from mcpg.cli.output import Output
from mcpg.cli.terminal import cut, json_safe, lines_kept, one_line, standard_input
from mcpg.errors import Severity, UsageError
from mcpg.files import read_bytes
from mcpg.gateway.calls import CallResult, Fault, FaultCode
from mcpg.gateway.from_settings import GatewayRequest, make_gateway
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.library_errors import install_command, json_reason

if TYPE_CHECKING:
    from mcpg.gateway.gateway import Gateway
    from mcpg.sources.live.requests import Progress

EXAMPLES = """\
mcpg invoke git_status mcp.json --arg repo_path=.
mcpg invoke time::convert_time mcp.json --arguments @call.json
echo '{"city": "Lisbon"}' | mcpg invoke forecast --arguments - --format json
mcpg invoke isleap python:calendar:isleap --arg year=2024"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "invoke", examples=EXAMPLES, more="docs/how-to/invoke.md")(invoke)


def invoke(
    output: Output,
    tool: Annotated[
        str,
        argument("TOOL", "Id of the tool, SOURCE::NAME, or its name on the server."),
    ],
    sources: Annotated[
        list[str] | None,
        argument(
            "SOURCE",
            "A client configuration, 'stdio:COMMAND ...', https://HOST/PATH, python:MODULE or "
            "an OpenAPI document. [default: the sources in mcpg.toml]",
        ),
    ] = None,
    *,
    arguments: Annotated[
        str | None,
        option(
            "--arguments",
            "All arguments as a JSON object, in a file, or from standard input.",
            "JSON|@FILE|-",
        ),
    ] = None,
    arg: Annotated[
        list[str] | None,
        option("--arg", "One argument, as text or JSON. Repeatable.", "NAME=VALUE"),
    ] = None,
    timeout: Annotated[
        float | None,
        option(
            "--timeout",
            "Timeout of the call in seconds. [default: 60] [env: MCPG_INVOKE_TIMEOUT]",
            "SECONDS",
        ),
    ] = None,
    include_disabled: Annotated[
        bool,
        option("--include-disabled", "Call the tool even if it is disabled by default."),
    ] = False,
    header: options.CallHeader = None,
    allow_private: options.AllowPrivate = False,
    server_timeout: options.ServerTimeout = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Call a tool and show its result.

    Checks arguments against the schema. Exits 1 if the call fails, 2 if the tool is unknown or its
    arguments are invalid.
    """
    wanted = GatewayRequest(
        tuple(sources or ()),
        header=header,
        server_timeout=server_timeout,
        allow_private=allow_private,
    )
    given = _read_arguments(arguments), _split_pairs(arg or ())
    how = {"timeout": timeout, "include_disabled": include_disabled}
    return _report(_call(wanted, tool, given, how, output), form, output)


def _call(
    wanted: GatewayRequest,
    tool: str,
    given: tuple[JsonObject, Mapping[str, str]],
    how: Mapping[str, Any],
    output: Output,
) -> CallResult:
    settings = read_settings()
    try:
        import anyio  # noqa: PLC0415 - an extra

        gateway = make_gateway(wanted, settings)
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"nothing can be invoked without the MCP SDK: {missing.name} is not installed",
            remedy=install_command("mcp"),
        ) from None
    return anyio.run(_run, gateway, tool, *given, how, output)


def _report(invoked: CallResult, form: OutputFormat, output: Output) -> int:
    """Show the result, and return the exit code of the command."""
    if form is OutputFormat.JSON:
        output.json(invoked.to_dict())
    else:
        output.text(invoke_text(invoked))
    for fault in invoked.faults:
        output.error(fault.message, remedy=fault.remedy)
    if invoked.is_success:
        return ExitCode.DONE
    is_ours = any(fault.code in _OF_THE_CALLER for fault in invoked.faults)
    return ExitCode.FAILED if is_ours else ExitCode.FINDINGS


_LONGEST = 60
_BASE64 = 4 / 3


def invoke_text(invoked: CallResult) -> str:
    """Return an answer for people: its texts and other contents, or the structured result."""
    if not invoked.is_success:
        return ""  # a tool's message about its failure is an error, not data
    shown = []
    for block in invoked.content:
        resource = block.get("resource")
        holder = resource if isinstance(resource, dict) else block
        text = holder.get("text")
        if isinstance(text, str):
            shown.append(lines_kept(text))
            continue
        parts = [str(holder[key]) for key in ("mimeType", "uri", "name") if key in holder]
        data = holder.get("data", holder.get("blob"))
        if isinstance(data, str):
            parts.append(f"{int(len(data) / _BASE64):,} bytes")
        shown.append(one_line(f"[{', '.join((str(block.get('type')), *parts))}]"))
    if not shown and invoked.structured is not None:
        return json_safe(json.dumps(invoked.structured, ensure_ascii=False, indent=2))
    return "\n".join(shown)


_APPLICATORS = ("anyOf", "oneOf", "allOf")


def parse_argument(schema: JsonObject, name: str, text: str) -> JsonValue:
    """Return *text* as the value of the argument *name* of a tool with the input *schema*.

    It stays a text if the schema names texts among the types. If it does not, or names no type, the
    text is read as JSON if it is JSON. A value that the schema accepts wins over a refused value.
    """
    try:  # `int` refuses NaN and infinities, which are not JSON
        value: JsonValue = json.loads(text, parse_constant=int, parse_float=_read_finite)
    except (ValueError, RecursionError):
        return text
    from mcpg.gateway.validation import check_arguments  # noqa: PLC0415 - needs the MCP extra

    properties = schema.get("properties")
    member = properties.get(name) if isinstance(properties, dict) else None
    escaped = name.replace("~", "~0").replace("/", "~1")

    def is_valid(value: JsonValue) -> bool:
        """Return whether the argument itself is valid, regardless of the others."""
        faults = check_arguments(schema, {name: value})
        return not any(fault.field.split("/")[1:2] == [escaped] for fault in faults)

    first, second = (text, value) if _names_texts(member, schema) else (value, text)
    return second if not is_valid(first) and is_valid(second) else first


def _read_finite(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError("too large for a number")
    return float(text)


def _names_texts(member: JsonValue, root: JsonObject) -> bool:
    """Return whether a schema, or a part or definition of it, accepts texts among others."""
    waiting: list[Any] = [member]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        if "string" in _as_list(node.get("type")):
            return True
        if any(isinstance(one, str) for one in (*_as_list(node.get("enum")), node.get("const"))):
            return True
        waiting.append(resolve(node.get("$ref"), root))
        waiting += [part for key in _APPLICATORS for part in _as_list(node.get(key))]
    return False


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_LIMIT = 32 << 20
_PLACE = "--arguments"
_REMEDY = """give an object, as in --arguments '{"city": "Lisbon"}'"""
_OF_THE_CALLER = frozenset(
    (
        *(FaultCode.NOTHING_NAMED, FaultCode.NOT_FOUND, FaultCode.AMBIGUOUS),
        *(FaultCode.DISABLED, FaultCode.NOT_INVOKABLE, FaultCode.ARGUMENTS_INVALID),
    )
)


async def _run(
    gateway: Gateway,
    tool: str,
    given: JsonObject,
    pairs: Mapping[str, str],
    how: Mapping[str, Any],
    output: Output,
) -> CallResult:
    with output.progress(f"invoking {cut(one_line(tool), _LONGEST)}") as shown:
        async with gateway:
            snapshot = await gateway.snapshot()
            output.diagnostics(
                one
                for one in gateway.diagnostics
                if output.verbose or one.severity == Severity.ERROR
            )
            found = snapshot.find(tool)
            if isinstance(found, Fault):
                return CallResult("", faults=(found,))
            schema = found.input_schema
            named = {name: parse_argument(schema, name, text) for name, text in pairs.items()}
            progress = _make_progress(shown)
            return await gateway.invoke(found.id, {**given, **named}, progress=progress, **how)


def _make_progress(shown: Any) -> Progress | None:
    """Return a function that shows a tool's progress beside the spinner, if there is one."""
    if shown is None:
        return None

    async def tell(done: float, total: float | None, message: str | None) -> None:
        of = f" of {total:g}" if total is not None else ""
        text = cut(one_line(message or ""), _LONGEST)
        shown.update(Text(f"{done:g}{of} {text}".rstrip()))

    return tell


def _split_pairs(given: Iterable[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            message = f"{one!r} is not an argument"
            raise UsageError(message, place="--arg", remedy="write it as NAME=VALUE")
        pairs[name] = value
    return pairs


def _read_arguments(text: str | None) -> JsonObject:
    """Return arguments: a JSON object, `@` and a file with it, or `-` for standard input."""
    if text is None:
        return {}
    place = text[1:] if text.startswith("@") else _PLACE
    if text == "-":
        data = standard_input(_LIMIT)
    elif text.startswith("@"):
        data = read_bytes(text[1:], _LIMIT)
    else:
        data = text.encode("utf-8", "surrogatepass")
    try:
        found = json.loads(data)
    except json.JSONDecodeError as fault:
        problem = f"invalid JSON at {fault.lineno}:{fault.colno}: {json_reason(fault)[0]}"
        raise UsageError(problem, place=place, remedy=_REMEDY) from None
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8", place=place, remedy="save it as UTF-8") from None
    except (ValueError, RecursionError):
        problem = "a number is too long, or the JSON is nested too deeply"
        raise UsageError(problem, place=place, remedy="shorten it") from None
    if not isinstance(found, dict):
        raise UsageError("expected a JSON object", place=place, remedy=_REMEDY)
    return found
