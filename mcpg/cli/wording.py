"""The sentences that tell people about an explanation, alike in text and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.sanitise import one_line
from mcpg.remedies import remedy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine import Explanation
    from mcpg.engine.analysis import Repair
    from mcpg.engine.trace import QueryWord


def facts(explanation: Explanation) -> list[tuple[str, str]]:
    """Give name and value of what holds for the whole search; the values are safe."""
    result, reading = explanation.result, explanation.reading
    rows = [
        ("query", one_line(result.query) or "(none: every tool by name)"),
        ("rewritten", one_line(explanation.normalized_query or "")),
        ("strategy", f"{result.strategy}, ranked by {result.ranking_mode}"),
    ]
    if reading:
        folded = one_line(reading.normalized)
        rows += [
            ("normalised", folded if folded != one_line(result.query) else ""),
            ("identifiers", one_line(", ".join(reading.identifiers))),
            ("sentences", one_line(" | ".join(map(" ".join, reading.sentences)))),
            ("function words", explanation.language or ""),
        ]
    rows.append(
        ("graph", f"{result.focused_graph.nodes} nodes, {result.focused_graph.edges} edges")
    )
    return [(name, value) for name, value in rows if value]


def became(word: QueryWord, arrow: str) -> str:
    """Say what became of *word*, on one safe line."""
    if word.role == "function word":
        return "dropped: a function word"
    if not word.repairs:
        if word.role == "literal":
            return "unknown: a code or number that no tool has"
        return "unknown: a word that no tool has, nor one near it"
    kept = "kept" if word.stem == word.text else f"kept (stem {one_line(word.stem)})"
    return "; ".join(_repair(one, arrow) if one.kind != "exact" else kept for one in word.repairs)


def _repair(repair: Repair, arrow: str) -> str:
    edits = f", {repair.distance} edit{'s' if repair.distance != 1 else ''}"
    distance = edits if repair.distance else ""
    near = f"{repair.kind}{distance}, similarity {repair.similarity:.2f}"
    return f"{arrow} {one_line(repair.word)} ({near})"


def diagnostic_lines(items: Iterable[Diagnostic]) -> Iterator[str]:
    """Say of each of *items* what it is and what to do about it."""
    for item in items:
        remedy = remedy_of(item.code)
        is_said = not remedy or remedy.rstrip(".").casefold() in item.message.casefold()
        what_to_do = "" if is_said else f". {remedy}"
        yield one_line(f"{item.severity}[{item.code}]: {item.message}{what_to_do}")
