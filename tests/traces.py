"""Sessions of tool calls for tests: as lines of traces, and counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcpg.relations.observed_calls import ObservedCalls
from mcpg.relations.sessions import SessionCounter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

START = 1_780_000_000.25
"""When the first session begins: 2026-05-28, in the evening."""

DAY = 86_400.0
_APART = 4000.0


def calls_of(
    sessions: Iterable[Sequence[str]], *, prefix: str = "s", start: float = START
) -> list[dict[str, Any]]:
    """Return the calls of *sessions*, each the names of its tools; `!` marks one that failed."""
    return [
        {
            "session": f"{prefix}{number}",
            "tool": tool.removesuffix("!"),
            "time": start + number * _APART + step * 2,
            "duration": 1.0,
            "success": not tool.endswith("!"),
        }
        for number, tools in enumerate(sessions)
        for step, tool in enumerate(tools)
    ]


def lines_of(calls: Iterable[dict[str, Any]]) -> bytes:
    """Return *calls* as the lines of a trace."""
    return b"".join(json.dumps(call).encode() + b"\n" for call in calls)


def observed_of(sessions: Iterable[Sequence[str]], *, start: float = START) -> ObservedCalls:
    """Count *sessions*."""
    counter = SessionCounter()
    for call in calls_of(sessions, start=start):
        begin = call["time"]
        counter.add(
            call["session"], call["tool"], begin, begin + 1.0, succeeded=bool(call["success"])
        )
    return counter.finish()
