"""`mcpg plan`."""

from __future__ import annotations

from shlex import quote
from typing import Any

from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine
from mcpg.cli.output import Output
from mcpg.cli.parameters import (
    ABSTAIN,
    CONTEXT_TOOLS,
    LIMIT,
    LIST_FORMAT,
    MIN_SCORE,
    QUERY,
    QUESTION,
    REWRITE,
    flag,
)
from mcpg.cli.query import Question, make_search_arguments, nothing_found
from mcpg.cli.render import RecordListing, text, write_listing
from mcpg.errors import UsageError
from mcpg.plan import DOUBTFUL
from mcpg.show import answers as views
from mcpg.show.json import result_json

EXAMPLES = """\
mcpg plan deploy to prod
mcpg plan "commit what I changed in utils.py" -b real.mdld
mcpg plan refund order 4711 --format json | jq -r '.tasks[].toolId'
mcpg plan refund order 4711 --format mermaid > plan.mmd
mcpg plan refund order 4711 --format html > plan.html"""
MORE = "docs/how-to/plan.md"

DRAWINGS = ("mermaid", "dot", "html")

GOAL = QUERY._replace(
    help="The goal, in any words; - reads standard input.",
    metavar="GOAL",
)
IN_USE = CONTEXT_TOOLS._replace(
    help="A tool that has run, whose result provides arguments: id or SOURCE::NAME. Repeatable."
)
STEPS = LIMIT._replace(help="Maximum number of tasks, 1 to 50. [default: 5] [env: MCPG_LIMIT]")
PARAMETERS = (
    GOAL,
    *(
        STEPS if one == LIMIT else one
        for one in QUESTION
        if one not in {QUERY, MIN_SCORE, ABSTAIN, REWRITE}
    ),
    IN_USE,
    flag(
        "--format",
        "Output format: text; json, the whole plan; only the tasks, as jsonl (one object a line), "
        "csv, ids, or a markdown table; or a drawing.",
        "|".join((*LIST_FORMAT.choices, *DRAWINGS)),
        name="form",
        default="text",
        synonyms=LIST_FORMAT.synonyms,
    ),
)
_ARGUMENTS = ("limit", "strategy", "context", "include_disabled", "fusion", "lexicon")


def run(output: Output, *, form: str, **asked: Any) -> int:
    """Plan which tools serve a goal, and in which order.

    Includes tools that must run first, each with its probability, and lists missing arguments.
    --verbose explains each task.
    """
    question = Question.of({"min_score": None, **asked})
    arguments = make_search_arguments(question)
    if not arguments["query"]:
        raise UsageError(
            "the goal is missing", remedy="describe it, as in `mcpg plan refund an order`"
        )
    engine = open_engine(question.settings, output)
    chosen = {name: arguments[name] for name in _ARGUMENTS}
    chosen["context_tools"] = question.context_tools
    chosen |= dict(question.filters)
    plan = engine.plan(arguments["query"], **chosen)
    data = result_json(plan, engine.diagnostics)
    code = ExitCode.DONE if plan.tasks else ExitCode.FINDINGS
    if form == "json":
        output.json(data)
        return code
    if form != "html":
        output.note_opening(engine.diagnostics)
        output.diagnostics(plan.diagnostics)
    tasks: Any = data["tasks"]
    if form in DRAWINGS:
        draw = {"mermaid": views.plan_mermaid, "dot": views.plan_dot, "html": views.plan_page}
        output.document(draw[form](data))
    elif form == "text":
        blocks = views.plan_blocks(data, explains=output.verbose)
        output.text(text(blocks, output) if tasks else "")
    else:
        members = ("id", "toolId", "sourceId", "confidence", "isPrerequisite", "isDestructive")
        table = views.tasks_table(data)
        listing = RecordListing(tasks, (*members, "rationale"), "toolId", table)
        write_listing(listing, form, output)
    if not tasks:
        output.note(nothing_found(question))
    elif plan.complete < DOUBTFUL:
        doubtful = min(plan.intents, key=lambda one: one.confidence)
        output.note(f"other tools: mcpg search {quote(doubtful.text)}")
    return code
