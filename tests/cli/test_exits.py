from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shop import MANIFEST

from mcpg.cli import main
from mcpg.cli.exit_codes import ExitCode, run_guarded
from mcpg.cli.output import Output
from mcpg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "mcpg"]
MACHINE = {name: value for name, value in os.environ.items() if not name.startswith("MCPG_")}
ENVIRONMENT = MACHINE | {"PYTHONPATH": str(ROOT)}


def raises(fault: BaseException) -> Callable[[], int]:
    """Make a run that fails with *fault*."""

    def run() -> int:
        raise fault

    return run


@pytest.mark.parametrize("command", ["ask", "plan"])
def test_the_table_of_exit_codes_has_commands_that_find_nothing(
    command: str, run: Callable[..., Run], sources: Path
) -> None:
    """A command that finds nothing exits with 1, and the page of the commands says so."""
    assert run(command, "xyzzy", "-b", str(sources)).code == ExitCode.FINDINGS
    page = (ROOT / "docs/reference/cli.md").read_text("utf-8")
    assert f"\n| `mcpg {command}` | no" in page, command


class TestGuarded:
    """Every way to end has its code and its message."""

    def test_a_result_is_passed_on(self) -> None:
        """The code of a run that ends by itself is its own."""
        assert run_guarded(lambda: ExitCode.FINDINGS, Output()) == 1

    def test_our_errors_say_place_message_and_remedy(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An error is two lines on standard error, and code 2."""
        fault = InputError("is broken", place="a.json", remedy="mend it")
        assert run_guarded(raises(fault), Output()) == 2
        assert capsys.readouterr() == ("", "error: a.json: is broken\n  hint: mend it\n")

    def test_an_unexpected_fault_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A fault of our own shows no traceback and says how to get one."""
        assert run_guarded(raises(KeyError("x")), Output()) == 2
        assert capsys.readouterr().err == (
            "error: mcpg failed unexpectedly: KeyError: 'x'\n  hint: run again with --debug\n"
        )

    @pytest.mark.parametrize("fault", [RuntimeError(), InputError("is broken")])
    def test_debug_shows_the_traceback(
        self, fault: Exception, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With --debug the traceback comes before the message."""
        assert run_guarded(raises(fault), Output(debug=True)) == 2
        assert capsys.readouterr().err.startswith("Traceback (most recent call last):")

    def test_an_interrupt_is_130(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Stopping from the keyboard is told apart from failing."""
        assert run_guarded(raises(KeyboardInterrupt()), Output()) == 130
        assert capsys.readouterr().err == "error: interrupted\n"

    @pytest.mark.parametrize("during", ["run", "flush"])
    def test_a_closed_pipe_is_0(
        self, during: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A reader that went away, early or late, is no error."""

        class Closed(io.StringIO):
            def fail(self, *_: object) -> int:
                raise BrokenPipeError

            flush = fail
            write = fail if during == "run" else io.StringIO.write

        def run() -> int:
            Output().text("data")
            return ExitCode.FINDINGS

        monkeypatch.setattr(sys, "stdout", Closed())
        assert run_guarded(run, Output()) == 0
        assert capsys.readouterr().err == ""

    def test_a_failing_flush_is_2(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Data that could not be written make the run fail, whatever it found."""

        class Full(io.StringIO):
            def flush(self) -> None:
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(sys, "stdout", Full())
        assert run_guarded(lambda: ExitCode.DONE, Output()) == 2
        assert capsys.readouterr().err.startswith(
            "error: standard output: cannot be written: no space left on device\n"
        )

    def test_a_missing_package_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An installation without a package that mcpg needs fails with its name."""
        monkeypatch.delitem(sys.modules, "typer", raising=False)
        assert run_guarded(raises(ModuleNotFoundError("No module named 'typer'")), Output()) == 2
        assert "No module named 'typer'" in capsys.readouterr().err

    def test_control_characters_of_an_error_are_neutralised(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A file cannot steer the terminal through an error about it."""
        fault = InputError("bad \x1b[2J", place="\x1b]0;x", remedy="\u202e")
        run_guarded(raises(fault), Output())
        assert not set("\x1b\u202e") & set(capsys.readouterr().err)

    @pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed")
    @pytest.mark.parametrize("command", ["list", "search x", "bundle a.json", "generate a -o b"])
    def test_a_folder_that_is_gone_is_named(
        self, folder: Path, run: Callable[..., Run], command: str
    ) -> None:
        """In a folder that was removed under it, the program says so."""
        (folder / "gone").mkdir()
        os.chdir(folder / "gone")
        (folder / "gone").rmdir()
        result = run(*command.split())
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("error: the folder in which mcpg runs does not exist")

    @pytest.mark.usefixtures("folder")
    def test_a_missing_file_of_ours_is_a_fault(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is missing while the folder is there is a fault like any other."""
        assert run_guarded(raises(FileNotFoundError("data.bin")), Output()) == 2
        assert "mcpg failed unexpectedly: FileNotFoundError" in capsys.readouterr().err

    def test_an_interrupt_before_the_start_is_130(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-C while the program still gets ready is no traceback either."""

        def stop() -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("mcpg.cli.fast_path.prepare_streams", stop)
        assert main(["list"]) == 130


class TestUsage:
    """Mistakes on the command line are answered in the same form as all others."""

    @pytest.mark.parametrize(
        ("arguments", "message", "hint"),
        [
            (["serach", "x"], "no such command 'serach'", "did you mean search?"),
            (["qqqq"], "no such command 'qqqq'", "see `mcpg --help`"),
            (["search", "--formt", "json"], "no such option: --formt", "did you mean --format?"),
            (["search", "--score-min", "0"], "--score-min", "did you mean --min-score?"),
            (["search", "--lim", "3"], "no such option: --lim", "did you mean --limit?"),
            (["search", "--no-lexcon"], "--no-lexcon", "did you mean --no-lexicon?"),
            (["search", "--lim-xy", "3"], "no such option: --lim-xy", "see `mcpg search --help`"),
            (["search", "--limit", "many"], "--limit", "see `mcpg search --help`"),
            (["search", "--min-score", "2"], "--min-score", "see `mcpg search --help`"),
            (["list", "--format", "xml"], "--format", "see `mcpg list --help`"),
            (["show"], "missing argument", "see `mcpg show --help`"),
        ],
    )
    def test_usage_errors_are_two_lines_and_code_2(
        self, run: Callable[..., Run], arguments: list[str], message: str, hint: str
    ) -> None:
        """Wrong usage is code 2 with a hint that names the nearest right word or the help."""
        result = run(*arguments)
        assert result.code == 2
        assert result.out == ""
        first, second = result.err.splitlines()
        assert first.startswith("error: mcpg")
        assert message in first
        assert second.startswith(f"  hint: {hint}")

    @pytest.mark.parametrize("color", [["--color=always"], ["--color", "always"]])
    @pytest.mark.parametrize("command", ["search", "route"])
    def test_an_error_has_the_wanted_colour(
        self, command: str, color: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Errors heed --color, also those that end a command."""
        assert main([command, "order", "-b", "absent.mdld", *color]) == 2
        assert capsys.readouterr().err.startswith("\x1b[31merror:\x1b[0m ")

    def test_every_exit_code_is_documented(self) -> None:
        """The reference lists exactly the codes there are."""
        page = (ROOT / "docs/reference/cli.md").read_text("utf-8")
        table = page.partition("## Exit codes")[2].partition("\n## ")[0]
        codes = [code for name, code in vars(ExitCode).items() if name.isupper()]
        assert [int(code) for code in re.findall(r"^\| (\d+) ", table, re.MULTILINE)] == codes


class TestProcess:
    """What only a real process shows."""

    @pytest.mark.parametrize("words", ["list --format json", "list --help", "--help"])
    def test_a_closed_pipe_ends_quietly(self, folder: Path, graph: Path, words: str) -> None:
        """A reader that goes away is no error and leaves no traceback."""
        assert graph.parent == folder
        command = [*PROGRAM, *words.split()]
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                command, stdout=writer, stderr=subprocess.PIPE, check=False, env=ENVIRONMENT
            )
        finally:
            os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
    @pytest.mark.parametrize("words", ["list", "search shipment", "list --help", "--help"])
    def test_a_full_disk_is_an_error(self, folder: Path, graph: Path, words: str) -> None:
        """Data that cannot be written is not passed over in silence."""
        assert graph.parent == folder
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*PROGRAM, *words.split()],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                env=ENVIRONMENT,
            )
        assert done.returncode == 2
        assert os.strerror(errno.ENOSPC).lower() in done.stderr.decode().lower()
        assert b"Traceback" not in done.stderr

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            ("list", 2),
            ("search shipment", 2),
            ("search shipment --format json", 2),
            ("--help", 2),
            ("bundle tools", 0),
        ],
    )
    def test_data_for_a_closed_standard_output_is_an_error(
        self, folder: Path, graph: Path, words: str, code: int
    ) -> None:
        """A program started without standard output fails if it has something to write there."""
        assert graph.parent == folder
        program = (
            "import os, sys; os.close(1); sys.stdout = None; from mcpg.cli import main; "
            "sys.exit(main(sys.argv[1:]))"
        )
        command = [sys.executable, "-c", program, *words.split()]
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False, env=ENVIRONMENT)
        assert done.returncode == code
        assert (b"standard output: is closed" in done.stderr) == bool(code)
        assert b"unexpectedly" not in done.stderr

    @pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
    def test_an_interrupt_leaves_nothing_behind(self, folder: Path) -> None:
        """Ctrl-C during a build is code 130, one line, and no file."""
        command = [*PROGRAM, "bundle", "-", "-o", "graph.mdld"]
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
        ) as process:
            assert process.stdin
            # More than a pipe holds: once it is written, the program is reading.
            process.stdin.write(b" " * 1024 * 1024)
            process.send_signal(signal.SIGINT)
            assert process.stderr
            assert process.stderr.read() == b"error: interrupted\n"
        assert process.returncode == 130
        assert list(folder.iterdir()) == []

    def test_ascii_locales_change_nothing(self, graph: Path) -> None:
        """Names and text in any script survive a machine that believes in ASCII."""
        named = graph.parent / "замовлення.json"
        named.write_text(json.dumps(MANIFEST["tools"]), "utf-8")
        ascii_machine = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        outputs = [
            subprocess.run(
                [*PROGRAM, "list", "-b", os.fspath(named)],
                capture_output=True,
                check=True,
                env=ENVIRONMENT | machine,
            ).stdout
            for machine in ({"PYTHONUTF8": "1"}, ascii_machine | {"PYTHONIOENCODING": "ascii"})
        ]
        assert outputs[0] == outputs[1]
        assert "замовлення" in outputs[0].decode()

    def test_an_error_is_code_2(self, folder: Path) -> None:
        """The exit code reaches the shell."""
        done = subprocess.run(
            [*PROGRAM, "search", "x"], cwd=folder, capture_output=True, check=False, env=ENVIRONMENT
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"error: no bundle")

    def test_vectors_without_numpy_are_an_error_of_ours(self, folder: Path) -> None:
        """An installation without any extra says what `--embed` needs."""
        code = (
            "import sys; sys.modules['numpy'] = None; from mcpg.cli import main; "
            "sys.exit(main(sys.argv[1:]))"
        )
        (folder / "tools.json").write_text('{"tools": [{"name": "one"}]}')
        command = [sys.executable, "-c", code, "bundle", str(folder / "tools.json"), "--embed"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder, env=ENVIRONMENT
        )
        assert done.returncode == 2
        assert done.stderr.startswith("error: vectors need numpy, which is not installed")

    def test_a_plain_search_imports_nothing_heavy(self, graph: Path) -> None:
        """A search in a pipe pays for no package that it does not use."""
        code = (
            "import sys; from mcpg.cli import main; main(sys.argv[1:]); "
            "print(*sorted(sys.modules), file=sys.stderr)"
        )
        command = [sys.executable, "-c", code, "search", "shipment", "-b", str(graph)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
        heavy = {"rdflib", "pyld", "rich", "markdown_it", "httpx", "mcp", "numpy"}
        assert not heavy & set(done.stderr.split())
        assert "shipment_status" in done.stdout
