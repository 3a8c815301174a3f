from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

import mcpg
from mcpg.errors import Code, UsageError
from mcpg.search.calibration import LOW_CONFIDENCE, worth_offering
from mcpg.search.results import SearchRequest

if TYPE_CHECKING:
    from mcpg.engine import Engine

SUBJECTS = ("order", "invoice", "shipment", "refund", "customer", "product", "warehouse", "coupon")
ACTIONS = ("create", "cancel", "search")
TOOLS = tuple(
    make_tool(f"{subject}_{action}", description=f"{action.title()} the {subject} of a shop.")
    for subject in SUBJECTS
    for action in ACTIONS
)
probabilities = st.floats(0, 1)


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return an engine over a shop of two dozen tools."""
    return make_engine(*TOOLS)


def best(engine: Engine, query: str) -> float:
    """Return the score of the best match."""
    return engine.search(query).matches[0].score


@pytest.mark.parametrize("query", ["cancel invoice", "cancl invoce", "invoice_cancel"])
def test_a_short_query_for_one_tool_is_trusted(engine: Engine, query: str) -> None:
    """Two words that are a tool's name, also misspelt, make a sure match."""
    result = engine.search(query)

    assert result.matches[0].tool_id == "invoice_cancel"
    assert result.matches[0].score > 0.6


@pytest.mark.parametrize(
    "query", ["create world peace for my grandmother's goldfish", "search the meaning of all life"]
)
def test_one_word_of_many_is_doubted(engine: Engine, query: str) -> None:
    """A query of which a tool holds one common word is no match to rely on."""
    assert best(engine, query) < 1 / 2


def test_words_that_nobody_has_lower_the_score(engine: Engine) -> None:
    """What the catalogue does not know counts against every match."""
    assert best(engine, "refund") > best(engine, "refund zxqv")
    assert best(engine, "refund") > best(engine, "refund zxqv wvutt")


@pytest.mark.parametrize(
    "query", ["know", "what do you know about me", "say something to me", "I think so"]
)
def test_filler_is_no_evidence(query: str) -> None:
    """Words that are frequent in any text prove nothing, though a single tool has them."""
    said = "What you want to know, say or think."
    found = make_engine(make_tool("page_fetch", description=said), *TOOLS).search(query).matches

    assert found[0].tool_id == "page_fetch"
    assert found[0].score < LOW_CONFIDENCE


def test_a_twin_lowers_the_score(engine: Engine) -> None:
    """Where several tools serve as well, none is as sure as one alone."""
    assert best(engine, "coupon create") > best(engine, "coupon")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_to_be_the_best_of_few_proves_nothing(count: int) -> None:
    """In a tiny catalogue a tool that hardly answers the query is doubted all the same."""
    engine = make_engine(*TOOLS[:count])

    assert best(engine, "what is the weather in paris, my order of the day") < LOW_CONFIDENCE
    assert best(engine, "order create") > 0.6


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_to_be_the_nearest_of_few_is_no_lead(count: int) -> None:
    """Tools that a catalogue does not have count as about as near as the nearest one."""
    match = make_engine(*TOOLS[:count]).explain("purchase of goods in a shop").matches[0]
    lead = next(one for one in match.calibration.inputs if one.name == "meaningLead")

    assert match.nearness > 0
    assert lead.value <= 0.25 * match.nearness


@pytest.mark.parametrize("count", [1, 2, 5, 9, 10, 12, 24])
def test_the_margin_is_over_the_tenth_tool_or_what_it_usually_is(count: int) -> None:
    """Where a catalogue has no tenth tool, it counts as having 45 % of the best one's strength.

    What a tool does says nothing of what it does that to, so it is no part of the strength.
    """
    matches = make_engine(*TOOLS[:count]).explain("create an order in the shop", limit=50).matches
    apart = ("operation", "question", "meaning")
    found = [
        match.fused_score
        - sum(one.contribution for one in match.contributions if one.feature in apart)
        for match in matches
    ]
    assert len(found) == count

    floor = 0.45 * found[0] if count < 10 else found[9]
    for match, strength in zip(matches, found, strict=True):
        margin = next(one for one in match.calibration.inputs if one.name == "tenthLead")
        lead = min(max(strength - floor, 0.0), 5.0)
        assert margin.value == pytest.approx(log1p(lead))


def test_abstaining_offers_nothing_doubtful(engine: Engine) -> None:
    """With a doubtful best match nothing is offered, neither matches nor what edges bring."""
    query = "create a sonnet about the sea"
    result = engine.search(query, abstain=True)

    assert engine.search(query).matches
    assert result.matches == result.related_matches == result.next_step_matches == ()
    assert [one.message.rsplit(": ")[-1] for one in result.diagnostics] == ["it is not offered"]
    assert {one.code for one in result.diagnostics} == {Code.LOW_CONFIDENCE}


def test_abstaining_changes_no_sure_answer(engine: Engine) -> None:
    """An answer that is sure enough is the same with and without it."""
    assert engine.search("cancel invoice", abstain=True) == engine.search("cancel invoice")


def test_a_least_score_cuts_the_list(engine: Engine) -> None:
    """Matches below it go, and what only they lead to."""
    everything = engine.search("cancel the order")
    gate = round(everything.matches[1].score, 6)
    cut = engine.search("cancel the order", min_score=gate)

    kept = [match for match in everything.matches if round(match.score, 6) >= gate]
    assert ids(cut.matches) == ids(kept)
    assert {one.via.source for one in cut.related_matches if one.via} <= set(ids(kept))


def test_an_explanation_has_the_same_gates(engine: Engine) -> None:
    """What a search withholds, its explanation withholds."""
    explained = engine.explain("cancel the order", min_score=0.99)

    assert explained.result == engine.search("cancel the order", min_score=0.99)
    assert [one.tool_id for one in explained.matches] == ids(explained.result.matches)


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_a_least_score_is_a_probability(engine: Engine, score: float) -> None:
    """A gate outside [0, 1] is refused."""
    with pytest.raises(UsageError, match="min_score is"):
        engine.search("order", min_score=score)


@given(st.lists(probabilities), probabilities, st.booleans())
def test_gates_keep_a_beginning(scores: list[float], gate: float, abstain: bool) -> None:
    """Of scores that never rise a beginning is kept, and nothing below the gate as shown."""
    falling = sorted(scores, reverse=True)
    count = worth_offering(falling, SearchRequest("q", min_score=gate, abstain=abstain))

    assert all(round(score, 6) >= gate for score in falling[:count])
    assert abstain or all(round(score, 6) < gate for score in falling[count:])
    assert not (abstain and count) or falling[0] >= LOW_CONFIDENCE


def test_the_limit_changes_no_score() -> None:
    """A match has the same score however many are asked for."""
    engine = mcpg.engine.Engine(make_engine(*TOOLS).index)
    few, many = (engine.search("search for orders", limit=limit).matches for limit in (1, 50))

    assert few[0].score == many[0].score


def test_a_doubt_names_what_no_tool_mentions(engine: Engine) -> None:
    """The warning of a low score names what would help: the weightiest words that are unknown."""
    (doubt,) = engine.search("put a slide into the shop").diagnostics
    (vague,) = engine.search("cancel").diagnostics

    assert doubt.code == vague.code == Code.LOW_CONFIDENCE
    assert doubt.message.endswith(": no tool mentions 'slide'")
    assert vague.message.endswith(": use other words, or add detail to the query")


def test_a_doubt_names_what_the_best_match_lacks(engine: Engine) -> None:
    """A word that only other tools have is named where every word is known."""
    (doubt,) = engine.search("create or cancel").diagnostics

    assert doubt.message.endswith(": it does not mention 'create'")


@pytest.mark.parametrize("query", ["tools", "which tool can I use", "list all tools"])
def test_a_doubt_names_no_word_for_any_tool(engine: Engine, query: str) -> None:
    """No description has to say that a tool is one."""
    explained = engine.explain(query)
    said = [one.message for one in explained.result.diagnostics]

    assert said
    assert not [one for one in (*said, *explained.advice) if "'tool" in one]
