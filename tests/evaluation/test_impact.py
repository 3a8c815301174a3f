"""What a change of a catalogue does to searches."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_engine, make_tool

from mcpg.catalog.model import HintRule
from mcpg.errors import Code, InputError, UsageError
from mcpg.evaluation.judged import parse_judged
from mcpg.review.change_report import Limit, gate_counts, judge_change, parse_limits
from mcpg.review.impact import (
    RANK_LOSSES,
    Impact,
    ImpactStudy,
    QueryEffect,
    QueryImpact,
    QueryOrigin,
)

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool

TOOLS = (
    make_tool("shipment_status", description="Tells where a parcel is, and when it arrives."),
    make_tool("invoice_refund", description="Pays the amount of an invoice back."),
    make_tool("label_print", description="Prints a label for a box.", title="Print a label"),
    make_tool("stock_count", description="Counts the goods in a warehouse."),
    make_tool("customer_mail", description="Sends a letter to a customer."),
    make_tool("report_sales", description="Sums up the sales of a month."),
)
THIEF = replace(
    TOOLS[4], description="Tells where a parcel is, and when it arrives, for each customer."
)
STEP = HintRule("stock_count", next_steps=("label_print",))
STOLEN = "Tells where a parcel is, and when it arrives."


def study(before: tuple[Tool, ...], after: tuple[Tool, ...], **more: Any) -> ImpactStudy:
    """Compare the catalogues of two lists of tools."""
    return ImpactStudy(make_engine(*before), make_engine(*after), **more)


def with_tool(changed: Tool) -> tuple[Tool, ...]:
    """Return the tools with one of them changed."""
    return tuple(changed if one.id == changed.id else one for one in TOOLS)


def judged(*entries: dict[str, Any]) -> Any:
    """Return judged queries as they are read from a file."""
    return parse_judged("\n".join(map(json.dumps, entries)).encode(), "q.jsonl")


def by_query(impact: Impact) -> dict[str, QueryImpact]:
    """Return the queries that changed, by their text."""
    return {one.query: one for one in impact.queries}


def test_unchanged_catalogues_have_no_impact() -> None:
    """Where nothing changed no query changes, judged or not."""
    found = study(TOOLS, TOOLS[::-1]).impact(
        judged({"query": "where is it", "relevant": ["shipment_status"]})
    )
    assert found.derived > len(TOOLS)
    assert (found.judged, found.queries, found.unreachable) == (1, (), ())


def test_a_stolen_query_is_named_with_both_tools() -> None:
    """A tool that takes the query of another is named, with the words that it gained by."""
    alias = replace(TOOLS[4].hints, aliases=("where is a parcel", "when a parcel arrives"))
    thief = replace(THIEF, hints=alias)
    question = {"query": "where is a parcel and when it arrives", "relevant": ["shipment_status"]}
    found = by_query(study(TOOLS, with_tool(thief)).impact(judged(question)))[question["query"]]
    assert found.has(RANK_LOSSES)
    assert found.lost is not None
    assert found.won is not None
    assert (found.lost.tool, found.won.tool) == ("shipment_status", "customer_mail")
    assert (found.rank_before, found.won.rank_after) == (1, 1)
    assert {word.query for word in found.won.words} & {"parcel", "arrives"}
    assert found.won.features


def test_a_copied_text_belongs_to_the_tool_that_had_it() -> None:
    """Who copies the description of another tool is no owner of it: its query can be taken."""
    copied = replace(TOOLS[4], id="parcel_where", name="parcel_where", description=STOLEN)
    asked = study(TOOLS, (copied, *TOOLS)).impact()
    found = [one for one in asked.queries if one.query == STOLEN]
    assert [one.tools for one in found] == [("shipment_status",)]


def test_a_new_tool_that_says_nothing_new_is_unreachable() -> None:
    """Of two tools with one description, the one that is not first for it is named."""
    vague = make_tool("goods", description="Counts the goods in a warehouse.")
    runner = study(TOOLS, (*TOOLS, vague))
    (found,) = runner.impact().unreachable
    tools = {"stock_count", "goods"}
    assert {found.tool, found.hidden_by} == tools
    assert found.is_new == (found.tool == "goods")
    assert found.query == vague.description


def test_a_disabled_tool_has_no_queries() -> None:
    """A tool that is off by default now was not robbed, unless disabled tools are searched."""
    off = with_tool(replace(TOOLS[1], hints=replace(TOOLS[1].hints, enabled_by_default=False)))
    found = study(TOOLS, off).impact()
    assert found.with_effects(RANK_LOSSES) == ()
    assert found.unreachable == ()


def test_former_texts_are_not_counted() -> None:
    """A text that a tool no longer has is searched, and no gate counts it."""
    reworded = replace(TOOLS[1], description="Sums up what customers got back.")
    runner = study(TOOLS, with_tool(reworded))
    found = runner.impact()
    former = [one for one in found.queries if one.is_former]
    assert all(one.tools == ("invoice_refund",) for one in former)
    assert not any(one.is_former for one in found.with_effects(QueryEffect))


def test_a_renamed_tool_is_found_by_its_judgements() -> None:
    """A judged query that names a tool by its former name means the renamed one."""
    name = "money_back"
    found = study(
        TOOLS, (*with_tool(TOOLS[1])[:1], replace(TOOLS[1], id=name, name=name), *TOOLS[2:])
    )
    impact = found.impact(judged({"query": "pay an invoice back", "relevant": ["invoice_refund"]}))
    lost = [
        one for one in impact.queries if one.origin is QueryOrigin.JUDGED and one.has(RANK_LOSSES)
    ]
    assert lost == []
    assert found.diagnostics == ()


def test_a_query_without_an_answer_that_is_answered() -> None:
    """Where no tool should be found, a score that rises to the threshold is a loss."""
    pizza = make_tool("pizza_find", description="Finds the best pizza in town.")
    found = study(TOOLS, (*TOOLS, pizza)).impact(judged({"query": "best pizza", "relevant": []}))
    assert QueryEffect.ANSWERED in by_query(found)["best pizza"].effects


def test_scores_that_fall_are_reported_by_the_margin() -> None:
    """A score that falls by more than the margin is a loss; the margin can be set."""
    twin = make_tool("parcel_where", description="Tells where a parcel is.")
    question = judged(
        {"query": "where is my parcel", "relevant": ["shipment_status", "parcel_where"]}
    )
    strict = study(TOOLS, (*TOOLS, twin), margin=0.0).impact(question, sample=0)
    loose = study(TOOLS, (*TOOLS, twin), margin=1.0).impact(question, sample=0)
    falls = [
        one.score_before - one.score_after
        for one in strict.queries
        if one.score_before and one.score_after
    ]
    lessened = [one for one in strict.queries if QueryEffect.LESS_SURE in one.effects]
    assert bool(lessened) is any(fall > 0 for fall in falls)
    assert not any(
        QueryEffect.LESS_SURE in one.effects and one.score_after >= 0.35
        for one in loose.queries
        if one.score_after
    )


def test_a_sample_has_the_texts_of_changed_tools() -> None:
    """Of more texts than are searched, those of changed tools and those like them come first."""
    others = tuple(
        make_tool(f"tool_{number}", description=f"Handles the matter w{number} of case v{number}.")
        for number in range(60)
    )
    runner = study((*TOOLS, *others), (*with_tool(THIEF), *others))
    few = runner.impact(sample=4)
    assert (few.derived, few.derivable > 100) == (4, True)
    again = study((*TOOLS, *others), (*with_tool(THIEF), *others)).impact(sample=4)
    assert again == few
    searched = {one.query for one in few.queries}
    assert searched <= {one.query for one in runner.impact().queries} | searched


def test_judged_queries_of_other_catalogues_are_refused() -> None:
    """A file that names tools of neither catalogue is an error; one unknown name is a warning."""
    runner = study(TOOLS, TOOLS[:3])
    with pytest.raises(InputError, match="names no tool of either catalog"):
        runner.impact(judged({"query": "x", "relevant": ["nobody"]}))
    runner.impact(
        judged(
            {"query": "x", "relevant": ["nobody"]},
            {"query": "count the goods", "relevant": ["stock_count"]},
        )
    )
    assert [one.code for one in runner.diagnostics] == [Code.JUDGED_TOOL_UNKNOWN]


def test_a_judged_tool_that_is_gone_is_lost() -> None:
    """The query of a removed tool is lost."""
    found = study(TOOLS, TOOLS[:3]).impact(
        judged({"query": "count the goods", "relevant": ["stock_count"]})
    )
    lost = by_query(found)["count the goods"]
    assert lost.has([QueryEffect.LOST_FIRST])
    assert lost.rank_after is None


def test_catalogues_with_nothing_in_common() -> None:
    """Catalogues that share no tool have tools that came and went, and no query that was lost."""
    runner = study(TOOLS[:3], TOOLS[3:])
    found = runner.impact()
    counts = gate_counts(runner.diff, found)
    assert (len(runner.diff.added), len(runner.diff.removed), counts["rank"]) == (3, 3, 0)


def test_limits_count_findings() -> None:
    """A limit passes up to its number of findings."""
    runner = study(TOOLS, TOOLS[:4])
    limits = parse_limits(["removed=2, breaking", "rank=0"])
    gates = judge_change(runner.diff, Impact(), limits)
    assert limits == (Limit("removed", 2), Limit("breaking"), Limit("rank"))
    assert [gate.passed for gate in gates] == [True, False, True]


@pytest.mark.parametrize("text", ["brake", "rank=", "rank=-1", "rank=x", "=3"])
def test_limits_that_are_none_are_refused(text: str) -> None:
    """An unknown kind or a number that is none is an error of usage."""
    with pytest.raises(UsageError):
        parse_limits([text])


def test_reasons_count_the_context_tools_of_a_query() -> None:
    """What moved a tool for a query with context tools is explained with these in use."""
    asked = {
        "query": "send a letter to print",
        "relevant": ["label_print"],
        "contextTools": ["stock_count"],
    }
    before, after = make_engine(*TOOLS, rules=(STEP,)), make_engine(*TOOLS)
    (found,) = ImpactStudy(before, after).impact(judged(asked), sample=0).queries

    assert found.lost is not None
    assert found.lost.tool == "label_print"
    assert {"contextEdge", "contextWalk"} & {one.feature for one in found.lost.features}
