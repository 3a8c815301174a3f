"""Links in the prose of documents: to headings, tools, and files outside of the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

GUIDE = """---
title: Guide
tool: false
---

# A guide

## Who pays?

<a id="stated"></a>

## Who pays?

## Named {: .wide #by-class }

<h2>In <em>HTML</em></h2>

Said once. ^block-7

## Café: `a.b` & [more](https://x.example/)!

## 料金について 🚀

```md
## In code
```
"""


def told(run: Callable[..., Run], sources: Path, link: str) -> list[tuple[str, str, str]]:
    """Return severity, message and place of the diagnostics of a page with *link*."""
    pages = sources.parent / "pages"
    pages.mkdir()
    (pages / "guide.md").write_text(GUIDE, "utf-8")
    text = f"---\ntitle: Page\ntool: false\n---\n\n# Own heading\n\nRead {link}.\n"
    (pages / "page.md").write_text(text, "utf-8")
    (sources.parent / "outside.md").write_text("# Outside\n", "utf-8")
    done = run("bundle", "tools", "pages", "-o", "graph.mdld", "--format", "json")
    return [
        (one["severity"], one["message"], one["place"])
        for one in done.json["diagnostics"]
        if one["code"] == "relation_unresolved"
    ]


@pytest.mark.parametrize(
    "link",
    [
        *("[a](#own-heading)", "[a](#top)", "[a](#Own%20Heading)", "[a](#:~:text=guide)"),
        *("[a](guide.md#who-pays)", "[a](guide.md#who-pays-1)", "[a](guide.md#a-guide)"),
        *("[a](guide.md#stated)", "[[guide#Who pays?]]", "[a](tool:shipment_status)"),
        *("[a](guide.md#by-class)", "[a](guide.md#in-html)", "[a](guide.md?plain=1#L4-L9)"),
        *("[[guide#^block-7]]", "[[guide#A guide#Who pays?]]", "![[dock.png]]"),
        *("[a](guide.md#cafe%CC%81-ab--more)", "[a](guide.md#user-content-caf%C3%A9-ab--more)"),
        *("[a](guide.md#料金について-)", "![a](none.md.png)", "[a](mailto:guide.md)"),
        *("[a](https://x.example/y#z)", "[a](page.html#z)", "`[a](#none)`"),
    ],
)
def test_links_that_lead_somewhere_are_not_told(
    run: Callable[..., Run], sources: Path, link: str
) -> None:
    """Headings in any spelling of their anchors, ids of HTML, tools, other sites, code."""
    assert told(run, sources, link) == []


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("[a](#own-headin)", "names no heading of 'pages/page.md'; did you mean '#own-heading'?"),
        ("[a](guide.md#who-pay)", "did you mean '#who-pays'?"),
        ("[a](guide.md#in-code)", "names no heading of 'pages/guide.md'"),
        ("[[guide#nothing at all]]", "names no heading of 'pages/guide.md'"),
        ("[a](tool:shipment_statu)", "does not match any document; did you mean 'shipment_status'"),
        ("[a](../none.md)", "does not match any document"),
        ("[a](<no where.md>)", "does not match any document"),
        ("[a](#L-nothing)", "names no heading of 'pages/page.md'"),
        ("[[guide#^block-8]]", "names no heading of 'pages/guide.md'"),
        ("![[no such note]]", "does not match any document"),
    ],
)
def test_links_that_lead_nowhere_are_told(
    run: Callable[..., Run], sources: Path, link: str, says: str
) -> None:
    """A heading, tool or file that is not there, with file, line and a suggestion."""
    ((severity, message, place),) = told(run, sources, link)
    assert (severity, place) == ("warning", "pages/page.md:8")
    assert says in message


def test_headings_are_suggested_for_the_first_links_alone(
    run: Callable[..., Run], sources: Path
) -> None:
    """Thousands of broken links are not each compared with thousands of headings."""
    links = "\n\n".join(f"[a](#own-headin{number})" for number in range(60))
    found = [message for _, message, _ in told(run, sources, links)]

    assert ["did you mean '#own-heading'?" in one for one in found] == [True] * 50 + [False] * 10


def test_a_link_to_a_file_outside_is_a_note(run: Callable[..., Run], sources: Path) -> None:
    """It is there for readers, and no document."""
    ((severity, message, _),) = told(run, sources, "[a](../outside.md)")
    assert severity == "info"
    assert "leads to a file that is not among the sources" in message


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_document_is_told(run: Callable[..., Run], sources: Path, text: str) -> None:
    """A Markdown file of a folder that says nothing was hardly meant so."""
    (sources / "empty.md").write_text(text, "utf-8")
    done = run("bundle", "tools", "-o", "graph.mdld", "--format", "json")
    found = [(one["code"], one["place"]) for one in done.json["diagnostics"]]
    assert ("document_ignored", "tools/empty.md:1") in found


def test_what_a_shape_finds_as_well_is_told_once(run: Callable[..., Run], sources: Path) -> None:
    """The finding of the shape has the suggestion of the report, which is left out."""
    text = (
        "---\ntool: shipment_status\ndate_published: 2026-02-30\n"
        "graph_related: [shipment_statu]\nrdf_types: [7]\n---\nx\n"
    )
    (sources / "about.md").write_text(text, "utf-8")
    done = run("graph", "validate", "-b", "tools", "--format", "json").json
    places = [one["place"] for one in (*done["findings"], *done["diagnostics"])]
    assert [places.count(f"tools/about.md:{line}") for line in (3, 4, 5)] == [1, 1, 1]
    assert any("did you mean" in one["message"] for one in done["findings"])
    assert done["violations"] == 1
