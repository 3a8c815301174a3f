"""Catalogs of servers: which formats are read, and what is found in them."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from servers_catalogs import AGENT_CARD, ENTRY, OLD_SERVER, SERVER

import mcpg
from mcpg.bundle import assemble, build_bundle, encode_bundle
from mcpg.errors import McpgError
from mcpg.sources import read_sources
from mcpg.sources.listings import ListedServer, read_listing_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Save = "Callable[[str, object], str]"


def listed(*paths: str) -> list[ListedServer]:
    """Return the servers that a bundle of *paths* has."""
    pages = assemble(read_sources(paths)).pages
    return [one for page in pages for one in read_listing_page(page.further, page.body)]


def messages(path: str) -> str:
    """Return what reading *path* reports."""
    return " ".join(one.message for one in read_sources([path]).diagnostics)


EXPORT = {
    "servers": [
        {
            "server": SERVER,
            "_meta": {"io.modelcontextprotocol.registry/official": {"isLatest": True}},
        }
    ],
    "metadata": {"count": 1},
}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (SERVER, "io.github.acme/tide-tables"),
        (OLD_SERVER, "io.github.acme/tide-tables"),
        ([SERVER], "io.github.acme/tide-tables"),
        (EXPORT, "io.github.acme/tide-tables"),
        ({"servers": [OLD_SERVER]}, "io.github.acme/tide-tables"),
        ({"entries": [ENTRY]}, "urn:air:acme.example:server:orchard"),
        ({"specVersion": "1.0", "host": {}, "entries": [ENTRY]}, ENTRY["identifier"]),
        (AGENT_CARD, "Ferry desk"),
    ],
    ids=["2025-12-11", "2025-07-09", "list", "export", "old export", "ard", "ai-catalog", "agent"],
)
def test_every_format_is_read(save: Callable[[str, object], str], value: object, name: str) -> None:
    """What a file lists becomes servers of a bundle, and no tools."""
    path = save("catalog.json", value)
    assert [one.name for one in listed(path)] == [name]
    assert read_sources([path]).tools == ()


def test_old_names_of_members_become_present_ones(save: Callable[[str, object], str]) -> None:
    """Packages of 2025-07-09 are those of 2025-12-11 but for what only these state."""
    (old,) = listed(save("old.json", OLD_SERVER))
    (new,) = listed(save("new.json", SERVER))
    package = copy.deepcopy(new.packages[0])
    del package["transport"], package["environmentVariables"][0]["description"]
    assert old.packages[0] == package
    assert (old.version, old.description) == (new.version, new.description)


def test_variables_keep_the_names_that_their_author_gave(
    save: Callable[[str, object], str],
) -> None:
    """Of `variables` the names are data: `tenant_id` stays."""
    remote = {
        "type": "sse",
        "url": "https://{tenant_id}.acme.example",
        "variables": {"tenant_id": {}},
    }
    (server,) = listed(save("one.json", {"name": "a/b", "remotes": [remote]}))
    assert server.remotes == (remote,)


def test_the_latest_version_counts(save: Callable[[str, object], str]) -> None:
    """Of several versions of a server one is listed, and the others are reported."""
    versions = [{**SERVER, "version": one} for one in ("1.9.0", "1.10.0", "1.10.0-rc.1", "1.2.0")]
    path = save("all.json", versions)
    assert [one.version for one in listed(path)] == ["1.10.0"]
    assert "3 older versions" in messages(path)


def test_deleted_servers_are_left_out(save: Callable[[str, object], str]) -> None:
    """A registry keeps what was withdrawn; a search must not offer it."""
    meta = {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}
    path = save("all.json", {"servers": [{"server": SERVER, "_meta": meta}]})
    assert listed(path) == []
    assert "deleted" in messages(path)


def test_a_page_of_an_export_says_that_more_follows(save: Callable[[str, object], str]) -> None:
    """A cut export is reported, as a cut `tools/list` response is."""
    assert "more servers follow" in messages(
        save("x.json", {**EXPORT, "metadata": {"nextCursor": "x"}})
    )


def test_nested_catalogs_are_read_and_others_are_named(save: Callable[[str, object], str]) -> None:
    """A catalog within a catalog counts; one at an address is reported, and not fetched."""
    inner = {"type": "application/ai-catalog+json", "identifier": "urn:air:a.example:c"}
    nested = {**inner, "data": {"entries": [ENTRY]}}
    away = {**inner, "url": "http://169.254.169.254/latest"}
    path = save("ard.json", {"entries": [nested, away]})
    assert [one.title for one in listed(path)] == ["Orchard planner"]
    assert "not fetched: http://169.254.169.254/latest" in messages(path)


def test_nesting_has_an_end(save: Callable[[str, object], str]) -> None:
    """A catalog that nests itself twenty times is reported, and the first levels are read."""
    value: dict[str, Any] = {"entries": [ENTRY]}
    for _ in range(20):
        nested = {"type": "application/ai-catalog+json", "identifier": "urn:air:a.example:c"}
        value = {"entries": [ENTRY, {**nested, "data": value}]}
    path = save("ard.json", value)
    assert len(listed(path)) == 1
    assert "nested too deep" in messages(path)


def test_older_identifiers_and_types_are_read(save: Callable[[str, object], str]) -> None:
    """`urn:ai:` and earlier media types mean what the present ones mean."""
    entry = {**ENTRY, "identifier": "urn:ai:acme.example:x", "type": "application/mcp-server+json"}
    (server,) = listed(save("ai-catalog.json", {"entries": [entry]}))
    assert (server.name, server.type) == ("urn:air:acme.example:x", ENTRY["type"])


def test_a_card_within_an_entry_adds_to_it(save: Callable[[str, object], str]) -> None:
    """What a card states stands behind what its entry states."""
    data = {**AGENT_CARD, "description": "not this"}
    entry = {
        **{key: ENTRY[key] for key in ("identifier", "displayName")},
        "type": "application/a2a-agent-card+json",
        "description": "Ferries of the North Sea",
        "data": data,
    }
    (server,) = listed(save("ard.json", {"entries": [entry]}))
    assert server.description == "Ferries of the North Sea"
    assert server.capabilities == ("book_crossing",)
    assert server.queries == ("book the night ferry to Harwich",)


@pytest.mark.parametrize(
    "value",
    [
        {"name": "a/b", "packages": "none", "remotes": [None, 3, {"url": 5}], "version": []},
        {"servers": [{"server": {"name": "a/b"}}, {"server": {}}, {"server": {"name": 7}}]},
        {
            "entries": [
                ENTRY,
                4,
                None,
                {"identifier": 9, "type": []},
                {"identifier": "x", "data": 3},
            ]
        },
        {"name": "A", "skills": [None, {"examples": 4, "tags": {}}], "capabilities": 1},
        [SERVER, [], "x", 5],
        {"servers": [{"server": SERVER}, {"server": 3}, None, 5]},
    ],
)
def test_members_of_wrong_types_cost_nobody_else_a_server(
    save: Callable[[str, object], str], value: object
) -> None:
    """Damage in one entry is no error of the file."""
    for one in listed(save("odd.json", value)):
        assert one.name
        assert json.dumps(one.to_dict())


def test_texts_are_bounded_and_stay_on_their_lines(save: Callable[[str, object], str]) -> None:
    """Neither long texts nor control characters of a catalog reach a page."""
    odd = {**SERVER, "title": "a\n---\ntool: x\u2028\x1b[31m", "description": "word " * 100_000}
    (server,) = listed(save("odd.json", odd))
    assert server.title == "a --- tool: x [31m"
    assert len(server.description) <= 4_000


def test_lists_of_tools_and_clients_stay_what_they_are(save: Callable[[str, object], str]) -> None:
    """Members that catalogs have too make no catalog of a manifest or a client's configuration."""
    tool = {"name": "pack", "inputSchema": {"properties": {"packages": {"type": "array"}}}}
    assert [one.name for one in read_sources([save("a.json", [tool])]).tools] == ["pack"]
    entries = {"tools": [tool], "entries": [], "servers": {}}
    assert [one.name for one in read_sources([save("b.json", entries)]).tools] == ["pack"]
    with pytest.raises(McpgError, match="query servers"):
        read_sources([save("mcp.json", {"servers": {"a": {"command": "x"}}})])


def test_a_bundle_holds_servers_as_a_folder_does(
    save: Callable[[str, object], str], tmp_path: Any
) -> None:
    """Pages of servers are read from a bundle as they were written."""
    path = save("ard.json", {"entries": [ENTRY]})
    assembly = assemble(read_sources([path]))
    bundle = tmp_path / "graph.mdld"
    bundle.write_bytes(encode_bundle(build_bundle(assembly)))
    assert listed(str(bundle)) == listed(path)


def found(paths: Sequence[str], query: str, **asked: Any) -> list[str]:
    """Return the names of the servers that a search finds."""
    engine = mcpg.load(paths).kind_engine("server")
    assert engine is not None
    return [one.tool_name for one in engine.search(query, **asked).matches]


def test_servers_are_found_by_all_that_is_known(save: Callable[[str, object], str]) -> None:
    """Description, requests of the publisher, capabilities and packages find a server."""
    paths = [
        save("a.json", SERVER),
        save("b.json", {"entries": [ENTRY]}),
        save("c.json", AGENT_CARD),
    ]
    assert found(paths, "when is low water in the harbour")[0] == SERVER["name"]
    assert found(paths, "do these apple trees pollinate")[0] == ENTRY["identifier"]
    assert found(paths, "choose a rootstock")[0] == ENTRY["identifier"]
    assert found(paths, "reserve a cabin for the night")[0] == AGENT_CARD["name"]
    assert found(paths, "@acme/tide-tables")[0] == SERVER["name"]


def test_tools_rank_as_without_servers(save: Callable[[str, object], str]) -> None:
    """Servers have statistics of their own: the answers about tools are equal to the byte."""
    tools = save(
        "tools.json",
        [
            {"name": "low_water", "description": "Low water at a harbour", "inputSchema": {}},
            {"name": "moor", "description": "Moor a boat", "inputSchema": {}},
        ],
    )
    alone, beside = mcpg.load([tools]), mcpg.load([tools, save("a.json", SERVER)])
    for query in ("low water", "harbour", "moor", "tide tables", None):
        assert alone.search(query).to_dict() == beside.search(query).to_dict()


def test_deprecated_servers_are_offered_when_asked_for(save: Callable[[str, object], str]) -> None:
    """A deprecated server is found as a tool that is off is found."""
    paths = [save("a.json", {**SERVER, "status": "deprecated"})]
    assert found(paths, "tide tables") == []
    assert found(paths, "tide tables", include_disabled=True) == [SERVER["name"]]


def test_a_namesake_hides_no_server(save: Callable[[str, object], str]) -> None:
    """Two catalogs may list one name: both are found, and a name alone does not choose."""
    first = save("one.json", [SERVER])
    second = save("two.json", [{**SERVER, "description": "An impostor"}])
    servers = mcpg.load([first, second]).items("server")
    assert servers.find_named(f"two::{SERVER['name']}").description == "An impostor"
    with pytest.raises(McpgError, match="the name of 2 servers"):
        servers.find_named(SERVER["name"])
    with pytest.raises(McpgError, match="no server is called"):
        servers.find_named("io.github.acme/tide-table")
