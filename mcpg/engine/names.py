"""What a query says of a tool's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.engine.analysis import Analysis, Clause
    from mcpg.index import Index


@dataclass(frozen=True, slots=True)
class NameMatcher:
    """Compares the names of tools with one query.

    Attributes:
        index: Where the names stand.
        credits: Credit, in (0, 1], of each term that the query holds.
        words: The query's known words in order.
        total_weight: What a perfect match of the query would weigh.
    """

    index: Index
    credits: Mapping[str, float]
    words: tuple[Clause, ...]
    total_weight: float

    @classmethod
    def of(cls, analysis: Analysis, index: Index) -> NameMatcher:
        """Make the matcher of an analysed query."""
        asked = [clause for clause in analysis.clauses if clause.origin == "query"]
        held: dict[str, float] = {}
        for clause in asked:
            for term, credit in clause.variants:
                held[term] = max(credit, held.get(term, 0.0))
        words = tuple(clause for clause in asked if clause.role == "term")
        return cls(index, held, words, analysis.total_weight or 1.0)

    def coverage(self, document: int) -> float:
        """Give the share of the name, weighed by rarity, that the query holds, in [0, 1]."""
        names = self.index.name_terms[document]
        if self.credits.keys().isdisjoint(names):
            return 0.0
        weights = {name: self.index.term_weight(name) for name in names}
        held = sum(weight * self.credits.get(name, 0.0) for name, weight in weights.items())
        return held / sum(weights.values())

    def opening(self, document: int) -> float:
        """Give the share of the query that its opening words take, in [0, 1].

        It is 0 unless they are the whole name, in any order: "commit my changes" opens with the
        name of `git_commit` of the source `git`.
        """
        names = self.index.name_terms[document]
        opening = self.words[: len(names)]
        spoken = {term for clause in opening for term, _ in clause.variants}
        if not names or not spoken.issuperset(names):
            return 0.0
        return sum(clause.weight for clause in opening) / self.total_weight
