from __future__ import annotations

import copy
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

import mcpg
from mcpg.bundle import (
    RANKING,
    Bundle,
    assemble,
    build_bundle,
    decode_bundle,
    encode_bundle,
    write_bundle,
)
from mcpg.engine.loading import (
    CONTEXTUAL,
    FITTED,
    GIVEN,
    MOST_CONTEXT_WEIGHT,
    MOST_WEIGHT,
    Ranking,
    RankingError,
    choose_ranking,
    merge_fitted_weights,
    parse_ranking,
    ranking_json,
    shipped_ranking,
)
from mcpg.errors import Code
from mcpg.search.model import FEATURES, INPUTS, ModelProvenance, read_provenance
from mcpg.sources import RawFile, SourceBatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOOLS = (
    make_tool(description="Track a shipment."),
    make_tool("invoice_find", description="Find an invoice."),
)
SHIPPED = shipped_ranking()
COEFFICIENTS = st.floats(-100, 100)
TEXTS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=50)
RANKINGS = st.builds(
    lambda weights, in_use, intercept, coefficients, name, provenance: Ranking(
        SHIPPED.model._replace(
            weights=merge_fitted_weights(weights, in_use),
            intercept=intercept,
            coefficients=tuple(coefficients),
        ),
        ModelProvenance(name, provenance),
    ),
    st.lists(st.floats(0, MOST_WEIGHT), min_size=len(FITTED), max_size=len(FITTED)),
    st.just(()) | st.tuples(*[st.floats(0, MOST_CONTEXT_WEIGHT)] * len(CONTEXTUAL)),
    COEFFICIENTS,
    st.lists(COEFFICIENTS, min_size=len(INPUTS), max_size=len(INPUTS)),
    TEXTS,
    TEXTS,
)
TUNED = Ranking(
    SHIPPED.model._replace(
        weights=merge_fitted_weights([0.5] * len(FITTED)),
        intercept=-1.0,
        coefficients=(0.25,) * len(INPUTS),
    ),
    ModelProvenance("tuned on queries.jsonl", "mcpg tune"),
)


def bundle(ranking: Any) -> Bundle:
    """Make a bundle that carries *ranking*."""
    made = build_bundle(assemble(SourceBatch(tools=TOOLS)))
    return Bundle(made.documents, {RANKING: ranking})


def batch(*rankings: Any) -> SourceBatch:
    """Make sources of bundles, each with a ranking, or with none for `None`."""
    made = [bundle(one) if one is not None else Bundle(bundle(1).documents) for one in rankings]
    return SourceBatch(
        bundles=tuple(RawFile(encode_bundle(one).decode(), "b.mdld") for one in made)
    )


def changed(change: Callable[[Any], object]) -> Any:
    """Return what a bundle carries after a *change* to it."""
    found = copy.deepcopy(ranking_json(TUNED))
    change(found)
    return found


@given(RANKINGS)
def test_a_ranking_is_read_as_it_was_written(ranking: Ranking) -> None:
    """Through the bytes of a bundle and back, every number and text stays."""
    carried = decode_bundle(encode_bundle(bundle(ranking_json(ranking))), "b").ranking
    assert parse_ranking(carried) == ranking
    assert choose_ranking(carried) == (ranking, "")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_is_carried_is_survived(carried: Any) -> None:
    """Any JSON value gives a model to rank with, and a reason where it was something."""
    ranking, reason = choose_ranking(carried)
    assert ranking == SHIPPED
    assert bool(reason) == (carried is not None)


DAMAGED = {
    "no object": [],
    "another schema": changed(lambda one: one.update(schema="mcpg/ranking/2")),
    "no weights": changed(lambda one: one.pop("weights")),
    "a weight too few": changed(lambda one: one["weights"].pop(FITTED[0])),
    "a weight of a rule": changed(lambda one: one["weights"].update(exactName=0.0)),
    "an unknown weight": changed(lambda one: one["weights"].update(vector=1.0)),
    "a text for a weight": changed(lambda one: one["weights"].update({FITTED[0]: "1"})),
    "a truth for a weight": changed(lambda one: one["weights"].update({FITTED[0]: True})),
    "one weight of tools in use": changed(lambda one: one["weights"].update(contextEdge=1.0)),
    "a weight of tools in use too great": changed(
        lambda one: one["weights"].update(dict.fromkeys(CONTEXTUAL, 4.5))
    ),
    "a weight below 0": changed(lambda one: one["weights"].update({FITTED[0]: -0.1})),
    "a weight too great": changed(lambda one: one["weights"].update({FITTED[0]: 24})),
    "a whole number beyond floats": changed(
        lambda one: one["weights"].update({FITTED[0]: 10**400})
    ),
    "an infinite weight": changed(lambda one: one["weights"].update({FITTED[0]: math.inf})),
    "no number": changed(lambda one: one["weights"].update({FITTED[0]: math.nan})),
    "no calibration": changed(lambda one: one.pop("calibration")),
    "no intercept": changed(lambda one: one["calibration"].pop("intercept")),
    "other inputs": changed(lambda one: one["calibration"]["coefficients"].update(other=1.0)),
    "a coefficient too great": changed(
        lambda one: one["calibration"]["coefficients"].update({INPUTS[0]: 1e9})
    ),
    "no name": changed(lambda one: one.pop("name")),
    "a blank name": changed(lambda one: one.update(name=" ")),
    "a name without end": changed(lambda one: one.update(name="x" * 201)),
    "a name that steers a terminal": changed(lambda one: one.update(name="\x1b[2J")),
    "half a character": changed(lambda one: one.update(provenance="\ud800")),
    "a provenance without end": changed(lambda one: one.update(provenance="x" * 2_001)),
}


@pytest.mark.parametrize("carried", DAMAGED.values(), ids=DAMAGED.keys())
def test_what_is_damaged_is_refused(carried: Any) -> None:
    """Whatever is not wholly right is not used, and the reason is one line."""
    with pytest.raises(RankingError):
        parse_ranking(carried)
    ranking, reason = choose_ranking(carried)
    assert ranking == SHIPPED
    assert reason.isprintable()


def test_nothing_carried_is_nothing_wrong() -> None:
    """Without a ranking of its own a bundle is ranked by the shipped one."""
    assert choose_ranking(None) == (SHIPPED, "")


def test_only_fitted_weights_are_carried() -> None:
    """What names a tool is a rule of the program, not of a bundle."""
    carried = ranking_json(TUNED)["weights"]
    assert isinstance(carried, dict)
    assert tuple(carried) == FITTED
    assert not set(GIVEN) & set(carried)
    weights = dict(zip(FEATURES, TUNED.model.weights, strict=True))
    shipped = dict(zip(FEATURES, SHIPPED.model.weights, strict=True))
    assert all(weights[name] == shipped[name] for name in GIVEN)


def test_names_outweigh_all_that_can_be_carried() -> None:
    """With every weight at its most, a name that is spelt out still counts for more."""
    shipped = dict(zip(FEATURES, SHIPPED.model.weights, strict=True))
    assert shipped["exactName"] > shipped["bm25f"] + MOST_WEIGHT * len(FITTED)


def test_a_bundle_is_ranked_by_what_it_carries(tmp_path: Path) -> None:
    """Loading uses the carried model, the second time from the index, and explain names it."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, bundle(ranking_json(TUNED)))
    for _ in range(2):
        engine = mcpg.load(path)
        model = engine.explain("shipment").model
        assert model is not None
        assert (model.name, model.intercept) == ("tuned on queries.jsonl", -1.0)
        assert tuple(model.weights.values()) == TUNED.model.weights
        assert engine.diagnostics == ()


@pytest.mark.parametrize("coefficient", [-100.0, 100.0])
def test_whatever_ranking_is_believed_can_rank(coefficient: float, tmp_path: Path) -> None:
    """A ranking that passes every check gives scores in [0, 1], and explanations, of any match."""
    steepest = SHIPPED.model._replace(
        intercept=coefficient, coefficients=(coefficient,) * len(INPUTS)
    )
    ranking = Ranking(steepest, ModelProvenance("steep", "made"))
    carried = ranking_json(ranking)
    assert choose_ranking(carried) == (ranking, "")
    path = tmp_path / "graph.mdld"
    write_bundle(path, bundle(carried))

    explained = mcpg.load(path).explain("shipment_status track my shipment")

    assert explained.matches
    assert all(0 <= match.score <= 1 for match in explained.matches)


def test_a_changed_ranking_is_used_at_once(tmp_path: Path) -> None:
    """An index of the same documents with another ranking is stale."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, Bundle(bundle(1).documents))
    before = mcpg.load(path).search("shipment").matches[0].score
    write_bundle(path, bundle(ranking_json(TUNED)))
    assert mcpg.load(path).search("shipment").matches[0].score != before


def test_a_damaged_ranking_is_told_every_time(tmp_path: Path) -> None:
    """Searches go on by the shipped model, and every load says why, with an index or without."""
    plain, damaged = tmp_path / "plain.mdld", tmp_path / "damaged.mdld"
    write_bundle(plain, Bundle(bundle(1).documents))
    write_bundle(damaged, bundle({"schema": "another"}))
    expected = mcpg.load(plain).search("find the invoice")
    for _ in range(2):
        engine = mcpg.load(damaged)
        assert [one.code for one in engine.diagnostics] == [Code.RANKING_IGNORED]
        assert engine.diagnostics[0].place == str(damaged)
        assert engine.search("find the invoice") == expected
        assert read_provenance(engine.index) == SHIPPED.origin


def test_joined_with_others_a_bundle_keeps_its_ranking(tmp_path: Path) -> None:
    """One ranking among several sources holds for all of them."""
    path, manifest = tmp_path / "graph.mdld", tmp_path / "more.json"
    write_bundle(path, bundle(ranking_json(TUNED)))
    manifest.write_text(json.dumps([{"name": "other"}]), "utf-8")
    engine = mcpg.load([path, manifest])
    assert read_provenance(engine.index) == TUNED.origin


def test_a_bundle_made_of_a_bundle_carries_on() -> None:
    """Bundling a bundle keeps its ranking; of equal rankings one, of different ones none."""
    carried = ranking_json(TUNED)
    other = ranking_json(Ranking(TUNED.model, ModelProvenance("another", "mcpg tune")))
    assert build_bundle(assemble(batch(carried))).ranking == carried
    assert build_bundle(assemble(batch(carried, carried, None))).ranking == carried
    found = assemble(batch(carried, other))
    assert build_bundle(found).ranking is None
    assert [one.code for one in found.diagnostics] == [Code.RANKING_IGNORED]


def test_the_weights_of_tools_in_use_can_be_set(tmp_path: Path) -> None:
    """Weights of 0 in a bundle leave the order to the words; explanations show them."""
    pairs = ((side, name) for side in ("east", "west") for name in ("open_it", "desk"))
    tools = tuple(
        make_tool(name, source_id=side, description=f"Of {name}.") for side, name in pairs
    )
    documents = build_bundle(assemble(SourceBatch(tools=tools))).documents
    off = Ranking(
        TUNED.model._replace(
            weights=merge_fitted_weights([0.5] * len(FITTED), (0.0,) * len(CONTEXTUAL))
        ),
        ModelProvenance("set by hand", "by hand"),
    )
    first = []
    for place, ranking in enumerate((TUNED, off)):
        path = tmp_path / f"{place}.mdld"
        write_bundle(path, Bundle(documents, {RANKING: ranking_json(ranking)}))
        found = mcpg.load(path).explain("open it", context_tools=["west::desk"])
        first.append(found.result.matches[0].source_id)
        assert found.model is not None
        assert tuple(found.model.weights.values()) == ranking.model.weights

    assert first == ["west", "east"]
