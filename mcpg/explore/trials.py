"""Hints tried on one tool: the ranking with them, beside the ranking without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcpg.catalog.model import Hints, Tool
from mcpg.engine import Engine
from mcpg.engine.compare import RankingComparison, compare
from mcpg.engine.results import Strategy
from mcpg.index import Index
from mcpg.index.what_if import HintOverlay


def compare_with_hints(
    engine: Engine, tool: Tool, hints: Hints, query: str, asked: Mapping[str, Any]
) -> tuple[Engine, RankingComparison]:
    """Compare the ranking for *query* with the one that *hints* added to *tool* would give.

    Both rankings are those of the strategy `graph`: there are no vectors of what is only tried.

    Args:
        engine: The engine.
        tool: The tool.
        hints: What is added.
        query: The query.
        asked: What else `Engine.explain` takes, with a limit.

    Raises:
        UsageError: See `Engine.explain`.
        DocumentError: The tool's document becomes too long to be written.
    """
    trial = engine_with_hints(engine, tool, hints)
    plain = {**asked, "strategy": Strategy.GRAPH, "fusion": "", "normalize": False}
    return trial, compare(engine, trial, query, **plain)


def engine_with_hints(engine: Engine, tool: Tool, hints: Hints) -> Engine:
    """Return an engine whose matches are those of `Engine.with_hints`.

    Aliases and keywords alone are tried without compiling the index, within milliseconds.
    """
    if hints != replace(Hints(), aliases=hints.aliases, keywords=hints.keywords):
        return engine.with_hints(tool.id, hints)

    def what_if(index: Index) -> Index:
        number = next(n for n in range(len(index)) if index.tool_id(n) == tool.id)
        return HintOverlay(index, number).with_hints(Hints.merge(hints, tool.hints))

    return Engine(engine.consult(what_if))
