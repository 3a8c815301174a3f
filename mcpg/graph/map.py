"""The map of a catalog: its tools as a graph to search and to explore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from mcpg.documents.model import ToolDocument
from mcpg.graph.schema import GROUP, PAGE, SYMBOL, THING, TOOL, Network, build_network
from mcpg.graph.terms import broader_group, group_label
from mcpg.graph.triples import make_triples
from mcpg.show.blocks import Chart, CodeSpan, Column, Figure, Section, Table
from mcpg.show.html import asset, cut, drawing_library, facts, page
from mcpg.show.reports import zoom_buttons
from mcpg.text.markup import Markup, element, join_markup
from mcpg.values import format_count

_TEXT = 320
_ROWS = 500
_KINDS = {"related": "related", "nextSteps": "nextStep", "groups": "member"}
_NAMES = {"related": "related", "nextSteps": "next step", "groups": "group"}
_SCRIPTS = ("map_layout.js", "map_labels.js", "map_servers.js", "map_search.js", "map.js")
_HINT = (
    "Labels appear as you zoom in, the most connected tools first. Drag to move; Ctrl and the "
    "wheel, or two fingers, to zoom. With the keyboard: Tab into the map, arrow keys from node to "
    "node, Enter to select one, Escape to release it, + − 0 to zoom."
)


def graph_page(documents: Sequence[ToolDocument]) -> str:
    """Return the map of *documents*, no two with the same node, as HTML text."""
    network = build_network(make_triples(documents))
    sections = [
        Section("map", "Map", (Chart("joined", (map_markup(network),)),), _lead(documents)),
        *_edges_section(network),
    ]
    kinds = Counter(node.kind for node in network.nodes)
    numbers = {
        "Tools": kinds[TOOL],
        "Servers": len(_count_servers(network)),
        "Edges": sum(len(document.links) for document in documents),
        "Pages": kinds[PAGE],
        "Symbols": kinds[SYMBOL],
        "Groups": kinds[GROUP],
        "Things": kinds[THING],
    }
    head = element(
        "div",
        element("p", "The graph", class_="kicker"),
        element("h1", "Tools and what connects them"),
        facts([(name, f"{number:,}") for name, number in numbers.items() if number]),
        class_="head",
    )
    title = "The tools as a graph · mcpg graph"
    return page("graph", title, head, sections, data=map_data(network), scripts=_scripts(network))


def framed_map(documents: Sequence[ToolDocument]) -> str:
    """Return the map of *documents* as HTML text, to be shown within another page."""
    network = build_network(make_triples(documents))
    return page(
        "graph",
        "Map of the tools",
        map_markup(network),
        (),
        data=map_data(network),
        scripts=_scripts(network),
        is_framed=True,
    )


def _scripts(network: Network) -> list[str]:
    return [drawing_library(has_forces=True), *map(asset, _SCRIPTS)] if network.nodes else []


def _lead(documents: Sequence[ToolDocument]) -> str:
    """Return the lead of the page, with the number of edges that are not lines between tools."""
    ends = {document.uri for document in documents}
    links = [(one, link) for one in documents for link in one.links]
    from_pages = sum(one.is_page for one, _ in links)
    loops = sum(link.target == one.uri for one, link in links)
    outward = sum(link.target not in ends for _, link in links)
    notes = [
        (from_pages, "from a page"),
        (outward, "to a document that is not here"),
        (loops, "from a document to itself, which is not drawn"),
    ]
    counts = "; ".join(f"{format_count(count, 'edge')} {what}" for count, what in notes if count)
    lead = "Tools, and the related tools and next steps that edges lead to."
    return f"{lead} Among the edges: {counts}." if counts else lead


def _count_servers(network: Network) -> list[tuple[str, int]]:
    counts = Counter(unquote(node.source) for node in network.nodes if node.kind == TOOL)
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


# From so many tools on, groups may make clusters.
_MANY = 100
# How many tools a cluster has on average, or a group at least, to be one.
_SMALLEST = 3


@dataclass(frozen=True, slots=True)
class MapClusters:
    """Tools that are together on the map, in one color and under one name.

    Attributes:
        kind: Their common feature: "server" or `GROUP`.
        sizes: Name and number of tools of each, the largest first; tools of no group come last.
        of: The number of the cluster of each tool, by the number of its node.
    """

    kind: str
    sizes: tuple[tuple[str, int], ...]
    of: Mapping[int, int]


def build_clusters(network: Network) -> MapClusters:
    """Return the clusters of the tools of *network*, and of its source code by folder.

    A server is one, unless there is a single server for many tools, or one for nearly each. Then
    the groups that most tools share are.
    """
    found = _build_tool_clusters(network)
    folders = {
        place: node.source
        for place, node in enumerate(network.nodes)
        if node.kind in {PAGE, SYMBOL} and node.source
    }
    if not folders:
        return found
    counts = Counter(folders.values())
    names = sorted(counts, key=lambda name: (-counts[name], name))
    places = {name: len(found.sizes) + place for place, name in enumerate(names)}
    of = {**found.of, **{place: places[folder] for place, folder in folders.items()}}
    kind = found.kind if found.sizes else "folder"
    return MapClusters(kind, (*found.sizes, *((name, counts[name]) for name in names)), of)


def _build_tool_clusters(network: Network) -> MapClusters:
    tools = [place for place, node in enumerate(network.nodes) if node.kind == TOOL]
    servers = _count_servers(network)
    is_telling = 1 < len(servers) <= len(tools) / _SMALLEST
    grouped = {} if is_telling or len(tools) < _MANY else _choose_groups(network, len(tools))
    if 2 * len(grouped) < len(tools) or not grouped:
        places = {name: place for place, (name, _) in enumerate(servers)}
        by_server = {place: places[unquote(network.nodes[place].source)] for place in tools}
        return MapClusters("server", tuple(servers), by_server)
    counts = Counter(grouped.values())
    kept = (name for name in counts if counts[name] >= _SMALLEST)
    names = sorted(kept, key=lambda name: (-counts[name], name))
    places = {name: place for place, name in enumerate(names)}
    sizes = [(group_label(name), counts[name]) for name in names]
    rest = len(tools) - sum(size for _, size in sizes)
    sizes += [("other tools", rest)] if rest else []
    of = {place: places.get(grouped.get(place, ""), len(names)) for place in tools}
    return MapClusters(GROUP, tuple(sizes), of)


def _choose_groups(network: Network, tools: int) -> dict[int, str]:
    """Return the group of each tool: a category, or the largest group.

    Groups of few tools, of most tools, and of the tools of one source are ignored.
    """
    own = [
        (edge.source, network.nodes[edge.target].label)
        for edge in network.edges
        if edge.name == "groups" and network.nodes[edge.source].kind == TOOL
    ]
    counts = Counter(name for _, name in own)
    found: dict[int, tuple[bool, int, str]] = {}
    for place, name in own:
        if _SMALLEST <= counts[name] <= tools / _SMALLEST and broader_group(name) is None:
            rank = (name.startswith("category:"), counts[name], name)
            found[place] = max(found.get(place, rank), rank)
    return {place: name for place, (_, _, name) in found.items()}


def map_data(network: Network) -> dict[str, Any]:
    """Return *network* as the scripts read it: clusters, nodes and edges.

    Nodes name their cluster, and edges their ends, by number.
    """
    clusters = build_clusters(network)
    nodes = [
        {
            "kind": node.kind,
            "label": node.label,
            "title": cut(node.title, _TEXT),
            "text": cut(node.description, _TEXT),
            "cluster": clusters.of.get(place),
            "server": unquote(node.source) if node.kind == TOOL else None,
        }
        for place, node in enumerate(network.nodes)
    ]
    edges = [
        {
            "from": edge.source,
            "to": edge.target,
            "kind": _KINDS.get(edge.name, "other"),
            "name": _NAMES.get(edge.name, edge.name),
            "reason": edge.reason,
        }
        for edge in network.edges
    ]
    named = [{"name": name, "tools": tools} for name, tools in clusters.sizes]
    return {"kind": clusters.kind, "clusters": named, "nodes": nodes, "edges": edges}


def map_markup(network: Network) -> Markup:
    """Return the frame that the scripts fill: search, map, clusters, and the selection."""
    if not network.nodes:
        return element("p", "No tools to draw.")
    kinds = Counter(node.kind for node in network.nodes)
    drawing = element(
        "div",
        element("div", _choices(kinds), zoom_buttons("#graph-details"), class_="tools"),
        element("div", id="graph-canvas", class_="canvas", aria_busy="true"),
        element("p", element("span", id="map-count", role="status"), class_="hint"),
        element("p", _HINT, class_="hint no-print"),
        class_="drawing",
    )
    aside = element(
        "div",
        element(
            "section", id="graph-details", aria_live="polite", aria_label="Selected in the map"
        ),
        element(
            "section",
            element("h3", f"{build_clusters(network).kind.title()}s", id="map-servers-title"),
            element("div", id="map-servers"),
            _key(network, kinds),
            class_="servers",
            aria_labelledby="map-servers-title",
        ),
        class_="beside",
    )
    noscript = element("noscript", element("p", "The map needs JavaScript."))
    return join_markup(element("div", drawing, aside, class_="graph map"), noscript)


def _choices(kinds: Mapping[str, int]) -> Markup:
    reaches = [("all", "everything"), ("1", "one edge around"), ("2", "two edges around")]
    options = [element("option", name, value=value) for value, name in reaches]
    search = element(
        "div",
        element("label", "Find ", for_="map-search"),
        element(
            "input",
            type="search",
            id="map-search",
            autocomplete="off",
            spellcheck="false",
            placeholder="name or description",
        ),
        element("ul", id="map-found", class_="found", aria_label="Found", hidden=True),
        class_="finder",
    )
    groups = element("label", element("input", type="checkbox", id="map-groups"), " groups")
    return element(
        "div",
        search,
        element("label", "Show ", element("select", options, id="map-reach", autocomplete="off")),
        groups if kinds[GROUP] else None,
        class_="choices",
    )


def _key(network: Network, kinds: Mapping[str, int]) -> Markup:
    drawn = {_KINDS.get(edge.name, "other") for edge in network.edges}
    lines = {"related": "related", "nextStep": "next step", "other": "other"}
    items = [
        element("li", element("i", class_=f"stroke {kind}"), name)
        for kind, name in lines.items()
        if kind in drawn
    ]
    items += [
        element("li", element("i", class_=f"dot {kind}"), kind)
        for kind in (PAGE, GROUP, SYMBOL, THING)
        if kinds[kind]
    ]
    key = element("ul", items, class_="legend", aria_label="Lines and marks")
    return key if items else join_markup()


def _edges_section(network: Network) -> list[Section]:
    if not network.edges or len(network.edges) > _ROWS:
        return []
    rows = tuple(
        (
            CodeSpan(network.nodes[edge.source].label),
            _NAMES.get(edge.name, edge.name),
            CodeSpan(network.nodes[edge.target].label),
            Figure(edge.weight, ".3f"),
            CodeSpan(edge.reason),
        )
        for edge in network.edges
    )
    columns = (
        *(Column(head) for head in ("from", "edge", "to")),
        Column("weight", is_number=True),
        Column("reason"),
    )
    return [Section("edges", "Edges", (Table("Edges of the graph", columns, rows),))]
