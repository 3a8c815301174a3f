"""Explanation: the values of a search put together for a reader."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

from mcpg.engine.advice import advise, is_doubtful
from mcpg.engine.confidence import logistic
from mcpg.engine.features import FEATURES
from mcpg.engine.findings import Findings, hidden
from mcpg.engine.hybrid_scoring import COSINE, VECTOR_RANK, Scheme
from mcpg.engine.model import INPUTS
from mcpg.engine.origin import origin_of
from mcpg.engine.trace import (
    CalibrationExplanation,
    CalibrationInput,
    Contribution,
    ExpansionExplanation,
    Explanation,
    MatchExplanation,
    ModelExplanation,
    QueryWord,
    Reading,
    TermMatch,
    Trace,
)
from mcpg.index.occurrences import field_shares
from mcpg.index.postings import impact_of
from mcpg.text import fold, iter_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine.analysis import Analysis, Clause, Repair
    from mcpg.engine.confidence import Calibration
    from mcpg.engine.fusion import Fused
    from mcpg.engine.model import Model
    from mcpg.engine.pipeline import Outcome
    from mcpg.engine.request import Request
    from mcpg.engine.results import SearchResult
    from mcpg.engine.searcher import Searcher
    from mcpg.index import Index

_STAGE_OF = {"bm25f": "retrieve", COSINE: "compare", VECTOR_RANK: "compare"}


def explain(searcher: Searcher, request: Request, noticed: tuple[Diagnostic, ...]) -> Explanation:
    """Answer *request* as `Searcher.answer` does, and say how every part came about."""
    trace = Trace()
    result, outcome = searcher.answer(request, noticed, trace)
    return explanation_of(request, result, outcome, trace, searcher)


def explanation_of(
    request: Request,
    result: SearchResult,
    outcome: Outcome | None,
    trace: Trace,
    searcher: Searcher,
) -> Explanation:
    """Put together what *result* was made of; browsing has nothing to explain but itself."""
    if outcome is None:
        return Explanation(result, None, None, (), None, (), (), ())
    index, model = searcher.index, searcher.model
    reading = _reading(request.query or request.context, outcome.analysis, index)
    findings = Findings(outcome, result, reading, request, searcher)
    words = _words(outcome.analysis)
    return Explanation(
        result=result,
        normalized_query=None,
        reading=reading,
        words=words,
        language=outcome.analysis.language,
        stages=tuple(replace(one, details=findings.of(one.name)) for one in trace.stages),
        matches=tuple(_matches(result, outcome, index, model)),
        expansions=tuple(expansions_of(result)),
        model=_model(index, numbers_of(outcome, model)),
        advice=advice_on(result, words, (outcome,), index, searcher.disabled(request)),
    )


def advice_on(
    result: SearchResult,
    words: Sequence[QueryWord],
    outcomes: Iterable[Outcome],
    index: Index,
    disabled: frozenset[int],
) -> tuple[str, ...]:
    """Describe what would make *result* surer, where it is doubtful.

    Args:
        result: The answer.
        words: What became of the words that were searched.
        outcomes: What ranked its matches.
        index: What was searched.
        disabled: The tools that were not to be offered.
    """
    if not is_doubtful(result):
        return ()
    better = (one for outcome in outcomes for one in hidden(outcome, index, disabled))
    return tuple(advise(result, words, list(dict.fromkeys(better))))


def _reading(query: str, analysis: Analysis, index: Index) -> Reading:
    words = list(iter_words(query))
    sentences = [
        tuple(analysis.clauses[place].text for place in sentence) for sentence in analysis.sentences
    ]
    return Reading(
        fold(query),
        tuple(word.text for word in words),
        tuple(dict.fromkeys(word.text for word in words if word.whole)),
        tuple(sentences),
        analysis.exact_keys,
        index.language,
    )


def numbers_of(outcome: Outcome, model: Model) -> Scheme:
    """Give the fitted numbers that ranked: of the vectors' scheme, or of the graph's *model*."""
    if outcome.semantic is not None:
        return outcome.semantic.scheme
    return Scheme("", "", FEATURES, model.weights, INPUTS, model.intercept, model.coefficients)


def _model(index: Index, numbers: Scheme) -> ModelExplanation:
    origin = origin_of(index)
    told = f"; with vectors: {numbers.provenance}" if numbers.name else ""
    return ModelExplanation(
        f"{origin.name}, {numbers.name}" if numbers.name else origin.name,
        f"{origin.provenance}{told}",
        dict(zip(numbers.features, numbers.weights, strict=True)),
        numbers.intercept,
        dict(zip(numbers.inputs, numbers.coefficients, strict=True)),
    )


def expansions_of(result: SearchResult) -> Iterator[ExpansionExplanation]:
    """Say why each related and next-step match of *result* is there."""
    scores = {match.tool_id: match.score for match in result.matches}
    for match in (*result.related_matches, *result.next_step_matches):
        if match.via:
            from_score = scores[match.via.source]
            yield ExpansionExplanation(match.tool_id, match.score, match.via, from_score)


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
        return QueryWord(text, stem(text), "function word")
    return QueryWord(
        text,
        text if clause.role == "identifier" else stem(text),
        clause.role,
        clause.origin,
        clause.weight / total,
        clause.document_frequency,
        clause.repairs,
    )


def _matches(
    result: SearchResult, outcome: Outcome, index: Index, model: Model
) -> Iterator[MatchExplanation]:
    numbers = numbers_of(outcome, model)
    rows = zip(result.matches, outcome.ranked, outcome.calibrations, strict=True)
    for rank, (match, fused, calibration) in enumerate(rows, start=1):
        # Scores never rise down the ranks: the first of this score is the one that set it.
        first = next(one for one in result.matches if one.score == match.score)
        yield MatchExplanation(
            tool_id=match.tool_id,
            rank=rank,
            score=match.score,
            fused_score=fused.score,
            contributions=_contributions(fused, numbers),
            terms=_terms(fused, outcome.analysis, index, numbers),
            calibration=_calibration(calibration, first.tool_id, numbers),
        )


def _calibration(calibration: Calibration, first: str, model: Scheme) -> CalibrationExplanation:
    inputs = tuple(
        CalibrationInput(name, one, coefficient, one * coefficient)
        for name, one, coefficient in zip(
            model.inputs, calibration.inputs, model.coefficients, strict=True
        )
    )
    alone = logistic(calibration.inputs, model.intercept, model.coefficients)
    return CalibrationExplanation(
        inputs,
        model.intercept,
        fsum((model.intercept, *(one.contribution for one in inputs))),
        alone,
        first if alone > calibration.score else None,
    )


def _contributions(fused: Fused, model: Scheme) -> tuple[Contribution, ...]:
    """Give the summands of the fused score, largest first."""
    parts = (
        Contribution(_STAGE_OF.get(name, "fuse"), name, one, weight, one * weight)
        for name, one, weight in zip(model.features, fused.values, model.weights, strict=True)
    )
    return tuple(sorted(parts, key=lambda part: -part.contribution))


def _terms(fused: Fused, analysis: Analysis, index: Index, model: Scheme) -> tuple[TermMatch, ...]:
    """Say which words matched where; the contributions sum to that of the feature `bm25f`.

    Where vectors alone rank, words that matched contribute nothing.
    """
    candidate = fused.candidate
    if not candidate.lexical:
        return ()
    is_lexical = model.features[0] == FEATURES[0]
    unit = (
        is_lexical * fused.values[0] * model.weights[0] / candidate.lexical / analysis.total_weight
    )
    found = [
        (clause, _best_repair(clause, candidate.document, index), unit * clause.weight * impact)
        for clause, impact in zip(analysis.clauses, candidate.impacts, strict=True)
        if impact
    ]
    shares = field_shares(index, candidate.document, {repair.term for _, repair, _ in found})
    matches = [
        _term(clause, repair, field, contribution * share)
        for clause, repair, contribution in found
        for field, share in shares[repair.term].items()
    ]
    return tuple(sorted(matches, key=lambda match: (-match.contribution, match.query, match.field)))


def _best_repair(clause: Clause, document: int, index: Index) -> Repair:
    return max(
        clause.repairs, key=lambda one: impact_of(index, one.term, document) * one.similarity
    )


def _term(clause: Clause, repair: Repair, field: str, contribution: float) -> TermMatch:
    is_alias = field == "aliases" and repair.kind == "exact"
    kind = "alias" if is_alias else repair.kind
    return TermMatch(clause.text, repair.word, kind, repair.similarity, field, contribution)
