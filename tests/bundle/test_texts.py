"""Texts of documents while a bundle is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.bundle import Bundle, Encoding, encode_bundle, metadata, write_encoded
from mcpg.bundle.metadata import CompressedTexts, hold_texts
from mcpg.catalog.model import SourceDocument

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

contents = st.lists(st.text(st.characters(), max_size=40), max_size=20)


def documents(contents: list[str]) -> tuple[SourceDocument, ...]:
    """Return a document of each of *contents*."""
    return tuple(
        SourceDocument(f"{place:03}.md", content, f"urn:{place}", f"{place}.json")
        for place, content in enumerate(contents)
    )


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Let few texts make many blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "_PER_BLOCK", 50)
        patch.setattr(metadata, "_MOST_PLAIN", 100)
        yield


@given(contents)
def test_compressed_texts_are_the_texts(written: list[str]) -> None:
    """However they are read, compressed texts are those that were given."""
    given = documents(written)
    held = CompressedTexts(given)

    assert held == given
    assert len(held) == len(given)
    assert [held[place] for place in range(len(given))] == list(given)
    assert list(held[1:-1]) == list(given[1:-1])
    assert [one.place for one in held] == [one.place for one in given]


@given(contents)
def test_few_texts_are_held_as_they_are(written: list[str]) -> None:
    """Only many texts are compressed."""
    held = hold_texts(iter(documents(written)))

    assert tuple(held) == documents(written)
    assert isinstance(held, tuple) == (sum(map(len, written)) <= 100)


def test_a_bundle_in_parts_is_the_bundle(tmp_path: Path) -> None:
    """Parts have the bytes of the whole, and can be made again."""
    for many in ([], ["one"], [f"text {number}" for number in range(50)]):
        bundle = Bundle(CompressedTexts(documents(many)), {"stale": ["a"]})
        parts, whole = Encoding(bundle), encode_bundle(bundle)

        assert b"".join(parts) == b"".join(parts) == whole
        assert (parts.size, parts.content_hash) == (len(whole), bundle.content_hash)
        path = tmp_path / f"{len(many)}.mdld"
        assert [write_encoded(path, parts), write_encoded(path, parts)] == [True, False]
        assert path.read_bytes() == whole
