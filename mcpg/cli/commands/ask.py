"""`mcpg ask`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

from mcpg.ask import AskResult, Intent, IntentPattern
from mcpg.ask.model import CodeScope, IntentName, fit_budget
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.output import Output
from mcpg.cli.parameters import ASK
from mcpg.cli.query import make_ask_arguments
from mcpg.cli.render import RecordListing, listing_text, text
from mcpg.cli.terminal import standard_input
from mcpg.errors import UsageError
from mcpg.search.results import ASK_LIMIT, DEFAULT_LIMIT, StrategyName
from mcpg.show.answers import answers_table, ask_blocks
from mcpg.show.json import ask_json
from mcpg.text.json_values import JsonObject
from mcpg.values import format_count

EXAMPLES = """\
mcpg ask "what comes before git_commit"
mcpg ask "where does the channel_id for slack_reply_to_thread come from"
mcpg ask "how do I get from list_bases to create_record"
mcpg ask "example of create_issue" --format json
mcpg ask similar:git_diff
mcpg ask "which tools of github delete things"
mcpg ask "what calls the Login method?" -b app.mdld --language python --path src
mcpg ask "retry a failed upload" -b app.mdld --strategy auto
mcpg ask git_commit --intent documentation
mcpg ask "who owns git_commit" --pattern 'documentation=who owns {tool}'"""

MORE = "docs/how-to/ask.md"
PARAMETERS = ASK

_QUESTION_LIMIT = 1024 * 1024
_HOPELESS = 0.01
"""A search without a limit leaves out results that are less likely than this."""
_COLUMNS = (
    *("symbol", "kind", "type", "score", "file", "lines", "sig", "docs", "why", "repo", "branch"),
)


def run(
    output: Output,
    *,
    question: list[str],
    bundle: list[str] | None,
    intent: IntentName | None,
    limit: int | None,
    patterns: list[str] | None,
    strategy: StrategyName | None,
    embed_with: str | None,
    max_bytes: int | None,
    include_disabled: bool,
    form: str,
    **scope: list[str] | None,
) -> int:
    """Answer a question about tools, fields or source code.

    Answers where something is, what precedes or follows it, what feeds or uses it, its
    documentation, examples and similar items, or which tools there are; otherwise it searches.
    """
    words = " ".join(question)
    if question == ["-"]:
        words = standard_input(_QUESTION_LIMIT).decode("utf-8", "replace").strip()
    settings = read_settings(bundle=bundle, embed_with=embed_with, strategy=strategy)
    engine = open_engine(settings, output)
    given = make_ask_arguments(settings) | ({"strategy": strategy} if strategy else {})
    given["patterns"] = (*map(_read_pattern, patterns or ()), *given.get("patterns", ()))
    parts = {name: tuple(values or ()) for name, values in scope.items()}
    given["scope"] = CodeScope(**parts) if any(parts.values()) else None
    given |= {"intent": intent or "", "include_disabled": include_disabled}
    started = perf_counter()
    result = engine.ask(words, limit=ASK_LIMIT if limit is None else limit, **given)
    milliseconds = 1000 * (perf_counter() - started)
    paths = [argument for path in bundle or () for argument in ("-b", path)]

    def members(shown: AskResult) -> JsonObject:
        return ask_json(
            shown,
            lambda one: shlex.join(["mcpg", *one.command, *paths]),
            engine.diagnostics,
            milliseconds,
        )

    shown = result if limit is not None else _leave_out_hopeless(result)
    if max_bytes is not None:
        shown = _fit_bytes(shown, lambda one: _format_answer(members(one), form, output), max_bytes)
    if form == "json":
        output.json(members(shown))
    else:
        output.note_opening(engine.diagnostics)
        output.diagnostics(shown.diagnostics)
        output.text(_format_answer(members(shown), form, output))
    if shown.results or shown.omitted:
        return ExitCode.DONE
    if result.decision.intent != Intent.CATALOG:  # the answer reports that there are none
        output.note(_describe_failure(result.total))
    return ExitCode.FINDINGS


def _leave_out_hopeless(result: AskResult) -> AskResult:
    """Return as many results of a search as `search` shows by default, without hopeless ones."""
    if result.decision.intent != Intent.SEARCH:
        return result
    best = [one for one in result.results if one.score >= _HOPELESS]
    return replace(result, results=tuple(best[:DEFAULT_LIMIT]))


def _describe_failure(total: int) -> str:
    """Return the remedy if none of *total* results is likely enough to be shown."""
    advice = "name a tool, a field or a symbol, or try other words with `mcpg search`"
    if total:
        left = f"{format_count(total, 'result')} with a score below {_HOPELESS:g}"
        advice = f"{left}: see them with --limit"
    return f"nothing answers the question{';' if total else ':'} {advice}"


def _format_answer(data: JsonObject, form: str, output: Output) -> str:
    if form == "json":
        return json.dumps(data, ensure_ascii=False, indent=2)
    if form == "text":
        return text(ask_blocks(data, is_whole=output.verbose), output)
    results: Any = data["results"]
    listing = RecordListing(results, _COLUMNS, "symbol", answers_table(results))
    return listing_text(listing, form, output)


def _fit_bytes(result: AskResult, write: Callable[[AskResult], str], most: int) -> AskResult:
    found = fit_budget(result, lambda one: len(f"{write(one)}\n".encode("utf-8", "replace")), most)
    if found is None:  # not even an answer without results
        message = f"no answer fits {most:,} bytes"
        raise UsageError(message, place="--max-bytes", remedy="raise the limit")
    return found


def _read_pattern(text: str) -> IntentPattern:
    intent, sign, template = text.partition("=")
    if not sign:
        message = f"{text[:80]!r} is not a pattern"
        raise UsageError(message, place="--pattern", remedy="write INTENT=TEMPLATE")
    return IntentPattern(template.strip(), intent.strip())
