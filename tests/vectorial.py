"""Documents, providers and stores for the tests of vectors."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from builders import make_tool

from mcpg import embeddings
from mcpg.documents.model import ToolDocument
from mcpg.search import index_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from numpy.typing import NDArray

    from mcpg.catalog.model import Tool


def embed_with(monkeypatch: pytest.MonkeyPatch, provider: object) -> None:
    """Let every command have *provider*, whatever it asks for."""
    for module in (embeddings, index_vectors):
        monkeypatch.setattr(module, "make_provider", lambda _spec: provider)


def document_of(tool: Tool, body: str = "") -> ToolDocument:
    """Return the document of *tool*."""
    return ToolDocument(tool, f"{tool.id}.md", f"https://example.org/{tool.id}", body=body)


def documents(count: int, first: int = 0) -> list[ToolDocument]:
    """Give documents of *count* different tools."""
    names = [f"tool_{number:05}" for number in range(first, first + count)]
    return [document_of(make_tool(name, description=f"Does {name}.")) for name in names]


class HashProvider:
    """Makes of each text a direction that depends on nothing else, and counts what it is asked."""

    def __init__(self, dimensions: int = 8, name: str = "hashes") -> None:
        self.fingerprint = f"test:{name}:{dimensions}"
        self.dimensions = dimensions
        self.asked: list[str] = []
        self.batches: list[int] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give one row for each of *texts*."""
        self.asked += texts
        self.batches.append(len(texts))
        return np.array([self.vector(text) for text in texts], dtype=np.float32)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the row of one text."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        return np.random.default_rng(seed).normal(size=self.dimensions).astype(np.float32)


class FailingProvider(HashProvider):
    """Works for some batches, and then fails with an error of the given kind."""

    def __init__(self, fault: BaseException, batches: int = 0) -> None:
        super().__init__()
        self.fault = fault
        self.left = batches

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give rows, or fail."""
        if not self.left:
            raise self.fault
        self.left -= 1
        return super().embed(texts)


class TopicProvider(HashProvider):
    """Counts in each text the words of a few topics, so that texts are near that mean the same."""

    TOPICS = (
        ("ship", "parcel", "courier", "посил"),
        ("invoice", "bill", "money"),
        ("label", "sticker"),
        ("order", "customer"),
    )

    def __init__(self) -> None:
        super().__init__(len(self.TOPICS), "topics")

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return how often each topic is spoken of; a text of none is a little of all."""
        counts = [sum(text.lower().count(word) for word in topic) for topic in self.TOPICS]
        return np.array(counts, dtype=np.float32) + np.float32(2**-6)
