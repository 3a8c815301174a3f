"""Recorded calls: what a gateway appends to a file, and what it does when it cannot."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client

from mcpg.gateway import FunctionSource, Gateway, SyncGateway
from mcpg.gateway.calls import CallRecorder, RecordedCall
from mcpg.gateway.serve import META_TOOLS, ServingOptions
from mcpg.gateway.serve.http import HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.relations.learn import learn
from mcpg.relations.observed_calls import PairCounts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

SECRET = "sk-secret"


def parcel_find(buyer: str) -> str:
    """Find the parcel of a buyer."""
    return f"{buyer}: {SECRET}"


def parcel_send(number: str) -> str:
    """Send a parcel."""
    if number == "lost":
        raise ValueError(SECRET)
    return number


def source() -> FunctionSource:
    """Return the tools of a parcel service."""
    return FunctionSource("parcels", (parcel_find, parcel_send))


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the calls in a file."""
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def call(number: int = 0) -> RecordedCall:
    """Return a call."""
    return RecordedCall(1_780_000_000.5 + number, 0.25, "s", "a", "shop", success=True)


async def test_a_gateway_records_its_calls(tmp_path: Path) -> None:
    """Time, session, tool, duration and success; no arguments, results or messages."""
    path = tmp_path / "calls.jsonl"
    async with Gateway([source()], record_calls=str(path)) as gateway:
        await gateway.invoke("parcel_find", {"buyer": SECRET}, session="one")
        await gateway.invoke("parcel_send", {"number": "lost"}, session="one")
        await gateway.invoke("parcel_send", {"wrong": SECRET}, session="two")
        await gateway.invoke("missing", {})
        await gateway.invoke("parcel_send", {"number": "7"})
        await gateway.invoke("parcel_find", {"buyer": "me"})
    recorded = lines(path)
    assert [(one["tool"], one["success"]) for one in recorded] == [
        ("parcel_find", True),
        ("parcel_send", False),
        ("parcel_send", False),
        ("parcel_send", True),
        ("parcel_find", True),
    ]
    assert {*recorded[0]} == {"time", "session", "tool", "source", "duration", "success"}
    sessions = [one["session"] for one in recorded]
    assert sessions[:3] == ["one", "one", "two"]
    assert sessions[3] == sessions[4] not in {"one", "two"}
    assert SECRET not in path.read_text()


def test_recorded_calls_can_be_learned_from(tmp_path: Path) -> None:
    """The file is a trace as `mcpg learn` reads it."""
    path = tmp_path / "calls.jsonl"
    for _ in range(2):
        with SyncGateway([source()], record_calls=str(path)) as gateway:
            gateway.invoke("parcel_find", {"buyer": "me"})
            gateway.invoke("parcel_send", {"number": "7"})
    (days,) = learn([str(path)]).observed.pairs.values()
    assert [*days.values()] == [PairCounts(2, 2, 2)]


async def test_clients_are_told_apart(tmp_path: Path) -> None:
    """Calls of one client of a server are one session."""
    path = tmp_path / "calls.jsonl"
    gateway = Gateway([source()], reserved=META_TOOLS, record_calls=str(path))
    async with gateway:
        for _ in range(2):
            server = GatewayServer(gateway, ServingOptions())
            async with server.running(), Client(server.sdk) as client:
                for tool, arguments in (("find", {"buyer": "x"}), ("send", {"number": "1"})):
                    asked = {"toolId": f"parcel_{tool}", "arguments": arguments}
                    await client.call_tool("gateway_tool_invoke", asked)
    first, second, third, fourth = (one["session"] for one in lines(path))
    assert first == second != third == fourth


async def test_clients_over_http_are_told_apart(tmp_path: Path) -> None:
    """A session of the protocol is one; its id, which is a secret, is not recorded."""
    path = tmp_path / "calls.jsonl"
    listening = anyio.Event()
    urls: list[str] = []

    def note(url: str) -> None:
        urls.append(url)
        listening.set()

    gateway = Gateway([source()], reserved=META_TOOLS, record_calls=str(path))
    async with gateway, anyio.create_task_group() as group:
        group.start_soon(
            serve_http, GatewayServer(gateway, ServingOptions()), HttpOptions("127.0.0.1", 0), note
        )
        await listening.wait()
        for _ in range(2):
            async with Client(urls[0], mode="legacy") as client:
                for number in "12":
                    asked = {"toolId": "parcel_send", "arguments": {"number": number}}
                    await client.call_tool("gateway_tool_invoke", asked)
        group.cancel_scope.cancel()
    first, second, third, fourth = (one["session"] for one in lines(path))
    assert first == second != third == fourth
    assert len(first) == 32


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    """Also where it stood there before, open to others."""
    path = tmp_path / "calls.jsonl"
    path.touch(mode=0o644)
    recorder = CallRecorder(path)
    recorder.record(call())
    recorder.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(lines(path)) == 1


def test_a_file_is_rotated(tmp_path: Path) -> None:
    """Its size is bounded, and the file before it is kept."""
    path = tmp_path / "calls.jsonl"
    recorder = CallRecorder(path, most_bytes=1000)
    for number in range(40):
        recorder.record(call(number))
        recorder.close()
    kept = [*lines(tmp_path / "calls.jsonl.1"), *lines(path)]
    assert len(kept) < 40
    assert [one["time"] for one in kept] == sorted(one["time"] for one in kept)
    assert kept[-1]["time"] == "2026-05-28T20:27:19.500000Z"
    assert max(one.stat().st_size for one in tmp_path.iterdir()) <= 1000


def test_a_file_that_is_moved_away_is_begun_anew(tmp_path: Path) -> None:
    """Tools that rotate logs rename or remove them."""
    path = tmp_path / "calls.jsonl"
    recorder = CallRecorder(path)
    recorder.check()
    path.rename(tmp_path / "old.jsonl")
    recorder.record(call())
    recorder.close()
    assert len(lines(path)) == 1


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    """After a crash the next call stands on a line of its own."""
    path = tmp_path / "calls.jsonl"
    path.write_text('{"time":')
    recorder = CallRecorder(path)
    recorder.record(call())
    recorder.close()
    assert learn([str(path)]).tally.calls == 1


@pytest.mark.parametrize("text", ['{"mcpServers":{}}', "\n", "x"])
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, text: str) -> None:
    """A mistyped path costs nobody a configuration file or a bundle, nor its permissions."""
    path = tmp_path / "mcp.json"
    path.write_text(text)
    mode = path.stat().st_mode
    recorder = CallRecorder(path)
    recorder.record(call())
    recorder.close()
    (diagnostic,) = recorder.diagnostics
    assert "contains something else than recorded calls" in diagnostic.message
    assert (path.read_text(), path.stat().st_mode) == (text, mode)


def blocked(folder: Path, kind: str) -> Path:
    """Return a path at which no calls can be recorded."""
    path = folder / "calls.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(folder / "other.jsonl")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = folder / "missing" / "calls.jsonl"
    return path


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "missing"])
async def test_what_cannot_be_recorded_fails_no_call(tmp_path: Path, kind: str) -> None:
    """The reason is a diagnostic, known as soon as the gateway is open."""
    path = blocked(tmp_path, kind)
    async with Gateway([source()], record_calls=str(path)) as gateway:
        (diagnostic,) = [one for one in gateway.diagnostics if one.code == "calls_not_recorded"]
        invoked = await gateway.invoke("parcel_send", {"number": "7"})
    assert invoked.is_success
    assert diagnostic.place == str(path)
    assert not (tmp_path / "other.jsonl").exists()


async def test_a_full_disk_fails_no_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Calls are lost, which is reported; once there is room they are recorded again."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    path = tmp_path / "calls.jsonl"
    recorder = CallRecorder(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        recorder.record(call(1))
        recorder.close()
    assert "no space left on device" in recorder.diagnostics[0].message
    recorder.record(call(2))
    recorder.close()
    assert len(lines(path)) == 1


def test_a_gateway_records_nothing_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording is opt-in."""
    monkeypatch.chdir(tmp_path)
    with SyncGateway([source()], cache_dir=str(tmp_path)) as gateway:
        gateway.invoke("parcel_send", {"number": "7"})
    assert [*tmp_path.rglob("*.jsonl")] == []
