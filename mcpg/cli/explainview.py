"""An explanation as text, made to be read from top to bottom."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING

from mcpg.cli.sanitise import cut, one_line, pad, width
from mcpg.cli.textview import reached_lines, score_text, summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.cli.output import Output
    from mcpg.diagnostics import Diagnostic
    from mcpg.engine import Explanation, Match
    from mcpg.engine.analysis import Repair
    from mcpg.engine.trace import Contribution, MatchExplanation, QueryWord, Stage

_BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
_INDENT = "    "
_REASONS_SHOWN = 3
_NEGLIGIBLE = 5e-7


def explain_text(explanation: Explanation, output: Output) -> str:
    """Give the story of a search: the query, the words, the matches, the edges, the stages."""
    result = explanation.result
    blocks = [
        _head(explanation),
        _words(explanation.words, output),
        *_matches(explanation, output),
        reached_lines("related", result.related_matches, output),
        reached_lines("next steps", result.next_step_matches, output),
        _stages(explanation.stages, output),
        _diagnostics(result.diagnostics, output),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _head(explanation: Explanation) -> list[str]:
    result = explanation.result
    rows = [
        ("query", one_line(result.query) or "(none: every tool by name)"),
        ("rewritten", one_line(explanation.normalized_query or "")),
        ("strategy", f"{result.strategy}, ranked by {result.ranking_mode}"),
        ("function words", explanation.language or ""),
        ("graph", f"{result.focused_graph.nodes} nodes, {result.focused_graph.edges} edges"),
    ]
    return [f"{name:<16}{value}" for name, value in rows if value]


def _words(words: Sequence[QueryWord], output: Output) -> list[str]:
    if not words:
        return []
    columns = max(width(one_line(word.text)) for word in words)
    rows = [_word(word, columns) for word in words]
    return [output.paint("words", "bold"), *(cut(row, output.columns) for row in rows)]


def _word(word: QueryWord, columns: int) -> str:
    name = pad(one_line(word.text), columns)
    return f"{_INDENT}{name}  {_became(word)}{' (context)' if word.origin == 'context' else ''}"


def _became(word: QueryWord) -> str:
    if word.role == "function word":
        return "dropped: a function word"
    if not word.repairs:
        if word.role == "literal":
            return "unknown: a code or number that no tool has"
        return "unknown: a word that no tool has, nor one near it"
    tools = f"in {word.document_frequency} tool{'s' if word.document_frequency != 1 else ''}"
    repairs = "; ".join(map(_repair, word.repairs))
    return f"{repairs} · {tools} · {word.weight:.0%} of the query"


def _repair(repair: Repair) -> str:
    if repair.kind == "exact":
        return "kept"
    edits = f", {repair.distance} edit{'s' if repair.distance != 1 else ''}"
    distance = edits if repair.distance else ""
    return f"→ {one_line(repair.word)} ({repair.kind}{distance}, credit {repair.similarity:.2f})"


def _matches(explanation: Explanation, output: Output) -> Iterator[list[str]]:
    largest = max((match.fused_score for match in explanation.matches), default=0.0)
    rows = zip_longest(explanation.result.matches, explanation.matches, explanation.matches[1:])
    for rank, (match, reasons, following) in enumerate(rows, start=1):
        lines = [_title(rank, match, reasons, output)]
        if reasons is not None:
            lines += _contributions(reasons.contributions, largest, output)
            lines += _terms(reasons, output)
            lines += _order(reasons, following)
            lines += _calibration(reasons)
        yield lines


def _title(rank: int, match: Match, reasons: MatchExplanation | None, output: Output) -> str:
    scores = ""
    if reasons is not None:
        scores = f"score {score_text(match.score)}  fused {reasons.fused_score:.6f}  "
    name = one_line(match.tool_id)
    lead = f"{rank:>2}  {name}  {scores}"
    room = output.columns - width(lead)
    return (
        f"{rank:>2}  {output.paint(name, 'cyan')}  {output.paint(scores, 'bold')}"
        f"{cut(summary(match.descriptor), room)}"
    ).rstrip()


def _contributions(parts: Sequence[Contribution], largest: float, output: Output) -> Iterator[str]:
    columns = max((len(part.feature) for part in parts), default=0)
    for part in parts:
        if part.contribution:
            bar = output.paint(pad(_bar(part.contribution, largest), _BAR), "green")
            sums = f"{part.contribution:+.6f} = {part.value:.6f} * {part.weight:g}"
            yield f"{_INDENT}{part.feature:<{columns}}  {bar}  {sums}"


def _bar(value: float, largest: float) -> str:
    share = min(1.0, abs(value) / largest) if largest > 0 else 0.0
    eighths = math.ceil(share * _BAR * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _terms(match: MatchExplanation, output: Output) -> Iterator[str]:
    """Give one line a word of the query: what it matched, in which fields, for how much."""
    fields: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for term in match.terms:
        key = (one_line(term.query), one_line(term.matched), term.kind)
        fields[key].append(f"{term.field} {term.contribution:+.3f}")
    names = [_matched(*key) for key in fields]
    columns = max(map(width, names), default=0)
    for name, places in zip(names, fields.values(), strict=True):
        yield cut(f"{_INDENT}{pad(name, columns)}  {', '.join(places)}", output.columns)


def _matched(query: str, word: str, kind: str) -> str:
    if kind == "exact":
        return query
    if query == word:
        return f"{query} ({kind})"
    return f"{query} → {word} ({kind})"


def _order(match: MatchExplanation, following: MatchExplanation | None) -> Iterator[str]:
    if following is None:
        return
    other = one_line(following.tool_id)
    gap = match.fused_score - following.fused_score
    if gap < _NEGLIGIBLE:
        yield f"{_INDENT}level with {other}: the smaller tool id goes first"
        return
    features = _largest(_by_feature(match), _by_feature(following))
    words = _largest(_by_word(match), _by_word(following))
    because = ", ".join(features) + (f" ({', '.join(words)})" if words else "")
    yield f"{_INDENT}ahead of {other} by {gap:.6f}: {because}"


def _by_feature(match: MatchExplanation) -> dict[str, float]:
    return {part.feature: part.contribution for part in match.contributions}


def _by_word(match: MatchExplanation) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for term in match.terms:
        sums[one_line(term.query)] += term.contribution
    return sums


def _largest(ours: dict[str, float], theirs: dict[str, float]) -> list[str]:
    gaps = {name: ours.get(name, 0) - theirs.get(name, 0) for name in {**ours, **theirs}}
    ordered = sorted(gaps.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [item for item in ordered if abs(item[1]) >= _NEGLIGIBLE][:_REASONS_SHOWN]
    return [f"{name} {gap:+.3f}" for name, gap in shown]


def _calibration(match: MatchExplanation) -> Iterator[str]:
    inputs = " · ".join(f"{one.name} {one.value:.3f}" for one in match.calibration.inputs)
    yield f"{_INDENT}score from {inputs}"


def _stages(stages: Sequence[Stage], output: Output) -> list[str]:
    if not stages:
        return []
    columns = max(len(stage.name) for stage in stages)
    rows = [
        f"{_INDENT}{stage.name:<{columns}}  {stage.duration_ms:8.3f} ms  {_details(stage)}".rstrip()
        for stage in stages
    ]
    return [output.paint("stages", "bold"), *rows]


def _details(stage: Stage) -> str:
    return one_line(", ".join(f"{name} {value}" for name, value in stage.details.items()))


def _diagnostics(items: Iterable[Diagnostic], output: Output) -> list[str]:
    rows = [f"{_INDENT}{item.severity}[{item.code}]: {one_line(item.message)}" for item in items]
    return [output.paint("diagnostics", "bold"), *rows] if rows else []
