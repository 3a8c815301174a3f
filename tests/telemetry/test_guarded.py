"""An observer in front of which a guard stands cannot hurt what it watches."""

from __future__ import annotations

from typing import Any

import pytest
from telemetrical import MOMENTS, Noting, Raising

from mcpg.telemetry import BuildFacts, GuardedObserver, InvokeFacts

FACTS = BuildFacts(1, None, 1, 0)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("search", ("orders", "graph")),
        ("build", ()),
        ("vectors", ()),
        ("route", ("orders",)),
        ("invoke", ()),
    ],
)
def test_everything_is_handed_on(method: str, arguments: tuple[str, ...]) -> None:
    """What the guard is told, the observer is told, with the facts."""
    noting = Noting()
    guard: Any = GuardedObserver.of(noting)
    with getattr(guard, method)(*arguments) as tell:
        tell(FACTS)
    assert noting.noted == [(method, *arguments), FACTS]
    assert tell.diagnostics == ()


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_observer_that_raises_is_told_of_by_type(moment: str) -> None:
    """Whenever the observer raises, the watched thing goes on, and a diagnostic says so."""
    guard: Any = GuardedObserver.of(Raising(moment))
    with guard.invoke() as tell:
        tell(InvokeFacts("success"))
    (noticed,) = tell.diagnostics
    assert noticed.code == "telemetry_failed"
    assert "RuntimeError" in noticed.message
    assert "sk-secret" not in noticed.message


def test_what_ends_a_watched_thing_is_seen_and_never_swallowed() -> None:
    """An exception passes through the observer, even through one that wants to swallow it."""
    noting = Noting()
    for observer in (noting, Raising("never")):
        guard: Any = GuardedObserver.of(observer)
        with pytest.raises(ValueError, match="mine"), guard.build() as tell:
            raise ValueError("mine")
        assert tell.diagnostics == ()
    assert noting.noted[-1] is ValueError


def test_a_guard_stands_once() -> None:
    """What is guarded is not guarded again."""
    guard = GuardedObserver.of(Noting())
    assert GuardedObserver.of(guard) is guard
