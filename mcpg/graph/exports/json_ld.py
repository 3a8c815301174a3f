"""Triples as compacted JSON-LD with its context, one node a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcpg.graph.context import context_text
from mcpg.graph.nodes import framed_documents, node_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.graph.nodes import Node
    from mcpg.graph.terms import Triple

OPENING = f'{context_text().rstrip().removesuffix("}").rstrip()},\n  "@graph": ['
"""How every document begins."""


def json_ld(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as the pieces of a JSON-LD document in which every node stands once."""
    return _document(node_objects(triples))


def framed_json_ld(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as a JSON-LD document of tools and pages, each of which holds its parts."""
    return _document(framed_documents(node_objects(triples)))


def _document(nodes: Iterable[Node]) -> Iterator[str]:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    yield OPENING
    comma = ""
    for node in nodes:
        yield f"{comma}\n    {encode(node)}"
        comma = ","
    yield "\n  ]\n}\n"
