"""Searching other endpoints: real ones on this machine, of every manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sparqlserver import serving

from mcpg.errors import Code, UsageError
from mcpg.graph.search import GraphSearcher, GraphSearchRequest, GraphSearchResult, Mode
from mcpg.graph.sparql import Limits

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument

OTHER = """
@prefix schema: <https://schema.org/> .
<urn:y:dunning> a schema:Article ; schema:name "Invoice reminder" ;
    schema:description "Remind a customer of an invoice." .
"""
WIDE = "@prefix schema: <https://schema.org/> .\n" + "".join(
    f'<urn:y:{number}> a schema:Article ; schema:name "Invoice {number}" .\n'
    for number in range(50)
)


def search(
    shop: dict[str, ToolDocument], *endpoints: str, local: bool = True, rows: int = 1_000
) -> GraphSearchResult:
    """Ask endpoints for invoices; each has a second or two."""
    limits = Limits(seconds=2.5, rows=rows, size=1024 * 1024)
    searcher = GraphSearcher(shop.values(), allowed=endpoints, limits=limits)
    request = GraphSearchRequest(
        "invoice", 10, is_federated=True, includes_local=local, endpoints=endpoints
    )
    return searcher.search(request)


def codes(result: GraphSearchResult) -> list[str]:
    """The codes of what was noticed."""
    return [one.code for one in result.diagnostics]


def test_answers_of_several_graphs_are_one_list(shop: dict[str, ToolDocument]) -> None:
    """Nodes of the graph at hand and of others are ranked together, and say where they are from."""
    with serving(OTHER) as endpoint:
        result = search(shop, endpoint.url)

    found = {match.node: match for match in result.matches}
    theirs = found["urn:y:dunning"]
    assert (theirs.label, theirs.tool_id) == ("Invoice reminder", None)
    assert theirs.description == "Remind a customer of an invoice."
    assert {evidence.endpoint for evidence in theirs.evidence} == {endpoint.url}
    assert {match.tool_id for match in result.matches} > {None}
    assert result.endpoints == (endpoint.url,)
    assert (result.related, result.next_steps, codes(result)) == ((), (), [])
    assert result.is_federated
    assert "invoic" in endpoint.asked[0]
    asked, here = result.sparql.split("\n\n")
    assert f"SERVICE <{endpoint.url}>" in asked
    assert "SERVICE" not in here


def test_the_graph_at_hand_may_stay_out(shop: dict[str, ToolDocument]) -> None:
    """Only what the endpoint says is found."""
    with serving(OTHER) as endpoint:
        result = search(shop, endpoint.url, local=False)

    assert [match.node for match in result.matches] == ["urn:y:dunning"]


@pytest.mark.parametrize(
    "manner", ["failing", "lying", "redirecting", "hanging", "dripping", "flooding"]
)
def test_an_endpoint_that_fails_harms_no_other(shop: dict[str, ToolDocument], manner: str) -> None:
    """It is told what went wrong there; the graph at hand and the other endpoint answer."""
    with serving(OTHER) as honest, serving(manner=manner) as bad:
        result = search(shop, bad.url, honest.url)

    assert codes(result) == [Code.GRAPH_SEARCH_FAILED]
    assert bad.url in result.diagnostics[0].message
    assert result.endpoints == (honest.url,)
    assert {"urn:y:dunning"} < {match.node for match in result.matches}


def test_what_is_too_much_is_said_to_be_cut(shop: dict[str, ToolDocument]) -> None:
    """Evidence that does not fit is never left out in silence."""
    with serving(WIDE) as endpoint:
        result = search(shop, endpoint.url, local=False, rows=20)

    assert codes(result) == [Code.GRAPH_RESULTS_CUT]
    assert len(result.matches) == 10


def test_addresses_that_may_not_be_asked_are_not(shop: dict[str, ToolDocument]) -> None:
    """What is no address, or not on the list, is told; nobody hears of it."""
    with serving(OTHER) as endpoint:
        request = GraphSearchRequest(
            "invoice",
            is_federated=True,
            endpoints=(endpoint.url, "ftp://x.example/", "http://far.example/", "https://x/>"),
        )
        result = GraphSearcher(shop.values()).search(request)

        assert endpoint.asked == []
    assert codes(result) == [Code.GRAPH_ENDPOINT_BLOCKED, *[Code.GRAPH_ENDPOINT_INVALID] * 3]
    assert result.matches


def test_a_query_without_words_asks_nobody(shop: dict[str, ToolDocument]) -> None:
    """There is nothing to look for."""
    with serving(OTHER) as endpoint:
        searcher = GraphSearcher(shop.values(), allowed=[endpoint.url])
        request = GraphSearchRequest("?", is_federated=True, endpoints=(endpoint.url,))

        assert searcher.search(request).matches == ()
        assert endpoint.asked == []


def test_distances_are_of_the_graph_at_hand(shop: dict[str, ToolDocument]) -> None:
    """SPARQL knows none, so a federated search by distance is refused."""
    request = GraphSearchRequest("invoice", mode=Mode.TOKEN_DISTANCE, is_federated=True)
    with pytest.raises(UsageError, match="distances"):
        GraphSearcher(shop.values()).search(request)


def test_endpoints_are_asked_side_by_side(shop: dict[str, ToolDocument]) -> None:
    """What several threads ask at once does not disturb each other."""
    with serving(OTHER) as first, serving(OTHER) as second, serving(OTHER) as third:
        result = search(shop, first.url, second.url, third.url, local=False)

        assert result.endpoints == (first.url, second.url, third.url)
    assert codes(result) == []
    assert [match.node for match in result.matches] == ["urn:y:dunning"]
    assert {one.endpoint for one in result.matches[0].evidence} == set(result.endpoints)
