"""The matches of a search: each with its score, the parts of that score, and the words."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from mcpg.reports.markup import Markup, element, joined
from mcpg.reports.page import Section
from mcpg.reports.parts import (
    bdi,
    cut,
    legend,
    meter,
    number,
    signed,
    stacked_bar,
    swatch,
    table,
    times,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NEGLIGIBLE = 5e-7
_REASONS_SHOWN = 3
_LONG = 320


def matches_section(data: Mapping[str, Any]) -> list[Section]:
    """Give the section on the matches of *data*, none where nothing matches."""
    matches: Sequence[Mapping[str, Any]] = data["matches"]
    if not matches:
        return []
    colors, span = feature_colors(matches), _span(matches)
    cards = [
        _card(rank, match, following, colors, span)
        for rank, (match, following) in enumerate(zip_longest(matches, matches[1:]), start=1)
    ]
    content = joined(legend(colors) if colors else None, element("ol", cards, class_="cards"))
    lead = (
        "The score says how likely the match is wanted, from 0 to 1. The bar shows what the fused "
        "score, which decides the order, is the sum of; all bars have one scale."
    )
    return [Section("matches", "Matches", content, lead if colors else "")]


def feature_colors(matches: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Give each feature that contributes to some match a colour, the weightiest first."""
    sums: dict[str, float] = defaultdict(float)
    for match in matches:
        for part in match.get("contributions", ()):
            sums[part["feature"]] += abs(part["contribution"])
    ordered = sorted((-total, name) for name, total in sums.items() if total)
    return {name: color for color, (_, name) in enumerate(ordered)}


def _span(matches: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    sums = [
        (sum(size for size in sizes if size < 0), sum(size for size in sizes if size > 0))
        for sizes in ([p["contribution"] for p in m.get("contributions", ())] for m in matches)
    ]
    return min(low for low, _ in sums), max(high for _, high in sums)


def _card(
    rank: int,
    match: Mapping[str, Any],
    following: Mapping[str, Any] | None,
    colors: Mapping[str, int],
    span: tuple[float, float],
) -> Markup:
    explained = "contributions" in match
    return element(
        "li",
        element(
            "article",
            _title(rank, match, shows_score=explained),
            element("p", cut(match["description"], _LONG), dir="auto", class_="description"),
            _evidence(match["evidence"]) if explained else None,
            _bar(match, colors, span) if explained else None,
            _order(match, following) if explained else None,
            _reasons(match, colors, is_open=rank == 1) if explained else None,
            class_="card",
            aria_labelledby=f"match-{rank}-title",
        ),
        id=f"match-{rank}",
    )


def _title(rank: int, match: Mapping[str, Any], *, shows_score: bool) -> Markup:
    score = match["score"]
    return element(
        "header",
        element("span", str(rank), class_="rank", aria_hidden="true"),
        element(
            "div",
            element("h3", bdi(match["toolId"]), id=f"match-{rank}-title"),
            element("p", bdi(match["displayName"]), " · ", bdi(match["sourceId"]), class_="dim"),
            class_="name",
        ),
        element(
            "div",
            element("span", number(score), class_="big", title=f"{score:.6f}"),
            meter(score, f"Score {number(score)} of 1"),
            class_="score",
        )
        if shows_score
        else None,
    )


def _evidence(evidence: Mapping[str, Any]) -> Markup | None:
    found = [element("li", bdi(term), class_="found") for term in evidence["terms"]]
    missing = [element("li", bdi(term), class_="missing") for term in evidence["missing"]]
    if not found and not missing:
        return None
    return element("ul", found, missing, class_="terms", aria_label="Words of the query")


def _bar(match: Mapping[str, Any], colors: Mapping[str, int], span: tuple[float, float]) -> Markup:
    sizes = {part["feature"]: part["contribution"] for part in match["contributions"]}
    parts = [(name, sizes[name]) for name in colors if sizes.get(name)]
    return element(
        "div",
        stacked_bar(parts, span, colors),
        element("span", "fused ", element("b", number(match["fusedScore"])), class_="sum"),
        class_="bar",
    )


def _order(match: Mapping[str, Any], following: Mapping[str, Any] | None) -> Markup | None:
    """Say why the match stands before the next: of two searches, the parts of its score say so."""
    places = match.get("foundBy")
    if places:
        parts = (
            f"{number(one['weight'])} × {number(one['score'])} (number {one['rank']} by the"
            f" {one['text']})"
            for one in places
        )
        return element("p", f"Score {number(match['score'])} = {' + '.join(parts)}", class_="ahead")
    return _ahead(match, following) if following else None


def _ahead(match: Mapping[str, Any], following: Mapping[str, Any]) -> Markup:
    gap = match["fusedScore"] - following["fusedScore"]
    if gap < _NEGLIGIBLE:
        told = joined("Level with ", bdi(following["toolId"]), ": the smaller tool id goes first.")
        return element("p", told, class_="ahead")
    return element(
        "p",
        "Ahead of ",
        bdi(following["toolId"]),
        f" by {number(gap)}: ",
        ", ".join(_largest(_by_feature(match), _by_feature(following))),
        class_="ahead",
    )


def _by_feature(match: Mapping[str, Any]) -> dict[str, float]:
    return {part["feature"]: part["contribution"] for part in match["contributions"]}


def _largest(ours: Mapping[str, float], theirs: Mapping[str, float]) -> list[str]:
    gaps = {name: ours.get(name, 0.0) - theirs.get(name, 0.0) for name in {**ours, **theirs}}
    ordered = sorted(gaps.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [item for item in ordered if abs(item[1]) >= _NEGLIGIBLE][:_REASONS_SHOWN]
    return [f"{name} {signed(gap)}" for name, gap in shown]


def _reasons(match: Mapping[str, Any], colors: Mapping[str, int], *, is_open: bool) -> Markup:
    return element(
        "details",
        element("summary", "How the score came about"),
        element(
            "div",
            _contributions(match, colors),
            _terms(match),
            _calibration(match),
            class_="columns",
        ),
        open=is_open,
    )


def _contributions(match: Mapping[str, Any], colors: Mapping[str, int]) -> Markup:
    parts = [part for part in match["contributions"] if part["contribution"]]
    rows = [
        (
            joined(swatch(colors[part["feature"]]), part["feature"]),
            part["stage"],
            number(part["value"]),
            times(part["weight"]),
            signed(part["contribution"]),
        )
        for part in parts
    ]
    silent = [part["feature"] for part in match["contributions"] if not part["contribution"]]
    return element(
        "div",
        element("h4", "Contributions"),
        table(
            f"Contributions to {match['toolId']}",
            ("Feature", "Stage", "Value", "Weight", "Contribution"),
            rows,
            numeric="--nnn",
        ),
        element("p", f"Nothing from {', '.join(silent)}.", class_="dim") if silent else None,
    )


def _terms(match: Mapping[str, Any]) -> Markup | None:
    rows = [
        (_matched(term), term["kind"], term["field"], signed(term["contribution"]))
        for term in match["terms"]
    ]
    if not rows:
        return None
    return element(
        "div",
        element("h4", "Words in fields"),
        table(
            f"Words that matched {match['toolId']}",
            ("Word", "Kind", "Field", "Contribution"),
            rows,
            numeric="---n",
        ),
    )


def _matched(term: Mapping[str, Any]) -> Markup:
    word = bdi(term["query"], "term")
    if term["query"] == term["matched"]:
        return word
    return joined(word, " → ", bdi(term["matched"], "term"))


def _calibration(match: Mapping[str, Any]) -> Markup:
    calibration = match["calibration"]
    rows = [("intercept", "", "", signed(calibration["intercept"]))]
    rows += [
        (
            one["input"],
            number(one["value"]),
            times(one["coefficient"]),
            signed(one["contribution"]),
        )
        for one in calibration["inputs"]
    ]
    rows.append(("sum", "", "", signed(calibration["logit"])))
    capped = calibration["cappedBy"]
    lead = "The logistic function of the sum is the score"
    places = match.get("foundBy") or [{"weight": 1.0, "score": match["score"]}]
    score = max((one["weight"] * one["score"], one["score"]) for one in places)[1]
    return element(
        "div",
        element("h4", "Calibration"),
        table(
            f"Calibration of {match['toolId']}",
            ("Input", "Value", "Coefficient", "Contribution"),
            rows,
            numeric="-nnn",
        ),
        element(
            "p",
            f"{lead}: {score:.6f}",
            joined("; no match scores above ", bdi(capped), " before it") if capped else None,
            ".",
            class_="dim",
        ),
    )
