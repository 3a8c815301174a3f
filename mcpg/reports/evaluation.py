"""The report of `eval`: how well judged queries are answered, and how far scores may be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.reports.explain import comparison_section
from mcpg.reports.page import (
    Markup,
    Section,
    asset,
    coverage_curve,
    element,
    facts,
    joined,
    meter,
    notices,
    number,
    page,
    reliability_diagram,
    signed,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# SECTION queries: Every judged query of an evaluation, in a table that a script sorts, filters and
# turns over.
#
# A report may hold thousands of queries. They go into the page as data, tools named by number, and
# the script writes the rows of one leaf at a time.


_COLUMNS = (
    ("query", "Query", None),
    ("ndcg", "nDCG@5", "num"),
    ("rank", "Rank", "num"),
    ("top", "Best score", "num"),
    (None, "Found first", None),
    (None, "Right", None),
)
_FILTERS = (
    ("all", "All"),
    ("missed", "Right tool not found"),
    ("late", "Right tool found, not first"),
    ("first", "Right tool first"),
    ("unsure", f"Best score below {LOW_CONFIDENCE:g}"),
    ("surely-wrong", f"Wrong at {LOW_CONFIDENCE:g} or more"),
    ("answerless", "No tool answers"),
)
_CHANGES = (("worse", "Worse than the baseline"), ("better", "Better than the baseline"))


def queries_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Give what the script shows of *data*, an object of the schema `mcpg/eval/1`; worst first."""
    outcomes = sorted(data["perQuery"], key=_badness)
    numbers: dict[str, int] = {}
    rows = [_row(one, numbers) for one in outcomes]
    return {
        "low": LOW_CONFIDENCE,
        "tools": list(numbers),
        "queries": rows,
        **{name: [one["id"] for one in _changed(data, name)] for name, _ in _CHANGES},
    }


def _changed(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    changes: Sequence[Mapping[str, Any]] = (data["baseline"] or {}).get(name, ())
    return changes


def _badness(one: Mapping[str, Any]) -> tuple[float, float, float, str]:
    """Order answers, worst first: by nDCG@5, by rank, and the surer ones first.

    A query that no tool answers is answered best by doubt.
    """
    goodness = one["ndcg@5"]
    if goodness is None:
        goodness = float(one["topScore"] < LOW_CONFIDENCE)
    return goodness, 1 / one["rank"] if one["rank"] else 0.0, -one["topScore"], one["id"]


def _row(one: Mapping[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
    def numbered(tool: str) -> int:
        return numbers.setdefault(tool, len(numbers))

    return {
        "id": one["id"],
        "query": one["query"],
        "ndcg": one["ndcg@5"],
        "rank": one["rank"],
        "top": one["topScore"],
        "relevant": [numbered(tool) for tool in one["relevant"]],
        "unknown": one["unknown"],
        "answerless": not one["judged"],
        "matches": [
            [numbered(match["toolId"]), match["score"], int(match["isRelevant"])]
            for match in one["matches"]
        ],
    }


def queries_section(data: Mapping[str, Any]) -> Section:
    """Give the frame that the script fills."""
    changes = [one for one in _CHANGES if _changed(data, one[0])]
    content = joined(
        _tools([*_FILTERS, *changes]),
        element(
            "div",
            element(
                "table",
                element("caption", "Judged queries"),
                element("thead", element("tr", [_heading(*one) for one in _COLUMNS])),
                element("tbody", id="query-rows"),
            ),
            class_="frame",
            tabindex="0",
            role="region",
            aria_label="Judged queries",
        ),
        _leaves(),
        element("noscript", element("p", "This table needs JavaScript.")),
    )
    lead = "Worst first. Sort by a heading; unfold a query for what was found."
    return Section("queries", "Queries", content, lead)


def _tools(filters: Sequence[tuple[str, str]]) -> Markup:
    options = [element("option", name, value=value) for value, name in filters]
    return element(
        "form",
        element(
            "label",
            "Find ",
            element("input", type="search", id="query-find", autocomplete="off", size=24),
        ),
        element("label", "Show ", element("select", options, id="query-show", autocomplete="off")),
        element("p", id="query-count", role="status", class_="dim"),
        class_="filters no-print",
        role="search",
        aria_label="Choose queries",
        id="query-filters",
    )


def _heading(key: str | None, name: str, kind: str | None) -> Markup:
    if key is None:
        return element("th", name, scope="col", class_=kind)
    button = element("button", name, type="button", data_sort=key)
    return element("th", button, scope="col", class_=kind, aria_sort="none")


def _leaves() -> Markup:
    return element(
        "div",
        element("button", "← Previous", type="button", id="query-previous"),
        element("span", id="query-leaf", class_="dim"),
        element("button", "Next →", type="button", id="query-next"),
        class_="leaves no-print",
        role="group",
        aria_label="Leaves of the table",
    )


_MAIN = "ndcg@5"
_MEANINGS = {
    "ndcg@5": "right tools high among the first 5",
    "ndcg@10": "right tools high among the first 10",
    "recall@1": "share of the right tools at rank 1",
    "recall@5": "share of the right tools among the first 5",
    "mrr": "mean of 1 / rank of the first right tool",
    "hit@1": "queries whose first match is right",
    "hit@5": "queries with a right match among the first 5",
}
_GATES = {"min": "at least", "max": "at most", "max-drop": "fell at most"}


def eval_page(data: Mapping[str, Any]) -> str:
    """Give the report on *data*, an object of the schema `mcpg/eval/1`, as HTML text."""
    sections = [
        *_gates(data),
        Section("figures", "Figures", _figures(data), "Means over the queries; more is better."),
        *comparison_section(data["baseline"]),
        Section(
            "trust",
            "Are the scores probabilities?",
            _trust(data),
            "A score of 0.8 should be right in 8 of 10 cases, and higher scores right more often.",
        ),
        queries_section(data),
        *_noticed(data),
    ]
    return page(
        "eval",
        f"{_MAIN} {_told(data['metrics'][_MAIN])} over {_counted(data)} · mcpg eval",
        _head(data),
        sections,
        data=queries_data(data),
        scripts=[asset("table.js")],
    )


def _counted(data: Mapping[str, Any]) -> str:
    count = data["queries"]
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def _told(value: float | None) -> str:
    return "–" if value is None else number(value)


def _head(data: Mapping[str, Any]) -> Markup:
    main = data["metrics"][_MAIN]
    failed = sum(not gate["passed"] for gate in data["gates"])
    return element(
        "div",
        element("p", "Judged queries", class_="kicker"),
        element("h1", f"{_counted(data)} answered from {data['tools']:,} tools"),
        element(
            "p",
            element("span", _told(main), class_="big"),
            meter(main or 0.0, f"{_MAIN} {_told(main)} of 1", "meter wide"),
            element("span", _MAIN),
            _verdict(failed, len(data["gates"])),
            class_="verdict",
        ),
        facts(
            [
                ("Strategy", _way(data)),
                ("Matches looked at", str(data["limit"])),
                ("Without an answer", str((data["abstention"] or {}).get("queries", 0))),
            ]
        ),
        class_="head",
    )


def _way(data: Mapping[str, Any]) -> str:
    """Say how queries were searched."""
    fusion = f", fusion {data['fusion']}" if data["fusion"] else ""
    return f"{data['strategy']}{fusion}{', normalized' if data['normalize'] else ''}"


def _verdict(failed: int, gates: int) -> Markup | None:
    if not gates:
        return None
    told = f"{failed} of {gates} gates fail" if failed else "all gates pass"
    return element("span", told, class_="pill bad" if failed else "pill good")


def _gates(data: Mapping[str, Any]) -> list[Section]:
    if not data["gates"]:
        return []
    rows = [
        (
            element("span", "passes", class_="pill good")
            if gate["passed"]
            else element("span", "fails", class_="pill bad"),
            gate["metric"],
            _GATES.get(gate["kind"], gate["kind"]),
            f"{gate['limit']:g}",
            "cannot be measured"
            if gate["value"] is None
            else number(gate["value"], 4).replace("-", "−"),
        )
        for gate in sorted(data["gates"], key=lambda gate: gate["passed"])
    ]
    columns = ("Gate", "Figure", "Asked", "Limit", "Value")
    content = table("Gates", columns, rows, numeric="---nn")
    return [Section("gates", "Gates", content, "What was asked of the figures.")]


def _figures(data: Mapping[str, Any]) -> Markup:
    compared = (data["baseline"] or {}).get("metrics", {})
    tiles = [
        _tile(name, value, _MEANINGS.get(name, ""), compared.get(name))
        for name, value in data["metrics"].items()
    ]
    return element("ul", tiles, class_="tiles")


def _tile(
    name: str, value: float | None, meaning: str, compared: Mapping[str, Any] | None
) -> Markup:
    return element(
        "li",
        element("span", name, class_="name"),
        element("span", _told(value), class_="big"),
        _delta(compared),
        meter(value or 0.0, f"{name} {_told(value)} of 1"),
        element("small", meaning),
        class_="tile",
    )


def _delta(compared: Mapping[str, Any] | None) -> Markup | None:
    delta = (compared or {}).get("delta")
    if delta is None:
        return None
    kind = "good" if delta > 0 else "bad" if delta < 0 else "dim"
    told = "change over the queries that the baseline has, too"
    return element("span", signed(delta) if delta else "=", class_=f"delta {kind}", title=told)


def _trust(data: Mapping[str, Any]) -> Markup:
    calibration = data["calibration"]
    return joined(
        facts(_trust_facts(data)),
        element(
            "div",
            element(
                "figure",
                reliability_diagram(calibration["bins"]),
                element(
                    "figcaption",
                    "Reliability. On the dashed line scores are what they claim; below it they "
                    "promise too much, above it too little. Larger marks stand for more queries.",
                ),
            ),
            element(
                "figure",
                coverage_curve(calibration["curve"], LOW_CONFIDENCE),
                element(
                    "figcaption",
                    "Precision and coverage. Who takes only answers that score at least a "
                    "threshold, the number beside the curve, gets fewer answers and more of them "
                    f"right. The large mark is {LOW_CONFIDENCE:g}, below which a search warns.",
                ),
            ),
            class_="figures",
        ),
        element(
            "details",
            element("summary", "The same as tables"),
            element("div", _bins(calibration), _curve(calibration), class_="columns"),
        ),
    )


def _trust_facts(data: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    calibration, abstention = data["calibration"], data["abstention"]
    latency = data["latencyMs"]
    rows = [
        ("Calibration error (ECE, 0 is best)", _told(calibration["ece"])),
        ("Brier score (0 is best)", _told(calibration["brier"])),
        ("AUROC, right against wrong", _told(calibration["aurocRightVsWrong"])),
        ("AUROC, right against no answer", _known(calibration["aurocRightVsAnswerless"])),
        ("Recognised as unanswerable", _known(abstention and abstention["share"])),
    ]
    if latency:
        rows.append(("Half of the searches within", f"{number(latency['p50'])} ms"))
        rows.append(("95 % of the searches within", f"{number(latency['p95'])} ms"))
    return rows


def _known(value: float | None) -> str | None:
    return None if value is None else number(value)


def _bins(calibration: Mapping[str, Any]) -> Markup:
    rows = [
        (
            f"{one['low']:.3f} to {one['high']:.3f}",
            str(one["count"]),
            _told(one["meanScore"]),
            _told(one["precision"]),
        )
        for one in calibration["bins"]
    ]
    columns = ("Scores", "Queries", "Mean score", "Right")
    return table("Reliability by bins of scores", columns, rows, numeric="-nnn")


def _curve(calibration: Mapping[str, Any]) -> Markup:
    rows = [
        (f"{one['threshold']:g}", _told(one["coverage"]), _told(one["precision"]))
        for one in calibration["curve"]
    ]
    columns = ("Threshold", "Coverage", "Precision")
    return table("Precision by coverage", columns, rows, numeric="nnn")


def _noticed(data: Mapping[str, Any]) -> list[Section]:
    items = data["diagnostics"]
    if not items:
        return []
    lead = "What was noticed of the bundle, of the judged queries, and of the tools they name."
    return [Section("diagnostics", "Diagnostics", notices(items), lead)]
