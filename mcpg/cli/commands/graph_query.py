"""`mcpg graph search`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_engine, settings_of
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.terminal import counted, cut, one_line, pad, standard_input, width
from mcpg.errors import InputError, UsageError
from mcpg.files import is_file, read_bytes
from mcpg.graph.schema import ClassUse, GraphSchema, PredicateUse
from mcpg.graph.search import (
    Evidence,
    GraphMatch,
    GraphSearcher,
    GraphSearchRequest,
    GraphSearchResult,
    SearchProfile,
)
from mcpg.graph.search.model import ScoreKind
from mcpg.graph.sparql_worker import Answer, shortened

if TYPE_CHECKING:
    from mcpg.engine import Engine

EXAMPLES = """\
mcpg graph search "where is my parcel"
mcpg graph search "refund an order" --mode schema-aware --explain
mcpg graph search "restore cache" --federate --endpoint https://sparql.example/query --no-local"""

_LIMIT, _SECONDS = 5, 10.0


class GraphMode(StrEnum):
    """The modes of `mcpg.graph.search`, which help does without."""

    HYBRID = "hybrid"
    SCHEMA_AWARE = "schema-aware"
    TOKEN_DISTANCE = "token-distance"  # noqa: S105 - tokens of a text


Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in any words.")]
ModeName = Annotated[
    GraphMode,
    typer.Option(
        "--mode",
        metavar="hybrid|schema-aware|token-distance",
        help="How to find: by the words in registered predicates, with an ordinary search in "
        "their stead where they find no tool; by them alone; or by the nearest text.",
    ),
]
Limit = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=1, max=50, help="The most matches to give.")
]
Federate = Annotated[
    bool, typer.Option("--federate", help="Ask the endpoints of --endpoint, too; matches only.")
]
Endpoint = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="A SPARQL endpoint to ask, with https or on this machine; give it again for several.",
    ),
]
NoLocal = Annotated[
    bool, typer.Option("--no-local", help="With --federate, leave out the graph at hand.")
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        max=3_600,
        help="What an endpoint has for one answer.",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show the SPARQL that was asked.")]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "search", examples=EXAMPLES)(search)


def search(
    output: Output,
    *,
    query: Query,
    bundle: options.BundlePaths = None,
    mode: ModeName = GraphMode.HYBRID,
    limit: Limit = _LIMIT,
    federate: Federate = False,
    endpoint: Endpoint = None,
    no_local: NoLocal = False,
    timeout: Timeout = _SECONDS,
    explain: Explain = False,
    include_disabled: options.IncludeDisabled = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Search the graph by its predicates, and show what speaks for each match.

    Words are looked for in SPARQL, under the predicates that `mcpg graph schema` lists. To find
    the right tool, `mcpg search` is faster and ranks better; this shows the graph at work, and
    asks other graphs.
    """
    from mcpg.gateway.json import result_json  # noqa: PLC0415
    from mcpg.graph.search.model import GraphSearchRequest, Mode  # noqa: PLC0415

    endpoints = tuple(endpoint or ())
    _check(federate=federate, is_told=bool(endpoints), no_local=no_local)
    request = GraphSearchRequest(query, limit, Mode(mode), federate, not no_local, endpoints)
    engine = open_engine(settings_of(bundle=bundle), output)
    searcher = _searcher(engine, request, output, timeout, include_disabled=include_disabled)
    found = searcher.search(request)
    if form is OutputFormat.JSON:
        output.json(result_json(found, engine.diagnostics))
    else:
        output.diagnostics((*engine.diagnostics, *found.diagnostics))
        output.text(result_text(found, explain=explain))
    is_unheard = no_local and not found.endpoints
    return ExitCode.FINDINGS if is_unheard else ExitCode.DONE


def _check(*, federate: bool, is_told: bool, no_local: bool) -> None:
    """Make sure that the options say the same."""
    if (is_told or no_local) and not federate:
        raise UsageError(
            "only a federated search asks endpoints",
            place="--endpoint" if is_told else "--no-local",
            remedy="add --federate",
        )
    if no_local and not is_told:
        raise UsageError(
            "there is nothing to search", place="--no-local", remedy="add --endpoint URL"
        )


def _searcher(
    engine: Engine,
    request: GraphSearchRequest,
    output: Output,
    timeout: float,
    *,
    include_disabled: bool,
) -> GraphSearcher:
    from mcpg.graph.search import GraphSearcher  # noqa: PLC0415 - help needs no graph
    from mcpg.graph.sparql import Limits  # noqa: PLC0415
    from mcpg.graph.triples import distinct_documents  # noqa: PLC0415

    def ranked(query: str, limit: int) -> Iterator[tuple[str, float]]:
        result = engine.search(query, limit=limit, include_disabled=include_disabled)
        return ((match.tool_id, match.score) for match in result.matches)

    offered = (
        document
        for document in engine.documents.values()
        if include_disabled or document.tool.enabled
    )
    documents, noticed = distinct_documents((*offered, *engine.pages))
    output.diagnostics(noticed)
    return GraphSearcher(
        documents,
        allowed=request.endpoints,
        fallback=ranked,
        limits=Limits(seconds=timeout, rows=10_000),
    )


# Answers to SPARQL queries: as a table for people, in the W3C's formats for
# programs.


_LARGEST = 1024 * 1024
_WIDEST_COLUMN = 72
_GAP = "  "


class ResultFormat(StrEnum):
    """What the answer to a query is written as."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TTL = "ttl"


def query_of(argument: str) -> str:
    """Return the query that *argument* is, or that stands in the file of that name; - is stdin.

    Raises:
        InputError: The file cannot be read, or is no UTF-8.
    """
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


def write_answer(answer: Answer, form: ResultFormat | None, output: Output) -> None:
    """Write *answer* to *output* in the format *form*, or in the one that suits it.

    Raises:
        UsageError: The answer has no such form.
    """
    is_graph = answer.form == "graph"
    form = form or (ResultFormat.TTL if is_graph else ResultFormat.TABLE)
    if is_graph != (form is ResultFormat.TTL):
        told = ("triples", "ttl") if is_graph else ("rows", "table, json or csv")
        raise UsageError(
            f"the answer has {told[0]}, which {form} cannot hold",
            place="--format",
            remedy=f"use {told[1]}, or leave it out",
        )
    if is_graph:
        output.document(answer.turtle())
    elif form is ResultFormat.JSON:
        output.json(answer.json())
    elif answer.form == "ask":
        output.text(str(answer.truth).lower())
    elif form is ResultFormat.CSV:
        output.document(answer.csv())
    else:
        output.text(_table(answer, output))


def _table(answer: Answer, output: Output) -> str:
    from mcpg.graph.sparql_worker import shown  # noqa: PLC0415 - help needs no graph

    names = answer.variables
    rows = [[one_line(shown(row.get(name))) for name in names] for row in answer.rows]
    columns = [
        min(_WIDEST_COLUMN, max(map(width, (name, *(row[place] for row in rows)))))
        for place, name in enumerate(names)
    ]
    head = output.paint(_line(names, columns), "bold")
    return "\n".join((head, *(_line(row, columns) for row in rows)))


def _line(cells: Sequence[str], columns: Sequence[int]) -> str:
    pairs = zip(cells, columns, strict=True)
    return _GAP.join(pad(cut(cell, column), column) for cell, column in pairs).rstrip()


# `mcpg graph sparql`.


SPARQL_EXAMPLES = """\
mcpg graph sparql 'SELECT ?id ?name { ?tool mcpg:toolId ?id ; schema:name ?name } ORDER BY ?id'
mcpg graph sparql 'ASK { ?tool mcpg:destructive true }'
mcpg graph sparql steps.rq --format csv"""

_SPARQL_SECONDS, _ROWS = 10.0, 1_000

SparqlQuery = Annotated[
    str,
    typer.Argument(
        metavar="QUERY",
        help="The query, or the name of a file that holds it; - reads standard input.",
    ),
]
Form = Annotated[
    ResultFormat | None,
    typer.Option(
        "--format",
        metavar="table|json|csv|ttl",
        show_default=False,
        help="What to write: a table, the W3C's JSON or CSV, or Turtle for CONSTRUCT and DESCRIBE. "
        "Otherwise ttl for these two, and a table.",
    ),
]
Rows = Annotated[
    int,
    typer.Option("--limit", "-n", metavar="N", min=1, help="The most rows or triples to give."),
]
SparqlTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        max=3_600,
        help="When to end a query that takes too long.",
    ),
]
AllowService = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-service",
        metavar="URL",
        help="An endpoint that SERVICE may ask, with https or on this machine; give it again for "
        "several. Without it nobody is asked.",
    ),
]


def register_sparql(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "sparql", examples=SPARQL_EXAMPLES)(sparql)


def sparql(
    output: Output,
    *,
    query: SparqlQuery,
    bundle: options.BundlePaths = None,
    form: Form = None,
    rows: Rows = _ROWS,
    timeout: SparqlTimeout = _SPARQL_SECONDS,
    services: AllowService = None,
) -> int:
    """Ask the graph of the tools in SPARQL 1.1.

    The graph is only read: updates are refused. The prefixes kb, mcpg, owl, prov, rdf, rdfs,
    schema, skos and xsd are known. A query that takes too long is ended.
    """
    from mcpg.errors import Code, warning  # noqa: PLC0415 - help needs none of it
    from mcpg.graph.sparql import Limits, SparqlEndpoint  # noqa: PLC0415
    from mcpg.graph.triples import distinct_documents  # noqa: PLC0415

    text = query_of(query)
    engine = open_engine(settings_of(bundle=bundle), output)
    documents, noticed = distinct_documents((*engine.documents.values(), *engine.pages))
    output.diagnostics((*engine.diagnostics, *noticed))
    limits = Limits(seconds=timeout, rows=rows)
    with SparqlEndpoint(documents, services=services or (), limits=limits) as endpoint:
        answer = endpoint.query(text)
    write_answer(answer, form, output)
    if answer.cut:
        message = f"these are not all results: {answer.cut}"
        output.diagnostics([warning(Code.GRAPH_RESULTS_CUT, message)])
    return ExitCode.DONE


# What a search of the graph finds, and what the graph is made of, as
# text.


_EVIDENCE = 3
_NAME, _TEXT = 28, 60
_MEANINGS = {
    ScoreKind.COVERAGE: "how much of the query its texts cover, by the rarity of the words",
    ScoreKind.NEARNESS: "1 / (1 + distance) of the nearest text, by runs of characters",
    ScoreKind.RANKING: "those of an ordinary search",
}


def result_text(found: GraphSearchResult, *, explain: bool) -> str:
    """Give matches, what comes with them, what the scores are, and perhaps the queries."""
    blocks = [list(_matches(found.matches))] if found.matches else [["no match"]]
    for title, matches in (("related", found.related), ("next", found.next_steps)):
        if matches:
            blocks.append([title, *_comers(matches)])
    if found.matches:
        kinds = dict.fromkeys(match.score_kind for match in found.matches)
        meanings = "; of the tools after that, ".join(map(_MEANINGS.__getitem__, kinds))
        blocks.append([f"scores: {meanings}; not probabilities"])
    if explain:
        blocks += ([query] for query in (found.sparql, found.expansion_sparql) if query)
    return "\n\n".join("\n".join(block) for block in blocks)


def schema_text(found: GraphSchema) -> str:
    """Give prefixes, classes, predicates, and what a search reads."""
    prefixes = (f"    {pad(prefix, 10)}{iri}" for prefix, iri in found.prefixes.items())
    blocks = (
        [f"{counted(found.triples, 'triple')}"],
        ["prefixes", *prefixes],
        ["classes", *map(_class_line, found.classes)],
        ["predicates", *(line for one in found.predicates for line in _predicate_lines(one))],
        ["read by `mcpg graph search`, with weights", *_profile_lines(found.profile)],
    )
    return "\n\n".join("\n".join(block) for block in blocks)


def _matches(matches: Sequence[GraphMatch]) -> Iterator[str]:
    for place, match in enumerate(matches, start=1):
        yield f"{place}. {_score(match)}  {_titled(match)}"
        for evidence in match.evidence[:_EVIDENCE]:
            yield f"     {_evidence_line(evidence)}"
        if len(match.evidence) > _EVIDENCE:
            yield f"     and {len(match.evidence) - _EVIDENCE:,} more"


def _comers(matches: Iterable[GraphMatch]) -> Iterator[str]:
    for match in matches:
        edge = match.evidence[0]
        told = f"{shortened(edge.predicate)} of {one_line(edge.related_label)}"
        yield f"   {_score(match)}  {_titled(match)}  ({told})"


def _score(match: GraphMatch) -> str:
    return f"{match.score:.3f}"


def _titled(match: GraphMatch) -> str:
    label = one_line(match.label)
    name = one_line(match.tool_id or match.node)
    return label if label == name else f"{name}  {label}"


def _evidence_line(evidence: Evidence) -> str:
    path = shortened(evidence.predicate)
    if evidence.via:
        path = f"{shortened(evidence.via)}/{path}"
    words = f"  [{one_line(', '.join(evidence.terms))}]" if evidence.terms else ""
    where = f"  at {evidence.endpoint}" if evidence.endpoint else ""
    return f"{one_line(path)}: {cut(one_line(evidence.text), _TEXT)}{words}{where}"


def _class_line(one: ClassUse) -> str:
    name = cut(one_line(shortened(one.iri)), _NAME)
    return f"    {pad(name, _NAME)}{one.count:>10,}  {one_line(one.example)}"


def _predicate_lines(one: PredicateUse) -> Iterator[str]:
    name = cut(one_line(shortened(one.iri)), _NAME)
    sides = f"{_named(one.subjects)} -> {_named(one.objects)}"
    yield f"    {pad(name, _NAME)}{one.count:>10,}  {sides}"
    yield f"    {' ' * _NAME}{' ' * 10}  {cut(one_line(shortened(one.example)), _TEXT)}"


def _named(iris: Iterable[str]) -> str:
    return one_line(", ".join(map(shortened, iris))) or "-"


def _profile_lines(profile: SearchProfile) -> Iterator[str]:
    yield f"    {pad('nodes of', 14)}{_named(profile.types)}"
    for text in profile.texts:
        yield _weighted("text", shortened(text.iri), text.weight, "")
    for beside in profile.relationships:
        mark = "^" if beside.is_inbound else ""
        reads = f"reads {_named(beside.reads)}"
        yield _weighted("relationship", f"{mark}{shortened(beside.iri)}", beside.weight, reads)
    for edge in profile.expansions:
        yield _weighted("expansion", shortened(edge.iri), edge.weight, edge.role)
    limits = f"{profile.related_limit} related, {profile.next_limit} next"
    yield f"    {pad('at most', 14)}{limits}"


def _weighted(kind: str, name: str, weight: float, told: str) -> str:
    return f"    {pad(kind, 14)}{pad(one_line(name), 24)}{weight:>5g}  {told}".rstrip()
