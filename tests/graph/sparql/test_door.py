"""Queries are answered within limits, and nothing but queries."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
from sparqlserver import serving

from mcpg.errors import InputError, UsageError
from mcpg.graph.exports import oxigraph_store
from mcpg.graph.sparql import Limits, SparqlEndpoint
from mcpg.graph.terms import PREFIXES
from mcpg.graph.triples import make_triples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.documents.model import ToolDocument

SELECTS = [
    "SELECT ?n { ?s a mcpg:Tool ; schema:name ?n } ORDER BY ?n",
    "SELECT DISTINCT ?p { ?s ?p ?o } ORDER BY ?p",
    "SELECT REDUCED ?t { ?s a ?t } ORDER BY ?t",
    "SELECT ?s ?o { ?s kb:relatedTo|kb:nextStep ?o } ORDER BY ?s ?o",
    "SELECT ?s ?o { ?s (kb:relatedTo|kb:nextStep)+ ?o } ORDER BY ?s ?o",
    "SELECT ?s ?o { ?s kb:nextStep? ?o . ?s a mcpg:Tool } ORDER BY ?s ?o",
    "SELECT ?o { ?s ^kb:memberOf/kb:relatedTo* ?o } ORDER BY ?o",
    "SELECT ?s ?p { ?s !(rdf:type|schema:name) ?p } ORDER BY ?s ?p LIMIT 20 OFFSET 3",
    "SELECT ?s ?d { ?s a mcpg:Tool OPTIONAL { ?s mcpg:readOnly ?d } } ORDER BY ?s",
    "SELECT ?s { ?s a mcpg:Tool FILTER NOT EXISTS { ?s kb:relatedTo ?o } } ORDER BY ?s",
    "SELECT ?s { ?s a mcpg:Tool MINUS { ?s kb:relatedTo ?o } } ORDER BY ?s",
    "SELECT ?s { { ?s kb:nextStep ?o } UNION { ?o kb:nextStep ?s } } ORDER BY ?s",
    "SELECT ?g (COUNT(?s) AS ?n) { ?s kb:memberOf ?g } GROUP BY ?g HAVING (?n > 1) ORDER BY ?g",
    "SELECT (GROUP_CONCAT(?n) AS ?all) { SELECT ?n { ?s schema:name ?n } ORDER BY ?n LIMIT 3 }",
    "SELECT (SUM(?c) AS ?s) (AVG(?c) AS ?a) (MAX(?c) AS ?x) { ?r kb:confidence ?c }",
    "SELECT ?u { ?s schema:name ?n BIND(UCASE(SUBSTR(?n, 1, 3)) AS ?u) } ORDER BY ?u",
    "SELECT ?x ?y { VALUES (?x ?y) { (1 UNDEF) ('a'@en <a:b>) } }",
    "SELECT ?n { ?s schema:name ?n FILTER(REGEX(?n, '^inv', 'i') && STRLEN(?n) > 3) } ORDER BY ?n",
    "SELECT (STRDT('x', <a:b>) AS ?t) (STRLANG('x', 'de') AS ?l) (1/3 AS ?d) (true AS ?b) {}",
    "SELECT (<<( <a:a> <a:b> 'c' )>> AS ?t) {}",
]
GRAPHS = [
    "CONSTRUCT { ?s <a:then> ?o } WHERE { ?s kb:nextStep ?o }",
    "CONSTRUCT WHERE { ?s kb:memberOf ?g }",
    "DESCRIBE ?s { ?s a mcpg:Source }",
    "CONSTRUCT { <a:a> schema:text 'x\u2028@prefix schema: <urn:evil:> .\x85' } WHERE {}",
]
UPDATES = [
    "INSERT DATA { <a:a> <a:b> <a:c> }",
    "DELETE DATA { <a:a> <a:b> <a:c> }",
    "DELETE WHERE { ?s ?p ?o }",
    "DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
    "WITH <a:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    "INSERT { ?s ?p 1 } USING <a:g> WHERE { ?s ?p ?o }",
    "LOAD <http://127.0.0.1:9/>",
    "LOAD SILENT <http://127.0.0.1:9/> INTO GRAPH <a:g>",
    "CLEAR ALL",
    "DROP SILENT GRAPH <a:g>",
    "CREATE GRAPH <a:g>",
    "ADD DEFAULT TO <a:g>",
    "MOVE <a:g> TO DEFAULT",
    "COPY <a:g> TO <a:h>",
    "PREFIX x: <a:> # SELECT\n iNsErT dAtA { x:a x:b x:c }",
    "INSERT DATA { <a:a> <a:b> 'SELECT * {}' } ; CLEAR ALL",
    "\\u0043LEAR ALL",
]


def _beneath(shop: dict[str, ToolDocument], query: str) -> pyoxigraph.QuerySolutions:
    found = oxigraph_store(make_triples(shop.values())).query(query, prefixes=dict(PREFIXES))
    assert not isinstance(found, pyoxigraph.QueryBoolean)
    return found


def test_rows_are_those_of_the_engine_beneath(
    endpoint: SparqlEndpoint, shop: dict[str, ToolDocument]
) -> None:
    """Every feature of SELECT gives what Oxigraph gives, in its JSON and in its CSV."""
    for query in SELECTS:
        form = pyoxigraph.QueryResultsFormat
        answer = endpoint.query(query)
        beneath = _beneath(shop, query).serialize(format=form.JSON)
        assert answer.json() == json.loads(beneath or b""), query
        written = _beneath(shop, query).serialize(format=form.CSV)
        assert answer.csv().encode() == written or "<<" in query, query
        assert not answer.cut


def test_graphs_are_those_of_the_engine_beneath(
    endpoint: SparqlEndpoint, shop: dict[str, ToolDocument]
) -> None:
    """CONSTRUCT and DESCRIBE give the triples of Oxigraph, and Turtle that reads back as them."""
    for query in GRAPHS:
        answer = endpoint.query(query)
        beneath = [f"{one} ." for one in _beneath(shop, query)]
        assert sorted(answer.triples) == sorted(beneath), query
        turtle = pyoxigraph.parse(answer.turtle(), format=pyoxigraph.RdfFormat.TURTLE)
        assert {f"{quad.triple} ." for quad in turtle} == set(beneath)


def test_ask_is_answered_with_a_truth(endpoint: SparqlEndpoint) -> None:
    """ASK tells whether there is such a thing."""
    assert endpoint.query("ASK { ?s a mcpg:Tool }").json() == {"head": {}, "boolean": True}
    assert not endpoint.query("ASK { ?s a <a:b> }").truth


@pytest.fixture(scope="module")
def triple() -> Iterator[SparqlEndpoint]:
    """The endpoint to a graph of one triple."""
    with SparqlEndpoint.over(b"<a:a> <a:b> <a:c> .") as opened:
        yield opened


@pytest.mark.parametrize("update", UPDATES)
def test_every_form_of_update_is_refused(triple: SparqlEndpoint, update: str) -> None:
    """Whatever would change the graph is refused as an update, by its parsed form."""
    with pytest.raises(UsageError, match="is an update"):
        triple.query(update)
    assert len(triple.query("SELECT * { ?s ?p ?o }")) == 1


def test_what_is_no_sparql_is_refused_with_its_place(endpoint: SparqlEndpoint) -> None:
    """A mistake is told with the line and column where it is."""
    with pytest.raises(InputError, match=r"invalid SPARQL query: .* at 1:"):
        endpoint.query("SELECT * { ?s ")
    with pytest.raises(InputError, match="invalid SPARQL"):
        endpoint.query("")
    with pytest.raises(InputError, match="lone surrogate"):
        endpoint.query("SELECT * { ?s ?p '\\uD800' }")
    with pytest.raises(InputError, match="more than"):
        endpoint.query("#" * (1024 * 1024 + 1))


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("SELECT ?a { ?a ?b ?c } GROUP BY ?b", "the SELECT contains a variable that is unbound"),
        ("SELECT (1 AS ?a) { ?a ?b ?c }", "the SELECT overrides an existing variable"),
        ("SELECT ?a ?a { ?a ?b ?c }", "duplicated variable name"),
    ],
)
def test_a_broken_rule_of_the_language_is_named(
    endpoint: SparqlEndpoint, query: str, rule: str
) -> None:
    """The parser reports a broken rule at the end, where nothing is missing."""
    with pytest.raises(InputError, match=f"invalid SPARQL query: {rule}"):
        endpoint.query(query)


def test_a_query_that_never_ends_is_ended_and_the_next_is_answered(
    shop: dict[str, ToolDocument],
) -> None:
    """A Cartesian product runs into the limit of time; the endpoint stays of use."""
    with SparqlEndpoint(list(shop.values()), limits=Limits(seconds=2)) as endpoint:
        with pytest.raises(InputError, match="timed out after 2 seconds"):
            endpoint.query("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }")
        assert endpoint.query("ASK { ?s ?p ?o }").truth


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { VALUES ?x { " + '"a service" ' * 30_000 + "} }",
        "INSERT DATA { " + "<a:a> <a:b> <a:c> . " * 20_000,
    ],
    ids=["the word service", "a broken update"],
)
def test_the_limit_of_time_covers_what_is_looked_at_before(query: str) -> None:
    """A query that takes long to be understood is ended like one that takes long to answer."""
    with SparqlEndpoint.over(b"<a:a> <a:b> <a:c> .", Limits(seconds=1)) as endpoint:
        with pytest.raises(InputError, match="timed out after 1 seconds"):
            endpoint.query(query)
        assert endpoint.query("ASK { ?s ?p ?o }").truth


@pytest.mark.skipif(sys.platform == "win32", reason="no signal interrupts a read there")
def test_an_interrupted_query_leaves_no_answer_behind() -> None:
    """The answer that comes after an interruption is not given to the next query."""
    limits = Limits(seconds=30)
    with (
        serving("<a:a> <a:b> <a:c> .", "interrupting") as other,
        SparqlEndpoint((), services=[other.url], limits=limits) as endpoint,
    ):
        with pytest.raises(KeyboardInterrupt):
            endpoint.query(f"SELECT * {{ SERVICE <{other.url}> {{ ?s ?p ?o }} }}")
        for number in range(3):
            (row,) = endpoint.query(f"SELECT ({number} AS ?n) {{}}").rows
            assert row["n"]["value"] == str(number)


def test_a_query_that_nests_too_deep_breaks_off_alone(endpoint: SparqlEndpoint) -> None:
    """A query on which the engine dies is an error, and the next query is answered."""
    with pytest.raises(InputError, match="query failed"):
        endpoint.query("SELECT * " + "{" * 60_000 + "}" * 60_000)
    assert endpoint.query("ASK { ?s ?p ?o }").truth


def test_memory_is_bounded(shop: dict[str, ToolDocument]) -> None:
    """A query breaks off that takes more than its memory beyond the graph: by default 1 GiB."""
    assert Limits().memory == 1 << 30
    limits = Limits(seconds=60, memory=64 * 1024 * 1024)
    with (
        SparqlEndpoint(list(shop.values()), limits=limits) as endpoint,
        pytest.raises(InputError, match=r"needs more than 0\.062 GiB of memory"),
    ):
        endpoint.query(
            "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l } ORDER BY ?l ?a ?d ?g"
        )


def test_answers_are_cut_and_say_so(shop: dict[str, ToolDocument]) -> None:
    """Rows beyond the limit, in number or in bytes, are left out with a word."""
    with SparqlEndpoint(list(shop.values()), limits=Limits(rows=3)) as endpoint:
        answer = endpoint.query("SELECT * { ?s ?p ?o }")
        assert (len(answer), answer.cut) == (3, "there are more than 3")
        assert endpoint.query("SELECT * { ?s ?p ?o } LIMIT 3").cut == ""
        assert len(endpoint.query("CONSTRUCT WHERE { ?s ?p ?o }").triples) == 3
    with SparqlEndpoint(list(shop.values()), limits=Limits(size=500)) as endpoint:
        answer = endpoint.query("SELECT * { ?s ?p ?o }")
        assert 0 < len(answer) < 10
        assert "more than 500 bytes" in answer.cut


def test_deep_property_paths_are_answered() -> None:
    """A path of ten thousand steps is followed to its end."""
    chain = "".join(f"<n:{one}> kb:nextStep <n:{one + 1}> .\n" for one in range(10_000))
    data = f"@prefix kb: <{PREFIXES['kb']}> .\n{chain}"
    with SparqlEndpoint.over(data.encode(), Limits(seconds=60)) as endpoint:
        answer = endpoint.query("SELECT (COUNT(?o) AS ?n) { <n:0> kb:nextStep+ ?o }")
    assert answer.rows[0]["n"]["value"] == "10000"


def test_other_data_is_never_fetched(endpoint: SparqlEndpoint) -> None:
    """FROM and FROM NAMED name graphs of the store, and load nothing."""
    assert not endpoint.query("ASK FROM <http://127.0.0.1:9/x> { ?s ?p ?o }").truth
    assert not endpoint.query(
        "ASK FROM NAMED <http://127.0.0.1:9/x> { GRAPH ?g { ?s ?p ?o } }"
    ).truth


def test_threads_share_a_door(endpoint: SparqlEndpoint) -> None:
    """Queries of several threads are all answered, each with its own answer."""
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda n: endpoint.query(f"SELECT ({n} AS ?n) {{}}"), range(24))
        assert [one.rows[0]["n"]["value"] for one in found] == [str(n) for n in range(24)]


def test_documents_that_come_but_once_are_kept(shop: dict[str, ToolDocument]) -> None:
    """The second process has the graph of the first, also when documents were generated."""
    with SparqlEndpoint(document for document in shop.values()) as endpoint:
        assert endpoint.query("ASK { ?s a mcpg:Tool }").truth
        endpoint.close()
        assert endpoint.query("ASK { ?s a mcpg:Tool }").truth


def test_a_closed_door_opens_again(endpoint: SparqlEndpoint) -> None:
    """After closing, another query starts anew; closing twice does no harm."""
    assert endpoint.query("ASK {}").truth
    endpoint.close()
    endpoint.close()
    assert endpoint.query("ASK {}").truth


def test_answers_are_the_same_in_every_process(shop: dict[str, ToolDocument]) -> None:
    """The order of rows does not hang on the process, even where none is asked for."""
    answers = []
    for _ in range(2):
        with SparqlEndpoint(list(shop.values())) as endpoint:
            answers.append(endpoint.query("SELECT * { ?s ?p ?o }"))
    assert answers[0] == answers[1]


def test_an_unknown_prefix_is_told_with_what_was_meant(endpoint: SparqlEndpoint) -> None:
    """The message names the prefix, the remedy the likely name and the prefixes that are known."""
    with pytest.raises(InputError, match="SPARQL query: the prefix 'tool' is not known") as caught:
        endpoint.query("SELECT ?t { ?t tool:nextStep ?u }")
    remedy = caught.value.remedy or ""
    assert remedy.startswith("did you mean kb:nextStep? declare it, or use one of")
    assert "mcpg" in remedy


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * { ?tool mcpg:toolId ?id OPTIONAL { ?tool mcpg:none ?a } }", ("tool", "id", "a")),
        ("SELECT DISTINCT * { $b a ?z . ?b ?a ?c }", ("b", "z", "a", "c")),
        ("SELECT ?z ?b { ?b a ?z }", ("z", "b")),
        ("SELECT ?n { { SELECT * { ?n a ?k } } }", ("n",)),
    ],
)
def test_columns_are_in_the_order_of_the_query(
    endpoint: SparqlEndpoint, query: str, columns: tuple[str, ...]
) -> None:
    """`SELECT *` lists variables as the query names them, others as it lists them."""
    assert endpoint.query(query).variables == columns
