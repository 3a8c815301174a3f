"""The map of a catalogue in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_tool
from hostile import TEXTS

from mcpg.bundle import assemble
from mcpg.documents.model import Link, ToolDocument
from mcpg.graph import triples_of
from mcpg.graph.network import network_of
from mcpg.relations.model import EdgeKind
from mcpg.reports.graph import graph_page
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from pathlib import Path

    from browser import Browser

ENTER, RIGHT, LEFT = "\ue007", "\ue014", "\ue012"


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
def chart(documents: list[ToolDocument], tmp_path: Path) -> Path:
    """The map of those tools."""
    file = tmp_path / "map.html"
    file.write_text(graph_page(documents), "utf-8", newline="\n")
    return file


def test_the_map_shows_what_is_there(
    browser: Browser, chart: Path, documents: list[ToolDocument]
) -> None:
    """All tools are drawn with the edges between them, and groups when they are asked for."""
    network = network_of(triples_of(documents))
    browser.open(chart.as_uri())
    browser.run("document.getElementById('map-reach').value = 'all'")
    set_groups(browser, shown=True)

    assert browser.count(".spot.tool") == len(documents)
    assert browser.count(".spot") == len(network.nodes)
    assert browser.count("line.link") == len(network.edges)
    set_groups(browser, shown=False)
    assert browser.count(".spot") == len(documents)
    assert browser.count("line.link") == sum(len(one.links) for one in documents)
    assert [one for one in browser.requests() if not one.startswith("data:")] == [chart.as_uri()]
    assert browser.complaints() == []


def set_groups(browser: Browser, *, shown: bool) -> None:
    """Tick or untick the box for groups."""
    browser.run(
        f"const box = document.getElementById('map-groups'); box.checked = {str(shown).lower()};"
        "box.dispatchEvent(new Event('change'))"
    )


def test_a_node_is_found_and_chosen(browser: Browser, chart: Path) -> None:
    """Typing finds tools, choosing one tells what it is and where its edges lead."""
    browser.open(chart.as_uri())
    browser.run(
        "const box = document.getElementById('map-search'); box.value = 'cancel refund';"
        "box.dispatchEvent(new Event('input'))"
    )
    assert browser.run("return document.querySelector('#map-found').textContent") == "refund_cancel"
    browser.run("document.querySelector('#map-found button').click()")
    assert browser.run("return document.querySelector('#graph-details h3').textContent") == (
        "refund_cancel"
    )
    assert browser.count(".spot.chosen") == 1
    browser.run("document.querySelector('#graph-details .links button').click()")
    chosen = browser.run("return document.querySelector('#graph-details h3').textContent")
    assert chosen != "refund_cancel"
    assert browser.complaints() == []


def test_the_map_can_be_walked_by_keys(browser: Browser, chart: Path) -> None:
    """Arrow keys move the focus from node to node, and Enter chooses."""
    browser.open(chart.as_uri())
    browser.run("document.querySelector('.spot[tabindex=\"0\"]').focus()")
    in_focus = "return document.activeElement.dataset.node"
    start = browser.run(in_focus)
    browser.press(RIGHT)
    moved = browser.run(in_focus)
    if moved == start:
        browser.press(LEFT)
        moved = browser.run(in_focus)
    assert moved != start
    browser.press(ENTER)
    assert browser.run("return document.querySelector('.spot.chosen').dataset.node") == moved


def test_a_large_map_begins_with_a_part(browser: Browser, tmp_path: Path) -> None:
    """Of thousands of nodes, those around the best connected tool are drawn first."""
    documents = [
        ToolDocument(
            make_tool(f"t{n}", id=f"t{n}"),
            f"{n}.md",
            f"urn:t:{n}",
            links=(Link(EdgeKind.RELATED, f"urn:t:{n // 2}"),) if n else (),
        )
        for n in range(2000)
    ]
    file = tmp_path / "large.html"
    file.write_text(graph_page(documents), "utf-8", newline="\n")
    browser.open(file.as_uri())

    assert browser.count(".spot") == 4
    assert browser.run("return document.getElementById('map-count').textContent") == (
        "4 of 2,000 nodes drawn"
    )
    browser.run(
        "const one = document.getElementById('map-reach'); one.value = 'all';"
        "one.dispatchEvent(new Event('change'))"
    )
    assert browser.count(".spot") == 600
    assert browser.complaints() == []


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
    file = tmp_path / "hostile.html"
    file.write_text(graph_page(documents), "utf-8", "replace", newline="\n")
    browser.open(file.as_uri())
    browser.run("for (const one of document.querySelectorAll('.spot')) one.focus()")

    assert browser.count(".spot.tool") == len(TEXTS)
    assert browser.run("return typeof window.pwned") == "undefined"
    assert browser.count("img, iframe, object, embed, body [onerror], body [onload]") == 0
    assert browser.complaints() == []
