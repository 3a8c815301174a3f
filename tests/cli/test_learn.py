"""`mcpg learn`: counts that are added up, forgotten, checked, and put into the next bundle."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from traces import DAY, START, calls_of, lines_of

from mcpg.cli import main
from mcpg.cli.commands import learn as learn_command
from mcpg.errors import OutputError
from mcpg.files import locked_folder
from mcpg.relations.observed_calls import decode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

    Runner = Callable[..., Run]

FILE = "graph.observed.jsonl"
SESSIONS = [["shipment_create", "shipment_status"]] * 4


@pytest.fixture
def calls(folder: Path) -> Path:
    """A trace of the shop's tools."""
    path = folder / "calls.jsonl"
    path.write_bytes(lines_of(calls_of(SESSIONS)))
    return path


def sessions_in(folder: Path, name: str = FILE) -> int:
    """Return how many sessions a file counts."""
    return sum(decode((folder / name).read_text("utf-8"), name).sessions.values())


@pytest.mark.usefixtures("graph", "calls")
def test_what_is_learned_reaches_searches(run: Runner, folder: Path) -> None:
    """Traces make a file, the file is a source of the bundle, and the bundle shows the edge."""
    learned = run("learn", "calls.jsonl")
    assert learned.code == 0
    assert "followed it in 4 of 4 sessions" in learned.out
    assert f"wrote {FILE}: 4 sessions, 2 tools, 1 pair" in learned.err
    assert run("bundle", "tools", FILE, "-q").code == 0
    assert run("bundle", "tools", FILE, "--check").code == 0
    shown = run("show", "shipment_create")
    assert "followed it in 4 of 4 sessions" in shown.out
    found = run("search", "buy a label for a shipment", "--limit", "1")
    assert "from shipment_create: followed it in 4 of 4 sessions" in found.out
    (folder / FILE).unlink()
    assert run("bundle", "tools", "--check").code == 1


@pytest.mark.usefixtures("graph", "calls")
def test_a_rebuild_by_the_configuration_file_keeps_it(run: Runner, folder: Path) -> None:
    """The settings name the file once to learn into, and once as a source."""
    (folder / "mcpg.toml").write_text(
        '[learn]\noutput = "data/seen.jsonl"\n\n[[sources]]\npath = "tools"\n\n'
        '[[sources]]\npath = "data/seen.jsonl"\n'
    )
    assert run("learn", "calls.jsonl").code == 0
    assert sessions_in(folder, "data/seen.jsonl") == 4
    assert run("bundle").code == 0
    assert run("bundle", "--check").code == 0
    assert "followed it" in run("show", "shipment_create").out


@pytest.mark.usefixtures("graph")
def test_tools_that_the_bundle_lacks_are_reported(run: Runner, folder: Path) -> None:
    """They are counted and left out; without a bundle every tool counts."""
    (folder / "calls.jsonl").write_bytes(lines_of(calls_of([["shipment_create", "fax"]] * 2)))
    learned = run("learn", "calls.jsonl")
    assert "skipped 2 calls of tools that are not in the catalog: 'fax' (2)" in learned.err
    (folder / "graph.mdld").unlink()
    free = run("learn", "calls.jsonl", "-o", "free.jsonl")
    assert "no bundle: tools are named as in the traces" in free.err
    assert "fax" in free.out


def test_learning_adds_up_and_never_twice(run: Runner, folder: Path, calls: Path) -> None:
    """What is learned is added, the same file is not, and `--reset` begins again."""
    assert run("learn", "calls.jsonl").code == 0
    again = run("learn", "calls.jsonl")
    assert again.code == 0
    assert "learned from before" in again.err
    assert "up to date" in again.err
    assert sessions_in(folder) == 4
    later = calls_of([["a", "b"]], prefix="t", start=START + DAY)
    calls.write_bytes(calls.read_bytes() + lines_of(later))
    assert run("learn", "calls.jsonl").code == 0
    assert sessions_in(folder) == 5
    (folder / "other.jsonl").write_bytes(lines_of(later))
    assert run("learn", "other.jsonl", "--reset").code == 0
    assert sessions_in(folder) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of folders there")
@pytest.mark.usefixtures("calls")
def test_two_at_once_lose_nothing(run: Runner, folder: Path) -> None:
    """One that runs while another still reads waits for it, and adds to what it has written."""
    command = [sys.executable, "-m", "mcpg", "learn", "-", "-q"]
    others = lines_of(calls_of([["order_get", "refund_issue"]] * 3))
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE) as slow:
        _wait_until_locked(folder)
        feeder = threading.Timer(0.3, slow.communicate, [others])
        feeder.start()
        assert run("learn", "calls.jsonl").code == 0
        feeder.join()
    assert slow.returncode == 0
    assert sessions_in(folder) == 7


def _wait_until_locked(folder: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            with locked_folder(folder, seconds=0):
                time.sleep(0.05)
        except OutputError:
            return


@pytest.mark.usefixtures("calls")
def test_files_of_counts_are_added(run: Runner, folder: Path) -> None:
    """What several machines have learned becomes one file."""
    run("learn", "calls.jsonl", "-o", "one.jsonl")
    (folder / "more.jsonl").write_bytes(lines_of(calls_of([["a", "b"]], prefix="t")))
    run("learn", "more.jsonl", "-o", "other.jsonl")
    assert run("learn", "one.jsonl", "other.jsonl", "-o", "both.jsonl").code == 0
    whole = run("learn", "calls.jsonl", "more.jsonl", "-o", "whole.jsonl")
    assert whole.code == 0
    assert (folder / "both.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


@pytest.mark.usefixtures("calls")
def test_files_of_counts_are_added_once(run: Runner, folder: Path) -> None:
    """The same calls in two files are noticed, and a file is not added to itself."""
    run("learn", "calls.jsonl", "-o", "one.jsonl")
    (folder / "more.jsonl").write_bytes(lines_of(calls_of([["a", "b"]], prefix="t")))
    run("learn", "calls.jsonl", "more.jsonl", "-o", "both.jsonl")
    again = run("learn", "one.jsonl", "-o", "both.jsonl")
    assert "learned from before: it is not added" in again.err
    assert sessions_in(folder, "both.jsonl") == 5
    assert run("learn", "both.jsonl", "./both.jsonl", "-o", "both.jsonl").code == 0
    assert sessions_in(folder, "both.jsonl") == 5
    twice = run("learn", "both.jsonl", "-o", "one.jsonl")
    assert "1 file of calls in it were learned from before: their calls count twice" in twice.err


@pytest.mark.usefixtures("graph")
def test_all_names_of_a_tool_are_forgotten(run: Runner, folder: Path) -> None:
    """What was learned without a bundle may call a tool by another name."""
    (folder / "calls.jsonl").write_bytes(lines_of(calls_of([["shop::shipment_create", "b"]])))
    (folder / "graph.mdld").rename(folder / "away.mdld")
    run("learn", "calls.jsonl")
    assert "shop::shipment_create" in (folder / FILE).read_text()
    assert run("learn", "--forget", "shipment_create", "-b", "away.mdld").code == 0
    assert "shipment_create" not in (folder / FILE).read_text()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_read(run: Runner, folder: Path, pack: Callable[[bytes], bytes]) -> None:
    """`-` is a trace as well, compressed or not."""
    assert run("learn", "-", stdin=pack(lines_of(calls_of(SESSIONS)))).code == 0
    assert sessions_in(folder) == 4


@pytest.mark.usefixtures("calls")
def test_all_can_be_forgotten_while_learning(run: Runner, folder: Path) -> None:
    """That nothing is left to count is no error, and neither is to learn from the file again."""
    assert run("learn", "calls.jsonl", "--forget-before", "2027-01-01").code == 0
    assert sessions_in(folder) == 0
    again = run("learn", "calls.jsonl")
    assert again.code == 0
    assert "was learned from before" in again.err


def test_a_closed_standard_input_holds_no_call(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python has no stream for it then."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["learn", "-"]) == 1
    assert "no call could be used" in capsys.readouterr().err


@pytest.mark.usefixtures("calls")
def test_check_writes_nothing(run: Runner, folder: Path) -> None:
    """It exits 1 while there is something new to learn."""
    stale = run("learn", "calls.jsonl", "--check", "--format", "json")
    assert (stale.code, stale.json["stale"]) == (1, True)
    assert not (folder / FILE).exists()
    run("learn", "calls.jsonl")
    assert run("learn", "calls.jsonl", "--check").code == 0


@pytest.mark.usefixtures("graph", "calls")
def test_the_report_has_every_count(run: Runner) -> None:
    """JSON has the edges with the numbers behind them, and what was skipped."""
    report = run("learn", "calls.jsonl", "--format", "json").json
    assert report["written"] is True
    assert {name: report[name] for name in ("sessions", "tools", "pairs", "first", "last")} == {
        "sessions": 4,
        "tools": 2,
        "pairs": 1,
        "first": "2026-05-28",
        "last": "2026-05-28",
    }
    assert report["read"]["lines"] == report["read"]["calls"] == 8
    (edge,) = report["edges"]
    assert (edge["source"], edge["kind"], edge["sessions"], edge["of"]) == (
        "shipment_create",
        "nextStep",
        4,
        4,
    )


def test_what_is_to_be_forgotten_goes(run: Runner, folder: Path) -> None:
    """A tool, the sessions before a day, or everything; what was learned from stays known."""
    calls = calls_of([["a", "b", "c"]]) + calls_of([["b", "c"]], prefix="t", start=START + 9 * DAY)
    (folder / "calls.jsonl").write_bytes(lines_of(calls))
    run("learn", "calls.jsonl")
    assert run("learn", "--forget", "a").code == 0
    assert '"a"' not in (folder / FILE).read_text()
    assert run("learn", "--forget-before", "2026-06-01").code == 0
    assert sessions_in(folder) == 1
    assert run("learn", "calls.jsonl").code == 0
    assert sessions_in(folder) == 1
    assert run("learn", "--forget-all").code == 0
    assert sessions_in(folder) == 0
    assert run("learn", "calls.jsonl").code == 0
    assert sessions_in(folder) == 2


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no traces are named"),
        (("missing.jsonl",), "missing.jsonl: cannot be read"),
        (("calls.jsonl", "-o", "-"), "standard output takes the report"),
        (("--forget-before", "soon"), "'soon' is not a date"),
        (("calls.jsonl", "--forget", "shipment_creat"), "did you mean 'shipment_create'?"),
        (("--forget", "x"), "no calls of 'x' are recorded"),
        (("calls.jsonl", "-b", "missing.mdld"), "no bundle, folder or manifest"),
        (("calls.jsonl", "-o", "calls.jsonl"), "is not a file of observed calls"),
    ],
)
def test_bad_usage_is_told(run: Runner, arguments: tuple[str, ...], message: str) -> None:
    """Exit code 2, and nothing is written."""
    done = run("learn", *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_trace_without_a_call_is_a_finding(run: Runner, folder: Path) -> None:
    """Nothing is written, the reasons are reported, and the exit code is 1."""
    (folder / "calls.jsonl").write_text('{"tool": "a"}\nnonsense\n')
    done = run("learn", "calls.jsonl")
    assert done.code == 1
    assert "no call could be used: nothing was written" in done.err
    assert "skipped 1 call: without a session" in done.err
    assert not (folder / FILE).exists()


@pytest.mark.usefixtures("calls")
def test_force_replaces_other_files_and_keeps_counts(run: Runner, folder: Path) -> None:
    """What was learned before is dropped only when `--reset` asks for that."""
    (folder / FILE).write_text("notes of somebody\n")
    assert run("learn", "calls.jsonl").code == 2
    assert run("learn", "calls.jsonl", "--force").code == 0
    assert sessions_in(folder) == 4
    (folder / "more.jsonl").write_bytes(lines_of(calls_of(SESSIONS, prefix="m")))
    assert run("learn", "more.jsonl", "--force").code == 0
    assert sessions_in(folder) == 8


def test_a_damaged_file_of_counts_is_an_error(run: Runner, folder: Path, calls: Path) -> None:
    """It is not replaced by what is new alone, unless that is asked for."""
    (folder / FILE).write_text('{"schema":"mcpg/observed/1","sessions":{}}\n{"tool":1}\n')
    done = run("learn", calls.name)
    assert done.code == 2
    assert f"{FILE}:2" in done.err
    assert run("learn", calls.name, "--reset").code == 0


@pytest.mark.usefixtures("calls")
def test_a_file_that_could_not_be_read_is_not_written(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the size of a source the advice is to forget what is old."""
    monkeypatch.setattr(learn_command, "MAX_BYTES", 100)
    done = run("learn", "calls.jsonl")
    assert done.code == 2
    assert "--forget-before" in done.err
    assert not (folder / FILE).exists()


def test_hostile_names_steer_no_terminal(run: Runner, folder: Path) -> None:
    """Names of tools in a trace are text of strangers."""
    evil: list[dict[str, Any]] = calls_of([["\x1b[31ma", "b\u202e\nc"]] * 3)
    (folder / "calls.jsonl").write_bytes(lines_of(evil))
    done = run("learn", "calls.jsonl")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "\u202e" not in done.out
    parsed = json.loads(run("learn", "calls.jsonl", "--format", "json").out)
    assert parsed["edges"][0]["source"] == "\x1b[31ma"
