"""`--watch`: a command runs again whenever a file that it reads has changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shop import MANIFEST

from mcpg.cli.output import Output
from mcpg.cli.watch import SETTLE_SECONDS, Watcher
from mcpg.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shop import Run

SERVERS = str(Path(__file__).parent.parent / "servers.py")
DEADLINE = 60


class Days:
    """Time that passes without waiting: at every pause, the next thing happens."""

    def __init__(self, *events: Callable[[], object]) -> None:
        self.events = [*events]
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        """Let the next thing happen; after the last one, somebody interrupts."""
        self.pauses.append(seconds)
        if not self.events:
            raise KeyboardInterrupt
        self.events.pop(0)()


def nothing() -> None:
    """Let nothing happen."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is watched."""
    path = tmp_path / "a.json"
    path.write_text("1", "utf-8")
    return path


class Counted:
    """A command that counts its runs, and fails in some."""

    def __init__(self, *faults: Exception | None) -> None:
        self.runs = 0
        self.faults = [*faults]

    def __call__(self) -> int:
        """Run."""
        self.runs += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        return 0


class TestWatcher:
    """Runs, waits, and runs again."""

    def test_it_runs_once_for_each_change(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A change runs the command once, and silence does not."""
        command = Counted()
        days = Days(nothing, lambda: file.write_text("22", "utf-8"), nothing, nothing, nothing)
        watcher = Watcher(lambda: [str(file)], Output(), pause=days.pause)
        assert watcher.run(command) == 0
        assert command.runs == 2
        told = capsys.readouterr().err
        assert "watching 1 file; Ctrl-C ends this\n" in told
        assert told.count("changed: ") == 1
        assert f"changed: {os.path.relpath(file)}\n" in told

    def test_it_waits_until_a_program_has_written(self, file: Path) -> None:
        """A file that is written in pieces is one change."""
        command = Counted()
        pieces = (
            lambda text=text: file.write_text(text, "utf-8") for text in ("22", "333", "4444")
        )
        days = Days(*pieces, nothing)
        Watcher(lambda: [str(file)], Output(quiet=True), pause=days.pause).run(command)
        assert command.runs == 2
        assert days.pauses[1:4] == [SETTLE_SECONDS] * 3

    def test_a_change_during_a_run_is_not_missed(self, file: Path) -> None:
        """What was written while the command ran may not have been read by it."""
        runs: list[str] = []

        def command() -> int:
            runs.append(file.read_text("utf-8"))
            if len(runs) == 1:
                file.write_text("22", "utf-8")
            return 0

        watcher = Watcher(lambda: [str(file)], Output(quiet=True), pause=Days(nothing).pause)
        watcher.run(command)
        assert runs == ["1", "22"]

    def test_a_failure_is_reported_and_watching_goes_on(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A file that is broken for a while ends nothing, be it at the first run."""
        command = Counted(SourceError("broken"), UsageError("wrong"))
        days = Days(
            *(lambda: file.write_text("22", "utf-8"), nothing),
            *(lambda: file.write_text("333", "utf-8"), nothing),
        )
        Watcher(lambda: [str(file)], Output(), pause=days.pause).run(command)
        assert command.runs == 3
        told = capsys.readouterr().err
        assert "error: broken\n" in told
        assert "error: wrong\n" in told

    def test_what_makes_no_sense_from_the_start_ends_it(self, file: Path) -> None:
        """A mistake in an option is none that a change of a file could mend."""
        watcher = Watcher(lambda: [str(file)], Output(), pause=Days().pause)
        with pytest.raises(UsageError):
            watcher.run(Counted(UsageError("wrong")))

    def test_a_broken_configuration_is_watched_still(self, file: Path) -> None:
        """While nothing tells what to watch, that of before is watched."""
        answers: Iterator[bool] = iter([True, False, False, True, True, True])

        def sources() -> list[str]:
            if not next(answers, True):
                raise SourceError("broken")
            return [str(file)]

        command = Counted()
        days = Days(nothing, lambda: file.write_text("22", "utf-8"), nothing, nothing)
        Watcher(sources, Output(quiet=True), pause=days.pause).run(command)
        assert command.runs == 2


class TestOptions:
    """Where watching makes no sense."""

    @pytest.mark.parametrize("more", [["--check"], ["--diff"], ["-o", "-"], ["-"]])
    @pytest.mark.usefixtures("sources")
    def test_a_bundle_that_cannot_be_kept_up_to_date(
        self, run: Callable[..., Run], more: list[str]
    ) -> None:
        """Comparisons write nothing, and a pipe can be read and written once."""
        done = run("bundle", "tools", "--watch", *more)
        assert done.code == 2
        assert "--watch" in done.err

    @pytest.mark.usefixtures("folder")
    def test_a_search_without_a_bundle(self, run: Callable[..., Run]) -> None:
        """There must be something to watch."""
        assert run("search", "x", "--watch").code == 2
        assert run("bundle", "absent.json", "--watch").code == 2


class Program:
    """The program as a process of its own, watching."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log = folder.parent / f"{folder.name}.log"
        command = [sys.executable, "-m", "mcpg", *arguments, "--watch"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)

    def wait_for(self, *texts: str, times: int = 1) -> str:
        """Wait until it has said each of *texts* so often."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline and self.process.poll() is None:
            told = self._log.read_text("utf-8")
            if all(told.count(text) >= times for text in texts):
                return told
            time.sleep(0.05)
        raise AssertionError(self._log.read_text("utf-8"))

    def wait_for_end(self) -> str:
        """Wait until it has ended; return what it has said."""
        self.process.wait(DEADLINE)
        return self._log.read_text("utf-8")

    def interrupt(self) -> int:
        """Press Ctrl-C; return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(DEADLINE)


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Program]]:
    """Start the program, and kill it in the end."""
    started: list[Program] = []

    def begin(*arguments: str) -> Program:
        started.append(Program(folder, *arguments))
        return started[-1]

    yield begin
    for program in started:
        program.process.kill()
        program.process.wait()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_bundle_and_search_together(
    folder: Path, sources: Path, start: Callable[..., Program]
) -> None:
    """An edited manifest becomes a new bundle, and that a new answer; Ctrl-C is no failure."""
    bundling = start("bundle", "tools", "-o", "graph.mdld")
    bundling.wait_for("wrote graph.mdld: 4 tools", "watching 2 files")
    searching = start("search", "brew coffee", "-n", "1")
    searching.wait_for("watching 1 file")
    brew = {"name": "coffee_brew", "description": "Brew a cup of coffee."}
    manifest = {**MANIFEST, "tools": [*MANIFEST["tools"], brew]}
    (sources / "shop.json").write_text(json.dumps(manifest), "utf-8")
    bundling.wait_for("changed: tools/shop.json", "wrote graph.mdld: 5 tools")
    searching.wait_for("changed: graph.mdld", "coffee_brew")
    (sources / "shop.json").write_text("{", "utf-8")
    bundling.wait_for("source_load_failed")
    assert (bundling.interrupt(), searching.interrupt()) == (0, 0)
    assert (folder / "graph.mdld").is_file()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_a_source_named_like_the_output(folder: Path, start: Callable[..., Program]) -> None:
    """A source whose name begins with the output's is watched, what a build writes is not."""
    source = folder / "tools.json"
    source.write_text(json.dumps(MANIFEST), "utf-8")
    (folder / "main.py").write_text("def brew(): ...\n", "utf-8")
    program = start("bundle", "tools.json", "code:.", "-o", "tools")
    program.wait_for("wrote tools:", "watching 2 files")
    source.write_text(json.dumps({**MANIFEST, "tools": MANIFEST["tools"][:1]}), "utf-8")
    program.wait_for("wrote tools:", times=2)
    assert program.interrupt() == 0
    assert "changed: tools.json\n" in program.wait_for_end()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_settings_servers_and_modules(folder: Path, start: Callable[..., Program]) -> None:
    """A change of the configuration or of a module counts; servers are queried again with it."""
    module = folder / "wtmodule.py"
    module.write_text('def greet() -> str:\n    """Greet."""\n    return ""\n', "utf-8")
    server = (
        f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(['-S', SERVERS, 'pages'])}"
    )
    settings = f'[[sources]]\nid = "mine"\n{server}\n\n[[sources]]\npython = "wtmodule"\n'
    (folder / "mcpg.toml").write_text(settings, "utf-8")
    program = start("bundle")
    program.wait_for("wrote graph.mdld: 4 tools", "watching 2 files")
    more = 'def leave() -> str:\n    """Say good-bye."""\n    return ""\n'
    module.write_text(module.read_text("utf-8") + more, "utf-8")
    program.wait_for("changed: wtmodule.py", "wrote graph.mdld: 5 tools")
    (folder / "mcpg.toml").write_text("[[sources]\n", "utf-8")
    program.wait_for("changed: mcpg.toml", "invalid TOML")
    (folder / "mcpg.toml").write_text(settings.replace('"mine"', '"other"'), "utf-8")
    program.wait_for("wrote graph.mdld: 5 tools", times=2)
    assert program.interrupt() == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_lint_reports_again(sources: Path, start: Callable[..., Program]) -> None:
    """An edited manifest is checked again, and Ctrl-C ends lint without a failure or a trace."""
    program = start("lint", "tools", "--select", "D101")
    program.wait_for("nothing found in 4 tools", "watching 2 files")
    faulty = {**MANIFEST, "tools": [*MANIFEST["tools"], {"name": "coffee_brew"}]}
    (sources / "shop.json").write_text(json.dumps(faulty), "utf-8")
    told = program.wait_for("changed: tools/shop.json", "1 error in 5 tools")
    assert "error[D101]" in told
    (sources / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    program.wait_for("nothing found in 4 tools", times=2)
    assert program.interrupt() == 0
    assert "Traceback" not in program.wait_for_end()
