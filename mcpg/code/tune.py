"""The weights of words and vectors in the search of source code, fitted to judged queries.

A score is linear in the weights, so two searches of a query, by words and by vectors,
give the ranking of every setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from statistics import fmean

from mcpg.ask.model import WORDS_ALONE
from mcpg.code.search import Blend, CodeSearch
from mcpg.code.vectors import SymbolVectors
from mcpg.engine import Engine
from mcpg.errors import Code, Diagnostic, InputError, warning
from mcpg.evaluation.fit import assign_folds, number_queries
from mcpg.evaluation.judged import JudgedQuery, Judgements
from mcpg.evaluation.metrics import ndcg_at, recall_at
from mcpg.evaluation.tune import ItemTuning, TunedPart, judge_part, measure_figure, too_few
from mcpg.search.results import EngineServices

_STEPS = 20
_DEPTH = 5


@dataclass(frozen=True, slots=True)
class SymbolCase:
    """A judged query with its results at each setting.

    Attributes:
        figures: nDCG and recall of the first matches, by the weight of vectors in steps.
    """

    group: int
    is_answerable: bool
    figures: tuple[tuple[float, float], ...]


def tune_weights(engine: Engine, judgements: Judgements, folds: int, seed: int) -> ItemTuning:
    """Fit `ask.weights` to judged queries with names or ids of symbols as answers."""
    search: CodeSearch = engine.code
    if not search.graph.definitions:
        raise InputError(
            "the bundle has no symbols", remedy="add source code: `mcpg bundle code:PATH`"
        )
    vectors = SymbolVectors(search.graph.definitions, engine.services or EngineServices())
    groups = number_queries([(one.query, one.relevant) for one in judgements.queries])
    cases = [
        SymbolCase(group, bool(one.relevant), tuple(_measure(search, vectors, one)))
        for one, group in zip(judgements.queries, groups, strict=True)
    ]
    noticed = tuple(_find_unknown(search, judgements))
    shipped = WORDS_ALONE.words, WORDS_ALONE.vectors
    refusal = too_few(cases, folds, "symbols")
    if refusal:
        return ItemTuning("ask", "weights", shipped, len(cases), noticed, refusal)
    asked = [case for case in cases if case.is_answerable]
    part = _try_settings(asked, folds, seed)
    if not part.is_kept:
        refusal = "no setting is better on queries that it has not seen by more than chance"
        return ItemTuning("ask", "weights", shipped, len(cases), noticed, refusal, part)
    best = _choose(asked) / _STEPS
    tuned = round(1 - best, 2), best
    return ItemTuning("ask", "weights", shipped, len(cases), noticed, "", part, tuned)


def _measure(
    search: CodeSearch, vectors: SymbolVectors, one: JudgedQuery
) -> Iterator[tuple[float, float]]:
    """Yield nDCG and recall of a query at each setting; a name is found once."""
    graph = search.graph
    wanted = {id(found.symbol): name for name in one.relevant for found in graph.find(name)}
    nearness, size = vectors.compare(one.query), len(graph.definitions)
    words, near = (
        {
            id(match.definition.symbol): match.score
            for match in search.search(one.query, limit=size, blend=Blend(*weights, nearness))
        }
        for weights in ((1.0, 0.0), (0.0, 1.0))
    )
    keys = [key for found in graph.definitions if (key := id(found.symbol)) in words]
    for step in range(_STEPS + 1):
        share = step / _STEPS
        scores = {key: (1 - share) * words[key] + share * near[key] for key in keys}
        best = nsmallest(_DEPTH, keys, key=lambda key: -scores[key])
        names = [wanted.get(key) for key in best]
        hits = [bool(name) and name not in names[:place] for place, name in enumerate(names)]
        count = len(one.relevant)
        yield (ndcg_at(hits, count, _DEPTH), recall_at(hits, count, _DEPTH)) if count else (0, 0)


def _choose(cases: Sequence[SymbolCase]) -> int:
    """Return the best setting for *cases*, of equal ones the nearest to the shipped one."""
    shipped = round(WORDS_ALONE.vectors * _STEPS)
    gains = [fmean(case.figures[step][0] for case in cases) for step in range(_STEPS + 1)]
    return max(range(_STEPS + 1), key=lambda step: (round(gains[step], 9), -abs(step - shipped)))


def _try_settings(cases: Sequence[SymbolCase], folds: int, seed: int) -> TunedPart:
    """Choose a setting on all folds but one, and measure it on that one, for each in turn."""
    places = assign_folds([case.group for case in cases], folds, seed)
    pairs = list(zip(cases, places, strict=True))
    held = [[case for case, at in pairs if at == fold] for fold in range(folds)]
    chosen = [_choose([case for case, at in pairs if at != fold]) for fold in range(folds)]
    shipped = [round(WORDS_ALONE.vectors * _STEPS)] * folds
    before, after = (
        [[case.figures[step] for case in fold] for fold, step in zip(held, steps, strict=True)]
        for steps in (shipped, chosen)
    )
    figures = {
        name: measure_figure(
            [[one[place] for one in fold] for fold in before],
            [[one[place] for one in fold] for fold in after],
            held,
            lambda values, _: fmean(values),
        )
        for place, name in enumerate(("ndcg@5", "recall@5"))
    }
    gains = [
        now[0] - was[0]
        for old, new in zip(before, after, strict=True)
        for was, now in zip(old, new, strict=True)
    ]
    return judge_part(figures, [case.group for fold in held for case in fold], gains)


def _find_unknown(search: CodeSearch, judgements: Judgements) -> Iterator[Diagnostic]:
    """Report the answers that no symbol is called."""
    for one in judgements.queries:
        for name in one.relevant:
            if not search.graph.find(name):
                message = f"no symbol is called {name[:80]!r}: see `mcpg list --kind symbol`"
                yield warning(Code.JUDGED_TOOL_UNKNOWN, message, f"{judgements.place}:{one.line}")
