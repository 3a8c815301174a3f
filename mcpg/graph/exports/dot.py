"""A network as DOT, the language of Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.graph.exports.texts import on_one_line
from mcpg.graph.network import GROUP, PAGE, THING, TOOL
from mcpg.graph.vocabulary import KB_MEMBER_OF, KB_NEXT_STEP, KB_RELATED_TO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.graph.network import Network

_SHAPES = {TOOL: "box", PAGE: "note", GROUP: "ellipse", THING: "hexagon"}
_STYLES = {KB_RELATED_TO: "solid", KB_NEXT_STEP: "bold", KB_MEMBER_OF: "dotted"}
# Graphviz refuses a text of more than 16,384 bytes.
_LONGEST = 1000


def dot(network: Network) -> Iterator[str]:
    """Write *network* as the lines of a directed graph in DOT."""
    yield "digraph tools {\n  rankdir=LR;\n"
    for place, node in enumerate(network.nodes):
        texts = f"label={_quoted(node.label)}, tooltip={_quoted(node.description or node.title)}"
        yield f"  n{place} [shape={_SHAPES[node.kind]}, {texts}];\n"
    for edge in network.edges:
        style = _STYLES.get(edge.predicate, "dashed")
        texts = f"label={_quoted(edge.name)}, tooltip={_quoted(edge.reason or edge.name)}"
        yield f"  n{edge.source} -> n{edge.target} [style={style}, {texts}];\n"
    yield "}\n"


def _quoted(text: str) -> str:
    # Graphviz reads HTML entities in texts, and escapes of its own after a backslash.
    safe = (
        on_one_line(text, _LONGEST).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    )
    return f'"{safe}"'
