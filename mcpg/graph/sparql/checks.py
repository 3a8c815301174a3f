"""What is looked at before a query runs: its form, and whom else it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.errors import InputError, UsageError
from mcpg.graph.sparql.lexer import services_in, unescaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcpg.graph.sparql.lexer import Service
    from mcpg.graph.sparql.relay import Relay

LONGEST = 1024 * 1024
"""The most characters of a query."""


def checked(text: str) -> str:
    """Return the query *text* without escapes of characters.

    Raises:
        InputError: It is too long, or is not Unicode.
    """
    if len(text) > LONGEST:
        raise InputError(
            f"the query has more than {LONGEST:,} characters", remedy="ask in several queries"
        )
    query = unescaped(text)
    if any("\ud800" <= character <= "\udfff" for character in query):
        raise InputError("the query has half a character", remedy="write it as UTF-8")
    return query


def relayed(query: str, relay: Relay, parsed: Callable[[str], Sequence[str]]) -> str:
    """Return the *query* as it may run: other endpoints are asked by way of *relay*.

    Two readers of a query, one of which overlooks what the other obeys, are how such doors are
    broken open. So the endpoints in its text must be those of the parsed query.

    Args:
        query: The query, without escapes of characters.
        relay: Asks the endpoints.
        parsed: From a query to the endpoints that a parser finds in it.

    Raises:
        UsageError: It names an endpoint that may not be asked.
        InputError: It cannot be told whom it asks.
    """
    if "service" not in query.casefold():
        return query
    services = services_in(query)
    stated = [service.endpoint for service in services if service.endpoint is not None]
    if sorted(stated) != sorted(parsed(query)):
        raise InputError(
            "it cannot be told for sure which endpoints the query asks",
            remedy="write SERVICE <address> plainly, with the whole address",
        )
    return _readdressed(query, services, relay)


def _readdressed(query: str, services: list[Service], relay: Relay) -> str:
    for service in reversed(services):
        if service.endpoint is None:
            raise UsageError(
                f"SERVICE {service.term} does not say which endpoint is asked",
                remedy="write the endpoint's whole address between < and >",
            )
        address = relay.address_of(service.endpoint)
        query = f"{query[: service.start]}<{address}>{query[service.end :]}"
    return query
