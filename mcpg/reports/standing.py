"""Why one tool is where it is: what is above it and why, and what would make it first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.reports.comparison import changes_since
from mcpg.reports.markup import Markup, element, joined
from mcpg.reports.page import Section
from mcpg.reports.parts import bdi, facts, number, signed, table

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEGLIGIBLE = 5e-7


def standing_section(standing: Mapping[str, Any] | None) -> list[Section]:
    """Give the section on *standing*, the member `tool` of an explanation; none without one."""
    if standing is None:
        return []
    content = joined(
        facts(_facts(standing)),
        _change(standing),
        element("ol", [_rival(one) for one in standing["above"]], class_="cards"),
        _effect(standing.get("effect")),
    )
    lead = f"Why {standing['toolId']} is where it is, and the smallest change that makes it first."
    return [Section("tool", "One tool", content, lead)]


def _facts(standing: Mapping[str, Any]) -> list[tuple[str, Markup | str | None]]:
    retrieval = standing["retrieval"]
    missing = ", ".join(standing["missing"])
    return [
        ("Tool", bdi(standing["toolId"], "term")),
        ("Rank", _rank(standing)),
        ("Score", number(standing["score"])),
        ("Fused score", number(standing["fusedScore"])),
        ("Of the query in its words", number(retrieval["lexical"])),
        ("Looked at closely", "yes" if retrieval["isPooled"] else f"no, only {retrieval['pool']}"),
        ("Lacks", bdi(missing) if missing else None),
    ]


def _rank(standing: Mapping[str, Any]) -> str:
    if standing["isHidden"]:
        return "none: it is disabled by default"
    if standing["rank"] is None:
        return f"none among {standing['ranked']:,}"
    return f"{standing['rank']:,} of {standing['ranked']:,}"


def _change(standing: Mapping[str, Any]) -> Markup | None:
    change, remark = standing["change"], standing["remark"]
    if change is None:
        return element("p", remark, dir="auto", class_="change") if remark else None
    hints = change["hints"]
    what = [
        *(["enable it"] if hints.get("enabledByDefault") else []),
        *(joined("add the keyword ", bdi(word, "term")) for word in hints["keywords"]),
        *(joined("add the alias ", bdi(alias, "term")) for alias in hints["aliases"]),
    ]
    proof = "bundled and searched again" if change["verified"] else "not tried on a new bundle"
    return element(
        "p",
        element("b", "What would lift it: "),
        [joined(", " if place else "", one) for place, one in enumerate(what)],
        f". Then rank {change['rankAfter']}, score {number(change['scoreAfter'])} ({proof}). ",
        remark,
        class_="change",
    )


def _rival(rival: Mapping[str, Any]) -> Markup:
    gap = rival["gap"]
    ahead = f"ahead by {number(gap)}" if gap >= 0 else f"behind by {number(-gap)}"
    return element(
        "li",
        element("h3", f"{rival['rank']} ", bdi(rival["toolId"])),
        element("p", f"score {number(rival['score'])}, {ahead}", class_="dim"),
        element("ul", [element("li", one) for one in rival["because"]], class_="advice"),
        element(
            "details",
            element("summary", "Where the gap comes from"),
            element("div", _features(rival), _words(rival), class_="columns"),
        ),
        class_="card",
    )


def _features(rival: Mapping[str, Any]) -> Markup:
    rows = [
        (one["feature"], number(one["own"]), number(one["other"]), signed(one["difference"]))
        for one in rival["features"]
        if abs(one["difference"]) >= _NEGLIGIBLE
    ]
    columns = ("Feature", "Here", "There", "Gap")
    return table(f"Features: the gap to {rival['toolId']}", columns, rows, numeric="-nnn")


def _words(rival: Mapping[str, Any]) -> Markup:
    rows = [
        (bdi(one["query"], "term"), f"{one['share']:.0%}", number(one["own"]), number(one["other"]))
        for one in rival["words"]
    ]
    columns = ("Word", "Share", "Here", "There")
    return table(f"Words: the gap to {rival['toolId']}", columns, rows, numeric="-nnn")


def _effect(effect: Mapping[str, Any] | None) -> Markup | None:
    if effect is None:
        return None
    return joined(
        element("h3", "What that would do to other judged queries", class_="plain"),
        changes_since(effect),
    )
