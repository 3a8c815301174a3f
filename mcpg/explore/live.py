"""An engine that is opened again when its files change, and kept when they cannot be read."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mcpg.catalog.catalog import Catalog
from mcpg.engine import Engine
from mcpg.errors import InputError, McpgError
from mcpg.sources.watching import Stamp, watched_files

POLL_SECONDS = 0.5
"""Time between two looks at the files."""

SETTLE_SECONDS = 0.1
"""Time for which no file must change before the engine is opened again."""


@dataclass(frozen=True)
class LoadedEngine:
    """What was opened, once.

    Attributes:
        engine: The engine.
        number: How often one was opened, counted from 1.
        tools: How many tools it has.
        secret: A name for what is shown of this generation only.
    """

    engine: Engine
    number: int
    tools: int
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @cached_property
    def catalog(self) -> Catalog:
        """The tools, for look-ups; made when it is first needed."""
        return self.engine.catalog


class LiveEngine:
    """The engine that is searched now.

    Attributes:
        current: The last one that could be opened.
        fault: Why what stands there now cannot be opened, `None` where it is *current*.
    """

    def __init__(self, opening: Callable[[], Engine], watched: Callable[[], Sequence[str]]) -> None:
        """Open the engine.

        Args:
            opening: Opens it, whenever something has changed.
            watched: Returns the files and folders that it is read from.

        Raises:
            McpgError: It cannot be opened.
        """
        self._opening = opening
        self._watched = watched
        self._paths: Sequence[str] = ()
        self._files = self._look()
        self.current = self._load_engine(1)
        self.fault: McpgError | None = None

    def follow(self, stop: threading.Event) -> None:
        """Open the engine again whenever a file changes, until *stop* is set."""
        while not stop.wait(POLL_SECONDS):
            files = self._look()
            if files == self._files:
                continue
            while not stop.wait(SETTLE_SECONDS):
                settled, files = files, self._look()
                if files == settled:
                    break
            self._files = files
            self._load_again()

    def _load_again(self) -> None:
        try:
            self.current = self._load_engine(self.current.number + 1)
            self.fault = None
        except McpgError as fault:
            self.fault = fault
        except Exception as fault:  # noqa: BLE001 - what a source raises must not end the watch
            self.fault = InputError(f"cannot be opened: {fault}")

    def _load_engine(self, number: int) -> LoadedEngine:
        engine = self._opening()
        return LoadedEngine(engine, number, len(engine.index))

    def _look(self) -> Mapping[str, Stamp]:
        try:
            self._paths = self._watched()
        except (McpgError, OSError):
            # Something is missing or broken now; what was watched before may come back.
            if not self._paths:
                raise
        return watched_files(self._paths)
