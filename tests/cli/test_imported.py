"""What common commands import, kept in files: run with MCPG_UPDATE_GOLDEN=1 to write them anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcpg.engine.loading import load

if TYPE_CHECKING:
    from collections.abc import Sequence

GOLDEN = Path(__file__).parent / "golden" / "imported"
SCRIPT = """
import sys
before = set(sys.modules)
from mcpg.cli import main
main(sys.argv[1:])
sys.stderr.write("\\n" + "\\n".join(sorted(set(sys.modules) - before)))
"""
COMMON = {
    "search": ("search", "shipment status"),
    "search-json": ("search", "shipment status", "--format", "json"),
    "search-nothing": ("search", "zebra quantum bananas"),
    "search-filtered": ("search", "shipment status", "--min-score", "0.1", "-n", "10"),
    "search-jsonl": ("search", "shipment status", "--format", "jsonl", "-q"),
    "search-context": ("search", "shipment status", "--context", "orders", "--no-related"),
    "list": ("list",),
    "list-json": ("list", "--format", "json"),
    "list-filtered": ("list", "--read-only", "-n", "10"),
    "show": ("show", "shipment_status"),
    "show-json": ("show", "shipment_status", "--format", "json"),
    "show-unknown": ("show", "get_shipment_status"),
    "explain": ("explain", "shipment status"),
    "explain-json": ("explain", "shipment status", "--format", "json"),
    "explain-doubtful": ("explain", "zebra shipment of quantum bananas"),
}


WATCHED = {
    "asyncio",
    "dataclasses",
    "http",
    "inspect",
    "json",
    "logging",
    "re",
    "ssl",
    "subprocess",
}
"""What is slow to import, of a standard library that differs between versions of Python."""


def imported(arguments: Sequence[str]) -> list[str]:
    """Return modules of ours, packages of others, and what is watched, that a process imports."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=False
    )
    found = {
        name if name.startswith("mcpg") else name.partition(".")[0]
        for name in done.stderr.rpartition("\n\n")[2].split()
    }
    # A compiled package brings the runtime of its compiler along.
    ours = {name for name in found if not name.startswith(("_", "cython_"))}
    return sorted(ours - (sys.stdlib_module_names - WATCHED))


@pytest.mark.parametrize("configured", [False, True], ids=["", "configured"])
@pytest.mark.parametrize("name", COMMON)
def test_a_common_command_imports_what_it_needs(
    name: str, graph: Path, *, configured: bool
) -> None:
    """Without a reason, no command gains a module: each has its list, also with a `mcpg.toml`."""
    load(graph)
    if configured:
        graph.with_name("mcpg.toml").write_text("limit = 5\n")
    found = imported(COMMON[name])
    path = GOLDEN / f"{name}{'-configured' if configured else ''}.txt"
    if os.environ.get("MCPG_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(found) + "\n", "utf-8")
    assert found == path.read_text("utf-8").split()
