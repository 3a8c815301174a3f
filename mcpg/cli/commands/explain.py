"""`mcpg explain`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mcpg.cli.open_bundle import load_judgements, open_engine
from mcpg.cli.output import Output
from mcpg.cli.query import (
    LIST_FORMS,
    DisplayOptions,
    Question,
    answer_explain,
    exit_code,
    make_search_arguments,
    refuse,
    report_explain,
    write_blocks,
)
from mcpg.engine import Engine
from mcpg.errors import UsageError
from mcpg.show.explain_summary import rank_explanation_blocks, rank_summary_blocks
from mcpg.show.json import result_json
from mcpg.text.json_values import JsonObject
from mcpg.values import to_json

if TYPE_CHECKING:
    from mcpg.evaluation.judged import Judgements
    from mcpg.search.trace import RankExplanation

EXAMPLES = """\
mcpg explain shipmnt status
mcpg explain shipmnt status --html report.html
mcpg explain "whats the time in tokio" -b real.mdld --format json | jq .words
mcpg explain refund the invoice --format markdown > why.md
mcpg explain shipment status --tool order_get
mcpg explain shipment status --tool order_get --queries queries.jsonl
mcpg explain refund the invoice --compare old.mdld new.mdld
mcpg explain refund the invoice --route --prefer write
mcpg explain parse the response -b app.mdld --kind symbol"""
MORE = "docs/how-to/explain.md"


def run(
    output: Output,
    *,
    kind: str | None,
    tool: str | None,
    queries: str | None,
    compare: tuple[str, str] | None,
    routes: bool,
    prefer: str | None,
    html: str | None,
    shows_times: bool,
    form: str,
    **asked: Any,
) -> int:
    """Search, and explain the ranking.

    Shows how each word was read, which fields it matched, how scores add up, and advice.
    """
    if kind not in (None, "tool"):
        from mcpg.cli.items import answer_search_for  # noqa: PLC0415 - most searches are for tools

        given = {"tool": tool, "queries": queries, "compare": compare, "routes": routes}
        given |= {"prefer": prefer, "html": html, "shows_times": shows_times}
        return answer_search_for(kind, asked | {"form": form}, output, given, explains=True)
    question, shown = Question.of(asked), DisplayOptions(form, html, shows_times=shows_times)
    if (routes or compare or tool is not None) and form in LIST_FORMS:
        message = f"{form} is only for the matches of a search"
        raise UsageError(message, place="--format", remedy="use text, json or markdown")
    if routes or prefer is not None:
        from mcpg.cli.commands.route import add_routing  # noqa: PLC0415 - few are of categories

        others: dict[str, object] = {"--tool": tool, "--queries": queries, "--compare": compare}
        others |= {"--html": html, "--abstain": question.abstain, "--prefer": prefer and not routes}
        refuse(others, "it does not explain routing", "leave {flag} out, or --route")
        add = partial(add_routing, prefer=prefer, is_whole=shown.is_whole(output))
        return answer_explain(question, shown, output, add)
    if compare:
        from mcpg.cli.comparison import answer_compare  # noqa: PLC0415 - few compare

        named = {"--tool": tool, "--queries": queries}
        return answer_compare(question, compare, shown, output, named)
    if tool is None and queries is None:
        return answer_explain(question, shown, output)
    if tool is None:
        message = "no change to try on judged queries"
        raise UsageError(message, place="--queries", remedy="name a tool with --tool")
    return answer_tool(question, tool, queries, shown, output)


def answer_tool(
    question: Question, tool: str, queries: str | None, shown: DisplayOptions, output: Output
) -> int:
    """Explain the rank of *tool*, the change that makes it first, and the change's effects."""
    arguments = make_search_arguments(question)
    judgements = load_judgements(queries) if queries is not None else None
    engine = open_engine(question.settings, output)
    with output.progress("trying changes"):
        explanation = engine.explain(**arguments, tool=tool)
        standing: Any = explanation.tool
        rank = standing.to_dict() | _try_judged(engine, standing, judgements, question)
    data = result_json(explanation, engine.diagnostics) | {"tool": rank}
    if shown.html is not None:
        report_explain(shown.html, data, shown, output)
    if shown.form == "json":
        output.json(data)
        return exit_code(explanation.result)
    about_queries = judgements.diagnostics if judgements else ()
    output.note_opening(engine.diagnostics)
    output.diagnostics((*explanation.result.diagnostics, *about_queries))
    view = rank_explanation_blocks if shown.is_whole(output) else rank_summary_blocks
    blocks = view(explanation.result.query, rank, _make_hints_file(rank))
    write_blocks(blocks, shown.form, output, "### Why", standing.tool_id)
    return exit_code(explanation.result)


def _try_judged(
    engine: Engine, standing: RankExplanation, judgements: Judgements | None, question: Question
) -> JsonObject:
    """Return the effect of the change on judged queries, and queries that tool aliases improve."""
    if judgements is None:
        return {}
    from mcpg.evaluation.judged import missed_queries  # noqa: PLC0415 - few try a change on queries
    from mcpg.evaluation.report import compare_hints  # noqa: PLC0415 - as above

    found: JsonObject = {}
    with_disabled = question.include_disabled
    if standing.change is not None:
        hints = standing.change.hints
        effect = compare_hints(
            engine, standing.tool_id, hints, judgements, include_disabled=with_disabled
        )
        found["effect"] = effect.json()
    missed = missed_queries(engine, standing.tool_id, judgements, include_disabled=with_disabled)
    return found | {"missed": [to_json(one) for one in missed]}


def _make_hints_file(tool: Mapping[str, Any]) -> str:
    """Return the hints file that makes the change, or the addition to the tool's entry."""
    if tool["change"] is None:
        return ""
    from mcpg.documents.front_matter import flow, quote_scalar  # noqa: PLC0415 - most explain no tool

    members = tool["change"]["hints"].items()
    lines = [f"    {key}: {flow(value)}" for key, value in members if value]
    head = ["# add to a hints file:", "tools:", f"  {quote_scalar(tool['toolId'])}:"]
    return "\n".join([*head, *lines])
