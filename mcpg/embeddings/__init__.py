"""Embedding providers and stores: opt-in, and never imported by a plain graph search."""

from __future__ import annotations

from mcpg.embeddings.function import FunctionEmbeddings
from mcpg.embeddings.provider import (
    EmbeddingError,
    EmbeddingProvider,
    embed_query,
    embed_texts,
)
from mcpg.embeddings.tokens import count_tokens

__all__ = [
    "EmbeddingError",
    "EmbeddingProvider",
    "FunctionEmbeddings",
    "count_tokens",
    "embed_query",
    "embed_texts",
]
