"""A comparison of one query in two catalogues: as text, as JSON, as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.cli.markdown import LEFT, RIGHT, aligned_table
from mcpg.cli.output import Glyphs, columns_of, fitted, glyphs_of_standard_output, hanging
from mcpg.cli.terminal import became, counted, diagnostic_lines, one_line
from mcpg.cli.views.explain import INDENT, bullets, model_json, safe, word_json
from mcpg.cli.views.matches import score_text
from mcpg.engine.compare import ABSENT, DISABLED, RANKED, UNRANKED
from mcpg.gateway.json import diagnostics_json, score_json
from mcpg.values import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.cli.output import Output
    from mcpg.engine import Explanation
    from mcpg.engine.compare import Comparison, ToolChange, WordChange
    from mcpg.engine.trace import MatchExplanation, QueryWord
    from mcpg.errors import Diagnostic
    from mcpg.json_types import JsonObject

_FACT = 12
_ID = 40
_SHOWN = 6
_NAMED = 8
_NEGLIGIBLE = 5e-7
_NOT_RANKED = {
    UNRANKED: "not found",
    DISABLED: "disabled",
    ABSENT: "not there",
}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two catalogues.

    Attributes:
        name: The path as it was given.
        loading: What loading noticed.
    """

    name: str
    loading: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison and the two catalogues it is of."""

    comparison: Comparison
    then: Side
    now: Side


def compare_text(compared: Compared, output: Output) -> str:
    """Give what moved, and what moved it, the second catalogue's order first."""
    glyphs = glyphs_of_standard_output()
    comparison = compared.comparison
    blocks = [
        list(_head(compared, output)),
        _section("words", _words(comparison, glyphs.arrow), output),
        list(_ranks(comparison, output, glyphs)),
        _section("what moved them", list(_reasons(comparison)), output),
        _section("diagnostics", list(_diagnostics(compared)), output),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def compare_markdown(compared: Compared) -> str:
    """Give the same in tables for a comment on an issue; texts of strangers stay texts."""
    comparison = compared.comparison
    rows = [
        (
            _rank(change.now, change.standing_now),
            _rank(change.then, change.standing_then),
            safe(change.tool_id),
            *_scores(change),
        )
        for change in comparison.tools
    ]
    heads = ("now", "then", "tool", "score now", "score then", "fused now", "fused then", "change")
    aligned = (RIGHT, RIGHT, LEFT, *[RIGHT] * 5)
    blocks = [
        [f"### mcpg explain {safe(comparison.now.result.query)} --compare"],
        [f"- {name}: {safe(value)}" for name, value in _facts(compared)],
        aligned_table(heads, aligned, rows) if rows else ["No tool matches in either."],
        bullets("What the words became", _words(comparison, "->")),
        bullets("What moved them", _reasons(comparison)),
        bullets("Diagnostics", _diagnostics(compared)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def compare_json(compared: Compared) -> JsonObject:
    """Give the object that `explain --compare` prints, its numbers at full precision."""
    comparison = compared.comparison
    now = _side(compared.now, comparison.now, comparison.size_now)
    return {
        "schema": "mcpg/explain-compare/1",
        "query": comparison.now.result.query,
        "strategy": comparison.now.result.strategy,
        "then": _side(compared.then, comparison.then, comparison.size_then),
        "now": now,
        "tools": [_tool(change) for change in comparison.tools],
        "words": [
            {
                "text": change.text,
                "then": word_json(change.then) if change.then else None,
                "now": word_json(change.now) if change.now else None,
            }
            for change in comparison.words
        ],
        "onlyThen": list(comparison.only_then),
        "onlyNow": list(comparison.only_now),
        "diagnostics": now["diagnostics"],
    }


def _side(side: Side, explanation: Explanation, size: int) -> JsonObject:
    return {
        "bundle": side.name,
        "tools": size,
        "rankingMode": explanation.result.ranking_mode,
        "language": explanation.language,
        "model": model_json(explanation.model) if explanation.model else None,
        "diagnostics": diagnostics_json((*side.loading, *explanation.result.diagnostics)),
    }


def _tool(change: ToolChange) -> JsonObject:
    return {
        "toolId": change.tool_id,
        "then": _place(change.then, change.standing_then),
        "now": _place(change.now, change.standing_now),
        "fusedDelta": change.fused_delta,
        "features": [to_json(one) for one in change.features],
        "terms": [to_json(one) for one in change.terms],
    }


def _place(match: MatchExplanation | None, standing: str) -> JsonObject:
    return {
        "standing": standing,
        "rank": match.rank if match else None,
        "score": score_json(match.score) if match else None,
        "fusedScore": match.fused_score if match else None,
    }


def _facts(compared: Compared) -> Iterator[tuple[str, str]]:
    comparison = compared.comparison
    then, now = comparison.then, comparison.now
    yield "query", one_line(now.result.query)
    yield "then", f"{one_line(compared.then.name)}, {counted(comparison.size_then, 'tool')}"
    yield "now", f"{one_line(compared.now.name)}, {counted(comparison.size_now, 'tool')}"
    for name, only in (("only then", comparison.only_then), ("only now", comparison.only_now)):
        if only:
            rest = f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
            yield name, one_line(", ".join(only[:_NAMED])) + rest
    if then.language != now.language:
        yield "language", f"{then.language or 'none told'}, now {now.language or 'none told'}"
    if then.model and now.model and then.model != now.model:
        for name, model in (("model then", then.model), ("model now", now.model)):
            yield name, one_line(f"{model.name}: {model.provenance}")


def _head(compared: Compared, output: Output) -> Iterator[str]:
    for name, value in _facts(compared):
        yield from hanging(value, output.columns, f"{name:<{_FACT}}", " " * _FACT)


def _section(heading: str, lines: list[str], output: Output) -> list[str]:
    told: list[str] = []
    for line in lines:
        told += hanging(line, output.columns, INDENT, f"{INDENT}  ")
    return [output.paint(heading, "bold"), *told] if told else []


def _words(comparison: Comparison, arrow: str) -> list[str]:
    return [_word(change, arrow) for change in comparison.words]


def _word(change: WordChange, arrow: str) -> str:
    then, now = (_state(word, arrow) for word in (change.then, change.now))
    return f"{one_line(change.text)}: then {then}; now {now}"


def _state(word: QueryWord | None, arrow: str) -> str:
    if word is None:
        return "no part of the query"
    found = f", in {counted(word.document_frequency, 'tool')}" if word.repairs else ""
    share = f", {word.weight:.1%} of the query" if word.weight else ""
    return f"{became(word, arrow)}{found}{share}"


def _ranks(comparison: Comparison, output: Output, glyphs: Glyphs) -> Iterator[str]:
    if not comparison.tools:
        yield "no tool matches in either"
        return
    names = columns_of([one_line(change.tool_id) for change in comparison.tools], _ID)
    names = max(4, min(names, output.columns - 66))
    heads = ("score now", "score then", "fused now", "fused then", "change")
    lead = f"{'now':>9} {'then':>9}  {'tool':<{names}}"
    yield output.paint(f"{lead}{''.join(f'{head:>11}' for head in heads)}", "bold")
    for change in comparison.tools:
        places = (
            _rank(change.now, change.standing_now),
            _rank(change.then, change.standing_then),
        )
        name = output.paint(fitted(one_line(change.tool_id), names, glyphs), "cyan")
        figures = "".join(f"{figure:>11}" for figure in _scores(change))
        line = f"{places[0]:>9} {places[1]:>9}  {name}{figures}".rstrip()
        yield line


def _rank(match: MatchExplanation | None, standing: str) -> str:
    return str(match.rank) if match else _NOT_RANKED[standing]


def _scores(change: ToolChange) -> tuple[str, ...]:
    now, then, delta = change.now, change.then, change.fused_delta
    return (
        score_text(now.score) if now else "",
        score_text(then.score) if then else "",
        f"{now.fused_score:.6f}" if now else "",
        f"{then.fused_score:.6f}" if then else "",
        "" if delta is None else f"{delta:+.6f}",
    )


def _reasons(comparison: Comparison) -> Iterator[str]:
    for change in comparison.tools:
        delta = change.fused_delta
        if delta is None:
            yield f"{one_line(change.tool_id)}: {_arrival(change)}"
        elif abs(delta) >= _NEGLIGIBLE:
            yield f"{one_line(change.tool_id)}: {delta:+.6f} = {_sum(change)}"


def _arrival(change: ToolChange) -> str:
    if change.standing_then == RANKED:
        return f"was number {_rank(change.then, RANKED)}, now {_NOT_RANKED[change.standing_now]}"
    return f"was {_NOT_RANKED[change.standing_then]}, now number {_rank(change.now, RANKED)}"


def _sum(change: ToolChange) -> str:
    moved = [one for one in change.features if abs(one.delta) >= _NEGLIGIBLE]
    parts = [
        f"{one.delta:+.6f} {one.feature}{' (its weight)' if one.by_weight else ''}"
        for one in moved[:_SHOWN]
    ]
    rest = sum(one.delta for one in moved[_SHOWN:])
    if rest:
        parts.append(f"{rest:+.6f} others")
    terms = [one for one in change.terms if abs(one.delta) >= _NEGLIGIBLE][:_SHOWN]
    words = ", ".join(f"{one_line(one.query)} {one.delta:+.3f}" for one in terms)
    return f"{', '.join(parts)}{f' (words: {words})' if words else ''}"


def _diagnostics(compared: Compared) -> Iterator[str]:
    """Tell of the diagnostics that one of the two answers has, or which of them has each."""
    comparison = compared.comparison
    then = list(diagnostic_lines((*compared.then.loading, *comparison.then.result.diagnostics)))
    now = list(diagnostic_lines((*compared.now.loading, *comparison.now.result.diagnostics)))
    for line in dict.fromkeys((*now, *then)):
        when = "both" if line in then and line in now else "now" if line in now else "then"
        yield f"{when}: {line}"
