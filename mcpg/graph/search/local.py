"""The graph at hand, as a search asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pyoxigraph

from mcpg.graph.search.distance import Distances, Segment
from mcpg.graph.search.queries import DESCRIBED, counting_query, sampling_query
from mcpg.graph.store import oxigraph_store
from mcpg.graph.triples import triples_of
from mcpg.text import language_of, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.documents.model import ToolDocument
    from mcpg.graph.search.profile import SearchProfile

    Bindings = dict[str, str]


class LocalGraph:
    """Answers the queries that a search makes; they end, for they only look values up."""

    def __init__(self, store: pyoxigraph.Store, profile: SearchProfile) -> None:
        """Search *store* by those predicates of *profile* that it has."""
        missing = {iri for iri in profile.predicates if not _has(store, iri)}
        self.missing = tuple(iri for iri in profile.predicates if iri in missing)
        self.profile = profile.without(missing)
        self._store = store
        self._total: int | None = None
        self._distances: Distances | None = None
        texts = (row["text"] for row in self.rows(sampling_query(self.profile)))
        self.language = language_of(word for text in texts for word in split_words(text))

    @classmethod
    def of(cls, documents: Iterable[ToolDocument], profile: SearchProfile) -> Self:
        """Load what a search by *profile* needs of *documents*."""
        needed = {*profile.predicates, *DESCRIBED}
        triples = (triple for triple in triples_of(documents) if triple[1] in needed)
        return cls(oxigraph_store(triples), profile)

    def rows(self, query: str) -> list[Bindings]:
        """Answer the SELECT *query*: the texts and IRIs of each row, by variable."""
        found: Any = self._store.query(query)
        names = [variable.value for variable in found.variables]
        return [
            {name: one[name].value for name in names if hasattr(one[name], "value")}
            for one in found
        ]

    @property
    def total(self) -> int:
        """How many nodes can be found."""
        if self._total is None:
            self._total = int(self.rows(counting_query(self.profile))[0]["count"])
        return self._total

    @property
    def distances(self) -> Distances:
        """The values that the profile reads of nodes themselves."""
        if self._distances is None:
            self._distances = Distances(self._segments())
        return self._distances

    def _segments(self) -> list[Segment]:
        found = set()
        for kind in self.profile.types:
            node_type = pyoxigraph.NamedNode(kind)
            is_a = pyoxigraph.NamedNode(DESCRIBED[-1])
            for quad in self._store.quads_for_pattern(None, is_a, node_type):
                if isinstance(quad.subject, pyoxigraph.NamedNode):
                    found.add(quad.subject)
        return [
            Segment(node.value, text.iri, quad.object.value)
            for node in sorted(found, key=str)
            for text in self.profile.texts
            for quad in self._store.quads_for_pattern(node, pyoxigraph.NamedNode(text.iri), None)
            if isinstance(quad.object, pyoxigraph.Literal)
        ]


def _has(store: pyoxigraph.Store, iri: str) -> bool:
    try:
        predicate = pyoxigraph.NamedNode(iri)
    except ValueError:
        return False
    return next(iter(store.quads_for_pattern(None, predicate, None)), None) is not None
