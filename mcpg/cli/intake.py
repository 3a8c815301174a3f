"""What `bundle` and `generate` read: sources that are named, else those of a configuration file."""

from __future__ import annotations

import os
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from mcpg.cli.asking import Asking
from mcpg.cli.settingkeys import SOURCES
from mcpg.cli.stdin import standard_input
from mcpg.cli.wording import counted
from mcpg.errors import UsageError
from mcpg.files import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from mcpg.catalog.sources import SourceBatch
    from mcpg.catalog.sources.servers import Live
    from mcpg.cli.configsources import ConfiguredSource
    from mcpg.cli.output import Output
    from mcpg.cli.settings import Settings


class Intake:
    """The sources of one run.

    Attributes:
        asking: How servers are asked.
        source_id: Source id of all tools, or `None`.
        paths: The files and folders among the sources, and whatever else is named.
    """

    def __init__(
        self,
        sources: Sequence[str] | None,
        settings: Settings,
        *,
        source_id: str | None = None,
        header: Sequence[str] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Find out what is read; nothing is opened yet.

        Raises:
            UsageError: No source is named anywhere, or an option makes no sense.
            InputError: A configuration file cannot be read.
        """
        self.source_id = source_id
        self._entries = () if sources else _configured(settings)
        self.asking = Asking(sources or (), header, seconds)
        self._used = tuple(one for one in self._entries if one.is_enabled)
        self.paths = tuple(sources or (one.argument for one in self._used if not one.is_server))

    def sign(self, target: str) -> str:
        """Sign the sources of the bundle *target*, "" when they cannot be signed."""
        if any(one.is_server for one in self._used):
            return ""
        from mcpg.cli import lastrun  # noqa: PLC0415 - help does without

        given = self.source_id
        if self._entries:
            given = repr((given, [(one.name, one.id, one.is_enabled) for one in self._entries]))
        return lastrun.sign(self.paths, given, target)

    def tell(self, output: Output) -> None:
        """Say which configuration file names the sources, for it may start programs."""
        if self._entries:
            file = self._entries[0].file
            count = counted(len(self._used), "source")
            output.note(f"reading {count} of {_shown(file)}")

    def read(
        self, tell: Callable[[int, int], None], exclude: Collection[str | Path]
    ) -> SourceBatch:
        """Read all sources; progress with servers goes to *tell*.

        Raises:
            McpgError: A source cannot be used.
        """
        live = self.asking.live(tell)
        if self._entries:
            return self._read_configured(live, exclude)
        from mcpg.catalog.sources import read_sources  # noqa: PLC0415 - as above

        # One byte more than is accepted, so that too much is noticed without reading it all.
        return read_sources(
            self.paths,
            source_id=self.source_id,
            stdin=partial(standard_input, MAX_BYTES + 1),
            exclude=exclude,
            live=live,
            imports=True,
        )

    def _read_configured(self, live: Live, exclude: Collection[str | Path]) -> SourceBatch:
        from mcpg.catalog.sources import SourceBatch, read_sources  # noqa: PLC0415 - as above
        from mcpg.catalog.sources.live import ask_servers  # noqa: PLC0415
        from mcpg.cli.configsources import open_entries  # noqa: PLC0415
        from mcpg.gateway.sources import FileSource, ServerSource  # noqa: PLC0415

        sources, noticed = open_entries(
            [one.as_read() for one in self._entries],
            live,
            source_id=self.source_id,
            timeout=self.asking.seconds,
        )
        files = [one for one in sources if isinstance(one, FileSource)]
        servers = [one for one in sources if isinstance(one, ServerSource)]
        parts = [SourceBatch(diagnostics=noticed)]
        for source_id, group in groupby(files, lambda one: one.source_id):
            paths = [one.path for one in group]
            parts.append(read_sources(paths, source_id=source_id, exclude=exclude, imports=True))
        timeouts = [one.timeout for one in servers]
        parts.append(ask_servers([one.server for one in servers], live, timeouts=timeouts))
        return SourceBatch.join(parts)


def _configured(settings: Settings) -> tuple[ConfiguredSource, ...]:
    entries = settings.sources()
    if not entries:
        raise UsageError(
            "no source is named",
            place="SOURCE",
            remedy=f"name a file, a folder or a server, or write [[{SOURCES}]] into mcpg.toml",
        )
    if not any(one.is_enabled for one in entries):
        raise UsageError(
            "every source is switched off",
            place=f"{entries[0].file}: {SOURCES}",
            remedy="take out 'enabled = false', or name a source on the command line",
        )
    return entries


def _shown(file: Path) -> str:
    try:
        return os.path.relpath(file)
    except ValueError:  # on another drive
        return str(file)
