"""What strangers may hand to the program, and what it must not do then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")

SCHEMA = '{"tools": [{"name": "a", "inputSchema": '
CLIMBING = {"version": 1, "documents": [{"path": "../../evil.md", "content": "# Evil\n"}]}
REFUSED: dict[str, tuple[str, bytes]] = {
    "no JSON": ("a.json", b"my diary"),
    "a number": ("a.json", b"42"),
    "a text": ("a.json", b'"tools"'),
    "an object of something else": ("a.json", b'{"a": 1}'),
    "a list of something else": ("a.json", b"[1, 2]"),
    "tools that are no list": ("a.json", b'{"tools": {"a": 1}}'),
    "nothing": ("a.json", b""),
    "white space": ("a.json", b" \n\t\n"),
    "an empty bundle": ("a.mdld", b""),
    "an empty document": ("a.md", b""),
    "bytes of a picture": ("a.json", bytes(range(256)) * 10),
    "bytes without a name": ("a", bytes(range(256)) * 10),
    "broken UTF-8": ("a.json", b'{"tools": [{"name": "a\xff"}]}'),
    "broken UTF-8 in a document": ("a.md", b"---\ntitle: a\xff\n---\n"),
    "broken UTF-8 in hints": ("a.hints.yaml", b'tools: {a: {aliases: ["\xff"]}}'),
    "cut short": ("a.json", b'{"tools": [{"name": "a"}'),
    "a bundle cut short": ("a.mdld", b'{"version":1,"documents":[{"path":"a.md","con'),
    "a bundle that climbs": ("a.mdld", json.dumps(CLIMBING).encode()),
    "deep arrays": ("a.json", b"[" * 100_000),
    "a deep schema": ("a.json", (SCHEMA + '{"a":' * 500 + "1" + "}" * 500 + "}]}").encode()),
    "too big a number": ("a.json", (SCHEMA + '{"maximum": 1e999}}]}').encode()),
    "too long a number": ("a.json", (SCHEMA + '{"maximum": ' + "9" * 5000 + "}}]}").encode()),
    "no number": ("a.json", (SCHEMA + '{"maximum": NaN}}]}').encode()),
    "deep YAML": ("a.hints.yaml", b"tools: " + b"[" * 50_000),
    "deep YAML blocks": (
        "a.hints.yaml",
        b"tools:\n" + b"".join(b" " * n + b"a:\n" for n in range(1, 500)),
    ),
    "a YAML tag": ("a.hints.yaml", b'tools: !!python/object/apply:os.system ["touch evil.md"]'),
    "a YAML bomb": ("a.hints.yaml", b'a: &a ["x", "x"]\nb: &b [*a, *a]\ntools: {x: {aliases: *b}}'),
    "a YAML key twice": ("a.hints.yaml", b"tools:\n  a: {tags: [x]}\n  a: {tags: [y]}\n"),
}


def snapshot(folder: Path) -> dict[str, bytes]:
    """Give every file below *folder* with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def assert_refused(result: Run) -> None:
    """Hold an error to its form: where, what, a remedy, and nothing else."""
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err
    assert "unexpected" not in result.err


@pytest.mark.parametrize(("name", "content"), REFUSED.values(), ids=REFUSED)
class TestRefused:
    """A source that was named and cannot be used stops the run, with nothing written."""

    def test_nothing_is_written(
        self, graph: Path, run: Callable[..., Run], name: str, content: bytes
    ) -> None:
        """The bundle and the documents of yesterday stand; the error names the file."""
        run("generate", "tools", "-o", "docs")
        (graph.parent / name).write_bytes(content)
        before = snapshot(graph.parent)
        for command in (["bundle", name, "-o", "graph.mdld"], ["generate", name, "-o", "docs"]):
            result = run(*command)
            assert_refused(result)
            assert result.err.startswith(f"error: {name}")
        assert snapshot(graph.parent) == before

    def test_reading_it_is_an_error(
        self, folder: Path, run: Callable[..., Run], name: str, content: bytes
    ) -> None:
        """A command that reads a catalogue refuses it."""
        (folder / name).write_bytes(content)
        assert_refused(run("list", "-b", name))

    def test_it_costs_a_folder_only_itself(
        self, sources: Path, run: Callable[..., Run], name: str, content: bytes
    ) -> None:
        """Among other sources it is a diagnostic; only a damaged bundle stops the run."""
        (sources / name).write_bytes(content)
        result = run("bundle", "tools", "-o", "graph.mdld")
        is_bundle = content.startswith(b'{"version')
        assert result.code == (2 if is_bundle else 0)
        assert "Traceback" not in result.err
        if not is_bundle:
            assert "4 tools" in result.err


@pytest.mark.parametrize(
    "kind", ["no JSON", "a bundle that climbs", "broken UTF-8 in a document", "deep YAML"]
)
def test_every_reading_command_refuses_alike(
    folder: Path, run: Callable[..., Run], kind: str
) -> None:
    """All commands that read a catalogue report a source they refuse in the same words."""
    name, content = REFUSED[kind]
    (folder / name).write_bytes(content)
    commands = (["list"], ["search", "x"], ["explain", "x"], ["show", "x"])
    answers = [run(*command, "-b", name) for command in commands]
    assert_refused(answers[0])
    assert {answer.err for answer in answers} == {answers[0].err}


class TestSurvived:
    """What can be put right is put right, and told."""

    @pytest.mark.parametrize(
        ("tools", "codes"),
        [
            ('[{"description": "x"}, {"name": "a"}]', {"tool_invalid"}),
            ('[{"name": ""}, {"name": 5}, null, {"name": "a"}]', {"tool_invalid"}),
            (
                '[{"name": "a"}, {"name": "a", "description": "x"}]',
                {"duplicate_tool_name", "duplicate_tool_id"},
            ),
            ('[{"name": "a"}, {"name": "a"}]', {"tool_repeated"}),
            ('[{"name": "a", "name": "b"}]', {"key_repeated"}),
            (r'[{"name": "a\ud800", "description": "\udfff"}]', {"text_repaired"}),
        ],
    )
    def test_of_a_manifest(
        self, folder: Path, run: Callable[..., Run], tools: str, codes: set[str]
    ) -> None:
        """Entries that cannot be used are left out, others kept, each with its code."""
        (folder / "a.json").write_text(f'{{"tools": {tools}}}', "utf-8")
        result = run("bundle", "a.json", "--format", "json")
        assert result.code == 0
        assert {item["code"] for item in result.json["diagnostics"]} == codes
        assert run("list").code == 0

    def test_one_name_in_two_sources(self, folder: Path, run: Callable[..., Run]) -> None:
        """Namesakes of different servers get different ids and are told."""
        for name in ("a.json", "b.json"):
            (folder / name).write_text('{"tools": [{"name": "find"}]}', "utf-8")
        result = run("bundle", "a.json", "b.json")
        assert result.code == 0
        assert "info[duplicate_tool_id]" in result.err
        assert [tool["toolId"] for tool in run("list", "--format", "json").json["tools"]] == [
            "a_find",
            "b_find",
        ]

    def test_names_no_file_system_would_hold(self, folder: Path, run: Callable[..., Run]) -> None:
        """Long names, paths, devices and control characters become safe names of files."""
        names = ["n" * 100_000, "../../etc/passwd", "..", "CON", "a/b\\c", "a\n\x1b[2J\0b"]
        manifest = {"server": "s" * 5000, "tools": [{"name": name} for name in names]}
        (folder / "a.json").write_text(json.dumps(manifest), "utf-8")
        result = run("generate", "a.json", "-o", "docs")
        assert result.code == 0
        written = [path.relative_to(folder) for path in folder.rglob("*.md")]
        assert len(written) == len(names)
        assert all(path.parts[:2] == ("docs", "tools") for path in written)
        assert max(len(part) for path in written for part in path.parts) < 130


class TestAllBroken:
    """Sources none of which can be used never replace a graph by an empty one."""

    @pytest.mark.parametrize("command", [["bundle", "in"], ["generate", "in", "-o", "docs"]])
    def test_nothing_is_written(
        self, graph: Path, run: Callable[..., Run], command: list[str]
    ) -> None:
        """The run fails after telling what is wrong with each file."""
        run("generate", "tools", "-o", "docs")
        (graph.parent / "in").mkdir()
        (graph.parent / "in" / "a.json").write_text("my diary", "utf-8")
        before = snapshot(graph.parent)
        result = run(*command)
        assert result.code == 2
        assert "error[source_load_failed]: invalid JSON" in result.err
        assert "error: no tool could be read from the sources: nothing was written" in result.err
        assert snapshot(graph.parent) == before


class TestTargets:
    """A place that cannot be written is named, and nothing stays behind."""

    @posix
    @pytest.mark.parametrize(
        "target",
        ["tools", "/proc/mcpg/x.mdld", "tools/shop.json/x.mdld", "circle", "x" * 300],
        ids=["folder", "no disk", "below a file", "circle of links", "too long"],
    )
    @pytest.mark.parametrize("command", ["bundle", "generate"])
    def test_unwritable(
        self, sources: Path, run: Callable[..., Run], command: str, target: str
    ) -> None:
        """The error names the place; no file, whole or half, is left."""
        if command == "generate" and target == "tools":
            pytest.skip("a folder is what generate needs")
        Path("circle").symlink_to("circle")
        before = snapshot(sources.parent)
        result = run(command, str(sources), "-o", target)
        assert_refused(result)
        assert "\n  hint: " in result.err
        assert snapshot(sources.parent) == before

    @posix
    def test_a_link_out_of_the_folder(
        self, sources: Path, run: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Documents are never written through a link that leads elsewhere."""
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        Path("docs").mkdir()
        Path("docs/tools").symlink_to(elsewhere)
        assert_refused(run("generate", str(sources), "-o", "docs"))
        assert list(elsewhere.iterdir()) == []


@posix
class TestSpecialFiles:
    """Pipes, devices and links among the sources."""

    @pytest.mark.parametrize("command", [["bundle", "pipe"], ["list", "-b", "pipe"]])
    def test_a_pipe_without_a_writer(
        self, folder: Path, run: Callable[..., Run], command: list[str]
    ) -> None:
        """Nobody waits for a writer to come."""
        os.mkfifo(folder / "pipe")
        assert_refused(run(*command))

    @pytest.mark.usefixtures("folder")
    def test_a_device(self, run: Callable[..., Run]) -> None:
        """The empty device is an empty source."""
        assert_refused(run("bundle", "/dev/null"))

    def test_links_in_a_circle(self, sources: Path, run: Callable[..., Run]) -> None:
        """Circles of links, to files and to folders, end."""
        (sources / "self").symlink_to(sources)
        (sources / "circle.json").symlink_to("circle.json")
        result = run("bundle", "tools")
        assert result.code == 0
        assert "4 tools" in result.err
        assert "error[source_load_failed]" in result.err


class TestNumbers:
    """Numbers of the command line that make no sense."""

    @pytest.mark.parametrize("limit", ["0", "-3", "many", "1.5", ""])
    def test_limits(self, graph: Path, run: Callable[..., Run], limit: str) -> None:
        """A limit is a whole number from 1."""
        assert_refused(run("search", "x", "-b", str(graph), "--limit", limit))

    def test_a_giant_limit_is_capped(self, graph: Path, run: Callable[..., Run]) -> None:
        """More than there can be is told and cut."""
        result = run("search", "shipment", "-b", str(graph), "--limit", "9" * 30)
        assert result.code == 0
        assert "warning[limit_capped]" in result.err

    @pytest.mark.parametrize("score", ["nan", "inf", "-1", "1.1", "high"])
    def test_scores(self, graph: Path, run: Callable[..., Run], score: str) -> None:
        """A score is a number in [0, 1]."""
        assert_refused(run("search", "x", "-b", str(graph), "--min-score", score))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
@pytest.mark.parametrize(
    "name", ["pyproject.toml", "mcpg.toml", "graph.mdld.idx", "graph.mdld.vec"]
)
def test_a_pipe_beside_the_bundle_holds_no_search_up(folder: Path, graph: Path, name: str) -> None:
    """A search waits neither for a writer nor for a reader of a named pipe."""
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    command = [sys.executable, "-m", "mcpg", "search", "shipment status", "-b", str(graph)]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=90, check=False)
    assert (done.returncode, b"shipment" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("search x --limit abc", "--limit needs a whole number"),
        ("search x --min-score high", "needs a number"),
        ("search x --min-score 3", "needs a number of at most 1"),
        ("search x --min-score -1", "needs a number of at least 0"),
        ("tune q.jsonl --folds 99", "needs a number of at most 20"),
    ],
)
def test_values_are_refused_in_our_words(run: Callable[..., Run], words: str, told: str) -> None:
    """A message about an option has no sentence of the library that checked it."""
    done = run(*words.split())
    assert done.code == 2
    assert f"{told}, found " in done.err
    assert "Input" not in done.err
