"""The queries that a catalogue itself gives rise to."""

from __future__ import annotations

import pytest
from builders import make_tool

from mcpg.catalog.model import ToolExample
from mcpg.review.impact import (
    MOST_ALIASES,
    MOST_WORDS,
    ImpactQuery,
    QueryOrigin,
    first_sentence,
    gained_words,
    iter_wordings,
    joined_wordings,
    sample_wordings,
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ""),
        ("Finds an order. Returns it.", "Finds an order."),
        ("Find. Returns the order that was found.", "Find. Returns the order that was found."),
        ("Finds an order\n\nReturns it", "Finds an order"),
        ("Finds version 2.5 of a file. Slow.", "Finds version 2.5 of a file."),
        ("Is it there? Yes.", "Is it there?"),
        ("Finds cafes, e.g. near you. Slow.", "Finds cafes, e.g. near you."),
        ("Asks the U.S. Energy API. Slow.", "Asks the U.S. Energy API."),
        ("Compares one vs. Another for Mr. Who. Slow.", "Compares one vs. Another for Mr. Who."),
        ("Finds rows etc. and more. Slow.", "Finds rows etc. and more."),
        ("Runs `git log. All` for you. Slow.", "Runs `git log. All` for you."),
        ("Reads an URL. Slow.", "Reads an URL."),
        ("Reads files, e.g.\n\nnothing else", "Reads files, e.g."),
        ("注文を探す。遅い。", "注文を探す。"),
    ],
)
def test_a_text_opens_with_a_sentence(text: str, sentence: str) -> None:
    """The first sentence has three words or more, where there are so many."""
    assert first_sentence(text) == sentence


def test_a_tool_has_its_own_texts() -> None:
    """Description, examples, aliases, title and name are queries, each once and on one line."""
    tool = make_tool(
        "orderFind",
        title="Order find",
        description="Finds\nan order. Slow.",
        aliases=("look up", "LOOK  up"),
        examples=(ToolExample("where is it"),),
    )
    assert [*iter_wordings(tool)] == [
        ("Finds an order.", QueryOrigin.DESCRIPTION),
        ("where is it", QueryOrigin.EXAMPLE),
        ("look up", QueryOrigin.ALIAS),
        ("Order find", QueryOrigin.TITLE),
    ]


def test_the_texts_of_a_tool_are_bounded() -> None:
    """A tool has so many aliases, and a text so many words."""
    tool = make_tool(
        description="word " * 500, aliases=tuple(f"alias {number}" for number in range(500))
    )
    found = [*iter_wordings(tool)]
    assert len(found) == 1 + MOST_ALIASES + 1
    assert len(found[0][0].split()) == MOST_WORDS


def test_a_shared_text_has_all_its_tools() -> None:
    """A text that two tools have, in whatever case, is one query of both."""
    tools = [make_tool(name, title=title) for name, title in (("ant", "Work"), ("bee", "WORK"))]
    assert ImpactQuery("Work", QueryOrigin.TITLE, ("ant", "bee")) in joined_wordings(tools)


def test_a_sample_has_what_a_change_may_move() -> None:
    """Half of a sample are texts of changed tools, then come those with words that these gained."""
    before = make_tool("ant", description="Digs.")
    after = make_tool("ant", description="Carries a parcel.")
    tools = [after, *(make_tool(f"t{n}", description=f"Sorts heap {n}.") for n in range(30))]
    near = make_tool("mail", description="Sends every parcel away.")
    wordings = joined_wordings([*tools, near])
    words = gained_words([(before, after)], [*tools, near])
    assert words.keys() == {"carri", "a", "parcel"}
    found = sample_wordings(wordings, 4, {"ant"}, words)
    assert [one.tools for one in found[:2]] == [("ant",), ("ant",)]
    assert found[2].text == near.description
    assert len(found) == 4
    assert sample_wordings(wordings[::-1], 4, {"ant"}, words) == found
    assert sample_wordings(wordings, 10**6, {"ant"}, words) == wordings
