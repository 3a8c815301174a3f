"""Counts of observed tool calls: which tools follow each other, in how many sessions of which day.

The counts are sums over sessions, so those of several traces are added. They hold names of tools,
days and numbers: no arguments, results or ids of sessions. A file of them is JSON Lines, sorted:
a header with the sessions of each day, the files that were read, the tools, and pairs of tools.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar

from mcpg.errors import SourceError
from mcpg.json_types import JsonObject

SCHEMA = "mcpg/observed/1"
"""What the header of a file states."""

UNDATED = ""
"""The day of sessions whose calls have no time."""

LONGEST_NAME = 512
"""Maximum length of the name of a tool."""

_MOST = 1 << 53
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REMEDY = "learn it again from the traces"

Pair = tuple[str, str]
"""The names of two tools, sorted."""

Key = TypeVar("Key", str, Pair)


@dataclass(frozen=True, slots=True, order=True)
class LearnedFile:
    """A file that was read, so that it is not counted twice.

    Attributes:
        digest: SHA-256 of its contents, decompressed.
        size: How many bytes these are.
    """

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class ToolCounts:
    """How often a tool was called.

    Attributes:
        sessions: Sessions in which it was called.
        succeeded: Sessions in which a call of it succeeded.
        calls: Its calls.
        failures: Those that failed.
    """

    sessions: int = 0
    succeeded: int = 0
    calls: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class PairCounts:
    """In how many sessions two tools, the first and the second by name, were used together.

    Calls that failed count only where an attribute states it.

    Attributes:
        together: Sessions with a call of each within the window, one after the other or at once.
        forward: Of these, where the second was called after the first had ended.
        forward_next: Of these, where no other tool was called between them.
        forward_failed: Sessions in which the second failed after the first, and never succeeded.
        backward: As `forward`, from the second to the first.
        backward_next: As `forward_next`, from the second to the first.
        backward_failed: As `forward_failed`, from the second to the first.
    """

    together: int = 0
    forward: int = 0
    forward_next: int = 0
    forward_failed: int = 0
    backward: int = 0
    backward_next: int = 0
    backward_failed: int = 0


@dataclass(frozen=True, slots=True)
class ObservedCalls:
    """What traces show, by day: the day on which a session ended, in UTC.

    Attributes:
        sessions: How many sessions there were.
        tools: The counts of each tool.
        pairs: The counts of each two tools that were used together.
        files: The call traces that were read.
    """

    sessions: Mapping[str, int] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, ToolCounts]] = field(default_factory=dict)
    pairs: Mapping[Pair, Mapping[str, PairCounts]] = field(default_factory=dict)
    files: frozenset[LearnedFile] = frozenset()

    @property
    def newest(self) -> str:
        """The last day, "" where none is known."""
        return max(self.sessions, default=UNDATED)


NOTHING = ObservedCalls()
"""No counts at all."""

Counts = TypeVar("Counts", ToolCounts, PairCounts)


def numbers(counts: ToolCounts | PairCounts) -> list[int]:
    """Return the numbers of *counts* in the order of their class."""
    return [getattr(counts, name) for name in counts.__match_args__]


def total(counts: Iterable[Counts], empty: Counts) -> Counts:
    """Return the sum of *counts*, *empty* where there are none."""
    columns = zip(numbers(empty), *map(numbers, counts), strict=True)
    return type(empty)(*map(sum, columns))


def merge(parts: Iterable[ObservedCalls]) -> ObservedCalls:
    """Return the sum of *parts*, in whatever order they come.

    Of two traces the sum counts both, also where they are the same file: who reads the traces
    leaves out what is known.
    """
    parts = [part for part in parts if part != NOTHING]
    if len(parts) == 1:
        return parts[0]
    sessions: Counter[str] = Counter()
    for part in parts:
        sessions.update(part.sessions)
    return ObservedCalls(
        sessions,
        _merge_counts([part.tools for part in parts], ToolCounts()),
        _merge_counts([part.pairs for part in parts], PairCounts()),
        frozenset(file for part in parts for file in part.files),
    )


def _merge_counts(
    parts: Iterable[Mapping[Key, Mapping[str, Counts]]], empty: Counts
) -> dict[Key, dict[str, Counts]]:
    found: dict[Key, dict[str, Counts]] = {}
    for part in parts:
        for key, days in part.items():
            merged = found.setdefault(key, {})
            for day, counts in days.items():
                merged[day] = total((merged[day], counts), empty) if day in merged else counts
    return found


def rename_tools(observed: ObservedCalls, name_of: Callable[[str], str | None]) -> ObservedCalls:
    """Return *observed* with other names; tools without one are left out.

    Args:
        observed: The counts.
        name_of: Returns the new name of a tool, `None` to leave it out.
    """
    names = {old: name_of(old) for old in list_tool_names(observed)}
    parts = [ObservedCalls(observed.sessions, files=observed.files)]
    for old, days in observed.tools.items():
        new = names[old]
        if new is not None:
            parts.append(ObservedCalls(tools={new: days}))
    for (first, second), pair_days in observed.pairs.items():
        one, other = names[first], names[second]
        if one is not None and other is not None and one != other:
            is_kept = one < other
            pair = (one, other) if is_kept else (other, one)
            turned = pair_days if is_kept else {day: turn(c) for day, c in pair_days.items()}
            parts.append(ObservedCalls(pairs={pair: turned}))
    return merge(parts)


def turn(counts: PairCounts) -> PairCounts:
    """Return *counts* seen from the second tool."""
    forward, following, failed = counts.forward, counts.forward_next, counts.forward_failed
    return PairCounts(
        counts.together,
        counts.backward,
        counts.backward_next,
        counts.backward_failed,
        forward,
        following,
        failed,
    )


def list_tool_names(observed: ObservedCalls) -> set[str]:
    """Return the names of all tools in *observed*."""
    return {*observed.tools, *(name for pair in observed.pairs for name in pair)}


def without_tools(observed: ObservedCalls, names: Collection[str]) -> ObservedCalls:
    """Return *observed* without anything about the tools *names*."""
    return ObservedCalls(
        observed.sessions,
        {name: days for name, days in observed.tools.items() if name not in names},
        {
            (one, other): days
            for (one, other), days in observed.pairs.items()
            if one not in names and other not in names
        },
        observed.files,
    )


def since(observed: ObservedCalls, day: str) -> ObservedCalls:
    """Return *observed* without the sessions before *day*; those of no day stay."""

    def keep_recent(days: Mapping[str, Any]) -> dict[str, Any]:
        return {one: counts for one, counts in days.items() if one == UNDATED or one >= day}

    tools = {name: keep_recent(days) for name, days in observed.tools.items()}
    pairs = {pair: keep_recent(days) for pair, days in observed.pairs.items()}
    return ObservedCalls(
        keep_recent(observed.sessions),
        {name: days for name, days in tools.items() if days},
        {pair: days for pair, days in pairs.items() if days},
        observed.files,
    )


def encode(observed: ObservedCalls) -> str:
    """Write *observed* as the text of a file: equal counts give equal texts."""
    return "".join(
        f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n"
        for line in _lines(observed)
    )


def _lines(observed: ObservedCalls) -> Iterator[JsonObject]:
    yield {"schema": SCHEMA, "sessions": dict(sorted(observed.sessions.items()))}
    for file in sorted(observed.files):
        yield {"file": file.digest, "bytes": file.size}
    for name, days in sorted(observed.tools.items()):
        yield {"tool": name, "days": _days_to_lists(days)}
    for pair, pair_days in sorted(observed.pairs.items()):
        yield {"pair": [*pair], "days": _days_to_lists(pair_days)}


def _days_to_lists(days: Mapping[str, ToolCounts] | Mapping[str, PairCounts]) -> JsonObject:
    return {day: [*numbers(days[day])] for day in sorted(days)}


def decode(text: str, place: str) -> ObservedCalls:
    """Read the text of a file.

    Raises:
        SourceError: It is no such file, or damaged.
    """
    reader = _ObservedLines()
    # The lines of JSON Lines end with a line feed; other signs that end lines may stand in names.
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                reader.take(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as fault:
            message = "is not a line of an observed file"
            raise SourceError(message, place=f"{place}:{number}", remedy=_REMEDY) from fault
    if reader.sessions is None:
        raise SourceError("is not an observed file", place=place, remedy=_REMEDY)
    return ObservedCalls(reader.sessions, reader.tools, reader.pairs, frozenset(reader.files))


class _ObservedLines:
    """Reads the lines of a file; what is wrong with one is an error of Python's own."""

    def __init__(self) -> None:
        self.sessions: dict[str, int] | None = None
        self.tools: dict[str, dict[str, ToolCounts]] = {}
        self.pairs: dict[Pair, dict[str, PairCounts]] = {}
        self.files: set[LearnedFile] = set()

    def take(self, members: JsonObject) -> None:
        """Read one line."""
        if self.sessions is None:
            if members["schema"] != SCHEMA:
                raise ValueError(members["schema"])
            self.sessions = {_day(day): _count(n) for day, n in _mapping(members["sessions"])}
        elif "pair" in members:
            first, second = map(_name, _list(members["pair"]))
            if not first < second:
                raise ValueError(first)
            _put(self.pairs, (first, second), _days(members["days"], PairCounts))
        elif "tool" in members:
            _put(self.tools, _name(members["tool"]), _days(members["days"], ToolCounts))
        else:
            digest = str(members["file"])
            if not _DIGEST.fullmatch(digest):
                raise ValueError(digest)
            self.files.add(LearnedFile(digest, _count(members["bytes"])))


def _put(lines: dict[Key, dict[str, Counts]], key: Key, days: dict[str, Counts]) -> None:
    if key in lines:
        raise ValueError(key)
    lines[key] = days


def _days(value: Any, kind: type[Counts]) -> dict[str, Counts]:
    found: dict[str, Counts] = {}
    for day, counts in _mapping(value):
        if len(_list(counts)) != len(kind.__match_args__):
            raise ValueError(counts)
        found[_day(day)] = kind(*map(_count, counts))
    return found


def _mapping(value: Any) -> Iterable[tuple[str, Any]]:
    items: Iterable[tuple[str, Any]] = value.items()
    return items


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError(value)
    return value


def _day(value: str) -> str:
    return value if value == UNDATED else date.fromisoformat(value).isoformat()


def _name(value: Any) -> str:
    if not usable_name(value):
        raise ValueError(value)
    return str(value)


def usable_name(value: object) -> bool:
    """Return whether *value* can be the name of a tool: a text of bounded length, and Unicode."""
    if not isinstance(value, str) or not value or len(value) > LONGEST_NAME:
        return False
    with suppress(UnicodeEncodeError):
        value.encode()
        return True
    return False
