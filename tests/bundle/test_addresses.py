"""Relations in bundles as addresses, by the rules of a reader that finds nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import dotnet
import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.bundle import Assembly, assemble, build_bundle, encode_bundle
from mcpg.bundle.codec import decode_bundle
from mcpg.catalog.model import SourceDocument
from mcpg.documents.front_matter import split_front_matter
from mcpg.documents.writer import with_compact_schemas
from mcpg.errors import Code
from mcpg.graph.terms import RdfLiteral, node_iri
from mcpg.graph.triples import make_triples
from mcpg.sources import RawFile, SourceBatch, read_sources

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
RECORDED = Path(__file__).parents[1] / "interop"
KINDS = {dotnet.RELATED: "related", dotnet.NEXT: "next", dotnet.MEMBER: "member"}
URI = "https://x.org/{}/"
"""The addresses of the documents below."""

Edges = set[tuple[str, str, str]]


def documents_of(file: str) -> list[SourceDocument]:
    """Return the documents of a recorded bundle, less their addresses."""
    found = json.loads((RECORDED / file).read_text(encoding="utf-8-sig"))["documents"]
    return [SourceDocument(one["path"], one["content"], place=one["path"]) for one in found]


def bundled(assembly: Assembly) -> tuple[SourceDocument, ...]:
    """Return the documents of the bundle of *assembly*, as its file has them."""
    return tuple(decode_bundle(encode_bundle(build_bundle(assembly)), "graph.mdld.json").documents)


def edges_of_dotnet(assembly: Assembly) -> Edges:
    """Return the edges between documents that the .NET library finds in a bundle."""
    nodes = {dotnet.iri(one.uri): one.uri for one in (*assembly.documents, *assembly.pages)}
    return {
        (nodes[subject], KINDS[predicate], nodes[target])
        for subject, predicate, target in dotnet.relations(bundled(assembly))
        if {subject, target} <= nodes.keys() and predicate in KINDS and subject != target
    }


def edges_of_graph(assembly: Assembly) -> Edges:
    """Return the edges between documents in the graph of mcpg."""
    documents = [*assembly.documents, *assembly.pages]
    nodes = {node_iri(one.uri): one.uri for one in documents}
    return {
        (nodes[subject], KINDS[predicate], nodes[target])
        for subject, predicate, target in make_triples(documents)
        if subject in nodes and predicate in KINDS and isinstance(target, str)
        if target in nodes and subject != target
    }


def assert_reads_back(assembly: Assembly) -> None:
    """Assert that whoever reads the bundle reads what the authors wrote, and bundles the same."""
    data = encode_bundle(build_bundle(assembly))
    again = assemble(SourceBatch(bundles=(RawFile(data.decode(), "graph.mdld.json"),)))
    written = [one.content.replace("\r\n", "\n") for one in assembly.texts]
    assert [one.content for one in again.texts] == written
    assert again.documents == assembly.documents
    assert again.pages == assembly.pages
    assert again.relations == assembly.relations
    assert encode_bundle(build_bundle(again)) == data


def assembled(documents: Mapping[str, str]) -> Assembly:
    """Assemble documents by path, with addresses after their names, front matter before `~`."""
    sources = []
    for path, text in documents.items():
        name = path.rpartition("/")[2].partition(".")[0].replace(" ", "-")
        front, _, body = text.partition("~")
        stated = f"---\ncanonical_url: {URI.format(name)}\n{front}\n---\n{body}"
        sources.append(SourceDocument(path, stated, place=path))
    return assemble(SourceBatch(documents=tuple(sources)))


def short(edges: Edges) -> set[tuple[str, str, str]]:
    """Return *edges* with the names of documents."""
    return {(one.split("/")[-2], kind, two.split("/")[-2]) for one, kind, two in edges}


def test_the_rules_give_what_was_recorded() -> None:
    """Of the recorded bundle, the restated rules read the statements that the library reads."""
    found = json.loads((RECORDED / "dev.bundle.json").read_text(encoding="utf-8-sig"))["documents"]
    documents = [SourceDocument(one["path"], one["content"], one["canonicalUri"]) for one in found]
    lines = (RECORDED / "dev.relations.tsv").read_text(encoding="utf-8").splitlines()
    recorded = {tuple(part[1:-1] for part in line.split("\t")) for line in lines}
    read = {one for one in dotnet.relations(documents) if one[1] in KINDS}
    assert read == recorded
    assert len(read) == 102


@pytest.mark.parametrize("sources", ["examples", "recorded"])
def test_what_the_graph_relates_is_found_by_address(sources: str) -> None:
    """Both readers find the same edges between the documents of the examples and the recorded."""
    documents = tuple(documents_of("dev.bundle.json"))
    batch = SourceBatch(documents=documents) if sources == "recorded" else read_sources([EXAMPLES])
    found = assemble(batch)
    edges = edges_of_dotnet(found)
    assert edges == edges_of_graph(found)
    assert len(edges) == {"examples": 241, "recorded": 44}[sources]
    assert_reads_back(found)


TARGETS = {
    "id": "order_get",
    "source and name": "shop::order_get",
    "path from the top": "shop/order_get.md",
    "rooted path": "/shop/order_get.md",
    "path without its end": "shop/order_get",
    "path beside": "./order_get.md",
    "path up and down": "../other/../shop/order_get.md",
    "path with an anchor": "../shop/order_get.md#what-it-returns",
    "path with a query": "../shop/order_get.md?plain=1#top",
    "encoded path": "../shop/order%5Fget.md",
    "Windows path": "..\\\\shop\\\\order_get.md",
    "path in capitals": "../Shop/ORDER_GET.MD",
    "title": "Look up an order",
    "address": URI.format("order_get"),
    "address without its end": "https://x.org/order_get",
    "address of .NET": "https://managedcode.com/mcpgateway/knowledge/shop/order_get/",
    "id with an anchor": "order_get#returns",
}


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_an_author_writes_becomes_an_address(name: str) -> None:
    """Lists, statements and entities name a document in any way, and the bundle by its address."""
    target = json.dumps(TARGETS[name].replace("\\\\", "\\"))
    found = assembled(
        {
            "shop/order_get.md": "title: Look up an order\ngraph_groups: []\n~\nLooks it up.",
            "shop/a.md": f"graph_related: {target}\n~\nText.",
            "shop/b.md": f"graphNextSteps:\n  - {target} # so\n~\nText.",
            "shop/c.md": f"graph_related: [{{target: {target}, weight: 0.5}}]\n~\nText.",
            "shop/d.md": f"graph_related: [{{label: X, target: {target}}}]\n~\nText.",
            "shop/e.md": (
                "graph_groups: []\ngraph_edges:\n"
                f"  - {{subject: document, predicate: relatedTo, object: {target}}}\n"
                f"  - {{subject: {target}, predicate: nextStep, target: this document}}\n~\nText."
            ),
            "shop/page.md": f"tool: false\ngraph_related: [{target}]\n~\nText.",
        }
    )
    assert short(edges_of_dotnet(found)) == {
        *((one, "related", "order_get") for one in ("a", "c", "d", "e", "page")),
        ("b", "next", "order_get"),
        ("order_get", "next", "e"),
    }
    assert edges_of_dotnet(found) == edges_of_graph(found)
    assert not [one for one in found.diagnostics if one.code == Code.RELATION_UNRESOLVED]
    assert_reads_back(found)


def test_things_that_name_documents_are_documents() -> None:
    """By id, address or bare label; they get no second name, and a thing of a class stays one."""
    found = assembled(
        {
            "a.md": (
                "graph_groups: []\ngraph_entities: [b, The page, {id: ./b.md, label: Bee},"
                " {label: b, type: Person}, {label: Nobody}, 7]\n~\nText."
            ),
            "b.md": "title: The bee\ngraph_groups: []\n~\nText.",
            "p.md": "tool: false\ntitle: The page\n~\nText.",
        }
    )
    front = split_front_matter(bundled(found)[0].content, "").values
    document = {"id": URI.format("b"), "label": "The bee", "type": "schema:Article"}
    page = {"id": URI.format("p"), "label": "The page", "type": "schema:Article"}
    third, *others = front["graph_entities"][2:]  # type: ignore[index]
    assert front["graph_entities"][:2] == [document, page]  # type: ignore[index]
    assert third == {**document, "label": "Bee"}
    assert others == [{"label": "b", "type": "Person"}, {"label": "Nobody"}, 7]
    stated = set(make_triples([*found.documents, *found.pages]))
    mentioned = {two for one, predicate, two in stated if predicate.endswith("/mentions")}
    assert {URI.format("b"), URI.format("p")} < mentioned
    said = {(one, predicate.rpartition("/")[2]): two for one, predicate, two in stated}
    assert said[URI.format("p"), "name"] == RdfLiteral("The page")
    assert_reads_back(found)


def test_links_in_prose_become_relations() -> None:
    """Links and wiki links, of tools and of pages, to tools and to pages, are read as related."""
    found = assembled(
        {
            "a.md": "graph_groups: []\n~\nSee [b](b.md#top), [[c]] and [the page](pages/p%20q.md).",
            "b.md": "graph_next_steps: [a]\n~\nBack to [[a]] and [c](./c.md).",
            "c.md": "title: C\n~\nNothing, but for `[[a]]`.",
            "pages/p q.md": "tool: false\n~\n[a](../a.md)",
        }
    )
    edges = short(edges_of_dotnet(found))
    assert {one for one in edges if one[0] != "c"} == {
        ("a", "related", "b"),
        ("a", "related", "c"),
        ("a", "related", "p-q"),
        ("b", "next", "a"),
        ("b", "related", "c"),
        ("p-q", "related", "a"),
    }
    assert edges_of_dotnet(found) == edges_of_graph(found)
    assert_reads_back(found)


def test_a_text_without_front_matter_gets_some_for_its_links() -> None:
    """A page about a tool whose prose links to another keeps its text for whoever reads it here."""
    page = SourceDocument("pages/p.md", "---\ntool: false\n---\nSee [[one]].\n")
    bare = SourceDocument("two.md", "\n# Two\n\nSee [[one]].\n")
    tools = (make_tool("one", source_id="local"), make_tool("two", source_id="local"))
    found = assemble(SourceBatch(tools=tools, documents=(page, bare)))
    edges = edges_of_dotnet(found)
    assert edges == edges_of_graph(found)
    assert {("two", "related", "one"), ("p", "related", "one")} <= short(edges)
    assert_reads_back(found)


def test_predicates_of_other_names_are_related() -> None:
    """Where this package reads an edge and the .NET library another statement, both stand."""
    found = assembled(
        {
            "a.md": (
                "graph_edges:\n"
                "  - {subject: document, predicate: depends on, object: b}\n"
                "  - {subject: b, predicate: next_step, object: c}\n"
                "  - {subject: c, predicate: 'KB:RelatedTo', object: a}\n"
                "  - {subject: document, predicate: member_of, object: Payments}\n"
                "  - {subject: document, predicate: memberOf, object: b}\n"
                "  - {subject: nobody, predicate: relatedTo, object: a}\n~\nText."
            ),
            "b.md": "graph_groups: []\n~\nText.",
            "c.md": "graph_groups: []\n~\nText.",
        }
    )
    read = dotnet.relations(bundled(found))
    assert short(edges_of_dotnet(found)) == {
        ("a", "related", "b"),
        ("b", "next", "c"),
        ("c", "related", "a"),
    }
    assert (URI.format("a"), dotnet.MEMBER, f"{dotnet.BASE}id/payments") in read
    assert (f"{dotnet.BASE}id/nobody", dotnet.RELATED, URI.format("a")) in read
    assert_reads_back(found)


def test_things_do_not_take_relations_over() -> None:
    """A thing that is the same as a document is that document, even in circles."""
    found = assembled(
        {
            "a.md": (
                "graph_related: [b]\n"
                f"graph_entities: [{{label: Bee, sameAs: [{URI.format('b')}, b.md]}}, b, c.md]\n"
                f"graph_groups: [{{label: Team, sameAs: {URI.format('a')}}}]\n~\nText."
            ),
            "b.md": (
                "graph_next_steps: [c]\n"
                f"graph_entities: [{{label: Ay, sameAs: {URI.format('a')}}},"
                f" {{label: Ay, id: {URI.format('a')}}}]\n~\nText."
            ),
            "c.md": (
                f"graph_related: [{{label: Sea, sameAs: {URI.format('a')}}},"
                f" {{target: nobody, sameAs: {URI.format('b')}}}]\n~\nText."
            ),
        }
    )
    assert short(edges_of_dotnet(found)) == {
        ("a", "related", "b"),
        ("b", "next", "c"),
        ("c", "related", "a"),
    }
    assert_reads_back(found)


def test_front_matter_that_other_readers_miss_is_moved_up() -> None:
    """Blank lines above front matter, and hyphens within a text, hide no relation."""
    late = SourceDocument("a.md", "\n\n---\nname: a\ngraph_related: [b]\n---\nText.\n")
    cut = "---\nname: b\nsummary: |\n  One.\n  ---\n  Two.\ngraph_next_steps: [a]\n---\nText.\n"
    found = assemble(SourceBatch(documents=(late, SourceDocument("b.md", cut))))
    assert short(edges_of_dotnet(found)) == {("a", "related", "b"), ("b", "next", "a")}
    assert_reads_back(found)


def test_generated_documents_stay_to_the_byte() -> None:
    """Documents whose targets are addresses already are bundled as they are, schemas aside."""
    found = assemble(read_sources([EXAMPLES / "commerce.json"]))
    compact = [
        replace(text, content=with_compact_schemas(text.content, document.tool))
        for text, document in zip(found.texts, found.documents, strict=True)
    ]
    assert bundled(found) == tuple(compact)
    again = assemble(SourceBatch(documents=tuple(found.texts)))
    assert bundled(again) == tuple(compact)


def test_parts_of_statements_that_are_mappings_are_texts() -> None:
    """The library takes a mapping for the name of a type, so that no bundle has one there."""
    parts = "{subject: {id: a}, predicate: {id: nextStep}, object: {label: b}}"
    thing = "{subjectId: '', predicate: {label: mentions}, objectId: {label: Honey}}"
    found = assembled(
        {"a.md": f"graph_edges: [{parts}, {thing}]\n~\nText.", "b.md": "name: b\n~\nText."}
    )
    assert short(edges_of_dotnet(found)) == {("a", "next", "b")}
    texts = {"subject", "predicate", "object", "objectId"}
    content = next(one.content for one in bundled(found) if one.path == "a.md")
    edges = split_front_matter(content, "").values["graph_edges"]
    held = [value for edge in edges for key, value in edge.items() if key in texts]
    assert "Honey" in held
    assert all(isinstance(one, str) for one in held)
    assert_reads_back(found)


HOSTILE = (
    "x" * 10_000,
    "../../../../outside.md",
    "%zz/%E0%A4.md",
    'https://x.org/a b"c"<d>',
    "urn:x:ü",
    "#",
    "?",
    "/",
    "\u202eb.md",
    "b\x1b[31m",
)


def test_targets_that_nobody_bears_stay_as_they_are() -> None:
    """Each is reported with file and line, and a near name; no one else's document is meant."""
    stated = "".join(f"  - {json.dumps(one)}\n" for one in (*HOSTILE, "bee_keper"))
    found = assembled(
        {
            "a.md": f"summary: bee_keper\ngraph_related:\n{stated}~\nText.",
            "bee_keeper.md": "graph_groups: []\n~\nText.",
        }
    )
    noticed = [one for one in found.diagnostics if one.code == Code.RELATION_UNRESOLVED]
    assert [one.place for one in noticed] == [f"a.md:{5 + at}" for at in range(len(HOSTILE) + 1)]
    assert noticed[-1].message.endswith("; did you mean 'bee_keeper'?")
    assert len(noticed[0].message) < 300
    assert not edges_of_dotnet(found)
    text = next(one.content for one in bundled(found) if one.path == "a.md")
    assert text == next(one.content for one in found.texts if one.path == "a.md")


def test_ends_of_statements_that_nobody_bears_are_reported() -> None:
    """A path or a qualified name that leads nowhere is; the label or the IRI of a thing is not."""
    ends = (
        "./bee_keper.md#top",
        "hive::queen",
        "Honey",
        "https://x.org/hive.md",
        "C::",
        "bee_keeper",
    )
    stated = "".join(f"  - {{predicate: mentions, object: {json.dumps(one)}}}\n" for one in ends)
    found = assembled(
        {
            "a.md": f"graph_groups: []\ngraph_edges:\n{stated}~\nText.",
            "bee_keeper.md": "graph_groups: []\n~\nText.",
        }
    )
    noticed = [one for one in found.diagnostics if one.code == Code.RELATION_UNRESOLVED]
    assert [one.place for one in noticed] == ["a.md:5", "a.md:6"]
    assert noticed[0].message.endswith("; did you mean 'bee_keeper'?")


def test_two_documents_with_one_address_stay_apart() -> None:
    """The second gets an address of its own, and both are found."""
    same = "canonical_url: https://x.org/same/\n"
    documents = (
        SourceDocument("a.md", f"---\n{same}name: a\ngraph_related: [b]\n---\nText."),
        SourceDocument("b.md", f"---\n{same}name: b\ngraph_related: [a]\n---\nText."),
    )
    found = assemble(SourceBatch(documents=documents))
    first, second = (one.uri for one in found.documents)
    assert edges_of_dotnet(found) == {(first, "related", second), (second, "related", first)}
    assert_reads_back(found)


NAMES = ("one", "two words", "Größe", "C++", "a#b", "50%", "a'b", "c (d)")
ITEMS = st.sampled_from([f"{at}" for at in range(len(NAMES))])
WAYS = st.sampled_from(("name", "title", "path", "prose"))


@given(st.lists(st.tuples(ITEMS, ITEMS, WAYS), max_size=8))
def test_documents_of_any_name_are_found(links: list[tuple[str, str, str]]) -> None:
    """Names, titles and paths of any letters lead to addresses, and the texts come back."""
    fronts: dict[str, list[str]] = {f"{at}": [] for at in range(len(NAMES))}
    prose: dict[str, list[str]] = {f"{at}": [] for at in range(len(NAMES))}
    for one, two, kind in links:
        name = NAMES[int(two)]
        if kind == "prose":
            prose[one].append(f"[[local::{name}]]")
        else:
            target = {"name": f"local::{name}", "title": f"The {name}", "path": f"d/{two}.md"}[kind]
            fronts[one].append(f"  - {json.dumps(target)}\n")
    documents = tuple(
        SourceDocument(
            f"d/{at}.md",
            f"---\nname: {json.dumps(name)}\nsource: local\ntitle: {json.dumps(f'The {name}')}\n"
            f"graph_related:\n{''.join(fronts[f'{at}'])}---\nText. {' '.join(prose[f'{at}'])}\n",
        )
        for at, name in enumerate(NAMES)
    )
    found = assemble(SourceBatch(documents=documents))
    uris = {one.path[2:-3]: one.uri for one in found.documents}
    wanted = {(uris[one], "related", uris[two]) for one, two, _ in links if one != two}
    assert edges_of_dotnet(found) == wanted == edges_of_graph(found)
    assert_reads_back(found)
