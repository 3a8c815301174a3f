from __future__ import annotations

import pytest
from builders import make_tool

from mcpg.relations.kinds import FOLLOWED_BY, VERBS, Operation, names_operation, operation_of


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("order_search", Operation.DISCOVER),
        ("listPosts", Operation.DISCOVER),
        ("get_order", Operation.INSPECT),
        ("git_status", Operation.INSPECT),
        ("set_order_status", Operation.ACT),
        ("DeleteUser", Operation.ACT),
    ],
)
def test_name_first_verb_decides(name: str, operation: Operation) -> None:
    """The first word of the name that the table knows tells the kind of work."""
    assert operation_of(make_tool(name)) is operation


def test_display_name_speaks_where_the_name_is_silent() -> None:
    """A verb of the display name counts when the raw name holds none."""
    assert operation_of(make_tool("invoices", title="Create invoices")) is Operation.ACT


@pytest.mark.parametrize(
    ("description", "operation"),
    [
        ("Lists and creates things.", Operation.DISCOVER),
        ("Reads a file, then updates it.", Operation.INSPECT),
        ("Sends a message.", Operation.ACT),
    ],
)
def test_description_is_searched_in_order(description: str, operation: Operation) -> None:
    """In a description, discovery goes before inspection and inspection before action."""
    assert operation_of(make_tool("thing", description=description)) is operation


@pytest.mark.parametrize(
    "hints", [{"read_only": False}, {"destructive": True}], ids=["writes", "destroys"]
)
def test_hints_speak_last(hints: dict[str, bool]) -> None:
    """Where no word tells, a tool that its author calls changing is an action."""
    assert operation_of(make_tool("thing", **hints)) is Operation.ACT
    assert operation_of(make_tool("thing")) is Operation.OTHER


def test_table_is_that_of_the_gateway() -> None:
    """Each verb names one operation, and one finds, then inspects, then acts."""
    words = [word for verbs in VERBS.values() for word in verbs]
    assert len(words) == len(set(words)) == 28
    assert names_operation("search")
    assert not names_operation("shipment")
    assert FOLLOWED_BY[Operation.DISCOVER] is Operation.INSPECT
    assert FOLLOWED_BY[Operation.INSPECT] is Operation.ACT
