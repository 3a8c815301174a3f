"""Why a tool is where it is, as text and as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.cli.markdown import code
from mcpg.cli.output import Color, glyphs_of_standard_output
from mcpg.cli.terminal import one_line, pad, width
from mcpg.cli.views.matches import score_text
from mcpg.documents.front_matter import flow, quoted
from mcpg.documents.page import fence_for
from mcpg.gateway.json import score_json
from mcpg.values import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.cli.output import Output
    from mcpg.engine.trace import HintSuggestion, RankExplanation, Retrieval, Rival
    from mcpg.evaluation.report import Change as Moved
    from mcpg.evaluation.report import Comparison
    from mcpg.json_types import JsonObject

_BAR = 24
_INDENT = "    "
_NEGLIGIBLE = 5e-7
_MOVED_SHOWN = 10
_SNIPPET = "# add to a hints file:"


def rank_explanation_json(
    standing: RankExplanation, effect: Comparison | None = None
) -> JsonObject:
    """Give the member `tool` of what `explain --tool` prints; gaps at full precision, as sums."""
    members = to_json(standing) | {
        "score": score_json(standing.score),
        "above": [_rival_json(rival) for rival in standing.above],
        "change": _change_json(standing.change) if standing.change else None,
    }
    return members if effect is None else members | {"effect": effect.json()}


def rank_explanation_text(
    query: str, standing: RankExplanation, effect: Comparison | None, output: Output
) -> str:
    """Give the story of one tool: where it is, who is above and why, what would lift it."""
    blocks = [
        _head(query, standing),
        *(_rival(rival, output) for rival in standing.above),
        _words(standing, output),
        _change(standing, output),
        _effect(effect, output) if effect else [],
        _snippet(standing.tool_id, standing.change) if standing.change else [],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def rank_explanation_markdown(
    query: str, standing: RankExplanation, effect: Comparison | None, output: Output
) -> str:
    """Return `rank_explanation_text` for a comment on an issue: nothing in it is markup."""
    plain = replace(output, color=Color.NEVER)
    text, _, snippet = rank_explanation_text(query, standing, effect, plain).partition(
        f"\n\n{_SNIPPET}\n"
    )
    parts = [f"### Why {code(standing.tool_id)} is where it is", _fenced("text", text)]
    if snippet:
        parts += ["Add to a hints file:", _fenced("yaml", snippet)]
    return "\n\n".join(parts)


def _fenced(language: str, text: str) -> str:
    fence = fence_for(text)
    return f"{fence}{language}\n{text}\n{fence}"


def _rival_json(rival: Rival) -> JsonObject:
    features = [to_json(gap) | {"difference": gap.difference} for gap in rival.features]
    return to_json(rival) | {"score": score_json(rival.score), "features": features}


def _change_json(change: HintSuggestion) -> JsonObject:
    return {
        "hints": hints_to_add(change),
        "rankAfter": change.rank_after,
        "scoreAfter": score_json(change.score_after),
        "verified": change.is_verified,
    }


def hints_to_add(change: HintSuggestion) -> JsonObject:
    """Give what stands below the tool's id in a hints file."""
    hints = change.hints
    members: JsonObject = {"keywords": list(hints.keywords), "aliases": list(hints.aliases)}
    return members | ({"enabledByDefault": True} if hints.enabled_by_default else {})


def _head(query: str, standing: RankExplanation) -> list[str]:
    rows = [
        ("query", one_line(query)),
        ("tool", one_line(standing.tool_id)),
        ("rank", _rank(standing)),
        ("by its words", _place(standing.retrieval)),
        ("lacks", ", ".join(map(one_line, standing.missing))),
    ]
    return [f"{name:<16}{value}" for name, value in rows if value]


def _rank(standing: RankExplanation) -> str:
    fused = f"fused {standing.fused_score:.6f}"
    if standing.is_hidden:
        return f"none: it is disabled by default, {fused}"
    if standing.rank is None:
        return f"none among {standing.ranked:,}, {fused}"
    score = score_text(standing.score)
    return f"{standing.rank:,} of {standing.ranked:,}, score {score}, {fused}"


def _place(retrieval: Retrieval) -> str:
    if not retrieval.lexical:
        return "not found: it holds no word of the query"
    place = f"place {retrieval.place:,}" if retrieval.place else f"beyond {retrieval.retrieved:,}"
    known = f"{place}, {retrieval.lexical:.3f} of the query"
    if retrieval.is_pooled:
        return known
    first = f"the first {retrieval.pool}, down to {retrieval.last:.3f}, are looked at closely"
    return f"{known}; only {first}"


def _rival(rival: Rival, output: Output) -> list[str]:
    name = output.paint(one_line(rival.tool_id), "cyan")
    scores = f"score {score_text(rival.score)}  fused {rival.fused_score:.6f}"
    ahead = f"ahead by {rival.gap:.6f}" if rival.gap >= 0 else f"behind by {-rival.gap:.6f}"
    return [
        f"{rival.rank:>2}  {name}  {output.paint(f'{scores}  {ahead}', 'bold')}",
        *_gaps(rival, output),
        *(_line(one_line(reason), output) for reason in rival.because),
    ]


def _line(text: str, output: Output) -> str:
    return glyphs_of_standard_output().cut(f"{_INDENT}{text}", output.columns)


def _gaps(rival: Rival, output: Output) -> Iterator[str]:
    told = [gap for gap in rival.features if abs(gap.difference) >= _NEGLIGIBLE]
    columns = max((len(gap.feature) for gap in told), default=0)
    largest = max((abs(gap.difference) for gap in told), default=1.0)
    glyphs = glyphs_of_standard_output()
    for gap in told:
        style = "red" if gap.difference > 0 else "green"
        bar = output.paint(glyphs.bar(abs(gap.difference) / largest, _BAR), style)
        sums = f"{gap.difference:+.6f} = {gap.other:.6f} - {gap.own:.6f}"
        yield f"{_INDENT}{gap.feature:<{columns}}  {bar}  {sums}"


def _words(standing: RankExplanation, output: Output) -> list[str]:
    """Compare what of each word the tool answers with what the first one does."""
    if not standing.above:
        return []
    first = standing.above[0]
    names = [one_line(word.query) for word in first.words]
    columns = max(map(width, names), default=0)
    ids = one_line(first.tool_id)
    rows = [
        f"{_INDENT}{pad(name, columns)}  {word.share:>4.0%}  {word.own:>6.3f} here"
        f"  {word.other:>6.3f} in {ids}"
        for name, word in zip(names, first.words, strict=True)
    ]
    heading = output.paint("words", "bold")
    return [f"{heading}: share of the query, and what of it is answered", *rows]


def _change(standing: RankExplanation, output: Output) -> list[str]:
    change = standing.change
    heading = output.paint("change", "bold")
    if change is None:
        return [f"{heading}: none: {standing.remark}"]
    shown = "bundled and searched again" if change.is_verified else "not tried on a new bundle"
    after = f"rank {change.rank_after}, score {score_text(change.score_after)}"
    what = _said(change)
    rows = [f"{heading}: {what}", f"{_INDENT}then: {after} ({shown})"]
    return [*rows, f"{_INDENT}{standing.remark}"] if standing.remark else rows


def _said(change: HintSuggestion) -> str:
    parts = [
        *(["enable it"] if change.hints.enabled_by_default else []),
        *(f"add the keyword {one_line(repr(word))}" for word in change.hints.keywords),
        *(f"add the alias {one_line(repr(alias))}" for alias in change.hints.aliases),
    ]
    return ", ".join(parts)


def _effect(effect: Comparison, output: Output) -> list[str]:
    before, now = effect.before["ndcg@5"], effect.now["ndcg@5"]
    figures = "" if before is None or now is None else f", nDCG@5 {before:.3f} to {now:.3f}"
    heading = output.paint("judged queries", "bold")
    moved = f"{len(effect.better)} better, {len(effect.worse)} worse"
    return [
        f"{heading}: {effect.common}{figures}, {moved}",
        *_moved("better", effect.better, output),
        *_moved("worse", effect.worse, output),
    ]


def _moved(word: str, moved: Sequence[Moved], output: Output) -> Iterator[str]:
    for one in moved[:_MOVED_SHOWN]:
        ranks = f"rank {one.before.rank or '-'} to {one.now.rank or '-'}"
        yield _line(f"{word:<6}  {ranks}  {one_line(one.now.query)}", output)
    if len(moved) > _MOVED_SHOWN:
        yield f"{_INDENT}... and {len(moved) - _MOVED_SHOWN} more are {word}"


def _snippet(tool_id: str, change: HintSuggestion) -> list[str]:
    """Give the hints file that makes the change, or what to add to the tool's entry of one."""
    members = hints_to_add(change).items()
    lines = [f"    {key}: {flow(value)}" for key, value in members if value]
    return [_SNIPPET, "tools:", f"  {quoted(tool_id)}:", *lines]
