"""Lists in the forms that programs read: the same words on every command."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

# Each command, the member of its JSON that is the list, and what identifies a member.
LISTS = {
    "search": (["search", "invoice shipment"], "matches", "toolId"),
    "list": (["list"], "tools", "toolId"),
}
EMPTY = {
    "search": ["search", "qqqq"],
    "list": ["list", "--category", "none"],
}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", LISTS)
class TestList:
    """A list says the same in every form."""

    def test_a_line_of_jsonl_is_a_member_of_json(self, name: str, run: Callable[..., Run]) -> None:
        """`jsonl` has one object a line, and nothing else."""
        command, members, _ = LISTS[name]
        whole = run(*command, "--format", "json")
        lines = run(*command, "--format", "jsonl")
        assert [json.loads(line) for line in lines.out.splitlines()] == whole.json[members]
        assert lines.code == whole.code == 0

    def test_ids_are_alone_on_their_lines(self, name: str, run: Callable[..., Run]) -> None:
        """`ids` can be read by a shell loop."""
        command, members, identity = LISTS[name]
        expected = [one[identity] for one in run(*command, "--format", "json").json[members]]
        assert len(expected) > 1
        assert run(*command, "--format", "ids").out.splitlines() == expected

    def test_csv_has_a_heading_and_a_row_each(self, name: str, run: Callable[..., Run]) -> None:
        """`csv` has the scalar members under their names in JSON."""
        command, members, identity = LISTS[name]
        expected = run(*command, "--format", "json").json[members]
        rows = list(csv.DictReader(io.StringIO(run(*command, "--format", "csv").out)))
        assert [row[identity] for row in rows] == [one[identity] for one in expected]
        for row, one in zip(rows, expected, strict=True):
            assert row.keys() <= one.keys()
            assert all(row[key] == one[key] for key in row if isinstance(one[key], str))

    def test_markdown_is_a_table(self, name: str, run: Callable[..., Run]) -> None:
        """`markdown` has a heading, a rule, and a row for each; `md` means the same."""
        command, members, identity = LISTS[name]
        expected = run(*command, "--format", "json").json[members]
        table = run(*command, "--format", "markdown")
        head, rule, *rows = table.out.splitlines()
        assert set(rule) <= set("|-: ")
        assert head.count("|") == rule.count("|")
        for row, one in zip(rows, expected, strict=True):
            assert f"`{one[identity]}`" in row
        assert run(*command, "--format", "md") == table

    def test_nothing_found_is_an_exit_code(self, name: str, run: Callable[..., Run]) -> None:
        """An empty list is told by the exit code 1 and a note, whatever the form."""
        for form, out in (("jsonl", ""), ("ids", ""), ("text", "")):
            result = run(*EMPTY[name], "--format", form)
            assert (result.code, result.out) == (1, out)
            assert result.err
        assert run(*EMPTY[name], "--format", "json").code == 1
        assert run(*EMPTY[name], "--format", "csv").out.count("\n") == 1


def test_text_of_others_stays_in_its_cell(folder: Path, run: Callable[..., Run]) -> None:
    """A description with line ends, quotes, pipes and escapes breaks no form."""
    hostile = 'a "b", c\nd | e \x1b[2J `f` \u202e'
    tool = {"name": "x", "description": hostile}
    (folder / "x.json").write_text(json.dumps({"server": "s", "tools": [tool]}), "utf-8")
    for form in ("jsonl", "csv", "ids", "markdown"):
        out = run("list", "-b", "x.json", "--format", form).out
        assert not {"\x1b", "\u202e"} & set(out)
        if form == "csv":
            (row,) = csv.DictReader(io.StringIO(out))
            assert row["description"].startswith('a "b", c\nd | e ')
        if form == "jsonl":
            assert json.loads(out)["description"] == hostile
        if form == "markdown":
            assert len(out.splitlines()) == 3
