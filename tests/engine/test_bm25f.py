from __future__ import annotations

import math

import pytest
from builders import make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.engine.bm25f import PARAMETERS, FieldParameters, field_frequency, saturate
from mcpg.index import FIELDS, build_index

AMOUNTS = st.floats(0, 1e6)


@given(AMOUNTS, AMOUNTS)
def test_saturation_rises_and_stays_below_one(one: float, other: float) -> None:
    """More of a term never counts less, and never counts as much as a second term."""
    low, high = sorted((one, other))

    assert 0 <= saturate(low) <= saturate(high) < 1


def test_field_frequency_is_discounted_by_length() -> None:
    """A word in a field of average length counts its weight; in one twice as long, less."""
    parameters = FieldParameters(weight=3.0, length_normalisation=0.5)

    assert field_frequency(2, 10, 10.0, parameters) == 6.0
    assert field_frequency(2, 20, 10.0, parameters) == 4.0


def test_every_field_has_parameters() -> None:
    """No field of the index is left without a weight."""
    assert tuple(PARAMETERS) == FIELDS


def test_fields_saturate_together() -> None:
    """The score is one saturation over all fields, not a sum of one per field."""
    engine = make_engine(
        make_tool("parcel_track", description="Follow a parcel."), make_tool("noise", id="noise")
    )
    index = engine._index
    expected = sum(
        field_frequency(
            count,
            index.lengths[field][document],
            index.mean_lengths[field],
            PARAMETERS[FIELDS[field]],
        )
        for document, field, count in index.postings["parcel"]
        if index.documents[document].tool.id == "parcel_track"
    )
    number = ["noise", "parcel_track"].index("parcel_track")

    assert engine._scorer.impacts("parcel")[number] == pytest.approx(saturate(expected))


@pytest.mark.parametrize("frequency", [0, 1, 3])
def test_inverse_document_frequency_is_positive(frequency: int) -> None:
    """Even a word that every tool holds weighs a little; rarer words weigh more."""
    index = build_index(make_engine(*(make_tool(f"tool_{n}") for n in range(3))).documents.values())

    assert index.inverse_document_frequency(frequency) > 0
    assert index.inverse_document_frequency(0) == pytest.approx(math.log(8))
