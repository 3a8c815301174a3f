"""The focused graph of a search: the query, what it matched, and what edges brought in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcpg.documents.model import ToolDocument
from mcpg.engine.results import PREREQUISITE
from mcpg.graph.network import Edge, Network, network_of
from mcpg.graph.triples import triples_of
from mcpg.reports.blocks import Chart, Code, Column, Figure, Section, Table
from mcpg.reports.page import asset, cut, drawing_library, facts, page, rendered
from mcpg.text.markup import Markup, element, joined

_QUERY = "query"
_LONG = 320
_HINT = (
    "Drag to move; Ctrl and the wheel, or two fingers, to zoom. With the keyboard: Tab into the "
    "graph, arrow keys from node to node, Enter to hold one, + − 0 to zoom."
)
_REACHED = (
    ("primary", "match"),
    (PREREQUISITE, PREREQUISITE),
    ("related", "related"),
    ("nextStep", "next step"),
)
_NODES = tuple((name, name) for name in ("tool", "page", "group", "thing"))
_EDGES = {"related": "related", "nextStep": "next step", PREREQUISITE: "needs"}


def graph_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes and edges to draw for *data*, an object of the schema `mcpg/explain/1`.

    Nodes are numbered in the order in which they stand; edges name their ends by number.
    """
    matches = data["matches"]
    matched = {one["toolId"] for one in matches}
    needed = [one for one in data["prerequisites"] if one["toolId"] not in matched]
    reached = [*needed, *data["relatedMatches"], *data["nextStepMatches"]]
    places = {one["toolId"]: place for place, one in enumerate((*matches, *needed), start=1)}
    nodes: list[dict[str, Any]] = [
        {"kind": _QUERY, "label": cut(data["query"], _LONG) or "every tool"}
    ]
    nodes += [_node(one, "primary", rank) for rank, one in enumerate(matches, start=1)]
    nodes += [_node(one, one["via"]["edge"]) for one in reached]
    edges = [_match_edge(place, one) for place, one in enumerate(matches, start=1)]
    edges += [
        _edge(places[one["via"]["from"]], place, one["via"])
        for place, one in enumerate(reached, start=len(matches) + 1)
    ]
    return {"nodes": nodes, "edges": edges}


def _node(match: Mapping[str, Any], kind: str, rank: int | None = None) -> dict[str, Any]:
    return {
        "kind": kind,
        "label": match["toolId"],
        "title": match["displayName"],
        "text": cut(match["description"], _LONG),
        "source": match["sourceId"],
        "score": match["score"],
        "rank": rank,
    }


def _match_edge(place: int, match: Mapping[str, Any]) -> dict[str, Any]:
    terms = match["evidence"]["terms"]
    return {"from": 0, "to": place, "kind": "match", "reason": ", ".join(terms)}


def _edge(source: int, target: int, via: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "from": source,
        "to": target,
        "kind": via["edge"],
        "reason": via["reason"],
        "weight": via["weight"],
    }


def graph_section(graph: Mapping[str, Any]) -> Markup:
    """Return the frame in which the script draws *graph*, its keys, and the same as a table."""
    return joined(
        element(
            "div",
            element(
                "div",
                element("div", _key(_REACHED), zoom_buttons("#graph-table"), class_="tools"),
                element("div", id="graph-canvas", class_="canvas"),
                element("p", _HINT, class_="hint"),
                class_="drawing",
            ),
            element(
                "aside",
                id="graph-details",
                aria_live="polite",
                aria_label="What is chosen in the graph",
            ),
            class_="graph",
        ),
        element(
            "details",
            element("summary", "The same as a table"),
            rendered([_edges_table(graph)]),
            id="graph-table",
        ),
    )


def zoom_buttons(after: str) -> Markup:
    """Return the buttons of a drawing, and a link to what comes *after* it."""
    buttons = [
        ("graph-in", "+", "Zoom in"),
        ("graph-out", "−", "Zoom out"),
        ("graph-fit", "Fit", "Fit the whole graph"),
    ]
    return element(
        "div",
        element("a", "Skip the graph", class_="skip inner", href=after),
        [
            element("button", sign, type="button", id=identity, title=title, aria_label=title)
            for identity, sign, title in buttons
        ],
        class_="controls",
        role="group",
        aria_label="View of the graph",
    )


def _key(kinds: Iterable[tuple[str, str]]) -> Markup:
    items = [element("li", element("i", class_=f"dot {kind}"), name) for kind, name in kinds]
    return element("ul", items, class_="legend", aria_label="Kinds of nodes")


def _edges_table(graph: Mapping[str, Any]) -> Table:
    nodes = graph["nodes"]
    rows = tuple(
        (
            Code(nodes[edge["from"]]["label"]),
            _EDGES.get(edge["kind"], edge["kind"]),
            Code(nodes[edge["to"]]["label"]),
            Figure(nodes[edge["to"]]["score"]),
            Figure(edge["weight"], ".3f") if "weight" in edge else "–",
            Code(edge["reason"]),
        )
        for edge in graph["edges"]
    )
    return Table("Edges of the focused graph", (*_ENDS, _number("score"), *_WEIGHTS), rows)


def _number(head: str) -> Column:
    return Column(head, is_number=True)


_ENDS = (Column("from"), Column("edge"), Column("to"))
_WEIGHTS = (_number("weight"), Column("reason"))


# The report of `graph export --format html`: a catalogue as a map to walk through


_TEXT = 320
_ROWS = 500
_KINDS = {"related": "related", "nextSteps": "nextStep", "groups": "member"}
_NAMES = {"related": "related", "nextSteps": "next step", "groups": "group"}
_MAP_HINT = (
    "Drag to move; Ctrl and the wheel, or two fingers, to zoom. With the keyboard: Tab into the "
    "map, arrow keys from node to node, Enter to choose one, + − 0 to zoom."
)


def graph_page(documents: Sequence[ToolDocument]) -> str:
    """Return the map of *documents* as HTML text.

    Args:
        documents: No two with the same node, see `mcpg.graph.distinct_documents`.
    """
    network = network_of(triples_of(documents))
    lead = "Tools, their groups, and what the edges between them say."
    sections = [
        Section("map", "Map", (Chart("joined", (_map(),)),), lead),
        *_edges_section(network),
    ]
    return page(
        "graph",
        "The tools as a graph · mcpg graph",
        _head(network),
        sections,
        data=_drawn(network),
        scripts=[drawing_library(has_forces=True), asset("map.js")],
    )


def _head(network: Network) -> Markup:
    kinds = [node.kind for node in network.nodes]
    numbers = [("Tools", kinds.count("tool")), ("Pages", kinds.count("page"))]
    numbers += [("Groups", kinds.count("group"))]
    numbers += [("Things", kinds.count("thing")), ("Edges", len(network.edges))]
    return element(
        "div",
        element("p", "The graph", class_="kicker"),
        element("h1", "Tools and what connects them"),
        facts([(name, f"{number:,}") for name, number in numbers if number]),
        class_="head",
    )


def _drawn(network: Network) -> dict[str, Any]:
    nodes = [
        {
            "kind": node.kind,
            "label": node.label,
            "title": cut(node.title, _TEXT),
            "text": cut(node.description, _TEXT),
            "source": node.source,
        }
        for node in network.nodes
    ]
    edges = [
        {
            "from": edge.source,
            "to": edge.target,
            "kind": _KINDS.get(edge.name, "other"),
            "name": _name(edge),
            "reason": edge.reason,
        }
        for edge in network.edges
    ]
    return {"nodes": nodes, "edges": edges}


def _name(edge: Edge) -> str:
    return _NAMES.get(edge.name, edge.name)


def _map() -> Markup:
    drawing = element(
        "div",
        element("div", _key(_NODES), _choices(), zoom_buttons("#graph-details"), class_="tools"),
        element("ul", id="map-found", class_="found", aria_label="What was found"),
        element("div", id="graph-canvas", class_="canvas"),
        element(
            "p",
            element("span", id="map-count", aria_live="polite"),
            ". ",
            _MAP_HINT,
            class_="hint",
        ),
        class_="drawing",
    )
    aside = element(
        "aside",
        id="graph-details",
        aria_live="polite",
        aria_label="What is chosen in the map",
    )
    return element("div", drawing, aside, class_="graph")


def _choices() -> Markup:
    reaches = [("all", "all"), ("1", "one edge around"), ("2", "two edges around")]
    options = [element("option", name, value=value) for value, name in reaches]
    return element(
        "div",
        element(
            "label",
            "Find ",
            element(
                "input", type="search", id="map-search", autocomplete="off", spellcheck="false"
            ),
        ),
        element("label", "Show ", element("select", options, id="map-reach", autocomplete="off")),
        element("label", element("input", type="checkbox", id="map-groups"), " groups"),
        class_="choices",
    )


def _edges_section(network: Network) -> list[Section]:
    """Return the edges as a table, where they are not too many to read."""
    if not network.edges or len(network.edges) > _ROWS:
        return []
    rows = tuple(
        (
            Code(network.nodes[edge.source].label),
            _name(edge),
            Code(network.nodes[edge.target].label),
            Figure(edge.weight, ".3f"),
            Code(edge.reason),
        )
        for edge in network.edges
    )
    table = Table("Edges of the graph", (*_ENDS, *_WEIGHTS), rows)
    return [Section("edges", "Edges", (table,))]
