from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.vectors import matrix as storage
from mcpg.vectors.matrix import (
    FLOAT16,
    FLOAT32,
    INT8,
    KINDS,
    QuantizedMatrix,
    ToolVectors,
    quantize,
)

EAST, NORTH = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)
NORTHEAST = np.sqrt(np.array([0.5, 0.5], dtype=np.float32))


def rows(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    """Give random directions."""
    drawn = np.random.default_rng(seed).normal(size=(count, dimensions))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def held(matrix: np.ndarray, kind: str = FLOAT32) -> ToolVectors:
    """Give vectors for tools that all have one."""
    return ToolVectors(quantize(kind, matrix), np.ones(len(matrix), dtype=np.bool_), "test")


def test_cosines_come_by_number() -> None:
    """Each tool has its cosine, rounded; one without a vector has -1 and is counted."""
    vectors = ToolVectors.from_rows([EAST, None, NORTHEAST, -EAST], "test")
    assert (len(vectors), vectors.dimensions, vectors.missing) == (4, 2, 1)
    assert vectors.cosines(EAST).tolist() == pytest.approx([1, -1, 0.707107, -1], abs=1e-7)
    assert vectors.cosines(EAST).dtype == np.float32
    assert vectors.chosen_cosines(EAST, [2, 1, 0]).tolist() == pytest.approx([0.707107, -1, 1])
    assert vectors.vector(1) is None
    assert vectors.vector(2).tolist() == NORTHEAST.tolist()


def test_the_nearest_come_first_and_equal_ones_by_number() -> None:
    """What has no vector or is not wanted is passed over."""
    vectors = ToolVectors.from_rows([NORTH, EAST, None, EAST, NORTHEAST, -EAST], "test")
    assert vectors.nearest(EAST, 9) == [(1, 1.0), (3, 1.0), (4, 0.707107), (0, 0.0), (5, -1.0)]
    assert vectors.nearest(EAST, 1) == [(1, 1.0)]
    assert vectors.nearest(EAST, 2, frozenset({1, 5})) == [(3, 1.0), (4, 0.707107)]
    assert vectors.nearest(EAST, 0) == []


def test_no_vectors_at_all_is_no_failure() -> None:
    """Nobody knows the dimensions then, so any query will do."""
    for count in (0, 3):
        vectors = ToolVectors.from_rows([None] * count, "test")
        assert (vectors.dimensions, vectors.missing) == (0, count)
        assert vectors.cosines(EAST).tolist() == [-1.0] * count
        assert vectors.nearest(EAST, 3) == []


def test_a_query_of_other_dimensions_is_refused() -> None:
    """A number that would mean nothing is not given."""
    vectors = ToolVectors.from_rows([EAST], "test")
    for ask in (vectors.cosines, lambda query: vectors.nearest(query, 1)):
        with pytest.raises(ValueError, match="for 2 dimensions"):
            ask(np.ones(3, dtype=np.float32))
    with pytest.raises(ValueError, match="vectors of 2, 3 dimensions"):
        ToolVectors.from_rows([EAST, np.ones(3, dtype=np.float32)], "test")
    with pytest.raises(ValueError, match="1 vectors for 2 tools"):
        ToolVectors(QuantizedMatrix(EAST[None]), np.ones(2, dtype=np.bool_), "test")
    with pytest.raises(ValueError, match="not as 'float8'"):
        quantize("float8", rows(1, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_does_not_depend_on_its_neighbours(kind: str) -> None:
    """Of some rows each has the same product, to the last bit, whichever the others are."""
    stored = quantize(kind, rows(60, 512))
    query, alone = rows(1, 512, 1)[0], [np.array([number]) for number in range(60)]
    expected = [stored.cosines(query, number)[0] for number in alone]
    for count in range(1, 60):
        numbers = np.arange(60 - count, 60)
        assert stored.cosines(query, numbers).tolist() == expected[60 - count :]


@pytest.mark.parametrize("kind", KINDS)
def test_parts_make_no_difference(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows are widened at a time, the cosines are the same."""
    vectors, query = held(rows(100, 16), kind), rows(1, 16, seed=1)[0]
    whole = vectors.cosines(query)
    monkeypatch.setattr(storage, "_WIDENED_AT_ONCE", 16 * 7)
    assert np.allclose(vectors.cosines(query), whole, atol=2e-6)
    again = held(rows(100, 16), kind)
    assert again.stored.rows.tobytes() == vectors.stored.rows.tobytes()


@pytest.mark.parametrize(("kind", "error"), [(FLOAT32, 1e-6), (FLOAT16, 1e-3), (INT8, 0.02)])
def test_fewer_bits_cost_little(kind: str, error: float) -> None:
    """The cosine of a vector that is kept in few bits is nearly its own."""
    matrix, query = rows(200, 64), rows(1, 64, seed=1)[0]
    kept = held(matrix, kind)
    assert kept.stored.kind == kind
    assert np.abs(kept.cosines(query) - matrix @ query).max() < error
    assert np.linalg.norm(kept.vector(7)) == pytest.approx(1, abs=1e-3)


@given(seed=st.integers(0, 1 << 32), dimensions=st.integers(1, 40), kind=st.sampled_from(KINDS))
def test_what_was_kept_once_is_kept_the_same_again(seed: int, dimensions: int, kind: str) -> None:
    """Vectors that go from file to file never change."""
    matrix = rows(5, dimensions, seed)
    matrix[3] = 0
    kept = quantize(kind, matrix)
    widened = np.array([kept.row(number) for number in range(len(kept))], dtype=np.float32)
    again = quantize(kind, widened)
    assert again.rows.tobytes() == kept.rows.tobytes()
    assert kind != INT8 or again.scales.tobytes() == kept.scales.tobytes()


@given(st.data())
def test_the_nearest_are_those_of_a_full_sort(data: st.DataObject) -> None:
    """To pick first and sort then gives what sorting everything would."""
    places = st.integers(0, 3)
    matrix = np.eye(4, dtype=np.float32)[data.draw(st.lists(places, min_size=1, max_size=12))]
    vectors = held(matrix)
    query = np.array([0.8, 0.6, 0, 0], dtype=np.float32)
    without = data.draw(st.frozensets(st.integers(0, len(matrix) - 1)))
    count = data.draw(st.integers(1, 14))
    cosines = [round(float(one), 6) for one in vectors.cosines(query)]
    ranked = sorted(set(range(len(matrix))) - without, key=lambda tool: (-cosines[tool], tool))
    found = vectors.nearest(query, count, without)
    assert found == [(tool, cosines[tool]) for tool in ranked][:count]


def test_a_number_that_is_none_is_no_vector() -> None:
    """Whatever a file holds, every cosine is a number in [-1, 1]."""
    matrix = np.array([[np.nan, 1], [np.inf, 0], [-np.inf, np.inf], [1, 0]], dtype=np.float32)
    assert held(matrix).cosines(EAST).tolist() == [-1.0, 1.0, -1.0, 1.0]
    assert np.abs(held(matrix, FLOAT16).cosines(EAST)).max() == 1


def test_every_half_float_is_widened_exactly() -> None:
    """The short way from 16 bits to 32 gives what a cast gives, for every number there is."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)][:, None]
    cast = finite.astype(np.float32)
    assert storage._widen(finite).tobytes() == cast.tobytes()
    assert np.isfinite(storage._widen(halves[:, None])).all()
