"""`mcpg learn`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from mcpg.cli import build, options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_catalog, read_settings
from mcpg.cli.output import Output, check_replaceable
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.render import text as text_of
from mcpg.cli.settings import Settings
from mcpg.errors import Code as DiagnosticCode
from mcpg.errors import Diagnostic, NotFoundError, OutputError, UsageError, info, warning
from mcpg.files import MAX_BYTES, atomic_write, exists, is_file, locked_folder, read_bytes
from mcpg.relations.call_traces import Tally
from mcpg.relations.edges import EdgeKind
from mcpg.relations.learn import Learner, Lesson
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
from mcpg.text.suggestions import suggest
from mcpg.values import format_count, to_json

EXAMPLES = """\
mcpg learn calls.jsonl             # calls that `mcpg serve --record-calls` recorded
mcpg learn spans.jsonl.gz -b graph.mdld -o graph.observed.jsonl
mcpg bundle manifests/ graph.observed.jsonl -o graph.mdld
mcpg learn --forget billing_refund --forget-before 2026-01-01"""

STDIN = "-"
DEFAULT_OUTPUT = "graph.observed.jsonl"
"""The file that is written where nothing names one."""

_MARK = f'{{"schema":"{SCHEMA}"'.encode()

Traces = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TRACES",
        show_default=False,
        help="Files of recorded calls or OpenTelemetry spans, one JSON object a line, or files "
        "that `mcpg learn` wrote; - reads standard input.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help=f"The file to add to. [default: {DEFAULT_OUTPUT}]",
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Replace what was learned before."),
]
Forget = Annotated[
    list[str] | None,
    typer.Option(
        "--forget",
        metavar="TOOL",
        help="Remove everything about this tool id. Repeatable.",
    ),
]
ForgetBefore = Annotated[
    str | None,
    typer.Option(
        "--forget-before",
        metavar="DATE",
        help="Remove sessions that ended before this day, such as 2026-01-31.",
    ),
]
ForgetAll = Annotated[bool, typer.Option("--forget-all", help="Remove everything.")]
Shown = Annotated[
    int,
    typer.Option("--limit", "-n", metavar="N", min=0, help="Maximum number of edges to show."),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "learn", examples=EXAMPLES, more="docs/how-to/learn.md")(learn)


def learn(
    output: Output,
    *,
    traces: Traces = None,
    bundle: options.BundlePaths = None,
    target: Target = None,
    fresh: Fresh = False,
    forget: Forget = None,
    forget_before: ForgetBefore = None,
    forget_all: ForgetAll = False,
    limit: Shown = 20,
    check: options.Check = False,
    force: options.Force = False,
    form: options.ListFormat = "text",
) -> int:
    """Learn from recorded calls which tools follow each other.

    Adds counts to a file that `mcpg bundle` takes as a source. The file has no arguments, results
    or session ids. Calls that were counted before are not counted again.
    """
    settings = read_settings(bundle=bundle)
    chosen = LearnOptions(
        traces=tuple(traces or ()),
        target=_target(target, settings),
        is_fresh=fresh or forget_all,
        forgotten=tuple(forget or ()),
        before=_day(forget_before),
        is_check=check,
        force=force,
    )
    if not (chosen.traces or chosen.forgotten or chosen.before or forget_all):
        raise UsageError(
            "no traces are named", place="TRACES", remedy="name files of recorded calls, or -"
        )
    with _alone(chosen):
        return run(chosen, settings, form, limit, output)


def _alone(chosen: LearnOptions) -> AbstractContextManager[None]:
    """Keep other processes from adding to the same file between its reading and its writing."""
    if chosen.is_check:
        return nullcontext()
    return locked_folder(next(filter(exists, Path(chosen.target).absolute().parents)))


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """What is learned and forgotten.

    Attributes:
        traces: Files to learn from; `-` is standard input.
        target: The file of what is learned.
        is_fresh: Whether what was learned before is dropped.
        forgotten: Tools to forget.
        before: The day before which sessions are forgotten, "" for none.
        is_check: Whether nothing is written.
        force: Whether to replace a file that is not of this kind.
    """

    traces: tuple[str, ...]
    target: str
    is_fresh: bool
    forgotten: tuple[str, ...]
    before: str
    is_check: bool
    force: bool


def run(chosen: LearnOptions, settings: Settings, form: str, limit: int, output: Output) -> int:
    """Learn, forget, write, and return the exit code."""
    if not chosen.force:
        check_replaceable(chosen.target, (_MARK,), "file of observed calls")
    known = _catalogue(settings, output)
    lesson = _lesson(chosen, known, output)
    observed = _drop_forgotten(lesson.observed, chosen, known)
    if chosen.traces and not (lesson.observed.sessions or lesson.skipped):
        output.diagnostics(lesson.diagnostics)
        remedy = "see the format of recorded calls, or record some: `mcpg serve --record-calls`"
        output.error("no call could be used: nothing was written", remedy=remedy)
        return ExitCode.FINDINGS
    data = encode(observed).encode()
    if len(data) > MAX_BYTES:
        raise OutputError(
            f"would hold more than {MAX_BYTES:,} bytes",
            place=chosen.target,
            remedy="forget the oldest sessions: `mcpg learn --forget-before DATE`",
        )
    is_stale = not is_file(chosen.target) or read_bytes(chosen.target, MAX_BYTES) != data
    if is_stale and not chosen.is_check:
        atomic_write(chosen.target, data)
    edges = learned_edges(observed)
    if form == "json":
        changes: JsonObject = {"stale" if chosen.is_check else "written": is_stale}
        output.json(_report(chosen.target, observed, lesson, edges, changes))
    else:
        output.diagnostics(lesson.diagnostics)
        if form == "text":
            output.text(text_of(learn_blocks(observed, lesson.tally, edges, limit), output))
        else:
            write_listing(_listing(edges), form, output)
    return _report_observed(chosen, observed, output, is_stale=is_stale)


def _target(target: str | None, settings: Settings) -> str:
    if target is None:
        found = settings.find("learn.output")
        return str(found.value) if found else DEFAULT_OUTPUT
    if target == STDIN:
        raise UsageError("standard output takes the report", place="--output", remedy="name a file")
    return target


def _day(text: str | None) -> str:
    if text is None:
        return ""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(
            f"{text!r} is not a date", place="--forget-before", remedy="write it as 2026-01-31"
        ) from None


def _catalogue(settings: Settings, output: Output) -> ToolNames | None:
    """Return the tools of the bundle, `None` where none is named or found."""
    try:
        settings.bundles()
    except NotFoundError:
        if settings.find("bundle") is not None:
            raise
        output.note("there is no bundle: tools are named as the traces do")
        return None
    return ToolNames(open_catalog(settings, output).tools)


def _lesson(chosen: LearnOptions, known: ToolNames | None, output: Output) -> Lesson:
    is_kept = not chosen.is_fresh and is_file(chosen.target)
    if chosen.force:  # a file of another kind is replaced, counts are not
        is_kept = is_kept and _is_observed(chosen.target)
    added = [path for path in chosen.traces if path != STDIN and _is_observed(path)]
    before, noticed = _sum_observed([chosen.target, *added] if is_kept else added)
    learner = Learner(before, known)
    paths = [path for path in dict.fromkeys(chosen.traces) if path not in added]
    with output.progress("reading traces"), build.reduced_gc():
        learner.read([path for path in paths if path != STDIN])
        if STDIN in paths:
            learner.read_stream(sys.stdin.buffer if sys.stdin else BytesIO())
    lesson = learner.finish()
    return replace(lesson, diagnostics=(*noticed, *lesson.diagnostics))


def _sum_observed(paths: Sequence[str]) -> tuple[ObservedCalls, list[Diagnostic]]:
    """Return the sum of the observed files at *paths*, each counted once.

    Raises:
        SourceError: One is damaged.
    """
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
    observed: ObservedCalls, chosen: LearnOptions, known: ToolNames | None
) -> ObservedCalls:
    """Return *observed* without what is to be forgotten.

    Raises:
        NotFoundError: A tool is not in it.
    """
    names = list_tool_names(observed)
    gone: set[str] = set()
    for tool in chosen.forgotten:
        meant = known(tool) if known else None
        found = {tool} & names
        if known is not None and meant is not None:
            found |= {name for name in names if known(name) == meant}
        if not found:
            close = suggest(tool, names)
            raise NotFoundError(
                f"nothing is known of {tool!r}",
                place="--forget",
                remedy=f"did you mean {close[0]!r}?" if close else "use the id of a tool",
            )
        gone |= found
    kept = without_tools(observed, gone) if gone else observed
    return since(kept, chosen.before) if chosen.before else kept


def _report_observed(
    chosen: LearnOptions, observed: ObservedCalls, output: Output, *, is_stale: bool
) -> int:
    facts = ", ".join(
        (
            format_count(sum(observed.sessions.values()), "session"),
            format_count(len(observed.tools), "tool"),
            format_count(len(observed.pairs), "pair"),
        )
    )
    if chosen.is_check:
        return build.report_freshness(
            chosen.target, ["its counts differ"] if is_stale else [], facts, output
        )
    output.note(f"{'wrote' if is_stale else 'up to date:'} {chosen.target}: {facts}")
    return ExitCode.DONE


# What `mcpg learn` found, as JSON and as blocks


def _report(
    target: str,
    observed: ObservedCalls,
    lesson: Lesson,
    edges: Sequence[LearnedEdge],
    changes: JsonObject,
) -> JsonObject:
    return {
        "schema": "mcpg/learn/1",
        "path": target,
        **changes,
        "sessions": sum(observed.sessions.values()),
        "tools": len(observed.tools),
        "pairs": len(observed.pairs),
        "first": min(filter(None, observed.sessions), default=None),
        "last": observed.newest or None,
        "read": to_json(lesson.tally, without=("unknown_tools",)),
        "edges": [_edge_json(one) for one in edges],
        "diagnostics": diagnostics_json(lesson.diagnostics),
    }


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
    """Return what was read, and the strongest edges, at most *limit*."""
    days = sorted(filter(None, observed.sessions))
    calls = sum(one.calls for days_of in observed.tools.values() for one in days_of.values())
    yield FactList(
        (
            ("read", _read(tally)),
            (
                "known",
                f"{format_count(calls, 'call')} of {format_count(len(observed.tools), 'tool')}",
            ),
            ("days", f"{days[0]} to {days[-1]}" if days else ""),
            ("edges", _kinds(edges)),
        )
    )
    ranked = sorted(edges, key=lambda one: (-one.edge.weight, one.edge.source, one.edge.target))
    if shown := ranked[:limit]:
        is_cut = len(shown) < len(edges)
        title = f"The strongest {len(shown)} of {len(edges)} edges" if is_cut else "Edges"
        yield Section("edges", title, (_table(shown),))


def _listing(edges: Sequence[LearnedEdge]) -> RecordListing:
    """Return all *edges* as a list, each by the tool that it leaves."""
    members = ("source", "kind", "target", "weight", "sessions", "of", "failed", "last", "reason")
    return RecordListing([_edge_json(one) for one in edges], members, "source", _table(edges))


def _table(edges: Sequence[LearnedEdge]) -> Table:
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


def _read(tally: Tally) -> str:
    if not tally.lines:
        return ""
    failures = f", {tally.failures:,} of them failed" if tally.failures else ""
    return f"{format_count(tally.calls, 'call')} in {format_count(tally.lines, 'line')}{failures}"


def _kinds(edges: Sequence[LearnedEdge]) -> str:
    steps = sum(one.edge.kind is EdgeKind.NEXT_STEP for one in edges)
    return f"{format_count(steps, 'next step')}, {len(edges) - steps:,} related"
