"""Hints are read once for an index."""

from __future__ import annotations

from builders import make_engine, make_tool

from mcpg.route import hints_cache, match_hints


def test_a_tool_is_read_once() -> None:
    """Whoever asks again gets what was read, and another index has a cache of its own."""
    engine = make_engine(make_tool("pay", categories=("bills",)))
    cache = engine.consult(hints_cache)
    matches = engine.search("pay").matches
    first = match_hints(matches, cache)
    assert first["pay"].categories == ("bills",)
    assert match_hints(matches, engine.consult(hints_cache))["pay"] is first["pay"]
    assert make_engine(make_tool("pay")).consult(hints_cache) is not cache
