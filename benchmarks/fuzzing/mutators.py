"""Mutations of inputs by their structure, where changed bytes would never get past a parser.

A mutator takes an input, its largest size, the words of the corpus and a source of chance; it
returns a changed input, or `None` if the input does not have its structure. The caller then
changes bytes.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, TypeAlias

import yaml

from mcpg.index.layout import (
    BLOCK_SIZE,
    CHECKSUM,
    ENTRY,
    FIXED_SIZE,
    HEADER,
    block_table,
)
from mcpg.vectors.file import _CHECKSUM, _HEAD_SIZE, _HEADER

Mutator: TypeAlias = Callable[[bytes, Sequence[str], Random], bytes | None]

_FENCE = b"---\n"
_ODD_TEXTS = (
    *("", " ", "\n", "\0", "\x7f", "\u2028", "\u202e", "\ud800", "\U0001f600", "e\u0301", "\ufeff"),
    *("a" * 300, "../../etc/passwd", "/dev/stdin", "C:\\x", "${HOME}", "$(id)", "`x`", "<b>"),
    *("http://127.0.0.1/", "https://[::1", "https://example.com:99999/", "#/a~1b", "urn:x:y"),
    *("true", "null", "1e999", "-0", "0x10", "2026-13-45", "*", "[", "{}", "---", "```", "[[x]]"),
)
_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, 1e308, float("inf"), float("nan"), 2**31, 2**63, 10**40),
    *([], {}, [[]], [None], {"": None}, {"a": {"b": {"c": []}}}),
)
_DEEP = 200
_TOKEN = re.compile(rb"\w+|\s+|.", re.DOTALL)


def mutate_json(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
    """Change a JSON value, or one of the lines of JSON Lines."""
    lines = data.split(b"\n")
    if len(lines) > 1 and lines[0].rstrip().endswith(b"}"):
        return _change_line(lines, words, rng)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return write_json(change(value, words, rng), rng)


def _change_line(lines: list[bytes], words: Sequence[str], rng: Random) -> bytes | None:
    place = rng.randrange(len(lines))
    try:
        value = json.loads(lines[place])
    except (ValueError, RecursionError):
        return None
    lines[place] = write_json(change(value, words, rng), rng).replace(b"\n", b" ")
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines)), lines[place])
    return b"\n".join(lines)


def write_json(value: Any, rng: Random) -> bytes:
    """Write *value* in one of the layouts of JSON."""
    try:
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    except RecursionError:
        text = "[" * _DEEP + "]" * _DEEP
    return text.encode("utf-8", "replace")


def mutate_yaml(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
    """Change a YAML value, and write it as YAML or JSON."""
    try:
        value = yaml.load(data.decode(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        changed = change(value, words, rng)
        if rng.random() < 0.3:
            return write_json(changed, rng)
        text = yaml.safe_dump(changed, allow_unicode=rng.random() < 0.5, sort_keys=False)
    except (ValueError, TypeError, RecursionError, yaml.YAMLError):
        return None
    return text.encode("utf-8", "replace")


def mutate_document(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
    """Change the front matter of a document, or move and repeat the lines below it."""
    head, fence, rest = data.partition(_FENCE)
    front, closing, body = rest.partition(_FENCE)
    if head or not fence or not closing:
        return mutate_lines(data, words, rng)
    if rng.random() < 0.5:
        changed = mutate_yaml(front, words, rng)
        return None if changed is None else b"".join((fence, changed, b"\n", closing, body))
    return b"".join((fence, front, closing, mutate_lines(body, words, rng) or body))


def mutate_lines(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
    """Remove, repeat, move or change a line."""
    lines = data.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(other, lines[place])
    elif kind == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 3:
        lines[place] = b" " * rng.randrange(9) + lines[place].strip()
    else:
        lines[place] = mutate_text(lines[place], words, rng) or b""
    return b"\n".join(lines)


def mutate_text(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
    """Change, remove, insert or repeat words and signs."""
    tokens = _TOKEN.findall(data) or [b""]
    place = rng.randrange(len(tokens))
    word = odd_text(words, rng).encode("utf-8", "surrogatepass")
    kind = rng.randrange(5)
    if kind == 0:
        tokens[place] = word
    elif kind == 1:
        tokens.insert(place, word)
    elif kind == 2:
        del tokens[place : place + rng.randrange(1, 4)]
    elif kind == 3:
        tokens[place:place] = tokens[place : place + rng.randrange(1, 9)] * _choose_times(rng)
    else:
        rng.shuffle(tokens)
    return b"".join(tokens)


def _choose_times(rng: Random) -> int:
    """Return how often something is repeated: seldom so often that quadratic work shows."""
    return 500 if rng.random() < 0.02 else rng.randrange(1, 4)


def odd_text(words: Sequence[str], rng: Random) -> str:
    """Return a word of the corpus, or an unusual text."""
    return rng.choice(words if words and rng.random() < 0.7 else _ODD_TEXTS)


def change(value: Any, words: Sequence[str], rng: Random) -> Any:
    """Return *value*, changed in one to three places; parts of it may change in place."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        value = _change_once(value, words, rng)
    return value


def _change_once(value: Any, words: Sequence[str], rng: Random) -> Any:
    inner = [one for one in _containers(value) if one]
    if not inner or rng.random() < 0.03:
        return _make_value(value, value, words, rng)
    held = rng.choice(inner)
    key = rng.choice(list(held) if isinstance(held, dict) else range(len(held)))
    kind = rng.randrange(6)
    if kind == 0:
        del held[key]
    elif kind == 1 and isinstance(held, dict):
        held[odd_text(words, rng)] = held.pop(key)
    elif kind == 1:
        held.insert(key, held[key])
    elif kind == 2 and isinstance(held, dict):
        held[odd_text(words, rng)] = _make_value(value, held[key], words, rng)
    elif kind == 3:
        held[key] = rng.choice(([held[key]], {odd_text(words, rng): held[key]}))
    else:
        held[key] = _make_value(value, held[key], words, rng)
    return value


def _containers(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            yield one
            waiting.extend(one.values() if isinstance(one, dict) else one)


def _make_value(root: Any, before: Any, words: Sequence[str], rng: Random) -> Any:
    """Return a value for the place of *before*: odd, of another place, or like it."""
    kind = rng.randrange(6)
    if kind == 0:
        return json.loads(json.dumps(rng.choice(_ODD_VALUES)))
    if kind == 1:
        held = rng.choice([*_containers(root)] or [root])
        return json.loads(json.dumps(held, default=str))
    if kind == 2:
        deep: Any = before if isinstance(before, str) else None
        for _ in range(rng.choice((3, 30, _DEEP))):
            deep = [deep] if rng.random() < 0.5 else {odd_text(words, rng): deep}
        return deep
    if isinstance(before, str) and kind == 3:
        text = mutate_text(before.encode("utf-8", "surrogatepass"), words, rng) or b""
        return text.decode("utf-8", "replace")
    return odd_text(words, rng)


def mutate_protobuf(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
    """Change the fields of a message of Protocol Buffers, also within its fields."""
    fields = _split_fields(data)
    if not fields:
        return None
    place = rng.randrange(len(fields))
    number, wire, value = fields[place]
    kind = rng.randrange(6)
    if isinstance(value, bytes) and kind < 3:
        inner = mutate_protobuf(value, words, rng) if rng.random() < 0.7 else None
        fields[place] = number, wire, inner or mutate_text(value, words, rng) or b""
    elif kind == 3:
        del fields[place]
    elif kind == 4:
        fields.insert(rng.randrange(len(fields)), fields[place])
    elif isinstance(value, int):
        fields[place] = number, wire, rng.choice((0, 1, 2, 127, 128, 2**31, 2**63, 2**64 - 1))
    else:
        fields[place] = rng.randrange(1, 12), wire, value
    return b"".join(write_field(*one) for one in fields)


def _split_fields(data: bytes) -> list[tuple[int, int, int | bytes]]:
    """Return number, wire type and value of each field; none if it is not a message."""
    fields: list[tuple[int, int, int | bytes]] = []
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        if key & 7 == 0:
            value, place = _read_varint(data, place)
            fields.append((key >> 3, 0, value))
        elif key & 7 == 2:
            size, place = _read_varint(data, place)
            fields.append((key >> 3, 2, data[place : place + size]))
            place += size
        else:
            return []
    return fields


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place] if place < len(data) else 0
        value |= (byte & 127) << shift
        place += 1
        if byte < 128:
            break
    return value, place


def write_field(number: int, wire: int, value: int | bytes) -> bytes:
    """Write a field of a message: its number, its wire type and its value."""
    head = _write_varint(number << 3 | wire)
    if isinstance(value, bytes):
        return b"".join((head, _write_varint(len(value)), value))
    return head + _write_varint(value)


def _write_varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def mutate_bytes(data: bytes, _: Sequence[str], rng: Random) -> bytes:
    """Change, remove, insert or repeat bytes: what a fuzzer does by itself."""
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(len(changed)) if changed else 0
        kind = rng.randrange(4)
        if kind == 0 and changed:
            changed[place] = rng.randrange(256)
        elif kind == 1:
            changed[place:place] = rng.randbytes(rng.choice((1, 2, 8)))
        elif kind == 2:
            del changed[place : place + rng.choice((1, 4, 64))]
        else:
            changed[place:place] = changed[place : place + rng.choice((1, 8, 32))]
    return bytes(changed)


def repair_index(data: bytes) -> bytes:
    """Make the checksums of an index right again, as a forger would."""
    repaired = bytearray(data)
    try:
        start, checksums = block_table(memoryview(data))
    except (struct.error, ValueError, TypeError):
        return data
    if start > len(data):
        return data
    first = FIXED_SIZE + HEADER.unpack_from(data)[4] * ENTRY.size
    blocks = (data[at : at + BLOCK_SIZE] for at in range(start, len(data), BLOCK_SIZE))
    table = b"".join(struct.pack("=I", zlib.crc32(block)) for block in blocks)
    repaired[first : first + 4 * len(checksums)] = table[: 4 * len(checksums)]
    head = zlib.crc32(repaired[FIXED_SIZE:start], zlib.crc32(repaired[: HEADER.size]))
    CHECKSUM.pack_into(repaired, HEADER.size, head)
    return bytes(repaired)


def repair_vectors(data: bytes) -> bytes:
    """Make the checksums of a file of vectors right again."""
    repaired = bytearray(data)
    if len(repaired) >= _HEAD_SIZE:
        struct.pack_into("<I", repaired, _HEADER.size - 4, zlib.crc32(repaired[_HEAD_SIZE:]))
        _CHECKSUM.pack_into(repaired, _HEADER.size, zlib.crc32(repaired[: _HEADER.size]))
    return bytes(repaired)
