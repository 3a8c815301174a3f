"""The registry: the sources of a gateway, and what each of them last said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.diagnostics import Severity
from mcpg.errors import UsageError
from mcpg.gateway.building import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.sources.batch import SourceBatch
    from mcpg.gateway.sources import Source


@dataclass(slots=True)
class _Entry:
    """A source, what it last said, and as of which versions it changed and was asked."""

    source: Source
    batch: SourceBatch | None = None
    changed: int = 0
    asked: int = -1
    has_failed: bool = False

    @property
    def is_fresh(self) -> bool:
        return self.asked >= self.changed


class Registry:
    """Sources by their ids, in the order in which they were added.

    Attributes:
        version: Grows whenever something changes.
        required: The version that whoever asks now has to be answered from, at least: changes that
            the host made itself are seen at once, those of a server when they are known.
    """

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        """Register *sources*.

        Raises:
            UsageError: Two have the same id.
        """
        self.version = 0
        self.required = 0
        self._entries: dict[str, _Entry] = {}
        for source in sources:
            self.add(source)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources."""
        return tuple(entry.source for entry in self._entries.values())

    def add(self, source: Source) -> None:
        """Register *source*.

        Raises:
            UsageError: Its id is blank, or another one's, in any case.
        """
        key = _key(source.id)
        if not key:
            raise UsageError("a source has no id", remedy="give it one")
        if key in self._entries:
            message = f"there is a source {source.id!r} already"
            raise UsageError(message, place=source.id, remedy="give it another id")
        entry = self._entries[key] = _Entry(source)
        self._changed(entry, is_required=True)

    def remove(self, source_id: str) -> Source | None:
        """Take out a source, and give it; `None` where there is none of this id."""
        entry = self._entries.pop(_key(source_id), None)
        if entry is None:
            return None
        self._changed(is_required=True)
        return entry.source

    def invalidate(self, source_id: str) -> bool:
        """Take note that a source has other tools now; say whether it is registered."""
        entry = self._entries.get(_key(source_id))
        if entry is None:
            return False
        self._changed(entry, is_required=False)
        return True

    def invalidate_all(self) -> None:
        """Have every source asked again."""
        self._changed(*self._entries.values(), is_required=True)

    def retry(self) -> bool:
        """Have those sources asked again that could not be asked; say whether there are any.

        One that waits to be asked already is none of them.
        """
        failed = [one for one in self._entries.values() if one.has_failed and one.is_fresh]
        if failed:
            self._changed(*failed, is_required=False)
        return bool(failed)

    def stale(self) -> tuple[Source, ...]:
        """Give the sources that have to be asked."""
        return tuple(entry.source for entry in self._entries.values() if not entry.is_fresh)

    def heard(self, source: Source, batch: SourceBatch, version: int) -> None:
        """Keep what *source* said. Where it failed, what it said before counts on.

        Args:
            source: The source.
            batch: What it said.
            version: The version when it began to be asked: a change after that is still to be
                asked for.
        """
        entry = self._entries.get(_key(source.id))
        if entry is None or entry.source is not source:
            return  # it was taken out meanwhile
        entry.asked = version
        entry.has_failed = _has_failed(batch)
        if entry.has_failed and entry.batch is not None:
            batch = replace(entry.batch, diagnostics=batch.diagnostics)
        entry.batch = batch

    def readings(self) -> list[Reading]:
        """Give what every source last said."""
        return [
            Reading(entry.source, entry.batch)
            for entry in self._entries.values()
            if entry.batch is not None
        ]

    def _changed(self, *entries: _Entry, is_required: bool) -> None:
        self.version += 1
        for entry in entries:
            entry.changed = self.version
        if is_required:
            self.required = self.version


def _key(source_id: str) -> str:
    return source_id.strip().casefold()


def _has_failed(batch: SourceBatch) -> bool:
    """Say whether a source gave nothing but an error."""
    is_empty = not (batch.tools or batch.documents or batch.bundles)
    return is_empty and any(one.severity == Severity.ERROR for one in batch.diagnostics)
