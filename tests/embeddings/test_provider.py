from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mcpg.embeddings import (
    EmbeddingError,
    EmbeddingProvider,
    FunctionEmbeddings,
    embed_query,
    embed_texts,
)
from mcpg.errors import SourceError


def lengths(texts: list[str]) -> list[list[float]]:
    """Embed each text by its length and the number of its spaces."""
    return [[float(len(text)), float(text.count(" ")), 1.0] for text in texts]


def answering(answer: Any, **told: Any) -> FunctionEmbeddings:
    """Make a provider that answers everything with *answer*."""
    return FunctionEmbeddings(lambda _: answer, "test:answer", **told)


class Raw:
    """A provider whose answer reaches the checks as it is."""

    fingerprint = "test:raw"
    dimensions = None

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def embed(self, _: Any) -> Any:
        """Return the answer, or raise it."""
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Array:
    """An array of another library, that raises where it is told to."""

    def __init__(self, *, has_length: bool) -> None:
        self.has_length = has_length

    def __len__(self) -> int:
        """Return the number of rows, or raise."""
        if not self.has_length:
            raise RuntimeError("lazy")
        return 2

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Raise, as a tensor does that is still to be trained."""
        raise RuntimeError("detach it first")


def kind_of(provider: EmbeddingProvider, count: int = 2) -> str:
    """Tell as what kind of error *provider* fails."""
    with pytest.raises(EmbeddingError) as caught:
        embed_texts(provider, ["text"] * count)
    assert provider.fingerprint in str(caught.value)
    assert caught.value.remedy
    return caught.value.kind


def test_rows_come_in_order_and_have_length_one() -> None:
    """Each text has its row, whatever the batches, and each row is of length one."""
    texts = ["a", "b c", "d e f", "ghij", "k"]
    expected = np.array(lengths(texts))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)

    rows = embed_texts(FunctionEmbeddings(lengths, "test:lengths"), texts, batch=2)

    assert rows.dtype == np.float32
    assert rows.shape == (5, 3)
    assert np.allclose(rows, expected)


def test_each_batch_is_told_with_its_rows() -> None:
    """After every batch the first text's number and the rows are given, so they can be saved."""
    told: list[tuple[int, int]] = []

    embed_texts(
        FunctionEmbeddings(lengths, "test:lengths"),
        ["a"] * 5,
        batch=2,
        on_batch=lambda start, rows: told.append((start, len(rows))),
    )

    assert told == [(0, 2), (2, 2), (4, 1)]


def test_no_texts_ask_nobody() -> None:
    """Without texts the provider is not called, and the shape is still right."""
    provider = FunctionEmbeddings(lambda _: 1 / 0, "test:never", dimensions=3)

    assert embed_texts(provider, []).shape == (0, 3)


def test_a_question_goes_its_own_way() -> None:
    """A provider that treats questions unlike documents is asked as for questions."""
    provider = FunctionEmbeddings(
        lambda texts: [[1, 0] for _ in texts],
        "test:two",
        queries=lambda texts: [[0, 2]] * len(texts),
    )

    assert embed_query(provider, "where").tolist() == [0, 1]
    assert embed_texts(provider, ["there"]).tolist() == [[1, 0]]


def test_a_question_of_a_provider_for_all_texts() -> None:
    """A provider without a way for questions is asked as for documents."""
    assert embed_query(Raw([[3.0, 4.0]]), "where").tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ([[1.0, 2.0]], "count"),
        ([[1.0, 2.0]] * 3, "count"),
        ([], "count"),
        (None, "count"),
        (3.5, "count"),
        (np.array(3.5), "count"),
        (Array(has_length=False), "count"),
        (Array(has_length=True), "dimensions"),
        ([[1.0, 2.0], [1.0]], "dimensions"),
        ([[1.0, 2.0], ["x", "y"]], "dimensions"),
        ([1.0, 2.0], "dimensions"),
        (np.ones((2, 2, 2)), "dimensions"),
        ([[], []], "empty"),
        ([[1.0, 2.0], [0.0, 0.0]], "empty"),
        ([[1.0, 2.0], [math.nan, 0.0]], "nonfinite"),
        ([[1.0, math.inf], [1.0, 0.0]], "nonfinite"),
        (TimeoutError("30 s"), "timeout"),
        (ValueError("boom"), "failed"),
        (np.array([[1 + 2j, 1], [1, 1]]), "dimensions"),
        ([[1 + 2j, 1], [1, 1]], "dimensions"),
        (EmbeddingError("test:raw is not there", kind="missing"), "missing"),
    ],
)
def test_a_bad_answer_is_an_error_of_its_kind(answer: Any, kind: str) -> None:
    """Nothing that is not one finite vector other than zero for each text is ever returned."""
    assert kind_of(Raw(answer)) == kind


def test_vectors_are_as_long_as_the_provider_says() -> None:
    """An answer of other dimensions than the provider names is refused."""
    assert kind_of(answering([[1, 2], [3, 4]], dimensions=3)) == "dimensions"


def test_vectors_are_as_long_as_those_before() -> None:
    """A provider that changes its dimensions between two batches is refused."""
    sizes = iter([2, 3])
    provider = FunctionEmbeddings(lambda texts: np.ones((len(texts), next(sizes))), "test:grows")

    with pytest.raises(EmbeddingError) as caught:
        embed_texts(provider, ["a", "b"], batch=1)
    assert caught.value.kind == "dimensions"


def test_the_text_of_a_strangers_error_is_not_told() -> None:
    """What a provider puts into its errors may hold a key, and stays out of ours."""
    with pytest.raises(EmbeddingError) as caught:
        embed_texts(Raw(RuntimeError("Bearer sk-secret")), ["a"])
    assert "sk-secret" not in str(caught.value)


def test_the_message_of_an_error_of_mcpg_is_reported() -> None:
    """A provider that raises an error of mcpg has its message reported, as documented."""
    with pytest.raises(EmbeddingError, match=r"failed: the quota is used up"):
        embed_texts(Raw(SourceError("the quota is used up")), ["a"])


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_the_callers_own_end_passes_through(stop: type[BaseException]) -> None:
    """An interruption is no failure of the provider."""
    with pytest.raises(stop):
        embed_texts(Raw(stop()), ["a"])


def test_halves_of_surrogate_pairs_never_reach_a_provider() -> None:
    """Every text that a provider sees can be encoded; whole pairs become their character."""
    seen: list[str] = []

    def keep(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[1.0]] * len(texts)

    embed_texts(FunctionEmbeddings(keep, "test:keep"), ["a\ud800b", "\ud83d\ude00", "naïve"])

    assert seen == ["a\ufffdb", "😀", "naïve"]


@given(
    arrays.arrays(
        np.float32,
        (3, 4),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_any_finite_vector_but_zero_is_scaled_to_one(rows: Any) -> None:
    """Vectors of any size, the largest and the smallest numbers too, come out of length one."""
    if not np.abs(rows).max(axis=1).all():
        assert kind_of(Raw(rows), 3) == "empty"
    else:
        made = embed_texts(Raw(rows), ["a", "b", "c"])
        assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)


def test_a_function_is_a_provider() -> None:
    """A host's function, wrapped, is an embedding provider and says what it is."""
    provider = FunctionEmbeddings(lengths, "shop:lengths", dimensions=3)

    assert isinstance(provider, EmbeddingProvider)
    assert repr(provider) == "FunctionEmbeddings('shop:lengths')"


def test_a_number_too_large_is_not_finite() -> None:
    """What does not fit into 32 bits is refused as infinite, without a warning."""
    assert kind_of(answering([[1e300, 1], [1, 1]])) == "nonfinite"
