from __future__ import annotations

import math
import random
from math import fsum
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.model import HintRule
from mcpg.search.model import ANSWERABLE_INPUTS, FEATURES, INPUTS, default_provenance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.engine import Engine, Explanation
    from mcpg.search.trace import MatchExplanation

WORDS = ["shipment", "shipmnt", "status", "order", "the", "invoice", "xyzzy", "1z999", "посилка"]


def make() -> Engine:
    """Make a small shop."""
    return make_engine(
        make_tool("shipment_status", description="Where a shipment is.", aliases=("посилка",)),
        make_tool("order_get", description="Get an order and the status of its shipments."),
        make_tool("invoice_list", description="List the invoices of an order."),
    )


ENGINE = make()
TYPED = ["invocie", "invoices", "lists", "getorder", "orderId", "ship", "statuss", "what is"]
SMALL = 1e-9


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    """Return the explanation of a query with a slip, a code, an unknown word and context."""
    return ENGINE.explain("where is the shipmnt 1z999 xyzzy", context="invoice", limit=3)


def gaps_of_terms(match: MatchExplanation) -> tuple[float, float]:
    """Return how far related words, and all others, are from the sums of their features."""
    sums = {one.feature: one.contribution for one in match.contributions}
    near = fsum(one.contribution for one in match.terms if one.kind == "related")
    others = fsum(one.contribution for one in match.terms if one.kind != "related")
    return near - sums["related"] - sums["relatedName"], others - sums["bm25f"]


@given(st.lists(st.sampled_from(WORDS), max_size=6), st.lists(st.sampled_from(WORDS), max_size=2))
def test_contributions_sum_to_the_fused_score(words: list[str], context: list[str]) -> None:
    """Nothing that moved a tool is left out of its explanation."""
    explained = ENGINE.explain(" ".join(words), context=" ".join(context))

    for match in explained.matches:
        parts = [part.contribution for part in match.contributions]
        assert sum(parts) == pytest.approx(match.fused_score, abs=1e-9)
        assert gaps_of_terms(match) == pytest.approx((0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(
    "query",
    ["openfile open_file", "open_file openfile", "openFile OPENFILE open-file", "open_file"],
)
def test_a_word_in_two_spellings_counts_once(query: str) -> None:
    """However a word is joined, it has one weight, and is either found or missing."""
    engine = make_engine(make_tool("openFile"), make_tool("close"), make_tool("rename"))
    explained = engine.explain(query)
    evidence = explained.result.matches[0].evidence

    assert fsum(word.weight for word in explained.words) == pytest.approx(1)
    assert not {*evidence.terms} & {*evidence.missing}
    assert [word.text for word in explained.words].count("openfile") == 1
    term = sum(one.contribution for one in explained.matches[0].terms)
    parts = explained.matches[0].contributions
    assert term == pytest.approx(next(p.contribution for p in parts if p.feature == "bm25f"))


def made_queries(count: int) -> Iterator[tuple[str, str]]:
    """Make queries, with a context each, of words that are right, misspelt, foreign or unknown."""
    chance = random.Random(0)
    for _ in range(count):
        words = chance.choices([*WORDS, *TYPED], k=chance.randint(1, 9))
        yield chance.choice([" ", ". ", "_", " "]).join(words), chance.choice(["", *WORDS])


@pytest.mark.untraced
def test_the_sums_hold_for_a_thousand_queries() -> None:
    """Contributions add up to the fused score, terms to the lexical part, inputs to the logit."""
    matches = 0
    for query, context in made_queries(1_000):
        for match in ENGINE.explain(query, context=context, limit=50).matches:
            matches += 1
            assert (
                abs(fsum(one.contribution for one in match.contributions) - match.fused_score)
                <= SMALL
            )
            assert max(map(abs, gaps_of_terms(match))) <= SMALL
            inputs = (one.contribution for one in match.calibration.inputs)
            logit = match.calibration.intercept + fsum(inputs)
            assert abs(logit - match.calibration.logit) <= SMALL
    assert matches > 1_000


@pytest.mark.untraced
def test_scores_that_were_capped_say_so() -> None:
    """A score is its own probability, or that of the better ranked match that is named."""
    capped = 0
    for query, context in made_queries(300):
        before: dict[str, float] = {}
        for match in ENGINE.explain(query, context=context).matches:
            by = match.calibration.capped_by
            capped += by is not None
            assert match.score == (match.calibration.probability if by is None else before[by])
            assert by is None or match.calibration.probability > match.score
            before[match.tool_id] = match.score
    assert capped


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
    """What became of each word is shown in order: the query's, its literals, the context's."""
    assert explanation.language == "english"
    assert [(word.text, word.role, word.origin) for word in explanation.words] == [
        ("where", "function word", "query"),
        ("is", "function word", "query"),
        ("the", "function word", "query"),
        ("shipmnt", "term", "query"),
        ("xyzzy", "unknown", "query"),
        ("1z999", "literal", "query"),
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
    assert explanation.matches
    for match in explanation.matches:
        calibration, product = match.calibration, 1.0
        assert calibration.answerable is not None
        for sums, names in (
            (calibration, INPUTS),
            (calibration.answerable, ANSWERABLE_INPUTS),
        ):
            parts = [one.value * one.coefficient for one in sums.inputs]
            assert [one.name for one in sums.inputs] == list(names)
            assert [one.contribution for one in sums.inputs] == parts
            assert sums.logit == pytest.approx(sums.intercept + sum(parts), abs=1e-9)
            product /= 1 + math.exp(-sums.logit)
        assert calibration.probability == pytest.approx(product, abs=1e-9)
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

    terms = engine.explain("webpage", lexicon=False).matches[0].terms

    assert {(term.query, term.kind) for term in terms} == {("webpage", "exact")}
    assert {term.kind for term in engine.explain("pageweb", lexicon=False).matches[0].terms} == {
        "compound"
    }


def details(explanation: Explanation) -> dict[str, Any]:
    """Return what each stage of *explanation* found."""
    return {stage.name: stage.details for stage in explanation.stages}


def test_the_analysis_says_what_the_query_became() -> None:
    """Case, identifiers, sentences, repairs, unknown words and codes are told apart."""
    found = details(ENGINE.explain("Where is the SHIPMNT 1z999? getOrder xyzzy"))["analyse"]

    assert found["normalized"] == "where is the shipmnt 1z999? getorder xyzzy"
    assert " ".join(found["tokens"]) == "where is the shipmnt 1z999 get order getorder xyzzy"
    assert (found["language"], found["catalogueLanguage"]) == ("english", "english")
    assert (found["dropped"], found["repaired"]) == (["where", "is", "the"], ["shipmnt"])
    assert found["unknown"] == ["xyzzy"]
    assert found["literals"] == [{"text": "1z999", "kind": "code"}]
    assert found["identifiers"] == ["getorder"]
    assert found["sentences"] == [["shipmnt"], ["get", "order", "xyzzy"]]
    assert "getorder" in found["names"]


def test_retrieval_says_what_each_word_found() -> None:
    """Each list of postings is told with the number of its tools and the most it can add."""
    found = details(ENGINE.explain("order_get shipmnt"))["retrieve"]
    lists = {row["query"]: row for row in found["lists"] if row["kind"] != "related"}

    assert lists["shipmnt"] | {"most": 0} == {
        "query": "shipmnt",
        "matched": "shipment",
        "term": "shipment",
        "kind": "typo",
        "tools": 2,
        "most": 0,
    }
    assert found["bestLexical"] <= fsum(row["most"] for row in found["lists"])
    assert (found["found"], found["disabled"], found["pool"]) == (3, 0, 3)
    assert found["exactNames"] == ["order_get"]
    assert details(ENGINE.explain("shipmnt"))["retrieve"]["exactNames"] == []


def test_fusion_says_what_each_channel_found() -> None:
    """For each feature the explanation tells how many tools show it, and which most."""
    explanation = ENGINE.explain("invoice list", limit=50)
    found = details(explanation)["fuse"]
    by_feature = {row["feature"]: row for row in found["channels"]}

    assert list(by_feature) == list(FEATURES)
    assert found["candidates"] == len(explanation.matches)
    for feature, row in by_feature.items():
        values = {
            match.tool_id: part.value
            for match in explanation.matches
            for part in match.contributions
            if part.feature == feature
        }
        assert row["tools"] == sum(value != 0 for value in values.values())
        assert row["best"] == max(values.values())
        assert row["bestTool"] is None or values[row["bestTool"]] == row["best"]


def test_expansions_are_products() -> None:
    """The score of a tool that an edge reached is the edge's weight times the match's score."""
    engine = make_engine(
        make_tool("order_get", description="Get an order."),
        make_tool("order_list", description="List the orders of a customer."),
        rules=(HintRule("order_get", related=("order_list",)),),
    )
    explanation = engine.explain("order_get", limit=1)

    assert explanation.expansions
    for one in explanation.expansions:
        assert one.score == pytest.approx(one.via.weight * one.from_score, abs=1e-9)
    assert details(explanation)["expand"]["reached"] == len(explanation.expansions)


def test_the_model_is_named(explanation: Explanation) -> None:
    """An explanation says which model ranked, and its weights are those in the contributions."""
    model = explanation.model

    assert model is not None
    assert (model.name, model.provenance) == (
        default_provenance().name,
        default_provenance().provenance,
    )
    for match in explanation.matches:
        assert {part.feature: part.weight for part in match.contributions} == model.weights
        coefficients = {one.name: one.coefficient for one in match.calibration.inputs}
        assert coefficients == model.coefficients


def test_a_doubtful_answer_comes_with_advice() -> None:
    """Unknown words, words that the best match lacks, and disabled tools are pointed out."""
    engine = make_engine(
        make_tool("order_get", description="Get an order."),
        make_tool("pizza_bake", description="Bake a pizza.", enabled_by_default=False),
    )
    doubtful, sure = engine.explain("zzqx bake qwzt pizza order"), engine.explain("order_get")

    assert sure.advice == ()
    assert [line.split(":")[0] for line in doubtful.advice] == [
        "no tool and no word list has 'zzqx', 'qwzt'",
        "the best match has no 'bake', 'pizza'",
        "'pizza_bake' has more of the query but is off by default",
    ]
    many = " ".join(f"zzq{one * 3}" for one in "abcdefg")
    assert "and 2 more" in engine.explain(many).advice[0]
