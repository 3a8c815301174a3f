"""Two evaluations side by side, and reports read back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.errors import InputError, NotFoundError
from mcpg.evaluation.judged import parse_judged
from mcpg.evaluation.metrics import JudgedMatch, QueryOutcome
from mcpg.evaluation.report import Baseline, compare, evaluate, read_baseline, report_json

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.engine import Engine


def outcome(name: str, rank: int | None, *judged: str, score: float = 0.5) -> QueryOutcome:
    """Make the outcome of a query of which the first of *judged* is found at *rank*."""
    judged = judged if judged or rank is None else ("right",)
    matches = tuple(
        JudgedMatch("right" if place == rank else f"wrong{place}", score, place == rank)
        for place in range(1, 11)
    )
    return QueryOutcome(name, f"query {name}", judged, judged, (), matches)


def test_gains_and_losses_are_listed_with_ranks() -> None:
    """The greatest change comes first."""
    before = [outcome("a", 2), outcome("b", 5), outcome("c", 1), outcome("d", 1)]
    now = [outcome("a", 1), outcome("b", 1), outcome("c", 1), outcome("d", 9)]
    found = compare(before, now)
    assert [(one.now.id, one.before.rank, one.now.rank) for one in found.better] == [
        ("b", 5, 1),
        ("a", 2, 1),
    ]
    assert [(one.now.id, one.before.rank, one.now.rank) for one in found.worse] == [("d", 1, 9)]
    assert found.delta("hit@1") == 0.25
    assert found.significance is not None
    assert (found.significance.pairs, found.significance.changed) == (4, 3)


def test_a_rank_below_the_fifth_counts_where_ndcg_is_equal() -> None:
    """A tool that falls from rank 6 to 9 is answered worse, though nDCG@5 is 0 both times."""
    found = compare([outcome("a", 6)], [outcome("a", 9)])
    assert [one.now.id for one in found.worse] == ["a"]


def test_only_queries_of_both_are_compared() -> None:
    """New, gone and otherwise judged queries are named and left out of the figures."""
    before = [outcome("a", 1), outcome("old", 1), outcome("c", 1)]
    now = [outcome("a", 1), outcome("new", None, "right"), outcome("c", 1, "right", "other")]
    found = compare(before, now)
    assert (found.common, found.added, found.removed, found.rejudged) == (
        1,
        ("new",),
        ("old",),
        ("c",),
    )
    assert found.delta("mrr") == 0


def test_runs_are_compared_as_deep_as_both_looked() -> None:
    """A right tool below what the other run looked at is no drop and no gain."""
    deep, shallow = outcome("a", 8), replace(outcome("a", 8), matches=outcome("a", 8).matches[:7])
    for before, now in ((deep, shallow), (shallow, deep)):
        found = compare([before], [now], 7)
        assert found.delta("mrr") == 0
        assert (found.better, found.worse) == ((), ())
    assert compare([deep], [shallow]).delta("mrr") == -0.125


def test_nothing_in_common() -> None:
    """There is no figure and no test then."""
    found = compare([outcome("a", 1)], [outcome("b", 1)])
    assert (found.delta("mrr"), found.significance) == (None, None)
    assert found.json()["significance"] is None


def test_doubt_is_what_counts_without_an_answer() -> None:
    """A query without an answer is answered better when its score falls below the threshold."""
    sure, unsure = outcome("a", None, score=0.6), outcome("a", None, score=0.1)
    assert [one.now.id for one in compare([sure], [unsure]).better] == ["a"]
    assert [one.now.id for one in compare([unsure], [sure]).worse] == ["a"]
    assert compare([sure], [unsure]).delta("abstention") == 1


@pytest.fixture
def value(engine: Engine) -> dict[str, Any]:
    """A report as JSON."""
    queries = parse_judged(b"where is the shipment: shipment_status\nzzz: []\na: b", "q.yaml")
    return report_json(evaluate(engine, queries))


def test_a_report_is_read_back(value: dict[str, Any], tmp_path: Path, engine: Engine) -> None:
    """Compared with itself nothing has changed."""
    (tmp_path / "r.json").write_text(json.dumps(value), "utf-8")
    queries = parse_judged(b"where is the shipment: shipment_status\nzzz: []\na: b", "q.yaml")
    report = evaluate(engine, queries)
    assert read_baseline(tmp_path / "r.json") == Baseline(report.outcomes, 10)
    found = compare(read_baseline(tmp_path / "r.json").outcomes, report.outcomes)
    assert {found.delta(name) for name in found.now} == {0}
    assert (found.common, found.better, found.worse) == (3, (), ())


def damage(value: dict[str, Any], *path: str | int, to: Any) -> dict[str, Any]:
    """Put *to* in the place at *path*."""
    copy = json.loads(json.dumps(value))
    target = copy
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = to
    return copy


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("schema",), "mcpg/search/1"),
        (("limit",), None),
        (("limit",), True),
        (("limit",), 0),
        (("perQuery", 0, "relevant"), []),
        (("perQuery",), None),
        (("perQuery", 0), "x"),
        (("perQuery", 0, "id"), 5),
        (("perQuery", 0, "judged"), [5]),
        (("perQuery", 0, "matches"), {}),
        (("perQuery", 0, "matches", 0), []),
        (("perQuery", 0, "matches", 0, "score"), "high"),
        (("perQuery", 0, "matches", 0, "score"), True),
        (("perQuery", 0, "matches", 0, "isRelevant"), 1),
        (("perQuery", 0, "matches", 0, "score"), 1e200),
        (("perQuery", 0, "matches", 0, "score"), -0.5),
    ],
)
def test_a_damaged_report_is_refused(
    value: dict[str, Any], tmp_path: Path, path: tuple[str | int, ...], to: Any
) -> None:
    """The error names the file and says how to make a report."""
    file = tmp_path / "r.json"
    file.write_text(json.dumps(damage(value, *path, to=to)), "utf-8")
    with pytest.raises(InputError, match="report") as fault:
        read_baseline(file)
    assert fault.value.place == str(file)
    assert "--format json" in (fault.value.remedy or "")


@pytest.mark.parametrize("content", [b"", b"[]", b"{} {}", b"my diary", b"\xff\xfe\xff", b"{"])
def test_what_is_no_report_is_refused(tmp_path: Path, content: bytes) -> None:
    """Anything else is an error, too."""
    (tmp_path / "r.json").write_bytes(content)
    with pytest.raises(InputError):
        read_baseline(tmp_path / "r.json")
    with pytest.raises(NotFoundError):
        read_baseline(tmp_path / "none.json")
