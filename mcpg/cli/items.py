"""Items of a bundle beside tools, such as symbols of source code: lists, searches, explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.output import Output
from mcpg.cli.parameters import EXPLAIN, SEARCH
from mcpg.cli.render import RecordListing, listing_text, markdown, text
from mcpg.cli.terminal import json_text, standard_input
from mcpg.engine import Engine
from mcpg.engine.items import open_kind
from mcpg.errors import UsageError
from mcpg.plugins.hooks import Item, ItemDetails, ItemKind, ItemSearch
from mcpg.plugins.registry import list_item_kinds
from mcpg.search.results import DEFAULT_LIMIT
from mcpg.show.blocks import (
    Block,
    CodeSpan,
    FactList,
    Paragraph,
    Score,
    Styled,
    Table,
    make_columns,
)
from mcpg.show.json import diagnostics_json
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import suggest
from mcpg.values import format_count, to_json

TOOL = "tool"
"""The kind of tools, which have commands without this module."""

_LONGEST_QUERY = 1024 * 1024
_FLAGS = {one.name: one.flags[0].partition("/")[0] for one in (*EXPLAIN, *SEARCH) if one.flags}

_SHARED = {"query", "bundle", "limit", "form", "lexicon", "related"}


def answer_search_for(
    kind: str,
    asked: Mapping[str, Any],
    output: Output,
    others: Mapping[str, Any],
    *,
    explains: bool,
) -> int:
    """Search for items of a *kind*; *others* are options only of a search for tools."""
    given = {name: value for name, value in asked.items() if name not in _SHARED}
    words = asked["query"] or []
    query = standard_input(_LONGEST_QUERY).decode("utf-8", "replace") if words == ["-"] else None
    asked_for = (query or " ".join(words)).strip()
    return answer_items(
        kind, asked_for or None, asked, output, {**given, **others}, explains=explains
    )


def answer_items(
    kind: str,
    query: str | None,
    given: Mapping[str, Any],
    output: Output,
    others: Mapping[str, Any],
    *,
    explains: bool = False,
) -> int:
    """List the items of a *kind*, or those that fit *query*, in one of the forms of lists."""
    for name in (name for name, value in others.items() if value):
        message = f"{_FLAGS[name]} is only for tools"
        raise UsageError(message, place="--kind", remedy="leave one of them out")
    form, limit = given["form"], given["limit"]
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}", place="--limit", remedy="use 1 or more")
    engine = open_engine(read_settings(bundle=given["bundle"]), output)
    search = find_kind(engine, kind)
    if query:
        found = [*search.search_items(query, DEFAULT_LIMIT if limit is None else limit)]
    else:
        found = [*search.list_items()][:limit]
    records = [to_json(one) | {"kind": kind} for one in found]
    if form == "json":
        members: JsonObject = {"schema": "mcpg/items/1", "kind": kind, "query": query}
        diagnostics = diagnostics_json(engine.diagnostics)
        output.text(json_text({**members, "items": records, "diagnostics": diagnostics}))
    else:
        names = ("id", "kind", "type", "place", "description", "score")
        listing = RecordListing(records, names, "id", _draw_items(found, kind, explains=explains))
        output.note_opening(engine.diagnostics)
        output.text(listing_text(listing, form, output))
    if not found:
        output.note(f"no {kind} matches" if query else f"no {kind}s")
    output.detail(format_count(len(found), kind))
    return ExitCode.DONE if found else ExitCode.FINDINGS


def show_item(kind: str, name: str, given: Mapping[str, Any], output: Output) -> int:
    """Show the item of a *kind* that is called *name*, or its text."""
    engine = open_engine(read_settings(bundle=given["bundle"]), output)
    items = engine.items(find_item_kind(kind).name)
    if not hasattr(items, "describe_item"):
        remedy = f"use `mcpg list --kind {kind}`"
        raise UsageError(f"a {kind} is not shown by itself", place="--kind", remedy=remedy)
    found: ItemDetails = items.describe_item(name)
    if given["document"]:
        output.document(found.document)
        return ExitCode.DONE
    if given["form"] == "json":
        members = to_json(found.item, without=("score", "why")) | {"kind": kind}
        members |= {"details": found.details, "document": found.document}
        diagnostics = diagnostics_json(engine.diagnostics)
        output.json({"schema": "mcpg/item/1", **members, "diagnostics": diagnostics})
        return ExitCode.DONE
    output.note_opening(engine.diagnostics)
    facts = FactList(tuple((name, CodeSpan(text)) for name, text in found.facts.items()))
    blocks: list[Block] = [Paragraph(CodeSpan(found.item.description)), facts]
    if given["form"] == "markdown":
        output.text(markdown(blocks, "### mcpg show", found.item.id))
    else:
        head = Styled(CodeSpan(found.item.id), "cyan")
        output.text(text([Paragraph(head), *blocks], output))
    return ExitCode.DONE


def find_kind(engine: Engine, noun: str) -> ItemSearch:
    """Return the search for the items of an engine that `--kind` calls *noun*."""
    return open_kind(engine, find_item_kind(noun))


def find_item_kind(noun: str) -> ItemKind:
    """Return the kind of items that `--kind` calls *noun*."""
    known = {one.noun: one for one in list_item_kinds() if one.noun}
    if noun not in known:
        near = suggest(noun, (TOOL, *known))
        remedy = f"did you mean {near[0]!r}?" if near else f"use {', '.join((TOOL, *known))}"
        raise UsageError(f"no kind of items is called {noun!r}", place="--kind", remedy=remedy)
    return known[noun]


def _draw_items(found: Sequence[Item], kind: str, *, explains: bool) -> Table:
    is_ranked = any(one.score is not None for one in found)
    rows = tuple(
        (
            Score(one.score) if one.score is not None else "",
            Styled(CodeSpan(one.id), "cyan"),
            one.type,
            CodeSpan(one.description),
            CodeSpan(one.place),
            CodeSpan("; ".join(one.why) if explains else ""),
        )
        for one in found
    )
    heads = ("score" if is_ranked else "", kind, "type", "description", "at", "why")
    columns = make_columns(*heads, below=("at", "why"), whole=(kind,))
    return Table(f"{kind.title()}s", columns, rows, has_heads=True)
