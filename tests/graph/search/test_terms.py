"""The words of a query, and the SPARQL that looks for them."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.graph import terms as v
from mcpg.graph.search.model import (
    DEFAULT_PROFILE,
    MOST_TERMS,
    at_endpoint,
    build_pattern,
    evidence_query,
    is_iri,
    parse_terms,
)
from mcpg.text import split_words


def is_found(query: str, text: str) -> bool:
    """Return whether a graph with a node called *text* has an answer."""
    store = pyoxigraph.Store()
    node = pyoxigraph.NamedNode("urn:x:node")
    is_a = pyoxigraph.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    kind, name = pyoxigraph.NamedNode(v.schema.Article), pyoxigraph.NamedNode(v.schema.name)
    store.add(pyoxigraph.Quad(node, is_a, kind))
    store.add(pyoxigraph.Quad(node, name, pyoxigraph.Literal(text)))
    found = store.query(evidence_query(DEFAULT_PROFILE, build_pattern(parse_terms(query))))
    assert isinstance(found, pyoxigraph.QuerySolutions)
    return next(found, None) is not None


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("queries", "Run a query"),
        ("query", "Two queries"),
        ("files", "a file"),
        ("status", "the STATUS"),
        ("résumé", "Mon Résumé"),
        ("посилка", "Де посилка?"),
        ("配達", "荷物の配達状況"),
        ("v1.2.3", "since v1.2.3"),
        ("C++", "write c"),
        ("शिपमेंट कहाँ है", "शिपमेंट की स्थिति"),
        ("চালানের অবস্থা", "চালানের অবস্থা দেখুন"),
        ("கப்பல் நிலை", "கப்பல் நிலை காட்டு"),
        ("ติดตามพัสดุ", "บริการติดตามพัสดุ"),
        ("invoice शिपमेंट", "one invoice"),
        ("می\u200cخواهم", "نمی می\u200cخواهم"),
    ],
)
def test_a_word_finds_its_inflections(query: str, text: str) -> None:
    """Case, endings and scripts without spaces are seen through, with or without vowel signs."""
    assert is_found(query, text)


@pytest.mark.parametrize(
    ("query", "text"), [("form", "the platform"), ("port", "a report"), ("in", "domain string")]
)
def test_a_part_of_a_word_is_no_word(query: str, text: str) -> None:
    """What stands in the midst of a word is not found."""
    assert not is_found(query, text)


def test_function_words_are_left_out_where_others_are() -> None:
    """Only a query of nothing else keeps them; each stem is there once."""
    assert [term.text for term in parse_terms("where is the file of files")] == ["file"]
    assert [term.text for term in parse_terms("where is the")] == ["where", "is", "the"]
    assert len(parse_terms(" ".join(f"word{number}x" for number in range(200)))) == MOST_TERMS


@given(st.text(max_size=40))
def test_whatever_is_asked_stays_a_word(query: str) -> None:
    """Each query is valid, and finds a text that says the same."""
    words = split_words(query)
    if words:
        assert is_found(query, " ".join(words))


def test_an_endpoint_is_asked_the_same() -> None:
    """The prefixes stay in front, the rest is what SERVICE asks."""
    query = evidence_query(DEFAULT_PROFILE, build_pattern(parse_terms("invoice")))
    asked = at_endpoint(query, "https://sparql.example/")

    assert asked.startswith("PREFIX kb:")
    assert "SERVICE <https://sparql.example/> {\n    SELECT DISTINCT" in asked


@pytest.mark.parametrize("text", ["", "name", "urn:x> } ; DROP", "urn:x y"])
def test_what_is_no_iri_is_none(text: str) -> None:
    """Nothing that could end a query goes into one."""
    assert not is_iri(text)
