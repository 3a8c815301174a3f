"""What a tool answered, as the result of our own server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from mcpg.gateway.serving.budget import passed_on
from mcpg.gateway.serving.exported import RESULT
from mcpg.gateway.serving.wording import line, whole, written

if TYPE_CHECKING:
    from mcpg.gateway.results import Fault, Invoked
    from mcpg.gateway.serving.exported import Exported
    from mcpg.jsontypes import JsonObject, JsonValue

_FAULTS = 20
_MESSAGE = 2000
_MISMATCH = (
    "[mcpg: the tool ran, but its structured result is not as its server declares, and is left "
    "out; calling it again would give the same]"
)


def result_of(invoked: Invoked, budget: int, declared: Exported | None = None) -> JsonObject:
    """Give what *invoked* answered, held to *budget* bytes.

    Args:
        invoked: The answer.
        budget: Bytes of the result as JSON.
        declared: The tool as clients see it, where it was called by its own name; what they expect
            of its structured result is held.
    """
    result: JsonObject = {"content": _content(invoked), "isError": not invoked.is_success}
    if not invoked.is_success:
        result["structuredContent"] = _faults(invoked)
        return passed_on(_clean(result), budget, structured_needed=False)
    needed = declared is not None and declared.declares_output
    structured = _structured(invoked.structured, declared)
    if structured is not None:
        result["structuredContent"] = structured
    result = _clean(result)
    if needed and declared is not None and not _conforms(result, declared):
        result.pop("structuredContent", None)
        content = result["content"]
        kept = content if isinstance(content, list) else []
        result = {"content": [*kept, {"type": "text", "text": _MISMATCH}], "isError": True}
    return passed_on(result, budget, structured_needed=needed)


def _content(invoked: Invoked) -> list[JsonValue]:
    """Give the content blocks that clients can read, and the others as text."""
    blocks: list[JsonValue] = [_block(block) for block in invoked.content]
    if blocks or invoked.is_success:
        if not blocks and invoked.structured is not None:
            blocks.append(_text(written(invoked.structured)))
        return blocks
    return [_text("\n".join(map(_sentence, invoked.faults[:_FAULTS])))]


def _block(block: JsonObject) -> JsonObject:
    try:
        validate_server_result("tools/call", LATEST_HANDSHAKE_VERSION, {"content": [block]})
    except ValidationError:
        return _text(written(block))
    return block


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _sentence(fault: Fault) -> str:
    where = f" at {line(fault.field, 200)}" if fault.field else ""
    remedy = f" ({line(fault.remedy, _MESSAGE)})" if fault.remedy else ""
    return f"{fault.code}{where}: {line(fault.message, _MESSAGE)}{remedy}"


def _faults(invoked: Invoked) -> JsonObject:
    faults: list[JsonValue] = [
        {
            "code": fault.code.value,
            "message": line(fault.message, _MESSAGE),
            "remedy": line(fault.remedy, _MESSAGE),
            "field": line(fault.field, 200),
        }
        for fault in invoked.faults[:_FAULTS]
    ]
    return {"toolId": invoked.tool_id, "faults": faults}


def _structured(value: JsonValue, declared: Exported | None) -> JsonObject | None:
    """Give a structured result as an object, which all versions of MCP can carry."""
    if declared is not None and declared.is_wrapped:
        return None if value is None else {RESULT: value}
    if isinstance(value, list):
        return {RESULT: value}
    # A number or a text is in the content as well, and says no more here.
    return value if isinstance(value, dict) else None


def _conforms(result: JsonObject, declared: Exported) -> bool:
    if "structuredContent" not in result:
        return False
    checker = declared.validator
    return checker is None or checker.is_valid(result["structuredContent"])


def _clean(result: JsonObject) -> JsonObject:
    clean = whole(result)
    return clean if isinstance(clean, dict) else result
