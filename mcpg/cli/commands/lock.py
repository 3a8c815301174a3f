"""`mcpg lock`."""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mcpg.bundle import Assembly, assemble
from mcpg.cli import options
from mcpg.cli.build import BuildSources, note_failures
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.locks import change_json, lock_path, shown_changes
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import option
from mcpg.cli.output import Output
from mcpg.cli.prompts import confirm
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.terminal import name_some
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
    """Options of `mcpg lock`."""

    sources: options.Sources = None
    target: Annotated[
        str | None,
        option(
            "--output -o", "The lock file. [default: lock.file in mcpg.toml, or mcpg.lock]", "FILE"
        ),
    ] = None
    check: Annotated[
        bool, option("--check", "Write nothing; exit 1 when a tool is not as approved.")
    ] = False
    approve: Annotated[
        list[str] | None,
        option(
            "--approve",
            "Approve this tool as it is, or its removal: name or SOURCE::NAME, with the digest that"
            " an earlier run showed. Repeatable.",
            "TOOL[@DIGEST]",
        ),
    ] = None
    approve_all: Annotated[bool, option("--approve-all", "Approve every change.")] = False
    yes: Annotated[bool, option("--yes", "Approve without confirmation.")] = False
    source_id: options.SourceId = None
    header: options.Header = None
    server_timeout: options.ServerTimeout = None
    form: options.ListFormat = "text"


def run(output: Output, chosen: LockOptions) -> int:
    """Approve the definitions of tools, and find changes since.

    The first run writes the lock file. Later runs show differences and exit 1, unless --approve or
    --approve-all approves them.
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
    intake = BuildSources.of(chosen, settings)
    stated = _read_stated_tools(intake, [path, settings.target()], output)
    if chosen.check:
        return _compare_with_lock(path, present, stated, chosen, output)
    with locked_folder(Path(path).absolute().parent):
        # Another process may have approved something meanwhile.
        return _compare_with_lock(path, _read_present(path), stated, chosen, output)


def _read_present(path: str) -> ApprovedTools | None:
    try:
        return read_lock(path)
    except NotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class _StatedTools:
    """The tools of the sources, and the ids of failed sources as far as they are known."""

    statements: Sequence[ToolStatement]
    diagnostics: Sequence[Diagnostic]
    failed: Collection[str]
    is_whole: bool


def _read_stated_tools(
    intake: BuildSources, excluded: Sequence[str], output: Output
) -> _StatedTools:
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
    """The results of the changes; the lock is as it is now."""

    path: str
    lock: ApprovedTools
    changes: Sequence[LockChange]
    approved: Sequence[LockChange]
    written: bool
    is_missing: bool

    @property
    def unapproved(self) -> list[LockChange]:
        return [one for one in self.changes if one not in self.approved]


def _compare_with_lock(
    path: str,
    present: ApprovedTools | None,
    stated: _StatedTools,
    chosen: LockOptions,
    output: Output,
) -> int:
    changes: Sequence[LockChange] = lock_changes(present or ApprovedTools(), stated.statements)
    if not stated.is_whole:  # the tools of failed sources are not known
        known = {one.key[0] for one in stated.statements} - {*stated.failed}
        is_missing = LockChangeKind.MISSING
        changes = [one for one in changes if one.kind is not is_missing or one.key[0] in known]
    approvals = [_read_approval(one, changes) for one in chosen.approve or ()]
    if differing := [one for _, meant, exact in approvals if not exact for one in meant]:
        _show(differing, output)
        names = name_some([one.name for one in differing], _NAMED)
        output.error(
            f"not as reviewed: {names}; nothing was approved",
            place="--approve",
            remedy="review the changes, and approve them by the digest",
        )
        return ExitCode.FINDINGS
    is_first = present is None and not chosen.check
    if is_first and not stated.is_whole and not stated.statements:
        message = "no tool could be read from the sources: nothing was written"
        raise SourceError(message, remedy="fix the issues above")
    is_all = chosen.approve_all or (is_first and not chosen.approve)
    approved = changes if is_all else _select_approved(changes, approvals)
    if chosen.approve_all and changes and not (is_first or chosen.yes):
        _show(changes, output)
        question = f"Approve {format_count(len(changes), 'change')}?"
        remedy = "add --yes to approve the shown changes"
        approved = changes if confirm(question, "--approve-all", remedy) else ()
    lock = approve(present or ApprovedTools(), approved)
    written = bool(approved) or is_first
    if written:
        atomic_write(path, lock_text(lock).encode())
    shown = () if is_first else changes
    outcome = _Outcome(path, lock, shown, approved, written, present is None and not written)
    _report(outcome, stated, chosen, output)
    return ExitCode.DONE if stated.is_whole and not outcome.unapproved else ExitCode.FINDINGS


def _read_approval(
    argument: str, changes: Iterable[LockChange]
) -> tuple[str, list[LockChange], list[LockChange]]:
    """Return the name in an *argument* of `--approve`, and the changes that it means.

    A digest must be long enough to distinguish texts that a server could choose.
    """
    found = _DIGEST.fullmatch(argument)
    named, digest = (found[1], found[2]) if found else (argument, "")
    if found and len(digest) < DIGITS:
        remedy = f"give the {DIGITS} digits that `mcpg lock` shows"
        raise UsageError(f"{digest!r} is too short for a digest", place="--approve", remedy=remedy)
    # A server could call a tool like the full name of another one's.
    is_full = "::" in named
    meant = [one for one in changes if named == (one.name if is_full else one.key[1])]
    return named, meant, [one for one in meant if one.digest.startswith(digest)]


def _select_approved(
    changes: Sequence[LockChange],
    approvals: Iterable[tuple[str, list[LockChange], list[LockChange]]],
) -> list[LockChange]:
    found: dict[int, LockChange] = {}
    for named, _, meant in approvals:
        if not meant:
            names = [one.name for one in changes]
            bare = {name.rpartition("::")[2]: name for name in reversed(names)}
            same = "every tool is as approved"
            remedy = f"use one of {name_some(names, _NAMED)}" if names else same
            if near := suggest(named, [*names, *bare]):
                remedy = f"did you mean {bare.get(near[0], near[0])!r}?"
            message = f"no tool called {named[:_SHOWN]!r} differs from the lock"
            raise NotFoundError(message, place="--approve", remedy=remedy)
        if len({one.key for one in meant}) > 1:
            message = f"{named[:_SHOWN]!r} is the name of {format_count(len(meant), 'tool')}"
            remedy = f"use one of {name_some([one.label for one in meant], _NAMED)}"
            raise InputError(message, place="--approve", remedy=remedy)
        found |= {id(one): one for one in meant}
    return [*found.values()]


def _show(changes: Iterable[LockChange], output: Output) -> None:
    """Show how tools differ, on standard error, the stream of questions."""
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
        # Without a lock, all tools are new.
        changes = () if outcome.is_missing else changes
        shown = "".join(shown_changes(changes, output, sys.stdout))
        output.text(shown.rstrip("\n"))
    else:
        columns = (Column("kind"), Column("tool", is_whole=True), Column("parts"))
        rows = tuple(
            (
                Styled(one.kind.value, _STYLES[one.kind]),
                CodeSpan(one.name),
                CodeSpan(", ".join(part.part.member for part in one.parts)),
            )
            for one in outcome.changes
        )
        table = Table("Tools that differ from the lock", columns, rows, has_heads=True)
        members = ("kind", "tool", "source", "name", "approved", "diff")
        write_listing(RecordListing(records, members, "tool", table), chosen.form, output)
    _note_outcome(outcome, output, is_whole=stated.is_whole)


def _count_kinds(statements: Collection[ToolStatement]) -> str:
    """Count tools and other items, whose names begin with their kind."""
    others = [one.tool.name.partition(":")[0] for one in statements if one.files is not None]
    tools = len(statements) - len(others)
    counts = ({"tool": tools} if tools or not others else {}) | Counter(others)
    return ", ".join(format_count(count, kind) for kind, count in counts.items())


def _note_outcome(outcome: _Outcome, output: Output, *, is_whole: bool) -> None:
    tools = _count_kinds(outcome.lock.statements)
    if outcome.written:
        approved = f", {len(outcome.approved):,} approved" if outcome.changes else ""
        output.note(f"wrote {outcome.path}: {tools}{approved}")
    left = outcome.unapproved
    if outcome.is_missing:
        message = "no such file, so no tool is approved"
        output.error(message, place=outcome.path, remedy="write it with `mcpg lock`")
    elif left:
        named = shlex.quote(left[0].label)
        message = f"{_count_kinds([one.statement for one in left])} not as approved"
        remedy = f"review the changes, and approve with `mcpg lock --approve {named}`"
        output.error(message, place=outcome.path, remedy=remedy)
    elif not outcome.written and is_whole:
        output.note(f"as approved: {outcome.path}: {tools}")
