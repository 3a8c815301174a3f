from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import lopsided
import pytest
from builders import make_engine, make_tool

from mcpg.bundle import Assembly, assemble
from mcpg.engine import Engine
from mcpg.engine.loading import (
    CONTEXTUAL,
    GIVEN,
    MOST_CONTEXT_WEIGHT,
    Ranking,
    compile_assembly,
    parse_ranking,
    ranking_json,
    shipped_ranking,
)
from mcpg.evaluation.fit import (
    MOST_QUERIES,
    Case,
    best_scored,
    build_cases,
    compute_shares,
    draw_judgements,
    fit_calibration,
    fit_contextual,
)
from mcpg.evaluation.judged import JudgedQuery, Judgements, resolve
from mcpg.evaluation.tune import (
    FEWEST_GROUPS,
    FEWEST_QUERIES,
    TuneReport,
    Tuning,
    provenance_of_tuning,
    too_few,
    tune,
    tune_json,
)
from mcpg.index import Index
from mcpg.search.model import FEATURES
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    MakeCases = Callable[[Judgements], list[Case]]

SHIPPED = shipped_ranking().model


@pytest.fixture(scope="module")
def tuned(cases: MakeCases) -> Tuning:
    """What queries come to that go by names."""
    return tune(cases(lopsided.by_name()), SHIPPED)


def judged(*pairs: tuple[str, tuple[str, ...]]) -> Judgements:
    """Make judged queries."""
    queries = (JudgedQuery(f"q{at}", query, tools, at) for at, (query, tools) in enumerate(pairs))
    return Judgements(tuple(queries))


def with_model(tuned: Tuning) -> Engine:
    """Make an engine of a bundle that carries a tuned model."""
    assembly: Assembly = assemble(SourceBatch(tools=tuple(lopsided.tools())))
    ranking = ranking_json(Ranking(tuned.model, provenance_of_tuning(tuned, lopsided.by_name(1))))
    return Engine(Index(compile_assembly(replace(assembly, ranking=ranking))))


def test_queries_that_were_not_seen_are_answered_better(tuned: Tuning) -> None:
    """Where the shipped weights do not suit a catalogue, tuning serves what was held out."""
    found = tuned.weights.figures["ndcg@5"]
    assert tuned.weights.is_kept
    assert found.after > found.before + 0.1
    assert tuned.weights.p < 0.001
    assert tuned.model.weights != SHIPPED.weights


def test_other_queries_of_the_kind_are_answered_better(engine: Engine, tuned: Tuning) -> None:
    """Queries that had no part in it at all gain as the held-out ones promise."""
    fresh = lopsided.by_name(60, seed=99).queries
    right = {one.query: one.relevant[0] for one in fresh}

    def share(of: Engine) -> float:
        return sum(of.search(query).matches[0].tool_name == name for query, name in right.items())

    assert share(with_model(tuned)) > share(engine) + 10


def test_scores_become_the_share_that_is_right(tuned: Tuning) -> None:
    """The calibration is fitted to the weights that are kept, and errs less."""
    found = tuned.calibration.figures
    assert tuned.calibration.is_kept
    assert found["ece"].after < found["ece"].before
    assert found["logLoss"].after < found["logLoss"].before


@pytest.mark.untraced
def test_nothing_is_kept_where_nothing_can_be_learned(engine: Engine, cases: MakeCases) -> None:
    """Judgements that follow the shipped scores leave the shipped model as it is."""
    found = tune(cases(lopsided.by_chance(engine)), SHIPPED)
    assert not found.is_better
    assert found.model == SHIPPED


@pytest.mark.untraced
def test_the_same_seed_gives_the_same_model(cases: MakeCases, tuned: Tuning) -> None:
    """Nothing depends on anything but queries, catalogue and seed."""
    assert tune(cases(lopsided.by_name()), SHIPPED) == tuned


def test_rules_are_not_fitted(tuned: Tuning) -> None:
    """The unit of the weights, and what a name that is spelt out counts for, stay."""
    for name, before, now in zip(FEATURES, SHIPPED.weights, tuned.model.weights, strict=True):
        if name in GIVEN:
            assert now == before


def test_a_name_that_is_spelt_out_still_wins(tuned: Tuning) -> None:
    """After tuning, too, every tool is first for its own name, whatever else the query says."""
    tools = lopsided.tools()
    engine = with_model(tuned)
    for tool, other in pairwise(tools):
        for query in (tool.name, f"{other.description} {tool.name}"):
            assert engine.search(query).matches[0].tool_name == tool.name


def test_what_is_tuned_can_be_carried(tuned: Tuning) -> None:
    """A tuned model passes the checks of what a bundle carries, and is the same afterwards."""
    ranking = Ranking(tuned.model, provenance_of_tuning(tuned, lopsided.by_name(1)))
    assert parse_ranking(ranking_json(ranking)) == ranking


def test_too_few_queries_are_refused(cases: MakeCases) -> None:
    """Queries without an answer do not make up for those that have one."""
    answerless = [(f"query {at}", ()) for at in range(FEWEST_QUERIES)]
    few = [*lopsided.by_name(FEWEST_QUERIES - 1).queries, *judged(*answerless).queries]
    reason = too_few(cases(Judgements(tuple(few))), 5)
    assert reason is not None
    assert "49 queries have an answer" in reason
    assert too_few(cases(lopsided.by_name(90)), 5) is None


def test_paraphrases_do_not_make_up_for_wishes(cases: MakeCases) -> None:
    """Many queries for few tools are refused."""
    tools = lopsided.tools()[: FEWEST_GROUPS - 1]
    pairs = [(f"{tool.name} {at}", (tool.name,)) for tool in tools for at in range(4)]
    reason = too_few(cases(judged(*pairs)), 5)
    assert reason is not None
    assert "24 different sets of tools" in reason


def test_one_fold_may_hold_every_query_with_an_answer(cases: MakeCases) -> None:
    """A wish without an answer that stands very often fills the other fold; nothing is learned."""
    answerless = judged(*[("nothing does this", ())] * FEWEST_QUERIES * 2)
    asked = cases(Judgements((*lopsided.by_name(90).queries, *answerless.queries)))
    assert too_few(asked, 2) is None
    tuning = tune(asked, SHIPPED, folds=2)
    assert not tuning.weights.is_kept
    assert tuning.model.weights == SHIPPED.weights


def test_tools_that_nothing_finds_are_no_answers(cases: MakeCases) -> None:
    """A query whose tools are all unknown counts against the ranking, and has nothing to hide."""
    (case,) = cases(judged(("find it", ("no_such_tool",))))
    assert case.is_answerable
    assert case.hidden is None


def test_queries_without_an_answer_take_the_place_of_hidden_ones(cases: MakeCases) -> None:
    """Scores are made for a fifth of queries without an answer, or for as many as a file has."""
    tools = lopsided.tools()
    pairs = [(tool.name, (tool.name,)) for tool in tools[:8]]
    for answerless, hidden in ((0, 0.2), (1, 0.2 - 1 / 9), (4, 0.0)):
        found = cases(judged(*pairs, *((f"nothing {at}", ()) for at in range(answerless))))
        scored = [one for case in found for one in best_scored(case, SHIPPED)]
        by_kind = dict.fromkeys((one.kind for one in scored), 0.0)
        for one, share in zip(scored, compute_shares(scored, found), strict=True):
            by_kind[one.kind] += share
        assert by_kind["hidden"] == pytest.approx(hidden)
        assert sum(by_kind.values()) == pytest.approx(1)


def test_of_too_many_queries_some_are_drawn() -> None:
    """A seed draws the same queries every time, in their order; few are used as they are."""
    many = lopsided.by_name(MOST_QUERIES + 5)
    found = draw_judgements(many, 3)
    assert found == draw_judgements(many, 3)
    assert len(found.queries) == MOST_QUERIES
    lines = [one.line for one in found.queries]
    assert lines == sorted(lines)
    few = lopsided.by_name(5)
    assert draw_judgements(few, 3) is few


def test_a_query_without_any_match_is_no_sample(cases: MakeCases) -> None:
    """Where nothing is found nothing is learned, and to say nothing was right."""
    found = cases(judged(("???", ())))
    assert [(one.score, one.loss) for one in best_scored(found[0], SHIPPED)] == [(0.0, 0.0)]
    fitted = fit_calibration(found, SHIPPED, belief=2.0)
    assert fitted == pytest.approx((SHIPPED.intercept, *SHIPPED.coefficients))


def test_the_provenance_tells_how_it_came_about(tuned: Tuning) -> None:
    """Name and provenance say what was fitted on what, without a folder or a clock."""
    judgements = replace(lopsided.by_name(), place="/home/somebody/ci\x1b/queries.jsonl")
    origin = provenance_of_tuning(tuned, judgements)
    assert origin.name == "tuned on queries.jsonl"
    assert origin.provenance.startswith("mcpg tune on queries.jsonl (sha256:")
    assert "120 queries with an answer and 0 without; 5 folds, seed 0" in origin.provenance
    assert "somebody" not in origin.provenance
    unnamed = provenance_of_tuning(tuned, replace(judgements, place="\n"))
    assert unnamed.name == "tuned on queries"


def test_a_report_without_a_trial(tuned: Tuning) -> None:
    """Where there is too little to learn from, there are no figures, and the reason stands."""
    report = TuneReport(3, shipped_ranking(), refusal="too few")
    found = tune_json(report, "graph.mdld", is_written=False)
    assert (found["refusal"], found["tuned"], found["written"]) == ("too few", None, False)
    assert "weights" not in found
    assert tune_json(replace(report, tuning=tuned), "graph.mdld", is_written=False)["folds"] == 5


@pytest.mark.parametrize("uses_lexicon", [True, False])
def test_cases_are_looked_at_as_searches_do(*, uses_lexicon: bool) -> None:
    """Where searches go without the lexicon, nothing is learned of related words."""
    engine = make_engine(
        make_tool("create_directory", description="Create a directory at a path."),
        make_tool("delete_file", description="Delete a file from the disk."),
    )
    judgements = judged(("make a folder", ("create_directory",)))
    resolved = resolve(judgements, engine.catalog)
    (case,) = build_cases(resolved, engine.index, disabled=frozenset(), uses_lexicon=uses_lexicon)

    assert any(one.related for one in case.sample.candidates) == uses_lexicon


def in_use(*, named: bool) -> tuple[Engine, Judgements]:
    """Make tools in pairs that only their servers tell apart, and queries for one of each."""
    tools, queries = [], []
    for place in range(4):
        for side in ("east", "west"):
            tools.append(make_tool(f"open_{place}", source_id=side, description="Open it."))
            tools.append(make_tool(f"desk_{place}", source_id=side, description="Furniture."))
            right, used = (f"{side}::open_{place}", f"{side}::desk_{place}")
            queries.append(
                JudgedQuery(
                    f"{side}{place}", f"open {place}", (right,), 1, (used,) if named else ()
                )
            )
    return make_engine(*tools), Judgements(tuple(queries))


@pytest.mark.parametrize("named", [True, False])
def test_weights_of_tools_in_use_are_fitted_where_queries_name_some(named: bool) -> None:
    """From weights of 0 they rise if that puts the right tool first; without tools in use not."""
    engine, judgements = in_use(named=named)
    cases = build_cases(resolve(judgements, engine.catalog), engine.index, disabled=frozenset())
    weights = dict(zip(FEATURES, SHIPPED.weights, strict=True)) | dict.fromkeys(CONTEXTUAL, 0.0)
    home = SHIPPED._replace(weights=tuple(weights.values()))
    fitted = fit_contextual(cases, home, belief=0.1, seed=0)

    assert (max(fitted) > 0) == named
    assert max(fitted) <= MOST_CONTEXT_WEIGHT
