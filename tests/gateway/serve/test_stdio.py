"""The lines of standard input, as the server reads them."""

from __future__ import annotations

import os

import anyio
import anyio.to_thread
import pytest

from mcpg.gateway.serve import server

pytestmark = pytest.mark.anyio


async def lines_of(data: bytes, monkeypatch: pytest.MonkeyPatch, longest: int = 99) -> list[str]:
    """Read what a client writes."""
    monkeypatch.setattr(server, "_LONGEST", longest)
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with anyio.fail_after(10):
        found = [line async for line in server._DescriptorLines(reading)]
    os.close(reading)
    return found


async def test_lines_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines come one by one, the last also without its end; what is no UTF-8 is replaced."""
    data = b'{"a": 1}\n\n\xff\n{"b": 2}'
    assert await lines_of(data, monkeypatch) == ['{"a": 1}', "", "\ufffd", '{"b": 2}']
    assert await lines_of(b"", monkeypatch) == []


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (r'["a\ud83d"]', r'["a\ufffd"]'),
        (r'["\uDE00\ud83d\ude00"]', r'["\ufffd\ud83d\ude00"]'),
        (r'["\ud83d\ude00", 1.50]', r'["\ud83d\ude00", 1.50]'),
        (r'["a\\ud83d"]', r'["a\\ud83d"]'),
        (r'["a\ud83d"', r'["a\ud83d"'),
    ],
)
async def test_halves_of_characters_are_replaced(
    sent: str, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message with half a character gets a response; all others stay as they are."""
    assert await lines_of(sent.encode(), monkeypatch) == [read]
    assert await lines_of(f"{sent}\n".encode(), monkeypatch) == [read]


async def test_a_line_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends a line longer than any message is not listened to any more."""
    assert await lines_of(b"ok\n" + b"x" * 500, monkeypatch) == ["ok"]


async def test_standard_input_is_claimed() -> None:
    """Nothing else reads standard input meanwhile, and it is given back."""
    before = os.fstat(0)
    with server.claim_stream(0) as kept:
        assert os.fstat(kept).st_ino == before.st_ino
        assert os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev  # noqa: PTH116 - of a device
    assert os.fstat(0).st_ino == before.st_ino
    os.close(kept)


async def test_messages_of_any_size_are_written_whole() -> None:
    """A message that a pipe has room for is written at once, a larger one as it is read."""
    reading, writing = os.pipe()
    output = server._DescriptorWriter(writing)
    await output.write("brief\n")
    with anyio.CancelScope() as scope:
        scope.cancel()  # nothing is waited for
        await output.flush()
    assert os.read(reading, 99) == b"brief\n"
    large = "\u00fc" * 500_000 + "\n"
    found = b""
    async with anyio.create_task_group() as group:
        await output.write(large)
        group.start_soon(output.flush)
        while len(found) < len(large.encode()):
            found += await anyio.to_thread.run_sync(os.read, reading, 1 << 20)
    assert found.decode() == large
    os.close(reading)
    await output.write("nobody reads it")
    with pytest.raises(BrokenPipeError):
        await output.flush()
    os.close(writing)


async def test_standard_output_is_claimed(capfd: pytest.CaptureFixture[str]) -> None:
    """What others print meanwhile goes to standard error, and it is given back."""
    with server.claim_stream(1) as kept:
        os.write(1, b"printed")
        os.write(kept, b"sent")
    os.write(1, b", after")
    os.close(kept)
    assert capfd.readouterr() == ("sent, after", "printed")
