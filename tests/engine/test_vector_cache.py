"""Vectors and rewrites of queries that a cache keeps."""

from __future__ import annotations

import numpy as np
import pytest

from mcpg.embeddings.provider import EmbeddingError, FunctionEmbeddings, embed_query
from mcpg.llm import FunctionRewriter
from mcpg.search.caches import QUERY, VECTOR, MemoryCache, add_digest, make_key
from mcpg.search.index_vectors import cached_query_vector, cached_rewrite


class Counting:
    """A function of texts that counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rows(self, texts: list[str]) -> list[list[float]]:
        """Give some vector for each text."""
        self.asked += texts
        return [[len(text), 1.0, text.count("e")] for text in texts]

    def rewrite(self, query: str) -> str:
        """Give some text for a query."""
        self.asked.append(query)
        return query.upper()


def test_a_vector_is_made_once() -> None:
    """The second time, the same numbers come without the provider; another text has its own."""
    counting, cache = Counting(), MemoryCache()
    provider = FunctionEmbeddings(counting.rows, "mine")
    right = embed_query(provider, "where is it")
    counting.asked.clear()

    for _ in range(2):
        found = cached_query_vector(cache, provider, "where is it")
        assert found.dtype == np.float32
        assert found.tolist() == right.tolist()
        found[:] = 0  # what a caller does with it changes nothing
    cached_query_vector(cache, provider, "else")
    assert counting.asked == ["where is it", "else"]
    assert cached_query_vector(None, provider, "else") is not None
    assert len(counting.asked) == 3


def test_providers_do_not_share() -> None:
    """A vector is found only for the fingerprint that made it."""
    counting, cache = Counting(), MemoryCache()
    for name in ("one", "two"):
        cached_query_vector(cache, FunctionEmbeddings(counting.rows, name), "a")
    assert counting.asked == ["a", "a"]


@pytest.mark.parametrize(
    "payload", [b"", b"abc", np.zeros(3, "<f4").tobytes(), np.array([np.nan], "<f4").tobytes()]
)
def test_what_is_no_vector_is_made_anew(payload: bytes) -> None:
    """Zeros, numbers that are none, and loose bytes are no vector, even under a right digest."""
    counting, cache = Counting(), MemoryCache()
    provider = FunctionEmbeddings(counting.rows, "mine")
    key = make_key(VECTOR, provider.fingerprint, "a")
    for entry in (add_digest(payload, key), b"x" * 44):
        cache.put(VECTOR, key, entry)
        assert cached_query_vector(cache, provider, "a").shape == (3,)
    assert counting.asked == ["a", "a"]


def test_a_failure_is_not_kept() -> None:
    """A provider that failed is asked again."""

    def fail(_: list[str]) -> list[list[float]]:
        raise OSError

    cache = MemoryCache()
    with pytest.raises(EmbeddingError):
        cached_query_vector(cache, FunctionEmbeddings(fail, "mine"), "a")
    assert len(cache) == 0


def test_a_rewrite_is_made_once() -> None:
    """The second time, the same text comes without the rewriter; another one has its own."""
    counting, cache = Counting(), MemoryCache()
    rewriter = FunctionRewriter(counting.rewrite, "mine")
    for query in ("wo ist es", "wo ist es", "\ud800"):
        assert cached_rewrite(cache, rewriter, query) == query.upper()
    assert counting.asked == ["wo ist es", "\ud800"]
    cached_rewrite(cache, FunctionRewriter(counting.rewrite, "other"), "wo ist es")
    assert cached_rewrite(None, rewriter, "wo ist es") == "WO IST ES"
    assert len(counting.asked) == 4


def test_an_empty_rewrite_is_not_kept() -> None:
    """What says nothing may say something the next time; a damaged entry says nothing."""
    cache = MemoryCache()
    rewriter = FunctionRewriter(lambda _: " ", "mine")
    assert cached_rewrite(cache, rewriter, "a") == " "
    assert len(cache) == 0
    cache.put(QUERY, make_key(QUERY, "mine", "a"), b"damaged")
    assert cached_rewrite(cache, rewriter, "a") == " "
