"""What each stage of a search found, put together afterwards from what the search left behind.

A search that nobody explains runs none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.features import FEATURES, Candidate, named_exactly
from mcpg.engine.fusion import fuse
from mcpg.engine.hybrid_scoring import rank, words_of
from mcpg.engine.retrieval import POOL, clause_impacts
from mcpg.index.sections import IMPACT_SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcpg.engine.analysis import Clause
    from mcpg.engine.fusion import Fused
    from mcpg.engine.pipeline import Outcome
    from mcpg.engine.request import Request
    from mcpg.engine.results import SearchResult
    from mcpg.engine.searcher import Searcher
    from mcpg.engine.trace import Reading
    from mcpg.index import Index
    from mcpg.jsontypes import JsonObject, JsonValue


class Findings:
    """Tells what the stages of one search found, as JSON values."""

    def __init__(
        self,
        outcome: Outcome,
        result: SearchResult,
        reading: Reading,
        request: Request,
        searcher: Searcher,
    ) -> None:
        self._outcome = outcome
        self._result = result
        self._reading = reading
        self._index = searcher.index
        self._model = searcher.model
        self._limit = request.limit
        self._disabled = searcher.disabled(request)

    def of(self, stage: str) -> JsonObject:
        """Give what the stage called *stage* found; nothing for a stage that is not known."""
        tell = {
            "analyse": self._analysed,
            "retrieve": self._retrieved,
            "fuse": self._fused,
            "calibrate": self._calibrated,
            "expand": self._expanded,
            "embed": self._embedded,
            "compare": self._compared,
        }.get(stage)
        return tell() if tell else {}

    def _analysed(self) -> JsonObject:
        analysis = self._outcome.analysis
        reading = self._reading
        kept = {clause.text for clause in analysis.clauses}
        return {
            "normalized": reading.normalized,
            "tokens": list(reading.tokens),
            "language": analysis.language,
            "catalogueLanguage": reading.catalogue_language,
            "dropped": [word for word in analysis.words if word not in kept],
            "repaired": self._with(lambda clause: bool(clause.repairs) and not _is_exact(clause)),
            "unknown": self._with(lambda clause: clause.role == "unknown"),
            "literals": self._with(lambda clause: clause.role == "literal"),
            "identifiers": list(reading.identifiers),
            "sentences": [list(sentence) for sentence in reading.sentences],
            "intents": [
                [analysis.clauses[place].text for place in intent] for intent in analysis.intents
            ],
            "names": list(reading.names),
        }

    def _with(self, condition: Callable[[Clause], bool]) -> list[JsonValue]:
        return [clause.text for clause in self._outcome.analysis.clauses if condition(clause)]

    def _retrieved(self) -> JsonObject:
        outcome = self._outcome
        found = _found(outcome, self._index)
        exact = named_exactly(outcome.analysis, self._index)
        return {
            "lists": [row for clause in outcome.analysis.clauses for row in self._lists(clause)],
            "found": len(found - self._disabled),
            "disabled": len(found & self._disabled),
            "pool": len(outcome.sights),
            "bestLexical": _best_lexical(outcome),
            "exactNames": [
                self._index.tool_id(document) for document in sorted(exact - self._disabled)
            ],
        }

    def _lists(self, clause: Clause) -> Iterator[JsonObject]:
        """Tell of each list of postings that the clause was looked up in."""
        share = clause.weight / self._outcome.analysis.total_weight
        for repair in clause.repairs:
            impact = self._index.max_impact(repair.term) / IMPACT_SCALE
            yield {
                "query": clause.text,
                "matched": repair.word,
                "term": self._index.term(repair.term),
                "kind": repair.kind,
                "tools": self._index.document_frequency(repair.term),
                "most": share * impact * repair.similarity,
            }

    def _embedded(self) -> JsonObject:
        semantic = self._outcome.semantic
        if semantic is None:
            return {"failed": True}
        return {"provider": semantic.nearness.fingerprint, "text": semantic.text}

    def _compared(self) -> JsonObject:
        """Tell how near the tools are, and which are near enough to be related or next."""
        semantic = self._outcome.semantic
        if semantic is None:
            return {}
        near, name = semantic.nearness, self._index.tool_id
        window = semantic.window(self._limit)
        return {
            "meanCosine": near.mean,
            "deviation": near.deviation,
            "shareUnknown": near.foreign,
            "shift": near.shift,
            "window": [name(number) for number in window],
            "nearest": [
                {"tool": name(number), "cosine": cosine, "standardised": near.standardised(number)}
                for number, cosine in near.nearest[: max(POOL, len(window))]
            ],
        }

    def _fused(self) -> JsonObject:
        everything, features, weights = self._ranked()
        columns = zip(*(one.values for one in everything), strict=True)
        tools = [one.candidate.document for one in everything]
        rows = zip(features, weights, columns, strict=bool(everything))
        return {
            "candidates": len(everything),
            "channels": [
                self._channel(feature, weight, values, tools) for feature, weight, values in rows
            ],
        }

    def _ranked(self) -> tuple[list[Fused], tuple[str, ...], tuple[float, ...]]:
        """Give all that was looked at, by what was seen of it, and how that weighs."""
        semantic, sights = self._outcome.semantic, self._outcome.sights
        if semantic is None:
            weights = self._model.weights
            ends = self._outcome.ends
            return fuse(sights, weights, len(sights), ends), FEATURES, weights
        scheme = semantic.scheme
        words = words_of(self._outcome.analysis)
        ranked = rank(scheme, semantic.seen, semantic.nearness, words, len(sights))
        return ranked, scheme.features, scheme.weights

    def _channel(
        self, feature: str, weight: float, values: Sequence[float], tools: Sequence[int]
    ) -> JsonObject:
        """Tell of one feature in how many tools it is seen, and in which most."""
        best = max(values)
        found = len(values) - values.count(0.0)
        return {
            "feature": feature,
            "weight": weight,
            "tools": found,
            "best": best,
            "bestTool": self._index.tool_id(tools[values.index(best)]) if found else None,
        }

    def _calibrated(self) -> JsonObject:
        best = self._outcome.calibrations[0].score if self._outcome.calibrations else None
        return {
            "best": best,
            "lowConfidence": LOW_CONFIDENCE,
            "isLow": best is None or best < LOW_CONFIDENCE,
        }

    def _expanded(self) -> JsonObject:
        return expanded(self._result, self._index, self._disabled)


def expanded(result: SearchResult, index: Index, disabled: frozenset[int]) -> JsonObject:
    """Tell of the edges that leave the matches of *result*, and of what they reach."""
    shown = {index.find_tool(match.tool_id) for match in result.matches}
    targets = [target for one in shown for _, target, _, _ in index.edges(one)]
    related, next_steps = len(result.related_matches), len(result.next_step_matches)
    return {
        "edges": len(targets),
        "toMatches": sum(target in shown for target in targets),
        "toDisabled": len(frozenset(targets) & disabled - shown),
        "reached": related + next_steps,
        "related": related,
        "nextSteps": next_steps,
    }


def hidden(outcome: Outcome, index: Index, disabled: frozenset[int]) -> list[str]:
    """Name the *disabled* tools that answer more of the query than any that was looked at."""
    clauses = outcome.analysis.clauses
    scores: dict[int, float] = dict.fromkeys(_found(outcome, index) & disabled, 0.0)
    for clause in clauses:
        for document, impact in clause_impacts(clause, scores, index).items():
            scores[document] += clause.weight * impact
    least = _best_lexical(outcome) * outcome.analysis.total_weight
    better = [document for document, score in scores.items() if score > least]
    better.sort(key=lambda document: (-scores[document], document))
    return [index.tool_id(document) for document in better]


def _best_lexical(outcome: Outcome) -> float:
    return max((Candidate(*sight).lexical for sight in outcome.sights), default=0.0)


def _found(outcome: Outcome, index: Index) -> set[int]:
    """Return the documents in which any word of the query stands, disabled ones too."""
    found: set[int] = set()
    for clause in outcome.analysis.clauses:
        for term, _ in clause.variants:
            found.update(index.postings(term)[0])
    return found


def _is_exact(clause: Clause) -> bool:
    return clause.repairs[0].kind == "exact"
