"""A report of `mcpg eval` as text: the figures at a glance, then the queries to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.markdown import code, table
from mcpg.cli.output import glyphs_of_standard_output
from mcpg.cli.terminal import counted, cut, one_line, pad, width
from mcpg.evaluation.metrics import RANKING, is_abstaining, reciprocal_rank, reliability_bins
from mcpg.evaluation.report import CHANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.cli.views.matches import View
    from mcpg.evaluation.metrics import Outcome
    from mcpg.evaluation.report import Change, Comparison, Report

_INDENT = "    "
_BAR = 24
_FOUND_SHOWN = 3
_CHANGES_SHOWN = 10
_ID_COLUMNS = 24
_MEANINGS = {
    "ece": "how far scores are from the share that is right (0 is best)",
    "brier": "mean squared error of scores (0 is best)",
    "auroc": "chance that a right answer scores above a wrong one",
    "abstention": "share of the queries without an answer that are recognised",
}


def eval_text(report: Report, view: View, *, worst: int | None, timings: bool) -> str:
    """Give a report as text.

    Args:
        report: The report.
        view: What it is laid out for.
        worst: How many of the queries that are answered worst to show; `None` shows all.
        timings: Whether to tell how long searches took.
    """
    blocks = [
        [f"evaluated: {summary(report)}"],
        _figures(report, view),
        _reliability(report, view),
        _latency(report, view) if timings else [],
        _compared(report.baseline, view) if report.baseline else [],
        _queries(report, view, worst),
        _gates(report, view),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def summary(report: Report) -> str:
    """Say what was measured."""
    answerless, unknown = len(report.answerless), len(report.unknown_tools)
    asides = [
        f"{answerless} without an answer" if answerless else "",
        f"{counted(unknown, 'tool')} unknown" if unknown else "",
    ]
    told = ", ".join(filter(None, asides))
    aside = f" ({told})" if told else ""
    return (
        f"{counted(len(report.outcomes), 'query', 'queries')}{aside}, "
        f"{counted(report.tools, 'tool')}, strategy {report.way}, "
        f"first {report.limit} matches"
    )


def headline(report: Report) -> str:
    """Give the figures that matter most on one line."""
    shown = [f"{name} {figure_text(report.figures[name])}" for name in ("ndcg@5", "hit@1", "ece")]
    return f"{counted(len(report.outcomes), 'query', 'queries')}, {', '.join(shown)}"


def figure_text(value: float | None) -> str:
    """Give a figure as it is printed."""
    return "-" if value is None else f"{value:.4f}"


def delta_text(value: float | None) -> str:
    """Give the change of a figure as it is printed."""
    return "" if value is None else f"{value:+.4f}" if value else "="


def rank_text(rank: int | None) -> str:
    """Give a rank as it is printed."""
    return "-" if rank is None else str(rank)


def chosen(report: Report, worst: int | None) -> list[Outcome]:
    """Give the queries to show: all, or the *worst*, worst first, of those not answered best."""
    if worst is None:
        return list(report.outcomes)
    faulty = [one for one in report.outcomes if not is_best(one)]
    return sorted(faulty, key=_badness)[:worst]


def is_best(one: Outcome) -> bool:
    """Tell whether an answer could not be better."""
    return is_abstaining(one) if one.ndcg is None else one.ndcg == 1


def verdict(comparison: Comparison) -> str:
    """Say in one line how nDCG@5 changed and whether that may be chance."""
    found = comparison.significance
    if found is None:
        return "no query is in both reports"
    chance = "may be chance" if found.p >= CHANCE else "hardly chance"
    return (
        f"ndcg@5 {delta_text(comparison.delta('ndcg@5'))} over "
        f"{counted(comparison.common, 'query', 'queries')} in both reports, "
        f"p = {found.p:.4f}: {chance}"
    )


def _badness(one: Outcome) -> tuple[float, float, float]:
    """Order answers, worst first: by nDCG@5, by rank, and the surer ones first."""
    goodness = 0.0 if one.ndcg is None else one.ndcg
    return goodness, reciprocal_rank(one.hits), -one.top_score


def _figures(report: Report, view: View) -> list[str]:
    lines = [view.paint("ranking", "bold")]
    lines += [_figure(report, name, view) for name in RANKING]
    lines += ["", view.paint("scores", "bold")]
    for name, meaning in _MEANINGS.items():
        if report.figures[name] is not None:
            lines.append(f"{_figure(report, name, view, bar=False)}  {view.paint(meaning, 'dim')}")
    return lines


def _figure(report: Report, name: str, view: View, *, bar: bool = True) -> str:
    value = report.figures[name]
    drawn = f"  {_bar(value or 0.0, view)}" if bar else ""
    delta = f"  {delta_text(report.baseline.delta(name)):>7}" if report.baseline else ""
    return f"{_INDENT}{name:<10}  {figure_text(value)}{drawn}{delta}".rstrip()


def _bar(share: float, view: View) -> str:
    return view.paint(glyphs_of_standard_output().bar(share, _BAR), "green")


def _reliability(report: Report, view: View) -> list[str]:
    bins = reliability_bins([one.scored for one in report.outcomes])
    lines = [
        view.paint("calibration: of the best matches with such scores, how many are right", "bold")
    ]
    lines.append(f"{_INDENT}{'scores':<13}  {'mean':>6}  {'right':>6}  {'queries':>7}")
    for one in bins:
        scores = f"{one.low:.3f}-{one.high:.3f}"
        shares = f"{one.mean_score:6.3f}  {one.precision:6.3f}  {one.count:7,}"
        lines.append(f"{_INDENT}{scores:<13}  {shares}  {_bar(one.precision, view)}".rstrip())
    return lines


def _latency(report: Report, view: View) -> list[str]:
    times = f"p50 {report.latency(0.5):.3f} ms, p95 {report.latency(0.95):.3f} ms"
    return [f"{view.paint('latency', 'bold')}  {times}"]


def _compared(comparison: Comparison, view: View) -> list[str]:
    lines = [view.paint("compared with the baseline", "bold"), f"{_INDENT}{verdict(comparison)}"]
    for name, changes in (("better", comparison.better), ("worse", comparison.worse)):
        lines += _changes(name, changes, view)
    kinds = {
        "only now": comparison.added,
        "only before": comparison.removed,
        "judged otherwise": comparison.rejudged,
    }
    for name, ids in kinds.items():
        if ids:
            shown = ", ".join(map(one_line, ids[:_CHANGES_SHOWN]))
            more = ", ..." if len(ids) > _CHANGES_SHOWN else ""
            lines.append(cut(f"{_INDENT}{name} ({len(ids)}): {shown}{more}", view.columns))
    return lines


def _changes(name: str, changes: Sequence[Change], view: View) -> Iterator[str]:
    if not changes:
        return
    yield f"{_INDENT}{name} ({len(changes)})"
    for one in changes[:_CHANGES_SHOWN]:
        ranks = f"{rank_text(one.before.rank)} → {rank_text(one.now.rank)}"
        scores = f"{figure_text(one.before.ndcg)} → {figure_text(one.now.ndcg)}"
        lead = f"{_INDENT}{_INDENT}rank {ranks:<7}  ndcg@5 {scores}  "
        yield cut(f"{lead}{_named(one.now)}", view.columns)
    if len(changes) > _CHANGES_SHOWN:
        yield f"{_INDENT}{_INDENT}... and {len(changes) - _CHANGES_SHOWN} more"


def _named(one: Outcome) -> str:
    return f"{one_line(one.id)}  {one_line(one.query)}"


def _queries(report: Report, view: View, worst: int | None) -> list[str]:
    shown = chosen(report, worst)
    if not shown:
        return []
    faulty = sum(not is_best(one) for one in report.outcomes)
    heading = "queries" if worst is None else f"worst answers ({len(shown)} of {faulty})"
    columns = min(_ID_COLUMNS, max(width(one_line(one.id)) for one in shown))
    lines = [view.paint(heading, "bold")]
    lines.append(f"{_INDENT}{'rank':>4}  {'ndcg@5':>6}  {'score':>8}  {pad('id', columns)}  query")
    for one in shown:
        lines += _query(one, view, columns)
    return lines


def _query(one: Outcome, view: View, columns: int) -> Iterator[str]:
    name = pad(cut(one_line(one.id), columns), columns)
    lead = f"{_INDENT}{rank_text(one.rank):>4}  {figure_text(one.ndcg):>6}  {one.top_score:.6f}  "
    room = view.columns - width(lead) - columns - 2
    yield f"{lead}{view.paint(name, 'cyan')}  {cut(one_line(one.query), room)}".rstrip()
    indent = " " * 10
    yield cut(f"{indent}wanted {_wanted(one)}", view.columns)
    yield cut(f"{indent}found  {_found(one)}", view.columns)


def _wanted(one: Outcome) -> str:
    names = [*one.relevant, *(f"{name} (no such tool)" for name in one.unknown)]
    return ", ".join(map(one_line, names)) or "no tool"


def _found(one: Outcome) -> str:
    shown = one.matches[:_FOUND_SHOWN]
    return ", ".join(f"{one_line(match.tool_id)} {match.score:.3f}" for match in shown) or "no tool"


def _gates(report: Report, view: View) -> list[str]:
    if not report.gates:
        return []
    lines = [view.paint("gates", "bold")]
    for gate in report.gates:
        label, style = ("passed", "green") if gate.passed else ("failed", "red")
        lines.append(f"{_INDENT}{view.paint(label, style)}  {gate.sentence}")
    return lines


# SECTION evalmarkdown: A report of `mcpg eval` as Markdown, for the summary of a job or a comment.


_CHANGES_IN_MARKDOWN = 20
_FOUND_SHOWN_of_evalmarkdown = 3


def eval_markdown(report: Report, *, worst: int | None, timings: bool) -> str:
    """Give a report as Markdown; the arguments are those of `eval_text`."""
    blocks = [
        "## mcpg eval",
        f"{_outcome(report)}{summary(report)}.",
        _figures_of_evalmarkdown(report),
        _latency_of_evalmarkdown(report) if timings else "",
        *_gates_of_evalmarkdown(report),
        *(_compared_of_evalmarkdown(report.baseline) if report.baseline else ()),
        *_queries_of_evalmarkdown(report, worst),
        *_noticed(report),
    ]
    return "\n\n".join(filter(None, blocks))


def _outcome(report: Report) -> str:
    if not report.gates:
        return ""
    failed = sum(not gate.passed for gate in report.gates)
    return f"**{failed} of {len(report.gates)} gates failed.** " if failed else "**Passed.** "


def _figures_of_evalmarkdown(report: Report) -> str:
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


def _latency_of_evalmarkdown(report: Report) -> str:
    return f"Latency: p50 {report.latency(0.5):.3f} ms, p95 {report.latency(0.95):.3f} ms."


def _gates_of_evalmarkdown(report: Report) -> Iterable[str]:
    if report.gates:
        rows = [["passed" if gate.passed else "**failed**", gate.sentence] for gate in report.gates]
        yield "### Gates"
        yield table(["", "gate"], rows)


def _compared_of_evalmarkdown(comparison: Comparison) -> Iterable[str]:
    yield "### Compared with the baseline"
    yield f"{verdict(comparison)}."
    for name, changes in (("Better", comparison.better), ("Worse", comparison.worse)):
        if changes:
            yield f"{name}: {len(changes)}"
            yield _changes_of_evalmarkdown(changes)
    kinds = {
        "Only in this run": comparison.added,
        "Only in the baseline": comparison.removed,
        "Judged otherwise": comparison.rejudged,
    }
    for name, ids in kinds.items():
        if ids:
            yield f"{name}: {', '.join(map(code, ids[:_CHANGES_IN_MARKDOWN]))}{_more(ids)}"


def _changes_of_evalmarkdown(changes: Sequence[Change]) -> str:
    rows = [
        [
            code(one.now.query),
            f"{rank_text(one.before.rank)} → {rank_text(one.now.rank)}",
            f"{figure_text(one.before.ndcg)} → {figure_text(one.now.ndcg)}",
        ]
        for one in changes[:_CHANGES_IN_MARKDOWN]
    ]
    return table(["query", "rank", "nDCG@5"], rows, numbers=2) + _more(changes)


def _more(items: Sequence[object]) -> str:
    left = len(items) - _CHANGES_IN_MARKDOWN
    return f"\n\n... and {left} more" if left > 0 else ""


def _queries_of_evalmarkdown(report: Report, worst: int | None) -> Iterable[str]:
    shown = chosen(report, worst)
    if not shown:
        return
    faulty = sum(not is_best(one) for one in report.outcomes)
    yield "### Queries" if worst is None else f"### Worst answers ({len(shown)} of {faulty})"
    heads = ["query", "rank", "nDCG@5", "score", "wanted", "found"]
    yield table(heads, map(_query_of_evalmarkdown, shown), numbers=3)


def _query_of_evalmarkdown(one: Outcome) -> list[str]:
    wanted = [code(name) for name in one.relevant]
    wanted += [f"{code(name)} (no such tool)" for name in one.unknown]
    found = [code(match.tool_id) for match in one.matches[:_FOUND_SHOWN_of_evalmarkdown]]
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
        yield table(["code", "where", "what"], rows[:_CHANGES_IN_MARKDOWN]) + _more(rows)
