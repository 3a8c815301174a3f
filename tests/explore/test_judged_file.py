"""Judged queries collected in a file: written, added to, taken back, and read by `mcpg eval`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcpg.errors import InputError, McpgError, UsageError
from mcpg.review.authored import JudgedFile, QueryVerdict

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["a.jsonl", "a.yaml"]


def read(file: JudgedFile) -> dict[str, tuple[str, ...]]:
    """Return the tools of every query as `mcpg eval` reads them."""
    found = file.read()
    assert found is None or not found.diagnostics
    return {one.query: one.relevant for one in found.queries} if found else {}


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_are_read_as_they_were_meant(tmp_path: Path, name: str) -> None:
    """A query, a second tool for it, a query without a tool: the file has all of them."""
    file = JudgedFile(tmp_path / name)
    assert read(file) == {}
    assert file.record(QueryVerdict("where is: my parcel", "status"))
    assert file.record(QueryVerdict("where is: my parcel", "events"))
    assert file.record(QueryVerdict("# weather", None))
    assert not file.record(QueryVerdict("where is: my parcel", "events"))
    assert read(file) == {"where is: my parcel": ("status", "events"), "# weather": ()}


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_can_be_taken_back(tmp_path: Path, name: str) -> None:
    """A verdict that is taken back leaves the others; the last one takes the query with it."""
    file = JudgedFile(tmp_path / name)
    for tool in ("a", "b"):
        file.record(QueryVerdict("q", tool))
    file.record(QueryVerdict("other", "a"))
    file.record(QueryVerdict("none", None))
    file.record(QueryVerdict("q", "a", holds=False))
    assert read(file) == {"q": ("b",), "other": ("a",), "none": ()}
    file.record(QueryVerdict("q", "b", holds=False))
    file.record(QueryVerdict("none", None, holds=False))
    assert not file.record(QueryVerdict("never", "a", holds=False))
    assert read(file) == {"other": ("a",)}


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_that_is_right_after_all_replaces_that_none_is(tmp_path: Path, name: str) -> None:
    """A query of which no tool was right gets the one that is."""
    file = JudgedFile(tmp_path / name)
    file.record(QueryVerdict("q", None))
    file.record(QueryVerdict("q", "a"))
    assert read(file) == {"q": ("a",)}
    file.record(QueryVerdict("q", None))
    assert read(file) == {"q": ()}


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        (
            "a.yaml",
            "# ours\nwhere is it: status  # sure\nq: [a, b]\n",
            '# ours\nwhere is it: status  # sure\nq: [a, b, "new"]\n',
        ),
        (
            "a.yaml",
            "- query: q\n  id: 7\n  relevant:\n    - a # sure\n- query: r\n  relevant: []\n",
            (
                '- query: q\n  id: 7\n  relevant:\n    - a # sure\n    - "new"\n- query: r\n'
                "  relevant: []\n"
            ),
        ),
        (
            "a.jsonl",
            '{"id": "x", "query": "q", "relevant": "a"}\n\nbroken\n{"query":"r","relevant":[]}',
            (
                '{"id": "x", "query": "q", "relevant": ["a", "new"]}\n\nbroken\n'
                '{"query":"r","relevant":[]}'
            ),
        ),
    ],
)
def test_the_rest_of_a_file_stays(tmp_path: Path, name: str, text: str, after: str) -> None:
    """Comments, ids, other queries and even broken lines stay as they are."""
    file = JudgedFile(tmp_path / name)
    file.path.write_text(text, "utf-8")
    file.record(QueryVerdict("q", "new"))
    assert file.path.read_text("utf-8") == after


def test_another_name_of_the_tool_is_the_tool(tmp_path: Path) -> None:
    """A file may have the tool by another name: it is not written twice, and can be taken back."""
    file = JudgedFile(tmp_path / "a.jsonl")
    file.record(QueryVerdict("q", "shop::refund"))
    names = frozenset({"refund", "shop::refund"})
    assert not file.record(QueryVerdict("q", "shop_refund", names))
    assert file.record(QueryVerdict("q", "shop_refund", names, holds=False))


def test_a_query_with_tools_in_use_is_another(tmp_path: Path) -> None:
    """What is judged with context tools is not what is judged without."""
    file = JudgedFile(tmp_path / "a.jsonl")
    line = '{"query": "q", "relevant": ["a"], "contextTools": ["x"]}\n'
    file.path.write_text(line, "utf-8")
    file.record(QueryVerdict("q", "b"))
    assert file.path.read_text("utf-8") == line + '{"query": "q", "relevant": ["b"]}\n'


@pytest.mark.parametrize("text", ["a: [", "just text\n", "3\n"])
def test_a_file_of_another_kind_is_left(tmp_path: Path, text: str) -> None:
    """What is no file of judged queries is not written to."""
    file = JudgedFile(tmp_path / "a.yaml")
    file.path.write_text(text, "utf-8")
    with pytest.raises(InputError):
        file.record(QueryVerdict("q", "a"))
    assert file.path.read_text("utf-8") == text


def test_a_name_that_says_no_layout_is_refused(tmp_path: Path) -> None:
    """The ending of the name says how the file is written."""
    with pytest.raises(UsageError, match="cannot be written"):
        JudgedFile(tmp_path / "judged.txt")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """A folder in the place of the file is an error that names it."""
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(McpgError):
        JudgedFile(tmp_path / "a.jsonl").record(QueryVerdict("q", "a"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("query", ["a\u2028b", "a\u0085b", "a\x0cb", "a\x1eb"])
def test_a_query_with_any_separator_is_found_again(tmp_path: Path, name: str, query: str) -> None:
    """Only a line feed ends a line: a second verdict on such a query is added to the first."""
    file = JudgedFile(tmp_path / name)
    file.record(QueryVerdict(query, "a"))
    file.record(QueryVerdict(query, "b"))
    assert read(file) == {query: ("a", "b")}
    file.forget(query)
    assert read(file) == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_without_its_last_query_can_be_used_on(tmp_path: Path, name: str) -> None:
    """What is left when the last verdict is taken back holds none, and takes further ones."""
    file = JudgedFile(tmp_path / name)
    file.record(QueryVerdict("q", "a"))
    file.record(QueryVerdict("q", "a", holds=False))
    assert file.read() is None
    file.record(QueryVerdict("r", "b"))
    assert read(file) == {"r": ("b",)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"query": "q", "relevant": ["a"]}\n{"query": "q", "relevant": ["b"]}\n'),
        ("a.yaml", "- {query: q, relevant: [a]}\n- {query: q, relevant: [b]}\n"),
        ("b.yaml", "q: [a]\n' q ': [b]\n"),
    ],
)
def test_verdicts_on_a_query_that_stands_twice_concern_both(
    tmp_path: Path, name: str, content: str
) -> None:
    """What is taken back is taken out of each entry of the query."""
    file = JudgedFile(tmp_path / name)
    file.path.write_text(content, "utf-8")
    assert file.record(QueryVerdict("q", "b", holds=False))
    assert read(file) == {"q": ("a",)}
    file.path.write_text(content, "utf-8")
    assert file.forget("q")
    assert file.read() is None


@pytest.mark.parametrize("name", NAMES)
def test_a_query_is_forgotten_with_tools_that_are_not_known(tmp_path: Path, name: str) -> None:
    """A query is taken out whatever its tools are called; others stay, and so do comments."""
    file = JudgedFile(tmp_path / name)
    file.record(QueryVerdict("q", "gone"))
    file.record(QueryVerdict("other", "a"))
    assert file.forget("q")
    assert not file.forget("q")
    assert read(file) == {"other": ("a",)}


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", '{"query": "q", "relevant": null}\n'), ("a.yaml", "q:\n")],
)
def test_an_entry_without_tools_is_completed(tmp_path: Path, name: str, content: str) -> None:
    """An entry that says nothing yet gets the verdict, also the one that no tool is right."""
    file = JudgedFile(tmp_path / name)
    file.path.write_text(content, "utf-8")
    assert file.record(QueryVerdict("q", None))
    assert read(file) == {"q": ()}


def test_halves_of_characters_stay_escapes(tmp_path: Path) -> None:
    """A line with half a character, which UTF-8 has not, can be added to."""
    file = JudgedFile(tmp_path / "a.jsonl")
    file.path.write_text('{"query": "q", "relevant": ["\\ud800"]}\n', "utf-8")
    assert file.record(QueryVerdict("q", "a"))
    assert file.path.read_text("utf-8") == '{"query": "q", "relevant": ["\\ud800", "a"]}\n'
