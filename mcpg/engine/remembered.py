"""What models said of a query before: its vector, and its rewrite.

Kept apart from results, because they outlive them: the same query with another limit, or to another
bundle, has the same vector. What a model failed to say is never kept.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mcpg.caches.protocol import QUERY, VECTOR
from mcpg.embeddings.provider import EmbeddingError, checked_rows, embed_query
from mcpg.engine.cache_entries import key_of, sealed, unsealed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mcpg.caches import SearchCache
    from mcpg.embeddings import EmbeddingProvider
    from mcpg.llm.normalizer import Normalizer

_NUMBER, _NUMBER_SIZE = "<f4", 4


def remembered_vector(
    cache: SearchCache | None, provider: EmbeddingProvider, text: str
) -> NDArray[np.float32]:
    """Give the vector of the question *text*, of length one, as `embed_query` does.

    Args:
        cache: Where vectors are kept, `None` for nowhere; it must not raise.
        provider: Who makes them.
        text: The question.

    Raises:
        EmbeddingError: The provider failed.
    """
    if cache is None:
        return embed_query(provider, text)
    key = key_of(VECTOR, provider.fingerprint, text)
    found = _vector(unsealed(cache.get(VECTOR, key), key), provider)
    if found is not None:
        return found
    made = embed_query(provider, text)
    cache.put(VECTOR, key, sealed(made.astype(_NUMBER).tobytes(), key))
    return made


def remembered_rewrite(cache: SearchCache | None, normalizer: Normalizer, query: str) -> str:
    """Give what *normalizer* makes of *query*, unchecked, as its `rewrite` does.

    Args:
        cache: Where rewrites are kept, `None` for nowhere; it must not raise.
        normalizer: Who makes them; what it raises is raised.
        query: The query.
    """
    if cache is None:
        return normalizer.rewrite(query)
    key = key_of(QUERY, normalizer.fingerprint, query)
    found = unsealed(cache.get(QUERY, key), key)
    with suppress(UnicodeDecodeError):
        if found is not None:
            return found.decode("utf-8", "surrogatepass")
    made = normalizer.rewrite(query)
    if made.strip():
        cache.put(QUERY, key, sealed(made.encode("utf-8", "surrogatepass"), key))
    return made


def _vector(data: bytes | None, provider: EmbeddingProvider) -> NDArray[np.float32] | None:
    import numpy as np  # noqa: PLC0415 - most searches need no vectors

    if not data or len(data) % _NUMBER_SIZE:
        return None
    row = np.frombuffer(data, dtype=_NUMBER).astype(np.float32)
    try:
        checked_rows(provider, row[None], 1)
    except EmbeddingError:
        return None
    return row
