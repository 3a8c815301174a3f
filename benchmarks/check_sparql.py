"""Compare the read-only endpoint with the results that the W3C's SPARQL suites expect.

    git clone --depth 1 https://github.com/w3c/rdf-tests
    python benchmarks/check_sparql.py rdf-tests/sparql

Each test of a query is answered by the endpoint and compared with the expected result and with the
answer of Oxigraph itself; queries that are no SPARQL, and all updates, must be refused. Each
difference from an expected result has a reason: found by a rule (entailment, several graphs,
lexical form ...), or listed in `OF_THE_ENGINE`. Prints a table, then the differences by reason.
Exits 1 for a difference without a reason, and for one from Oxigraph.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from mcpg.errors import InputError, UsageError
from mcpg.graph.sparql import Limits, SparqlEndpoint
from mcpg.graph.terms import PREFIXES, RDF, XSD

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
DAWG = "http://www.w3.org/2001/sw/DataAccess/tests/test-dawg#"
REGIME = "http://www.w3.org/ns/sparql-service-description#entailmentRegime"

EVALUATION = {"QueryEvaluationTest", "CSVResultFormatTest"}
VALID = {"PositiveSyntaxTest", "PositiveSyntaxTest11"}
_LATER = "sparql12"
INVALID = {"NegativeSyntaxTest", "NegativeSyntaxTest11"}
UPDATES = {
    *("UpdateEvaluationTest", "PositiveUpdateSyntaxTest", "PositiveUpdateSyntaxTest11"),
    *("NegativeUpdateSyntaxTest", "NegativeUpdateSyntaxTest11"),
}
FORMATS = {
    ".srx": ox.QueryResultsFormat.XML,
    ".srj": ox.QueryResultsFormat.JSON,
    ".tsv": ox.QueryResultsFormat.TSV,
}
# Oxigraph has one class for an integer and its derived types.
_INTEGERS = "integer nonPositiveInteger negativeInteger nonNegativeInteger positiveInteger"
_SIZED = "long int short byte unsignedLong unsignedInt unsignedShort unsignedByte"
NUMBERS = {f"{XSD}{name}" for name in f"{_INTEGERS} {_SIZED} decimal double float".split()}

_LEXICAL = "lexical form: Oxigraph stores a number by its value, so its forms are one term"
_ZONES = "Oxigraph compares and writes time zones of dates as XSD 1.1 does"
_REDUCED = "REDUCED: either number of equal rows is right"
_ZERO = "Oxigraph finds no path of length zero at a node that the graph does not have"
_LISTED = {
    _LEXICAL: (
        *("sparql10/distinct/distinct-1", "sparql10/distinct/distinct-9"),
        *("sparql10/expr-builtin/dawg-str-1", "sparql10/expr-builtin/dawg-str-2"),
        *("sparql10/expr-builtin/sameTerm-eq", "sparql10/expr-builtin/sameTerm-not-eq"),
        *("sparql10/expr-builtin/sameTerm-simple", "sparql10/open-world/open-eq-01"),
        *("sparql10/expr-equals/eq-graph-1", "sparql10/expr-equals/eq-graph-2"),
    ),
    _ZONES: ("sparql10/open-world/date-2", "sparql10/open-world/date-3"),
    _REDUCED: ("sparql10/reduced/reduced-1", "sparql10/reduced/reduced-2"),
    _ZERO: tuple(
        f"sparql11/property-path/zero_or_{count}_set_{end}"
        for count in ("one", "more")
        for end in ("start", "end")
    ),
    "the suite has two results for this query, and the other one is right": (
        "sparql10/optional-filter/dawg-optional-filter-005-simplified",
    ),
    "Oxigraph reads `<?a&&?b>` as a comparison": ("sparql10/syntax-sparql3/syn-bad-26",),
    "Oxigraph reads `False` as a name": ("sparql10/expr-builtin/case-insensitive-booleans",),
    "Oxigraph keeps the language of texts in GROUP_CONCAT": (
        *("sparql11/aggregates/agg-groupconcat-04", "sparql11/aggregates/agg-groupconcat-06"),
    ),
    "Oxigraph gives BNODE of one text one node in all rows": ("sparql11/functions/bnode01",),
}
OF_THE_ENGINE = {name: reason for reason, names in _LISTED.items() for name in names}
"""Why Oxigraph gives another result, by folder and name of the test."""

Outcome = Any
"""A list of statements, rows of CSV, a truth, or `None` where a query was refused."""


@dataclass(frozen=True)
class Test:
    """A test of a manifest.

    Attributes:
        suite: The folder of the manifest.
        name: The last part of its IRI.
        kind: The local name of its class.
        data: Files of the default graph.
        text: The query or update.
        file: The file of that.
        result: The file of the expected result, `None` for tests of syntax.
        traits: What it asks for that the endpoint does not do.
    """

    suite: str
    name: str
    kind: str
    data: tuple[Path, ...]
    text: str
    file: Path
    result: Path | None
    traits: tuple[str, ...] = ()


class Manifest:
    """The tests that one file lists."""

    def __init__(self, file: Path, root: Path) -> None:
        self._suite = str(file.parent.relative_to(root))
        self._store = ox.Store()
        base = file.resolve().as_uri()
        self._store.load(file.read_bytes(), format=ox.RdfFormat.TURTLE, base_iri=base)

    def tests(self) -> Iterator[Test]:
        """Return the tests of queries and updates; those of protocols are left out."""
        quads = self._store.quads_for_pattern(None, ox.NamedNode(f"{RDF}type"), None)
        kinds = {quad.subject: local(quad.object) for quad in quads}
        for node in sorted(kinds, key=str):
            kind = kinds[node]
            if kind in EVALUATION | VALID | INVALID | UPDATES:
                yield self._test(node, kind)

    def _test(self, node: Any, kind: str) -> Test:
        action = self._one(node, f"{MF}action")
        stated = self._one(action, f"{QT}query") or self._one(action, f"{UT}request")
        file = path_of(stated or action)
        result = self._one(node, f"{MF}result") if kind in EVALUATION else None
        return Test(
            self._suite,
            str(node.value).rpartition("#")[2].rpartition("/")[2],
            kind,
            tuple(map(path_of, self._all(action, f"{QT}data"))),
            file.read_text("utf-8"),
            file,
            path_of(result) if isinstance(result, ox.NamedNode) else None,
            tuple(self._traits(node, action)),
        )

    def _traits(self, node: Any, action: Any) -> Iterator[str]:
        if self._one(action, REGIME):
            yield "entailment"
        if self._one(action, f"{QT}graphData"):
            yield "several graphs"
        if self._one(action, f"{QT}serviceData"):
            yield "federation"
        approval = local(self._one(node, f"{DAWG}approval"))
        if approval in {"Withdrawn", "Obsoleted", "NotApproved"}:
            yield "withdrawn"

    def _all(self, subject: Any, predicate: str) -> list[Any]:
        if subject is None or isinstance(subject, ox.Literal):
            return []
        found = self._store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return [quad.object for quad in found]

    def _one(self, subject: Any, predicate: str) -> Any:
        return next(iter(self._all(subject, predicate)), None)


def local(node: Any) -> str:
    """Return the last part of the IRI of *node*."""
    return str(getattr(node, "value", "")).rpartition("#")[2]


def path_of(node: Any) -> Path:
    """Return the file that *node* names."""
    return Path(node.value.removeprefix("file://"))


def graph_in(files: tuple[Path, ...], *, is_whole: bool = False) -> ox.Store:
    """Return what *files* state; of TriG the default graph alone unless *is_whole*."""
    store = ox.Store()
    for file in files:
        form = ox.RdfFormat.from_extension(file.suffix[1:]) or ox.RdfFormat.TURTLE
        store.load(file.read_bytes(), format=form, base_iri=file.as_uri(), lenient=True)
    if not is_whole:
        for graph in list(store.named_graphs()):
            store.remove_graph(graph)
    return store


class Endpoint:
    """The endpoint over the data of the last test, for many tests share theirs."""

    def __init__(self) -> None:
        self._files: tuple[Path, ...] | None = None
        self._endpoint: SparqlEndpoint | None = None

    def over(self, files: tuple[Path, ...]) -> SparqlEndpoint:
        """Return the endpoint over *files*."""
        if files != self._files or self._endpoint is None:
            self.close()
            store = graph_in(files)
            turtle = store.dump(format=ox.RdfFormat.TURTLE, from_graph=ox.DefaultGraph()) or b"\n"
            self._endpoint = SparqlEndpoint.over(turtle, Limits(seconds=60, rows=10**6))
            self._files = files
        return self._endpoint

    def close(self) -> None:
        """End what runs."""
        if self._endpoint is not None:
            self._endpoint.close()


def answered(endpoint: SparqlEndpoint, test: Test) -> tuple[Outcome, str]:
    """Return the answer to the query of *test*, and the reason of a refusal."""
    try:
        answer = endpoint.query(f"BASE <{test.file.as_uri()}>\n{test.text}")
    except (UsageError, InputError) as fault:
        return None, fault.message
    if answer.form == "graph":
        triples = ox.parse("\n".join(answer.triples).encode(), format=ox.RdfFormat.N_TRIPLES)
        return [quad.triple for quad in triples], ""
    if test.kind == "CSVResultFormatTest":
        return rows_of(answer.csv()), ""
    written = json.dumps(answer.json()).encode()
    return told(ox.parse_query_results(written, format=ox.QueryResultsFormat.JSON), test), ""


def beneath(test: Test) -> Outcome:
    """Return the answer of Oxigraph itself."""
    try:
        text = f"BASE <{test.file.as_uri()}>\n{test.text}"
        found = graph_in(test.data).query(text, prefixes=dict(PREFIXES))
        if isinstance(found, ox.QueryTriples):
            return list(found)
        if test.kind == "CSVResultFormatTest":
            assert isinstance(found, ox.QuerySolutions)
            written = found.serialize(format=ox.QueryResultsFormat.CSV) or b""
            return rows_of(written.decode())
        return told(found, test)
    except (SyntaxError, OSError, RuntimeError, ValueError):
        return None


def expected(test: Test) -> Outcome:
    """Return the result that the suite states."""
    assert test.result is not None
    if test.result.suffix == ".csv":
        return rows_of(test.result.read_text("utf-8"))
    if test.result.suffix in FORMATS:
        form = FORMATS[test.result.suffix]
        return told(ox.parse_query_results(test.result.read_bytes(), format=form), test)
    store = graph_in((test.result,), is_whole=True)
    sets = store.quads_for_pattern(None, ox.NamedNode(f"{RDF}type"), ox.NamedNode(f"{RS}ResultSet"))
    stated = next(iter(sets), None)
    if stated is None:
        return [quad.triple for quad in store]
    return result_set(store, stated.subject, is_ordered=is_ordered(test))


def result_set(store: ox.Store, node: Any, *, is_ordered: bool) -> Outcome:
    """Return what a result in RDF says: a truth, or rows."""

    def values(subject: Any, name: str) -> list[Any]:
        quads = store.quads_for_pattern(subject, ox.NamedNode(f"{RS}{name}"), None)
        return [quad.object for quad in quads]

    truth = values(node, "boolean")
    if truth:
        return truth[0].value == "true"
    rows = values(node, "solution")
    if is_ordered:
        rows.sort(key=lambda row: int(values(row, "index")[0].value) if values(row, "index") else 0)
    bindings = [
        {
            values(binding, "variable")[0].value: values(binding, "value")[0]
            for binding in values(row, "binding")
        }
        for row in rows
    ]
    return rows_as_graph(bindings, is_ordered=is_ordered)


def told(found: Any, test: Test) -> Outcome:
    """Return what solutions or a truth of Oxigraph's classes say."""
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    names = [variable.value for variable in found.variables]
    rows = [{name: row[name] for name in names if row[name] is not None} for row in found]
    return rows_as_graph(rows, is_ordered=is_ordered(test))


def is_ordered(test: Test) -> bool:
    """Return whether the order of rows counts: where a query asks for it outside of groups."""
    return "ORDER BY" in test.text.rpartition("}")[2].upper()


def rows_as_graph(rows: list[dict[str, Any]], *, is_ordered: bool) -> Outcome:
    """Return *rows* as statements about a blank node each, so that blank nodes can be compared."""
    found = []
    for place, row in enumerate(rows):
        node = ox.BlankNode()
        number = ox.Literal(place if is_ordered else 0)
        found.append(ox.Triple(node, ox.NamedNode("urn:row"), number))
        found += [
            ox.Triple(node, ox.NamedNode(f"urn:name:{name}"), value) for name, value in row.items()
        ]
    return found


def rows_of(text: str) -> Outcome:
    """Return the rows of CSV, blank nodes without their names, whatever the order of columns."""
    head, *rows = csv.reader(io.StringIO(re.sub(r"_:\w+", "_", text)))
    return tuple(sorted(tuple(sorted(zip(head, row, strict=True))) for row in rows))


def plain(outcome: Outcome, *, by_value: bool = False) -> Outcome:
    """Return *outcome* so that equal ones compare equal.

    Blank nodes get names that depend on the statements alone; numbers, where they are compared
    *by_value*, one form and one datatype for each value.
    """
    if isinstance(outcome, list):
        value_of = valued if by_value else lambda term: term
        quads = (ox.Quad(one.subject, one.predicate, value_of(one.object)) for one in outcome)
        dataset = ox.Dataset(quads)
        dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
        return frozenset(map(str, dataset))
    if isinstance(outcome, tuple) and by_value:
        return tuple(sorted(tuple((name, number(cell)) for name, cell in row) for row in outcome))
    return outcome


def valued(term: Any) -> Any:
    """Return a number or truth as Oxigraph would compute it, other terms as they are."""
    if isinstance(term, ox.Literal) and term.datatype.value == f"{XSD}boolean":
        return ox.Literal(term.value in {"true", "1"})
    if isinstance(term, ox.Literal) and term.datatype.value in NUMBERS:
        kind = term.datatype.value.removeprefix(XSD)
        kind = kind if kind in {"decimal", "double", "float"} else "integer"
        return ox.Literal(number(term.value), datatype=ox.NamedNode(f"{XSD}{kind}"))
    return term


def number(text: str) -> str:
    """Return the value of a number in one form, another text as it is."""
    try:
        return f"{Decimal(text).normalize():E}"
    except InvalidOperation:
        return text


@dataclass
class Report:
    """What came of the tests.

    Attributes:
        counts: Of each suite.
        reasons: Tests that end otherwise than expected, by reason.
        faults: Tests that end otherwise than Oxigraph does, and updates that were not refused.
    """

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    faults: list[str] = field(default_factory=list)

    def take(self, test: Test, endpoint: Endpoint) -> None:
        """Run *test*."""
        counts = self.counts[test.suite]
        found, refusal = answered(endpoint.over(test.data), test)
        if test.kind in UPDATES or test.file.suffix == ".ru":
            counts["updates"] += 1
            counts["refused"] += found is None
            if found is not None:
                self.faults.append(f"{test.suite}/{test.name}")
            return
        counts["queries"] += 1
        reason = judged(test, found, refusal)
        counts["expected"] += reason is None
        if reason is not None:
            self.reasons[reason].append(f"{test.suite}/{test.name}")
        is_blocked = found is None and "endpoint" in refusal
        is_same = is_blocked or test.suite.startswith(_LATER) or by_engine(test, found)
        counts["same"] += is_same
        if not is_same:
            self.faults.append(f"{test.suite}/{test.name}")


def by_engine(test: Test, found: Outcome) -> bool:
    """Return whether Oxigraph itself gives the same outcome."""
    own = beneath(test)
    if test.result is None:
        return (own is None) == (found is None)
    return bool(plain(own) == plain(found))


def judged(test: Test, found: Outcome, refusal: str) -> str | None:
    """Return why *test* ends otherwise than the suite expects: "" unknown, `None` it does not."""
    if test.result is None:
        is_valid = found is not None or not refusal.startswith(_INVALID)
        if is_valid != (test.kind in INVALID):
            return None
        is_equal = False
    else:
        wanted = expected(test)
        if plain(found) == plain(wanted):
            return None
        is_equal = plain(found, by_value=True) == plain(wanted, by_value=True)
    rules = {
        "federation: the endpoint is not allowed": (
            "federation" in test.traits or "endpoint" in refusal
        ),
        "several graphs: the graph of tools is one": "several graphs" in test.traits,
        "entailment: nothing is inferred": "entailment" in test.traits,
        "withdrawn, or never approved": "withdrawn" in test.traits,
        "lexical form: equal numbers, written otherwise": is_equal,
        "several graphs: the query names files": bool(_FROM.search(test.text)),
        "SPARQL 1.2, of which nothing is promised": test.suite.startswith(_LATER),
    }
    listed = OF_THE_ENGINE.get(f"{test.suite}/{test.name}", "")
    return next((reason for reason, holds in rules.items() if holds), listed)


_INVALID = ("invalid SPARQL query", "the query contains a lone surrogate")
_FROM = re.compile(r"\bFROM\s+(NAMED\s+)?<", re.IGNORECASE)


def main() -> int:
    """Run the suites below a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    root = parser.parse_args().folder.resolve()
    report, endpoint = Report(), Endpoint()
    tests = (
        test
        for file in sorted(root.glob("**/manifest.ttl"))
        for test in Manifest(file, root).tests()
    )
    for test in sorted(tests, key=lambda one: (one.suite, one.data, one.name)):
        report.take(test, endpoint)
    endpoint.close()
    heads = ("queries", "expected", "same", "updates", "refused")
    print(f"{'suite':<40} {' '.join(f'{head:>8}' for head in heads)}")
    total: Counter[str] = Counter()
    for suite, counts in report.counts.items():
        total += counts
        print(f"{suite:<40} {' '.join(f'{counts[head]:>8}' for head in heads)}")
    print(f"{'all':<40} {' '.join(f'{total[head]:>8}' for head in heads)}\n")
    for reason, names in sorted(report.reasons.items()):
        print(f"{len(names):>4}  {reason or 'NO REASON'}\n      {' '.join(names)}")
    print(f"otherwise than Oxigraph, or not refused: {' '.join(report.faults) or 'none'}")
    return 1 if report.reasons.get("") or report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
