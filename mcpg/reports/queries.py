"""Every judged query of an evaluation, in a table that a script sorts, filters and turns over.

A report may hold thousands of queries. They go into the page as data, tools named by number, and
the script writes the rows of one leaf at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.reports.markup import Markup, element, joined
from mcpg.reports.page import Section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
