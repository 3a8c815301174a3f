"""A network as a Mermaid flowchart, for Markdown that is shown with its drawings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.graph.exports.texts import on_one_line
from mcpg.graph.network import GROUP, PAGE, THING, TOOL
from mcpg.graph.vocabulary import KB_MEMBER_OF, KB_NEXT_STEP, KB_RELATED_TO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.graph.network import Network

USUAL_EDGES, USUAL_TEXT = 500, 50_000
"""How many edges and characters Mermaid draws, unless its configuration says otherwise."""

_SHAPES = {TOOL: ("[", "]"), PAGE: ("[/", "/]"), GROUP: ("([", "])"), THING: ("{{", "}}")}
_ARROWS = {KB_RELATED_TO: "-->", KB_NEXT_STEP: "==>", KB_MEMBER_OF: "-.->"}
_LONGEST = 120
# Whatever is no letter, digit or harmless sign is written as the number of its character, and so is
# what would make a list or a heading of a label, or stress a part of it.
_SPECIAL = re.compile(r"[^\w .,:;/()=!?'-]|(?<!\w)-|\.(?= )|_(?=_)")


def mermaid(network: Network) -> Iterator[str]:
    """Write *network* as the lines of a Mermaid flowchart."""
    yield "flowchart LR\n"
    for place, node in enumerate(network.nodes):
        before, after = _SHAPES[node.kind]
        yield f'  n{place}{before}"{_label(node.label)}"{after}\n'
    for edge in network.edges:
        arrow = _ARROWS.get(edge.predicate, "-->")
        yield f'  n{edge.source} {arrow}|"{_label(edge.name)}"| n{edge.target}\n'


def _label(text: str) -> str:
    return (
        _SPECIAL.sub(lambda found: f"#{ord(found.group())};", on_one_line(text, _LONGEST)) or "#32;"
    )
