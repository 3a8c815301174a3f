"""Tests of what names say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcpg.index import reader
from mcpg.index.reader import NameTable
from mcpg.index.recipe import inverse_document_frequency

if TYPE_CHECKING:
    from mcpg.index import Index


def test_a_name_weighs_what_its_terms_weigh(index: Index) -> None:
    """The terms of a name stand in order, each with its rarity, and their sum."""
    for tool in range(len(index)):
        name = NameTable(index).of_tool(tool)
        terms = list(index.name_terms(tool))

        assert [term for term, _ in name.idfs] == terms
        assert name.terms == set(terms)
        assert name.weight == pytest.approx(sum(idf for _, idf in name.idfs))
        assert dict(name.idfs) == {
            term: inverse_document_frequency(len(index), index.document_frequency(term))
            for term in terms
        }


def test_names_kept_have_a_bound(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name beyond the bound is read each time, and is the same."""
    monkeypatch.setattr(reader, "_MOST_NAMES", 1)
    found = NameTable(index)

    assert found.of_tool(0) is found.of_tool(0)
    assert found.of_tool(1) == found.of_tool(1)
    assert found.of_tool(1) is not found.of_tool(1)
