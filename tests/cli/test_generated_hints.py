"""Texts that a language model wrote rank their tools, and are kept apart everywhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from builders import ids, make_engine, make_tool

import mcpg
from mcpg.catalog.model import HintRule, Hints
from mcpg.errors import Code
from mcpg.explain.explain import field_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

TOOLS = [
    {"name": "shipment_status", "description": "Return the state of a shipment."},
    {"name": "invoice_search", "description": "Find invoices of a customer."},
    {"name": "label_buy", "description": "Buy a label for a carrier."},
]
TEXTS = {
    "aliases": ["whereabouts of a parcel"],
    "keywords": ["eta"],
    "examples": ["has my order left yet"],
}
ENTRY = {"tools": {"post::shipment_status": TEXTS}}


@pytest.fixture
def shop(folder: Path) -> Path:
    """A manifest and a file of generated texts beside it."""
    (folder / "post").mkdir()
    manifest = {"server": "post", "tools": TOOLS}
    (folder / "post" / "post.json").write_text(json.dumps(manifest), "utf-8")
    (folder / "post" / "post.generated.hints.json").write_text(json.dumps(ENTRY), "utf-8")
    return folder


def first(run: Callable[..., Run], *arguments: str) -> str:
    """Return the name of the first tool that a search finds, "" for none."""
    matches = run("search", *arguments, "--format", "json").json["matches"]
    return matches[0]["toolName"] if matches else ""


def test_a_generated_text_finds_its_tool(shop: Path, run: Callable[..., Run]) -> None:
    """A folder and a bundle of it are searched by it, and `explain` names the field."""
    assert shop.is_dir()
    built = run("bundle", "post", "-o", "graph.mdld")
    assert built.code == 0
    for where in ("post", "graph.mdld"):
        assert first(run, "eta", "-b", where) == "shipment_status"
    explained = run("explain", "eta", "--format", "json").json
    assert '"generated"' in json.dumps(explained["matches"])
    shown = run("show", "shipment_status", "--format", "json").json["tool"]
    assert shown["aliases"] == shown["keywords"] == []
    assert shown["generated"] == [
        *(*TEXTS["aliases"], *TEXTS["keywords"], *TEXTS["examples"]),
    ]
    assert "written by a model" in run("show", "shipment_status").out


def test_bundle_reports_what_should_be_enriched(shop: Path, run: Callable[..., Run]) -> None:
    """A server with other tools, and entries of which nobody says when they were written."""
    assert shop.is_dir()
    built = run("bundle", "post", "-o", "graph.mdld")
    assert f"warning[{Code.GENERATED_STALE}]: 1 entry of generated texts" in built.err
    assert f"warning[{Code.GENERATED_PARTLY}]: 2 of 3 tools of 'post'" in built.err
    assert run("bundle", "post", "-o", "graph.mdld", "--strict", "--force").code == 1


@pytest.mark.parametrize("by", ["option", "variable", "file"])
def test_a_bundle_can_leave_them_out(
    by: str, shop: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents, index and ranking are those of sources that never had them."""
    run("generate", "post", "-o", "docs")
    assert "whereabouts" in (shop / "docs/tools/post/shipment_status.md").read_text("utf-8")
    given = ["--no-generated-hints"] if by == "option" else []
    if by == "variable":
        monkeypatch.setenv("MCPG_GENERATED_HINTS", "false")
    if by == "file":
        (shop / "mcpg.toml").write_text("generated_hints = false\n", "utf-8")
    run("bundle", "post/post.json", "-o", "never.mdld")
    for source in ("post", "docs"):
        assert run("bundle", source, "-o", "without.mdld", *given).code == 0
        without, never = (shop / f"{name}.mdld" for name in ("without", "never"))
        assert without.read_bytes() == never.read_bytes()
    assert first(run, "eta", "-b", "without.mdld") == ""


def test_they_change_no_lock(shop: Path, run: Callable[..., Run]) -> None:
    """A lock approves what servers state and people write."""
    file = shop / "post" / "post.generated.hints.json"
    text = file.read_text("utf-8")
    file.unlink()
    assert run("lock", "post").code == 0
    file.write_text(text, "utf-8")
    assert run("lock", "post", "--check").code == 0
    assert run("bundle", "post", "-o", "graph.mdld", "--locked").code == 0
    assert first(run, "eta") == "shipment_status"


def test_diff_names_them(shop: Path, run: Callable[..., Run]) -> None:
    """Their changes are those of fields of their own."""
    assert shop.is_dir()
    found = run("diff", "post/post.json", "post", "--sample", "0", "--format", "json").json
    (tool,) = found["tools"]
    assert [one["field"] for one in tool["fields"]] == [
        *("generated.aliases", "generated.keywords", "generated.examples"),
    ]


def test_lint_reads_none_of_them(shop: Path, run: Callable[..., Run]) -> None:
    """A tool that nothing of its own tells apart is reported, whatever a model wrote of it."""
    with_texts = run("lint", "post", "--format", "json").json["findings"]
    (shop / "post" / "post.generated.hints.json").unlink()
    assert run("lint", "post", "--format", "json").json["findings"] == with_texts


def test_no_model_reads_them(shop: Path, run: Callable[..., Run]) -> None:
    """Neither the gateway nor definitions for a model or answers have them."""
    texts = ("whereabouts", "has my order left")
    engine = mcpg.load(shop / "post")
    tool = engine.catalog.tools[2]
    assert (tool.id, tool.generated.keywords) == ("shipment_status", ("eta",))
    told = [repr(tool.to_dict()), repr(tool.view())]
    told += [run("search", "eta", "-b", "post", "--as", kind).out for kind in ("openai", "mcp")]
    told += [run("ask", "how do I call shipment_status", "-b", "post").out]
    told += [run("list", "-b", "post", "--format", "json").out]
    for text in told:
        assert text
        assert not any(one in text for one in texts)


def test_an_alias_of_a_model_is_no_name() -> None:
    """It does not decide: typed word for word, the same text of a person outranks all."""
    texts = ("pay the bill", "settle up")
    tools = make_tool("bill_pay", description="Pay the bill."), make_tool("ledger_close")
    written = HintRule("ledger_close", Hints(aliases=texts), written_for="")
    matches = make_engine(*tools, rules=(written,)).search("pay the bill").matches
    assert ids(matches)[0] == "bill_pay"
    by_hand = HintRule("ledger_close", Hints(aliases=texts))
    assert ids(make_engine(*tools, rules=(by_hand,)).search("pay the bill").matches)[0] == (
        "ledger_close"
    )


def test_a_word_counts_once() -> None:
    """A word that the tool says itself as strongly gains nothing by texts that repeat it."""
    tools = [make_tool(f"ticket_{verb}") for verb in ("close", "open")]
    rule = HintRule("ticket_close", Hints(("close it", "finish it")), written_for="")
    bare, index = make_engine(*tools).index, make_engine(*tools, rules=(rule,)).index
    close, finish = (index.find_stem(word) for word in ("close", "finish"))
    impacts = [bare.find_posting(bare.find_stem("close"), 0)[0], index.find_posting(close, 0)[0]]
    assert impacts[0] == impacts[1]
    shares = field_shares(index, 0, [close, finish])
    assert shares == {close: {"name": 1.0}, finish: {"generated": 1.0}}
