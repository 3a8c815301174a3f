"""The matches of an explanation as text: what each score is the sum of, and why the order is so."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING

from mcpg.cli.glyphs import columns_of, fitted, hanging, wrapped
from mcpg.cli.sanitise import one_line, width
from mcpg.cli.textview import score_text, summary_of_match
from mcpg.cli.wording import found_by, own_score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcpg.cli.glyphs import Glyphs
    from mcpg.cli.output import Output
    from mcpg.engine import Explanation, Match
    from mcpg.engine.trace import CalibrationExplanation, MatchExplanation

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
