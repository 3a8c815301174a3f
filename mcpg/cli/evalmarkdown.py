"""A report of `mcpg eval` as Markdown, for the summary of a job or a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.evalview import (
    chosen,
    delta_text,
    figure_text,
    is_best,
    rank_text,
    summary,
    verdict,
)
from mcpg.cli.markdown import code, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.evaluation.compare import Change, Comparison
    from mcpg.evaluation.outcomes import Outcome
    from mcpg.evaluation.report import Report

_CHANGES_SHOWN = 20
_FOUND_SHOWN = 3


def eval_markdown(report: Report, *, worst: int | None, timings: bool) -> str:
    """Give a report as Markdown; the arguments are those of `eval_text`."""
    blocks = [
        "## mcpg eval",
        f"{_outcome(report)}{summary(report)}.",
        _figures(report),
        _latency(report) if timings else "",
        *_gates(report),
        *(_compared(report.baseline) if report.baseline else ()),
        *_queries(report, worst),
        *_noticed(report),
    ]
    return "\n\n".join(filter(None, blocks))


def _outcome(report: Report) -> str:
    if not report.gates:
        return ""
    failed = sum(not gate.passed for gate in report.gates)
    return f"**{failed} of {len(report.gates)} gates failed.** " if failed else "**Passed.** "


def _figures(report: Report) -> str:
    baseline = report.baseline
    heads = ["figure", "value", *(["since the baseline"] if baseline else [])]
    rows = [
        [
            code(name),
            figure_text(value),
            *([delta_text(baseline.delta(name))] if baseline else []),
        ]
        for name, value in report.figures.items()
        if value is not None
    ]
    return table(heads, rows, numbers=len(heads) - 1)


def _latency(report: Report) -> str:
    return f"Latency: p50 {report.latency(0.5):.3f} ms, p95 {report.latency(0.95):.3f} ms."


def _gates(report: Report) -> Iterable[str]:
    if report.gates:
        rows = [["passed" if gate.passed else "**failed**", gate.sentence] for gate in report.gates]
        yield "### Gates"
        yield table(["", "gate"], rows)


def _compared(comparison: Comparison) -> Iterable[str]:
    yield "### Compared with the baseline"
    yield f"{verdict(comparison)}."
    for name, changes in (("Better", comparison.better), ("Worse", comparison.worse)):
        if changes:
            yield f"{name}: {len(changes)}"
            yield _changes(changes)
    kinds = {
        "Only in this run": comparison.added,
        "Only in the baseline": comparison.removed,
        "Judged otherwise": comparison.rejudged,
    }
    for name, ids in kinds.items():
        if ids:
            yield f"{name}: {', '.join(map(code, ids[:_CHANGES_SHOWN]))}{_more(ids)}"


def _changes(changes: Sequence[Change]) -> str:
    rows = [
        [
            code(one.now.query),
            f"{rank_text(one.before.rank)} → {rank_text(one.now.rank)}",
            f"{figure_text(one.before.ndcg)} → {figure_text(one.now.ndcg)}",
        ]
        for one in changes[:_CHANGES_SHOWN]
    ]
    return table(["query", "rank", "nDCG@5"], rows, numbers=2) + _more(changes)


def _more(items: Sequence[object]) -> str:
    left = len(items) - _CHANGES_SHOWN
    return f"\n\n... and {left} more" if left > 0 else ""


def _queries(report: Report, worst: int | None) -> Iterable[str]:
    shown = chosen(report, worst)
    if not shown:
        return
    faulty = sum(not is_best(one) for one in report.outcomes)
    yield "### Queries" if worst is None else f"### Worst answers ({len(shown)} of {faulty})"
    heads = ["query", "rank", "nDCG@5", "score", "wanted", "found"]
    yield table(heads, map(_query, shown), numbers=3)


def _query(one: Outcome) -> list[str]:
    wanted = [code(name) for name in one.relevant]
    wanted += [f"{code(name)} (no such tool)" for name in one.unknown]
    found = [code(match.tool_id) for match in one.matches[:_FOUND_SHOWN]]
    return [
        code(one.query),
        rank_text(one.rank),
        figure_text(one.ndcg),
        f"{one.top_score:.3f}",
        ", ".join(wanted) or "no tool",
        ", ".join(found) or "no tool",
    ]


def _noticed(report: Report) -> Iterable[str]:
    items = [one for one in report.diagnostics if one.severity != "info"]
    if items:
        rows = [[code(one.code), code(one.place or ""), code(one.message)] for one in items]
        yield "### Noticed"
        yield table(["code", "where", "what"], rows[:_CHANGES_SHOWN]) + _more(rows)
