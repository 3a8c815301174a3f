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
    from mcpg.engine.trace import MatchExplanation, QueryWord


_UNREPAIRED = {
    "function word": "dropped: a function word",
    "literal": "unknown: a code or number that no tool has",
    "unknown": "unknown: a word that no tool has, nor one near it",
}


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
    rows.append(("rewriting", rewriting(explanation)))
    rows.append(
        ("graph", f"{result.focused_graph.nodes} nodes, {result.focused_graph.edges} edges")
    )
    return [(name, value) for name, value in rows if value]


def rewriting(explanation: Explanation) -> str:
    """Say what became of the wish to have the query rewritten, on one safe line; "" without it."""
    for stage in explanation.stages:
        if stage.name == "normalise":
            trust = stage.details.get("trust")
            reason = stage.details.get("reason")
            told = [str(stage.details["outcome"])]
            told += [f"trusted {trust:.3f}"] if isinstance(trust, float) else []
            told += [str(reason)] if reason else []
            return one_line(", ".join(told))
    return ""


def found_by(match: MatchExplanation) -> str:
    """Say how the searches of a query and of its rewrite make up a score; "" where one did."""
    parts = [
        f"{one.weight:.3f} * {one.score:.6f} (number {one.rank} by the {one.text})"
        for one in match.found_by
    ]
    return f"score {match.score:.6f} = {' + '.join(parts)}" if parts else ""


def own_score(match: MatchExplanation) -> float:
    """Give the score that the calibration of *match* came to, before two searches were merged."""
    parts = [(one.weight * one.score, one.score) for one in match.found_by]
    return max(parts)[1] if parts else match.score


def became(word: QueryWord, arrow: str) -> str:
    """Say what became of *word*, on one safe line."""
    if not word.repairs:
        return unrepaired(word)
    kept = "kept" if word.stem == word.text else f"kept (stem {one_line(word.stem)})"
    return "; ".join(_repair(one, arrow) if one.kind != "exact" else kept for one in word.repairs)


def unrepaired(word: QueryWord) -> str:
    """Say why *word* stands for no word of the catalogue."""
    return _UNREPAIRED[word.role]


def nearness(repair: Repair) -> str:
    """Say how near the word that was taken is to the one that was typed."""
    distance = f", {counted(repair.distance, 'edit')}" if repair.distance else ""
    return f"{repair.kind}{distance}, similarity {repair.similarity:.2f}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Give *number* and its noun: `1 tool`, `2 tools`; *many* where it takes more than an `s`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def and_pages(number: int) -> str:
    """Return *number* of pages as a further part of a list; "" for none."""
    return f", {counted(number, 'page')}" if number else ""


def _repair(repair: Repair, arrow: str) -> str:
    return f"{arrow} {one_line(repair.word)} ({nearness(repair)})"


def diagnostic_lines(items: Iterable[Diagnostic]) -> Iterator[str]:
    """Say of each of *items* what it is and what to do about it."""
    for item in items:
        remedy = remedy_of(item.code)
        is_said = not remedy or remedy.rstrip(".").casefold() in item.message.casefold()
        what_to_do = "" if is_said else f". {remedy}"
        yield one_line(f"{item.severity}[{item.code}]: {item.message}{what_to_do}")
