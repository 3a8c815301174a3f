"""`mcpg graph search`, `mcpg graph sparql` and `mcpg graph schema`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from mcpg.cli import options
from mcpg.cli.environment import cache_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.output import Output
from mcpg.cli.parameters import SPARQL_FORMAT
from mcpg.cli.query import uses_lexicon
from mcpg.cli.render import RecordListing, make_table, write_listing
from mcpg.cli.render import text as text_of
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import UNLIMITED, Screen, cut, either, one_line, standard_input
from mcpg.documents.model import ToolDocument
from mcpg.engine import Engine
from mcpg.errors import Code, InputError, Severity, UsageError, warning
from mcpg.files import is_file, read_bytes
from mcpg.graph.cache import DESCRIPTION, CachedGraph, GraphCache
from mcpg.graph.schema import GraphSchema, schema_of_triples
from mcpg.graph.search import GraphSearcher
from mcpg.graph.search.model import (
    GraphMatch,
    GraphSearchRequest,
    GraphSearchResult,
    Mode,
    SearchProfile,
)
from mcpg.graph.sparql import Limits, SparqlEndpoint, unknown_names_in
from mcpg.graph.sparql_worker import SparqlAnswer, format_term, shorten_iri
from mcpg.graph.terms import checked_base
from mcpg.index.layout import NO_KEY
from mcpg.show.blocks import (
    Block,
    CodeSpan,
    Column,
    Entries,
    Inline,
    Paragraph,
    Score,
    Section,
    Source,
    Styled,
    Table,
    ToolEntry,
)
from mcpg.show.json import result_json
from mcpg.values import format_count

EXAMPLES = """\
mcpg graph search "where is my parcel"
mcpg graph search "refund an order" --mode schema-aware --explain
mcpg graph search "restore cache" --federate --endpoint https://sparql.example/query --no-local"""

_LIMIT, _SECONDS = 5, 10.0


Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in any words.")]
ModeName = Annotated[
    Mode,
    typer.Option(
        "--mode",
        metavar="hybrid|schema-aware|token-distance",
        help="By predicates with an ordinary search as fallback, only by predicates, or by the "
        "nearest text.",
    ),
]
Limit = Annotated[
    int,
    typer.Option("--limit", "-n", metavar="N", min=1, max=50, help="Maximum number of matches."),
]
Federate = Annotated[bool, typer.Option("--federate", help="Also query the endpoints.")]
Endpoint = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="SPARQL endpoint to query. Repeatable.",
    ),
]
NoLocal = Annotated[
    bool, typer.Option("--no-local", help="With --federate, query only the endpoints.")
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        max=3_600,
        help="Timeout of one request in seconds.",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show the SPARQL queries.")]


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    options.command(app, "schema", examples=SCHEMA_EXAMPLES, more="docs/how-to/graph-search.md")(
        schema
    )
    options.command(app, "search", examples=EXAMPLES, more="docs/how-to/graph-search.md")(search)
    options.command(app, "sparql", examples=SPARQL_EXAMPLES, more="docs/how-to/sparql.md")(sparql)


def search(
    output: Output,
    *,
    query: Query,
    bundle: options.BundlePaths = None,
    mode: ModeName = Mode.HYBRID,
    limit: Limit = _LIMIT,
    federate: Federate = False,
    endpoint: Endpoint = None,
    no_local: NoLocal = False,
    timeout: Timeout = _SECONDS,
    explain: Explain = False,
    lexicon: options.Lexicon = None,
    include_disabled: options.IncludeDisabled = False,
    base_iri: options.BaseIri = None,
    form: options.ListFormat = "text",
) -> int:
    """Search the graph by its predicates, with the evidence for each match.

    To find the right tool, use `mcpg search`: it is faster and ranks better.
    """
    endpoints = tuple(endpoint or ())
    _check_federation(federate=federate, has_endpoints=bool(endpoints), no_local=no_local)
    request = GraphSearchRequest(query, limit, mode, federate, not no_local, endpoints)
    settings = read_settings(bundle=bundle, lexicon=lexicon, base_iri=base_iri)
    base = find_base_iri(settings)
    engine = open_engine(settings, output)
    asked = {"include_disabled": include_disabled, "lexicon": uses_lexicon(settings)}
    searcher = _make_searcher(engine, request, output, timeout, asked, base)
    found = searcher.search(request)
    has_failed = any(one.severity == Severity.ERROR for one in found.diagnostics)
    if form == "json":
        output.json(result_json(found, engine.diagnostics))
    else:
        output.note_opening(engine.diagnostics)
        output.diagnostics(found.diagnostics)
        if form == "text":
            output.text(text_of(result_blocks(found, explain=explain), output))
        else:
            write_listing(_list_matches(found), form, output)
        if not (found.matches or has_failed):
            output.note("no match: try other words, or see the content in `mcpg graph schema`")
    if found.matches:
        return ExitCode.DONE
    return ExitCode.FAILED if has_failed else ExitCode.FINDINGS


def _list_matches(found: GraphSearchResult) -> RecordListing:
    rows = tuple(
        (f"{rank}", Score(one.score), CodeSpan(one.tool_id or one.node), _label(one))
        for rank, one in enumerate(found.matches, start=1)
    )
    columns = (
        *(Column(head, is_number=True) for head in ("#", "score")),
        *(Column("node", is_whole=True), Column("name")),
    )
    records = [match.to_dict() for match in found.matches]
    members = ("node", "label", "toolId", "role", "score", "scoreKind", "description")
    return RecordListing(records, members, "node", Table("Matches", columns, rows, has_heads=True))


def _check_federation(*, federate: bool, has_endpoints: bool, no_local: bool) -> None:
    problem, place, remedy = "", "--no-local", "add --federate"
    if (has_endpoints or no_local) and not federate:
        problem, place = (
            "only a federated search asks endpoints",
            "--endpoint" if has_endpoints else "--no-local",
        )
    elif no_local and not has_endpoints:
        problem, remedy = "there is nothing to search", "add --endpoint URL"
    if problem:
        raise UsageError(problem, place=place, remedy=remedy)


def _make_searcher(
    engine: Engine,
    request: GraphSearchRequest,
    output: Output,
    timeout: float,
    asked: dict[str, Any],
    base: str | None,
) -> GraphSearcher:
    """Return the searcher of the graph; *asked* are the options of a search of tools."""

    def search_ranked(query: str, limit: int) -> Iterator[tuple[str, float]]:
        result = engine.search(query, limit=limit, **asked)
        return ((match.tool_id, match.score) for match in result.matches)

    graph = cached_graph(engine, base, has_disabled=asked["include_disabled"])
    searcher = GraphSearcher(
        graph,
        allowed=request.endpoints,
        fallback=search_ranked,
        limits=Limits(seconds=timeout, rows=10_000),
    )
    output.diagnostics(graph.diagnostics)
    return searcher


_LARGEST = 1024 * 1024
_WIDEST_COLUMN = 72
_GAP = "  "


def read_query(argument: str) -> str:
    """Return *argument*, a query, or the query in the file of that name; - is stdin."""
    if argument == "-":
        data, place = standard_input(_LARGEST), "standard input"
    elif "{" not in argument and is_file(argument):
        data, place = read_bytes(argument, _LARGEST), argument
    else:
        return argument
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise InputError(
            "is not UTF-8", place=f"{place}: byte {fault.start}", remedy="save it as UTF-8"
        ) from fault


def write_answer(
    answer: SparqlAnswer, form: str | None, output: Output, *, is_wide: bool = False
) -> None:
    """Write *answer* to *output* in the format *form*, or in the default for its kind.

    In a table that *is_wide* no value is cut, however narrow the terminal is.
    """
    is_graph = answer.form == "graph"
    form = form or ("turtle" if is_graph else "text")
    if is_graph != (form == "turtle"):
        content, forms = ("triples", "turtle") if is_graph else ("rows", "any other format")
        raise UsageError(
            f"the answer has {content}, which {form} cannot represent",
            place="--format",
            remedy=f"use {forms}, or leave it out",
        )
    if is_graph:
        output.document(answer.turtle())
    elif form == "json":
        output.json(answer.json())
    elif answer.form == "ask":
        output.text(str(answer.truth).lower())
    elif form == "csv":
        output.document(answer.csv())
    else:
        names = answer.variables
        rows = tuple(
            tuple(CodeSpan(format_term(row.get(name))) for name in names) for row in answer.rows
        )
        columns = tuple(Column(one_line(name), most=_WIDEST_COLUMN) for name in names)
        table = Table("Rows", columns, rows, has_heads=True)
        # The first column identifies the rows.
        listing = RecordListing(answer.rows, names, f"{names[0]}.value" if names else "", table)
        if is_wide and form == "text":
            output.text(text_of([make_table(listing)], _WholeRows(output.color)))
        else:
            write_listing(listing, form, output)


class _WholeRows(Screen):
    """A view in which rows are as long as they are, on a terminal as in a pipe."""

    columns = row_columns = UNLIMITED


def find_base_iri(settings: Settings) -> str | None:
    """Return the base IRI in the settings, `None` for the default."""
    stated = settings.find("graph.base_iri")
    return None if stated is None else checked_base(stated.value, stated.origin)


def cached_graph(
    engine: Engine, base: str | None = None, *, has_disabled: bool = True
) -> CachedGraph:
    """Return the graph of the documents of *engine*, kept in the cache folder if it is a bundle's.

    As with an index, nothing is kept of folders, of manifests, and of several bundles at once.
    """
    is_whole = has_disabled or all(engine.enabled_by_id.values())

    def read() -> Iterator[ToolDocument]:
        documents = engine.documents.values()
        yield from (one for one in documents if is_whole or one.tool.enabled)
        yield from engine.pages

    folder, key = cache_folder(), engine.index.header.key
    parts = (key, *([] if base is None else [base.encode()]), *([] if is_whole else [_ENABLED]))
    entry = GraphCache(folder).entry(*parts) if folder and key != NO_KEY else None
    return CachedGraph(read, entry, base)


_ENABLED = b"enabled"  # is not a base IRI

SPARQL_EXAMPLES = """\
mcpg graph sparql 'SELECT ?id ?name { ?tool mcpg:toolId ?id ; schema:name ?name } ORDER BY ?id'
mcpg graph sparql 'ASK { ?tool mcpg:destructive true }'
mcpg graph sparql steps.rq --format csv"""

_SPARQL_SECONDS, _ROWS = 10.0, 1_000

SparqlQuery = Annotated[
    str,
    typer.Argument(metavar="QUERY", help="The query, or a file; - reads standard input."),
]
Form = Annotated[
    Literal["text", "json", "jsonl", "csv", "ids", "markdown", "turtle", "md", "table", "ttl"]
    | None,
    options.make_annotation(SPARQL_FORMAT),
]
Rows = Annotated[
    int,
    typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of rows or triples."),
]
SparqlTimeout = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="SECONDS", min=0.1, max=3_600, help="Timeout of the query in seconds."
    ),
]
MaxMemory = Annotated[
    int | None,
    typer.Option(
        "--max-memory",
        metavar="BYTES",
        min=1,
        help="Maximum memory beyond the graph in bytes. [default: 1073741824]",
    ),
]
Wide = Annotated[bool, typer.Option("--wide", help="Do not cut values on a terminal.")]
AllowService = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-service", metavar="URL", help="SPARQL endpoint that SERVICE may query. Repeatable."
    ),
]


def sparql(
    output: Output,
    *,
    query: SparqlQuery,
    bundle: options.BundlePaths = None,
    form: Form = None,
    rows: Rows = _ROWS,
    timeout: SparqlTimeout = _SPARQL_SECONDS,
    max_memory: MaxMemory = None,
    services: AllowService = None,
    base_iri: options.BaseIri = None,
    wide: Wide = False,
) -> int:
    """Query the graph of the tools in SPARQL 1.1.

    The graph is read-only. Known prefixes: kb, mcpg, owl, prov, rdf, rdfs, schema, skos and xsd.
    """
    text = read_query(query)
    settings = read_settings(bundle=bundle, max_memory=max_memory, base_iri=base_iri)
    base = find_base_iri(settings)
    engine = open_engine(settings, output)
    output.note_opening(engine.diagnostics)
    graph = cached_graph(engine, base)
    memory = settings.find("limits.query_memory_bytes")
    limits = Limits(seconds=timeout, rows=rows)
    if memory is not None:
        limits = replace(limits, memory=memory.value)
    with SparqlEndpoint(graph, services=services or (), limits=limits) as endpoint:
        answer = endpoint.query(text)
    output.diagnostics(graph.diagnostics)
    write_answer(answer, form, output, is_wide=wide)
    for name, likely in unknown_names_in(text).items():
        meant = f": did you mean {either(likely)}?" if likely else ""
        message = f"the vocabulary has no {name}{meant}"
        output.diagnostics([warning(Code.GRAPH_NAME_UNKNOWN, message)])
    if answer.cut:
        message = f"these are not all results: {answer.cut}"
        output.diagnostics([warning(Code.GRAPH_RESULTS_CUT, message)])
    return ExitCode.DONE


SCHEMA_EXAMPLES = """\
mcpg graph schema
mcpg graph schema --format json | jq -r '.predicates[].name'"""


def schema(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    base_iri: options.BaseIri = None,
    form: options.ListFormat = "text",
) -> int:
    """List the prefixes, classes and predicates of the graph."""
    settings = read_settings(bundle=bundle, base_iri=base_iri)
    base = find_base_iri(settings)
    engine = open_engine(settings, output)
    graph = cached_graph(engine, base)
    facts = graph.recall(DESCRIPTION, lambda: schema_of_triples(graph.triples()).facts())
    found = GraphSchema.of_facts(facts)
    diagnostics = (*engine.diagnostics, *graph.diagnostics)
    data: dict[str, Any] = result_json(found, diagnostics)
    if form == "json":
        output.json(data)
        return ExitCode.DONE
    output.note_opening(diagnostics)
    if form == "text":
        output.text(text_of(schema_blocks(found), output))
    else:
        members = ("name", "iri", "count", "subjects", "objects", "example")
        predicates = RecordListing(data["predicates"], members, "name", _tabulate_predicates(found))
        write_listing(predicates, form, output)
    return ExitCode.DONE


_EVIDENCE = 3
_TEXT = 60
# By the kind of score, as `mcpg.graph.search.model.ScoreKind` has it.
_MEANINGS = {
    "coverage": "coverage of the query by the rarity of its words, no probability",
    "nearness": "1 / (1 + distance) by runs of characters, no probability",
    "ranking": "as in `mcpg search`",
}


def result_blocks(found: GraphSearchResult, *, explain: bool) -> Iterator[Block]:
    """Return matches, their companions, the meaning of the scores, and perhaps the queries."""
    yield Entries(
        "match", tuple(_make_entry(rank, one) for rank, one in enumerate(found.matches, 1))
    )
    for title, matches in (("Related", found.related), ("Next", found.next_steps)):
        rows = tuple(
            (
                Styled(CodeSpan(one.tool_id or one.node), "cyan"),
                Styled(Score(one.score), "bold"),
                _label(one),
                (CodeSpan(shorten_iri(edge.predicate)), " of ", CodeSpan(edge.related_label)),
            )
            for one in matches
            for edge in one.evidence[:1]
        )
        columns = (
            Column("node", most=_TEXT),
            Column("score", is_number=True),
            Column("name"),
            Column("edge"),
        )
        yield Section(title.lower(), title, (Table(title, columns, rows, wraps=True),))
    if found.matches:
        kinds = dict.fromkeys(match.score_kind for match in found.matches)
        meanings = "; of the tools after that, ".join(map(_MEANINGS.__getitem__, kinds))
        yield Paragraph(f"scores: {meanings}")
    if explain:
        queries = filter(None, (found.sparql, found.expansion_sparql))
        yield from (Source(query, "sparql") for query in queries)


def _make_entry(rank: int, match: GraphMatch) -> ToolEntry:
    lines = []
    for one in match.evidence[:_EVIDENCE]:
        path = "/".join(shorten_iri(iri) for iri in (one.via, one.predicate) if iri)
        parts: list[Inline] = [CodeSpan(path), ": ", CodeSpan(cut(one_line(one.text), _TEXT))]
        if one.terms:
            parts += ["  [", CodeSpan(", ".join(one.terms)), "]"]
        if one.endpoint:
            parts += ["  at ", CodeSpan(one.endpoint)]
        lines.append(Paragraph(tuple(parts)))
    if len(match.evidence) > _EVIDENCE:
        lines.append(Paragraph(f"and {len(match.evidence) - _EVIDENCE:,} more"))
    score = Score(match.score)
    return ToolEntry(rank, match.tool_id or match.node, score, _label(match), tuple(lines))


def _label(match: GraphMatch) -> CodeSpan:
    return CodeSpan("" if match.label == (match.tool_id or match.node) else match.label)


def schema_blocks(found: GraphSchema) -> list[Block]:
    """Return prefixes, classes, predicates, and the predicates that a search reads."""
    prefixes = tuple((CodeSpan(prefix), CodeSpan(iri)) for prefix, iri in found.prefixes.items())
    classes = tuple(
        (CodeSpan(shorten_iri(one.iri)), f"{one.count:,}", CodeSpan(one.example))
        for one in found.classes
    )
    heads = Column("class", is_whole=True), Column("nodes", is_number=True), Column("example")
    tables = (
        Table("Prefixes", (Column("prefix"), Column("namespace")), prefixes),
        Table("Classes", heads, classes, wraps=True),
        _tabulate_predicates(found),
        _tabulate_profile(found.profile),
    )
    sections = [Section(one.title.lower(), one.title, (one,)) for one in tables]
    return [Paragraph(format_count(found.triples, "triple")), *sections]


def _tabulate_predicates(found: GraphSchema) -> Table:
    rows = tuple(
        (
            CodeSpan(shorten_iri(one.iri)),
            f"{one.count:,}",
            (_names(one.subjects), " → ", _names(one.objects)),
            CodeSpan(cut(one_line(shorten_iri(one.example)), _TEXT)),
        )
        for one in found.predicates
    )
    columns = (
        *(Column("predicate", is_whole=True), Column("nodes", is_number=True)),
        *(Column("between"), Column("e.g.", is_below=True)),
    )
    return Table("Predicates", columns, rows, wraps=True)


def _names(iris: Iterable[str]) -> Inline:
    return CodeSpan(", ".join(map(shorten_iri, iris)) or "-")


def _tabulate_profile(profile: SearchProfile) -> Table:
    rows: list[tuple[Inline, ...]] = [("nodes of", _names(profile.types), "", "")]
    rows += [
        ("text", CodeSpan(shorten_iri(one.iri)), f"{one.weight:g}", "") for one in profile.texts
    ]
    rows += [
        (
            "relationship",
            CodeSpan(f"{'^' if one.is_inbound else ''}{shorten_iri(one.iri)}"),
            f"{one.weight:g}",
            ("reads ", _names(one.reads)),
        )
        for one in profile.relationships
    ]
    rows += [
        ("expansion", CodeSpan(shorten_iri(one.iri)), f"{one.weight:g}", one.role)
        for one in profile.expansions
    ]
    rows.append(("at most", f"{profile.related_limit} related, {profile.next_limit} next", "", ""))
    heads = ("part", "predicate", "weight", "use")
    columns = tuple(Column(head, is_number=head == "weight") for head in heads)
    return Table("Read by `mcpg graph search`, with weights", columns, tuple(rows))
