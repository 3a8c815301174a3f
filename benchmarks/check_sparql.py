"""Run the W3C's SPARQL suites through the read-only endpoint.

    pip download --no-deps --no-binary :all: rdflib && tar xzf rdflib-*.tar.gz
    python benchmarks/check_sparql.py rdflib-*/test/data/suites/w3c

The source distribution of rdflib carries the suites. Each query that has data in Turtle is answered
through the endpoint and by Oxigraph itself; every update must be refused. Prints a table.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import NamedNode, QueryResultsFormat, RdfFormat

from mcpg.errors import InputError, UsageError
from mcpg.graph.sparql import Limits, SparqlEndpoint
from mcpg.graph.terms import PREFIXES, RDF

if TYPE_CHECKING:
    from collections.abc import Iterator

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
_MADE_UP = re.compile(r'_:\w+|(?<="type": "bnode", "value": ")\w+')
UPDATES = ("UpdateEvaluationTest", "PositiveUpdateSyntaxTest11")


def main() -> None:
    """Run the suites below a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print(f"{'suite':<40} {'queries':>8} {'same':>6} {'updates':>8} {'refused':>8}  told otherwise")
    total: Counter[str] = Counter()
    for manifest in sorted(folder.glob("**/manifest*.ttl")):
        counts, odd = run(manifest)
        total += counts
        if counts:
            print(line(str(manifest.parent.relative_to(folder)), counts, odd), flush=True)
    print(line("all", total, []))


def line(name: str, counts: Counter[str], odd: list[str]) -> str:
    """Return a line of the table."""
    figures = (counts[key] for key in ("queries", "same", "updates", "refused"))
    return f"{name:<40} {{:>8}} {{:>6}} {{:>8}} {{:>8}}  {' '.join(odd)}".format(*figures)


def run(manifest: Path) -> tuple[Counter[str], list[str]]:
    """Run what *manifest* lists; give counts, and the names of what came out otherwise."""
    counts: Counter[str] = Counter()
    odd = []
    for data, query in queries_of(manifest):
        if not query.is_file():  # rdflib leaves some out
            continue
        counts["queries"] += 1
        same = is_same(data, query.read_text("utf-8"))
        counts["same"] += same
        if not same:
            odd.append(query.name)
    for update in updates_of(manifest):
        counts["updates"] += 1
        refused = is_refused(update.read_text("utf-8"))
        counts["refused"] += refused
        if not refused:
            odd.append(update.name)
    return counts, odd


def loaded(manifest: Path) -> pyoxigraph.Store:
    """Read a manifest."""
    store = pyoxigraph.Store()
    text = manifest.read_bytes()
    store.load(text, format=RdfFormat.TURTLE, base_iri=manifest.resolve().as_uri())
    return store


def local(node: object) -> Path:
    """Return the file that *node* names."""
    assert isinstance(node, NamedNode)
    return Path(node.value.removeprefix("file://"))


def queries_of(manifest: Path) -> Iterator[tuple[Path | None, Path]]:
    """Give data and query of each test of evaluation, and the query of each test of syntax."""
    store = loaded(manifest)
    for quad in store.quads_for_pattern(None, NamedNode(f"{RDF}type"), None):
        kind = getattr(quad.object, "value", "").rpartition("#")[2]
        if kind.startswith("PositiveSyntaxTest"):
            yield None, local(one(store, quad.subject, f"{MF}action"))
        if kind not in {"QueryEvaluationTest", "CSVResultFormatTest"}:
            continue
        action = one(store, quad.subject, f"{MF}action")
        data = one(store, action, f"{QT}data")
        others = (one(store, action, f"{QT}{name}") for name in ("graphData", "serviceData"))
        if not any(others):
            yield local(data) if data else None, local(one(store, action, f"{QT}query"))


def updates_of(manifest: Path) -> Iterator[Path]:
    """Return the request of each test of an update."""
    store = loaded(manifest)
    for quad in store.quads_for_pattern(None, NamedNode(f"{RDF}type"), None):
        kind = getattr(quad.object, "value", "").rpartition("#")[2]
        action = one(store, quad.subject, f"{MF}action")
        if kind in UPDATES:
            is_file = isinstance(action, NamedNode)
            yield local(action if is_file else one(store, action, f"{UT}request"))


def one(store: pyoxigraph.Store, subject: object, predicate: str) -> object:
    """Return the one object of a statement, `None` when there is none."""
    for quad in store.quads_for_pattern(subject, NamedNode(predicate), None):  # type: ignore[arg-type]
        return quad.object
    return None


def is_same(data: Path | None, query: str) -> bool:
    """Say whether the endpoint answers as Oxigraph does; to refuse what it refuses is the same."""
    store = pyoxigraph.Store()
    if data is not None:
        form = RdfFormat.from_extension(data.suffix[1:]) or RdfFormat.TURTLE
        store.load(data.read_bytes(), format=form, base_iri=data.as_uri())
    turtle = store.dump(format=RdfFormat.TURTLE, from_graph=pyoxigraph.DefaultGraph()) or b""
    try:
        found = store.query(query, prefixes=dict(PREFIXES))
        beneath = told(found)
    except (SyntaxError, OSError, RuntimeError, ValueError):
        beneath = None
    with SparqlEndpoint.over(turtle or b"\n", Limits(seconds=60, rows=10**6)) as endpoint:
        try:
            answer = endpoint.query(query)
        except UsageError as fault:
            # An endpoint that is on nobody's list.
            return "SERVICE" in query.upper() and "endpoint" in fault.message
        except InputError:
            return beneath is None
    through = (
        sorted(answer.triples, key=plain) if answer.form == "graph" else ordered(answer.json())
    )
    return plain(through) == plain(beneath)


def told(found: object) -> object:
    """Return what Oxigraph answered."""
    if isinstance(found, pyoxigraph.QueryTriples):
        return sorted((f"{triple} ." for triple in found), key=plain)
    assert isinstance(found, pyoxigraph.QueryBoolean | pyoxigraph.QuerySolutions)
    return ordered(json.loads(found.serialize(format=QueryResultsFormat.JSON) or b""))


def ordered(results: dict) -> dict:  # type: ignore[type-arg]
    """Put rows in one order, for most queries ask for none."""
    if "results" in results:
        results["results"]["bindings"].sort(key=lambda row: plain(json.dumps(row, sort_keys=True)))
    return results


def plain(value: object) -> str:
    """Write *value* without the names of blank nodes, which are made up."""
    text = json.dumps(value, sort_keys=True)
    return _MADE_UP.sub("_", text)


def is_refused(update: str) -> bool:
    """Return whether the endpoint refuses *update* as an update, or as invalid."""
    with SparqlEndpoint.over(b"<a:a> <a:b> <a:c> .") as endpoint:
        try:
            endpoint.query(update)
        except (UsageError, InputError):
            return True
    return False


if __name__ == "__main__":
    main()
