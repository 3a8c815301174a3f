"""The meta-tools of prompts and resources, and both in the answers to a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mcpg.gateway.serve import READ, ServingOptions
from mcpg.gateway.serve.answers import (
    make_error_result,
    line,
    pass_on_result,
    repair_value,
    size,
    text_block,
    text_prefix,
    encode_json,
)
from mcpg.json_types import JsonObject, JsonValue
from mcpg.values import SHOWN_DECIMALS

if TYPE_CHECKING:
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.primitives.search import ItemMatch
    from mcpg.gateway.serve.requests import ClientRequest

_NAME, _ADDRESS, _ARGUMENTS = 128, 2000, 16
_NOTE_BYTES = 1000
_BASE64 = 4, 3
_SETTING = "`--max-result-bytes` or `[serve] max-result-bytes` of the gateway"


def primitive_answers(found: Sequence[ItemMatch], characters: int) -> JsonObject:
    """Return the members `prompts` and `resources` of an answer, those of which there are any.

    Args:
        found: The matches.
        characters: Length of a description, 0 for none.
    """
    answer: dict[str, list[JsonValue]] = {}
    for one in found:
        kind = "prompts" if one.kind == "prompts" else "resources"
        answer.setdefault(kind, []).append(_describe_item(one, characters))
    return {**answer}


def _describe_item(found: ItemMatch, characters: int) -> JsonObject:
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

    def __init__(self, gateway: Gateway, serving: ServingOptions) -> None:
        """Serve those of *gateway*."""
        self._gateway = gateway
        self._serving = serving

    async def read(self, arguments: dict[str, Any], request: ClientRequest) -> JsonObject:
        """Return the contents of a resource as embedded resources, as far as they fit.

        Raises:
            McpgError: There is none, or its server fails.
        """
        params: JsonObject = {**request.params, "_meta": request.meta}
        result = await self._gateway.primitives.read(arguments["uri"], params, request.progress)
        if result.get("resultType") == "input_required":
            return result
        contents: Any = repair_value(result.get("contents", []))
        offset = int(arguments.get("offset", 0))
        return resource_answer(contents, offset, self._serving.result_bytes)

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
        return self._fit_blocks([_message(one) for one in messages])

    def _fit_blocks(self, blocks: list[JsonValue]) -> JsonObject:
        result: JsonObject = repair_value({"content": blocks, "isError": False})
        return pass_on_result(result, self._serving.result_bytes, structured_needed=False)


def _message(message: Any) -> JsonValue:
    content = message.get("content")
    if not isinstance(content, dict):
        return text_block(encode_json(message))
    if content.get("type") != "text":
        return content
    return {**content, "text": f"{message.get('role')}: {content.get('text')}"}


def resource_answer(contents: Sequence[JsonObject], offset: int, budget: int) -> JsonObject:
    """Return *contents* as embedded resources of at most *budget* bytes.

    Text is cut, with a note of how to get the rest; other contents that do not fit are left out.

    Args:
        contents: The contents of a resource: texts, and others in base64.
        offset: Characters of text to skip; with any, other contents are skipped, too.
        budget: Bytes of the result as JSON.

    Returns:
        A tool result; an error if nothing fits, or if there is no text after *offset*.
    """
    whole: JsonObject = {"content": [_embed_content(one) for one in contents], "isError": False}
    if not offset and size(whole) <= budget:
        return whole
    characters = sum(len(_text(one) or "") for one in contents)
    if offset and offset >= characters:
        return make_error_result(
            f"the text of the resource has {characters:,} characters: lower `offset`"
        )
    rest = _after(contents, offset) if offset else contents
    shown, count, refused = _fitting(rest, budget - _NOTE_BYTES)
    end = offset + count
    notes = [f"the text from character {end:,} to {characters:,} is omitted"]
    notes = notes if end < characters else []
    notes += [f"binary contents of {refused:,} bytes are omitted"] if refused else []
    if not notes:
        return {"content": shown, "isError": False}
    text = f"{'; '.join(notes)}: results are limited to {budget:,} bytes by {_SETTING}"
    if count and end < characters:
        text = f"{text}. Call {READ} with `offset` {end} for the next part of the text"
    return {"content": [*shown, text_block(f"[mcpg: {text}]")], "isError": not shown}


def _after(contents: Iterable[JsonObject], offset: int) -> list[JsonObject]:
    """Return the texts among *contents* without the first *offset* characters of them all."""
    rest = []
    for one in contents:
        text = _text(one)
        if text is not None and len(text) > offset:
            rest.append({**one, "text": text[offset:]})
        offset = max(0, offset - len(text or ""))
    return rest


def _fitting(contents: Iterable[JsonObject], room: int) -> tuple[list[JsonValue], int, int]:
    """Return what of *contents* fits *room* bytes, no text after one that was cut.

    Returns:
        The blocks, the characters of text in them, and the bytes of binary contents left out.
    """
    shown: list[JsonValue] = []
    characters, refused, is_cut = 0, 0, False
    for one in contents:
        text = _text(one)
        if text is not None and is_cut:
            continue
        kept = one if text is None else _cut(one, text, room)
        need = size(_embed_content(kept)) + 1
        is_cut = is_cut or (text is not None and (need > room or kept != one))
        if need > room:
            refused += _decoded_size(one)
            continue
        shown.append(_embed_content(kept))
        characters += len(_text(kept) or "")
        room -= need
    return shown, characters, refused


def _cut(content: JsonObject, text: str, room: int) -> JsonObject:
    frame = size(_embed_content({**content, "text": ""})) + 1
    return {**content, "text": text_prefix(text, room - frame)}


def _embed_content(content: JsonObject) -> JsonObject:
    return {"type": "resource", "resource": content}


def _text(content: JsonObject) -> str | None:
    """Return the text of *content*, `None` of binary contents."""
    text = content.get("text")
    return text if isinstance(text, str) else None


def _decoded_size(content: JsonObject) -> int:
    """Return the number of bytes that *content* holds in base64."""
    blob = content.get("blob")
    digits = blob.rstrip("=") if isinstance(blob, str) else ""
    return len(digits) * _BASE64[1] // _BASE64[0]
