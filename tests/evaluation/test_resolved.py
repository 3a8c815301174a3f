"""The names in judged queries, looked up in a catalogue."""

from __future__ import annotations

import pytest
from builders import make_tool

from mcpg.catalog.catalog import Catalog, build_catalog
from mcpg.errors import Code
from mcpg.evaluation.judged import JudgedQuery, Judgements, ResolvedJudgements, resolve


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """Tools of two servers, two of which share a name, and two but for the case."""
    return build_catalog(
        [
            make_tool("status", source_id="ship"),
            make_tool("find", source_id="ship"),
            make_tool("find", source_id="bill"),
            make_tool("Sum", source_id="maths"),
            make_tool("sum", source_id="maths"),
        ]
    )


def resolved(catalog: Catalog, *names: str) -> ResolvedJudgements:
    """Resolve one query that is answered by *names*."""
    return resolve(Judgements((JudgedQuery("a", "q", names, 4),), (), "q.jsonl"), catalog)


@pytest.mark.parametrize(
    ("name", "tool_id"),
    [
        ("status", "status"),
        ("STATUS", "status"),
        ("ship::status", "status"),
        ("ship::find", "ship_find"),
        ("bill_find", "bill_find"),
        ("maths::Sum", "maths_Sum"),
        ("maths::sum", "maths_sum"),
    ],
)
def test_names_that_mean_one_tool(catalog: Catalog, name: str, tool_id: str) -> None:
    """An id, `source::name` and a bare name are understood; case decides where it must."""
    ids = {tool.source_id + "::" + tool.name: tool.id for tool in catalog.tools}
    found = resolved(catalog, name)
    assert found.queries[0].relevant == (ids.get(name, tool_id),)
    assert found.diagnostics == ()


def test_an_unknown_tool_is_told_once_and_kept(catalog: Catalog) -> None:
    """It has a near name suggested, and stays among what the query is answered by."""
    query = JudgedQuery("a", "q", ("statsu", "status"), 4)
    found = resolve(Judgements((query, query), (), "q.jsonl"), catalog)
    assert [one.unknown for one in found.queries] == [("statsu",), ("statsu",)]
    assert [one.relevant_count for one in found.queries] == [2, 2]
    (noticed,) = found.diagnostics
    assert (noticed.code, noticed.place) == (Code.JUDGED_TOOL_UNKNOWN, "q.jsonl:4")
    assert "'statsu': did you mean status?" in noticed.message


def test_suggestions_are_bounded(catalog: Catalog) -> None:
    """A file for other tools is reported without a suggestion for each of its names."""
    query = JudgedQuery("a", "q", tuple(f"status{number}" for number in range(60)), 4)
    noticed = resolve(Judgements((query,), (), "q.jsonl"), catalog).diagnostics
    assert (len(noticed), sum("did you mean" in one.message for one in noticed)) == (60, 50)


def test_a_tool_like_none(catalog: Catalog) -> None:
    """Where nothing is near, the reader learns where to look."""
    assert "see `mcpg list`" in resolved(catalog, "zzzzqqq").diagnostics[0].message


def test_a_name_of_several_tools(catalog: Catalog) -> None:
    """The ids to choose from are told."""
    found = resolved(catalog, "find")
    assert found.queries[0].unknown == ("find",)
    assert found.diagnostics[0].code == Code.JUDGED_TOOL_AMBIGUOUS
    assert "2 tools: use bill_find or ship_find" in found.diagnostics[0].message


def test_a_pattern_is_no_judgement(catalog: Catalog) -> None:
    """Wildcards find nothing here, even where one tool matches."""
    assert resolved(catalog, "stat*").queries[0].unknown == ("stat*",)


def test_two_names_of_one_tool_count_once(catalog: Catalog) -> None:
    """A tool that is named twice is one tool."""
    assert resolved(catalog, "status", "ship::status").queries[0].relevant == ("status",)


def test_an_empty_list_is_no_gap(catalog: Catalog) -> None:
    """A query that no tool answers is told apart from one whose tools are unknown."""
    assert resolved(catalog).queries[0].is_answerless
    assert not resolved(catalog, "nope").queries[0].is_answerless
