"""The focused graph of a search: the query, what it matched, and what edges brought in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcpg.engine.results import PREREQUISITE
from mcpg.reports.blocks import CodeSpan, Column, Figure, Table
from mcpg.reports.page import cut, render_blocks
from mcpg.text.markup import Markup, element, join_markup

_QUERY = "query"
_LONGEST_NODE_TEXT = 320
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
_EDGES = {"related": "related", "nextStep": "next step", PREREQUISITE: "needs"}


def build_match_graph(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes and edges to draw for *data*, an object of the schema `mcpg/explain/1`.

    Nodes are numbered in the order in which they stand; edges name their ends by number.
    """
    matches = data["matches"]
    matched = {one["toolId"] for one in matches}
    needed = [one for one in data["prerequisites"] if one["toolId"] not in matched]
    reached = [*needed, *data["relatedMatches"], *data["nextStepMatches"]]
    places = {one["toolId"]: place for place, one in enumerate((*matches, *needed), start=1)}
    nodes: list[dict[str, Any]] = [
        {"kind": _QUERY, "label": cut(data["query"], _LONGEST_NODE_TEXT) or "every tool"}
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
        "text": cut(match["description"], _LONGEST_NODE_TEXT),
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
    return join_markup(
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
            render_blocks([_edges_table(graph)]),
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
            CodeSpan(nodes[edge["from"]]["label"]),
            _EDGES.get(edge["kind"], edge["kind"]),
            CodeSpan(nodes[edge["to"]]["label"]),
            Figure(nodes[edge["to"]]["score"]),
            Figure(edge["weight"], ".3f") if "weight" in edge else "–",
            CodeSpan(edge["reason"]),
        )
        for edge in graph["edges"]
    )
    columns = (
        *(Column(head) for head in ("from", "edge", "to")),
        *(Column(head, is_number=True) for head in ("score", "weight")),
        Column("reason"),
    )
    return Table("Edges of the focused graph", columns, rows)
