"""Explanation: the values of a search put together for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.engine.confidence import INPUTS
from mcpg.engine.features import FEATURES
from mcpg.engine.trace import (
    Contribution,
    ExpansionExplanation,
    Explanation,
    MatchExplanation,
    QueryWord,
    TermMatch,
)
from mcpg.index.occurrences import field_shares
from mcpg.index.places import impact_of

if TYPE_CHECKING:
    from mcpg.engine.analysis import Analysis, Clause
    from mcpg.engine.fusion import Fused
    from mcpg.engine.model import Model
    from mcpg.engine.pipeline import Outcome
    from mcpg.engine.results import SearchResult
    from mcpg.engine.trace import Trace
    from mcpg.index import Index

_STAGE_OF = {"bm25f": "retrieve"}


def explain(
    result: SearchResult, outcome: Outcome | None, trace: Trace, index: Index, model: Model
) -> Explanation:
    """Put together what *result* was made of; browsing has nothing to explain but itself."""
    expansions = tuple(
        ExpansionExplanation(match.tool_id, match.score, match.via)
        for match in (*result.related_matches, *result.next_step_matches)
        if match.via
    )
    return Explanation(
        result=result,
        normalized_query=None,
        words=_words(outcome.analysis) if outcome else (),
        language=outcome.analysis.language if outcome else None,
        stages=tuple(trace.stages),
        matches=_matches(result, outcome, index, model) if outcome else (),
        expansions=expansions,
    )


def _words(analysis: Analysis) -> tuple[QueryWord, ...]:
    """Say what became of each word, the query's in order before the context's."""
    asked = {clause.text: clause for clause in analysis.clauses if clause.origin == "query"}
    added = (clause for clause in analysis.clauses if clause.origin == "context")
    return (
        *(_word(word, asked.get(word), analysis.total_weight) for word in analysis.words),
        *(_word(clause.text, clause, analysis.total_weight) for clause in added),
    )


def _word(text: str, clause: Clause | None, total: float) -> QueryWord:
    if clause is None:
        return QueryWord(text, "function word")
    return QueryWord(
        text,
        clause.role,
        clause.origin,
        clause.weight / total,
        clause.document_frequency,
        clause.repairs,
    )


def _matches(
    result: SearchResult, outcome: Outcome, index: Index, model: Model
) -> tuple[MatchExplanation, ...]:
    rows = zip(result.matches, outcome.ranked, outcome.calibrations, strict=True)
    return tuple(
        MatchExplanation(
            tool_id=match.tool_id,
            rank=rank,
            score=match.score,
            fused_score=fused.score,
            contributions=_contributions(fused, model),
            terms=_terms(fused, outcome.analysis, index, model),
            calibration=dict(zip(INPUTS, calibration.inputs, strict=True)),
        )
        for rank, (match, fused, calibration) in enumerate(rows, start=1)
    )


def _contributions(fused: Fused, model: Model) -> tuple[Contribution, ...]:
    """Give the summands of the fused score, largest first."""
    parts = (
        Contribution(_STAGE_OF.get(name, "fuse"), name, one, weight, one * weight)
        for name, one, weight in zip(FEATURES, fused.values, model.weights, strict=True)
    )
    return tuple(sorted(parts, key=lambda part: -part.contribution))


def _terms(fused: Fused, analysis: Analysis, index: Index, model: Model) -> tuple[TermMatch, ...]:
    """Say which words matched where; the contributions sum to that of the first feature."""
    candidate = fused.candidate
    if not candidate.lexical:
        return ()
    unit = fused.values[0] * model.weights[0] / candidate.lexical / analysis.total_weight
    matches = [
        match
        for clause, impact in zip(analysis.clauses, candidate.impacts, strict=True)
        if impact
        for match in _terms_of(clause, unit * clause.weight * impact, candidate.document, index)
    ]
    return tuple(sorted(matches, key=lambda match: (-match.contribution, match.query, match.field)))


def _terms_of(clause: Clause, contribution: float, document: int, index: Index) -> list[TermMatch]:
    """Part the *contribution* of a clause among the fields where its best variant stands."""
    repair = max(
        clause.repairs,
        key=lambda one: impact_of(index, one.term, document) * one.similarity,
    )
    shares = field_shares(index, document, repair.term)
    return [
        TermMatch(
            clause.text,
            repair.word,
            "alias" if field == "aliases" and repair.kind == "exact" else repair.kind,
            repair.similarity,
            field,
            contribution * share,
        )
        for field, share in shares.items()
    ]
