"""`mcpg show`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from mcpg.catalog.hints import claimed_texts, claimed_words, read_claims
from mcpg.catalog.model import Hints, Tool, walk_parameters
from mcpg.catalog.model import Parameter as Argument
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import (
    IndexedBundle,
    OpenedBundle,
    find_bundle_paths,
    from_index,
    open_catalog,
    read_settings,
)
from mcpg.cli.output import Output, hanging
from mcpg.cli.render import markdown, table_text, text
from mcpg.cli.terminal import lines_kept
from mcpg.documents.model import Link, ToolDocument
from mcpg.errors import Diagnostic, NotFoundError
from mcpg.relations.edges import EdgeKind
from mcpg.show.blocks import (
    Block,
    Bullets,
    CodeSpan,
    Column,
    FactList,
    Inline,
    Paragraph,
    Score,
    Section,
    Styled,
    Table,
)
from mcpg.show.json import diagnostics_json
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import round_shown_score, to_json

EXAMPLES = """\
mcpg show shipment_status
mcpg show commerce::shipment_status
mcpg show git_commit -b real.mdld --document"""


@dataclass(frozen=True, slots=True)
class ToolDetails:
    """One tool and its place in the graph.

    Attributes:
        document: Its document, `None` without a graph.
        text: The document as written in a bundle, "" for none.
        neighbours: Its edges, each with the id of the tool of the catalog at its end.
        alone: Why it has no edges; "" if it has some.
    """

    tool: Tool
    document: ToolDocument | None = None
    text: str = ""
    neighbours: tuple[tuple[Link, str | None], ...] = ()
    alone: str = ""


def run(
    output: Output,
    *,
    tool: str,
    bundle: list[str] | None,
    kind: str | None,
    document: bool,
    form: str,
) -> int:
    """Show one tool: arguments, hints, edges, origin."""
    if kind not in (None, "tool"):
        from mcpg.cli.items import show_item  # noqa: PLC0415 - mostly tools are shown

        return show_item(kind, tool, {"bundle": bundle, "document": document, "form": form}, output)
    settings = read_settings(bundle=bundle)
    paths = find_bundle_paths(settings, output)
    found = None if document else from_index(paths, partial(_read_indexed_card, name=tool))
    if found is None:
        opened = open_catalog(settings, texts=document)
        found = _make_card(opened, tool), opened.diagnostics
    card, noticed = found
    if document:
        if card.document is None:
            message = f"{card.tool.id!r} has no document, because the graph cannot be made"
            raise NotFoundError(message, remedy="see the message of `mcpg show` about the graph")
        output.document(card.text)
    elif form == "json":
        output.json(_make_json(card, noticed))
    else:
        output.note_opening(noticed)
        output.text(_render_markdown(card) if form == "markdown" else _render_text(card, output))
    return ExitCode.DONE


def _read_indexed_card(
    bundle: IndexedBundle, name: str
) -> tuple[ToolDetails, tuple[Diagnostic, ...]]:
    number = bundle.find_number(name)
    document = bundle.document(number)
    index = bundle.index
    targets = [index.tool_id(one) if one < len(index) else None for one in index.targets(number)]
    is_alone = not (targets or index.edges_to(number))
    card = ToolDetails(
        document.tool,
        document,
        neighbours=tuple(zip(document.links, targets, strict=False)),
        alone=_explain_alone(bundle.server(number), document.tool.id) if is_alone else "",
    )
    return card, bundle.diagnostics


def _make_card(opened: OpenedBundle, name: str) -> ToolDetails:
    """Return the card of the tool called *name*: an id, `source::name` or a raw name."""
    tool = opened.catalog.find_named(name)
    document = opened.documents.get(tool.id)
    if document is None:
        return ToolDetails(tool)
    by_uri = {one.uri: tool_id for tool_id, one in opened.documents.items()}
    reached = (link.target for one in opened.documents.values() for link in one.links)
    is_alone = not document.links and document.uri not in reached
    server = [one for one in opened.tools if one.source_id == tool.source_id] if is_alone else []
    text = opened.texts.get(document.path, "")
    if document.path in opened.bundled:
        from mcpg.documents.writer import with_compact_schemas  # noqa: PLC0415 - few read the text

        text = with_compact_schemas(text, document.tool)
    return ToolDetails(
        tool,
        document,
        text,
        tuple((link, by_uri.get(link.target)) for link in document.links),
        _explain_alone(server, document.tool.id) if is_alone else "",
    )


def _explain_alone(server: Sequence[Tool], tool_id: str) -> str:
    from mcpg.relations.server_relations import explain_alone  # noqa: PLC0415 - most tools have edges

    return explain_alone(server, tool_id)


def _make_json(card: ToolDetails, diagnostics: Iterable[Diagnostic]) -> JsonObject:
    tool, document = card.tool, card.document
    return {
        "schema": "mcpg/show/1",
        "tool": {
            **tool.card(),
            "requiredArguments": list(tool.required_arguments),
            **tool.hints.to_dict(),
            "claims": list(claimed_texts(read_claims(tool))),
            "generated": list(claimed_texts(tool.generated)),
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": tool.annotations,
            "meta": tool.meta,
            "sourceKind": tool.source_kind.value,
            "place": tool.place or None,
        },
        "groups": list(document.groups) if document else [],
        "related": _list_neighbours(card, EdgeKind.RELATED),
        "nextSteps": _list_neighbours(card, EdgeKind.NEXT_STEP),
        "alone": card.alone or None,
        "document": {"path": document.path, "uri": document.uri} if document else None,
        "diagnostics": diagnostics_json(diagnostics),
    }


def _list_neighbours(card: ToolDetails, kind: EdgeKind) -> list[JsonValue]:
    return [
        {
            "toolId": tool_id,
            "uri": link.target,
            "weight": round_shown_score(link.weight),
            "reason": link.reason or None,
            "origin": link.origin.value,
            "fields": [to_json(one, {"given": "field"}) for one in link.fields],
            "coverage": link.coverage and link.coverage.value,
        }
        for link, tool_id in card.neighbours
        if link.kind is kind
    ]


_TYPE_LIMIT = 20
_ANY = 1_000


def _render_text(card: ToolDetails, output: Output) -> str:
    tool = card.tool
    title = "" if tool.display_name in {tool.id, tool.name} else tool.display_name
    state = "" if tool.enabled else "(disabled by default)"
    columns = (Column("id", most=_ANY), Column("title", most=_ANY), Column("state"))
    row = (Styled(CodeSpan(tool.id), "cyan"), CodeSpan(title), state)
    described: list[str] = []
    for paragraph in lines_kept(tool.description.strip()).split("\n"):
        whole = paragraph.expandtabs().rstrip()
        words = whole.lstrip(" ")
        indent = whole[: len(whole) - len(words)]
        described += [*hanging(words, output.columns, indent, indent)] or [""]
    parts = [text([Table("Tool", columns, (row,), wraps=True)], output), "\n".join(described)]
    for block in _make_blocks(card):
        if not isinstance(block, Table):
            parts.append(text([block], output))
        elif block.rows:
            title = output.paint(block.title.lower(), "bold")
            parts.append(f"{title}\n{table_text(block, output)}")
    return "\n\n".join(filter(None, parts))


def _render_markdown(card: ToolDetails) -> str:
    lines = card.tool.description.strip().split("\n")
    described = [Paragraph(CodeSpan(line)) for line in lines if line.strip()]
    sections = [
        Section(block.title, block.title, (block,)) if isinstance(block, Table) else block
        for block in _make_blocks(card)
        if not isinstance(block, Table) or block.rows
    ]
    return markdown([*described, *sections], "### mcpg show", card.tool.id)


def _make_blocks(card: ToolDetails) -> Iterator[Block]:
    """Return origin, hints, arguments, examples and neighbours of the tool of *card*."""
    tool = card.tool
    claims = read_claims(tool)
    words = claimed_words(claims)
    stated = f"{words.text} ({words.kept} of {words.total:,} words)"
    if words.kept == words.total:
        stated = ", ".join(claimed_texts(claims))
    hints = {"behavior": [*_describe_behavior(tool.hints)], "aliases": tool.hints.aliases}
    hints |= {"keywords": tool.hints.keywords, "categories": tool.hints.categories}
    hints |= {"tags": tool.hints.tags, "data sources": tool.hints.data_sources}
    facts = {
        "source": f"{tool.source_id} ({tool.source_kind})",
        "name": tool.name,
        "read from": tool.place,
        "document": card.document.path if card.document else "",
        "URI": card.document.uri if card.document else "",
        **{name: ", ".join(values) for name, values in hints.items()},
        "stated by the server": stated,
        "written by a model": ", ".join(claimed_texts(tool.generated)),
        "groups": ", ".join(card.document.groups) if card.document else "",
        "relations": f"none: {card.alone}" if card.alone else "",
    }
    yield FactList(tuple((name, CodeSpan(value)) for name, value in facts.items()))
    yield _draw_parameters("Arguments", walk_parameters(tool.input_schema))
    yield _draw_parameters("Result", walk_parameters(tool.output_schema or {}))
    examples: list[Inline] = [
        (CodeSpan(one.input), *((" (", CodeSpan(one.description), ")") if one.description else ()))
        for one in tool.hints.examples
    ]
    yield Section("examples", "Examples", (Bullets(tuple(examples)),))
    yield _draw_neighbours("Related", card, EdgeKind.RELATED)
    yield _draw_neighbours("Next steps", card, EdgeKind.NEXT_STEP)


def _describe_behavior(hints: Hints) -> Iterator[str]:
    stated = {
        ("read-only", "writes"): hints.read_only,
        ("idempotent", "not idempotent"): hints.idempotent,
        ("destructive", "not destructive"): hints.destructive,
        ("open world", "closed world"): hints.open_world,
    }
    for (yes, no), is_so in stated.items():
        if is_so is not None:
            yield yes if is_so else no
    for what, tier in (("cost", hints.cost_tier), ("latency", hints.latency_tier)):
        if tier is not None:
            yield f"{tier.lower()} {what}"


def _draw_parameters(title: str, parameters: Iterable[Argument]) -> Table:
    rows = tuple(
        (
            CodeSpan(one.path),
            CodeSpan((one.type or "any") + ("" if one.required else "?")),
            CodeSpan(one.description + (f" ({', '.join(one.values)})" if one.values else "")),
        )
        for one in parameters
    )
    columns = (
        Column("name", is_whole=True),
        Column("type", most=_TYPE_LIMIT),
        Column("description"),
    )
    return Table(title, columns, rows, has_heads=True, wraps=True)


def _draw_neighbours(title: str, card: ToolDetails, kind: EdgeKind) -> Table:
    rows = tuple(
        (Score(link.weight), CodeSpan(name or link.target), CodeSpan(link.reason or link.origin))
        for link, name in card.neighbours
        if link.kind is kind
    )
    columns = (Column("strength"), Column("tool", is_whole=True), Column("reason"))
    return Table(title, columns, rows, has_heads=True, wraps=True)
