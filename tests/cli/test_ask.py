"""`mcpg ask` answers questions about the tools of a bundle."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "tools"


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    "question",
    [
        "where is shipment_status",
        "what comes after invoice_search",
        "what does invoice_refund do",
        "example of shipment_create",
        "similar:invoice_search",
        "find the parcel of a customer",
    ],
)
def test_suggestions_run(run: Callable[..., Run], question: str) -> None:
    """Every suggestion is a command that runs as it stands."""
    suggestions = run("ask", question, "--format", "json").json["suggestions"]
    assert 1 <= len(suggestions) <= 3
    for suggestion in suggestions:
        program, *arguments = shlex.split(suggestion)
        assert (program, run(*arguments).code) == ("mcpg", 0)


def test_suggestions_name_the_bundle(run: Callable[..., Run], graph: Path) -> None:
    """A bundle that was named is named in suggestions, quoted for a shell."""
    graph.rename(graph.parent / "my graph.mdld")
    found = run("ask", "shipment_status", "-b", "my graph.mdld", "--format", "json").json
    assert found["suggestions"][0] == "mcpg show shipment_status -b 'my graph.mdld'"


@pytest.mark.usefixtures("graph")
def test_the_shape_of_an_answer(run: Callable[..., Run]) -> None:
    """An answer has its total, its parts, its time and its results, without empty members."""
    found = run("ask", "where is shipment_status", "--format", "json").json
    assert found["schema"] == "mcpg/ask/1"
    assert (found["intent"], found["total"]) == ("navigation", 1)
    assert found["parsed"]["tools"] == ["shipment_status"]
    assert found["time"] > 0
    (result,) = found["results"]
    assert result == {
        "file": "tools/shop/shipment_status.md",
        "score": 1.0,
        "type": "tool",
        "symbol": "shipment_status",
        "kind": "tool",
        "sig": "shipment_status(shipment_id: string, carrier?: string)",
        "docs": "Tell where a shipment is and when it will arrive.",
        "why": ["is called 'shipment_status' on 'shop'"],
    }


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("budget", [900, 1_500])
def test_a_budget_of_bytes(run: Callable[..., Run], form: str, budget: int) -> None:
    """What is written takes at most so many bytes."""
    done = run("ask", "invoice", "--format", form, "--max-bytes", str(budget))
    assert done.code == 0
    assert 0 < len(done.out.encode()) <= budget


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", " "], "the question is empty"),
        (["ask"], "missing argument"),
        (["ask", "x", "--limit", "0"], "limit is 0"),
        (["ask", "x", "--intent", "gossip"], "gossip"),
        (["ask", "x", "--pattern", "who owns {tool}"], "is not a pattern"),
        (["ask", "x", "--pattern", "gossip=who owns {tool}"], "no intent is called"),
        (["ask", "invoice", "--max-bytes", "10"], "no answer fits"),
    ],
)
def test_bad_usage(run: Callable[..., Run], arguments: list[str], message: str) -> None:
    """Bad usage exits with 2 and says what is wrong."""
    done = run(*arguments)
    assert done.code == 2
    assert message in done.err


@pytest.mark.usefixtures("folder")
def test_a_search_fits_a_screen(run: Callable[..., Run]) -> None:
    """A question that becomes a search has as many results as `search`, and no hopeless ones."""
    asked = ("ask", "which tools can delete files?", "-b", str(EXAMPLES))
    told = run(*asked)
    found = run(*asked, "--format", "json").json
    assert len(told.out.splitlines()) <= 30
    assert 0 < len(found["results"]) <= 5 < found["total"]
    assert min(one["score"] for one in found["results"]) >= 0.01
    assert (
        f"{found['total'] - len(found['results'])} more: see them with a greater --limit"
        in told.out
    )
    every = run(*asked, "-n", "50", "--format", "json").json
    assert len(every["results"]) == found["total"]


@pytest.mark.usefixtures("graph")
def test_evidence_is_told_on_request(run: Callable[..., Run]) -> None:
    """Text has the first reason for the intent, all of them with their numbers if verbose."""
    asked = ("ask", "example of shipment_create")
    assert run(*asked).out.startswith("examples: mentions tool 'shipment_create'\n")
    assert "cue example" in run(*asked, "-v").out


@pytest.mark.usefixtures("graph")
def test_a_pattern_decides(run: Callable[..., Run]) -> None:
    """A wording that is given an intent has it."""
    pattern = "documentation=who owns {tool}"
    found = run("ask", "who owns invoice_refund", "--pattern", pattern, "--format", "json").json
    assert (found["intent"], found["decision"]["decidedBy"]) == ("documentation", "pattern")


@pytest.mark.usefixtures("graph")
def test_escapes_are_not_printed(run: Callable[..., Run]) -> None:
    """Control characters of a question don't reach the terminal."""
    assert "\x1b" not in run("ask", "what does foo_bar\x1b[31m do", "-v").out
