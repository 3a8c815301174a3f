from __future__ import annotations

import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.index.layout import (
    StaleIndexError,
    compress_record,
    decompress_record,
    own_dictionary,
    sample_dictionary,
)

MIB = 1 << 20


@given(st.lists(st.binary(max_size=50), max_size=12), st.lists(st.binary(max_size=20), max_size=3))
def test_records_come_back_whole(records: list[bytes], texts: list[bytes]) -> None:
    """Each record can be read alone, with the dictionary that it was compressed with."""
    dictionary = own_dictionary(sample_dictionary(records.__getitem__, len(records)), texts)

    for record in records:
        kept = compress_record(record, dictionary)
        assert decompress_record(kept, dictionary, zlib.crc32(record)) == record


def test_what_many_records_hold_takes_little_room() -> None:
    """What is in the dictionary is not repeated in each record."""
    records = [b"%d" % number + bytes(range(250)) for number in range(10)]
    dictionary = own_dictionary(sample_dictionary(records.__getitem__, len(records)), ())

    assert all(len(compress_record(record, dictionary)) < 30 for record in records)


@pytest.mark.parametrize("length", [4 * MIB, 5 * MIB])
def test_records_of_any_length_come_back_whole(length: int) -> None:
    """A document that is longer than what is compressed is kept as it is."""
    record = b"a" * length

    assert decompress_record(compress_record(record, b""), b"", zlib.crc32(record)) == record


def test_what_is_packed_to_be_endless_is_refused() -> None:
    """A record that would take much more memory than the file is damage."""
    endless = zlib.compressobj(9, zlib.DEFLATED, -14)
    kept = endless.compress(bytes(64 * MIB)) + endless.flush()
    checksum = zlib.crc32(bytes(64 * MIB))
    tracemalloc.start()

    with pytest.raises(StaleIndexError, match="damaged"):
        decompress_record(kept, b"", checksum)

    assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    tracemalloc.stop()


@pytest.mark.parametrize("kept", [b"", b"\xff" * 9, compress_record(b"another", b"")])
def test_what_is_no_such_record_is_refused(kept: bytes) -> None:
    """Bytes that cannot be decompressed, or give something else, are damage."""
    with pytest.raises(StaleIndexError, match="damaged"):
        decompress_record(kept, b"", zlib.crc32(b"one"))
