"""Exports of the graph, and the graph in a store, beside what rdflib takes for the same.

    python benchmarks/bench_graph.py [--sizes 1000,10000] [--runs 3] [--rdflib 1000]

The catalogues are made, and bundled first. `mcpg graph export` runs as a whole process that loads
the bundle and writes a file. `mcpg graph sparql`, `schema` and `search` run likewise, the first
time and again, when what they loaded is kept, and `validate` once. The rows below them run in one
process: what the graph is made of, a search of it once it is loaded, loading the triples into
Oxigraph, a path query over all next steps, and the same triples read and written by rdflib alone,
up to the size that `--rdflib` names, as it takes minutes beyond.

Columns: s is the median of the runs (of queries, the first run and then the median of the others,
in processor time), MB the size of the file, triples what it says.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING

import catalogues
import measuring
import rdflib
from measuring import cold_seconds, middle, processor_seconds, program, row, timed

import mcpg
from mcpg.graph.exports import build_graph, turtle
from mcpg.graph.schema import build_schema
from mcpg.graph.search import GraphSearcher, GraphSearchRequest, Mode
from mcpg.graph.triples import make_triples

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.documents.model import ToolDocument

FORMATS = {
    "turtle": "ttl",
    "json-ld": "jsonld",
    "json-ld --framed": "jsonld",
    "nquads": "nq",
    "graphml": "graphml",
    "mermaid": "mmd",
    "dot": "gv",
    "html": "html",
}
PATHS = "SELECT (COUNT(*) AS ?count) WHERE { ?first kb:nextStep+ ?last }"


def exports(bundle: Path, runs: int) -> None:
    """Time whole processes that write each format."""
    for name, extension in FORMATS.items():
        form, *flags = name.split()
        file = bundle.with_name(f"graph.{extension}")
        command = [*program(), "graph", "export", "-b", str(bundle), "-o", str(file), "-q"]
        command += ["--force", "--format", form, *flags]
        seconds = middle([cold_seconds(command) for _ in range(runs)])
        print(row(f"mcpg graph export {name}", seconds, file.stat().st_size / 1e6, "", first=40))


QUERIES = {
    "an ASK": ["sparql", "ASK { ?tool mcpg:destructive true }"],
    "1,000 rows": ["sparql", "SELECT ?id ?name { ?tool mcpg:toolId ?id ; schema:name ?name }"],
    "the first 5 of a sort": ["sparql", "SELECT ?id { ?t mcpg:toolId ?id } ORDER BY ?id LIMIT 5"],
    "schema": ["schema", "--format", "json"],
    "by words": ["search", "list the report of a customer"],
    "by distance": ["search", "reprot", "--mode", "token-distance"],
}


def queries(bundle: Path, runs: int) -> None:
    """Time whole processes that query the graph: the first, which loads it, and later ones."""
    for name, arguments in QUERIES.items():
        command = [*program(), "graph", *arguments, "-b", str(bundle), "-q"]
        clear = [*program(), "cache", "clear", "--what", "triples", "--yes", "-q"]
        measuring.run([*clear, "-b", str(bundle)])
        first = processor_seconds(command)
        later = middle([processor_seconds(command) for _ in range(runs)])
        print(row(f"mcpg graph {arguments[0]}, {name}", first, later, first=40))
    command = [*program(), "graph", "validate", "-b", str(bundle), "-q", "--timeout", "3600"]
    print(row("mcpg graph validate", processor_seconds(command), first=40))


def stores(documents: list[ToolDocument], runs: int, *, has_rdflib: bool) -> None:
    """Time the store, and rdflib on the same triples."""
    count = sum(1 for _ in make_triples(documents))
    loading = middle([timed(lambda: build_graph(documents)) for _ in range(runs)])
    print(row("triples into Oxigraph", loading, "", f"{count:,}", first=40))
    graph = build_graph(documents)
    start = time.perf_counter()
    (found,) = graph.query(PATHS)
    seconds = time.perf_counter() - start
    print(row("path query kb:nextStep+", seconds, "", f"{int(found[0]):,} pairs", first=40))
    if not has_rdflib:
        return
    text = "".join(turtle(make_triples(documents)))
    start = time.perf_counter()
    plain = rdflib.Graph().parse(data=text, format="turtle")
    print(row("rdflib reads the Turtle", time.perf_counter() - start, "", first=40))
    for form in ("turtle", "json-ld"):
        start = time.perf_counter()
        size = len(plain.serialize(format=form)) / 1e6
        print(row(f"rdflib writes {form}", time.perf_counter() - start, size, first=40))


def searches(documents: list[ToolDocument], runs: int) -> None:
    """Time the description of the graph, and a search of it by each of the two ways to look."""
    print(
        row(
            "build_schema",
            middle([timed(lambda: build_schema(documents)) for _ in range(runs)]),
            first=40,
        )
    )
    loading = middle([timed(lambda: GraphSearcher(documents)) for _ in range(runs)])
    print(row("GraphSearcher, made", loading, first=40))
    searcher = GraphSearcher(documents)
    tool = documents[len(documents) // 2].tool
    for text, query in (("a name", tool.display_name), ("a description", tool.description)):
        for mode in (Mode.SCHEMA_AWARE, Mode.TOKEN_DISTANCE):
            search = partial(searcher.search, GraphSearchRequest(query, mode=mode))
            search()
            seconds = middle([timed(search) for _ in range(runs)])
            print(row(f"search {mode}, {text}", seconds, first=40))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rdflib", type=int, default=1000, metavar="SIZE")
    given = parser.parse_args()
    with measuring.workshop(None) as root:
        for size in map(int, given.sizes.split(",")):
            manifest, bundle = root / f"{size}.json", root / f"{size}.mdld"
            manifest.write_text(catalogues.made(size).manifest, encoding="utf-8")
            measuring.run([*program(), "bundle", str(manifest), "-o", str(bundle), "-q"])
            print(row(f"{size:,} tools", "s", "MB", "triples", first=40))
            exports(bundle, given.runs)
            queries(bundle, given.runs)
            documents = list(mcpg.load(bundle).documents.values())
            searches(documents, given.runs)
            stores(documents, given.runs, has_rdflib=size <= given.rdflib)
            print()


if __name__ == "__main__":
    main()
