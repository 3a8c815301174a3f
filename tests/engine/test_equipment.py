"""What a host gives an engine beside the index: kept, handed on, and never touched by the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import pytest
from builders import make_engine, make_tool

import mcpg
from mcpg.bundle import assemble, bundle_of, write_bundle
from mcpg.catalog.model import Hints
from mcpg.catalog.sources import SourceBatch
from mcpg.engine.equipment import Equipment
from mcpg.values import replace

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = (
    make_tool("order_get", description="Get an order."),
    make_tool("order_list", description="List orders."),
    make_tool("invoice_export", description="Export invoices."),
)


class Untouchable:
    """Raises at whatever is done with it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"the graph strategy asked for {name}")


def untouchable() -> Equipment:
    """Give equipment of which no part may be touched."""
    return Equipment(*[Untouchable() for _ in Equipment.__match_args__])


@pytest.mark.parametrize("query", ["order", "order_get", "ordre", "zzqx", "", "get orders; export"])
def test_the_graph_touches_no_equipment(query: str) -> None:
    """Searching, explaining and asking why not are done without any provider or store."""
    plain = make_engine(*TOOLS)
    equipped = mcpg.Engine(
        plain.index, equipment=replace(untouchable(), cache=None, candidates=None, observer=None)
    )

    assert equipped.search(query) == plain.search(query)
    assert equipped.explain(query).result == plain.search(query)
    if query:
        assert equipped.explain(query, tool="order_list").tool is not None


def test_a_loaded_engine_keeps_what_it_was_given(tmp_path: Path) -> None:
    """What `load` is given arrives in the engine, and knows beside which bundle vectors lie."""
    path = str(tmp_path / "graph.mdld")
    write_bundle(tmp_path / "graph.mdld", bundle_of(assemble(SourceBatch(tools=TOOLS))))
    given = untouchable()
    arguments = {
        name: getattr(given, name) for name in ("store", "normalizer", "cache", "candidates")
    }

    for _ in ("made anew", "opened"):
        engine = mcpg.load(path, embeddings=given.embedder, **arguments)
        assert engine.equipment == replace(given, vectors=path, kept=None, observer=None)
    assert mcpg.load(path).equipment == Equipment("local", vectors=path)


def test_changed_hints_keep_the_provider_and_drop_the_vectors() -> None:
    """A tool with other hints has another text, so what is embedded of it is made anew."""
    given = untouchable()
    engine = mcpg.Engine(make_engine(*TOOLS).index, equipment=given)

    changed = engine.with_hints("order_get", Hints(keywords=("parcel",)))

    assert changed.equipment == replace(given, vectors=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fusion": "best", "strategy": "auto"}, "no fusion is called 'best'"),
        ({"fusion": "rrf"}, "the strategy 'graph' has one list alone"),
        ({"fusion": "learned", "strategy": "markdown-ld"}, "the strategy 'graph' has one list"),
        ({"fusion": "learned", "strategy": "embeddings"}, "the strategy 'embeddings' has one list"),
    ],
)
def test_a_fusion_needs_two_lists(arguments: dict[str, str], message: str) -> None:
    """A fusion that is unknown, or has nothing to fuse, is refused."""
    with pytest.raises(mcpg.UsageError, match=message):
        make_engine(*TOOLS).search("order", **arguments)
