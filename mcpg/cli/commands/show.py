"""`mcpg show`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from mcpg.cli.render import table_text, text
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import lines_kept
from mcpg.documents.model import Link, ToolDocument
from mcpg.errors import Diagnostic, NotFoundError
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping
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
from mcpg.values import empty_as_null, round_shown_score, to_json

if TYPE_CHECKING:
    import typer

    from mcpg.text.json_values import JsonObject, JsonValue


EXAMPLES = """\
mcpg show shipment_status
mcpg show commerce::shipment_status
mcpg show git_commit -b real.mdld --document"""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A tool at the other end of an edge.

    Attributes:
        kind: What the edge says.
        tool_id: Id of the tool, `None` where no tool of the catalogue has the URI.
        uri: URI of its document.
        weight: Strength of the edge in (0, 1].
        reason: Why, for people; "" when nobody says.
        origin: Where the edge comes from.
        fields: The output fields of the tool that fill arguments of the other one.
        coverage: How much of what the other takes these are; `None` when nobody says.
    """

    kind: EdgeKind
    tool_id: str | None
    uri: str
    weight: float
    reason: str
    origin: EdgeOrigin
    fields: tuple[FieldMapping, ...] = ()
    coverage: Coverage | None = None

    @property
    def name(self) -> str:
        return self.tool_id or self.uri


@dataclass(frozen=True, slots=True)
class ToolDetails:
    """One tool and its place in the graph.

    Attributes:
        tool: The tool.
        document: Its document, `None` where there is no graph.
        text: The document as it stands in a bundle, "" where there is none.
        neighbours: The tools that its edges lead to, in the document's order.
        alone: Why no edge leaves or reaches it; "" where one does.
    """

    tool: Tool
    document: ToolDocument | None = None
    text: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    alone: str = ""

    @property
    def groups(self) -> tuple[str, ...]:
        return self.document.groups if self.document else ()


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - the command itself does without
    from mcpg.cli.parameters import SHOW  # noqa: PLC0415 - as above

    options.command(app, "show", examples=EXAMPLES, table=SHOW)(run)


def run(output: Output, *, tool: str, bundle: list[str] | None, document: bool, form: str) -> int:
    """Show one tool: arguments, hints, edges, origin."""
    card, noticed = _read(read_settings(bundle=bundle), tool, output, with_text=document)
    if document:
        if card.document is None:
            raise NotFoundError(
                f"{card.tool.id!r} has no document, because the graph cannot be made",
                remedy="see what `mcpg show` says about the graph",
            )
        output.document(card.text)
    elif form == "json":
        output.json(_show_json(card, noticed))
    else:
        output.note_opening(noticed)
        output.text(_show_markdown(card) if form == "markdown" else _show_text(card, output))
    return ExitCode.DONE


def _read(
    settings: Settings, name: str, output: Output, *, with_text: bool
) -> tuple[ToolDetails, tuple[Diagnostic, ...]]:
    """Return the card of the tool called *name*, and what opening the bundle noticed.

    Raises:
        NotFoundError: No tool is called so, or several are.
    """

    def answer(bundle: IndexedBundle) -> tuple[ToolDetails, tuple[Diagnostic, ...]]:
        return _indexed_card(bundle, name), bundle.diagnostics

    paths = find_bundle_paths(settings, output)
    found = None if with_text else from_index(paths, answer)
    if found is not None:
        return found
    opened = open_catalog(settings, texts=with_text)
    return _card(opened, name), opened.diagnostics


def _indexed_card(bundle: IndexedBundle, name: str) -> ToolDetails:
    """Return the card of the tool called *name* from the index of a bundle."""
    number = bundle.find_number(name)
    document = bundle.document(number)
    targets = bundle.target_ids(number)
    is_alone = not (targets or bundle.index.edges_to(number))
    return ToolDetails(
        document.tool,
        document,
        neighbours=tuple(_neighbour(*one) for one in zip(document.links, targets, strict=True)),
        alone=_why_alone(bundle.server(number), document.tool) if is_alone else "",
    )


def _card(opened: OpenedBundle, name: str) -> ToolDetails:
    """Return the card of the tool called *name*: an id, `source::name` or a raw name."""
    from mcpg.documents.writer import with_compact_schemas  # noqa: PLC0415 - an index needs none

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
        text = with_compact_schemas(text, document.tool)
    return ToolDetails(
        tool,
        document,
        text,
        tuple(_neighbour(link, by_uri.get(link.target)) for link in document.links),
        _why_alone(server, document.tool) if is_alone else "",
    )


def _neighbour(link: Link, tool_id: str | None) -> Neighbour:
    return Neighbour(
        link.kind,
        tool_id,
        link.target,
        link.weight,
        link.reason,
        link.origin,
        link.fields,
        link.coverage,
    )


def _why_alone(server: Sequence[Tool], tool: Tool) -> str:
    """Return why no edge leaves or reaches *tool*, of the tools of its *server*."""
    from mcpg.relations.server_sequences import reason_alone  # noqa: PLC0415 - few tools are alone

    return reason_alone(server, tool.id)


def _show_json(card: ToolDetails, diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Return the object that `show` prints."""
    document = card.document
    return {
        "schema": "mcpg/show/1",
        "tool": _tool_json(card.tool),
        "groups": list(card.groups),
        "related": _neighbours_json(card, EdgeKind.RELATED),
        "nextSteps": _neighbours_json(card, EdgeKind.NEXT_STEP),
        "alone": card.alone or None,
        "document": {"path": document.path, "uri": document.uri} if document else None,
        "diagnostics": diagnostics_json(diagnostics),
    }


def _neighbours_json(card: ToolDetails, kind: EdgeKind) -> list[JsonValue]:
    return [
        empty_as_null(to_json(one, {"given": "field"}, ["kind"]), "reason")
        | {"weight": round_shown_score(one.weight)}
        for one in card.neighbours
        if one.kind is kind
    ]


def _tool_json(tool: Tool) -> JsonObject:
    return {
        **tool.card(),
        "requiredArguments": list(tool.required_arguments),
        **tool.hints.to_dict(),
        "claims": list(claimed_texts(read_claims(tool))),
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
        "meta": tool.meta,
        "sourceKind": tool.source_kind.value,
        "place": tool.place or None,
    }


_TYPE_LIMIT = 20
_ANY = 1_000


def _show_text(card: ToolDetails, output: Output) -> str:
    """Return everything about the tool of *card*, from what it is to where it comes from."""
    tool = card.tool
    described = [
        line
        for paragraph in lines_kept(tool.description.strip()).split("\n")
        for line in _wrap_paragraph(paragraph, output.columns)
    ]
    parts = [text([_title(tool)], output), "\n".join(described)]
    parts += [
        _table_text(block, output) if isinstance(block, Table) else text([block], output)
        for block in _blocks(card)
    ]
    return "\n\n".join(filter(None, parts))


def _wrap_paragraph(paragraph: str, columns: int) -> list[str]:
    """Return *paragraph* wrapped at its spaces, with the indentation that it has."""
    whole = paragraph.expandtabs().rstrip()
    words = whole.lstrip(" ")
    indent = whole[: len(whole) - len(words)]
    return [*hanging(words, columns, indent, indent)] or [""]


def _table_text(table: Table, output: Output) -> str:
    if not table.rows:
        return ""
    return f"{output.paint(table.title.lower(), 'bold')}\n{table_text(table, output)}"


def _show_markdown(card: ToolDetails) -> str:
    """Return everything about the tool of *card* as Markdown."""
    from mcpg.cli.render import markdown  # noqa: PLC0415 - only for this format

    lines = card.tool.description.strip().split("\n")
    described = [Paragraph(CodeSpan(line)) for line in lines if line.strip()]
    sections = [
        Section(block.title, block.title, (block,)) if isinstance(block, Table) else block
        for block in _blocks(card)
        if not isinstance(block, Table) or block.rows
    ]
    return markdown([*described, *sections], "### mcpg show", card.tool.id)


def _title(tool: Tool) -> Table:
    title = "" if tool.display_name in {tool.id, tool.name} else tool.display_name
    state = "" if tool.enabled else "(disabled by default)"
    columns = (Column("id", most=_ANY), Column("title", most=_ANY), Column("state"))
    row = (Styled(CodeSpan(tool.id), "cyan"), CodeSpan(title), state)
    return Table("Tool", columns, (row,), wraps=True)


def _blocks(card: ToolDetails) -> Iterator[Block]:
    """Return origin, hints, arguments, examples and neighbours of the tool of *card*."""
    tool = card.tool
    hints = {"behaviour": [*_behaviour(tool.hints)], "aliases": tool.hints.aliases}
    hints |= {"keywords": tool.hints.keywords, "categories": tool.hints.categories}
    hints |= {"tags": tool.hints.tags, "data sources": tool.hints.data_sources}
    facts = {
        "source": f"{tool.source_id} ({tool.source_kind})",
        "name": tool.name,
        "read from": tool.place,
        "document": card.document.path if card.document else "",
        "URI": card.document.uri if card.document else "",
        **{name: ", ".join(values) for name, values in hints.items()},
        "stated by the server": _claims(tool),
        "groups": ", ".join(card.groups),
        "relations": f"none: {card.alone}" if card.alone else "",
    }
    yield FactList(tuple((name, CodeSpan(value)) for name, value in facts.items()))
    yield _parameters("Arguments", walk_parameters(tool.input_schema))
    yield _parameters("Result", walk_parameters(tool.output_schema or {}))
    examples: list[Inline] = [
        (CodeSpan(one.input), *((" (", CodeSpan(one.description), ")") if one.description else ()))
        for one in tool.hints.examples
    ]
    yield Section("examples", "Examples", (Bullets(tuple(examples)),))
    yield _neighbours("Related", card, EdgeKind.RELATED)
    yield _neighbours("Next steps", card, EdgeKind.NEXT_STEP)


def _claims(tool: Tool) -> str:
    """Return the hints that the server states, and how many of their words are searched."""
    claims = read_claims(tool)
    words = claimed_words(claims)
    if words.kept == words.total:
        return ", ".join(claimed_texts(claims))
    return f"{words.text} ({words.kept} of {words.total:,} words)"


def _behaviour(hints: Hints) -> Iterator[str]:
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


def _parameters(title: str, parameters: Iterable[Argument]) -> Table:
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


def _neighbours(title: str, card: ToolDetails, kind: EdgeKind) -> Table:
    rows = tuple(
        (Score(one.weight), CodeSpan(one.name), CodeSpan(one.reason or one.origin))
        for one in card.neighbours
        if one.kind is kind
    )
    columns = (Column("strength"), Column("tool", is_whole=True), Column("reason"))
    return Table(title, columns, rows, has_heads=True, wraps=True)
