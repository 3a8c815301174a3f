from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import mcpg
from mcpg.show.html import asset, drawing_library, read_vendored_files

VENDOR = Path(mcpg.__file__).parent / "show/assets/vendor"


def test_every_vendored_file_is_the_published_one() -> None:
    """The bytes are those that the registry gave out: nobody edited them here."""
    assert read_vendored_files()
    for record in read_vendored_files():
        data = (VENDOR / record["file"]).read_bytes().replace(b"\r\n", b"\n")
        assert hashlib.sha256(data).hexdigest() == record["sha256"], record["file"]
        name, version = record["package"], record["version"]
        assert record["url"] == f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz"
        assert record["member"] == f"package/dist/{record['file']}"
        assert f" v{version} ".encode() in data.splitlines()[0]


def test_every_vendored_file_is_recorded() -> None:
    """No script came in without its version, its hash and its licence."""
    recorded = {record["file"] for record in read_vendored_files()}
    assert {file.name for file in VENDOR.glob("*.js")} == recorded
    assert {record["licence"] for record in read_vendored_files()} == {"ISC", "BSD-3-Clause"}


def test_the_licence_travels_with_the_library() -> None:
    """A report hands on the library, so it hands on its licence, too."""
    text = drawing_library()
    assert text.startswith("/*\n")
    head = text.partition("*/")[0]
    assert "Permission to use, copy, modify" in head
    assert "Redistributions of source code" in head


MAP = ("map_layout.js", "map_labels.js", "map_servers.js", "map_search.js", "map.js")
SCRIPTS = ("page.js", "graph.js", *MAP, "table.js")


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_no_markup_of_text(name: str) -> None:
    """Our scripts use none of the ways by which text becomes markup, code or a request."""
    script = asset(name)
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", ".html(")
    for word in (*forbidden, "eval(", "Function(", "fetch(", "XMLHttpRequest", "import("):
        assert word not in script


@pytest.mark.parametrize(
    "text",
    [
        *map(asset, SCRIPTS),
        drawing_library(has_forces=True),
    ],
)
def test_scripts_can_stand_in_a_page(text: str) -> None:
    """No script holds what would end its element."""
    assert "</script" not in text.lower()
    assert "<!--" not in text
