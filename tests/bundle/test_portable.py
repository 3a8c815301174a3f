"""Texts of bundles that every reader takes, though their authors wrote something else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from dotnet_rules import refusal
from fronts import fronts, node_fronts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpg.bundle import assemble, build_bundle, decode_bundle, encode_bundle
from mcpg.bundle.metadata import carried_definitions
from mcpg.catalog.model import SourceDocument, Tool
from mcpg.documents import dotnet
from mcpg.documents.dotnet import named_nodes, shared_nodes
from mcpg.documents.front_matter import member, split_front_matter
from mcpg.documents.front_matter_edits import MAX_REWRITTEN, authored_text
from mcpg.errors import Code
from mcpg.graph.triples import make_triples
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from mcpg.bundle import Assembly, Bundle
    from mcpg.text.json_values import JsonObject

pages = st.lists(
    st.builds(lambda first, then: first | then, fronts, node_fronts), min_size=1, max_size=3
)
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def text_of(front: JsonObject, title: str = "Page") -> str:
    """Write a page with *front*, as its author may have."""
    values = {"tool": False, **front}
    lines = "\n".join(line for key, value in values.items() for line in member(key, value))
    return f"---\n{lines}\n---\n# {title}\n\nProse.\n"


def assembled(*contents: str) -> Assembly:
    """Put pages with these texts together."""
    paths = (f"{chr(ord('a') + number)}.md" for number in range(len(contents)))
    documents = [SourceDocument(path, text) for path, text in zip(paths, contents, strict=True)]
    return assemble(SourceBatch(documents=tuple(documents)))


def again(bundle: Bundle) -> Assembly:
    """Write *bundle* and read it."""
    read = decode_bundle(encode_bundle(bundle), "graph.json")
    return assemble(SourceBatch(documents=tuple(read.documents)))


def fronts_of(bundle: Bundle) -> list[JsonObject]:
    """Return the front matter that other readers see."""
    texts = (one.content.removeprefix("\ufeff") for one in bundle.documents)
    return [split_front_matter(text, "", MAX_REWRITTEN).values for text in texts]


@few
@given(pages)
def test_no_document_is_refused_and_nothing_is_lost(given_fronts: list[JsonObject]) -> None:
    """Other readers take every text, and mcpg reads what the authors wrote."""
    contents = [text_of(front) for front in given_fronts]
    assembly = assembled(*contents)
    bundle = build_bundle(assembly)
    assert [refusal(one.content) for one in bundle.documents] == [None] * len(contents)
    assert [authored_text(one.content) for one in bundle.documents] == contents
    back = again(bundle)
    assert [replace(one, tool=replace(one.tool, place="")) for one in back.pages] == [
        replace(one, tool=replace(one.tool, place="")) for one in assembly.pages
    ]
    assert list(make_triples(back.pages)) == list(make_triples(assembly.pages))
    assert encode_bundle(build_bundle(back)) == encode_bundle(bundle)


@few
@given(pages)
def test_nodes_stay_apart(given_fronts: list[JsonObject]) -> None:
    """No group, thing or topic is one node with another one or with a target elsewhere."""
    bundle = build_bundle(assembled(*map(text_of, given_fronts)))
    named = [one for front in fronts_of(bundle) for one in named_nodes(front)]
    own = {one.name for one in named if not one.is_target}
    shared = shared_nodes((one.name, one.is_concept) for one in named)
    assert [names for names in shared if not own.isdisjoint(names)] == []


def test_a_portable_document_stays_to_the_byte() -> None:
    """What every reader takes is not touched, whatever stands beside it."""
    plain = (
        '---\ntool: false\ngraph_groups: [Café, "C"]   # two\n'
        "rdf_prefixes: {ex: 'urn:ex:'}\nrdf_types: [ex:A]\n---\nWhat?\n"
    )
    other = text_of({"rdf_types": ["nobody:Knows"]})
    bundle = build_bundle(assembled(plain, other))
    assert bundle.documents[0].content == plain
    assert bundle.documents[1].content != other


def test_only_what_hurts_is_rewritten() -> None:
    """Lines beside a fault keep their layout, comments and numbers."""
    text = (
        "---\n# Why\ntool: false\nlevel: 1.10   # exact\nrdf_types: [skos:Concept]\n"
        "graph_groups:\n  - 物流\n  - Café # stays\n---\n\nBody.\n"
    )
    (document,) = build_bundle(assembled(text)).documents
    assert document.content.startswith(
        "---\n# Why\ntool: false\nlevel: 1.10   # exact\nrdf_types: [skos:Concept]\n"
        'graph_groups:\n  - {"id": "urn:mcpg:id/物流", "label": "物流"}\n  - Café # stays\n'
    )
    assert document.content.endswith("---\n\nBody.\n")
    (front,) = fronts_of(build_bundle(assembled(text)))
    assert front["rdf_prefixes"] == {"skos": dotnet.ONLY_IN_RULES["skos"]}


def test_topics_and_authors_are_stated_as_rules() -> None:
    """Where a name cannot have an identifier, the same is stated by an entity and an edge."""
    text = text_of(
        {"about": ["物流", "Bins", {"label": "Totes", "sameAs": "urn:t"}], "author": ["王"]}
    )
    (front,) = fronts_of(build_bundle(assembled(text)))
    assert (front["about"], front["author"]) == (["Bins", "Totes"], [])
    assert front["graph_entities"] == [
        {"id": "urn:mcpg:id/物流", "label": "物流"},
        {"label": "Totes", "sameAs": "urn:t"},
        {"id": "urn:mcpg:id/王", "label": "王"},
    ]
    assert front["graph_edges"] == [
        {"subject": "document", "predicate": "about", "object": "urn:mcpg:id/物流"},
        {"subject": "document", "predicate": "author", "object": "urn:mcpg:id/王"},
    ]


def test_what_is_rewritten_is_reported_with_its_line() -> None:
    """Each piece that would make others reject the bundle has a warning; names have none."""
    types = "rdf_types:\n  - skos:Concept\n  - nobody:Knows\n"
    text = f"---\ntool: false\n{types}about: [物流]\n---\n# A\n"
    assembly = assembled(text)
    assert [(one.code, one.severity, one.place) for one in assembly.rewritten] == [
        (Code.DOCUMENT_REWRITTEN, "warning", "a.md:4"),
    ]
    # What is a mistake as well is reported as one only.
    assert (Code.PREFIX_UNKNOWN, "a.md:5") in [
        (one.code, one.place) for one in assembly.diagnostics
    ]
    assert assembly.texts[0].content == text
    messages = [one.message for one in assembly.rewritten]
    assert [one.message for one in again(build_bundle(assembly)).rewritten] == messages


def test_a_question_mark_in_brackets_is_quoted() -> None:
    """Parsers of YAML differ on one that is not quoted, so none is left in a bundle."""
    text = "---\ntool: false\nsee: [http://ex.test/?a=b, two]\nwhy: is it [so]?\n---\n# A\n"
    (document,) = build_bundle(assembled(text)).documents
    assert refusal(text) is not None
    assert refusal(document.content) is None
    assert 'see: ["http://ex.test/?a=b", "two"]\nwhy: is it [so]?\n' in document.content
    assert authored_text(document.content) == text


@pytest.mark.parametrize("uri", ["https:shop.example", "http://[", "https:///x", "http://a:99999/"])
def test_an_address_that_others_reject_stays_in_the_front_matter(uri: str) -> None:
    """The bundle has none instead, and the document keeps its own."""
    assembly = assembled(text_of({"canonical_url": uri}))
    bundle = build_bundle(assembly)
    assert [one.canonical_uri for one in bundle.documents] == [None]
    assert [one.uri for one in again(bundle).pages] == [one.uri for one in assembly.pages] == [uri]


ODD = {
    "CR line ends": "---\rtool: false\rrdf_types: [a:b]\r---\r# A\r",
    "CRLF line ends": "---\r\ntool: false\r\nrdf_prefixes:\r\n---\r\n# A\r\n",
    "byte order mark": "\ufeff---\ntool: false\nrdf_types: [a:b]\n---\n# A\n",
    "no mapping under mcpg": "---\ntool: false\nmcpg: mine\nrdf_types: [a:b]\n---\n# A\n",
    "nothing under mcpg": "---\ntool: false\nmcpg:\nrdf_types: [a:b]\n---\n# A\n",
    "escapes": '---\ntool: false\nsee: "\\ud83d\\ude00" # two\n---\n# A\n',
    "tabs": "---\ntool:\tfalse\nsee: one\ttwo\nlist: [a,\tb]\t# two\n---\n# A\n",
    "braces": "---\n{tool: false, rdf_types: [a:b]}\n---\n# A\n",
    "long target": text_of({"graph_related": ["x" * 10_000, "物" * 10_000]}),
    "circle": text_of(
        {"graph_entities": [{"label": "物", "sameAs": "流"}, {"label": "流", "sameAs": "物"}]}
    ),
    "other scripts": text_of(
        {"rdf_prefixes": {"倉庫": "urn:x:", "склад": "склад"}, "rdf_types": ["倉庫:a"]}
    ),
    "marks": text_of({"rdf_types": ['http://ex.test/a "b" c', "a b:c", "<urn:x>"]}),
    "braces in a name": text_of({"rdf_types": ["{", "{1}", "a{b"]}),
    "much": text_of(
        {"rdf_prefixes": {f"p{one}": f"urn:{one}:" for one in range(9_000)}, "rdf_types": ["no:x"]}
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_documents(name: str) -> None:
    """Whatever a document holds, the bundle can be read by everybody, and says the same here."""
    assembly = assembled(ODD[name])
    bundle = build_bundle(assembly)
    assert [refusal(one.content) for one in bundle.documents] == [None]
    assert [one.further for one in again(bundle).pages] == [one.further for one in assembly.pages]


def test_two_documents_with_one_address() -> None:
    """Addresses that are one to other readers are given to one document alone."""
    texts = [text_of({"canonical_url": f"https://ex.test/{name}"}) for name in ("a", "A", "a")]
    uris = [one.canonical_uri or "" for one in build_bundle(assembled(*texts)).documents]
    assert len({uri.casefold() for uri in uris}) == len(texts)


def test_front_matter_that_is_too_long_stays_out() -> None:
    """A hundred thousand prefixes are more than a document may have, and so it is left out."""
    text = text_of({"rdf_prefixes": {f"p{one}": f"urn:{one}:" for one in range(100_000)}})
    assembly = assembled(text, text_of({}))
    assert [one.path for one in build_bundle(assembly).documents] == ["b.md"]
    assert [one.code for one in assembly.diagnostics] == [Code.DOCUMENT_INVALID]


@pytest.mark.parametrize(
    "front",
    [
        {
            "rdf_prefixes": {"schema": f"https://x.example/{'a' * 50_000}/"},
            "rdf_types": [f"schema:{one}" for one in range(1_000)],
        },
        {"graph_related": ["b"] * 30_000, "rdf_types": ["skos:Concept"]},
    ],
    ids=["names of a long namespace", "targets"],
)
def test_rewritten_front_matter_is_bounded(front: JsonObject) -> None:
    """What would grow without bound is written out in part; no bundle fails for one document."""
    assembly = assembled(text_of(front), text_of({}))
    bundle = build_bundle(assembly)
    assert len(bundle.documents) == 2
    assert [refusal(one.content) for one in bundle.documents] == [None, None]
    assert again(bundle).documents == assembly.documents
    assert 0 < max(len(one.message) for one in assembly.rewritten) < 1_000


def depth_of(value: object) -> int:
    """Return how deeply lists and mappings nest."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if held is None else 1 + max(map(depth_of, held), default=0)


@pytest.mark.parametrize("levels", [20, 55, 70])
def test_a_bundle_nests_no_deeper_than_others_read(levels: int) -> None:
    """A definition beside a document is carried, however deep, in 64 levels of JSON at most."""
    schema: JsonObject = {"type": "object"}
    for _ in range(levels):
        schema = {"properties": schema}
    tool = Tool(id="", source_id="s", name="deep", input_schema=schema)
    text = "---\nname: deep\nsource: s\n---\n# Deep\n\nProse.\n"
    documents = (SourceDocument("deep.md", text),)
    bundle = build_bundle(assemble(SourceBatch(tools=(tool,), documents=documents)))
    data = encode_bundle(bundle)
    assert depth_of(json.loads(data)) <= 64
    (carried,) = carried_definitions(decode_bundle(data, "graph.json"))["s", "deep"]
    assert carried.input_schema == schema
