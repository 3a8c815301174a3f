from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shop import HINTS, MANIFEST

from mcpg.bundle import Bundle, assemble, encode_bundle
from mcpg.cli import main
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run


def snapshot(folder: Path) -> dict[str, bytes]:
    """Give every file below *folder* with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def edit(sources: Path, old: str, new: str) -> None:
    """Replace *old* in the shop's manifest."""
    file = sources / "shop.json"
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")


class TestBundle:
    """`mcpg bundle` writes one file, or says what would change."""

    def test_it_writes_once(self, sources: Path, run: Callable[..., Run]) -> None:
        """A bundle that is up to date is not touched."""
        first = run("bundle", str(sources), "-o", "out/a.mdld")
        assert (first.code, first.out) == (0, "")
        assert first.err.startswith("wrote out/a.mdld: 4 tools, 4 documents, ")
        second = run("bundle", str(sources), "-o", "out/a.mdld")
        assert second.err.startswith("up to date: out/a.mdld: 4 tools")

    def test_quiet_says_nothing(self, sources: Path, run: Callable[..., Run]) -> None:
        """With --quiet a success is silent, before the command and after it."""
        assert run("bundle", str(sources), "-q").err == ""
        assert run("-q", "bundle", str(sources), "-o", "b.mdld").err == ""

    def test_standard_input_and_output(self, folder: Path, run: Callable[..., Run]) -> None:
        """`-` reads a manifest and writes the bundle, byte for byte as into a file."""
        manifest = json.dumps(MANIFEST).encode()
        piped = run("bundle", "-", "-o", "-", stdin=manifest)
        assert piped.err.startswith("wrote standard output: 4 tools")
        run("bundle", "-", stdin=manifest)
        assert piped.out == (folder / "graph.mdld").read_text("utf-8")

    def test_a_bundle_among_its_own_sources_is_left_out(
        self, sources: Path, run: Callable[..., Run]
    ) -> None:
        """The file that is written is no source, so writing twice gives the same."""
        target = str(sources / "graph.mdld")
        run("bundle", str(sources), "-o", target)
        assert run("bundle", str(sources), "-o", target, "--check").code == 0

    def test_check_of_a_fresh_bundle(self, graph: Path, run: Callable[..., Run]) -> None:
        """--check is 0 when nothing changed."""
        result = run("bundle", "tools", "-o", str(graph), "--check")
        assert (result.code, result.out) == (0, "")
        assert result.err.startswith("up to date: ")

    @pytest.mark.parametrize("flag", ["--check", "--diff"])
    def test_a_stale_bundle_is_1_and_stays(
        self, sources: Path, graph: Path, run: Callable[..., Run], flag: str
    ) -> None:
        """--check and --diff tell what changed and write nothing."""
        edit(sources, "buy its label", "print its label")
        before = snapshot(sources.parent)
        result = run("bundle", "tools", "-o", str(graph), flag)
        assert result.code == 1
        assert result.err.splitlines()[0] == f"stale: {graph}"
        assert result.err.splitlines()[1].startswith("  ~ shop::shipment_create: description")
        assert ("Create a shipment and print its label." in result.out) is (flag == "--diff")
        assert snapshot(sources.parent) == before

    def test_added_and_removed_tools_are_told(
        self, sources: Path, graph: Path, run: Callable[..., Run]
    ) -> None:
        """The difference names tools that came and went."""
        edit(sources, '"invoice_refund"', '"invoice_repay"')
        told = run("bundle", "tools", "-o", str(graph), "--check").err
        assert "  + shop::invoice_repay\n" in told
        assert "  - shop::invoice_refund\n" in told

    def test_long_differences_are_cut(self, folder: Path, run: Callable[..., Run]) -> None:
        """Ten lines are enough to see what is going on."""
        many = {"tools": [{"name": f"tool_{n}", "description": "x"} for n in range(15)]}
        (folder / "many.json").write_text(json.dumps(many), "utf-8")
        (folder / "none.json").write_text('{"tools": []}', "utf-8")
        run("bundle", "none.json")
        told = run("bundle", "many.json", "--check").err.splitlines()
        assert told[-1] == "  ... and 5 more"
        assert len([line for line in told if line.startswith("  + ")]) == 10

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (None, "no such file"),
            (b"", "is empty"),
            (b"my diary", "invalid JSON"),
        ],
    )
    def test_a_missing_or_damaged_bundle_is_stale(
        self, sources: Path, run: Callable[..., Run], content: bytes | None, reason: str
    ) -> None:
        """What cannot be compared is stale, with the reason; --diff shows everything as new."""
        if content is not None:
            (sources.parent / "graph.mdld").write_bytes(content)
        result = run("bundle", str(sources), "--check", "--diff")
        assert result.code == 1
        assert reason in result.err
        assert "+++ b/tools/shop/shipment_status.md" in result.out

    def test_a_bundle_with_indented_schemas_is_stale_once(
        self, graph: Path, run: Callable[..., Run]
    ) -> None:
        """It differs from a new one in form alone: no tool, and nothing that a lock approves."""
        documents = assemble(read_sources(["tools"])).texts
        old = graph.with_name("old.mdld")
        old.write_bytes(encode_bundle(Bundle(documents)))
        assert "no change" in run("diff", "old.mdld", "graph.mdld").err
        assert run("lock", "old.mdld", "-o", "tools.lock").code == 0
        assert run("lock", "graph.mdld", "-o", "tools.lock", "--check").code == 0
        result = run("bundle", "tools", "-o", "old.mdld", "--check", "--diff")
        assert (result.code, result.out) == (1, "")
        assert "the same documents in other bytes" in result.err
        assert run("bundle", "tools", "-o", "old.mdld").code == 0
        assert run("bundle", "tools", "-o", "old.mdld", "--check").code == 0
        assert old.read_bytes() == graph.read_bytes()

    def test_the_same_documents_in_other_bytes(self, graph: Path, run: Callable[..., Run]) -> None:
        """A file that only another version or program wrote is stale and says so."""
        text = graph.read_text("utf-8")
        graph.write_text(f"{text}\n", "utf-8")
        assert "the file was edited" in run("bundle", "tools", "--check").err
        graph.write_text(text.replace('"generatorVersion":"', '"generatorVersion":"0.0.'), "utf-8")
        assert "written by mcpg 0.0." in run("bundle", "tools", "--check").err
        bare = {"version": 1, "documents": json.loads(text)["documents"]}
        graph.write_text(json.dumps(bare), "utf-8")
        assert "written by another program" in run("bundle", "tools", "--check").err

    def test_strict_writes_nothing_on_a_warning(
        self, sources: Path, run: Callable[..., Run]
    ) -> None:
        """--strict makes findings fail the run; without findings it changes nothing."""
        assert run("bundle", str(sources), "-o", "a.mdld", "--strict").code == 0
        (sources / "shop.hints.yaml").write_text(HINTS + "  no_such_tool: {tags: [x]}\n", "utf-8")
        result = run("bundle", str(sources), "-o", "b.mdld", "--strict")
        assert result.code == 1
        assert "warning[hint_unmatched]" in result.err
        assert "error: 1 finding under --strict: nothing was written" in result.err
        assert not (sources.parent / "b.mdld").exists()

    def test_foreign_files_need_force(self, sources: Path, run: Callable[..., Run]) -> None:
        """A file that is no bundle is overwritten only with --force."""
        diary = sources.parent / "diary.txt"
        diary.write_text("dear diary", "utf-8")
        refused = run("bundle", str(sources), "-o", "diary.txt")
        assert refused.code == 2
        assert diary.read_text("utf-8") == "dear diary"
        assert run("bundle", str(sources), "-o", "diary.txt", "--force").code == 0

    @pytest.mark.parametrize(
        ("arguments", "place"),
        [
            (["-o", "-", "--check"], "--output"),
            (["-o", "-", "--diff"], "--output"),
            (["-o", "-", "--format", "json"], "--format"),
        ],
    )
    def test_standard_output_has_one_use(
        self, sources: Path, run: Callable[..., Run], arguments: list[str], place: str
    ) -> None:
        """The bundle on standard output cannot be compared, nor share it with a report."""
        result = run("bundle", str(sources), *arguments)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"error: {place}: ")

    def test_source_id_overrides(self, sources: Path, run: Callable[..., Run]) -> None:
        """--source-id names the source of every tool."""
        run("bundle", str(sources / "shop.json"), "--source-id", "mine")
        tools = run("list", "--format", "json").json["tools"]
        assert {tool["sourceId"] for tool in tools} == {"mine"}

    def test_documents_of_two_folders_may_share_a_path(
        self, folder: Path, run: Callable[..., Run]
    ) -> None:
        """Each document gets a path of its own, whatever the order of the folders."""
        for name in ("one", "two"):
            (folder / name).mkdir()
            text = f"---\nname: {name}\nsource: s\n---\n# Tool {name}\n\nDoes {name}.\n"
            (folder / name / "tool.md").write_text(text, "utf-8")
        result = run("bundle", "one", "two", "-o", "a.mdld")
        assert result.code == 0
        assert "warning[document_invalid]: its path 'tool.md' is taken" in result.err
        run("bundle", "two", "one", "-o", "b.mdld")
        assert (folder / "a.mdld").read_bytes() == (folder / "b.mdld").read_bytes()
        assert run("list", "-b", "a.mdld", "--format", "ids").out == "one\ntwo\n"
        assert run("generate", "one", "two", "-o", "docs").code == 0
        assert len(list((folder / "docs").rglob("*.md"))) == 2

    def test_bad_sources_are_refused(self, folder: Path, run: Callable[..., Run]) -> None:
        """A source that is missing or no manifest is named, and nothing is made."""
        (folder / "broken.json").write_bytes(b'{"tools": [')
        for source in ("absent.json", "broken.json"):
            result = run("bundle", source)
            assert result.code == 2
            assert result.err.startswith(f"error: {source}")
            assert "\n  hint: " in result.err
        assert snapshot(folder).keys() == {"broken.json"}

    def test_no_tools_at_all_is_told(self, folder: Path, run: Callable[..., Run]) -> None:
        """An empty folder gives an empty bundle, but not in silence."""
        (folder / "empty").mkdir()
        result = run("bundle", "empty")
        assert result.code == 0
        assert result.err.startswith("no tool was found in the sources\n")

    def test_an_unwritable_target_is_an_error(self, sources: Path, run: Callable[..., Run]) -> None:
        """A folder where a file should go is refused with its name."""
        result = run("bundle", str(sources), "-o", str(sources))
        assert result.code == 2
        assert result.err.startswith(f"error: {sources}")

    def test_missing_standard_input_is_no_crash(
        self, folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program started without standard input reads an empty one."""
        assert folder.exists()
        result = run("bundle", "-")
        assert result.code == 2
        assert result.err.startswith("error: standard input: ")
        monkeypatch.setattr(sys, "stdin", None)
        from mcpg.cli.terminal import standard_input  # noqa: PLC0415 - after the stream is gone

        assert standard_input(10) == b""


class TestGenerate:
    """`mcpg generate` writes documents into a folder and never loses anybody's text."""

    def test_it_writes_once(self, sources: Path, run: Callable[..., Run]) -> None:
        """Documents that are up to date are not touched."""
        first = run("generate", str(sources), "-o", "docs")
        assert first.err.startswith("wrote docs: 4 tools, 4 documents, ")
        assert first.err.endswith(": 4 created\n")
        second = run("generate", str(sources), "-o", "docs")
        assert second.err.startswith("unchanged: docs: ")
        assert second.err.endswith(": 4 unchanged\n")

    def test_documents_give_the_same_bundle(self, graph: Path, run: Callable[..., Run]) -> None:
        """Going through a folder of documents changes no byte of the bundle."""
        run("generate", "tools", "-o", "docs")
        run("bundle", "docs", "-o", "again.mdld")
        assert (graph.parent / "again.mdld").read_bytes() == graph.read_bytes()

    def test_an_output_folder_among_the_sources_is_left_out(
        self, sources: Path, run: Callable[..., Run]
    ) -> None:
        """Documents written below a source are no sources of the next run."""
        target = str(sources / "docs")
        run("generate", str(sources), "-o", target)
        edit(sources, "buy its label", "print its label")
        result = run("generate", str(sources), "-o", target)
        assert "1 updated" in result.err

    @pytest.mark.parametrize("flag", ["--check", "--diff"])
    def test_stale_documents_are_1_and_stay(
        self, sources: Path, run: Callable[..., Run], flag: str
    ) -> None:
        """--check and --diff tell what would change and write nothing."""
        run("generate", str(sources), "-o", "docs")
        assert run("generate", str(sources), "-o", "docs", flag).code == 0
        edit(sources, "buy its label", "print its label")
        before = snapshot(sources.parent)
        result = run("generate", str(sources), "-o", "docs", flag)
        assert result.code == 1
        assert "  ~ tools/shop/shipment_create.md\n" in result.err
        assert ("Create a shipment and print its label." in result.out) is (flag == "--diff")
        assert snapshot(sources.parent) == before

    def test_a_missing_folder_is_stale(self, sources: Path, run: Callable[..., Run]) -> None:
        """Documents that are not there yet are told one by one."""
        result = run("generate", str(sources), "-o", "docs", "--check", "--format", "json")
        assert result.code == 1
        assert result.json["stale"] is True
        assert "tools/shop/shipment_status.md" in result.json["created"]
        assert not (sources.parent / "docs").exists()

    def test_prune_removes_what_has_no_tool(self, sources: Path, run: Callable[..., Run]) -> None:
        """A document whose tool has gone goes with --prune only, and counts as stale with it."""
        run("generate", str(sources), "-o", "docs")
        edit(sources, '"invoice_refund"', '"invoice_repay"')
        kept = run("generate", str(sources), "-o", "docs")
        assert "1 document obsolete: see --prune" in kept.err
        stale = run("generate", str(sources), "-o", "docs", "--prune", "--check", "--diff")
        assert stale.code == 1
        assert "  - tools/shop/invoice_refund.md\n" in stale.err
        assert "+++ /dev/null" in stale.out
        assert run("generate", str(sources), "-o", "docs", "--check").code == 0
        assert "1 removed" in run("generate", str(sources), "-o", "docs", "--prune").err
        assert not (sources.parent / "docs/tools/shop/invoice_refund.md").exists()

    def test_files_of_others_need_force(self, sources: Path, run: Callable[..., Run]) -> None:
        """A file that a person made stops the run, before anything is written."""
        own = sources.parent / "docs" / "tools" / "shop" / "shipment_status.md"
        own.parent.mkdir(parents=True)
        own.write_text("my notes", "utf-8")
        refused = run("generate", str(sources), "-o", "docs")
        assert refused.code == 2
        assert snapshot(sources.parent / "docs").keys() == {str(Path(*own.parts[-3:]))}
        told = run("generate", str(sources), "-o", "docs", "--diff")
        assert "shipment_status.md: made or edited by someone else" in told.err
        assert "-my notes" in told.out
        assert run("generate", str(sources), "-o", "docs", "--force").code == 0
        assert "my notes" not in own.read_text("utf-8")

    def test_edited_documents_without_a_tool_stay(
        self, sources: Path, run: Callable[..., Run]
    ) -> None:
        """What a person edited is never removed, and that is told."""
        run("generate", str(sources), "-o", "docs")
        edited = sources.parent / "docs" / "tools" / "shop" / "invoice_refund.md"
        edited.write_text(edited.read_text("utf-8") + "\nMine.\n", "utf-8")
        edit(sources, '"invoice_refund"', '"invoice_repay"')
        result = run("generate", str(sources), "-o", "docs", "--prune")
        assert "invoice_refund.md is for no tool any more and was edited, so it stays" in result.err
        assert edited.exists()

    def test_a_folder_in_the_way_can_be_shown(self, sources: Path, run: Callable[..., Run]) -> None:
        """A folder where a document would go is a difference, not a crash."""
        way = sources.parent / "docs" / "tools" / "shop" / "shipment_status.md"
        way.mkdir(parents=True)
        assert run("generate", str(sources), "-o", "docs", "--diff").code == 1

    def test_strict(self, sources: Path, run: Callable[..., Run]) -> None:
        """--strict writes nothing on a warning."""
        (sources / "shop.hints.yaml").write_text("tools: {nothing: {tags: [x]}}", "utf-8")
        assert run("generate", str(sources), "-o", "docs", "--strict").code == 1
        assert not (sources.parent / "docs").exists()


def test_names_with_a_leading_dot_survive_generate_and_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document of a tool called `.com` is no hidden file that the next command passes over."""
    monkeypatch.chdir(tmp_path)
    manifest = {"tools": [{"name": name, "server": ".dots"} for name in (".com", ".git", "plain")]}
    Path("tools.json").write_text(json.dumps(manifest), encoding="utf-8")

    assert main(["bundle", "tools.json", "-o", "one.mdld", "-q"]) == 0
    assert main(["generate", "tools.json", "-o", "docs", "-q"]) == 0
    assert main(["bundle", "docs", "-o", "two.mdld", "-q"]) == 0

    assert Path("one.mdld").read_bytes() == Path("two.mdld").read_bytes()
    assert ".com" in Path("one.mdld").read_text(encoding="utf-8")


class TestTarget:
    """Where a bundle goes that nothing names on the command line."""

    @pytest.mark.parametrize(
        ("text", "written"),
        [
            ('bundle = "out/shop.mdld"', "out/shop.mdld"),
            ('bundle = "tools"', "graph.mdld"),
            ("limit = 3", "graph.mdld"),
        ],
    )
    @pytest.mark.usefixtures("sources")
    def test_the_settings_name_it(
        self, folder: Path, run: Callable[..., Run], text: str, written: str
    ) -> None:
        """It is the bundle of the configuration file; a folder or a manifest there is none."""
        (folder / "mcpg.toml").write_text(f'{text}\n[[sources]]\npath = "tools"\n', "utf-8")
        done = run("bundle")
        assert (done.code, f"wrote {written}:" in done.err) == (0, True)
        assert (folder / written).is_file()
        assert run("bundle", "--check").code == 0

    @pytest.mark.usefixtures("sources")
    def test_a_variable_names_what_is_read_and_an_option_another(
        self, folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A bundle of another project, which a variable may name, is not written to unasked."""
        (folder / "mcpg.toml").write_text('bundle = "file.mdld"\n', "utf-8")
        monkeypatch.setenv("MCPG_BUNDLE", "variable.mdld")
        run("bundle", "tools")
        run("bundle", "tools", "-o", "option.mdld")
        assert {one.name for one in folder.glob("*.mdld")} == {"file.mdld", "option.mdld"}

    @pytest.mark.usefixtures("sources")
    def test_it_is_that_of_the_file_in_a_folder_above(
        self, folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A path in the file is relative to the file."""
        (folder / "mcpg.toml").write_text('bundle = "shop.mdld"\n', "utf-8")
        monkeypatch.chdir(folder / "tools")
        assert run("bundle", "shop.json").code == 0
        assert (folder / "shop.mdld").is_file()
