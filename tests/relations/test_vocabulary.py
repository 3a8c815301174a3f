from __future__ import annotations

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.relations.vocabulary import build_vocabulary, rarity, subject_terms


@given(st.integers(1, 1_000), st.integers(0, 100_000))
def test_rarity_stays_in_its_range(holders: int, others: int) -> None:
    """Rarity lies in (0, 1], is 1 for a single holder, and falls as holders are added."""
    size = holders + others
    assert 0 < rarity(holders, size) <= 1
    assert rarity(1, size) == pytest.approx(1)
    assert rarity(holders, size + 1) > 0
    assert rarity(holders + 1, size + 1) < rarity(holders, size + 1)


def test_subject_terms_leave_out_what_names_no_subject() -> None:
    """Verbs of the table, function words, single letters and numbers are no terms."""
    assert subject_terms("get the x 2024 orders", "english") == ["order"]


def test_plainest_place_gives_the_weight() -> None:
    """A term weighs as much as the plainest place where it stands."""
    tool = make_tool(
        "invoice_get",
        title="Invoice viewer",
        description="Shows an invoice of a customer.",
        keywords=("bill",),
        categories=("finance",),
        tags=("beta",),
    )
    terms = build_vocabulary([tool, make_tool("other")]).terms[0]
    assert terms["invoic"] == 1.0
    assert terms["viewer"] == 0.9
    assert terms["bill"] == 0.8
    assert terms["financ"] == 0.7
    assert terms["beta"] == 0.6
    assert terms["custom"] == 0.3


def test_terms_held_by_most_tools_are_generic() -> None:
    """A term that more than three quarters of a server hold says nothing and is dropped."""
    tools = [make_tool(f"acme_{word}") for word in ["ant", "bee", "cat", "dog", "eel"]]
    vocabulary = build_vocabulary(tools)
    assert vocabulary.holders["acm"] == 5
    assert all("acm" not in terms for terms in vocabulary.terms)


@pytest.mark.parametrize(
    ("holders", "tools", "is_generic"),
    [(4, 4, False), (5, 5, True), (15, 20, False), (16, 20, True)],
)
def test_three_quarters_of_the_tools_may_hold_a_term(
    holders: int, tools: int, is_generic: bool
) -> None:
    """A term is generic once more than four tools and more than three quarters hold it."""
    shared = [make_tool(f"acme_{letter}one") for letter in "abcdefghijklmnop"[:holders]]
    others = [make_tool(f"{letter}other") for letter in "abcde"[: tools - holders]]
    terms = build_vocabulary([*shared, *others]).terms[0]

    assert ("acm" not in terms) == is_generic


def test_a_tool_without_another_term_keeps_the_rarest() -> None:
    """Tools that all are about the same still belong somewhere."""
    tools = [make_tool(f"archive_lookup_{number}") for number in range(10)]
    assert {tuple(terms) for terms in build_vocabulary(tools).terms} == {("archiv",)}


def test_shared_terms_come_first() -> None:
    """Of a tool's terms those that others hold come first, the rarest of them leading."""
    tools = [
        make_tool("refund_order_zebra"),
        make_tool("refund_policy"),
        make_tool("order_list"),
        make_tool("order_get"),
    ]
    assert list(build_vocabulary(tools).terms[0]) == ["refund", "order", "zebra"]


def test_words_are_the_forms_that_names_use() -> None:
    """People read the word form that most names use; of equal ones the shortest."""
    tools = [
        make_tool("git_log", description="Logging, logging and more logging."),
        make_tool("toggle_logging"),
    ]
    vocabulary = build_vocabulary(tools)
    assert vocabulary.words["log"] == "log"


def test_number_of_terms_is_bounded() -> None:
    """However long a description, a tool keeps the twelve terms that say most."""
    words = " ".join(f"{a}{b}or" for a in "bdfgkl" for b in "aeiou")
    assert len(build_vocabulary([make_tool("thing", description=words)]).terms[0]) == 12
