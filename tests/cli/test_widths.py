"""What people see on a terminal of a width, and what a pipe gets."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sessions import Terminal
from shop import CALLS

from mcpg.cli import main
from mcpg.values import score_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

GOLDEN = Path(__file__).parent / "golden" / "widths"
EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
WIDTHS = (60, 80, 120)
COMMANDS = {
    "search": ["search", "were is my shipmnt"],
    "list": ["list"],
    "explain": ["explain", "were is my shipmnt"],
    "explain-tool": ["explain", "zorb the label", "--tool", "invoice_search"],
    "explain-compare": ["explain", "refund an invoice", "--compare", "tools/shop.json", "tools"],
    "plan": ["plan", "make a label of a shipment and search an invoice"],
    "ask": ["ask", "find the invoice of a shipment"],
    "ask-before": ["ask", "what comes before invoice_refund"],
    "show": ["show", "shipment_status", "-b", "graph.mdld"],
    "route": ["route", "refund teh invoice", "--include-disabled"],
    "eval": ["eval", "queries.yaml", "--all"],
    "diff": ["diff", "tools/shop.json", "--all"],
    "graph-search": ["graph", "search", "invoice"],
    "graph-sparql": ["graph", "sparql", "SELECT ?id ?o { ?t mcpg:toolId ?id ; schema:name ?o }"],
    "graph-stats": ["graph", "stats"],
    "learn": ["learn", "calls.jsonl", "--reset"],
    "schema": ["schema"],
}
# Those that print whole descriptions.
DESCRIBED = ("search", "list", "route", "explain")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that runs the program on a terminal of so many columns."""

    def run(columns: int, *arguments: str) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = Terminal(io.BytesIO(), "utf-8", newline="")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            main(arguments)
        stream.seek(0)
        return stream.read()

    return run


def width(line: str) -> int:
    """Return how many columns a terminal shows *line* in, by Unicode's East Asian widths."""
    return sum(2 if unicodedata.east_asian_width(char) in "FW" else 1 for char in line)


def inputs() -> None:
    """Write what the commands read beside the bundle."""
    Path("queries.yaml").write_text("where is my parcel: shipment_status\npay: [x]\n", "utf-8")
    Path("calls.jsonl").write_text(CALLS, "utf-8")


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", COMMANDS)
def test_text_fits_the_terminal(
    name: str, shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 60, 80 and 120 columns the text is as recorded, and no line is wider than the terminal."""
    monkeypatch.setenv("NO_COLOR", "1")
    inputs()
    texts = {columns: shown(columns, *COMMANDS[name]) for columns in WIDTHS}
    for columns, text in texts.items():
        assert max(width(line) for line in text.splitlines() if "://" not in line) <= columns
        assert "\x1b" not in text
    found = "".join(f"--- {columns} columns\n{text}" for columns, text in texts.items())
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("MCPG_UPDATE_GOLDEN"):
        file.write_text(found, "utf-8", newline="\n")
    assert found == file.read_text("utf-8")


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", COMMANDS)
def test_colours_change_no_text(
    name: str, shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coloured text says the same at the same place."""
    inputs()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = shown(80, *COMMANDS[name])
    monkeypatch.delenv("NO_COLOR")
    coloured = shown(80, *COMMANDS[name])
    assert coloured != plain
    stripped = [line.rstrip() for line in COLOUR.sub("", coloured).splitlines()]
    assert stripped == [line.rstrip() for line in plain.splitlines()]


@pytest.mark.parametrize("name", DESCRIBED)
def test_nothing_is_cut_in_a_pipe(
    name: str, graph: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names and sentences are whole in a pipe; `--full` adds the rest of a description."""
    long = f"invoice_{'very_' * 10}long"
    manifest = graph.parent / "tools" / "long.json"
    manifest.write_text(
        f'{{"tools": [{{"name": "{long}", "description": "Refund a shipment, wholly, at once. '
        f'Ask {"for a shipment " * 90}at last"}}]}}'
    )
    monkeypatch.setenv("COLUMNS", "60")
    out = run(*COMMANDS[name], "-b", str(manifest)).out
    assert long in out
    assert "Refund a shipment, wholly, at once." in out
    if name in {"search", "list", "route"}:
        assert "Ask" not in out
        out = run(*COMMANDS[name], "-b", str(manifest), "--full").out
    assert "for a shipment at last" in out


@pytest.fixture
def wide(folder: Path) -> str:
    """A manifest with a long name, and a description of wide characters and a long word."""
    described = f"Refund 注文の状態 {'全角文字 ' * 20}\n\n  - {'an item ' * 20}\n{'w' * 130}-end"
    tool = {"name": f"refund_{'long_' * 6}end", "description": described, "inputSchema": {}}
    (folder / "wide.json").write_text(json.dumps({"tools": [tool]}), "utf-8")
    return "wide.json"


@pytest.mark.parametrize("columns", [56, 60, 80])
def test_search_fits_beside_a_long_name(columns: int, wide: str, shown: Callable[..., str]) -> None:
    """No line of a search is wider than the terminal, and none ends with spaces."""
    lines = COLOUR.sub("", shown(columns, "search", "refund", "-b", wide)).splitlines()
    assert max(map(width, lines)) <= columns
    assert lines == [line.rstrip() for line in lines]


@pytest.mark.usefixtures("graph")
def test_no_line_of_a_paragraph_ends_with_spaces(shown: Callable[..., str]) -> None:
    """Where a paragraph is wrapped at two spaces, none is left at the end of the line."""
    for columns in range(30, 60):
        lines = shown(columns, "graph", "search", "invoice shipment", "--color=never").splitlines()
        assert lines == [line.rstrip() for line in lines]


def test_show_wraps_wide_characters(wide: str, shown: Callable[..., str]) -> None:
    """A description is wrapped by what a terminal shows, and keeps its lines and indentation."""
    text = COLOUR.sub("", shown(60, "show", f"refund_{'long_' * 6}end", "-b", wide))
    lines = text[: text.index("\nsource")].splitlines()
    assert max(width(line) for line in lines if "www" not in line) <= 60
    assert sum(line.startswith("  ") for line in lines) > 1


def test_show_breaks_no_word_in_a_pipe(wide: str, run: Callable[..., Run]) -> None:
    """A long word, such as a URL, stays whole."""
    assert f"\n{'w' * 130}-end\n" in run("show", f"refund_{'long_' * 6}end", "-b", wide).out


def test_messages_have_two_significant_digits(run: Callable[..., Run]) -> None:
    """A warning shows a small score as the table does."""
    result = run("search", "x", "-b", str(EXAMPLES))
    score = result.out.splitlines()[1].split()[1]
    assert len(score.lstrip("0.")) == 2
    assert f"a score of {score}, below" in result.err


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0.0, "0.00"),
        (0.0004, "<0.001"),
        (0.00234, "0.0023"),
        (0.0099, "0.0099"),
        (0.00999, "0.010"),
        (0.0516, "0.052"),
        (0.0996, "0.10"),
        (0.455, "0.46"),
        (0.9951, "0.99"),
        (1.0, "1.00"),
    ],
)
def test_scores_have_two_significant_digits(score: float, text: str) -> None:
    """What is nearly certain isn't rounded to certainty, nor what is unlikely to zero."""
    assert score_text(score) == text
