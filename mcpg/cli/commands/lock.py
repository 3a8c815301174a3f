"""`mcpg lock`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from mcpg.bundle import Assembly, assemble
from mcpg.cli import options
from mcpg.cli.build import BuildSources, note_failures
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.locks import change_json, lock_path, shown_changes
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.terminal import is_terminal
from mcpg.engine.loading import with_graphs_read
from mcpg.errors import Diagnostic, InputError, NotFoundError, SourceError, UsageError
from mcpg.files import atomic_write, locked_folder
from mcpg.review.lock import (
    DIGITS,
    ApprovedTools,
    LockChange,
    LockChangeKind,
    ToolStatement,
    approve,
    lock_changes,
    lock_text,
    read_lock,
)
from mcpg.review.lock_sources import stated_in
from mcpg.show.blocks import CodeSpan, Column, Styled, Table
from mcpg.show.json import diagnostics_json
from mcpg.sources import SourceBatch, is_failure
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import suggest
from mcpg.values import format_count

EXAMPLES = """\
mcpg lock                          # the sources of mcpg.toml; writes mcpg.lock once
mcpg lock manifests/ mcp.json -o tools.lock
mcpg lock --check                  # in CI: exit 1 when a tool is not as approved
mcpg lock --approve shop::refund_order@f5d1...   # the digest that the diff shows
mcpg lock --approve-all --yes"""

MORE = "docs/how-to/lock.md"

_STYLES = {"changed": "yellow", "new": "green", "missing": "red"}
_SHOWN = 80
_NAMED = 3
# Always a digest, so that no server can call a tool like another one with its digest.
_DIGEST = re.compile(r"(.+)@([0-9a-f]{8,64})", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOptions:
    """What is compared with the lock, and what is approved."""

    sources: options.Sources = None
    target: Annotated[
        str | None,
        typer.Option(
            *("--output", "-o"),
            metavar="FILE",
            show_default=False,
            help="The lock file. [default: lock.file in mcpg.toml, or mcpg.lock]",
        ),
    ] = None
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit 1 when a tool is not as approved."),
    ] = False
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve",
            metavar="TOOL[@DIGEST]",
            show_default=False,
            help="Approve this tool as it is now, or that it is gone; its name, or SOURCE::NAME. "
            "With a digest, only if it is as an earlier run showed. Repeatable.",
        ),
    ] = None
    approve_all: Annotated[bool, typer.Option("--approve-all", help="Approve every change.")] = (
        False
    )
    yes: Annotated[bool, typer.Option("--yes", help="Approve without confirmation.")] = False
    source_id: options.SourceId = None
    header: options.Header = None
    server_timeout: options.ServerTimeout = None
    form: options.ListFormat = "text"


def run(output: Output, chosen: LockOptions) -> int:
    """Approve the definitions of tools, and find what has changed since.

    Writes the lock file once. Later it shows what differs, and exits 1; nothing is approved unless
    --approve or --approve-all says so.
    """
    if chosen.check and (chosen.approve or chosen.approve_all):
        message = "a check approves nothing"
        raise UsageError(message, place="--check", remedy="leave out --check or --approve")
    if chosen.approve and chosen.approve_all:
        message = "all tools are approved already"
        raise UsageError(message, place="--approve", remedy="leave out --approve or --approve-all")
    settings = read_settings()
    path = chosen.target or lock_path(settings)
    # A lock that cannot be used is reported before servers are queried.
    present = _read_present(path)
    intake = BuildSources(
        chosen.sources,
        settings,
        source_id=chosen.source_id,
        header=chosen.header,
        seconds=chosen.server_timeout,
    )
    stated = _read_stated_tools(intake, [path, settings.target()], output)
    if chosen.check:
        return _compare_with_lock(path, present, stated, chosen, output)
    with locked_folder(Path(path).absolute().parent):
        # Another process may have approved something meanwhile.
        return _compare_with_lock(path, _read_present(path), stated, chosen, output)


def _read_present(path: str) -> ApprovedTools | None:
    """Read the lock at *path*, `None` where there is none."""
    try:
        return read_lock(path)
    except NotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class _StatedTools:
    """What the sources state.

    Attributes:
        statements: What they state of each tool.
        diagnostics: What was noticed.
        failed: Source ids of the tools whose sources failed, as far as they are known.
        is_whole: Whether every source could be read.
    """

    statements: Sequence[ToolStatement]
    diagnostics: Sequence[Diagnostic]
    failed: Collection[str]
    is_whole: bool

    def find_changes(self, lock: ApprovedTools) -> Sequence[LockChange]:
        """Return the tools that differ from *lock*; what failed sources have is not known."""
        changes = lock_changes(lock, self.statements)
        if self.is_whole:
            return changes
        known = {one.key[0] for one in self.statements} - {*self.failed}
        return [
            one for one in changes if one.kind is not LockChangeKind.MISSING or one.key[0] in known
        ]


def _read_stated_tools(
    intake: BuildSources, excluded: Sequence[str], output: Output
) -> _StatedTools:
    """Read the sources of *intake*, showing progress; problems are reported."""
    found: list[Diagnostic] = []

    def assemble_noting(batch: SourceBatch) -> Assembly:
        assembly = assemble(batch, source_id=intake.source_id, texts=False)
        found.extend(assembly.diagnostics)
        return assembly

    intake.tell(output)
    with output.counting("reading sources") as tell:
        batch = with_graphs_read(intake.read(tell, excluded))
    with output.progress("comparing definitions"):
        statements, _ = stated_in(batch, assemble_noting)
    noticed = tuple(dict.fromkeys((*batch.diagnostics, *found)))
    output.diagnostics(noticed)
    note_failures(batch, noticed, output)
    if not statements:
        output.note("no tool was found in the sources")
    failed = {name for one in batch.failed for name in one.names}
    return _StatedTools(statements, noticed, failed, not any(map(is_failure, noticed)))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of the changes.

    Attributes:
        path: The lock file.
        lock: What it holds now.
        changes: The tools that differed from it.
        approved: Those of them that are approved now.
        written: Whether it was written.
        is_missing: Whether there is no lock file.
    """

    path: str
    lock: ApprovedTools
    changes: Sequence[LockChange]
    approved: Sequence[LockChange]
    written: bool
    is_missing: bool

    @property
    def unapproved(self) -> list[LockChange]:
        """The changes that are not approved."""
        return [one for one in self.changes if one not in self.approved]


def _compare_with_lock(
    path: str,
    present: ApprovedTools | None,
    stated: _StatedTools,
    chosen: LockOptions,
    output: Output,
) -> int:
    """Compare the tools with the lock, and write what is approved."""
    changes = stated.find_changes(present or ApprovedTools())
    if differing := _find_unreviewed(changes, chosen.approve or ()):
        _show(differing, output)
        names = _format_names([one.name for one in differing])
        output.error(
            f"not as reviewed: {names}; nothing was approved",
            place="--approve",
            remedy="review what is shown, and approve it by its digest",
        )
        return ExitCode.FINDINGS
    is_first = present is None and not chosen.check
    if is_first and not stated.is_whole and not stated.statements:
        message = "no tool could be read from the sources: nothing was written"
        raise SourceError(message, remedy="fix the issues above")
    is_all = chosen.approve_all or (is_first and not chosen.approve)
    approved = changes if is_all else _select_approved(changes, chosen.approve or ())
    if chosen.approve_all and changes and not (is_first or chosen.yes):
        _show(changes, output)
        approved = changes if _agrees(changes) else ()
    lock = approve(present or ApprovedTools(), approved)
    written = bool(approved) or is_first
    if written:
        atomic_write(path, lock_text(lock).encode())
    shown = () if is_first else changes
    outcome = _Outcome(path, lock, shown, approved, written, present is None and not written)
    _report(outcome, stated, chosen, output)
    return ExitCode.DONE if stated.is_whole and not outcome.unapproved else ExitCode.FINDINGS


def _select_approved(changes: Sequence[LockChange], approved: Iterable[str]) -> list[LockChange]:
    """Return those of *changes* that the arguments of `--approve` name."""
    found: dict[int, LockChange] = {}
    for argument in approved:
        named, digest = _parse_approval(argument)
        meant = [one for one in _match_changes(changes, named) if one.digest.startswith(digest)]
        if not meant:
            raise NotFoundError(
                f"no tool called {named[:_SHOWN]!r} differs from the lock",
                place="--approve",
                remedy=_advise_name(named, [one.name for one in changes]),
            )
        if len({one.key for one in meant}) > 1:
            names = [one.label for one in meant]
            message = f"{named[:_SHOWN]!r} is the name of {format_count(len(meant), 'tool')}"
            raise InputError(
                message, place="--approve", remedy=f"use one of {_format_names(names)}"
            )
        found |= {id(one): one for one in meant}
    return [*found.values()]


def _find_unreviewed(changes: Sequence[LockChange], approved: Iterable[str]) -> list[LockChange]:
    """Return the tools that are to be approved by a digest that none called so has."""
    found: list[LockChange] = []
    for argument in approved:
        named, digest = _parse_approval(argument)
        meant = _match_changes(changes, named)
        if not any(one.digest.startswith(digest) for one in meant):
            found += meant
    return found


def _parse_approval(argument: str) -> tuple[str, str]:
    """Return the name and the digest that an *argument* of `--approve` states, "" for none.

    Raises:
        UsageError: The digest is too short to tell texts apart that a server could choose.
    """
    found = _DIGEST.fullmatch(argument)
    if found is None:
        return argument, ""
    if len(found[2]) < DIGITS:
        raise UsageError(
            f"{found[2]!r} is too short for a digest",
            place="--approve",
            remedy=f"give the {DIGITS} digits that `mcpg lock` shows",
        )
    return found[1], found[2]


def _match_changes(changes: Iterable[LockChange], named: str) -> list[LockChange]:
    # A server could call a tool like the full name of another one's.
    is_full = "::" in named
    return [one for one in changes if named == (one.name if is_full else one.key[1])]


def _advise_name(named: str, names: Sequence[str]) -> str:
    bare = {name.rpartition("::")[2]: name for name in reversed(names)}
    near = suggest(named, [*names, *bare])
    if near:
        return f"did you mean {bare.get(near[0], near[0])!r}?"
    return f"use one of {_format_names(names)}" if names else "every tool is as approved"


def _format_names(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _agrees(changes: Sequence[LockChange]) -> bool:
    """Ask the person at the terminal.

    Raises:
        UsageError: Standard input is not a terminal.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError(
            "there is no terminal to confirm on",
            place="--approve-all",
            remedy="add --yes to approve what is shown",
        )
    return typer.confirm(f"Approve {format_count(len(changes), 'change')}?", err=True)


def _show(changes: Iterable[LockChange], output: Output) -> None:
    """Show how tools differ, on standard error, where questions are asked."""
    output.raw_error("".join(shown_changes(changes, output, sys.stderr)))


def _report(outcome: _Outcome, stated: _StatedTools, chosen: LockOptions, output: Output) -> None:
    records = [change_json(one) | {"approved": one in outcome.approved} for one in outcome.changes]
    if chosen.form == "json":
        output.json(
            {
                "schema": "mcpg/lock/1",
                "path": outcome.path,
                "tools": len(outcome.lock.statements),
                "written": outcome.written,
                "complete": stated.is_whole,
                "changes": records,
                "diagnostics": diagnostics_json(stated.diagnostics),
            }
        )
    elif chosen.form == "text":
        approves = bool(chosen.approve) or chosen.approve_all
        changes = outcome.approved if approves and outcome.changes else outcome.changes
        # All tools are new where there is no lock.
        changes = () if outcome.is_missing else changes
        shown = "".join(shown_changes(changes, output, sys.stdout))
        output.text(shown.rstrip("\n"))
    else:
        write_listing(_list_changes(records), chosen.form, output)
    _note_outcome(outcome, output, is_whole=stated.is_whole)


def _note_outcome(outcome: _Outcome, output: Output, *, is_whole: bool) -> None:
    tools = format_count(len(outcome.lock.statements), "tool")
    if outcome.written:
        approved = f", {len(outcome.approved):,} approved" if outcome.changes else ""
        output.note(f"wrote {outcome.path}: {tools}{approved}")
    left = outcome.unapproved
    if outcome.is_missing:
        message = "there is no such file, so no tool is approved"
        output.error(message, place=outcome.path, remedy="write it with `mcpg lock`")
    elif left:
        named = shlex.quote(left[0].label)
        output.error(
            f"{format_count(len(left), 'tool')} not as approved",
            place=outcome.path,
            remedy=f"review the changes, and approve with `mcpg lock --approve {named}`",
        )
    elif not outcome.written and is_whole:
        output.note(f"as approved: {outcome.path}: {tools}")


def _list_changes(records: Sequence[JsonObject]) -> RecordListing:
    columns = (Column("kind"), Column("tool", is_whole=True), Column("parts"))
    rows = []
    for one in records:
        parts: Any = one["parts"]
        names = ", ".join(str(part["part"]) for part in parts) if isinstance(parts, list) else ""
        kind = str(one["kind"])
        rows.append((Styled(kind, _STYLES[kind]), CodeSpan(str(one["tool"])), CodeSpan(names)))
    table = Table("Tools that differ from the lock", columns, tuple(rows), has_heads=True)
    members = ("kind", "tool", "source", "name", "approved", "diff")
    return RecordListing(records, members, "tool", table)
