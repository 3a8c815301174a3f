from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcpg.index.lookups import Grams, grams_of_word
from mcpg.index.recipe import inverse_document_frequency

if TYPE_CHECKING:
    from mcpg.index.reader import Index

REFUND, HIDDEN, TRACK = 0, 1, 2


def test_grams_are_triples_of_neighbours() -> None:
    """A word of n characters has n 3-grams, its ends among them; no two triples are one number."""
    assert len(set(grams_of_word("parcel"))) == 6
    assert set(grams_of_word("ab")) & set(grams_of_word("abc")) == {grams_of_word("ab")[0]}
    assert len(list(grams_of_word("天"))) == 1


def test_like_words_share_grams_with_tools(index: Index) -> None:
    """A misspelt word still shares most of its 3-grams with the tool that is meant."""
    grams = Grams(index)
    meant = set(grams.of_word("refnd"))

    assert meant & set(grams.of_tool(REFUND))
    assert not meant & set(grams.of_tool(HIDDEN))


def test_norms_are_lengths_of_vectors(index: Index) -> None:
    """A tool's norm is the root of the sum of the squares of its rarities."""
    grams = Grams(index)
    words = "shipments", "billing"
    idfs = {number: idf for word in words for number, idf in grams.of_word(word).items()}

    assert set(grams.of_tool(HIDDEN)) == set(idfs)
    assert grams.norms([HIDDEN])[0] == pytest.approx(sum(one**2 for one in idfs.values()) ** 0.5)


def test_rarity_falls_with_frequency() -> None:
    """What every tool holds says least, and still something."""
    idfs = [inverse_document_frequency(10, frequency) for frequency in range(11)]

    assert idfs == sorted(idfs, reverse=True)
    assert idfs[-1] > 0


def test_one_place_is_found_among_the_postings(index: Index) -> None:
    """Impact and fields of a term in a tool are zeros where it does not occur."""
    term = index.find_stem("shipment")
    tools, impacts, masks = index.postings(term)

    assert index.find_posting(term, TRACK) == (impacts[1], masks[1])
    assert list(tools) == [HIDDEN, TRACK]
    assert index.find_posting(term, REFUND)[0] == 0
    assert index.find_posting(index.find_stem("refund"), TRACK)[0] == 0
