from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mcpg.embeddings import (
    EmbeddingError,
    EmbeddingProvider,
    LoadedModel,
    NamedEmbeddings,
    embed_query,
    embed_texts,
    make_provider,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FASTEMBED = """
class TextEmbedding:
    def __init__(self, model_name, threads, providers):
        assert (threads, providers) == (1, ["CPUExecutionProvider"])
        if model_name == "maker/offline":
            raise ValueError("no network at https://user:secret@host")
    @staticmethod
    def list_supported_models():
        return [{"model": "Maker/Small", "dim": 3}, {"model": "maker/offline", "dim": 3}]
    def passage_embed(self, texts):
        yield from ([1.0, 0.0, len(text)] for text in texts)
    def query_embed(self, texts):
        yield from ([0.0, 1.0, len(text)] for text in texts)
"""
SENTENCE_TRANSFORMERS = """
import numpy
class SentenceTransformer:
    def __init__(self, name):
        self.name = name
    def encode(self, texts, show_progress_bar, convert_to_numpy):
        assert (show_progress_bar, convert_to_numpy) == (False, True)
        return numpy.ones((len(texts), 2), dtype=numpy.float32)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install small packages that have the faces of the two, which need a network to be of use."""
    for name, code in [
        ("fastembed", FASTEMBED),
        ("sentence_transformers", SENTENCE_TRANSFORMERS),
    ]:
        (tmp_path / f"{name}.py").write_text(code)
        info = tmp_path / f"{name}-9.8.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.8\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    kept = {name: sys.modules.pop(name, None) for name in ("fastembed", "sentence_transformers")}
    yield
    for name, module in kept.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.mark.usefixtures("packages")
def test_fastembed_is_asked_for_documents_and_for_questions() -> None:
    """A model of fastembed treats questions as its makers want, and says its dimensions."""
    provider = make_provider("fastembed:maker/small")
    assert provider.dimensions is None
    assert embed_texts(provider, ["ab", "c"]).argmax(axis=1).tolist() == [2, 0]
    assert embed_query(provider, "")[1] == 1
    assert provider.dimensions == 3
    assert provider.fingerprint == "fastembed:maker/small with fastembed 9.8"


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("record", "told"), [("fastembed.py,,\n", "fastembed-gpu 9.9"), ("other.py,,\n", "fastembed")]
)
def test_a_package_may_come_from_another_distribution(
    tmp_path: Path, record: str, told: str
) -> None:
    """Who has fastembed from `fastembed-gpu`, or from no distribution at all, gets its models."""
    info = tmp_path / "fastembed-9.8.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fastembed-gpu\nVersion: 9.9\n")
    (info / "RECORD").write_text(record)
    info.rename(tmp_path / "fastembed_gpu-9.9.dist-info")
    provider = make_provider("fastembed:maker/small")
    assert provider.fingerprint == f"fastembed:maker/small with {told}"
    assert embed_query(provider, "")[1] == 1


@pytest.mark.usefixtures("packages")
def test_a_model_that_fastembed_does_not_know() -> None:
    """A slip in the name of a model is told before anything is downloaded."""
    with pytest.raises(EmbeddingError, match="did you mean Maker/Small") as caught:
        embed_query(make_provider("fastembed:maker/smal"), "a")
    assert caught.value.kind == "missing"
    with pytest.raises(EmbeddingError, match="choose a listed model"):
        embed_query(make_provider("fastembed:???"), "a")


@pytest.mark.usefixtures("packages")
def test_a_model_that_cannot_be_loaded() -> None:
    """What the other package says of its failure may hold secrets, and stays out."""
    with pytest.raises(EmbeddingError, match="can be downloaded") as caught:
        embed_query(make_provider("fastembed:maker/offline"), "a")
    assert caught.value.kind == "failed"
    assert "secret" not in str(caught.value)


@pytest.mark.usefixtures("packages")
def test_sentence_transformers_of_old_know_no_questions() -> None:
    """A version without ways of its own for questions embeds them as other texts."""
    provider = make_provider("sentence-transformers:small")
    assert embed_texts(provider, ["a", "b"]).shape == (2, 2)
    assert embed_query(provider, "a").shape == (2,)
    assert provider.fingerprint == ("sentence-transformers:small with sentence-transformers 9.8")
    assert isinstance(provider, EmbeddingProvider)
    assert repr(provider) == "NamedEmbeddings('sentence-transformers', 'small')"


@pytest.mark.usefixtures("packages")
def test_a_folder_is_known_by_what_lies_in_it(tmp_path: Path) -> None:
    """Copies of one model have one fingerprint; other weights have another; no path is told."""
    names = []
    for place, weights in [("a", b"1"), ("b", b"1"), ("c", b"2")]:
        folder = tmp_path / place / "model"
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "weights").write_bytes(weights)
        names.append(make_provider(f"sentence-transformers:{folder}").fingerprint)

    assert names[0] == names[1] != names[2]
    assert names[0].startswith("sentence-transformers:model (")
    assert str(tmp_path) not in names[0]


@pytest.mark.usefixtures("packages")
def test_a_fingerprint_is_one_printable_line() -> None:
    """Whatever a model is called, its fingerprint can be shown."""
    assert make_provider("fastembed:a\n\x1b[31mé").fingerprint.isprintable()


def test_a_missing_package_is_told_with_the_command() -> None:
    """Without the package the error says what to install."""
    with pytest.raises(EmbeddingError, match="pip install no-such-package") as caught:
        NamedEmbeddings("no-such-package", "x", lambda _: LoadedModel(list, list, None))  # type: ignore[arg-type]
    assert caught.value.kind == "missing"


def test_a_failed_load_is_tried_again() -> None:
    """A model that could not be had once, for want of a network, is asked for anew."""
    answers = iter([OSError("no network"), None])

    def load(_: str) -> LoadedModel:
        fault = next(answers)
        if fault:
            raise fault
        return LoadedModel(lambda texts: np.ones((len(texts), 1)), list, 1)  # type: ignore[arg-type]

    provider = NamedEmbeddings("hypothesis", "x", load)  # a package that is there
    with pytest.raises(EmbeddingError):
        provider.embed(["a"])
    assert provider.embed(["a"]).shape == (1, 1)
