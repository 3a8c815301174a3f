"""`mcpg search`."""

from __future__ import annotations

from typing import Any

from mcpg.cli.open_bundle import read_settings
from mcpg.cli.output import Output
from mcpg.cli.query import (
    DisplayOptions,
    Question,
    ToolList,
    answer_explain,
    answer_search,
    check_schemas,
)

EXAMPLES = """\
mcpg search shipment status
mcpg search "comit my stagd changes" -b real.mdld -n 3
mcpg search "open pull requests" --source github --read-only --no-related
mcpg search "refund the customer" --min-score 0.5 --format json | jq -r '.matches[].toolId'
echo "where is my parcel" | mcpg search -
mcpg search "where is my parcel" --watch
mcpg search "parse the response" -b app.mdld --kind symbol
mcpg search "refund the customer" --as anthropic | jq .tools
mcpg search                        # browse"""
MORE = "docs/tutorial.md"


def run(
    output: Output,
    *,
    kind: str | None,
    explain: bool,
    form: str,
    full: bool,
    watch: bool,
    related: bool | None,
    input_schema: bool,
    api: str | None,
    deferred: bool,
    strict_schemas: bool,
    **asked: Any,
) -> int:
    """Find the tools for a request.

    Each match has a score, the probability that it is right. Tools that must run first, related
    tools and next steps follow.
    """
    if kind not in (None, "tool"):
        from mcpg.cli.items import answer_search_for  # noqa: PLC0415 - most searches are for tools

        others = {"api": api, "watch": watch, "input_schema": input_schema, "full": full}
        others |= {"deferred": deferred, "strict_schemas": strict_schemas}
        return answer_search_for(kind, asked | {"form": form}, output, others, explains=explain)
    output.shows_all = full
    if api or deferred or strict_schemas:
        tool_list = ToolList.of(
            api, deferred=deferred, related=bool(related), strict=strict_schemas
        )
        tool_list.check(form, explain=explain, input_schema=input_schema)
    check_schemas("an explanation" if explain else form, is_asked=input_schema)

    def answer() -> int:
        question = Question.of(asked)
        if api:
            return tool_list.answer(question, output)
        if explain:
            return answer_explain(question, DisplayOptions(form), output)
        return answer_search(
            question, form, output, related=related is not False, schemas=input_schema
        )

    if not watch:
        return answer()
    from mcpg.cli.watch import Watcher  # noqa: PLC0415 - most searches watch nothing

    query = Question.of(asked).query  # standard input can be read once
    asked["query"] = [query] if query else []

    def list_watched_paths() -> tuple[str, ...]:
        return read_settings(bundle=asked["bundle"]).watched_paths()

    return Watcher(list_watched_paths, output).run(answer)
