"""Observed calls among the sources of a bundle: the edges that they show, in the documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mcpg.bundle.links import joined_links
from mcpg.catalog.model import Tool
from mcpg.documents.model import Link, ToolDocument
from mcpg.errors import Code, Diagnostic, SourceError, error, info, warning
from mcpg.relations.edges import COVERAGE_FACTORS, Edge, EdgeOrigin, compute_weight
from mcpg.relations.learned import ToolNames, learned_edges
from mcpg.relations.observed import ObservedCalls, decode, merge, list_tool_names, rename_tools
from mcpg.sources.model import ObservedFile
from mcpg.values import format_count

_SHOWN = 3
_BOTH = "; "  # between what was observed and what was inferred


def observed_edges(
    files: Sequence[ObservedFile], tools: Iterable[Tool]
) -> tuple[Mapping[str, Sequence[Edge]] | None, list[Diagnostic]]:
    """Return the edges that observed calls show, by tool id, the strongest first.

    Several files are counted together. A file that is damaged is left out, with a diagnostic.

    Args:
        files: The files among the sources.
        tools: The tools of the catalogue; what was observed of others is left out.

    Returns:
        The edges, `None` where no file can be used, and diagnostics.
    """
    if not files:
        return None, []
    known = ToolNames(tools)
    parts: list[ObservedCalls] = []
    noticed: list[Diagnostic] = []
    for file in files:
        try:
            read = decode(file.text, file.place)
        except SourceError as fault:
            message = f"{fault.message}: it is left out"
            noticed.append(error(Code.OBSERVED_INVALID, message, fault.place))
            continue
        noticed += _report_unknown_tools(read, known, file.place)
        parts.append(rename_tools(read, known))
    if not parts:
        return None, noticed
    edges: defaultdict[str, list[Edge]] = defaultdict(list)
    for one in learned_edges(merge(parts)):
        edges[one.edge.source].append(one.edge)
    return edges, noticed


def _report_unknown_tools(
    observed: ObservedCalls, known: ToolNames, place: str
) -> list[Diagnostic]:
    names = list_tool_names(observed)
    unknown = sorted(name for name in names if known(name) is None)
    if not unknown:
        return []
    shown = ", ".join(repr(name[:80]) for name in unknown[:_SHOWN])
    more = ", ..." if len(unknown) > _SHOWN else ""
    message = f"{format_count(len(unknown), 'observed tool')} of no source: {shown}{more}"
    # Tools come and go; a file of which nothing is known is likely another's.
    report = warning if len(unknown) == len(names) else info
    return [report(Code.OBSERVED_TOOL_UNKNOWN, message, place)]


def with_observed(
    document: ToolDocument, edges: Iterable[Edge], addresses: Mapping[str, tuple[str, str]]
) -> ToolDocument:
    """Return *document* with what was observed of its tool, in place of what was before.

    What an author states stays as it is. Of an edge that is inferred as well, the greater weight
    and both reasons count.

    Args:
        document: The document, its links resolved.
        edges: What was observed of its tool, the strongest first.
        addresses: Path and URI of every tool, by id.
    """
    authored, others = [], {}
    for link in document.links:
        if link.origin is EdgeOrigin.AUTHORED:
            authored.append(link)
        elif (other := _not_observed(link)) is not None:
            others[link.kind, link.target] = other
    observed: list[Link] = []
    for edge in edges:
        uri = addresses[edge.target][1]
        link = Link(edge.kind, uri, edge.weight, edge.reason, EdgeOrigin.OBSERVED)
        observed.append(_confirm_link(others.pop((edge.kind, uri), None), link))
    links = joined_links([*authored, *observed], others.values())
    return document if links == document.links else replace(document, links=links)


def _not_observed(link: Link) -> Link | None:
    """Return what of *link* was not observed, `None` where all of it was.

    Documents hold one weight for both, so the other is known by its upper bound.
    """
    if link.origin is not EdgeOrigin.OBSERVED:
        return link
    reason = link.reason.partition(_BOTH)[2]
    if not reason:
        return None
    origin = EdgeOrigin.SCHEMA if link.fields else EdgeOrigin.INFERRED
    part = COVERAGE_FACTORS[link.coverage] if link.coverage else 1.0
    weight = min(link.weight, compute_weight(link.kind, origin, part))
    return replace(link, weight=weight, reason=reason, origin=origin)


def _confirm_link(inferred: Link | None, observed: Link) -> Link:
    if inferred is None:
        return observed
    reason = f"{observed.reason}{_BOTH}{inferred.reason}" if inferred.reason else observed.reason
    weight = max(inferred.weight, observed.weight)
    return replace(inferred, weight=weight, reason=reason, origin=EdgeOrigin.OBSERVED)
