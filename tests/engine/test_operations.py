"""What a request asks to do decides between tools for the same things."""

from __future__ import annotations

import pytest
from builders import ids, make_engine, make_tool

from mcpg.catalog.model import Hints

TOOLS = (
    make_tool("board_create", description="Create a board."),
    make_tool("board_delete", description="Delete a board."),
    make_tool("board_list", description="List the boards."),
    make_tool("board_update", description="Update a board."),
)
ENGINE = make_engine(*TOOLS)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("destroy board", "board_delete"),
        ("edit board", "board_update"),
        ("retrieve board", "board_list"),
        ("which boards", "board_list"),
        ("welche boards", "board_list"),
    ],
)
def test_the_kind_of_operation_decides(query: str, wanted: str) -> None:
    """Of tools for one thing, that comes first which does what the verb or the question asks."""
    assert ids(ENGINE.search(query).matches)[0] == wanted


def test_a_tool_that_is_said_to_read_only_answers_questions() -> None:
    """Where names say nothing of what tools do, the annotation does."""
    tools = [
        make_tool(name, description="The board.", hints=Hints(read_only=reads))
        for name, reads in (("board_alpha", False), ("board_omega", True))
    ]

    assert ids(make_engine(*tools).search("what board").matches)[0] == "board_omega"


def test_without_the_lexicon_nothing_is_known_of_operations() -> None:
    """The switch holds for kinds of operations and questions too."""
    for query in ("destroy board", "which boards"):
        found = ENGINE.explain(query, lexicon=False).matches
        values = {
            part.value
            for match in found
            for part in match.contributions
            if part.feature in ("operation", "question")
        }

        assert values == {0.0}
