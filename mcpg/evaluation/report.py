"""The report of an evaluation: its figures, its gates, and how it compares with an earlier one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from mcpg.catalog.catalog import Catalog
from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.model import Hints
from mcpg.engine import Engine
from mcpg.errors import Code, Diagnostic, InputError, UsageError
from mcpg.evaluation.judged import Judgements, ResolvedQuery, disabled_tools, resolve
from mcpg.evaluation.metrics import (
    DEPTH,
    RANKING,
    JudgedMatch,
    QueryOutcome,
    Significance,
    auroc,
    figures,
    is_abstaining,
    paired_randomisation,
    percentile,
    precision_coverage,
    reciprocal_rank,
    reliability_bins,
    split_scores,
)
from mcpg.files import MAX_BYTES, read_bytes, text_of_path
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.result_cache import LASTING
from mcpg.search.results import MAX_LIMIT, Strategy, check_fusion, check_strategy
from mcpg.sources.model import decode
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.spelling import suggest
from mcpg.values import SHOWN_DECIMALS, TIME_DECIMALS, to_json

SCHEMA = "mcpg/eval/1"

# A search that falls back from vectors to the graph is reported, however lasting its cause.
_OF_A_QUERY = LASTING - {Code.QUERY_VECTOR_EMPTY, Code.GRAPH_FALLBACK}


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The result of an evaluation.

    Attributes:
        outcomes: An outcome for each judged query, in the order of the file.
        diagnostics: Diagnostics of the bundle, of the file and the tools it names, and of searches,
            such as missing vectors.
    """

    tools: int
    strategy: str
    fusion: str
    normalize: bool
    lexicon: bool
    limit: int
    outcomes: tuple[QueryOutcome, ...]
    figures: dict[str, float | None]
    durations: tuple[float, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    baseline: RunComparison | None = None
    gates: tuple[Gate, ...] = ()

    @property
    def answerless(self) -> tuple[QueryOutcome, ...]:
        return tuple(one for one in self.outcomes if one.is_answerless)

    @property
    def unknown_tools(self) -> tuple[str, ...]:
        """The names in the judged queries that mean no tool, or several, each once."""
        return tuple(dict.fromkeys(name for one in self.outcomes for name in one.unknown))

    def latency(self, share: float) -> float:
        """Return the time in milliseconds that *share* of the searches did not exceed."""
        return percentile(self.durations, share)


def evaluate(  # noqa: PLR0913 - each is an option of a run
    engine: Engine,
    judgements: Judgements,
    *,
    limit: int = DEPTH,
    strategy: str = Strategy.GRAPH,
    fusion: str = "",
    rewrite: bool = False,
    lexicon: bool = True,
    include_disabled: bool = False,
    catalog: Catalog | None = None,
) -> EvaluationReport:
    """Search for every judged query and measure the results.

    At most *limit* matches of each query are considered, from 10, which the metrics need, to 50.
    *catalog* has the tools of the engine, if the caller has already loaded them. All else is as for
    `Engine.search`.
    """
    catalog = engine.catalog if catalog is None else catalog
    resolved = resolve(judgements, catalog)
    depth = min(max(limit, DEPTH), MAX_LIMIT) if limit > 0 else limit
    off = [] if include_disabled else disabled_tools(judgements, resolved, catalog)
    asked = {"limit": depth, "strategy": strategy, "fusion": fusion, "rewrite": rewrite}
    asked |= {"lexicon": lexicon, "include_disabled": include_disabled}
    if resolved.queries:  # the first search of an engine pays for what all later share
        _search_for(resolved.queries[0], engine, asked)
    searched = [_search_for(one, engine, asked) for one in resolved.queries]
    outcomes = tuple(outcome for outcome, _, _ in searched)
    found = _search_diagnostics([one for _, _, one in searched])
    return EvaluationReport(
        tools=len(catalog.tools),
        strategy=check_strategy(strategy),
        fusion=check_fusion(fusion, check_strategy(strategy)),
        normalize=rewrite,
        lexicon=lexicon,
        limit=depth,
        outcomes=outcomes,
        figures=figures(outcomes),
        durations=tuple(duration for _, duration, _ in searched),
        diagnostics=(
            *(*engine.diagnostics, *judgements.diagnostics, *resolved.diagnostics),
            *(*off, *found),
        ),
    )


def report_json(report: EvaluationReport, *, timings: bool = False) -> JsonObject:
    """Return *report* as the JSON object of schema `SCHEMA`; *timings* differ every time."""
    latency: JsonObject | None = None
    if timings:
        latency = {
            name: round(report.latency(share), TIME_DECIMALS)
            for name, share in (("p50", 0.5), ("p95", 0.95))
        }
    answerless = report.answerless
    answerable = (one for one in report.outcomes if not one.is_answerless)
    return {
        "schema": SCHEMA,
        "queries": len(report.outcomes),
        "tools": report.tools,
        "strategy": report.strategy,
        "fusion": report.fusion or None,
        "normalize": report.normalize,
        "lexicon": report.lexicon,
        "limit": report.limit,
        "metrics": {name: report.figures[name] for name in RANKING},
        "calibration": _calibration(report),
        "abstention": {
            "threshold": LOW_CONFIDENCE,
            "queries": len(answerless),
            "right": sum(map(is_abstaining, answerless)),
            "share": report.figures["abstention"],
            "answerableBelow": sum(is_abstaining(one) for one in answerable),
        }
        if answerless
        else None,
        "unknownTools": list(report.unknown_tools),
        "latencyMs": latency,
        "baseline": report.baseline.json() if report.baseline else None,
        "gates": [gate.json() for gate in report.gates],
        "diagnostics": [one.to_dict() for one in report.diagnostics],
        "perQuery": [
            {
                **to_json(one, without=["matches"]),
                "ndcg@5": one.ndcg,
                "rank": one.rank,
                "topScore": one.top_score,
                "matches": [to_json(match) for match in one.matches],
            }
            for one in report.outcomes
        ],
    }


def _search_for(
    one: ResolvedQuery, engine: Engine, asked: Mapping[str, Any]
) -> tuple[QueryOutcome, float, tuple[Diagnostic, ...]]:
    """Return the outcome of a search for one query, its duration in ms, and its diagnostics."""
    begin = perf_counter()
    result = engine.search(one.judged.query, context_tools=one.context_tools, **asked)
    duration = (perf_counter() - begin) * 1e3
    judged, relevant = one.judged, frozenset(one.relevant)
    matches = tuple(
        JudgedMatch(match.tool_id, round(match.score, SHOWN_DECIMALS), match.tool_id in relevant)
        for match in result.matches
    )
    named = judged.id, judged.query, judged.relevant, one.relevant, one.unknown
    outcome = QueryOutcome(*named, matches, one.context_tools)
    return outcome, duration, result.diagnostics


def _search_diagnostics(searches: Sequence[tuple[Diagnostic, ...]]) -> list[Diagnostic]:
    """Return each diagnostic of the *searches* once, with the number of searches that have it.

    Diagnostics of a single query, such as low confidence, are left out: the metrics have them.
    """
    first: dict[str, Diagnostic] = {}
    counts: Counter[str] = Counter()
    for search in searches:
        found = {one.code: one for one in search if one.code not in _OF_A_QUERY}
        first = found | first
        counts.update(found.keys())
    return [
        one._replace(message=f"{one.message} (in {counts[code]} of {len(searches)} searches)")
        for code, one in first.items()
    ]


def _calibration(report: EvaluationReport) -> JsonObject:
    scored = [one.best_score for one in report.outcomes]
    right, _ = split_scores(report.outcomes)
    answerless = [one.top_score for one in report.answerless]
    return {
        "ece": report.figures["ece"],
        "brier": report.figures["brier"],
        "aurocRightVsWrong": report.figures["auroc"],
        "aurocRightVsAnswerless": _round_figure(auroc(right, answerless)),
        "bins": [
            to_json(one)
            | {
                "meanScore": _round_figure(one.mean_score),
                "precision": _round_figure(one.precision),
            }
            for one in reliability_bins(scored)
        ],
        "curve": [
            to_json(one)
            | {"coverage": _round_figure(one.coverage), "precision": _round_figure(one.precision)}
            for one in precision_coverage(scored)
        ],
    }


def _round_figure(value: float | None) -> float | None:
    return None if value is None else round(value, SHOWN_DECIMALS)


MIN, MAX, MAX_DROP = "min", "max", "max-drop"
"""The kinds of gates: a figure must not be below, not above, not fall by more than a limit."""

TRUST = ("ece", "brier", "auroc", "abstention")
LATENCY = {"p50": 0.5, "p95": 0.95}
METRICS = (*RANKING, *TRUST, *LATENCY)
"""The figures that a gate may name; latencies are in milliseconds, all others in [0, 1]."""

_MORE_IS_BETTER = (*RANKING, "auroc", "abstention")


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound of one metric.

    Attributes:
        kind: `min`, `max` or `max-drop`.
    """

    kind: str
    metric: str
    limit: float


@dataclass(frozen=True, slots=True)
class Gate:
    """A bound, and whether a report meets it.

    Attributes:
        value: The metric, or its drop; `None` without data.
        passed: Whether the bound is met; a metric without data fails.
    """

    bound: Bound
    value: float | None
    passed: bool

    def json(self) -> JsonObject:
        return to_json(self.bound) | to_json(self, without=["bound"])


def parse_bounds(kind: str, text: str) -> tuple[Bound, ...]:
    """Read `METRIC=VALUE`; for `max-drop`, a bare `VALUE` applies to every ranking metric."""
    name, sign, value = text.rpartition("=")
    metrics = tuple(RANKING)
    if sign:
        known, name = _MORE_IS_BETTER if kind == MAX_DROP else METRICS, name.strip()
        if name.casefold() not in known:
            near = suggest(name, known)
            advice = f"did you mean {near[0]}? " if near else ""
            remedy = f"{advice}known: {', '.join(known)}"
            raise _fault(kind, f"no metric is called {name!r}", remedy)
        metrics = (name.casefold(),)
    elif kind != MAX_DROP:
        raise _fault(kind, f"{text!r} has no metric or no value", "write it as ndcg@5=0.8")
    return tuple(Bound(kind, metric, _number(kind, metric, value)) for metric in metrics)


def judge(report: EvaluationReport, bounds: tuple[Bound, ...]) -> tuple[Gate, ...]:
    """Check *report* against *bounds*; bounds of a drop need its comparison with a baseline."""
    gates = []
    for bound in bounds:
        value: float | None
        if bound.kind == MAX_DROP:
            delta = report.baseline.delta(bound.metric) if report.baseline else None
            value = None if delta is None else round(0 - delta, SHOWN_DECIMALS)
        elif bound.metric in LATENCY:
            value = round(report.latency(LATENCY[bound.metric]), TIME_DECIMALS)
        else:
            value = report.figures[bound.metric]
        if value is None:
            passed = False
        elif bound.kind == MIN:
            passed = value >= bound.limit
        else:
            passed = value <= bound.limit
        gates.append(Gate(bound, value, passed))
    return tuple(gates)


def _number(kind: str, metric: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value) or math.isinf(value):
        raise _fault(kind, f"{text!r} is not a number", "give it a number such as 0.8")
    if value < 0 or (value > 1 and metric not in LATENCY):
        raise _fault(kind, f"{metric} cannot be {text}", "give it a number from 0 to 1")
    return value


def _fault(kind: str, message: str, remedy: str) -> UsageError:
    return UsageError(message, place=f"--{kind}", remedy=remedy)


TESTED = "ndcg@5"
"""The metric whose difference is tested for significance."""


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query that is answered better or worse than before."""

    before: QueryOutcome
    now: QueryOutcome

    def json(self) -> JsonObject:
        return {
            "id": self.now.id,
            "query": self.now.query,
            "rankBefore": self.before.rank,
            "rankNow": self.now.rank,
            "ndcg@5Before": self.before.ndcg,
            "ndcg@5Now": self.now.ndcg,
            "topScoreBefore": self.before.top_score,
            "topScoreNow": self.now.top_score,
        }


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The comparison of an evaluation with an earlier one.

    Queries are compared if both have them under the same id with the same judgement. The text may
    differ: a query with an id may be reworded.

    Attributes:
        common: How many queries are compared.
        better: Queries with better answers, the greatest gain first.
        worse: Queries with worse answers, the greatest loss first.
        added: Ids of queries that the earlier evaluation lacks.
        removed: Ids of queries that only the earlier evaluation has.
        rejudged: Ids of queries whose judgement has changed.
        significance: Whether the difference of nDCG@5 may be chance; `None` without such queries.
    """

    common: int
    before: dict[str, float | None]
    now: dict[str, float | None]
    better: tuple[QueryChange, ...] = ()
    worse: tuple[QueryChange, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rejudged: tuple[str, ...] = ()
    significance: Significance | None = None

    def delta(self, name: str) -> float | None:
        before, now = self.before[name], self.now[name]
        return None if before is None or now is None else round(now - before, SHOWN_DECIMALS)

    def json(self) -> JsonObject:
        found, significance = self.significance, None
        if found:
            significance = {"test": "paired randomisation", "metric": TESTED, **to_json(found)}
            significance["difference"] = round(found.difference, SHOWN_DECIMALS)
            significance["p"] = round(found.p, SHOWN_DECIMALS)
        return {
            "common": self.common,
            "metrics": {
                name: {"before": self.before[name], "now": now, "delta": self.delta(name)}
                for name, now in self.now.items()
            },
            "significance": significance,
            "better": [one.json() for one in self.better],
            "worse": [one.json() for one in self.worse],
            "added": list(self.added),
            "removed": list(self.removed),
            "rejudged": list(self.rejudged),
        }


def compare(
    before: Sequence[QueryOutcome], now: Sequence[QueryOutcome], depth: int | None = None
) -> RunComparison:
    """Compare the outcomes of two evaluations in their first *depth* matches, `None` for all."""
    then = {one.id: one for one in before}
    pairs = [
        QueryChange(
            replace(then[one.id], matches=then[one.id].matches[:depth]),
            replace(one, matches=one.matches[:depth]),
        )
        for one in now
        if one.id in then
    ]
    same, rejudged, gains = [], [], []
    for pair in pairs:
        if set(pair.before.judged) != set(pair.now.judged):
            rejudged.append(pair.now.id)
            continue
        same.append(pair)
        (after, rank_after), (prior, rank_prior) = _goodness(pair.now), _goodness(pair.before)
        gains.append((pair, (after - prior, rank_after - rank_prior)))
    gains.sort(key=lambda one: tuple(map(abs, one[1])), reverse=True)
    measure = RANKING[TESTED]
    differences = [
        measure(pair.now) - measure(pair.before) for pair in same if not pair.now.is_answerless
    ]
    ids = {one.id for one in now}
    return RunComparison(
        common=len(same),
        before=figures([pair.before for pair in same]),
        now=figures([pair.now for pair in same]),
        better=tuple(pair for pair, gain in gains if gain > (0, 0)),
        worse=tuple(pair for pair, gain in gains if gain < (0, 0)),
        added=tuple(one.id for one in now if one.id not in then),
        removed=tuple(one.id for one in before if one.id not in ids),
        rejudged=tuple(rejudged),
        significance=paired_randomisation(differences) if differences else None,
    )


def _goodness(one: QueryOutcome) -> tuple[float, float]:
    """Rate an outcome: by nDCG@5, then by rank; by its doubt where nothing answers the query."""
    if one.ndcg is None:
        return float(is_abstaining(one)), 0.0
    return one.ndcg, reciprocal_rank(one.hits)


def compare_hints(
    engine: Engine,
    tool: str,
    hints: Hints,
    judgements: Judgements,
    *,
    include_disabled: bool = False,
) -> RunComparison:
    """Compare what judged queries find now, and with *hints* added to *tool*."""
    changed = engine.with_hints(tool, hints)
    before, now = (
        evaluate(one, judgements, include_disabled=include_disabled) for one in (engine, changed)
    )
    return compare(before.outcomes, now.outcomes)


Kind = TypeVar("Kind")

_REMEDY = "make one with `mcpg eval QUERIES --format json -o FILE`"


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier evaluation.

    Attributes:
        limit: The most matches that it considered for a query.
    """

    outcomes: tuple[QueryOutcome, ...]
    limit: int


def read_baseline(path: Path | str) -> Baseline:
    """Read an earlier evaluation from its report as JSON.

    A file that cannot be read, or is not such a report, is an `InputError`.
    """
    place = text_of_path(path)
    text = decode(read_bytes(path, MAX_BYTES), place)
    values = parse_json_documents(text, place) if text.strip() else []
    report = values[0] if len(values) == 1 else None
    message = f"is not a report of `mcpg eval` (its schema is not {SCHEMA!r})"
    if isinstance(report, dict) and report.get("schema") == SCHEMA:
        try:
            outcomes = tuple(map(_read_outcome, _get(report, "perQuery", list)))
            limit = _get(report, "limit", int)
            if not isinstance(limit, bool) and limit >= 1:
                return Baseline(outcomes, limit)
            message = "is a damaged report: a 'limit' is not a number of matches"
        except _DamagedReportError as fault:
            message = f"is a damaged report: {fault}"
    raise InputError(message, place=place, remedy=_REMEDY)


class _DamagedReportError(Exception):
    """Something is not as `mcpg eval` writes it."""


def _read_outcome(entry: JsonValue) -> QueryOutcome:
    name, query = _get(entry, "id", str), _get(entry, "query", str)
    judged, relevant, unknown = (
        tuple(_get({key: one}, key, str) for one in _get(entry, key, list))
        for key in ("judged", "relevant", "unknown")
    )
    matches = []
    for match in _get(entry, "matches", list):
        score = _get(match, "score", object)
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise _DamagedReportError("a 'score' is missing or of the wrong kind")
        if not 0 <= score <= 1:
            raise _DamagedReportError("a 'score' is not between 0 and 1")
        tool_id, is_relevant = _get(match, "toolId", str), _get(match, "isRelevant", bool)
        matches.append(JudgedMatch(tool_id, float(score), is_relevant))
    if judged and not relevant and not unknown:
        raise _DamagedReportError("a judged query has neither 'relevant' nor 'unknown'")
    return QueryOutcome(name, query, judged, relevant, unknown, tuple(matches))


def _get(entry: JsonValue, key: str, kind: type[Kind]) -> Kind:
    if not isinstance(entry, dict):
        raise _DamagedReportError("an entry is not an object")
    value = entry.get(key)
    if not isinstance(value, kind):
        raise _DamagedReportError(f"a {key!r} is missing or of the wrong kind")
    return value
