"""The search of the graph: matches by the schema, what comes with them, and what stands in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from mcpg.diagnostics import Code, info, warning
from mcpg.errors import UsageError
from mcpg.graph.iris import node_iri, source_iri
from mcpg.graph.search.display import Display, displayed
from mcpg.graph.search.expansion import expanded
from mcpg.graph.search.federation import admitted, asked
from mcpg.graph.search.local import LocalGraph
from mcpg.graph.search.model import (
    Evidence,
    GraphMatch,
    GraphSearchRequest,
    GraphSearchResult,
    Mode,
    Role,
    ScoreKind,
    SourceContext,
)
from mcpg.graph.search.profile import DEFAULT_PROFILE
from mcpg.graph.search.queries import at_endpoint, description_query, evidence_query, is_iri
from mcpg.graph.search.scoring import Row, Scored, scored
from mcpg.graph.search.terms import pattern_of, terms_of
from mcpg.graph.sparql import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import pyoxigraph

    from mcpg.catalog.model import Tool
    from mcpg.diagnostics import Diagnostic
    from mcpg.documents.model import ToolDocument
    from mcpg.graph.search.federation import Told
    from mcpg.graph.search.profile import SearchProfile
    from mcpg.graph.search.terms import Term

    Fallback = Callable[[str, int], Iterable[tuple[str, float]]]
    """From a query and a limit to ids of tools and their scores, the best first."""

_LIMITS = Limits(seconds=10.0, rows=10_000)


@dataclass(frozen=True, slots=True)
class _Found:
    """Nodes, the best first, the query that looked for them, and what was noticed."""

    nodes: list[Scored] = field(default_factory=list)
    sparql: str = ""
    noticed: list[Diagnostic] = field(default_factory=list)


class GraphSearcher:
    """Searches the graph of some documents, and endpoints that are allowed."""

    def __init__(
        self,
        documents: Iterable[ToolDocument],
        *,
        profile: SearchProfile = DEFAULT_PROFILE,
        allowed: Collection[str] = (),
        fallback: Fallback | None = None,
        limits: Limits = _LIMITS,
    ) -> None:
        """Load what a search needs of *documents*.

        Args:
            documents: No two with the same node, see `mcpg.graph.triples.distinct_documents`.
            profile: What is read, and how much it counts.
            allowed: Addresses of endpoints that requests may name.
            fallback: The search that stands in when the schema finds no tool.
            limits: What one question to one endpoint may take.
        """
        documents = list(documents)
        tools = {node_iri(one.uri): one.tool for one in documents if not one.is_page}
        self._tools: dict[str, Tool] = tools
        self._nodes = {tool.id: node for node, tool in tools.items()}
        self._local = LocalGraph.of(documents, profile)
        self._profile, self._allowed = profile, frozenset(allowed)
        self._fallback, self._limits = fallback, limits

    @classmethod
    def over(
        cls,
        store: pyoxigraph.Store,
        *,
        profile: SearchProfile = DEFAULT_PROFILE,
        allowed: Collection[str] = (),
        limits: Limits = _LIMITS,
    ) -> Self:
        """Search any graph, in which nothing is a tool."""
        searcher = cls((), profile=profile, allowed=allowed, limits=limits)
        searcher._local = LocalGraph(store, profile)
        return searcher

    def search(self, request: GraphSearchRequest) -> GraphSearchResult:
        """Answer *request*; what goes wrong at an endpoint is a diagnostic.

        Raises:
            UsageError: The limit is less than 1, or a federated search is to use distances.
        """
        if request.limit < 1:
            raise UsageError("the limit is less than 1", remedy="ask for at least one match")
        if request.is_federated:
            return self._federated(request)
        if request.mode is Mode.TOKEN_DISTANCE:
            return self._answer(request, _Found(), self._nearest(request))
        found = self._found_here(request.query)
        primaries = self._primaries(found.nodes[: request.limit], ())
        has_tool = any(match.tool_id for match in primaries)
        if request.mode is Mode.HYBRID and not has_tool and self._fallback is not None:
            ranked = self._ranked(request, self._fallback)[: request.limit - len(primaries)]
            # What is found of no tool is more than nothing.
            if ranked or not primaries:
                return self._fallen_back(request, found, primaries, ranked)
        return self._answer(request, found, primaries)

    def _answer(
        self, request: GraphSearchRequest, found: _Found, primaries: tuple[GraphMatch, ...]
    ) -> GraphSearchResult:
        """Give *primaries* with what comes with them."""
        sparql, comers = expanded(self._local, primaries)
        matches = [self._mapped(match) for match in comers]
        return GraphSearchResult(
            query=request.query,
            mode=request.mode,
            matches=primaries,
            related=tuple(match for match in matches if match.role is Role.RELATED),
            next_steps=tuple(match for match in matches if match.role is Role.NEXT),
            sparql=found.sparql,
            expansion_sparql=sparql,
            used_schema_search=bool(found.nodes),
            diagnostics=tuple(found.noticed),
        )

    def _ranked(self, request: GraphSearchRequest, fallback: Fallback) -> list[Scored]:
        """Return the nodes of the tools that an ordinary search finds."""
        return [
            Scored(self._nodes[tool], score, ())
            for tool, score in fallback(request.query, request.limit)
            if tool in self._nodes
        ]

    def _fallen_back(
        self,
        request: GraphSearchRequest,
        found: _Found,
        others: tuple[GraphMatch, ...],
        ranked: list[Scored],
    ) -> GraphSearchResult:
        """Return the tools that were *ranked* after *others*, which the schema finds."""
        message = "no registered predicate of a tool has a word of the query; words were ranked"
        found.noticed.append(info(Code.GRAPH_SCHEMA_FALLBACK, message))
        primaries = (*others, *self._primaries(ranked, (), ScoreKind.RANKING))
        return replace(self._answer(request, found, primaries), used_schema_fallback=True)

    def _federated(self, request: GraphSearchRequest) -> GraphSearchResult:
        if request.mode is Mode.TOKEN_DISTANCE:
            raise UsageError(
                "distances are only known of the graph at hand",
                remedy="search federated with hybrid or schema-aware",
            )
        kept, noticed = admitted(request.endpoints, self._allowed)
        terms = terms_of(request.query, self._local.language)
        query = evidence_query(self._profile, pattern_of(terms)) if terms else ""
        told = asked(kept, query, self._limits) if query else []
        rows = [row for one in told for row in _rows(one.rows, one.endpoint)]
        queries = [at_endpoint(query, one.endpoint) for one in told]
        total = 0
        if request.includes_local:
            noticed += self._complaints()
            here = self._query_here(terms)
            queries += [here] if here else []
            rows += self._rows_here(here)
            total = self._local.total
        nodes = scored(rows, terms, self._profile, total)[: request.limit]
        noticed += (diagnostic for one in told for diagnostic in one.noticed)
        matches = self._primaries(nodes, told)
        return GraphSearchResult(
            query=request.query,
            mode=request.mode,
            matches=matches,
            sparql="\n\n".join(queries),
            endpoints=tuple(one.endpoint for one in told if not one.failed),
            is_federated=True,
            used_schema_search=bool(matches),
            diagnostics=tuple(noticed),
        )

    def _found_here(self, query: str) -> _Found:
        """Score the nodes of the graph at hand."""
        terms = terms_of(query, self._local.language)
        sparql = self._query_here(terms)
        rows = self._rows_here(sparql)
        nodes = scored(rows, terms, self._local.profile, self._local.total) if rows else []
        return _Found(nodes, sparql, self._complaints())

    def _query_here(self, terms: tuple[Term, ...]) -> str:
        """Give the query for *terms* that the graph at hand can answer, "" where there is none."""
        profile = self._local.profile
        is_read = bool(terms) and profile.highest_weight > 0
        return evidence_query(profile, pattern_of(terms)) if is_read else ""

    def _rows_here(self, sparql: str) -> list[Row]:
        return _rows(self._local.rows(sparql), "") if sparql else []

    def _complaints(self) -> list[Diagnostic]:
        """Say what a profile of somebody's own reads that the graph does not have."""
        if self._profile is DEFAULT_PROFILE or not self._local.missing:
            return []
        names = ", ".join(self._local.missing)
        message = f"the graph has no {names}; the search goes on without"
        return [warning(Code.GRAPH_SCHEMA_PROFILE_INVALID, message)]

    def _nearest(self, request: GraphSearchRequest) -> tuple[GraphMatch, ...]:
        near = self._local.distances.nearest(request.query, request.limit)
        nodes = [
            Scored(
                one.segment.node,
                one.nearness,
                (Evidence(one.segment.predicate, one.segment.text, "distance", one.nearness),),
            )
            for one in near
        ]
        return self._primaries(nodes, (), ScoreKind.NEARNESS)

    def _primaries(
        self,
        nodes: Sequence[Scored],
        told: Sequence[Told],
        kind: ScoreKind = ScoreKind.COVERAGE,
    ) -> tuple[GraphMatch, ...]:
        """Give *nodes* as matches, described by the graph at hand or by who has *told* of them."""
        related = {evidence.related for node in nodes for evidence in node.evidence}
        known = self._described([node.node for node in nodes] + sorted(related - {""}), told)
        return tuple(self._match(node, known, kind) for node in nodes)

    def _described(self, nodes: list[str], told: Sequence[Told]) -> dict[str, Display]:
        if not nodes:
            return {}
        query = description_query(nodes)
        rows = self._local.rows(query)
        endpoints = [one.endpoint for one in told if one.rows]
        for one in asked(endpoints, query, self._limits) if endpoints else ():
            rows += one.rows
        return displayed(rows)

    def _match(self, found: Scored, known: Mapping[str, Display], kind: ScoreKind) -> GraphMatch:
        display = known.get(found.node, Display(found.node))
        evidence = (
            replace(one, related_label=known[one.related].label) if one.related in known else one
            for one in found.evidence
        )
        match = GraphMatch(
            found.node,
            display.label,
            display.description,
            display.types,
            Role.PRIMARY,
            found.score,
            kind,
            tuple(evidence),
        )
        return self._mapped(match)

    def _mapped(self, match: GraphMatch) -> GraphMatch:
        """Say which tool *match* is, and where what is said here of it comes from."""
        tool = self._tools.get(match.node)
        if tool is None:
            return match
        sources = (SourceContext(source_iri(tool.source_id), tool.source_id),)
        evidence = (
            one if one.endpoint else replace(one, sources=sources) for one in match.evidence
        )
        return replace(match, tool_id=tool.id, evidence=tuple(evidence))


def _rows(bindings: Iterable[Mapping[str, str]], endpoint: str) -> list[Row]:
    """Give what *bindings* say; what is no IRI where one should be is left out."""
    found = []
    for one in bindings:
        related = one.get("related", "")
        if is_iri(one.get("node", "")) and (not related or is_iri(related)):
            row = Row(
                one["node"],
                one.get("predicate", ""),
                one.get("text", ""),
                one.get("via", ""),
                related,
                "inbound" in one,
                endpoint,
            )
            found.append(row)
    return found
