"""`mcpg route`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.cli.exits import ExitCode
from mcpg.cli.markdown import LEFT, RIGHT, aligned_table
from mcpg.cli.open_bundle import open_engine
from mcpg.cli.output import (
    columns_of,
    fitted,
    glyphs_of_standard_output,
    hanging,
    wrapped,
)
from mcpg.cli.parameters import ABSTAIN, FORMAT, LIMIT, PREFER, QUESTION, Parameter
from mcpg.cli.query import Question, Showing, arguments_of, exit_code
from mcpg.cli.terminal import counted, cut, one_line
from mcpg.cli.views.explain import explain_json, explain_markdown, explain_text, safe
from mcpg.cli.views.matches import id_columns, match_line, score_text
from mcpg.engine.results import RankingMode
from mcpg.errors import UsageError
from mcpg.gateway.json import route_json, routing_json
from mcpg.gateway.routing.preference import NONE
from mcpg.gateway.routing.route import RouteResult, route
from mcpg.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import typer

    from mcpg.cli.output import Output
    from mcpg.engine import Engine
    from mcpg.gateway.routing.preference import Preference, WordLeaning
    from mcpg.gateway.routing.route import RoutedCategory, RoutedMatch

EXAMPLES = """\
mcpg route refund the customer
mcpg route "what happened to order 4711" --prefer read-only
mcpg route clean up old branches --categories 3 --tools 5 -b real.mdld
mcpg route refund the customer --format json | jq -r '.categories[].name'"""


PARAMETERS = (
    *(one for one in QUESTION if one not in {LIMIT, ABSTAIN}),
    Parameter(
        "categories",
        ("--categories",),
        "The most categories to give, up to 20.",
        "N",
        kind=int,
        default=5,
        least=1,
    ),
    Parameter(
        "tools",
        ("--tools",),
        "The most tools to give of each category.",
        "N",
        kind=int,
        default=3,
        least=1,
    ),
    PREFER,
    FORMAT,
)


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - `explain --route` does without

    options.command(app, "route", examples=EXAMPLES, table=PARAMETERS)(route_query)


def route_query(
    output: Output, *, categories: int, tools: int, prefer: str | None, form: str, **asked: Any
) -> int:
    """Find the categories of tools that serve a request, and the best tools of each.

    A tool's score is that of a search, raised or lowered a little for what its hints say: whether
    it reads or writes, what it costs, how long it takes. `mcpg explain --route` shows how.
    """
    question = Question.of(asked)
    arguments = arguments_of(question)
    engine = open_engine(question.settings, output)
    result = _routed(engine, arguments, prefer, categories=categories, tools=tools)
    if form == "json":
        output.json(route_json(result, engine.diagnostics))
    else:
        output.diagnostics((*engine.diagnostics, *result.diagnostics))
        output.text(route_text(result, output))
        if not result.categories:
            output.note("no tool matches")
    if question.is_gated and not result.suggested:
        return ExitCode.FINDINGS
    return ExitCode.DONE


_INDENT = "    "
_NAME_LIMIT = 60
_FACT = 16
_WORDS_TOLD = 3
_ROUNDING = 1e-6
_KINDS = {"read-only": "tools that read", "write": "tools that write"}


def route_text(result: RouteResult, output: Output) -> str:
    """Give a block for each category, with a line for each of its tools."""
    columns = id_columns([one.match for one in result.suggested])
    browsing = result.ranking_mode == RankingMode.BROWSE
    blocks = [
        [
            _heading(category, output, shows_score=not browsing),
            *(
                match_line(
                    replace(one.match, score=one.score),
                    output,
                    columns,
                    rank,
                    shows_score=not browsing,
                )
                for rank, one in enumerate(category.matches, start=1)
            ),
        ]
        for category in result.categories
    ]
    if blocks and result.preference.name != NONE:
        told = f"preferring {_KINDS[result.preference.name]}: {_briefly(result.preference)}"
        blocks.append([output.paint(cut(told, output.columns), "dim")])
    return "\n\n".join("\n".join(block) for block in blocks)


def routing_text(result: RouteResult, output: Output) -> str:
    """Give the part of an explanation about routing: preference, categories, sums."""
    lines = [output.paint("routing", "bold")]
    for name, told in _facts(result):
        first = f"{_INDENT}{name:<{_FACT}}"
        lines += hanging(told, output.columns, first, " " * len(first))
    lines += _word_lines(result.preference)
    summed: set[str] = set()
    for category in result.categories:
        lines.append(f"{_INDENT}{_heading(category, output, shows_score=True)}")
        for one in category.matches:
            tool_id = one.match.tool_id
            name = output.paint(one_line(tool_id), "cyan")
            lines.append(f"{_INDENT * 2}{score_text(one.score)}  {name}")
            lines += [] if tool_id in summed else _sum_lines(one, output.columns)
            summed.add(tool_id)
    return "\n".join(lines)


def routing_markdown(result: RouteResult) -> str:
    """Give the part of an explanation about routing, in tables."""
    told = "; ".join(f"{name}: {safe(value)}" for name, value in _facts(result))
    blocks = [[f"**Routing.** {told}."]]
    words = [
        (safe(one.text), str(one.read_only), str(one.writing), f"{one.evidence:+.6f}")
        for one in result.preference.words
    ]
    heads = ("word", "read-only tools", "writing tools", "evidence")
    blocks += [aligned_table(heads, (LEFT, RIGHT, RIGHT, RIGHT), words)] if words else []
    rows = [
        (
            safe(category.name, _NAME_LIMIT),
            score_text(category.score),
            str(category.found),
            ", ".join(safe(one.match.tool_id) for one in category.matches),
        )
        for category in result.categories
    ]
    heads = ("category", "score", "found", "tools")
    blocks += [aligned_table(heads, (LEFT, RIGHT, RIGHT, LEFT), rows)] if rows else []
    sums = [
        (
            safe(one.match.tool_id),
            score_text(one.score),
            score_text(one.match.score),
            ", ".join(_adjustments(one)),
        )
        for one in result.suggested
    ]
    heads = ("tool", "score", "calibrated", "adjusted for")
    blocks += [aligned_table(heads, (LEFT, RIGHT, RIGHT, LEFT), sums)] if sums else []
    return "\n\n".join("\n".join(block) for block in blocks)


def _heading(category: RoutedCategory, output: Output, *, shows_score: bool) -> str:
    name = output.paint(cut(one_line(category.name), _NAME_LIMIT), "bold")
    score = f"  {score_text(category.score)}" if shows_score else ""
    shown = len(category.matches)
    more = f"  ({shown} of {category.found})" if category.found > shown else ""
    return f"{name}{score}{output.paint(more, 'dim') if more else ''}"


def _facts(result: RouteResult) -> Iterator[tuple[str, str]]:
    """Give name and value of what holds for the whole routing; the values are safe."""
    preference = result.preference
    yield "looked at", counted(result.candidates, "tool")
    yield "weights", one_line(result.weights.provenance)
    yield "preference", f"{preference.name}: {_because(preference)}"


def _because(preference: Preference) -> str:
    """Say on one safe line why *preference* is what it is."""
    if preference.is_asked:
        return "as asked"
    if not (preference.read_only and preference.writing):
        return "the catalogue does not tell tools that read from tools that write"
    needed = f"evidence {preference.evidence:+.3f}, {preference.needed:.3f} needed"
    if preference.name == NONE:
        return f"the words of the query say too little of it ({needed})"
    words = ", ".join(_spoken(word, preference) for word in _speaking(preference)[:_WORDS_TOLD])
    return f"{words} ({needed})"


def _briefly(preference: Preference) -> str:
    """Say what spoke most for *preference*."""
    if preference.is_asked:
        return "as asked"
    return _spoken(_speaking(preference)[0], preference)


def _speaking(preference: Preference) -> list[WordLeaning]:
    """Give the words that speak for what is preferred, the most telling first."""
    return [word for word in preference.words if word.evidence * preference.evidence > 0]


def _spoken(word: WordLeaning, preference: Preference) -> str:
    held = (
        f"{word.read_only} of {counted(preference.read_only, 'read-only tool')}"
        f" and {word.writing} of {preference.writing} that write"
    )
    return f"{one_line(word.text)} is in {held}"


def _word_lines(preference: Preference) -> Iterator[str]:
    names = columns_of([one_line(word.text) for word in preference.words], _NAME_LIMIT)
    glyphs = glyphs_of_standard_output()
    for word in preference.words:
        name = fitted(one_line(word.text), names, glyphs)
        held = f"{word.read_only:>4} read-only, {word.writing:>4} writing"
        yield f"{_INDENT * 2}{name}  {word.evidence:+.3f}  in {held}"


def _sum_lines(one: RoutedMatch, columns: int) -> Iterator[str]:
    """Say what the score of a tool is the sum of."""
    parts = [f"= {score_text(one.match.score)} calibrated"]
    parts += [f"{part.value:+.6f} {part.name}" for part in one.adjustments]
    total = one.match.score + sum(part.value for part in one.adjustments)
    if abs(total - one.score) > _ROUNDING:
        parts.append(f"= {total:.6f}, which is cut")
    for line in wrapped(parts, columns - len(_INDENT) * 4):
        yield f"{_INDENT * 4}{line}"


def _adjustments(one: RoutedMatch) -> Iterable[str]:
    return (f"{part.value:+.6f} {part.name} ({part.weight:+g})" for part in one.adjustments)


_READ_ONLY = {"read-only": True, "write": False}


def answer_explain(question: Question, prefer: str | None, shown: Showing, output: Output) -> int:
    """Search, route, and print everything that led to both."""
    arguments = arguments_of(question)
    engine = open_engine(question.settings, output)
    explanation = engine.explain(**arguments)
    result = _routed(engine, arguments, prefer)
    if shown.form == "json":
        members = explain_json(explanation, engine.diagnostics)
        output.json({**members, "routing": routing_json(result)})
        return exit_code(explanation.result, question)
    output.diagnostics(engine.diagnostics)
    times = shown.shows_times
    if shown.form == "md":
        parts = explain_markdown(explanation, shows_times=times), routing_markdown(result)
    else:
        parts = explain_text(explanation, output, shows_times=times), routing_text(result, output)
    output.text("\n\n".join(parts))
    return exit_code(explanation.result, question)


def refuse(given: Mapping[str, object]) -> None:
    """Refuse what was *given*, by flag, of options that have nothing to do with routing.

    Raises:
        UsageError: One was given.
    """
    for flag in filter(given.get, given):
        remedy = f"leave {flag} out, or --route"
        raise UsageError("it says nothing about routing", place=flag, remedy=remedy)


def _routed(
    engine: Engine, arguments: Mapping[str, Any], prefer: str | None, **most: Any
) -> RouteResult:
    asked = {name: one for name, one in arguments.items() if name not in {"limit", "abstain"}}
    return route(
        engine,
        prefer_read_only=_READ_ONLY.get(prefer or ""),
        derives_preference=prefer is None,
        **most,
        **asked,
    )
