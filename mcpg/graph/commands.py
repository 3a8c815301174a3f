"""`mcpg graph`: exports, validation and statistics; `query_command` has the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer

from mcpg.bundle import Assembly, assemble, decode_bundle, mistakes_in
from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, open_sources, read_settings
from mcpg.cli.options import OutputFormat, complete_tool, group
from mcpg.cli.output import Output, check_replaceable
from mcpg.cli.query import uses_lexicon
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.render import text as text_of
from mcpg.cli.terminal import and_pages, one_line
from mcpg.documents.addresses import BASE
from mcpg.documents.model import ToolDocument
from mcpg.engine import Engine
from mcpg.engine.items import open_kind
from mcpg.errors import Code, Diagnostic, Severity, UsageError, warning
from mcpg.files import atomic_write
from mcpg.graph import exports, query_command
from mcpg.graph.map import graph_page
from mcpg.graph.query_command import find_base_iri
from mcpg.graph.schema import (
    Statistics,
    build_network,
    compute_statistics,
    neighbourhood,
    select_subgraph,
)
from mcpg.graph.terms import context_text, ontology_text
from mcpg.graph.triples import distinct_documents, make_triples
from mcpg.graph.validation import DEFAULT_TIMEOUT, ShaclResult, Validation, validate_documents
from mcpg.plugins.registry import list_item_kinds
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
    guide, reference = "docs/how-to/graph.md", "docs/reference/graph-vocabulary.md"
    options.command(commands, "context", examples=CONTEXT_EXAMPLES, more=reference)(context)
    options.command(commands, "export", examples=EXPORT_EXAMPLES, more=guide)(export)
    options.command(commands, "ontology", examples=ONTOLOGY_EXAMPLES, more=reference)(ontology)
    query_command.register(commands)
    options.command(
        commands, "validate", examples=VALIDATE_EXAMPLES, more="docs/how-to/validate.md"
    )(validate)
    options.command(commands, "stats", examples=STATS_EXAMPLES, more=guide)(stats)
    app.add_typer(commands)


STATS_EXAMPLES = """\
mcpg graph stats
mcpg graph stats --limit 25
mcpg graph stats --format json | jq -r '.orphans[]'"""

Top = Annotated[
    int,
    typer.Option(*("--limit", "-n"), metavar="N", min=1, help="Maximum number of hubs and groups."),
]


def stats(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    top: Top = 10,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Show statistics of the graph of the tools.

    Kinds of edges, degrees, components, tools without an edge, hubs, and dense groups.
    """
    engine = open_engine(read_settings(bundle=bundle), output)
    found = compute_statistics(engine.documents, engine.pages, top=top)
    items = count_items(engine)
    if form is OutputFormat.JSON:
        output.json(stats_json(found, items, engine.diagnostics))
    else:
        output.note_opening(engine.diagnostics)
        output.text(text_of([*stats_blocks(found), *item_blocks(items)], output))
    return ExitCode.DONE


Counts = Mapping[str, Mapping[str, Mapping[str, int]]]
"""How many items and edges of each type there are, by kind of item and name of the count."""


def count_items(engine: Engine) -> Counts:
    """Return the counts of each kind of items that the bundle has."""
    if not engine.pages:
        return {}
    kinds = [one for one in list_item_kinds() if one.noun]
    counts = {one.noun: open_kind(engine, one).count_items() for one in kinds}
    return {noun: found for noun, found in counts.items() if any(found.values())}


def item_blocks(items: Counts) -> list[Block]:
    """Return the counts of each kind of items as tables."""
    return [
        _table(
            f"{noun} {name}".capitalize() if name != f"{noun}s" else name.title(),
            ("type", "count"),
            [(one, f"{count:,}") for one, count in sorted(counts.items())],
        )
        for noun, found in items.items()
        for name, counts in found.items()
    ]


def stats_json(found: Statistics, items: Counts, diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Return the object that `graph stats` prints."""
    names = {"kinds": "edges", "dangling": "danglingEdges", "densest": "densestGroups"}
    sizes = {"count": len(found.components), "sizes": list(found.components)}
    return {
        "schema": "mcpg/graph-stats/1",
        **to_json(found, names | {"tool": "toolId"}),
        "components": sizes,
        "items": {
            noun: {name: {**one} for name, one in counts.items()} for noun, counts in items.items()
        },
        "diagnostics": diagnostics_json(diagnostics),
    }


_NAMED = 10


def stats_blocks(found: Statistics) -> list[Block]:
    """Return the size of the graph, its degrees, hubs and groups."""
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
    degrees = [
        (name, f"{one.smallest:,}", f"{one.median:g}", f"{one.mean:.2f}", f"{one.largest:,}")
        for name, one in found.degrees.items()
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
    columns = tuple(Column(head, is_number=bool(place)) for place, head in enumerate(heads))
    table = Table(title, columns, tuple(rows), has_heads=True)
    return Section(title.lower().replace(" ", "-"), title, (table,) if table.rows else ())


def _counted_names(names: Sequence[str]) -> Inline:
    if not names:
        return "0"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return (f"{len(names):,}: ", join_inlines([CodeSpan(one) for one in names[:_NAMED]]), more)


VALIDATE_EXAMPLES = """\
mcpg graph validate
mcpg graph validate -b documents/ --shapes house-rules.ttl
mcpg graph validate --strict --format json | jq '.findings[].place'"""

Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shapes", metavar="FILE", help="Turtle file of further SHACL shapes. Repeatable."
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, max=3_600, help="Timeout in seconds."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Also exit 1 on warnings.")]


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

    Built-in shapes check tools, documents and edges. Probable mistakes, such as misspelt keys, are
    also reported. Exits 1 if a shape is violated.
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


_SHAPES_OF = {Code.RELATION_UNRESOLVED: "Class", Code.VALUE_INVALID: "Datatype"}


def _merge_reports(
    found: Validation, diagnostics: Sequence[Diagnostic]
) -> tuple[Validation, tuple[Diagnostic, ...]]:
    """Merge findings of shapes with diagnostics of the same mistake, into one finding each.

    The finding has the severity, and the diagnostic the remedy.
    """
    reported: defaultdict[tuple[str, str], list[Diagnostic]] = defaultdict(list)
    for one in diagnostics:
        if one.code in _SHAPES_OF and one.place:
            reported[one.place, _SHAPES_OF[one.code]].append(one)
    findings: list[ShaclResult] = []
    told: list[Diagnostic] = []
    for finding in found.findings:
        same = reported[finding.place or "", finding.constraint]
        if same:
            told.append(same.pop(0))
            findings.append(replace(finding, message=told[-1].message))
        else:
            findings.append(finding)
    merged = set(map(id, told))
    left = tuple(one for one in diagnostics if id(one) not in merged)
    return replace(found, findings=tuple(findings)), left


_STYLES = {"violation": "red", "warning": "yellow", "info": "cyan"}


def validation_text(found: Validation, output: Output) -> str:
    """Return a line for each finding, as compilers write them, and their counts."""
    lines = []
    for finding in found.findings:
        label = output.paint(finding.severity, _STYLES[finding.severity])
        kind = f"[{one_line(finding.constraint)}]" if finding.constraint else ""
        is_told = finding.value and finding.value != finding.focus
        value = f" ({one_line(finding.value)})" if is_told else ""
        where = one_line(finding.place or finding.focus)
        lines.append(f"{where}: {label}{kind}: {one_line(finding.message)}{value}")
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
            to_json(one, {"focus": "focusNode"}, nulls=("path", "value", "constraint", "shape"))
            for one in found.findings
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


STDOUT = "-"


class GraphFormat(StrEnum):
    """The formats of an export, by rdflib's names if it has any."""

    TURTLE = "turtle"
    JSON_LD = "json-ld"
    NQUADS = "nquads"
    TRIG = "trig"
    N3 = "n3"
    RDF_XML = "rdf-xml"
    GRAPHML = "graphml"
    MERMAID = "mermaid"
    DOT = "dot"
    HTML = "html"


EXTENSIONS = {
    ".ttl": GraphFormat.TURTLE,
    ".turtle": GraphFormat.TURTLE,
    ".jsonld": GraphFormat.JSON_LD,
    ".nq": GraphFormat.NQUADS,
    ".nt": GraphFormat.NQUADS,
    ".trig": GraphFormat.TRIG,
    ".n3": GraphFormat.N3,
    ".rdf": GraphFormat.RDF_XML,
    ".owl": GraphFormat.RDF_XML,
    ".graphml": GraphFormat.GRAPHML,
    ".mmd": GraphFormat.MERMAID,
    ".mermaid": GraphFormat.MERMAID,
    ".dot": GraphFormat.DOT,
    ".gv": GraphFormat.DOT,
    ".html": GraphFormat.HTML,
    ".htm": GraphFormat.HTML,
}
"""The format of each file name extension."""

_MARK = "A graph of tools, made by mcpg"
_OPENINGS = {
    GraphFormat.TURTLE: f"# {_MARK}\n",
    GraphFormat.JSON_LD: '{\n  "@context": {\n    "@version": 1.1,\n    "kb": "urn:managedcode:',
    GraphFormat.NQUADS: f"# {_MARK}\n",
    GraphFormat.TRIG: f"# {_MARK}\n",
    GraphFormat.N3: f"# {_MARK}\n",
    GraphFormat.RDF_XML: f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {_MARK} -->\n',
    GraphFormat.GRAPHML: f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {_MARK} -->\n',
    GraphFormat.MERMAID: f"%% {_MARK}\n",
    GraphFormat.DOT: f"// {_MARK}\n",
    GraphFormat.HTML: '<!doctype html>\n<html lang="en" data-mcpg-report=',
}
"""The start of files of each format that mcpg wrote."""

_TEXTS = {
    # TriG and N3 have all that Turtle has.
    GraphFormat.TURTLE: exports.turtle,
    GraphFormat.TRIG: exports.turtle,
    GraphFormat.N3: exports.turtle,
    GraphFormat.NQUADS: exports.nquads,
    GraphFormat.RDF_XML: exports.rdf_xml,
}
_DRAWINGS = {
    GraphFormat.GRAPHML: exports.graphml,
    GraphFormat.MERMAID: exports.mermaid,
    GraphFormat.DOT: exports.dot,
}


def format_for(target: str, stated: GraphFormat | None) -> GraphFormat:
    """Return the format *stated*, or else the format of the extension of the file *target*."""
    if stated is not None:
        return stated
    if target == STDOUT:
        return GraphFormat.TURTLE
    found = EXTENSIONS.get(PurePath(target).suffix.lower())
    if found is None:
        raise UsageError(
            "the name of the file has no extension of a known format",
            place=f"--output {target}",
            remedy=f"add --format, or end the name in one of {', '.join(EXTENSIONS)}",
        )
    return found


def format_graph(
    documents: Sequence[ToolDocument],
    form: GraphFormat,
    *,
    is_framed: bool = False,
    base: str | None = None,
) -> str:
    """Return *documents* in the format *form*, their IRIs below *base*."""
    if form is GraphFormat.HTML:
        return graph_page(documents)
    triples = make_triples(documents, base or BASE)
    if form is GraphFormat.JSON_LD:  # JSON has no comments
        return "".join((exports.framed_json_ld if is_framed else exports.json_ld)(triples))
    if form in _DRAWINGS:
        return "".join((_OPENINGS[form], *_DRAWINGS[form](build_network(triples))))
    return "".join((_OPENINGS[form], *_TEXTS[form](triples)))


def write_graph(target: str, text: str, form: GraphFormat, output: Output, *, force: bool) -> int:
    """Write *text* to the file *target*, or to standard output, and give its size in bytes."""
    data = text.encode()
    if target == STDOUT:
        output.document(text)
        return len(data)
    if not force:
        check_replaceable(
            target,
            (_OPENINGS[form].encode(),),
            "graph that mcpg wrote in this format",
            "name another file, or add --force",
        )
    atomic_write(target, data)
    return len(data)


EXPORT_EXAMPLES = """\
mcpg graph export -o graph.ttl
mcpg graph export --around shipment_status --depth 2
mcpg graph export --query "where is my parcel" -o parcel.nq"""

_DEFAULT_DEPTH = 1


CONTEXT_EXAMPLES = """\
mcpg graph context > context.jsonld
mcpg graph context | jq '.["@context"].toolId'"""
ONTOLOGY_EXAMPLES = """\
mcpg graph ontology > mcpg.ttl
mcpg graph ontology | riot --syntax=turtle --count -"""


def context(output: Output) -> int:
    """Print the JSON-LD context of the graph."""
    output.document(context_text())
    return ExitCode.DONE


def ontology(output: Output) -> int:
    """Print the ontology of the graph's vocabulary, in Turtle."""
    output.document(ontology_text())
    return ExitCode.DONE


Target = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output."),
]
Form = Annotated[
    GraphFormat | None,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help=f"What to write: {', '.join(GraphFormat)}. [default: by the file's extension, or "
        "turtle]",
    ),
]
Around = Annotated[
    list[str] | None,
    typer.Option(
        "--around",
        metavar="TOOL",
        autocompletion=complete_tool,
        help="Only this tool and those near it. Repeatable.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query", metavar="TEXT", help="Only tools that a search for this finds, and related ones."
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        metavar="N",
        min=0,
        help=f"Number of edges to follow. [default: {_DEFAULT_DEPTH}; with --query 0]",
    ),
]


Framed = Annotated[
    bool, typer.Option("--framed", help="In JSON-LD, nest the parts of each tool in it.")
]


def export(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    target: Target = STDOUT,
    form: Form = None,
    around: Around = None,
    query: Query = None,
    depth: Depth = None,
    framed: Framed = False,
    lexicon: options.Lexicon = None,
    include_disabled: options.IncludeDisabled = False,
    base_iri: options.BaseIri = None,
    force: options.Force = False,
) -> int:
    """Write the graph of the tools, or a part of it, in a standard format."""
    chosen = format_for(target, form)
    if depth is not None and not around and query is None:
        raise UsageError("no tool to begin with", place="--depth", remedy="add --around or --query")
    if framed and chosen is not GraphFormat.JSON_LD:
        raise UsageError(
            f"the format {chosen} has no frames", place="--framed", remedy="add --format json-ld"
        )
    settings = read_settings(bundle=bundle, lexicon=lexicon, base_iri=base_iri)
    base = find_base_iri(settings)
    engine = open_engine(settings, output)
    output.note_opening(engine.diagnostics)
    asked = {"include_disabled": include_disabled, "lexicon": uses_lexicon(settings)}
    documents = _choose_documents(engine, around or [], query, depth, asked)
    kept, repeated = distinct_documents(documents)
    output.diagnostics(repeated)
    text = format_graph(kept, chosen, is_framed=framed, base=base)
    if chosen is GraphFormat.RDF_XML and (count := exports.beyond_xml(make_triples(kept))):
        message = (
            f"XML cannot represent {format_count(count, 'statement')} as they are, for control"
            " characters or predicates that end in no name; use another format"
        )
        output.diagnostics([warning(Code.GRAPH_STATEMENTS_LEFT_OUT, message)])
    size = write_graph(target, text, chosen, output, force=force)
    if target != STDOUT:
        pages = sum(document.is_page for document in documents)
        edges = format_count(sum(len(document.links) for document in documents), "edge")
        tools = format_count(len(documents) - pages, "tool")
        output.note(f"wrote {target}: {tools}{and_pages(pages)}, {edges}, {size:,} bytes")
    return ExitCode.DONE


def _choose_documents(
    engine: Engine, around: list[str], query: str | None, depth: int | None, asked: dict[str, Any]
) -> list[ToolDocument]:
    tools = engine.documents
    documents = [*tools.values(), *engine.pages]
    if not around and query is None:
        return documents
    found: set[str] = set()
    if around:
        catalog = engine.catalog
        roots = {tools[catalog.find_named(name).id].uri for name in around}
        found |= neighbourhood(documents, roots, _DEFAULT_DEPTH if depth is None else depth)
    if query is not None:
        result = engine.search(query, **asked)
        expanded = (result.prerequisites, result.related_matches, result.next_step_matches)
        lists = (result.matches, *expanded)
        matches = {tools[match.tool_id].uri for matches in lists for match in matches}
        found |= neighbourhood(documents, matches, depth or 0)
    return select_subgraph(documents, found)
