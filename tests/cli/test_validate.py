from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

pytestmark = pytest.mark.usefixtures("graph")

REFUSED = "---\ntitle: Shelf\ntool: false\nrdf_types:\n  - nobody:Knows\n---\n# Shelf\n"
CONFUSED = """---
title: Depot
tool: false
graph_related: [shelf.md, refund]
graph_groups: [C++, C#]
authors: [Depot crew]
rdf_properties: {"schema:size": 3}
date_published: 03/04/2026
---
# Depot
"""


def write_bundle(path: Path, contents: dict[str, Any]) -> None:
    """Write a bundle as another program would, with its documents as they are."""
    documents = [{"path": name, "content": text} for name, text in contents.items()]
    path.write_text(json.dumps({"version": 1, "documents": documents}), encoding="utf-8")


def rules(done: Run) -> list[tuple[str, str]]:
    """Return rule and severity of each finding."""
    return [(one["rule"], one["severity"]) for one in done.json["findings"]]


def test_the_name_is_the_first_thing(run: Callable[..., Run]) -> None:
    """A bundle of another name is read as one text, and the message has the name to write."""
    done = run("validate", "graph.mdld", "--reader", "dotnet")
    assert done.code == 1
    assert "graph.mdld: error[name]: a file whose name does not end in .json" in done.out
    assert "write the bundle to graph.mdld.json" in done.out
    assert done.out.endswith(".NET refuses 4 documents: 1 error, 0 warnings, 0 notes\n")


def test_what_another_program_wrote(run: Callable[..., Run], folder: Path) -> None:
    """Each document and line at fault is named, which the library does not do."""
    write_bundle(folder / "other.json", {"shelf.md": REFUSED, "depot.md": CONFUSED})
    done = run("validate", "other.json", "--reader", "dotnet")
    assert done.code == 1
    assert "shelf.md:5: error[refused]: the whole bundle is refused: the class" in done.out
    assert "depot.md:4: warning[unresolved]: 'shelf.md' is taken for a thing" in done.out
    assert "depot.md:5: warning[together]: these names are one node: 'C#', 'C++'" in done.out
    assert "depot.md:6: info[differs]: `authors` is ignored" in done.out
    done = run("validate", "other.json", "--reader", "dotnet", "--format", "json")
    assert done.json["schema"] == "mcpg/validate/1"
    assert (done.json["isLoaded"], done.json["documents"]) == (False, 2)
    assert (done.json["errors"], done.json["warnings"], done.json["notes"]) == (1, 2, 3)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("---\ntitle: open\n", "refused"),
        ("---\ntitle: 'open\n---\nText\n", "refused"),
        ("---\na: &x [*x]\n---\nText\n", "refused"),
        ("---\na: &x [b]\nc: *x\n---\nText\n", "differs"),
        ("---\ntitle: a\ntitle: b\n---\nText\n", "differs"),
        ("\n---\ntitle: a\n---\nText\n", "unread"),
        ("---\r\nrdf_prefixes:\r\n---\r\nText\r\n", "refused"),
    ],
)
def test_front_matter_that_is_read_by_one_alone(
    run: Callable[..., Run], folder: Path, content: str, rule: str
) -> None:
    """What mcpg refuses and .NET reads is no error there, and the other way round."""
    write_bundle(folder / "other.json", {"a.md": content, "b.md": "# B\n"})
    done = run("validate", "other.json", "--reader", "dotnet", "--format", "json")
    assert [one for one, _ in rules(done)] == [rule]
    assert done.code == (0 if rule == "differs" else 1)


def test_without_a_reader_shapes_are_checked(run: Callable[..., Run]) -> None:
    """The command alone does what `mcpg graph validate` does for the file."""
    alone = run("validate", "graph.mdld", "--format", "json")
    assert alone.json == run("graph", "validate", "--format", "json").json
    assert alone.code == 0


@pytest.mark.parametrize("text", ["", "{", '{"version":1}', '{"version":1,"documents":null}'])
def test_what_is_no_bundle(run: Callable[..., Run], folder: Path, text: str) -> None:
    """A damaged file has a message that names it."""
    (folder / "bad.json").write_text(text, encoding="utf-8")
    done = run("validate", "bad.json", "--reader", "dotnet")
    assert (done.code, done.out) == (2, "")
    assert "bad.json" in done.err


def test_a_bundle_of_ours_is_read_whole(run: Callable[..., Run], folder: Path) -> None:
    """Under a name that ends in .json nothing is to be found in a bundle."""
    (folder / "docs").mkdir()
    (folder / "docs/shelf.md").write_text(REFUSED, encoding="utf-8")
    (folder / "docs/depot.md").write_text(CONFUSED, encoding="utf-8")
    assert run("bundle", "docs", "-o", "graph.mdld.json").code == 0
    done = run("validate", "graph.mdld.json", "--reader", "dotnet", "--format", "json")
    assert done.json["isLoaded"]
    assert {severity for _, severity in rules(done)} <= {"info"}
    assert done.code == 0
    assert run("list", "-b", "graph.mdld.json").code == 0


def test_files_of_a_folder_that_are_no_documents_here(
    run: Callable[..., Run], folder: Path
) -> None:
    """In .NET each file that decodes as text is a document, such as YAML below a line."""
    (folder / "docs/deep").mkdir(parents=True)
    (folder / "docs/a.md").write_text("# A\n", encoding="utf-8")
    (folder / "docs/deep/b.yaml").write_text("---\ndepots: [north]\n", encoding="utf-8")
    (folder / "docs/c.csv").write_text("a,b\n", encoding="utf-8")
    (folder / "docs/d.txt").write_bytes(b"---\ntitle: Gr\xf6\xdfe\n")
    done = run("validate", "docs", "--reader", "dotnet")
    assert done.code == 1
    (line, _) = done.out.splitlines()
    assert line.startswith("docs/deep/b.yaml:1: error[refused]: the whole bundle is refused")
