from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from shop import HINTS

import mcpg
from mcpg.bundle import assemble
from mcpg.index import recipe
from mcpg.index.file import content_key, open_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

LINKS_NOWHERE = """\
---
title: Refunds
graph_related: [nowhere]
---
# Refunds

Pays an order back.
"""


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make any further parsing of sources an error."""

    def forbid() -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("the sources were parsed")

        monkeypatch.setattr("mcpg.cli.build.read_sources", refuse)
        monkeypatch.setattr("mcpg.sources.read_sources", refuse)

    return forbid


def rewritten(run: Callable[..., Run], *arguments: str) -> tuple[bool, bool]:
    """Run `mcpg bundle tools`, and say whether the bundle and its index were written."""
    report = run("bundle", "tools", *arguments, "--format", "json").json
    return report["written"], report["indexWritten"]


def test_the_index_stands_beside_the_bundle(graph: Path) -> None:
    """A bundle comes with the index that a search would make, to be used at once."""
    index = open_index(f"{graph}.idx")
    status = graph.stat()

    assert index.header.key == content_key(str(graph))
    times = status.st_mtime_ns, status.st_ctime_ns
    assert index.header.stamp == (status.st_size, *times, status.st_ino)
    assert mcpg.load(graph).search("shipment status").matches


@pytest.mark.usefixtures("graph")
def test_unchanged_sources_are_not_parsed(
    run: Callable[..., Run], unparsed: Callable[[], None]
) -> None:
    """Where nothing changed, a run says so from names and contents alone."""
    told = run("bundle", "tools").err
    unparsed()

    assert run("bundle", "tools").err == told
    assert told.startswith("up to date: graph.mdld: 4 tools, 4 documents, 7 edges, ")
    assert rewritten(run) == (False, False)


@pytest.mark.usefixtures("graph")
def test_a_bundle_of_other_rules_is_made_anew(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With other rules, for edges as well, the same sources are read again."""
    monkeypatch.setattr(recipe, "RULES", recipe.RULES + 1)
    assert rewritten(run) == (False, True)  # these rules make the same bundle


def test_both_ways_report_the_same(graph: Path, run: Callable[..., Run]) -> None:
    """A report has the same members whether the sources were parsed or not."""
    unparsed = run("bundle", "tools", "--format", "json")
    graph.with_name("graph.mdld.idx").unlink()
    parsed = run("bundle", "tools", "--format", "json")

    assert parsed.json == unparsed.json | {"indexWritten": True}
    assert [*parsed.json] == [*unparsed.json]


def test_a_changed_source_is_noticed(sources: Path, graph: Path, run: Callable[..., Run]) -> None:
    """An edit that shows in the bundle changes both files; one that does not, the index alone."""
    before = graph.read_bytes()
    manifest = sources / "shop.json"
    manifest.write_text(manifest.read_text() + "\n")
    assert rewritten(run) == (False, True)
    manifest.write_text(manifest.read_text().replace("buy its label", "print its label"))

    assert rewritten(run) == (True, True)
    assert graph.read_bytes() != before
    assert rewritten(run) == (False, False)


def test_a_changed_bundle_is_noticed(graph: Path, run: Callable[..., Run]) -> None:
    """A bundle that somebody edited or took away is written again; its index still fits."""
    text = graph.read_bytes()
    for damage in (text + b"\n", None):
        graph.unlink()
        if damage:
            graph.write_bytes(damage)
        assert rewritten(run) == (True, False)
        assert rewritten(run) == (False, False)
        assert graph.read_bytes() == text


@pytest.mark.parametrize("place", [0, 3, 40, 5_000, -3])
def test_a_damaged_index_is_written_again(graph: Path, run: Callable[..., Run], place: int) -> None:
    """Bytes that are wrong anywhere in the index are noticed, though the bundle is fresh."""
    path = graph.with_name("graph.mdld.idx")
    data = bytearray(path.read_bytes())
    data[place] ^= 0x55
    path.write_bytes(data)

    assert rewritten(run) == (False, True)
    data[place] ^= 0x55
    assert path.read_bytes() == data


def test_an_index_that_a_search_made_is_completed(graph: Path, run: Callable[..., Run]) -> None:
    """An index that knows of no run is written again, once."""
    graph.with_name("graph.mdld.idx").unlink()
    mcpg.load(graph)

    assert rewritten(run) == (False, True)
    assert rewritten(run) == (False, False)


def test_warnings_are_told_every_time(sources: Path, graph: Path, run: Callable[..., Run]) -> None:
    """Where there is something to mend, no run is silent about it; the index is left in peace."""
    (sources / "shop.hints.yaml").write_text(HINTS + "  no_such_tool: {tags: [x]}\n", "utf-8")
    first, second = run("bundle", "tools"), run("bundle", "tools")

    assert "warning[hint_unmatched]" in first.err
    assert "wrote its index" in first.err
    assert "warning[hint_unmatched]" in second.err
    assert "wrote" not in second.err
    assert graph.exists()


def test_information_is_told_in_every_report(
    sources: Path, run: Callable[..., Run], unparsed: Callable[[], None]
) -> None:
    """A run that only noticed information is short in text, and complete in JSON."""
    tools = json.loads((sources / "shop.json").read_text())["tools"]
    repeated = {"server": "shop", "tools": [*tools, tools[0]]}
    (sources / "shop.json").write_text(json.dumps(repeated))
    assert "info[tool_repeated]" in run("bundle", "tools").err
    codes = [
        item["code"] for item in run("bundle", "tools", "--format", "json").json["diagnostics"]
    ]
    assert codes == ["tool_repeated"]
    unparsed()

    assert run("bundle", "tools").err.startswith("up to date: graph.mdld: 4 tools")


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("flag", ["--strict", "--check", "--diff", "--force"])
def test_some_flags_look_closely(
    run: Callable[..., Run], unparsed: Callable[[], None], flag: str
) -> None:
    """Who asks for a judgement, or for force, gets one of the sources themselves."""
    unparsed()

    assert "the sources were parsed" in run("bundle", "tools", flag, "--debug").err


@pytest.mark.parametrize("flag", ["--check", "--diff"])
def test_comparing_does_not_look_at_the_index(
    graph: Path, run: Callable[..., Run], flag: str
) -> None:
    """A bundle is fresh or stale whatever its index is, and comparing writes nothing."""
    graph.with_name("graph.mdld.idx").unlink()

    assert run("bundle", "tools", flag).code == 0
    assert [path.name for path in graph.parent.iterdir() if path.is_file()] == ["graph.mdld"]


def test_standard_output_has_no_index(sources: Path, run: Callable[..., Run]) -> None:
    """What goes to a pipe leaves nothing behind."""
    assert "index" not in run("bundle", "tools", "-o", "-").err
    assert not list(sources.parent.glob("*idx*"))


@pytest.mark.usefixtures("sources")
def test_an_index_that_cannot_be_written_is_no_failure(
    folder: Path, run: Callable[..., Run]
) -> None:
    """The bundle counts; that it will be searched more slowly is told."""
    (folder / "graph.mdld.idx").mkdir()
    result = run("bundle", "tools", "--format", "json")

    assert result.code == 0
    assert (result.json["written"], result.json["indexWritten"]) == (True, False)
    assert [item["code"] for item in result.json["diagnostics"]] == ["index_in_memory"]
    assert "info[index_in_memory]: the index cannot be written: " in result.err


def test_sources_that_change_while_they_are_read_are_not_trusted(
    sources: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows which state was read, so the next run reads again."""
    manifest = sources / "shop.json"
    text = manifest.read_text()

    def edited(*arguments: object, **options: object) -> object:
        manifest.write_text(text + "\n")
        return assemble(*arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr("mcpg.cli.build.assemble", edited)
        run("bundle", "tools")
    manifest.write_text(text)

    assert rewritten(run) == (False, True)


def test_an_empty_catalogue_has_an_index(folder: Path, run: Callable[..., Run]) -> None:
    """No tool at all is no reason to look again."""
    (folder / "tools").mkdir()
    run("bundle", "tools")

    assert run("bundle", "tools").err.startswith("up to date: graph.mdld: 0 tools")


@pytest.mark.parametrize("searched", [False, True])
def test_a_list_reads_the_index_alone(
    sources: Path, run: Callable[..., Run], unparsed: Callable[[], None], *, searched: bool
) -> None:
    """What a bundle has to report is found out once, by a search or by the first list."""
    (sources / "refunds.md").write_text(LINKS_NOWHERE)
    run("bundle", "tools", "-o", "graph.mdld")
    told = run("list").err
    if searched:
        (sources.parent / "graph.mdld.idx").unlink()
        run("search", "x")
    else:
        run("list")
    unparsed()

    assert run("list", "--format", "json").json["diagnostics"]
    assert run("list").err == told
    absolute = str(sources.parent / "graph.mdld")
    assert f"({absolute}: documents[" in run("list", "-b", absolute).err
    (sources.parent / "graph.mdld.idx").unlink()
    assert "the sources were parsed" in run("list").err
