"""Searches by an installation whose word tables are missing or damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mcpg
from mcpg.errors import Code

PACKAGE = Path(mcpg.__file__).parent
DATA = Path("text", "data")
TABLES = DATA / "lexicon"
QUESTIONS = "question_words.txt"
QUERIES = ["delete file", "make a folder", "Datei löschen", "删除文件", "удалить файл"]
SCRIPT = """
import json, sys
import mcpg
from builders import make_engine, make_tool

engine = make_engine(
    make_tool("delete_file", description="Delete a file from the disk."),
    make_tool("create_directory", description="Create a directory at a path."),
)
results = [engine.search(query) for query in sys.argv[1:]]
results += [engine.explain(query).result for query in sys.argv[1:]]
results += [engine.search(query, lexicon=False) for query in sys.argv[1:]]
rows = [
    [[match.tool_id for match in one.matches], [[d.code, d.message] for d in one.diagnostics]]
    for one in results
]
print(json.dumps([mcpg.__file__, rows]))
"""
Damage = Callable[[Path], object]
Row = tuple[list[str], dict[str, str]]


def emptied(table: Path) -> None:
    """Leave a file without a byte."""
    table.write_bytes(b"")


def cut(table: Path) -> None:
    """Leave the first half of a file."""
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])


def cut_in_header(table: Path) -> None:
    """Leave less than a header."""
    table.write_bytes(table.read_bytes()[:20])


def of_another_version(table: Path) -> None:
    """Change the version in the header."""
    table.write_bytes(b"mcpgwt9\0" + table.read_bytes()[8:])


def made_a_folder(table: Path) -> None:
    """Put a folder where the file was."""
    table.unlink()
    table.mkdir()


def zeroed(table: Path) -> None:
    """Make all rows of a table of operations strengths of 0."""
    data = table.read_bytes()
    words, links, letters = (int.from_bytes(data[at : at + 4], "little") for at in (8, 12, 16))
    assert links == 5 * words
    end = len(data) - letters
    table.write_bytes(data[: end - links] + bytes(links) + data[end:])


def lengthened(table: Path) -> None:
    """Make the first row of a table, that of "", as long as the first two together."""
    data = table.read_bytes()
    at = 24 + 4 * (int.from_bytes(data[8:12], "little") + 1) + 4
    table.write_bytes(data[:at] + data[at + 4 : at + 8] + data[at + 4 :])


def not_text(path: Path) -> None:
    """Put bytes that are no UTF-8 in a file."""
    path.write_bytes(b"english who\xff\n")


def without_languages(path: Path) -> None:
    """Put blank lines in a file."""
    path.write_bytes(b"\n\n")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the package, of links but for the tables and the words that ask."""
    package = tmp_path / "mcpg"
    (package / TABLES).mkdir(parents=True)
    for part in (Path(), *reversed(TABLES.parents[:-1]), TABLES):
        for path in (PACKAGE / part).iterdir():
            target = package / part / path.name
            if part == TABLES or path.name == QUESTIONS:
                target.write_bytes(path.read_bytes())
            elif not target.exists():
                target.symlink_to(path)
    return package


def searched(package: Path) -> tuple[list[Row], list[Row], list[Row]]:
    """Return what searches, explanations and searches without the lexicon of *package* find."""
    variables = os.environ | {"PYTHONPATH": f"{package.parent}:{Path(__file__).parents[1]}"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *QUERIES],
        capture_output=True,
        check=True,
        cwd=package.parent,
        env=variables,
        text=True,
    )
    origin, rows = json.loads(run.stdout)
    assert Path(origin).parent == package
    found: list[Any] = [(matches, dict(diagnostics)) for matches, diagnostics in rows]
    count = len(QUERIES)
    return found[:count], found[count : 2 * count], found[2 * count :]


def told(row: Row) -> str:
    """Return the message that a search gives about tables."""
    return row[1].get(Code.LEXICON_UNAVAILABLE, "")


@pytest.mark.parametrize(
    "damage", [Path.unlink, emptied, cut, cut_in_header, of_another_version, made_a_folder]
)
def test_a_search_goes_on_without_damaged_tables(copy: Path, damage: Damage) -> None:
    """Exact words find their tools, and searches and explanations report the tables."""
    for table in list((copy / TABLES).iterdir()):
        damage(table)
    plain, explained, without = searched(copy)

    assert plain[0][0] == ["delete_file"]
    assert [matches for matches, _ in plain] == [matches for matches, _ in without]
    assert [matches for matches, _ in plain] == [matches for matches, _ in explained]
    assert all("english.words" in told(row) for row in (*plain, *explained))
    assert not any(map(told, without))


def test_a_damaged_table_costs_the_words_of_its_language(copy: Path) -> None:
    """Other languages and related words are not affected; the message names the table."""
    cut(copy / TABLES / "german.words")
    plain, _, _ = searched(copy)
    found = dict(zip(QUERIES, plain, strict=True))

    assert found["Datei löschen"][0] == []
    assert "german.words (its length is wrong)" in told(found["Datei löschen"])
    assert found["make a folder"][0][0] == "create_directory"
    assert found["删除文件"][0][0] == found["удалить файл"][0][0] == "delete_file"


@pytest.mark.parametrize(
    "name", ["english.words", "english.related", "english.operations", "english.meaning"]
)
def test_english_tables_are_dispensable(copy: Path, name: str) -> None:
    """Without either of them, English is still searched as English."""
    (copy / TABLES / name).unlink()
    plain, _, _ = searched(copy)

    assert plain[0][0][0] == "delete_file"
    assert name in told(plain[-1])


@pytest.mark.parametrize(
    "damage", [Path.unlink, emptied, made_a_folder, not_text, without_languages]
)
def test_a_search_goes_on_without_the_words_that_ask(copy: Path, damage: Damage) -> None:
    """Without their list nothing counts as a question, and searches report the file."""
    damage(copy / DATA / QUESTIONS)
    plain, explained, without = searched(copy)

    assert plain[0][0][0] == "delete_file"
    assert plain[1][0][0] == "create_directory"
    assert all(QUESTIONS in told(row) for row in (*plain, *explained))
    assert not any(map(told, without))


@pytest.mark.parametrize("damage", [zeroed, lengthened])
def test_impossible_shares_of_operations_count_as_none(copy: Path, damage: Damage) -> None:
    """A table of operations whose numbers make no sense fails no search."""
    damage(copy / TABLES / "english.operations")
    plain, _, _ = searched(copy)

    assert plain[0][0][0] == "delete_file"
    assert plain[1][0][0] == "create_directory"


def test_an_index_made_without_a_table_is_made_anew(copy: Path, tmp_path: Path) -> None:
    """Once the table is there, kinds of operations count; a whole index stays as it is."""
    table, bundle = copy / TABLES / "english.operations", tmp_path / "tools.mdld"
    whole = table.read_bytes()
    table.unlink()
    variables = os.environ | {"PYTHONPATH": str(copy.parent)}
    examples = PACKAGE.parent / "examples" / "tools"
    made, found = (
        [sys.executable, "-m", "mcpg", *arguments]
        for arguments in (
            ["bundle", str(examples), "-o", str(bundle)],
            ["search", "which orders", "-b", str(bundle)],
        )
    )
    subprocess.run(made, capture_output=True, check=True, cwd=tmp_path, env=variables)
    index = next(path for path in tmp_path.glob("tools.mdld.*") if path.is_file())
    without = index.read_bytes()
    table.write_bytes(whole)
    contents = []
    for _ in range(2):
        subprocess.run(found, capture_output=True, check=False, cwd=tmp_path, env=variables)
        contents.append((index.read_bytes(), index.stat().st_ino))

    assert contents[0][0] != without
    assert contents[0] == contents[1]
