"""`mcpg ask`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_engine, settings_of
from mcpg.cli.output import Output
from mcpg.cli.terminal import standard_input
from mcpg.cli.text import text
from mcpg.code.graph import CodeScope
from mcpg.engine.ask import IntentPattern
from mcpg.engine.ask.budget import fitted
from mcpg.engine.results import ASK_LIMIT
from mcpg.errors import UsageError
from mcpg.gateway.json import ask_json
from mcpg.reports.blocks import (
    Bullets,
    Code,
    Entries,
    Entry,
    Facts,
    Figure,
    Paragraph,
    Section,
    Source,
    Styled,
)

if TYPE_CHECKING:
    import typer

    from mcpg.engine.ask import AskResult, Suggestion
    from mcpg.engine.ask.model import IntentName
    from mcpg.json_types import JsonObject
    from mcpg.reports.blocks import Block, Inline

EXAMPLES = """\
mcpg ask "what comes before git_commit"
mcpg ask "where does the channel_id for slack_reply_to_thread come from"
mcpg ask "how do I get from list_bases to create_record"
mcpg ask "example of create_issue" --format json
mcpg ask similar:git_diff
mcpg ask "what calls the Login method?" -b app.mdld --language python --path src
mcpg ask git_commit --intent documentation
mcpg ask "who owns git_commit" --pattern 'documentation=who owns {tool}'"""

_QUESTION_LIMIT = 1024 * 1024


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - the command itself does without
    from mcpg.cli.parameters import ASK  # noqa: PLC0415 - as above

    options.command(app, "ask", examples=EXAMPLES, more="docs/how-to/ask.md", table=ASK)(run)


def run(
    output: Output,
    *,
    question: list[str],
    bundle: list[str] | None,
    intent: IntentName | None,
    limit: int | None,
    patterns: list[str] | None,
    max_bytes: int | None,
    include_disabled: bool,
    form: str,
    **scope: list[str] | None,
) -> int:
    """Answer a question about tools, fields or source code.

    Its words and the names in it decide what is shown: where something is, what comes before or
    after it, what feeds or uses it, what it does, how it is called, what is like it, or else a
    search.
    """
    words = _words(question)
    engine = open_engine(settings_of(bundle=bundle), output)
    started = perf_counter()
    result = engine.ask(
        words,
        intent=intent or "",
        include_disabled=include_disabled,
        patterns=[_pattern(one) for one in patterns or ()],
        scope=_scope(scope),
        limit=ASK_LIMIT if limit is None else limit,
    )
    milliseconds = 1000 * (perf_counter() - started)

    def command(suggestion: Suggestion) -> str:
        return _command(suggestion, bundle or ())

    def members(shown: AskResult) -> JsonObject:
        return ask_json(shown, command, engine.diagnostics, milliseconds)

    def written(shown: AskResult) -> str:
        if form == "json":
            return json.dumps(members(shown), ensure_ascii=False, indent=2) + "\n"
        return text(_blocks(members(shown)), output) + "\n"

    if max_bytes is not None:
        result = _within(result, written, max_bytes)
    if form == "json":
        output.json(members(result))
    else:
        output.opened(engine.diagnostics)
        output.diagnostics(result.diagnostics)
        output.text(text(_blocks(members(result)), output))
    if not result.results:
        output.note("nothing answers the question")
    return ExitCode.DONE


def _words(question: list[str]) -> str:
    """Return the question that the arguments hold, or standard input for `-`."""
    if question == ["-"]:
        return standard_input(_QUESTION_LIMIT).decode("utf-8", "replace").strip()
    return " ".join(question)


def _within(result: AskResult, written: Any, most: int) -> AskResult:
    """Return what of *result* takes at most so many bytes.

    Raises:
        UsageError: Not even an answer without results does.
    """
    found = fitted(result, lambda one: len(written(one).encode("utf-8", "replace")), most)
    if found is None:
        message = f"no answer fits {most:,} bytes"
        raise UsageError(message, place="--max-bytes", remedy="raise the limit")
    return found


def _pattern(text: str) -> IntentPattern:
    """Read `INTENT=TEMPLATE`.

    Raises:
        UsageError: It is nothing of the kind.
    """
    intent, sign, template = text.partition("=")
    if not sign:
        message = f"{text[:80]!r} is no pattern of a question"
        raise UsageError(message, place="--pattern", remedy="write INTENT=TEMPLATE")
    return IntentPattern(template.strip(), intent.strip())


def _scope(given: Mapping[str, list[str] | None]) -> CodeScope | None:
    parts = {name: tuple(values or ()) for name, values in given.items()}
    return CodeScope(**parts) if any(parts.values()) else None


def _command(suggestion: Suggestion, bundle: Sequence[str]) -> str:
    paths = (argument for path in bundle for argument in ("-b", path))
    return shlex.join(["mcpg", *suggestion.command, *paths])


def _blocks(data: JsonObject) -> Iterator[Block]:
    """Return what `ask` shows of the object that it prints as JSON."""
    decision: Any = data["decision"]
    direction = f", {decision['direction']}" if decision["direction"] else ""
    wanted = Styled(f"{data['intent']}{direction}", "bold")
    why = "; ".join(decision["evidence"])
    yield Paragraph((wanted, " ", Figure(decision["probability"], ".2f"), "  ", Code(why)))
    results: Any = data["results"]
    yield Entries("answer", tuple(_entry(rank, one) for rank, one in enumerate(results, 1)))
    left: Any = data["total"]
    if left > len(results):
        yield Paragraph(f"{left - len(results)} more; raise --limit or --max-bytes to see them")
    suggestions: Any = data["suggestions"]
    commands = tuple(map(Code, suggestions))
    yield Section("suggestions", "Next", (Bullets(commands),), heading="next")


_RELATION_NAMES = {"nextStep": "next step"}


def _entry(rank: int, one: Mapping[str, Any]) -> Entry:
    lines = f":{one['lines']}" if one.get("lines") else ""
    is_code = one["kind"] not in {"tool", "page"}
    related = [
        (_RELATION_NAMES.get(other["rel"], other["rel"]), f"{other['name']}{_place(other)}")
        for other in one.get("related", ())
    ]
    rows: list[tuple[str, Inline]] = [
        ("is", Code(f"{one['type']}, {one['kind']}" if is_code else one["type"])),
        ("at", Code(f"{one['file']}{lines}") if is_code else ""),
        ("call", Code(one.get("sig", ""))),
        *(("why", Code(reason)) for reason in one.get("why", ())),
        *((name, Code(other)) for name, other in related),
    ]
    blocks: list[Block] = [Facts(tuple(rows))]
    if "call" in one:
        blocks.append(Source(json.dumps(one["call"], ensure_ascii=False), "json"))
    if "card" in one:
        blocks += [Paragraph(Code(line)) for line in _card_lines(one["card"])]
    figures = Figure(one["score"], ".2f")
    return Entry(rank, one["symbol"], figures, Code(one.get("docs", "")), tuple(blocks))


def _place(other: Mapping[str, Any]) -> str:
    return f" {other['file']}:{other['line']}" if "line" in other else ""


def _card_lines(card: Mapping[str, Any]) -> Iterator[str]:
    for part in str(card.get("description") or "").split("\n"):
        if part.strip():
            yield part
