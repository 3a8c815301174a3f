"""What frequent commands must not import: they are processes that end before it would pay."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcpg.engine.loading import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCRIPT = """
import sys
before = set(sys.modules)
from mcpg.cli import main
main(sys.argv[1:])
sys.stderr.write("\\n" + "\\n".join(sorted(set(sys.modules) - before)))
"""
FREQUENT = {
    "search": ("search", "shipment status"),
    "search-json": ("search", "shipment status", "--format", "json"),
    "search-nothing": ("search", "zebra quantum bananas"),
    "search-filtered": ("search", "shipment status", "--min-score", "0.1", "-n", "10"),
    "search-context": ("search", "shipment status", "--context", "orders", "--no-related"),
    "list": ("list",),
    "list-json": ("list", "--format", "json"),
    "show": ("show", "shipment_status"),
    "explain": ("explain", "shipment status"),
}
SLOW = {
    *(
        "asyncio",
        "concurrent",
        "http",
        "importlib.metadata",
        "multiprocessing",
        "ssl",
        "subprocess",
    ),
    *("markdown_it", "numpy", "pydantic", "pyoxigraph", "rapidfuzz", "rdflib", "rich", "typer"),
    *(
        "mcpg.bundle",
        "mcpg.evaluation",
        "mcpg.lint",
        "mcpg.review",
        "mcpg.sources",
    ),
    *("mcpg.code", "mcpg.explore", "mcpg.gateway", "mcpg.graph", "mcpg.postgres", "mcpg.telemetry"),
}
"""Modules and packages that take long to import, or belong to another subject."""
PLAIN = {"yaml", "mcpg.catalog.model", "mcpg.documents.model", "mcpg.explain", "mcpg.show.blocks"}
"""What a plain search does without as well."""


def find_imported(arguments: Sequence[str]) -> set[str]:
    """Return what a process imports, each module with the packages that it stands in."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=False
    )
    names = done.stderr.rpartition("\n\n")[2].split()
    return {
        ".".join(parts[: n + 1])
        for parts in (x.split(".") for x in names)
        for n in range(len(parts))
    }


@pytest.mark.parametrize("is_configured", [False, True], ids=["", "configured"])
@pytest.mark.parametrize("name", FREQUENT)
def test_a_frequent_command_imports_nothing_slow(
    name: str, graph: Path, *, is_configured: bool
) -> None:
    """No frequent command loads what it does not run, also with a `mcpg.toml`."""
    load(graph)
    if is_configured:
        graph.with_name("mcpg.toml").write_text("limit = 5\n")
    unwanted = SLOW | (PLAIN if name == "search" else set())
    assert find_imported(FREQUENT[name]) & unwanted == set()
    assert "mcpg.index.reader" in find_imported(FREQUENT[name])
