"""A store of vectors that is opened when it is first asked."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from mcpg.embeddings.stores.protocol import EmbeddingKey, EmbeddingStore


class LateStore:
    """Stands for a store that most runs never ask, because vectors lie beside the bundle.

    Whatever opening it raises is raised by whoever asks, every time.
    """

    def __init__(self, make: Callable[[], EmbeddingStore]) -> None:
        """Stand for the store that *make* opens."""
        self._make = make
        self._lock = Lock()
        self._made: EmbeddingStore | None = None

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, NDArray[np.float32]]:
        return self._store().get(keys)

    def put(self, entries: Mapping[EmbeddingKey, NDArray[np.float32]]) -> None:
        self._store().put(entries)

    def close(self) -> None:
        """Close the store if it was opened."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()

    def _store(self) -> EmbeddingStore:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made
