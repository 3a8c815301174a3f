"""The cache in memory, against a model of it and a clock that the test moves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.errors import UsageError
from mcpg.search.caches import ABSOLUTE, KINDS, QUERY, RESULT, SLIDING, VECTOR, MemoryCache, NoCache


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def test_keeps_by_kind_and_key() -> None:
    """The same key of two kinds names two entries; what was put last is what is given."""
    cache = MemoryCache()
    cache.put(QUERY, "a", b"1")
    cache.put(RESULT, "a", b"2")
    cache.put(RESULT, "a", b"3")
    assert cache.get(QUERY, "a") == b"1"
    assert cache.get(RESULT, "a") == b"3"
    assert cache.get(VECTOR, "a") is None
    assert len(cache) == 2


def test_copies_what_it_is_given() -> None:
    """A caller that goes on writing into its buffer does not change what is kept."""
    cache = MemoryCache()
    buffer = bytearray(b"right")
    cache.put(RESULT, "a", buffer)
    buffer[:] = b"wrong"
    assert cache.get(RESULT, "a") == b"right"
    assert type(cache.get(RESULT, "a")) is bytes


@pytest.mark.parametrize("kind", KINDS)
def test_an_unused_entry_expires(kind: str) -> None:
    """An entry that nobody asks for is forgotten after the time of its kind."""
    clock = Clock()
    cache = MemoryCache(clock=clock)
    cache.put(kind, "a", b"1")
    clock.now += SLIDING[kind]
    assert cache.get(kind, "a") is None
    assert len(cache) == 0


def test_use_keeps_an_entry_alive_but_not_for_ever() -> None:
    """Each use postpones the sliding expiry; the absolute one comes all the same."""
    clock = Clock()
    cache = MemoryCache(absolute=100, sliding=10, clock=clock)
    cache.put(RESULT, "a", b"1")
    for _ in range(11):
        clock.now += 9
        assert cache.get(RESULT, "a") == b"1"
    clock.now += 1
    assert cache.get(RESULT, "a") is None


def test_putting_again_begins_a_new_life() -> None:
    """An entry put anew lives its whole time from then on."""
    clock = Clock()
    cache = MemoryCache(absolute=100, sliding=100, clock=clock)
    cache.put(RESULT, "a", b"1")
    clock.now += 99
    cache.put(RESULT, "a", b"2")
    clock.now += 99
    assert cache.get(RESULT, "a") == b"2"


def test_the_least_recently_used_goes_first() -> None:
    """Where there is no room, what was used longest ago is forgotten."""
    cache = MemoryCache(entries=2)
    cache.put(RESULT, "a", b"1")
    cache.put(RESULT, "b", b"2")
    assert cache.get(RESULT, "a") == b"1"
    cache.put(RESULT, "c", b"3")
    assert cache.get(RESULT, "b") is None
    assert (cache.get(RESULT, "a"), cache.get(RESULT, "c")) == (b"1", b"3")


def test_another_kind_lives_as_long_as_any() -> None:
    """A kind that is not known expires by the absolute time alone."""
    clock = Clock()
    cache = MemoryCache(clock=clock)
    cache.put("else", "a", b"1")
    clock.now += ABSOLUTE - 1
    assert cache.get("else", "a") == b"1"


def test_closing_forgets() -> None:
    """A closed cache holds nothing."""
    cache = MemoryCache()
    cache.put(RESULT, "a", b"1")
    cache.close()
    assert cache.get(RESULT, "a") is None


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"entries": 0}, "a cache of 0 entries"),
        ({"absolute": 0.0}, "absolute expiry"),
        ({"absolute": float("nan")}, "absolute expiry"),
        ({"sliding": -1.0}, "sliding expiry"),
    ],
)
def test_refuses_senseless_bounds(bounds: dict[str, float], message: str) -> None:
    """A bound that would keep nothing is a mistake, and is said to be one."""
    with pytest.raises(UsageError, match=message):
        MemoryCache(**bounds)  # type: ignore[arg-type]


def test_no_cache_keeps_nothing() -> None:
    """The cache that is none forgets at once."""
    cache = NoCache()
    cache.put(RESULT, "a", b"1")
    assert cache.get(RESULT, "a") is None
    cache.close()


STEPS = st.lists(
    st.tuples(st.sampled_from(["get", "put", "wait"]), st.integers(0, 4), st.binary(max_size=3)),
    max_size=60,
)


@given(STEPS)
def test_gives_what_was_put_last_or_nothing(steps: list[tuple[str, int, bytes]]) -> None:
    """Whatever is asked in whatever order, an answer is the newest value, and there is a bound."""
    clock = Clock()
    cache = MemoryCache(entries=3, absolute=9, sliding=4, clock=clock)
    newest: dict[str, tuple[bytes, float]] = {}
    for action, number, value in steps:
        key = str(number)
        if action == "wait":
            clock.now += number
        elif action == "put":
            cache.put(RESULT, key, value)
            newest[key] = (value, clock.now)
        elif (given_back := cache.get(RESULT, key)) is not None:
            assert given_back == newest[key][0]
            assert clock.now - newest[key][1] < 9
        assert len(cache) <= 3


def test_threads_may_share_it() -> None:
    """Many threads reading and writing side by side break nothing and keep the bound."""
    cache = MemoryCache(entries=8)

    def work(thread: int) -> bool:
        answers = []
        for number in range(300):
            key = str((number * 7 + thread) % 20)
            cache.put(RESULT, key, key.encode())
            answers.append(cache.get(RESULT, key) in {None, key.encode()})
        return all(answers)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert len(cache) <= 8
