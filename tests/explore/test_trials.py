"""Hints that are tried rank as hints that are bundled."""

from __future__ import annotations

import pytest

import mcpg
from mcpg.catalog.model import Hints, ToolExample
from mcpg.explore.explorer import compare_with_hints
from mcpg.review.compare import compare
from mcpg.show.json import ComparedCatalogue, compare_json

ASKED = {"limit": 5, "strategy": "auto", "fusion": "rrf", "rewrite": True}
SIDE = ComparedCatalogue("graph.mdld")


@pytest.mark.parametrize(
    "hints",
    [
        Hints(aliases=("send my money back",)),
        Hints(keywords=("zebra", "money")),
        Hints(aliases=("zebra",), keywords=("money back",)),
        Hints(examples=(ToolExample("send my money back"),)),
        Hints(),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_trial_ranks_as_a_compiled_index(hints: Hints) -> None:
    """Tried without compiling or with it, every rank, score and summand is the same."""
    engine = mcpg.load("graph.mdld")
    tool = engine.catalog.find_named("invoice_get")
    query = "send me my money back, zebra"
    _, tried = compare_with_hints(engine, tool, hints, query, ASKED)
    compiled = compare(engine, engine.with_hints(tool.id, hints), query, limit=5)
    assert compare_json(tried, SIDE, SIDE) == compare_json(compiled, SIDE, SIDE)
