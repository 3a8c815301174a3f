from __future__ import annotations

import pytest
from embeddings.stores.rules import *  # noqa: F403
from embeddings.stores.rules import key, one, row

from mcpg.embeddings.provider import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    """Return a store to which the rules of all stores apply."""
    return MemoryStore()


def test_the_oldest_makes_room() -> None:
    """A full store drops what was written longest ago; writing again makes a vector new."""
    store = MemoryStore(limit=2)
    store.put({key("a"): row(1), key("b"): row(2)})
    store.put({key("a"): row(3)})
    store.put({key("c"): row(4)})

    assert len(store) == 2
    assert one(store, key("b")) is None
    assert one(store, key("a")) == [3]
    assert one(store, key("c")) == [4]


def test_the_latest_that_is_left_is_given() -> None:
    """When the vector of one maker was dropped, that of the other is found without a maker."""
    store = MemoryStore(limit=1)
    store.put({key(maker="m1"): row(1)})
    store.put({key(maker="m2"): row(2)})

    assert one(store, key(maker=None)) == [2]
    assert one(store, key(maker="m1")) is None
