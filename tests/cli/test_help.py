from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from mcpg import __version__
from mcpg.cli.app import app
from mcpg.cli.options import WIDTH
from mcpg.cli.reference import commands_below, generated, refreshed

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
COMMANDS = {
    path.removeprefix("mcpg "): command
    for path, command in commands_below(get_command(app), "mcpg")
    if path != "mcpg"
}


class TestHelp:
    """Every command describes itself."""

    @pytest.mark.parametrize("name", ["", *COMMANDS])
    def test_both_flags_show_it(self, run: Callable[..., Run], name: str) -> None:
        """-h and --help show the same, on standard output, with examples at the foot."""
        command = name.split()
        short, long = run(*command, "-h"), run(*command, "--help")
        assert short == long
        assert (short.code, short.err) == (0, "")
        assert short.out.startswith("Usage: mcpg")
        assert f"Examples:\n  mcpg {name}" in short.out

    def test_no_command_shows_the_help(self, run: Callable[..., Run]) -> None:
        """Mcpg by itself says what it can do."""
        assert run() == run("--help")

    def test_version(self, run: Callable[..., Run]) -> None:
        """--version names program and version."""
        assert run("--version").out == f"mcpg {__version__}\n"

    @pytest.mark.parametrize("name", COMMANDS)
    def test_everything_has_help(self, name: str) -> None:
        """Every command, argument and option says what it is for."""
        command = COMMANDS[name]
        assert command.help
        for parameter in command.params:
            assert parameter.help, parameter.name
            assert parameter.metavar or parameter.is_flag, parameter.name

    @pytest.mark.parametrize("name", COMMANDS)
    def test_help_fits_a_terminal(self, run: Callable[..., Run], name: str) -> None:
        """No line but an example is wider than the help's width, and none is longer by much."""
        body, _, examples = run(*name.split(), "--help").out.partition("Examples:\n")
        assert max(map(len, body.splitlines())) <= 100
        assert max(map(len, examples.splitlines())) <= 100
        assert WIDTH <= 100


class TestReference:
    """The reference is the program's own help."""

    def test_it_is_up_to_date(self) -> None:
        """The page holds what the program says: run `python -m mcpg.cli.reference` on it."""
        page = PAGE.read_text("utf-8")
        assert refreshed(page) == page

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_is_in_it(self, name: str) -> None:
        """Every command and every option has its place."""
        section = generated().partition(f"## mcpg {name}\n")[2].partition("\n## ")[0]
        for parameter in COMMANDS[name].params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option in section

    def test_every_variable_is_documented(self) -> None:
        """The hand-written part names each variable."""
        page = PAGE.read_text("utf-8")
        for name in ("BUNDLE", "LIMIT", "STRATEGY"):
            assert f"`MCPG_{name}`" in page


class TestCompletion:
    """The shell completes from the bundle."""

    @staticmethod
    def complete(words: str, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Ask as bash does."""
        monkeypatch.setenv("_MCPG_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        answer: Any = None
        with pytest.raises(SystemExit) as caught:
            answer = run()
        assert answer is None
        assert caught.value.code == 0
        return []

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("mcpg sh", ["show"]),
            ("mcpg show ship", ["shipment_create", "shipment_status"]),
            ("mcpg show nothing", []),
            ("mcpg search --strategy e", ["embeddings"]),
            ("mcpg list --format j", ["json"]),
            ("mcpg show -b missing.mdld s", []),
        ],
    )
    @pytest.mark.usefixtures("graph")
    def test_words(
        self,
        run: Callable[..., Run],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        words: str,
        expected: list[str],
    ) -> None:
        """Commands, ids of tools, strategies and values complete; a missing bundle is no error."""
        self.complete(words, run, monkeypatch)
        captured = capsys.readouterr()
        assert captured.out.split() == expected
        assert captured.err == ""


def test_what_may_be_left_out_stands_in_brackets_alone(run: Callable[..., Run]) -> None:
    """An argument that may be repeated or left out is written as other programs do."""
    assert run("serve", "--help").out.startswith("Usage: mcpg serve [OPTIONS] [SOURCE]...\n")
