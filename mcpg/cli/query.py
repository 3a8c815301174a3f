"""Code that `search`, `explain` and `route` share: the query, the answer, its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcpg.catalog.api_tools import ApiName, check_api
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.matches import NO_TOOL, nothing_found_text, result_text
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.output import Output, write_report
from mcpg.cli.parameters import FUSION, RERANK, SETTINGS, select_filters
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.render import RecordListing, markdown, text, write_listing
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import standard_input
from mcpg.engine import Engine
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
"""Forms of output that only lists have."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and how to answer it.

    Attributes:
        words: Words of the query as given; a single `-` reads standard input.
        min_score: The gate: the least score that counts, in [0, 1].
        filters: The set arguments of `Engine.search` that choose among the tools.
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
        named = (*SETTINGS, RERANK)
        flags = {one.name: given[one.name] for one in named if one.name in given}
        context, summary = given["context"], given["context_summary"]
        if context and context.lstrip()[:1] in {"{", "["}:
            with suppress(ValueError, RecursionError):
                context = json.loads(context)
        return cls(
            read_settings(**flags),
            tuple(given["query"] or ()),
            [summary, context] if summary else context,
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
    """The display of an explanation.

    Attributes:
        form: The form of standard output: `text`, `json`, `markdown`, or a form of `LIST_FORMS`.
        html: The file for an HTML report, `None` for none.
        shows_times: Whether texts show the duration of each stage.
    """

    form: str
    html: str | None = None
    shows_times: bool = False

    def is_whole(self, output: Output) -> bool:
        """Return whether everything is shown: Markdown folds it, text takes `--verbose`."""
        return self.form == "markdown" or (output.verbose and self.form == "text")


def answer_search(
    question: Question, form: str, output: Output, *, related: bool = True, schemas: bool = False
) -> int:
    """Search and print the result."""
    arguments = make_search_arguments(question) | find_reranking(question.settings)
    engine = open_engine(question.settings, output)
    result = engine.search(**arguments)
    if not related:
        result = result.without_related()
    shown = result_text(result, form, output, engine.diagnostics, schemas=schemas)
    if form == "json":  # which has the diagnostics
        output.text(shown)
        return exit_code(result)
    output.note_opening(engine.diagnostics)
    output.diagnostics(result.diagnostics)
    output.text(shown)
    if not result.matches:
        output.note(nothing_found(question) if engine.index.population else NO_TOOL)
    return exit_code(result)


def check_schemas(form: str, *, is_asked: bool) -> None:
    """Check that input schemas, if they are *asked* for, can be written in the *form*."""
    if is_asked and form not in {"json", "jsonl"}:
        remedy = "use --format json or --format jsonl"
        raise UsageError(f"{form} has no input schemas", place="--input-schema", remedy=remedy)


def nothing_found(question: Question) -> str:
    """Return the message that no tool was found, with advice."""
    abstain, is_filtered = question.abstain, bool(question.filters)
    return nothing_found_text(question.min_score, abstain=abstain, is_filtered=is_filtered)


def answer_explain(
    question: Question,
    shown: DisplayOptions,
    output: Output,
    add: Callable[[Engine, dict[str, Any]], tuple[JsonObject, list[Block]]] | None = None,
) -> int:
    """Search and print everything that led to the result; write a report if requested.

    *add* makes additions to the JSON and below the explanation, from the engine and the arguments
    of the search.
    """
    arguments = make_search_arguments(question) | find_reranking(question.settings)
    engine = open_engine(question.settings, output)
    explanation = engine.explain(**arguments)
    members, below = add(engine, arguments) if add else ({}, [])
    if shown.html is not None:
        report_explain(shown.html, result_json(explanation, engine.diagnostics), shown, output)
    if shown.form == "json":
        output.json(result_json(explanation, engine.diagnostics) | members)
        return exit_code(explanation.result)
    output.note_opening(engine.diagnostics)
    is_whole = shown.is_whole(output)
    if not is_whole:  # which reports them in its place
        output.diagnostics(explanation.result.diagnostics)
    data = explanation.to_dict()
    if shown.form in LIST_FORMS:
        names = ("rank", "toolId", "sourceId", "score", "fusedScore", "description")
        listing = RecordListing(data["matches"], names, "toolId", Table("Matches", (), ()))
        write_listing(listing, shown.form, output)
    else:
        make_blocks = explain_blocks if is_whole else summary_blocks
        blocks = [*make_blocks(data, shows_times=shown.shows_times), *below]
        write_blocks(blocks, shown.form, output, "### mcpg explain", explanation.result.query)
    if not explanation.result.matches:
        output.note(nothing_found(question))
    return exit_code(explanation.result)


def refuse(given: Mapping[str, object], message: str, remedy: str) -> None:
    """Refuse the *given* options, by flag, that make no sense beside the others."""
    for flag in filter(given.get, given):
        raise UsageError(message, place=flag, remedy=remedy.format(flag=flag))


def write_blocks(
    blocks: Iterable[Block], form: str, output: Output, title: str = "", about: str = ""
) -> None:
    """Write *blocks* as text, or as Markdown below a *title* that ends with *about*."""
    is_markdown = form == "markdown"
    output.text(markdown(blocks, title, about) if is_markdown else text(blocks, output))


def report_explain(path: str, data: JsonObject, shown: DisplayOptions, output: Output) -> None:
    """Write the JSON of `explain` to the file at *path*, as a page."""
    from mcpg.show.reports import explain_page  # noqa: PLC0415 - few runs write a report

    write_report(path, explain_page(data, shows_times=shown.shows_times), output)


def make_search_arguments(question: Question) -> dict[str, Any]:
    """Return the arguments of `Engine.search` for *question*."""
    settings = question.settings
    query, strategy = question.query, find_strategy(settings)
    is_gated = question.abstain or question.min_score is not None
    if is_gated and not query and not question.context:
        option = "--abstain" if question.abstain else "--min-score"
        message = "without a query, tools have no scores to compare"
        raise UsageError(message, place=option, remedy=f"add a query, or leave {option} out")
    limit = settings.find("limit")
    if limit is not None and limit.value < 1:
        raise UsageError(f"the limit is {limit.value}", place=limit.origin, remedy="use 1 to 50")
    return {
        "query": query,
        "context": question.context,
        "include_disabled": question.include_disabled,
        "limit": _DEFAULT_LIMIT if limit is None else int(limit.value),
        "strategy": strategy,
        "fusion": find_fusion(settings, strategy),
        "min_score": question.min_score or 0.0,
        "abstain": question.abstain,
        "rewrite": ServiceFactory(settings).is_rewriting,
        "lexicon": uses_lexicon(settings),
        **({"context_tools": question.context_tools} if question.context_tools else {}),
        **dict(question.filters),
    }


def find_reranking(settings: Settings) -> dict[str, Any]:
    """Return the argument of a search that a model ranks, nothing for others."""
    return {"rerank": True} if ServiceFactory(settings).is_reranking else {}


def make_ask_arguments(settings: Settings) -> dict[str, Any]:
    """Return the arguments of `Engine.ask` that the section `[ask]` sets."""
    from mcpg.ask.intent import IntentPattern  # noqa: PLC0415 - few commands answer questions

    found = {name: settings.find(f"ask.{name}") for name in ("strategy", "weights", "patterns")}
    given = {name: one.value for name, one in found.items() if one is not None}
    if "patterns" in given:
        patterns = given["patterns"].items()
        given["patterns"] = tuple(IntentPattern(text, intent) for text, intent in patterns)
    return given


def find_strategy(settings: Settings) -> str:
    """Return the strategy that the settings name, or `graph`."""
    found = settings.find("strategy")
    if found is None:
        return Strategy.GRAPH
    try:
        return check_strategy(found.value)
    except McpgError as fault:
        raise UsageError(fault.message, place=found.origin, remedy=fault.remedy) from fault


def find_fusion(settings: Settings, strategy: str) -> str:
    """Return the set fusion, or the default; values that are not flags count only for `auto`."""
    found = settings.find("fusion")
    if found is None or (strategy != Strategy.AUTO and found.origin != FUSION.flags[0]):
        return check_fusion("", strategy)
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
    """The list of `--as`: the found tools in the form that an API of language models takes."""

    api: ApiName
    deferred: bool
    related: bool
    strict: bool

    @classmethod
    def of(cls, api: str | None, *, deferred: bool, related: bool, strict: bool) -> ToolList:
        if api is None:
            place = "--deferred" if deferred else "--strict-schemas"
            other = "anthropic" if deferred else "openai"
            remedy = f"add --as {other} or --as openai-responses"
            raise UsageError("no API is named", place=place, remedy=remedy)
        known = check_api(api, is_deferring=deferred, is_strict=strict)
        return cls(known, deferred, related, strict)

    def check(self, form: str, *, explain: bool, input_schema: bool) -> None:
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
        engine = open_engine(question.settings, output)
        arguments = make_search_arguments(question) | find_reranking(question.settings)
        result = engine.search(**arguments)
        output.note_opening(engine.diagnostics)
        output.diagnostics(result.diagnostics)
        others = [tool for tool in engine.tools if tool.enabled] if self.deferred else ()
        tools = result.as_tools(self.api, related=self.related, deferred=others, strict=self.strict)
        output.json(tools.to_dict())
        if not result.matches:
            output.note(nothing_found(question))
        return exit_code(result)
