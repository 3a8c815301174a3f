"""The map of a catalogue in a real browser."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_tool
from hostile import TEXTS

from mcpg.bundle import assemble
from mcpg.documents.model import Link, ToolDocument
from mcpg.graph.map import framed_map, graph_page
from mcpg.graph.schema import build_network
from mcpg.graph.triples import make_triples
from mcpg.relations.edges import EdgeKind
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser import Axe, Browser

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
TAB, ENTER, ESCAPE, SPACE = "\ue004", "\ue007", "\ue00c", " "
RIGHT, LEFT, DOWN = "\ue014", "\ue012", "\ue015"
COUNT = "return document.getElementById('map-count').textContent"
CARD = "return document.querySelector('#graph-details h3')?.textContent ?? null"
LABELS = "return [...document.querySelectorAll('.labels text')].map((one) => one.textContent)"
# A map is placed and moved a little at a time: it stands when nothing changed for a few frames.
SETTLE = """
const done = arguments[0];
const canvas = document.getElementById("graph-canvas");
const shown = () => [...canvas.querySelectorAll("g, text")];
const state = () => shown().map((one) => one.outerHTML.slice(0, 99));
let last = "";
(function look() {
  const now = canvas.getAttribute("aria-busy") === "true" ? "" : state().join();
  if (now && now === last) done();
  else setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(look)), 200);
  last = now;
})();
"""
LABELLED = """
const all = document.getElementById("graph-canvas").getBoundingClientRect();
const inView = [...document.querySelectorAll(".spots .spot")].filter((one) => {
  const { left, top, right, bottom } = one.getBoundingClientRect();
  return left >= all.left && right <= all.right && top >= all.top && bottom <= all.bottom;
});
const named = inView.filter((one) => document.querySelector(`[data-of="${one.dataset.node}"]`));
return named.length / inView.length;
"""
BOXES = """
return [...document.querySelectorAll(".labels text")].map((one) => {
  const { left, top, right, bottom } = one.getBoundingClientRect();
  return [one.textContent, left, top, right, bottom];
});
"""


def catalogue(servers: int, tools: int) -> list[ToolDocument]:
    """Return *tools* tools for each of *servers* servers, with edges within and across them."""
    chance = random.Random(5)
    names = [(server, tool) for server in range(servers) for tool in range(tools)]
    made = []
    for number, (server, tool) in enumerate(names):
        near = {server * tools + chance.randrange(tools) for _ in range(3)}
        near |= {chance.randrange(len(names))} if not tool else set()
        links = [Link(EdgeKind.RELATED, f"urn:t:{other}") for other in sorted(near - {number})]
        identity = f"server{server}_manage_thing_{tool}"
        value = make_tool(identity, id=identity, source_id=f"server{server}")
        made.append(ToolDocument(value, f"{number}.md", f"urn:t:{number}", links=tuple(links)))
    return made


def opened(browser: Browser, documents: list[ToolDocument], folder: Path) -> Path:
    """Open the map of *documents* and wait until it is drawn."""
    file = folder / "map.html"
    file.write_text(graph_page(documents), "utf-8", "replace", newline="\n")
    browser.open(file.as_uri())
    settle(browser)
    return file


def settle(browser: Browser) -> None:
    """Wait until the map stands still."""
    browser.driver.execute_async_script(SETTLE)


def overlapping(browser: Browser) -> Iterator[tuple[str, str]]:
    """Return the pairs of labels that cover each other by more than a pixel."""
    boxes: list[list[Any]] = browser.run(BOXES)
    assert boxes
    for one, other in itertools.combinations(boxes, 2):
        across = min(one[3], other[3]) - max(one[1], other[1])
        down = min(one[4], other[4]) - max(one[2], other[2])
        if across > 1 and down > 1:
            yield one[0], other[0]


def click(browser: Browser, selector: str) -> None:
    """Click the element that *selector* chooses, by the mouse."""
    from selenium.webdriver.common.by import By  # noqa: PLC0415 - the browser is optional

    browser.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    browser.driver.find_element(By.CSS_SELECTOR, selector).click()


def drawn_lines(browser: Browser) -> int:
    """Count the lines of all paths of edges."""
    paths = (
        "return [...document.querySelectorAll('.edges path')].map((one) => one.getAttribute('d'))"
    )
    return sum(path.count("M") for path in browser.run(paths))


@pytest.fixture
def documents() -> list[ToolDocument]:
    """Ten tools with edges between them."""
    names = ("invoice", "order", "shipment", "parcel", "refund")
    tools = [
        make_tool(f"{name}_{verb}", description=f"{verb.title()} the {name} of a customer's order.")
        for name in names
        for verb in ("search", "cancel")
    ]
    return list(assemble(SourceBatch(tools=tuple(tools))).documents)


@pytest.fixture
def chart(browser: Browser, documents: list[ToolDocument], tmp_path: Path) -> Path:
    """The open map of those tools."""
    return opened(browser, documents, tmp_path)


def test_the_map_shows_what_is_there(
    browser: Browser, chart: Path, documents: list[ToolDocument]
) -> None:
    """All tools are drawn with the edges between them, and groups when they are asked for."""
    network = build_network(make_triples(documents))
    edges = sum(len(one.links) for one in documents)

    assert browser.count(".spots .tool") == len(documents)
    assert browser.count(".spots .spot") == len(network.nodes)
    assert drawn_lines(browser) == len(network.edges)
    groups = len(network.nodes) - len(documents)
    assert browser.run(COUNT) == (
        f"10 of 10 tools, {edges} of {edges} edges and {groups} of {groups} groups drawn."
    )
    click(browser, "#map-groups")
    settle(browser)
    assert browser.count(".spots .spot") == len(documents)
    assert drawn_lines(browser) == edges
    assert browser.run(COUNT) == f"10 of 10 tools and {edges} of {edges} edges drawn."
    assert [one for one in browser.requests() if not one.startswith("data:")] == [chart.as_uri()]
    assert browser.complaints() == []


def test_a_map_of_nothing_says_so(browser: Browser, tmp_path: Path) -> None:
    """Without tools there is a sentence in place of the map, and no script that draws."""
    for number, page in enumerate((graph_page([]), framed_map([]))):
        (tmp_path / f"{number}.html").write_text(page, "utf-8")
        browser.open((tmp_path / f"{number}.html").as_uri())
        assert "No tools to draw." in browser.run("return document.body.textContent")
        assert browser.count("#map-reach") == 0
        assert browser.complaints() == []


def test_edges_are_counted_as_the_commands_count_them(browser: Browser, tmp_path: Path) -> None:
    """The map has as many edges as `bundle`, `graph stats` and `graph export` report."""
    shutil.copytree(EXAMPLES / "tools", tmp_path / "tools")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mcpg", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    bundled = run("bundle", "tools", "-o", "graph.mdld").stderr
    exported = run("graph", "export", "-o", "map.html").stderr
    kinds = json.loads(run("graph", "stats", "--format", "json").stdout)["edges"]
    browser.open((tmp_path / "map.html").as_uri())
    settle(browser)

    edges = sum(one["count"] for one in kinds)
    assert f" {edges:,} edges" in bundled
    assert f" {edges:,} edges" in exported
    fact = "return [...document.querySelectorAll('.facts div')].map((one) => one.textContent)"
    assert f"Edges{edges:,}" in browser.run(fact)
    assert f"{edges:,} of {edges:,} edges drawn." in browser.run(COUNT)


def test_edges_that_no_line_can_show_are_told(browser: Browser, tmp_path: Path) -> None:
    """Edges from a document to itself, or to one that is not here, are named above the map."""
    loop, lost = (Link(EdgeKind.RELATED, one) for one in ("urn:t:0", "urn:t:lost"))
    tool = make_tool("alone", id="alone")
    opened(browser, [ToolDocument(tool, "a.md", "urn:t:0", links=(loop, lost))], tmp_path)
    lead = browser.run("return document.querySelector('#map .lead').textContent")
    assert "1 edge to a document that is not here" in lead
    assert "1 edge from a document to itself, which is not drawn" in lead


@pytest.mark.parametrize("width", [1280, 360])
def test_labels_never_overlap(browser: Browser, tmp_path: Path, width: int) -> None:
    """At each zoom labels keep apart; the nearer one looks, the more there are."""
    browser.resize(width)
    opened(browser, catalogue(9, 25), tmp_path)
    shares = []
    for _ in range(5):
        assert list(overlapping(browser)) == []
        shares.append(browser.run(LABELLED))
        browser.run("document.getElementById('graph-in').click()")
        settle(browser)
    assert shares[0] < shares[2] < shares[4]
    assert browser.complaints() == []


def test_the_most_connected_tools_have_labels_first(browser: Browser, tmp_path: Path) -> None:
    """From afar, the tool that most edges join has its label among hundreds without."""
    documents = catalogue(4, 80)
    links = [link.target for one in documents for link in one.links]
    ends = [*links, *(one.uri for one in documents for _ in one.links)]
    most = max(documents, key=lambda one: ends.count(one.uri))
    opened(browser, documents, tmp_path)

    labels = browser.run(LABELS)
    assert most.tool.id in labels
    assert {f"server{number}" for number in range(4)} <= set(labels)
    assert len(labels) < len(documents)


def test_each_server_has_its_mark(browser: Browser, tmp_path: Path) -> None:
    """A colour and a shape belong to one server, in the legend as on the map."""
    opened(browser, catalogue(12, 4), tmp_path)
    legend = browser.run(
        "return [...document.querySelectorAll('#map-servers li')].map((one) => ["
        " one.querySelector('bdi').textContent, getComputedStyle(one.querySelector('path')).fill,"
        " one.querySelector('path').getAttribute('d'), one.querySelector('.dim').textContent])"
    )
    spots = browser.run(
        "return [...document.querySelectorAll('.spots .tool')].map((one) => ["
        " one.getAttribute('aria-label'), getComputedStyle(one).fill, one.getAttribute('d')])"
    )
    marks = {name: (fill, shape) for name, fill, shape, _ in legend}
    assert sorted(marks) == sorted(f"server{number}" for number in range(12))
    assert len(set(marks.values())) == 12
    assert {count for *_, count in legend} == {"4"}
    for label, fill, shape in spots:
        assert marks[label.split(" of ")[1].split(",")[0]] == (fill, shape)


def test_servers_beyond_the_marks_are_the_others(browser: Browser, tmp_path: Path) -> None:
    """Where marks run out, the smaller servers share one, and are switched together."""
    opened(browser, catalogue(40, 2), tmp_path)
    assert browser.count("#map-servers li") == 28
    last = browser.run("return document.querySelector('#map-servers li:last-child').textContent")
    assert last == "others: 13 servers26"
    assert browser.count(".spots .others") == 26
    click(browser, "#map-servers li:last-child input")
    assert browser.count(".spots .others") == 0
    assert "54 of 80 tools" in browser.run(COUNT)


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_servers_are_switched_off_and_on(browser: Browser, tmp_path: Path, way: str) -> None:
    """A server that is switched off leaves the map with its edges, and the count says so."""
    opened(browser, catalogue(3, 10), tmp_path)
    lines = drawn_lines(browser)

    def switch() -> None:
        if way == "mouse":
            click(browser, "#map-servers li:nth-child(2) label")
        else:
            browser.run("document.querySelector('#map-servers li:nth-child(2) input').focus()")
            browser.press(SPACE)
        settle(browser)

    switch()
    assert browser.count(".spots .tool") == 20
    assert browser.count(".spots .s1") == 0
    assert drawn_lines(browser) < lines
    assert browser.run(COUNT).endswith("1 server switched off.")
    assert f"{drawn_lines(browser)} of {lines} edges drawn." in browser.run(COUNT)
    switch()
    assert browser.count(".spots .tool") == 30
    assert drawn_lines(browser) == lines
    click(browser, ".switches button:last-child")
    assert browser.count(".spots .tool") == 0
    click(browser, ".switches button:first-child")
    assert browser.count(".spots .tool") == 30
    assert browser.complaints() == []


# Simulations of colour blindness by Machado, Oliveira and Fernandes (2009, "A physiologically-based
# model for simulation of color vision deficiency"), severity 1; distances by Ottosson's Oklab.
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def times(matrix: Any, vector: list[float]) -> list[float]:
    """Multiply *matrix* by *vector*."""
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def linear(color: str) -> list[float]:
    """Return the linear light of a CSS *color* such as `rgb(1, 2, 3)`."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def oklab(light: list[float]) -> list[float]:
    """Return linear *light* in Oklab, where distances are as they are seen."""
    return times(LAB, [max(0.0, one) ** (1 / 3) for one in times(LMS, light)])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_differ_for_everyone(browser: Browser, tmp_path: Path, scheme: str) -> None:
    """Any two colours differ in each kind of colour blindness, and from the ground by 3 to 1."""
    browser.prefer(scheme)
    opened(browser, catalogue(7, 2), tmp_path)
    colors = browser.run(
        "return [...document.querySelectorAll('#map-servers path')]"
        ".map((one) => getComputedStyle(one).fill)"
    )
    ground = browser.run(
        "return getComputedStyle(document.querySelector('.drawing')).backgroundColor"
    )
    assert len(colors) == 7
    for one, other in itertools.combinations(map(linear, colors), 2):
        for matrix in VISIONS.values():
            seen = [
                oklab([min(1.0, max(0.0, part)) for part in times(matrix, light)])
                for light in (one, other)
            ]
            assert sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5 > 0.1
    weights = (0.2126, 0.7152, 0.0722)
    for color in colors:
        low, high = sorted(times([weights], linear(one))[0] for one in (color, ground))
        assert (high + 0.05) / (low + 0.05) >= 3


@pytest.mark.usefixtures("chart")
def test_a_tool_is_found_and_moved_to(browser: Browser) -> None:
    """Enter in the search box selects the best tool, brings it to the middle and describes it."""
    browser.run("document.getElementById('map-search').focus()")
    browser.press(*"cancel refund")
    assert browser.run("return document.querySelector('#map-found .term').textContent") == (
        "refund_cancel"
    )
    browser.press(ENTER)
    settle(browser)
    assert browser.run(CARD) == "refund_cancel"
    assert browser.run("return document.getElementById('map-found').hidden")
    away = browser.run(
        "const one = document.querySelector('.spots [aria-pressed=true]').getBoundingClientRect();"
        "const all = document.getElementById('graph-canvas').getBoundingClientRect();"
        "return [(one.left + one.right - all.left - all.right) / 2,"
        " (one.top + one.bottom - all.top - all.bottom) / 2]"
    )
    assert max(map(abs, away)) < 3
    assert "refund_cancel" in browser.run(LABELS)
    browser.run("document.querySelector('#graph-details .links button').click()")
    assert browser.run(CARD) not in {None, "refund_cancel"}
    assert browser.complaints() == []


@pytest.mark.usefixtures("chart")
def test_a_group_that_is_found_is_shown(browser: Browser) -> None:
    """Selecting a group switches groups on and shows its members; what is off is switched on."""
    click(browser, "#map-groups")
    click(browser, "#map-servers input")
    settle(browser)
    browser.run("document.getElementById('map-search').focus()")
    browser.press(*"domain:refund", ENTER)
    settle(browser)
    assert browser.run(CARD).endswith("domain:refund")
    assert browser.run("return document.getElementById('map-groups').checked")
    assert browser.count(".lit .group.chosen") == 1
    browser.run("document.querySelector('#graph-details .links button').click()")
    settle(browser)
    assert browser.run(CARD).startswith("refund_")
    assert browser.run("return document.querySelector('#map-servers input').checked")
    assert browser.count(".lit .tool.chosen") == 1
    assert browser.complaints() == []


@pytest.mark.usefixtures("chart")
def test_pointing_shows_neighbours(browser: Browser, documents: list[ToolDocument]) -> None:
    """The node under the pointer is described, and lit with its neighbours until it is left."""
    from selenium.webdriver import ActionChains  # noqa: PLC0415 - the browser is optional
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    click(browser, "#map-groups")
    settle(browser)
    spot = browser.driver.find_element(By.CSS_SELECTOR, ".spots .tool")
    name = spot.get_attribute("aria-label").split(",")[0]
    own = next(one for one in documents if one.tool.id == name)
    near = {link.target for link in own.links}
    near |= {one.uri for one in documents for link in one.links if link.target == own.uri}

    ActionChains(browser.driver).move_to_element(spot).perform()
    assert browser.run(CARD) == name
    assert browser.count(".lit .spot") == len(near) + 1
    assert browser.count(".nodes.faded, .below.faded") == 2
    canvas = browser.driver.find_element(By.ID, "graph-canvas")
    ActionChains(browser.driver).move_to_element_with_offset(canvas, 0, -500).perform()
    assert browser.count(".lit .spot, .faded") == 0


@pytest.mark.usefixtures("chart")
def test_the_map_is_used_by_keys_alone(browser: Browser) -> None:
    """Tab reaches search, a node and servers; arrows walk, Enter selects, Escape releases."""
    reached = []
    for _ in range(30):
        browser.press(TAB)
        reached.append(
            browser.run(
                "const one = document.activeElement;"
                "if (one.dataset.node) return 'node';"
                "return one.id || (one.closest('#map-servers') ? 'server' : '')"
            )
        )
        if reached[-1] == "node":
            break
    assert reached.index("map-search") < reached.index("graph-in") < reached.index("node")
    in_focus = "return document.activeElement.dataset.node"
    start = browser.run(in_focus)
    for key in (RIGHT, LEFT, DOWN):
        browser.press(key)
        if browser.run(in_focus) != start:
            break
    moved = browser.run(in_focus)
    assert moved not in {None, start}
    assert browser.run(CARD)
    assert browser.count(".lit .chosen") == 1
    browser.press(ENTER)
    pressed = "return document.querySelector('.spots [aria-pressed=true]')?.dataset.node ?? null"
    assert browser.run(pressed) == moved
    browser.press(ESCAPE)
    assert browser.run(pressed) is None
    scale = "return d3.zoomTransform(document.querySelector('svg.nodes')).k"
    before = browser.run(scale)
    browser.press("+")
    settle(browser)
    assert browser.run(scale) > before
    browser.press("0")
    settle(browser)
    assert browser.run(scale) == pytest.approx(before)
    for _ in range(12):
        browser.press(TAB)
        if browser.run("return Boolean(document.activeElement.closest('#map-servers'))"):
            break
    assert browser.run("return document.activeElement.type") == "checkbox"


def test_a_map_beyond_what_a_browser_draws_says_so(browser: Browser, tmp_path: Path) -> None:
    """Of thousands of nodes the most connected are drawn; the search reaches the others."""
    documents = [
        ToolDocument(
            make_tool(f"t{n}", id=f"t{n}"),
            f"{n}.md",
            f"urn:t:{n}",
            links=(Link(EdgeKind.RELATED, f"urn:t:{n // 2}"),) if n else (),
        )
        for n in range(2600)
    ]
    opened(browser, documents, tmp_path)

    assert browser.count(".spots .spot") == 2000
    told = browser.run(COUNT)
    assert told.startswith("2,000 of 2,600 tools and ")
    assert "more than 2,000 nodes" in told
    assert f"{drawn_lines(browser):,} of 2,599 edges" in told
    assert list(overlapping(browser)) == []
    browser.run("document.getElementById('map-search').focus()")
    browser.press(*"t2599", ENTER)
    settle(browser)
    assert browser.run(CARD) == "t2599"
    assert browser.run(COUNT).startswith("2 of 2,600 tools and 1 of 2,599 edges drawn. Only ")
    assert browser.complaints() == []


def test_the_map_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    """At 360 pixels nothing scrolls sideways, and all nodes are in view."""
    browser.resize(360)
    opened(browser, catalogue(9, 12), tmp_path)
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    outside = browser.run(
        "const all = document.getElementById('graph-canvas').getBoundingClientRect();"
        "return [...document.querySelectorAll('.spots .spot, .labels text')].filter((one) => {"
        " const { left, top, right, bottom } = one.getBoundingClientRect();"
        " return left < all.left || right > all.right || top < all.top || bottom > all.bottom;"
        "}).length"
    )
    assert outside == 0
    browser.run("document.getElementById('map-search').focus()")
    browser.press(*"thing")
    assert browser.run("return document.documentElement.scrollWidth") <= 360


def test_paper_shows_the_whole_map(browser: Browser, tmp_path: Path) -> None:
    """Printed, all that is switched on is in view with its labels, whatever the screen shows."""
    opened(browser, catalogue(5, 12), tmp_path)
    browser.run("document.getElementById('graph-in').click()")
    settle(browser)
    before = browser.run(BOXES)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    box = browser.run("return document.querySelector('svg.nodes').getAttribute('viewBox')")
    assert box == "0,0,1000,720"
    assert list(overlapping(browser)) == []
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.count("svg[viewBox='0,0,1000,720']") == 0
    assert browser.run(BOXES) == before


def test_hostile_texts_are_only_text(browser: Browser, tmp_path: Path) -> None:
    """No text of a catalogue becomes markup or script on the map."""
    documents = [
        ToolDocument(
            make_tool(text, id=text, title=text, description=text, source_id=text),
            "a.md",
            f"urn:t:{n}",
            (text,),
        )
        for n, text in enumerate(TEXTS)
    ]
    opened(browser, documents, tmp_path)
    browser.run("for (const one of document.querySelectorAll('.spots .spot')) one.focus()")
    browser.run("document.getElementById('map-search').focus()")
    browser.press(*"script", ENTER)

    assert browser.count(".spots .tool") == len(TEXTS)
    names = browser.run(
        "return [...document.querySelectorAll('#map-servers bdi')].map((one) => one.textContent)"
    )
    assert set(TEXTS[:9]) <= set(names)
    assert "\\u{202e}evitceles\\u{202c}" in names
    assert len(names) == len(TEXTS)
    assert browser.run("return typeof window.pwned") == "undefined"
    assert browser.count("img, iframe, object, embed, body [onerror], body [onload]") == 0
    for width in (1280, 360):
        browser.resize(width)
        settle(browser)
        assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_used_map_has_no_serious_finding(
    browser: Browser, axe: Axe, tmp_path: Path, scheme: str
) -> None:
    """With many servers, a search under way and a tool selected, axe-core finds nothing serious."""
    browser.prefer(scheme)
    opened(browser, catalogue(12, 6), tmp_path)
    browser.run("toolMap.visit(7)")
    browser.run("document.getElementById('map-search').focus()")
    browser.press(*"manage")
    settle(browser)
    assert browser.count("#map-found button") == 10
    assert axe.audit(browser) == []
