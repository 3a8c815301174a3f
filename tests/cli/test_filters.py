"""`--source`, `--category` and `--read-only`, and what of the tools is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from shop import MANIFEST

from mcpg.search.calibration import LOW_CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

pytestmark = pytest.mark.usefixtures("graph")

QUERY = ("invoice", "shipment")
SCHEMAS = {tool["name"]: tool["inputSchema"] for tool in MANIFEST["tools"]}  # type: ignore[index]


@pytest.fixture
def two(graph: Path) -> None:
    """A second server beside the shop, whose bundle is the default."""
    tool = {"name": "invoice_print", "description": "Print an invoice for a shipment."}
    more = {"server": "Office", "tools": [tool | {"annotations": {"readOnlyHint": True}}]}
    (graph.parent / "tools" / "office.json").write_text(json.dumps(more), "utf-8")


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("command", ["search", "explain", "route", "list"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"shop", "Office"}),
        (("--source", "office"), {"Office"}),
        (("--source", "office", "--source", "SHOP"), {"shop", "Office"}),
        (("--category", "billing"), {"shop"}),
        (("--category", "billing", "--category", "shipping", "--source", "shop"), {"shop"}),
        (("--category", "billing", "--source", "office"), set()),
        (("--read-only", "--source", "office"), {"Office"}),
    ],
)
def test_every_command_takes_the_same_filters(
    run: Callable[..., Run], command: str, options: tuple[str, ...], expected: set[str]
) -> None:
    """Names in any case, several of one kind add up, kinds must all be passed."""
    words = () if command == "list" else QUERY
    found = run(command, *words, *options, "-b", "tools", "--format", "json")
    tools = found.json.get("tools", found.json.get("suggestedMatches", found.json.get("matches")))
    assert {tool["sourceId"] for tool in tools} == expected
    assert found.code == (0 if expected else 1)


@pytest.mark.parametrize("command", ["search", "explain", "route", "list", "plan"])
def test_an_unknown_name_finds_nothing(run: Callable[..., Run], command: str) -> None:
    """The exit code is 1, and a near name is suggested, in JSON as in text."""
    words = () if command == "list" else QUERY
    found = run(command, *words, "--source", "shp", "--format", "json")
    (noticed,) = found.json["diagnostics"]
    assert (noticed["code"], found.code) == ("filter_unknown", 1)
    assert "did you mean 'shop'?" in noticed["message"]
    assert noticed["remedy"]
    told = run(command, *words, "--source", "shp")
    assert "did you mean 'shop'?" in told.out + told.err


def test_an_empty_name_is_no_filter_left_out(run: Callable[..., Run]) -> None:
    """A variable of a script that is not set finds nothing, rather than everything."""
    for command in (["search", *QUERY], ["list"]):
        found = run(*command, "--source", "", "--format", "ids")
        assert (found.code, found.out) == (1, "")
        assert "no source is called ''" in found.err


def test_related_tools_can_be_left_out(run: Callable[..., Run]) -> None:
    """Text then ends with the matches, and the lists of JSON are empty; matches stay."""
    whole, alone = (run("search", "refund", "-n", "1", *one) for one in ([], ["--no-related"]))
    assert whole.out.startswith(alone.out.rstrip())
    assert len(alone.out.splitlines()) == 2 < len(whole.out.splitlines())
    found = run("search", "refund", "--no-related", "--format", "json").json
    assert found["matches"] == run("search", "refund", "--format", "json").json["matches"]
    for name in ("relatedMatches", "nextStepMatches", "prerequisites"):
        assert found[name] == []


def test_people_see_no_more_linked_tools_than_matches(run: Callable[..., Run]) -> None:
    """Text shows links of sure matches alone; JSON has all that the graph reaches."""
    for limit in ("1", "2", "5"):
        shown = run("search", "refund", "-n", limit).out
        found = run("search", "refund", "-n", limit, "--format", "json").json
        links = sum(line.strip().startswith(("before ", "from ")) for line in shown.splitlines())
        assert 0 < links <= len(found["matches"])
    doubtful = run("search", "refund zebra umbrella quux violin", "--format", "json").json
    assert doubtful["matches"][0]["score"] < LOW_CONFIDENCE
    assert "strength of the link" not in run("search", "refund zebra umbrella quux violin").out


@pytest.mark.parametrize("command", [("search", *QUERY), ("list",)])
def test_input_schemas_are_written_on_request(
    run: Callable[..., Run], command: tuple[str, ...]
) -> None:
    """Each tool of JSON and of JSON lines has its own, as its manifest gives it."""
    name = "tools" if command == ("list",) else "matches"
    found = run(*command, "--format", "json", "--input-schema").json
    lines = run(*command, "--format", "jsonl", "--input-schema").out.splitlines()
    for tools in (found[name], list(map(json.loads, lines))):
        assert tools
        assert {one["toolName"]: one["inputSchema"] for one in tools}.items() <= SCHEMAS.items()
    for one in (*found.get("relatedMatches", ()), *found.get("prerequisites", ())):
        assert one["inputSchema"] == SCHEMAS[one["toolName"]]
    assert "inputSchema" not in run(*command, "--format", "json").out


@pytest.mark.parametrize(
    "arguments",
    [("list",), ("search", *QUERY, "--format", "csv"), ("search", "--explain", "--format", "json")],
)
def test_schemas_need_a_format_that_has_room(
    run: Callable[..., Run], arguments: tuple[str, ...]
) -> None:
    """Text, ids and tables have none: to ask for them is a mistake that is named."""
    found = run(*arguments, "--input-schema")
    assert found.code == 2
    assert "--format json or --format jsonl" in found.err


def test_a_list_can_be_cut(run: Callable[..., Run]) -> None:
    """The first tools are listed; fewer than one is a mistake."""
    everything = run("list", "--format", "ids").out.splitlines()
    assert run("list", "-n", "2", "--format", "ids").out.splitlines() == everything[:2]
    assert run("list", "--limit", "0").code == 2


def test_why_not_tells_of_the_filter(run: Callable[..., Run]) -> None:
    """A tool that the filter leaves out has no rank, and the condition is named."""
    found = run("explain", "pay back", "--tool", "invoice_refund", "--read-only")
    assert "none: the filter leaves it out" in found.out
    assert "it has no hint that it only reads" in found.out
    told = run("explain", "pay back", "--read-only", "--source", "shop").out
    assert "source shop; read-only: leaves 1 of 4 tools" in told
