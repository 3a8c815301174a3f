"""Gates: reading them, and holding figures to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcpg.errors import UsageError
from mcpg.evaluation.judged import parse_judged
from mcpg.evaluation.metrics import RANKING
from mcpg.evaluation.report import (
    MAX,
    MAX_DROP,
    METRICS,
    MIN,
    Bound,
    EvaluationReport,
    Gate,
    compare,
    evaluate,
    judge,
    parse_bounds,
)
from mcpg.show.evaluation import gate_sentence

if TYPE_CHECKING:
    from mcpg.engine import Engine


@pytest.fixture
def report(engine: Engine) -> EvaluationReport:
    """One query is answered, the other names a tool that does not exist."""
    return evaluate(engine, parse_judged(b"where is the shipment: shipment_status\na: b", "q.yaml"))


@pytest.mark.parametrize("name", METRICS)
def test_every_figure_can_be_bounded(report: EvaluationReport, name: str) -> None:
    """Each name that a gate may bear is a figure of every report."""
    (bound,) = parse_bounds(MIN, f"{name.upper()} = 0")
    assert bound == Bound(MIN, name, 0)
    assert judge(report, (bound,))[0].passed == (name != "abstention")


def test_a_bare_drop_speaks_of_the_whole_ranking() -> None:
    """Without a name, no figure of the ranking may fall by more."""
    assert [one.metric for one in parse_bounds(MAX_DROP, "0.02")] == list(RANKING)
    assert parse_bounds(MAX_DROP, "mrr=0.02") == (Bound(MAX_DROP, "mrr", 0.02),)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (MIN, "ndgc@5=0.8", "did you mean ndcg@5"),
        (MIN, "zzz=1", "known: ndcg@5"),
        (MIN, "0.8", "write it as"),
        (MIN, "=0.8", "known"),
        (MIN, "mrr=", "a number such as"),
        (MIN, "mrr=0,8", "a number such as"),
        (MIN, "mrr=nan", "a number such as"),
        (MAX, "ece=inf", "a number such as"),
        (MAX, "ece=-0.1", "from 0 to 1"),
        (MIN, "ndcg@5=80", "from 0 to 1"),
        (MAX_DROP, "ece=0.1", "known: ndcg@5"),
        (MAX_DROP, "p95=1", "known: ndcg@5"),
        (MAX_DROP, "a lot", "a number such as"),
    ],
)
def test_senseless_gates_are_refused(kind: str, text: str, said: str) -> None:
    """The option is named, and what to write instead."""
    with pytest.raises(UsageError) as fault:
        parse_bounds(kind, text)
    assert fault.value.place == f"--{kind}"
    assert said in (fault.value.remedy or "")


@pytest.mark.parametrize(
    ("kind", "metric", "limit", "passed"),
    [
        (MIN, "hit@1", 0.5, True),
        (MIN, "hit@1", 0.51, False),
        (MAX, "hit@1", 0.5, True),
        (MAX, "hit@1", 0.49, False),
        (MAX, "p95", 60_000, True),
        (MAX, "p95", 0, False),
        (MAX_DROP, "hit@1", 0.5, True),
        (MAX_DROP, "hit@1", 0.49, False),
    ],
)
def test_a_figure_at_the_limit_passes(
    report: EvaluationReport, kind: str, metric: str, limit: float, passed: bool
) -> None:
    """The bound itself is allowed."""
    perfect = [
        replace(
            one, judged=("x",), matches=(replace(report.outcomes[0].matches[0], is_relevant=True),)
        )
        for one in report.outcomes
    ]
    now = [replace(one, judged=("x",)) for one in report.outcomes]
    compared = replace(report, baseline=compare(perfect, now))
    (gate,) = judge(compared, (Bound(kind, metric, limit),))
    assert gate.passed is passed
    assert gate.json()["passed"] is passed
    assert metric in gate_sentence(gate.json())


@pytest.mark.parametrize(
    ("kind", "value", "limit", "says"),
    [
        (MIN, 0.84996, 0.84998, "is 0.84996; required: at least 0.84998"),
        (MIN, 0.12346, 0.1234649, "is 0.12346; required: at least 0.1234649"),
        (MAX, 0.10004, 0.10001, "is 0.10004; required: at most 0.10001"),
        (MAX_DROP, 0.01003, 0.01, "fell by 0.01003; at most 0.01"),
        (MAX_DROP, 0.01, 0.01, "fell by 0.0100; at most 0.01"),
        (MIN, 0.5, 0.9, "is 0.5000; required: at least 0.9"),
    ],
)
def test_a_figure_stands_on_its_side_of_the_limit(
    kind: str, value: float, limit: float, says: str
) -> None:
    """Whatever it is rounded to, a figure that fails does not read as one that passes."""
    gate = Gate(Bound(kind, "mrr", limit), value, passed=value == limit)
    assert says in gate_sentence(gate.json())


def test_what_cannot_be_measured_does_not_pass(report: EvaluationReport) -> None:
    """A gate that says nothing about anything protects nobody."""
    (gate,) = judge(report, (Bound(MIN, "abstention", 0.5),))
    assert not gate.passed
    assert "cannot be measured" in gate_sentence(gate.json())
    apart = replace(report, baseline=compare([], report.outcomes))
    assert not judge(apart, (Bound(MAX_DROP, "mrr", 0.5),))[0].passed


def test_a_rise_is_no_drop(report: EvaluationReport) -> None:
    """What got better keeps every bound on drops."""
    worse = [replace(one, matches=()) for one in report.outcomes]
    better = replace(report, baseline=compare(worse, report.outcomes))
    (gate,) = judge(better, (Bound(MAX_DROP, "mrr", 0),))
    assert gate.passed
    assert "rose by" in gate_sentence(gate.json())
