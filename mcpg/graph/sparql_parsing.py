"""What rdflib's parser finds in a query: its endpoints, and whether it is an update.

The parser is slow on long texts and cannot be interrupted. So it runs where queries are evaluated,
in the process that is ended at the time limit.
"""

from __future__ import annotations

from typing import Any

from pyparsing.exceptions import ParseException
from rdflib import URIRef
from rdflib.plugins.sparql.algebra import translateQuery, traverse
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate

from mcpg.graph.terms import PREFIXES

FAULTS = (ParseException, RecursionError, ValueError, TypeError)
"""What the parser raises when it does not understand a query."""


def endpoints_of(query: str) -> list[str]:
    """Return the address of each `SERVICE` of *query*, also where two are the same.

    Raises:
        FAULTS: The parser does not understand it.
    """
    found: list[Any] = []

    def visit(node: Any) -> None:
        if getattr(node, "name", None) == "ServiceGraphPattern":
            found.append(node.term)

    traverse(translateQuery(parseQuery(query), initNs=dict(PREFIXES)).algebra, visitPre=visit)
    return [str(term) for term in found if isinstance(term, URIRef)]


def is_update(query: str) -> bool:
    """Return whether *query* is a SPARQL update, by its parsed form."""
    try:
        return bool(parseUpdate(query).request)
    except FAULTS:
        return False
