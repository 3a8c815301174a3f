"""Sessions of tool calls, counted in bounded memory.

Calls are gathered by session until the session ends; if there are too many, the sessions that have
been quiet longest are counted first. A pause also ends a session, so that a process that serves for
weeks has many sessions.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from operator import itemgetter
from typing import NamedTuple

from mcpg.relations.observed_calls import (
    UNDATED,
    LearnedFile,
    ObservedCalls,
    Pair,
    PairCounts,
    ToolCounts,
    turn,
)

WINDOW = 5
"""How many different steps back a tool counts as preceding another."""

PAUSE = 1800.0
"""Seconds without a call after which a session is over."""

_DAY = 86_400.0
_EPOCH = date(1970, 1, 1).toordinal()
_LONGEST_KEY = 64

# Counts are kept as lanes of one integer, which are added at once: 40 bits each.
_LANE = 40
_MASK = (1 << _LANE) - 1
_TOGETHER, _FORWARD, _FORWARD_NEXT, _FORWARD_FAILED, _BACKWARD, _BACKWARD_NEXT, _BACKWARD_FAILED = (
    1 << (_LANE * lane) for lane in range(7)
)
_CALLED, _SUCCEEDED, _ONE_CALL, _ONE_FAILURE = (1 << (_LANE * lane) for lane in range(4))
# The evidence of one step for an ordered pair, by whether its numbers are in order.
_FOLLOWS = {True: _TOGETHER | _FORWARD, False: _TOGETHER | _BACKWARD}
_FOLLOWS_NEXT = {
    True: _TOGETHER | _FORWARD | _FORWARD_NEXT,
    False: _TOGETHER | _BACKWARD | _BACKWARD_NEXT,
}
_FAILS = {True: (_FORWARD, _FORWARD_FAILED), False: (_BACKWARD, _BACKWARD_FAILED)}
_TOOL_BITS = 20
_NUMBER = (1 << _TOOL_BITS) - 1


class SessionCall(NamedTuple):
    """A call of a tool in a session.

    Attributes:
        start: When it began, in seconds since 1970; `None` if unknown.
        end: When it ended, not before its start.
    """

    start: float | None
    end: float
    tool: int
    succeeded: bool


# A named tuple made by its own constructor takes several times as long.
_made = tuple.__new__


@dataclass(frozen=True, slots=True)
class SessionBounds:
    """Bounds of the memory.

    Attributes:
        calls: Calls of sessions that are not counted yet.
        session: Calls of one session; a longer one is counted in parts.
        pairs: Different pairs of tools, separately by day; as many tools of a day.
    """

    calls: int = 200_000
    session: int = 4096
    tools: int = 50_000
    pairs: int = 500_000


BOUNDS = SessionBounds()


@dataclass(slots=True)
class SessionStatistics:
    """Notices from counting sessions, in calls unless noted otherwise.

    Attributes:
        repeated: Duplicate calls: same session, tool, start and end.
        backwards: Calls that began before the preceding call.
        overlapping: Calls that began while another call of their session was running.
        parted: Sessions counted before their end, because there were too many calls.
    """

    repeated: int = 0
    backwards: int = 0
    overlapping: int = 0
    parted: int = 0
    tools_left_out: int = 0
    pairs_left_out: int = 0


class SessionCounter:
    """Counts the calls of sessions, in whatever order the sessions' calls are mixed."""

    def __init__(self, bounds: SessionBounds = BOUNDS) -> None:
        self.noticed = SessionStatistics()
        self._bounds = bounds
        self._open: OrderedDict[str, list[SessionCall]] = OrderedDict()
        self._held = 0
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._sessions: Counter[int] = Counter()
        self._tools: dict[int, int] = {}
        self._pairs: dict[int, int] = {}

    def add(
        self, session: str, tool: str, start: float | None, end: float, *, succeeded: bool
    ) -> None:
        """Take a call of *tool*; for its times see `Call`."""
        number = self._numbers.get(tool)
        if number is None:
            if len(self._names) >= self._bounds.tools:
                self.noticed.tools_left_out += 1
                return
            number = self._numbers[tool] = len(self._names)
            self._names.append(tool)
        if len(session) > _LONGEST_KEY:
            session = blake2b(session.encode("utf-8", "surrogatepass")).hexdigest()[:_LONGEST_KEY]
        calls = self._open.get(session)
        if calls is None:
            calls = self._open[session] = []
        else:
            self._open.move_to_end(session)
        calls.append(_made(SessionCall, (start, end, number, succeeded)))
        self._held += 1
        is_long = len(calls) > self._bounds.session
        if is_long or self._held > self._bounds.calls:
            # Counted before it is known to be over: a long session, else the quietest.
            closed = self._open.pop(session) if is_long else self._open.popitem(last=False)[1]
            now, last = calls[-1].start, closed[-1].start
            self.noticed.parted += is_long or now is None or last is None or now - last <= PAUSE
            self._close(closed)

    def finish(self, files: frozenset[LearnedFile] = frozenset()) -> ObservedCalls:
        """Count open sessions, and return all counts, as learned from *files*."""
        while self._open:
            self._close(self._open.popitem(last=False)[1])
        tools: defaultdict[str, dict[str, ToolCounts]] = defaultdict(dict)
        for key, lanes in self._tools.items():
            name, day = self._names[key & _NUMBER], _format_day(key >> _TOOL_BITS)
            tools[name][day] = ToolCounts(*_split_lanes(lanes, 4))
        pairs: defaultdict[Pair, dict[str, PairCounts]] = defaultdict(dict)
        while self._pairs:  # each is removed at once, to avoid two copies
            key, lanes = self._pairs.popitem()
            first, second = self._names[key >> _TOOL_BITS & _NUMBER], self._names[key & _NUMBER]
            counts, day = PairCounts(*_split_lanes(lanes, 7)), _format_day(key >> 2 * _TOOL_BITS)
            if first < second:
                pairs[first, second][day] = counts
            else:
                pairs[second, first][day] = turn(counts)
        sessions = {_format_day(day): count for day, count in self._sessions.items()}
        return ObservedCalls(sessions, dict(tools), dict(pairs), files)

    def _close(self, calls: list[SessionCall]) -> None:
        self._held -= len(calls)
        for part in self._cut_at_pauses(self._sort_calls(calls)):
            self._count(part)

    def _sort_calls(self, calls: list[SessionCall]) -> list[SessionCall]:
        """Return *calls* by their start; without one, the start of the call before it counts."""
        known = next((call.start for call in calls if call.start is not None), None)
        if known is None:
            return calls
        last = known
        dated: list[SessionCall] = []
        for call in calls:
            start = call.start
            if start is None:
                dated.append(SessionCall(last, last, call.tool, call.succeeded))
                continue
            if start < last:
                self.noticed.backwards += 1
            last = start
            dated.append(call)
        dated.sort(key=itemgetter(0))
        return dated

    def _cut_at_pauses(self, calls: list[SessionCall]) -> Iterator[list[SessionCall]]:
        """Cut *calls* at pauses, and drop those that are there twice."""
        part: list[SessionCall] = []
        seen: set[SessionCall] = set()
        ended = 0.0
        for call in calls:
            start = call.start
            if start is not None:
                if call in seen:
                    self.noticed.repeated += 1
                    continue
                if part and start - ended > PAUSE:
                    yield part
                    part, ended = [], start
                    seen.clear()
                seen.add(call)
                self.noticed.overlapping += start < ended
                ended = max(ended, call.end)
            part.append(call)
        if part:
            yield part

    def _count(self, calls: list[SessionCall]) -> None:
        last = calls[-1].start
        day = 0 if last is None else int(last // _DAY) + _EPOCH
        self._sessions[day] += 1
        found: dict[int, int] = {}
        steps: list[SessionCall] = []
        failed: list[tuple[int, int]] = []
        for call in calls:
            if not call.succeeded:
                failed += [(step.tool, call.tool) for step in steps[-WINDOW:]]
            elif steps and steps[-1].tool == call.tool:
                steps[-1] = call
            else:
                _relate(call, steps, found)
                steps.append(call)
        for one, other in failed:
            if one != other:  # which failed, unless it also succeeded after the first
                pair = one << _TOOL_BITS | other if one < other else other << _TOOL_BITS | one
                succeeded, failure = _FAILS[one < other]
                if not found.get(pair, 0) & succeeded:
                    found[pair] = found.get(pair, 0) | failure
        counts: dict[int, int] = {}
        for call in calls:
            so_far = counts.get(call.tool, _CALLED) + _ONE_CALL
            counts[call.tool] = so_far | _SUCCEEDED if call.succeeded else so_far + _ONE_FAILURE
        self.noticed.tools_left_out += self._add(counts, self._tools, day << _TOOL_BITS)
        self.noticed.pairs_left_out += self._add(found, self._pairs, day << (2 * _TOOL_BITS))

    def _add(self, found: Mapping[int, int], known: dict[int, int], above: int) -> int:
        """Add the counts *found* for a day to the *known* ones; return how many did not fit."""
        left_out = 0
        for key, counts in found.items():
            if above | key in known:
                known[above | key] += counts
            elif len(known) < self._bounds.pairs:
                known[above | key] = counts
            else:
                left_out += 1
        return left_out


def _relate(call: SessionCall, steps: list[SessionCall], found: dict[int, int]) -> None:
    """Add the evidence of the successful *call* about the *steps* before it."""
    tool, start = call.tool, call.start
    marks = _FOLLOWS_NEXT
    for step in reversed(steps[-WINDOW:]):
        other = step.tool
        if other != tool:
            is_in_order = other < tool
            pair = other << _TOOL_BITS | tool if is_in_order else tool << _TOOL_BITS | other
            is_over = start is None or step.end <= start
            mark = marks[is_in_order] if is_over else _TOGETHER
            found[pair] = found.get(pair, 0) | mark
        marks = _FOLLOWS


def _split_lanes(counts: int, many: int) -> list[int]:
    return [counts >> (_LANE * lane) & _MASK for lane in range(many)]


def _format_day(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat() if ordinal else UNDATED
