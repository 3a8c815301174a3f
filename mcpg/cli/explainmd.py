"""An explanation as Markdown, for a comment on an issue or a pull request."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mcpg.cli.markdown import LEFT, RIGHT, aligned_table, code, element
from mcpg.cli.sanitise import one_line
from mcpg.cli.textview import score_text, summary_of_match
from mcpg.cli.wording import diagnostic_lines, found_by, nearness, own_score, rewriting, unrepaired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.engine import Explanation, Match
    from mcpg.engine.trace import CalibrationExplanation, MatchExplanation, QueryWord

_SUMMARY = 120


def explain_markdown(explanation: Explanation, *, shows_times: bool = False) -> str:
    """Give the story of a search in tables; texts of the catalogue and the query stay texts."""
    blocks = [
        [f"### mcpg explain {safe(explanation.result.query)}".rstrip()],
        _facts(explanation),
        _matches(explanation),
        _words(explanation.words),
        *_reasons(explanation),
        _expansions(explanation),
        _times(explanation) if shows_times else [],
        bullets("Advice", explanation.advice),
        bullets("Diagnostics", diagnostic_lines(explanation.result.diagnostics)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def safe(text: str, limit: int = 1_000) -> str:
    """Give *text* as code of at most *limit* characters, the unsafe in it made visible."""
    return code(one_line(text)[:limit])


def bullets(heading: str, texts: Iterable[str]) -> list[str]:
    """Give *texts* as a list below *heading*, nothing where there are none."""
    lines = [f"- {safe(text)}" for text in texts]
    return [f"**{heading}**", "", *lines] if lines else []


def _facts(explanation: Explanation) -> list[str]:
    result, model = explanation.result, explanation.model
    told = [
        f"Strategy {result.strategy}, ranked by {result.ranking_mode}",
        f"{result.focused_graph.nodes} nodes and {result.focused_graph.edges} edges around it",
    ]
    if explanation.normalized_query:
        told.append(f"rewritten as {safe(explanation.normalized_query)}")
    if rewriting(explanation):
        told.append(f"rewriting: {rewriting(explanation)}")
    if explanation.language:
        told.append(f"function words: {explanation.language}")
    if model:
        told.append(f"model {safe(model.name)} ({safe(model.provenance)})")
    return [f"{'; '.join(told)}."]


def _matches(explanation: Explanation) -> list[str]:
    matches = explanation.result.matches
    if not matches:
        return ["No tool matches."]
    fused = {match.tool_id: f"{match.fused_score:.6f}" for match in explanation.matches}
    rows = (_match(rank, match, fused) for rank, match in enumerate(matches, start=1))
    heads = ("#", "tool", "score", "fused", "what it is")
    return aligned_table(heads, (RIGHT, LEFT, RIGHT, RIGHT, LEFT), rows)


def _match(rank: int, match: Match, fused: dict[str, str]) -> tuple[str, ...]:
    score = score_text(match.score) if match.tool_id in fused else ""
    what = safe(summary_of_match(match), _SUMMARY)
    return str(rank), safe(match.tool_id), score, fused.get(match.tool_id, ""), what


def _words(words: Iterable[QueryWord]) -> list[str]:
    rows = [(safe(word.text), _fate(word), *_figures(word)) for word in words]
    aligned = (LEFT, LEFT, RIGHT, RIGHT)
    return (
        aligned_table(("word", "what it became", "tools", "share"), aligned, rows) if rows else []
    )


def _fate(word: QueryWord) -> str:
    if not word.repairs:
        return unrepaired(word)
    fates = [
        "kept" if one.kind == "exact" else f"{safe(one.word)} ({nearness(one)})"
        for one in word.repairs
    ]
    context = "" if word.origin == "query" else f", from the {word.origin}"
    return "; ".join(fates) + context


def _figures(word: QueryWord) -> tuple[str, str]:
    return (str(word.document_frequency), f"{word.weight:.0%}") if word.weight else ("", "")


def _reasons(explanation: Explanation) -> Iterator[list[str]]:
    """Give for each match a part to open, with its contributions, words and calibration."""
    for match in explanation.matches:
        yield [
            f"<details><summary>Why {element(match.tool_id)} is {match.rank}.</summary>",
            "",
            f"Its fused score, {match.fused_score:.6f}, is the sum of:",
            "",
            *_contributions(match),
            *([""] if match.found_by else []),
            *([f"Both searches together: {found_by(match)}."] if match.found_by else []),
            "",
            *_terms(match),
            *_calibration(own_score(match), match.calibration),
            "",
            "</details>",
        ]


def _contributions(match: MatchExplanation) -> list[str]:
    rows = (
        (part.feature, f"{part.value:.6f}", f"{part.weight:g}", f"{part.contribution:+.6f}")
        for part in match.contributions
        if part.contribution
    )
    heads = ("feature", "value", "weight", "contribution")
    return aligned_table(heads, (LEFT, RIGHT, RIGHT, RIGHT), rows)


def _terms(match: MatchExplanation) -> list[str]:
    fields: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for term in match.terms:
        key = (safe(term.query), safe(term.matched), term.kind)
        fields[key].append(f"{term.field} {term.contribution:+.3f}")
    rows = [(*key, ", ".join(places)) for key, places in fields.items()]
    heads = ("word", "matched", "how", "in")
    return [*aligned_table(heads, (LEFT, LEFT, LEFT, LEFT), rows), ""] if rows else []


def _calibration(score: float, calibration: CalibrationExplanation) -> list[str]:
    rows = [
        (one.name, f"{one.value:.6f}", f"{one.coefficient:g}", f"{one.contribution:+.6f}")
        for one in calibration.inputs
    ]
    rows.append(("to begin with", "", "", f"{calibration.intercept:+.6f}"))
    capped = ""
    if calibration.capped_by is not None:
        capped = (
            f"; alone it would be {calibration.probability:.6f}, but no score is above that of"
            f" {safe(calibration.capped_by)}"
        )
    heads = ("calibration", "value", "coefficient", "logit")
    told = f"Logit {calibration.logit:+.6f}, score {score_text(score)}{capped}."
    return [*aligned_table(heads, (LEFT, RIGHT, RIGHT, RIGHT), rows), "", told]


def _expansions(explanation: Explanation) -> list[str]:
    rows = [
        (
            "next step" if one.via.edge == "nextStep" else one.via.edge,
            safe(one.tool_id),
            score_text(one.score),
            safe(one.via.source),
            f"{one.via.weight:.3f}",
            safe(one.via.reason),
        )
        for one in explanation.expansions
    ]
    heads = ("edge", "tool", "score", "from", "weight", "reason")
    aligned = (LEFT, LEFT, RIGHT, LEFT, RIGHT, LEFT)
    return aligned_table(heads, aligned, rows) if rows else []


def _times(explanation: Explanation) -> list[str]:
    rows = [(stage.name, f"{stage.duration_ms:.3f}") for stage in explanation.stages]
    return aligned_table(("stage", "ms"), (LEFT, RIGHT), rows) if rows else []
