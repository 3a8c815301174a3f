"""Infer relations: similarity, data flow, groups and next steps.

The tools of one server are related at a time, so that what is known of them is needed only for so
long.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from sys import intern

from mcpg.build_cache import NO_BUILD_CACHE, BuildCache
from mcpg.catalog.catalog import Catalog
from mcpg.catalog.model import Tool
from mcpg.relations.affinity import AffinityIndex, NeighbourFinder, ToolAffinities, build_affinity
from mcpg.relations.edges import (
    Edge,
    EdgeKind,
    EdgeOrigin,
    Relations,
    ToolRelations,
    compute_weight,
)
from mcpg.relations.next_steps import NextStepIndex, build_next_steps, saturate_evidence
from mcpg.relations.provides import Provision, build_field_index, quote_words
from mcpg.relations.vocabulary import PROSE, Vocabulary, build_vocabulary
from mcpg.relations.workflow import LEAST_NOTED, MOST_NEAREST, ServerSteps
from mcpg.text import fold


def _related_edges(
    index: AffinityIndex, position: int, near: ToolAffinities, count: int
) -> list[Edge]:
    """Make edges from the tool at *position* to the *count* closest of those *near* it.

    Between servers a shared word, verb or file is no job in common: both names must name the same.
    """
    close = {**near.home, **near.abroad}
    return [
        _make_related_edge(index, position, other, close[other])
        for other in index.strongest(close, count)
    ]


def _make_related_edge(index: AffinityIndex, position: int, other: int, affinity: float) -> Edge:
    reason = f"shares {quote_words(index.shared_words(position, other))}"
    if index.sources[position] == index.sources[other]:
        reason += ", from the same server"
    weight = compute_weight(EdgeKind.RELATED, EdgeOrigin.INFERRED, saturate_evidence(affinity))
    return Edge(EdgeKind.RELATED, index.ids[position], index.ids[other], weight, reason)


_DOMAINS_PER_TOOL = 4
_MOST_SLUGS = 4096
# A group id stands where a URI may stand, and a colon parts its members.
_NO_GROUP_CHARACTER = re.compile(r"[\s:/\\<>\"'{}|^`\x00-\x1f\x7f]+")


def name_groups(tool: Tool, position: int, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Name the groups of the tool at *position* of the vocabulary's tools.

    These are a `domain:` group for each of the four terms that tell most, the same within the
    tool's source, and a `category:` group for each category. A term that no other tool holds makes
    a group only where the tool has no other, and one of the description only where nothing else
    names the tool's subject.
    """
    terms, holders = vocabulary.terms[position], vocabulary.holders
    named = [term for term, weight in terms.items() if weight > PROSE]
    chosen = [term for term in named if holders[term] > 1] or named
    chosen = chosen or [term for term in terms if holders[term] > 1]
    domains = [vocabulary.words[term] for term in chosen[:_DOMAINS_PER_TOOL]]
    source = _slug(tool.source_id)
    categories = dict.fromkeys(map(_slug, tool.hints.categories))
    return (
        *[intern(f"domain:{domain}") for domain in domains],  # which many tools share
        *([f"source-domain:{source}:{domain}" for domain in domains] if source else ()),
        *[f"category:{category}" for category in categories if category],
    )


@lru_cache(_MOST_SLUGS)
def _slug(text: str) -> str:
    return _NO_GROUP_CHARACTER.sub("-", fold(text)).strip("-")


# So likely one of two tools of a server follows the other, that they belong beside each other; and
# those of which a tool without any edge is taken to belong beside the likeliest.
_LEAST_CHANCE_BESIDE = 0.6
_LEAST_SERVER = 5

EDGES_PER_TOOL = 5
"""The most related tools, and the most next steps, that are derived for a tool."""

STATED = "stated by the author"
"""The reason of an edge that an author wrote."""


@dataclass(frozen=True, slots=True)
class InferredRelations:
    """What is inferred about the tools of a catalogue.

    Attributes:
        relations: Their groups and edges.
        provisions: For each tool, in the order of the catalogue, what it provides to others.
    """

    relations: Relations
    provisions: Sequence[Sequence[Provision]]


def relate(catalog: Catalog, memo: BuildCache = NO_BUILD_CACHE) -> Relations:
    """Return the relations alone that `infer` finds."""
    return infer(catalog, memo).relations


def infer(catalog: Catalog, memo: BuildCache = NO_BUILD_CACHE) -> InferredRelations:
    """Find the groups of every tool of *catalog* and its edges to other tools.

    What an author stated comes first with weight 1 and is never left out; inferred edges, the
    strongest first and ties by tool id, fill the room up to five related tools and five next
    steps. The result does not depend on the order of the tools. The work grows linearly with their
    number.

    Args:
        catalog: The tools and what authors state about them.
        memo: What is known from an earlier run; what comes out is the same without it.
    """
    tools = catalog.tools
    affinity = build_affinity(tools, build_vocabulary(tools, memo))
    fields = build_field_index(tools)
    provisions = fields.provisions()
    following = build_next_steps(affinity, fields, provisions)
    stated = authored_edges(catalog)
    found: dict[int, ToolRelations] = {}
    touched: set[str] = set()
    reserves: dict[int, Edge] = {}
    for source, positions in affinity.homes.items():
        if len(positions) == 1 and following.is_alone(positions[0]):
            found[positions[0]] = alone = _alone(affinity, positions[0], stated)
            for edge in alone.next_steps:
                touched |= {edge.source, edge.target}
            continue
        server = _ServerRelations(affinity.home(source), following, stated, memo)
        found |= server.relations()
        touched |= server.touched
        reserves |= server.reserves()
    relations = {tool.id: found[position] for position, tool in enumerate(tools)}
    for position, edge in reserves.items():
        if edge.source not in touched:
            related = _with_stated(stated[edge.source, EdgeKind.RELATED], [edge])
            relations[edge.source] = replace(found[position], related=related)
    return InferredRelations(Relations(relations), provisions)


_Stated = Mapping[tuple[str, EdgeKind], Mapping[str, Edge]]


def _alone(index: AffinityIndex, position: int, stated: _Stated) -> ToolRelations:
    """Return the relations of a tool that nothing is inferred of, its groups excepted."""
    tool = index.tools[position]
    related, next_steps = stated[tool.id, EdgeKind.RELATED], stated[tool.id, EdgeKind.NEXT_STEP]
    groups = name_groups(tool, position, index.vocabulary)
    return ToolRelations(groups, tuple(related.values()), tuple(next_steps.values()))


class _ServerRelations:
    """Relates the tools of one server.

    Attributes:
        touched: The ids of the tools that an edge leaves or reaches.
    """

    def __init__(
        self, home: NeighbourFinder, following: NextStepIndex, stated: _Stated, memo: BuildCache
    ) -> None:
        self.touched: set[str] = set()
        self._home = home
        self._index = home.index
        self._positions = home.cohort.positions
        self._following = following
        self._stated = stated
        self._steps: ServerSteps | None = None
        if len(self._positions) > 1:
            tools = [self._index.tools[position] for position in self._positions]
            self._steps = ServerSteps(tools, self._positions, memo)
        # How likely one of two tools follows the other, where it is likely, and the likeliest.
        self._beside: defaultdict[int, dict[int, float]] = defaultdict(dict)
        self._likeliest: dict[int, tuple[float, str, float, int]] = {}

    def relations(self) -> dict[int, ToolRelations]:
        """Return the groups and edges of each tool, by position."""
        found = {position: self._of(position) for position in self._positions}
        return {position: self._fill_related(position, one) for position, one in found.items()}

    def _of(self, position: int) -> ToolRelations:
        """Return the relations of a tool, its related tools those alone that are close to it."""
        index, tool = self._index, self._index.tools[position]
        near = self._home.near(position)
        chances = self._chances(position, near)
        following = self._following.edges(position, near, chances, self._steps, EDGES_PER_TOOL)
        return ToolRelations(
            name_groups(tool, position, index.vocabulary),
            tuple(_related_edges(index, position, near, EDGES_PER_TOOL)),
            _with_stated(self._stated[tool.id, EdgeKind.NEXT_STEP], following),
        )

    def _chances(self, position: int, near: ToolAffinities) -> dict[int, float]:
        """Return how likely tools follow the one at *position*, where they belong beside it.

        In a server of very many tools only those that are *near* it are weighed.
        """
        steps = self._steps
        if steps is None:
            return {}
        nearest = self._index.strongest(near.home, MOST_NEAREST) if steps.is_large else ()
        chances = steps.chances(position, nearest, LEAST_NOTED)
        for at, chance in chances.items():
            self._note(position, at, chance)
            self._note(at, position, chance)
        return chances

    def _note(self, position: int, other: int, chance: float) -> None:
        ranked = (-round(chance, 9), self._index.ids[other], -chance, other)
        if position not in self._likeliest or ranked < self._likeliest[position]:
            self._likeliest[position] = ranked
        if chance >= _LEAST_CHANCE_BESIDE:
            beside = self._beside[position]
            beside[other] = max(chance, beside.get(other, 0.0))

    def _fill_related(self, position: int, relations: ToolRelations) -> ToolRelations:
        """Fill the room of the related tools by those that may well follow or precede."""
        ids, beside = self._index.ids, self._beside.get(position, {})
        known = {edge.target for edge in (*relations.related, *relations.next_steps)}
        likely = {at: chance for at, chance in beside.items() if ids[at] not in known}
        room = EDGES_PER_TOOL - len(relations.related)
        further = self._index.strongest(likely, room)
        edges = [
            *relations.related,
            *(self._edge_beside(position, at, likely[at]) for at in further),
        ]
        edges.sort(key=lambda edge: (-edge.weight, edge.target))
        if edges or relations.next_steps:
            self.touched.add(ids[position])
            self.touched.update(edge.target for edge in (*edges, *relations.next_steps))
        related = _with_stated(self._stated[ids[position], EdgeKind.RELATED], edges)
        is_known = related == relations.related
        return relations if is_known else replace(relations, related=related)

    def reserves(self) -> dict[int, Edge]:
        """Return edges for the tools that have none and that none reaches, by position.

        In a server of some size, each gets one to the tool that is likeliest to follow or precede.
        """
        if len(self._positions) < _LEAST_SERVER:
            return {}
        return {
            position: self._edge_beside(position, at, -chance)
            for position, (_, _, chance, at) in self._likeliest.items()
            if self._index.ids[position] not in self.touched
        }

    def _edge_beside(self, position: int, other: int, chance: float) -> Edge:
        """Make an edge between two tools of which one may well follow the other."""
        kind, origin, ids = EdgeKind.RELATED, EdgeOrigin.INFERRED, self._index.ids
        reason = self._steps.reason(position, other) if self._steps else ""
        weight = compute_weight(kind, origin, chance)
        return Edge(kind, ids[position], ids[other], weight, reason, origin)


def authored_edges(catalog: Catalog) -> Mapping[tuple[str, EdgeKind], dict[str, Edge]]:
    """Return the edges that authors asserted, by tool id and kind, then by target in their order.

    Every tool and kind has an entry; an edge to the tool itself or to no tool is left out.
    """
    ids = {tool.id for tool in catalog.tools}
    stated: defaultdict[tuple[str, EdgeKind], dict[str, Edge]] = defaultdict(dict)
    for assertion in catalog.assertions:
        source, target = assertion.source, assertion.target
        if source != target and {source, target} <= ids:
            kind = EdgeKind(assertion.kind)
            edge = Edge(kind, source, target, 1.0, STATED, EdgeOrigin.AUTHORED)
            stated[source, kind].setdefault(target, edge)
    return stated


def _with_stated(stated: Mapping[str, Edge], derived: Sequence[Edge]) -> tuple[Edge, ...]:
    """Put what was *stated* first, whole, and fill up with what was not stated."""
    further = [edge for edge in derived if edge.target not in stated]
    room = max(0, EDGES_PER_TOOL - len(stated))
    return (*stated.values(), *further[:room])
