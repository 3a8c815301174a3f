"""Sessions: what a call says of the calls before it, and how much is held at once."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import DAY, START, calls_of, observed_of

from mcpg.relations.observed_calls import NOTHING, ObservedCalls, PairCounts, ToolCounts
from mcpg.relations.sessions import BOUNDS, PAUSE, WINDOW, SessionBounds, SessionCounter

if TYPE_CHECKING:
    from collections.abc import Mapping

ON = "2026-05-28"


def pair(observed: ObservedCalls, first: str, second: str) -> PairCounts:
    """Return the counts of two tools on the one day."""
    days: Mapping[str, PairCounts] = observed.pairs.get((first, second), {})
    return days.get(ON, PairCounts())


def counted(
    *calls: tuple[str, float | None, float], bounds: SessionBounds = BOUNDS
) -> SessionCounter:
    """Return a counter that has taken *calls* of one session: tool, start after the first, time."""
    counter = SessionCounter(bounds)
    for tool, after, seconds in calls:
        start = None if after is None else START + after
        counter.add("s", tool, start, (start or 0.0) + seconds, succeeded=True)
    return counter


def test_a_tool_follows_in_a_session_once() -> None:
    """However often two tools alternate, their session is one observation in each direction."""
    found = pair(observed_of([["a", "b"] * 10]), "a", "b")
    assert found == PairCounts(1, 1, 1, 0, 1, 1, 0)


def test_what_comes_between_is_seen() -> None:
    """A tool that follows later follows as well, but not next."""
    observed = observed_of([["a", "b", "c"]])
    assert pair(observed, "a", "b") == PairCounts(1, 1, 1)
    assert pair(observed, "a", "c") == PairCounts(1, 1, 0)


def test_a_tool_follows_within_the_window_only() -> None:
    """Beyond a few steps nothing is said; repeats of one tool are one step."""
    steps = [f"t{number}" for number in range(WINDOW - 1) for _ in range(3)]
    near = observed_of([["a", *steps, "z"]])
    far = observed_of([["a", *steps, "more", "z"]])
    assert pair(near, "a", "z").forward == 1
    assert pair(far, "a", "z") == PairCounts()


def test_failed_calls_prove_no_order() -> None:
    """A tool that failed neither precedes nor follows; that it was tried is counted."""
    observed = observed_of([["a", "b!", "c"]])
    assert pair(observed, "a", "b") == PairCounts(forward_failed=1)
    assert pair(observed, "b", "c") == PairCounts()
    assert pair(observed, "a", "c") == PairCounts(1, 1, 1)
    assert observed.tools["b"] == {ON: ToolCounts(1, 0, 1, 1)}


@pytest.mark.parametrize("session", [["a", "b!", "b"], ["a", "b", "b!"], ["b", "a", "b!", "b"]])
def test_a_call_that_is_repeated_until_it_succeeds_succeeds(session: list[str]) -> None:
    """A failure does not count against a tool that succeeds in the same place."""
    found = pair(observed_of([session]), "a", "b")
    assert (found.forward, found.forward_failed) == (1, 0)


def test_calls_at_once_are_used_together_without_an_order() -> None:
    """Of calls that overlap in time neither follows the other."""
    counter = counted(("a", 0, 5.0), ("b", 2, 1.0), ("c", 9, 1.0))
    observed = counter.finish()
    assert pair(observed, "a", "b") == PairCounts(together=1)
    assert pair(observed, "a", "c").forward == 1
    assert counter.noticed.overlapping == 1


def test_calls_count_in_the_order_of_their_times() -> None:
    """Lines out of order, as exporters write them, give the order of the clock; it is reported."""
    counter = counted(("b", 10, 1.0), ("a", 0, 1.0), ("c", 20, 1.0))
    observed = counter.finish()
    assert pair(observed, "a", "b") == PairCounts(1, 1, 1)
    assert counter.noticed.backwards == 1


def test_calls_without_times_count_in_the_order_of_their_lines() -> None:
    """Nothing is needed but the order; the day is unknown."""
    observed = counted(("a", None, 0.0), ("b", None, 0.0)).finish()
    assert observed.pairs == {("a", "b"): {"": PairCounts(1, 1, 1)}}
    assert observed.sessions == {"": 1}


def test_a_call_without_a_time_stands_behind_the_one_before_it() -> None:
    """A session may lack some times."""
    observed = counted(("a", 0, 1.0), ("b", None, 0.0), ("c", 9, 1.0)).finish()
    assert pair(observed, "b", "c").forward == 1
    assert observed.sessions == {ON: 1}


def test_the_same_call_is_counted_once() -> None:
    """An export that is sent twice changes nothing; it is reported."""
    counter = counted(("a", 0, 1.0), ("b", 5, 1.0), ("b", 5, 1.0), ("a", 0, 1.0))
    observed = counter.finish()
    assert observed == counted(("a", 0, 1.0), ("b", 5, 1.0)).finish()
    assert counter.noticed.repeated == 2


def test_a_pause_ends_a_session() -> None:
    """A process that serves for weeks has as many sessions as there are spells of work."""
    observed = counted(("a", 0, 1.0), ("b", PAUSE + 2, 1.0)).finish()
    assert observed.sessions == {ON: 2}
    assert observed.pairs == {}


def test_a_session_counts_for_the_day_of_its_end() -> None:
    """All its counts stand under one day, so that a day is forgotten as a whole."""
    midnight = START - START % DAY + DAY
    counter = SessionCounter()
    counter.add("s", "a", midnight - 10, midnight - 9, succeeded=True)
    counter.add("s", "b", midnight + 10, midnight + 11, succeeded=True)
    observed = counter.finish()
    assert {*observed.sessions, *observed.tools["a"], *observed.pairs["a", "b"]} == {"2026-05-29"}


@given(st.randoms(use_true_random=False), st.lists(st.lists(st.sampled_from("abcd"), min_size=1)))
def test_how_sessions_are_mixed_does_not_matter(
    generator: random.Random, sessions: list[list[str]]
) -> None:
    """Lines of several sessions may stand in any order; the times say which is first."""
    calls = calls_of(sessions)
    generator.shuffle(calls)
    counter = SessionCounter()
    for call in calls:
        counter.add(call["session"], call["tool"], call["time"], call["time"] + 1, succeeded=True)
    assert counter.finish() == observed_of(sessions)


def test_too_many_open_sessions_are_counted_early() -> None:
    """The quietest are counted first, so that memory is bounded; those cut in two are reported."""
    counter = SessionCounter(SessionBounds(calls=4))
    for call in calls_of([["a", "b"]] * 50):
        counter.add(call["session"], call["tool"], call["time"], call["time"] + 1, succeeded=True)
    assert counter.noticed.parted == 0
    assert counter.finish() == observed_of([["a", "b"]] * 50)
    mixed = SessionCounter(SessionBounds(calls=4))
    for number in range(100):
        mixed.add(f"s{number % 10}", "a", START + number, START + number, succeeded=True)
    assert mixed.noticed.parted > 0
    assert sum(mixed.finish().sessions.values()) > 10


def test_a_long_session_is_counted_in_parts() -> None:
    """A session without an end is bounded, too."""
    counter = counted(
        *((tool, at, 0.5) for at, tool in enumerate("ab" * 20)), bounds=SessionBounds(session=8)
    )
    assert counter.noticed.parted == 4
    assert pair(counter.finish(), "a", "b").forward == 5


def test_too_many_tools_and_pairs_are_left_out() -> None:
    """Invented names do not fill the memory; how many were left out is reported."""
    counter = SessionCounter(SessionBounds(tools=4, pairs=4))
    for call in calls_of([["a", "b", "c", "d", "e"]]):
        counter.add(call["session"], call["tool"], call["time"], call["time"] + 1, succeeded=True)
    observed = counter.finish()
    assert {*observed.tools} == {"a", "b", "c", "d"}
    assert len(observed.pairs) == 4
    assert (counter.noticed.tools_left_out, counter.noticed.pairs_left_out) == (1, 2)


def test_invented_days_do_not_fill_the_memory() -> None:
    """Clocks may state any day; the counts of a tool on a day are bounded as well."""
    counter = SessionCounter(SessionBounds(pairs=3))
    for number in range(10):
        counter.add(f"s{number}", "a", START + number * DAY, START + number * DAY, succeeded=True)
    assert len(counter.finish().tools["a"]) == 3
    assert counter.noticed.tools_left_out == 7


def test_ids_of_sessions_of_any_length_are_told_apart() -> None:
    """A long id is held by its digest; nothing of an id is in the counts."""
    counter = SessionCounter()
    for ending in ("1", "2"):
        counter.add("x" * 100_000 + ending, "a", START, START, succeeded=True)
    assert counter.finish().sessions == {ON: 2}


def test_nothing_gives_nothing() -> None:
    """A trace without a call has no counts."""
    assert SessionCounter().finish() == NOTHING
