from __future__ import annotations

import asyncio
import math
import signal
import threading
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.net.http import Endpoint, Secret, WorkDeadline, back_off, parse_retry_after, within

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@given(st.integers(0, 40), st.floats(0, 1, exclude_max=True))
def test_waits_grow_and_are_bounded(attempt: int, jitter: float) -> None:
    """A wait is in the upper half of a bound that doubles up to eight seconds."""
    bound = min(8.0, 0.25 * 2.0**attempt)
    assert bound / 2 <= back_off(attempt, jitter) <= bound


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0.0),
        ("", 0.0),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("inf", 0.0),
        ("nan", 0.0),
        ("soon", 0.0),
        (format_datetime(datetime(2026, 3, 1, 12, 0, 9, tzinfo=UTC), usegmt=True), 9.0),
        ("Sun, 01 Mar 2026 12:00:09 -0000", 9.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 99 Mar 2026 11:00:00 GMT", 0.0),
        (f"Sun, 01 Mar {'9' * 20} 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2026 11:00:00 +" + "9" * 20, 0.0),
        ("9" * 400, 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float) -> None:
    """Both forms of the header are read, and nonsense asks for nothing."""
    assert parse_retry_after(header, NOW) == seconds


def test_a_date_is_compared_with_the_clock() -> None:
    """Without a given present, the clock's counts."""
    assert parse_retry_after("Sun, 01 Mar 2020 11:00:00 GMT") == 0.0


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=8), st.text())
def test_a_secret_is_masked_wherever_it_is_cut(key: str, around: str) -> None:
    """However much of the key a text ends with, from four characters on, none is left there."""
    secret = Secret(key)
    for length in range(4, len(key) + 1):
        assert not secret.mask(around + key[:length]).endswith(key[:length])
    assert key not in secret.mask(around + key + around) or key in "***"


def test_a_short_quote_stays_and_a_long_one_is_cut() -> None:
    """Quotes are one line of at most so many characters."""
    endpoint = Endpoint("http://localhost")
    assert endpoint.quote(" a\n b ") == "a b"
    assert endpoint.quote("a" * 240) == "a" * 240
    assert endpoint.quote("a" * 241) == "a" * 239 + "…"


def test_work_ends_with_its_result() -> None:
    """What work gives or raises is handed over, whatever it is."""
    ended = within(5, lambda call: call.remaining() > 0)
    assert ended is not None
    assert ended.result is True

    def cancelled(_: WorkDeadline) -> None:
        raise asyncio.CancelledError

    ended = within(5, cancelled)
    assert ended is not None
    assert isinstance(ended.fault, asyncio.CancelledError)


def test_work_may_have_all_the_time_there_is() -> None:
    """A limit beyond what a clock can count is none."""
    ended = within(math.inf, lambda call: call.sleep(0.1))
    assert ended is not None
    assert ended.result is True


def test_work_that_is_late_is_told_so() -> None:
    """Work that nobody waits for any more has its cut called, then or later, and sleeps no more."""
    told = threading.Event()
    calls: list[WorkDeadline] = []

    def work(call: WorkDeadline) -> None:
        calls.append(call)
        with call.cut_by(told.set):
            call.sleep(30)

    assert within(0.05, work) is None
    assert told.wait(5)
    assert calls[0].remaining() == 0
    told.clear()
    with calls[0].cut_by(told.set):
        assert told.is_set()
    assert not calls[0].sleep(30)


def test_nothing_is_cut_that_was_given_back() -> None:
    """What a call has used may be another's afterwards, so that it is not cut any more."""
    told: list[str] = []
    call = WorkDeadline(60)
    with call.cut_by(lambda: told.append("first")):
        pass
    call.abandon()
    assert told == []


def test_nothing_is_given_back_while_it_is_cut() -> None:
    """A cut that has begun is over before what is cut may be another's."""
    cutting, go_on = threading.Event(), threading.Event()
    order: list[str] = []

    def cut() -> None:
        cutting.set()
        go_on.wait(30)
        order.append("cut")

    call = WorkDeadline(60)
    with call.cut_by(cut):
        ending = threading.Thread(target=call.abandon)
        ending.start()
        assert cutting.wait(30)
        # Let go only once this thread stands at the end of the block, or so it is most likely.
        threading.Timer(0.05, go_on.set).start()
    order.append("given back")
    ending.join()
    assert order == ["cut", "given back"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals reach processes here")
def test_an_interrupted_wait_ends_the_work() -> None:
    """Whoever interrupts the waiting gets out at once, and the work is told."""
    told = threading.Event()
    waiting = threading.get_ident()

    def work(call: WorkDeadline) -> None:
        with call.cut_by(told.set):
            signal.pthread_kill(waiting, signal.SIGINT)
            call.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        within(30, work)
    assert told.wait(5)
