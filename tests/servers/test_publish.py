"""Catalogs for others: entries that every version takes, and requests that find them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from servers_catalogs import ENTRY, SERVER

import mcpg
from mcpg.bundle import assemble
from mcpg.errors import McpgError
from mcpg.servers.publish import (
    Publisher,
    RequestError,
    answer_request,
    check_domain,
    make_entries,
    make_manifest,
    parse_request,
)
from mcpg.sources import read_sources
from mcpg.sources.listings import read_listing_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcpg.engine import Engine

URN = re.compile(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+")
OWNER = Publisher("acme.example", "https://tools.acme.example")


def tool(name: str, *examples: str, server: str = "Harbour desk", **members: Any) -> dict[str, Any]:
    """Return a tool of a manifest, with example requests."""
    hints = {"examples": [{"input": one} for one in examples], **members}
    about = f"{name.replace('_', ' ')} of the harbour"
    return {"name": name, "server": server, "description": about, "inputSchema": {}, "hints": hints}


TOOLS = [
    tool("tide_low", "when is low water", "lowest tide today", categories=["tides"]),
    tool("tide_high", "when is high water", categories=["tides"]),
    tool("berth_book", "book a berth", "reserve a mooring", "a berth for tonight"),
    tool("berth_cancel", "give my berth back", enabledByDefault=False),
    tool("rope_list", server="ropes"),
]


@pytest.fixture
def engine(save: Callable[[str, object], str]) -> Engine:
    """Tools of two servers, and what a catalog lists."""
    return mcpg.load([save("tools.json", TOOLS), save("ard.json", {"entries": [ENTRY]})])


def entries(engine: Engine, **how: Any) -> list[Any]:
    """Return the entries of the manifest of *engine*."""
    found: Any = make_manifest(engine.tools, OWNER, **how).manifest["entries"]
    return list(found)


def test_entries_are_valid_by_both_versions(engine: Engine) -> None:
    """0.91 requires entries alone; 0.9 a version, and two to five queries where there are any."""
    manifest = make_manifest(engine.tools, OWNER).manifest
    assert manifest["specVersion"] == "1.0"
    assert manifest.keys() == {"specVersion", "host", "entries"}
    for entry in entries(engine):
        assert URN.fullmatch(entry["identifier"])
        assert entry["displayName"]
        assert entry["type"] in {"application/mcp-server-card+json", "application/ai-registry+json"}
        assert ("url" in entry) != ("data" in entry)
        assert 2 <= len(entry.get("representativeQueries", [1, 2])) <= 5
    assert len({one["identifier"] for one in entries(engine)}) == 3


def test_an_entry_has_its_tools_and_examples_of_different_tools(engine: Engine) -> None:
    """Queries are examples of hints, of as many tools as possible; disabled tools have none."""
    harbour, ropes, registry = entries(engine)
    assert harbour["capabilities"] == ["berth_book", "tide_high", "tide_low"]
    assert harbour["representativeQueries"] == [
        *("book a berth", "when is high water", "when is low water"),
        *("reserve a mooring", "lowest tide today"),
    ]
    assert harbour["tags"] == ["tides"]
    assert harbour["data"]["remotes"][0]["url"] == "https://tools.acme.example/mcp"
    assert "representativeQueries" not in ropes
    assert registry["url"] == "https://tools.acme.example/"


def test_every_server_has_an_identifier_of_its_own(save: Callable[[str, object], str]) -> None:
    """Servers whose names differ in signs alone have different identifiers."""
    names = ("desk", "Desk", "desk!", "desk-2")
    engine = mcpg.load(
        [save("tools.json", [tool(f"t{n}", server=one) for n, one in enumerate(names)])]
    )
    assert len({one["identifier"] for one in entries(engine)}) == 5


def test_missing_queries_are_reported(engine: Engine) -> None:
    """An entry that others hardly find is a warning with its server, and no invented query."""
    (noticed,) = make_manifest(engine.tools, OWNER).diagnostics
    assert (noticed.code, noticed.severity, noticed.place) == (
        "queries_missing",
        "warning",
        "ropes",
    )


def test_generated_requests_count_when_asked_for(
    save: Callable[[str, object], str], tmp_path: Path
) -> None:
    """Requests that a language model wrote are published only with that option."""
    texts = {"rope_list": {"examples": ["which ropes are there", "show all ropes"]}}
    (tmp_path / "ropes.generated.hints.yaml").write_text(json.dumps({"tools": texts}), "utf-8")
    save("tools.json", TOOLS[-1:])
    engine = mcpg.load(tmp_path)
    assert "representativeQueries" not in entries(engine)[0]
    (ropes, _) = entries(engine, generated=True)
    assert ropes["representativeQueries"] == ["which ropes are there", "show all ropes"]


def test_a_catalog_comes_back_as_it_was_written(
    engine: Engine, save: Callable[[str, object], str]
) -> None:
    """What a manifest states of servers is read from it again."""
    written = make_manifest(engine.tools, OWNER).manifest
    pages = assemble(read_sources([save("written.json", written)])).pages
    read = [one for page in pages for one in read_listing_page(page.further, page.body)]
    shown = [
        {
            "identifier": one.identifier,
            "displayName": one.title,
            "description": one.description,
            "capabilities": list(one.capabilities),
            "representativeQueries": list(one.queries),
            "tags": list(one.tags),
            "remotes": list(one.remotes),
        }
        for one in read
    ]
    assert shown == [
        {name: entry.get(name, entry["data"].get(name, [])) for name in shown[0]}
        for entry in entries(engine)[:-1]
    ]


@pytest.mark.parametrize(
    "domain",
    ["", "acme", "acme..com", "-a.com", "a.com/x", "192.168.1.1", "é.com", "a" * 64 + ".com"],
)
def test_a_publisher_is_a_domain(domain: str) -> None:
    """Identifiers begin with a domain name, not with an address or a label."""
    with pytest.raises(McpgError, match="domain"):
        check_domain(domain)
    assert check_domain("Acme.Example.") == "acme.example"


def answer(engine: Engine, text: str, **more: Any) -> Any:
    """Return the answer to a search."""
    query = {"text": text, **({"filter": more.pop("filter")} if "filter" in more else {})}
    request = parse_request({"query": query, **more})
    return answer_request(engine, make_entries(engine.tools, OWNER), request, OWNER)


def test_servers_are_found_by_the_best_of_their_tools(engine: Engine) -> None:
    """A result is an entry with a score in percent; its tools stand in the order of the search."""
    found = answer(engine, "book a berth")["results"]
    assert found[0]["identifier"] == "urn:air:acme.example:server:harbour_desk"
    assert found[0]["capabilities"][0] == "berth_book"
    best = engine.search("book a berth").matches[0].score
    assert found[0]["score"] == round(100 * best)
    assert all(type(one["score"]) is int and 0 < one["score"] <= 100 for one in found)
    assert {one["source"] for one in found} == {"https://tools.acme.example/"}
    assert all("representativeQueries" not in one for one in found)


def test_listed_servers_are_found_beside_them(engine: Engine) -> None:
    """What a catalog lists is passed on with its own identifier and address."""
    (found, *_) = answer(engine, "plan rows of pear trees")["results"]
    assert (found["identifier"], found["url"]) == (ENTRY["identifier"], ENTRY["url"])


@pytest.mark.parametrize(
    ("terms", "count"),
    [
        ({"type": "application/mcp-server+json"}, 1),
        ({"type": ["x", "application/mcp-server-card+json"]}, 1),
        ({"type": "text/html"}, 0),
        ({"publisher": ["acme.example"]}, 1),
        ({"publisher": "other.example"}, 0),
        ({"publisher": ["acme.example", "\ud800"]}, 1),
        ({"tags": "tides", "capabilities": ["tide_low", "x"]}, 1),
        ({"tags": "tides", "capabilities": []}, 0),
        ({"data.remotes.type": "streamable-http"}, 1),
        ({"data.remotes.type.deeper": "x"}, 0),
    ],
)
def test_filters_choose_among_results(engine: Engine, terms: dict[str, Any], count: int) -> None:
    """Values of one term are alternatives, terms are conditions, and lists match by any item."""
    found = answer(engine, "when is low water", filter=terms)["results"]
    assert len([one for one in found if "harbour" in one["identifier"]]) == count


def test_an_identifier_may_be_no_urn(save: Callable[[str, object], str]) -> None:
    """A filter by publisher passes over what a catalog identifies in another way."""
    listed = {**ENTRY, "identifier": "pears"}
    engine = mcpg.load([save("tools.json", TOOLS), save("ard.json", {"entries": [listed]})])
    text = "plan rows of pear trees"
    assert answer(engine, text)["results"][0]["identifier"] == "pears"
    found = answer(engine, text, filter={"publisher": ["acme.example"]})["results"]
    assert "pears" not in {one["identifier"] for one in found}


def test_pages_follow_each_other(save: Callable[[str, object], str]) -> None:
    """Pages hold every result once, in order; a token is of one request."""
    tools = [tool(f"berth_{number}", server=f"quay{number}") for number in range(7)]
    engine = mcpg.load([save("tools.json", tools)])
    whole = answer(engine, "berth of the harbour", pageSize=100)
    assert "pageToken" not in whole
    found, token = [], None
    while True:
        page = answer(engine, "berth of the harbour", pageSize=3, pageToken=token)
        found += page["results"]
        token = page.get("pageToken")
        if token is None:
            break
        assert "pageToken" in answer(engine, "\ud800 berth of the harbour", pageSize=3)
        with pytest.raises(RequestError, match="pageToken"):
            answer(engine, "another request", pageToken=token)
    assert found == whole["results"]
    assert len(found) == 7


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"query": "berth"},
        {"query": {"text": ""}},
        {"query": {"text": 3}},
        {"query": {"text": "x" * 10_001}},
        {"query": {"text": "x", "filter": []}},
        {"query": {"text": "x", "filter": {"okf:taxonomy": "a"}}},
        {"query": {"text": "x", "filter": {"type": [3]}}},
        {"query": {"text": "x", "filter": {"type": ["a"] * 101}}},
        {"query": {"text": "x"}, "federation": "all"},
        {"query": {"text": "x"}, "pageSize": 0},
        {"query": {"text": "x"}, "pageSize": True},
        {"query": {"text": "x"}, "pageToken": 4},
        {"query": {"text": "x"}, "pageToken": "1.0000000000000000"},
    ],
)
def test_malformed_requests_are_refused(body: Any) -> None:
    """What a request may not be is an error that names the member."""
    with pytest.raises(RequestError, match="`"):
        parse_request(body)


def test_servers_of_a_registry_get_identifiers(save: Callable[[str, object], str]) -> None:
    """A server with the name of a registry is an entry of its owner's domain."""
    engine = mcpg.load([save("server.json", SERVER)])
    (found, *_) = answer(engine, "high and low water")["results"]
    assert found["identifier"] == "urn:air:acme.github.io:server:tide-tables"
    assert found["data"]["packages"][0]["identifier"] == "@acme/tide-tables"
