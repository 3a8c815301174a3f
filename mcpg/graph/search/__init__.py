"""Schema-aware search of the graph: local and federated matches, expansion, fallback."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

from mcpg.documents.addresses import BASE
from mcpg.documents.model import ToolDocument
from mcpg.errors import Code, Diagnostic, McpgError, UsageError, error, info, warning
from mcpg.graph.cache import DISTANCES, SEARCH, CachedGraph
from mcpg.graph.search.local import Distances, LocalGraph, tabulate_nodes, tabulate_texts
from mcpg.graph.search.model import (
    DEFAULT_PROFILE,
    Evidence,
    GraphMatch,
    GraphSearchRequest,
    GraphSearchResult,
    Mode,
    Role,
    Row,
    ScoredNode,
    ScoreKind,
    SearchProfile,
    SearchTerm,
    SourceContext,
    at_endpoint,
    build_pattern,
    collect_displays,
    description_query,
    evidence_query,
    expansion_query,
    is_iri,
    parse_terms,
    score_nodes,
)
from mcpg.graph.sparql import EndpointInvalidError, Limits, SparqlEndpoint, check_endpoint
from mcpg.graph.terms import Triple, node_iri, rebased_iri, source_iri

Fallback = Callable[[str, int], Iterable[tuple[str, float]]]
"""From a query and a limit to ids of tools and their scores, the best first."""

__all__ = [
    "DEFAULT_PROFILE",
    "Evidence",
    "GraphMatch",
    "GraphSearchRequest",
    "GraphSearchResult",
    "GraphSearcher",
    "Mode",
    "Role",
    "SearchProfile",
    "SourceContext",
]


_AT_ONCE = 4


class RemoteRows(NamedTuple):
    """The answer of an endpoint: the text or IRI of each variable of each row.

    Diagnostics explain missing rows; *failed* means that something went wrong.
    """

    endpoint: str
    rows: tuple[dict[str, str], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: bool = False


def filter_endpoints(
    endpoints: Iterable[str], allowed: Collection[str]
) -> tuple[list[str], list[Diagnostic]]:
    """Return the allowed *endpoints*, each once, and diagnostics of the others."""
    kept: list[str] = []
    diagnostics: list[Diagnostic] = []
    for endpoint in dict.fromkeys(endpoints):
        try:
            check_endpoint(endpoint)
        except EndpointInvalidError as fault:
            diagnostics.append(error(Code.GRAPH_ENDPOINT_INVALID, fault.message))
            continue
        if not is_iri(endpoint):
            message = f"{endpoint!r} is not the address of an endpoint: write https://HOST/PATH"
            diagnostics.append(error(Code.GRAPH_ENDPOINT_INVALID, message))
        elif endpoint in allowed:
            kept.append(endpoint)
        else:
            message = f"the endpoint {endpoint!r} is not allowed and was skipped"
            diagnostics.append(error(Code.GRAPH_ENDPOINT_BLOCKED, message))
    return kept, diagnostics


def query_endpoints(endpoints: Iterable[str], query: str, limits: Limits) -> list[RemoteRows]:
    """Ask each of *endpoints* the SELECT *query*, and return their answers in this order."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(lambda endpoint: _remote_rows(endpoint, query, limits), endpoints))


def _remote_rows(endpoint: str, query: str, limits: Limits) -> RemoteRows:
    try:
        with SparqlEndpoint((), services=(endpoint,), limits=limits) as remote:
            answer = remote.query(at_endpoint(query, endpoint))
    except McpgError as fault:
        is_named = endpoint in fault.message
        message = fault.message if is_named else f"{endpoint}: {fault.message}"
        return RemoteRows(
            endpoint, diagnostics=(error(Code.GRAPH_SEARCH_FAILED, message),), failed=True
        )
    rows = tuple(
        {name: str(term["value"]) for name, term in row.items() if term["type"] != "triple"}
        for row in answer.rows
    )
    if not answer.cut:
        return RemoteRows(endpoint, rows)
    message = f"{endpoint} returned more results than are read: {answer.cut}"
    return RemoteRows(endpoint, rows, (warning(Code.GRAPH_RESULTS_CUT, message),))


def expand_matches(
    graph: LocalGraph, primaries: Sequence[GraphMatch]
) -> tuple[str, list[GraphMatch]]:
    """Return the query for the companions of *primaries*, and its matches.

    Related nodes and next steps, each kind the best first, by the best score that an edge hands on;
    present matches are left out, and so are nodes without statements. A node that both kinds of
    edges reach is both.
    """
    profile = graph.profile
    if not primaries or not profile.expansions:
        return "", []
    best = _find_best_edges(graph, primaries)
    known = collect_displays(graph.describe_nodes({node for _, node in best}))
    matches = []
    limits = {Role.RELATED: profile.related_limit, Role.NEXT: profile.next_limit}
    for role, limit in limits.items():
        edges = {node: edge for (kind, node), edge in best.items() if kind is role}
        ranked = sorted((-edge.score, node) for node, edge in edges.items() if node in known)
        for _, node in ranked[:limit]:
            edge, kind = edges[node], ScoreKind.HANDED_ON
            matches.append(GraphMatch(node, *known[node], role, edge.score, kind, (edge,)))
    return expansion_query(profile, [match.node for match in primaries]), matches


def _find_best_edges(
    graph: LocalGraph, primaries: Sequence[GraphMatch]
) -> dict[tuple[Role, str], Evidence]:
    matches = {match.node: match for match in primaries}
    kinds = {one.iri: one for one in graph.profile.expansions}
    found: dict[tuple[Role, str], Evidence] = {}
    for source, predicate, target in graph.edges(matches):
        if target in matches:
            continue
        kind, label = kinds[predicate], matches[source].label
        role = Role.NEXT if kind.role == Role.NEXT else Role.RELATED
        score = matches[source].score * kind.weight
        known = found.get((role, target))
        if known is None or score > known.score:
            found[role, target] = Evidence(
                predicate, label, "edge", score, related=source, related_label=label
            )
    return found


_LIMITS = Limits(seconds=10.0, rows=10_000)


class GraphSearcher:
    """Searches the graph of some documents, and endpoints that are allowed."""

    def __init__(
        self,
        documents: Iterable[ToolDocument] | CachedGraph,
        *,
        profile: SearchProfile = DEFAULT_PROFILE,
        allowed: Collection[str] = (),
        fallback: Fallback | None = None,
        limits: Limits = _LIMITS,
        base: str | None = None,
    ) -> None:
        """Load the parts of *documents* that a search needs.

        Of *documents* with the same node the first counts; the cache of their graph keeps the
        tables of a search by the default profile. *fallback* is the search to use if the schema
        finds no tool, *limits* are those of one query to one endpoint.
        """
        graph = (
            documents
            if isinstance(documents, CachedGraph)
            else CachedGraph(lambda: documents, base=base)
        )
        self._base = graph.base or BASE
        # Tables for another profile are not kept.
        self._recall = graph.recall if profile is DEFAULT_PROFILE else lambda _, work: work()
        facts = self._recall(SEARCH, partial(_tabulate_graph, graph, profile))
        self._local = LocalGraph(facts["graph"], profile)
        self._tools: dict[str, list[str]] = facts["tools"]
        """Id and source of each tool, by its node."""
        self._nodes = {tool: node for node, (tool, _) in self._tools.items()}
        self._profile, self._allowed = profile, frozenset(allowed)
        self._fallback, self._limits = fallback, limits
        self._distances: Distances | None = None

    @classmethod
    def over(
        cls,
        triples: Iterable[Triple],
        *,
        profile: SearchProfile = DEFAULT_PROFILE,
        allowed: Collection[str] = (),
        limits: Limits = _LIMITS,
    ) -> Self:
        """Search any graph, in which nothing is a tool."""
        searcher = cls((), profile=profile, allowed=allowed, limits=limits)
        searcher._local = LocalGraph(tabulate_nodes(triples, profile), profile)
        return searcher

    def search(self, request: GraphSearchRequest) -> GraphSearchResult:
        """Answer *request*; a failure of an endpoint is a diagnostic.

        An unknown mode, and a federated search by distances, are `UsageError`s.
        """
        if request.limit < 1:
            raise UsageError("the limit is less than 1", remedy="use a limit of at least 1")
        if request.mode not in [*Mode]:
            message = f"no mode is called {request.mode!r}"
            raise UsageError(message, remedy=f"use {', '.join(Mode)}")
        request = replace(request, mode=Mode(request.mode))
        if request.is_federated:
            return self._search_federated(request)
        if request.mode is Mode.TOKEN_DISTANCE:
            if self._distances is None:
                segments = self._local.segments()
                facts = self._recall(
                    DISTANCES, lambda: tabulate_texts([one.text for one in segments])
                )
                self._distances = Distances(segments, facts)
            nodes = [
                ScoredNode(one.node, near, (Evidence(one.predicate, one.text, "distance", near),))
                for one, near in self._distances.nearest(request.query, request.limit)
            ]
            return self._answer(request, self._primaries(nodes, kind=ScoreKind.NEARNESS))
        return self._search_here(request)

    def _search_here(self, request: GraphSearchRequest) -> GraphSearchResult:
        """Search the graph at hand, and by the fallback if that finds no tool."""
        terms = parse_terms(request.query, self._local.language)
        sparql = self._query_here(terms)
        rows = self._local.rows(terms) if sparql else []
        nodes = score_nodes(rows, terms, self._local.profile, self._local.total) if rows else []
        diagnostics = self._complaints()
        matches = self._primaries(nodes[: request.limit])
        is_toolless = not any(match.tool_id for match in matches)
        is_fallback = False
        if request.mode is Mode.HYBRID and is_toolless and self._fallback is not None:
            ranked = [
                ScoredNode(self._nodes[tool], score, ())
                for tool, score in self._fallback(request.query, request.limit)
                if tool in self._nodes
            ][: request.limit - len(matches)]
            # Matches without a tool are better than none.
            is_fallback = bool(ranked or not matches)
            matches = (*matches, *self._primaries(ranked, kind=ScoreKind.RANKING))
        if is_fallback:
            message = "no predicate of the profile matched the query; the default ranking was used"
            diagnostics.append(info(Code.GRAPH_SCHEMA_FALLBACK, message))
        return self._answer(
            request,
            matches,
            sparql=sparql,
            used_schema_search=bool(nodes),
            used_schema_fallback=is_fallback,
            diagnostics=tuple(diagnostics),
        )

    def _answer(
        self, request: GraphSearchRequest, primaries: tuple[GraphMatch, ...], **members: Any
    ) -> GraphSearchResult:
        sparql, comers = expand_matches(self._local, primaries)
        matches = [self._map_to_tool(match) for match in comers]
        return GraphSearchResult(
            query=request.query,
            mode=request.mode,
            matches=primaries,
            related=tuple(match for match in matches if match.role is Role.RELATED),
            next_steps=tuple(match for match in matches if match.role is Role.NEXT),
            expansion_sparql=sparql,
            **members,
        )

    def _search_federated(self, request: GraphSearchRequest) -> GraphSearchResult:
        if request.mode is Mode.TOKEN_DISTANCE:
            raise UsageError(
                "distances are only available for the local graph",
                remedy="use hybrid or schema-aware for federated searches",
            )
        kept, diagnostics = filter_endpoints(request.endpoints, self._allowed)
        terms = parse_terms(request.query, self._local.language)
        query = evidence_query(self._profile, build_pattern(terms)) if terms else ""
        answers = query_endpoints(kept, query, self._limits) if query else []
        rows = [
            Row(
                said["node"],
                said.get("predicate", ""),
                said.get("text", ""),
                said.get("via", ""),
                said.get("related", ""),
                "inbound" in said,
                one.endpoint,
            )
            for one in answers
            for said in one.rows
            # Texts in the place of an IRI are left out.
            if is_iri(said.get("node", "")) and (not said.get("related") or is_iri(said["related"]))
        ]
        queries = [at_endpoint(query, one.endpoint) for one in answers]
        total = 0
        if request.includes_local:
            diagnostics += self._complaints()
            here = self._query_here(terms)
            if here:
                queries.append(here)
                rows += self._local.rows(terms)
            total = self._local.total
        nodes = score_nodes(rows, terms, self._profile, total)[: request.limit]
        diagnostics += (diagnostic for one in answers for diagnostic in one.diagnostics)
        matches = self._primaries(nodes, answers)
        return GraphSearchResult(
            query=request.query,
            mode=request.mode,
            matches=matches,
            sparql="\n\n".join(queries),
            endpoints=tuple(one.endpoint for one in answers if not one.failed),
            is_federated=True,
            used_schema_search=bool(matches),
            diagnostics=tuple(diagnostics),
        )

    def _query_here(self, terms: tuple[SearchTerm, ...]) -> str:
        profile = self._local.profile
        is_read = bool(terms) and profile.highest_weight > 0
        return evidence_query(profile, build_pattern(terms)) if is_read else ""

    def _complaints(self) -> list[Diagnostic]:
        """Return the predicates of a custom profile that the graph does not have."""
        if self._profile is DEFAULT_PROFILE or not self._local.missing:
            return []
        names = ", ".join(self._local.missing)
        message = f"the graph has no {names}; they are ignored"
        return [warning(Code.GRAPH_SCHEMA_PROFILE_INVALID, message)]

    def _primaries(
        self,
        nodes: Sequence[ScoredNode],
        answers: Sequence[RemoteRows] = (),
        kind: ScoreKind = ScoreKind.COVERAGE,
    ) -> tuple[GraphMatch, ...]:
        if not nodes:
            return ()
        related = {one.related for node in nodes for one in node.evidence} - {""}
        wanted = [*(node.node for node in nodes), *sorted(related)]
        rows = self._local.describe_nodes(wanted)
        endpoints = [one.endpoint for one in answers if one.rows]
        if endpoints:
            for one in query_endpoints(endpoints, description_query(wanted), self._limits):
                rows += one.rows
        known = collect_displays(rows)
        matches = []
        for node in nodes:
            shown = known.get(node.node, (node.node, "", ()))
            evidence = tuple(
                replace(one, related_label=known[one.related][0]) if one.related in known else one
                for one in node.evidence
            )
            match = GraphMatch(node.node, *shown, Role.PRIMARY, node.score, kind, evidence)
            matches.append(self._map_to_tool(match))
        return tuple(matches)

    def _map_to_tool(self, match: GraphMatch) -> GraphMatch:
        # Another endpoint may call a tool as its document does.
        tool = self._tools.get(match.node) or self._tools.get(
            rebased_iri(node_iri(match.node), self._base)
        )
        if tool is None:
            return match
        tool_id, source_id = tool
        sources = (SourceContext(rebased_iri(source_iri(source_id), self._base), source_id),)
        evidence = (
            one if one.endpoint else replace(one, sources=sources) for one in match.evidence
        )
        return replace(match, tool_id=tool_id, evidence=tuple(evidence))


def _tabulate_graph(graph: CachedGraph, profile: SearchProfile) -> dict[str, Any]:
    base = graph.base or BASE
    tools = {
        rebased_iri(node_iri(one.uri), base): [one.tool.id, one.tool.source_id]
        for one in graph.documents
        if not one.is_page
    }
    return {"graph": tabulate_nodes(graph.triples(), profile), "tools": tools}
