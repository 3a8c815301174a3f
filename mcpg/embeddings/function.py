"""A function of the host as an embedding provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class FunctionEmbeddings:
    """Vectors made by a function that the host brings.

    Args:
        function: Takes a list of texts and gives one vector for each: an array, or lists of
            numbers. It may be called from several threads at once when the engine is.
        fingerprint: Who makes the vectors, in one printable line. Change it whenever the function
            makes other vectors than before, for vectors that were kept are found by it.
        queries: The function for questions, where the model treats them unlike documents.
        dimensions: How many numbers a vector has, where that is known beforehand; every answer is
            held to it.
    """

    def __init__(
        self,
        function: Callable[[list[str]], ArrayLike],
        fingerprint: str,
        *,
        queries: Callable[[list[str]], ArrayLike] | None = None,
        dimensions: int | None = None,
    ) -> None:
        self._function = function
        self._queries = queries or function
        self._fingerprint = fingerprint
        self._dimensions = dimensions

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimensions(self) -> int | None:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return _array(self._function(list(texts)))

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return _array(self._queries(list(texts)))

    def __repr__(self) -> str:
        return f"FunctionEmbeddings({self._fingerprint!r})"


def _array(answer: ArrayLike) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

    with np.errstate(over="ignore"):  # an infinite number is found when the answer is checked
        return np.asarray(answer, dtype=np.float32)
