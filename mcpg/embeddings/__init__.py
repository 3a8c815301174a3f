"""Embedding providers and stores: opt-in, and never imported by a plain graph search."""

from __future__ import annotations

from mcpg.embeddings.function import FunctionEmbeddings
from mcpg.embeddings.provider import (
    EmbeddingError,
    EmbeddingProvider,
    embed_query,
    embed_texts,
)

__all__ = [
    "EmbeddingError",
    "EmbeddingProvider",
    "FunctionEmbeddings",
    "embed_query",
    "embed_texts",
]
