"""An evaluation from queries to a report."""

from __future__ import annotations

import json

import pytest
from builders import make_engine, make_tool

from mcpg.embeddings import FunctionEmbeddings
from mcpg.engine import Engine
from mcpg.errors import Code, UsageError
from mcpg.evaluation.judged import Judgements, parse_judged
from mcpg.evaluation.metrics import RANKING
from mcpg.evaluation.report import SCHEMA, EvaluationReport, evaluate, report_json
from mcpg.search.results import EngineServices

QUERIES = """
where is the shipment: shipment_status
search invoices: commerce::invoice_search
write a note: [note_create, shipment_create]
qwxzv plorf: []
"""


def judgements(text: str = QUERIES) -> Judgements:
    """Read *text* as YAML."""
    return parse_judged(text.encode(), "q.yaml")


@pytest.fixture
def report(engine: Engine) -> EvaluationReport:
    """The report on the queries above."""
    return evaluate(engine, judgements())


def test_figures_are_means_over_answerable_queries(report: EvaluationReport) -> None:
    """Three queries have answers; of the third only one of two tools is found first."""
    assert [one.rank for one in report.outcomes] == [1, 1, 1, None]
    assert report.figures["hit@1"] == 1
    assert report.figures["recall@1"] == pytest.approx((1 + 1 + 0.5) / 3, abs=1e-6)
    assert report.figures["mrr"] == 1
    assert len(report.answerless) == 1


def test_what_has_no_answer_counts_apart(report: EvaluationReport) -> None:
    """Nonsense is recognised by its low score, and is in no figure of the ranking."""
    value = report_json(report)
    assert value["abstention"] == {
        "threshold": 0.35,
        "queries": 1,
        "right": 1,
        "share": 1.0,
        "answerableBelow": value["abstention"]["answerableBelow"],
    }
    assert report.outcomes[3].ndcg is None
    assert value["perQuery"][3]["ndcg@5"] is None


def test_an_unknown_tool_stays_out_of_reach(engine: Engine) -> None:
    """A tool that does not exist lowers the figures; the query is not dropped."""
    report = evaluate(engine, judgements("where is the shipment: [shipment_status, nowhere]"))
    assert report.figures["recall@5"] == 0.5
    assert report.figures["ndcg@5"] < 1
    assert report_json(report)["perQuery"][0]["unknown"] == ["nowhere"]
    assert report_json(report)["unknownTools"] == ["nowhere"]
    assert [one.code for one in report.diagnostics] == [Code.JUDGED_TOOL_UNKNOWN]


def test_disabled_tools_are_found_on_request(engine: Engine) -> None:
    """As in a search."""
    text = judgements("delete a note: note_delete")
    without, asked = evaluate(engine, text), evaluate(engine, text, include_disabled=True)
    assert (without.figures["hit@5"], asked.figures["hit@1"]) == (0, 1)
    assert [(one.code, one.place) for one in without.diagnostics] == [
        (Code.JUDGED_TOOL_DISABLED, "q.yaml:1")
    ]
    assert asked.diagnostics == ()


@pytest.mark.parametrize(("limit", "depth"), [(1, 10), (10, 10), (30, 30), (80, 50)])
def test_at_least_ten_matches_are_looked_at(limit: int, depth: int) -> None:
    """The figures reach to rank 10; a search gives at most 50."""
    tools = [make_tool(f"note_{number}", description="Write a note.") for number in range(60)]
    report = evaluate(make_engine(*tools), judgements("write a note: note_7"), limit=limit)

    assert report.limit == depth
    assert [len(one.matches) for one in report.outcomes] == [depth]


def test_senseless_requests_are_refused(engine: Engine) -> None:
    """As a search refuses them."""
    with pytest.raises(UsageError):
        evaluate(engine, judgements(), limit=0)
    with pytest.raises(UsageError):
        evaluate(engine, judgements(), strategy="guess")
    assert evaluate(engine, judgements(), strategy="markdown-ld").strategy == "graph"


def test_every_way_to_rank_is_measured(engine: Engine) -> None:
    """Strategy and fusion reach the search and stand in the report."""
    provider = FunctionEmbeddings(lambda texts: [[1.0, len(one)] for one in texts], "lengths")
    with_vectors = Engine(engine.index, services=EngineServices(provider))
    plain, learned = (
        evaluate(with_vectors, judgements(), strategy="auto", fusion=one) for one in ("cosine", "")
    )
    assert (plain.strategy, learned.strategy) == ("auto", "auto")
    assert (plain.fusion, learned.fusion) == ("cosine", "learned")
    assert [one.matches for one in plain.outcomes] != [one.matches for one in learned.outcomes]
    assert plain.diagnostics == learned.diagnostics == ()
    value = report_json(learned)
    assert (value["strategy"], value["fusion"], value["normalize"]) == ("auto", "learned", False)
    with pytest.raises(UsageError, match="nothing to fuse"):
        evaluate(engine, judgements(), fusion="rrf")


def test_what_searches_could_not_have_is_told_once(engine: Engine) -> None:
    """Figures of the graph are not taken for those of vectors, or of rewritten queries."""
    report = evaluate(engine, judgements(), strategy="auto", rewrite=True)
    told = {one.code: one.message for one in report.diagnostics}
    assert told.keys() == {
        Code.EMBEDDING_GENERATOR_MISSING,
        Code.GRAPH_FALLBACK,
        Code.QUERY_NORMALIZER_MISSING,
    }
    assert all("(in 4 of 4 searches)" in one for one in told.values())
    assert (report.strategy, report.normalize) == ("auto", True)
    assert report.figures == evaluate(engine, judgements()).figures


def test_the_report_is_the_same_every_time(engine: Engine) -> None:
    """No clock, no order of a set; times only on request."""
    one, other = (json.dumps(report_json(evaluate(engine, judgements()))) for _ in range(2))
    assert one == other
    timed = report_json(evaluate(engine, judgements()), timings=True)["latencyMs"]
    assert 0 < timed["p50"] <= timed["p95"]


def test_the_layout(report: EvaluationReport) -> None:
    """The members that programs rely on."""
    value = report_json(report)
    assert list(value) == [
        "schema",
        "queries",
        "tools",
        "strategy",
        "fusion",
        "normalize",
        "lexicon",
        "limit",
        "metrics",
        "calibration",
        "abstention",
        "unknownTools",
        "latencyMs",
        "baseline",
        "gates",
        "diagnostics",
        "perQuery",
    ]
    assert (value["schema"], value["queries"], value["tools"]) == (SCHEMA, 4, 5)
    assert list(value["metrics"]) == list(RANKING)
    assert value["latencyMs"] is None
    assert sum(one["count"] for one in value["calibration"]["bins"]) == 4
    assert value["calibration"]["aurocRightVsAnswerless"] == 1
    first = value["perQuery"][0]
    assert (first["judged"], first["relevant"]) == (["shipment_status"], ["shipment_status"])
    assert first["matches"][0]["isRelevant"] is True
    assert first["topScore"] == first["matches"][0]["score"]


def test_only_answerless_queries(engine: Engine) -> None:
    """Figures that nothing speaks of are null, not 0."""
    value = report_json(evaluate(engine, judgements("qwxzv: []\nplorf: []")))
    assert set(value["metrics"].values()) == {None}
    assert value["calibration"]["aurocRightVsWrong"] is None


def test_an_empty_catalogue_finds_nothing() -> None:
    """Every tool is unknown then, and every answer wrong."""
    from builders import make_engine  # noqa: PLC0415

    report = evaluate(make_engine(), judgements("a: b"))
    assert (report.tools, report.figures["mrr"]) == (0, 0)
    assert report.outcomes[0].top_score == 0


def test_tools_in_use_are_given_to_the_search() -> None:
    """A row's tools in use decide between tools that its words do not tell apart."""
    tools = [
        make_tool("card_move", source_id="boards", description="Move it."),
        make_tool("file_move", source_id="files", description="Move it."),
        make_tool("board_open", source_id="boards", description="Open a board."),
        make_tool("file_list", source_id="files", description="List files."),
    ]
    rows = "- {query: move it, relevant: %s, contextTools: [%s, nothing]}"
    pairs = (("card_move", "board_open"), ("file_move", "files::file_list"))
    text = "\n".join(rows % pair for pair in pairs)
    found = evaluate(make_engine(*tools), judgements(text))

    assert [one.rank for one in found.outcomes] == [1, 1]
    assert [one.code for one in found.diagnostics if "nothing" in one.message] == [
        Code.JUDGED_TOOL_UNKNOWN
    ]
