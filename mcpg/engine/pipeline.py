"""The graph pipeline: analyse, retrieve, fuse, calibrate, expand."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.engine.analysis import Analysis, analyse
from mcpg.engine.confidence import Calibration, calibrate
from mcpg.engine.expansion import Reached, expand
from mcpg.engine.ranking import Ranked, rank, retrieve

if TYPE_CHECKING:
    from collections.abc import Container

    from mcpg.engine.bm25f import FieldedScorer
    from mcpg.engine.request import Request
    from mcpg.engine.trace import Trace
    from mcpg.index import Index
    from mcpg.jsontypes import JsonObject


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one pass through the pipeline found.

    Attributes:
        analysis: What the query became.
        ranked: Primary documents, best first.
        calibrations: The calibrated score of each of them.
        related: Documents reached by a related edge, strongest first.
        next_steps: Documents reached by a next-step edge, strongest first.
    """

    analysis: Analysis
    ranked: tuple[Ranked, ...]
    calibrations: tuple[Calibration, ...]
    related: tuple[Reached, ...]
    next_steps: tuple[Reached, ...]


def run_graph(
    request: Request,
    index: Index,
    scorer: FieldedScorer,
    eligible: Container[int],
    trace: Trace | None = None,
) -> Outcome:
    """Answer *request* from the graph; *trace* records the stages as they pass."""
    with _stage(trace, "analyse"):
        query, context = request.query or request.context, request.context if request.query else ""
        analysis = analyse(query, index, context=context)
    with _stage(trace, "retrieve") as details:
        scores = retrieve(analysis, scorer)
        details["matchingTools"] = len(scores)
    with _stage(trace, "fuse") as details:
        # One more than asked for, so that the last one's lead is known whatever the limit.
        ranked = rank(scores, analysis, index, eligible, request.limit + 1)
        details["exactNames"] = sum(one.exact > 0 for one in ranked)
    with _stage(trace, "calibrate"):
        calibrations = calibrate(ranked, analysis, scorer)[: request.limit]
        ranked = ranked[: request.limit]
    with _stage(trace, "expand") as details:
        primaries = [
            (one.document, calibration.score)
            for one, calibration in zip(ranked, calibrations, strict=True)
        ]
        related, next_steps = expand(primaries, index, eligible, request.limit)
        details |= {"related": len(related), "nextSteps": len(next_steps)}
    return Outcome(analysis, tuple(ranked), calibrations, related, next_steps)


def _stage(trace: Trace | None, name: str) -> AbstractContextManager[JsonObject]:
    return trace.stage(name) if trace else nullcontext({})
