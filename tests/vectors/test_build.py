from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from builders import make_tool
from loopback import Conversation, serving
from vectorial import FailingProvider, HashProvider, document_of, documents

from mcpg.embeddings.http import HttpEmbeddings
from mcpg.embeddings.provider import EmbeddingError, EmbeddingKey, MemoryStore, StoreError
from mcpg.vectors.build import BATCH, WEIGHTS, embedding_texts, vectors_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcpg.vectors.matrix import ToolVectors

FAILED = EmbeddingError("the server is gone", kind="failed", place="test")


class Left:
    """Vectors of an earlier run."""

    def __init__(self, hashes: Sequence[str], vectors: ToolVectors) -> None:
        self.fingerprint = vectors.fingerprint
        rows = ((key, vectors.vector(number)) for number, key in enumerate(hashes))
        self.rows = {key: row for key, row in rows if row is not None}

    def find(self, document_hash: str) -> np.ndarray | None:
        """Look the hash up."""
        return self.rows.get(document_hash)


class BrokenStore(MemoryStore):
    """Fails at what it is told to."""

    def __init__(self, *, reads: bool = True, writes: bool = True) -> None:
        super().__init__()
        self.reads, self.writes, self.puts = reads, writes, 0

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, np.ndarray]:
        """Look up, or fail."""
        if not self.reads:
            raise StoreError("the disk is gone", place="there")
        return super().get(keys)

    def put(self, entries: Mapping[EmbeddingKey, np.ndarray]) -> None:
        """Keep, or fail."""
        self.puts += 1
        if not self.writes:
            raise StoreError("the disk is full", place="there")
        super().put(entries)


def codes(built: object) -> list[str]:
    """Name the diagnostics."""
    return [one.code for one in built.diagnostics]


def test_every_tool_has_the_mean_of_its_texts(provider: HashProvider) -> None:
    """Tools stand in order of their ids, whatever the order of documents."""
    given = documents(BATCH + 6)
    told: list[tuple[int, int]] = []
    built = vectors_for(given[::-1], provider, on_progress=lambda *step: told.append(step))
    assert (built.embedded, built.reused, built.diagnostics) == (70, 0, ())
    assert built.vectors.fingerprint == provider.fingerprint
    assert provider.batches == [3 * 64, 3 * 6]
    assert told == [(64, 70), (70, 70)]
    for number, document in enumerate(given):
        rows = np.stack([provider.vector(text) for text in embedding_texts(document)])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        mean = np.array(WEIGHTS) @ rows
        expected = mean / np.linalg.norm(mean)
        assert np.allclose(built.vectors.vector(number), expected, atol=1e-6)


def test_a_text_is_embedded_once(provider: HashProvider) -> None:
    """Tools that read the same share a vector."""
    same = [document_of(make_tool("get", id=f"{n}:get")) for n in range(3)]
    built = vectors_for([*same, *documents(1)], provider)
    assert (built.embedded, built.reused, len(built.vectors)) == (2, 0, 4)
    assert built.vectors.missing == 0


class OpposedProvider(HashProvider):
    """Gives whole text, names and description directions whose weighted mean is nothing."""

    def vector(self, text: str) -> np.ndarray:
        """Return a row of two numbers."""
        if "\n" in text:
            return np.array([1.0, 0.0])
        slope = 0.234375**0.5
        return np.array([-0.25, -2 * slope] if text == "Does it." else [-0.875, slope])


def test_vectors_against_each_other_leave_that_of_the_whole() -> None:
    """Where a mean has no direction, the vector of the whole text is the tool's."""
    tool = make_tool("tool_1", description="Does it.", keywords=["one"])
    built = vectors_for([document_of(tool)], OpposedProvider(dimensions=2))
    assert built.vectors.vector(0).tolist() == [1, 0]


def test_nothing_is_embedded_without_documents(provider: HashProvider) -> None:
    """An empty catalogue asks nobody."""
    built = vectors_for([], provider, store=MemoryStore())
    assert (len(built.vectors), built.embedded, provider.batches) == (0, 0, [])


def test_only_what_changed_is_embedded(provider: HashProvider) -> None:
    """What an earlier run left, or the store holds, is taken from there."""
    first = vectors_for(documents(5), provider)
    left = Left(first.hashes, first.vectors)
    for has_store, has_left in ((True, False), (False, True), (True, True)):
        store = MemoryStore()
        if has_store:
            vectors_for(documents(5), provider, store=store)
        kept = {"store": store, "known": left if has_left else None}
        provider.asked.clear()
        again = vectors_for(documents(6), provider, **kept)
        assert (again.embedded, again.reused) == (1, 5)
        assert provider.asked == list(embedding_texts(documents(6)[5]))
        assert again.vectors.stored.rows[:5].tobytes() == first.vectors.stored.rows.tobytes()


def test_vectors_of_another_maker_do_not_count(provider: HashProvider) -> None:
    """Vectors are comparable only with those of the same fingerprint."""
    store = MemoryStore()
    first = vectors_for(documents(3), HashProvider(name="other"), store=store)
    again = vectors_for(
        documents(3), provider, store=store, known=Left(first.hashes, first.vectors)
    )
    assert (again.embedded, again.reused) == (3, 0)


@pytest.mark.parametrize(
    "row", [np.zeros(8), np.full(8, np.nan), np.ones(4) / 2, np.ones((2, 2)) / 2, np.full(8, 3.0)]
)
def test_kept_vectors_are_not_trusted(provider: HashProvider, row: np.ndarray) -> None:
    """A kept vector that cannot be the provider's is made anew."""
    first = vectors_for(documents(2), provider)
    left = Left(first.hashes, first.vectors)
    left.rows[first.hashes[0]] = row.astype(np.float32)
    again = vectors_for(documents(2), provider, known=left)
    assert (again.embedded, again.reused) == (1, 1)


def test_an_interruption_costs_one_batch(provider: HashProvider) -> None:
    """The next run embeds only what the interrupted one had not put into the store."""
    store, count = MemoryStore(), 4 * BATCH + 10
    with pytest.raises(KeyboardInterrupt):
        vectors_for(documents(count), FailingProvider(KeyboardInterrupt(), 2), store=store)
    built = vectors_for(documents(count), provider, store=store)
    assert (built.embedded, built.reused) == (count - 2 * BATCH, 2 * BATCH)
    assert not built.diagnostics


def test_a_failure_leaves_what_was_made() -> None:
    """Tools after the failure have no vector, the others theirs; it is told once."""
    failing, store = FailingProvider(FAILED, 1), MemoryStore()
    built = vectors_for(documents(3 * BATCH), failing, store=store)
    assert (built.embedded, built.vectors.missing) == (BATCH, 2 * BATCH)
    assert built.vectors.nearest(built.vectors.vector(3), 1)[0][0] == 3
    (told,) = built.diagnostics
    assert (told.code, told.severity, told.place) == ("embedding_failed", "warning", "test")
    assert told.message == "128 of 192 tools have no vector: the server is gone"
    assert len(store) == BATCH


class PickyProvider(HashProvider):
    """Has no vector for some texts."""

    def vector(self, text: str) -> np.ndarray:
        """Return a row, of zeros for one text."""
        return super().vector(text) * ("00003" not in text)


def test_a_text_without_a_vector_takes_no_other_along() -> None:
    """One tool that cannot be embedded does not cost the batch."""
    built = vectors_for(documents(BATCH + 2), PickyProvider())
    assert (built.embedded, built.vectors.missing) == (BATCH + 1, 1)
    assert built.vectors.vector(3) is None
    assert codes(built) == ["embedding_failed"]


class LyingProvider(HashProvider):
    """Returns one vector too few, for batches or for everything."""

    def __init__(self, *, always: bool) -> None:
        super().__init__()
        self.always = always

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Give rows."""
        return super().embed(texts)[: None if len(texts) == 1 and not self.always else -1]


def test_a_wrong_count_is_told_as_such() -> None:
    """Nobody knows then which vector is whose; text by text one does."""
    built = vectors_for(documents(3), LyingProvider(always=False))
    assert (built.embedded, built.vectors.missing, built.diagnostics) == (3, 0, ())
    lying = LyingProvider(always=True)
    built = vectors_for(documents(3 * BATCH), lying)
    assert (built.embedded, built.vectors.missing) == (0, 3 * BATCH)
    assert codes(built) == ["embedding_count_mismatch"]
    assert lying.batches == [3 * BATCH, 1]


class DyingProvider(HashProvider):
    """Has no vector for the first text of a batch, then dies."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Give rows."""
        if len(self.batches) == len((9, 4, 2)) + 2 * len(WEIGHTS):
            raise OSError("cut off")
        rows = super().embed(texts)
        return rows * 0 if len(texts) > 1 else rows


def test_a_provider_that_dies_text_by_text_is_let_go() -> None:
    """What was made one by one until then stays."""
    built = vectors_for(documents(9), DyingProvider())
    assert (built.embedded, built.vectors.missing) == (2, 7)
    assert codes(built) == ["embedding_failed"]
    assert built.outage is not None


class RefusingProvider(HashProvider):
    """Refuses whatever holds a text that it does not like, and says so by an error."""

    def __init__(self, refused: Sequence[str]) -> None:
        super().__init__()
        self.refused = refused

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return rows."""
        rows = super().embed(texts)
        if any(word in text for word in self.refused for text in texts):
            raise ValueError("content policy")
        return rows


@pytest.mark.parametrize(
    "refused", [("00003",), ("00000", "00001", "00002", "00063", "00064", "00199"), ("tool_0000",)]
)
def test_a_refused_text_takes_no_other_along(refused: tuple[str, ...]) -> None:
    """An error about some texts costs their tools the vector, and no other tool of any batch."""
    picky = RefusingProvider(refused)
    built = vectors_for(documents(200), picky)
    lost = [one.tool.id for one in documents(200) if any(word in one.tool.id for word in refused)]
    assert built.vectors.missing == len(lost)
    assert built.embedded == 200 - len(lost)
    assert (codes(built), built.outage) == (["embedding_failed"], None)


def test_a_text_that_an_endpoint_refuses_takes_no_other_along() -> None:
    """The same holds where the error is an answer over HTTP."""

    def some(conversation: Conversation) -> None:
        texts = conversation.asked.body["input"]
        if any("00003" in text for text in texts):
            conversation.send({"error": {"message": "content policy"}}, 400)
        else:
            conversation.send({"data": [{"embedding": [1.0, len(text)]} for text in texts]})

    with serving(some) as server:
        built = vectors_for(documents(BATCH + 6), HttpEmbeddings(server.url, "model"))
    assert (built.vectors.missing, built.vectors.vector(3), built.outage) == (1, None, None)
    assert "content policy" in built.diagnostics[0].message


def test_a_whole_batch_that_is_refused_takes_no_other_along() -> None:
    """The provider is there, as a harmless text shows, so that the batches after it are tried."""
    refused = [f"{number:05}" for number in range(BATCH)]
    built = vectors_for(documents(3 * BATCH), RefusingProvider(refused))
    assert (built.embedded, built.vectors.missing) == (2 * BATCH, BATCH)


def test_an_outage_is_seen_by_two_requests() -> None:
    """A provider that is gone is not asked for every text by itself."""
    gone = FailingProvider(OSError())
    calls: list[int] = []
    fail = gone.embed

    def counted(texts: Sequence[str]) -> np.ndarray:
        calls.append(len(texts))
        return fail(texts)

    gone.embed = counted
    built = vectors_for(documents(200), gone)
    assert built.outage is not None
    assert len(calls) == 2


def test_a_whole_batch_of_zeros_takes_no_other_along() -> None:
    """A model that knows no word of the first tools may know those of the others."""
    words = HashProvider()
    known = words.vector
    words.vector = lambda text: known(text) * (text == "tool" or any(one in text for one in last))
    last = [f"{number:05}" for number in range(BATCH, BATCH + 6)]
    built = vectors_for(documents(BATCH + 6), words)
    assert built.vectors.present.tolist() == [False] * BATCH + [True] * 6


def test_nothing_but_zeros_is_given_up() -> None:
    """A provider that makes nothing of a whole batch is not asked for the others."""
    zeros = HashProvider()
    zeros.vector = lambda _: np.zeros(8)
    built = vectors_for(documents(3 * BATCH), zeros)
    assert (built.embedded, built.vectors.missing) == (0, 3 * BATCH)
    assert not [text for text in zeros.asked if f"{BATCH:05}" in text]


class GrowingProvider(HashProvider):
    """Does not know its dimensions, and changes them."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Give rows."""
        rows = super().embed(texts)
        self.dimensions = None
        return rows[:, : 8 - len(self.batches)]


def test_dimensions_that_change_are_a_failure() -> None:
    """Vectors of different lengths cannot stand in one index."""
    growing = GrowingProvider()
    growing.dimensions = None
    growing.vector = HashProvider().vector
    built = vectors_for(documents(BATCH + 2), growing)
    assert (built.embedded, built.vectors.missing, built.vectors.dimensions) == (BATCH, 2, 7)
    assert codes(built) == ["embedding_failed"]


class WildStore:
    """Raises what no store should."""

    def __init__(self, fault: Exception) -> None:
        self.fault = fault

    def get(self, _: object) -> object:
        """Fail."""
        raise self.fault

    def put(self, _: object) -> None:
        """Fail."""
        raise self.fault

    def building(self, _: str) -> object:
        """Fail."""
        raise self.fault


class OddStore(MemoryStore):
    """Gives what is no vector."""

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, object]:
        """Return a text."""
        return dict.fromkeys(keys, "secret")


@pytest.mark.parametrize("store", [WildStore(OSError("secret")), WildStore(KeyError()), OddStore()])
def test_a_store_that_raises_anything_is_done_without(
    provider: HashProvider, store: object
) -> None:
    """A store of the host's may fail in any way: every tool has its vector, and it is told."""
    built = vectors_for(documents(3), provider, store=store)
    assert built.vectors.missing == 0
    assert "embedding_store_load_failed" in codes(built)
    assert not any("secret" in one.message for one in built.diagnostics)


@pytest.mark.parametrize("vector", [[0.0] * 8, [math.nan] * 8, [3.0] * 8, [1.0, 0.0], [[1.0] * 8]])
def test_vectors_of_a_store_that_cannot_be_used_are_reported(
    provider: HashProvider, vector: list[Any]
) -> None:
    """A vector from a store that fails a check is made again, with a diagnostic."""

    class Store(MemoryStore):
        def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, Any]:
            """Return one such vector for each key."""
            return dict.fromkeys(keys, np.array(vector, dtype=np.float32))

    built = vectors_for(documents(3), provider, store=Store())
    assert (codes(built), built.vectors.missing) == (["embedding_store_load_failed"], 0)
    assert "3 vectors of the store cannot be used" in built.diagnostics[0].message


def test_a_store_that_fails_is_done_without(provider: HashProvider) -> None:
    """Whatever becomes of the store, every tool has its vector, and it is told once."""
    unreadable, unwritable = BrokenStore(reads=False), BrokenStore(writes=False)
    built = vectors_for(documents(3), provider, store=unreadable)
    assert (codes(built), built.vectors.missing) == (["embedding_store_load_failed"], 0)
    assert (len(unreadable), unreadable.puts) == (3, 1)
    built = vectors_for(documents(3 * BATCH), provider, store=unwritable)
    assert (codes(built), built.vectors.missing) == (["embedding_store_save_failed"], 0)
    assert unwritable.puts == 1
