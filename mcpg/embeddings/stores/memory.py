"""An embedding store in the memory of this process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from mcpg.embeddings.stores.protocol import key_parts, own_copy, written_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from mcpg.embeddings.stores.protocol import EmbeddingKey

MOST_KEPT = 8192
"""Vectors that a store in memory keeps unless told otherwise."""


class MemoryStore:
    """Keeps vectors as long as the process lives, at most *limit* of them.

    When it is full, the vector that was written longest ago makes room.
    """

    def __init__(self, limit: int = MOST_KEPT) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[str, str, str], NDArray[np.float32]] = OrderedDict()
        # The makers of each document's vectors, the last to write last.
        self._makers: dict[tuple[str, str], dict[str, None]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, NDArray[np.float32]]:
        with self._lock:
            found = {key: self._find(key) for key in keys}
        return {key: vector.copy() for key, vector in found.items() if vector is not None}

    def put(self, entries: Mapping[EmbeddingKey, NDArray[np.float32]]) -> None:
        copies = [(written_parts(key), own_copy(key, row)) for key, row in entries.items()]
        with self._lock:
            for place, vector in copies:
                self._keep(place, vector)
            while len(self._kept) > self._limit:
                self._drop_oldest()

    def close(self) -> None:
        """Do nothing: memory is given back with the store."""

    def _find(self, key: EmbeddingKey) -> NDArray[np.float32] | None:
        tool_id, document_hash, maker = key_parts(key)
        if maker is None:
            maker = next(reversed(self._makers.get((tool_id, document_hash), {})), None)
        return None if maker is None else self._kept.get((tool_id, document_hash, maker))

    def _keep(self, place: tuple[str, str, str], vector: NDArray[np.float32]) -> None:
        self._kept[place] = vector
        self._kept.move_to_end(place)
        makers = self._makers.setdefault(place[:2], {})
        makers.pop(place[2], None)
        makers[place[2]] = None

    def _drop_oldest(self) -> None:
        (*document, maker), _ = self._kept.popitem(last=False)
        place = (document[0], document[1])
        makers = self._makers[place]
        del makers[maker]
        if not makers:
            del self._makers[place]
