"""What a tool answered, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcpg.cli.sanitise import cut, json_safe, lines_kept, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.gateway.results import Invoked

_LONGEST = 60
_BASE64 = 4 / 3


def invoke_json(invoked: Invoked) -> Mapping[str, Any]:
    """Give an answer as JSON; content and structured result are the tool's own."""
    return {
        "schema": "mcpg/invoke/1",
        "toolId": invoked.tool_id,
        "sourceId": invoked.source_id,
        "toolName": invoked.tool_name,
        "isSuccess": invoked.is_success,
        "content": [*invoked.content],
        "structured": invoked.structured,
        "faults": [
            {
                "code": fault.code.value,
                "message": fault.message,
                "remedy": fault.remedy,
                "field": fault.field,
            }
            for fault in invoked.faults
        ],
    }


def invoke_text(invoked: Invoked) -> str:
    """Give an answer for people: its texts, what else there is, or the structured result."""
    if not invoked.is_success:
        return ""  # what a tool says of its failure is an error, not data
    shown = [_shown(block) for block in invoked.content]
    if not shown and invoked.structured is not None:
        text = json.dumps(invoked.structured, ensure_ascii=False, indent=2)
        return json_safe(text)
    return "\n".join(shown)


def _shown(block: Mapping[str, Any]) -> str:
    """Show a block: text as it is, of everything else what it is and how large."""
    kind = str(block.get("type"))
    resource = block.get("resource")
    holder = resource if isinstance(resource, dict) else block
    if isinstance(holder.get("text"), str):
        return lines_kept(holder["text"])
    parts = [kind, *(str(holder[key]) for key in ("mimeType", "uri", "name") if key in holder)]
    data = holder.get("data", holder.get("blob"))
    if isinstance(data, str):
        parts.append(f"{int(len(data) / _BASE64):,} bytes")
    return one_line(f"[{', '.join(parts)}]")


def progress_line(text: str) -> str:
    """Bring a tool's word on its progress to one short line."""
    return cut(one_line(text), _LONGEST)
