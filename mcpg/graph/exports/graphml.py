"""A network as GraphML, for programs that analyse and lay out graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from mcpg.graph.exports.texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcpg.graph.network import Edge, Network, Node

_KEYS = {
    "node": {"iri": "string", "kind": "string", "label": "string", "title": "string"}
    | {"description": "string", "source": "string"},
    "edge": {"predicate": "string", "label": "string", "weight": "double", "reason": "string"}
    | {"origin": "string"},
}


def graphml(network: Network) -> Iterator[str]:
    """Write *network* as the pieces of a GraphML document, after its XML declaration."""
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for owner, keys in _KEYS.items():
        for name, kind in keys.items():
            yield (
                f'  <key id="{owner}-{name}" for="{owner}" attr.name="{name}"'
                f' attr.type="{kind}"/>\n'
            )
    yield '  <graph id="tools" edgedefault="directed">\n'
    for place, node in enumerate(network.nodes):
        yield f'    <node id="n{place}">{_data("node", _of_node(node))}</node>\n'
    for edge in network.edges:
        ends = f'source="n{edge.source}" target="n{edge.target}"'
        yield f"    <edge {ends}>{_data('edge', _of_edge(edge))}</edge>\n"
    yield "  </graph>\n</graphml>\n"


def _of_node(node: Node) -> Mapping[str, str]:
    return {name: getattr(node, name) for name in _KEYS["node"]}


def _of_edge(edge: Edge) -> Mapping[str, str]:
    return {
        "predicate": edge.predicate,
        "label": edge.name,
        "weight": repr(edge.weight),
        "reason": edge.reason,
        "origin": edge.origin,
    }


def _data(owner: str, values: Mapping[str, str]) -> str:
    return "".join(
        f'<data key="{owner}-{name}">{_written(text)}</data>'
        for name, text in values.items()
        if text
    )


def _written(text: str) -> str:
    return escape(shown(text))
