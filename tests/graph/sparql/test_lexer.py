"""Whom a query asks is read from it as SPARQL reads it."""

from __future__ import annotations

import pytest
from bounded import output_of

from mcpg.graph.sparql import services_in, unescape_query, unknown_names_in

ASKED = [
    ("SELECT * { SERVICE <https://a.example/> { ?s ?p ?o } }", ["<https://a.example/>"]),
    ("SELECT * { service silent <https://a.example/> { } }", ["<https://a.example/>"]),
    ("SELECT * { SERVICE # one\n <https://a.example/> { } }", ["<https://a.example/>"]),
    ("SELECT * { SERVICE ?where { } SERVICE ex:b { } }", ["?where", "ex:b"]),
    ("SELECT * { SERVICE<https://a.example/>{} }", ["<https://a.example/>"]),
    ("SELECT * { ?s ?p ex:a\\# SERVICE <https://a.example/> {}\n }", ["<https://a.example/>"]),
    ("SELECT * { ?s ?p ?o.SERVICE <https://a.example/> {} }", ["<https://a.example/>"]),
]
NOT_ASKED = [
    "SELECT * { ?s ?p 'SERVICE <https://a.example/>' }",
    'SELECT * { ?s ?p """a "quoted" SERVICE <https://a.example/>""" }',
    "SELECT * { ?s ?p '''it's SERVICE <https://a.example/>''' }",
    "# SERVICE <https://a.example/>\nSELECT * { }",
    "SELECT ?service { ?service a ex:SERVICE }",
    "SELECT * { <https://a.example/SERVICE> ?p 'a \\' SERVICE <b:c>' }",
    "SELECT * { ?s ?p ex:a\\'SERVICE }",
]


@pytest.mark.parametrize(("query", "terms"), ASKED)
def test_services_are_found_with_what_stands_for_them(query: str, terms: list[str]) -> None:
    """Every SERVICE is found, with its place, whatever stands between the word and the term."""
    found = services_in(query)
    assert [one.term for one in found] == terms
    assert [query[one.start : one.end] for one in found] == terms


@pytest.mark.parametrize("query", NOT_ASKED)
def test_words_in_texts_names_and_comments_ask_nobody(query: str) -> None:
    """A string, a comment, a name or an IRI that holds the word is no SERVICE."""
    assert services_in(query) == []


def test_escapes_are_read_before_anything_else() -> None:
    """A keyword that is written with escapes is the keyword."""
    query = unescape_query("SELECT * { \\u0053ERVICE <https://a.example/> {} }")
    assert [one.endpoint for one in services_in(query)] == ["https://a.example/"]
    assert unescape_query("\\UFFFFFFFF") == "\\UFFFFFFFF"


def test_only_an_address_in_full_is_an_endpoint() -> None:
    """A variable or a prefixed name does not name its endpoint."""
    found = services_in("SELECT * { SERVICE ?x {} SERVICE a:b {} }")
    assert [one.endpoint for one in found] == [None, None]


def test_reading_takes_no_longer_than_the_text() -> None:
    """The longest query is read to its end whatever it repeats, strings without an end included."""
    parts = ["a.", "a-", "%a\\", "'\\", '"\\', "\\", "<a", "'''a''"]
    program = (
        "from mcpg.graph.sparql import LONGEST, services_in\n"
        f"print([services_in(part * (LONGEST // len(part))) for part in {parts}])\n"
    )
    assert output_of(program) == f"{[[] for _ in parts]}\n"


@pytest.mark.parametrize(
    ("query", "unknown"),
    [
        ("SELECT ?t { ?t mcpg:nextStep ?u }", {"mcpg:nextStep": ["kb:nextStep"]}),
        ("SELECT ?t { ?t kb:nextStp/mcpg:toolId ?u }", {"kb:nextStp": ["kb:nextStep"]}),
        ("SELECT ?t { ?t mcpg:toolID ?u . }", {"mcpg:toolID": ["mcpg:toolId"]}),
        ("SELECT ?t { ?t tool:nextStep ?u }", {"tool:nextStep": ["kb:nextStep"]}),
        ("SELECT ?t { ?t kb:stepNext ?u }", {"kb:stepNext": ["kb:nextStep"]}),
        ("ASK { ?t mcpg:zzzzzz 1 }", {"mcpg:zzzzzz": []}),
        ("SELECT ?t { ?t kb:nextStep/mcpg:toolId ?u; a mcpg:Tool }", {}),
        ("PREFIX x: <urn:x:> SELECT ?t { ?t x:nextStep ?u . _:a schema:none 'mcpg:no' }", {}),
        ("PREFIX mcpg: <urn:x:> ASK { ?t mcpg:nextStep <urn:mcpg:no> } # mcpg:no", {}),
        ("", {}),
        ("{ : ? mcpg: 'unfinished", {":": []}),
    ],
)
def test_names_that_nothing_defines_are_found(query: str, unknown: dict[str, list[str]]) -> None:
    """Names of our vocabularies and of unknown prefixes come with what was probably meant."""
    assert unknown_names_in(query) == unknown


def test_names_are_suggested_for_the_first_fifty() -> None:
    """A query of a megabyte has a hundred thousand names, and each costs a comparison with all."""
    names = [f"kb:nextStep{number}" for number in range(51)]
    *first, last = unknown_names_in(" ".join(names)).values()
    assert first == [["kb:nextStep"]] * 50
    assert last == []
