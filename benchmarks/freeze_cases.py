"""The command lines that `freeze.py` records, and the sources that they work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Case = tuple[str, ...]

ODD = "odd"

QUERIES = (
    "where is my parcel",
    "shipmnt status",
    "refund teh invoice for zzqx 4711",
    "read a file, then commit it and tell me what time it is in Tokyo",
    "wo ist mein Paket",
    "де моя посилка",
    "荷物の配送状況",
    'list_directory of "/tmp/reports" and search_nodes',
    "delete everything that I no longer need",
    "how much is it to ship two kilos to Spain?",
    "best pizza in town",
    "the of and",
    "createEntities",
    "",
)
WIDE = "track the shipmnt and read its file"
VECTORS = (
    ("--strategy", "embeddings"),
    ("--strategy", "auto"),
    ("--strategy", "auto", "--fusion", "cosine"),
    ("--strategy", "auto", "--fusion", "rrf"),
    ("--strategy", "auto", "--embed-with", "none"),
)
ASKING = (
    ("-n", "1"),
    ("-n", "50"),
    ("--context", "the customer is angry"),
    ("--context", '{"customer": "Ann", "orders": [1, 2]}'),
    ("--context-summary", "a parcel was lost"),
    ("--include-disabled",),
    ("--min-score", "0.5"),
    ("--min-score", "1"),
    ("--abstain",),
    ("--strategy", "markdown-ld"),
)
WRONG_ASKING = (
    ("-n", "0"),
    ("-n", "51"),
    ("--min-score", "2"),
    ("--strategy", "none-such"),
    ("--fusion", "learned"),
    ("--context", ""),
    ("--format", "xml"),
    ("--no-such-option",),
    ("-b", "missing.mdld"),
    ("-b", "notes.txt"),
    ("-b", "broken/syntax.json"),
    ("--verbose",),
    ("--quiet",),
)
SPARQL = (
    "SELECT ?id ?name { ?tool mcpg:toolId ?id ; schema:name ?name } ORDER BY ?id",
    "SELECT ?id ?then { ?tool mcpg:toolId ?id ; kb:nextStep/mcpg:toolId ?then } ORDER BY ?id ?then",
    "ASK { ?tool mcpg:destructive true }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "CONSTRUCT { ?tool schema:name ?name } WHERE { ?tool schema:name ?name }",
    "SELECT nonsense",
    "DELETE WHERE { ?s ?p ?o }",
)
EXPORTS = {
    "turtle": "ttl",
    "json-ld": "jsonld",
    "nquads": "nq",
    "graphml": "graphml",
    "mermaid": "mmd",
    "dot": "dot",
    "html": "html",
}
GOALS = (
    "ship an order and track the parcel",
    "read a file, then commit it and tell what time it is in Tokyo",
    "best pizza in town",
)
QUESTIONS = (
    "where is {0}",
    "what comes before {0}",
    "what comes after {0}",
    "how do I call {0}",
    "what does {0} do",
    "similar:{0}",
    "tools that track a parcel",
    "best pizza in town",
)
WRONG_COMMANDS: tuple[Case, ...] = (
    ("--version",),
    ("none-such",),
    ("graph",),
    ("graph", "none-such"),
    ("show",),
    ("show", "none_such", "-b", "tools.mdld"),
    ("show", "shipmnt_status", "-b", "tools.mdld"),
    ("search", "parcel"),
    ("list",),
    ("eval", "missing.jsonl", "-b", "tools.mdld"),
    ("eval", "notes.txt", "-b", "tools.mdld"),
    ("tune", "queries.yaml", "-b", "tools.mdld", "--format", "json"),
    ("invoke", "shipment_status", "--format", "json"),
    ("invoke", "shipment_status", "tools"),
    ("publish", "-b", "tools.mdld"),
    ("cache", "clear", "-b", "tools.mdld", "--format", "json"),
    ("cache", "none-such"),
    ("login", "none-such"),
    ("logout", "none-such"),
    ("serve", "missing"),
    ("bundle", "missing"),
    ("bundle", "tools", "-o", "notes.txt"),
    ("generate", "tools"),
    ("search", "--rewrite", "parcel", "-b", "tools.mdld"),
    ("search", "--candidates", "postgres", "parcel", "-b", "tools.mdld"),
)

CALLS = "".join(
    f'{{"time": "2026-01-0{day}T10:0{minute}:00Z", "session": "{day}", "tool": "{tool}"}}\n'
    for day in range(1, 6)
    for minute, tool in enumerate(("order_search", "order_get", "shipment_status"))
)

SOURCES = {
    "calls.jsonl": CALLS,
    "notes.txt": "Nothing that mcpg reads.\n",
    "broken/syntax.json": '{"server": "broken", "tools": [',
    "odd/api.yaml": """\
openapi: 3.0.3
info: {title: Parcel lockers, version: "1"}
paths:
  /lockers/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
    get:
      operationId: getLocker
      summary: Where a parcel locker is and what is free in it
      tags: [lockers]
      responses: {"200": {description: The locker}}
    delete:
      operationId: closeLocker
      summary: Close a parcel locker
      deprecated: true
      responses: {"204": {description: Closed}}
  /lockers:
    post:
      summary: Open a parcel locker
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [street]
              properties:
                street: {type: string, description: Where it stands}
                size: {type: string, enum: [s, m, l]}
      responses: {"201": {description: Opened}}
""",
    "odd/odd.json": """\
{"server": "odd", "tools": [
  {"name": "parcel_weigh", "description": "Weigh a parcel.",
   "inputSchema": {"type": "object", "properties": {"unit": {"enum": ["kg", "lb"]}}},
   "annotations": {"readOnlyHint": true}},
  {"name": "parcel_weigh", "description": "The same name again."},
  {"name": "", "description": "No name."},
  {"name": "silent"},
  {"name": "markup", "description": "Text with <b>markup</b> | bars\\nand *stars*.",
   "inputSchema": {"type": "array"}}
]}
""",
    "odd/odd.hints.yaml": """\
tools:
  parcel_weigh:
    aliases: [put it on the scales]
    keywords: [weight, weight, kilo]
    related: [none_such]
    nextSteps: [silent]
    costTier: unheard-of
  none_such:
    keywords: [nothing]
  silent:
    enabledByDefault: false
""",
    "odd/document.md": """\
---
name: pallet_order
description: Order a pallet for many parcels.
---

# pallet_order

Order a pallet for many parcels.
""",
    "judged.yaml": """\
where is my parcel: shipment_status
read a file: [read_text_file, read_file, order_search]
no such tool: none_such
best pizza in town: []
""",
    "shapes.ttl": """\
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix schema: <https://schema.org/> .
@prefix ex: <https://example.com/> .
ex:Described a sh:NodeShape ;
  sh:targetSubjectsOf schema:name ;
  sh:property [ sh:path schema:description ; sh:minLength 60 ; sh:severity sh:Warning ] .
""",
}


def cases(catalogues: dict[str, list[str]]) -> Iterator[Case]:
    """Give every command line, in the order in which they run.

    Args:
        catalogues: For each folder of sources the ids of some of its tools.
    """
    for folder, tools in catalogues.items():
        yield from _building(folder)
        yield from _showing(folder, tools)
        yield from _exporting(folder, tools)
        yield from _explaining_one(folder, tools[0])
        if folder != ODD:
            yield from _searching(folder)
            yield from _explaining(folder, tools)
            yield from _evaluating(folder)
            yield from _graph(folder)
        yield from _reviewing(folder, tools)
        yield from _asking(folder, tools)
    yield from _linting(list(catalogues))
    yield from WRONG_COMMANDS
    yield from _joining(list(catalogues))


def _building(folder: str) -> Iterator[Case]:
    bundle = f"{folder}.mdld"
    yield ("bundle", folder, "-o", bundle, "--check")
    yield ("bundle", folder, "-o", bundle)
    yield ("bundle", folder, "-o", bundle, "--check", "--diff")
    yield ("bundle", folder, "-o", bundle, "--verbose")
    yield ("bundle", folder, "-o", bundle, "--strict", "--format", "json")
    yield ("bundle", folder, "--format", "json", "-o", bundle)
    yield ("bundle", folder, "-o", f"{folder}-vectors.mdld", "--embed", "--format", "json")
    yield ("bundle", folder, "-o", "-")
    yield ("bundle", folder, "--source-id", "mine", "-o", bundle, "--diff")
    documents = f"{folder}-documents"
    yield ("generate", folder, "-o", documents)
    yield ("generate", folder, "-o", documents, "--check", "--format", "json")
    yield ("generate", folder, "-o", documents, "--source-id", "mine", "--diff")
    yield ("generate", folder, "-o", documents, "--source-id", "mine", "--prune")
    yield ("bundle", documents, "-o", f"{documents}.mdld", "--format", "json")


def _searching(folder: str) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    for query in QUERIES:
        yield ("search", query, *here)
        yield ("search", query, *here, "--format", "json")
    for options in (*ASKING, *VECTORS, *WRONG_ASKING):
        yield ("search", WIDE, *here, *options)
        yield ("search", WIDE, *here, "--format", "json", *options)
    yield ("search", WIDE, *here, "--explain")
    yield ("search", WIDE, "-b", folder, "--format", "json")
    for query in QUERIES[:6]:
        yield ("route", query, *here)
        yield ("route", query, *here, "--format", "json")
    for prefer in ("read-only", "write", "none"):
        options = ("--prefer", prefer, "--max-categories", "2", "--max-tools", "2")
        yield ("route", WIDE, *here, *options, "--format", "json")


def _explaining(folder: str, tools: list[str]) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    for query in QUERIES:
        for form in ("text", "json", "md"):
            yield ("explain", query, *here, "--format", form, "-n", "3")
    for options in (*ASKING, *VECTORS, ("--route",), ("--route", "--prefer", "write")):
        for form in ("text", "json", "md"):
            yield ("explain", WIDE, *here, "--format", form, *options)
    yield ("explain", WIDE, *here, "--html", f"{folder}-explain.html")
    for tool in tools[1:3]:
        yield ("explain", WIDE, *here, "--tool", tool, "--format", "json")
    judged = ("--tool", tools[0], "--queries", "queries.yaml", "--format", "json")
    yield ("explain", WIDE, *here, *judged)
    yield ("explain", WIDE, *here, "--tool", "none_such")
    for form in ("text", "json", "md"):
        compare = ("--compare", folder, f"{folder}-documents", "--format", form)
        yield ("explain", QUERIES[0], *compare)


def _explaining_one(folder: str, tool: str) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    for form in ("text", "json", "md"):
        yield ("explain", f"a parcel and {tool}", *here, "--format", form)
        yield ("explain", WIDE, *here, "--tool", tool, "--format", form)


def _showing(folder: str, tools: list[str]) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    yield ("list", *here)
    yield ("list", *here, "--format", "json")
    yield ("list", *here, "--category", "SHIPPING", "--format", "json")
    yield ("list", *here, "--source", "none-such")
    for tool in tools:
        yield ("show", tool, *here)
        yield ("show", tool, *here, "--format", "json")
        yield ("show", tool, *here, "--document")
    yield ("doctor", *here, "--no-sources", "--format", "json")
    yield ("doctor", *here, "--no-sources")
    yield ("cache", *here, "--format", "json")


def _evaluating(folder: str) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    report = f"{folder}-eval.json"
    yield ("eval", "queries.yaml", *here, "--format", "json", "-o", report)
    for form in ("text", "json", "md"):
        yield ("eval", "queries.yaml", *here, "--format", form, "--all")
        yield ("eval", "judged.yaml", *here, "--format", form, "--baseline", report)
    yield ("eval", "queries.yaml", *here, "--html", f"{folder}-eval.html", "--min", "ndcg@5=0.99")
    yield ("eval", "queries.yaml", *here, "--format", "json", *VECTORS[2])
    yield ("eval", "judged.yaml", *here, "--strict", "--max", "ece=0.01")
    named = f"{folder}-named.jsonl"
    for form in ("text", "json"):
        yield ("tune", named, *here, "--folds", "2", "--dry-run", "--format", form)
    tuned = f"{folder}-tuned.mdld"
    yield ("tune", named, *here, "--folds", "3", "-o", tuned, "--format", "json", "--force")
    yield ("explain", WIDE, "-b", tuned, "--format", "json")


def _reviewing(folder: str, tools: list[str]) -> Iterator[Case]:
    lock = ("-o", f"{folder}.lock")
    for form in ("text", "json"):
        yield ("diff", folder, f"{folder}.mdld", "--format", form, "--sample", "40")
        yield ("diff", ODD, folder, "--format", form, "--sample", "40")
        yield ("lock", folder, *lock, "--format", form)
        yield ("lock", ODD, *lock, "--check", "--format", form)
    yield ("lock", folder, *lock, "--check")
    yield ("lock", ODD, *lock, "--approve", tools[0], "--yes")


def _asking(folder: str, tools: list[str]) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    for form in ("text", "json"):
        for goal in GOALS:
            yield ("plan", goal, *here, "--format", form)
        for question in QUESTIONS:
            yield ("ask", question.format(tools[0]), *here, "--format", form)
    yield ("plan", GOALS[0], *here, "-n", "2", "--read-only")


def _linting(folders: list[str]) -> Iterator[Case]:
    for folder in folders:
        for form in ("text", "json", "sarif", "github", "markdown"):
            yield ("lint", folder, "--format", form)
    yield ("lint", ODD, "--select", "D,H", "--ignore", "D101", "-n", "3")
    yield ("lint", ODD, "--fix", "--diff")
    yield ("lint", "tools", "--select", "none-such")
    for form in ("text", "json", "ids"):
        yield ("rule", "--format", form)
    yield ("rule", "D101")
    yield ("rule", "none-such")
    for form in ("text", "json"):
        learned = ("-o", f"learned-{form}.jsonl", "--format", form)
        yield ("learn", "calls.jsonl", "-b", "tools.mdld", *learned)
        yield ("learn", "calls.jsonl", "-b", "tools.mdld", *learned, "--check")
    yield ("bundle", "tools", "learned-json.jsonl", "-o", "learned.mdld", "--format", "json")


def _exporting(folder: str, tools: list[str]) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    for name in ("stats", "schema", "validate"):
        yield ("graph", name, *here)
        yield ("graph", name, *here, "--format", "json")
    yield ("graph", "validate", *here, "--shapes", "shapes.ttl", "--strict", "--format", "json")
    for form, suffix in EXPORTS.items():
        yield ("graph", "export", *here, "--format", form, "-o", f"{folder}.{suffix}")
        around = ("--around", tools[0], "--depth", "2")
        yield ("graph", "export", *here, "--format", form, *around)
        yield ("graph", "export", *here, "--format", form, "--query", QUERIES[0])
    yield ("graph", "export", *here, "--format", "json-ld", "--framed", "--include-disabled")


def _graph(folder: str) -> Iterator[Case]:
    here = ("-b", f"{folder}.mdld")
    for form in ("table", "json", "csv", "ttl"):
        yield ("graph", "sparql", SPARQL[0], *here, "--format", form)
    for query in SPARQL:
        yield ("graph", "sparql", query, *here)
    for mode in ("hybrid", "schema-aware", "token-distance"):
        for query in QUERIES[1:4]:
            yield ("graph", "search", query, *here, "--mode", mode, "--format", "json")
        yield ("graph", "search", QUERIES[0], *here, "--mode", mode, "--explain")


def _joining(folders: list[str]) -> Iterator[Case]:
    """Ask several bundles at once, of which one is missing."""
    several = [part for folder in folders for part in ("-b", f"{folder}.mdld")]
    for form in ("text", "json"):
        yield ("search", WIDE, *several, "-b", "missing.mdld", "--format", form)
        yield ("explain", WIDE, *several, "--format", form)
        yield ("list", *several, "--format", form)
    yield ("bundle", *folders, "-o", "all.mdld", "--format", "json")
    yield ("bundle", *folders, "-o", "all.mdld", "--check")
