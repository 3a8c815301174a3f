"""`mcpg plan`: text, JSON and drawings of the tasks that a goal needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcpg.cli.terminal import width

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

HOSTILE = '\x1b[31m"</script><marquee>]; n1 -> n2 `|#quot; end'
FORMATS = ("text", "json", "mermaid", "dot", "html")


@pytest.fixture
def hostile(folder: Path) -> Path:
    """A manifest whose texts try to leave every format."""
    tools = [
        {
            "name": f"{verb}_parcel",
            "title": HOSTILE,
            "description": f"{verb} a parcel. {HOSTILE}\n" + "x" * 5000,
            "inputSchema": {
                "type": "object",
                "properties": {HOSTILE: {"type": "string", "description": HOSTILE}},
                "required": [HOSTILE],
            },
        }
        for verb in ("list", "send")
    ]
    path = folder / "hostile.json"
    path.write_text(json.dumps({"server": f"post {HOSTILE}", "tools": tools}), "utf-8")
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_texts_leave_no_format(hostile: Path, run: Callable[..., Run], form: str) -> None:
    """No control character, tag or quotation mark of a catalogue gets out of its place."""
    out = run("plan", f"send a parcel {HOSTILE}", "-b", str(hostile), "--format", form).out

    assert "\x1b" not in out
    assert "send_parcel" in out
    if form == "html":
        assert "<marquee>" not in out
    if form == "json":
        assert json.loads(out)["schema"] == "mcpg/plan/1"
    if form == "dot":
        assert all(line.count('"') - line.count('\\"') in {0, 4} for line in out.splitlines())
    if form == "mermaid":
        assert "]; n1" not in out


def test_text_fits_80_columns(graph: Path, run: Callable[..., Run]) -> None:
    """No line of text is wider than a terminal of 80 columns."""
    assert graph.is_file()
    lines = run("plan", "refund the invoice of a customer and ship it again").out.splitlines()

    assert lines
    assert max(map(width, lines)) <= 80


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_goal_gives_the_same_bytes(
    graph: Path, run: Callable[..., Run], form: str
) -> None:
    """Nothing in any format depends on the time or the run."""
    assert graph.is_file()
    first, second = (run("plan", "refund an invoice", "--format", form).out for _ in range(2))

    assert first == second


def test_a_plan_needs_a_goal(graph: Path, run: Callable[..., Run]) -> None:
    """Without a goal the command is refused as misuse."""
    assert graph.is_file()
    refused = run("plan")

    assert refused.code == 2
    assert "the goal is missing" in refused.err


def test_a_goal_that_nothing_fits_is_told(graph: Path, run: Callable[..., Run]) -> None:
    """The plan is empty, and a warning says why."""
    assert graph.is_file()
    nothing = run("plan", "zzyzx qwrtp")

    assert (nothing.code, nothing.out) == (1, "")
    assert "try other words" in nothing.err
    assert "low_confidence" in nothing.err
