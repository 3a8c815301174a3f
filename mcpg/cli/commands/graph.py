"""`mcpg graph`, a group of commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import typer

from mcpg.bundle import Assembly
from mcpg.cli import options
from mcpg.cli.commands import graph_export, graph_query
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_engine, open_sources, settings_of
from mcpg.cli.options import group
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.terminal import and_pages, counted, cut, one_line, pad
from mcpg.errors import Diagnostic
from mcpg.gateway.json import diagnostics_json
from mcpg.graph.network import Statistics
from mcpg.graph.validation import Finding, Validation
from mcpg.json_types import JsonObject
from mcpg.sources import SourceBatch
from mcpg.values import to_json

# `mcpg graph schema`.


SCHEMA_EXAMPLES = """\
mcpg graph schema
mcpg graph schema --format json | jq -r '.predicates[].name'"""


def register_schema(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "schema", examples=SCHEMA_EXAMPLES)(schema)


def schema(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Describe the graph of the tools, for whoever writes a query.

    Prefixes, classes, predicates with what stands on either side of them and an example each, and
    what `mcpg graph search` reads.
    """
    from mcpg.cli.commands.graph_query import schema_text  # noqa: PLC0415 - help needs none
    from mcpg.gateway.json import schema_json  # noqa: PLC0415
    from mcpg.graph.schema import schema_of  # noqa: PLC0415
    from mcpg.graph.triples import distinct_documents  # noqa: PLC0415

    engine = open_engine(settings_of(bundle=bundle), output)
    documents, noticed = distinct_documents((*engine.documents.values(), *engine.pages))
    found = schema_of(documents)
    diagnostics = (*engine.diagnostics, *noticed)
    if form is OutputFormat.JSON:
        output.json(schema_json(found, diagnostics))
    else:
        output.diagnostics(diagnostics)
        output.text(schema_text(found))
    return ExitCode.DONE


# `mcpg graph stats`.


STATS_EXAMPLES = """\
mcpg graph stats
mcpg graph stats --top 25
mcpg graph stats --format json | jq -r '.orphans[]'"""

Top = Annotated[
    int, typer.Option("--top", metavar="N", min=1, help="The most hubs and groups to name.")
]


def register_stats(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "stats", examples=STATS_EXAMPLES)(stats)


def stats(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    top: Top = 10,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Count what the graph of the tools is made of.

    Kinds of edges, degrees, parts that nothing joins, tools without an edge, hubs, and the groups
    whose tools are linked most closely.
    """
    from mcpg.graph.network import statistics_of  # noqa: PLC0415

    engine = open_engine(settings_of(bundle=bundle), output)
    found = statistics_of(engine.documents, engine.pages, top=top)
    if form is OutputFormat.JSON:
        output.json(stats_json(found, engine.diagnostics))
    else:
        output.diagnostics(engine.diagnostics)
        output.text(stats_text(found))
    return ExitCode.DONE


# `mcpg graph validate`.


VALIDATE_EXAMPLES = """\
mcpg graph validate
mcpg graph validate -b documents/ --shapes house-rules.ttl
mcpg graph validate --strict --format json | jq '.findings[].place'"""

DEFAULT_TIMEOUT = 300.0

Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shapes",
        metavar="FILE",
        help="Check SHACL shapes of your own as well, in Turtle. May be given again.",
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, max=3_600, help="How long it may take."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings, too.")]


def register_validate(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "validate", examples=VALIDATE_EXAMPLES)(validate)


def validate(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    shapes: Shapes = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    strict: Strict = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Check the graph of the tools against SHACL shapes.

    Shapes for tools, documents and edges come with mcpg. A finding names the file and line that is
    at fault. Exits 1 when something violates a shape.
    """
    texts = {name: _read(name) for name in shapes or []}
    batch = open_sources(settings_of(bundle=bundle), output)
    found, assembly = _validated(batch, texts, timeout, output)
    noticed = (*assembly.diagnostics, *found.diagnostics)
    if form is OutputFormat.JSON:
        output.json(validation_json(found, list(texts), noticed))
    else:
        output.diagnostics(noticed)
        output.text(validation_text(found, output))
    counted = found.count("violation") + (found.count("warning") if strict else 0)
    return ExitCode.FINDINGS if counted else ExitCode.DONE


def _validated(
    batch: SourceBatch, shapes: dict[str, str], timeout: float, output: Output
) -> tuple[Validation, Assembly]:
    from mcpg.bundle import assemble  # noqa: PLC0415 - help needs none of it
    from mcpg.graph.validation import validate_documents  # noqa: PLC0415

    with output.progress("validating"):
        assembly = assemble(batch)
        found = validate_documents(
            (*assembly.documents, *assembly.pages),
            originals=_originals(batch, assembly),
            shapes=shapes,
            timeout=timeout,
        )
    return found, assembly


def _originals(batch: SourceBatch, assembly: Assembly) -> dict[str, tuple[str, str]]:
    """Give place and text of what authors wrote; a bundle's texts stand for themselves."""
    texts = (*(assembly.texts if batch.bundles else ()), *batch.documents)
    written = [(text.path, text.place or text.path, text.content) for text in texts]
    by_place = {place: (place, content) for _, place, content in written}
    return by_place | {path: (place, content) for path, place, content in written}


def _read(name: str) -> str:
    from pathlib import Path  # noqa: PLC0415 - as above

    from mcpg.sources.model import read_text  # noqa: PLC0415

    return read_text(Path(name), name)


EXAMPLES = """\
mcpg graph export -o graph.ttl
mcpg graph export --around shipment_status --format mermaid
mcpg graph sparql 'SELECT ?id ?then { ?tool mcpg:toolId ?id ; kb:nextStep/mcpg:toolId ?then }'
mcpg graph schema
mcpg graph search "where is my parcel" --explain
mcpg graph validate --shapes house-rules.ttl
mcpg graph stats"""


def register(app: typer.Typer) -> None:
    """Add the group to *app*."""
    commands = group(
        "graph",
        text="The tools as linked data: export, search, query, validate, count.",
        examples=EXAMPLES,
    )
    graph_export.register(commands)
    register_schema(commands)
    graph_query.register(commands)
    graph_query.register_sparql(commands)
    register_validate(commands)
    register_stats(commands)
    app.add_typer(commands)


# What a graph is made of, as text and as JSON.


_NAME = 40
_TOLD = 10


def stats_text(found: Statistics) -> str:
    """Return everything in blocks: what there is, degrees, parts, hubs, groups."""
    blocks = (_counts(found), _degrees(found), _parts(found), _hubs(found), _groups(found))
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block)


def stats_json(found: Statistics, noticed: Iterable[Diagnostic]) -> JsonObject:
    """Return the object that `graph stats` prints."""
    return {
        "schema": "mcpg/graph-stats/1",
        "tools": found.tools,
        "sources": found.sources,
        "groups": found.groups,
        "things": found.things,
        "pages": found.pages,
        "edges": [to_json(edges) for edges in found.kinds],
        "danglingEdges": found.dangling,
        "degrees": {
            "incoming": to_json(found.incoming),
            "outgoing": to_json(found.outgoing),
            "total": to_json(found.degree),
        },
        "components": {"count": len(found.components), "sizes": list(found.components)},
        "orphans": list(found.orphans),
        "hubs": [to_json(hub, {"tool": "toolId"}) for hub in found.hubs],
        "densestGroups": [to_json(dense) for dense in found.densest],
        "diagnostics": diagnostics_json(noticed),
    }


def _counts(found: Statistics) -> Iterator[str]:
    yield (
        f"{counted(found.tools, 'tool')} of {counted(found.sources, 'source')}, "
        f"{counted(found.groups, 'group')}, {counted(found.things, 'thing')}"
        f"{and_pages(found.pages)}"
    )
    for edges in found.kinds:
        told = f"{edges.authored:,} by authors, mean weight {edges.weight:.2f}"
        yield f"    {pad(edges.kind, 10)} {edges.count:>8,}  {told}"
    if found.dangling:
        yield f"    {pad('dangling', 10)} {found.dangling:>8,}  to tools that are not here"


def _degrees(found: Statistics) -> Iterator[str]:
    yield f"{pad('edges of a tool', 18)}{'least':>8}{'median':>8}{'mean':>8}{'most':>8}"
    for label, spread in (
        ("incoming", found.incoming),
        ("outgoing", found.outgoing),
        ("both", found.degree),
    ):
        figures = f"{spread.smallest:>8,}{spread.median:>8g}{spread.mean:>8.2f}{spread.largest:>8,}"
        yield f"    {pad(label, 14)}{figures}"


def _parts(found: Statistics) -> Iterator[str]:
    joined = [size for size in found.components if size > 1]
    sizes = _listed([f"{size:,}" for size in joined])
    yield f"{counted(len(joined), 'part')} joined by edges{f': {sizes}' if sizes else ''}"
    orphans = _listed([one_line(tool) for tool in found.orphans])
    count = counted(len(found.orphans), "tool")
    yield f"{count} without an edge{f': {orphans}' if orphans else ''}"


def _hubs(found: Statistics) -> Iterator[str]:
    if found.hubs:
        yield f"{pad('hubs', _NAME + 4)}{'in':>8}{'out':>8}"
    for hub in found.hubs:
        yield f"    {_named(hub.tool)}{hub.incoming:>8,}{hub.outgoing:>8,}"


def _groups(found: Statistics) -> Iterator[str]:
    if found.densest:
        yield f"{pad('densest groups', _NAME + 4)}{'tools':>8}{'edges':>8}{'density':>9}"
    for dense in found.densest:
        figures = f"{dense.members:>8,}{dense.edges:>8,}{dense.density:>9.3f}"
        yield f"    {_named(dense.name)}{figures}"


def _named(name: str) -> str:
    return pad(cut(one_line(name), _NAME), _NAME)


def _listed(names: Sequence[str]) -> str:
    told = ", ".join(names[:_TOLD])
    more = len(names) - _TOLD
    return f"{told} and {more:,} more" if more > 0 else told


# What a validation found, as text and as JSON.


_STYLES = {"violation": "red", "warning": "yellow", "info": "cyan"}


def validation_text(found: Validation, output: Output) -> str:
    """Give one finding a line, and at the end how many there are of each kind."""
    lines = [_line(finding, output) for finding in found.findings]
    documents = f"{counted(found.documents - found.pages, 'tool')}{and_pages(found.pages)}"
    size = f"{documents}, {counted(found.triples, 'triple')}"
    told = ", ".join(
        counted(found.count(severity), severity) for severity in ("violation", "warning")
    )
    return "\n".join((*lines, f"{size}: {told}"))


def validation_json(
    found: Validation, shapes: Sequence[str], noticed: Iterable[Diagnostic]
) -> JsonObject:
    """Return the object that `graph validate` prints."""
    return {
        "schema": "mcpg/graph-validate/1",
        "conforms": found.count("violation") == 0,
        "documents": found.documents,
        "pages": found.pages,
        "triples": found.triples,
        "shapes": list(shapes),
        "violations": found.count("violation"),
        "warnings": found.count("warning"),
        "findings": [_finding_json(finding) for finding in found.findings],
        "diagnostics": diagnostics_json(noticed),
    }


def _line(finding: Finding, output: Output) -> str:
    result = finding.result
    label = output.paint(result.severity, _STYLES[result.severity])
    kind = f"[{one_line(result.constraint)}]" if result.constraint else ""
    value = f" ({one_line(result.value)})" if result.value and result.value != result.focus else ""
    where = finding.place or result.focus
    return f"{one_line(where)}: {label}{kind}: {one_line(finding.message)}{value}"


def _finding_json(finding: Finding) -> JsonObject:
    result = finding.result
    return {
        "severity": result.severity,
        "message": finding.message,
        "place": finding.place,
        "focusNode": result.focus,
        "path": result.path or None,
        "value": result.value or None,
        "constraint": result.constraint or None,
        "shape": result.shape or None,
    }
