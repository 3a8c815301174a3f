"""rdflib's parser of queries; slow to import, and few queries need it."""

from __future__ import annotations

from typing import Any

from pyparsing.exceptions import ParseException
from rdflib import URIRef
from rdflib.plugins.sparql.algebra import translateQuery, traverse
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate

from mcpg.graph.terms import PREFIXES

_FAULTS = (ParseException, RecursionError, ValueError, TypeError)


def parse_services(query: str) -> dict[str, Any]:
    """Return the address of each `SERVICE`, as `endpoints`, or the `error` of the parser.

    The parser is slow on long texts and cannot be interrupted. So it runs in the process that is
    ended at the time limit.
    """
    found: list[Any] = []

    def visit(node: Any) -> None:
        if getattr(node, "name", None) == "ServiceGraphPattern":
            found.append(node.term)

    try:
        parsed = translateQuery(parseQuery(query), initNs=dict(PREFIXES))
        traverse(parsed.algebra, visitPre=visit)
    except _FAULTS as fault:
        return {"error": str(fault), "kind": "parsing"}
    return {"endpoints": [str(term) for term in found if isinstance(term, URIRef)]}


def is_update(query: str) -> bool:
    """Return whether *query* would change the graph."""
    try:
        return bool(parseUpdate(query).request)
    except _FAULTS:
        return False
