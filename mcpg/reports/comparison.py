"""What changed since an earlier evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.evaluation.compare import CHANCE
from mcpg.reports.markup import Markup, element, joined
from mcpg.reports.page import Section
from mcpg.reports.parts import bdi, facts, number, signed, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN = 50


def comparison_section(compared: Mapping[str, Any] | None) -> list[Section]:
    """Give the section on *compared*, the member `baseline` of a report; none without one."""
    if compared is None:
        return []
    content = changes_since(compared)
    return [Section("baseline", "Since the baseline", content, _verdict(compared["significance"]))]


def changes_since(compared: Mapping[str, Any]) -> Markup:
    """Tell what of *compared*, a comparison as JSON has it, is other than before."""
    return joined(
        facts(
            [
                ("Queries in both", f"{compared['common']:,}"),
                ("Answered better", f"{len(compared['better']):,}"),
                ("Answered worse", f"{len(compared['worse']):,}"),
                ("New", f"{len(compared['added']):,}"),
                ("Gone", f"{len(compared['removed']):,}"),
                ("Judged otherwise", f"{len(compared['rejudged']):,}"),
            ]
        ),
        _figures(compared["metrics"]),
        _changes("Answered worse", compared["worse"], is_open=True),
        _changes("Answered better", compared["better"], is_open=False),
    )


def _verdict(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "No query is in both reports."
    chance = "may be chance" if found["p"] >= CHANCE else "is hardly chance"
    return (
        f"{found['metric']} {signed(found['difference'], 4)} over {found['pairs']:,} queries, of "
        f"which {found['changed']:,} changed; p = {found['p']:.4f} ({found['test']}): this "
        f"{chance}."
    )


def _figures(metrics: Mapping[str, Mapping[str, Any]]) -> Markup:
    rows = [
        (name, *(_told(one[key]) for key in ("before", "now")), _delta(one["delta"]))
        for name, one in metrics.items()
        if one["before"] is not None or one["now"] is not None
    ]
    return table(
        "Figures over the queries in both reports",
        ("Figure", "Before", "Now", "Change"),
        rows,
        numeric="-nnn",
    )


def _told(value: float | None) -> str:
    return "–" if value is None else number(value, 4)


def _delta(delta: float | None) -> str:
    if delta is None:
        return "–"
    return signed(delta, 4) if delta else "="


def _changes(title: str, changes: Sequence[Mapping[str, Any]], *, is_open: bool) -> Markup | None:
    if not changes:
        return None
    rows = [
        (
            bdi(one["query"]),
            bdi(one["id"]),
            f"{_rank(one['rankBefore'])} → {_rank(one['rankNow'])}",
            f"{_told(one['ndcg@5Before'])} → {_told(one['ndcg@5Now'])}",
            f"{number(one['topScoreBefore'])} → {number(one['topScoreNow'])}",
        )
        for one in changes[:_SHOWN]
    ]
    rest = len(changes) - _SHOWN
    return element(
        "details",
        element("summary", f"{title}: {len(changes):,}"),
        table(title, ("Query", "Id", "Rank", "nDCG@5", "Best score"), rows, numeric="--nnn"),
        element("p", f"... and {rest:,} more, in the table of queries.", class_="dim")
        if rest > 0
        else None,
        open=is_open,
    )


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
