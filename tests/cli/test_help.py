from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reference import commands_below, generate_reference, refresh_reference
from typer.main import get_command

from mcpg import __version__
from mcpg.cli.app import app
from mcpg.cli.environment import KEYS
from mcpg.cli.options import HEADINGS, WIDTH
from mcpg.cli.parameters import COMMON, EMBED_WITH, FUSION, SETTINGS, STRATEGY, CommandParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
COMMANDS = {
    path.removeprefix("mcpg "): command
    for path, command in commands_below(get_command(app), "mcpg")
    if path != "mcpg"
}
SHARED = (STRATEGY, FUSION, EMBED_WITH, *COMMON)
GOLDEN = Path(__file__).parent / "golden_help"


@pytest.fixture(scope="module")
def written() -> str:
    """The generated part of the reference."""
    return generate_reference()


def terminal_of(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make standard output a terminal with so many columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for module in ("options", "terminal"):
        monkeypatch.setattr(f"mcpg.cli.{module}.is_terminal", lambda _stream: True)


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

    def test_the_help_of_help_is_that_of_the_program(self, run: Callable[..., Run]) -> None:
        """`mcpg help help` shows what `mcpg help` shows."""
        assert run("help", "help") == run("help")

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
    def test_help_fits_a_pipe(self, run: Callable[..., Run], name: str) -> None:
        """No line but an example is wider than 80 columns, and no example than 100."""
        body, _, examples = run(*name.split(), "--help").out.partition("Examples:\n")
        assert max(map(len, body.splitlines())) <= WIDTH == 80
        assert max(map(len, examples.splitlines())) <= 100

    @pytest.mark.parametrize(("columns", "widest"), [(60, 60), (80, 80), (120, 100)])
    @pytest.mark.parametrize("name", ["", *COMMANDS])
    def test_help_fits_a_terminal(
        self,
        run: Callable[..., Run],
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        columns: int,
        widest: int,
    ) -> None:
        """On a terminal its width is used, up to 100 columns."""
        terminal_of(columns, monkeypatch)
        body = run(*name.split(), "--help").out.partition("Examples:\n")[0]
        longest = max(body.splitlines(), key=len)
        assert len(longest) <= widest or " " not in longest.strip()

    @pytest.mark.parametrize("name", COMMANDS)
    def test_help_says_no_more_than_needed(self, name: str) -> None:
        """Its first sentence fits a line, its description three, and an option two or three."""
        command = COMMANDS[name]
        first, _, more = command.help.partition("\n\n")
        assert len(first) <= 72
        assert len(more) <= 260, more
        for parameter in command.params:
            assert len(parameter.help) <= 180, parameter.help

    @pytest.mark.parametrize("name", COMMANDS)
    def test_its_pages_are_there(self, name: str) -> None:
        """The page that help refers to exists."""
        more = (COMMANDS[name].epilog or "").partition("More: ")[2]
        assert not more or (PAGE.parents[2] / more).is_file()


class TestHeadings:
    """Options stand under headings by what they are for."""

    def test_the_options_of_a_search(self, run: Callable[..., Run]) -> None:
        """Filters, ranking, output and common options have headings of their own."""
        shown = run("search", "--help").out
        headings = [
            line[:-1] for line in shown.splitlines() if line[:1].isalpha() and line[-1:] == ":"
        ]
        assert headings == [
            *("Arguments", "Options", "Filters", "Ranking", "Output", "Common options", "Examples")
        ]
        ranking = shown.partition("Ranking:\n")[2].partition("\n\n")[0]
        assert "--strategy NAME" in ranking
        assert "--no-lexicon" in ranking

    @pytest.mark.parametrize("columns", [60, 80, 120])
    @pytest.mark.parametrize("name", ["", "bundle", "search"])
    def test_how_it_looks(
        self, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, name: str, columns: int
    ) -> None:
        """Help at three widths is as recorded: MCPG_UPDATE_GOLDEN=1 writes it anew."""
        terminal_of(columns, monkeypatch)
        shown = run(*name.split(), "--help").out
        file = GOLDEN / f"{name or 'mcpg'}-{columns}.txt"
        if os.environ.get("MCPG_UPDATE_GOLDEN"):
            file.write_text(shown, "utf-8", newline="\n")
        assert shown == file.read_text("utf-8")

    def test_every_option_in_the_table_exists(self) -> None:
        """A heading lists no option that no command has."""
        known = {name for one in COMMANDS.values() for p in one.params for name in p.opts}
        assert {name for names in HEADINGS.values() for name in names} <= known | {"--help"}

    @pytest.mark.parametrize("option", SETTINGS, ids=lambda option: option.name)
    def test_variables_are_named(self, option: CommandParameter) -> None:
        """An option that a variable can set names it."""
        key = next(one for one in KEYS.values() if one.option in option.flags[0].split("/"))
        assert f"[env: {key.variable}]" in option.help

    @pytest.mark.parametrize("name", COMMANDS)
    def test_one_option_has_one_text(self, name: str) -> None:
        """Commands that share an option share its words, except where it differs in meaning."""
        for one in SHARED:
            for parameter in COMMANDS[name].params:
                if one.flags and set(one.flags[0].split("/")) & set(parameter.opts):
                    assert parameter.help == one.help


class TestHelpCommand:
    """`mcpg help COMMAND` is `mcpg COMMAND --help`."""

    @pytest.mark.parametrize("name", ["", *COMMANDS])
    def test_it_shows_the_same(self, run: Callable[..., Run], name: str) -> None:
        """Commands, groups and the program are shown as by --help."""
        assert run("help", *name.split()) == run(*name.split(), "--help")

    def test_a_group_has_it_too(self, run: Callable[..., Run]) -> None:
        """Groups take `help` as the program does."""
        assert run("graph", "help", "sparql") == run("graph", "sparql", "--help")
        assert run("graph", "help") == run("graph", "--help")

    def test_an_unknown_command_is_suggested(self, run: Callable[..., Run]) -> None:
        """A misspelt command is corrected."""
        assert "did you mean sparql?" in run("help", "graph", "spraql").err
        assert run("help", "serach").code == 2


class TestReference:
    """The reference is the program's own help."""

    def test_it_is_up_to_date(self) -> None:
        """The page holds what the program says: run `python tests/reference.py` on it."""
        page = PAGE.read_text("utf-8")
        assert refresh_reference(page) == page

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_is_in_it(self, written: str, name: str) -> None:
        """Every option is described in the section of its command, or in that of shared ones.

        The section of the command names the shared ones, except those that every command has.
        """
        section = written.partition(f"## mcpg {name}\n")[2].partition("\n## ")[0]
        own, _, named = section.partition("Shared options:")
        shared = written.partition("## Shared options\n")[2]
        everywhere = {f"--{one.name}" for one in COMMON}
        for parameter in COMMANDS[name].params:
            if parameter.param_type_name == "option":
                longest = max(parameter.opts, key=len)
                is_shared = longest in {*named.replace(",", " ").split(), *everywhere}
                place = " ".join((shared if is_shared else own).split())
                assert all(option in place for option in parameter.opts)
                assert " ".join(parameter.help.split()) in place, longest

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
            ("mcpg list --format j", ["json", "jsonl"]),
            ("mcpg show -b missing.mdld s", []),
            ("mcpg search --source sh", ["shop"]),
            ("mcpg list --category b", ["billing"]),
            ("mcpg search --source s -b missing.mdld --category b", []),
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
