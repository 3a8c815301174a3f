"""A person's Markdown as a reader sees it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mcpg.documents.markdown import Reference, read_markdown


def test_headings_and_text_are_told_apart() -> None:
    """Paragraphs, items, quotations, table cells and code are text; marks are not."""
    prose = read_markdown(
        "# One *two*\n\nPara `code`\nnext\n\n- item\n  1. deep\n\n> said\n\nUnder\n-----\n"
        "\n| a | b |\n|---|---|\n| c | **d** |\n\n```sh\nrun it\n```\n\n    indented\n"
    )
    assert prose.headings == ["One two", "Under"]
    assert prose.texts == [
        "Para code\nnext",
        *("item", "deep", "said", "a", "b", "c", "d", "run it", "indented"),
    ]


def test_html_is_no_text() -> None:
    """Tags, comments and scripts are passed over; words between inline tags are read."""
    prose = read_markdown(
        "<!-- secret -->\n\n<div class=x>\nhidden\n</div>\n\n"
        "A <b onclick=x>bold</b> word &amp; more\n"
    )
    assert prose.texts == ["A bold word & more"]


def test_a_schema_in_a_fence_is_no_prose() -> None:
    """A JSON Schema of an object is a schema; any other JSON is an example, and text."""
    prose = read_markdown(
        '```json\n{"type": "object", "properties": {"sku": {}}}\n```\n'
        '```json\n{"sku": 1}\n```\n```json\n{"broken\n```\n```json\n[1]\n```\n'
    )
    assert prose.schemas == [{"type": "object", "properties": {"sku": {}}}]
    assert prose.texts == ['{"sku": 1}', '{"broken', "[1]"]


@pytest.mark.parametrize(
    "inner",
    ["NaN", "-Infinity", "1e999", '{"a":' * 100 + "1" + "}" * 100],
    ids=["nan", "infinite", "overflow", "deep"],
)
def test_a_schema_in_a_fence_is_strict_json(inner: str) -> None:
    """What a manifest could not hold, numbers that are none and deep nesting, is an example."""
    text = f'{{"type": "object", "default": {inner}}}'
    prose = read_markdown(f"```json\n{text}\n```\n")
    assert (prose.schemas, prose.texts) == ([], [text])


def test_links_of_both_kinds_are_found() -> None:
    """Wiki links, ordinary links and links by reference, each with what is shown."""
    prose = read_markdown(
        "See [[order_get|the *order*]], [[RDF]], [Run *it*](./a%20b.md#x), [r][1] and "
        "`[[no]]`, ![pic](p.png) or <https://example.com/>.\n\n[1]: c.md\n"
    )
    assert prose.references == [
        Reference("order_get", "the *order*", is_wiki=True),
        Reference("RDF", "RDF", is_wiki=True),
        Reference("./a%20b.md#x", "Run it", is_wiki=False),
        Reference("c.md", "r", is_wiki=False),
        Reference("https://example.com/", "https://example.com/", is_wiki=False),
    ]
    assert prose.texts[0].startswith("See the *order*, RDF, Run it, r and [[no]], pic or")


def test_what_only_begins_like_a_wiki_link_is_text() -> None:
    """Empty, open, nested and broken brackets stay what they are."""
    prose = read_markdown("[[]] [[ |x]] [[open\n\n[[a\nb]] [[[c]]] " + "[[" + "x" * 600 + "]]")
    assert [one.target for one in prose.references if one.target != "c"] == []


def test_what_lies_beyond_the_limit_is_plain_text() -> None:
    """The first 256 Ki characters of a body are read as Markdown, the rest as plain text."""
    head = "# Start\n\n"
    body = f"{head}{'word ' * 60_000}"[: 256 * 1024 - len("\n\n# in")] + "\n\n# in"
    prose = read_markdown(body)
    assert len(body) == 262_144
    assert (prose.headings, len(prose.texts)) == (["Start", "in"], 1)
    longer = read_markdown(f"{body}side\n\n# the [end](a.md)")
    assert longer.headings == ["Start", "in"]
    assert longer.texts[1:] == ["side\n\n# the [end](a.md)"]
    assert longer.references == []


def test_reading_a_document_imports_no_markdown_parser() -> None:
    """Documents are parsed without it; only prose that is indexed or linked needs it."""
    script = (
        "import sys\nfrom mcpg.catalog.model import SourceDocument\n"
        "from mcpg.documents.reader import parse_document\n"
        "parse_document(SourceDocument('a.md', '# A\\n\\nText [b](c.md)\\n'))\n"
        "print('markdown_it' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "False"
