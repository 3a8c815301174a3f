from __future__ import annotations

import pytest
from builders import make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.explain.explain import field_shares
from mcpg.index.layout import IMPACT_SCALE
from mcpg.index.recipe import (
    FIELDS,
    PARAMETERS,
    FieldParameters,
    inverse_document_frequency,
    occurrence_weight,
    saturate,
    smoothed_idf,
)

AMOUNTS = st.floats(0, 1e6)


@given(AMOUNTS, AMOUNTS)
def test_saturation_rises_and_stays_below_one(one: float, other: float) -> None:
    """More of a term never counts less, and never counts as much as a second term."""
    low, high = sorted((one, other))

    assert 0 <= saturate(low) <= saturate(high) < 1


def test_an_occurrence_is_discounted_by_length() -> None:
    """A word in a field of average length counts its weight; in one twice as long, less."""
    parameters = FieldParameters(weight=3.0, length_normalisation=0.5)

    assert occurrence_weight(10, 10.0, parameters) == 3.0
    assert occurrence_weight(20, 10.0, parameters) == 2.0


def test_every_field_has_parameters() -> None:
    """No field of the index is left without a weight."""
    assert tuple(PARAMETERS) == FIELDS


def test_fields_saturate_together() -> None:
    """An impact is one saturation over all fields, not a sum of one per field."""
    engine = make_engine(
        make_tool("parcel_track", description="Follow a parcel."), make_tool("noise", id="noise")
    )
    index = engine.index
    term = index.find_stem("parcel")
    means = index.section("fields.mean")
    expected = sum(
        occurrence_weight(length, means[FIELDS.index(field)], PARAMETERS[field])
        for field, length in (("name", 2), ("description", 3))
    )

    assert index.find_posting(term, 1)[0] == pytest.approx(saturate(expected) * IMPACT_SCALE, abs=1)
    assert index.find_posting(term, 0)[0] == 0
    assert sum(field_shares(index, 1, [term])[term].values()) == pytest.approx(1)


@given(st.integers(1, 10**6), st.data())
def test_rarity_falls_with_frequency(size: int, data: st.DataObject) -> None:
    """Rarer words weigh more, and even a word that every tool holds weighs a little."""
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, size)] * 2)))

    assert 0 < inverse_document_frequency(size, high) <= inverse_document_frequency(size, low)


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_common_words_weigh_less(size: int, one: float, other: float) -> None:
    """Of two words that no tool holds, the one that everybody uses weighs less."""
    low, high = sorted((one, other))

    assert 0 < smoothed_idf(size, 0, high, 3.0) <= smoothed_idf(size, 0, low, 3.0)
