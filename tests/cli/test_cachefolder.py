from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from shop import plain_search

from mcpg.cli.environment import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

CASES = [
    ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/mcpg"),
    ("linux", {"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.cache/mcpg"),
    ("linux", {"HOME": "/home/me"}, "/home/me/.cache/mcpg"),
    ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/mcpg"),
    ("win32", {"LOCALAPPDATA": "/local"}, "/local/mcpg\\Cache"),
    ("win32", {}, None),
    ("linux", {"MCPG_CACHE_DIR": "mine", "XDG_CACHE_HOME": "/xdg"}, "mine"),
    ("linux", {"MCPG_CACHE_DIR": "", "XDG_CACHE_HOME": "/xdg"}, "/xdg/mcpg"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="paths are written as elsewhere")
@pytest.mark.parametrize(("platform", "environment", "folder"), CASES)
def test_the_folder_is_where_the_platform_keeps_such_things(
    platform: str, environment: dict[str, str], folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MCPG_CACHE_DIR goes first, then the platform's own rule."""
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("MCPG_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert cache_folder() == folder


@pytest.fixture
def locked(graph: Path) -> Path:
    """Return a bundle that no index can stand beside."""
    index = graph.with_name("graph.mdld.idx")
    index.unlink()
    index.mkdir()
    return graph


@pytest.mark.usefixtures("locked")
def test_a_bundle_that_cannot_have_an_index_beside_it_has_one_in_the_cache(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second search finds what the first one made, the quick way."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("MCPG_CACHE_DIR", str(cache))
    assert plain_search("shipment") is None
    first = run("search", "shipment status")
    (index,) = cache.iterdir()
    made = index.stat().st_mtime_ns

    assert index.name.startswith("graph.mdld-")
    assert first.err == ""
    assert run("search", "shipment status") == first
    assert plain_search("shipment") == 0
    assert index.stat().st_mtime_ns == made


@pytest.mark.usefixtures("locked")
def test_without_any_place_every_search_says_so(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be written, the search is answered and the cause of its slowness told."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MCPG_CACHE_DIR", str(tmp_path / "file"))

    assert "warning[index_in_memory]" in run("search", "shipment status").err
