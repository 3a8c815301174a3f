"""Answers held to a budget of bytes: less is said, in a fixed order, until it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.gateway.serving.wording import size, whole, written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.jsontypes import JsonObject, JsonValue

SMALLEST_BUDGET = 2048
"""The least budget in bytes: what is said of an answer that does not fit must fit itself."""

_NOTE_BYTES = 400


def told(answer: JsonValue) -> JsonObject:
    """Give *answer* as the result of a tool call: structured, and as text for older clients."""
    answer = whole(answer)
    return {
        "content": [{"type": "text", "text": written(answer)}],
        "structuredContent": answer,
        "isError": False,
    }


def failed(message: str, structured: JsonObject | None = None) -> JsonObject:
    """Give the result of a tool call that says why there is none."""
    result: JsonObject = {"content": [_text(whole(message))], "isError": True}
    return result if structured is None else {**result, "structuredContent": whole(structured)}


def first_that_fits(answers: Iterable[JsonObject], budget: int) -> JsonObject:
    """Give the first of *answers*, from the fullest to the barest, whose result has room.

    Args:
        answers: At least one; they are made one after the other.
        budget: Bytes of the whole result as JSON.

    Returns:
        The result of a tool call. When not even the barest has room, it says so.
    """
    for answer in answers:
        result = told(answer)
        if size(result) <= budget:
            return result
    return failed(f"the answer has no room in {budget:,} bytes, however little it says")


def passed_on(result: JsonObject, budget: int, *, structured_needed: bool) -> JsonObject:
    """Hold a tool's own result to *budget*; what is left out is said.

    The structured content goes first, since its text says the same to most models; then blocks
    that are no text; then what is too much of the text, from its end.

    Args:
        result: The result of a tool call.
        budget: Bytes of the whole result as JSON.
        structured_needed: Whether clients refuse a success without structured content; then a
            result whose structured content has no room becomes an error that says so.
    """
    if size(result) <= budget:
        return result
    blocks = [block for block in _listed(result["content"]) if isinstance(block, dict)]
    structured = result.get("structuredContent")
    is_error = bool(result.get("isError"))
    notes = []
    if structured is not None:
        texts = [block for block in blocks if block.get("type") == "text"]
        blocks = blocks if texts else [_text(written(structured)), *blocks]
        notes.append(f"the structured result was left out ({size(structured):,} bytes)")
        is_error = is_error or structured_needed
    kept, more = _trimmed(blocks, budget - _NOTE_BYTES)
    said = f"[mcpg: {'; '.join((*notes, *more))}: a result may have {budget:,} bytes. {_REMEDY}]"
    return {"content": [*kept, _text(said)], "isError": is_error}


_REMEDY = "Ask for less, as the tool's arguments allow"


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _text(text: JsonValue) -> JsonObject:
    return {"type": "text", "text": text}


def _trimmed(blocks: list[JsonObject], room: int) -> tuple[list[JsonValue], list[str]]:
    """Give what of *blocks* has room, and what was done to them."""
    kept: list[JsonValue] = []
    cut, dropped = 0, 0
    for block in blocks:
        need = size(block) + 1
        text = block.get("text")
        if need > room and isinstance(text, str) and room > size(_text("")):
            part = _prefix(text, room - size({**block, "text": ""}) - 1)
            cut += len(text) - len(part)
            block = {**block, "text": part}  # noqa: PLW2901 - what is left of it
            need = size(block) + 1
        if need > room:
            dropped += 1
            continue
        room -= need
        kept.append(block)
    notes = [f"{cut:,} characters of text were cut off"] if cut else []
    notes += [f"{dropped:,} blocks were left out"] if dropped else []
    return kept, notes


def _prefix(text: str, room: int) -> str:
    """Give as much of *text* as has *room* bytes once it is a JSON string."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle]) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]
