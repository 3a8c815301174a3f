from __future__ import annotations

import copy
import re
from typing import Any

from hostile import hostile_evaluation

from mcpg.show import MARK
from mcpg.show.html import coverage_curve, reliability_diagram
from mcpg.show.reports import eval_page, queries_data


def text_of(page: str) -> str:
    """Return the text of *page* without tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_a_page_is_deterministic_and_marked(evaluated: dict[str, Any]) -> None:
    """The same evaluation gives the same page, which says what it is."""
    page = eval_page(evaluated)
    assert page == eval_page(copy.deepcopy(evaluated))
    assert page.encode().startswith(MARK)
    assert "d3js" not in page


def test_every_figure_is_told(evaluated: dict[str, Any]) -> None:
    """Figures, their change, gates and calibration stand on the page."""
    told = text_of(eval_page(evaluated))
    for name, value in evaluated["metrics"].items():
        assert name in told
        assert f"{value:.4f}" in told
    for name in ("ece", "brier", "aurocRightVsWrong"):
        assert f"{evaluated['calibration'][name]:.4f}" in told
    for one in evaluated["baseline"]["metrics"].values():
        if one["delta"]:
            assert f"{one['delta']:+.4f}".replace("-", "−") in told
    assert "1 of 8 gates fail" in told
    assert "; required: at least 0.999" in told
    assert "p = " in told


def test_what_fails_stands_first(evaluated: dict[str, Any]) -> None:
    """Among gates, those that fail are seen before those that pass."""
    page = eval_page(evaluated)
    assert 0 < page.index(">failed<") < page.index(">passed<")


def test_a_plain_evaluation_has_no_empty_parts(evaluated: dict[str, Any]) -> None:
    """Without gates and baseline there is no section on them; times are told when known."""
    plain = evaluated | {"gates": [], "baseline": None, "diagnostics": [], "abstention": None}
    page = eval_page(plain)
    for anchor in ("gates", "baseline", "diagnostics"):
        assert f'href="#{anchor}"' not in page
    assert "gates" not in text_of(page.partition("<main")[2].partition("<script")[0])
    assert "Half of the searches" not in page
    timed = eval_page(plain | {"latencyMs": {"p50": 1.25, "p95": 3.5}})
    assert "1.250 ms" in timed
    assert "3.500 ms" in timed


def test_all_gates_may_pass(evaluated: dict[str, Any]) -> None:
    """When nothing fails, the head of the page says so."""
    gates = [one for one in evaluated["gates"] if one["passed"]]
    assert "all gates pass" in eval_page(evaluated | {"gates": gates})


def test_what_cannot_be_measured_is_a_dash(evaluated: dict[str, Any]) -> None:
    """Figures of nothing are no zeros."""
    nothing = evaluated | {
        "queries": 1,
        "metrics": dict.fromkeys(evaluated["metrics"]),
        "calibration": dict.fromkeys(evaluated["calibration"]) | {"bins": [], "curve": []},
        "gates": [{"kind": "min", "metric": "mrr", "limit": 0.5, "value": None, "passed": False}],
        "baseline": evaluated["baseline"]
        | {
            "significance": None,
            "metrics": {"mrr": {"before": None, "now": 0.5, "delta": None}},
            "better": [],
        },
        "perQuery": [],
    }
    told = text_of(eval_page(nothing))
    assert "1 query answered" in told
    assert "cannot be measured" in told
    assert "No query is in both reports." in told
    assert "mrr - 0.5000" in told
    assert "0.000" not in told.partition("Gates")[2].partition("Since")[0]


def test_many_changes_are_cut(evaluated: dict[str, Any]) -> None:
    """The table of changes shows the greatest and counts the rest."""
    data = copy.deepcopy(evaluated)
    one = data["baseline"]["better"][0]
    data["baseline"]["worse"] = [one | {"id": f"q{place}"} for place in range(60)]
    page = eval_page(data)
    assert "Answered worse: 60" in page
    assert "and 10 more" in page


def test_tools_are_named_once(evaluated: dict[str, Any]) -> None:
    """Data name a tool by number, so that thousands of queries stay small."""
    data = queries_data(evaluated)
    tools = data["tools"]
    assert len(tools) == len(set(tools))
    rows = {one["id"]: one for one in data["queries"]}
    for one in evaluated["perQuery"]:
        row = rows[one["id"]]
        assert [tools[number] for number in row["relevant"]] == one["relevant"]
        assert [
            {"toolId": tools[number], "score": score, "isRelevant": bool(right)}
            for number, score, right in row["matches"]
        ] == one["matches"]


def test_marks_stand_where_their_numbers_say() -> None:
    """A bin on the diagonal is drawn on the diagonal, a bin of nothing not at all."""
    bins = [
        {"low": 0.4, "high": 0.6, "meanScore": 0.5, "precision": 0.5, "count": 1},
        {"low": 0.6, "high": 1.0, "meanScore": 0.8, "precision": 0.4, "count": 4},
        {"low": 0.0, "high": 0.1, "meanScore": None, "precision": None, "count": 0},
    ]
    chart = reliability_diagram(bins)
    (first, second) = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', chart)
    across = [float(one[0]) for one in (first, second)]
    heights = [float(one[1]) for one in (first, second)]
    ideal = [
        float(one)
        for one in re.findall(
            r'<line x1="(\S+)" y1="(\S+)" x2="(\S+)" y2="(\S+)" class="ideal"', chart
        )[0]
    ]
    middle = ((ideal[0] + ideal[2]) / 2, (ideal[1] + ideal[3]) / 2)
    assert (across[0], heights[0]) == middle
    assert across[1] > across[0]
    assert heights[1] > heights[0]
    assert float(second[2]) > float(first[2])
    assert "Scores 0.40 to 0.60: 1 query, mean score 0.500, right 0.500" in chart


def test_the_curve_marks_the_default_threshold() -> None:
    """The threshold below which a search warns is seen; labels of others keep apart."""
    curve = [
        {"threshold": place / 20, "coverage": 1 - place / 20, "precision": 0.5 + place / 40}
        for place in range(20)
    ]
    chart = coverage_curve([*curve, {"threshold": 1.0, "coverage": 0.0, "precision": None}], 0.35)
    assert len(re.findall("<circle", chart)) == 20
    assert len(re.findall('class="mark default"', chart)) == 1
    assert "Threshold 0.35: 65.0% answered, 67.5% right" in chart
    assert 4 < len(re.findall('class="note"', chart)) < 20


def test_hostile_texts_leave_the_page_whole(evaluated: dict[str, Any]) -> None:
    """Hostile texts add no element: the page has the scripts it came with."""
    page = eval_page(hostile_evaluation(evaluated))
    assert page.count("<script") == 2
    assert "<img" not in page
    page.encode("utf-8")
