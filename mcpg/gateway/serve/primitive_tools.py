"""The meta-tools of prompts and resources, and both in the answers to a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcpg.gateway.serve.answers import line, passed_on, repaired, text_block, written
from mcpg.json_types import JsonObject, JsonValue
from mcpg.values import SHOWN_DECIMALS

if TYPE_CHECKING:
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.primitives.search import Found
    from mcpg.gateway.serve import Serving
    from mcpg.gateway.serve.requests import ClientRequest

_NAME, _ADDRESS, _ARGUMENTS = 128, 2000, 16


def primitive_answers(found: Sequence[Found], characters: int) -> JsonObject:
    """Return the members `prompts` and `resources` of an answer, those of which there are any.

    Args:
        found: The matches.
        characters: Length of a description, 0 for none.
    """
    answer: dict[str, list[JsonValue]] = {}
    for one in found:
        kind = "prompts" if one.kind == "prompts" else "resources"
        answer.setdefault(kind, []).append(_shown(one, characters))
    return {**answer}


def _shown(found: Found, characters: int) -> JsonObject:
    item, meta = found.item, found.item.get("_meta")
    shown: JsonObject = {"name": line(str(item["name"]), _NAME)}
    for member in ("uri", "uriTemplate"):
        if member in item:
            shown[member] = str(item[member])[:_ADDRESS]
    if found.kind == "prompts":
        shown["name"] = item["name"]  # as it is: it is what the prompt is got by
    shown["sourceId"] = line(str(meta["sourceId"] if isinstance(meta, dict) else ""), _NAME)
    text = item.get("description") or item.get("title")
    if text and characters:
        shown["description"] = line(str(text), characters)
    given: Any = item.get("arguments") or []
    if found.kind == "prompts" and given:
        shown["arguments"] = [line(str(one["name"]), _NAME) for one in given[:_ARGUMENTS]]
    return {**shown, "score": round(found.score, SHOWN_DECIMALS)}


class PrimitiveTools:
    """Reads resources and gets prompts for a model, whose client may do neither."""

    def __init__(self, gateway: Gateway, serving: Serving) -> None:
        """Serve those of *gateway*."""
        self._gateway = gateway
        self._serving = serving

    async def read(self, arguments: dict[str, Any], request: ClientRequest) -> JsonObject:
        """Return the contents of a resource as embedded resources.

        Raises:
            McpgError: There is none, or its server fails.
        """
        params: JsonObject = {**request.params, "_meta": request.meta}
        result = await self._gateway.primitives.read(arguments["uri"], params, request.progress)
        if result.get("resultType") == "input_required":
            return result
        contents: Any = result.get("contents", [])
        blocks: list[JsonValue] = [{"type": "resource", "resource": one} for one in contents]
        return self._fitted(blocks)

    async def prompt(self, arguments: dict[str, Any], request: ClientRequest) -> JsonObject:
        """Return the messages of a prompt, each text with its role.

        Raises:
            McpgError: There is none, or its server fails.
        """
        params: JsonObject = {**request.params, "_meta": request.meta}
        if "arguments" in arguments:
            params["arguments"] = arguments["arguments"]
        result = await self._gateway.primitives.prompt(arguments["name"], params, request.progress)
        if result.get("resultType") == "input_required":
            return result
        messages: Any = result.get("messages", [])
        return self._fitted([_message(one) for one in messages])

    def _fitted(self, blocks: list[JsonValue]) -> JsonObject:
        result: JsonObject = repaired({"content": blocks, "isError": False})
        return passed_on(result, self._serving.result_bytes, structured_needed=False)


def _message(message: Any) -> JsonValue:
    content = message.get("content")
    if not isinstance(content, dict):
        return text_block(written(message))
    if content.get("type") != "text":
        return content
    return {**content, "text": f"{message.get('role')}: {content.get('text')}"}
