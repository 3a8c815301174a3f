"""The protocol of embedding stores, and one in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from mcpg.errors import McpgError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EmbeddingKey", "EmbeddingStore", "MemoryStore", "StoreError"]


@dataclass(frozen=True, slots=True)
class EmbeddingKey:
    """Under what the vector of a tool is kept.

    Attributes:
        tool_id: The tool; upper and lower case are the same.
        document_hash: The hash of the text that was embedded, so that no vector outlives its text.
        fingerprint: Who made the vector. A lookup that names it is never answered by the vector
            of another; a lookup without it, by the one that was written last.
    """

    tool_id: str
    document_hash: str
    fingerprint: str | None = None


class StoreError(McpgError):
    """An embedding store cannot be opened, read or written."""


@runtime_checkable
class EmbeddingStore(Protocol):
    """Keeps the vectors of tools between builds.

    Several threads may use a store at once. What goes in and out is copied, so that nobody can
    change what is kept by changing an array.
    """

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, NDArray[np.float32]]:
        """Return the vectors of *keys* that are there.

        Raises:
            StoreError: The store cannot be read.
        """

    def put(self, entries: Mapping[EmbeddingKey, NDArray[np.float32]]) -> None:
        """Keep *entries*, all or none; each key names its fingerprint.

        Raises:
            StoreError: The store cannot be written, a key names no fingerprint, or a vector is
                not one row of finite numbers.
        """

    def close(self) -> None:
        """Release what the store holds open; closing twice does no harm."""


def key_parts(key: EmbeddingKey) -> tuple[str, str, str | None]:
    """Return tool id, document hash and fingerprint of *key* as they are compared.

    The id is in lower case, and what no database takes in a text (halves of surrogate pairs, NUL)
    is written as an escape.
    """
    maker = None if key.fingerprint is None else _storable(key.fingerprint)
    return _storable(key.tool_id.lower()), _storable(key.document_hash), maker


def written_parts(key: EmbeddingKey) -> tuple[str, str, str]:
    """Return the parts of *key* for writing.

    Raises:
        StoreError: It names no fingerprint.
    """
    tool_id, document_hash, maker = key_parts(key)
    if maker is None:
        raise StoreError(
            f"the vector of {tool_id!r} was given without a provider fingerprint",
            remedy="name the fingerprint of the provider in the key",
        )
    return tool_id, document_hash, maker


def own_copy(key: EmbeddingKey, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a copy of *vector* for keeping, shape `(dimensions,)`, contiguous.

    Raises:
        StoreError: It is not a vector of finite numbers.
    """
    import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

    try:
        with np.errstate(over="ignore"):
            copy = np.array(vector, dtype=np.float32, order="C")
    except (TypeError, ValueError):
        copy = np.zeros(0, dtype=np.float32)
    if copy.ndim != 1 or not copy.size or not np.isfinite(copy).all():
        raise StoreError(
            f"the value for {key_parts(key)[0]!r} is not a vector of finite numbers",
            remedy="store vectors that embed_texts has checked",
        )
    return copy


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


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
                self._kept[place] = vector
                self._kept.move_to_end(place)
                makers = self._makers.setdefault(place[:2], {})
                makers.pop(place[2], None)
                makers[place[2]] = None
            while len(self._kept) > self._limit:
                self._drop_oldest()

    def close(self) -> None:
        """Do nothing: memory is given back with the store."""

    def _find(self, key: EmbeddingKey) -> NDArray[np.float32] | None:
        tool_id, document_hash, maker = key_parts(key)
        if maker is None:
            maker = next(reversed(self._makers.get((tool_id, document_hash), {})), None)
        return None if maker is None else self._kept.get((tool_id, document_hash, maker))

    def _drop_oldest(self) -> None:
        (*document, maker), _ = self._kept.popitem(last=False)
        place = (document[0], document[1])
        makers = self._makers[place]
        del makers[maker]
        if not makers:
            del self._makers[place]
