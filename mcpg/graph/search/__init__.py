"""Schema-aware search of the graph: local and federated matches, expansion, fallback."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

from mcpg.documents.model import ToolDocument
from mcpg.errors import Code, Diagnostic, McpgError, UsageError, error, info, warning
from mcpg.graph.cache import DISTANCES, SEARCH, CachedGraph
from mcpg.graph.iris import BASE, node_iri, rebased_iri, source_iri
from mcpg.graph.search.local import Distances, LocalGraph
from mcpg.graph.search.model import (
    DEFAULT_PROFILE,
    NEXT,
    Evidence,
    GraphMatch,
    GraphSearchRequest,
    GraphSearchResult,
    Mode,
    Role,
    ScoreKind,
    SearchProfile,
    SourceContext,
)
from mcpg.graph.search.scoring import (
    NodeDisplay,
    Row,
    ScoredNode,
    SearchTerm,
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
from mcpg.graph.terms import Triple

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


@dataclass(frozen=True, slots=True)
class RemoteRows:
    """What an endpoint answered.

    Attributes:
        endpoint: Its address.
        rows: The text or IRI of each variable of each row.
        diagnostics: Why there is nothing, or not all.
        failed: Whether there is nothing because something went wrong.
    """

    endpoint: str
    rows: tuple[dict[str, str], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: bool = False


def filter_endpoints(
    endpoints: Iterable[str], allowed: Collection[str]
) -> tuple[list[str], list[Diagnostic]]:
    """Return those of *endpoints* that may be asked, each once, and diagnostics of the others."""
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
        message = f"{endpoint} could not be searched: {fault.message}"
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
    """Return the query that looks for what comes with *primaries*, and what it finds.

    Related nodes and next steps, each kind the best first, by the best score that an edge hands on;
    what is a match already is neither, nor is a node of which the graph says nothing. A node that
    both kinds of edges lead to is both.
    """
    if not primaries or not graph.profile.expansions:
        return "", []
    nodes = [match.node for match in primaries]
    best = _find_best_edges(graph, primaries)
    known = collect_displays(graph.describe_nodes({node for _, node in best}))
    best = {key: edge for key, edge in best.items() if key[1] in known}
    chosen = [*_choose_best(graph, best, Role.RELATED), *_choose_best(graph, best, Role.NEXT)]
    query = expansion_query(graph.profile, nodes)
    matches = []
    for role, node in chosen:
        display, edge = known[node], best[role, node]
        shown = display.label, display.description, display.types
        matches.append(GraphMatch(node, *shown, role, edge.score, ScoreKind.HANDED_ON, (edge,)))
    return query, matches


def _find_best_edges(
    graph: LocalGraph, primaries: Sequence[GraphMatch]
) -> dict[tuple[Role, str], Evidence]:
    matches = {match.node: match for match in primaries}
    kinds = {one.iri: one for one in graph.profile.expansions}
    found: dict[tuple[Role, str], Evidence] = {}
    for source, predicate, target in graph.edges(matches):
        if target in matches:
            continue
        kind, match = kinds[predicate], matches[source]
        role = Role.NEXT if kind.role == NEXT else Role.RELATED
        score = match.score * kind.weight
        edge = Evidence(
            predicate, match.label, "edge", score, related=source, related_label=match.label
        )
        known = found.get((role, target))
        if known is None or edge.score > known.score:
            found[role, target] = edge
    return found


def _choose_best(
    graph: LocalGraph, best: dict[tuple[Role, str], Evidence], role: Role
) -> list[tuple[Role, str]]:
    """Return the best in *role*, as many as the profile allows."""
    profile = graph.profile
    limit = profile.next_limit if role is Role.NEXT else profile.related_limit
    ranked = sorted((-edge.score, node) for (kind, node), edge in best.items() if kind is role)
    return [(role, node) for _, node in ranked[:limit]]


_LIMITS = Limits(seconds=10.0, rows=10_000)


@dataclass(frozen=True, slots=True)
class _RankedNodes:
    """Nodes, the best first, the query that looked for them, and diagnostics."""

    nodes: list[ScoredNode] = field(default_factory=list)
    sparql: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)


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
        """Load what a search needs of *documents*.

        Args:
            documents: The documents, of those with the same node the first counts; or their graph,
                whose cache keeps what a search by the default profile needs.
            profile: What is read, and how much it counts.
            allowed: Addresses of endpoints that requests may name.
            fallback: The search that stands in when the schema finds no tool.
            limits: What one question to one endpoint may take.
            base: What the IRIs of the graph begin with, see `mcpg.graph.iris`; `None` for `BASE`,
                or for the base of a graph.
        """
        graph = (
            documents
            if isinstance(documents, CachedGraph)
            else CachedGraph(lambda: documents, base=base)
        )
        self._base = graph.base or BASE
        # What another profile needs is not kept.
        self._recall = graph.recall if profile is DEFAULT_PROFILE else lambda _, work: work()
        facts = self._recall(SEARCH, partial(_tabulate_graph, graph, profile))
        self._local = LocalGraph(facts["graph"], profile)
        self._tools: dict[str, list[str]] = facts["tools"]
        """Id and source of each tool, by its node."""
        self._nodes = {tool: node for node, (tool, _) in self._tools.items()}
        self._profile, self._allowed = profile, frozenset(allowed)
        self._fallback, self._limits = fallback, limits

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
        searcher._local = LocalGraph.of(triples, profile)
        return searcher

    def search(self, request: GraphSearchRequest) -> GraphSearchResult:
        """Answer *request*; what goes wrong at an endpoint is a diagnostic.

        Raises:
            UsageError: The limit is less than 1, or a federated search is to use distances.
        """
        if request.limit < 1:
            raise UsageError("the limit is less than 1", remedy="use a limit of at least 1")
        if request.is_federated:
            return self._search_federated(request)
        if request.mode is Mode.TOKEN_DISTANCE:
            return self._answer(request, _RankedNodes(), self._find_nearest(request))
        return self._search_here(request)

    def _search_here(self, request: GraphSearchRequest) -> GraphSearchResult:
        """Search the graph at hand, and by the fallback where that finds no tool."""
        terms = parse_terms(request.query, self._local.language)
        sparql = self._query_here(terms)
        rows = self._local.rows(terms) if sparql else []
        nodes = score_nodes(rows, terms, self._local.profile, self._local.total) if rows else []
        found = _RankedNodes(nodes, sparql, self._complaints())
        primaries = self._primaries(found.nodes[: request.limit], ())
        has_tool = any(match.tool_id for match in primaries)
        if request.mode is Mode.HYBRID and not has_tool and self._fallback is not None:
            ranked = [
                ScoredNode(self._nodes[tool], score, ())
                for tool, score in self._fallback(request.query, request.limit)
                if tool in self._nodes
            ][: request.limit - len(primaries)]
            # What is found of no tool is more than nothing.
            if ranked or not primaries:
                message = (
                    "no predicate of the profile matched the query; the default ranking was used"
                )
                found.diagnostics.append(info(Code.GRAPH_SCHEMA_FALLBACK, message))
                primaries = (*primaries, *self._primaries(ranked, (), ScoreKind.RANKING))
                answer = self._answer(request, found, primaries)
                return replace(answer, used_schema_fallback=True)
        return self._answer(request, found, primaries)

    def _answer(
        self, request: GraphSearchRequest, found: _RankedNodes, primaries: tuple[GraphMatch, ...]
    ) -> GraphSearchResult:
        sparql, comers = expand_matches(self._local, primaries)
        matches = [self._map_to_tool(match) for match in comers]
        return GraphSearchResult(
            query=request.query,
            mode=request.mode,
            matches=primaries,
            related=tuple(match for match in matches if match.role is Role.RELATED),
            next_steps=tuple(match for match in matches if match.role is Role.NEXT),
            sparql=found.sparql,
            expansion_sparql=sparql,
            used_schema_search=bool(found.nodes),
            diagnostics=tuple(found.diagnostics),
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
        rows = [row for one in answers for row in _read_rows(one.rows, one.endpoint)]
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

    @cached_property
    def _distances(self) -> Distances:
        segments = self._local.segments()
        return Distances(segments, self._recall(DISTANCES, lambda: Distances.of(segments).facts()))

    def _query_here(self, terms: tuple[SearchTerm, ...]) -> str:
        """Return the query for *terms* that the local graph can answer, "" without any."""
        profile = self._local.profile
        is_read = bool(terms) and profile.highest_weight > 0
        return evidence_query(profile, build_pattern(terms)) if is_read else ""

    def _complaints(self) -> list[Diagnostic]:
        """Return what a profile of somebody's own reads that the graph does not have."""
        if self._profile is DEFAULT_PROFILE or not self._local.missing:
            return []
        names = ", ".join(self._local.missing)
        message = f"the graph has no {names}; they are ignored"
        return [warning(Code.GRAPH_SCHEMA_PROFILE_INVALID, message)]

    def _find_nearest(self, request: GraphSearchRequest) -> tuple[GraphMatch, ...]:
        near = self._distances.nearest(request.query, request.limit)
        nodes = [
            ScoredNode(
                one.segment.node,
                one.nearness,
                (Evidence(one.segment.predicate, one.segment.text, "distance", one.nearness),),
            )
            for one in near
        ]
        return self._primaries(nodes, (), ScoreKind.NEARNESS)

    def _primaries(
        self,
        nodes: Sequence[ScoredNode],
        answers: Sequence[RemoteRows],
        kind: ScoreKind = ScoreKind.COVERAGE,
    ) -> tuple[GraphMatch, ...]:
        """Return *nodes* as matches, described by the local graph or by remote *answers*."""
        related = {evidence.related for node in nodes for evidence in node.evidence}
        known = self._describe_nodes(
            [node.node for node in nodes] + sorted(related - {""}), answers
        )
        return tuple(self._match(node, known, kind) for node in nodes)

    def _describe_nodes(
        self, nodes: list[str], answers: Sequence[RemoteRows]
    ) -> dict[str, NodeDisplay]:
        if not nodes:
            return {}
        rows = self._local.describe_nodes(nodes)
        endpoints = [one.endpoint for one in answers if one.rows]
        query = description_query(nodes) if endpoints else ""
        for one in query_endpoints(endpoints, query, self._limits) if endpoints else ():
            rows += one.rows
        return collect_displays(rows)

    def _match(
        self, found: ScoredNode, known: Mapping[str, NodeDisplay], kind: ScoreKind
    ) -> GraphMatch:
        display = known.get(found.node, NodeDisplay(found.node))
        evidence = (
            replace(one, related_label=known[one.related].label) if one.related in known else one
            for one in found.evidence
        )
        shown = display.label, display.description, display.types
        match = GraphMatch(found.node, *shown, Role.PRIMARY, found.score, kind, tuple(evidence))
        return self._map_to_tool(match)

    def _map_to_tool(self, match: GraphMatch) -> GraphMatch:
        """Return which tool *match* is, and where what is said here of it comes from."""
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
    """Return what a search of *graph* needs, as a JSON object."""
    base = graph.base or BASE
    tools = {
        rebased_iri(node_iri(one.uri), base): [one.tool.id, one.tool.source_id]
        for one in graph.documents
        if not one.is_page
    }
    return {"graph": LocalGraph.of(graph.triples(), profile).facts(), "tools": tools}


def _read_rows(bindings: Iterable[Mapping[str, str]], endpoint: str) -> list[Row]:
    """Return what *bindings* say; what is no IRI where one should be is left out."""
    found = []
    for one in bindings:
        related = one.get("related", "")
        if is_iri(one.get("node", "")) and (not related or is_iri(related)):
            texts = one.get("predicate", ""), one.get("text", ""), one.get("via", "")
            found.append(Row(one["node"], *texts, related, "inbound" in one, endpoint))
    return found
