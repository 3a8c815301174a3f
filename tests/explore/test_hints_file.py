"""Hints that are saved: what a save shows, what it writes, and when it refuses."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from exploring import mcpg_run

import mcpg
from mcpg.catalog.hints import read_hint_rules
from mcpg.catalog.model import Hints, ToolExample
from mcpg.errors import McpgError, UsageError
from mcpg.review.authored import ChangedFileError, HintsFile

if TYPE_CHECKING:
    from pathlib import Path

ADDED = Hints(
    aliases=("get my money", "Geld zurück: bitte"),
    keywords=("cash back",),
    examples=(ToolExample("pay back 20 euros"),),
)
YAML = """\
# Ours.
tools:
  refund_issue:
    search_aliases: [Get my MONEY]  # known
    nextSteps: [order_get]
"""


@pytest.fixture
def file(tmp_path: Path) -> HintsFile:
    """A hints file that does not exist yet."""
    return HintsFile(tmp_path / "hints" / "a.hints.yaml")


def test_a_new_file_holds_the_hints_alone(file: HintsFile) -> None:
    """The first save makes the folder and a file that reads as it should."""
    edit = file.edit("refund_issue", ADDED)
    assert edit.before is None
    assert not file.path.exists()
    file.save("refund_issue", ADDED, edit.version)
    (rule,), noticed = read_hint_rules(file.path.read_text("utf-8"), "h")
    assert (rule.pattern, rule.hints, noticed) == ("refund_issue", ADDED, ())


def test_a_known_file_keeps_what_it_has(file: HintsFile) -> None:
    """Comments, order and spelling of keys stay; hints that are there are not repeated."""
    file.path.parent.mkdir()
    file.path.write_text(YAML, "utf-8")
    edit = file.edit("refund_issue", Hints(aliases=ADDED.aliases))
    assert edit.after.decode() == YAML.replace(
        "[Get my MONEY]", '[Get my MONEY, "Geld zurück: bitte"]'
    )
    assert "-    search_aliases" in edit.diff
    assert '+    search_aliases: [Get my MONEY, "Geld zurück: bitte"]  # known' in edit.diff


def test_what_the_file_has_already_changes_nothing(file: HintsFile) -> None:
    """A save of known hints writes nothing and shows no change."""
    edit = file.save("t", ADDED, file.edit("t", ADDED).version)
    again = file.edit("t", ADDED)
    assert again.diff == ""
    assert again.after == edit.after


def test_a_file_that_changed_meanwhile_is_not_written(file: HintsFile) -> None:
    """Who saves what was shown before another change is told to look again."""
    shown = file.edit("a", ADDED)
    file.save("b", ADDED, shown.version)
    content = file.path.read_bytes()
    with pytest.raises(ChangedFileError):
        file.save("a", ADDED, shown.version)
    file.path.unlink()
    with pytest.raises(ChangedFileError):
        file.save("a", ADDED, HintsFile(file.path).edit("a", ADDED).version or "0")
    assert not file.path.exists()
    assert content


def test_json_keeps_its_order(tmp_path: Path) -> None:
    """A hints file in JSON keeps the order of its members."""
    file = HintsFile(tmp_path / "a.hints.json")
    file.path.write_text('{"tools": {"z": {"keywords": "k"}, "a": {}}}', "utf-8")
    file.save("z", ADDED, file.edit("z", ADDED).version)
    tools = json.loads(file.path.read_text("utf-8"))["tools"]
    assert list(tools) == ["z", "a"]
    assert tools["z"]["keywords"] == ["k", "cash back"]


@pytest.mark.parametrize(
    "content", ["[1]", "tools: [a]\n", "a: &b 1\n", "\udcff", "tools: {a: *x}"]
)
def test_what_is_no_hints_file_is_not_written(file: HintsFile, content: str) -> None:
    """A file of another kind, or a broken one, is left as it is."""
    file.path.parent.mkdir()
    file.path.write_bytes(content.encode("utf-8", "surrogateescape"))
    before = file.path.read_bytes()
    with pytest.raises(McpgError):
        file.save("a", ADDED, file.edit("a", ADDED).version)
    assert file.path.read_bytes() == before


def test_a_name_that_no_bundle_would_read_is_refused(tmp_path: Path) -> None:
    """Hints are not written where `mcpg bundle` would not look for them."""
    with pytest.raises(UsageError, match="would not be read"):
        HintsFile(tmp_path / "notes.yaml")


@pytest.mark.parametrize("name", ["commerce", "devtools", "workspace"])
def test_the_examples_can_be_edited(folder: Path, name: str) -> None:
    """Every entry of the hints files of the examples takes hints, and keeps all lines it had."""
    file = HintsFile(folder / "tools" / f"{name}.hints.yaml")
    text = file.path.read_text("utf-8")
    for rule in read_hint_rules(text, "h")[0]:
        edit = file.edit(rule.pattern, Hints(aliases=("a new one",), keywords=("novelty",)))
        removed = [line for line in edit.diff.splitlines()[2:] if line.startswith("-")]
        assert len(removed) <= 2
        assert edit.after.decode().count("#") == text.count("#")


def test_the_bundle_keeps_the_rank_that_was_promised(folder: Path) -> None:
    """The smallest change, saved and bundled, gives the rank and score that were promised."""
    query = "shipmnt refund order details"
    change = mcpg.load("graph.mdld").explain(query, tool="invoice_get").tool.change
    file = HintsFile(folder / "hints" / "explore.hints.yaml")
    file.save("invoice_get", change.hints, file.edit("invoice_get", change.hints).version)
    assert mcpg_run("bundle", "tools", str(file.path), "-o", "new.mdld", "-q") == 0

    best = mcpg.load("new.mdld").search(query).matches[0]
    assert (best.tool_id, change.rank_after) == ("invoice_get", 1)
    assert best.score == pytest.approx(change.score_after, abs=1e-6)
    shutil.rmtree(file.path.parent)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.hints.yaml", "tools:\n  refund_issue: text\n"),
        ("a.hints.yaml", "tools: {refund_issue: [1]}\n"),
        ("a.hints.json", '{"tools": {"refund_issue": "text"}}'),
    ],
)
def test_an_entry_that_holds_no_hints_is_refused(tmp_path: Path, name: str, content: str) -> None:
    """What stands where hints belong is not thrown away: the error names the entry."""
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(McpgError, match="'refund_issue' is not a mapping of hints"):
        HintsFile(tmp_path / name).edit("refund_issue", ADDED)


@pytest.mark.parametrize(
    "content", ["null", '{"tools": null}', '{"tools": {"refund_issue": null}}']
)
def test_json_without_an_entry_gets_one(tmp_path: Path, content: str) -> None:
    """A JSON file says nothing by null, wherever it stands."""
    path = tmp_path / "a.hints.json"
    path.write_text(content, "utf-8")
    edited = HintsFile(path).edit("refund_issue", Hints(keywords=("money",))).after
    assert json.loads(edited) == {"tools": {"refund_issue": {"keywords": ["money"]}}}


def test_json_keeps_what_it_has(tmp_path: Path) -> None:
    """Halves of characters stay escapes, and a file with all hints stays as it is written."""
    path = tmp_path / "a.hints.json"
    path.write_text('{"tools":{"refund_issue":{"keywords":["\\ud800"]}}}', "utf-8")
    file = HintsFile(path)
    assert b'"\\ud800"' in file.edit("refund_issue", Hints(keywords=("money",))).after
    edit = file.edit("refund_issue", Hints())
    assert edit.after == edit.before


def test_a_key_that_is_not_read_is_not_made_one_that_is(tmp_path: Path) -> None:
    """Aliases are added under the key that counts, or those that count now would not any more."""
    path = tmp_path / "a.hints.yaml"
    path.write_text("tools:\n  t:\n    searchAliases: {a: 1}\n    aliases: [known]\n", "utf-8")
    edited = HintsFile(path).edit("t", Hints(aliases=("new",))).after.decode()
    (rule,), _ = read_hint_rules(edited, "h")
    assert rule.hints.aliases == ("known", "new")
