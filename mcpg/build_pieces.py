"""Pieces of bytes that one process leaves in a temporary file, and others read there.

What waits until a process reads it is in memory nowhere, as it would be were it sent.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mcpg.files import new_file

_PRIVATE = 0o600
_LENGTH = struct.Struct("=Q")


class ChunkRange(NamedTuple):
    """Where pieces stand.

    Attributes:
        path: The file.
        start: Offset of the first piece.
        end: Offset after the last one.
    """

    path: Path
    start: int
    end: int


NOWHERE = ChunkRange(Path(), 0, 0)
"""The place of no pieces."""


class ChunkFile:
    """A temporary file that pieces are written to, and that is removed when it is closed.

    Args:
        folder: Where it is.

    Attributes:
        path: Its path.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.path, handle = new_file(folder, _PRIVATE)
        self._file = os.fdopen(handle, "wb")
        self._end = 0

    def add(self, piece: bytes) -> None:
        """Write a piece.

        Raises:
            OSError: There is no room for it.
        """
        self._file.write(_LENGTH.pack(len(piece)))
        self._file.write(piece)
        self._end += _LENGTH.size + len(piece)

    def since(self, start: int = 0) -> ChunkRange:
        """Return the place of the pieces from *start* on, which others can read from now on.

        Raises:
            OSError: There is no room for them.
        """
        self._file.flush()
        return ChunkRange(self.path, start, self._end)

    def close(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self.path.unlink()


def read_chunks(place: ChunkRange) -> Iterator[bytes]:
    """Return the pieces at *place*, read one by one.

    Raises:
        OSError, struct.error: They cannot be read.
    """
    if place.start == place.end:
        return
    with place.path.open("rb") as file:
        file.seek(place.start)
        left = place.end - place.start
        while left > 0:
            (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
            yield file.read(length)
            left -= _LENGTH.size + length
