"""The blocks of an object of the schema `mcpg/explain/1` on one screen: query and reasons.

All are in words; `mcpg.show.explain` has the numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.show.blocks import (
    Bar,
    Block,
    Bullets,
    CodeSpan,
    Column,
    Entries,
    FactList,
    Figure,
    Inline,
    Json,
    Paragraph,
    Score,
    Section,
    Source,
    Styled,
    Table,
    ToolEntry,
    join_inlines,
    make_columns,
)
from mcpg.show.evaluation import list_changes
from mcpg.values import format_count

NEGLIGIBLE = 5e-7
"""A smaller difference of scores does not count."""

_WORDS_NAMED = 3
_FIELDS_NAMED = 4
_TOOLS_NAMED = 3
_LISTED = 8
_QUERY_SHOWN = 240
_REPAIRS_NAMED = 3
_TELLING = 0.2
"""The least share of the greatest advantage to mention."""

_FIELD_NAMES = {
    "parameters": "arguments",
    "generated": "generated texts",
    "parameter_texts": "arguments",
    "body": "document",
    "headings": "document",
    "topics": "document",
    "source": "server's name",
}
_GROUPS = {
    feature: (noun, verb)
    for noun, verb, features in (
        ("its words", "match better", ("bm25f", "cosine", "coverage", "sentence", "graphRank")),
        ("its name", "matches better", ("nameCoverage", "openingName")),
        ("its spelling", "is closer", ("grams",)),
        ("its server", "fits better", ("source",)),
        ("its related words", "match better", ("related", "relatedName")),
        ("its kind of operation", "fits better", ("operation", "question")),
        (
            "its links to tools in use",
            "are stronger",
            ("contextEdge", "contextWalk", "contextSource"),
        ),
        ("its exact name", "is in the query", ("exactName",)),
        ("its part of the query", "is still open", ("intent",)),
        ("its meaning", "is closer", ("meaning", "vectorCosine", "closeness", "vectorRank")),
    )
    for feature in features
}
"""The nouns and verbs for the features of the fused score."""

_EXPANSIONS = {
    "prerequisites": "prerequisites",
    "related": "relatedMatches",
    "next steps": "nextStepMatches",
}
_LINKED = "linked tools (strength of the link)"
_INEXACT = ("typo", "prefix", "compound", "spelling", "alias")


def summary_blocks(data: Json, *, shows_times: bool = False) -> list[Block]:
    """Return the summary of *data*, the JSON of `explain`."""
    matches = data["matches"]
    linked: list[tuple[str, Inline]] = []
    for name, member in _EXPANSIONS.items():
        found, rest = data[member][:_TOOLS_NAMED], len(data[member]) - _TOOLS_NAMED
        shown: list[Inline] = [
            (CodeSpan(one["toolId"]), " ", Score(one["via"]["weight"])) for one in found
        ]
        if found:
            linked.append((name, (join_inlines(shown), f" and {rest} more" if rest > 0 else "")))
    ends: list[tuple[str, Inline]] = [("try", CodeSpan(advice)) for advice in data["advice"]]
    if matches and "contributions" in matches[0]:
        ends.insert(0, ("confidence", _explain_confidence(matches, data["words"])))
    if matches:
        ends.append(("more", "-v for all numbers; --tool ID for why a tool is not first"))
    blocks: list[Block] = [
        FactList(tuple(_list_query_facts(data))),
        _tabulate_matches(matches, data["words"]) if matches else Paragraph("No tool matches."),
        Section("linked", "Linked tools", (FactList(tuple(linked)),), heading=_LINKED),
        *([timings(data["stages"])] if shows_times else []),
        FactList(tuple(ends)),
    ]
    return [one for one in blocks if not isinstance(one, FactList) or one.rows]


def _list_query_facts(data: Json) -> Iterator[tuple[str, Inline]]:
    query, mode = data["query"], data["rankingMode"]
    is_long = len(query) > _QUERY_SHOWN
    shown = CodeSpan(f"{query[:_QUERY_SHOWN].rstrip()}…" if is_long else query)
    without = "(none: every tool by name)" if mode == "browse" else "(none)"
    yield "query", shown if query else without
    yield "rewritten", CodeSpan(data.get("normalizedQuery") or "")
    yield "filter", about_filter(data.get("filter"))
    if mode not in (data["strategy"], "browse", "empty"):
        yield "strategy", f"{data['strategy']}, ranked by {mode}"
    words = [word for word in data["words"] if word["origin"] != "context"]
    yield "repaired", _format_rewritten_words(words, _INEXACT)
    yield "translated", _format_rewritten_words(words, ("translation",))
    related = [word["text"] for word in words if not word["repairs"] and word["related"]]
    yield "related", _format_names(related, ": no tool has it; related words count instead")
    unknown = [word["text"] for word in words if word["role"] == "unknown" and not word["related"]]
    yield "unknown", _format_names(unknown, ": no tool has it, nor a word like it")
    yield "literals", _format_names([word["text"] for word in words if word["role"] == "literal"])
    dropped = [word["text"] for word in words if word["role"] == "function word"]
    remark = " (stop words)" if len(dropped) > 1 else " (a stop word)"
    yield "dropped", _format_names(dropped, remark)


def _format_rewritten_words(words: Iterable[Json], kinds: Sequence[str]) -> Inline:
    parts: list[Inline] = []
    for word in words:
        repairs = word["repairs"][:_REPAIRS_NAMED]
        if repairs and repairs[0]["kind"] in kinds:
            shown = join_inlines([CodeSpan(one["word"]) for one in repairs], " or ")
            parts.append((CodeSpan(word["text"]), " → ", shown))
    return join_inlines(parts)


def _format_names(names: Iterable[str], remark: str = "") -> Inline:
    found: list[Inline] = [CodeSpan(name) for name in dict.fromkeys(names)]
    rest = len(found) - _LISTED
    more = f" and {rest:,} more" if rest > 0 else ""
    return (join_inlines(found[:_LISTED]), more, remark) if found else ""


def _tabulate_matches(matches: Sequence[Json], words: Sequence[Json]) -> Table:
    is_ranked = "contributions" in matches[0]
    asked = {word["text"] for word in words if word["role"] != "identifier"}
    rows = tuple(
        (
            str(rank),
            Score(match["score"]) if is_ranked else "",
            Styled(CodeSpan(match["toolId"]), "cyan"),
            CodeSpan(about_match(match)),
            _format_held_words(match, asked) if is_ranked else "",
            ", ".join(
                f"number {one['rank']} by the {one['text']}" for one in match.get("foundBy", ())
            ),
            _explain_place(match, following) if is_ranked else "",
        )
        for rank, (match, following) in enumerate(zip_longest(matches, matches[1:]), start=1)
    )
    below = ("has", "found", "ahead")
    heads = ("#", "score", "tool", "description", *below)
    columns = make_columns(*heads, numbers=("#",), below=below, whole=("tool",))
    return Table("Matches", columns, rows, has_heads=True)


def _format_held_words(match: Json, asked: set[str]) -> Inline:
    """Return the words in each field of *match*, the heaviest first."""
    sums = {one["feature"]: one["contribution"] for one in match["contributions"]}
    is_exact = sums.get("exactName", 0.0) > 0
    found: dict[str, list[Json]] = defaultdict(list)
    for term in match["terms"]:
        if term["query"] in asked or not is_exact:  # otherwise a name written as one word
            # As the query spells it, if the tool has the same word.
            is_same = term["kind"] in ("exact", "alias", "stem")
            found[term["query" if is_same else "matched"]].append(term)
    parts: list[Inline] = ["its name or an alias, which the query spells"] if is_exact else []
    parts += _name_fields([*found.items()][:_WORDS_NAMED])
    rest = len(found) - _WORDS_NAMED
    parts += [format_count(rest, "other word")] if rest > 0 else []
    if not parts:
        reasons = [f", but {noun} {verb}" for noun, verb in _rank_advantages(sums)[:1]]
        parts.append(f"no word of the query{''.join(reasons)}")
    if sums.get("meaning", 0.0) > NEGLIGIBLE:
        parts.append(("near in meaning ", Figure(match["nearness"], ".2f")))
    missing = match["evidence"]["missing"]
    if missing:
        more = f" and {len(missing) - _WORDS_NAMED} more" if len(missing) > _WORDS_NAMED else ""
        parts.append(("lacks ", _format_names(missing[:_WORDS_NAMED], more)))
    return join_inlines(parts, "; ")


def _name_fields(found: Sequence[tuple[str, Sequence[Json]]]) -> Iterator[Inline]:
    """Yield words by their fields; the more words, the fewer fields are named."""
    groups: dict[tuple[str, ...], list[Inline]] = defaultdict(list)
    for word, terms in found:
        places: list[str] = [one["field"] for one in terms]
        fields = dict.fromkeys(_FIELD_NAMES.get(place, place) for place in places)
        shown: Inline = CodeSpan(word)
        if all(term["kind"] == "related" for term in terms):
            origins = dict.fromkeys(term["query"] for term in terms)
            shown = (shown, " (related to ", join_inlines([*map(CodeSpan, origins)]), ")")
        groups[tuple(fields)[: max(1, _FIELDS_NAMED // len(found))]].append(shown)
    for (*head, last), words in groups.items():
        fields_named = f"{', '.join(head)} and {last}" if head else last
        yield (join_inlines(words), f" in its {fields_named}")


def _explain_place(match: Json, following: Json | None) -> Inline:
    if following is None or match.get("foundBy"):
        return ""
    other = CodeSpan(following["toolId"])
    if match["fusedScore"] - following["fusedScore"] < NEGLIGIBLE:
        return ("of ", other, " by its smaller id")
    gaps = sum_differences(match, following, "contributions", "feature")
    return ("of ", other, f" by {gains(gaps)}")


def sum_differences(match: Json, other: Json, parts: str, key: str) -> dict[str, float]:
    """Return by how much the sums of *parts* of two matches differ, by *key*."""
    gaps: dict[str, float] = defaultdict(float)
    for one, sign in ((match, 1), (other, -1)):
        for part in one[parts]:
            gaps[part[key]] += sign * part["contribution"]
    return gaps


def gains(gaps: Mapping[str, float]) -> str:
    """Return in nouns the two greatest advantages of a tool by its *gaps*."""
    return " and ".join(noun for noun, _ in _rank_advantages(gaps)[:2])


def _rank_advantages(gaps: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the noun and the verb of each important group of features, the greatest first."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for feature, gap in gaps.items():
        sums[_GROUPS.get(feature, (feature, "is greater"))] += gap
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    least = max(NEGLIGIBLE, _TELLING * max(sums.values(), default=0.0))
    return [group for group, gap in ordered if gap >= least]


def _explain_confidence(matches: Sequence[Json], words: Sequence[Json]) -> Inline:
    """Return why the best score is as high as it is, and no higher."""
    score, evidence = matches[0]["score"], matches[0]["evidence"]
    low = f", low (below {LOW_CONFIDENCE:g})" if score < LOW_CONFIDENCE else ""
    asked = [
        word for word in words if word["origin"] == "query" and word["role"] in ("term", "unknown")
    ]
    held = [word for word in asked if word["text"] in evidence["terms"]]
    kinds = [word["repairs"][0]["kind"] for word in held if word["repairs"]]
    repaired = sum(kind in _INEXACT for kind in kinds)
    near = len(asked) - len(held) - sum(word["text"] in evidence["missing"] for word in asked)
    share = f"{len(held):,} of {format_count(len(asked), 'word')} of the query"
    if not held:
        share = "no word of the query"
    elif len(held) == len(asked):
        share = (
            f"all {len(held):,} words of the query" if held[1:] else "the only word of the query"
        )
    reasons: list[Inline] = [share]
    if repaired:
        reasons.append(f"{repaired} of them repaired" if len(held) > 1 else "repaired")
    if near and held:
        reasons.append(f"and words related to {near:,} more")
    elif near:
        which = f"{near:,} of {len(asked):,}" if len(asked) > 1 else "it"
        reasons.append(f"but words related to {which}")
    has: Inline = ("the best match has ", join_inlines(reasons))
    if matches[1:]:
        has = (has, "; the second scores ", Score(matches[1]["score"]))
    return (Score(score), low, ": ", has)


def about_filter(conditions: Json | None) -> Inline:
    """Return the conditions of the filter and how many tools it leaves, "" if none is set."""
    if not conditions:
        return ""
    names = {"source": conditions["sources"], "category": conditions["categories"]}
    parts = [f"{kind} {' or '.join(found)}" for kind, found in names.items() if found]
    parts += ["read-only"] if conditions["readOnly"] else []
    left = f"{conditions['tools']:,} of {format_count(conditions['of'], 'tool')}"
    return (CodeSpan("; ".join(parts)), f": leaves {left}")


def about_match(match: Json) -> str:
    """Return one line on the tool: its title, if that adds information, and its description."""
    title, description = match["displayName"], match["description"]
    names = {match["toolName"], match["toolId"], ""}
    state = "" if match["isEnabledByDefault"] else "(disabled) "
    return state + ": ".join(filter(None, ("" if title in names else title, description)))


def timings(stages: Sequence[Json]) -> Section:
    """Return the section on how long each of *stages* took."""
    rows = tuple((one["name"], f"{one['durationMs']:.3f} ms") for one in stages)
    columns = make_columns("stage", "time", numbers=("time",))
    return Section("timings", "Timings", (Table("Timings", columns, rows),))


def rank_explanation_blocks(query: str, tool: Json, snippet: str = "") -> list[Block]:
    """Return the blocks on *tool*: its rank, the tools above with reasons, and a change to lift it.

    *tool* is the member of the explanation, *snippet* the lines of a hints file for the change.
    """
    change, remark, heading = tool["change"], tool["remark"], Styled("change", "bold")
    changes: list[Block] = []
    if change is not None:
        what, proof = _describe_additions(change)
        after = (f"; then: rank {change['rankAfter']}, score ", Figure(change["scoreAfter"]))
        changes.append(Paragraph((heading, ": ", what, *after, proof)))
    if remark:
        note: Inline = CodeSpan(remark)
        changes.append(Paragraph(note if change else (heading, ": none: ", note)))
    return [
        FactList((("query", CodeSpan(query)), *_list_rank_facts(tool, is_whole=True))),
        Entries("rival", tuple(map(_make_rival_entry, tool["above"]))),
        *changes,
        *_show_consequences(tool, snippet),
    ]


def rank_summary_blocks(query: str, tool: Json, snippet: str = "") -> list[Block]:
    """Return the summary of *tool*, on one screen; arguments as `rank_explanation_blocks`."""
    change, remark = tool["change"], tool["remark"]
    lift: list[tuple[str, Inline]] = []
    if change is not None:
        what, proof = _describe_additions(change)
        after = (f"; then rank {change['rankAfter']}, score ", Score(change["scoreAfter"]))
        lift.append(("change", (what, *after, proof)))
    if remark:
        lift.append(("but" if change else "change", CodeSpan(remark)))
    return [
        FactList((("query", CodeSpan(query)), *_list_rank_facts(tool, is_whole=False))),
        *([_tabulate_rivals(tool["above"])] if tool["above"] else []),
        FactList((*lift, ("more", "-v for all numbers"))),
        *_show_consequences(tool, snippet),
    ]


def _list_rank_facts(tool: Json, *, is_whole: bool) -> Iterator[tuple[str, Inline]]:
    fused: Inline = (", fused ", Figure(tool["fusedScore"])) if is_whole else ""
    unmet = join_inlines([CodeSpan(reason) for reason in tool["unmet"]])
    yield "tool", CodeSpan(tool["toolId"])
    if tool["unmet"]:
        yield "rank", ("none: the filter leaves it out", fused if is_whole else (": ", unmet))
    elif tool["isHidden"]:
        yield "rank", ("none: it is disabled by default", fused)
    elif tool["rank"] is None:
        yield "rank", (f"none among {tool['ranked']:,}", fused)
    else:
        score = Figure(tool["score"]) if is_whole else Score(tool["score"])
        yield "rank", (f"{tool['rank']:,} of {tool['ranked']:,}, score ", score, fused)
    if is_whole and unmet:
        yield "filter", unmet
    if is_whole or not tool["retrieval"]["isPooled"]:
        yield "by its words", _describe_retrieval(tool["retrieval"])
    yield "lacks", join_inlines([CodeSpan(word) for word in tool["missing"]])


def _describe_retrieval(retrieval: Json) -> str:
    place, pool, lexical = retrieval["place"], retrieval["pool"], retrieval["lexical"]
    if not lexical and not place:
        return "not found: it contains no word of the query"
    found = f"place {place:,}" if place else f"beyond {retrieval['retrieved']:,}"
    known = f"{found}, {lexical:.3f} of the query" if lexical else f"{found}, by related words"
    if retrieval["isPooled"]:
        return known
    return f"{known}; only the first {pool}, down to {retrieval['last']:.3f}, are candidates"


def _tabulate_rivals(rivals: Sequence[Json]) -> Table:
    rows: list[tuple[Inline, ...]] = []
    for rival in rivals:
        gaps = {one["feature"]: one["difference"] for one in rival["features"]}
        alone = [
            CodeSpan(one["query"]) for one in rival["words"] if one["other"] and not one["own"]
        ]
        reasons: list[Inline] = [" ".join(group) for group in _rank_advantages(gaps)[:3]]
        reasons += [("only it matches ", join_inlines([*alone]))] if alone else []
        name = Styled(CodeSpan(rival["toolId"]), "cyan")
        because = join_inlines(reasons) or "the smaller id"
        rows.append((str(rival["rank"]), Score(rival["score"]), name, because))
    heads = ("#", "score", "above it", "because")
    columns = make_columns(*heads, numbers=("#",), whole=("above it",))
    return Table("Above it", columns, tuple(rows), has_heads=True, wraps=True)


def _make_rival_entry(rival: Json) -> ToolEntry:
    gap, name = rival["gap"], rival["toolId"]
    ahead = "  ahead by " if gap >= 0 else "  behind by "
    scores = ("score ", Figure(rival["score"]), "  fused ", Figure(rival["fusedScore"]))
    rows = tuple(
        (
            CodeSpan(word["query"]),
            f"{word['share']:.0%} of the query",
            (Figure(word["own"], ".3f"), " here"),
            (Figure(word["other"], ".3f"), " in ", CodeSpan(name)),
        )
        for word in rival["words"]
    )
    columns = make_columns("word", "share", "here", "there", numbers=("share", "here"))
    shown = [(one, one["difference"]) for one in rival["features"]]
    shown = [(one, more) for one, more in shown if abs(more) >= NEGLIGIBLE]
    largest = max((abs(more) for _, more in shown), default=1.0)
    features = tuple(
        (
            CodeSpan(one["feature"]),
            Bar(abs(more) / largest, style="red" if more > 0 else "green"),
            Figure(more, "+.6f"),
            ("= ", Figure(one["other"]), " - ", Figure(one["own"])),
        )
        for one, more in shown
    )
    heads = make_columns("feature", "", "gap", "there and here", numbers=("gap",))
    blocks = (
        Table("Features", heads, features),
        Bullets(tuple(map(CodeSpan, rival["because"]))),
        *((Table("Words", columns, rows),) if rows else ()),
    )
    return ToolEntry(rival["rank"], name, (*scores, ahead, Figure(abs(gap))), blocks=blocks)


def _describe_additions(change: Json) -> tuple[Inline, str]:
    hints = change["hints"]
    what: list[Inline] = ["enable it"] if hints.get("enabledByDefault") else []
    what += [("add the keyword ", CodeSpan(word, is_quoted=True)) for word in hints["keywords"]]
    what += [("add the alias ", CodeSpan(alias, is_quoted=True)) for alias in hints["aliases"]]
    proof = "bundled and searched again" if change["verified"] else "not tried on a new bundle"
    return join_inlines(what), f" ({proof})"


def _show_consequences(tool: Json, snippet: str) -> Iterator[Block]:
    """Return the effect of the change on judged queries, and the change to paste."""
    if effect := tool.get("effect"):
        before, now = (effect["metrics"]["ndcg@5"][side] for side in ("before", "now"))
        gain = "" if before is None or now is None else f", nDCG@5 {before:.3f} to {now:.3f}"
        moved = f"{len(effect['better'])} better, {len(effect['worse'])} worse"
        queries = format_count(effect["common"], "query", "queries")
        blocks = (Paragraph(f"{queries}{gain}, {moved}"), *list_changes(effect))
        title = "Effect on other judged queries"
        yield Section("effect", title, blocks, heading="judged queries")
    if tool.get("missed"):
        rows = tuple(
            (
                CodeSpan(one["query"]),
                CodeSpan(one["alias"], is_quoted=True),
                f"rank {one['rank'] or 'none'}",
                f"then {one['rankAfter']}",
            )
            for one in tool["missed"]
        )
        columns = (
            Column("query", most=48),
            Column("alias", most=60),
            Column("rank"),
            Column("then"),
        )
        title = "Judged queries that it misses, and their aliases"
        table = Table("Missed queries", columns, rows)
        yield Section("missed", title, (table,), heading="missed")
    if snippet:
        # The comment belongs to the pasted text.
        yield Source(snippet, "yaml")
