"""What is kept of the records of an index from one build to the next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.caching.build_cache import StoredBuildCache
from mcpg.documents.model import Link, ToolDocument, document_key, encode_record
from mcpg.index.compile import compile_index
from mcpg.relations.edges import EdgeKind
from mcpg.text.json_values import WrittenNumber

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.caching.build_cache import ResultKind

VALUES: st.SearchStrategy[Any] = st.sampled_from((1, 1.0, True, "1", WrittenNumber("1.10"), None))
NUMBERS = st.integers(0, 200)


@st.composite
def documents(draw: st.DrawFn) -> ToolDocument:
    """Make one of some hundred documents."""
    tool = make_tool(
        f"tool{draw(NUMBERS)}",
        description=draw(st.sampled_from(("", "Finds orders.", "\ud800"))),
        input_schema={"type": "object", "default": draw(VALUES)},
    )
    links = [Link(draw(st.sampled_from(EdgeKind)), f"urn:tool{draw(NUMBERS)}")]
    return ToolDocument(
        tool,
        f"{tool.id}.md",
        f"urn:{tool.id}",
        groups=tuple(draw(st.lists(st.sampled_from(("domain:order", "by hand")), unique=True))),
        links=tuple(links[: draw(st.integers(0, 1))]),
        body=draw(st.sampled_from(("", "A note."))),
    )


BUNDLES = st.lists(documents(), max_size=20, unique_by=lambda document: document.tool.id)


@settings(max_examples=30, deadline=None)
@given(st.lists(BUNDLES, min_size=2, max_size=3))
def test_what_is_kept_of_other_bundles_changes_no_index(bundles: list[list[ToolDocument]]) -> None:
    """Whatever was compiled before, an index is the same as if nothing were kept."""
    memo = StoredBuildCache()
    for bundle in bundles:
        assert compile_index(bundle, memo=memo) == compile_index(bundle)
        memo = memo.make_next()
        assert compile_index(bundle, memo=memo) == compile_index(bundle)


@given(documents(), documents())
def test_documents_of_one_key_have_one_record(one: ToolDocument, other: ToolDocument) -> None:
    """What a record says is told by the key of the document."""
    assert document_key(replace(one, path=one.path)) == document_key(one)
    assert (document_key(one) == document_key(other)) == (
        encode_record(one) == encode_record(other)
    )


class Damaged(StoredBuildCache):
    """A cache that holds nothing that can be read."""

    def recall(
        self, kind: ResultKind[Any], given: Callable[[], bytes], work: Callable[[], Any]
    ) -> Any:
        """Return the result of *work*, where what is kept cannot be decoded."""
        assert given()
        kept = kind.encode(work())
        for data in (b"", b"\xff", kept and kept[:-1]):
            with pytest.raises((ValueError, TypeError, KeyError, IndexError, AttributeError)):
                kind.decode(data or b"")
        return work()


def test_records_that_cannot_be_read_are_made_again() -> None:
    """A cache file that is cut short costs time and nothing else."""
    bundle = [ToolDocument(make_tool(name), f"{name}.md", f"urn:{name}") for name in ("a", "b")]
    assert compile_index(bundle, memo=Damaged()) == compile_index(bundle)


def test_texts_are_kept_with_their_documents() -> None:
    """A document with another text has another record."""
    bundle, memo = [ToolDocument(make_tool("a"), "a.md", "urn:a")], StoredBuildCache()
    for texts in ({}, {"a.md": "x"}, {"a.md": "y"}):
        assert compile_index(bundle, texts=texts, memo=memo) == compile_index(bundle, texts=texts)
