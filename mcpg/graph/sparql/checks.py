"""What is looked at before a query runs: its form, and whom else it asks."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from mcpg.errors import InputError, UsageError
from mcpg.graph.sparql.lexer import services_in, unescaped
from mcpg.graph.vocabulary import PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.graph.sparql.lexer import Service
    from mcpg.graph.sparql.relay import Relay

# The grammar of rdflib's parser is one for the whole process, and learns while it parses.
_PARSING = Lock()

LONGEST = 1024 * 1024
"""The most characters of a query."""


def checked(text: str, relay: Relay) -> str:
    """Give the query *text* as it may run: other endpoints are asked by way of *relay*.

    Raises:
        UsageError: It names an endpoint that may not be asked.
        InputError: It is too long, is not Unicode, or it cannot be told whom it asks.
    """
    if len(text) > LONGEST:
        raise InputError(
            f"the query has more than {LONGEST:,} characters", remedy="ask in several queries"
        )
    query = unescaped(text)
    if any("\ud800" <= character <= "\udfff" for character in query):
        raise InputError("the query has half a character", remedy="write it as UTF-8")
    if "service" not in query.casefold():
        return query
    services = services_in(query)
    _check_agreement(query, services)
    return _relayed(query, services, relay)


def is_update(query: str) -> bool:
    """Say whether *query* is a SPARQL update, by its parsed form."""
    from pyparsing.exceptions import ParseException  # noqa: PLC0415 - what rdflib's parser raises
    from rdflib.plugins.sparql.parser import parseUpdate  # noqa: PLC0415 - most queries are none

    try:
        with _PARSING:
            return bool(parseUpdate(unescaped(query)).request)
    except (ParseException, RecursionError, ValueError, TypeError):
        return False


def _relayed(query: str, services: list[Service], relay: Relay) -> str:
    for service in reversed(services):
        if service.endpoint is None:
            raise UsageError(
                f"SERVICE {service.term} does not say which endpoint is asked",
                remedy="write the endpoint's whole address between < and >",
            )
        address = relay.address_of(service.endpoint)
        query = f"{query[: service.start]}<{address}>{query[service.end :]}"
    return query


def _check_agreement(query: str, services: list[Service]) -> None:
    """Make sure that the parsed *query* asks the endpoints of *services* and no others.

    Two readers of a query, one of which overlooks what the other obeys, are how such doors are
    broken open.
    """
    told = [service.endpoint for service in services if service.endpoint is not None]
    if sorted(told) != sorted(_parsed_services(query)):
        raise InputError(
            "it cannot be told for sure which endpoints the query asks",
            remedy="write SERVICE <address> plainly, with the whole address",
        )


def _parsed_services(query: str) -> Iterator[str]:
    from pyparsing.exceptions import ParseException  # noqa: PLC0415 - what rdflib's parser raises
    from rdflib import URIRef  # noqa: PLC0415 - few queries ask elsewhere
    from rdflib.plugins.sparql.algebra import translateQuery, traverse  # noqa: PLC0415
    from rdflib.plugins.sparql.parser import parseQuery  # noqa: PLC0415

    found: list[Any] = []

    def visit(node: Any) -> None:
        if getattr(node, "name", None) == "ServiceGraphPattern":
            found.append(node.term)

    try:
        with _PARSING:
            algebra = translateQuery(parseQuery(query), initNs=dict(PREFIXES)).algebra
            traverse(algebra, visitPre=visit)
    except (ParseException, RecursionError, ValueError, TypeError) as fault:
        raise InputError(
            "a query that has the word SERVICE must be understood before it runs, and this one is"
            f" not: {str(fault)[:200]}",
            remedy="correct it, or do without that word",
        ) from fault
    return (str(term) for term in dict.fromkeys(found) if isinstance(term, URIRef))
