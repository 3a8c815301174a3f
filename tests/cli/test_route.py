"""`mcpg route` and `mcpg explain --route`: categories first, and how every score came about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

THINGS = ("invoice", "order", "parcel", "ticket", "letter", "contract")
HOSTILE = "\x1b[31mred\x1b[0m\n" + "x" * 5_000


@pytest.fixture
def office(folder: Path) -> Path:
    """A manifest of tools that show or void things, in categories of every kind."""
    tools: list[dict[str, Any]] = [
        {
            "name": f"{verb}_{thing}",
            "description": f"{verb} the {thing}.",
            "annotations": {"readOnlyHint": verb == "show"},
            "categories": [thing if thing != "letter" else HOSTILE],
        }
        for verb in ("show", "void")
        for thing in THINGS
    ]
    path = folder / "office.json"
    path.write_text(json.dumps({"server": "office", "tools": tools}), "utf-8")
    return path


def test_categories_hold_the_tools(graph: Path, run: Callable[..., Run]) -> None:
    """The text names each category and under it its tools, best first."""
    assert graph.is_file()
    lines = run("route", "where is my parcel").out.splitlines()
    assert lines[0].split() == ["#", "score", "tool", "source", "description"]
    assert lines[1].startswith("shipping  0.")
    assert lines[2].split()[2] == "shipment_status"


def test_json_holds_each_tool_once(graph: Path, run: Callable[..., Run]) -> None:
    """Categories name their tools, and the tools' hints, scores and sums stand beside them."""
    assert graph.is_file()
    data = run("route", "invoices of a customer", "--include-disabled", "--format", "json").json
    assert data["schema"] == "mcpg/route/1"
    assert data["categories"][0]["name"] == "billing"
    named = {tool["toolId"] for category in data["categories"] for tool in category["tools"]}
    offered = {match["toolId"]: match for match in data["suggestedMatches"]}
    assert named == set(offered)
    for match in offered.values():
        total = match["calibratedScore"] + sum(part["value"] for part in match["adjustments"])
        assert match["score"] == pytest.approx(min(1.0, total), abs=5e-6)


def test_limits_are_heeded(office: Path, run: Callable[..., Run]) -> None:
    """Never more categories, nor more tools of one, than are asked for."""
    asked = ["route", "show void", "-b", str(office), "--format", "json"]
    data = run(*asked, "--max-categories", "2", "--max-tools", "1").json
    assert len(data["categories"]) == 2
    assert all(len(category["tools"]) == 1 for category in data["categories"])
    assert {category["found"] for category in data["categories"]} == {2}


@pytest.mark.parametrize(
    "wrong", [["--max-categories", "0"], ["--max-tools", "0"], ["--prefer", "both"]]
)
def test_limits_that_make_no_sense_are_refused(
    wrong: list[str], graph: Path, run: Callable[..., Run]
) -> None:
    """A mistake ends with exit code 2, and names the option."""
    assert graph.is_file()
    done = run("route", "parcel", *wrong)
    assert done.code == 2
    assert wrong[0] in done.err


def test_the_preference_is_told(office: Path, run: Callable[..., Run]) -> None:
    """What is preferred comes from the catalogue, or from the caller, who may want neither."""
    asked = ["route", "void the invoice", "-b", str(office)]
    assert "preferring tools that write: void is in 0 of 6" in run(*asked).out
    assert "preferring tools that read: as asked" in run(*asked, "--prefer", "read-only").out
    assert "preferring" not in run(*asked, "--prefer", "none").out


def test_nothing_above_the_gate_is_a_finding(graph: Path, run: Callable[..., Run]) -> None:
    """With a least score that nothing reaches there is no category, and the exit code says so."""
    assert graph.is_file()
    done = run("route", "wqx zzv", "--min-score", "0.9")
    assert (done.code, done.out) == (1, "")
    assert "no tool matches" in done.err


def test_without_a_query_categories_stand_by_name(graph: Path, run: Callable[..., Run]) -> None:
    """Browsing shows no scores."""
    assert graph.is_file()
    headings = [line for line in run("route").out.splitlines() if line and line[0] != " "]
    assert headings == ["billing", "shipping", "shop"]


def test_names_of_categories_cannot_steer_a_terminal(office: Path, run: Callable[..., Run]) -> None:
    """What a catalogue calls a category is shown on one line, cut, and harmless."""
    for asked in (
        ["route", "show the letter"],
        ["explain", "show the letter", "--route"],
        ["explain", "show the letter", "--route", "--format", "markdown"],
        ["route", "show the letter", "--format", "json"],
    ):
        done = run(*asked, "-b", str(office))
        assert done.code == 0
        assert "\x1b" not in done.out
    text = run("route", "show the letter", "-b", str(office)).out
    assert max(map(len, text.splitlines())) <= 100
    assert "red" in text


def test_an_explanation_shows_the_sums(office: Path, run: Callable[..., Run]) -> None:
    """Preference, evidence of each word, and every adjustment by name and value."""
    out = run("explain", "void the invoice", "--route", "-b", str(office), "-v").out
    out = " ".join(out.split())
    assert "preference write: void is in 0 of 6 read-only tools" in out
    assert "(evidence -" in out
    assert " preferWrite.writing" in out
    assert "calibrated" in out


def test_an_explanation_in_json_adds_up(office: Path, run: Callable[..., Run]) -> None:
    """The routing stands beside the explanation, with numbers that sum exactly."""
    asked = ["explain", "void the invoice", "--route", "-b", str(office), "--format", "json"]
    data = run(*asked).json
    assert data["schema"] == "mcpg/explain/1"
    routing = data["routing"]
    assert routing["preference"]["name"] == "write"
    assert routing["preference"]["words"][0]["text"] == "void"
    for tool in routing["tools"]:
        for part in tool["adjustments"]:
            assert part["weight"] == routing["weights"]["adjustments"][part["name"]]
            assert part["value"] == part["weight"] * tool["calibratedScore"]
        total = tool["calibratedScore"] + sum(part["value"] for part in tool["adjustments"])
        assert tool["score"] == pytest.approx(min(1.0, total), abs=1e-9)


def test_an_explanation_says_why_nothing_is_preferred(
    graph: Path, office: Path, run: Callable[..., Run]
) -> None:
    """Weak evidence and a catalogue that does not say are told apart."""
    weak = run("explain", "letter", "--route", "-b", str(office)).out
    assert "the words of the query do not show one" in weak
    silent = run("explain", "invoice", "--route", "-b", str(graph)).out
    assert "no hints distinguish tools that read from tools that write" in silent


@pytest.mark.parametrize(
    "other",
    [
        ["--route", "--tool", "shipment_status"],
        ["--route", "--queries", "x.yaml"],
        ["--route", "--compare", "graph.mdld", "graph.mdld"],
        ["--route", "--html", "x.html"],
        ["--route", "--abstain"],
        ["--prefer", "write"],
    ],
)
def test_routing_is_not_explained_beside_something_else(
    other: list[str], graph: Path, run: Callable[..., Run]
) -> None:
    """Options that have nothing to do with routing are refused beside it, and it beside them."""
    assert graph.is_file()
    done = run("explain", "parcel", *other)
    assert done.code == 2
    assert other[-2 if len(other) == 2 and other[0] == "--prefer" else 1] in done.err
