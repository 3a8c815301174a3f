from __future__ import annotations

import pyoxigraph
import pytest
from generated import texts
from hypothesis import example, given
from hypothesis import strategies as st

from mcpg.graph.terms import escaped, node_iri, part_iri, slug, source_iri

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
        ("Finance Team", "urn:managedcode:markdown-ld-kb:/id/finance-team"),
        ("Crème Brûlée", "urn:managedcode:markdown-ld-kb:/id/creme-brulee"),
        ("天気", "urn:managedcode:markdown-ld-kb:/id/天気"),
        ("C", "urn:managedcode:markdown-ld-kb:/id/c"),
        ("C++", "urn:managedcode:markdown-ld-kb:/id/c-f1deb75f"),
        ("+", "urn:managedcode:markdown-ld-kb:/id/a318c242"),
        ("http://[broken", "urn:managedcode:markdown-ld-kb:/id/httpbroken-cfbc95a5"),
        ("http://host:port/", "urn:managedcode:markdown-ld-kb:/id/httphostport-eabb8e0f"),
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
    assert escaped(escaped(name)) == escaped(name)


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
