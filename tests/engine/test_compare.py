from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import pytest
from builders import make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.review.compare import ABSENT, DISABLED, RANKED, UNRANKED, compare

if TYPE_CHECKING:
    from mcpg.engine import Engine

WORDS = ["order", "ordr", "get", "refund", "invoice", "parcel", "the", "xyzzy", "list"]


def make_then() -> Engine:
    """Make a shop as it was."""
    return make_engine(
        make_tool("order_get", description="Get an order."),
        make_tool("order_list", description="List the orders of a customer."),
        make_tool("refund", description="Refund an order."),
    )


def make_now() -> Engine:
    """Make the shop as it is: one tool is gone, one is new, one is off, one has an alias."""
    return make_engine(
        make_tool("order_get", description="Get an order.", enabled_by_default=False),
        make_tool("order_list", description="List the orders.", aliases=("parcel list",)),
        make_tool("invoice_get", description="Get the invoice of an order."),
    )


THEN, NOW = make_then(), make_now()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
def test_deltas_sum_to_that_of_the_fused_score(words: list[str]) -> None:
    """Whatever moved a tool is named, and each side is what the same search answers."""
    query = " ".join(words)
    found = compare(THEN, NOW, query, limit=5)

    for change in found.tools:
        if change.then and change.now and change.fused_delta is not None:
            assert abs(fsum(one.delta for one in change.features) - change.fused_delta) <= 1e-9
            deltas = {one.feature: one.delta for one in change.features}
            of_words = fsum(deltas[name] for name in ("bm25f", "related", "relatedName"))
            assert fsum(one.delta for one in change.terms) == pytest.approx(of_words, abs=1e-9)
    for engine, side in ((THEN, found.then), (NOW, found.now)):
        scores = [(match.tool_id, match.score) for match in engine.search(query).matches]
        assert [(match.tool_id, match.score) for match in side.result.matches[:5]] == scores


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
def test_a_catalogue_compared_with_itself_moves_nothing(words: list[str]) -> None:
    """Where nothing changed, nothing is said to have changed."""
    found = compare(THEN, THEN, " ".join(words), limit=5)

    assert (found.words, found.only_then, found.only_now) == ((), (), ())
    for change in found.tools:
        assert change.fused_delta == 0
        assert all(one.delta == 0 == one.by_weight for one in change.features)


def test_every_way_to_stand_is_told() -> None:
    """A tool that is not ranked is told to be absent, disabled, or not found."""
    found = compare(THEN, NOW, "refund an order, list parcel", limit=5)
    standings = {one.tool_id: (one.status_then, one.status_now) for one in found.tools}

    assert standings == {
        "order_list": (RANKED, RANKED),
        "invoice_get": (ABSENT, RANKED),
        "order_get": (RANKED, DISABLED),
        "refund": (RANKED, ABSENT),
    }
    assert compare(THEN, NOW, "parcel", limit=5).tools[0].status_then == UNRANKED
    assert (found.only_then, found.only_now) == (("refund",), ("invoice_get",))
    assert (found.size_then, found.size_now) == (3, 3)


def test_words_that_mean_something_else_are_told() -> None:
    """A word that is known, or found in more or fewer tools, is told with both its states."""
    found = compare(THEN, NOW, "invoice refund order", limit=5)
    changes = {one.text: one for one in found.words}

    assert {"invoice", "refund"} <= set(changes)
    invoice = changes["invoice"]
    assert invoice.then is not None
    assert invoice.now is not None
    assert (invoice.then.role, invoice.now.role) == ("unknown", "term")
    context = compare(THEN, NOW, "order", limit=5, context="refund parcel").words
    assert {
        one.text: (one.then is None, one.now is None) for one in context if one.text != "order"
    } == {
        "refund": (False, True),
        "parcel": (True, False),
    }


def test_the_limit_is_that_of_either() -> None:
    """Tools among the first of either catalogue are compared, wherever they stand in the other."""
    found = compare(THEN, NOW, "get order list", limit=1)

    assert {one.tool_id for one in found.tools} == {
        found.then.matches[0].tool_id,
        found.now.matches[0].tool_id,
    }
