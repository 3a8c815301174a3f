"""From the bytes of a source to its text."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from mcpg.errors import InputError, SourceError
from mcpg.files import MAX_BYTES, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read_text(path: Path, place: str) -> str:
    """Read the text of the file at *path*.

    Raises:
        SourceError: The file cannot be read, is larger than `MAX_BYTES`, or is no text.
        NotFoundError: There is no such file.
    """
    try:
        data = read_bytes(path, MAX_BYTES)
    except InputError as fault:
        raise SourceError(fault.message, place=place, remedy=fault.remedy) from fault
    return decode(data, place)


def decode(data: bytes, place: str) -> str:
    """Decode UTF-8, or UTF-16 that says so by its byte order mark.

    Raises:
        SourceError: The bytes are no such text, or too many.
    """
    if len(data) > MAX_BYTES:
        message = f"holds more than {MAX_BYTES:,} bytes"
        raise SourceError(message, place=place, remedy="split it into smaller files")
    mark, encoding = next((pair for pair in _MARKS if data.startswith(pair[0])), (b"", "utf-8"))
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as fault:
        offset = fault.start + len(mark)
        message = f"is not {encoding.upper()} text: byte 0x{data[offset]:02x} at offset {offset}"
        raise SourceError(message, place=place, remedy="save it as UTF-8") from None
