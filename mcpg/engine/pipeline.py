"""The graph pipeline: analyse, retrieve, fuse, calibrate."""

from __future__ import annotations

from mcpg.engine.confidence import MARGIN_DEPTH, Calibration, calibrate, worth_offering
from mcpg.engine.features import Candidate, extract_features, named_exactly
from mcpg.engine.fusion import Fused, fuse, retrieve_for_each
from mcpg.engine.query import analyse
from mcpg.engine.results import Request
from mcpg.engine.retrieval import Pool, depth, pooled
from mcpg.index import Index
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mcpg.engine.candidate_source import Selection
    from mcpg.engine.hybrid_scoring import HybridDetails
    from mcpg.engine.model import Model
    from mcpg.engine.query import Analysis, Memo
    from mcpg.engine.trace import Trace


@value
class Outcome:
    """What one pass through the pipeline found.

    Attributes:
        analysis: What the query became.
        ranked: Primary candidates, best first.
        calibrations: The calibrated score of each of them.
        candidates: What was seen in each document that was looked at, in the order of the pool.
        ends: How many there are up to the end of each tier of these.
        best: The best score, whether or not it was worth offering; `None` when nothing was found.
        semantic: What vectors had to do with it; `None` where the graph alone ranked.
    """

    analysis: Analysis
    ranked: list[Fused]
    calibrations: list[Calibration]
    candidates: list[Candidate]
    ends: tuple[int, int]
    best: float | None
    semantic: HybridDetails | None = None

    @property
    def primaries(self) -> list[tuple[int, float]]:
        """The candidates' documents and scores, best first."""
        return [
            (one.candidate.document, calibration.score)
            for one, calibration in zip(self.ranked, self.calibrations, strict=True)
        ]


class _NullTrace:
    """Stands where a trace would be, and keeps nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


_NULL_TRACE = _NullTrace()


def run_graph(
    request: Request,
    index: Index,
    model: Model,
    disabled: frozenset[int],
    trace: Trace | None = None,
    memo: Memo | None = None,
    selection: Selection | None = None,
) -> Outcome:
    """Answer *request* from the graph without *disabled* tools; *trace* records the stages."""
    size = depth(request.limit)
    analysis, pool = gather(
        request, index, disabled, size=size, trace=trace, memo=memo, selection=selection
    )
    with stage(trace, "fuse"):
        candidates = extract_features(pool.documents, analysis, index)
        ranked = fuse(candidates, model.weights, max(request.limit, MARGIN_DEPTH), pool.ends)
    with stage(trace, "calibrate"):
        calibrations = calibrate(ranked, candidates, analysis, model, len(index), request.limit)
        best = calibrations[0].score if calibrations else None
        count = worth_offering([one.score for one in calibrations], request)
        ranked, calibrations = ranked[:count], calibrations[:count]
    return Outcome(analysis, ranked, calibrations, candidates, pool.ends, best)


def gather(
    request: Request,
    index: Index,
    disabled: frozenset[int],
    *,
    size: int,
    trace: Trace | None = None,
    memo: Memo | None = None,
    selection: Selection | None = None,
) -> tuple[Analysis, Pool]:
    """Return what the query became, and the documents to look at.

    They are the best *size* by their words, of those in *selection* if it has any, and those whose
    name the query spells.
    """
    with stage(trace, "analyse"):
        query, context = request.query or request.context, request.context if request.query else ""
        analysis = analyse(query, index, context=context, memo=memo)
    with stage(trace, "retrieve"):
        among = selection.among(analysis) if selection else None
        by_words = retrieve_for_each(analysis, index, disabled=disabled, size=size, among=among)
        named = sorted(named_exactly(analysis, index) - disabled)
    return analysis, pooled(by_words, named, size)


def stage(trace: Trace | None, name: str) -> AbstractContextManager[None] | _NullTrace:
    """Return what times a stage, or nothing where nothing is traced."""
    return trace.stage(name) if trace else _NULL_TRACE
