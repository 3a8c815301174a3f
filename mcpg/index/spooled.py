"""Indexes that are written without being in memory: their sections wait in a temporary file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Self

from mcpg.index.layout import Header
from mcpg.index.packing import Section, SectionTable

_IN_MEMORY = 8 << 20
_CHUNK = 1 << 20


class SpooledIndex:
    """The file that `pack` returns, in a temporary file until it has its place.

    What stands before the sections depends on all of them. The temporary file has no name, or loses
    it with the process.

    Args:
        sections: The sections; each is released before the next one is made.
        folder: Where the temporary file is.

    Raises:
        OSError: There is no room for the temporary file.
    """

    def __init__(self, sections: Iterable[Section], folder: str) -> None:
        self._table = SectionTable()
        self._body = SpooledTemporaryFile(_IN_MEMORY, dir=folder)  # noqa: SIM115 - see `close`
        try:
            # A loop would hold each section while the next one is made.
            deque(map(self._write, sections), maxlen=0)
        except BaseException:
            self._body.close()
            raise

    def _write(self, section: Section) -> None:
        for piece in self._table.write_section(section):
            self._body.write(piece)

    def __enter__(self) -> Self:
        """Return the index, which is to be closed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary file."""
        self._body.close()

    def parts(self, header: Header) -> Iterator[bytes]:
        """Return the file with that *header*, in parts.

        Raises:
            OSError: The temporary file cannot be read.
        """
        yield self._table.head(header)
        self._body.seek(0)
        while part := self._body.read(_CHUNK):
            yield part


class StoredPieces:
    """Data that stands in a file, and is read when it is written to another one.

    Args:
        path: The file.
        start: Offset of its first byte.
        size: How many bytes it has.
    """

    def __init__(self, path: Path, start: int, size: int) -> None:
        self._path, self._start, self._size = path, start, size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            file.seek(self._start)
            left = self._size
            while left > 0:
                piece = file.read(min(left, _CHUNK))
                if not piece:
                    raise OSError(f"{self._path} ends early")
                left -= len(piece)
                yield piece
