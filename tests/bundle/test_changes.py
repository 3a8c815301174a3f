"""What changed between two catalogues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from builders import make_engine, make_tool

from mcpg.catalog.model import HintRule
from mcpg.catalog.schema_changes import Compatibility
from mcpg.review.diff import CatalogueDiff, RelationDifference, compare_catalogues

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}


def compared(before: list[Tool], after: list[Tool]) -> CatalogueDiff:
    """Compare the catalogues of two lists of tools."""
    return compare_catalogues(make_engine(*before).documents, make_engine(*after).documents)


def changed(before: dict[str, Any], after: dict[str, Any]) -> Any:
    """Return how one tool changed that gets other members."""
    (found,) = compared([make_tool(**before)], [make_tool(**after)]).changed
    return found


def test_equal_catalogues_do_not_differ() -> None:
    """A catalogue does not differ from itself, in whatever order its tools are given."""
    tools = [make_tool("ant", description="An ant."), make_tool("bee", description="A bee.")]
    assert compared(tools, tools[::-1]).is_empty


def test_tools_are_added_and_removed() -> None:
    """Tools of one catalogue alone are listed in order of id."""
    found = compared([make_tool("bee"), make_tool("ant")], [make_tool("cow"), make_tool("ant")])
    assert [tool.id for tool in found.added] == ["cow"]
    assert [tool.id for tool in found.removed] == ["bee"]
    assert found.now_by_then == {"ant": "ant"}


def test_a_tool_with_the_same_definition_was_renamed() -> None:
    """A tool that is gone and a new one with its description and schemas are one tool."""
    before = make_tool("bee", description="Makes honey.", title="Bee")
    found = compared([before], [make_tool("wasp", description="Makes honey.", title="Wasp")])
    assert not found.added
    assert not found.removed
    (one,) = found.changed
    assert (one.before.name, one.after.name, one.is_renamed) == ("bee", "wasp", True)
    assert found.now_by_then == {"bee": "wasp"}


def test_a_tool_that_moved_keeps_its_name() -> None:
    """Of tools with one definition at another source, those with one name are the same."""
    names = ("ant", "bee")
    before, after = (
        [make_tool(name, description="Works.", source_id=source) for name in names]
        for source in ("hill", "hive")
    )
    pairs = {one.before.name: one.after.name for one in compared(before, after).changed}
    assert pairs == {"ant": "ant", "bee": "bee"}


@pytest.mark.parametrize("text", ["", "Works."])
def test_what_may_be_several_tools_was_not_renamed(text: str) -> None:
    """Without a description, or with two tools of one definition, nothing is guessed."""
    before = [make_tool("ant", description=text), make_tool("bee", description=text)]
    after = [make_tool("cow", description=text), make_tool("dog", description=text)]
    found = compared(before, after)
    assert (len(found.added), len(found.removed), found.changed) == (2, 2, ())


def test_fields_are_compared_by_their_items() -> None:
    """A list is compared by its items, a text by its words, and blanks don't count."""
    found = changed(
        {"keywords": ("parcel", "van"), "description": "Finds  it.", "title": "Find"},
        {"keywords": ("van", "box"), "description": "Finds it.", "title": "Track"},
    )
    by_name = {field.name: field for field in found.fields}
    assert by_name.keys() == {"title", "hints.keywords"}
    assert by_name["hints.keywords"].added == ("box",)
    assert by_name["hints.keywords"].removed == ("parcel",)


@pytest.mark.parametrize(
    ("before", "after", "is_riskier"),
    [
        ({"read_only": True}, {"read_only": False}, True),
        ({"read_only": True}, {}, True),
        ({"read_only": False}, {"read_only": True}, False),
        ({"destructive": False}, {"destructive": True}, True),
        ({}, {"destructive": True}, False),
        ({"read_only": True}, {"read_only": True, "destructive": True}, False),
        ({"idempotent": True}, {"idempotent": False}, True),
        ({"open_world": False}, {"open_world": True}, True),
    ],
)
def test_flags_that_make_a_tool_riskier(
    before: dict[str, bool], after: dict[str, bool], *, is_riskier: bool
) -> None:
    """A tool is riskier where a client assumes less of it than before."""
    assert changed(before, after).is_riskier is is_riskier


def test_schemas_have_verdicts() -> None:
    """Changes of both schemas are judged."""
    found = changed(
        {"input_schema": SCHEMA, "output_schema": SCHEMA},
        {"input_schema": SCHEMA | {"required": ["id"]}, "output_schema": SCHEMA},
    )
    assert [one.path for one in found.with_verdict(Compatibility.BREAKING)] == ["id"]
    assert found.output == ()


def test_the_order_of_members_is_no_change() -> None:
    """Objects within `_meta` are equal in whatever order their members are written."""
    before, after = (make_tool(meta={"x": one}) for one in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    found = compared([before], [after])
    assert found.is_empty


def test_relations_come_and_go() -> None:
    """A relation names the other tool by its id."""
    tools = make_tool("ant", description="Digs."), make_tool("bee", description="Flies.")
    rule = HintRule("ant", related=("bee",))
    found = compare_catalogues(
        make_engine(*tools).documents, make_engine(*tools, rules=(rule,)).documents
    )
    added = [one for tool in found.changed for one in tool.relations if one.origin == "authored"]
    assert RelationDifference("related", "bee", is_added=True, origin="authored") in added
    assert not any(one.is_itself_changed for one in found.changed)


def test_a_link_to_a_renamed_tool_is_the_same() -> None:
    """A relation does not change because the other tool has another name."""
    rule = HintRule("ant", related=("bee", "wasp"))
    before, after = (
        make_engine(
            make_tool("ant", description="Digs."),
            make_tool(name, description="Makes honey."),
            rules=(rule,),
        ).documents
        for name in ("bee", "wasp")
    )
    found = compare_catalogues(before, after)
    edges = [one for tool in found.changed for one in tool.relations if one.origin == "authored"]
    assert edges == []
