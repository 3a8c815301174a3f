"""Hints are read once for an index."""

from __future__ import annotations

from builders import make_engine, make_tool

from mcpg.gateway.routing.route import HINTS


def test_a_tool_is_read_once() -> None:
    """Whoever asks again gets what was read, and another index has cards of its own."""
    engine = make_engine(make_tool("pay", categories=("bills",)))
    cards = engine.consult(HINTS.of_index)
    matches = engine.search("pay").matches
    first = cards.of(matches)
    assert first["pay"].categories == ("bills",)
    assert engine.consult(HINTS.of_index).of(matches)["pay"] is first["pay"]
    assert make_engine(make_tool("pay")).consult(HINTS.of_index) is not cards
