"""The only writer: data to standard output, everything else to standard error."""

from __future__ import annotations

import errno
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcpg.cli import terminal
from mcpg.cli.terminal import (
    Screen,
    cut,
    is_terminal,
    json_text,
    lines_kept,
    one_line,
    paint,
    silence,
    width,
)
from mcpg.errors import Diagnostic, OutputError, Severity, UsageError, os_reason
from mcpg.files import atomic_write, is_file

if TYPE_CHECKING:
    from rich.status import Status


_SAME_KIND_LIMITS = {Severity.INFO: 10, Severity.WARNING: 50, Severity.ERROR: 1000}


class ClosedPipeError(Exception):
    """The reader of standard output went away, which is its right."""


class Color:
    """When to color."""

    AUTO: Final = terminal.AUTO
    ALWAYS: Final = terminal.ALWAYS
    NEVER: Final = terminal.NEVER


STDOUT = "-"
"""The name of standard output in options of files."""

COLORS = (Color.AUTO, Color.ALWAYS, Color.NEVER)


class Output(Screen):
    """The output of a run.

    Attributes:
        quiet: Only data, warnings and errors.
        verbose: Everything, with details.
        debug: Tracebacks too.
    """

    def __init__(
        self,
        color: str = Color.AUTO,
        *,
        quiet: bool = False,
        verbose: bool = False,
        debug: bool = False,
    ) -> None:
        super().__init__(color)
        self.quiet = quiet
        self.verbose = verbose
        self.debug = debug
        self._reported: set[Diagnostic] = set()

    def text(self, text: str) -> None:
        """Write *text*, which must be safe already, and a line end as data."""
        with _guarded_data() as stream:
            stream.write(f"{text}\n" if text else "")

    def bytes(self, data: bytes) -> None:
        """Write *data* as they are."""
        with _guarded_data() as stream:
            stream.flush()
            stream.buffer.write(data)

    def document(self, text: str) -> None:
        """Write *text* byte for byte to a pipe or file, made safe on a terminal."""
        with _guarded_data() as stream:
            stream.write(lines_kept(text) if is_terminal(sys.stdout) else text)

    def json(self, members: Mapping[str, Any]) -> None:
        """Write *members* as indented JSON in which nothing can steer a terminal."""
        self.text(json_text(members))

    def note(self, text: str) -> None:
        """Write *text* as a line to standard error, unless `--quiet` is given."""
        if not self.quiet:
            self.raw_error(one_line(text) + "\n")

    def item(self, text: str) -> None:
        """Write an item of a list below a note."""
        if not self.quiet:
            self.raw_error(f"  {one_line(text)}\n")

    def detail(self, text: str) -> None:
        """Write a note if `--verbose` is given."""
        if self.verbose:
            self.note(text)

    def error(self, message: str, *, place: str | None = None, remedy: str | None = None) -> None:
        """Report a mistake, its place and its remedy."""
        label = paint("error:", "red", on=self.is_colored(sys.stderr))
        where = f"{one_line(place)}: " if place else ""
        self.raw_error(f"{label} {where}{one_line(message)}\n")
        if remedy:
            self.raw_error(f"  hint: {one_line(remedy)}\n")

    def diagnostics(self, items: Iterable[Diagnostic]) -> None:
        """Write *items* to standard error, folding many of one kind unless verbose.

        Information is written once a run.
        """
        told: dict[tuple[str, str], int] = {}
        for item in items:
            if item.severity == Severity.INFO:
                if self.quiet or item in self._reported:
                    continue
                self._reported.add(item)
            kind = item.code, item.severity
            told[kind] = told.get(kind, 0) + 1
            if self.verbose or told[kind] <= _SAME_KIND_LIMITS[item.severity]:
                self.raw_error(self.diagnostic_line(item))
        for (code, severity), count in told.items():
            more = count - _SAME_KIND_LIMITS[severity]
            if not self.verbose and more > 0:
                self.note(f"... and {more:,} more {code} (--verbose shows all)")

    def note_opening(self, items: Iterable[Diagnostic]) -> None:
        """Write diagnostics from opening a bundle; informational ones only if verbose."""
        self.diagnostics(item for item in items if self.verbose or item.severity != Severity.INFO)

    def raw_error(self, text: str) -> None:
        """Write *text* to standard error as it is."""
        if sys.stderr is not None:
            with suppress(OSError, ValueError):
                sys.stderr.write(text)

    def flush(self) -> None:
        """Push out buffered text."""
        with _guarded_data() as stream:
            stream.flush()

    @contextmanager
    def progress(self, what: str) -> Iterator[Status | None]:
        """Show the activity *what* while the block runs; only on a terminal, unless quiet."""
        if self.quiet or not is_terminal(sys.stderr):
            yield None
            return
        from rich.console import Console  # noqa: PLC0415 - rich only at a terminal
        from rich.text import Text  # noqa: PLC0415 - as above

        # As a text, since rich reads markup in a mere string.
        is_plain = not self.is_colored(sys.stderr)
        with Console(stderr=True, no_color=is_plain).status(Text(f"{what}...")) as shown:
            _shown.append(shown)
            try:
                yield shown
            finally:
                _shown.remove(shown)

    @contextmanager
    def counting(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show *what* as `progress` does, and yield a function that shows how many of how many."""
        with self.progress(what) as shown:

            def tell(done: int, of: int) -> None:
                if shown is not None:
                    from rich.text import Text  # noqa: PLC0415 - as above

                    shown.update(Text(f"{what} {done:,} of {of:,}..."))

            yield tell


_shown: list[Status] = []


@contextmanager
def pause_progress() -> Iterator[None]:
    """Hide the progress that is shown while a question is asked."""
    for one in _shown:
        one.stop()
    try:
        yield
    finally:
        for one in _shown:
            one.start()


@contextmanager
def _guarded_data() -> Iterator[Any]:
    """Yield standard output; turn its errors into errors of mcpg."""
    try:
        yield sys.stdout
    except BrokenPipeError:
        raise ClosedPipeError from None
    except OSError as fault:
        raise unwritable(fault) from fault


def unwritable(fault: OSError) -> OutputError:
    """Point standard output at nothing, and return the error with the reason."""
    silence()
    if fault.errno == errno.EBADF:
        remedy = "leave it open, or send the output to /dev/null"
        return OutputError("is closed for writing", place="standard output", remedy=remedy)
    return OutputError(
        f"cannot be written: {os_reason(fault)}",
        place="standard output",
        remedy="make room there, or send the output somewhere else",
    )


# Files that a command may replace: those that it wrote, known by how they begin


def check_replaceable(
    path: Path | str,
    marks: Sequence[bytes],
    what: str,
    remedy: str = "name another file, or move it away",
) -> None:
    """Check that writing to *path* does not overwrite a foreign file.

    An empty file, anything but an ordinary file, and a file that begins with one of *marks*, which
    is *what* messages call it, may be written.
    """
    if not is_file(path):
        return
    try:
        with Path(path).open("rb") as stream:
            start = stream.read(max(map(len, marks)))
    except OSError as fault:
        raise OutputError(
            f"the file exists and cannot be checked before it is overwritten: {os_reason(fault)}",
            place=str(path),
            remedy=remedy,
        ) from fault
    if start and not start.startswith(tuple(marks)):
        raise OutputError(
            f"the file exists and is not a {what}, so it is not overwritten",
            place=str(path),
            remedy=remedy,
        )


# HTML reports on disk


def write_report(path: Path | str, report: str, output: Output, *, force: bool = False) -> None:
    """Write *report* to *path* in one step, and report that."""
    check_place(path, force=force)
    data = report.encode("utf-8")
    atomic_write(path, data)
    output.note(f"wrote {path}: {len(data):,} bytes")


def check_place(path: Path | str, *, force: bool = False) -> None:
    """Check that a report may be written to *path*, before the work for it is done."""
    if str(path) == "-":
        raise UsageError(
            "standard output cannot take both the answer and a report",
            place="--html",
            remedy="name a file",
        )
    if not force:
        from mcpg.show import MARK  # noqa: PLC0415 - few runs write a report

        check_replaceable(path, (MARK,), "report of mcpg")


# Signs that draw bars and arrows. Piped text ends in logs, diffs and tickets, and block elements
# are often broken there, so it is ASCII; a terminal gets finer bars.


class Glyphs(NamedTuple):
    """Signs of one kind of output.

    Attributes:
        steps: The last column of a bar by how full it is, from empty to full.
        arrow: The sign between a word and its replacement.
        ellipsis: The sign at the cut of a text.
        dash: The sign for an empty cell.
    """

    steps: str
    arrow: str
    ellipsis: str
    dash: str

    def bar(self, share: float, columns: int) -> str:
        """Draw a bar of *share*, in [0, 1], of *columns*, padded to them; never empty above 0."""
        parts = len(self.steps) - 1
        filled = math.ceil(min(1.0, max(0.0, share)) * columns * parts)
        full, rest = divmod(filled, parts)
        return (self.steps[-1] * full + (self.steps[rest] if rest else "")).ljust(columns)

    def cut(self, text: str, columns: int) -> str:
        """Shorten *text* to at most *columns* terminal columns, marking the cut."""
        return cut(text, columns, self.ellipsis)


BLOCKS = Glyphs(" ▏▎▍▌▋▊▉█", "→", "…", "-")
ASCII = Glyphs(" #", "->", "...", "-")


def glyphs_of_standard_output() -> Glyphs:
    """Return the signs that every reader of standard output can see."""
    return BLOCKS if is_terminal(sys.stdout) else ASCII


def wrap_parts(parts: list[str], columns: int) -> Iterator[str]:
    """Put *parts* into lines of at most *columns* terminal columns; a wider part gets its own."""
    line = ""
    for part in parts:
        longer = f"{line} {part}" if line else part
        if line and width(longer) > columns:
            yield line
            line = part
        else:
            line = longer
    if line:
        yield line


def hanging(text: str, columns: int, first: str, others: str) -> Iterator[str]:
    """Wrap *text* at its spaces: after *first* in the first line, after *others* in the rest."""
    for number, line in enumerate(wrap_parts(text.split(" "), columns - len(others))):
        yield f"{others if number else first}{line.rstrip()}"
