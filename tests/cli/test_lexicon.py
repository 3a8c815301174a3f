"""The switch of related words and translations from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

QUERY = "доставка замовлення"
SWITCHES = [
    ({}, [], "", True),
    ({}, ["--no-lexicon"], "", False),
    ({"MCPG_LEXICON": "off"}, [], "", False),
    ({"MCPG_LEXICON": "off"}, ["--lexicon"], "", True),
    ({}, [], "lexicon = false\n", False),
    ({"MCPG_LEXICON": "yes"}, [], "lexicon = false\n", True),
]


@pytest.mark.parametrize(("variables", "options", "file", "is_on"), SWITCHES)
def test_the_option_goes_before_the_variable_and_that_before_the_file(
    variables: dict[str, str],
    options: list[str],
    file: str,
    graph: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[..., Run],
    *,
    is_on: bool,
) -> None:
    """Searching, explaining, routing, measuring and the graph obey one switch."""
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    (graph.parent / "mcpg.toml").write_text(file, encoding="utf-8")
    found = run("search", QUERY, "--format", "json", *options).json
    explained = run("explain", QUERY, "--format", "json", *options).json
    routed = run("route", QUERY, "--format", "json", *options).json
    judged = json.dumps({"id": "q", "query": QUERY, "relevant": ["shipment_status"]})
    measured = run("eval", "-", "--format", "json", *options, stdin=judged.encode()).json
    looked_up = run("graph", "search", QUERY, "--format", "json", *options).json
    exported = run("graph", "export", "--query", QUERY, *options)

    assert bool(found["matches"]) == is_on
    assert bool(explained["matches"]) == is_on
    assert bool(routed["categories"]) == is_on
    assert measured["lexicon"] == is_on
    assert bool(looked_up["matches"]) == is_on
    assert ("shipment_status" in exported.out) == is_on


def test_an_explanation_shows_what_became_of_words(graph: Path, run: Callable[..., Run]) -> None:
    """Related words stand below a word in text, in a column of Markdown and HTML, and in JSON."""
    shown = run("explain", "parcel state", "-b", str(graph), "-v")
    table = run("explain", "parcel state", "--format", "markdown", "--html", "report.html")
    words = run("explain", "parcel state", "--format", "json").json["words"]
    translated = run("explain", QUERY).out

    assert "related shipment 0." in shown.out
    assert "| related |" in table.out
    assert "related" in (graph.parent / "report.html").read_text("utf-8")
    assert words[0]["related"][0].keys() == {"word", "similarity"}
    assert words[0]["related"][0]["word"] == "shipment"
    assert "translated " in translated
    assert "→ order" in translated.replace("->", "→")
    assert "no alias" not in translated
