"""Results of questions: places, cards, examples, lookalikes; suggestions and budgets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcpg.ask.model import fit_budget
from mcpg.ask.tools import made_up_call
from mcpg.catalog.model import HintRule
from mcpg.show.json import ask_json

if TYPE_CHECKING:
    from mcpg.ask import AskResult
    from mcpg.engine import Engine


def test_a_source_narrows_a_name() -> None:
    """Of tools with one name, that of the source in the question is meant; else all are."""
    both = make_engine(
        make_tool("describe_table", id="a", source_id="sqlite"),
        make_tool("describe_table", id="b", source_id="airtable"),
    )
    assert both.ask("where is describe_table").total == 2
    (only,) = both.ask("where is describe_table of airtable").results
    assert only.why == ("is called 'describe_table' on 'airtable'",)


def test_a_card_holds_the_whole_description(engine: Engine) -> None:
    """Documentation is the card of the tool, and what it says of an argument."""
    (result,) = engine.ask("what is row_limit in run_query").results
    assert result.card["description"] == "Run a statement that only reads"
    assert result.card["inputSchema"]["required"] == ["sql_text"]
    assert result.why == ("argument 'row_limit': string. The row_limit?",)
    assert result.sig == "run_query(sql_text: string, row_limit?: string)"


def test_examples_of_authors_come_first() -> None:
    """Usage examples of authors come before a call that is made up, which says so."""
    from mcpg.catalog.model import ToolExample  # noqa: PLC0415 - used once

    tool = make_tool("pin_note", examples=(ToolExample("pin the note on top"),))
    authored, made = make_engine(tool).ask("example of pin_note").results
    assert authored.docs == "pin the note on top"
    assert made.call == {"name": "pin_note", "arguments": {}, "synthesised": True}
    assert made.why == ("is synthesised from the input schema",)


_NAMES = st.sampled_from(["a", "b", "c"])
_SCALARS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={"minLength": st.integers(0, 20), "maxLength": st.integers(20, 40)},
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": st.integers(-9, 3), "maximum": st.integers(4, 9)},
    ),
    st.fixed_dictionaries({"type": st.just("integer"), "exclusiveMinimum": st.integers(-5, 5)}),
    st.fixed_dictionaries({"type": st.just("number"), "exclusiveMaximum": st.integers(-5, 5)}),
    st.fixed_dictionaries({"type": st.just("integer"), "multipleOf": st.integers(1, 7)}),
    st.just({"type": "boolean"}),
    st.just({"type": ["null", "string"]}),
    st.fixed_dictionaries({"enum": st.lists(st.integers(), min_size=1, max_size=3)}),
    st.just({"const": {"k": [1]}}),
    st.just({"$ref": "#/$defs/shared"}),
    st.just({"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 7}]}),
    st.just({"type": "string", "format": "date", "default": 5}),
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(_NAMES, inner, max_size=3),
                "required": st.lists(_NAMES, max_size=2, unique=True),
            }
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": st.integers(0, 2), "maxItems": st.integers(2, 3)},
        ),
    )


@given(_objects(st.recursive(_SCALARS, _objects, max_leaves=8)))
def test_made_up_calls_are_valid(schema: dict[str, Any]) -> None:
    """A call that is made up is valid under the input schema."""
    whole = {
        "type": "object",
        "properties": {"root": schema},
        "required": ["root"],
        "$defs": {"shared": {"type": "object", "required": ["x"]}},
    }
    made, _ = made_up_call(whole)
    Draft202012Validator(whole).validate(made)


def test_a_pattern_is_not_followed_and_that_is_told() -> None:
    """A placeholder does not follow a pattern, which is never run; the answer says so."""
    hostile = {"type": "string", "pattern": "(a+)+$"}
    tool = make_tool(
        "scan_code",
        input_schema={"type": "object", "properties": {"code": hostile}, "required": ["code"]},
    )
    (result,) = make_engine(tool).ask("example of scan_code").results
    assert result.why[1] == "does not follow the pattern of 'code'"


def test_endless_schemas_end() -> None:
    """A schema that holds itself makes a call of bounded depth."""
    node: dict[str, Any] = {"type": "object", "properties": {}, "required": ["next"]}
    node["properties"]["next"] = {"$ref": "#"}
    made, _ = made_up_call(node)
    assert len(json.dumps(made)) < 200


def test_similar_tools_have_reasons(engine: Engine) -> None:
    """What is similar has a reason, and a comparison has both tools first."""
    answer = engine.ask("list_relations vs describe_relation")
    assert [one.symbol for one in answer.results[:2]] == ["list_relations", "describe_relation"]
    assert all(one.why for one in answer.results)


def test_similar_by_prefix(engine: Engine) -> None:
    """`similar:ID terms` asks for what is like a tool; terms raise what fits them."""
    answer = engine.ask("similar:pin_message begin a thread")
    assert answer.decision.decided_by == "prefix"
    assert answer.results[0].symbol == "openthread"
    assert "pinmessage" not in [one.symbol for one in answer.results]


def test_disabled_tools_are_no_results() -> None:
    """Tools that are disabled by default are related to nothing, unless they are asked for."""
    tools = [
        make_tool("copy_note"),
        make_tool("copy_notes", enabled_by_default=False),
    ]
    engine = make_engine(*tools)
    assert engine.ask("similar:copy_note").total == 0 or "copy_notes" not in [
        one.symbol for one in engine.ask("similar:copy_note").results
    ]
    found = engine.ask("similar:copy_note", include_disabled=True)
    assert [one.symbol for one in found.results] == ["copy_notes"]


def test_a_match_shows_what_the_graph_joins_to_it() -> None:
    """What a search shows around its matches stands with the match that it belongs to."""
    engine = make_engine(
        make_tool("paint_wall", description="Paint a wall."),
        make_tool("paint_door", description="Paint a door."),
        make_tool("open_window", description="Open it."),
        rules=(HintRule("paint_door", next_steps=("open_window",)),),
    )
    around = {
        one.symbol: [(other.rel, other.name) for other in one.related]
        for one in engine.ask("something to paint").results
    }
    assert around["paint_wall"] == []
    assert around["paint_door"] == [("nextStep", "open_window")]


def test_the_limit_cuts_and_the_total_does_not(engine: Engine) -> None:
    """The total counts what the limit leaves out."""
    answer = engine.ask("which tools take a team_id", limit=1)
    assert (answer.total, len(answer.results)) == (2, 1)


def test_answers_are_stable(engine: Engine) -> None:
    """The same question has the same answer, in the same order."""
    assert engine.ask("similar:run_query") == engine.ask("similar:run_query")


def written(result: AskResult) -> int:
    """Return the size of an answer as JSON, in bytes."""
    return len(json.dumps(ask_json(result, lambda one: one.text)).encode())


@pytest.mark.parametrize("budget", [700, 1_000, 2_000, 4_000, 100_000])
def test_a_budget_is_kept(engine: Engine, budget: int) -> None:
    """An answer fits its budget: details go first, then results from the end."""
    whole = engine.ask("similar:run_query")
    found = fit_budget(whole, written, budget)
    assert found is not None
    assert written(found) <= budget
    assert len(found.results) + found.omitted == len(whole.results)
    kept = [one.symbol for one in found.results]
    assert kept == [one.symbol for one in whole.results][: len(kept)]


def test_an_impossible_budget(engine: Engine) -> None:
    """Where nothing fits, nothing is given."""
    assert fit_budget(engine.ask("similar:run_query"), written, 20) is None


def test_at_most_three_suggestions(engine: Engine) -> None:
    """An answer suggests at most three commands, none of them the question itself."""
    for question in ("run_query", "docs for run_query", "example of run_query", "invite Ben"):
        answer = engine.ask(question)
        assert 1 <= len(answer.suggestions) <= 3
        assert all(one.command != ("ask", question) for one in answer.suggestions)


def test_no_step_before_is_suggested_where_there_is_none() -> None:
    """What runs before a tool is suggested only if something does."""
    alone = make_engine(make_tool("git_push"))
    commands = [one.command for one in alone.ask("docs of git_push").suggestions]
    assert ("ask", "similar:git_push") in commands
    assert ("ask", "what comes before git_push") not in commands


@pytest.mark.parametrize("shown", ["\u3164", "\u1160", "\ufe0f"])
def test_what_shows_nothing_asks_nothing(engine: Engine, shown: str) -> None:
    """Invisible characters alone find nothing, and beside words they change nothing."""
    assert not engine.ask(shown).results
    asked = [engine.ask(question).results for question in ("run_query", f"run_query {shown}")]
    assert asked[0] == asked[1]
