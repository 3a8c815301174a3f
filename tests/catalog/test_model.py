from __future__ import annotations

from typing import Any

import pytest
from builders import make_tool

from mcpg.catalog.model import Hints, Tier, ToolExample
from mcpg.catalog.view import unique


def test_unique() -> None:
    """Texts are trimmed; blanks and repeats in another case are dropped; the first stays."""
    assert unique([" a", "B", "", "A", "b ", "ß", "SS"]) == ("a", "B", "ß")


def test_merge_takes_the_first_said() -> None:
    """Lists are joined and scalars come from the first part that says them."""
    merged = Hints.merge(
        Hints(tags=("a",), read_only=False, examples=(ToolExample("x"),)),
        Hints(tags=("A", "b"), read_only=True, cost_tier=Tier.LOW),
        Hints(examples=(ToolExample("x"), ToolExample("x", "y"))),
    )
    assert merged == Hints(
        tags=("a", "b"),
        read_only=False,
        cost_tier=Tier.LOW,
        examples=(ToolExample("x"), ToolExample("x", "y")),
    )
    assert Hints.merge() == Hints()


@pytest.mark.parametrize(
    ("title", "annotations", "shown"),
    [
        ("Find it", {"title": "Other"}, "Find it"),
        (None, {"title": " Noted "}, "Noted"),
        (None, {"title": 5}, "find"),
        ("", {"title": " "}, "find"),
    ],
)
def test_display_name(title: str | None, annotations: dict[str, Any], shown: str) -> None:
    """The title counts, then that of the annotations, then the name."""
    assert make_tool("find", title=title, annotations=annotations).display_name == shown


@pytest.mark.parametrize(
    ("required", "names"),
    [(["q", "Q", 5, "n"], ("q", "n")), ("q", ()), (None, ())],
)
def test_required_arguments(required: Any, names: tuple[str, ...]) -> None:
    """Required arguments are the texts of the schema's list, each once."""
    assert make_tool(input_schema={"required": required}).required_arguments == names


def test_tools_are_enabled_unless_said_otherwise() -> None:
    """Only a hint disables a tool."""
    assert make_tool().enabled
    assert make_tool(enabled_by_default=True).enabled
    assert not make_tool(enabled_by_default=False).enabled


def test_the_place_is_no_part_of_a_tool() -> None:
    """Two tools that say the same are equal wherever they were read."""
    assert make_tool(place="a.json") == make_tool(place="b.json")
