from __future__ import annotations

import pytest
from builders import make_engine, make_tool

from mcpg.index import Index
from mcpg.index.compile import compile_index
from mcpg.index.layout import StaleIndexError
from mcpg.index.tables import Section
from mcpg.search.model import (
    PROVENANCE,
    ModelProvenance,
    default_provenance,
    provenance_sections,
    read_provenance,
)


def index_with(section: Section) -> Index:
    """Make an index that holds *section*."""
    return Index(compile_index([], extra=[section]))


def test_an_index_tells_where_its_model_comes_from() -> None:
    """The name and the provenance of the shipped model are kept with every index."""
    origin = read_provenance(make_engine(make_tool()).index)

    assert origin == default_provenance()
    assert origin.name == "shipped with mcpg"
    assert origin.provenance.startswith("benchmarks/fit_ranking.py")


def test_an_origin_is_read_as_it_was_written() -> None:
    """Any text may stand in an origin."""
    origin = ModelProvenance("tuned: посилка \ud800\n", 'on "queries"')

    assert read_provenance(index_with(*provenance_sections(origin))) == origin


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"name": 1}', b"[" * 99_999])
def test_a_broken_origin_is_damage(data: bytes) -> None:
    """An origin that cannot be read is a damaged index, not a crash."""
    with pytest.raises(StaleIndexError):
        read_provenance(index_with(Section(PROVENANCE, "B", data)))
