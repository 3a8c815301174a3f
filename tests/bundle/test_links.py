"""Edges that documents state outside their lists of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bounded import calls_in
from builders import make_tool

from mcpg.bundle import Assembly, assemble, build_bundle, encode_bundle
from mcpg.bundle.links import PROSE_WEIGHT
from mcpg.catalog.model import SourceDocument
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import Code
from mcpg.index import Index
from mcpg.sources import RawFile, SourceBatch

if TYPE_CHECKING:
    from collections.abc import Mapping

NONE = "graph_groups: []"


def assembled(documents: Mapping[str, str]) -> Assembly:
    """Assemble documents given by path as front matter and body, parted by a line of hyphens."""
    sources = tuple(
        SourceDocument(path, f"---\n{text.replace('~', '---', 1)}", place=path)
        for path, text in documents.items()
    )
    return assemble(SourceBatch(documents=sources))


def edges(assembly: Assembly, tool: str) -> list[tuple[str, str, float, str]]:
    """Return the edges of a tool: kind, target, weight, reason."""
    found = assembly.relations.of(tool)
    return [
        (edge.kind.value, edge.target, edge.weight, edge.reason)
        for edge in (*found.related, *found.next_steps)
    ]


def test_links_in_prose_are_edges() -> None:
    """Wiki links and links between files lead to tools, with less weight than a stated relation."""
    found = assembled(
        {
            "a/one.md": f"{NONE}\n~\nSee [[two]], [it](../b/three.md#x) and [the web](https://x.y/).",
            "b/two.md": f"{NONE}\n~\nBack to [one](/a/one.md) and [[one]]. Itself: [[two]].",
            "b/three.md": f"{NONE}\n~\nNothing.",
        }
    )
    assert edges(found, "one") == [
        ("related", "two", PROSE_WEIGHT, "its text links to it"),
        ("related", "three", PROSE_WEIGHT, "its text links to it"),
    ]
    assert [edge[1] for edge in edges(found, "two")] == ["one"]
    assert edges(found, "three") == []


def test_a_stated_link_counts_before_one_in_prose() -> None:
    """Prose adds no second edge to a tool that a list names already."""
    found = assembled(
        {
            "one.md": "graph_next_steps: [two]\n~\nThen [[two]].",
            "two.md": f"{NONE}\n~\nText.",
        }
    )
    assert edges(found, "one") == [("nextStep", "two", 1.0, "")]


def test_what_authors_state_goes_before_what_is_inferred() -> None:
    """A statement or a link in prose takes the place of an inferred edge, and comes first."""
    names = ("order_cancel", "order_get", "order_search", "refund_issue", "weather")
    tools = tuple(make_tool(name, description=f"Does {name}.") for name in names)
    inferred = edges(assemble(SourceBatch(tools=tools)), "order_get")
    assert [edge[1] for edge in inferred] == ["order_cancel", "order_search"]
    ends = "subject: document, predicate: relatedTo, object: order_search, reason: so"
    for text, weight, reason in (
        (f"---\ngraph_edges: [{{{ends}}}]\n---\nMore.\n", 1, "so"),
        ("[[order_search]]\n", PROSE_WEIGHT, "its text links to it"),
    ):
        page = SourceDocument("order_get.md", text)
        found = assemble(SourceBatch(tools=tools, documents=(page,)))
        assert edges(found, "order_get") == [
            ("related", "order_search", weight, reason),
            inferred[0],
        ]
        data = encode_bundle(build_bundle(found)).decode()
        again = assemble(SourceBatch(bundles=(RawFile(data, "graph.mdld"),)))
        assert again.relations == found.relations


def test_texts_stay_to_the_byte() -> None:
    """Edges from prose and statements are found again by whoever reads the text."""
    text = f"{NONE}\ngraph_edges: [{{subject: two, predicate: nextStep, object: one}}]\n~\n[[two]]"
    found = assembled({"one.md": text, "two.md": f"{NONE}\n~\nText."})
    assert found.texts[0].content == f"---\n{text.replace('~', '---')}"
    assert edges(found, "two") == [("nextStep", "one", 1.0, "")]
    data = encode_bundle(build_bundle(found))
    again = assemble(SourceBatch(bundles=(RawFile(data.decode(), "graph.mdld"),)))
    assert again.relations == found.relations
    assert encode_bundle(build_bundle(again)) == data


def test_statements_become_edges_with_their_reasons() -> None:
    """`relatedTo` and `nextStep` are those kinds; other relations are related, named as such."""
    front = (
        f"{NONE}\ngraph_edges:\n"
        "- {subject: document, predicate: kb:relatedTo, object: two}\n"
        "- {subject: document, predicate: next_step, object: three, reason: to pay}\n"
        "- {subject: this article, predicate: 'https://example.com/v#requires', object: three}\n"
        "- {subject: document, predicate: kb:memberOf, object: Payments}\n"
        "- {subject: three, predicate: ex:after, object: document}\n"
        "- {subject: nobody, predicate: kb:relatedTo, object: two}\n"
        "- {subject: document, predicate: schema:mentions, object: A thing}\n"
    )
    found = assembled(
        {
            "one.md": f"{front}~\nText.",
            "two.md": f"{NONE}\n~\nText.",
            "three.md": f"{NONE}\n~\nText.",
        }
    )
    assert edges(found, "one") == [
        ("related", "two", 1.0, ""),
        ("related", "three", 1.0, "stated as 'https://example.com/v#requires'"),
        ("nextStep", "three", 1.0, "to pay"),
    ]
    assert edges(found, "three") == [("related", "one", 1.0, "stated as 'ex:after'")]
    assert found.relations.of("one").groups == ("Payments",)
    assert [one.code for one in found.diagnostics] == [Code.PREFIX_UNKNOWN]


def test_a_link_to_a_page_that_is_not_there_is_told() -> None:
    """The message names file and line; links to things that are named and other files are right."""
    text = "[[Thing]], [code](x/y.py), [I](one.md).\n\n[gone](no/way.md)\n[[parcell]] [[no one's]]"
    page = f"{NONE}\nabout: [thing]\n~\n{text}"
    found = assembled({"one.md": page, "parcel.md": f"{NONE}\n~\nText."})
    told = [(one.code, one.severity, one.place) for one in found.diagnostics]
    assert told == [(Code.RELATION_UNRESOLVED, "warning", f"one.md:{line}") for line in (7, 8, 8)]
    texts = [one.message for one in found.diagnostics]
    assert "'no/way.md'" in texts[0]
    assert "'parcell' does not match any document; did you mean 'parcel'?" in texts[1]
    assert "mean" not in texts[2]


@pytest.mark.untraced
def test_broken_links_are_not_looked_for_among_all_pages() -> None:
    """Links that lead nowhere cost as much beside a hundred pages as beside one."""
    page = "---\ntool: false\n---\nText.\n"

    def calls(pages: int, links: int) -> int:
        texts = [SourceDocument(f"{number}.md", page) for number in range(pages)]
        broken = "---\ngraph_groups: []\n---\n" + "\n\n".join(["[x](y.md) " * 100] * links)
        batch = SourceBatch(documents=(*texts, SourceDocument("a.md", broken)))
        assert len(assemble(batch).diagnostics) == 100 * links
        return calls_in(lambda: assemble(batch))

    assert calls(pages=100, links=8) < 1.1 * (calls(pages=100, links=1) + calls(pages=1, links=8))


def test_what_authors_write_reaches_the_ranking() -> None:
    """Topics, things, headings, tables and fences find a document; HTML does not."""
    documents = {
        "one.md": f"{NONE}\nabout: [Quuxology]\nentity_hints: [Frobnicator]\n~\n# One\n\nText.",
        "two.md": "graph_groups: [Zymurgy Works]\n~\n# Two\n\n## Glossolalia\n\n|a|\n|-|\n"
        "|spelunk|\n",
        "ten.md": f"{NONE}\ntitle: Ten\n~\n# Borborygmus\n\nText.",
        "six.md": f"{NONE}\n~\n# Six\n\n```\nxylograph\n```\n\n<p class=nacreous>\n",
    }
    engine = Engine(Index(compile_assembly(assembled(documents))), ())
    for word, tool in {
        "borborygmus": "ten",
        "quuxology": "one",
        "frobnicator": "one",
        "zymurgy": "two",
        "glossolalia": "two",
        "spelunk": "two",
        "xylograph": "six",
    }.items():
        assert [match.tool_id for match in engine.search(word).matches] == [tool], word
    assert engine.search("nacreous").matches == ()
    explained = engine.explain("quuxology glossolalia")
    fields = {term.field for match in explained.matches for term in match.terms}
    assert fields == {"topics", "headings"}
