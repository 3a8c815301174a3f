"""What is shown of an object of the schema `mcpg/ask/1`: how a question was read, its results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcpg.reports.blocks import (
    Block,
    Bullets,
    CodeSpan,
    Column,
    Entries,
    ToolEntry,
    FactList,
    Inline,
    Paragraph,
    Score,
    Section,
    Source,
    Styled,
    Table,
)

Json = Mapping[str, Any]

_RELATION_NAMES = {"nextStep": "next step"}
_MOST_WITH_CALLS = 5
"""With more results than these, how each is called is left out of the text."""


def ask_blocks(data: Json, *, is_whole: bool = False) -> Iterator[Block]:
    """Return what `ask` shows of *data*; all evidence and every signature where *is_whole*."""
    if not (data["results"] or data.get("omitted")):
        return
    decision = data["decision"]
    direction = f", {decision['direction']}" if decision["direction"] else ""
    wanted = Styled(f"{data['intent']}{direction}", "bold")
    evidence = decision["evidence"] if is_whole else decision["evidence"][:1]
    sure = (" ", Score(decision["probability"])) if is_whole else ""
    yield Paragraph((wanted, sure, ": " if evidence else "", CodeSpan("; ".join(evidence))))
    results = data["results"]
    if any("call" in one or "card" in one for one in results):
        yield Entries(
            "answer", tuple(_make_result_entry(rank, one) for rank, one in enumerate(results, 1))
        )
    elif results:
        has_calls = is_whole or len(results) <= _MOST_WITH_CALLS
        yield answers_table(results, has_calls=has_calls)
    if data["total"] > len(results):
        more = data["total"] - len(results)
        option = "--max-bytes" if data.get("omitted") else "--limit"
        yield Paragraph(f"{more:,} more: see them with a greater {option}")
    commands = tuple(map(CodeSpan, data["suggestions"]))
    yield Section("suggestions", "Next", (Bullets(commands),), heading="next")


def answers_table(results: Sequence[Json], *, has_calls: bool = True) -> Table:
    """Return *results* as a table, with what speaks for each below it.

    Args:
        results: The results.
        has_calls: Whether how each is called stands there, too.
    """
    kinds = [_kind(one) for one in results]
    is_told = set(kinds) != {"match"}
    rows = tuple(
        (
            str(rank),
            Score(one["score"]),
            CodeSpan(kind if is_told else ""),
            Styled(CodeSpan(one["symbol"]), "cyan"),
            CodeSpan(one.get("docs", "")),
            CodeSpan(_at(one)),
            CodeSpan(one.get("sig", "") if has_calls else ""),
            CodeSpan("; ".join(one.get("why", ()))),
            CodeSpan(_links(one)),
        )
        for rank, (one, kind) in enumerate(zip(results, kinds, strict=True), 1)
    )
    columns = (
        Column("#", is_number=True),
        Column("score"),
        Column("is"),
        Column("result", is_whole=True),
        Column("description"),
        *(Column(head, is_below=True) for head in ("at", "call", "why", "links")),
    )
    return Table("Results", columns, rows, has_heads=True)


def _is_code(one: Json) -> bool:
    return one["kind"] not in {"tool", "page"}


def _kind(one: Json) -> str:
    return f"{one['type']}, {one['kind']}" if _is_code(one) else one["type"]


def _at(one: Json) -> str:
    lines = f":{one['lines']}" if one.get("lines") else ""
    return f"{one['file']}{lines}" if _is_code(one) else ""


def _links(one: Json) -> str:
    """Return what a result is linked to, by kind of link."""
    found: dict[str, list[str]] = {}
    for other in one.get("related", ()):
        name = _RELATION_NAMES.get(other["rel"], other["rel"])
        found.setdefault(name, []).append(f"{other['name']}{_place(other)}")
    return "; ".join(f"{name}: {', '.join(others)}" for name, others in found.items())


def _place(other: Json) -> str:
    return f" {other['file']}:{other['line']}" if "line" in other else ""


def _make_result_entry(rank: int, one: Json) -> ToolEntry:
    """Return a result that has a whole call or a whole description."""
    rows: list[tuple[str, Inline]] = [
        ("is", CodeSpan(_kind(one))),
        ("at", CodeSpan(_at(one))),
        ("call", CodeSpan(one.get("sig", ""))),
        ("why", CodeSpan("; ".join(one.get("why", ())))),
        ("links", CodeSpan(_links(one))),
    ]
    blocks: list[Block] = [FactList(tuple(rows))]
    if "call" in one:
        blocks.append(Source(json.dumps(one["call"], ensure_ascii=False), "json"))
    if "card" in one:
        blocks += [Paragraph(CodeSpan(line)) for line in _card_lines(one["card"])]
    return ToolEntry(
        rank, one["symbol"], Score(one["score"]), CodeSpan(one.get("docs", "")), tuple(blocks)
    )


def _card_lines(card: Json) -> Iterator[str]:
    for part in str(card.get("description") or "").split("\n"):
        if part.strip():
            yield part
