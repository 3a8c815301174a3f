"""Explanation: what each stage of a search found, why each match ranks where it does, and advice.

Explanations are made afterwards from the data of the search; a plain search runs none of this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import fsum
from operator import mul, or_
from typing import TYPE_CHECKING

from mcpg.errors import Diagnostic
from mcpg.index import Index
from mcpg.index.field_texts import field_texts
from mcpg.index.layout import IMPACT_SCALE
from mcpg.index.recipe import (
    BY_NUMBER,
    FIELDS,
    GENERATED,
    HINTS,
    OF_PARAMETERS,
    occurrence_weight,
)
from mcpg.search.calibration import LOW_CONFIDENCE, compute_logit, logistic, weigh_inputs
from mcpg.search.features import NameMatcher, RankedCandidate, fuse, named_exactly
from mcpg.search.hybrid import COSINE, VECTOR_RANK, WEIGHT_INPUTS, rank
from mcpg.search.hybrid_model import HybridDetails, Scheme
from mcpg.search.model import ANSWERABLE_INPUTS, FEATURES, INPUTS, Model, read_provenance
from mcpg.search.pipeline import RankedList
from mcpg.search.query import Analysis
from mcpg.search.query_terms import QueryTerm, TermExpansion, related_words
from mcpg.search.results import PREREQUISITE, SearchRequest, SearchResult
from mcpg.search.retrieval import POOL, RELATED_CREDIT, clause_impacts, widen_analysis
from mcpg.search.searcher import Searcher, names_any
from mcpg.search.trace import (
    AnswerableExplanation,
    CalibrationExplanation,
    CalibrationInput,
    Contribution,
    ExpansionExplanation,
    Explanation,
    MatchExplanation,
    ModelExplanation,
    QueryRewrite,
    QueryWord,
    Stage,
    TermMatch,
    Trace,
)
from mcpg.text import fold, iter_words, stem
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import list_some

if TYPE_CHECKING:
    from mcpg.explain.hint_words import RequestWords
    from mcpg.search.rerank import RerankOutcome


_MOST_NAMED = 5


def advice_on(
    result: SearchResult,
    words: Sequence[QueryWord],
    rankings: Sequence[RankedList],
    index: Index,
    disabled: frozenset[int],
) -> tuple[str, ...]:
    """Describe what would make *result*, which *rankings* ranked, surer where it is doubtful.

    The first of *rankings* is of the request as it was typed.
    """
    if result.matches and result.matches[0].score >= LOW_CONFIDENCE:
        return ()
    analysis = rankings[0].analysis
    language = analysis.language or index.language
    from mcpg.explain.hint_words import RequestWords  # noqa: PLC0415 - a confident answer needs none

    request_words = RequestWords(result.query, analysis, language, index)
    advice = [*_advise_on_unknown_words(words, request_words)]
    known = {word.text for word in words if word.repairs or word.related}
    known -= request_words.arguments
    lacking = result.matches[0].evidence.missing if result.matches else ()
    missing = [text for text in lacking if text in known and request_words.is_telling(text)]
    if missing:
        advice.append(
            f"the best match has no {_quote_texts(missing)}: if it is the right tool all the same, "
            "give it these as keywords in a hints file"
        )
    better = [one for ranking in rankings for one in find_better_disabled(ranking, index, disabled)]
    if better:
        tools = _quote_texts(list(dict.fromkeys(better)))
        advice.append(f"{tools} has more of the query but is off by default: include it")
    return tuple(advice)


def _advise_on_unknown_words(
    words: Iterable[QueryWord], request_words: RequestWords
) -> Iterator[str]:
    lacked = [word.text for word in words if word.role == "unknown" and not word.related]
    lacked = [text for text in lacked if not names_any(text)]
    unknown = [text for text in dict.fromkeys(lacked) if text not in request_words.arguments]
    listed = [text for text in unknown if not request_words.is_strange(text)]
    if listed:
        alias = request_words.alias()
        hint = f"the alias {alias!r}" if alias else "an alias with it"
        yield (
            f"no tool has {_quote_texts(listed)}: use another word, or give the tool that is meant "
            f"{hint} in a hints file"
        )
    unlisted = [text for text in unknown if text not in listed]
    if unlisted:
        yield f"no tool and no word list has {_quote_texts(unlisted)}: check the spelling"


def _quote_texts(texts: Sequence[str]) -> str:
    return list_some([*map(repr, texts)], _MOST_NAMED)


def find_better_disabled(ranking: RankedList, index: Index, disabled: frozenset[int]) -> list[str]:
    """Return the ids of *disabled* tools that answer more of the query than any candidate."""
    clauses = ranking.analysis.clauses
    scores: dict[int, float] = dict.fromkeys(found_documents(ranking, index) & disabled, 0.0)
    for clause in clauses:
        for document, impact in clause_impacts(clause.variants, scores, index).items():
            scores[document] += clause.weight * impact
    answered = max((one.lexical for one in ranking.candidates), default=0.0)
    least = answered * ranking.analysis.total_weight
    better = [document for document, score in scores.items() if score > least]
    better.sort(key=lambda document: (-scores[document], document))
    return [index.tool_id(document) for document in better]


def found_documents(ranking: RankedList, index: Index) -> set[int]:
    """Return the documents with any word of the query, including disabled tools."""
    found: set[int] = set()
    for clause in widen_analysis(ranking.analysis).clauses:
        for term, _ in clause.variants:
            found.update(index.postings(term)[0])
    return found


@dataclass(frozen=True, slots=True)
class StageDetails:
    """Details of the stages of one search, as JSON values; *disabled* are those by their hints."""

    ranking: RankedList
    result: SearchResult
    reading: QueryRewrite
    request: SearchRequest
    searcher: Searcher
    disabled: frozenset[int]

    def describe(self, stage: str) -> JsonObject:
        """Return what the stage called *stage* found; nothing for a stage that is not known."""
        semantic = self.ranking.semantic
        details: JsonObject = {}
        match stage:
            case "analyse":
                details = self._describe_analysis()
            case "retrieve":
                details = self._describe_retrieval()
            case "fuse":
                details = self._describe_fusion()
            case "calibrate":
                scores = self.ranking.calibrations
                best = scores[0].score if scores else None
                is_low = best is None or best < LOW_CONFIDENCE
                details = {"best": best, "lowConfidence": LOW_CONFIDENCE, "isLow": is_low}
            case "expand":
                details = describe_expansion(self.result, self.searcher.index, self.disabled)
            case "embed" if semantic is not None:
                details = {
                    "provider": semantic.vector_scores.fingerprint,
                    "text": semantic.text,
                    "corrected": semantic.corrected,
                }
            case "compare" if semantic is not None:
                details = self._describe_comparison(semantic)
        return details

    def _describe_analysis(self) -> JsonObject:
        analysis, reading = self.ranking.analysis, self.reading
        clauses = analysis.clauses
        kept = {clause.text for clause in clauses}
        unrepaired = {None, "exact", "translation"}
        return {
            "normalized": reading.normalized,
            "tokens": list(reading.tokens),
            "language": analysis.language,
            "catalogueLanguage": reading.catalogue_language,
            "dropped": [word for word in analysis.words if word not in kept],
            "repaired": [one.text for one in clauses if one.kind not in unrepaired],
            "translated": [one.text for one in clauses if one.kind == "translation"],
            "unknown": [one.text for one in clauses if one.role == "unknown"],
            "literals": [{"text": one.text, "kind": one.kind} for one in analysis.literals],
            "identifiers": list(reading.identifiers),
            "sentences": [list(sentence) for sentence in reading.sentences],
            "intents": [[clauses[place].text for place in intent] for intent in analysis.intents],
            "names": list(reading.names),
        }

    def _describe_retrieval(self) -> JsonObject:
        ranking, index = self.ranking, self.searcher.index
        found = found_documents(ranking, index)
        excluded = self.searcher.excluded_tools(self.request)
        exact = named_exactly(ranking.analysis, index).keys() - excluded
        wide = widen_analysis(ranking.analysis).clauses
        lists: list[JsonValue] = []
        for clause, widened in zip(ranking.analysis.clauses, wide, strict=True):
            share = clause.weight / ranking.analysis.total_weight
            looked_up = dict(widened.variants)
            near = [one for one in related_words(clause, index) if one.term in looked_up]
            for repair in (*clause.repairs, *near):
                credit = RELATED_CREDIT if repair.kind == "related" else 1.0
                impact = index.max_impact(repair.term) / IMPACT_SCALE
                lists.append(
                    {
                        "query": clause.text,
                        "matched": repair.word,
                        "term": index.term(repair.term),
                        "kind": repair.kind,
                        "tools": index.count_holders(repair.term),
                        "most": share * impact * credit * repair.similarity,
                    }
                )
        return {
            "lists": lists,
            "found": len(found - excluded),
            "disabled": len(found & self.disabled),
            "pool": len(ranking.candidates),
            "bestLexical": max((one.lexical for one in ranking.candidates), default=0.0),
            "exactNames": [index.tool_id(document) for document in sorted(exact)],
        }

    def _describe_comparison(self, semantic: HybridDetails) -> JsonObject:
        near, name = semantic.vector_scores, self.searcher.index.tool_id
        window = semantic.window(self.request.limit)
        return {
            "meanCosine": near.mean,
            "deviation": near.deviation,
            "shareUnknown": near.foreign,
            "shift": near.shift,
            "window": [name(number) for number in window],
            "nearest": [
                {
                    "toolId": name(number),
                    "cosine": cosine,
                    "standardised": near.standard_score(number),
                }
                for number, cosine in near.nearest[: max(POOL, len(window))]
            ],
        }

    def _describe_fusion(self) -> JsonObject:
        semantic, candidates = self.ranking.semantic, self.ranking.candidates
        features: Sequence[str] = FEATURES
        if semantic is None:
            weights, ends = self.searcher.model.weights, self.ranking.ends
            everything = fuse(candidates, weights, len(candidates), ends)
        else:
            features, weights = semantic.scheme.features, semantic.scheme.weights
            scores, pool = semantic.vector_scores, semantic.pool
            everything = rank(semantic.scheme, pool, scores, len(candidates))
        columns = zip(*(one.values for one in everything), strict=True)
        tools = [one.candidate.document for one in everything]
        channels: list[JsonValue] = []
        for feature, weight, values in zip(features, weights, columns, strict=bool(everything)):
            best, found = max(values), len(values) - values.count(0.0)
            tool = self.searcher.index.tool_id(tools[values.index(best)]) if found else None
            seen = {"tools": found, "best": best, "bestTool": tool}
            channels.append({"feature": feature, "weight": weight, **seen})
        details: JsonObject = {"candidates": len(everything), "channels": channels}
        closeness = semantic.weight if semantic else None
        if closeness is not None:  # what it weighs in the query, and why
            rows = zip(WEIGHT_INPUTS, closeness.inputs, closeness.coefficients, strict=True)
            inputs: list[JsonValue] = [
                {"input": name, "value": one, "coefficient": coefficient}
                for name, one, coefficient in rows
            ]
            fitted = {"weight": closeness.weight, "intercept": closeness.intercept}
            details["closenessWeight"] = {**fitted, "inputs": inputs}
        return details


def describe_expansion(result: SearchResult, index: Index, disabled: frozenset[int]) -> JsonObject:
    """Describe the edges that leave the matches of *result*, and of what they reach."""
    shown = {index.find_tool(match.tool_id) for match in result.matches}
    targets = [target for one in shown for _, target, _, _ in index.edges(one)]
    related, next_steps = len(result.related_matches), len(result.next_step_matches)
    needed = len(result.prerequisites)
    return {
        "edges": len(targets),
        "toMatches": sum(target in shown for target in targets),
        "toDisabled": len(frozenset(targets) & disabled - shown),
        "reached": related + next_steps + needed,
        "related": related,
        "nextSteps": next_steps,
        "prerequisites": needed,
    }


_APART = frozenset((*HINTS, FIELDS[GENERATED]))
_MASK_OF_PARAMETERS = sum(1 << FIELDS.index(name) for name in OF_PARAMETERS)

_STAGE_OF = {"bm25f": "retrieve", COSINE: "compare", VECTOR_RANK: "compare"}


def explain(
    searcher: Searcher, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]
) -> Explanation:
    """Answer *request* as `Searcher.answer` does, and explain every part of the answer."""
    trace = Trace()
    result, ranking = searcher.answer(request, diagnostics, trace)
    return compose_explanation(request, result, ranking, trace, searcher)


def compose_explanation(
    request: SearchRequest,
    result: SearchResult,
    ranking: RankedList | None,
    trace: Trace,
    searcher: Searcher,
) -> Explanation:
    """Return the parts of *result*; browsing has nothing else to explain."""
    if ranking is None:
        return Explanation(result, None, None, (), None, (), (), ())
    index, model, analysis = searcher.index, searcher.model, ranking.analysis
    numbers = Scheme("", "", FEATURES, model.weights, INPUTS, model.intercept, model.coefficients)
    if ranking.semantic is not None:
        numbers = ranking.semantic.scheme
    origin = read_provenance(index)
    with_vectors = f"; with vectors: {numbers.provenance}" if numbers.name else ""
    query = request.query or request.context
    spoken = list(iter_words(query))
    clauses = analysis.clauses
    sentences = [tuple(clauses[place].text for place in one) for one in analysis.sentences]
    reading = QueryRewrite(
        fold(query),
        tuple(word.text for word in spoken),
        tuple(dict.fromkeys(word.text for word in spoken if word.is_compound)),
        tuple(sentences),
        analysis.exact_keys,
        index.language,
    )
    disabled = searcher.disabled_by_hints(request)
    stage_details = StageDetails(ranking, result, reading, request, searcher, disabled)
    words = tuple(_explain_words(analysis, index))
    return Explanation(
        result=result,
        normalized_query=None,
        reading=reading,
        words=words,
        language=analysis.language,
        stages=tuple(
            replace(one, details=stage_details.describe(one.name)) for one in trace.stages
        ),
        matches=tuple(_explain_matches(result, ranking, index, numbers, model)),
        expansions=tuple(explain_expansions(result)),
        model=ModelExplanation(
            f"{origin.name}, {numbers.name}" if numbers.name else origin.name,
            f"{origin.provenance}{with_vectors}",
            dict(zip(numbers.features, numbers.weights, strict=True)),
            numbers.intercept,
            dict(zip(numbers.inputs, numbers.coefficients, strict=True)),
        ),
        advice=advice_on(result, words, (ranking,), index, disabled),
    )


def explain_order(
    explanation: Explanation, outcome: RerankOutcome, duration: float, limit: int | None
) -> Explanation:
    """Return an explanation of a reranked result, cut to *limit*; `None` if its order stays."""
    before = explanation.result.matches
    shown = (
        outcome._replace(order=tuple(one.tool_id for one in before)) if limit is None else outcome
    )
    stages = (*explanation.stages, Stage("rerank", duration, shown.describe(before)))
    if limit is None:
        noticed = (*explanation.result.diagnostics, *outcome.diagnostics)
        result = explanation.result._replace(diagnostics=noticed)
        return explanation._replace(result=result, stages=stages)
    from mcpg.search.rerank import reorder  # noqa: PLC0415 - few searches are reranked

    result = reorder(explanation.result, outcome, limit)
    by_id = {one.tool_id: one for one in explanation.matches}
    ranked = enumerate((by_id[one.tool_id] for one in result.matches), 1)
    return explanation._replace(
        result=result,
        stages=stages,
        matches=tuple(replace(one, rank=rank) for rank, one in ranked),
        expansions=tuple(explain_expansions(result)),
    )


def explain_expansions(result: SearchResult) -> Iterator[ExpansionExplanation]:
    """Explain why each related, next-step and prerequisite match of *result* is there."""
    scores = {match.tool_id: match.score for match in result.matches}
    needed = scores | {match.tool_id: match.score for match in result.prerequisites}
    for match in (*result.related_matches, *result.next_step_matches, *result.prerequisites):
        if match.via:
            known = needed if match.via.edge == PREREQUISITE else scores
            from_score = known[match.via.source]
            yield ExpansionExplanation(match.tool_id, match.score, match.via, from_score)


def _explain_words(analysis: Analysis, index: Index) -> Iterator[QueryWord]:
    asked = {clause.text: clause for clause in analysis.clauses if clause.origin == "query"}
    added = (clause for clause in analysis.clauses if clause.origin != "query")
    for word in analysis.words:
        yield _explain_word(word, asked.get(word), analysis.total_weight, index)
    for one in analysis.literals:
        if fold(one.text) not in asked:
            yield QueryWord(one.text, one.text, "literal", literal=one.kind)
    for clause in added:
        yield _explain_word(clause.text, clause, analysis.total_weight, index)


def _explain_word(text: str, clause: QueryTerm | None, total: float, index: Index) -> QueryWord:
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
        related_words(clause, index),
    )


def _explain_matches(
    result: SearchResult, ranking: RankedList, index: Index, numbers: Scheme, model: Model
) -> Iterator[MatchExplanation]:
    rows = zip(result.matches, ranking.ranked, ranking.calibrations, strict=True)
    for place, (match, fused, calibration) in enumerate(rows, start=1):
        # Scores never rise down the ranks: the first match with this score set it.
        first = next(one for one in result.matches if one.score == match.score)
        values = zip(numbers.features, fused.values, numbers.weights, strict=True)
        parts = (
            Contribution(_STAGE_OF.get(name, "fuse"), name, one, weight, one * weight)
            for name, one, weight in values
        )
        inputs = _explain_inputs(numbers.inputs, calibration.inputs, numbers.coefficients)
        answerable = None
        if calibration.answerable:
            alone = logistic(compute_logit(calibration.inputs, calibration.answerable, model))
            answerable = _explain_answerable(calibration.answerable, model)
        else:
            alone = logistic(
                weigh_inputs(calibration.inputs, numbers.intercept, numbers.coefficients)
            )
        # The contributions of words sum to the features `bm25f`, `related` and `relatedName`. If
        # only vectors rank, matched words contribute nothing.
        terms = (
            *_lexical_terms(fused, ranking.analysis, index, numbers),
            *_related_terms(fused, ranking.analysis, index, numbers),
        )
        yield MatchExplanation(
            tool_id=match.tool_id,
            rank=place,
            score=match.score,
            fused_score=fused.score,
            contributions=tuple(sorted(parts, key=lambda part: -part.contribution)),
            terms=tuple(
                sorted(
                    terms, key=lambda one: (-one.contribution, one.query, one.field, one.matched)
                )
            ),
            calibration=CalibrationExplanation(
                inputs,
                numbers.intercept,
                fsum((numbers.intercept, *(one.contribution for one in inputs))),
                answerable,
                alone,
                first.tool_id if alone > calibration.score else None,
            ),
            nearness=fused.candidate.nearness,
        )


def _explain_inputs(
    names: Sequence[str], values: Sequence[float], coefficients: Sequence[float]
) -> tuple[CalibrationInput, ...]:
    given = zip(names, values, coefficients, strict=True)
    return tuple([CalibrationInput(name, one, by, one * by) for name, one, by in given])


def _explain_answerable(values: Sequence[float], model: Model) -> AnswerableExplanation:
    intercept, *coefficients = model.answerable
    inputs = _explain_inputs(ANSWERABLE_INPUTS, values, coefficients)
    logit = fsum((intercept, *(one.contribution for one in inputs)))
    return AnswerableExplanation(intercept, inputs, logit, logistic(logit))


def _lexical_terms(
    fused: RankedCandidate, analysis: Analysis, index: Index, model: Scheme
) -> list[TermMatch]:
    candidate = fused.candidate
    if not candidate.lexical:
        return []
    is_lexical = model.features[0] == FEATURES[0]
    unit = (
        is_lexical * fused.values[0] * model.weights[0] / candidate.lexical / analysis.total_weight
    )
    document = candidate.document
    found = [
        (clause, _find_best(clause.repairs, document, index), unit * clause.weight * impact)
        for clause, impact in zip(analysis.clauses, candidate.impacts, strict=True)
        if impact
    ]
    shares = field_shares(index, document, {repair.term for _, repair, _ in found})
    terms = []
    for clause, repair, contribution in found:
        for field, share in shares[repair.term].items():
            is_alias = field == "aliases" and repair.kind == "exact"
            kind, near = "alias" if is_alias else repair.kind, repair.similarity
            size = contribution * share
            terms.append(TermMatch(clause.text, repair.word, kind, near, field, size))
    return terms


def _related_terms(
    fused: RankedCandidate, analysis: Analysis, index: Index, model: Scheme
) -> Iterator[TermMatch]:
    """Yield which related words matched where, one for each word, related word and field."""
    candidate, clauses = fused.candidate, analysis.clauses
    document = candidate.document
    weighed = zip(model.features, map(mul, fused.values, model.weights), strict=True)
    sums = dict(weighed)
    found: dict[tuple[str, TermExpansion, str], float] = defaultdict(float)
    if candidate.related:
        parts = dict(candidate.gains)
        unit = sums.get("related", 0.0) / fsum(parts.values())
        near = {
            place: _find_best(related_words(clauses[place], index), document, index)
            for place in parts
        }
        shares = field_shares(index, document, {one.term for one in near.values()})
        for place, one in near.items():
            for field, share in shares[one.term].items():
                found[clauses[place].text, one, field] += unit * parts[place] * share
    if candidate.related_name:
        gains = NameMatcher(analysis, index).gains_by_related(document)
        unit = sums.get("relatedName", 0.0) / fsum(gains.values())
        asked = [clause for clause in clauses if clause.origin == "query"]
        pairs = [(clause.text, one) for clause in asked for one in related_words(clause, index)]
        for term, gain in gains.items():
            text, one = max(
                (pair for pair in pairs if pair[1].term == term),
                key=lambda pair: pair[1].similarity,
            )
            found[text, one, "name"] += unit * gain
    for (text, one, field), contribution in found.items():
        yield TermMatch(text, one.word, one.kind, one.similarity, field, contribution)


def _find_best(meant: Sequence[TermExpansion], document: int, index: Index) -> TermExpansion:
    return max(meant, key=lambda one: index.find_posting(one.term, document)[0] * one.similarity)


def field_shares(index: Index, document: int, terms: Iterable[int]) -> dict[int, dict[str, float]]:
    """Return the share, summing to 1, of each field in the frequency of each term in *document*.

    Terms that do not occur there are left out. The document is read only where a term occurs in
    several fields, for a single one has it all.
    """
    masks = {term: index.find_posting(term, document)[1] for term in terms}
    several = {term: mask for term, mask in masks.items() if mask & mask - 1}
    counted = _count_terms(index, document, several) if several else {}
    return {
        term: counted[term] if term in several else {FIELDS[mask.bit_length() - 1]: 1.0}
        for term, mask in masks.items()
        if mask
    }


def _count_terms(
    index: Index, document: int, masks: Mapping[int, int]
) -> dict[int, dict[str, float]]:
    wanted = reduce(or_, masks.values())
    terms = {index.term(term): term for term in masks}
    counts: dict[int, Counter[int]] = {term: Counter() for term in masks}
    lengths: Counter[int] = Counter()
    has_parameters = bool(wanted & _MASK_OF_PARAMETERS)
    for field, content in field_texts(index.record(document), with_parameters=has_parameters):
        if not wanted >> field & 1:
            continue
        for word in iter_words(content):
            term = terms.get(word.term)
            lengths[field] += not word.is_compound
            if term is not None:
                counts[term][field] += 1
    means = index.field_means()
    shares = {}
    for term, found in counts.items():
        parts = {
            FIELDS[field]: count * occurrence_weight(lengths[field], means[field], BY_NUMBER[field])
            for field, count in sorted(found.items())
        }
        # Of these two, the lesser adds nothing.
        texts = [name for name in parts if name not in _APART]
        generated = parts.get(FIELDS[GENERATED], 0.0)
        lesser = texts if generated > fsum(map(parts.__getitem__, texts)) else [FIELDS[GENERATED]]
        parts = {name: part for name, part in parts.items() if name not in lesser}
        total = fsum(parts.values())
        shares[term] = {name: part / total for name, part in parts.items()}
    return shares
