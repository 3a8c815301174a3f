from __future__ import annotations

import pyoxigraph
import pytest
from generated import texts
from hypothesis import example, given
from hypothesis import strategies as st

from mcpg.documents.addresses import BASE, escape_iri, slug, tool_uri
from mcpg.errors import UsageError
from mcpg.graph.terms import (
    checked_base,
    document_uri,
    group_label,
    node_iri,
    original_iri,
    part_iri,
    rebased_iri,
    source_iri,
)

absolute = st.builds("{}:{}{}".format, st.sampled_from(["http", "urn", "domain"]), texts, texts)


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        ("https://shop.example/tools/track/", "https://shop.example/tools/track/"),
        ("domain:weather", "domain:weather"),
        ("schema:Thing", "https://schema.org/Thing"),
        ("schema://a", "schema://a"),
        ("category:Погода", "category:Погода"),
        ("https://shop.example/a b", "https://shop.example/a%20b"),
        ("https://shop.example/50%", "https://shop.example/50%25"),
        ("https://shop.example/a%20b", "https://shop.example/a%20b"),
        ("urn:x:a[0]#b#c", "urn:x:a%5B0%5D#b%23c"),
        ('urn:"quoted"<b>', "urn:%22quoted%22%3Cb%3E"),
        ("Finance Team", "urn:mcpg:id/finance-team"),
        ("Crème Brûlée", "urn:mcpg:id/creme-brulee"),
        ("天気", "urn:mcpg:id/天気"),
        ("C", "urn:mcpg:id/c"),
        ("C++", "urn:mcpg:id/c-f1deb75f"),
        ("+", "urn:mcpg:id/a318c242"),
        ("http://[broken", "urn:mcpg:id/httpbroken-cfbc95a5"),
        ("http://host:port/", "urn:mcpg:id/httphostport-eabb8e0f"),
    ],
)
def test_iris_of_names(name: str, iri: str) -> None:
    """An absolute IRI stands for itself, repaired where it must be; a label stands below a base."""
    assert node_iri(name) == iri


@example("http://a:1:2/")
@example("http://[::1]/")
@example("http://a@b@c/")
@example("urn:a%zz%")
@example("a:\U000e0001\ufdd0\ud800")
@given(st.one_of(texts, absolute, st.text()))
def test_every_name_gives_a_valid_iri(name: str) -> None:
    """Whatever a document calls a thing, the store takes its node."""
    for iri in (node_iri(name), source_iri(name), part_iri(node_iri(name), "parameter", name)):
        assert pyoxigraph.NamedNode(iri).value == iri


@given(absolute)
def test_a_valid_iri_is_not_repaired_again(name: str) -> None:
    """What was repaired once stays as it is."""
    assert escape_iri(escape_iri(name)) == escape_iri(name)


@given(texts, texts)
def test_sources_and_parts_keep_apart(first: str, other: str) -> None:
    """Different names are different nodes, spelling and all."""
    assert (source_iri(first) == source_iri(other)) == (first == other)
    parts = [part_iri("urn:x", "parameter", name) for name in (first, other)]
    assert (parts[0] == parts[1]) == (first == other)


def test_labels_that_differ_in_what_is_dropped_keep_apart() -> None:
    """Signs make no IRI, yet tell labels from each other."""
    assert len({slug(label) for label in ("C", "C++", "C#", "C --", "!")}) == 4


@pytest.mark.parametrize(
    "labels", [("ข้าว", "ขาว", "ข่าว"), ("йод", "иод"), ("कल", "क्ल"), ("がき", "かき")]
)
def test_words_that_a_mark_tells_apart_are_several_nodes(labels: tuple[str, ...]) -> None:
    """Only accents are dropped: a mark that makes another letter or tone makes another node."""
    assert len(set(map(slug, labels))) == len(labels)


def test_parts_of_a_node_with_a_fragment_stay_in_it() -> None:
    """An IRI has one fragment."""
    assert part_iri("https://x.example/a#b", "example", "1") == "https://x.example/a#b/example/1"


BASES = (
    "https://graph.example/tools/",
    "urn:acme:",
    "https://managedcode.com/mcpgateway/knowledge/",
)


@pytest.mark.parametrize("base", [*BASES, BASE])
@pytest.mark.parametrize(
    "iri",
    [
        node_iri(tool_uri("commerce", "order_get")),
        part_iri(node_iri(tool_uri("a b", "c")), "parameter", "x.y"),
        node_iri("Finance Team"),
        source_iri("commerce"),
        "urn:mcpg:groups",
        "domain:invoice",
        "source-domain:commerce:invoice",
        "category:orders",
    ],
)
def test_what_is_the_projects_own_stands_below_its_base(iri: str, base: str) -> None:
    """Tools, parts, labels, sources and groups move below the base, and back."""
    moved = rebased_iri(iri, base)

    assert moved.startswith(base) or base == BASE
    assert original_iri(moved, base) == iri


@pytest.mark.parametrize("iri", ["https://shop.example/a", "urn:mcpg:vocab:Tool", "team:blue"])
def test_what_is_not_the_projects_own_stays(iri: str) -> None:
    """Addresses of authors and names of vocabularies have no base of the project."""
    for base in BASES:
        assert original_iri(rebased_iri(iri, base), base) == rebased_iri(iri, base) == iri


def test_the_addresses_of_the_net_library_are_those_of_its_documents() -> None:
    """Its URIs of tools and labels name the same nodes as ours."""
    uri = tool_uri("commerce", "order_get")
    assert node_iri(uri) == "urn:mcpg:tools/commerce/order_get/"
    assert document_uri(node_iri(uri)) == uri
    assert node_iri("urn:managedcode:markdown-ld-kb:/id/finance-team") == node_iri("Finance Team")
    assert document_uri("urn:x") == "urn:x"


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("acme", "not an absolute IRI"),
        ("", "not an absolute IRI"),
        ("https://acme.example/a b/", "not an absolute IRI"),
        ("https://acme.example/a", "neither a slash nor a colon"),
        ("https://acme.example/a#", "fragment"),
        ("https://acme.example/?a=/", "query"),
    ],
)
def test_a_base_that_makes_no_iris_is_refused(base: str, message: str) -> None:
    """The message says what is wrong with it."""
    with pytest.raises(UsageError, match=message):
        checked_base(base)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("domain:invoice", "invoice"),
        ("source-domain:commerce:invoice", "invoice of commerce"),
        ("category:orders", "orders (category)"),
        ("Finance Team", "Finance Team"),
        ("team:blue", "team:blue"),
        ("domain:", "domain:"),
    ],
)
def test_groups_have_labels_for_people(name: str, label: str) -> None:
    """What is made of common words is named by them; what authors name stays."""
    assert group_label(name) == label
