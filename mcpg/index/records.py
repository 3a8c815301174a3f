"""Records: the whole documents of an index, each compressed by itself.

What many records hold, and what other sections hold of the same tool, is given to the compressor as
a dictionary, so that a record takes an eighth of its length and can still be read alone.

Source: Deutsch, "DEFLATE Compressed Data Format Specification", RFC 1951, 1996; on dictionaries
that are set before the data: Deutsch & Gailly, "ZLIB Compressed Data Format Specification",
RFC 1950, 1996.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

from mcpg.index.layout import Buffer, StaleIndexError

# Less memory is faster for texts as short as records, and a window of 16 KB reaches as far back.
_WINDOW, _MEMORY = -14, 6
_SAMPLES, _SAMPLE_LENGTH = 8, 1_024
# Longer records are stored as they are, so that no file is unpacked to much more than its length.
_LONGEST_COMPRESSED = 4 << 20


def sample_dictionary(record_of: Callable[[int], bytes], size: int) -> bytes:
    """Return what to compress *size* records with: the beginnings of some, evenly spread."""
    count = min(_SAMPLES, size)
    places = (number * size // count for number in range(count))
    return b"".join(record_of(place)[:_SAMPLE_LENGTH] for place in places)


def own_dictionary(dictionary: Buffer, texts: Iterable[Buffer]) -> bytes:
    """Return the dictionary for one record, whose tool has *texts* in other sections."""
    return b"\n".join((dictionary, *texts))


def compress_record(record: bytes, dictionary: bytes) -> bytes:
    """Return *record* as it is kept."""
    is_long = len(record) > _LONGEST_COMPRESSED
    level = zlib.Z_NO_COMPRESSION if is_long else zlib.Z_DEFAULT_COMPRESSION
    compressor = zlib.compressobj(level, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=dictionary)
    return compressor.compress(record) + compressor.flush()


def decompress_record(data: Buffer, dictionary: bytes, checksum: int) -> bytes:
    """Return the record that is kept as *data*.

    Raises:
        StaleIndexError: It is not the one with that *checksum*.
    """
    bound = max(len(data), _LONGEST_COMPRESSED)
    try:
        decompressor = zlib.decompressobj(_WINDOW, zdict=dictionary)
        record = decompressor.decompress(data, bound)
    except zlib.error as fault:
        raise StaleIndexError("a record is damaged") from fault
    if not decompressor.eof or zlib.crc32(record) != checksum:
        raise StaleIndexError("a record is damaged")
    return record
