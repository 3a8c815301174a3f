"""What `search`, `explain` and `route` share: the query, the answer, and its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcpg.catalog.api_tools import ApiName, check_api
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.matches import nothing_found_text, result_text
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.output import Output, write_report
from mcpg.cli.parameters import FUSION, SETTINGS, select_filters
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.render import RecordListing, markdown, text, write_listing
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import standard_input
from mcpg.errors import McpgError, UsageError
from mcpg.search.results import SearchResult, Strategy, check_fusion, check_strategy
from mcpg.show.blocks import Block, Table
from mcpg.show.explain import explain_blocks
from mcpg.show.explain_summary import summary_blocks
from mcpg.show.json import result_json
from mcpg.text.json_values import JsonObject

_DEFAULT_LIMIT = 5
_QUERY_LIMIT = 1024 * 1024

LIST_FORMS = ("jsonl", "csv", "ids")
"""Forms in which a list is written alone."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and how it is to be answered.

    Attributes:
        settings: What the command line, the environment and configuration files set.
        words: Words of the query as given; a single `-` reads standard input.
        context: What the conversation is about.
        include_disabled: Whether tools that are off by default may be offered.
        min_score: The gate: the least score that counts, in [0, 1].
        abstain: Whether a doubtful answer is none.
        context_tools: Tools that are already in use.
        filters: The arguments of `Engine.search` that choose among the tools, those that are set.
    """

    settings: Settings
    words: tuple[str, ...] = ()
    context: Any = None
    include_disabled: bool = False
    min_score: float | None = None
    abstain: bool = False
    context_tools: tuple[str, ...] = ()
    filters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Question:
        """Return the question that the values of the parameters `QUESTION` ask.

        A command may do without some of the parameters.
        """
        flags = {one.name: given[one.name] for one in SETTINGS if one.name in given}
        return cls(
            read_settings(**flags),
            tuple(given["query"] or ()),
            join_context(given["context"], given["context_summary"]),
            given["include_disabled"],
            given["min_score"],
            given.get("abstain", False),
            tuple(given.get("context_tools") or ()),
            select_filters(given),
        )

    @property
    def query(self) -> str | None:
        if self.words == ("-",):
            return standard_input(_QUERY_LIMIT).decode("utf-8", "replace").strip()
        return " ".join(self.words).strip() or None


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How an explanation is shown.

    Attributes:
        form: What standard output carries: `text`, `json`, `markdown`, or a form of `LIST_FORMS`.
        html: The file for a report to look at, `None` for none.
        shows_times: Whether texts say how long each stage took.
    """

    form: str
    html: str | None = None
    shows_times: bool = False

    def is_whole(self, output: Output) -> bool:
        """Return whether everything is shown: Markdown folds it, text takes `--verbose`."""
        return self.form == "markdown" or (output.verbose and self.form == "text")

    def check_report(self) -> None:
        """Check that a form is given that an explanation of no plain list has.

        Raises:
            UsageError: The form is one of a list.
        """
        if self.form in LIST_FORMS:
            raise UsageError(
                f"{self.form} is for the matches of a search alone",
                place="--format",
                remedy="use text, json or markdown",
            )


def join_context(context: str | None, summary: str | None) -> Any:
    """Join *summary* and *context*, which is read as JSON where it is an object or a list."""
    known: Any = context
    if context and context.lstrip()[:1] in {"{", "["}:
        with suppress(ValueError, RecursionError):
            known = json.loads(context)
    return [summary, known] if summary else known


def answer_search(
    question: Question, form: str, output: Output, *, related: bool = True, schemas: bool = False
) -> int:
    """Search and print the result.

    Args:
        question: The query.
        form: What standard output carries, a choice of `LIST_FORMAT`.
        output: Where it goes.
        related: Whether it has prerequisites, related tools and next steps.
        schemas: Whether it has input schemas, in the forms `json` and `jsonl`.
    """
    arguments = make_search_arguments(question)
    engine = open_engine(question.settings, output)
    result = engine.search(**arguments)
    if not related:
        result = result.without_related()
    shown = result_text(result, form, output, engine.diagnostics, schemas=schemas)
    if form == "json":  # which holds the diagnostics
        output.text(shown)
        return exit_code(result)
    output.note_opening(engine.diagnostics)
    output.diagnostics(result.diagnostics)
    output.text(shown)
    if not result.matches:
        output.note(nothing_found(question))
    return exit_code(result)


def check_schemas(form: str, *, is_asked: bool) -> None:
    """Check that input schemas, if they are *asked* for, can be written in the *form*.

    Raises:
        UsageError: They cannot.
    """
    if is_asked and form not in {"json", "jsonl"}:
        remedy = "use --format json or --format jsonl"
        raise UsageError(f"{form} has no input schemas", place="--input-schema", remedy=remedy)


def nothing_found(question: Question) -> str:
    """Return that no tool was found, and what to try."""
    abstain, is_filtered = question.abstain, bool(question.filters)
    return nothing_found_text(question.min_score, abstain=abstain, is_filtered=is_filtered)


def answer_explain(question: Question, shown: DisplayOptions, output: Output) -> int:
    """Search and print everything that led to the result; write a report of it where asked."""
    arguments = make_search_arguments(question)
    engine = open_engine(question.settings, output)
    explanation = engine.explain(**arguments)
    if shown.html is not None:
        report_explain(shown.html, result_json(explanation, engine.diagnostics), shown, output)
    if shown.form == "json":
        output.json(result_json(explanation, engine.diagnostics))
        return exit_code(explanation.result)
    output.note_opening(engine.diagnostics)
    if not shown.is_whole(output):  # which tells them in its place
        output.diagnostics(explanation.result.diagnostics)
    data = explanation.to_dict()
    if shown.form in LIST_FORMS:
        members = ("rank", "toolId", "sourceId", "score", "fusedScore", "description")
        listing = RecordListing(data["matches"], members, "toolId", Table("Matches", (), ()))
        write_listing(listing, shown.form, output)
    else:
        blocks = explanation_blocks(data, shown, output)
        write_blocks(blocks, shown.form, output, "### mcpg explain", explanation.result.query)
    if not explanation.result.matches:
        output.note(nothing_found(question))
    return exit_code(explanation.result)


def explanation_blocks(data: JsonObject, shown: DisplayOptions, output: Output) -> list[Block]:
    """Return what is shown of *data*, the JSON of an explanation: one screen, or all of it."""
    if shown.is_whole(output):
        return [*explain_blocks(data, shows_times=shown.shows_times)]
    return summary_blocks(data, shows_times=shown.shows_times)


def write_blocks(
    blocks: Iterable[Block], form: str, output: Output, title: str = "", about: str = ""
) -> None:
    """Write *blocks* as text, or as Markdown below a *title* that ends with *about*."""
    is_markdown = form == "markdown"
    output.text(markdown(blocks, title, about) if is_markdown else text(blocks, output))


def report_explain(path: str, data: JsonObject, shown: DisplayOptions, output: Output) -> None:
    """Write what `explain` prints as JSON to the file at *path*, as a page."""
    from mcpg.show.reports import explain_page  # noqa: PLC0415 - few runs write a report

    write_report(path, explain_page(data, shows_times=shown.shows_times), output)


def make_search_arguments(question: Question) -> dict[str, Any]:
    """Return the arguments of `Engine.search` for *question*.

    Raises:
        UsageError: There is a gate and no query, or a setting makes no sense.
    """
    settings = question.settings
    query, strategy = question.query, find_strategy(settings)
    is_gated = question.abstain or question.min_score is not None
    if is_gated and not query and not question.context:
        option = "--abstain" if question.abstain else "--min-score"
        raise UsageError(
            "without a query there are no scores to compare",
            place=option,
            remedy=f"add a query, or leave {option} out",
        )
    limit = settings.find("limit")
    if limit is not None and limit.value < 1:
        raise UsageError(
            f"the limit is {limit.value}", place=limit.origin, remedy="ask for 1 to 50 matches"
        )
    return {
        "query": query,
        "context": question.context,
        "include_disabled": question.include_disabled,
        "limit": _DEFAULT_LIMIT if limit is None else int(limit.value),
        "strategy": strategy,
        "fusion": find_fusion(settings, strategy),
        "min_score": question.min_score or 0.0,
        "abstain": question.abstain,
        "normalize": ServiceFactory(settings).is_normalizing,
        "lexicon": uses_lexicon(settings),
        **({"context_tools": question.context_tools} if question.context_tools else {}),
        **dict(question.filters),
    }


def find_strategy(settings: Settings) -> str:
    """Return the strategy that the settings name, or `graph`.

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


def find_fusion(settings: Settings, strategy: str) -> str:
    """Return the fusion that the settings name, or none; what is no flag counts for `auto` alone.

    Raises:
        UsageError: No fusion is called so, or *strategy* has nothing to fuse.
    """
    found = settings.find("fusion")
    if found is None or (strategy != Strategy.AUTO and found.origin != FUSION.flags[0]):
        return ""
    try:
        return check_fusion(found.value, strategy)
    except McpgError as fault:
        raise UsageError(fault.message, place=found.origin, remedy=fault.remedy) from fault


def uses_lexicon(settings: Settings) -> bool:
    """Return whether words match related words and translations, which is the default."""
    found = settings.find("lexicon")
    return found is None or bool(found.value)


def exit_code(result: SearchResult) -> int:
    """Return the exit code: to find nothing is a finding."""
    return ExitCode.DONE if result.matches else ExitCode.FINDINGS


@dataclass(frozen=True, slots=True)
class ToolList:
    """What `--as` asks for: the found tools as the list that an API of language models takes.

    Attributes:
        api: The API.
        deferred: Whether all other tools are added as deferred tools.
        related: Whether prerequisites, related tools and next steps are added.
        strict: Whether definitions are strict.
    """

    api: ApiName
    deferred: bool
    related: bool
    strict: bool

    @classmethod
    def of(cls, api: str | None, *, deferred: bool, related: bool, strict: bool) -> ToolList:
        """Return what the options ask for.

        Raises:
            UsageError: Tools are deferred, or definitions are strict, for no API, or for one that
                has no tool search, or no strict mode.
        """
        if api is None:
            place = "--deferred" if deferred else "--strict-schemas"
            other = "anthropic" if deferred else "openai"
            remedy = f"add --as {other} or --as openai-responses"
            raise UsageError("no API is named", place=place, remedy=remedy)
        known = check_api(api, is_deferring=deferred, is_strict=strict)
        return cls(known, deferred, related, strict)

    def check(self, form: str, *, explain: bool, input_schema: bool) -> None:
        """Check that no option asks for other output.

        Raises:
            UsageError: One does.
        """
        others = {
            f"--format {form}": form not in {"text", "json"},
            "--explain": explain,
            "--input-schema": input_schema,
        }
        option = next((name for name, is_given in others.items() if is_given), None)
        if option is not None:
            remedy = f"leave {option} out: the list is JSON, and has the schemas"
            raise UsageError(f"a list of functions has no {option}", place="--as", remedy=remedy)

    def answer(self, question: Question, output: Output) -> int:
        """Search and print the list; return the exit code."""
        engine = open_engine(question.settings, output)
        result = engine.search(**make_search_arguments(question))
        output.note_opening(engine.diagnostics)
        output.diagnostics(result.diagnostics)
        others = [tool for tool in engine.tools if tool.enabled] if self.deferred else ()
        tools = result.as_tools(self.api, related=self.related, deferred=others, strict=self.strict)
        output.json(tools.to_dict())
        if not result.matches:
            output.note(nothing_found(question))
        return exit_code(result)
