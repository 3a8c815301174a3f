"""What is shown of an object of the schema `mcpg/explain/1`: a search, and how it came about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    Notices,
    Paragraph,
    Section,
    Styled,
    Table,
    ToolEntry,
    join_inlines,
)
from mcpg.show.explain_summary import about_filter, about_match, timings
from mcpg.text.json_values import write_json
from mcpg.values import format_count

Json = Mapping[str, Any]

_NEGLIGIBLE = 5e-7
_REASONS_SHOWN = 3
_RELATED_SHOWN = 4
_UNREPAIRED = {
    "function word": "dropped: a function word",
    "literal": "a literal",
    "unknown": "unknown: a word that no tool has, nor one near it",
}


def explain_blocks(data: Json, *, shows_times: bool = False) -> list[Section]:
    """Return the sections on *data*, which has what `explain` prints as JSON.

    Times differ from run to run, so they are left out unless *shows_times*.
    """
    stages = {stage["name"]: stage["details"] for stage in data["stages"]}
    model = data["model"]
    sections = [
        Section("query", "Query", (FactList(_facts(data, stages)),), heading=""),
        _words(data["words"]),
        _matches(data["matches"]),
        _reached_section("before", "Prerequisites", data["prerequisites"], data["expansions"]),
        _reached_section("related", "Related", data["relatedMatches"], data["expansions"]),
        _reached_section("next", "Next steps", data["nextStepMatches"], data["expansions"]),
        _lists(stages.get("retrieve")),
        _channels(stages.get("fuse")),
        Section("model", "Model", (Paragraph(_model(model)),) if model else ()),
        timings(data["stages"]) if shows_times else None,
        Section("advice", "Advice", _bullets(map(CodeSpan, data["advice"]))),
        Section("diagnostics", "Diagnostics", _notices(data["diagnostics"])),
    ]
    return [one for one in sections if one is not None and any(one.blocks)]


def _bullets(items: Iterable[Inline]) -> tuple[Block, ...]:
    found = tuple(items)
    return (Bullets(found),) if found else ()


def _notices(items: Sequence[Json]) -> tuple[Block, ...]:
    return (Notices(tuple(items)),) if items else ()


def _facts(data: Json, stages: Mapping[str, Json]) -> tuple[tuple[str, Inline], ...]:
    reading = stages.get("analyse", {})
    folded = " ".join(reading.get("normalized", "").split())
    graph = data["focusedGraph"]
    sentences = " | ".join(" ".join(words) for words in reading.get("sentences", ()))
    return (
        ("query", CodeSpan(data["query"]) if data["query"] else "(none: every tool by name)"),
        ("rewritten", CodeSpan(data.get("normalizedQuery") or "")),
        ("filter", about_filter(data.get("filter"))),
        ("strategy", f"{data['strategy']}, ranked by {data['rankingMode']}"),
        ("normalised", CodeSpan(folded) if folded != " ".join(data["query"].split()) else ""),
        ("identifiers", CodeSpan(", ".join(reading.get("identifiers", ())))),
        ("sentences", CodeSpan(sentences)),
        ("language", data.get("language") or ""),
        ("rewriting", _rewriting(stages.get("normalise"))),
        ("graph", f"{graph['nodes']} nodes, {graph['edges']} edges"),
    )


def _rewriting(details: Json | None) -> Inline:
    """Return what became of a rewriting of the query, "" where none was asked for."""
    if not details:
        return ""
    trust, reason = details.get("trust"), details.get("reason")
    told = [str(details["outcome"])]
    told += [f"trusted {trust:.3f}"] if isinstance(trust, float) else []
    told += [str(reason)] if reason else []
    return CodeSpan(", ".join(told))


def _model(model: Json) -> Inline:
    return (CodeSpan(model["name"]), ": ", CodeSpan(model["provenance"]))


# Words


def _words(words: Sequence[Json]) -> Section:
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
        Column("what it became", most=60),
        Column("tools", is_number=True),
        Column("share", is_number=True),
        Column(""),
        Column("from"),
        *((Column("related", is_below=True),) if has_related else ()),
    )
    lead = (
        "Function words are dropped; unknown words are looked for among the catalogue's own. "
        "Rare words weigh more. A related word is not the word, and counts less."
    )
    table = (Table("What became of each word", columns, rows),) if rows else ()
    return Section("words", "What the query became", table, lead, "words")


def format_rewritten_word(word: Json) -> Inline:
    """Return what became of *word*."""
    if not word["repairs"]:
        if word["related"]:
            return Styled("no tool has it, but related words", "yellow")
        kind = f": {word['literal']}" if word["literal"] else ""
        style = "yellow" if word["role"] == "unknown" else "dim"
        return Styled(f"{_UNREPAIRED[word['role']]}{kind}", style)
    stem: Inline = "" if word["stem"] == word["text"] else (" (stem ", CodeSpan(word["stem"]), ")")
    return join_inlines(
        [
            ("kept", stem)
            if one["kind"] == "exact"
            else ("→ ", CodeSpan(one["word"]), _nearness(one))
            for one in word["repairs"]
        ],
        "; ",
    )


def format_related_words(word: Json) -> Inline:
    """Return the words of the catalogue that are most related to *word*."""
    nearest = word["related"][:_RELATED_SHOWN]
    return join_inlines([(CodeSpan(one["word"]), f" {one['similarity']:.2f}") for one in nearest])


def _nearness(repair: Json) -> str:
    """Return how near the word that was taken is to the one that was typed."""
    edits = f", {format_count(repair['distance'], 'edit')}" if repair["distance"] else ""
    return f" ({repair['kind']}{edits}, similarity {repair['similarity']:.2f})"


# Matches


def _matches(matches: Sequence[Json]) -> Section:
    colors = feature_colors(matches)
    explained = [match for match in matches if "contributions" in match]
    largest = max((abs(match["fusedScore"]) for match in explained), default=0.0)
    items = tuple(
        _match(rank, match, following, colors, largest, _span(explained))
        for rank, (match, following) in enumerate(zip_longest(matches, matches[1:]), start=1)
    )
    legend = (Chart("legend", (colors,)),) if colors else ()
    lead = (
        "The score says how likely the match is wanted, from 0 to 1. The bar shows what the fused "
        "score, which decides the order, is the sum of; all bars have one scale."
    )
    blocks = (*legend, Entries("match", items)) if items else (Paragraph("No tool matches."),)
    return Section("matches", "Matches", blocks, lead if colors else "", "")


def feature_colors(matches: Sequence[Json]) -> dict[str, int]:
    """Return a colour for each feature that contributes to some match, the weightiest first."""
    sums: dict[str, float] = defaultdict(float)
    for match in matches:
        for part in match.get("contributions", ()):
            sums[part["feature"]] += abs(part["contribution"])
    ordered = sorted((-total, name) for name, total in sums.items() if total)
    return {name: color for color, (_, name) in enumerate(ordered)}


def _span(matches: Sequence[Json]) -> tuple[float, float]:
    sizes = [[part["contribution"] for part in match["contributions"]] for match in matches]
    low = min((sum(size for size in one if size < 0) for one in sizes), default=0.0)
    return low, max((sum(size for size in one if size > 0) for one in sizes), default=0.0)


def _match(
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
    fused, score = match["fusedScore"], match["score"]
    places = match.get("foundBy")
    sizes = {part["feature"]: part["contribution"] for part in match["contributions"]}
    parts = tuple((name, sizes[name]) for name in colors if sizes.get(name))
    contributions, terms = _contributions(match, largest), _terms(match)
    blocks = (
        Chart("evidence", (match["evidence"],)),
        Chart("stacked_bar", (parts, span, colors)),
        *((Paragraph(_found_by(match, places)),) if places else _ahead(match, following)),
        Details(
            "How the score came about",
            (contributions, *_silent(match), *terms, *_calibration(match)),
            (contributions, *terms, _explain_calibration(match)),
            is_open=rank == 1,
        ),
    )
    figures = ("score ", Figure(score), "  fused ", Figure(fused))
    return ToolEntry(rank, match["toolId"], figures, about, blocks, score, match["sourceId"])


def _contributions(match: Json, largest: float) -> Table:
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


def _silent(match: Json) -> tuple[Block, ...]:
    silent = [part["feature"] for part in match["contributions"] if not part["contribution"]]
    return (Paragraph(f"Nothing from {', '.join(silent)}."),) if silent else ()


def _terms(match: Json) -> tuple[Block, ...]:
    """Return a row for each word of the query: what it matched, in which fields, for how much."""
    fields: dict[tuple[str, str, str], list[Inline]] = defaultdict(list)
    for term in match["terms"]:
        place = (f"{term['field']} ", Figure(term["contribution"], "+.3f"))
        fields[term["query"], term["matched"], term["kind"]].append(place)
    rows = tuple(
        (_format_word_match(*key), ("in ", join_inlines(places))) for key, places in fields.items()
    )
    table = Table("Words in fields", (Column("word", most=40), Column("fields")), rows, wraps=True)
    return (table,) if rows else ()


def _format_word_match(query: str, word: str, kind: str) -> Inline:
    if kind == "exact":
        return CodeSpan(query)
    arrow: Inline = () if query == word else (" → ", CodeSpan(word))
    return (CodeSpan(query), arrow, f" ({kind})")


def _found_by(match: Json, places: Sequence[Json]) -> Inline:
    """Return how the searches of a query and of its rewrite make up a score."""
    parts: list[Inline] = [
        f"{one['weight']:.3f} * {one['score']:.6f} (number {one['rank']} by the {one['text']})"
        for one in places
    ]
    return (f"score {match['score']:.6f} = ", join_inlines(parts, " + "))


def _ahead(match: Json, following: Json | None) -> tuple[Block, ...]:
    """Return why a match stands before the next."""
    if following is None or "contributions" not in following:
        return ()
    other = CodeSpan(following["toolId"])
    gap = match["fusedScore"] - following["fusedScore"]
    if gap < _NEGLIGIBLE:
        return (Paragraph(("level with ", other, ": the smaller tool id goes first")),)
    features = _largest(match, following, "contributions", "feature")
    words = _largest(match, following, "terms", "query")
    because = (join_inlines(features), (" (", join_inlines(words), ")") if words else "")
    return (Paragraph(("ahead of ", other, " by ", Figure(gap), ": ", *because)),)


def _largest(match: Json, other: Json, parts: str, key: str) -> list[Inline]:
    """Return the largest differences between the sums of *parts* of two matches, by *key*."""
    gaps: dict[str, float] = defaultdict(float)
    for one, sign in ((match, 1), (other, -1)):
        for part in one[parts]:
            gaps[part[key]] += sign * part["contribution"]
    ordered = sorted(gaps.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [item for item in ordered if abs(item[1]) >= _NEGLIGIBLE][:_REASONS_SHOWN]
    return [(CodeSpan(name), " ", Figure(gap, "+.3f")) for name, gap in shown]


def _own_score(match: Json) -> float:
    """Return the score that the calibration came to, before two searches were merged."""
    places = match.get("foundBy") or [{"weight": 1.0, "score": match["score"]}]
    score: float = max((one["weight"] * one["score"], one["score"]) for one in places)[1]
    return score


def _explain_calibration(match: Json) -> Paragraph:
    calibration = match["calibration"]
    parts = [f"{calibration['intercept']:+.3f} to begin with"]
    parts += [
        f"{one['contribution']:+.3f} {one['input']} ({one['value']:.3f})"
        for one in calibration["inputs"]
        if one["contribution"]
    ]
    score = f"score {_own_score(match):.6f}: logit {calibration['logit']:+.3f}"
    return Paragraph((f"{score} = {', '.join(parts)}", *_format_cap(calibration)))


def _calibration(match: Json) -> tuple[Block, ...]:
    calibration = match["calibration"]
    rows: tuple[tuple[Inline, ...], ...] = (
        ("to begin with", "", "", Figure(calibration["intercept"], "+.6f")),
        *(
            (
                one["input"],
                Figure(one["value"]),
                f"{one['coefficient']:g}",
                Figure(one["contribution"], "+.6f"),
            )
            for one in calibration["inputs"]
        ),
        ("sum", "", "", Figure(calibration["logit"], "+.6f")),
    )
    columns = (
        Column("input"),
        *(Column(name, is_number=True) for name in ("value", "coefficient", "logit")),
    )
    told = f"The logistic function of the sum is the score: {_own_score(match):.6f}"
    return Table("Calibration", columns, rows), Paragraph((told, *_format_cap(calibration), "."))


def _format_cap(calibration: Json) -> tuple[Inline, ...]:
    if calibration["cappedBy"] is None:
        return ()
    alone = f"; alone it would be {calibration['probability']:.6f}, but no score is above that of "
    return (alone, CodeSpan(calibration["cappedBy"]))


# What the edges and the stages of the search brought


def _reached_section(
    identity: str, title: str, matches: Sequence[Json], expansions: Sequence[Json]
) -> Section:
    scores = {one["toolId"]: one for one in expansions}
    rows = []
    for match in matches:
        one = scores.get(match["toolId"]) or {"score": match["score"], "fromScore": 0.0}
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
    sums_column, reason = Column("sum", most=72), Column("reason", is_below=True)
    columns = (Column("score", is_number=True), Column("tool"), sums_column, reason)
    table = (Table(title, columns, tuple(rows), wraps=True),) if rows else ()
    return Section(identity, title, table)


def _lists(details: Json | None) -> Section | None:
    """Return what was looked up in the index, and in how many tools it stands."""
    if not details or "lists" not in details:
        return None
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
    found = f"together {details['found']}, looked at {details['pool']}"
    named = CodeSpan(", ".join(details["exactNames"]) or "none")
    best = f"best lexical score {details['bestLexical']:.3f}"
    told = Paragraph((f"{found}, {best}, named exactly: ", named))
    return Section("lists", "Found by words", (Table("Words", columns, rows), told))


def _channels(details: Json | None) -> Section | None:
    """Return each feature: its weight, how many tools have it, which most."""
    channels = details.get("channels") if details else None
    if not channels:
        return None
    rows = tuple(
        (
            row["feature"],
            format_count(row["tools"], "tool"),
            f"weight {row['weight']:g}",
            (f"best {row['best']:.3f} ", CodeSpan(row["bestTool"])) if row["bestTool"] else "-",
        )
        for row in channels
    )
    columns = (Column("feature"), Column("tools", is_number=True), Column("weight"), Column("best"))
    return Section("channels", "Channels", (Table("Features", columns, rows),))


# Details of all stages, for HTML


def stages_section(data: Json, *, shows_times: bool) -> list[Section]:
    """Return the section on the stages of *data*, none where there are none."""
    stages = data["stages"]
    total = sum(stage["durationMs"] for stage in stages) or 1.0
    rows = tuple(
        (
            stage["name"],
            *((_time(stage["durationMs"], total),) if shows_times else ()),
            _details(stage["details"]),
        )
        for stage in stages
    )
    columns = (Column("Stage"), *((Column("Time"),) if shows_times else ()), Column("What it did"))
    tables = (
        Details(f"{stage['name']}: {name}", (_unfold_stage(stage["name"], name, value),))
        for stage in stages
        for name, value in stage["details"].items()
        if _is_table(value)
    )
    blocks: tuple[Block, ...] = (Table("The stages of the search", columns, rows), *tables)
    lead = "The way of the query, in order."
    return [Section("stages", "Stages", blocks, lead)] if stages else []


def _time(duration: float, total: float) -> Inline:
    return (Bar(duration / total), f" {duration:.3f} ms")


def _details(details: Json) -> Inline:
    items: list[Inline] = [
        (Styled(name, "dim"), " ", _value(value))
        for name, value in details.items()
        if value not in ([], None) and not _is_table(value)
    ]
    return join_inlines(items, "  ") if items else "–"


def _is_table(value: Any) -> bool:
    """Return whether *value* is a list of objects that have the same members."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and one.keys() == value[0].keys() for one in value)
    )


def _unfold_stage(stage: str, name: str, items: Sequence[Json]) -> Table:
    columns = tuple(
        Column(key, is_number=all(type(item[key]) in {int, float} for item in items))
        for key in items[0]
    )
    rows = tuple(tuple(_value(part) for part in item.values()) for item in items)
    return Table(f"{name} of the stage {stage}", columns, rows)


def _value(value: Any) -> Inline:
    if isinstance(value, float):
        return Figure(value)
    if value is None:
        return "–"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return CodeSpan(", ".join(value))
    return CodeSpan(value if isinstance(value, str) else write_json(value))
