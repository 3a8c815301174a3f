"""An object of the schema `mcpg/explain/1` on one screen: the query, and why each match is there.

Everything is said in words; `mcpg.show.explain` has the numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from mcpg.search.confidence import LOW_CONFIDENCE
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
    Paragraph,
    Score,
    Section,
    Source,
    Styled,
    Table,
    ToolEntry,
    join_inlines,
)
from mcpg.show.evaluation import list_changes
from mcpg.values import format_count

Json = Mapping[str, Any]

MORE = "-v for all numbers; --tool ID for why a tool is not first"

_NEGLIGIBLE = 5e-7
_WORDS_NAMED = 3
_FIELDS_NAMED = 4
_TOOLS_NAMED = 3
_LISTED = 8
_QUERY_SHOWN = 240
_REPAIRS_NAMED = 3
_TELLING = 0.2
"""The least share of the greatest advantage that is worth naming."""

_FIELD_NAMES = {
    "parameters": "arguments",
    "parameter_texts": "arguments",
    "body": "document",
    "headings": "document",
    "topics": "document",
    "source": "server's name",
}
_GROUPS = (
    ("its words", "match better", ("bm25f", "cosine", "coverage", "sentence", "graphRank")),
    ("its name", "matches better", ("nameCoverage", "openingName")),
    ("its spelling", "is closer", ("grams",)),
    ("its server", "fits better", ("source",)),
    ("its related words", "match better", ("related", "relatedName")),
    ("its kind of operation", "fits better", ("operation", "question")),
    ("its links to tools in use", "are stronger", ("contextEdge", "contextWalk", "contextSource")),
    ("its exact name", "is in the query", ("exactName",)),
    ("its part of the query", "is still open", ("intent",)),
    ("its meaning", "is closer", ("vectorCosine", "closeness", "vectorRank")),
)
_GROUP_OF = {feature: group for group in _GROUPS for feature in group[2]}
_LINKED = "linked tools (strength of the link)"
_INEXACT = ("typo", "prefix", "compound", "alias")


def summary_blocks(data: Json, *, shows_times: bool = False) -> list[Block]:
    """Return what to know of *data*, which has what `explain` prints as JSON."""
    matches = data["matches"]
    blocks: list[Block] = [
        FactList(tuple(_query(data))),
        _matches(matches, data["words"]) if matches else Paragraph("No tool matches."),
        Section("linked", "Linked tools", (_list_linked_tools(data),), heading=_LINKED),
        *([timings(data["stages"])] if shows_times else []),
        FactList(tuple(_verdict(data))),
    ]
    return [one for one in blocks if not isinstance(one, FactList) or one.rows]


# The query


def _query(data: Json) -> Iterator[tuple[str, Inline]]:
    query = data["query"]
    is_long = len(query) > _QUERY_SHOWN
    shown = CodeSpan(f"{query[:_QUERY_SHOWN].rstrip()}…" if is_long else query)
    yield "query", shown if query else _without_query(data)
    yield "rewritten", CodeSpan(data.get("normalizedQuery") or "")
    yield "filter", about_filter(data.get("filter"))
    if data["rankingMode"] not in (data["strategy"], "browse", "empty"):
        yield "strategy", f"{data['strategy']}, ranked by {data['rankingMode']}"
    words = [word for word in data["words"] if word["origin"] != "context"]
    yield "repaired", _format_rewritten_words(words, _INEXACT)
    yield "translated", _format_rewritten_words(words, ("translation",))
    related = [word["text"] for word in words if not word["repairs"] and word["related"]]
    yield "related", _format_names(related, ": no tool has it; related words count instead")
    unknown = [word["text"] for word in words if word["role"] == "unknown" and not word["related"]]
    yield "unknown", _format_names(unknown, ": no tool has it, nor a word like it")
    yield "literals", _format_names([word["text"] for word in words if word["role"] == "literal"])
    dropped = [word["text"] for word in words if word["role"] == "function word"]
    yield (
        "dropped",
        _format_names(dropped, " (stop words)" if len(dropped) > 1 else " (a stop word)"),
    )


def _without_query(data: Json) -> str:
    return "(none: every tool by name)" if data["rankingMode"] == "browse" else "(none)"


def _format_rewritten_words(words: Iterable[Json], kinds: Sequence[str]) -> Inline:
    """Return what each of *words* became whose best repair is of one of *kinds*."""
    return join_inlines(
        [
            (CodeSpan(word["text"]), " → ", _alternatives(word["repairs"]))
            for word in words
            if word["repairs"] and word["repairs"][0]["kind"] in kinds
        ]
    )


def _alternatives(repairs: Sequence[Json]) -> Inline:
    return join_inlines([CodeSpan(one["word"]) for one in repairs[:_REPAIRS_NAMED]], " or ")


def _format_names(names: Iterable[str], remark: str = "") -> Inline:
    found: list[Inline] = [CodeSpan(name) for name in dict.fromkeys(names)]
    rest = len(found) - _LISTED
    more = f" and {rest:,} more" if rest > 0 else ""
    return (join_inlines(found[:_LISTED]), more, remark) if found else ""


# Matches


def _matches(matches: Sequence[Json], words: Sequence[Json]) -> Table:
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
            _ahead(match, following) if is_ranked else "",
        )
        for rank, (match, following) in enumerate(zip_longest(matches, matches[1:]), start=1)
    )
    columns = (
        Column("#", is_number=True),
        Column("score"),
        Column("tool", is_whole=True),
        Column("description"),
        *(Column(head, is_below=True) for head in ("has", "found", "ahead")),
    )
    return Table("Matches", columns, rows, has_heads=True)


def _format_held_words(match: Json, asked: set[str]) -> Inline:
    """Return which words stand in which fields of *match*, the weightiest first.

    The more words there are, the fewer fields are named.
    """
    is_exact = any(
        one["feature"] == "exactName" and one["contribution"] > 0 for one in match["contributions"]
    )
    found: dict[str, list[Json]] = defaultdict(list)
    for term in match["terms"]:
        if term["query"] in asked or not is_exact:  # else a name written as one word
            found[_word(term)].append(term)
    groups: dict[tuple[str, ...], list[Inline]] = defaultdict(list)
    shown = [*found.items()][:_WORDS_NAMED]
    for word, terms in shown:
        names = _field_names(terms)[: max(1, _FIELDS_NAMED // len(shown))]
        groups[names].append(_with_origin(word, terms))
    parts: list[Inline] = ["its name or an alias, which the query spells"] if is_exact else []
    parts += [(join_inlines(words), " in ", _join_fields(names)) for names, words in groups.items()]
    rest = len(found) - _WORDS_NAMED
    parts += [format_count(rest, "other word")] if rest > 0 else []
    missing = match["evidence"]["missing"]
    more = f" and {len(missing) - _WORDS_NAMED} more" if len(missing) > _WORDS_NAMED else ""
    lacks: list[Inline] = (
        [("lacks ", _format_names(missing[:_WORDS_NAMED], more))] if missing else []
    )
    return join_inlines([*(parts or [_without_words(match)]), *lacks], "; ")


def _field_names(terms: Iterable[Json]) -> tuple[str, ...]:
    fields: Iterator[str] = (one["field"] for one in terms)
    return tuple(dict.fromkeys(_FIELD_NAMES.get(field, field) for field in fields))


def _word(term: Json) -> str:
    """Return the word that a tool has, as the query spells it where it has that one."""
    word: str = term["query" if term["kind"] in ("exact", "alias", "stem") else "matched"]
    return word


def _with_origin(word: str, terms: Iterable[Json]) -> Inline:
    """Return *word*, and which words of the query it is only related to."""
    if any(term["kind"] != "related" for term in terms):
        return CodeSpan(word)
    origins = dict.fromkeys(term["query"] for term in terms)
    return (CodeSpan(word), " (related to ", join_inlines([CodeSpan(one) for one in origins]), ")")


def _join_fields(names: Sequence[str]) -> str:
    *head, last = names
    return f"its {', '.join(head)} and {last}" if head else f"its {last}"


def _without_words(match: Json) -> str:
    """Return why a match is there that has no word of the query."""
    sums = {one["feature"]: one["contribution"] for one in match["contributions"]}
    reasons = advantages(sums, most=1)
    return f"no word of the query{f', but {reasons[0]}' if reasons else ''}"


def _ahead(match: Json, following: Json | None) -> Inline:
    """Return why *match* stands before the next."""
    if following is None or match.get("foundBy"):
        return ""
    other = CodeSpan(following["toolId"])
    if match["fusedScore"] - following["fusedScore"] < _NEGLIGIBLE:
        return ("of ", other, " by its smaller id alone")
    gaps: dict[str, float] = defaultdict(float)
    for one, sign in ((match, 1), (following, -1)):
        for part in one["contributions"]:
            gaps[part["feature"]] += sign * part["contribution"]
    return ("of ", other, f" by {gains(gaps)}")


def advantages(gaps: Mapping[str, float], most: int = 2) -> list[str]:
    """Return in clauses what sets a tool ahead, the greatest first.

    Args:
        gaps: How far it is ahead by each feature of the fused score.
        most: How many to return.
    """
    return [" ".join(group[:2]) for group in _leading(gaps)[:most]]


def gains(gaps: Mapping[str, float], most: int = 2) -> str:
    """Return in nouns what sets a tool ahead, the greatest first; arguments as `advantages`."""
    return " and ".join(group[0] for group in _leading(gaps)[:most])


def _leading(gaps: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the noun and the verb of each group of features that tells, the greatest first."""
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for feature, gap in gaps.items():
        noun, verb, _ = _GROUP_OF.get(feature, (feature, "is greater", ()))
        sums[noun, verb] += gap
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    least = max(_NEGLIGIBLE, _TELLING * max(sums.values(), default=0.0))
    return [group for group, gap in ordered if gap >= least]


# What the edges brought, and what to make of it all


def _list_linked_tools(data: Json) -> FactList:
    rows = (
        ("prerequisites", data["prerequisites"]),
        ("related", data["relatedMatches"]),
        ("next steps", data["nextStepMatches"]),
    )
    return FactList(tuple((name, _strengths(found)) for name, found in rows if found))


def _strengths(matches: Sequence[Json]) -> Inline:
    shown: list[Inline] = [
        (CodeSpan(match["toolId"]), " ", Score(match["via"]["weight"]))
        for match in matches[:_TOOLS_NAMED]
    ]
    rest = len(matches) - _TOOLS_NAMED
    return (join_inlines(shown), f" and {rest} more" if rest > 0 else "")


def _verdict(data: Json) -> Iterator[tuple[str, Inline]]:
    matches = data["matches"]
    if matches and "contributions" in matches[0]:
        yield "confidence", _confidence(matches, data["words"])
    for advice in data["advice"]:
        yield "try", CodeSpan(advice)
    if matches:
        yield "more", MORE


def _confidence(matches: Sequence[Json], words: Sequence[Json]) -> Inline:
    """Return why the best score is as high as it is, and no higher."""
    best = matches[0]
    low = f", low (below {LOW_CONFIDENCE:g})" if best["score"] < LOW_CONFIDENCE else ""
    asked = [
        word for word in words if word["origin"] == "query" and word["role"] in ("term", "unknown")
    ]
    evidence = best["evidence"]
    held = [word for word in asked if word["text"] in evidence["terms"]]
    repaired = [word for word in held if _is_repaired(word)]
    near = len(asked) - len(held) - sum(word["text"] in evidence["missing"] for word in asked)
    reasons: list[Inline] = [_share(len(held), len(asked))]
    if repaired:
        reasons.append(f"{len(repaired)} of them repaired" if len(held) > 1 else "repaired")
    if near and held:
        reasons.append(f"and words related to {near:,} more")
    elif near:
        which = f"{near:,} of {len(asked):,}" if len(asked) > 1 else "it"
        reasons.append(f"but words related to {which}")
    has: Inline = ("the best match has ", join_inlines(reasons))
    if matches[1:]:
        has = (has, "; the second scores ", Score(matches[1]["score"]))
    return (Score(best["score"]), low, ": ", has)


def _share(held: int, asked: int) -> str:
    if not held:
        return "no word of the query"
    if held == asked:
        return f"all {held:,} words of the query" if held > 1 else "the one word of the query"
    return f"{held:,} of {format_count(asked, 'word')} of the query"


def _is_repaired(word: Json) -> bool:
    return bool(word["repairs"]) and word["repairs"][0]["kind"] in _INEXACT


# Lines that `mcpg.show.explain` shows as well


def about_filter(conditions: Json | None) -> Inline:
    """Return the conditions of the filter and how many tools it leaves, "" where none is set."""
    if not conditions:
        return ""
    names = {"source": conditions["sources"], "category": conditions["categories"]}
    told = [f"{kind} {' or '.join(found)}" for kind, found in names.items() if found]
    told += ["only what reads"] if conditions["readOnly"] else []
    left = f"{conditions['tools']:,} of {format_count(conditions['of'], 'tool')}"
    return (CodeSpan("; ".join(told)), f": leaves {left}")


def about_match(match: Json) -> str:
    """Return one line on what the tool is: its title where that adds something, its description."""
    title, description = match["displayName"], match["description"]
    names = {match["toolName"], match["toolId"], ""}
    state = "" if match["isEnabledByDefault"] else "(disabled) "
    return state + ": ".join(filter(None, ("" if title in names else title, description)))


def timings(stages: Sequence[Json]) -> Section:
    """Return the section on how long each of *stages* took."""
    rows = tuple((one["name"], f"{one['durationMs']:.3f} ms") for one in stages)
    columns = (Column("stage"), Column("time", is_number=True))
    return Section("timings", "Timings", (Table("Timings", columns, rows),))


def rank_explanation_blocks(query: str, tool: Json, snippet: str = "") -> list[Block]:
    """Return the blocks on *tool*: its rank, what is above it and why, and what would lift it.

    Args:
        query: The query.
        tool: The member of the explanation.
        snippet: Lines of a hints file that make the change.
    """
    return [
        FactList((("query", CodeSpan(query)), *_facts(tool))),
        Entries("rival", tuple(map(_rival, tool["above"]))),
        *_change(tool),
        *_consequences(tool, snippet),
    ]


def _consequences(tool: Json, snippet: str) -> Iterator[Block]:
    """Return what the change does to judged queries, and the change as it is pasted."""
    if tool.get("effect"):
        title = "What that would do to other judged queries"
        yield Section("effect", title, (*_effect(tool["effect"]),), heading="judged queries")
    if tool.get("missed"):
        title = "Judged queries that it misses, and their aliases"
        yield Section("missed", title, (_make_missed_table(tool["missed"]),), heading="missed")
    if snippet:
        # The comment belongs to what is pasted.
        yield Source(snippet, "yaml")


def rank_summary_blocks(query: str, tool: Json, snippet: str = "") -> list[Block]:
    """Return what to know of *tool*: its rank, what sets others above it, and what would lift it.

    Args:
        query: The query.
        tool: The member of the explanation.
        snippet: Lines of a hints file that make the change.
    """
    above = _above(tool["above"])
    return [
        FactList((("query", CodeSpan(query)), *_answer(tool))),
        *([above] if above.rows else []),
        FactList((*_lift(tool), ("more", "-v for all numbers"))),
        *_consequences(tool, snippet),
    ]


def _answer(tool: Json) -> Iterator[tuple[str, Inline]]:
    yield "tool", CodeSpan(tool["toolId"])
    retrieval = tool["retrieval"]
    if tool["unmet"]:
        yield "rank", ("none: the filter leaves it out: ", _unmet(tool))
    elif tool["isHidden"]:
        yield "rank", "none: it is disabled by default"
    elif tool["rank"] is None:
        yield "rank", f"none among {tool['ranked']:,}"
    else:
        yield "rank", (f"{tool['rank']:,} of {tool['ranked']:,}, score ", Score(tool["score"]))
    if not retrieval["isPooled"]:
        yield "by its words", _place(retrieval)
    yield "lacks", join_inlines([CodeSpan(word) for word in tool["missing"]])


def _above(rivals: Sequence[Json]) -> Table:
    """Return the tools above, each with what it has that the tool lacks."""
    rows = tuple(
        (
            str(rival["rank"]),
            Score(rival["score"]),
            Styled(CodeSpan(rival["toolId"]), "cyan"),
            join_inlines([*map(str, advantages(_gaps(rival), most=3)), *_only_there(rival)])
            or "the smaller id alone",
        )
        for rival in rivals
    )
    columns = (
        Column("#", is_number=True),
        Column("score"),
        Column("above it", is_whole=True),
        Column("because"),
    )
    return Table("Above it", columns, rows, has_heads=True, wraps=True)


def _gaps(rival: Json) -> dict[str, float]:
    return {one["feature"]: one["difference"] for one in rival["features"]}


def _only_there(rival: Json) -> list[Inline]:
    """Return the words that only the tool above has."""
    words = [CodeSpan(one["query"]) for one in rival["words"] if one["other"] and not one["own"]]
    return [("only it has ", join_inlines([*words]))] if words else []


def _lift(tool: Json) -> Iterator[tuple[str, Inline]]:
    change = tool["change"]
    if change is not None:
        after = (f"; then rank {change['rankAfter']}, score ", Score(change["scoreAfter"]))
        yield "change", (join_inlines(_additions(change)), *after, f" ({_proof(change)})")
    if tool["remark"]:
        yield ("but" if change else "change"), CodeSpan(tool["remark"])


def _facts(tool: Json) -> Iterator[tuple[str, Inline]]:
    yield "tool", CodeSpan(tool["toolId"])
    fused: Inline = (", fused ", Figure(tool["fusedScore"]))
    if tool["unmet"]:
        yield "rank", ("none: the filter leaves it out", fused)
        yield "filter", _unmet(tool)
    elif tool["isHidden"]:
        yield "rank", ("none: it is disabled by default", fused)
    elif tool["rank"] is None:
        yield "rank", (f"none among {tool['ranked']:,}", fused)
    else:
        score = (", score ", Figure(tool["score"]))
        yield "rank", (f"{tool['rank']:,} of {tool['ranked']:,}", score, fused)
    yield "by its words", _place(tool["retrieval"])
    yield "lacks", join_inlines([CodeSpan(word) for word in tool["missing"]])


def _unmet(tool: Json) -> Inline:
    return join_inlines([CodeSpan(reason) for reason in tool["unmet"]])


def _place(retrieval: Json) -> str:
    place, pool, lexical = retrieval["place"], retrieval["pool"], retrieval["lexical"]
    if not lexical and not place:
        return "not found: it holds no word of the query"
    found = f"place {place:,}" if place else f"beyond {retrieval['retrieved']:,}"
    known = f"{found}, {lexical:.3f} of the query" if lexical else f"{found}, by related words"
    if retrieval["isPooled"]:
        return known
    return f"{known}; only the first {pool}, down to {retrieval['last']:.3f}, are looked at closely"


def _rival(rival: Json) -> ToolEntry:
    gap = rival["gap"]
    ahead: Inline = ("ahead by " if gap >= 0 else "behind by ", Figure(abs(gap)))
    figures = (
        "score ",
        Figure(rival["score"]),
        "  fused ",
        Figure(rival["fusedScore"]),
        "  ",
        ahead,
    )
    reasons = Bullets(tuple(map(CodeSpan, rival["because"])))
    tables = (_features(rival["features"]), *_words(rival["words"], rival["toolId"]))
    return ToolEntry(
        rival["rank"], rival["toolId"], figures, blocks=(tables[0], reasons, *tables[1:])
    )


def _features(gaps: Sequence[Json]) -> Table:
    shown = [gap for gap in gaps if abs(gap["difference"]) >= _NEGLIGIBLE]
    largest = max((abs(gap["difference"]) for gap in shown), default=1.0)
    rows = tuple(
        (
            CodeSpan(gap["feature"]),
            Bar(
                abs(gap["difference"]) / largest, style="red" if gap["difference"] > 0 else "green"
            ),
            Figure(gap["difference"], "+.6f"),
            ("= ", Figure(gap["other"]), " - ", Figure(gap["own"])),
        )
        for gap in shown
    )
    columns = (
        Column("feature"),
        Column(""),
        Column("gap", is_number=True),
        Column("there and here"),
    )
    return Table("Features", columns, rows)


def _words(words: Sequence[Json], other: str) -> tuple[Block, ...]:
    """Return what of each word the tool answers, and what the one above it does."""
    rows = tuple(
        (
            CodeSpan(word["query"]),
            f"{word['share']:.0%} of the query",
            (Figure(word["own"], ".3f"), " here"),
            (Figure(word["other"], ".3f"), " in ", CodeSpan(other)),
        )
        for word in words
    )
    columns = (
        Column("word"),
        Column("share", is_number=True),
        Column("here", is_number=True),
        Column("there"),
    )
    return (Table("Words", columns, rows),) if rows else ()


def _change(tool: Json) -> Iterator[Block]:
    change, remark = tool["change"], tool["remark"]
    heading = Styled("change", "bold")
    if change is None:
        if remark:
            yield Paragraph((heading, ": none: ", CodeSpan(remark)))
        return
    score = Figure(change["scoreAfter"])
    after = (f"rank {change['rankAfter']}, score ", score, f" ({_proof(change)})")
    yield Paragraph((heading, ": ", join_inlines(_additions(change)), "; then: ", *after))
    if remark:
        yield Paragraph(CodeSpan(remark))


def _additions(change: Json) -> list[Inline]:
    hints = change["hints"]
    what: list[Inline] = ["enable it"] if hints.get("enabledByDefault") else []
    what += [("add the keyword ", CodeSpan(word, is_quoted=True)) for word in hints["keywords"]]
    what += [("add the alias ", CodeSpan(alias, is_quoted=True)) for alias in hints["aliases"]]
    return what


def _proof(change: Json) -> str:
    return "bundled and searched again" if change["verified"] else "not tried on a new bundle"


def _make_missed_table(missed: Sequence[Json]) -> Table:
    """Return a row for each query: the alias, and the ranks without and with all of them."""
    rows = tuple(
        (
            CodeSpan(one["query"]),
            CodeSpan(one["alias"], is_quoted=True),
            f"rank {one['rank'] or 'none'}",
            f"then {one['rankAfter']}",
        )
        for one in missed
    )
    columns = (
        Column("query", most=48),
        Column("alias", most=60),
        Column("rank"),
        Column("then"),
    )
    return Table("Missed queries", columns, rows)


def _effect(effect: Json) -> Iterator[Block]:
    metric = effect["metrics"]["ndcg@5"]
    before, now = metric["before"], metric["now"]
    told = "" if before is None or now is None else f", nDCG@5 {before:.3f} to {now:.3f}"
    moved = f"{len(effect['better'])} better, {len(effect['worse'])} worse"
    yield Paragraph(f"{format_count(effect['common'], 'query', 'queries')}{told}, {moved}")
    yield from list_changes(effect)
