"""What every tool of an index says of itself, without a look at all the rest of its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.documents.records import said_read_only
from mcpg.index.layout import StaleIndexError, crc

if TYPE_CHECKING:
    from mcpg.index.reader import Index

UNSAID, READS, WRITES = 0, 1, 2
_STANCES = {None: UNSAID, True: READS, False: WRITES}


def stances(index: Index) -> bytes:
    """Give for each tool of *index*, in order, `READS`, `WRITES`, or `UNSAID`.

    Raises:
        StaleIndexError: A record is damaged.
    """
    rows, sums = index.rows("records"), index.section("records.crc")
    if len(sums) != len(index):
        raise StaleIndexError("its records are not as many as its tools")
    return bytes(_stance(rows[tool], sums[tool]) for tool in range(len(index)))


def _stance(record: memoryview, checksum: int) -> int:
    if crc(record) != checksum:
        raise StaleIndexError("a record is damaged")
    try:
        return _STANCES[said_read_only(bytes(record))]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("a record is broken") from fault
