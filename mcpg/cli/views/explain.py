"""An explanation as text, made to be read at a glance and from top to bottom."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING

from mcpg.cli.markdown import LEFT, RIGHT, aligned_table, code, element
from mcpg.cli.output import columns_of, fitted, glyphs_of_standard_output, hanging, wrapped
from mcpg.cli.terminal import (
    became,
    diagnostic_lines,
    facts,
    found_by,
    nearness,
    one_line,
    own_score,
    rewriting,
    unrepaired,
    width,
)
from mcpg.cli.views.matches import score_text, summary_of_match
from mcpg.engine.expansion import RELATED
from mcpg.gateway.json import answer_json, match_json, score_json
from mcpg.values import TIME_DECIMALS, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcpg.cli.output import Glyphs, Output
    from mcpg.engine import Explanation, Match
    from mcpg.engine.trace import (
        CalibrationExplanation,
        ExpansionExplanation,
        MatchExplanation,
        ModelExplanation,
        QueryWord,
        Stage,
    )
    from mcpg.errors import Diagnostic
    from mcpg.json_types import JsonObject, JsonValue

# SECTION matchview: The matches of an explanation as text: what each score is the sum of, and why
# the order is so.


INDENT = "    "
_BAR = 24
_WIDEST_WORD = 40
_REASONS_SHOWN = 3
_NEGLIGIBLE = 5e-7


class MatchView:
    """Lays out the matches of one explanation."""

    def __init__(self, explanation: Explanation, output: Output, glyphs: Glyphs) -> None:
        self._explanation = explanation
        self._output = output
        self._glyphs = glyphs

    def blocks(self) -> Iterator[list[str]]:
        """Give the lines about each match."""
        matches = self._explanation.matches
        largest = max((abs(match.fused_score) for match in matches), default=0.0)
        rows = zip_longest(self._explanation.result.matches, matches, matches[1:])
        for rank, (match, reasons, following) in enumerate(rows, start=1):
            lines = [self._title(rank, match, reasons)]
            if reasons is not None:
                lines += self._contributions(reasons, largest)
                lines += self._terms(reasons)
                lines += self._merging(reasons) or self._order(reasons, following)
                lines += self._calibration(own_score(reasons), reasons.calibration)
            yield lines

    def _title(self, rank: int, match: Match, reasons: MatchExplanation | None) -> str:
        scores = ""
        if reasons is not None:
            scores = f"score {score_text(match.score)}  fused {reasons.fused_score:.6f}  "
        name = one_line(match.tool_id)
        room = self._output.columns - width(f"{rank:>2}  {name}  {scores}")
        return (
            f"{rank:>2}  {self._output.paint(name, 'cyan')}  {self._output.paint(scores, 'bold')}"
            f"{self._glyphs.cut(summary_of_match(match), room)}"
        ).rstrip()

    def _contributions(self, match: MatchExplanation, largest: float) -> Iterator[str]:
        columns = max((len(part.feature) for part in match.contributions), default=0)
        for part in match.contributions:
            if part.contribution:
                share = abs(part.contribution) / largest if largest else 0.0
                style = "green" if part.contribution > 0 else "red"
                bar = self._output.paint(self._glyphs.bar(share, _BAR), style)
                sums = f"{part.contribution:+10.6f} = {part.value:.6f} * {part.weight:g}"
                yield f"{INDENT}{part.feature:<{columns}}  {bar}  {sums}"

    def _terms(self, match: MatchExplanation) -> Iterator[str]:
        """Give one line a word of the query: what it matched, in which fields, for how much."""
        fields: dict[str, list[str]] = defaultdict(list)
        for term in match.terms:
            name = self._matched(one_line(term.query), one_line(term.matched), term.kind)
            fields[name].append(f"{term.field} {term.contribution:+.3f}")
        columns = columns_of(list(fields), _WIDEST_WORD)
        for name, places in fields.items():
            room = self._output.columns - len(INDENT) - columns - 5
            first, *others = wrapped([f"{place}," for place in places[:-1]] + places[-1:], room)
            yield f"{INDENT}{fitted(name, columns, self._glyphs)}  in {first}"
            for other in others:
                yield f"{INDENT}{' ' * columns}     {other}"

    def _matched(self, query: str, word: str, kind: str) -> str:
        if kind == "exact":
            return query
        if query == word:
            return f"{query} ({kind})"
        return f"{query} {self._glyphs.arrow} {word} ({kind})"

    def _merging(self, match: MatchExplanation) -> list[str]:
        told = found_by(match)
        return list(self._wrapped(told)) if told else []

    def _order(self, match: MatchExplanation, following: MatchExplanation | None) -> Iterator[str]:
        if following is None:
            return
        other = one_line(following.tool_id)
        gap = match.fused_score - following.fused_score
        if gap < _NEGLIGIBLE:
            yield f"{INDENT}level with {other}: the smaller tool id goes first"
            return
        features = _largest(_by_feature(match), _by_feature(following))
        words = _largest(_by_word(match), _by_word(following))
        because = ", ".join(features) + (f" ({', '.join(words)})" if words else "")
        yield from self._wrapped(f"ahead of {other} by {gap:.6f}: {because}")

    def _calibration(self, score: float, calibration: CalibrationExplanation) -> Iterator[str]:
        parts = [f"{calibration.intercept:+.3f} to begin with"]
        parts += [
            f"{one.contribution:+.3f} {one.name} ({one.value:.3f})"
            for one in calibration.inputs
            if one.contribution
        ]
        capped = ""
        if calibration.capped_by is not None:
            capped = (
                f"; alone it would be {calibration.probability:.6f}, but no score is above that of"
                f" {one_line(calibration.capped_by)}"
            )
        sums = f"score {score_text(score)}: logit {calibration.logit:+.3f} = {', '.join(parts)}"
        yield from self._wrapped(sums + capped)

    def _wrapped(self, text: str) -> Iterator[str]:
        return hanging(text, self._output.columns, INDENT, f"{INDENT}  ")


def _by_feature(match: MatchExplanation) -> dict[str, float]:
    return {part.feature: part.contribution for part in match.contributions}


def _by_word(match: MatchExplanation) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for term in match.terms:
        sums[one_line(term.query)] += term.contribution
    return sums


def _largest(ours: Mapping[str, float], theirs: Mapping[str, float]) -> list[str]:
    gaps = {name: ours.get(name, 0) - theirs.get(name, 0) for name in {**ours, **theirs}}
    ordered = sorted(gaps.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [item for item in ordered if abs(item[1]) >= _NEGLIGIBLE][:_REASONS_SHOWN]
    return [f"{name} {gap:+.3f}" for name, gap in shown]


_FACT = 16
_WORD = 24
_BECAME = 60
_SHARE_BAR = 12
_EDGE_INDENT = " " * 14


def explain_text(explanation: Explanation, output: Output, *, shows_times: bool = False) -> str:
    """Give the story of a search: the query, its words, the matches, the edges, the machinery.

    Times differ from run to run, so they are left out unless *shows_times*.
    """
    view = _View(explanation, output)
    blocks = [
        view.head(),
        view.words(),
        *MatchView(explanation, output, view.glyphs).blocks(),
        view.expansions(RELATED, "related"),
        view.expansions("nextStep", "next steps"),
        view.lists(),
        view.channels(),
        view.model(),
        view.times() if shows_times else [],
        view.bullets("advice", explanation.advice),
        view.bullets("diagnostics", diagnostic_lines(explanation.result.diagnostics)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


class _View:
    """Lays out one explanation."""

    def __init__(self, explanation: Explanation, output: Output) -> None:
        self.glyphs = glyphs_of_standard_output()
        self._explanation = explanation
        self._output = output
        self._details = {stage.name: stage.details for stage in explanation.stages}

    def head(self) -> list[str]:
        lines: list[str] = []
        for name, value in facts(self._explanation):
            lines += hanging(value, self._output.columns, f"{name:<{_FACT}}", " " * _FACT)
        return lines

    def words(self) -> list[str]:
        words = self._explanation.words
        if not words:
            return []
        names = columns_of([one_line(word.text) for word in words], _WORD)
        fates = columns_of([became(word, self.glyphs.arrow) for word in words], _BECAME)
        return [self._bold("words"), *(self._word(word, names, fates) for word in words)]

    def _word(self, word: QueryWord, names: int, fates: int) -> str:
        name = fitted(one_line(word.text), names, self.glyphs)
        fate = became(word, self.glyphs.arrow)
        if word.role == "function word":
            return f"{INDENT}{name}  {self._output.paint(fate, 'dim')}"
        room = min(fates, self._output.columns - names - 37)
        share = f"{word.weight:4.0%} {self.glyphs.bar(word.weight, _SHARE_BAR)}"
        shown = fitted(fate, max(12, room), self.glyphs)
        if not word.repairs:
            shown = self._output.paint(shown, "yellow")
        tools = _tools(word.document_frequency)
        origin = "" if word.origin == "query" else f"({word.origin})"
        return f"{INDENT}{name}  {shown}  {tools}  {share} {origin}".rstrip()

    def lists(self) -> list[str]:
        """Give one line a list of postings: what was looked up, in how many tools it stands."""
        details = self._details.get("retrieve")
        if not details:
            return []
        rows = list(_objects(details["lists"]))
        names = columns_of([one_line(str(row["matched"])) for row in rows], _WORD)
        most = max((float(str(row["most"])) for row in rows), default=0.0)
        lines = [self._bold("found by words")]
        for row in rows:
            name = fitted(one_line(str(row["matched"])), names, self.glyphs)
            bound = float(str(row["most"]))
            bar = self.glyphs.bar(bound / most if most else 0.0, _SHARE_BAR)
            lines.append(
                f"{INDENT}{name}  {_tools(int(str(row['tools'])))}  {bar}  adds at most {bound:.3f}"
            )
        named = ", ".join(one_line(str(one)) for one in _items(details["exactNames"]))
        together = (
            f"together {details['found']}, looked at {details['pool']},"
            f" best lexical score {details['bestLexical']:.3f},"
            f" named exactly: {named or 'none'}"
        )
        return [*lines, INDENT + self.glyphs.cut(together, self._output.columns - len(INDENT))]

    def channels(self) -> list[str]:
        """Give one line a channel: its weight, how many tools have it, which most."""
        rows = list(_objects(self._details.get("fuse", {}).get("channels")))
        if not rows:
            return []
        names = columns_of([str(row["feature"]) for row in rows], _WORD)
        lines = [self._bold("channels")]
        for row in rows:
            best = f"best {row['best']:.3f} {one_line(str(row['bestTool']))}"
            told = best if row["bestTool"] else self.glyphs.dash
            line = (
                f"{row['feature']:<{names}}  {row['tools']:>4} tools  weight {row['weight']:<5g} "
            )
            lines.append(INDENT + self.glyphs.cut(line + told, self._output.columns - len(INDENT)))
        return lines

    def expansions(self, edge: str, heading: str) -> list[str]:
        reached = [one for one in self._explanation.expansions if one.via.edge == edge]
        return [self._bold(heading), *self._expansion_lines(reached)] if reached else []

    def _expansion_lines(self, reached: Iterable[ExpansionExplanation]) -> Iterable[str]:
        for one in reached:
            sums = f"= {one.via.weight:.3f} * {one.from_score:.6f} of {one_line(one.via.source)}"
            name = one_line(one.tool_id)
            yield (
                f"{INDENT}{score_text(one.score)}  {self._output.paint(name, 'cyan')}  "
                f"{self.glyphs.cut(sums, max(24, self._output.columns - 16 - len(name)))}"
            )
            reason = self.glyphs.cut(one_line(one.via.reason), self._output.columns - 14)
            yield _EDGE_INDENT + self._output.paint(reason, "dim")

    def model(self) -> list[str]:
        model = self._explanation.model
        return (
            self.bullets("model", [one_line(f"{model.name}: {model.provenance}")]) if model else []
        )

    def times(self) -> list[str]:
        stages: Sequence[Stage] = self._explanation.stages
        columns = max((len(stage.name) for stage in stages), default=0)
        rows = [f"{INDENT}{one.name:<{columns}}  {one.duration_ms:8.3f} ms" for one in stages]
        return [self._bold("timings"), *rows] if rows else []

    def bullets(self, heading: str, texts: Iterable[str]) -> list[str]:
        """Give *texts* below *heading*, each wrapped below its first word."""
        lines: list[str] = []
        for text in texts:
            lines += hanging(text, self._output.columns, INDENT, f"{INDENT}  ")
        return [self._bold(heading), *lines] if lines else []

    def _bold(self, text: str) -> str:
        return self._output.paint(text, "bold")


def _tools(count: int) -> str:
    return f"{count:>6} tool{' ' if count == 1 else 's'}"


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    return (item for item in _items(value) if isinstance(item, dict))


# SECTION explainmd: An explanation as Markdown, for a comment on an issue or a pull request.


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


# JSON


def explain_json(explanation: Explanation, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Return the object that `explain` prints: that of `search` and everything that led to it.

    Only the stages' `durationMs` differ from run to run.
    """
    reasons = {match.tool_id: reasons_json(match) for match in explanation.matches}
    return {
        "schema": "mcpg/explain/1",
        **answer_json(explanation.result, loading),
        "matches": [
            match_json(match) | reasons.get(match.tool_id, {})
            for match in explanation.result.matches
        ],
        "language": explanation.language,
        "words": [word_json(word) for word in explanation.words],
        "expansions": [
            {
                "toolId": one.tool_id,
                **to_json(one.via, {"source": "from"}),
                "fromScore": one.from_score,
                "score": one.score,
            }
            for one in explanation.expansions
        ],
        "stages": [
            to_json(stage) | {"durationMs": round(stage.duration_ms, TIME_DECIMALS)}
            for stage in explanation.stages
        ],
        "model": model_json(explanation.model) if explanation.model else None,
        "advice": list(explanation.advice),
    }


def reasons_json(match: MatchExplanation) -> JsonObject:
    """Return the summands at full precision, because they add up to the fused score exactly."""
    without = ("tool_id", "score") if match.found_by else ("tool_id", "score", "found_by")
    calibration: JsonObject = {"intercept": match.calibration.intercept}
    calibration |= to_json(match.calibration, {"name": "input"})
    return to_json(match, without=without) | {"calibration": calibration}


def word_json(word: QueryWord) -> JsonObject:
    """Return what became of a word of the query."""
    repairs = [to_json(repair, without=["term"]) for repair in word.repairs]
    return to_json(word) | {"weight": score_json(word.weight), "repairs": repairs}


def model_json(model: ModelExplanation) -> JsonObject:
    """Return the fitted numbers and where they come from."""
    calibration = to_json(model, without=("name", "provenance", "weights"))
    return to_json(model, without=("intercept", "coefficients")) | {"calibration": calibration}
