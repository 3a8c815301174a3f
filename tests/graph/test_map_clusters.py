"""Tools stand together on the map by what tells most of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from builders import make_tool

from mcpg.documents.model import ToolDocument
from mcpg.graph.map import map_data
from mcpg.graph.schema import build_network
from mcpg.graph.triples import make_triples


def data_of(servers: int, *, groups: tuple[str, ...], tools: int = 120) -> dict[str, Any]:
    """Return what the map draws of *tools* spread over *servers*, each in one of *groups*."""
    documents = [
        ToolDocument(
            make_tool(f"t{number}", id=f"t{number}", source_id=f"s{number % servers}"),
            f"{number}.md",
            f"urn:t:{number}",
            groups=(groups[number % len(groups)], "domain:all") if groups else (),
        )
        for number in range(tools)
    ]
    return map_data(build_network(make_triples(documents)))


GROUPS = ("category:orders", "category:orders", "domain:tax", "domain:fleet", "domain:dock")


def test_a_few_servers_are_the_clusters() -> None:
    """Each server has its tools, whatever groups there are."""
    data = data_of(4, groups=GROUPS)
    assert data["kind"] == "server"
    assert [(one["name"], one["tools"]) for one in data["clusters"]] == [
        (f"s{number}", 30) for number in range(4)
    ]


def test_groups_are_the_clusters_of_many_servers_and_of_one() -> None:
    """Where servers say nothing, tools stand with those of their group, largest first."""
    for servers in (1, 120):
        data = data_of(servers, groups=(*GROUPS[2:], *GROUPS[2:], *GROUPS))
        assert data["kind"] == "group"
        found = [(one["name"], one["tools"]) for one in data["clusters"]]
        assert found == [("fleet", 33), ("tax", 33), ("dock", 32), ("orders (category)", 22)]
        tools = [node for node in data["nodes"] if node["kind"] == "tool"]
        assert Counter(node["cluster"] for node in tools) == {0: 33, 1: 33, 2: 32, 3: 22}
        assert {node["server"] for node in tools} == {f"s{number}" for number in range(servers)}


def test_tools_of_small_groups_stand_together_at_the_end() -> None:
    """A group of fewer than three tools is no cluster."""
    groups = tuple(f"domain:g{number // 20 if number < 100 else number}" for number in range(120))
    found = data_of(120, groups=groups)["clusters"]
    assert [one["tools"] for one in found] == [20] * 6
    assert found[-1]["name"] == "other tools"


def test_servers_are_the_clusters_where_groups_are_few_or_tools_are() -> None:
    """Without groups, and on a small map, the server is what there is to tell."""
    assert data_of(120, groups=())["kind"] == "server"
    assert data_of(40, groups=GROUPS, tools=40)["kind"] == "server"
