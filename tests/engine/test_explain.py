from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from builders import make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.engine.confidence import INPUTS

if TYPE_CHECKING:
    from mcpg.engine import Engine, Explanation

WORDS = ["shipment", "shipmnt", "status", "order", "the", "invoice", "xyzzy", "1z999", "посилка"]


def make() -> Engine:
    """Make a small shop."""
    return make_engine(
        make_tool("shipment_status", description="Where a shipment is.", aliases=("посилка",)),
        make_tool("order_get", description="Get an order and the status of its shipments."),
        make_tool("invoice_list", description="List the invoices of an order."),
    )


ENGINE = make()


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    """Give the explanation of a query with a slip, a code, an unknown word and context."""
    return ENGINE.explain("where is the shipmnt 1z999 xyzzy", context="invoice", limit=3)


@given(st.lists(st.sampled_from(WORDS), max_size=6), st.lists(st.sampled_from(WORDS), max_size=2))
def test_contributions_sum_to_the_fused_score(words: list[str], context: list[str]) -> None:
    """Nothing that moved a tool is left out of its explanation."""
    explained = ENGINE.explain(" ".join(words), context=" ".join(context))

    for match in explained.matches:
        parts = [part.contribution for part in match.contributions]
        lexical = next(p.contribution for p in match.contributions if p.feature == "bm25f")
        assert sum(parts) == pytest.approx(match.fused_score, abs=1e-9)
        assert sum(term.contribution for term in match.terms) == pytest.approx(lexical, abs=1e-9)


@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_explaining_changes_nothing(words: list[str]) -> None:
    """An explanation holds exactly what the same search answers."""
    query = " ".join(words)

    assert ENGINE.explain(query).result == ENGINE.search(query)


def test_stages_come_in_pipeline_order(explanation: Explanation) -> None:
    """Each stage is there, in order, with its time."""
    names = [stage.name for stage in explanation.stages]

    assert names == ["analyse", "retrieve", "fuse", "calibrate", "expand"]
    assert all(stage.duration_ms >= 0 for stage in explanation.stages)


def test_every_word_is_accounted_for(explanation: Explanation) -> None:
    """The explanation says what became of each word, in the query's order, then the context's."""
    assert explanation.language == "english"
    assert [(word.text, word.role, word.origin) for word in explanation.words] == [
        ("where", "function word", "query"),
        ("is", "function word", "query"),
        ("the", "function word", "query"),
        ("shipmnt", "term", "query"),
        ("1z999", "literal", "query"),
        ("xyzzy", "unknown", "query"),
        ("invoice", "term", "context"),
    ]


def test_repairs_show_word_and_distance(explanation: Explanation) -> None:
    """A repaired word names what it was taken for, and how far away that is."""
    word = next(word for word in explanation.words if word.text == "shipmnt")

    assert [(repair.word, repair.kind, repair.distance) for repair in word.repairs] == [
        ("shipment", "typo", 1)
    ]


def test_terms_name_their_field(explanation: Explanation) -> None:
    """Each matched word says where it stood."""
    first = explanation.matches[0]

    assert first.tool_id == "shipment_status"
    assert {("shipmnt", "shipment", "name"), ("shipmnt", "shipment", "description")} <= {
        (term.query, term.matched, term.field) for term in first.terms
    }


def test_an_alias_is_called_an_alias() -> None:
    """A match in an alias is told apart from other exact matches."""
    kinds = {term.kind for term in ENGINE.explain("посилка").matches[0].terms}

    assert kinds == {"alias"}


def test_calibration_inputs_are_shown(explanation: Explanation) -> None:
    """The score can be worked out from what the explanation shows."""
    for match in explanation.matches:
        calibration = match.calibration
        parts = [one.value * one.coefficient for one in calibration.inputs]
        assert [one.name for one in calibration.inputs] == list(INPUTS)
        assert [one.contribution for one in calibration.inputs] == parts
        assert calibration.logit == pytest.approx(calibration.intercept + sum(parts), abs=1e-9)
        alone = 1 / (1 + math.exp(-calibration.logit))
        assert calibration.probability == pytest.approx(alone, abs=1e-9)
        assert match.score <= calibration.probability


def test_browsing_explains_itself() -> None:
    """Without a query there is a result and nothing to explain."""
    explained = ENGINE.explain(None)

    assert explained.matches == ()
    assert explained.words == ()
    assert len(explained.result.matches) == 3


def test_words_that_match_alike_are_explained() -> None:
    """A word that stands for two words of one weight is explained by one of them."""
    engine = make_engine(make_tool("web_page", description="Web page."), make_tool("other_thing"))

    terms = engine.explain("webpage").matches[0].terms

    assert {(term.query, term.kind) for term in terms} == {("webpage", "exact")}
    assert {term.kind for term in engine.explain("pageweb").matches[0].terms} == {"compound"}
