"""The options of commands that ask the engine something: declared once, and gathered once."""

from __future__ import annotations

import inspect
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_engine
from mcpg.cli.output import Output, OutputFormat, ReportFormat
from mcpg.cli.providers import Equipping
from mcpg.cli.quick import FUSION
from mcpg.cli.terminal import standard_input
from mcpg.cli.views.explain import explain_json, explain_markdown, explain_text
from mcpg.cli.views.matches import search_text
from mcpg.engine.results import Strategy, check_fusion, check_strategy
from mcpg.errors import McpgError, UsageError
from mcpg.gateway.json import search_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcpg.cli.settings import Settings
    from mcpg.engine import SearchResult
    from mcpg.json_types import JsonObject

QueryWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUERY",
        show_default=False,
        help="What is wanted, in any words, quoted or not; - reads it from standard input. "
        "Without it, all tools are listed by name.",
    ),
]
MinScore = Annotated[
    float | None,
    typer.Option(
        "--min-score",
        metavar="SCORE",
        min=0.0,
        max=1.0,
        help="Leave out matches below this score, in [0, 1]; exit 1 when none is left.",
    ),
]
Abstain = Annotated[
    bool,
    typer.Option(
        "--abstain",
        help="Offer nothing rather than something wrong: no match when the best one is doubtful "
        "(a score below 0.35); exit 1 then.",
    ),
]

_SETTINGS = {
    "bundle": options.BundlePaths,
    "limit": options.Limit,
    "strategy": options.StrategyName,
    "fusion": options.Fusion,
    "embed_with": options.EmbedWith,
    "candidates": options.CandidateSource,
    "normalize": options.Normalize,
}
_SWITCHES = ("include_disabled", "abstain")
# In the order in which help shows them.
_ALL = {
    "query": QueryWords,
    **_SETTINGS,
    "context": options.Context,
    "context_summary": options.ContextSummary,
    "include_disabled": options.IncludeDisabled,
    "min_score": MinScore,
    "abstain": Abstain,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks the engine, as it was given.

    Attributes:
        given: The value of each option, by its name; a name that the command lacks is missing.
    """

    given: Mapping[str, Any]

    @property
    def question(self) -> Question:
        """What is asked."""
        given = self.given
        return Question(
            tuple(given["query"] or ()),
            context_of(given["context"], given["context_summary"]),
            given["include_disabled"],
            given["min_score"],
            given.get("abstain", False),
        )

    @property
    def settings(self) -> Settings:
        """How it is to be answered: what was given first, then environment and files."""
        named = {name: self.given[name] for name in _SETTINGS if name in self.given}
        return options.settings_of(**named)


def command(
    app: typer.Typer, name: str, *, examples: str, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the command *name* and give it the options of a question.

    The function takes an `Output` and an `Asked` first and returns an exit code; its docstring is
    the help. Its own options come after those of the question, of which it has none in *without*.
    """
    shared = {name: kind for name, kind in _ALL.items() if name not in without}

    def register(function: Callable[..., int]) -> Callable[..., int]:
        options.command(app, name, examples=examples)(_with_question(function, shared))
        return function

    return register


def _with_question(function: Callable[..., int], shared: Mapping[str, Any]) -> Callable[..., int]:
    @wraps(function)
    def run(output: Output, **values: Any) -> int:
        asked = Asked({name: values.pop(name) for name in shared})
        return function(output, asked, **values)

    hints = get_type_hints(function, include_extras=True)
    output, _asked, *own = inspect.signature(function).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        output.replace(annotation=hints[output.name]),
        *(
            inspect.Parameter(
                key, keyword, annotation=kind, default=False if key in _SWITCHES else None
            )
            for key, kind in shared.items()
        ),
        *(one.replace(annotation=hints[one.name]) for one in own),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


# SECTION querying: What `search` and `explain` share: the question, and the answer above a gate.


_DEFAULT_LIMIT = 5
_QUERY_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line asks.

    Attributes:
        words: Words of the query as given; a single `-` reads standard input.
        context: What the conversation is about.
        include_disabled: Whether tools that are off by default may be offered.
        min_score: The gate: the least score that counts, in [0, 1].
        abstain: Whether a doubtful answer is none.
    """

    words: tuple[str, ...]
    context: Any = None
    include_disabled: bool = False
    min_score: float | None = None
    abstain: bool = False

    @property
    def is_gated(self) -> bool:
        """Whether to find nothing is a finding."""
        return self.abstain or self.min_score is not None

    @property
    def query(self) -> str | None:
        if self.words == ("-",):
            return standard_input(_QUERY_LIMIT).decode("utf-8", "replace").strip()
        return " ".join(self.words).strip() or None


@dataclass(frozen=True, slots=True)
class Showing:
    """How an explanation is shown.

    Attributes:
        form: What standard output carries.
        html: The file for a report to look at, `None` for none.
        shows_times: Whether texts say how long each stage took.
    """

    form: OutputFormat | ReportFormat
    html: str | None = None
    shows_times: bool = False


def context_of(context: str | None, summary: str | None) -> Any:
    """Join *summary* and *context*, which is read as JSON where it is an object or a list."""
    known: Any = context
    if context and context.lstrip()[:1] in {"{", "["}:
        with suppress(ValueError, RecursionError):
            known = json.loads(context)
    return [summary, known] if summary else known


def answer_search(
    question: Question, settings: Settings, form: OutputFormat, output: Output
) -> int:
    """Search and print the result."""
    arguments = arguments_of(question, settings)
    engine = open_engine(settings, output)
    result = engine.search(**arguments)
    if form is OutputFormat.JSON:
        output.json(search_json(result, engine.diagnostics))
    else:
        output.diagnostics((*engine.diagnostics, *result.diagnostics))
        output.text(search_text(result, output))
        _say_when_empty(result, question, output)
    return judged(result, question)


def answer_explain(
    question: Question,
    settings: Settings,
    shown: Showing,
    output: Output,
) -> int:
    """Search and print everything that led to the result; write a report of it where asked."""
    arguments = arguments_of(question, settings)
    engine = open_engine(settings, output)
    explanation = engine.explain(**arguments)
    if shown.html is not None:
        report_explain(shown.html, explain_json(explanation, engine.diagnostics), shown, output)
    if shown.form == OutputFormat.JSON:
        output.json(explain_json(explanation, engine.diagnostics))
        return judged(explanation.result, question)
    output.diagnostics(engine.diagnostics)
    if shown.form == ReportFormat.MD:
        output.text(explain_markdown(explanation, shows_times=shown.shows_times))
    else:
        output.text(explain_text(explanation, output, shows_times=shown.shows_times))
    return judged(explanation.result, question)


def report_explain(path: str, data: JsonObject, shown: Showing, output: Output) -> None:
    """Write what `explain` prints as JSON to the file at *path*, as a page."""
    from mcpg.cli.output import write_report  # noqa: PLC0415 - few runs write a report
    from mcpg.reports import explain_page  # noqa: PLC0415

    write_report(path, explain_page(data, shows_times=shown.shows_times), output)


def arguments_of(question: Question, settings: Settings) -> dict[str, Any]:
    """Give what the engine is asked, by name of the argument.

    Raises:
        UsageError: There is a gate and no query, or a setting makes no sense.
    """
    query, strategy = question.query, strategy_of(settings)
    if question.is_gated and not query and not question.context:
        option = "--abstain" if question.abstain else "--min-score"
        raise UsageError(
            "without a query there are no scores to compare",
            place=option,
            remedy=f"add a query, or leave {option} out",
        )
    return {
        "query": query,
        "context": question.context,
        "include_disabled": question.include_disabled,
        "limit": _limit(settings),
        "strategy": strategy,
        "fusion": fusion_of(settings, strategy),
        "min_score": question.min_score or 0.0,
        "abstain": question.abstain,
        "normalize": Equipping(settings).is_normalizing,
    }


def _limit(settings: Settings) -> int:
    found = settings.find("limit")
    if found is None:
        return _DEFAULT_LIMIT
    if found.value < 1:
        raise UsageError(
            f"the limit is {found.value}", place=found.origin, remedy="ask for 1 to 50 matches"
        )
    return int(found.value)


def strategy_of(settings: Settings) -> str:
    """Give the strategy that the settings name, or `graph`.

    Raises:
        UsageError: No strategy is called so.
    """
    found = settings.find("strategy")
    if found is None:
        return Strategy.GRAPH
    try:
        return check_strategy(found.value)
    except McpgError as fault:
        raise UsageError(fault.message, place=found.origin, remedy=fault.remedy) from fault


def fusion_of(settings: Settings, strategy: str) -> str:
    """Give the fusion that the settings name, or none; what is no flag counts for `auto` alone.

    Raises:
        UsageError: No fusion is called so, or *strategy* has nothing to fuse.
    """
    found = settings.find("fusion")
    if found is None or (strategy != Strategy.AUTO and found.origin != FUSION[0]):
        return ""
    try:
        return check_fusion(found.value, strategy)
    except McpgError as fault:
        raise UsageError(fault.message, place=found.origin, remedy=fault.remedy) from fault


def _say_when_empty(result: SearchResult, question: Question, output: Output) -> None:
    if not result.matches:
        gate = f" with a score of {question.min_score:g}" if question.min_score else ""
        output.note(f"no tool matches{gate}")


def judged(result: SearchResult, question: Question) -> int:
    """Give the exit code: nothing above a gate that the user set is a finding."""
    if question.is_gated and not result.matches:
        return ExitCode.FINDINGS
    return ExitCode.DONE
