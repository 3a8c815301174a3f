"""The last lists of tools that are kept for gateways."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcpg.sources.client_config import StdioServer
from mcpg.sources.live.client import find_kept_listing
from mcpg.sources.live.kept_listings import MARK, ListingCache

SERVER = StdioServer("shop", "shop", "serve-shop", ())
TOOL = {"name": "order_find", "inputSchema": {"type": "object"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Keep a list, and return its file."""
    ListingCache(str(tmp_path)).keep(SERVER, "shop", [TOOL], ())
    (file,) = tmp_path.iterdir()
    return file


def find_names(folder: Path) -> list[str] | None:
    """Return the names of the tools in the list, `None` without one."""
    found = find_kept_listing(SERVER, str(folder))
    return None if found is None else [tool.name for tool in found.tools]


def test_a_list_is_kept(file: Path, tmp_path: Path) -> None:
    """Its file is private."""
    assert find_names(tmp_path) == ["order_find"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_damaged_lists(file: Path, tmp_path: Path) -> None:
    """A file that is cut, of another layout or far too large counts as missing; bad tools do."""
    data = file.read_bytes()
    stated = json.loads(data.removeprefix(MARK))
    later = MARK + json.dumps(stated | {"layout": stated["layout"] + 1}).encode()
    deep = MARK + b'{"layout":1,"name":"","tools":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for damaged in (b"", data[:-3], data.removeprefix(MARK), later, deep, MARK + b"[]"):
        file.write_bytes(damaged)
        assert find_names(tmp_path) is None
    file.write_bytes(MARK + json.dumps(stated | {"tools": [1, None, TOOL]}).encode())
    assert find_names(tmp_path) == ["order_find"]
    file.write_bytes(data + b" " * (9 << 20))
    assert find_names(tmp_path) is None


def test_a_pipe_in_place_of_a_list(file: Path, tmp_path: Path) -> None:
    """Nobody waits for its writer."""
    file.unlink()
    os.mkfifo(file)
    assert find_names(tmp_path) is None


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    """A value of the configuration that a tool repeats is not written."""
    server = StdioServer("shop", "shop", "serve-shop", (), {"API_KEY": "hunter2-secret"})
    tool = {**TOOL, "description": "Finds with hunter2-secret."}
    ListingCache(str(tmp_path)).keep(server, "of hunter2-secret", [tool], ())
    assert b"hunter2" not in b"".join(one.read_bytes() for one in tmp_path.iterdir())
