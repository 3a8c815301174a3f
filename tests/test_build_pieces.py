"""Pieces that one process leaves for others."""

from __future__ import annotations

import stat
import sys
from typing import TYPE_CHECKING

import pytest

from mcpg.caching.build_pool import NOWHERE, ChunkFile, read_chunks

if TYPE_CHECKING:
    from pathlib import Path


def test_pieces_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Each place has its own pieces, in their order, an empty one among them."""
    file = ChunkFile(tmp_path)
    file.add(b"one")
    file.add(b"")
    first = file.since()
    file.add(b"two")
    second = file.since(first.end)
    try:
        assert [*read_chunks(first)] == [b"one", b""]
        assert [*read_chunks(second)] == [b"two"]
        assert [*read_chunks(file.since())] == [b"one", b"", b"two"]
        assert [*read_chunks(NOWHERE)] == []
    finally:
        file.close()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_a_file_of_pieces_is_private_and_goes_when_it_is_closed(tmp_path: Path) -> None:
    """Nobody else can read what processes hand to each other, and nothing of it stays."""
    file = ChunkFile(tmp_path)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.close()

    assert [*tmp_path.iterdir()] == []
