"""The stages of a search: how long each took, and what it did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcpg.reports.markup import Markup, element, joined
from mcpg.reports.page import Section
from mcpg.reports.parts import bdi, meter, number, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def stages_section(data: Mapping[str, Any], *, shows_times: bool) -> list[Section]:
    """Give the section on the stages of *data*, none where there are none."""
    stages: Sequence[Mapping[str, Any]] = data["stages"]
    if not stages:
        return []
    total = sum(stage["durationMs"] for stage in stages) or 1.0
    columns = ("Stage", *(("Time",) if shows_times else ()), "What it did")
    rows = [
        (
            stage["name"],
            *((_time(stage["durationMs"], total),) if shows_times else ()),
            _details(stage["details"]),
        )
        for stage in stages
    ]
    content = joined(
        table("The stages of the search", columns, rows),
        [
            _unfolded(stage["name"], name, value)
            for stage in stages
            for name, value in stage["details"].items()
            if _is_table(value)
        ],
    )
    return [Section("stages", "Stages", content, "The way of the query, in order.")]


def _time(duration: float, total: float) -> Markup:
    return element(
        "span",
        meter(duration / total, f"{duration / total:.0%} of the time"),
        element("span", f"{number(duration)} ms"),
        class_="share",
    )


def _details(details: Mapping[str, Any]) -> Markup:
    items = [
        element("li", element("span", name, class_="dim"), " ", _value(value))
        for name, value in details.items()
        if value not in ([], None) and not _is_table(value)
    ]
    return element("ul", items, class_="inline") if items else joined("–")


def _is_table(value: Any) -> bool:
    """Tell whether *value* is a list of objects that have the same members."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and one.keys() == value[0].keys() for one in value)
    )


def _unfolded(stage: str, name: str, items: Sequence[Mapping[str, Any]]) -> Markup:
    columns = tuple(items[0])
    kinds = ["n" if _are_numbers([item[key] for item in items]) else "-" for key in columns]
    rows = [[_value(item[key]) for key in columns] for item in items]
    return element(
        "details",
        element("summary", f"{stage}: {name}"),
        table(f"{name} of the stage {stage}", columns, rows, numeric="".join(kinds)),
    )


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)


def _value(value: Any) -> Markup | str:
    if isinstance(value, str):
        return bdi(value)
    if isinstance(value, float):
        return number(value)
    if value is None:
        return "–"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return bdi(", ".join(value))
    return json.dumps(value, ensure_ascii=False)
