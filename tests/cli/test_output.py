from __future__ import annotations

import io
import sys

import pytest

from mcpg.cli.output import Color, Output
from mcpg.cli.terminal import PIPE_WIDTH, is_terminal, prepare_streams
from mcpg.errors import Code, Diagnostic, OutputError, error, info, warning


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        """Say yes."""
        return True


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def attached(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make one terminal of 60 columns of standard output and error, for one test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "60")
    return stream


class TestColour:
    """Colour is for people, and they have the last word."""

    @pytest.mark.parametrize(
        ("choice", "environment", "on_terminal", "in_pipe"),
        [
            (Color.AUTO, {}, True, False),
            (Color.AUTO, {"NO_COLOR": "1"}, False, False),
            (Color.AUTO, {"NO_COLOR": ""}, True, False),
            (Color.AUTO, {"FORCE_COLOR": "1"}, True, True),
            (Color.AUTO, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
            (Color.AUTO, {"TERM": "dumb"}, False, False),
            (Color.ALWAYS, {"NO_COLOR": "1"}, True, True),
            (Color.NEVER, {"FORCE_COLOR": "1"}, False, False),
        ],
    )
    def test_who_decides(
        self,
        choice: Color,
        environment: dict[str, str],
        on_terminal: bool,
        in_pipe: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """--color > NO_COLOR > FORCE_COLOR > whether it is a terminal."""
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        output = Output(color=choice)
        assert output.is_colored(Terminal()) is on_terminal
        assert output.is_colored(io.StringIO()) is in_pipe

    def test_paint(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only text that is there is coloured."""
        attached(monkeypatch)
        assert Output().paint("x", "bold") == "\x1b[1mx\x1b[0m"
        assert Output().paint("", "bold") == ""


def told(capsys: pytest.CaptureFixture[str], output: Output, *items: Diagnostic) -> list[str]:
    """Return the lines on standard error once *output* has told about *items*."""
    output.diagnostics(items)
    return capsys.readouterr().err.splitlines()


class TestDiagnostics:
    """Diagnostics go to standard error, in one form."""

    def test_form(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Severity, code, message, place."""
        item = warning(Code.TOOL_INVALID, "has\nno \x1bname", "a.json")
        assert told(capsys, Output(), item) == ["warning[tool_invalid]: has no \\x1bname (a.json)"]

    def test_quiet_leaves_what_matters(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--quiet silences notices, and keeps warnings and errors for whoever reads logs."""
        items = (
            info(Code.SOURCE_SKIPPED, "a"),
            warning(Code.TOOL_INVALID, "b"),
            error(Code.SOURCE_LOAD_FAILED, "c"),
        )
        expected = ["warning[tool_invalid]: b", "error[source_load_failed]: c"]
        assert told(capsys, Output(quiet=True), *items) == expected

    @pytest.mark.parametrize(("verbose", "lines"), [(False, 11), (True, 25)])
    def test_many_of_a_kind_are_folded(
        self, verbose: bool, lines: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The same thing said often is said ten times, unless all is asked for."""
        items = [info(Code.TEXT_REPAIRED, f"text {n}") for n in range(25)]
        found = told(capsys, Output(verbose=verbose), *items)
        assert len(found) == lines
        assert verbose or found[-1] == "... and 15 more text_repaired (--verbose shows all)"

    def test_information_is_written_once(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Information that comes up again in one run is not repeated; a warning is."""
        output, again = (
            Output(),
            [info(Code.TOOL_REPEATED, "seen"), warning(Code.HINT_INVALID, "bad")],
        )
        output.diagnostics(again)
        output.diagnostics(again)
        assert capsys.readouterr().err.count("seen") == 1
        Output().diagnostics(again)
        shown = capsys.readouterr().err
        assert (shown.count("seen"), shown.count("bad")) == (1, 1)

    def test_notes_and_details(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Notes are for all but the quiet, details for those who ask."""
        Output().note("a")
        Output().detail("b")
        Output(verbose=True).detail("c")
        Output(quiet=True, verbose=True).note("d")
        assert told(capsys, Output()) == ["a", "c"]


class TestStreams:
    """Data and talk never mix."""

    def test_a_pipe_has_a_fixed_width(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Text in a pipe does not depend on a terminal elsewhere."""
        assert Output().columns == PIPE_WIDTH
        assert capsys.readouterr().out == ""

    def test_a_terminal_has_its_width(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Text on a terminal fits it."""
        assert is_terminal(attached(monkeypatch))
        assert Output().columns == 60

    def test_a_document_is_raw_in_a_pipe_only(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A document reaches a file byte for byte, and a terminal harmless."""
        Output().document("a\x1b[2J\n")
        assert capsys.readouterr().out == "a\x1b[2J\n"
        terminal = attached(monkeypatch)
        Output().document("a\x1b[2J\n")
        assert terminal.getvalue() == "a\\x1b[2J\n"

    def test_progress_only_where_somebody_looks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Progress is shown on a terminal and wiped when done; quiet shows none."""
        terminal = attached(monkeypatch)
        with Output(quiet=True).progress("reading"):
            pass
        assert terminal.getvalue() == ""
        with Output().progress("reading"):
            pass
        assert "reading" in terminal.getvalue()

    def test_closed_streams_are_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program without standard streams talks to nobody, and loses no data silently."""
        monkeypatch.setattr(sys, "stdout", None)
        monkeypatch.setattr(sys, "stderr", None)
        prepare_streams()
        Output().note("talk")
        Output().flush()
        Output().text("data")
        with pytest.raises(OutputError, match="is closed"):
            Output().flush()
        assert sys.stderr is None
        sys.stdout.close()

    def test_a_closed_stream_is_no_terminal(self) -> None:
        """Nobody looks at a stream that is closed or missing."""
        stream = Terminal()
        stream.close()
        assert not is_terminal(None)
        assert not is_terminal(io.TextIOWrapper(io.BytesIO()))
        stream = io.TextIOWrapper(io.BytesIO())
        stream.close()
        assert not is_terminal(stream)
