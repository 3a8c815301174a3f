"""Vectors of symbols, which are made when a question first needs them, and kept in a store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mcpg.code.graph import LocatedSymbol
from mcpg.embeddings import make_provider
from mcpg.embeddings.provider import EmbeddingError, EmbeddingProvider, embed_query
from mcpg.search.results import EngineServices
from mcpg.text import split_words
from mcpg.vectors.build import BuiltVectors, embed_items

_LONGEST_PART = 300


class SymbolVectors:
    """The vectors of symbols, made by the provider of an engine."""

    def __init__(self, definitions: Sequence[LocatedSymbol], services: EngineServices) -> None:
        self._definitions = definitions
        self._services = services

    @cached_property
    def _provider(self) -> EmbeddingProvider:
        given = self._services.embeddings
        if given is None:
            message = "no embedding provider is set up"
            raise EmbeddingError(message, kind="missing", remedy="name one with --embed-with")
        return make_provider(given) if isinstance(given, str) else given

    @cached_property
    def _built(self) -> BuiltVectors:
        texts = {
            f"{number:09d}": (embedding_text(one),) for number, one in enumerate(self._definitions)
        }
        return embed_items(texts, self._provider, store=self._services.store)

    def compare(self, text: str) -> list[float]:
        """Return how near each symbol is to *text*: the cosine, at least 0."""
        vectors, outage = self._built.vectors, self._built.outage
        if outage or not vectors.dimensions:
            del self._built  # the next question tries again
            raise outage or EmbeddingError("no symbol has a vector", kind="failed")
        query = embed_query(self._provider, text)
        cosines = vectors.chosen_cosines(query, range(len(self._definitions)))
        nearness: list[float] = np.maximum(cosines, 0.0).tolist()
        return nearness


def embedding_text(one: LocatedSymbol) -> str:
    """Describe a symbol for an embedding model: its names, documentation, signature and path."""
    symbol = one.symbol
    names = " ".join(split_words(symbol.plain_name))
    path = " ".join(split_words(one.file.path.rpartition(".")[0]))
    parts = f"{names}. {symbol.documentation}", symbol.signature[:_LONGEST_PART], path
    return "\n".join(part for part in parts if part)
