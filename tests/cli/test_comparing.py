from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from builders import make_engine, make_tool
from shop import HINTS, MANIFEST

from mcpg.cli.comparison import compare_blocks
from mcpg.cli.output import Output
from mcpg.cli.render import markdown, text
from mcpg.review.compare import compare
from mcpg.show.json import ComparedCatalogue, compare_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run


@pytest.fixture
def later(sources: Path) -> str:
    """The shop some weeks later: a new tool, and an alias that was missing."""
    folder = sources.parent / "later"
    folder.mkdir()
    tools = [*MANIFEST["tools"], {"name": "refund_list", "description": "List refunds | `today`."}]
    (folder / "shop.json").write_text(json.dumps({"server": "shop", "tools": tools}), "utf-8")
    hints = HINTS.replace("enabledByDefault: false", "aliases: [give money back]")
    (folder / "shop.hints.yaml").write_text(hints, "utf-8")
    return "later"


QUERY = ("explain", "refund teh invoice", "--compare", "tools", "later")


@pytest.mark.usefixtures("later")
class TestCompare:
    """`mcpg explain --compare` says what moved and what moved it."""

    def test_the_deltas_add_up(self, run: Callable[..., Run]) -> None:
        """The changes of the features sum to that of the fused score."""
        answer = run(*QUERY, "--format", "json").json
        assert answer["schema"] == "mcpg/explain-compare/1"
        assert (answer["then"]["bundle"], answer["now"]["bundle"]) == ("tools", "later")
        assert (answer["then"]["tools"], answer["now"]["tools"]) == (4, 5)
        assert (answer["onlyThen"], answer["onlyNow"]) == ([], ["refund_list"])
        moved = [tool for tool in answer["tools"] if tool["fusedDelta"]]
        assert moved
        for tool in moved:
            total = sum(one["delta"] for one in tool["features"])
            assert total == pytest.approx(tool["fusedDelta"], abs=1e-9)
            fused = tool["now"]["fusedScore"] - tool["then"]["fusedScore"]
            assert fused == pytest.approx(tool["fusedDelta"], abs=1e-9)

    def test_ranks_are_those_of_search(self, run: Callable[..., Run]) -> None:
        """Each side stands as its own search has it."""
        tools = run(*QUERY, "--format", "json").json["tools"]
        for side, path in (("then", "tools"), ("now", "later")):
            found = run("search", "refund teh invoice", "-b", path, "--format", "json").json
            scores = [(one["toolId"], one["score"]) for one in found["matches"]]
            ranked = sorted((t for t in tools if t[side]["rank"]), key=lambda t: t[side]["rank"])
            assert [(t["toolId"], t[side]["score"]) for t in ranked] == scores

    def test_the_text_tells_arrivals(self, run: Callable[..., Run]) -> None:
        """A tool that was off or not there is said to have been."""
        told = run(*QUERY)
        assert told.code == 0
        assert "invoice_refund: was disabled, now number 1" in told.out
        assert "refund_list: was not there, now number" in told.out
        assert "only now  refund_list" in told.out

    def test_nothing_found_is_said(self, run: Callable[..., Run]) -> None:
        """Where neither catalogue has a match, both forms for people say so."""
        asked = ("explain", "qqqq", "--compare", "tools", "later")
        assert "No tool matches in either." in run(*asked).out
        assert "No tool matches in either." in run(*asked, "--format", "markdown").out

    @pytest.mark.parametrize(
        "more",
        [
            ["-b", "tools"],
            ["--html", "x"],
            ["--min-score", "0.5"],
            ["--timings"],
            ["--tool", "invoice_search"],
            ["--queries", "x"],
        ],
    )
    def test_options_about_one_catalogue_are_refused(
        self, run: Callable[..., Run], more: list[str]
    ) -> None:
        """What cannot be heeded is refused, not passed over."""
        result = run(*QUERY, *more)
        assert (result.code, result.out) == (2, "")
        assert "it does not compare two catalogs" in result.err

    def test_a_query_is_needed(self, run: Callable[..., Run]) -> None:
        """Browsing has no ranks."""
        result = run("explain", "--compare", "tools", "later")
        assert result.code == 2
        assert "without a query, tools have no ranks to compare" in result.err

    def test_a_missing_catalogue_is_named(self, run: Callable[..., Run]) -> None:
        """The path that leads nowhere is named."""
        result = run("explain", "x", "--compare", "tools", "nowhere")
        assert result.code == 2
        assert result.err.startswith("error: --compare: ")
        assert "'nowhere'" in result.err


HOSTILE = "x|`@team <img src=x onerror=alert(1)> [a](http://e.xyz) $`y`$"


@pytest.mark.parametrize("more", [[], ["--compare", "evil.json", "evil.json"]])
def test_hostile_names_stay_text_in_markdown(
    folder: Path, run: Callable[..., Run], more: list[str]
) -> None:
    """No name, description or query breaks a table, makes a tag, a link or a mention."""
    tools = [{"name": HOSTILE, "description": f"Ring {HOSTILE}"}, {"name": "ring_off"}]
    (folder / "evil.json").write_text(json.dumps({"tools": tools}), "utf-8")
    bundle = [] if more else ["-b", "evil.json"]
    told = run("explain", f"ring {HOSTILE}", *more, *bundle, "--format", "markdown").out

    assert "<img" not in told
    plain = "".join(told.split("`")[::2])
    assert "@" not in plain
    assert "](" not in plain
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert rows
    for row in rows:
        assert row.startswith("| ")
        assert row.endswith(" |")
    heads = [row for row in rows if row.startswith(("| feature ", "| now "))]
    assert heads
    for head in heads:
        first = rows.index(head)
        assert {row.count("|") for row in rows[first : first + 3]} == {head.count("|")}


def test_another_model_and_language_are_told() -> None:
    """Where the two catalogues were ranked by other models, both are named."""
    engine = make_engine(make_tool("order_get", description="Get an order."))
    same = compare(engine, engine, "get the order", limit=5)
    assert same.then.model is not None
    tuned = replace(same.then.model, name="tuned on our queries", weights={"bm25f": 2.0})
    then = same.then._replace(model=tuned, language="german")
    match = same.tools[0]
    weighed = tuple(replace(one, delta=0.5, by_weight=0.25) for one in match.features)
    changed = replace(match, features=weighed, then=replace(match.then, fused_score=0.0))
    compared = compare_json(
        replace(same, then=then, tools=(changed,)),
        ComparedCatalogue("old.mdld"),
        ComparedCatalogue("new.mdld"),
    )

    told = text(compare_blocks(compared), Output())
    assert "model then  tuned on our queries" in told
    assert "language    german, now unknown" in told
    assert "(its weight)" in told
    others = 0.5 * (len(match.features) - 6)
    assert f"{others:+.6f} others" in told
    assert "`tuned on our queries" in markdown(compare_blocks(compared))


@pytest.mark.usefixtures("graph")
def test_markdown_tells_of_what_is_not_there(run: Callable[..., Run]) -> None:
    """Browsing, an empty answer and a score that was capped have their words in Markdown, too."""
    assert "**1.** `invoice_search`  `" in run("explain", "--format", "markdown").out
    assert "No tool matches." in run("explain", "qqqq", "--format", "markdown").out
    for form in ("text", "markdown"):
        told = run("explain", "customer shipment", "--format", form, "-v").out
        assert "but no score is above that of" in " ".join(told.split())
