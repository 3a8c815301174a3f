from __future__ import annotations

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.engine import Match
from mcpg.errors import NotFoundError
from mcpg.rewrite import MOST, SURE, merge, share_of_trigrams, trust_in
from mcpg.search.results import Evidence


def loaded() -> None:
    """Stand where a match loads its tool."""
    raise NotFoundError("nobody loads it")


def match(name: str, score: float) -> Match:
    """Make a match."""
    return Match(name, "s", name, name, "", True, score, Evidence(), None, loaded)  # type: ignore[arg-type]


LISTS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.floats(0, 1)),
    max_size=8,
    unique_by=lambda one: one[0],
).map(
    lambda rows: [
        match(name, score)
        for (name, _), score in zip(rows, sorted((s for _, s in rows), reverse=True), strict=True)
    ]
)


@given(LISTS, LISTS, st.floats(0, 1))
def test_scores_are_sums_of_weighted_scores(
    asked: list[Match], rewritten: list[Match], trust: float
) -> None:
    """Each tool is there once; scores never rise, are probabilities, and are the sum they tell."""
    merged = merge(asked, rewritten, trust)
    expected = {*ids(asked), *(ids(rewritten) if trust else ())}
    assert {one.match.tool_id for one in merged} == expected
    assert len(merged) == len({one.match.tool_id for one in merged})
    scores = [one.score for one in merged]
    assert scores == sorted(scores, reverse=True)
    for one in merged:
        places = [place for place in (one.asked, one.rewritten) if place]
        assert one.score == pytest.approx(sum(p.weight * p.match.score for p in places), abs=1e-9)
        assert 0 <= one.score <= 1
        assert one.match.score == one.score


@given(LISTS, LISTS, st.floats(0, 1))
def test_what_the_query_makes_sure_stays_as_sure(
    asked: list[Match], rewritten: list[Match], trust: float
) -> None:
    """No rewrite takes from a match that the query itself is sure of."""
    scores = {one.match.tool_id: one.score for one in merge(asked, rewritten, trust)}
    assert all(scores[one.tool_id] >= one.score - 1e-9 for one in asked if one.score >= SURE)


@given(LISTS, LISTS)
def test_trust_leads_from_one_list_to_the_other(asked: list[Match], rewritten: list[Match]) -> None:
    """A rewrite that is not trusted at all changes no place that counts."""
    assert [one.match.tool_id for one in merge(asked, rewritten, 0.0)] == ids(asked)


def test_level_tools_stand_as_their_searches_put_them() -> None:
    """Scores that never rise down the ranks are often equal; the ranks decide then."""
    merged = merge([match("b", 0.4), match("a", 0.4)], [], 0.1)
    assert [one.match.tool_id for one in merged] == ["b", "a"]
    merged = merge([], [match("d", 0.4), match("c", 0.4)], 1.0)
    assert [one.match.tool_id for one in merged] == ["d", "c"]


def test_a_rewrite_is_trusted_where_the_query_is_foreign_or_the_same() -> None:
    """A query that cannot be read loses nothing, and the same text spelt better means the same."""
    assert trust_in("де моя посилка", "where is my parcel", 1.0) == MOST
    assert (
        trust_in("refnud the customers last payment", "refund the customers last payment", 0) > 0.5
    )
    assert trust_in("refund the customer", "delete all repositories", 0.1) < 0.02
    assert share_of_trigrams("...", "x") == 0.0
    assert share_of_trigrams("Same words", "same  WORDS") == 1.0


def test_ids_of_an_engine_are_merged_by_tool() -> None:
    """Matches of two real searches become one list."""
    engine = make_engine(make_tool("order_create"), make_tool("invoice_export"))
    both = [engine.search(query).matches for query in ("order create", "invoice export")]
    merged = merge(both[0], both[1], 0.3)
    assert [one.match.tool_id for one in merged] == ["order_create", "invoice_export"]
    assert merged[1].is_by_rewrite
