"""The meta-tools of the graph: its contents, searches of it, and exports of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import anyio
import anyio.to_thread

from mcpg.documents.model import ToolDocument
from mcpg.gateway.serve import ServingOptions
from mcpg.gateway.serve.answers import first_that_fits, line
from mcpg.gateway.serve.catalogue import Catalogue
from mcpg.gateway.serve.clients import ClientRequest
from mcpg.gateway.snapshots import Snapshot
from mcpg.graph import exports
from mcpg.graph.schema import (
    GraphSchema,
    build_network,
    build_schema,
    neighbourhood,
    select_subgraph,
)
from mcpg.graph.search import GraphSearcher, GraphSearchRequest, GraphSearchResult, Mode
from mcpg.graph.sparql import Limits
from mcpg.graph.triples import distinct_documents, make_triples
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import to_json

Arguments = dict[str, Any]

_LIMITS = Limits(seconds=10, rows=10_000)
_SHARES = (1, 0.5, 0.25, 0.1, 0)
_EVIDENCE = (6, 2, 0)
_MESSAGE = 240
_OUTER = ("schema", "diagnostics")
_TOO_LARGE = "the graph is too large to be given whole: name tools in `around`, with less `depth`"


@dataclass(eq=False, slots=True)
class GraphTools:
    """Handles calls of the meta-tools of the graph, one after another."""

    catalogue: Catalogue
    serving: ServingOptions
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    _searcher: tuple[Snapshot, GraphSearcher] | None = None

    async def describe(self, _: Arguments, __: ClientRequest) -> JsonObject:
        return await self._answer(lambda now: _schema_answers(build_schema(_find_documents(now))))

    async def search(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        endpoints = tuple(arguments.get("endpoints", ()))
        request = GraphSearchRequest(
            arguments["query"],
            int(arguments["limit"]),
            Mode(arguments["mode"]),
            bool(endpoints),
            True,
            endpoints,
        )
        uses_lexicon = self.serving.search.get("lexicon", True)

        def work(now: Snapshot) -> Iterator[JsonObject]:
            def rank(query: str, limit: int) -> Iterator[tuple[str, float]]:
                result = now.engine.search(query, limit=limit, lexicon=uses_lexicon)
                return ((match.tool_id, match.score) for match in result.matches)

            if self._searcher is None or self._searcher[0] is not now:
                allowed = self.serving.endpoints
                found = _find_documents(now)
                searcher = GraphSearcher(found, allowed=allowed, fallback=rank, limits=_LIMITS)
                self._searcher = now, searcher
            return _search_answers(self._searcher[1].search(request))

        return await self._answer(work)

    async def export(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        form = arguments["format"]
        around = arguments.get("around", [])
        depth = int(arguments["depth"])

        def work(now: Snapshot) -> Iterator[JsonObject]:
            documents = _find_documents(now)
            if around:
                named = {now.catalog.find_named(name).id for name in around}
                roots = {one.uri for one in documents if one.tool.id in named}
                documents = select_subgraph(documents, neighbourhood(documents, roots, depth))
            return _export_answers(documents, form)

        return await self._answer(work)

    async def _answer(self, work: Callable[[Snapshot], Iterator[JsonObject]]) -> JsonObject:
        """Return the first answer that fits among the answers of *work* on the latest snapshot."""
        known = await self.catalogue.latest()
        assert known.snapshot is not None  # noqa: S101 - the latest has one
        snapshot, room = known.snapshot, self.serving.answer_bytes
        return await anyio.to_thread.run_sync(
            lambda: first_that_fits(work(snapshot), room), limiter=self._limiter
        )


def _find_documents(snapshot: Snapshot) -> list[ToolDocument]:
    enabled = (one for one in snapshot.engine.documents.values() if one.tool.enabled)
    return distinct_documents((*enabled, *snapshot.engine.pages))[0]


def _schema_answers(found: GraphSchema) -> Iterator[JsonObject]:
    full = {key: value for key, value in found.to_dict().items() if key not in _OUTER}
    yield full
    kept = {key: value for key, value in full.items() if key != "search"}
    for share in _SHARES:
        cut, omitted = {**kept}, 0
        for key, value in kept.items():
            if isinstance(value, list):
                cut[key] = value[: int(len(value) * share)]
                omitted += len(value) - int(len(value) * share)
        how = f"ask in SPARQL, with the prefixes given here ({omitted:,} of the rarest left out)"
        yield cut | _truncation_note(omitted, how)


def _search_answers(found: GraphSearchResult) -> Iterator[JsonObject]:
    diagnostics: list[JsonValue] = [
        to_json(one, without={"place"}) | {"message": line(one.message, _MESSAGE)}
        for one in found.diagnostics
    ]
    end: JsonObject = {"endpoints": [*found.endpoints], "diagnostics": diagnostics}
    queries: JsonObject = {"sparql": found.sparql, "expansionSparql": found.expansion_sparql}
    lists = {"matches": found.matches, "related": found.related, "nextSteps": found.next_steps}
    total = sum(map(len, lists.values()))
    for share, evidence in product(_SHARES, _EVIDENCE):
        answer: JsonObject = {}
        shown = 0
        for key, matches in lists.items():
            kept = matches[: int(len(matches) * share)]
            shown += len(kept)
            answer[key] = [replace(one, evidence=one.evidence[:evidence]).to_dict() for one in kept]
        if shown == total and evidence == _EVIDENCE[0]:
            yield {**answer, **queries, **end}
        note = _truncation_note(total - shown, "ask for fewer, or in narrower words")
        yield {**answer, **end, **note}


def _export_answers(documents: Sequence[ToolDocument], form: str) -> Iterator[JsonObject]:
    edges = sum(len(document.links) for document in documents)
    tools = sum(not document.is_page for document in documents)
    counts: JsonObject = {"format": form, "tools": tools, "edges": edges}
    triples = make_triples(documents)
    if form in ("turtle", "json-ld"):
        parts = (exports.turtle if form == "turtle" else exports.json_ld)(triples)
    else:
        draw = exports.mermaid if form == "mermaid" else exports.dot
        parts = draw(build_network(triples))
    yield {**counts, "text": "".join(parts)}
    yield {**counts, **_truncation_note(len(documents), _TOO_LARGE)}


def _truncation_note(omitted: int, how: str) -> JsonObject:
    return {"truncated": {"omitted": omitted, "howToGetTheRest": how}}
