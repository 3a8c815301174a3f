"""Features: what is looked at in each document of the pool."""

from __future__ import annotations

from mcpg.engine.retrieval import clause_impacts
from mcpg.index.grams import Grams
from mcpg.index.rarity import inverse_document_frequency
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcpg.engine.analysis import Analysis
    from mcpg.index import Index

FEATURES = (
    "bm25f",
    "nameCoverage",
    "openingName",
    "grams",
    "source",
    "coverage",
    "sentence",
    "exactName",
)
"""The features of the fused score, in the order in which models list their weights."""

_GRAM_SCALE = 1 << 20


@value
class Candidate:
    """A document of the pool and what was seen in it.

    Attributes:
        document: Number of the document.
        lexical: Share of the query, weighed by rarity, that it answers, saturated; at least 0.
        impacts: For each clause, the credited impact of its best variant here, in [0, 1).
        name_coverage: Share of the tool's name, weighed by rarity, that the query holds, in [0, 1].
        opening: Share of the query that its opening words take when they are the tool's whole
            name, else 0; in [0, 1].
        grams: Cosine, up to a factor common to the pool, of the query's and the document's
            character 3-grams; at least 0.
        source: Greatest lexical score of any tool of its source in the pool.
        coverage: Share of the query, weighed by rarity, that it holds at all, in [0, 1].
        sentence: Greatest lexical score that a single sentence of the query gives it.
        exact: 1 when the query names the tool exactly, else 0.
    """

    document: int
    lexical: float
    impacts: tuple[float, ...]
    name_coverage: float
    opening: float
    grams: float
    source: float
    coverage: float
    sentence: float
    exact: float


def look_closely(pool: Mapping[int, float], analysis: Analysis, index: Index) -> list[Candidate]:
    """Look at each document of the *pool*, which maps documents to lexical scores."""
    looker = _Looker(pool, analysis, index)
    return [looker.candidate(document, lexical) for document, lexical in pool.items()]


class _Looker:
    """Looks at the documents of one pool."""

    def __init__(self, pool: Mapping[int, float], analysis: Analysis, index: Index) -> None:
        self._columns = [clause_impacts(clause, pool, index) for clause in analysis.clauses]
        self._shares = [clause.weight / analysis.total_weight for clause in analysis.clauses]
        self._credits = [
            share * clause.repairs[0].similarity
            if clause.repairs and clause.origin == "query"
            else 0.0
            for clause, share in zip(analysis.clauses, self._shares, strict=True)
        ]
        self._sentences = analysis.sentences
        self._names = NameMatcher(analysis, index)
        self._grams = GramMatcher(analysis, index)
        self._exact = named_exactly(analysis, index)
        self._sources = {document: index.source_of(document) for document in pool}
        self._best_of_source: dict[int, float] = {}
        for document, lexical in pool.items():
            best = self._best_of_source.get(self._sources[document], 0.0)
            self._best_of_source[self._sources[document]] = max(lexical, best)

    def candidate(self, document: int, lexical: float) -> Candidate:
        impacts = [column.get(document, 0.0) for column in self._columns]
        return Candidate(
            document,
            lexical,
            tuple(impacts),
            self._names.coverage(document),
            self._names.opening(document),
            self._grams.similarity(document),
            self._best_of_source[self._sources[document]],
            sum([credit for credit, impact in zip(self._credits, impacts, strict=True) if impact]),
            self._best_sentence(impacts) or lexical,
            float(document in self._exact),
        )

    def _best_sentence(self, impacts: Sequence[float]) -> float:
        """Give the greatest lexical score that one sentence gives; 0 when there is but one."""
        return max(
            (
                sum([self._shares[place] * impacts[place] for place in sentence])
                for sentence in self._sentences
            ),
            default=0.0,
        )


def named_exactly(analysis: Analysis, index: Index) -> frozenset[int]:
    """Give the documents whose id, name, title or alias the query spells out."""
    return frozenset(number for key in analysis.exact_keys for number in index.exact(key))


class NameMatcher:
    """Compares the names of tools with one query."""

    def __init__(self, analysis: Analysis, index: Index) -> None:
        self._index = index
        self._credits: dict[int, float] = {}
        asked = [clause for clause in analysis.clauses if clause.origin == "query"]
        for clause in asked:
            for term, credit in clause.variants:
                self._credits[term] = max(credit, self._credits.get(term, 0.0))
        self._words = [
            (clause.weight / analysis.total_weight, [term for term, _ in clause.variants])
            for clause in asked
            if clause.role == "term"
        ]

    def coverage(self, document: int) -> float:
        """Give the share of the name, weighed by rarity, that the query holds, in [0, 1]."""
        names = self._index.name_terms(document)
        if self._credits.keys().isdisjoint(names):
            return 0.0
        weights = {name: self._rarity(name) for name in names}
        held = sum(weight * self._credits.get(name, 0.0) for name, weight in weights.items())
        return held / sum(weights.values())

    def _rarity(self, term: int) -> float:
        return inverse_document_frequency(len(self._index), self._index.document_frequency(term))

    def opening(self, document: int) -> float:
        """Give the share of the query that its opening words take, in [0, 1].

        It is 0 unless they are the whole name, in any order: "commit my changes" opens with the
        name of `git_commit` of the source `git`.
        """
        names = self._index.name_terms(document)
        opening = self._words[: len(names)]
        spoken = {term for _, terms in opening for term in terms}
        if not len(names) or not spoken.issuperset(names):
            return 0.0
        return sum(share for share, _ in opening)


class GramMatcher:
    """Compares the character 3-grams of documents with those of one query."""

    def __init__(self, analysis: Analysis, index: Index) -> None:
        self._all = Grams(index)
        weights: dict[int, float] = {}
        for clause in analysis.clauses:
            word = clause.repairs[0].word if clause.repairs else clause.text
            for gram, rarity in self._all.of_word(word):
                weights[gram] = max(weights.get(gram, 0.0), clause.weight * rarity * rarity)
        # Whole numbers add up to the same sum in whatever order they come.
        self._weights = {gram: int(weight * _GRAM_SCALE) for gram, weight in weights.items()}
        self._grams = frozenset(self._weights)

    def similarity(self, document: int) -> float:
        """Give the cosine, up to a factor common to all documents; at least 0."""
        shared = self._grams.intersection(self._all.of_tool(document))
        if not shared:
            return 0.0
        return sum(map(self._weights.__getitem__, shared)) / self._all.norm(document)
