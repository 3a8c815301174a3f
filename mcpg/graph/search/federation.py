"""Other endpoints, as a search asks them: those that are allowed, bounded, and side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, error, warning
from mcpg.errors import McpgError
from mcpg.graph.search.queries import at_endpoint, is_iri
from mcpg.graph.sparql import Door
from mcpg.graph.sparql.relay import EndpointInvalidError, check_endpoint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcpg.diagnostics import Diagnostic
    from mcpg.graph.sparql import Limits

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Told:
    """What an endpoint answered.

    Attributes:
        endpoint: Its address.
        rows: The text or IRI of each variable of each row.
        noticed: Why there is nothing, or not all.
        failed: Whether there is nothing because something went wrong.
    """

    endpoint: str
    rows: tuple[dict[str, str], ...] = ()
    noticed: tuple[Diagnostic, ...] = ()
    failed: bool = False


def admitted(
    endpoints: Iterable[str], allowed: Collection[str]
) -> tuple[list[str], list[Diagnostic]]:
    """Give those of *endpoints* that may be asked, each once, and say which may not."""
    kept: list[str] = []
    noticed: list[Diagnostic] = []
    for endpoint in dict.fromkeys(endpoints):
        try:
            check_endpoint(endpoint)
        except EndpointInvalidError as fault:
            noticed.append(error(Code.GRAPH_ENDPOINT_INVALID, fault.message))
            continue
        if not is_iri(endpoint):
            message = f"{endpoint!r} is no address of an endpoint that may be asked"
            noticed.append(error(Code.GRAPH_ENDPOINT_INVALID, message))
        elif endpoint in allowed:
            kept.append(endpoint)
        else:
            message = f"the endpoint {endpoint!r} is not allowed, so it is not asked"
            noticed.append(error(Code.GRAPH_ENDPOINT_BLOCKED, message))
    return kept, noticed


def asked(endpoints: Iterable[str], query: str, limits: Limits) -> list[Told]:
    """Ask each of *endpoints* the SELECT *query*, in whose order they are told."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(lambda endpoint: _told(endpoint, query, limits), endpoints))


def _told(endpoint: str, query: str, limits: Limits) -> Told:
    try:
        with Door((), services=(endpoint,), limits=limits) as door:
            answer = door.query(at_endpoint(query, endpoint))
    except McpgError as fault:
        message = f"{endpoint} gives nothing to search: {fault.message}"
        return Told(endpoint, noticed=(error(Code.GRAPH_SEARCH_FAILED, message),), failed=True)
    rows = tuple(
        {name: str(term["value"]) for name, term in row.items() if term["type"] != "triple"}
        for row in answer.rows
    )
    if not answer.cut:
        return Told(endpoint, rows)
    message = f"{endpoint} has more to say than is heard: {answer.cut}"
    return Told(endpoint, rows, (warning(Code.GRAPH_RESULTS_CUT, message),))
