"""The only writer: data to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TextIO

from mcpg.cli import screen
from mcpg.cli.sanitise import json_safe, lines_kept, one_line
from mcpg.cli.screen import Screen, is_terminal, paint, silence
from mcpg.diagnostics import Severity
from mcpg.errors import OutputError, os_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from rich.status import Status

    from mcpg.diagnostics import Diagnostic

_SAME_CODE_LIMIT = 10


class ClosedPipeError(Exception):
    """The reader of standard output went away, which is its right."""


class Color(StrEnum):
    """When to colour."""

    AUTO = screen.AUTO
    ALWAYS = screen.ALWAYS
    NEVER = screen.NEVER


class OutputFormat(StrEnum):
    """What standard output carries."""

    TEXT = "text"
    JSON = "json"


class ReportFormat(StrEnum):
    """What a report is written as."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


@dataclass(frozen=True, slots=True)
class Output:
    """How a run talks.

    Attributes:
        quiet: Only data and errors.
        verbose: Everything, with details.
        debug: Tracebacks too.
        color: When to colour.
    """

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    color: Color = Color.AUTO

    def text(self, text: str) -> None:
        """Write *text*, which must be safe already, and a line end as data."""
        _write_data(f"{text}\n" if text else "")

    def bytes(self, data: bytes) -> None:
        """Write *data* as they are."""
        _write_data(data)

    def document(self, text: str) -> None:
        """Write *text* byte for byte to a pipe or file, made safe on a terminal."""
        _write_data(lines_kept(text) if is_terminal(sys.stdout) else text)

    def json(self, value: Mapping[str, Any]) -> None:
        """Write *value* as indented JSON in which nothing can steer a terminal."""
        _write_data(json_safe(json.dumps(value, ensure_ascii=False, indent=2)) + "\n")

    def note(self, text: str) -> None:
        """Tell the person at the terminal something, unless they asked for quiet."""
        if not self.quiet:
            self.raw_error(one_line(text) + "\n")

    def item(self, text: str) -> None:
        """Tell one line of a list below a note."""
        if not self.quiet:
            self.raw_error(f"  {one_line(text)}\n")

    def detail(self, text: str) -> None:
        """Tell something that only `--verbose` asks for."""
        if self.verbose:
            self.note(text)

    def error(self, message: str, *, place: str | None = None, remedy: str | None = None) -> None:
        """Say what is wrong, where, and what to do about it."""
        label = paint("error:", "red", on=self.colored(sys.stderr))
        where = f"{one_line(place)}: " if place else ""
        self.raw_error(f"{label} {where}{one_line(message)}\n")
        if remedy:
            self.raw_error(f"  hint: {one_line(remedy)}\n")

    def diagnostics(self, items: Iterable[Diagnostic]) -> None:
        """Write *items* to standard error, folding many of one code unless verbose."""
        told: Counter[str] = Counter()
        for item in items:
            if self.quiet and item.severity is not Severity.ERROR:
                continue
            told[item.code] += 1
            if self.verbose or told[item.code] <= _SAME_CODE_LIMIT:
                self.raw_error(self._screen.diagnostic_line(item))
        for code, count in told.items():
            if not self.verbose and count > _SAME_CODE_LIMIT:
                self.note(f"... and {count - _SAME_CODE_LIMIT} more {code} (--verbose shows all)")

    def raw_error(self, text: str) -> None:
        """Write *text* to standard error as it is."""
        if sys.stderr is not None:
            with suppress(OSError, ValueError):
                sys.stderr.write(text)

    def flush(self) -> None:
        """Push out what is buffered.

        Raises:
            ClosedPipeError: Nobody reads any more.
            OutputError: Standard output cannot be written.
        """
        with _data_stream() as stream:
            stream.flush()

    def colored(self, stream: TextIO) -> bool:
        """Say whether text on *stream* is coloured."""
        return self._screen.colored(stream)

    def paint(self, text: str, style: str) -> str:
        """Colour *text* for standard output where colour is wanted."""
        return self._screen.paint(text, style)

    @property
    def _screen(self) -> Screen:
        return Screen(self.color.value)

    @property
    def columns(self) -> int:
        """Columns that a line of data may take."""
        return self._screen.columns

    def progress(self, what: str) -> AbstractContextManager[Status | None]:
        """Show *what* goes on for as long as the block runs; only on a terminal."""
        if self.quiet or not is_terminal(sys.stderr):
            return nullcontext()
        from rich.console import Console  # noqa: PLC0415 - rich only where somebody looks
        from rich.text import Text  # noqa: PLC0415 - as above

        plain = not self.colored(sys.stderr)
        # As a text, since rich reads markup in what is a mere string.
        return Console(stderr=True, no_color=plain).status(Text(f"{what}..."))

    @contextmanager
    def counting(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show *what* goes on as `progress` does, and give what shows how many of how many."""
        with self.progress(what) as shown:

            def tell(done: int, of: int) -> None:
                if shown is not None:
                    from rich.text import Text  # noqa: PLC0415 - as above

                    shown.update(Text(f"{what} {done:,} of {of:,}..."))

            yield tell


def _write_data(data: str | bytes) -> None:
    with _data_stream() as stream:
        if isinstance(data, str):
            stream.write(data)
        else:
            stream.flush()
            stream.buffer.write(data)


@contextmanager
def _data_stream() -> Iterator[Any]:
    try:
        yield sys.stdout
    except BrokenPipeError:
        raise ClosedPipeError from None
    except OSError as fault:
        raise unwritable(fault) from fault


def unwritable(fault: OSError) -> OutputError:
    """Return up standard output, and give the error that says why."""
    silence()
    return OutputError(
        f"cannot be written: {os_reason(fault)}",
        place="standard output",
        remedy="make room there, or send the output somewhere else",
    )
