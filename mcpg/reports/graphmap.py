"""The report of `graph export --format html`: a catalogue as a map to walk through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.graph.network import network_of
from mcpg.graph.triples import triples_of
from mcpg.reports.assets import asset, drawing_library
from mcpg.reports.graph import zoom_buttons
from mcpg.reports.markup import Markup, element
from mcpg.reports.page import Section, page
from mcpg.reports.parts import bdi, cut, facts, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.documents.model import ToolDocument
    from mcpg.graph.network import Edge, Network

_TEXT = 320
_ROWS = 500
_KINDS = {"related": "related", "nextSteps": "nextStep", "groups": "member"}
_NAMES = {"related": "related", "nextSteps": "next step", "groups": "group"}
_HINT = (
    "Drag to move; Ctrl and the wheel, or two fingers, to zoom. With the keyboard: Tab into the "
    "map, arrow keys from node to node, Enter to choose one, + − 0 to zoom."
)


def graph_page(documents: Sequence[ToolDocument]) -> str:
    """Give the map of *documents* as HTML text.

    Args:
        documents: No two with the same node, see `mcpg.graph.distinct_documents`.
    """
    network = network_of(triples_of(documents))
    sections = [
        Section("map", "Map", _map(), "Tools, their groups, and what the edges between them say."),
        *_as_table(network),
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
        element("div", _key(), _choices(), zoom_buttons("#graph-details"), class_="tools"),
        element("ul", id="map-found", class_="found", aria_label="What was found"),
        element("div", id="graph-canvas", class_="canvas"),
        element(
            "p", element("span", id="map-count", aria_live="polite"), ". ", _HINT, class_="hint"
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


def _key() -> Markup:
    kinds = [(name, name) for name in ("tool", "page", "group", "thing")]
    items = [element("li", element("i", class_=f"dot {kind}"), name) for kind, name in kinds]
    return element("ul", items, class_="legend", aria_label="Kinds of nodes")


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


def _as_table(network: Network) -> list[Section]:
    """Give the edges as a table, where they are not too many to read."""
    if not network.edges or len(network.edges) > _ROWS:
        return []
    rows = [
        (
            bdi(network.nodes[edge.source].label),
            _name(edge),
            bdi(network.nodes[edge.target].label),
            f"{edge.weight:.3f}",
            bdi(edge.reason),
        )
        for edge in network.edges
    ]
    columns = ("From", "Edge", "To", "Weight", "Reason")
    content = table("Edges of the graph", columns, rows, numeric="---n-")
    return [Section("edges", "Edges", content)]
