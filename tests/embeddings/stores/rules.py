"""The rules that every embedding store keeps.

A test module of a store has a fixture `store` and imports every function named in `__all__`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mcpg.embeddings.provider import EmbeddingKey, EmbeddingStore, StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def key(tool: str = "shipment_track", text: str = "h1", maker: str | None = "m1") -> EmbeddingKey:
    """Make a key."""
    return EmbeddingKey(tool, text, maker)


def row(*numbers: float) -> NDArray[np.float32]:
    """Make a vector."""
    return np.array(numbers, dtype=np.float32)


def one(store: EmbeddingStore, asked: EmbeddingKey) -> list[float] | None:
    """Return the vector of one key."""
    found = store.get([asked]).get(asked)
    return None if found is None else found.tolist()


def test_what_was_put_is_there(store: EmbeddingStore) -> None:
    """Vectors come back bit for bit, as 32-bit floats, under the keys that were asked."""
    numbers = row(0.1, -2.5e-30, 3e30)
    store.put({key(): numbers, key("other"): row(1)})

    found = store.get([key(), key("absent"), key("other")])

    assert list(found) == [key(), key("other")]
    assert found[key()].dtype == np.float32
    assert np.array_equal(found[key()], numbers)


def test_nothing_asked_nothing_found(store: EmbeddingStore) -> None:
    """Empty batches are as good as others."""
    store.put({})
    assert store.get([]) == {}
    assert store.get([key()]) == {}


def test_another_text_is_another_vector(store: EmbeddingStore) -> None:
    """A vector is never given for a text that it was not made of."""
    store.put({key(): row(1)})
    assert one(store, key(text="h2")) is None
    assert one(store, key(text="h2", maker=None)) is None


def test_another_maker_is_never_given(store: EmbeddingStore) -> None:
    """A lookup that names a fingerprint never gets the vector of another."""
    store.put({key(maker="m1"): row(1)})
    assert one(store, key(maker="m2")) is None
    assert one(store, key(maker="")) is None


def test_the_latest_wins_when_no_maker_is_asked(store: EmbeddingStore) -> None:
    """Without a fingerprint, the vector that was written last is given."""
    store.put({key(maker="m1"): row(1)})
    store.put({key(maker="m2"): row(2)})
    assert one(store, key(maker=None)) == [2]

    store.put({key(maker="m1"): row(3)})
    assert one(store, key(maker=None)) == [3]
    assert one(store, key(maker="m2")) == [2]


def test_the_latest_of_one_batch_is_its_last(store: EmbeddingStore) -> None:
    """Within a batch the order of the mapping counts."""
    store.put({key(maker="m2"): row(2), key(maker="m1"): row(1)})
    assert one(store, key(maker=None)) == [1]


def test_a_vector_is_replaced(store: EmbeddingStore) -> None:
    """A second vector under the same key takes the place of the first, of whatever length."""
    store.put({key(): row(1, 2)})
    store.put({key(): row(3)})
    assert one(store, key()) == [3]


def test_ids_differ_by_more_than_case(store: EmbeddingStore) -> None:
    """The case of a tool id does not matter; that of hash and fingerprint does."""
    store.put({key("Shop:Track"): row(1)})
    assert one(store, key("shop:track")) == [1]
    assert one(store, key("shop:track", maker="M1")) is None
    assert one(store, key("shop:track", text="H1")) is None


def test_callers_hold_copies(store: EmbeddingStore) -> None:
    """Changing an array that was put, or that was got, changes nothing in the store."""
    given = row(1, 2)
    store.put({key(): given})
    given[0] = 9
    got = store.get([key()])[key()]
    got[1] = 9
    assert one(store, key()) == [1, 2]


def test_two_keys_of_one_vector_hold_two_copies(store: EmbeddingStore) -> None:
    """A lookup with and one without fingerprint in one batch share no memory."""
    store.put({key(): row(1, 2)})
    found = store.get([key(), key(maker=None)])
    found[key()][0] = 9
    assert found[key(maker=None)].tolist() == [1, 2]


def test_views_are_stored_as_they_read(store: EmbeddingStore) -> None:
    """A column or every second number of an array is stored, and not what lies between."""
    table = np.arange(8, dtype=np.float64).reshape(4, 2)
    store.put({key(): table[:, 1]})  # type: ignore[dict-item]
    assert one(store, key()) == [1, 3, 5, 7]


def test_a_vector_needs_a_maker(store: EmbeddingStore) -> None:
    """A key without fingerprint is for looking up; nothing of such a batch is kept."""
    with pytest.raises(StoreError, match="fingerprint"):
        store.put({key("good"): row(1), key(maker=None): row(1)})
    assert one(store, key("good")) is None


@pytest.mark.parametrize(
    "bad",
    [row(), row(float("nan")), row(float("inf"), 1), np.ones((2, 2)), np.float32(1), "text", None],
)
def test_what_is_no_vector_is_not_kept(store: EmbeddingStore, bad: NDArray[np.float32]) -> None:
    """Nothing of a batch with an array that is no finite vector is kept."""
    with pytest.raises(StoreError, match="not a vector"):
        store.put({key("good"): row(1), key("bad"): bad})
    assert one(store, key("good")) is None


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "naïve 😀", "x' OR 1=1 --", "%_", ""])
def test_names_of_strangers_are_names(store: EmbeddingStore, name: str) -> None:
    """Whatever a name holds, it is found under that name and no other."""
    made = EmbeddingKey(name, name, name)
    store.put({made: row(1)})
    assert one(store, made) == [1]
    assert one(store, EmbeddingKey(name, name)) == [1]
    assert one(store, EmbeddingKey(name + "x", name, name)) is None


def test_large_batches_are_one_call(store: EmbeddingStore) -> None:
    """A batch may be larger than what a database takes in one statement."""
    keys = [key(f"tool{number}") for number in range(3000)]
    store.put({made: row(number + 1, 1) for number, made in enumerate(keys)})

    found = store.get([*keys, *(EmbeddingKey(made.tool_id, "h1") for made in keys)])

    assert len(found) == 6000
    assert [found[made][0] for made in keys] == list(range(1, 3001))


def test_threads_share_a_store(store: EmbeddingStore) -> None:
    """Several threads may write and read one store at once, and nothing is lost."""
    faults: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(20):
                store.put({key(f"{name}{number}"): row(number, 1)})
                assert one(store, key(f"{name}{number}")) == [number, 1]
        except BaseException as fault:  # noqa: BLE001 - told by the test
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert faults == []
    assert len(store.get([key(f"{name}{number}") for name in "abcd" for number in range(20)])) == 80


def test_closing_twice_does_no_harm(store: EmbeddingStore) -> None:
    """A store may be closed again."""
    store.close()
    store.close()


def test_it_is_a_store(store: EmbeddingStore) -> None:
    """It has what the protocol asks for."""
    assert isinstance(store, EmbeddingStore)


__all__ = [name for name in dir() if name.startswith("test_")]
