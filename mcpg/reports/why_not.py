"""What is shown of the member `tool` of an explanation: why one tool has the rank that it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcpg.reports.blocks import (
    Bar,
    Block,
    Bullets,
    CodeSpan,
    Column,
    Entries,
    ToolEntry,
    FactList,
    Figure,
    Inline,
    Paragraph,
    Score,
    Section,
    Source,
    Styled,
    Table,
    join_inlines,
)
from mcpg.reports.evaluation import list_changes
from mcpg.reports.explain_summary import advantages
from mcpg.values import format_count

Json = Mapping[str, Any]

_NEGLIGIBLE = 5e-7


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
