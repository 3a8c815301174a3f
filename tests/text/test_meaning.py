"""The table of what texts are near in meaning."""

from __future__ import annotations

from struct import pack

import pytest

from mcpg.text import split_words, stem
from mcpg.text.meaning import (
    DIMENSIONS,
    LENGTH,
    MeaningTable,
    compose_vector,
    measure_length,
    sum_vectors,
)


def compose(text: str) -> list[int]:
    """Return the vector of *text*."""
    return compose_vector((stem(word), 1) for word in split_words(text))


def compare(one: str, other: str) -> float:
    """Return the cosine of two texts."""
    pairs = zip(compose(one), compose(other), strict=True)
    return sum(first * second for first, second in pairs) / LENGTH**2


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("visit website", "navigate browser url", "delete database row"),
        ("snap photo", "take picture camera", "list bank accounts"),
        ("email colleague", "send message recipient", "rotate image"),
    ],
)
def test_texts_of_one_meaning_are_near(text: str, near: str, far: str) -> None:
    """What means the same in other words is nearer than what does not."""
    assert compare(text, near) > compare(text, far) + 0.2


def test_a_vector_has_one_length_and_small_numbers() -> None:
    """Vectors of texts fit into bytes, and a longer text has no longer one."""
    for text in ("photo", "photo photo", "create a new issue in the tracker of a repository"):
        vector = compose(text)
        assert len(vector) == DIMENSIONS
        assert max(map(abs, vector)) <= 127
        assert measure_length(vector) == pytest.approx(LENGTH, rel=0.03)


def test_a_sum_counts_each_stem_as_often_as_it_weighs() -> None:
    """The sum of several stems is that of their own vectors, whatever their order."""
    photo, email = sum_vectors([("photo", 1)]), sum_vectors([("email", 1)])
    both = [3 * one + 2 * other for one, other in zip(photo, email, strict=True)]

    assert sum_vectors([("photo", 3), ("email", 2)]) == both
    assert sum_vectors([("email", 2), ("qqqzx", 9), ("photo", 3)]) == both


def test_words_without_a_vector_have_no_meaning() -> None:
    """A text of words that the table lacks has no vector."""
    assert compose("qqqzx") == compose("") == sum_vectors([]) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pack("<8s2I", b"mcpgwt1\0", 0, 0),
        pack("<8s2I", b"mcpgmv2\0", 2, 0),
        pack("<8s2I", b"mcpgmv2\0", 0, 1) + bytes(DIMENSIONS // 2 - 1),
    ],
)
def test_data_that_is_no_table_is_refused(data: bytes) -> None:
    """Data that is cut short, or of another kind, is not read."""
    with pytest.raises(ValueError, match=r"header|version|length"):
        MeaningTable(memoryview(data))


def test_a_place_beyond_the_table_is_no_vector() -> None:
    """A damaged table finds nothing at worst."""
    data = pack("<8s2I", b"mcpgmv2\0", 2, 1) + pack("<2H", 0, 7) + b"\x8f" * (DIMENSIONS // 2)
    table = MeaningTable(memoryview(data))

    assert table.read_vector(0) == [7, 0] * (DIMENSIONS // 2)
    assert [len(table.read_vector(stem)) for stem in (1, 2, -1)] == [0, 0, 0]
