"""`mcpg route`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.matches import MatchRows, matches_listing
from mcpg.cli.open_bundle import open_engine
from mcpg.cli.output import Output
from mcpg.cli.parameters import (
    ABSTAIN,
    FULL,
    LIMIT,
    LIST_FORMAT,
    PREFER,
    QUESTION,
    flag,
)
from mcpg.cli.query import Question, make_search_arguments, nothing_found
from mcpg.cli.render import write_listing
from mcpg.cli.terminal import cut, one_line
from mcpg.engine import Engine
from mcpg.route import (
    NONE,
    Preference,
    RoutedMatch,
    RouteResult,
    WordLeaning,
)
from mcpg.search.results import RankingMode
from mcpg.show.blocks import (
    Block,
    CodeSpan,
    Column,
    FactList,
    Figure,
    Inline,
    Score,
    Section,
    Styled,
    Table,
    join_inlines,
)
from mcpg.show.json import result_json
from mcpg.text.json_values import JsonObject
from mcpg.values import format_count, score_text

EXAMPLES = """\
mcpg route refund the customer
mcpg route "what happened to order 4711" --prefer read-only
mcpg route clean up old branches --max-categories 3 --max-tools 5 -b real.mdld
mcpg route refund the customer --format json | jq -r '.categories[].name'"""
MORE = "docs/how-to/route.md"


PARAMETERS = (
    *(one for one in QUESTION if one not in {LIMIT, ABSTAIN}),
    flag(
        "--max-categories",
        "Maximum number of categories, 1 to 20.",
        "N",
        kind=int,
        default=5,
        least=1,
    ),
    flag("--max-tools", "Maximum number of tools per category.", "N", kind=int, default=3, least=1),
    PREFER,
    FULL,
    LIST_FORMAT,
)


def run(
    output: Output,
    *,
    max_categories: int,
    max_tools: int,
    prefer: str | None,
    form: str,
    full: bool,
    **asked: Any,
) -> int:
    """Find categories of tools for a request, and the best tools.

    Scores are those of a search, adjusted for reading or writing, cost and latency.
    """
    output.shows_all = full
    question = Question.of(asked)
    arguments = make_search_arguments(question)
    engine = open_engine(question.settings, output)
    result = _run_route(
        engine, arguments, prefer, max_categories=max_categories, max_tools=max_tools
    )
    if form == "json":
        output.json(result_json(result, engine.diagnostics))
    else:
        output.note_opening(engine.diagnostics)
        output.diagnostics(result.diagnostics)
        if form == "text":
            output.text(route_text(result, output))
        else:
            matches = [one.match._replace(score=one.score) for one in result.suggested_matches]
            records = [one.to_dict() for one in result.suggested_matches]
            write_listing(matches_listing(matches, records), form, output)
        if not result.categories:
            output.note(nothing_found(question))
    return ExitCode.DONE if result.suggested_matches else ExitCode.FINDINGS


_NAME_LIMIT = 60
_WORDS_TOLD = 3
_ROUNDING = 1e-6
_KINDS = {"read-only": "tools that read", "write": "tools that write"}


def route_text(result: RouteResult, output: Output) -> str:
    """Return a block for each category, with a line for each of its tools."""
    browsing = result.ranking_mode == RankingMode.BROWSE
    found = [one.match for one in result.suggested_matches]
    rows = MatchRows(found, output, shows_score=not browsing)
    blocks = []
    for category in result.categories:
        name = output.paint(cut(one_line(category.name), _NAME_LIMIT), "bold")
        score = "" if browsing else f"  {score_text(category.score)}"
        shown = len(category.matches)
        more = f"  ({shown} of {category.found})" if category.found > shown else ""
        heading = f"{name}{score}{output.paint(more, 'dim') if more else ''}"
        drawn = rows.draw_ranked((one.match, one.score) for one in category.matches)
        blocks.append([heading, *drawn])
    if blocks:
        blocks[0].insert(0, rows.head())
    if blocks and result.preference.name != NONE:
        preference = result.preference
        words = _list_telling_words(preference)
        why = "as asked" if preference.is_asked else _describe_word(words[0], preference)
        reason = f"preferring {_KINDS[preference.name]}: {why}"
        blocks.append([output.paint(cut(reason, output.row_columns), "dim")])
    return "\n\n".join("\n".join(block) for block in blocks)


def routing_blocks(result: RouteResult) -> list[Block]:
    """Return the part of an explanation about routing: preference, categories, sums."""
    words = tuple(
        (
            CodeSpan(word.text),
            Figure(word.evidence, "+.3f"),
            f"in {word.read_only} read-only, {word.writing} writing",
        )
        for word in result.preference.words
    )
    columns: tuple[Column, ...] = (
        Column("word", most=_NAME_LIMIT),
        Column("evidence", is_number=True),
        Column("tools"),
    )
    tables = [Table("Words", columns, words)] if words else []
    categories = tuple(
        (
            Styled(CodeSpan(category.name), "bold"),
            Figure(category.score),
            f"{len(category.matches)} of {category.found}",
            join_inlines([CodeSpan(one.match.tool_id) for one in category.matches]),
        )
        for category in result.categories
    )
    columns = (
        Column("category", most=_NAME_LIMIT),
        Column("score", is_number=True),
        Column("shown", is_number=True),
        Column("tools"),
    )
    tables += [Table("Categories", columns, categories, wraps=True)] if categories else []
    sums = tuple(
        (Figure(one.score), Styled(CodeSpan(one.match.tool_id), "cyan"), _add_up(one))
        for one in result.suggested_matches
    )
    columns = (Column("score", is_number=True), Column("tool"), Column("sum"))
    tables += [Table("Tools", columns, sums, wraps=True)] if sums else []
    preference = f"{result.preference.name}: {_explain_preference(result.preference)}"
    facts = FactList(
        (
            ("looked at", format_count(result.candidates, "tool")),
            ("weights", CodeSpan(result.weights.provenance)),
            ("preference", CodeSpan(preference)),
        )
    )
    return [Section("routing", "Routing", (facts, *tables))]


def routing_summary(result: RouteResult) -> list[Block]:
    """Return the preference with its reason, and the categories with their tools."""
    rows = tuple(
        (
            Styled(CodeSpan(category.name), "bold"),
            Score(category.score),
            join_inlines(
                [(CodeSpan(one.match.tool_id), " ", Score(one.score)) for one in category.matches]
            ),
        )
        for category in result.categories
    )
    columns = (Column("category", most=_NAME_LIMIT), Column("score"), Column("tools"))
    preference = f"{result.preference.name}: {_explain_preference(result.preference)}"
    facts = FactList((("preference", CodeSpan(preference)),))
    tables = [Table("Categories", columns, rows, has_heads=True, wraps=True)] if rows else []
    return [Section("routing", "Routing", (facts, *tables))]


def _add_up(one: RoutedMatch) -> Inline:
    parts: list[Inline] = [("= ", Figure(one.match.score), " calibrated")]
    parts += [
        (Figure(part.value, "+.6f"), f" {part.name} ({part.weight:+g})") for part in one.adjustments
    ]
    total = one.match.score + sum(part.value for part in one.adjustments)
    if abs(total - one.score) > _ROUNDING:
        parts.append(("= ", Figure(total), ", which is cut"))
    return join_inlines(parts, " ")


def _explain_preference(preference: Preference) -> str:
    if preference.is_asked:
        return "as asked"
    if not (preference.read_only and preference.writing):
        return "no hints distinguish tools that read from tools that write"
    needed = f"evidence {preference.evidence:+.2g}, {preference.needed:.2g} needed"
    if preference.name == NONE:
        return f"the words of the query do not show one ({needed})"
    words = ", ".join(
        _describe_word(word, preference) for word in _list_telling_words(preference)[:_WORDS_TOLD]
    )
    return f"{words} ({needed})"


def _list_telling_words(preference: Preference) -> list[WordLeaning]:
    """Return the words in favor of the preferred tools, the strongest first."""
    return [word for word in preference.words if word.evidence * preference.evidence > 0]


def _describe_word(word: WordLeaning, preference: Preference) -> str:
    held = (
        f"{word.read_only} of {format_count(preference.read_only, 'read-only tool')}"
        f" and {word.writing} of {preference.writing} that write"
    )
    return f"{one_line(word.text)} is in {held}"


_READ_ONLY = {"read-only": True, "write": False}


def add_routing(
    engine: Engine, arguments: Mapping[str, Any], prefer: str | None, *, is_whole: bool
) -> tuple[JsonObject, list[Block]]:
    """Return the additions of routing to an explanation, as JSON and as blocks."""
    result = _run_route(engine, arguments, prefer)
    blocks = routing_blocks(result) if is_whole else routing_summary(result)
    return {"routing": result.to_exact_dict()}, blocks


def _run_route(
    engine: Engine, arguments: Mapping[str, Any], prefer: str | None, **most: Any
) -> RouteResult:
    asked = {name: one for name, one in arguments.items() if name not in {"limit", "abstain"}}
    return engine.route(
        prefer_read_only=_READ_ONLY.get(prefer or ""),
        derives_preference=prefer is None,
        **most,
        **asked,
    )
