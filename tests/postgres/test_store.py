from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from embeddings.stores.rules import *  # noqa: F403
from embeddings.stores.rules import key, one, row

from mcpg.embeddings.provider import EmbeddingKey, StoreError
from mcpg.postgres import Database, PostgresStore

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent
ROUNDS = 20


@pytest.fixture
def store(postgres: str) -> Iterator[PostgresStore]:
    """Return a store to which the rules of all stores apply."""
    with Database(postgres) as database:
        yield PostgresStore(database)


def test_replicas_share_a_store(postgres: str) -> None:
    """What one process keeps another finds."""
    with Database(postgres) as first, Database(postgres) as second:
        PostgresStore(first).put({key(): row(1, 2)})
        assert one(PostgresStore(second), key()) == [1, 2]


def test_names_may_be_long(store: PostgresStore) -> None:
    """A name may be longer than what an index of PostgreSQL holds."""
    name = "".join(chr(0x4E00 + number) for number in range(9000))
    store.put({EmbeddingKey(name, name, name): row(1)})
    assert one(store, EmbeddingKey(name, name)) == [1]


def test_parts_do_not_run_together(store: PostgresStore) -> None:
    """Keys whose parts make the same text when joined are different keys."""
    store.put({EmbeddingKey("a", "bc", "d"): row(1), EmbeddingKey("ab", "c", "d"): row(2)})
    assert one(store, EmbeddingKey("a", "bc")) == [1]
    assert one(store, EmbeddingKey("ab", "c")) == [2]


def test_a_vector_may_be_too_long(store: PostgresStore) -> None:
    """What pgvector cannot keep is refused with the limit, and nothing of the batch is kept."""
    with pytest.raises(StoreError, match="16001 dimensions"):
        store.put({key("good"): row(1), key(): np.ones(16_001, dtype=np.float32)})
    assert one(store, key("good")) is None


def test_an_absent_database_is_an_error_of_the_store(tmp_path: Path) -> None:
    """Whoever survives errors of a store survives those of this one."""
    store = PostgresStore(Database(f"host={tmp_path}", sleep=lambda _: None))
    with pytest.raises(StoreError, match="connection"):
        store.get([key()])
    with pytest.raises(StoreError, match="connection"):
        store.put({key(): row(1)})


def test_each_text_is_embedded_once(postgres: str, tmp_path: Path) -> None:
    """Processes that start together over one store embed every text once among them."""
    calls = tmp_path / "calls"
    code = [sys.executable, str(FOLDER / "builder.py"), postgres, str(calls)]
    builders = [subprocess.Popen(code) for _ in range(3)]
    assert [builder.wait(60) for builder in builders] == [0, 0, 0]
    embedded = calls.read_text(encoding="utf-8").splitlines()
    assert len(embedded) == len(set(embedded)) == 40


@pytest.mark.skipif(sys.platform == "win32", reason="Windows starts processes too slowly")
def test_a_killed_writer_loses_and_tears_nothing(postgres: str) -> None:
    """Of two writers one is killed, over and over: all that was confirmed is there, and whole."""
    code = [sys.executable, str(FOLDER / "killing.py"), postgres, str(ROUNDS)]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rounds, confirmed = map(int, done.stdout.split())
    assert rounds == ROUNDS
    assert confirmed > ROUNDS
