"""Searching the graph at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyoxigraph
import pytest

from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.errors import Code, UsageError
from mcpg.graph import terms as v
from mcpg.graph.exports import oxigraph_store
from mcpg.graph.parsing import RdfFormat, triples_in
from mcpg.graph.search import (
    DEFAULT_PROFILE,
    GraphSearcher,
    GraphSearchRequest,
    GraphSearchResult,
    Mode,
    Role,
    SearchProfile,
)
from mcpg.graph.search.local import LocalGraph, tabulate_nodes
from mcpg.graph.search.model import (
    Expansion,
    Relationship,
    ScoreKind,
    TextPredicate,
    build_pattern,
    description_query,
    evidence_query,
    expansion_query,
    parse_terms,
)
from mcpg.graph.terms import Triple
from mcpg.graph.triples import make_triples

EX = "https://runbooks.example/vocab#"
RUNBOOKS = f"""
@prefix ex: <{EX}> .
@prefix schema: <https://schema.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<urn:x:restore> a ex:Runbook ; schema:name "Restore the ledger" ; ex:needs <urn:x:cache> ;
    ex:then <urn:x:gate> , <urn:x:unknown> ; ex:note "ledger" .
<urn:x:cache> a ex:System ; skos:prefLabel "Cache of shards" .
<urn:x:gate> a ex:Runbook ; schema:name "Release gate" .
<urn:x:team> a ex:Team ; ex:owns <urn:x:gate> ; schema:name "Ledger platform" .
[] a ex:Runbook ; schema:name "Nameless ledger" .
"""
PROFILE = SearchProfile(
    types=(f"{EX}Runbook",),
    texts=(TextPredicate(v.schema.name, 1.0),),
    relationships=(
        Relationship(f"{EX}needs", 0.5, ("http://www.w3.org/2004/02/skos/core#prefLabel",)),
        Relationship(f"{EX}owns", 0.25, (v.schema.name,), is_inbound=True),
    ),
    expansions=(Expansion(f"{EX}needs", 0.5, "related"), Expansion(f"{EX}then", 0.9, "next")),
)


def runbooks() -> Iterator[Triple]:
    """The triples of a graph that is no catalogue of tools."""
    return triples_in(RUNBOOKS, RdfFormat.TURTLE, "runbooks")


def labels(result: GraphSearchResult) -> list[str]:
    """The names of the primary matches."""
    return [match.label for match in result.matches]


def test_words_are_matched_whole_and_by_their_stems(searcher: GraphSearcher) -> None:
    """`invoices` finds what says `invoice`; `in` and `voice` find nothing of it."""
    result = searcher.search(GraphSearchRequest("cancelled invoices"))

    assert result.matches[0].tool_id == "invoice_cancel"
    assert result.used_schema_search
    assert not searcher.search(GraphSearchRequest("voice", mode=Mode.SCHEMA_AWARE)).matches


def test_a_score_is_the_share_of_the_query_that_is_covered(searcher: GraphSearcher) -> None:
    """What holds more of the query scores higher, and a word that nothing holds lowers all."""
    whole = searcher.search(GraphSearchRequest("cancel invoice"))
    scores = [match.score for match in whole.matches]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] < scores[0] <= 1
    assert {match.score_kind for match in whole.matches} == {ScoreKind.COVERAGE}

    unknown = searcher.search(GraphSearchRequest("cancel invoice zeppelin"))
    assert unknown.matches[0].node == whole.matches[0].node
    assert unknown.matches[0].score < whole.matches[0].score


def test_evidence_says_where_each_word_stands(searcher: GraphSearcher) -> None:
    """Each match has its values, strongest first, their predicates, words and sources."""
    match = searcher.search(GraphSearchRequest("forecast")).matches[0]
    scores = [evidence.score for evidence in match.evidence]

    assert match.role is Role.PRIMARY
    assert scores == sorted(scores, reverse=True)
    assert {evidence.terms for evidence in match.evidence} == {("forecast",)}
    assert {source.label for one in match.evidence for source in one.sources} == {"sky"}
    assert "forecast" in match.evidence[0].text.casefold()


def test_a_group_speaks_for_its_tools(searcher: GraphSearcher) -> None:
    """Evidence by way of another node names the node, its label, and the edge."""
    result = searcher.search(GraphSearchRequest("invoice"))
    beside = [one for match in result.matches for one in match.evidence if one.via]

    assert beside
    assert all(one.via == v.kb.memberOf and one.related and one.related_label for one in beside)
    assert {one.kind for one in beside} == {"relationship"}


def test_nothing_is_left_out_of_the_evidence(shop: dict[str, ToolDocument]) -> None:
    """Every value that holds the word counts, however many there are."""
    result = GraphSearcher(shop.values()).search(GraphSearchRequest("invoice", limit=50))
    store_of_all = oxigraph_store(make_triples(shop.values()))
    names = store_of_all.query(
        'ASK { ?x <https://schema.org/name> ?name FILTER(CONTAINS(LCASE(?name), "invoice")) }'
    )

    assert bool(names)
    assert len(result.matches) >= 3
    assert "LIMIT" not in result.sparql


def test_the_generated_queries_answer_as_they_are_shown(shop: dict[str, ToolDocument]) -> None:
    """What is shown runs as it stands, and finds what the search found."""
    result = GraphSearcher(shop.values()).search(GraphSearchRequest("cancel an invoice"))
    graph = oxigraph_store(make_triples(shop.values()))
    found = graph.query(result.sparql)
    further = graph.query(result.expansion_sparql)

    assert isinstance(found, pyoxigraph.QuerySolutions)
    assert isinstance(further, pyoxigraph.QuerySolutions)
    assert {match.node for match in result.matches} <= {row["node"].value for row in found}
    comers = {match.node for match in (*result.related, *result.next_steps)}
    assert comers <= {row["related"].value for row in further}


@pytest.mark.parametrize(
    "query", ["cancel an invoice", "orders", "CAFÉ forecasts", "weather_get", "résumé", "a"]
)
def test_the_graph_at_hand_answers_as_its_sparql(shop: dict[str, ToolDocument], query: str) -> None:
    """Values, edges and names are those that Oxigraph finds by the queries that are shown."""
    triples = list(make_triples(shop.values()))
    local, graph = (
        LocalGraph(tabulate_nodes(triples, DEFAULT_PROFILE), DEFAULT_PROFILE),
        oxigraph_store(triples),
    )
    profile, terms = local.profile, parse_terms(query, local.language)
    nodes = [document.uri for document in shop.values()]

    def rows(sparql: str, *names: str) -> set[tuple[str, ...]]:
        found = graph.query(sparql)
        assert isinstance(found, pyoxigraph.QuerySolutions)
        return {tuple(row[name].value if row[name] else "" for name in names) for row in found}

    asked = evidence_query(profile, build_pattern(terms))
    assert {
        (row.node, row.predicate, row.text, row.via, row.related) for row in local.rows(terms)
    } == rows(asked, "node", "predicate", "text", "via", "related")
    assert set(local.edges(nodes)) == rows(
        expansion_query(profile, nodes), "node", "predicate", "related"
    )
    shown = {(row["node"], row["predicate"], row["value"]) for row in local.describe_nodes(nodes)}
    assert shown == rows(description_query(nodes), "node", "predicate", "value")


def test_what_comes_with_a_match_is_handed_a_share_of_its_score(searcher: GraphSearcher) -> None:
    """Related tools and next steps are no matches themselves, and name who leads there."""
    result = searcher.search(GraphSearchRequest("cancel", limit=1))
    comers = (*result.related, *result.next_steps)

    assert comers
    assert not {match.node for match in comers} & {match.node for match in result.matches}
    for match in comers:
        assert match.score_kind is ScoreKind.HANDED_ON
        assert match.score < result.matches[0].score
        assert match.evidence[0].related == result.matches[0].node
        assert match.tool_id


@pytest.mark.parametrize("query", ["", "   ", "?!", "zeppelin", '"\\{}<>|', "\ud800", "a" * 9000])
@pytest.mark.parametrize("mode", list(Mode))
def test_a_query_of_anything_is_answered(searcher: GraphSearcher, query: str, mode: Mode) -> None:
    """What holds no word that the graph has finds nothing, without an error."""
    result = searcher.search(GraphSearchRequest(query, mode=mode))

    assert result.diagnostics == ()
    assert result.matches == () or mode is Mode.TOKEN_DISTANCE


def test_a_mode_may_be_named_by_its_text(searcher: GraphSearcher) -> None:
    """A mode that is written as text counts as such, and an unknown one is an error."""
    request = GraphSearchRequest("shpment", mode=Mode.TOKEN_DISTANCE)
    named = replace(request, mode="token-distance")  # type: ignore[arg-type]

    assert searcher.search(named).matches == searcher.search(request).matches
    with pytest.raises(UsageError, match="no mode is called 'nearest'"):
        searcher.search(replace(request, mode="nearest"))  # type: ignore[arg-type]


def test_a_misspelt_word_is_found_by_distance(searcher: GraphSearcher) -> None:
    """The nearest text wins, and a query that shares nothing finds nothing."""
    result = searcher.search(GraphSearchRequest("shpment", mode=Mode.TOKEN_DISTANCE, limit=2))

    assert "shipment" in result.matches[0].label.casefold()
    assert result.matches[0].score_kind is ScoreKind.NEARNESS
    assert result.matches[0].evidence[0].kind == "distance"
    assert not result.used_schema_search
    assert not searcher.search(GraphSearchRequest("ццц", mode=Mode.TOKEN_DISTANCE)).matches


def test_an_ordinary_search_stands_in_when_no_tool_is_found(shop: dict[str, ToolDocument]) -> None:
    """Hybrid falls back, and says so; schema-aware does not."""
    weather = next(name for name in shop if "weather" in name)
    searcher = GraphSearcher(
        shop.values(), fallback=lambda _, limit: [("nobody", 0.9), (weather, 0.5)][: limit + 1]
    )

    result = searcher.search(GraphSearchRequest("forcast"))
    assert [match.tool_id for match in result.matches] == [weather]
    assert (result.used_schema_fallback, result.used_schema_search) == (True, False)
    assert [one.code for one in result.diagnostics] == [Code.GRAPH_SCHEMA_FALLBACK]
    assert result.matches[0].score_kind is ScoreKind.RANKING

    strict = searcher.search(GraphSearchRequest("forcast", mode=Mode.SCHEMA_AWARE))
    assert (strict.matches, strict.used_schema_fallback) == ((), False)


def test_pages_that_the_schema_finds_stay_before_the_tools_that_stand_in(
    shop: dict[str, ToolDocument],
) -> None:
    """Tools of an ordinary search fill what room pages leave, and replace none of them."""
    tool = next(iter(shop))
    made = (Tool("", "", name, description="quuxology") for name in ("one", "two"))
    pages = [
        ToolDocument(page, f"{page.name}.md", f"urn:x:{page.name}", is_page=True) for page in made
    ]
    searcher = GraphSearcher([*shop.values(), *pages], fallback=lambda *_: [(tool, 0.5)])

    found = searcher.search(GraphSearchRequest("quuxology"))
    assert [match.label for match in found.matches[:2]] == ["one", "two"]
    assert [match.tool_id for match in found.matches] == [None, None, tool]
    assert (found.used_schema_search, found.used_schema_fallback) == (True, True)

    full = searcher.search(GraphSearchRequest("quuxology", limit=2))
    assert full.matches == found.matches[:2]
    assert not full.used_schema_fallback


def test_any_graph_is_searched_by_a_profile_of_its_own() -> None:
    """Types, values, relationships either way and expansions are those of the profile."""
    searcher = GraphSearcher.over(runbooks(), profile=PROFILE)

    result = searcher.search(GraphSearchRequest("shards ledger"))
    assert labels(result) == ["Restore the ledger", "Release gate"]
    assert [match.label for match in result.related] == ["Cache of shards"]
    assert result.next_steps == ()
    assert result.matches[1].evidence[0].via == f"{EX}owns"
    assert result.matches[0].tool_id is None
    assert result.diagnostics == ()

    alone = searcher.search(GraphSearchRequest("restore"))
    assert [match.label for match in alone.next_steps] == ["Release gate"]
    near = searcher.search(GraphSearchRequest("relase", mode=Mode.TOKEN_DISTANCE))
    assert near.matches[0].label == "Release gate"


def test_predicates_that_a_profile_does_not_read_speak_for_nothing() -> None:
    """A word that stands under no registered predicate finds nothing."""
    searcher = GraphSearcher.over(
        runbooks(), profile=replace(PROFILE, texts=(TextPredicate(f"{EX}note", 1.0),))
    )

    assert not searcher.search(GraphSearchRequest("restore")).matches


def test_a_profile_of_what_the_graph_has_not_is_told() -> None:
    """The search goes on without; where nothing is left, it finds nothing."""
    odd = replace(
        PROFILE,
        texts=(*PROFILE.texts, TextPredicate("no iri", 1.0)),
        expansions=(Expansion(f"{EX}never", 1.0, "next"),),
    )
    result = GraphSearcher.over(runbooks(), profile=odd).search(GraphSearchRequest("restore"))
    assert [one.code for one in result.diagnostics] == [Code.GRAPH_SCHEMA_PROFILE_INVALID]
    assert labels(result) == ["Restore the ledger"]
    assert result.expansion_sparql == ""

    nothing = SearchProfile((f"{EX}Runbook",), (TextPredicate(f"{EX}never", 1.0),))
    result = GraphSearcher.over(runbooks(), profile=nothing).search(GraphSearchRequest("restore"))
    assert (result.matches, result.sparql) == ((), "")


def test_a_limit_is_at_least_one(searcher: GraphSearcher) -> None:
    """No match is nothing to ask for."""
    with pytest.raises(UsageError, match="less than 1"):
        searcher.search(GraphSearchRequest("invoice", limit=0))


def test_the_default_profile_counts_names_most() -> None:
    """No weight is above that of a name; nothing is read that has no weight."""
    assert DEFAULT_PROFILE.highest_weight == 1.2
    assert DEFAULT_PROFILE.find_weight(v.schema.name, "", is_inbound=False) == 1.2
    assert DEFAULT_PROFILE.find_weight(v.schema.name, v.kb.memberOf, is_inbound=True) == 0
    assert SearchProfile((), ()).highest_weight == 0
