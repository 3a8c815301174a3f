"""Reports in a real browser."""

from __future__ import annotations

import functools
import http.server
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hostile import TEXTS, hostile, hostile_evaluation

from mcpg.show.reports import eval_page, explain_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from browser import Browser

TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"
LEFT, UP, RIGHT, DOWN = "\ue012", "\ue013", "\ue014", "\ue015"
NODE_IN_FOCUS = "return Number(document.activeElement.dataset.node ?? -1)"


@pytest.fixture
def report(explained: dict[str, Any], tmp_path: Path) -> Path:
    """The report on a real search."""
    file = tmp_path / "report.html"
    file.write_text(explain_page(explained), "utf-8", newline="\n")
    return file


@pytest.fixture
def hostile_report(explained: dict[str, Any], tmp_path: Path) -> Path:
    """The report on a catalogue of which every text is an attack."""
    file = tmp_path / "hostile.html"
    file.write_text(explain_page(hostile(explained)), "utf-8", newline="\n")
    return file


@pytest.fixture
def eval_report(evaluated: dict[str, Any], tmp_path: Path) -> Path:
    """The report on real judged queries."""
    file = tmp_path / "eval.html"
    file.write_text(eval_page(evaluated), "utf-8", newline="\n")
    return file


@pytest.fixture
def hostile_eval_report(evaluated: dict[str, Any], tmp_path: Path) -> Path:
    """The report on judged queries of which every text is an attack."""
    file = tmp_path / "hostile-eval.html"
    file.write_text(eval_page(hostile_evaluation(evaluated)), "utf-8", newline="\n")
    return file


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """An HTTP server for the folder: its address, and the paths it is asked for."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    handler = functools.partial(Handler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_everything_is_drawn(browser: Browser, report: Path, explained: dict[str, Any]) -> None:
    """The graph has a node for each tool and an edge for each reason; each match has its bar."""
    browser.open(report.as_uri())
    matched = {one["toolId"] for one in explained["matches"]}
    needed = [one for one in explained["prerequisites"] if one["toolId"] not in matched]
    reached = [*needed, *explained["relatedMatches"], *explained["nextStepMatches"]]
    assert browser.count(".node.prerequisite") == len(needed) > 0
    assert browser.count(".node.primary") == len(explained["matches"])
    assert browser.count(".node.related") == len(explained["relatedMatches"])
    assert browser.count(".node.nextStep") == len(explained["nextStepMatches"])
    assert browser.count(".edge path") == len(explained["matches"]) + len(reached)
    drawn = browser.run(
        "return [...document.querySelectorAll('.edge')]"
        ".map((edge) => [...edge.querySelectorAll('text')].map((one) => one.textContent).join(' '))"
    )
    assert {one["via"]["reason"] for one in reached} <= set(drawn)
    widths = browser.run(
        "return [...document.querySelectorAll('.stack')].map((bar) =>"
        " [...bar.querySelectorAll('rect')].reduce((sum, one) =>"
        " sum + one.getBoundingClientRect().width, 0) / bar.getBoundingClientRect().width)"
    )
    rows = [
        [part["contribution"] for part in match["contributions"]] for match in explained["matches"]
    ]
    most = max(sum(one for one in row if one > 0) for row in rows)
    least = min(sum(one for one in row if one < 0) for row in rows)
    assert widths == pytest.approx([sum(map(abs, row)) / (most - least) for row in rows], abs=0.01)
    assert browser.complaints() == []


@pytest.mark.parametrize("place", ["file", "server"])
@pytest.mark.parametrize("name", ["report", "hostile_report", "eval_report", "hostile_eval_report"])
def test_nothing_is_fetched_and_nothing_is_run(
    browser: Browser,
    served: tuple[str, list[str]],
    place: str,
    name: str,
    request: pytest.FixtureRequest,
) -> None:
    """Opened from a disk or a server, a report asks for itself alone and breaks no rule."""
    file: Path = request.getfixturevalue(name)
    server, asked = served
    address = file.as_uri() if place == "file" else f"{server}/{file.name}"
    browser.open(address)
    browser.resize(700)
    assert [one for one in browser.requests() if not one.startswith("data:")] == [address]
    assert asked == ([] if place == "file" else [f"/{file.name}"])
    assert browser.complaints() == []
    assert browser.run("return typeof window.pwned") == "undefined"
    assert browser.count("img, iframe, object, embed, body [onerror], body [onload]") == 0


def test_hostile_texts_are_shown_as_they_are(browser: Browser, hostile_report: Path) -> None:
    """What looks like markup is text on the page; what hides or reorders text is visible."""
    browser.open(hostile_report.as_uri())
    assert browser.count(".node.primary") == len(TEXTS)
    names = browser.run("return [...document.querySelectorAll('h3 bdi')].map(e => e.textContent)")
    assert set(TEXTS[:9]) <= set(names)
    assert {"\\u{202e}evitceles\\u{202c}", "a\\u{2028}b\\u{2029}c", "\\u{d800}lone"} <= set(names)
    for width in (1280, 390):
        browser.resize(width)
        assert browser.run("return document.documentElement.scrollWidth") <= width


def test_the_policy_holds_even_against_a_script_on_the_page(browser: Browser, report: Path) -> None:
    """A script that got onto the page could neither fetch nor be run."""
    browser.open(report.as_uri())
    browser.run(
        "const one = document.createElement('img'); one.src = 'http://127.0.0.1:9/leak';"
        "document.body.append(one);"
        "const two = document.createElement('link'); two.rel = 'stylesheet';"
        "two.href = 'http://127.0.0.1:9/leak.css'; document.head.append(two);"
    )
    browser.resize(1200)
    noticed = browser.run("return window.noticed")
    assert any(one.startswith("img-src") for one in noticed)
    assert any(one.startswith("style-src") for one in noticed)
    with pytest.raises(Exception, match="TrustedHTML"):
        browser.run("document.body.innerHTML = '<b>x</b>'")


def test_the_keyboard_reaches_everything(browser: Browser, report: Path) -> None:
    """Tab comes to a skip link first and later into the graph; arrows, Enter and Escape work."""
    browser.open(report.as_uri())
    browser.press(TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    assert browser.run("return document.activeElement.getBoundingClientRect().left >= 0")
    for _ in range(30):
        browser.press(TAB)
        if browser.run(NODE_IN_FOCUS) == 0:
            break
    assert browser.run(NODE_IN_FOCUS) == 0
    ring = browser.run("return getComputedStyle(document.activeElement.firstChild).stroke")
    assert ring not in {"", "none"}
    browser.press(RIGHT)
    assert browser.run(NODE_IN_FOCUS) == 1
    browser.press(DOWN)
    assert browser.run(NODE_IN_FOCUS) == 2
    browser.press(UP, RIGHT)
    reached = browser.run(NODE_IN_FOCUS)
    assert reached > 5
    browser.press(ENTER)
    assert browser.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    told = browser.run("return document.getElementById('graph-details').textContent")
    assert (
        browser.run("return document.activeElement.getAttribute('aria-label')").split()[0] in told
    )
    browser.press(ESCAPE)
    assert browser.run("return document.activeElement.getAttribute('aria-pressed')") == "false"
    browser.press(LEFT, LEFT)
    assert browser.run(NODE_IN_FOCUS) == 0
    browser.press(TAB)
    assert browser.run(NODE_IN_FOCUS) == -1


def test_the_graph_moves_and_zooms(browser: Browser, report: Path) -> None:
    """Buttons and keys zoom, dragging moves, and the page keeps the wheel."""
    from selenium.webdriver import ActionChains  # noqa: PLC0415 - the browser is optional
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    browser.open(report.as_uri())
    transform = "return document.querySelector('.canvas svg > g').getAttribute('transform')"
    scale = "return d3.zoomTransform(document.querySelector('.canvas svg')).k"
    first, size = browser.run(transform), browser.run(scale)
    canvas = browser.driver.find_element(By.CSS_SELECTOR, ".canvas svg")
    browser.run("document.getElementById('graph').scrollIntoView()")
    drag = ActionChains(browser.driver).move_to_element_with_offset(canvas, -200, 120)
    drag.click_and_hold().move_by_offset(60, 20).release().perform()
    assert browser.run(transform) != first
    assert browser.run(scale) == size
    browser.driver.find_element(By.ID, "graph-in").click()
    browser.driver.execute_async_script("setTimeout(arguments[0], 400)")
    assert browser.run(scale) == pytest.approx(size * 1.3)


@pytest.mark.parametrize("name", ["report", "eval_report"])
def test_names_and_roles_are_told(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    """Each node, bar and table has a name for those who hear the page."""
    browser.open(request.getfixturevalue(name).as_uri())
    unnamed = browser.run(
        "return [...document.querySelectorAll('[role], button, select, nav, section, article')]"
        ".filter((one) => !one.getAttribute('aria-label') && !one.getAttribute('aria-labelledby')"
        " && !one.closest('label') && !(one.matches('button, [role=status], article')"
        " && one.textContent.trim())).map((one) => one.outerHTML.slice(0, 80))"
    )
    assert unnamed == []
    assert browser.run("return document.documentElement.lang") == "en"
    identities = browser.run("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(identities) == len(set(identities))


def test_dark_and_light(browser: Browser, report: Path) -> None:
    """A report follows the wish of the system, and the choice of its reader before that."""
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.open(report.as_uri())
    light = browser.run(ground)
    browser.prefer("dark")
    dark = browser.run(ground)
    assert dark != light
    choose = (
        "const box = document.getElementById('theme'); box.value = '{}';"
        "box.dispatchEvent(new Event('change'))"
    )
    browser.run(choose.format("light"))
    assert browser.run(ground) == light
    browser.prefer("light")
    browser.run(choose.format("dark"))
    assert browser.run(ground) == dark


@pytest.mark.parametrize("name", ["report", "eval_report"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(
    browser: Browser, scheme: str, name: str, request: pytest.FixtureRequest
) -> None:
    """Text has at least the contrast of 4.5 that WCAG 2.2 asks for, in both themes."""
    browser.prefer(scheme)
    browser.open(request.getfixturevalue(name).as_uri())
    weak = browser.run(CONTRAST)
    assert weak == []


CONTRAST = """
const light = (color) => {
  const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (one) => {
  for (; one; one = one.parentElement) {
    const color = getComputedStyle(one).backgroundColor;
    if (!/, 0\\)$/.test(color)) return color;
  }
  return "rgb(255, 255, 255)";
};
const weak = new Set();
for (const one of document.querySelectorAll("main *, header *, footer *")) {
  const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || one.closest("svg") || !one.getClientRects().length) continue;
  const [a, b] = [light(getComputedStyle(one).color), light(ground(one))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) weak.add(`${one.tagName} ${one.className}: ${contrast.toFixed(2)}`);
}
return [...weak];
"""


@pytest.mark.parametrize("width", [1440, 1280, 900, 390])
def test_nothing_overlaps_or_overflows(browser: Browser, report: Path, width: int) -> None:
    """At any width nodes and labels of the graph keep apart; no page scrolls sideways."""
    browser.open(report.as_uri())
    browser.resize(width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    boxes = browser.run(
        "return [...document.querySelectorAll('.node .box, .edge text')].map((one) => {"
        " const box = one.getBoundingClientRect();"
        " return [box.left, box.top, box.right, box.bottom]; })"
    )
    assert [
        (one, other)
        for place, one in enumerate(boxes)
        for other in boxes[:place]
        if min(one[2], other[2]) - max(one[0], other[0]) > 1
        and min(one[3], other[3]) - max(one[1], other[1]) > 3
    ] == []


def test_paper_shows_everything(browser: Browser, report: Path) -> None:
    """Printed, what is folded is open and the whole graph is there."""
    browser.open(report.as_uri())
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.count("details:not([open])") == 0
    assert browser.run("return document.querySelector('.canvas svg').hasAttribute('viewBox')")
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.count("details:not([open])") > 0
    assert not browser.run("return document.querySelector('.canvas svg').hasAttribute('viewBox')")


def test_a_report_without_matches_is_one(
    browser: Browser, explained: dict[str, Any], tmp_path: Path
) -> None:
    """Where nothing matches, the page says so and the graph is the query alone."""
    lists = ("matches", "relatedMatches", "nextStepMatches", "prerequisites")
    nothing: dict[str, Any] = {name: [] for name in lists}
    file = tmp_path / "empty.html"
    file.write_text(explain_page(explained | nothing), "utf-8", newline="\n")
    browser.open(file.as_uri())
    assert browser.count(".node") == 1
    assert "No tool matches" in browser.run("return document.body.textContent")
    assert browser.complaints() == []
