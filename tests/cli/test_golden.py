"""Outputs as a whole, kept in files: run with MCPG_UPDATE_GOLDEN=1 to write them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

GOLDEN = Path(__file__).parent / "golden"
MASKS = [
    (re.compile(r" +\d+\.\d{3} ms"), " <time> ms"),
    (re.compile(r'"durationMs": [\d.]+'), '"durationMs": 0'),
    (re.compile(r"sha256:[0-9a-f]{64}"), "sha256:<digest>"),
    (re.compile(r'"bytes": \d+|[\d,]+ bytes'), "<bytes>"),
]

CASES = {
    "search.txt": ["search", "were is my shipmnt"],
    "search.json": ["search", "were is my shipmnt", "--format", "json"],
    "search-browse.txt": ["search", "--include-disabled"],
    "search-auto.txt": ["search", "--strategy", "auto", "invoice"],
    "explain.txt": ["explain", "refund teh invoice for zzqx 4711", "--include-disabled"],
    "explain.json": ["explain", "refund teh invoice for zzqx 4711", "--format", "json"],
    "explain-browse.txt": ["explain"],
    "list.txt": ["list"],
    "list.json": ["list", "--category", "BILLING", "--format", "json"],
    # A relative path, for a long one would be wrapped.
    "show.txt": ["show", "shop::shipment_status", "-b", "graph.mdld"],
    "show.json": ["show", "invoice_search", "--format", "json"],
    "show-document.txt": ["show", "shipment_status", "--document"],
    "bundle.json": ["bundle", "tools", "-o", "new.mdld", "--format", "json"],
    "bundle-check.json": ["bundle", "tools/shop.json", "--check", "--format", "json"],
    "bundle-diff.txt": ["bundle", "tools/shop.json", "--diff"],
    "generate.json": ["generate", "tools", "-o", "docs", "--format", "json"],
}


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_recorded(
    name: str, graph: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a command prints changes only on purpose."""
    monkeypatch.delenv("COLUMNS", raising=False)
    result = run(*CASES[name])
    found = f"{result.out}--- standard error, exit code {result.code}\n{result.err}"
    found = found.replace(str(graph.parent), "<folder>")
    for pattern, mask in MASKS:
        found = pattern.sub(mask, found)
    file = GOLDEN / name
    if os.environ.get("MCPG_UPDATE_GOLDEN"):
        file.write_text(found, "utf-8", newline="\n")
    assert found == file.read_text("utf-8")


def test_every_golden_file_is_used() -> None:
    """No recorded output is left behind."""
    assert {file.name for file in GOLDEN.iterdir()} == set(CASES)
