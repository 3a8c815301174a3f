from __future__ import annotations

from pathlib import Path

import pytest

from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.hints import is_generated_name
from mcpg.catalog.model import Hints, Tool, ToolExample
from mcpg.enrich.file import GeneratedFile, find_generated_files, name_file, own_file
from mcpg.enrich.plan import TextState, choose_file, make_plan
from mcpg.errors import SourceError

TEXTS = Hints(aliases=("grab it",), examples=(ToolExample("grab it now"),))
ODD = ['a "b"', "c: #d", "\u2028x\x85", "🚀 \ud83d", "- no", "null", "", "1.5", "&x *y", "é"]


@pytest.mark.parametrize("ending", ["yaml", "yml", "json"])
def test_what_is_written_is_read(ending: str, tmp_path: Path) -> None:
    """Keys and texts of any characters survive, and writing again changes no byte."""
    path = tmp_path / f"x.generated.hints.{ending}"
    entries = {
        key or "k": {"aliases": list(ODD), "examples": [{"input": one} for one in ODD], "n": []}
        for key in ODD
        if "\ud83d" not in key
    }
    for one in entries.values():
        one["aliases"] = [text.replace("\ud83d", "") for text in ODD]
        one["examples"] = [{"input": text.replace("\ud83d", "")} for text in ODD]
    GeneratedFile(path, dict(entries), {"$schema": "s"}).write(1)
    first = path.read_bytes()
    found = GeneratedFile.read(path)
    assert (found.entries, found.further) == (entries, {"$schema": "s"})
    found.write(1)
    assert path.read_bytes() == first


@pytest.mark.parametrize("text", ["", "tools: [1]\n", "a: b\n", "tools: {\n"])
def test_a_broken_file_is_an_error(text: str, tmp_path: Path) -> None:
    """It is named, and nothing is written over it."""
    path = tmp_path / "x.generated.hints.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(SourceError) as caught:
        GeneratedFile.read(path)
    assert str(caught.value.place).startswith(str(path))


@pytest.mark.parametrize(
    "text", ['{"tools": {"a": {"aliases": ["x"], "aliases": []}}}', '{"tools": {}} {"tools": {}}']
)
def test_json_of_which_a_part_would_be_lost_is_an_error(text: str, tmp_path: Path) -> None:
    """Repeated keys and several values are refused, as a build refuses them."""
    path = tmp_path / "x.generated.hints.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SourceError, match="several values"):
        GeneratedFile.read(path)


def test_a_file_whose_entries_are_all_removed_has_none(tmp_path: Path) -> None:
    """A bundle is built of it as well."""
    path = tmp_path / "x.generated.hints.yaml"
    path.write_text("generated: {by: x}\ntools:\n", "utf-8")
    assert GeneratedFile.read(path).entries == {}


@pytest.mark.parametrize("server", ["generated", "Generated", "my.generated"])
def test_the_file_of_people_beside_it_is_no_generated_one(server: str) -> None:
    """Else promoted texts would stay generated."""
    assert not is_generated_name(own_file(Path(name_file(server))).name)


def test_names_of_files_are_safe() -> None:
    """Separators, reserved names and names that differ in case alone get a digest."""
    assert name_file("git-hub.v2") == "git-hub.v2.generated.hints.yaml"
    names = [name_file(one) for one in ("../etc/passwd", "con", "日本", "a b", "x" * 300, "")]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii()
        assert not {"/", "\\", " "} & set(name)
        assert len(name) < 120
        assert name.removesuffix(".generated.hints.yaml").partition(".")[0] not in ("con", "")
    assert name_file("Git", ["git", "Git"]) != name_file("Git")
    assert all(map(is_generated_name, names))


def test_files_are_found_once(tmp_path: Path) -> None:
    """Those in folders, and those that are named."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "x.generated.hints.yaml").write_text("tools:\n", "utf-8")
    (inner / "x.hints.yaml").write_text("tools:\n", "utf-8")
    paths = [str(tmp_path), str(inner), str(inner / "x.generated.hints.yaml"), "python:json", "-"]
    assert find_generated_files(paths) == [inner / "x.generated.hints.yaml"]


def test_texts_follow_their_definition(tmp_path: Path) -> None:
    """Without an entry they are missing; a change of definition or prompt makes them stale."""
    tool = Tool("", "Web", "Get", description="Get a page.")
    twin = Tool("", "web", "get", description="Get another page.")
    catalog = build_catalog([tool, twin])
    plan = make_plan(catalog, [], 1)
    assert set(plan.states.values()) == {TextState.MISSING}
    path = tmp_path / "w.generated.hints.yaml"
    for one in catalog.tools:
        plan.store(one, TEXTS, {"date": "2026-11-28"}, path).write(1)
    files = [GeneratedFile.read(path)]
    assert len(files[0].entries) == 2
    assert set(make_plan(catalog, files, 1).states.values()) == {TextState.CURRENT}
    assert set(make_plan(catalog, files, 2).states.values()) == {TextState.OUTDATED}
    later = build_catalog([Tool("", "Web", "Get", description="Get  a\npage."), twin])
    assert set(make_plan(later, files, 1).states.values()) == {TextState.CURRENT}
    changed = build_catalog([Tool("", "Web", "Get", description="Fetch a page."), twin])
    states = make_plan(changed, files, 1).states
    assert sorted(states.values()) == [TextState.CHANGED, TextState.CURRENT]
    assert not make_plan(catalog, files, 1, ["*::get"]).states


def test_texts_lie_beside_their_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that is a source, beside a file, in the folder that is chosen, or here."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x.json").write_text("[]", "utf-8")

    def choose(place: str, paths: list[str], folder: str | None = None) -> str:
        tool = Tool("s", "shop", "s", place=place)
        plan = make_plan(build_catalog([tool]), [], 1)
        return choose_file(tool, plan, paths, folder).parent.as_posix()

    assert choose("a/m.json: tools[0]", ["b/x.json", "a"]) == "a"
    assert choose("b/x.json: tools[0]", ["a", "b/x.json"]) == "b"
    assert choose("./a/m.json: tools[0]", ["./a"]) == "a"
    assert choose("m.json", ["."]) == "."
    assert choose("https://h.example/mcp", ["b/x.json", "a"]) == "a"
    assert choose("https://h.example/mcp", []) == "."
    assert choose("a/m.json", ["a"], "texts") == "texts"
