"""The blocks of an object of the schema `mcpg/eval/1`: an evaluation of judged queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.show.blocks import (
    Bar,
    Block,
    CodeSpan,
    Column,
    Details,
    FactList,
    Figure,
    Inline,
    Json,
    Paragraph,
    Score,
    Section,
    Styled,
    Table,
    join_inlines,
    make_columns,
)
from mcpg.values import format_count

MAIN = "ndcg@5"
CHANCE = 0.05
"""A difference may be chance when its p is at least this."""

_FOUND_SHOWN = 3
_MEANINGS = {
    "ndcg@5": "right tools high among the first 5",
    "ndcg@10": "right tools high among the first 10",
    "recall@1": "share of the right tools at rank 1",
    "recall@5": "share of the right tools among the first 5",
    "mrr": "mean of 1 / rank of the first right tool",
    "hit@1": "queries whose first match is right",
    "hit@5": "queries with a right match among the first 5",
    "ece": "how far scores are from the share that is right (0 is best)",
    "brier": "mean squared error of scores (0 is best)",
    "auroc": "chance that a right answer scores above a wrong one",
    "abstention": "share of the queries without an answer that are recognized",
}


def eval_blocks(data: Json, *, worst: int | None) -> list[Block]:
    """Return the sections on *data*, the JSON of `eval`.

    Only the *worst* queries are shown; `None` shows all.
    """
    latency = data["latencyMs"]
    times = f"p50 {latency['p50']:.3f} ms, p95 {latency['p95']:.3f} ms" if latency else ""
    return [
        Paragraph(f"evaluated: {summary(data)}"),
        metrics_section(data),
        reliability_section(data),
        FactList((("latency", times),)),
        *comparison_section(data["baseline"]),
        *_show_queries(data["perQuery"], worst),
        *gates_section(data["gates"]),
    ]


def summary(data: Json) -> str:
    """Return the data of the evaluation in a line."""
    answerless = (data["abstention"] or {}).get("queries", 0)
    unknown = len(data["unknownTools"])
    asides = [f"{answerless} without an answer"] if answerless else []
    asides += [f"{format_count(unknown, 'tool')} unknown"] if unknown else []
    aside = f" ({', '.join(asides)})" if asides else ""
    queries = format_count(data["queries"], "query", "queries")
    tools = format_count(data["tools"], "tool")
    return f"{queries}{aside}, {tools}, strategy {way(data)}, first {data['limit']} matches"


def headline(data: Json) -> str:
    """Return the main metrics on one line."""
    values = collect_metrics(data)
    names = (MAIN, "hit@1", "ece")
    shown = [f"{name} {'-' if (one := values[name]) is None else f'{one:.4f}'}" for name in names]
    return f"{format_count(data['queries'], 'query', 'queries')}, {', '.join(shown)}"


def way(data: Json) -> str:
    """Return how queries were searched."""
    fusion = f", fusion {data['fusion']}" if data["fusion"] else ""
    rewritten = ", rewritten" if data["normalize"] else ""
    without = "" if data["lexicon"] else ", without the lexicon"
    return f"{data['strategy']}{fusion}{rewritten}{without}"


def collect_metrics(data: Json) -> dict[str, float | None]:
    """Return every metric by name."""
    calibration = data["calibration"]
    return {
        **data["metrics"],
        "ece": calibration["ece"],
        "brier": calibration["brier"],
        "auroc": calibration["aurocRightVsWrong"],
        "abstention": (data["abstention"] or {}).get("share"),
    }


def metrics_section(data: Json) -> Section:
    """Return a table of the metrics, with their change since the baseline."""
    compared = (data["baseline"] or {}).get("metrics", {})
    rows = tuple(
        (
            CodeSpan(name),
            figure(value),
            Bar(value or 0.0, style="green") if name in data["metrics"] else "",
            delta((compared.get(name) or {}).get("delta")),
            Styled(_MEANINGS[name], "dim"),
        )
        for name, value in collect_metrics(data).items()
        if value is not None or name in data["metrics"]
    )
    numbers = ("value", "since the baseline")
    heads = ("metric", "value", "", "since the baseline", "meaning")
    columns = make_columns(*heads, numbers=numbers)
    return Section("figures", "Metrics", (Table("Metrics", columns, rows, wraps=True),))


def figure(value: float | None) -> Inline:
    """Return a metric, a dash where it could not be measured."""
    return "-" if value is None else Figure(value, ".4f")


def delta(value: float | None) -> Inline:
    """Return the change of a metric."""
    return "" if value is None else Figure(value, "+.4f") if value else "="


def reliability_section(data: Json) -> Section:
    """Return, for bins of scores, how many of the best matches with such scores are right."""
    rows = tuple(
        (
            f"{one['low']:.3f}-{one['high']:.3f}",
            Figure(one["meanScore"], ".3f"),
            Figure(one["precision"], ".3f"),
            f"{one['count']:,}",
            Bar(one["precision"], style="green"),
        )
        for one in data["calibration"]["bins"]
    )
    numbers = ("mean", "right", "queries")
    columns = make_columns("scores", *numbers, "", numbers=numbers)
    table = Table("Reliability by bins of scores", columns, rows, has_heads=True)
    heading = "calibration: of the best matches with such scores, how many are right"
    return Section("trust", "Calibration", (table,), heading=heading)


def gates_section(gates: Sequence[Json]) -> list[Section]:
    """Return which of the *gates* pass, none without gates."""
    rows = tuple(
        (
            Styled("passed", "green") if gate["passed"] else Styled("failed", "red"),
            gate_sentence(gate),
        )
        for gate in sorted(gates, key=lambda gate: bool(gate["passed"]))
    )
    failed = sum(not gate["passed"] for gate in gates)
    outcome = f"{failed} of {len(gates)} gates failed" if failed else "all gates passed"
    table = Table("Gates", (Column(""), Column("gate")), rows, wraps=True)
    return [Section("gates", "Gates", (Paragraph(outcome), table))] if rows else []


def gate_sentence(gate: Json) -> str:
    """Return the value of a metric and its bound as a sentence."""
    metric, value = gate["metric"], gate["value"]
    if value is None:
        return f"{metric} cannot be measured: no query provides data"
    limit, near = gate["limit"], round(value, 4)
    # A value that differs from the limit by little must not look as if it did not.
    is_near = (near < limit, near > limit) != (value < limit, value > limit)
    shown = f"{abs(value):{'.9g' if is_near else '.4f'}}"
    if gate["kind"] == "max-drop":
        fell = f"{'fell' if value >= 0 else 'rose'} by {shown}"
        return f"{metric} {fell}; at most {limit:.9g} was allowed"
    side = "at least" if gate["kind"] == "min" else "at most"
    return f"{metric} is {shown}; required: {side} {limit:.9g}"


def comparison_section(compared: Json | None, shown: int = 10) -> list[Section]:
    """Return the section on *compared*, the member `baseline` of a report; none without one."""
    if compared is None:
        return []
    found = compared["significance"]
    verdict = "No query is in both reports."
    if found is not None:
        chance = "may be chance" if found["p"] >= CHANCE else "hardly chance"
        change = compared["metrics"][MAIN]["delta"]
        queries = format_count(compared["common"], "query", "queries")
        effect = f"{MAIN} {f'{change:+.4f}' if change else '='} over {queries} in both reports"
        changed = f"{found['changed']:,} of {found['pairs']:,} changed"
        verdict = f"{effect}, {changed}, p = {found['p']:.4f} ({found['test']}): {chance}"
    blocks = (Paragraph(verdict), *list_changes(compared, shown))
    heading = "compared with the baseline"
    return [Section("baseline", "Since the baseline", blocks, heading=heading)]


def list_changes(compared: Json, shown: int = 10) -> Iterator[Block]:
    """Return what of *compared*, a comparison as JSON has it, is other than before."""
    metrics = compared["metrics"]
    rows = tuple(
        (name, figure(one["before"]), figure(one["now"]), delta(one["delta"]))
        for name, one in metrics.items()
        if one["before"] is not None or one["now"] is not None
    )
    numbers = ("before", "now", "change")
    columns = make_columns("metric", *numbers, numbers=numbers)
    queries = format_count(compared["common"], "query", "queries")
    title = f"Metrics over the {queries} in both reports"
    yield Details(title, (Table(title, columns, rows),), ())
    for name in ("better", "worse"):
        changes = compared[name]
        if changes:
            blocks = tuple(_show_changes(changes, name, shown))
            counts = Paragraph(f"{name} ({len(changes):,})")
            title = f"Answered {name}: {len(changes):,}"
            yield Details(title, blocks, (counts, *blocks), is_open=name == "worse")
    facts: list[tuple[str, Inline]] = []
    others = {"only now": "added", "only before": "removed", "judged otherwise": "rejudged"}
    for name, member in others.items():
        ids = compared[member]
        more = f" and {len(ids) - shown} more" if len(ids) > shown else ""
        if ids:
            facts.append(
                (f"{name} ({len(ids):,})", (join_inlines([*map(CodeSpan, ids[:shown])]), more))
            )
    yield FactList(tuple(facts))


def _show_changes(changes: Sequence[Json], name: str, most: int) -> Iterator[Block]:
    rows = tuple(
        (
            f"{one['rankBefore'] or '-'} → {one['rankNow'] or '-'}",
            (figure(one["ndcg@5Before"]), " → ", figure(one["ndcg@5Now"])),
            (Figure(one["topScoreBefore"], ".3f"), " → ", Figure(one["topScoreNow"], ".3f")),
            CodeSpan(one["id"]),
            CodeSpan(one["query"]),
        )
        for one in changes[:most]
    )
    columns = (
        *make_columns("rank", "nDCG@5"),
        Column("best score", is_wide=True),
        Column("id", most=24),
        Column("query"),
    )
    yield Table(f"Answered {name}", columns, rows, has_heads=True)
    if len(changes) > most:
        yield Paragraph(f"... and {len(changes) - most} more are {name}")


def _show_queries(outcomes: Sequence[Json], worst: int | None) -> list[Section]:
    faulty = [one for one in outcomes if badness(one)[0] != 1]
    shown = list(outcomes) if worst is None else sorted(faulty, key=badness)[:worst]
    rows: list[tuple[Inline, ...]] = []
    for one in shown:
        wanted: list[Inline] = [CodeSpan(name) for name in one["relevant"]]
        wanted += [(CodeSpan(name), " (no such tool)") for name in one["unknown"]]
        found: list[Inline] = [
            (CodeSpan(match["toolId"]), " ", Score(match["score"]))
            for match in one["matches"][:_FOUND_SHOWN]
        ]
        figures = (str(one["rank"] or "-"), figure(one["ndcg@5"]), Score(one["topScore"]))
        texts = (Styled(CodeSpan(one["id"]), "cyan"), CodeSpan(one["query"]))
        ends = (join_inlines(part) if part else "no tool" for part in (wanted, found))
        rows.append((*figures, *texts, *ends))
    numbers, below = ("rank", "ndcg@5", "score"), ("wanted", "found")
    columns = (
        *make_columns(*numbers, numbers=numbers),
        Column("id", most=24),
        *make_columns("query", *below, below=below),
    )
    title = "Queries" if worst is None else f"Worst answers ({len(shown)} of {len(faulty)})"
    table = Table(title, columns, tuple(rows), has_heads=True)
    return [Section("queries", title, (table,))] if rows else []


def badness(one: Json) -> tuple[float, float, float]:
    """Order answers, worst first: by nDCG@5, by rank, and the surer ones first.

    A query that no tool answers is answered best by doubt.
    """
    goodness = one["ndcg@5"]
    if goodness is None:
        goodness = float(one["topScore"] < LOW_CONFIDENCE)
    return goodness, 1 / one["rank"] if one["rank"] else 0.0, -one["topScore"]
