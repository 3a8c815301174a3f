"""Tool results that fit a budget of bytes, and untrusted texts as one line or as prose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import anyio.to_thread
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.catalog.json_text import repair_surrogates
from mcpg.gateway.calls import CallResult
from mcpg.gateway.serve import READ
from mcpg.gateway.validation import BoundedValidator, is_brief
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.safeyaml import UNSAFE
from mcpg.values import to_json

_Json = TypeVar("_Json", bound=JsonValue)

REST_META_KEY = "mcpg/rest"
"""The member of `_meta` for reading on a result that is cut."""

RESULT = "result"
"""Member with a structured result other than an object."""

AFTER = "after:"
"""How cursors begin."""

_PAGE_ITEMS = 200
_LONGEST_NAME = 32
_MARK = "…"
_NOTE_BYTES = 800
_META_SHARE = 4
_FAULTS, _MESSAGE, _FIELD = 20, 2000, 200
_COMPLETE = {"resultType": "complete"}
_ENVELOPE = ("resultType", "ttlMs", "cacheScope")
_MEMBERS = ("content", "structuredContent", "isError", "_meta")
_REMEDY = "Narrow the request by the tool's arguments"
_MISMATCH = (
    "[mcpg: the tool ran, but its structured result violates its declared output schema and is "
    "omitted; calling it again would not help]"
)


def line(text: str, characters: int) -> str:
    """Return *text* as one line of at most *characters*, without control characters."""
    is_ready = text.isascii() and text.isprintable() and "  " not in text and text == text.strip()
    return cut(text if is_ready else " ".join(UNSAFE.sub(" ", text).split()), characters)


def prose(text: str, characters: int) -> str:
    """Return at most *characters* of *text*, without control characters; lines are kept."""
    lines = (UNSAFE.sub(" ", one.replace("\t", " ")).rstrip() for one in text.splitlines())
    return cut("\n".join(lines), characters)


def cut(text: str, characters: int) -> str:
    """Return at most *characters* of *text*, cut at the end of a word if it is near."""
    if len(text) <= characters:
        return text
    kept = text[: max(0, characters - 1)]
    head, _, tail = kept.rpartition(" ")
    return f"{(head if head and len(tail) < characters // 4 else kept).rstrip()}{_MARK}"


def source_name(source_id: str) -> str:
    """Return the name of a source, reduced to letters, digits, `_` and `-`.

    Names are part of our descriptions, so they must not inject text into them.
    """
    return normalize(source_id, SOURCE_FALLBACK)[:_LONGEST_NAME]


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode_json(value: JsonValue) -> str:
    """Return *value* as JSON without spaces."""
    return _ENCODER.encode(value)


def size(value: JsonValue) -> int:
    """Return the size of *value* as JSON, in bytes."""
    return len(encode_json(value).encode("utf-8", "surrogatepass"))


def repair_value(value: _Json) -> _Json:
    """Return *value* with lone surrogates replaced, which UTF-8 cannot encode."""
    try:
        encode_json(value).encode()
    except UnicodeEncodeError:
        return cast("_Json", repair_surrogates(value, "", []))
    return value


def text_block(text: JsonValue) -> JsonObject:
    """Return *text* as a content block of MCP."""
    return {"type": "text", "text": text}


def make_result(answer: JsonValue) -> JsonObject:
    """Return *answer* as a tool result: structured, and as text for older clients."""
    return _success(answer)[0]


# The bytes of a success around its text and its structured content.
_AROUND = size({"content": [text_block("")], "structuredContent": 0, "isError": False}) - len("0")


def _success(answer: JsonValue) -> tuple[JsonObject, int]:
    """Return `succeeded(answer)`, and its size as JSON in bytes; the answer is written once."""
    text = encode_json(answer)
    try:
        length = len(text.encode())
    except UnicodeEncodeError:
        answer = repair_value(answer)
        text = encode_json(answer)
        length = size(answer)
    result: JsonObject = {
        "content": [text_block(text)],
        "structuredContent": answer,
        "isError": False,
    }
    # As a string, the text of JSON has an escape before these two, and no control characters.
    escapes = text.count('"') + text.count("\\")
    return result, _AROUND + 2 * length + escapes


def make_error_result(message: str, meta: JsonObject | None = None) -> JsonObject:
    """Return a tool result with an error message.

    It has no structured content: clients check it against the output schema of the tool.
    """
    result: JsonObject = {"content": [text_block(repair_value(message))], "isError": True}
    return result if meta is None else {**result, "_meta": repair_value(meta)}


def first_that_fits(answers: Iterable[JsonObject], budget: int) -> JsonObject:
    """Return the first of *answers*, from the fullest to the shortest, as a result within *budget*.

    The budget is in bytes of the whole result as JSON. If not even the shortest fits, the result is
    an error.
    """
    for answer in answers:
        result, length = _success(answer)
        if length <= budget:
            return result
    return make_error_result(f"the shortest response exceeds {budget:,} bytes")


Keep: TypeAlias = Callable[[Sequence[str]], str | None]
"""Keeps the texts of a result that is cut, and returns the address by which they can be read."""


def pass_on_result(
    result: JsonObject, budget: int, *, structured_needed: bool, keep: Keep = lambda _: None
) -> JsonObject:
    """Return a tool's own result cut to *budget* bytes of JSON, with a note of the omissions.

    The note explains how to read the rest, which *keep* keeps. Structured content is dropped first,
    since the text repeats it for most models; then unknown members and a large `_meta`; then blocks
    other than text; then the end of the text. If clients refuse a success without structured
    content (*structured_needed*), a result becomes an error if its structured content does not fit.
    """
    if size(result) <= budget:
        return result
    content: Any = result["content"]
    blocks: list[JsonObject] = list(content)
    structured = result.get("structuredContent")
    is_error = bool(result.get("isError"))
    notes = []
    left: JsonObject = {}
    if structured is not None:
        texts = [str(block.get("text")) for block in blocks if block.get("type") == "text"]
        if not texts:
            blocks = [text_block(encode_json(structured)), *blocks]
        elif not any(_repeats(text, structured) for text in texts):
            left["structuredContent"] = structured
        notes.append(f"the structured result was left out ({size(structured):,} bytes)")
        is_error = is_error or structured_needed
    others: JsonObject = {key: one for key, one in result.items() if key not in _MEMBERS}
    if others:
        left |= others
        notes.append(f"other members were left out ({size(others):,} bytes)")
    meta: Any = result.get("_meta", {})
    if size(meta) > budget // _META_SHARE:
        left["_meta"] = meta
        notes.append(f"`_meta` was left out ({size(meta):,} bytes)")
        meta = {}
    trimmed = _trim_blocks(blocks, budget - _NOTE_BYTES - size(meta))
    how, rest = _keep_rest(blocks, left, trimmed.shown, keep)
    notes += trimmed.notes
    note = f"[mcpg: {'; '.join(notes)}: results are limited to {budget:,} bytes. {how}]"
    meta = {**meta, **rest}
    shown: JsonObject = {"content": [*trimmed.kept, text_block(note)], "isError": is_error}
    return {**shown, "_meta": meta} if meta else shown


def _keep_rest(
    blocks: Sequence[JsonObject], left: JsonObject, shown: int, keep: Keep
) -> tuple[str, JsonObject]:
    """Keep a result that is cut; return how to get the rest, in words and as members of `_meta`.

    It is kept as text: its *blocks*, as JSON unless they are text, of which the first *shown*
    characters are shown, and then the members that are *left* out.
    """
    texts = [_read_block(block) for block in blocks]
    texts += [encode_json(left)] if left else []
    total = sum(map(len, texts))
    address = keep(texts) if shown < total else None
    if address is None:
        return _REMEDY, {}
    how = f'Call {READ} with `uri` "{address}" and `offset` {shown} for the rest'
    return how, {REST_META_KEY: {"uri": address, "offset": shown, "characters": total}}


def _read_block(block: JsonObject) -> str:
    text = block.get("text")
    is_text = block.get("type") == "text" and isinstance(text, str)
    return str(text) if is_text else encode_json(block)


def _repeats(text: str, structured: JsonValue) -> bool:
    """Return whether *text* has all of a structured result, which may be wrapped."""
    values = [structured]
    if isinstance(structured, dict) and [*structured] == [RESULT]:
        values.append(structured[RESULT])
    if text in values:
        return True
    try:
        return json.loads(text) in values
    except (ValueError, RecursionError):
        return False


def cut_page(
    items: Iterable[tuple[str, JsonObject]], room: int
) -> tuple[list[JsonObject], str | None]:
    """Return the first of *items* that fit *room* bytes, and the cursor of the next page.

    A cursor names the last item of its page, so it stays valid when others change.
    """
    found: list[JsonObject] = []
    last = ""
    for name, one in items:
        room -= size(one)
        if found and (room < 0 or len(found) == _PAGE_ITEMS):
            return found, f"{AFTER}{last}"
        found.append(one)
        last = name
    return found, None


def bound_error(error: JsonObject, budget: int) -> JsonObject:
    """Return a JSON-RPC *error* of at most *budget* bytes: its data are omitted before its text."""
    error = repair_value(error)
    if size(error) <= budget:
        return error
    message = text_prefix(str(error["message"]), budget - _NOTE_BYTES)
    note = f"[mcpg: parts of this error are omitted: it is limited to {budget:,} bytes]"
    return {"code": error["code"], "message": f"{message} {note}"}


class _TrimmedBlocks(NamedTuple):
    """The blocks that fit, notes of omissions, and the characters before the first omission."""

    kept: list[JsonValue]
    notes: list[str]
    shown: int


def _trim_blocks(blocks: list[JsonObject], room: int) -> _TrimmedBlocks:
    """Return the blocks that fit *room* bytes."""
    kept: list[JsonValue] = []
    cut, dropped, shown = 0, 0, 0
    for block in blocks:
        need = size(block) + 1
        text = block.get("text")
        is_whole = not (cut or dropped)
        if need > room and isinstance(text, str) and room > size(text_block("")):
            part = text_prefix(text, room - size({**block, "text": ""}) - 1)
            cut += len(text) - len(part)
            shown += len(part) if is_whole else 0
            is_whole = False
            block = {**block, "text": part}  # noqa: PLW2901 - the rest of it
            need = size(block) + 1
        if need > room:
            dropped += 1
            continue
        room -= need
        kept.append(block)
        shown += len(_read_block(block)) if is_whole else 0
    notes = [f"{cut:,} characters of text were cut off"] if cut else []
    notes += [f"{dropped:,} blocks were left out"] if dropped else []
    return _TrimmedBlocks(kept, notes, shown)


def text_prefix(text: str, room: int) -> str:
    """Return the longest prefix of *text* that fits *room* bytes as a JSON string."""
    low, high = 0, min(len(text), max(0, room))
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle]) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


class ListedTool(NamedTuple):
    """A tool as our server lists it.

    Attributes:
        wire: The tool as an entry of `tools/list`.
        is_wrapped: Whether structured results are in the member `RESULT`.
        validator: Checks structured results, `None` if no output schema is declared.
    """

    wire: JsonObject
    is_wrapped: bool = False
    validator: BoundedValidator | None = None


async def called_result(
    invoked: CallResult,
    budget: int,
    declared: ListedTool | None = None,
    version: str = LATEST_HANDSHAKE_VERSION,
    keep: Keep = lambda _: None,
) -> JsonObject:
    """Return the result of `convert_result`, which runs in a thread unless that is quick."""
    work = partial(convert_result, invoked, budget, declared, version, keep)
    if invoked.wire is not None and invoked.is_success and is_brief(invoked.wire):
        return work()
    # Checking a result against a declared schema may be slow.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def convert_result(
    invoked: CallResult,
    budget: int,
    declared: ListedTool | None = None,
    version: str = LATEST_HANDSHAKE_VERSION,
    keep: Keep = lambda _: None,
) -> JsonObject:
    """Return the result of a call as a tool result of at most *budget* bytes; see `pass_on_result`.

    The result of a server stays unchanged, except for parts that a client of protocol *version*
    refuses. The tool is *declared* as clients see it, if it was called by its own name.
    """
    needed = declared is not None and "outputSchema" in declared.wire
    if invoked.wire is not None and invoked.wire.get("resultType") == "input_required":
        return invoked.wire
    if invoked.wire is not None:
        result = repair_value(_adapt_result(invoked.wire, declared, version))
        return pass_on_result(result, budget, structured_needed=needed, keep=keep)
    content = _keep_valid(invoked.content, version)
    if not content and invoked.structured is not None:
        content = [text_block(encode_json(invoked.structured))]
    result = {"content": content, "isError": not invoked.is_success}
    # As an object, which all versions of MCP accept; the content already has other values.
    value, is_wrapped = invoked.structured, declared is not None and declared.is_wrapped
    if value is None and is_wrapped and content:
        value = invoked.text  # a text result
    structured = value if isinstance(value, dict) else None
    if isinstance(value, list) or (is_wrapped and value is not None):
        structured = {RESULT: value}
    if structured is not None and (needed or not invoked.is_parsed):
        result["structuredContent"] = structured
    if not invoked.is_success:
        result = _with_faults(result, invoked, budget // _META_SHARE)
        needed = False
    result = repair_value(result)
    if declared is not None and not _conforms(result, declared):
        result.pop("structuredContent", None)
        if invoked.is_success:
            result = {"content": [*content, text_block(_MISMATCH)], "isError": True}
    return pass_on_result(result, budget, structured_needed=needed, keep=keep)


def _adapt_result(wire: JsonObject, declared: ListedTool | None, version: str) -> JsonObject:
    result: JsonObject = {key: value for key, value in wire.items() if key not in _ENVELOPE}
    blocks: Any = wire.get("content", [])
    result["content"] = [*_keep_valid(blocks, version)]
    structured = wire.get("structuredContent")
    if declared is not None and declared.is_wrapped and structured is not None:
        result["structuredContent"] = {RESULT: structured}
    elif not isinstance(structured, dict) and version not in MODERN_PROTOCOL_VERSIONS:
        result.pop("structuredContent", None)
        if isinstance(structured, list):
            result["structuredContent"] = {RESULT: structured}
    if result.get("isError") and declared is not None and not _conforms(result, declared):
        # Clients would refuse the whole result, and lose its message.
        meta: Any = result.get("_meta") or {}
        unfit = result.pop("structuredContent", None)
        result |= {} if unfit is None else {"_meta": {**meta, "structuredContent": unfit}}
    return result


def _keep_valid(blocks: Iterable[JsonObject], version: str) -> list[JsonValue]:
    """Return content blocks; invalid blocks become text."""
    kept: list[JsonValue] = []
    for block in blocks:
        try:
            validate_server_result("tools/call", version, {"content": [block], **_COMPLETE})
            kept.append(block)
        except ValidationError:
            kept.append(text_block(encode_json(block)))
    return kept


def _with_faults(result: JsonObject, invoked: CallResult, budget: int) -> JsonObject:
    """Return *result* with the faults in `_meta`, and as text unless the tool sent any.

    A JSON-RPC error is cut, so that `_meta` has no more than *budget* bytes.
    """
    faults = [
        replace(
            fault,
            message=line(fault.message, _MESSAGE),
            remedy=line(fault.remedy, _MESSAGE),
            field=line(fault.field, _FIELD),
        )
        for fault in invoked.faults[:_FAULTS]
    ]
    sentences = (
        f"{one.code}{f' at {one.field}' if one.field else ''}: {one.message}"
        f"{f' ({one.remedy})' if one.remedy else ''}"
        for one in faults
    )
    meta: JsonObject = {"toolId": invoked.tool_id, "faults": [to_json(one) for one in faults]}
    if invoked.error is not None:
        meta["error"] = bound_error(invoked.error, budget - size({**meta, "error": 0}))
    blocks = result["content"] or [text_block("\n".join(sentences))]
    return {**result, "content": blocks, "_meta": meta}


def _conforms(result: JsonObject, declared: ListedTool) -> bool:
    if "outputSchema" not in declared.wire:  # clients expect no structured content
        return True
    if "structuredContent" not in result:
        return result["isError"] is True
    validator = declared.validator
    return validator is None or validator.is_valid(result["structuredContent"])
