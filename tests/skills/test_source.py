"""Skills as a source: which folders are read, what a page holds, and what becomes items."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from skillfolders import write_skill

from mcpg.bundle import assemble
from mcpg.engine import load
from mcpg.errors import Code, NotFoundError
from mcpg.skills import folder as folder_module
from mcpg.skills.folder import read_skill
from mcpg.skills.items import identify_skills, make_uri
from mcpg.skills.pages import MOST_HELD, is_skill_page, read_skill_page, write_skill_page
from mcpg.sources import read_sources
from mcpg.sources.read import source_signature, watched_files

FRONT = "description: Does a thing. Use when needed.\n---\n"


def names(*sources: Path | str) -> dict[tuple[str, str], str]:
    """Return the folders of the skills that *sources* have, by source and name."""
    assembly = assemble(read_sources([str(one) for one in sources]), texts=False)
    return {key: one.folder for key, one in identify_skills(assembly.pages).items()}


def test_a_page_is_the_skill(tides: Path) -> None:
    """What a page holds is what was read, to the byte."""
    (tides / "chart.bin").write_bytes(bytes(range(256)))
    (tides / "long.txt").write_text("x" * (MOST_HELD + 1))
    skill = read_skill(tides, path="skills/tide-tables", source_id="harbour")
    document = write_skill_page(skill)
    assert is_skill_page(document)
    (page,) = assemble(read_sources([f"skills:{tides}"]), texts=False).pages
    found = read_skill_page(page)
    assert found is not None
    held = {one.path: one.content for one in found.files}
    assert held.pop("long.txt") is None
    assert held == {one.path: one.content for one in skill.files if one.path != "long.txt"}
    digests = [(one.path, one.digest, one.size) for one in found.files]
    assert digests == [(one.path, one.digest, one.size) for one in skill.files]
    assert (found.frontmatter, found.body) == (skill.frontmatter, skill.body)


def test_a_page_that_was_changed_by_hand_lacks_what_was_changed(tmp_path: Path) -> None:
    """Contents that do not match their digest are not given out; a changed text is no skill."""
    folder = write_skill(tmp_path / "skills", "pdf", f"{FRONT}Body.\n", {"a.md": "honest"})
    written = write_skill_page(read_skill(folder, source_id="s")).content
    page = tmp_path / "pages/pdf.md"
    page.parent.mkdir()
    for old, new, expected in (("honest", "forged", {"a.md": None}), ("Body.", "Evil.", {})):
        page.write_text(written.replace(old, new), "utf-8")
        skills = load(str(page.parent)).items("skill").by_id.values()
        files = {file.path: file.content for one in skills for file in one.files}
        files.pop("SKILL.md", None)
        assert files == expected


@pytest.mark.parametrize(
    "change",
    [
        *({"path": path} for path in ("../a.md", "/a.md", "a//b", "./a.md", "", "\ud800", 5)),
        *({"size": size} for size in (-1, True, 10**12, "6")),
        *({"digest": digest} for digest in ("sha256:0", "\x1b[2J", None)),
        {"path": "SKILL.md"},
    ],
)
def test_a_page_has_only_files_that_a_folder_can_have(
    tmp_path: Path, change: dict[str, object]
) -> None:
    """Of files with one path, the first counts for all readers; impossible ones are left out."""
    folder = write_skill(tmp_path / "skills", "pdf", f"{FRONT}Body.\n", {"a.md": "honest"})
    written = write_skill_page(read_skill(folder, source_id="s")).content
    (line,) = (one for one in written.split("\n") if "honest" in one)
    changed = json.dumps({**json.loads(line), **change})
    page = tmp_path / "pages/pdf.md"
    page.parent.mkdir()
    page.write_text(written.replace(line, changed), "utf-8")
    (skill,) = load(str(page.parent)).items("skill").by_id.values()
    assert [one.path for one in skill.files] == ["SKILL.md"]
    assert b"Body." in (skill.files[0].content or b"")


def test_a_file_that_vanishes_costs_its_skill_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is removed while it is read is reported, and the other skills are read."""
    read = folder_module.read_bytes

    def remove(path: Path, limit: int) -> bytes:
        if path.parent.name == "gone":
            shutil.rmtree(path.parent, ignore_errors=True)
        return read(path, limit)

    monkeypatch.setattr(folder_module, "read_bytes", remove)
    write_skill(tmp_path / "skills", "gone", FRONT)
    write_skill(tmp_path / "skills", "here", FRONT)
    batch = read_sources([f"skills:{tmp_path / 'skills'}"])
    assert [Path(one.place).parent.name for one in batch.documents] == ["here"]
    assert [one.code for one in batch.diagnostics] == [Code.SOURCE_LOAD_FAILED]


def test_skills_are_found_by_themselves(tmp_path: Path) -> None:
    """Of a folder with tools and skills, each is what it is, and files of skills are no tools."""
    manifest = {"tools": [{"name": "track", "description": "Track a parcel."}]}
    (tmp_path / "tools.json").write_text(json.dumps(manifest))
    tool = "---\ntitle: Not a tool\nname: trap\nsource: x\n---\n\n## Tool Identity\n"
    write_skill(tmp_path / "kit", "pdf", f"{FRONT}## Tool Identity\n", {"references/a.md": tool})
    write_skill(tmp_path / "kit/pdf", "inner", FRONT)
    write_skill(tmp_path, ".hidden/skill", FRONT)
    write_skill(tmp_path, "node_modules/skill", FRONT)
    engine = load(str(tmp_path))
    assert [tool.name for tool in engine.tools] == ["track"]
    assert {one.folder for one in engine.items("skill").by_id.values()} == {
        "kit/pdf",
        "kit/pdf/inner",
    }
    assert set(names(tmp_path / "kit/pdf/SKILL.md")) == {("pdf", "pdf"), ("pdf", "inner")}


def test_sources_are_named_by_plugin_client_or_folder(tmp_path: Path) -> None:
    """A plugin says its name; the usual folder is named by the one above it."""
    write_skill(tmp_path / ".claude/skills", "one", FRONT)
    plugin = tmp_path / ".claude/plugins/office"
    write_skill(plugin / "skills", "two", FRONT)
    (plugin / ".claude-plugin").mkdir()
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "office-kit"}')
    (tmp_path / "other").mkdir()
    write_skill(tmp_path / "other", "three", FRONT)
    assert [*names(f"skills:{tmp_path / '.claude/skills'}")] == [("claude", "one")]
    assert [*names(f"skills:{tmp_path / '.claude/plugins'}")] == [("office-kit", "two")]
    assert [*names(f"skills:{tmp_path / 'other'}")] == [("other", "three")]


def test_none_hides_another(tmp_path: Path) -> None:
    """Of two skills with one source and name the first keeps it; equal ones are one."""
    first = write_skill(tmp_path / "a/skills", "x", f"{FRONT}First.\n")
    write_skill(tmp_path / "b/skills", "x", f"{FRONT}Second.\n")
    sources = [f"skills:{tmp_path / one / 'skills'}" for one in "ab"]
    batch = read_sources(sources, source_id="s")
    found = identify_skills(assemble(batch, texts=False).pages)
    assert {key: one.body for key, one in found.items()} == {
        ("s", "x"): "First.",
        ("s-2", "x"): "Second.",
    }
    assert len({make_uri(one, "SKILL.md") for one in found.values()}) == 2
    shutil.copytree(first, tmp_path / "c/skills/x")
    again = [*sources, f"skills:{tmp_path / 'c/skills'}"]
    batch = read_sources(again, source_id="s")
    assert identify_skills(assemble(batch, texts=False).pages).keys() == found.keys()


def test_broken_skills_and_links_are_reported(tmp_path: Path) -> None:
    """What cannot be read is a diagnostic, and the others are read."""
    root = tmp_path / "skills"
    write_skill(root, "good", FRONT)
    write_skill(root, "bad", "---\nname: [\n---\n")
    write_skill(root, "huge", f"---\nname: huge\ndescription: {'x' * 2_000_000}\n---\n")
    elsewhere = write_skill(tmp_path / "private", "linked", FRONT)
    (root / "linked").symlink_to(elsewhere)
    batch = read_sources([f"skills:{root}"])
    assert len(batch.documents) == 1
    codes = sorted(one.code for one in batch.diagnostics)
    expected = [Code.SOURCE_LOAD_FAILED, Code.SOURCE_LOAD_FAILED, Code.SOURCE_SKIPPED]
    assert codes == sorted(expected)
    assert any("bad/SKILL.md" in (one.place or "") for one in batch.diagnostics)


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_skills_is_an_error(tmp_path: Path, exists: bool) -> None:
    """Who names a folder of skills means one."""
    if exists:
        (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError):
        read_sources([f"skills:{tmp_path / 'empty'}"])


def test_a_change_of_any_file_is_a_change_of_the_sources(tmp_path: Path) -> None:
    """Scripts count, though no folder of tools is read for them."""
    write_skill(tmp_path / "kit", "pdf", FRONT, {"scripts/fill.py": "1"})
    script = tmp_path / "kit/pdf/scripts/fill.py"
    before = source_signature([str(tmp_path)]), watched_files([str(tmp_path)])
    script.write_text("22")
    after = source_signature([str(tmp_path)]), watched_files([str(tmp_path)])
    assert str(script) in before[1]
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_tools_rank_as_without_skills(tmp_path: Path) -> None:
    """Skills change no score of a tool: each kind has statistics of its own."""
    tools = [
        {"name": name, "description": text}
        for name, text in (("fill_form", "Fill in a form."), ("send_mail", "Send a mail."))
    ]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    plain = load(str(tmp_path)).search("fill in the pdf form")
    write_skill(tmp_path, "fill_form", FRONT + "fill in the pdf form " * 9)
    assert load(str(tmp_path)).search("fill in the pdf form") == plain
