from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpg.errors import UsageError
from mcpg.postgres import Database, PostgresCache, PostgresError, PostgresSettings
from mcpg.postgres.stores import LARGEST_VALUE
from mcpg.search.caches import KINDS, QUERY, RESULT, SLIDING, VECTOR

# Examples share a database, and each has keys of its own.
SHARED = [HealthCheck.function_scoped_fixture]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock that a test moves."""
    return Clock()


def count(database: Database) -> int:
    """Count the rows, those among them that have expired."""
    found = database.run(lambda one: one.execute("select count(*) from cache").fetchone())
    return found[0] if found else 0


def test_replicas_share_what_is_kept(postgres: str) -> None:
    """What one puts another gets; the same key of two kinds names two entries."""
    with Database(postgres) as one, Database(postgres) as other:
        PostgresCache(one).put(QUERY, "a", b"\0\xff")
        PostgresCache(one).put(RESULT, "a", b"2")
        PostgresCache(one).put(RESULT, "a", b"3")
        cache = PostgresCache(other)
        assert [cache.get(kind, "a") for kind in (QUERY, RESULT, VECTOR)] == [b"\0\xff", b"3", None]
        assert cache.get(QUERY, "b") is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_nobody_uses_is_forgotten(postgres: str, clock: Clock, kind: str) -> None:
    """An entry lives as long as it is used within the time of its kind."""
    with Database(postgres) as database:
        cache = PostgresCache(database, clock=clock)
        cache.put(kind, "a", b"1")
        for _ in range(3):
            clock.now += SLIDING[kind] - 1
            assert cache.get(kind, "a") == b"1"
        clock.now += SLIDING[kind]
        assert cache.get(kind, "a") is None


def test_what_is_used_often_is_forgotten_as_well(postgres: str, clock: Clock) -> None:
    """However often it is used, an entry dies of age; putting it anew makes it young."""
    with Database(postgres) as database:
        cache = PostgresCache(database, absolute=100, sliding=60, clock=clock)
        cache.put(RESULT, "a", b"1")
        clock.now += 50
        assert cache.get(RESULT, "a") == b"1"
        clock.now += 50
        assert cache.get(RESULT, "a") is None
        cache.put(RESULT, "a", b"2")
        clock.now += 50
        assert cache.get(RESULT, "a") == b"2"


def test_what_was_just_used_is_not_written_again(postgres: str, clock: Clock) -> None:
    """Reading the same again and again writes next to nothing."""
    with Database(postgres) as database:
        cache = PostgresCache(database, sliding=160, clock=clock)
        cache.put(RESULT, "a", b"1")
        before = database.run(lambda one: one.execute("select xmin, ctid from cache").fetchall())
        clock.now += 9
        assert cache.get(RESULT, "a") == b"1"
        after = database.run(lambda one: one.execute("select xmin, ctid from cache").fetchall())
        assert before == after
        clock.now += 2
        assert cache.get(RESULT, "a") == b"1"
        later = database.run(lambda one: one.execute("select xmin, ctid from cache").fetchall())
        assert later != before


def test_the_database_tells_the_time(postgres: str) -> None:
    """Without a clock of the caller's, replicas whose clocks differ agree."""
    with Database(postgres) as database:
        cache = PostgresCache(database)
        cache.put(RESULT, "a", b"1")
        assert cache.get(RESULT, "a") == b"1"
        old = "update cache set dies = extract(epoch from clock_timestamp()) - 1"
        database.run(lambda connection: connection.execute(old))
        assert cache.get(RESULT, "a") is None


def test_the_least_recently_used_makes_room(postgres: str, clock: Clock) -> None:
    """Of more than fit, those that were used longest ago go."""
    with Database(postgres) as database:
        cache = PostgresCache(database, 3, clock=clock)
        for name in "abcade":
            clock.now += 30
            cache.put(RESULT, name, name.encode())
        assert [name for name in "abcde" if cache.get(RESULT, name)] == ["a", "d", "e"]
        assert count(database) == 3


def test_what_has_expired_is_swept_away(postgres: str, clock: Clock) -> None:
    """What is too old takes no room for long."""
    with Database(postgres) as database:
        cache = PostgresCache(database, 8, sliding=10, clock=clock)
        for name in "abc":
            cache.put(RESULT, name, b"1")
        clock.now += 10
        cache.put(RESULT, "d", b"1")
        assert count(database) == 1


def test_entries_of_a_future_that_never_came_are_swept_away(postgres: str, clock: Clock) -> None:
    """Otherwise they would stay for as long as the clock was ahead."""
    with Database(postgres) as database:
        cache = PostgresCache(database, 8, clock=clock)
        clock.now += 365 * 86_400
        cache.put(RESULT, "a", b"1")
        clock.now -= 365 * 86_400
        cache.put(RESULT, "b", b"1")
        assert [cache.get(RESULT, name) for name in "ab"] == [None, b"1"]


def test_what_is_too_large_is_not_kept(postgres: str) -> None:
    """One huge value does not fill the table."""
    with Database(postgres) as database:
        cache = PostgresCache(database)
        cache.put(RESULT, "a", bytes(LARGEST_VALUE + 1))
        assert cache.get(RESULT, "a") is None
        cache.put(RESULT, "a", bytes(LARGEST_VALUE))
        assert cache.get(RESULT, "a") == bytes(LARGEST_VALUE)


@given(st.text(max_size=5), st.binary(max_size=20))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_key_names_an_entry(postgres: str, key: str, value: bytes) -> None:
    """Whatever a key holds, its value comes back byte for byte."""
    with Database(postgres) as database:
        cache = PostgresCache(database)
        cache.put(RESULT, key, value)
        assert cache.get(RESULT, key) == value
        assert cache.get(RESULT, key + "x") != value or not value


def test_sweeping_at_once_does_no_harm(postgres: str) -> None:
    """Replicas that write and sweep side by side neither fail nor wait for each other."""
    faults: list[BaseException] = []
    with Database(PostgresSettings(postgres, connections=6)) as database:

        def work(name: str) -> None:
            cache = PostgresCache(database, 4)
            try:
                for number in range(30):
                    cache.put(RESULT, f"{name}{number % 7}", b"1")
            except BaseException as fault:  # noqa: BLE001 - told by the test
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcdef"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        PostgresCache(database, 4).put(RESULT, "last", b"1")
        assert count(database) == 4
    assert faults == []


def test_an_absent_database_is_told(tmp_path: object) -> None:
    """What the cache cannot do is an error, which an engine tells as a diagnostic."""
    cache = PostgresCache(Database(f"host={tmp_path}", sleep=lambda _: None))
    with pytest.raises(PostgresError):
        cache.get(RESULT, "a")
    with pytest.raises(PostgresError):
        cache.put(RESULT, "a", b"1")
    cache.close()


def test_bounds_make_sense() -> None:
    """A cache without room or time is refused."""
    database = Database("host=/nowhere")
    for bounds in ({"entries": 0}, {"absolute": 0.0}, {"sliding": -1.0}):
        with pytest.raises(UsageError):
            PostgresCache(database, **bounds)  # type: ignore[arg-type]
