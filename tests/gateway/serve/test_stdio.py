"""The lines of standard input, as the server reads them."""

from __future__ import annotations

import os

import anyio
import pytest

from mcpg.gateway.serve import stdio

pytestmark = pytest.mark.anyio


async def lines_of(data: bytes, monkeypatch: pytest.MonkeyPatch, longest: int = 99) -> list[str]:
    """Read what a client writes."""
    monkeypatch.setattr(stdio, "_LONGEST", longest)
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with anyio.fail_after(10):
        found = [line async for line in stdio._Lines(reading)]
    os.close(reading)
    return found


async def test_lines_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines come one by one, the last also without its end; what is no UTF-8 is replaced."""
    data = b'{"a": 1}\n\n\xff\n{"b": 2}'
    assert await lines_of(data, monkeypatch) == ['{"a": 1}', "", "\ufffd", '{"b": 2}']
    assert await lines_of(b"", monkeypatch) == []


async def test_a_line_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends a line longer than any message is not listened to any more."""
    assert await lines_of(b"ok\n" + b"x" * 500, monkeypatch) == ["ok"]


async def test_standard_input_is_claimed() -> None:
    """Nothing else reads standard input meanwhile, and it is given back."""
    before = os.fstat(0)
    with stdio._claimed_input() as kept:
        assert os.fstat(kept).st_ino == before.st_ino
        assert os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev  # noqa: PTH116 - of a device
    assert os.fstat(0).st_ino == before.st_ino
    os.close(kept)
