"""The report of an evaluation: every judged query searched, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcpg.diagnostics import Code
from mcpg.engine.cached import LASTING
from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.request import MAX_LIMIT, check_strategy
from mcpg.engine.results import Strategy
from mcpg.evaluation.calibration import auroc, precision_coverage, reliability_bins
from mcpg.evaluation.metrics import percentile
from mcpg.evaluation.outcomes import (
    DEPTH,
    RANKING,
    SCORE_DECIMALS,
    Found,
    Outcome,
    figures,
    is_abstaining,
    split_scores,
)
from mcpg.evaluation.resolved import disabled_tools, resolve
from mcpg.remedies import remedy_of
from mcpg.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine import Engine
    from mcpg.evaluation.compare import Comparison
    from mcpg.evaluation.gates import Gate
    from mcpg.evaluation.judged import Judgements
    from mcpg.evaluation.resolved import ResolvedQuery
    from mcpg.jsontypes import JsonObject, JsonValue

SCHEMA = "mcpg/eval/1"
"""Names the layout of a report as JSON."""

_TIME_DECIMALS = 3
# That a search came to the graph in place of vectors is told, however lasting its cause.
_OF_A_QUERY = LASTING - {Code.QUERY_VECTOR_EMPTY, Code.GRAPH_FALLBACK}


@dataclass(frozen=True, slots=True)
class Report:
    """What an evaluation found.

    Attributes:
        tools: How many tools were searched.
        strategy: How they were ranked.
        fusion: How the lists of graph and vectors were made one; "" where they were not.
        normalize: Whether queries might be rewritten in English.
        limit: The most matches that were looked at for a query.
        outcomes: One for each judged query, in the order of the file.
        figures: The figures of `mcpg.evaluation.outcomes.figures`.
        durations: How long each search took, in milliseconds.
        diagnostics: What was noticed of the bundle, of the file, of the tools it names, and of what
            searches ask for and may not get, such as vectors.
        baseline: How it compares with an earlier report.
        gates: What was asked of the figures, and whether they pass.
    """

    tools: int
    strategy: str
    fusion: str
    normalize: bool
    limit: int
    outcomes: tuple[Outcome, ...]
    figures: dict[str, float | None]
    durations: tuple[float, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    baseline: Comparison | None = None
    gates: tuple[Gate, ...] = ()

    @property
    def way(self) -> str:
        """How queries were searched, for people."""
        fusion = f", fusion {self.fusion}" if self.fusion else ""
        return f"{self.strategy}{fusion}{', normalized' if self.normalize else ''}"

    @property
    def answerless(self) -> tuple[Outcome, ...]:
        """The queries that no tool answers."""
        return tuple(one for one in self.outcomes if one.is_answerless)

    @property
    def unknown_tools(self) -> tuple[str, ...]:
        """The names in the judged queries that mean no tool, or several, each once."""
        return tuple(dict.fromkeys(name for one in self.outcomes for name in one.unknown))

    def latency(self, share: float) -> float:
        """Give the time in milliseconds that *share* of the searches did not exceed."""
        return percentile(self.durations, share)


def evaluate(
    engine: Engine,
    judgements: Judgements,
    *,
    limit: int = DEPTH,
    strategy: str = Strategy.GRAPH,
    fusion: str = "",
    normalize: bool = False,
    include_disabled: bool = False,
) -> Report:
    """Search for every judged query and measure what is found.

    Args:
        engine: What is searched.
        judgements: The queries.
        limit: The most matches to look at for a query; fewer than 10 are taken for 10, which is
            what the figures need, and more than 50 for 50.
        strategy: How to rank.
        fusion: With the strategy `auto`, how to make one list of graph and vectors.
        normalize: Whether queries may be rewritten in English, to be searched beside themselves.
        include_disabled: Whether tools that are off by default may be found.

    Raises:
        UsageError: *limit* is below 1, *strategy* or *fusion* is unknown, or *fusion* is asked of
            another strategy than `auto`.
    """
    catalog = engine.catalog
    resolved = resolve(judgements, catalog)
    depth = min(max(limit, DEPTH), MAX_LIMIT) if limit > 0 else limit
    off = [] if include_disabled else disabled_tools(judgements, resolved, catalog)
    asked = {"limit": depth, "strategy": strategy, "fusion": fusion, "normalize": normalize}
    search = _searcher(engine, {**asked, "include_disabled": include_disabled})
    if resolved.queries:
        search(resolved.queries[0])  # the first search of an engine pays for what all later share
    searched = [search(one) for one in resolved.queries]
    outcomes = tuple(outcome for outcome, _, _ in searched)
    noticed = _noticed([told for _, _, told in searched])
    return Report(
        tools=len(catalog.tools),
        strategy=check_strategy(strategy),
        fusion=fusion,
        normalize=normalize,
        limit=depth,
        outcomes=outcomes,
        figures=figures(outcomes),
        durations=tuple(duration for _, duration, _ in searched),
        diagnostics=(
            *(*engine.diagnostics, *judgements.diagnostics, *resolved.diagnostics),
            *(*off, *noticed),
        ),
    )


def report_json(report: Report, *, timings: bool = False) -> JsonObject:
    """Give *report* as the JSON object of schema `SCHEMA`.

    Args:
        report: The report.
        timings: Whether to tell how long searches took, which is never the same twice.
    """
    latency: JsonObject | None = None
    if timings:
        latency = {
            name: round(report.latency(share), _TIME_DECIMALS)
            for name, share in (("p50", 0.5), ("p95", 0.95))
        }
    return {
        "schema": SCHEMA,
        "queries": len(report.outcomes),
        "tools": report.tools,
        "strategy": report.strategy,
        "fusion": report.fusion or None,
        "normalize": report.normalize,
        "limit": report.limit,
        "metrics": {name: report.figures[name] for name in RANKING},
        "calibration": _calibration(report),
        "abstention": _abstention(report),
        "unknownTools": list(report.unknown_tools),
        "latencyMs": latency,
        "baseline": report.baseline.json() if report.baseline else None,
        "gates": [gate.json() for gate in report.gates],
        "diagnostics": [_diagnostic(one) for one in report.diagnostics],
        "perQuery": [outcome_json(one) for one in report.outcomes],
    }


def outcome_json(one: Outcome) -> JsonObject:
    """Give what a search made of one query as a JSON object."""
    return {
        "id": one.id,
        "query": one.query,
        "judged": list(one.judged),
        "relevant": list(one.relevant),
        "unknown": list(one.unknown),
        "ndcg@5": one.ndcg,
        "rank": one.rank,
        "topScore": one.top_score,
        "matches": [
            {"toolId": match.tool_id, "score": match.score, "isRelevant": match.is_relevant}
            for match in one.matches
        ],
    }


def _searcher(
    engine: Engine, asked: Mapping[str, Any]
) -> Callable[[ResolvedQuery], tuple[Outcome, float, tuple[Diagnostic, ...]]]:
    def search(one: ResolvedQuery) -> tuple[Outcome, float, tuple[Diagnostic, ...]]:
        begin = perf_counter()
        result = engine.search(one.judged.query, **asked)
        duration = (perf_counter() - begin) * 1e3
        judged, relevant = one.judged, frozenset(one.relevant)
        matches = tuple(
            Found(match.tool_id, round(match.score, SCORE_DECIMALS), match.tool_id in relevant)
            for match in result.matches
        )
        outcome = Outcome(
            judged.id, judged.query, judged.relevant, one.relevant, one.unknown, matches
        )
        return outcome, duration, result.diagnostics

    return search


def _noticed(told: Sequence[tuple[Diagnostic, ...]]) -> list[Diagnostic]:
    """Give once what searches were *told* of the parts they need, and how many were told it.

    What is told of a query, such as that its best match is doubtful, is in the figures already.
    """
    first: dict[str, Diagnostic] = {}
    counts: Counter[str] = Counter()
    for search in told:
        found = {one.code: one for one in search if one.code not in _OF_A_QUERY}
        first = found | first
        counts.update(found.keys())
    return [
        replace(one, message=f"{one.message} (in {counts[code]} of {len(told)} searches)")
        for code, one in first.items()
    ]


def _calibration(report: Report) -> JsonObject:
    scored = [one.scored for one in report.outcomes]
    right, _ = split_scores(report.outcomes)
    answerless = [one.top_score for one in report.answerless]
    return {
        "ece": report.figures["ece"],
        "brier": report.figures["brier"],
        "aurocRightVsWrong": report.figures["auroc"],
        "aurocRightVsAnswerless": _rounded(auroc(right, answerless)),
        "bins": [
            {
                "low": one.low,
                "high": one.high,
                "meanScore": _rounded(one.mean_score),
                "precision": _rounded(one.precision),
                "count": one.count,
            }
            for one in reliability_bins(scored)
        ],
        "curve": [
            {
                "threshold": one.threshold,
                "coverage": _rounded(one.coverage),
                "precision": _rounded(one.precision),
            }
            for one in precision_coverage(scored)
        ],
    }


def _abstention(report: Report) -> JsonObject | None:
    """Say of the queries that no tool answers how many were recognised, `None` without any."""
    answerless = report.answerless
    if not answerless:
        return None
    answerable = [one for one in report.outcomes if not one.is_answerless]
    return {
        "threshold": LOW_CONFIDENCE,
        "queries": len(answerless),
        "right": sum(map(is_abstaining, answerless)),
        "share": report.figures["abstention"],
        "answerableBelow": sum(map(is_abstaining, answerable)),
    }


def _diagnostic(item: Diagnostic) -> JsonValue:
    return {
        "code": item.code,
        "severity": item.severity,
        "message": item.message,
        "place": item.place,
        "remedy": remedy_of(item.code),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, SCORE_DECIMALS)
