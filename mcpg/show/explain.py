"""The blocks of an object of the schema `mcpg/explain/1`: a search with its explanation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from mcpg.show.blocks import (
    Bar,
    Block,
    Bullets,
    Chart,
    CodeSpan,
    Column,
    Details,
    Entries,
    FactList,
    Figure,
    Inline,
    Json,
    Notices,
    Paragraph,
    Section,
    Styled,
    Table,
    ToolEntry,
    join_inlines,
    make_columns,
)
from mcpg.show.explain_summary import (
    NEGLIGIBLE,
    about_filter,
    about_match,
    sum_differences,
    timings,
)
from mcpg.text.json_values import write_json
from mcpg.values import format_count

_REASONS_SHOWN = 3
_RELATED_SHOWN = 4
_UNREPAIRED = {
    "function word": "dropped: a stop word",
    "literal": "a literal",
    "unknown": "unknown: a word that no tool has, nor one near it",
}


def explain_blocks(data: Json, *, shows_times: bool = False) -> list[Section]:
    """Return the sections on *data*, which has what `explain` prints as JSON.

    Times differ from run to run, so they are left out unless *shows_times*.
    """
    stages = {stage["name"]: stage["details"] for stage in data["stages"]}
    model, expansions = data["model"], {one["toolId"]: one for one in data["expansions"]}
    origin = (CodeSpan(model["name"]), ": ", CodeSpan(model["provenance"])) if model else ""
    advice, notices = tuple(map(CodeSpan, data["advice"])), tuple(data["diagnostics"])
    sections = [
        Section("query", "Query", (FactList(_list_facts(data, stages)),), heading=""),
        _show_words(data["words"]),
        _show_matches(data["matches"]),
        _show_reached("before", "Prerequisites", data["prerequisites"], expansions),
        _show_reached("related", "Related", data["relatedMatches"], expansions),
        _show_reached("next", "Next steps", data["nextStepMatches"], expansions),
        _show_postings(stages.get("retrieve") or {}),
        _show_features(stages.get("fuse") or {}),
        Section("model", "Model", (Paragraph(origin),) if model else ()),
        *([timings(data["stages"])] if shows_times else []),
        Section("advice", "Advice", (Bullets(advice),) if advice else ()),
        Section("diagnostics", "Diagnostics", (Notices(notices),) if notices else ()),
    ]
    return [one for one in sections if one.blocks]


def _list_facts(data: Json, stages: Mapping[str, Json]) -> tuple[tuple[str, Inline], ...]:
    reading, rewriting = stages.get("analyse", {}), stages.get("normalise") or {}
    folded = " ".join(reading.get("normalized", "").split())
    graph, trust = data["focusedGraph"], rewriting.get("trust")
    trusted = f"trusted {trust:.3f}" if isinstance(trust, float) else ""
    outcome = (rewriting.get("outcome"), trusted, rewriting.get("reason"))
    return (
        ("query", CodeSpan(data["query"]) if data["query"] else "(none: every tool by name)"),
        ("rewritten", CodeSpan(data.get("normalizedQuery") or "")),
        ("filter", about_filter(data.get("filter"))),
        ("strategy", f"{data['strategy']}, ranked by {data['rankingMode']}"),
        ("normalised", CodeSpan(folded if folded != " ".join(data["query"].split()) else "")),
        ("identifiers", CodeSpan(", ".join(reading.get("identifiers", ())))),
        ("sentences", CodeSpan(" | ".join(map(" ".join, reading.get("sentences", ()))))),
        ("language", data.get("language") or ""),
        ("rewriting", CodeSpan(", ".join(str(one) for one in outcome if one))),
        ("reranking", _describe_reranking(stages.get("rerank") or {})),
        ("graph", f"{graph['nodes']} nodes, {graph['edges']} edges"),
    )


def _describe_reranking(details: Json) -> str:
    if details.get("kept"):
        return f"order kept: {details['kept']}"
    places = ", ".join(map(str, details.get("placesBefore", ())))
    return f"places before: {places}" if places else "none fits" if details else ""


def _show_words(words: Sequence[Json]) -> Section:
    has_related = any(word["related"] for word in words)
    rows = tuple(
        (
            CodeSpan(word["text"]),
            format_rewritten_word(word),
            *(
                (format_count(word["documentFrequency"], "tool"), f"{word['weight']:.0%}")
                if word["role"] not in ("function word", "literal")
                else ("", "")
            ),
            Bar(word["weight"], 8) if word["weight"] else "",
            "" if word["origin"] == "query" else f"({word['origin']})",
            *((format_related_words(word),) if has_related else ()),
        )
        for word in words
    )
    columns = (
        Column("word", most=24),
        Column("read as", most=60),
        *make_columns("tools", "share", "", "from", numbers=("tools", "share")),
        *(make_columns("related", below=("related",)) if has_related else ()),
    )
    lead = (
        "Stop words are dropped; unknown words are matched with the catalog's words. "
        "Rare words weigh more. A related word counts less than the word."
    )
    table = (Table("Words of the query", columns, rows),) if rows else ()
    return Section("words", "Words of the query", table, lead, "words")


def format_rewritten_word(word: Json) -> Inline:
    """Return how *word* was read."""
    if not word["repairs"]:
        if word["related"]:
            return Styled("no tool has it, but related words", "yellow")
        kind = f": {word['literal']}" if word["literal"] else ""
        style = "yellow" if word["role"] == "unknown" else "dim"
        return Styled(f"{_UNREPAIRED[word['role']]}{kind}", style)
    stem: Inline = "" if word["stem"] == word["text"] else (" (stem ", CodeSpan(word["stem"]), ")")
    parts: list[Inline] = []
    for one in word["repairs"]:
        edits = f", {format_count(one['distance'], 'edit')}" if one["distance"] else ""
        near = f" ({one['kind']}{edits}, similarity {one['similarity']:.2f})"
        is_kept = one["kind"] == "exact"
        parts.append(("kept", stem) if is_kept else ("→ ", CodeSpan(one["word"]), near))
    return join_inlines(parts, "; ")


def format_related_words(word: Json) -> Inline:
    """Return the words of the catalog that are most related to *word*."""
    nearest = word["related"][:_RELATED_SHOWN]
    return join_inlines([(CodeSpan(one["word"]), f" {one['similarity']:.2f}") for one in nearest])


def _show_matches(matches: Sequence[Json]) -> Section:
    colors = feature_colors(matches)
    explained = [match for match in matches if "contributions" in match]
    largest = max((abs(match["fusedScore"]) for match in explained), default=0.0)
    sizes = [[part["contribution"] for part in match["contributions"]] for match in explained]
    low = min((sum(size for size in one if size < 0) for one in sizes), default=0.0)
    high = max((sum(size for size in one if size > 0) for one in sizes), default=0.0)
    items = tuple(
        _make_entry(rank, match, following, colors, largest, (low, high))
        for rank, (match, following) in enumerate(zip_longest(matches, matches[1:]), start=1)
    )
    legend = (Chart("legend", (colors,)),) if colors else ()
    lead = (
        "The score is the probability that the match is right, from 0 to 1. The bar has the parts "
        "of the fused score, which determines the order; all bars have one scale."
    )
    blocks = (*legend, Entries("match", items)) if items else (Paragraph("No tool matches."),)
    return Section("matches", "Matches", blocks, lead if colors else "", "")


def feature_colors(matches: Sequence[Json]) -> dict[str, int]:
    """Return a color for each feature that contributes to some match, the heaviest first."""
    sums: dict[str, float] = defaultdict(float)
    for match in matches:
        for part in match.get("contributions", ()):
            sums[part["feature"]] += abs(part["contribution"])
    ordered = sorted((-total, name) for name, total in sums.items() if total)
    return {name: color for color, (_, name) in enumerate(ordered)}


def _make_entry(
    rank: int,
    match: Json,
    following: Json | None,
    colors: Mapping[str, int],
    largest: float,
    span: tuple[float, float],
) -> ToolEntry:
    about = CodeSpan(about_match(match))
    if "contributions" not in match:
        return ToolEntry(rank, match["toolId"], about=about, origin=match["sourceId"])
    score = match["score"]
    sizes = {part["feature"]: part["contribution"] for part in match["contributions"]}
    parts = tuple((name, sizes[name]) for name in colors if sizes.get(name))
    silent = [name for name, size in sizes.items() if not size]
    remark = (Paragraph(f"Nothing from {', '.join(silent)}."),) if silent else ()
    contributions, terms = _tabulate_contributions(match, largest), _tabulate_terms(match)
    calibration, *whole_calibration = _explain_calibration(match)
    blocks = (
        Chart("evidence", (match["evidence"],)),
        Chart("stacked_bar", (parts, span, colors)),
        *_explain_place(match, following),
        Details(
            "How the score came about",
            (contributions, *remark, *terms, *whole_calibration),
            (contributions, *terms, calibration),
            is_open=rank == 1,
        ),
    )
    figures = ("score ", Figure(score), "  fused ", Figure(match["fusedScore"]))
    return ToolEntry(rank, match["toolId"], figures, about, blocks, score, match["sourceId"])


def _tabulate_contributions(match: Json, largest: float) -> Table:
    rows = tuple(
        (
            part["feature"],
            part["stage"],
            Bar(
                abs(part["contribution"]) / largest if largest else 0.0,
                style="green" if part["contribution"] > 0 else "red",
            ),
            Figure(part["contribution"], "+.6f"),
            ("= ", Figure(part["value"]), f" * {part['weight']:g}"),
        )
        for part in match["contributions"]
        if part["contribution"]
    )
    columns = (
        Column("feature"),
        Column("stage", is_wide=True),
        Column(""),
        Column("contribution", is_number=True),
        Column("value and weight"),
    )
    return Table("Contributions", columns, rows)


def _tabulate_terms(match: Json) -> tuple[Block, ...]:
    fields: dict[tuple[str, str, str], list[Inline]] = defaultdict(list)
    for term in match["terms"]:
        place = (f"{term['field']} ", Figure(term["contribution"], "+.3f"))
        fields[term["query"], term["matched"], term["kind"]].append(place)
    rows: list[tuple[Inline, ...]] = []
    for (query, word, kind), places in fields.items():
        shown: Inline = CodeSpan(query)
        if kind != "exact":
            shown = (shown, () if query == word else (" → ", CodeSpan(word)), f" ({kind})")
        rows.append((shown, ("in ", join_inlines(places))))
    columns = (Column("word", most=40), Column("fields"))
    return (Table("Words in fields", columns, tuple(rows), wraps=True),) if rows else ()


def _explain_place(match: Json, following: Json | None) -> tuple[Block, ...]:
    """Return how two searches make up the score, or why a match ranks before the next."""
    if places := match.get("foundBy"):
        sums: list[Inline] = [
            f"{one['weight']:.3f} * {one['score']:.6f} (number {one['rank']} by the {one['text']})"
            for one in places
        ]
        return (Paragraph((f"score {match['score']:.6f} = ", join_inlines(sums, " + "))),)
    if following is None or "contributions" not in following:
        return ()
    other = CodeSpan(following["toolId"])
    gap = match["fusedScore"] - following["fusedScore"]
    if gap < NEGLIGIBLE:
        return (Paragraph(("level with ", other, ": the smaller tool id goes first")),)
    reasons: list[list[Inline]] = []
    for parts, key in (("contributions", "feature"), ("terms", "query")):
        gaps = sum_differences(match, following, parts, key).items()
        ordered = sorted(gaps, key=lambda item: (-abs(item[1]), item[0]))[:_REASONS_SHOWN]
        leading = [(name, size) for name, size in ordered if abs(size) >= NEGLIGIBLE]
        reasons.append([(CodeSpan(name), " ", Figure(size, "+.3f")) for name, size in leading])
    features, words = reasons
    because = (join_inlines(features), (" (", join_inlines(words), ")") if words else "")
    return (Paragraph(("ahead of ", other, " by ", Figure(gap), ": ", *because)),)


def _explain_calibration(match: Json) -> tuple[Block, ...]:
    """Return the sums behind a score: as a sentence; as tables, with the result."""
    calibration = match["calibration"]
    # The score before two searches were merged.
    places = match.get("foundBy") or [{"weight": 1.0, "score": match["score"]}]
    score = max((one["weight"] * one["score"], one["score"]) for one in places)[1]
    cap: tuple[Inline, ...] = ()
    if calibration["cappedBy"] is not None:
        alone = f"; by itself {calibration['probability']:.6f}"
        cap = (f"{alone}, but no score is above that of ", CodeSpan(calibration["cappedBy"]))
    table = _tabulate_inputs("Calibration", calibration)
    sentence = f"score {score:.6f}: {_sum_inputs(calibration)}"
    conclusion = f"The logistic function of the sum is the score: {score:.6f}"
    answerable = calibration["answerable"]
    if answerable is None:
        return Paragraph((sentence, *cap)), table, Paragraph((conclusion, *cap, "."))
    factor = f"{answerable['probability']:.6f}"
    sentence = f"{sentence}; times {factor}, the probability that the catalog answers it: "
    conclusion = (
        "The score is the product of both logistic functions: the catalog answers the query "
        f"({factor}), and then this tool is the answer: {score:.6f}"
    )
    return (
        Paragraph((sentence, _sum_inputs(answerable), *cap)),
        table,
        _tabulate_inputs("Answerable", answerable),
        Paragraph((conclusion, *cap, ".")),
    )


def _sum_inputs(calibration: Json) -> str:
    """Return a sum of contributions as a sentence."""
    parts = [f"{calibration['intercept']:+.3f} to begin with"]
    parts += [
        f"{one['contribution']:+.3f} {one['input']} ({one['value']:.3f})"
        for one in calibration["inputs"]
        if one["contribution"]
    ]
    return f"logit {calibration['logit']:+.3f} = {', '.join(parts)}"


def _tabulate_inputs(title: str, calibration: Json) -> Table:
    rows: list[tuple[Inline, ...]] = [
        ("to begin with", "", "", Figure(calibration["intercept"], "+.6f"))
    ]
    for one in calibration["inputs"]:
        logit = Figure(one["contribution"], "+.6f")
        rows.append((one["input"], Figure(one["value"]), f"{one['coefficient']:g}", logit))
    rows.append(("sum", "", "", Figure(calibration["logit"], "+.6f")))
    heads = ("value", "coefficient", "logit")
    return Table(title, make_columns("input", *heads, numbers=heads), tuple(rows))


def _show_reached(
    identity: str, title: str, matches: Sequence[Json], expansions: Mapping[str, Json]
) -> Section:
    rows: list[tuple[Inline, ...]] = []
    for match in matches:
        one = expansions.get(match["toolId"]) or {"score": match["score"], "fromScore": 0.0}
        via = match["via"]
        sums = ("= ", Figure(via["weight"], ".3f"), " * ", Figure(one["fromScore"]), " of ")
        rows.append(
            (
                Figure(one["score"]),
                Styled(CodeSpan(match["toolId"]), "cyan"),
                (*sums, CodeSpan(via["from"])),
                Styled(CodeSpan(via["reason"]), "dim"),
            )
        )
    columns = (
        Column("score", is_number=True),
        Column("tool"),
        Column("sum", most=72),
        Column("reason", is_below=True),
    )
    table = (Table(title, columns, tuple(rows), wraps=True),) if rows else ()
    return Section(identity, title, table)


def _show_postings(details: Json) -> Section:
    if "lists" not in details:
        return Section("lists", "Found by words", ())
    most = max((row["most"] for row in details["lists"]), default=0.0)
    rows = tuple(
        (
            (CodeSpan(row["matched"]), " (related)" if row["kind"] == "related" else ""),
            format_count(row["tools"], "tool"),
            Bar(row["most"] / most if most else 0.0, 12),
            f"adds at most {row['most']:.3f}",
        )
        for row in details["lists"]
    )
    columns = (
        Column("word", most=24),
        Column("tools", is_number=True),
        Column(""),
        Column("bound"),
    )
    named = CodeSpan(", ".join(details["exactNames"]) or "none")
    counts = (
        f"together {details['found']}, candidates {details['pool']}, "
        f"best lexical score {details['bestLexical']:.3f}, named exactly: "
    )
    blocks = (Table("Words", columns, rows), Paragraph((counts, named)))
    return Section("lists", "Found by words", blocks)


def _show_features(details: Json) -> Section:
    rows = tuple(
        (
            row["feature"],
            format_count(row["tools"], "tool"),
            f"weight {row['weight']:g}",
            (f"best {row['best']:.3f} ", CodeSpan(row["bestTool"])) if row["bestTool"] else "-",
        )
        for row in details.get("channels", ())
    )
    columns = (Column("feature"), Column("tools", is_number=True), Column("weight"), Column("best"))
    return Section("channels", "Channels", (Table("Features", columns, rows),) if rows else ())


def stages_section(data: Json, *, shows_times: bool) -> list[Section]:
    """Return the section on the stages of *data*, if any."""
    stages = data["stages"]
    total = sum(stage["durationMs"] for stage in stages) or 1.0
    rows: list[tuple[Inline, ...]] = []
    tables: list[Block] = []
    for stage in stages:
        name, details, duration = stage["name"], stage["details"], stage["durationMs"]
        time: Inline = (Bar(duration / total), f" {duration:.3f} ms")
        items: list[Inline] = [
            (Styled(key, "dim"), " ", _show_value(value))
            for key, value in details.items()
            if value not in ([], None) and not _is_table(value)
        ]
        described = join_inlines(items, "  ") if items else "–"
        rows.append((name, time, described) if shows_times else (name, described))
        for key, value in details.items():
            if _is_table(value):
                heads = tuple(
                    Column(head, is_number=all(type(item[head]) in {int, float} for item in value))
                    for head in value[0]
                )
                cells = tuple(tuple(map(_show_value, one.values())) for one in value)
                shown = Table(f"{key} of the stage {name}", heads, cells)
                tables.append(Details(f"{name}: {key}", (shown,)))
    columns = make_columns("Stage", *(["Time"] if shows_times else []), "What it did")
    table = Table("The stages of the search", columns, tuple(rows))
    lead = "The way of the query, in order."
    return [Section("stages", "Stages", (table, *tables), lead)] if stages else []


def _is_table(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and one.keys() == value[0].keys() for one in value)
    )


def _show_value(value: Any) -> Inline:
    if isinstance(value, float):
        return Figure(value)
    if value is None:
        return "–"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return CodeSpan(", ".join(value))
    return CodeSpan(value if isinstance(value, str) else write_json(value))
