"""`mcpg graph`: validation and statistics; `graph_export` and `graph_query` hold the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from mcpg.bundle import Assembly, assemble, decode_bundle, mistakes_in
from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, open_sources, read_settings
from mcpg.cli.options import OutputFormat, group
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.render import text as text_of
from mcpg.cli.terminal import and_pages, one_line
from mcpg.errors import Code as DiagnosticCode
from mcpg.errors import Diagnostic, Severity
from mcpg.graph import export_command, query_command
from mcpg.graph.schema import Statistics, compute_statistics
from mcpg.graph.validation import DEFAULT_TIMEOUT, ShaclFinding, Validation, validate_documents
from mcpg.show.blocks import Block, CodeSpan, Column, FactList, Inline, Section, Table, join_inlines
from mcpg.show.json import diagnostics_json
from mcpg.sources import SourceBatch
from mcpg.sources.model import read_text
from mcpg.text.json_values import JsonObject
from mcpg.values import format_count, score_text, to_json

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
        text="Export, search, query and validate the tools as linked data.",
        examples=EXAMPLES,
    )
    export_command.register(commands)
    query_command.register(commands)
    options.command(commands, "validate", examples=VALIDATE_EXAMPLES, more="docs/how-to/graph.md")(
        validate
    )
    options.command(commands, "stats", examples=STATS_EXAMPLES, more="docs/how-to/graph.md")(stats)
    app.add_typer(commands)


# `mcpg graph stats`


STATS_EXAMPLES = """\
mcpg graph stats
mcpg graph stats --top 25
mcpg graph stats --format json | jq -r '.orphans[]'"""

Top = Annotated[
    int, typer.Option("--top", metavar="N", min=1, help="Maximum number of hubs and groups.")
]


def stats(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    top: Top = 10,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Show statistics of the graph of the tools.

    Kinds of edges, degrees, components, tools without an edge, hubs, and groups by how closely
    their tools are linked.
    """
    engine = open_engine(read_settings(bundle=bundle), output)
    found = compute_statistics(engine.documents, engine.pages, top=top)
    if form is OutputFormat.JSON:
        output.json(stats_json(found, engine.diagnostics))
    else:
        output.note_opening(engine.diagnostics)
        output.text(text_of(stats_blocks(found), output))
    return ExitCode.DONE


def stats_json(found: Statistics, diagnostics: Iterable[Diagnostic]) -> JsonObject:
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
        "diagnostics": diagnostics_json(diagnostics),
    }


_NAMED = 10


def stats_blocks(found: Statistics) -> list[Block]:
    """Return what the graph holds, its degrees, hubs and groups."""
    joined = [f"{size:,}" for size in found.components if size > 1]
    facts: tuple[tuple[str, Inline], ...] = (
        ("tools", f"{found.tools:,} of {format_count(found.sources, 'source')}"),
        ("groups", f"{found.groups:,}"),
        ("things", f"{found.things:,}"),
        ("pages", f"{found.pages:,}" if found.pages else ""),
        ("connected components", _counted_names(joined)),
        ("tools without an edge", _counted_names(found.orphans)),
    )
    edges: list[tuple[Inline, ...]] = [
        (
            one.kind,
            f"{one.count:,}",
            f"{one.authored:,} by authors, mean weight {score_text(one.weight)}",
        )
        for one in found.kinds
    ]
    if found.dangling:
        edges.append(("dangling", f"{found.dangling:,}", "to tools that are not here"))
    spreads = {"incoming": found.incoming, "outgoing": found.outgoing, "both": found.degree}
    degrees = [
        (name, f"{one.smallest:,}", f"{one.median:g}", f"{one.mean:.2f}", f"{one.largest:,}")
        for name, one in spreads.items()
    ]
    hubs = [(CodeSpan(one.tool), f"{one.incoming:,}", f"{one.outgoing:,}") for one in found.hubs]
    groups = [
        (CodeSpan(one.name), f"{one.members:,}", f"{one.edges:,}", f"{one.density:.3f}")
        for one in found.densest
    ]
    columns = (Column("kind"), Column("edges", is_number=True), Column("origin"))
    return [
        FactList(facts),
        Section("edges", "Edges", (Table("Edges", columns, tuple(edges)),)),
        _table("Edges of a tool", ("direction", "least", "median", "mean", "most"), degrees),
        _table("Hubs", ("tool", "in", "out"), hubs),
        _table("Densest groups", ("group", "tools", "edges", "density"), groups),
    ]


def _table(title: str, heads: Sequence[str], rows: Iterable[tuple[Inline, ...]]) -> Section:
    """Return a table of numbers behind a name, under its title."""
    columns = tuple(Column(head, is_number=bool(place)) for place, head in enumerate(heads))
    table = Table(title, columns, tuple(rows), has_heads=True)
    return Section(title.lower().replace(" ", "-"), title, (table,) if table.rows else ())


def _counted_names(names: Sequence[str]) -> Inline:
    """Return how many *names* there are, and the first of them."""
    if not names:
        return "0"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return (f"{len(names):,}: ", join_inlines([CodeSpan(one) for one in names[:_NAMED]]), more)


# `mcpg graph validate`


VALIDATE_EXAMPLES = """\
mcpg graph validate
mcpg graph validate -b documents/ --shapes house-rules.ttl
mcpg graph validate --strict --format json | jq '.findings[].place'"""

Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shapes",
        metavar="FILE",
        help="Turtle file of further SHACL shapes. Repeatable.",
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, max=3_600, help="Timeout in seconds."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 on warnings, too.")]


def validate(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    shapes: Shapes = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    strict: Strict = False,
    form: options.ListFormat = "text",
) -> int:
    """Check the graph of the tools against SHACL shapes.

    Shapes for tools, documents and edges are built in. What authors can hardly have meant, such as
    misspelt keys, is reported as well. Exits 1 when a shape is violated.
    """
    texts = {name: read_text(Path(name), name) for name in shapes or []}
    batch = open_sources(read_settings(bundle=bundle), output)
    found, assembly = _validate_batch(batch, texts, timeout, output)
    mistakes = (
        one for raw in batch.bundles for one in mistakes_in(decode_bundle(raw.text, raw.place))
    )
    found, diagnostics = _merge_reports(
        found, (*assembly.diagnostics, *mistakes, *found.diagnostics)
    )
    data: dict[str, Any] = validation_json(found, diagnostics)
    if form == "json":
        output.json(data)
    else:
        output.diagnostics(diagnostics)
        if form == "text":
            output.text(validation_text(found, output))
        else:
            write_listing(findings_listing(data["findings"]), form, output)
    is_noticed = any(one.severity != Severity.INFO for one in diagnostics)
    is_bad = found.count("violation") or (strict and (is_noticed or found.count("warning")))
    return ExitCode.FINDINGS if is_bad else ExitCode.DONE


def _validate_batch(
    batch: SourceBatch, shapes: dict[str, str], timeout: float, output: Output
) -> tuple[Validation, Assembly]:
    """Validate what *batch* holds, and say what was put together for it."""
    with output.progress("validating"):
        assembly = assemble(batch)
        texts = (*(assembly.texts if batch.bundles else ()), *batch.documents)
        written = [(text.path, text.place or text.path, text.content) for text in texts]
        by_place = {place: (place, content) for _, place, content in written}
        found = validate_documents(
            (*assembly.documents, *assembly.pages),
            originals=by_place | {path: (place, content) for path, place, content in written},
            shapes=shapes,
            timeout=timeout,
        )
    return found, assembly


_SHAPES_OF = {
    DiagnosticCode.RELATION_UNRESOLVED: "Class",
    DiagnosticCode.VALUE_INVALID: "Datatype",
}


def _merge_reports(
    found: Validation, diagnostics: Sequence[Diagnostic]
) -> tuple[Validation, tuple[Diagnostic, ...]]:
    """Put what shapes find of mistakes that are reported as well into one finding each.

    The finding says how severe it is, and the report what to write instead.
    """
    reported: defaultdict[tuple[str, str], list[Diagnostic]] = defaultdict(list)
    for one in diagnostics:
        if one.code in _SHAPES_OF and one.place:
            reported[one.place, _SHAPES_OF[one.code]].append(one)
    findings: list[ShaclFinding] = []
    told: list[Diagnostic] = []
    for finding in found.findings:
        same = reported[finding.place or "", finding.result.constraint]
        if same:
            told.append(same.pop(0))
            result = replace(finding.result, message=told[-1].message)
            findings.append(replace(finding, result=result))
        else:
            findings.append(finding)
    merged = set(map(id, told))
    left = tuple(one for one in diagnostics if id(one) not in merged)
    return replace(found, findings=tuple(findings)), left


_STYLES = {"violation": "red", "warning": "yellow", "info": "cyan"}


def validation_text(found: Validation, output: Output) -> str:
    """Return a line for each finding, as compilers write them, and their counts."""
    lines = [_finding_text(finding, output) for finding in found.findings]
    documents = f"{format_count(found.documents - found.pages, 'tool')}{and_pages(found.pages)}"
    triples = format_count(found.triples, "triple")
    violations, warnings = (format_count(found.count(one), one) for one in ("violation", "warning"))
    return "\n".join((*lines, f"{documents}, {triples}: {violations}, {warnings}"))


def validation_json(found: Validation, diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Return the object that `graph validate` prints."""
    return {
        "schema": "mcpg/graph-validate/1",
        "conforms": found.count("violation") == 0,
        "documents": found.documents,
        "pages": found.pages,
        "triples": found.triples,
        "shapes": list(found.shapes),
        "violations": found.count("violation"),
        "warnings": found.count("warning"),
        "findings": [
            {
                "severity": finding.result.severity,
                "message": finding.message,
                "place": finding.place,
                "focusNode": finding.result.focus,
                "path": finding.result.path or None,
                "value": finding.result.value or None,
                "constraint": finding.result.constraint or None,
                "shape": finding.result.shape or None,
            }
            for finding in found.findings
        ],
        "diagnostics": diagnostics_json(diagnostics),
    }


def findings_listing(findings: Sequence[Mapping[str, Any]]) -> RecordListing:
    """Return the *findings*, as JSON has them, as a list."""
    members = ("severity", "place", "message", "focusNode", "path", "value", "constraint", "shape")
    rows = tuple(
        (one["severity"], CodeSpan(one["place"] or one["focusNode"]), CodeSpan(one["message"]))
        for one in findings
    )
    columns = (Column("severity"), Column("place", is_whole=True), Column("message"))
    return RecordListing(
        findings, members, "focusNode", Table("Findings", columns, rows, has_heads=True)
    )


def _finding_text(finding: ShaclFinding, output: Output) -> str:
    result = finding.result
    label = output.paint(result.severity, _STYLES[result.severity])
    kind = f"[{one_line(result.constraint)}]" if result.constraint else ""
    value = f" ({one_line(result.value)})" if result.value and result.value != result.focus else ""
    where = finding.place or result.focus
    return f"{one_line(where)}: {label}{kind}: {one_line(finding.message)}{value}"
