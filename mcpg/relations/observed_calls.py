"""Learn edges from observed calls: next steps, and tools that are used together.

A tool that follows another more often than it follows any tool gets an edge: a tool that follows
everything is not evidence. The difference is tested by the likelihood ratio (Dunning, "Accurate
methods for the statistics of surprise and coincidence", Computational Linguistics 19, 1993), and
the expected share is shrunk towards the share of a tool that follows nothing. The more sessions
there are, the more pairs are seen by chance, so the ratio and the number of sessions that an edge
needs grow with their logarithm (Schwarz, "Estimating the dimension of a model", Annals of
Statistics 6, 1978).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from heapq import nsmallest
from math import log, log10, sqrt
from typing import Any, TypeVar

from mcpg.catalog.catalog import ToolLookup
from mcpg.catalog.model import Tool
from mcpg.errors import SourceError
from mcpg.relations.edges import Edge, EdgeKind, EdgeOrigin, compute_weight
from mcpg.text.json_values import JsonObject
from mcpg.values import format_count

SCHEMA = "mcpg/observed/1"

UNDATED = ""
"""The day of sessions whose calls have no time."""

LONGEST_NAME = 512

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
    """

    sessions: int = 0
    succeeded: int = 0
    calls: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class PairCounts:
    """In how many sessions two tools, the first and the second by name, were used together.

    Failed calls count only in attributes for failures.

    Attributes:
        together: Sessions with a call of each within the window, in turn or at once.
        forward: Of these, sessions with a call of the second after the first had ended.
        forward_next: Of these, sessions without another call between them.
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
    """What traces show, by day: the day on which a session ended, in UTC."""

    sessions: Mapping[str, int] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, ToolCounts]] = field(default_factory=dict)
    pairs: Mapping[Pair, Mapping[str, PairCounts]] = field(default_factory=dict)
    files: frozenset[LearnedFile] = frozenset()

    @property
    def newest(self) -> str:
        """The last day, "" if none is known."""
        return max(self.sessions, default=UNDATED)


NOTHING = ObservedCalls()

Counts = TypeVar("Counts", ToolCounts, PairCounts)


def numbers(counts: ToolCounts | PairCounts) -> list[int]:
    """Return the numbers of *counts* in the order of their class."""
    return [getattr(counts, name) for name in counts.__match_args__]


def total(counts: Iterable[Counts], empty: Counts) -> Counts:
    """Return the sum of *counts*, *empty* without any."""
    columns = zip(numbers(empty), *map(numbers, counts), strict=True)
    return type(empty)(*map(sum, columns))


def merge(parts: Iterable[ObservedCalls]) -> ObservedCalls:
    """Return the sum of *parts*, in any order.

    The sum counts equal traces twice: the reader of traces leaves out known ones.
    """
    parts = [part for part in parts if part != NOTHING]
    if len(parts) == 1:
        return parts[0]
    sessions: Counter[str] = Counter()
    for part in parts:
        sessions.update(part.sessions)
    tools: dict[str, dict[str, ToolCounts]] = {}
    pairs: dict[Pair, dict[str, PairCounts]] = {}
    for part in parts:
        _add_counts(tools, part.tools, ToolCounts())
        _add_counts(pairs, part.pairs, PairCounts())
    return ObservedCalls(
        sessions, tools, pairs, frozenset(file for part in parts for file in part.files)
    )


def _add_counts(
    merged: dict[Key, dict[str, Counts]], more: Mapping[Key, Mapping[str, Counts]], empty: Counts
) -> None:
    for key, days in more.items():
        known = merged.setdefault(key, {})
        for day, counts in days.items():
            known[day] = total((known[day], counts), empty) if day in known else counts


def rename_tools(observed: ObservedCalls, name_of: Callable[[str], str | None]) -> ObservedCalls:
    """Return *observed* with other names; tools without one are left out."""
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
    together, *forward = numbers(counts)
    return PairCounts(together, *forward[3:], *forward[:3])


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
    """Return *observed* without the sessions before *day*; undated sessions stay."""

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
    lines: list[JsonObject] = [
        {"schema": SCHEMA, "sessions": dict(sorted(observed.sessions.items()))}
    ]
    lines += [{"file": file.digest, "bytes": file.size} for file in sorted(observed.files)]
    for name, days in sorted(observed.tools.items()):
        lines.append({"tool": name, "days": {day: [*numbers(days[day])] for day in sorted(days)}})
    for pair, counts in sorted(observed.pairs.items()):
        by_day: JsonObject = {day: [*numbers(counts[day])] for day in sorted(counts)}
        lines.append({"pair": [*pair], "days": by_day})
    return "".join(
        f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines
    )


def decode(text: str, place: str) -> ObservedCalls:
    """Read the text of a file."""
    sessions: dict[str, int] | None = None
    tools: dict[str, dict[str, ToolCounts]] = {}
    pairs: dict[Pair, dict[str, PairCounts]] = {}
    files: set[LearnedFile] = set()
    # The lines of JSON Lines end with a line feed; other line separators may be in names.
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if not line.strip():
                continue
            members = json.loads(line)
            if sessions is not None:
                _read_line(members, tools, pairs, files)
            elif members["schema"] == SCHEMA:
                sessions = {_day(day): _count(one) for day, one in members["sessions"].items()}
            else:
                raise ValueError(members["schema"])  # noqa: TRY301 - as of all that is damaged
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as fault:
            message = "is not a line of an observed file"
            raise SourceError(message, place=f"{place}:{number}", remedy=_REMEDY) from fault
    if sessions is None:
        raise SourceError("is not an observed file", place=place, remedy=_REMEDY)
    return ObservedCalls(sessions, tools, pairs, frozenset(files))


def _read_line(
    members: Any,
    tools: dict[str, dict[str, ToolCounts]],
    pairs: dict[Pair, dict[str, PairCounts]],
    files: set[LearnedFile],
) -> None:
    """Read one line; a fault in it raises an error of Python's own."""
    if "pair" in members:
        first, second = _list(members["pair"], 2)
        is_pair = usable_name(first) and usable_name(second) and first < second
        if not is_pair or (first, second) in pairs:
            raise ValueError(first)
        pairs[first, second] = _read_days(members["days"], PairCounts)
    elif "tool" in members:
        name = members["tool"]
        if not usable_name(name) or name in tools:
            raise ValueError(name)
        tools[name] = _read_days(members["days"], ToolCounts)
    else:
        digest = str(members["file"])
        if not _DIGEST.fullmatch(digest):
            raise ValueError(digest)
        files.add(LearnedFile(digest, _count(members["bytes"])))


def _read_days(value: Any, kind: type[Counts]) -> dict[str, Counts]:
    size = len(kind.__match_args__)
    return {_day(day): kind(*map(_count, _list(one, size))) for day, one in value.items()}


def _list(value: Any, size: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != size:
        raise ValueError(value)
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError(value)
    return value


def _day(value: str) -> str:
    return value if value == UNDATED else date.fromisoformat(value).isoformat()


def usable_name(value: object) -> bool:
    """Return whether *value* can be the name of a tool: a text of bounded length, and Unicode."""
    if not isinstance(value, str) or not value or len(value) > LONGEST_NAME:
        return False
    with suppress(UnicodeEncodeError):
        value.encode()
        return True
    return False


NEXT_STEPS_PER_TOOL = 5
RELATED_PER_TOOL = 4

HALF_LIFE = 90
"""Days after which half of what age can take off a weight is taken off."""

_OLDEST_FACTOR = 0.5
# With fewer sessions, an edge is less certain.
_SURE, _UNSURE_FACTOR = 3, 0.7
# Observations of a tool that nothing follows, added to the counts of all other tools.
_PRIOR = 10.0
_LEAST_SHARE = 0.1
_LEAST_SURPRISE = 3.84  # the 95th percentile of chi squared with one degree of freedom
# With ten times as many sessions from here on, an edge needs one more.
_FEW = 10
# At least a third of the observed share must be beyond the expected share.
_LEAST_GAIN = 1 / 3
_LEAST_ORDER = 2 / 3
_LEAST_SUCCESS = 0.5


@dataclass(frozen=True, slots=True)
class LearnedEdge:
    """An edge and the counts behind it.

    Attributes:
        sessions: Sessions in which the target followed the source, or was used together with it.
        of: Sessions in which the source succeeded.
        failed: Sessions in which the target failed after the source, and never succeeded.
        last: The last day on which that was seen, "" if it is not known.
    """

    edge: Edge
    sessions: int
    of: int
    failed: int
    last: str


@dataclass(frozen=True, slots=True)
class _PairEvidence:
    """The evidence about two tools, from the side of one of them.

    Attributes:
        counts: Their counts over all days, this tool first.
    """

    target: str
    counts: PairCounts
    last: str

    def count(self, kind: EdgeKind) -> float:
        """Return in how many sessions an edge shows; one after other tools is half a next step."""
        if kind is EdgeKind.RELATED:
            return float(self.counts.together)
        return (self.counts.forward + self.counts.forward_next) / 2

    def shows(self, kind: EdgeKind) -> bool:
        """Return whether there is evidence of an edge; tools in a clear order are not related.

        An order is clear if one tool mostly follows when both are used, even with one session less.
        """
        counts = self.counts
        clear = _LEAST_ORDER * (counts.together + 2)
        if kind is EdgeKind.NEXT_STEP:
            return counts.forward > 0 and counts.forward + 1 >= clear
        return counts.together > 0 and max(counts.forward, counts.backward) + 1 < clear


def learned_edges(observed: ObservedCalls) -> list[LearnedEdge]:
    """Return the edges in *observed* calls, by source, kind and weight.

    Each tool has at most five next steps and four related tools. A pair whose order is clear makes
    a next step; another pair makes related tools, in both directions.
    """
    succeeded = {
        name: total(days.values(), ToolCounts()).succeeded for name, days in observed.tools.items()
    }
    evidence: defaultdict[str, list[_PairEvidence]] = defaultdict(list)
    for (first, second), days in sorted(observed.pairs.items()):
        if first in observed.tools and second in observed.tools:
            counts = total(days.values(), PairCounts())
            last = max((day for day, one in days.items() if one.together), default=UNDATED)
            evidence[first].append(_PairEvidence(second, counts, last))
            evidence[second].append(_PairEvidence(first, turn(counts), last))
    by_tool = dict(evidence)
    sessions = sum(observed.sessions.values())
    kinds = (
        (_Surprise(succeeded, by_tool, sessions, EdgeKind.NEXT_STEP), NEXT_STEPS_PER_TOOL),
        (_Surprise(succeeded, by_tool, sessions, EdgeKind.RELATED), RELATED_PER_TOOL),
    )
    least = least_sessions(sessions)
    learned: list[LearnedEdge] = []
    for source in sorted(by_tool):
        for surprise, most in kinds:
            edges = [_learn_edge(source, one, surprise, observed.newest) for one in by_tool[source]]
            found = [one for one in edges if one is not None and one.sessions >= least]
            learned += nsmallest(most, found, lambda one: (-one.edge.weight, one.edge.target))
    return learned


def least_sessions(number: int) -> int:
    """Return how many of a *number* of sessions must show an edge: one of less than 100."""
    return max(1, int(log10(max(number, 1) / _FEW)) + 1)


class _Surprise:
    """How much more often two tools are seen together than is expected."""

    def __init__(
        self,
        succeeded: Mapping[str, int],
        by_tool: Mapping[str, Sequence[_PairEvidence]],
        sessions: int,
        kind: EdgeKind,
    ) -> None:
        self.kind = kind
        self.succeeded = succeeded
        # Likelihood ratio, twice its logarithm, below which all is chance.
        self._least = max(_LEAST_SURPRISE, log(sessions) if sessions else 0.0)
        self._all = sum(succeeded.values())
        self._seen: defaultdict[str, float] = defaultdict(float)
        for evidence in by_tool.values():
            for one in evidence:
                self._seen[one.target] += one.count(kind)

    def weigh(self, source: str, one: _PairEvidence) -> float:
        """Return the strength of the evidence of an edge, in [0, 1]; 0 if chance explains it.

        It is the geometric mean of the share of the source's sessions, and of the part of this
        share beyond the expected one.
        """
        number, sessions = one.count(self.kind), self.succeeded[source]
        if not sessions:
            return 0.0
        share = min(1.0, number / sessions)
        elsewhere = max(0.0, self._seen[one.target] - number)
        others = self._all - sessions - self.succeeded[one.target]
        expected = min(1.0, (elsewhere + 0.5) / (max(0, others) + _PRIOR + 1))
        if share < _LEAST_SHARE or share <= expected:
            return 0.0
        gain = 1 - expected / share
        # The Kullback-Leibler divergence of both shares.
        rest = (1 - share) * log((1 - share) / (1 - expected)) if share < 1 else 0.0
        divergence = share * log(share / expected) + rest
        is_chance = 2 * sessions * divergence < self._least
        return 0.0 if is_chance or gain < _LEAST_GAIN else sqrt(share * gain)


def _learn_edge(
    source: str, one: _PairEvidence, surprise: _Surprise, newest: str
) -> LearnedEdge | None:
    counts, of, kind = one.counts, surprise.succeeded[source], surprise.kind
    if not one.shows(kind):
        return None
    sessions, strength = counts.together, surprise.weigh(source, one)
    reason = f"used together with it in {sessions:,} of {format_count(of, 'session')}"
    if kind is EdgeKind.NEXT_STEP:
        sessions, failed = counts.forward, counts.forward_failed
        success = sessions / (sessions + failed)  # of the sessions in which it was tried
        strength = strength * success if success >= _LEAST_SUCCESS else 0.0
        reason = f"followed it in {sessions:,} of {format_count(of, 'session')}"
        reason += f", failed in {failed:,}" if failed else ""
    if not strength:
        return None
    sure = 1.0 if sessions >= _SURE else _UNSURE_FACTOR
    # 1 for the newest day of all traces, less the older, and never below a half.
    recency = 1.0
    if UNDATED not in (one.last, newest):
        # A file that is damaged may lack the sessions of a day.
        age = max(0, (date.fromisoformat(newest) - date.fromisoformat(one.last)).days)
        recency = float(_OLDEST_FACTOR + (1 - _OLDEST_FACTOR) * 2 ** (-age / HALF_LIFE))
    weight = compute_weight(kind, EdgeOrigin.OBSERVED, strength * sure * recency)
    edge = Edge(kind, source, one.target, weight, reason, EdgeOrigin.OBSERVED)
    return LearnedEdge(edge, sessions, of, counts.forward_failed, one.last)


class ToolNames:
    """Finds tools by what traces call them."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._lookup = ToolLookup(tuple(tools))

    def __call__(self, name: str, server: str = "") -> str | None:
        """Return the id of the tool called *name*, `None` if none or several have it.

        It is an id in any case, `source::name`, or a raw name; *server* is its source, if given.
        """
        found = self._lookup.get(name)
        if found is not None:
            return found.id
        reference = f"{server}::{name}" if server else name
        # Other texts may be patterns, which traces do not have.
        if self._lookup.is_name(reference):
            matching = self._lookup.matching(reference)
            return matching[0].id if len(matching) == 1 else None
        # A recorded call has the id of its tool beside its source.
        source, _, tool_id = reference.partition("::")
        tool = self._lookup.get(tool_id)
        is_same = tool is not None and tool.source_id.casefold() == source.strip().casefold()
        return tool.id if tool is not None and is_same else None
