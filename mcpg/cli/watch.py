"""`--watch`: run a command again whenever a file that it reads has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from mcpg.cli.environment import relative_path
from mcpg.cli.exit_codes import ExitCode, report_error
from mcpg.cli.output import Output
from mcpg.cli.terminal import name_some
from mcpg.errors import McpgError, NotFoundError, UsageError
from mcpg.sources.read import Stamp, changed_files, forget_modules, watched_files
from mcpg.values import format_count

Files = Mapping[str, Stamp]

POLL_SECONDS = 0.5
"""Time between two looks at the files, unless these take longer."""

SETTLE_SECONDS = 0.1
"""Time for which no file must change before the command runs again, as programs write in pieces."""

# Looking takes no more than a twentieth of the time.
_MOST_SHARE = 20
_MOST_NAMED = 3


class Watcher:
    """Runs a command now, and again whenever a file has changed, until it is interrupted.

    After a failure, it reports that and waits for the next change. Arguments that make no sense
    from the start, or missing files, end it.
    """

    def __init__(
        self,
        sources: Callable[[], Sequence[str]],
        output: Output,
        *,
        exclude: Sequence[str] = (),
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare to watch.

        Args:
            sources: Returns the sources to watch, for `read_sources`; called before each run.
            output: Reports changes.
            exclude: Files that are not watched, such as the output.
            pause: Waits for some seconds.
        """
        self._sources = sources
        self._output = output
        self._exclude = exclude
        self._pause = pause
        self._watched: Sequence[str] = ()
        self._poll = POLL_SECONDS

    def run(self, command: Callable[[], int]) -> int:
        try:
            files = self._look()
            self._attempt(command, is_first=True)
            self._output.note(f"watching {format_count(len(files), 'file')}; Ctrl-C ends this")
            while True:
                files = self._wait_for_change(files)
                self._attempt(command, is_first=False)
        except KeyboardInterrupt:
            return ExitCode.DONE

    def _attempt(self, command: Callable[[], int], *, is_first: bool) -> None:
        try:
            command()
        except McpgError as fault:
            if is_first and isinstance(fault, UsageError | NotFoundError):
                raise
            report_error(fault, self._output)
        self._output.flush()

    def _look(self) -> Files:
        try:
            self._watched = self._sources()
        except McpgError:  # a mistake in a configuration file, which is watched still
            if not self._watched:
                raise
        start = time.perf_counter()
        files = watched_files(self._watched, self._exclude)
        self._poll = max(POLL_SECONDS, _MOST_SHARE * (time.perf_counter() - start))
        return files

    def _wait_for_change(self, before: Files) -> Files:
        """Wait until files differ from *before* and change no more; report and return them."""
        files = self._look()
        while files == before:
            self._pause(self._poll)
            files = self._look()
        while True:
            self._pause(SETTLE_SECONDS)
            settled, files = files, self._look()
            if files == settled:
                break
        changed = changed_files(before, files)
        forget_modules(changed)
        names = name_some([relative_path(path) for path in changed], _MOST_NAMED)
        self._output.note(f"changed: {names}")
        return files
