"""Learn from traces: read what is new in them, and report what could not be used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from mcpg.errors import Code, Diagnostic, info, warning
from mcpg.relations.call_traces import (
    LONGEST_LINE,
    CallReader,
    Tally,
    decompress_stream,
    find_beginnings,
)
from mcpg.relations.observed_calls import NOTHING, LearnedFile, ObservedCalls, merge
from mcpg.relations.sessions import BOUNDS, SessionBounds, SessionCounter, SessionStatistics
from mcpg.values import format_count

_SHOWN = 5
_STDIN = "standard input"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What was learned from traces.

    Attributes:
        observed: The counts, together with those from before.
        tally: What was read.
        diagnostics: What could not be used, and what was repaired.
        skipped: Files that were known already.
    """

    observed: ObservedCalls
    tally: Tally
    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[str, ...]


class Learner:
    """Learns from traces, one after the other; sessions may go on from one to the next."""

    def __init__(
        self,
        before: ObservedCalls = NOTHING,
        name_of: Callable[[str, str], str | None] | None = None,
        bounds: SessionBounds = BOUNDS,
    ) -> None:
        """Prepare to learn.

        Args:
            before: What is known already; of a file that was read for it, only what is new counts.
            name_of: See `CallReader`.
            bounds: How much is held at once.
        """
        self._before = before
        self._counter = SessionCounter(bounds)
        self._reader = CallReader(self._counter, name_of)
        self._files: set[LearnedFile] = set(before.files)
        self._skipped: list[str] = []

    def read(self, paths: Collection[str]) -> None:
        """Learn from the files at *paths* what is not known.

        Of a file and a copy of it that has grown since, both count once, in any order.

        Raises:
            SourceError: One cannot be read.
        """
        given = (find_beginnings(path, ()).contents for path in paths if len(paths) > 1)
        known = self._files.union(given)
        files = [find_beginnings(path, known) for path in paths]
        for file in files:
            learned = file.count_learned(self._files)
            self._files |= {one for one in file.beginnings if one.size <= learned}
        for file in files:
            if file.contents in self._files:
                self._skipped.append(file.path)
                continue
            with file.open(file.count_learned(self._files)) as stream:
                self._reader.read(stream, file.path)
            # What it began with stays known, for an older copy may be read later.
            self._files |= {file.contents, *file.beginnings}

    def read_stream(self, stream: IO[bytes]) -> None:
        """Learn from *stream*, which is not remembered: the same bytes count again."""
        self._reader.read(decompress_stream(stream, _STDIN), _STDIN)

    def finish(self) -> Lesson:
        """Return what was learned."""
        learned = self._counter.finish(frozenset(self._files))
        before = self._before
        kept = ObservedCalls(before.sessions, before.tools, before.pairs)
        known = "was learned from before: it is not counted again"
        return Lesson(
            merge([kept, learned]),
            self._reader.tally,
            (
                *[info(Code.TRACE_KNOWN, known, path) for path in self._skipped],
                *_report_skipped(self._reader.tally),
                *_report_noticed(self._reader.tally, self._counter.noticed),
            ),
            tuple(self._skipped),
        )


def learn(
    paths: Iterable[str],
    before: ObservedCalls = NOTHING,
    name_of: Callable[[str, str], str | None] | None = None,
) -> Lesson:
    """Learn from the traces at *paths*.

    Args:
        paths: Files, in any order of time.
        before: See `Learner`.
        name_of: See `CallReader`.

    Raises:
        SourceError: A file cannot be read.
    """
    learner = Learner(before, name_of)
    learner.read([*paths])
    return learner.finish()


def _report_skipped(tally: Tally) -> Iterator[Diagnostic]:
    reasons = (
        (tally.broken, "line", "not a JSON object"),
        (tally.too_long, "line", f"longer than {LONGEST_LINE:,} bytes"),
        (tally.nameless, "call", "without the name of a tool"),
        (tally.sessionless, "call", "without a session"),
        (tally.cut, "compressed file", "damaged or cut off"),
    )
    for count, noun, reason in reasons:
        if count:
            yield warning(Code.TRACE_SKIPPED, f"skipped {format_count(count, noun)}: {reason}")
    if tally.unknown:
        tools = tally.unknown_tools
        first = sorted(tools, key=lambda name: (-tools[name], name))[:_SHOWN]
        names = ", ".join(f"{name!r} ({tools[name]:,})" for name in first)
        more = ", ..." if len(tools) > _SHOWN else ""
        message = (
            f"skipped {format_count(tally.unknown, 'call')} of tools that are not in the catalogue"
        )
        yield warning(Code.TRACE_SKIPPED, f"{message}: {names}{more}")


def _report_noticed(tally: Tally, noticed: SessionStatistics) -> Iterator[Diagnostic]:
    repairs = (
        (tally.timeless, "no valid time, so the order of the lines counts"),
        (tally.negative, "an end before the start, so no time between them"),
        (noticed.backwards, "earlier than the call before, so sorted by time"),
        (noticed.repeated, "the same as another one, so counted once"),
        (noticed.overlapping, "at the same time as another one, so in no order"),
    )
    for count, reason in repairs:
        if count:
            yield info(Code.TRACE_REPAIRED, f"{format_count(count, 'call')}: {reason}")
    bounds = (
        (noticed.parted, "session", "counted in parts, as too many were open or one was too long"),
        (noticed.tools_left_out, "call", "left out: there are too many different tools"),
        (noticed.pairs_left_out, "pair", "left out: there are too many different pairs of tools"),
    )
    for count, noun, reason in bounds:
        if count:
            yield warning(Code.TRACE_BOUNDED, f"{format_count(count, noun)} {reason}")
