"""The report of `explain`: one query, its answer, and how that came about."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.evaluation.report import CHANCE
from mcpg.reports.graph import graph_of, graph_section
from mcpg.reports.page import (
    Markup,
    Section,
    asset,
    bdi,
    cut,
    drawing_library,
    element,
    facts,
    joined,
    legend,
    meter,
    notices,
    number,
    page,
    signed,
    stacked_bar,
    swatch,
    table,
    times,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# SECTION matches: The matches of a search: each with its score, the parts of that score, and the
# words.


_NEGLIGIBLE = 5e-7
_REASONS_SHOWN = 3
_LONG_of_matches = 320


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
            element(
                "p", cut(match["description"], _LONG_of_matches), dir="auto", class_="description"
            ),
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


# SECTION stages: The stages of a search: how long each took, and what it did.


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


# SECTION comparison: What changed since an earlier evaluation.


_SHOWN = 50


def comparison_section(compared: Mapping[str, Any] | None) -> list[Section]:
    """Give the section on *compared*, the member `baseline` of a report; none without one."""
    if compared is None:
        return []
    content = changes_since(compared)
    return [
        Section(
            "baseline",
            "Since the baseline",
            content,
            _verdict_of_comparison(compared["significance"]),
        )
    ]


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


def _verdict_of_comparison(found: Mapping[str, Any] | None) -> str:
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
        (name, *(_told_of_comparison(one[key]) for key in ("before", "now")), _delta(one["delta"]))
        for name, one in metrics.items()
        if one["before"] is not None or one["now"] is not None
    ]
    return table(
        "Figures over the queries in both reports",
        ("Figure", "Before", "Now", "Change"),
        rows,
        numeric="-nnn",
    )


def _told_of_comparison(value: float | None) -> str:
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
            f"{_rank_of_comparison(one['rankBefore'])} → {_rank_of_comparison(one['rankNow'])}",
            f"{_told_of_comparison(one['ndcg@5Before'])} → {_told_of_comparison(one['ndcg@5Now'])}",
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


def _rank_of_comparison(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


# SECTION standing: Why one tool is where it is: what is above it and why, and what would make it
# first.


_NEGLIGIBLE_of_standing = 5e-7


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
            element("div", _features(rival), _words_of_standing(rival), class_="columns"),
        ),
        class_="card",
    )


def _features(rival: Mapping[str, Any]) -> Markup:
    rows = [
        (one["feature"], number(one["own"]), number(one["other"]), signed(one["difference"]))
        for one in rival["features"]
        if abs(one["difference"]) >= _NEGLIGIBLE_of_standing
    ]
    columns = ("Feature", "Here", "There", "Gap")
    return table(f"Features: the gap to {rival['toolId']}", columns, rows, numeric="-nnn")


def _words_of_standing(rival: Mapping[str, Any]) -> Markup:
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


_SHORT = 60
_LONG = 240


def explain_page(data: Mapping[str, Any], *, shows_times: bool = False) -> str:
    """Give the report on an explanation as HTML text.

    Args:
        data: An object of the schema `mcpg/explain/1`.
        shows_times: Whether to tell how long each stage took, which is never the same twice.
    """
    graph = graph_of(data)
    sections = [
        *_noticed(data),
        *standing_section(data.get("tool")),
        *_words(data),
        Section(
            "graph",
            "Graph",
            graph_section(graph),
            "What the query matched, and what the edges of the graph brought in. Choose a tool for "
            "its edges and their reasons.",
        ),
        *matches_section(data),
        *stages_section(data, shows_times=shows_times),
        *_model(data),
    ]
    title = f"{cut(data['query'], _SHORT) or 'every tool'} · mcpg explain"
    return page(
        "explain",
        title,
        _head(data),
        sections,
        data=graph,
        scripts=[drawing_library(), asset("graph.js")],
    )


def _whole(query: str) -> Markup | None:
    if len(query) <= _LONG:
        return None
    return element(
        "details", element("summary", "The whole query"), element("p", query, dir="auto")
    )


def _head(data: Mapping[str, Any]) -> Markup:
    query = data["query"]
    return element(
        "div",
        element("p", "The query" if query else "No query", class_="kicker"),
        element("h1", cut(query, _LONG) or "Every tool by name", dir="auto"),
        _whole(query),
        _verdict(data),
        facts(
            [
                ("Rewritten", _told(data.get("normalizedQuery"))),
                ("Strategy", data["strategy"]),
                ("Ranked by", data["rankingMode"]),
                ("Function words", data.get("language")),
                ("Matches", str(len(data["matches"]))),
                ("Related", str(len(data["relatedMatches"]))),
                ("Next steps", str(len(data["nextStepMatches"]))),
            ]
        ),
        class_="head",
    )


def _told(text: str | None) -> Markup | None:
    return bdi(text) if text else None


def _verdict(data: Mapping[str, Any]) -> Markup | None:
    """Say in one line what the answer is and how sure it is."""
    if not data["query"]:
        return None
    if not data["matches"]:
        return element("p", "No tool matches.", class_="verdict low")
    best = data["matches"][0]
    score = best["score"]
    sure = "low" if score < LOW_CONFIDENCE else "sure"
    return element(
        "p",
        element("span", number(score), class_="big"),
        meter(score, f"Score {number(score)} of 1", "meter wide"),
        element("span", "best match ", element("a", bdi(best["toolId"]), href="#match-1")),
        class_=f"verdict {sure}",
    )


def _noticed(data: Mapping[str, Any]) -> list[Section]:
    items, advice = data["diagnostics"], data["advice"]
    if not items and not advice:
        return []
    content = joined(
        notices(items) if items else None,
        element("ul", [element("li", one, dir="auto") for one in advice], class_="advice"),
    )
    lead = "What the search noticed, and what can be done about it."
    return [Section("diagnostics", "Diagnostics", content, lead)]


def _model(data: Mapping[str, Any]) -> list[Section]:
    model = data["model"]
    if model is None:
        return []
    rows = [("Name", bdi(model["name"])), ("Fitted by", bdi(model["provenance"]))]
    lead = "Where the weights and the calibration come from."
    return [Section("model", "Model", facts(rows), lead)]


def _words(data: Mapping[str, Any]) -> list[Section]:
    words = data.get("words") or []
    if not words:
        return []
    rows = [
        (
            bdi(word["text"], "term"),
            _became(word),
            word["origin"],
            str(word["documentFrequency"]) if word["repairs"] else "–",
            _share(word["weight"]) if word["weight"] else "–",
        )
        for word in words
    ]
    columns = ("Word", "What it became", "From", "In tools", "Share of the query")
    content = table("What became of each word", columns, rows, numeric="---n-")
    lead = (
        "Function words are dropped; unknown words are looked for among the catalogue's own. "
        "Rare words weigh more."
    )
    return [Section("words", "What the query became", content, lead)]


def _share(weight: float) -> Markup:
    label = f"{weight:.0%}"
    return element("span", meter(weight, label), element("span", label), class_="share")


def _became(word: Mapping[str, Any]) -> Markup | str:
    if word["role"] == "function word":
        return element("span", "dropped: a function word", class_="dim")
    if not word["repairs"]:
        told = "a code or number" if word["role"] == "literal" else "a word"
        return element("span", f"unknown: {told} that no tool has", class_="missing")
    return element("ul", [element("li", _repair(one)) for one in word["repairs"]], class_="plain")


def _repair(repair: Mapping[str, Any]) -> Markup:
    if repair["kind"] == "exact":
        return joined("kept as ", bdi(repair["word"], "term"))
    distance = repair["distance"]
    edits = f", {distance} edit{'s' if distance != 1 else ''}" if distance else ""
    return joined(
        "→ ",
        bdi(repair["word"], "term"),
        element(
            "span",
            f" {repair['kind']}{edits}, credit {number(repair['similarity'], 2)}",
            class_="dim",
        ),
    )
