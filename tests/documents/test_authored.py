"""Lines that authors wrote in front matter stay when the rest of it is rewritten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.bundle import assemble
from mcpg.catalog.model import HintRule, Hints, SourceDocument
from mcpg.documents.front_matter_edits import values_as_written, written_lines
from mcpg.documents.model import decode_record, encode_record
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.graph import terms as v
from mcpg.graph.exports import json_ld, nquads, turtle
from mcpg.graph.jsonld import read_graph
from mcpg.graph.terms import RdfLiteral
from mcpg.graph.triples import make_triples
from mcpg.sources import SourceBatch
from mcpg.text.safeyaml import load_yaml

PAGE = """---
# Owned by the shipping team
title: Parcels  # as customers say
source: shop
keywords: # of the phone desk
  - parcel # not packet
about: [Law, "Parcels"]   # both
# since the last audit

version: 1.10
limits: {low: 1.0e3, high: 2.50, none: ~}
motto: |
  one # no comment
  two
rdf_prefixes: {ex: "https://shop.example/vocab/"}
rdf_properties:
  ex:price: 1.10
  ex:name: [{value: drei, lang: de}, 3, true] # of three kinds
# that is all
---

# Parcels

Words.
"""
COMMENTS = [
    *("# Owned by the shipping team", "# as customers say", "# of the phone desk"),
    *("# not packet", "# both", "# since the last audit", "# of three kinds", "# that is all"),
]
LINES = [
    'about: [Law, "Parcels"]   # both\n',
    "version: 1.10\n",
    "limits: {low: 1.0e3, high: 2.50, none: ~}\n",
    "motto: |\n  one # no comment\n  two\n",
    "  ex:price: 1.10\n",
]


def rewritten(text: str) -> str:
    """Return the text of the one tool that a document *text* describes, hints added to it."""
    source = SourceDocument("parcels.md", text)
    rules = (HintRule("parcels", Hints(aliases=("where is it",))),)
    (document,) = assemble(SourceBatch(documents=(source,), rules=rules)).texts
    assert "alias:where is it" in document.content
    return document.content


def test_a_rewritten_document_keeps_comments_and_scalars() -> None:
    """Comments of keys that are written anew stay as well, and nothing changes a second time."""
    text = rewritten(PAGE)
    assert [comment for comment in COMMENTS if text.count(comment) != 1] == []
    assert [line for line in LINES if line not in text] == []
    document, found = parse_document(SourceDocument("parcels.md", text))
    assert found == ()
    assert write_document(document) == text


def test_a_document_about_a_tool_keeps_them_too() -> None:
    """The lines of several documents stand one after the other; lists that are joined are anew."""
    pages = (
        SourceDocument("parcels.md", PAGE),
        SourceDocument("a.md", "---\ntool: parcels # its page\nlevel: 2.0 # new\n---\nMore."),
        SourceDocument("b.md", "---\ntool: parcels\nabout: [Tax] # later\n---\nMore."),
    )
    (text,) = (one.content for one in assemble(SourceBatch(documents=pages)).texts)
    wanted = [*COMMENTS, "# its page", "level: 2.0 # new", "# later", "version: 1.10\n"]
    assert [line for line in wanted if line not in text] == []
    assert load_yaml(text.split("---\n")[1], "")["about"] == ["Law", "Parcels", "Tax"]  # type: ignore[call-overload, index]


WRITERS = {"a.ttl": turtle, "a.nq": nquads, "a.jsonld": json_ld}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("text", [PAGE, PAGE.replace("source: shop", "tool: false")])
def test_they_survive_a_graph(name: str, text: str) -> None:
    """Document, graph, document: with comments, and `1.10` is a value of the graph."""
    source = SourceDocument("parcels.md", text)
    assembly = assemble(SourceBatch(documents=(source,)))
    (document,) = (*assembly.documents, *assembly.pages)
    triples = list(make_triples([document]))
    found = read_graph("".join(WRITERS[name](triples)), name)

    assert list(make_triples(found.documents)) == triples
    assert [(one.further, one.written, one.body) for one in found.documents] == [
        (document.further, document.written, document.body)
    ]
    assert found.diagnostics == ()
    assert {one[2] for one in triples if one[1].endswith("price")} == {
        RdfLiteral("1.10", v.xsd.decimal)
    }
    assert decode_record(encode_record(document))[0] == document


comments = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=9)
scalars = st.sampled_from(["1.10", "x", "'a # b'", "[a, {b: 1.0}]", "|\n  t # u", "true", "~"])
keys = st.sampled_from(["level", "about", "note", "title", "keywords", "summary"])


@given(st.dictionaries(keys, st.tuples(comments, scalars), min_size=1), st.data())
def test_no_comment_is_lost_whatever_is_kept(
    members: dict[str, tuple[str, str]], data: st.DataObject
) -> None:
    """Some keys go, and their comments stay; the others say what they said."""
    text = "".join(
        f"#above {comment}\n{key}: {value}" + ("\n" if "\n" in value else f" #{comment}\n")
        for key, (comment, value) in members.items()
    )
    values = load_yaml(text, "")
    assert isinstance(values, dict)
    kept = data.draw(st.sets(st.sampled_from(list(values))))
    left = {key: value for key, value in values.items() if key in kept}
    found = written_lines(left, [text])

    for comment, value in members.values():
        assert f"#above {comment}\n" in found
        assert f"#{comment}\n" in found or "\n" in value
    assert (load_yaml(found, "") or {}) == left
    assert written_lines(left, [found]) == found
    assert values_as_written(left, found) == left


@pytest.mark.parametrize(
    "front",
    [
        '{name: find, rdf_properties: {"ex:v": [1.10, 1e3]}}',
        '  name: find\n  rdf_properties: {"ex:v": [1.10, 1e3]}',
        'name: find\n? rdf_properties\n: {"ex:v": [1.10, 1e3]}',
    ],
    ids=["in braces", "indented", "with a mark before the key"],
)
def test_numbers_stay_as_written_where_lines_cannot(front: str) -> None:
    """A rewritten text has the numbers that the index of its bundle has, in their spelling."""
    page = SourceDocument("find.md", f"---\n{front}\n---\nText.\n")
    rule = HintRule("find", Hints(keywords=("seek",)))
    found = assemble(SourceBatch(documents=(page,), rules=(rule,)))
    assert 'rdf_properties: {"ex:v": [1.10, 1e3]}\n' in found.texts[0].content
    again = assemble(SourceBatch(documents=tuple(found.texts)))
    assert [*map(encode_record, again.documents)] == [*map(encode_record, found.documents)]


def test_lines_are_found_beside_other_line_ends_and_escaped_pairs() -> None:
    """Neither a line separator within a text nor a character in two escapes costs a line."""
    text = "# a\nmotto: 'x\u2028y' # b\nversion: \"\\ud83d\\ude00\" # c\nlevel: 1.10 # d\n"
    values = load_yaml(text, "")
    assert isinstance(values, dict)
    assert written_lines(values, [text]) == text
    kept = {key: value for key, value in values.items() if key != "motto"}
    assert written_lines(kept, [text]) == text.replace("motto: 'x\u2028y' ", "")


@pytest.mark.parametrize("front", ["  # indented\nlevel: 1.10", "? ", '"": 1 # two'])
def test_lines_that_were_kept_are_kept_again(front: str) -> None:
    """A document is the same when it was written, with an indented comment or an empty key."""
    document, _ = parse_document(SourceDocument("a.md", f"---\n{front}\n---\nText.\n"))
    again, _ = parse_document(SourceDocument("a.md", write_document(document)))
    assert again == document
    assert ("#" in again.written) == ("#" in front)
