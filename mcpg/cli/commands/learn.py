"""`mcpg learn`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Annotated

from mcpg.cli import build, options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_catalog, read_settings
from mcpg.cli.options import argument, option
from mcpg.cli.output import Output, check_replaceable
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.render import text as text_of
from mcpg.cli.settings import Settings
from mcpg.errors import Code as DiagnosticCode
from mcpg.errors import Diagnostic, NotFoundError, OutputError, UsageError, info, warning
from mcpg.files import MAX_BYTES, atomic_write, exists, is_file, locked_folder, read_bytes
from mcpg.relations.edges import EdgeKind
from mcpg.relations.learn import Learner, Lesson, Tally
from mcpg.relations.observed_calls import (
    NOTHING,
    SCHEMA,
    LearnedEdge,
    ObservedCalls,
    ToolNames,
    decode,
    encode,
    learned_edges,
    list_tool_names,
    merge,
    since,
    without_tools,
)
from mcpg.show.blocks import Block, CodeSpan, Column, FactList, Score, Section, Table
from mcpg.show.json import diagnostics_json
from mcpg.sources.model import read_text
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import suggest
from mcpg.values import format_count, to_json

EXAMPLES = """\
mcpg learn calls.jsonl             # calls that `mcpg serve --record-calls` recorded
mcpg learn spans.jsonl.gz -b graph.mdld -o graph.observed.jsonl
mcpg bundle manifests/ graph.observed.jsonl -o graph.mdld
mcpg learn --forget billing_refund --forget-before 2026-01-01"""

STDIN = "-"
DEFAULT_OUTPUT = "graph.observed.jsonl"
"""The file to write if nothing names one."""

_MEMBERS = ("source", "kind", "target", "weight", "sessions", "of", "failed", "last", "reason")
_MARK = f'{{"schema":"{SCHEMA}"'.encode()

MORE = "docs/how-to/learn.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnOptions:
    """Options of `mcpg learn`."""

    traces: Annotated[
        list[str] | None,
        argument(
            "TRACES",
            "Files of recorded calls or OpenTelemetry spans as JSON lines, or files of `mcpg "
            "learn`; - reads standard input.",
        ),
    ] = None
    bundle: options.BundlePaths = None
    target: Annotated[
        str | None,
        option("--output -o", f"The file to add to. [default: {DEFAULT_OUTPUT}]", "FILE"),
    ] = None
    reset: Annotated[bool, option("--reset", "Replace the learned relations.")] = False
    forget: Annotated[
        list[str] | None,
        option("--forget", "Remove everything about this tool id. Repeatable.", "TOOL"),
    ] = None
    forget_before: Annotated[
        str | None,
        option(
            "--forget-before",
            "Remove sessions that ended before this day, such as 2026-01-31.",
            "DATE",
        ),
    ] = None
    forget_all: Annotated[bool, option("--forget-all", "Remove everything.")] = False
    limit: Annotated[int, option("--limit -n", "Maximum number of edges to show.", "N", min=0)] = 20
    check: options.Check = False
    force: options.Force = False
    form: options.ListFormat = "text"


def run(output: Output, chosen: LearnOptions) -> int:
    """Learn from recorded calls which tools follow each other.

    Adds counts, without arguments, results or session ids, to a file that is a source of `mcpg
    bundle`. Each call is counted once.
    """
    settings = read_settings(bundle=chosen.bundle)
    target = chosen.target
    if target is None:
        found = settings.find("learn.output")
        target = str(found.value) if found else DEFAULT_OUTPUT
    elif target == STDIN:
        message = "standard output takes the report"
        raise UsageError(message, place="--output", remedy="name a file")
    day = chosen.forget_before or ""
    try:
        day = day if chosen.forget_before is None else date.fromisoformat(day).isoformat()
    except ValueError:
        message = f"{day!r} is not a date"
        remedy = "write it as 2026-01-31"
        raise UsageError(message, place="--forget-before", remedy=remedy) from None
    if not (chosen.traces or chosen.forget or day or chosen.forget_all):
        raise UsageError(
            "no traces are named", place="TRACES", remedy="name files of recorded calls, or -"
        )
    if chosen.check:
        return _learn(chosen, target, day, settings, output)
    # No other process adds to the file between its reading and its writing.
    with locked_folder(next(filter(exists, Path(target).absolute().parents))):
        return _learn(chosen, target, day, settings, output)


def _learn(chosen: LearnOptions, target: str, day: str, settings: Settings, output: Output) -> int:
    if not chosen.force:
        check_replaceable(target, (_MARK,), "file of observed calls")
    known: ToolNames | None = None
    try:
        settings.bundles()
    except NotFoundError:
        if settings.find("bundle") is not None:
            raise
        output.note("no bundle: tools are named as in the traces")
    else:
        known = ToolNames(open_catalog(settings, output).tools)
    lesson = _read_traces(chosen, target, known, output)
    observed = _drop_forgotten(lesson.observed, chosen.forget or (), known)
    observed = since(observed, day) if day else observed
    if chosen.traces and not (lesson.observed.sessions or lesson.skipped):
        output.diagnostics(lesson.diagnostics)
        remedy = "record calls with `mcpg serve --record-calls FILE`; format: docs/how-to/learn.md"
        output.error("no call could be used: nothing was written", remedy=remedy)
        return ExitCode.FINDINGS
    data = encode(observed).encode()
    if len(data) > MAX_BYTES:
        raise OutputError(
            f"would be larger than {MAX_BYTES:,} bytes",
            place=target,
            remedy="forget the oldest sessions: `mcpg learn --forget-before DATE`",
        )
    is_stale = not is_file(target) or read_bytes(target, MAX_BYTES) != data
    if is_stale and not chosen.check:
        atomic_write(target, data)
    _report(chosen, target, observed, lesson, output, is_stale=is_stale)
    facts = (
        format_count(sum(observed.sessions.values()), "session"),
        format_count(len(observed.tools), "tool"),
        format_count(len(observed.pairs), "pair"),
    )
    if chosen.check:
        reasons = ["its counts differ"] if is_stale else []
        return build.report_freshness(target, reasons, ", ".join(facts), output)
    output.note(f"{'wrote' if is_stale else 'up to date:'} {target}: {', '.join(facts)}")
    return ExitCode.DONE


def _read_traces(
    chosen: LearnOptions, target: str, known: ToolNames | None, output: Output
) -> Lesson:
    traces = dict.fromkeys(chosen.traces or ())
    is_kept = not (chosen.reset or chosen.forget_all) and is_file(target)
    if chosen.force:  # a file of another kind is replaced, counts are not
        is_kept = is_kept and _is_observed(target)
    added = [path for path in chosen.traces or () if path != STDIN and _is_observed(path)]
    before, noticed = _sum_observed([target, *added] if is_kept else added)
    learner = Learner(before, known)
    with output.progress("reading traces"), build.reduced_gc():
        learner.read([path for path in traces if path != STDIN and path not in added])
        if STDIN in traces:
            learner.read_stream(sys.stdin.buffer if sys.stdin else BytesIO())
    lesson = learner.finish()
    return replace(lesson, diagnostics=(*noticed, *lesson.diagnostics))


def _sum_observed(paths: Sequence[str]) -> tuple[ObservedCalls, list[Diagnostic]]:
    """Return the sum of the observed files at *paths*, each counted once."""
    total = NOTHING
    noticed: list[Diagnostic] = []
    seen: set[str] = set()
    for path in paths:
        if os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        part = decode(read_text(Path(path), path), path)
        shared = len(part.files & total.files)
        if shared and shared == len(part.files):
            message = "all its files of calls were learned from before: it is not added"
            noticed.append(info(DiagnosticCode.TRACE_KNOWN, message, path))
            continue
        if shared:
            files = format_count(shared, "file")
            message = f"{files} of calls in it were learned from before: their calls count twice"
            noticed.append(warning(DiagnosticCode.TRACE_KNOWN, message, path))
        total = merge([total, part])
    return total, noticed


def _is_observed(path: str) -> bool:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(_MARK)) == _MARK
    except (OSError, ValueError):  # reading it reports the error
        return False


def _drop_forgotten(
    observed: ObservedCalls, tools: Iterable[str], known: ToolNames | None
) -> ObservedCalls:
    names = list_tool_names(observed)
    gone: set[str] = set()
    for tool in tools:
        meant = known(tool) if known else None
        found = {tool} & names
        if known is not None and meant is not None:
            found |= {name for name in names if known(name) == meant}
        if not found:
            close = suggest(tool, names)
            remedy = f"did you mean {close[0]!r}?" if close else "use the id of a tool"
            raise NotFoundError(
                f"no calls of {tool!r} are recorded", place="--forget", remedy=remedy
            )
        gone |= found
    return without_tools(observed, gone) if gone else observed


def _report(
    chosen: LearnOptions,
    target: str,
    observed: ObservedCalls,
    lesson: Lesson,
    output: Output,
    *,
    is_stale: bool,
) -> None:
    edges = learned_edges(observed)
    if chosen.form == "json":
        output.json(
            {
                "schema": "mcpg/learn/1",
                "path": target,
                "stale" if chosen.check else "written": is_stale,
                "sessions": sum(observed.sessions.values()),
                "tools": len(observed.tools),
                "pairs": len(observed.pairs),
                "first": min(filter(None, observed.sessions), default=None),
                "last": observed.newest or None,
                "read": to_json(lesson.tally, without=("unknown_tools",)),
                "edges": [_edge_json(one) for one in edges],
                "diagnostics": diagnostics_json(lesson.diagnostics),
            }
        )
        return
    output.diagnostics(lesson.diagnostics)
    if chosen.form == "text":
        output.text(text_of(learn_blocks(observed, lesson.tally, edges, chosen.limit), output))
    else:
        records = [_edge_json(one) for one in edges]
        listing = RecordListing(records, _MEMBERS, "source", _draw_edges(edges))
        write_listing(listing, chosen.form, output)


def _edge_json(one: LearnedEdge) -> JsonObject:
    edge = one.edge
    return {
        "source": edge.source,
        "target": edge.target,
        "kind": edge.kind.value,
        "weight": edge.weight,
        "reason": edge.reason,
        "sessions": one.sessions,
        "of": one.of,
        "failed": one.failed,
        "last": one.last or None,
    }


def learn_blocks(
    observed: ObservedCalls, tally: Tally, edges: Sequence[LearnedEdge], limit: int
) -> Iterator[Block]:
    """Return the counts of calls, and the strongest edges, at most *limit*."""
    days = sorted(filter(None, observed.sessions))
    calls = sum(one.calls for days_of in observed.tools.values() for one in days_of.values())
    failures = f", {tally.failures:,} of them failed" if tally.failures else ""
    lines = f"{format_count(tally.calls, 'call')} in {format_count(tally.lines, 'line')}{failures}"
    known = f"{format_count(calls, 'call')} of {format_count(len(observed.tools), 'tool')}"
    steps = sum(one.edge.kind is EdgeKind.NEXT_STEP for one in edges)
    yield FactList(
        (
            ("read", lines if tally.lines else ""),
            ("known", known),
            ("days", f"{days[0]} to {days[-1]}" if days else ""),
            ("edges", f"{format_count(steps, 'next step')}, {len(edges) - steps:,} related"),
        )
    )
    ranked = sorted(edges, key=lambda one: (-one.edge.weight, one.edge.source, one.edge.target))
    if shown := ranked[:limit]:
        is_cut = len(shown) < len(edges)
        title = f"The strongest {len(shown)} of {len(edges)} edges" if is_cut else "Edges"
        yield Section("edges", title, (_draw_edges(shown),))


def _draw_edges(edges: Sequence[LearnedEdge]) -> Table:
    rows = tuple(
        (
            CodeSpan(one.edge.source),
            "next step" if one.edge.kind is EdgeKind.NEXT_STEP else "related",
            CodeSpan(one.edge.target),
            Score(one.edge.weight),
            one.edge.reason,
        )
        for one in edges
    )
    columns = (
        Column("tool", is_whole=True),
        Column("edge"),
        Column("to", is_whole=True),
        Column("weight", is_number=True),
        Column("why"),
    )
    return Table("Edges", columns, rows, has_heads=True)
