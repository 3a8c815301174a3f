from __future__ import annotations

import threading

import psycopg
import pytest

from mcpg.embeddings.provider import StoreError
from mcpg.postgres import Database, PostgresError, PostgresSettings, PostgresStore, building


def test_one_builds_at_a_time(postgres: str) -> None:
    """Whoever comes second waits, as long as it likes; other things are built meanwhile."""
    with Database(postgres) as one, Database(postgres) as other, building(one, "a") as turn:
        assert turn
        with building(other, "a", wait=0.05) as second:
            assert not second
        with building(other, "b", wait=0.05) as third:
            assert third


def test_the_next_goes_on_when_the_first_is_done(postgres: str) -> None:
    """The lock is free once the builder has done, or failed."""
    with Database(postgres) as database:
        with pytest.raises(ValueError, match="broken"), building(database, "a"):
            raise ValueError("broken")
        order = []
        with building(database, "a"):

            def follow() -> None:
                with building(database, "a", wait=60) as turn:
                    order.append(turn)

            waiting = threading.Thread(target=follow)
            waiting.start()
            order.append("first")
        waiting.join()
    assert order == ["first", True]


def test_a_lost_builder_holds_nobody_up(postgres: str) -> None:
    """The lock goes with the session of its builder, however that ends."""
    with Database(postgres) as database, building(database, "a"):
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'"
            )
        with building(database, "a", wait=5) as turn:
            assert turn


def test_schemas_do_not_wait_for_each_other(postgres: str) -> None:
    """The same thing in two schemas is two things."""
    one, other = (Database(PostgresSettings(postgres, schema=name)) for name in ("one", "other"))
    with one, other, building(one, "a"), building(other, "a", wait=0.05) as turn:
        assert turn


def test_a_store_has_the_lock_of_its_builders(postgres: str) -> None:
    """Those who make the vectors of one maker take turns."""
    with Database(postgres) as database:
        store = PostgresStore(database)
        with store.building("maker") as turn, store.building("maker", wait=0.05) as second:
            assert (turn, second) == (True, False)


def test_an_absent_database_is_told(tmp_path: object) -> None:
    """Nobody builds under a lock that cannot be had."""
    database = Database(f"host={tmp_path}", sleep=lambda _: None)
    with pytest.raises(PostgresError), building(database, "a"):
        pass
    with pytest.raises(StoreError), PostgresStore(database).building("a"):
        pass
