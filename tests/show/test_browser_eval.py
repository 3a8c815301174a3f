"""Reports of `eval` in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hostile import TEXTS, hostile_evaluation

from mcpg.show.reports import eval_page

if TYPE_CHECKING:
    from pathlib import Path

    from browser import Browser

TAB, ENTER = "\ue004", "\ue007"
IDS = "return [...document.querySelectorAll('.query-row small')].map((one) => one.textContent)"
COUNT = "return document.getElementById('query-count').textContent"
SHOW = (
    "const box = document.getElementById('query-show'); box.value = '{}';"
    "box.dispatchEvent(new Event('change'))"
)
SORT = "document.querySelector('[data-sort={}]').click()"


def opened(browser: Browser, data: dict[str, Any], folder: Path) -> Browser:
    """Open the report on *data*."""
    file = folder / "report.html"
    file.write_text(eval_page(data), "utf-8", newline="\n")
    browser.open(file.as_uri())
    return browser


def test_charts_and_rows_are_drawn(
    browser: Browser, evaluated: dict[str, Any], tmp_path: Path
) -> None:
    """A mark for each bin and each threshold, a row for each query and each metric."""
    page = opened(browser, evaluated, tmp_path)
    calibration = evaluated["calibration"]
    bins = [one for one in calibration["bins"] if one["count"]]
    steps = [one for one in calibration["curve"] if one["precision"] is not None]
    assert page.count(".chart .mark") == len(bins) + len(steps)
    assert page.count(".query-row") == len(evaluated["perQuery"])
    assert page.count("#figures tbody tr") >= len(evaluated["metrics"])
    assert page.complaints() == []


def test_the_worst_come_first(browser: Browser, evaluated: dict[str, Any], tmp_path: Path) -> None:
    """Queries whose right tool was not found, or which got a sure answer without having one."""
    page = opened(browser, evaluated, tmp_path)
    by_id = {one["id"]: one for one in evaluated["perQuery"]}
    shown = [by_id[identity] for identity in page.run(IDS)]
    grades = [
        float(one["topScore"] < 0.35) if one["ndcg@5"] is None else one["ndcg@5"] for one in shown
    ]
    assert grades == sorted(grades)
    assert grades[0] < grades[-1]


def test_headings_sort(browser: Browser, evaluated: dict[str, Any], tmp_path: Path) -> None:
    """Once up, twice down, three times as it was; the heading says which."""
    page = opened(browser, evaluated, tmp_path)
    before = page.run(IDS)
    state = "return document.querySelector('[data-sort=top]').closest('th').ariaSort"
    cells = "[...document.querySelectorAll('.query-row td:nth-child(4)')]"
    tops = f"return {cells}.map((one) => Number(one.textContent))"
    page.run(SORT.format("top"))
    assert page.run(state) == "ascending"
    assert page.run(tops) == sorted(page.run(tops))
    page.run(SORT.format("top"))
    assert page.run(state) == "descending"
    assert page.run(tops) == sorted(page.run(tops), reverse=True)
    page.run(SORT.format("top"))
    assert page.run(state) == "none"
    assert page.run(IDS) == before
    page.run(SORT.format("query"))
    queries = page.run("return [...document.querySelectorAll('.unfold')].map(e => e.textContent)")
    assert len(set(queries)) > 5
    page.run(SORT.format("query"))
    again = page.run("return [...document.querySelectorAll('.unfold')].map(e => e.textContent)")
    assert again == queries[::-1]


@pytest.mark.parametrize(
    ("name", "keeps"),
    [
        ("missed", lambda one: one["judged"] and one["rank"] is None),
        ("late", lambda one: (one["rank"] or 0) > 1),
        ("first", lambda one: one["rank"] == 1),
        ("unsure", lambda one: one["topScore"] < 0.35),
        ("surely-wrong", lambda one: one["topScore"] >= 0.35 and one["rank"] != 1),
        ("answerless", lambda one: not one["judged"]),
    ],
)
def test_filters(
    browser: Browser, evaluated: dict[str, Any], tmp_path: Path, name: str, keeps: Any
) -> None:
    """Each filter keeps what it says, and the count says how many."""
    page = opened(browser, evaluated, tmp_path)
    page.run(SHOW.format(name))
    kept = {one["id"] for one in evaluated["perQuery"] if keeps(one)}
    assert set(page.run(IDS)) == kept
    assert page.run(COUNT) == f"{len(kept)} of {len(evaluated['perQuery'])} queries"


def test_changes_since_the_baseline_can_be_chosen(
    browser: Browser, evaluated: dict[str, Any], tmp_path: Path
) -> None:
    """What is better or worse than before is a filter, too."""
    page = opened(browser, evaluated, tmp_path)
    for name in ("better", "worse"):
        changes = evaluated["baseline"][name]
        if changes:
            page.run(SHOW.format(name))
            assert set(page.run(IDS)) == {one["id"] for one in changes}
    assert evaluated["baseline"]["better"]


def test_words_find(browser: Browser, evaluated: dict[str, Any], tmp_path: Path) -> None:
    """Words typed into the box are looked for in queries, ids and tools."""
    page = opened(browser, evaluated, tmp_path)
    page.run("document.getElementById('query-find').focus()")
    page.press("shipment_status")
    page.driver.execute_async_script("setTimeout(arguments[0], 300)")
    found = page.run(IDS)
    assert 0 < len(found) < len(evaluated["perQuery"])
    page.press(" zzzz")
    page.driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert page.run(IDS) == []
    assert "No query is like this" in page.run("return document.body.textContent")


def test_a_query_unfolds_by_keyboard(
    browser: Browser, evaluated: dict[str, Any], tmp_path: Path
) -> None:
    """Enter on a query shows all that was found for it, and hides it again."""
    page = opened(browser, evaluated, tmp_path)
    page.run("document.querySelector('[data-sort=top]').focus()")
    page.press(TAB, ENTER)
    assert page.count(".unfolded") == 1
    first = page.run(IDS)[0]
    (one,) = [one for one in evaluated["perQuery"] if one["id"] == first]
    listed = page.run(
        "return [...document.querySelectorAll('.unfolded li bdi')].map(e => e.textContent)"
    )
    assert listed == [match["toolId"] for match in one["matches"]]
    page.press(ENTER)
    assert page.count(".unfolded") == 0


def test_hostile_texts_are_shown_as_they_are(
    browser: Browser, evaluated: dict[str, Any], tmp_path: Path
) -> None:
    """What looks like markup is text, folded and unfolded, and widens no page."""
    page = opened(browser, hostile_evaluation(evaluated), tmp_path)
    page.run("for (const one of document.querySelectorAll('.unfold')) one.click()")
    shown = page.run("return [...document.querySelectorAll('.unfold')].map((e) => e.textContent)")
    assert set(TEXTS[:9]) <= set(shown)
    assert page.run("return typeof window.pwned") == "undefined"
    assert page.count("img, iframe, object, embed") == 0
    for width in (1280, 390):
        page.resize(width)
        assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.complaints() == []


@pytest.mark.untraced
def test_thousands_of_queries_stay_light(
    browser: Browser, evaluated: dict[str, Any], tmp_path: Path
) -> None:
    """Only one leaf of rows is on the page at a time; all others are turned to."""
    many = [
        one | {"id": f"{place:05}"}
        for place, one in enumerate(evaluated["perQuery"] * (5000 // len(evaluated["perQuery"])))
    ]
    page = opened(browser, evaluated | {"perQuery": many}, tmp_path)
    assert page.count(".query-row") == 50
    assert page.run("return document.querySelectorAll('*').length") < 3000
    assert page.run(COUNT) == f"{len(many):,} of {len(many):,} queries"
    first = page.run(IDS)
    page.run("document.getElementById('query-next').click()")
    assert not set(first) & set(page.run(IDS))
    assert page.run("return document.getElementById('query-leaf').textContent") == "51 to 100"
    page.run("document.getElementById('query-previous').click()")
    assert page.run(IDS) == first
    assert page.run("return document.getElementById('query-previous').disabled")
    assert page.complaints() == []


@pytest.mark.parametrize("width", [1440, 900, 390])
def test_no_page_scrolls_sideways(
    browser: Browser, evaluated: dict[str, Any], tmp_path: Path, width: int
) -> None:
    """What is wider than the screen scrolls in a frame of its own; labels of charts keep apart."""
    page = opened(browser, evaluated, tmp_path)
    page.resize(width)
    assert page.run("return document.documentElement.scrollWidth") <= width
    boxes = page.run(
        "return [...document.querySelectorAll('.chart')].map((chart) =>"
        " [...chart.querySelectorAll('text')].map((one) => {"
        " const box = one.getBoundingClientRect();"
        " return [box.left, box.top, box.right, box.bottom]; }))"
    )
    assert [
        (one, other)
        for chart in boxes
        for place, one in enumerate(chart)
        for other in chart[:place]
        if min(one[2], other[2]) - max(one[0], other[0]) > 1
        and min(one[3], other[3]) - max(one[1], other[1]) > 3
    ] == []
