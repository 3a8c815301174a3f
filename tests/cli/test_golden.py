"""Outputs as a whole, kept in files: run with MCPG_UPDATE_GOLDEN=1 to write them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shop import write_later
from vectorial import TopicProvider, embed_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

GOLDEN = Path(__file__).parent / "golden"
MASKS = [
    (re.compile(r" +\d+\.\d{3} ms"), " <time> ms"),
    (re.compile(r"^(\| \w+ \| )\d+\.\d{3} \|$", re.MULTILINE), r"\1<time> |"),
    (re.compile(r'"durationMs": [\d.]+'), '"durationMs": 0'),
    (re.compile(r'"time": [\d.]+'), '"time": 0'),
    (re.compile(r"sha256:[0-9a-f]{64}"), "sha256:<digest>"),
    (re.compile(r'"bytes": \d+|[\d,]+ bytes'), "<bytes>"),
]

VECTORS = ["--strategy", "embeddings"]
AUTO = ["--strategy", "auto"]
COSINE = [*AUTO, "--fusion", "cosine"]
LOST = "the courier has my sticker, shipmnt of an order"
ROUTED = ["explain", "where is my parcel", "-n1", "--route", "--prefer", "read-only"]
WHY_NOT = ["explain", "zorb the label", "--tool", "invoice_search"]
COMPARE = ["explain", "refund teh invoice", "--compare", "tools/shop.json", "tools", "-n2"]
CHANGED = ["diff", "tools", "later", "--queries", "later.yaml", "--fail-on", "rank"]
CASES = {
    "ask-relations.txt": ["ask", "which tools take an order_id"],
    "ask-documentation.json": ["ask", "what is carrier in shipment_status", "--format", "json"],
    "ask-examples.txt": ["ask", "example of shipment_create"],
    "ask-search.txt": ["ask", "pay a customer back", "-n2"],
    "search.txt": ["search", "were is my shipmnt"],
    "search.json": ["search", "were is my shipmnt", "--format", "json"],
    "search-browse.txt": ["search", "--include-disabled"],
    "search-auto.txt": ["search", "--strategy", "auto", "--embed-with", "none", "invoice"],
    "search-vectors.txt": ["search", LOST, "-n1", *COSINE],
    "search-vectors.json": ["search", LOST, "-n1", *COSINE, "--format", "json"],
    "search-embeddings.txt": ["search", LOST, "-n2", *VECTORS],
    "search-learned.json": ["search", LOST, "-n2", *AUTO, "--format", "json"],
    "explain-cosine.txt": ["explain", LOST, "-n1", *COSINE],
    "explain-cosine.json": ["explain", LOST, "-n2", *COSINE, "--format", "json"],
    "explain-cosine.md": ["explain", LOST, "-n2", *COSINE, "--format", "markdown"],
    "explain-learned.txt": ["explain", LOST, "-n2", *AUTO, "-v"],
    "explain-learned.json": ["explain", LOST, "-n2", *AUTO, "--format", "json"],
    "explain-learned.md": ["explain", LOST, "-n2", *AUTO, "--format", "markdown"],
    "explain-rrf.md": ["explain", LOST, "-n2", *AUTO, "--fusion", "rrf", "--format", "markdown"],
    "explain-embeddings.txt": ["explain", LOST, "-n2", *VECTORS],
    "explain-embeddings-all.txt": ["explain", LOST, "-n2", *VECTORS, "-v"],
    "explain-embeddings.json": ["explain", LOST, "-n2", *VECTORS, "--format", "json"],
    "explain-embeddings.md": ["explain", LOST, "-n2", *VECTORS, "--format", "markdown"],
    "explain.txt": ["explain", "refund teh invoice for zzqx 4711", "--include-disabled"],
    "explain-all.txt": ["explain", "refund teh invoice for zzqx 4711", "--include-disabled", "-v"],
    "explain-tool.txt": [*WHY_NOT],
    "explain-tool-all.txt": [*WHY_NOT, "-v"],
    "explain.json": ["explain", "refund teh invoice for zzqx 4711", "--format", "json"],
    "explain.md": [
        "explain",
        "refund teh invoice for zzqx 4711",
        "--format",
        "markdown",
        "--timings",
    ],
    "explain-timings.txt": ["explain", "ship the orderId. track parcels", "-n1", "--timings"],
    "explain-compare.txt": [*COMPARE],
    "explain-compare-all.txt": [*COMPARE, "-v"],
    "explain-compare.json": [*COMPARE, "--format", "json"],
    "explain-compare.md": [*COMPARE, "--format", "markdown"],
    "diff.txt": [*CHANGED],
    "diff.json": [*CHANGED, "--format", "json"],
    "diff.md": [*CHANGED, "--format", "markdown"],
    "explain-browse.txt": ["explain"],
    "plan.txt": ["plan", "refund teh invoice", "--include-disabled"],
    "plan.json": ["plan", "refund teh invoice", "-n1", "--format", "json"],
    "plan.mmd": ["plan", "refund teh invoice", "--format", "mermaid"],
    "plan.dot": ["plan", "refund teh invoice", "--format", "dot"],
    "route.txt": ["route", "refund teh invoice", "--include-disabled"],
    "route.json": ["route", "refund teh invoice", "--max-categories", "1", "--format", "json"],
    "route-browse.txt": ["route", "--max-tools", "1"],
    "explain-route.txt": [*ROUTED],
    "explain-route-all.txt": [*ROUTED, "-v"],
    "explain-route.json": [*ROUTED, "--format", "json"],
    "explain-route.md": [*ROUTED, "--format", "markdown"],
    "list.txt": ["list"],
    "list.json": ["list", "--category", "BILLING", "--format", "json"],
    # A relative path, for a long one would be wrapped.
    "show.txt": ["show", "shop::shipment_status", "-b", "graph.mdld"],
    "show.json": ["show", "invoice_search", "--format", "json"],
    "show-document.txt": ["show", "shipment_status", "--document"],
    "bundle.json": ["bundle", "tools", "-o", "new.mdld", "--format", "json"],
    "bundle-check.json": ["bundle", "tools/shop.json", "--check", "--format", "json"],
    "bundle-diff.txt": ["bundle", "tools/shop.json", "--diff"],
    "eval.txt": ["eval", "queries.yaml", "--all", "--min", "ndcg@5=0.9", "--max", "ece=0.01"],
    "eval-learned.txt": ["eval", "queries.yaml", *AUTO],
    "eval-fallback.json": [
        *("eval", "queries.yaml", *AUTO, "--embed-with", "none", "--format", "json")
    ],
    "eval.md": ["eval", "queries.yaml", "--format", "markdown", "--baseline", "old.json"],
    "eval.json": [
        "eval",
        "queries.yaml",
        "--format",
        "json",
        "--max-drop",
        "1",
        "--baseline",
        "old.json",
    ],
    "generate.json": ["generate", "tools", "-o", "docs", "--format", "json"],
}
QUERIES = """\
where is my parcel: shipment_status
pay the bill back: [invoice_refund, invoice_search]
make a label: [shipment_create, shipment_label]
wqx zzv: []
"""
OLD_QUERIES = """\
where is my parcel: shipment_status
pay the bill back: [invoice_refund, invoice_search]
make a label: shipment_create
invoices of a customer: invoice_search
"""


@pytest.mark.parametrize("name", CASES)
def test_output_is_as_recorded(
    name: str, graph: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a command prints changes only on purpose."""
    monkeypatch.delenv("COLUMNS", raising=False)
    # The vectors of no model, so that what is recorded changes with mcpg alone.
    embed_with(monkeypatch, TopicProvider())
    (graph.parent / "queries.yaml").write_text(QUERIES, "utf-8")
    if "later" in CASES[name]:
        write_later(graph.parent)
    (graph.parent / "old.yaml").write_text(OLD_QUERIES, "utf-8")
    if "old.json" in CASES[name]:
        run("eval", "old.yaml", "--include-disabled", "--format", "json", "-o", "old.json")
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
    assert {file.name for file in GOLDEN.glob("*.*")} == set(CASES)
