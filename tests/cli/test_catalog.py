"""`mcpg catalog`: what it writes, and what it leaves alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

TOOLS = [
    {"name": "berth_book", "server": "harbour", "description": "Book a berth", "inputSchema": {}},
]


def test_the_command_writes_a_catalog(folder: Path, run: Callable[..., Run]) -> None:
    """`mcpg catalog` prints a manifest or writes it, and replaces catalogs alone."""
    (folder / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    given = ("catalog", "--publisher", "acme.example", "-b", "tools.json")
    shown = run(*given)
    assert shown.code == 0
    assert "queries_missing" in shown.err
    for _ in range(2):
        assert run(*given, "-o", "ard.json").code == 0
    assert json.loads((folder / "ard.json").read_text("utf-8")) == shown.json
    (folder / "mine.json").write_text("{}", "utf-8")
    refused = run(*given, "-o", "mine.json")
    assert (refused.code, "not overwritten" in refused.err) == (2, True)
    assert run("catalog", "--publisher", "acme", "-b", "tools.json").code == 2
    for url in ("acme", "https://key:x@acme.example", "https://acme.example/?a", "https://a.b/ c"):
        refused = run(*given, "--url", url)
        assert (refused.code, "key" in refused.err) == (2, False)
