from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

JUDGED = """\
{"query": "shipment status", "relevant": ["shipment_status"]}
{"query": "find an invoice", "relevant": ["invoice_search"]}
{"query": "zorb the label", "relevant": ["invoice_search"]}
{"query": "label of a shipment", "relevant": ["shipment_create"]}
"""
QUERY = "zorb the label"


@pytest.mark.usefixtures("graph")
def test_the_object_has_the_members_of_the_contract(run: Callable[..., Run]) -> None:
    """JSON carries why a tool is where it is, who is above, and the change."""
    found = run("explain", QUERY, "--tool", "invoice_search", "--format", "json").json

    tool = found["tool"]
    assert found["schema"] == "mcpg/explain/1"
    assert (tool["toolId"], tool["rank"]) == ("invoice_search", None)
    assert tool["above"][0]["toolId"] == "shipment_create"
    assert tool["above"][0]["because"]
    assert tool["change"]["hints"] == {"keywords": ["label", "zorb"], "aliases": []}
    assert (tool["change"]["rankAfter"], tool["change"]["verified"]) == (1, True)
    assert "effect" not in tool


@pytest.mark.parametrize("options", [["--strategy", "auto"], ["--rewrite"]])
def test_it_is_told_that_the_graph_alone_is_looked_at(
    options: list[str], graph: Path, run: Callable[..., Run]
) -> None:
    """Whoever asks for another way to rank is told, and where that puts the tool."""
    asked = [
        "explain",
        QUERY,
        "--tool",
        "shipment_create",
        "--embed-with",
        "none",
        "-b",
        str(graph),
    ]
    found = run(*asked, *options)
    plain = run(*asked)

    told = (
        "info[tool_explained_by_graph]: the rank of shipment_create is explained for the strategy"
    )
    assert f"{told} graph; by " in found.err
    assert "its rank is 1" in found.err
    assert found.out == plain.out
    assert "tool_explained_by_graph" not in plain.err
    data = run(*asked, *options, "--tool", "invoice_search", "-n1", "--format", "json").json
    (noticed,) = [x for x in data["diagnostics"] if x["code"] == "tool_explained_by_graph"]
    assert noticed["message"].endswith("it is not among the first 1")
    assert noticed["severity"] == "info"


def test_the_hints_that_are_printed_give_the_rank(graph: Path, run: Callable[..., Run]) -> None:
    """What stands at the foot of the text is a hints file that does what is promised."""
    printed = run("explain", QUERY, "--tool", "invoice_search")
    _, _, snippet = printed.out.partition("# add to a hints file:\n")
    (graph.parent / "tools" / "more.hints.yaml").write_text(snippet, "utf-8")

    assert printed.code == 0
    assert yaml.safe_load(snippet) == {"tools": {"invoice_search": {"keywords": ["label", "zorb"]}}}
    assert run("bundle", "tools", "-q", "--strict").code == 0
    found = run("explain", QUERY, "--tool", "invoice_search", "--format", "json").json
    assert (found["tool"]["rank"], found["tool"]["change"]) == (1, None)


def test_text_says_who_is_above_and_why(graph: Path, run: Callable[..., Run]) -> None:
    """The gaps are drawn, the words compared, and what a change does to others is told."""
    (graph.parent / "q.jsonl").write_text(JUDGED, "utf-8")

    told = run("explain", QUERY, "--tool", "invoice_search", "--queries", "q.jsonl", "-v").out

    assert "by its words  not found: it contains no word of the query" in told
    assert " 1  shipment_create  score" in told
    assert "this tool contains no word of the query" in told
    assert "change: add the keyword 'label', add the keyword 'zorb'" in told
    assert "rank 1, score" in told
    assert "4 queries, nDCG@5" in told
    assert "better (1)" in told


def test_the_effect_stands_in_the_object(graph: Path, run: Callable[..., Run]) -> None:
    """With judged queries the object carries figures before and after, and what moved."""
    (graph.parent / "q.jsonl").write_text(JUDGED, "utf-8")
    arguments = ("--tool", "invoice_search", "--queries", "q.jsonl", "--format", "json")

    effect = run("explain", QUERY, *arguments).json["tool"]["effect"]

    assert effect["common"] == 4
    assert effect["metrics"]["ndcg@5"]["delta"] > 0
    assert [one["query"] for one in effect["better"]] == [QUERY]


@pytest.mark.usefixtures("graph")
def test_markdown_holds_text_and_hints_apart(run: Callable[..., Run]) -> None:
    """For a comment there are tables, and the hints file in a block of its own."""
    told = run("explain", QUERY, "--tool", "invoice_search", "--format", "markdown").out

    assert told.startswith("### Why `invoice_search`\n\n- query: `zorb the label`\n")
    assert told.rstrip().endswith('keywords: ["label", "zorb"]\n```')
    assert "```yaml\n# add to a hints file:\ntools:" in told


@pytest.mark.usefixtures("graph")
def test_a_report_may_be_written_as_well(folder: Path, run: Callable[..., Run]) -> None:
    """`--html` writes the report of the search."""
    told = run("explain", QUERY, "--tool", "invoice_search", "--html", "why.html")

    assert told.code == 0
    assert (folder / "why.html").exists()


def test_many_moved_queries_are_counted(graph: Path, run: Callable[..., Run]) -> None:
    """Ten queries that became better are listed, the rest are counted."""
    line = '{"id": "%d", "query": "zorb number %d", "relevant": ["invoice_search"]}\n'
    (graph.parent / "q.jsonl").write_text("".join(line % (n, n) for n in range(12)), "utf-8")

    told = run("explain", QUERY, "--tool", "invoice_search", "--queries", "q.jsonl").out

    assert told.count("- -> 1") == 10
    assert "... and 2 more are better" in told


def test_a_tool_far_below_says_how_far(folder: Path, run: Callable[..., Run]) -> None:
    """Beyond the tools that are looked at closely, its place by words is told."""
    tools = [{"name": f"p{n:02}", "description": "parcel " * (40 - n)} for n in range(40)]
    (folder / "many.json").write_text(json.dumps({"server": "s", "tools": tools}), "utf-8")

    told = run("explain", "parcel", "--tool", "p39", "-b", "many.json").out

    assert "rank          40 of 40, score" in told
    assert "only the first 20, down to" in told


@pytest.mark.usefixtures("graph")
def test_a_disabled_tool_is_told_and_enabled(run: Callable[..., Run]) -> None:
    """The snippet enables what is off by default."""
    told = run("explain", "pay an invoice back", "--tool", "invoice_refund").out

    assert "rank   none: it is disabled by default" in told
    assert "change  enable it" in told
    assert told.rstrip().endswith("enabledByDefault: true")


@pytest.mark.usefixtures("graph")
def test_the_first_tool_and_the_hopeless_one_have_no_change(run: Callable[..., Run]) -> None:
    """Why there is no change is said where it would stand."""
    first = run("explain", "shipment status", "--tool", "shop::shipment_status").out
    hopeless = run("explain", "4711", "--tool", "shipment_status").out

    assert "change  it is first already" in first
    assert "change  the query has no word" in hopeless
    assert "hints file" not in first + hopeless


@pytest.mark.usefixtures("graph")
def test_mistakes_are_usage_errors(run: Callable[..., Run]) -> None:
    """No such tool, no query, no such file, and judged queries without a tool: exit 2."""
    missing = run("explain", "x", "--tool", "shipment_staus")
    empty = run("explain", "--tool", "shipment_status")
    alone = run("explain", "x", "--queries", "q.jsonl")
    nowhere = run("explain", "x", "--tool", "shipment_status", "--queries", "q.jsonl")

    assert [one.code for one in (missing, empty, alone, nowhere)] == [2, 2, 2, 2]
    assert "did you mean shipment_status" in missing.err
    assert "without a query" in empty.err
    assert "name a tool with --tool" in alone.err
    assert "q.jsonl" in nowhere.err


def test_hostile_texts_are_neutralised(folder: Path, run: Callable[..., Run]) -> None:
    """No control character of a name or a query reaches the terminal."""
    tools = [
        {"name": "\x1b]0;owned\x07parcel", "description": "Find\u202e a parcel."},
        {"name": "parcel_list", "description": "List every parcel."},
    ]
    (folder / "evil.json").write_text(json.dumps({"server": "x: [\u202e", "tools": tools}), "utf-8")
    ids = [
        one["toolId"] for one in run("list", "-b", "evil.json", "--format", "json").json["tools"]
    ]

    assert len(ids) == 2
    for tool_id in ids:
        told = run("explain", "list \x1b[31mzorb", "--tool", tool_id, "-b", "evil.json")
        assert told.code == 0
        assert "\x1b" not in told.out
        assert "\u202e" not in told.out


@pytest.mark.usefixtures("graph")
def test_a_gate_holds_for_the_matches(run: Callable[..., Run]) -> None:
    """`--min-score` means the same as without a tool."""
    told = run("explain", "shipment", "--tool", "shipment_create", "--min-score", "1")

    assert told.code == 1


def test_queries_that_the_tool_misses_come_with_aliases(
    graph: Path, run: Callable[..., Run]
) -> None:
    """Judged queries that another tool is first for are listed with an alias of each."""
    query = "settle what I owe for order 4711"
    judged = json.dumps({"query": query, "relevant": ["invoice_search"]})
    (graph.parent / "q.jsonl").write_text(judged, "utf-8")
    arguments = ("explain", QUERY, "--tool", "invoice_search", "--queries", "q.jsonl")

    (missed,) = run(*arguments, "--format", "json").json["tool"]["missed"]

    assert (missed["query"], missed["alias"]) == (query, "settle what I owe for order")
    assert missed["rankAfter"] == 1
    assert "'settle what I owe for order'" in run(*arguments).out
