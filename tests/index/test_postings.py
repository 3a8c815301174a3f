"""Tests of what is kept of postings."""

from __future__ import annotations

from functools import reduce
from operator import or_

import pytest

from mcpg.index import Index, lookups


def test_impacts_are_the_postings_by_tool(index: Index) -> None:
    """The impacts of a term are those of its postings, read once."""
    held = Index(index.data)
    for term in range(len(index.texts("terms"))):
        tools, impacts, _ = held.postings(term)

        assert held.impacts(term) == dict(zip(tools, impacts, strict=True))
        assert held.impacts(term) is held.impacts(term)


@pytest.mark.parametrize("most", [0, 3, 100])
def test_fields_are_those_of_any_of_the_terms(
    index: Index, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A word occurs in the fields of all terms that it stands for, kept or read."""
    monkeypatch.setattr(lookups, "_MOST_FIELDS", most)
    held = Index(index.data)
    words = [((term, 1.0), (term + 1, 0.5)) for term in range(len(index.texts("terms")) - 1)]
    for tool in range(len(index)):
        masks = [
            index.find_posting(first, tool)[1] | index.find_posting(second, tool)[1]
            for (first, _), (second, _) in words
        ]
        assert [held.fields(tool, [word]) for word in words] == masks
        assert held.fields(tool, words) == index.fields(tool, words) == reduce(or_, masks)


def test_what_is_kept_has_a_bound(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once enough postings are kept, no more are, and long lists never are."""
    monkeypatch.setattr(lookups, "_MOST_KEPT", 3)
    monkeypatch.setattr(lookups, "_LONGEST_KEPT", 2)
    held = Index(index.data)
    kept = [held.impacts(term) for term in range(len(index.texts("terms")))]

    assert sum(len(one) for one in kept if one) <= 3
    assert any(kept)
    assert None in kept
