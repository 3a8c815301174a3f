"""The examples show every feature and nothing broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mcpg
from mcpg.bundle import assemble
from mcpg.evaluation.judged import read_judged
from mcpg.evaluation.report import evaluate
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.bundle import Assembly
    from mcpg.engine import Engine

TOOLS = Path(__file__).parent.parent / "examples" / "tools"


@pytest.fixture(scope="module")
def assembly() -> Assembly:
    """Return the documents and the graph of the examples."""
    return assemble(read_sources([TOOLS]))


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return the examples, ready to be searched."""
    return mcpg.load(TOOLS)


def test_the_examples_are_read_without_a_remark(assembly: Assembly) -> None:
    """A newcomer's first bundle gives no warning."""
    assert assembly.diagnostics == ()
    assert len(assembly.texts) == 45


def test_the_examples_come_from_several_sources(assembly: Assembly) -> None:
    """Three servers and a page written by hand stand side by side."""
    sources = {tool.source_id for tool in assembly.catalog.tools}
    assert sources == {"commerce", "workspace", "devtools", "runbooks"}


def test_every_tool_of_a_manifest_has_hints_in_other_scripts(assembly: Assembly) -> None:
    """A person finds every tool in a language that is not English."""
    named = [tool for tool in assembly.catalog.tools if tool.source_id != "runbooks"]
    assert [tool.id for tool in named if all(alias.isascii() for alias in tool.hints.aliases)] == []


def test_one_dangerous_tool_is_kept_out(engine: Engine) -> None:
    """A tool that is disabled by default is found only when it is asked for."""
    shown = engine.search("delete the repository")
    asked = engine.search("delete the repository", include_disabled=True)
    assert "repository_delete" not in [match.tool_id for match in shown.matches]
    assert asked.matches[0].tool_id == "repository_delete"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("shipmnt status", "shipment_status"),
        ("де моя посилка", "shipment_status"),
        ("wo ist mein Paket", "shipment_status"),
        ("我的包裹在哪里", "shipment_status"),
        ("أين طردي", "shipment_status"),
        ("荷物の配送状況", "shipment_status"),
        ("why did the build break", "ci_run_logs"),
        ("lost parcel", "lost_parcel_runbook"),
        ("remind me to call back", "reminder_set"),
        ("annuler une commande", "order_cancel"),
    ],
)
def test_people_find_the_tool_they_mean(engine: Engine, query: str, expected: str) -> None:
    """A misspelt or foreign request leads to the right tool."""
    assert engine.search(query).matches[0].tool_id == expected


def test_the_judged_queries_are_read_without_a_remark(engine: Engine) -> None:
    """Every tool that they name exists, some have no answer, and most are answered well."""
    report = evaluate(engine, read_judged(TOOLS.parent / "queries.yaml"))
    assert report.diagnostics == ()
    assert 0 < len(report.answerless) < len(report.outcomes)
    assert report.figures["hit@5"] is not None
    assert report.figures["hit@5"] >= 0.8


def test_the_page_written_by_hand_leads_on(engine: Engine) -> None:
    """Tools that a document names by id are offered as next steps."""
    offered = engine.search("lost parcel runbook", limit=1).next_step_matches
    assert offered
    assert {match.tool_id for match in offered} <= {"shipment_status", "refund_issue"}


def test_references_in_schemas_have_a_target() -> None:
    """Every `$ref` of an example schema names a definition of the same schema."""
    references = [
        (reference, schema)
        for file in TOOLS.glob("*.json")
        for schema in _members(json.loads(file.read_text(encoding="utf-8")), "inputSchema")
        for reference in _members(schema, "$ref")
    ]
    assert references
    for reference, schema in references:
        assert reference.removeprefix("#/$defs/") in schema["$defs"]


def test_output_schemas_feed_required_arguments(assembly: Assembly) -> None:
    """What an order gives, such as a shipment's id, is what a shipment asks for."""
    needed = {
        name for tool in assembly.catalog.tools for name in tool.required_arguments if "_id" in name
    }
    given = {
        name
        for tool in assembly.catalog.tools
        for properties in _members(tool.output_schema, "properties")
        for name in properties
    }
    assert {"order_id", "shipment_id", "run_id", "incident_id", "event_id", "rate_id"} <= needed
    assert needed <= given


def _members(value: Any, key: str) -> Iterator[Any]:
    """Give every value under *key*, at any depth."""
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for member in value.values():
            yield from _members(member, key)
    elif isinstance(value, list):
        for member in value:
            yield from _members(member, key)
