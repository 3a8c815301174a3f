from __future__ import annotations

import pytest
from builders import make_tool

from mcpg.relations.vocabulary import (
    FOLLOWED_BY,
    VERBS,
    ToolOperation,
    classify_operation,
    names_operation,
)


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("order_search", ToolOperation.DISCOVER),
        ("listPosts", ToolOperation.DISCOVER),
        ("get_order", ToolOperation.INSPECT),
        ("git_status", ToolOperation.INSPECT),
        ("set_order_status", ToolOperation.ACT),
        ("DeleteUser", ToolOperation.ACT),
    ],
)
def test_name_first_verb_decides(name: str, operation: ToolOperation) -> None:
    """The first word of the name that the table knows tells the kind of work."""
    assert classify_operation(make_tool(name)) is operation


def test_display_name_speaks_where_the_name_is_silent() -> None:
    """A verb of the display name counts when the raw name holds none."""
    assert classify_operation(make_tool("invoices", title="Create invoices")) is ToolOperation.ACT


@pytest.mark.parametrize(
    ("description", "operation"),
    [
        ("Lists and creates things.", ToolOperation.DISCOVER),
        ("Reads a file, then updates it.", ToolOperation.INSPECT),
        ("Sends a message.", ToolOperation.ACT),
    ],
)
def test_description_is_searched_in_order(description: str, operation: ToolOperation) -> None:
    """In a description, discovery goes before inspection and inspection before action."""
    assert classify_operation(make_tool("thing", description=description)) is operation


@pytest.mark.parametrize(
    "hints", [{"read_only": False}, {"destructive": True}], ids=["writes", "destroys"]
)
def test_hints_speak_last(hints: dict[str, bool]) -> None:
    """Where no word tells, a tool that its author calls changing is an action."""
    assert classify_operation(make_tool("thing", **hints)) is ToolOperation.ACT
    assert classify_operation(make_tool("thing")) is ToolOperation.OTHER


def test_table_is_that_of_the_gateway() -> None:
    """Each verb names one operation, and one finds, then inspects, then acts."""
    words = [word for verbs in VERBS.values() for word in verbs]
    assert len(words) == len(set(words)) == 28
    assert names_operation("search")
    assert not names_operation("shipment")
    assert FOLLOWED_BY[ToolOperation.DISCOVER] is ToolOperation.INSPECT
    assert FOLLOWED_BY[ToolOperation.INSPECT] is ToolOperation.ACT
