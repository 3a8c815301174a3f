"""Tests of what is kept of postings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.index import decoded
from mcpg.index.decoded import Postings

if TYPE_CHECKING:
    import pytest

    from mcpg.index import Index


def test_impacts_are_the_postings_by_tool(index: Index) -> None:
    """The impacts of a term are those of its postings, read once."""
    held = Postings(index)
    for term in range(len(index.texts("terms"))):
        tools, impacts, _ = held.of_term(term)

        assert held.impacts(term) == dict(zip(tools, impacts, strict=True))
        assert held.impacts(term) is held.impacts(term)
        assert held.count(term) == len(tools)


def test_what_is_kept_has_a_bound(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once enough postings are kept, no more are, and long lists never are."""
    monkeypatch.setattr(decoded, "_MOST_KEPT", 3)
    monkeypatch.setattr(decoded, "_LONGEST_KEPT", 2)
    held = Postings(index)
    kept = [held.impacts(term) for term in range(len(index.texts("terms")))]

    assert sum(len(one) for one in kept if one) <= 3
    assert any(kept)
    assert None in kept
