"""Lock files as options and settings name them, and builds under a lock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TextIO

from mcpg.bundle import Assembly
from mcpg.catalog.definitions import DefinitionPart
from mcpg.cli.output import Output
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import lines_kept, name_some, paint
from mcpg.errors import NotFoundError
from mcpg.review.lock import (
    DEFAULT_LOCK,
    ApprovedTools,
    LockChange,
    LockChangeKind,
    change_diff,
    read_lock,
    visible,
)
from mcpg.review.lock_sources import assembly_changes, change_diagnostics, leave_out_unapproved
from mcpg.sources import SourceBatch, is_failure
from mcpg.text.json_values import JsonObject
from mcpg.values import format_count

FAIL, WARN, HIDE = "fail", "warn", "hide"
REACTIONS = (FAIL, WARN, HIDE)
"""The reactions to a build with tools that differ from the lock."""

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_NAMED, _SHOWN = 3, 20


def lock_path(settings: Settings) -> str:
    """Return the lock file that *settings* name, or the default one beside the configuration."""
    found = settings.find("lock.file")
    if found is not None:
        return str(found.value)
    path = settings.project / DEFAULT_LOCK
    folder = Path(settings.folder).absolute()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def is_locked(settings: Settings) -> bool:
    """Return whether an option or a setting applies the lock to builds."""
    found = settings.find("lock.enforce")
    return found is not None and bool(found.value)


def open_lock(path: str) -> ApprovedTools:
    """Read the lock file at *path*."""
    try:
        return read_lock(path)
    except NotFoundError as fault:
        message = "no such lock file"
        remedy = "review the tools, and write it with `mcpg lock`"
        raise NotFoundError(message, place=fault.place, remedy=remedy) from None


@dataclass(slots=True)
class LockGuard:
    """Applies a lock to a build.

    Attributes:
        reaction: One of `REACTIONS`.
        changes: The tools that differ, once the sources are read.
    """

    path: str
    lock: ApprovedTools
    reaction: str
    changes: tuple[LockChange, ...] = field(default=(), init=False)

    @classmethod
    def by(cls, settings: Settings, reaction: str | None) -> LockGuard | None:
        if not is_locked(settings):
            return None
        found = settings.find("lock.on_change")
        path = lock_path(settings)
        return cls(path, open_lock(path), reaction or (found.value if found else FAIL))

    def enforce_lock(
        self, batch: SourceBatch, assembly: Assembly, assemble: Callable[[SourceBatch], Assembly]
    ) -> tuple[SourceBatch, Assembly]:
        """Return *batch* and its *assembly*, without tools that are left out as not approved."""
        if self.reaction == FAIL:
            return batch, assembly
        changes = assembly_changes(self.lock, assembly)
        self.changes = tuple(one for one in changes if one.kind is not LockChangeKind.MISSING)
        if not self.changes:
            return batch, assembly
        is_hiding = self.reaction == HIDE
        batch = leave_out_unapproved(batch, assembly.read, self.changes, hides=is_hiding)
        return batch, assemble(batch)

    def report_changes(self, assembly: Assembly) -> Assembly:
        """Return *assembly* with a diagnostic for each tool in quarantine, or missing."""
        if self.reaction == FAIL:
            return assembly
        # Tools that are left out are not news; neither are hints if some of their tools are left.
        known = {one.key for one in self.changes}
        missing = (
            one
            for one in assembly_changes(self.lock, assembly)
            if one.kind is LockChangeKind.MISSING and one.key not in known
        )
        self.changes = tuple(sorted((*self.changes, *missing), key=attrgetter("key")))
        found = change_diagnostics(self.changes, self.path, hides=self.reaction == HIDE)
        return replace(assembly, diagnostics=(*assembly.diagnostics, *found))

    def refuses(self, assembly: Assembly, output: Output, *, allows_missing: bool) -> bool:
        """Show how *assembly* differs from the lock; return whether it must not be used.

        With *allows_missing*, tools of failed sources may be missing.
        """
        has_failed = allows_missing and any(map(is_failure, assembly.diagnostics))
        is_refusing = self.reaction == FAIL
        found = assembly_changes(self.lock, assembly)
        if not is_refusing or has_failed:
            found = tuple(one for one in found if one.kind is not LockChangeKind.MISSING)
        if not is_refusing:  # of the hints of tools in quarantine, some may be left
            hints = {DefinitionPart.HINTS}
            found = tuple(one for one in found if {part.part for part in one.parts} != hints)
        self.changes = (
            found if is_refusing else tuple(sorted((*self.changes, *found), key=attrgetter("key")))
        )
        if not output.quiet:
            output.raw_error("".join(shown_changes(self.changes[:_SHOWN], output, sys.stderr)))
            if len(self.changes) > _SHOWN:
                more = format_count(len(self.changes) - _SHOWN, "more change")
                output.note(f"... and {more}; `mcpg lock` shows all")
        if not found:
            return False
        names = name_some([one.name for one in found], _NAMED)
        output.error(
            f"{format_count(len(found), 'tool')} not as approved: {names}; nothing was written",
            place=self.path,
            remedy="review them with `mcpg lock`, and approve with `mcpg lock --approve TOOL`",
        )
        return True


def shown_changes(
    changes: Iterable[LockChange], output: Output, stream: TextIO | None
) -> Iterator[str]:
    """Yield a line for each change, and the lines that differ."""
    is_colored = output.is_colored(stream)
    for change in changes:
        parts = "; ".join(map(str, change.parts))
        # A name with a line feed must not begin a line, which may be a command to a CI system.
        head = visible(f"{change.kind} {change.label}{f': {parts}' if parts else ''}")
        yield lines_kept(f"{head}\n")
        for line in lines_kept(change_diff(change)).splitlines(keepends=True):
            style = _STYLES.get(line[:1], "")
            yield paint(line.rstrip("\n"), style, on=is_colored) + "\n" if style else line


def change_json(change: LockChange) -> JsonObject:
    """Return *change* as a JSON object."""
    return {
        "kind": change.kind.value,
        "tool": change.name,
        "source": change.key[0],
        "name": change.key[1],
        "digest": change.digest,
        "parts": [{"part": one.part.member, "details": [*one.details]} for one in change.parts],
        "diff": change_diff(change),
    }
