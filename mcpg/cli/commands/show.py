"""`mcpg show`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, Tool, ToolExample, walk_parameters
from mcpg.catalog.model import Parameter as Argument
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import Opened, open_catalog, settings_of
from mcpg.cli.output import Output
from mcpg.cli.terminal import cut, lines_kept, one_line, pad, width
from mcpg.errors import Diagnostic, NotFoundError
from mcpg.gateway.json import card_json, diagnostics_json, hints_json, score_json
from mcpg.relations.model import EdgeKind, EdgeOrigin
from mcpg.values import to_json

if TYPE_CHECKING:
    import typer

    from mcpg.documents.model import ToolDocument
    from mcpg.json_types import JsonObject, JsonValue

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
        origin: Who says so.
    """

    kind: EdgeKind
    tool_id: str | None
    uri: str
    weight: float
    reason: str
    origin: EdgeOrigin

    @property
    def name(self) -> str:
        return self.tool_id or self.uri


@dataclass(frozen=True, slots=True)
class Card:
    """One tool and its place in the graph.

    Attributes:
        tool: The tool.
        document: Its document, `None` where there is no graph.
        text: The document as it stands in a bundle, "" where there is none.
        neighbours: The tools that its edges lead to, in the document's order.
    """

    tool: Tool
    document: ToolDocument | None = None
    text: str = ""
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        return self.document.groups if self.document else ()


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - the command itself does without
    from mcpg.cli.parameters import SHOW  # noqa: PLC0415 - as above

    options.command(app, "show", examples=EXAMPLES, table=SHOW)(run)


def run(output: Output, *, tool: str, bundle: list[str] | None, document: bool, form: str) -> int:
    """Show one tool: arguments, hints, place in the graph, where it comes from."""
    opened = open_catalog(settings_of(bundle=bundle), output, texts=document)
    card = _card(opened, tool)
    if document:
        return _print_document(card, output)
    if form == "json":
        output.json(_show_json(card, opened.diagnostics))
    else:
        output.diagnostics(opened.diagnostics)
        output.text(_show_text(card, output))
    return ExitCode.DONE


def _print_document(card: Card, output: Output) -> int:
    if card.document is None:
        raise NotFoundError(
            f"{card.tool.id!r} has no document, because the graph cannot be made",
            remedy="see what `mcpg show` says about the graph",
        )
    output.document(card.text)
    return ExitCode.DONE


def _card(opened: Opened, name: str) -> Card:
    """Return the card of the tool called *name*: an id, `source::name` or a raw name.

    Raises:
        NotFoundError: No tool is called so, or several are.
    """
    tool = opened.catalog.named(name)
    document = opened.documents.get(tool.id)
    if document is None:
        return Card(tool)
    by_uri = {one.uri: tool_id for tool_id, one in opened.documents.items()}
    neighbours = tuple(
        Neighbour(
            link.kind,
            by_uri.get(link.target),
            link.target,
            link.weight,
            link.reason,
            link.origin,
        )
        for link in document.links
    )
    return Card(tool, document, opened.texts.get(document.path, ""), neighbours)


def _show_json(card: Card, diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Return the object that `show` prints."""
    document = card.document
    return {
        "schema": "mcpg/show/1",
        "tool": _tool_json(card.tool),
        "groups": list(card.groups),
        "related": _neighbours_json(card, EdgeKind.RELATED),
        "nextSteps": _neighbours_json(card, EdgeKind.NEXT_STEP),
        "document": {"path": document.path, "uri": document.uri} if document else None,
        "diagnostics": diagnostics_json(diagnostics),
    }


def _neighbours_json(card: Card, kind: EdgeKind) -> list[JsonValue]:
    return [
        to_json(one, without=["kind"]) | {"weight": score_json(one.weight)}
        for one in card.neighbours
        if one.kind is kind
    ]


def _tool_json(tool: Tool) -> JsonObject:
    return {
        **card_json(tool),
        "requiredArguments": list(tool.required_arguments),
        **hints_json(tool.hints),
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
        "meta": tool.meta,
        "sourceKind": tool.source_kind.value,
        "place": tool.place or None,
    }


_LABEL = 14
_NAME_LIMIT = 32
_TYPE_LIMIT = 20
_HEADINGS = {EdgeKind.RELATED: "related", EdgeKind.NEXT_STEP: "next steps"}


def _show_text(card: Card, output: Output) -> str:
    """Return everything about the tool of *card*, from what it is to where it comes from."""
    tool = card.tool
    blocks = [
        _title(tool, output),
        _described(tool, output),
        _facts(card, output),
        _parameters(walk_parameters(tool.input_schema), output, "arguments"),
        _parameters(walk_parameters(tool.output_schema or {}), output, "result"),
        _examples(tool.hints.examples, output),
        *(_neighbours(card.neighbours, kind, output) for kind in _HEADINGS),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _title(tool: Tool, output: Output) -> list[str]:
    name = output.paint(one_line(tool.id), "cyan")
    title = one_line(tool.display_name)
    state = "" if tool.enabled else "  (disabled by default)"
    return [f"{name}{'' if title in {tool.id, tool.name} else f'  {title}'}{state}"]


def _described(tool: Tool, output: Output) -> list[str]:
    paragraphs = lines_kept(tool.description.strip()).split("\n")
    return [
        line
        for paragraph in paragraphs
        for line in textwrap.wrap(paragraph, max(20, output.columns - 2)) or [""]
        if tool.description.strip()
    ]


def _facts(card: Card, output: Output) -> list[str]:
    tool = card.tool
    rows = [
        ("source", f"{tool.source_id} ({tool.source_kind})"),
        ("name", tool.name),
        ("read from", tool.place),
        ("document", card.document.path if card.document else ""),
        ("URI", card.document.uri if card.document else ""),
        ("behaviour", ", ".join(_behaviour(tool.hints))),
        *_hint_rows(tool.hints),
        ("groups", ", ".join(card.groups)),
    ]
    return [line for label, value in rows if value for line in _fact(label, value, output)]


def _fact(label: str, value: str, output: Output) -> list[str]:
    return textwrap.wrap(
        one_line(value),
        max(40, output.columns),
        initial_indent=f"{label:<{_LABEL}}",
        subsequent_indent=" " * _LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _behaviour(hints: Hints) -> Iterator[str]:
    said = {
        ("read-only", "writes"): hints.read_only,
        ("idempotent", "not idempotent"): hints.idempotent,
        ("destructive", "not destructive"): hints.destructive,
        ("open world", "closed world"): hints.open_world,
    }
    for (yes, no), value in said.items():
        if value is not None:
            yield yes if value else no
    for what, tier in (("cost", hints.cost_tier), ("latency", hints.latency_tier)):
        if tier is not None:
            yield f"{tier.lower()} {what}"


def _hint_rows(hints: Hints) -> list[tuple[str, str]]:
    lists = {
        "aliases": hints.aliases,
        "keywords": hints.keywords,
        "categories": hints.categories,
        "tags": hints.tags,
        "data sources": hints.data_sources,
    }
    return [(label, ", ".join(values)) for label, values in lists.items()]


def _parameters(parameters: Sequence[Argument], output: Output, heading: str) -> list[str]:
    if not parameters:
        return []
    names = min(_NAME_LIMIT, max(width(one_line(one.path)) for one in parameters))
    kinds = min(_TYPE_LIMIT, max(len(_kind(one)) for one in parameters))
    rows = [_parameter(one, names, kinds, output) for one in parameters]
    return [output.paint(heading, "bold"), *rows]


def _parameter(parameter: Argument, names: int, kinds: int, output: Output) -> str:
    lead = f"  {pad(one_line(parameter.path), names)}  {_kind(parameter):<{kinds}}  "
    values = f" ({', '.join(parameter.values)})" if parameter.values else ""
    text = one_line(f"{parameter.description}{values}")
    return f"{lead}{cut(text, output.columns - width(lead))}".rstrip()


def _kind(parameter: Argument) -> str:
    return one_line(parameter.type or "any") + ("" if parameter.required else "?")


def _examples(examples: Iterable[ToolExample], output: Output) -> list[str]:
    rows = [
        f"  {one_line(one.input)}" + (f" ({one_line(one.description)})" if one.description else "")
        for one in examples
    ]
    return [output.paint("examples", "bold"), *rows] if rows else []


def _neighbours(neighbours: Iterable[Neighbour], kind: EdgeKind, output: Output) -> list[str]:
    edges = [one for one in neighbours if one.kind is kind]
    if not edges:
        return []
    columns = max(width(one_line(edge.name)) for edge in edges)
    return [
        output.paint(_HEADINGS[kind], "bold"),
        *(
            cut(
                f"  {edge.weight:.3f}  {pad(one_line(edge.name), columns)}  "
                f"{one_line(edge.reason or edge.origin)}",
                output.columns,
            )
            for edge in edges
        ),
    ]
