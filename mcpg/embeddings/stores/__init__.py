"""Where the vectors of tools are kept between builds."""

from __future__ import annotations

from mcpg.embeddings.stores.memory import MemoryStore
from mcpg.embeddings.stores.protocol import EmbeddingKey, EmbeddingStore, StoreError

__all__ = ["EmbeddingKey", "EmbeddingStore", "MemoryStore", "StoreError"]
