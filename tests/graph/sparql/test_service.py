"""Other endpoints are asked only when they are on the list, and within bounds."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from sparqlserver import serving

from mcpg.errors import InputError, UsageError
from mcpg.graph.sparql import (
    EndpointBlockedError,
    EndpointInvalidError,
    FederationProxy,
    Limits,
    SparqlEndpoint,
    check_endpoint,
)

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument

FACTS = "<a:parcel> <a:weighs> 3 . <a:letter> <a:weighs> 1 ."
WEIGHTS = {"parcel": "3", "letter": "1"}


def _asking(url: str, *, silent: bool = False) -> str:
    word = "SERVICE SILENT" if silent else "SERVICE"
    return f"SELECT ?s ?w {{ {word} <{url}> {{ ?s <a:weighs> ?w }} }} ORDER BY ?w"


def test_an_allowed_endpoint_is_asked_and_joined(shop: dict[str, ToolDocument]) -> None:
    """What an endpoint on the list answers is joined with the graph of the tools."""
    with (
        serving(FACTS) as other,
        SparqlEndpoint(list(shop.values()), services=[other.url]) as endpoint,
    ):
        answer = endpoint.query(_asking(other.url))
        assert [row["s"]["value"] for row in answer.rows] == ["a:letter", "a:parcel"]
        joined = (
            f"SELECT (COUNT(*) AS ?n) {{ ?t a mcpg:Tool"
            f" SERVICE <{other.url}> {{ ?s <a:weighs> ?w }} }}"
        )
        assert endpoint.query(joined).rows[0]["n"]["value"] == "10"
        assert "weighs" in other.asked[0]


def test_an_endpoint_may_be_asked_twice_in_one_query(shop: dict[str, ToolDocument]) -> None:
    """Several SERVICE clauses may name the same endpoint."""
    with (
        serving(FACTS) as other,
        SparqlEndpoint(list(shop.values()), services=[other.url]) as endpoint,
    ):
        clauses = (f"SERVICE <{other.url}> {{ <a:{one}> <a:weighs> ?{one} }}" for one in WEIGHTS)
        (row,) = endpoint.query(f"SELECT * {{ {' '.join(clauses)} }}").rows

    assert {name: term["value"] for name, term in row.items()} == WEIGHTS
    assert len(other.asked) == 2


@pytest.mark.parametrize("silent", [False, True])
def test_an_endpoint_that_is_not_on_the_list_is_never_asked(
    shop: dict[str, ToolDocument], *, silent: bool
) -> None:
    """Whoever is not allowed is not asked, silently or not, escaped or not."""
    with serving(FACTS) as other, SparqlEndpoint(list(shop.values())) as endpoint:
        for query in (
            _asking(other.url, silent=silent),
            _asking(other.url, silent=silent).replace("SERVICE", "\\u0053ervice"),
        ):
            with pytest.raises(EndpointBlockedError, match="not allowed"):
                endpoint.query(query)
        assert other.asked == []


def test_an_endpoint_must_be_named_in_full(shop: dict[str, ToolDocument]) -> None:
    """Variables and prefixed names are refused: who would be asked is not known beforehand."""
    with (
        serving(FACTS) as other,
        SparqlEndpoint(list(shop.values()), services=[other.url]) as endpoint,
    ):
        hidden = f"SELECT * {{ BIND(<{other.url}> AS ?e) SERVICE ?e {{ ?s ?p ?o }} }}"
        with pytest.raises(UsageError, match="does not name its endpoint"):
            endpoint.query(hidden)
        prefix = f"PREFIX e: <{other.url.removesuffix('sparql')}>"
        with pytest.raises((UsageError, InputError)):
            endpoint.query(f"{prefix} SELECT * {{ SERVICE e:sparql {{ ?s ?p ?o }} }}")
        with pytest.raises(InputError, match="must parse"):
            endpoint.query(f"SELECT * {{ SERVICE <{other.url}> {{ ?s ?p ")
        assert other.asked == []


def test_the_word_in_a_text_is_only_a_word(endpoint: SparqlEndpoint) -> None:
    """A string that holds the word SERVICE is answered like any other."""
    answer = endpoint.query("SELECT ('SERVICE <http://127.0.0.1:9/>' AS ?s) {} # SERVICE")
    assert len(answer) == 1


@pytest.mark.parametrize(
    ("manner", "told"),
    [
        ("failing", "status 500"),
        ("redirecting", "status 307"),
        ("hanging", "did not respond within"),
        ("dripping", "did not respond within|timed out after"),
        ("flooding", "returned more than"),
        ("lying", "query failed"),
    ],
)
def test_an_endpoint_that_misbehaves_is_an_error_within_bounds(
    shop: dict[str, ToolDocument], manner: str, told: str
) -> None:
    """What an endpoint does wrong is told; with SILENT the query does without its answer."""
    limits = Limits(seconds=2.0, size=1024 * 1024)
    with (
        serving(FACTS, manner) as other,
        SparqlEndpoint(list(shop.values()), services=[other.url], limits=limits) as endpoint,
        pytest.raises(InputError, match=told),
    ):
        endpoint.query(_asking(other.url))


def test_silence_does_without_an_endpoint_that_fails(shop: dict[str, ToolDocument]) -> None:
    """SERVICE SILENT answers with what there is."""
    with (
        serving(FACTS, "failing") as other,
        SparqlEndpoint(list(shop.values()), services=[other.url]) as endpoint,
    ):
        assert len(endpoint.query(_asking(other.url, silent=True))) == 1
        assert endpoint.query("ASK {}").truth


def test_an_endpoint_that_is_not_there_is_told(shop: dict[str, ToolDocument]) -> None:
    """An address where nobody listens is an error that names it."""
    with serving() as gone:
        url = gone.url
    with (
        SparqlEndpoint(list(shop.values()), services=[url]) as endpoint,
        pytest.raises(InputError, match="cannot be reached"),
    ):
        endpoint.query(_asking(url))


@pytest.mark.parametrize(
    "address",
    [
        "http://far.example/sparql",
        "ftp://far.example/",
        "file:///etc/passwd",
        "//far.example/",
        "sparql",
        "",
        "https://",
        "https://far.example:port/",
        "http://[::1",
        "https://name:secret@far.example/",
    ],
)
def test_only_safe_or_local_addresses_can_be_allowed(address: str) -> None:
    """An endpoint is asked with https, or on this machine; its address holds no password."""
    with pytest.raises(EndpointInvalidError) as caught:
        FederationProxy([address], 1, 1)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["https://far.example/sparql", "http://localhost:1/", "http://[::1]:7/", "http://127.3.2.1/"],
)
def test_safe_and_local_addresses_are_taken_as_they_are(address: str) -> None:
    """What may be allowed is allowed as it is written."""
    assert check_endpoint(address) == address


def test_nobody_else_can_ask_through_the_relay() -> None:
    """Without the path that only the engine is told, the proxy asks nobody."""
    with serving(FACTS) as other:
        proxy = FederationProxy([other.url], 1, 1024)
        address = proxy.get_proxy_address(other.url)
        foreign = address.rsplit("/", 2)[0] + "/guess/0"
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(foreign, b"ASK {}")
        caught.value.close()
        proxy.close()
        assert caught.value.code == 404
        assert other.asked == []
