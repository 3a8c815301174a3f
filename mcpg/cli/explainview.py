"""An explanation as text, made to be read at a glance and from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.glyphs import columns_of, fitted, glyphs_of_standard_output, hanging
from mcpg.cli.matchview import INDENT, MatchView
from mcpg.cli.sanitise import one_line
from mcpg.cli.textview import score_text
from mcpg.cli.wording import became, diagnostic_lines, facts
from mcpg.engine.expansion import RELATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.cli.output import Output
    from mcpg.engine import Explanation
    from mcpg.engine.trace import ExpansionExplanation, QueryWord, Stage
    from mcpg.jsontypes import JsonObject, JsonValue

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
