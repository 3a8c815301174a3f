"""Compare `mcpg graph validate` with the results that the W3C's SHACL suite expects.

    git clone --depth 1 https://github.com/w3c/data-shapes
    python benchmarks/check_shacl.py data-shapes/data-shapes-test-suite/tests

Each test is validated by mcpg and by pyshacl itself. Results are compared by severity, focus node,
path, value and constraint, blank nodes without their names. Each difference has a reason in
`REASONS`. Prints a table, then the differences by reason. Exits 1 for one without a reason.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyshacl
import rdflib

from mcpg.errors import McpgError
from mcpg.graph.shacl_worker import MAX_DEPTH
from mcpg.graph.validation import ShaclResult, check_shapes, validate, with_base

MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
SHT = rdflib.Namespace("http://www.w3.org/ns/shacl-test#")
SH = rdflib.Namespace("http://www.w3.org/ns/shacl#")

_DETAILS = "what a shape of sh:node finds is reported beside the result that it belongs to"
REASONS = {
    "core/node/node-001": _DETAILS,
    "core/property/node-001": _DETAILS,
    "core/property/node-002": _DETAILS,
    "core/property/uniqueLang-002": 'pyshacl takes "1"^^xsd:boolean for true',
    "sparql/pre-binding/shapesGraph-001": "pyshacl has no $shapesGraph, which is optional",
}
"""Why the outcome is another than the suite expects, by folder and name of the test."""

Outcome = Counter[tuple[str, ...]] | None
"""The results, `None` for a failure."""


def main() -> int:
    """Run the suite below a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    root = parser.parse_args().folder.resolve()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    print(f"{'part':<28} {'tests':>6} {'as pyshacl':>11} {'as expected':>12}")
    total: Counter[str] = Counter()
    odd: dict[str, list[str]] = defaultdict(list)
    for part in sorted({file.parent for file in root.glob("**/*.ttl")}):
        counts = run(part, root, odd)
        total += counts
        if counts:
            print(line(str(part.relative_to(root)), counts), flush=True)
    print(line("all", total) + "\n")
    for reason, names in sorted(odd.items()):
        print(f"{len(names):>4}  {reason or 'NO REASON'}\n      {' '.join(names)}")
    return 1 if odd.get("") else 0


def line(name: str, counts: Counter[str]) -> str:
    """Return a line of the table."""
    figures = [counts[key] for key in ("tests", "same", "expected")]
    return f"{name:<28} {figures[0]:>6} {figures[1]:>11} {figures[2]:>12}"


def run(part: Path, root: Path, odd: dict[str, list[str]]) -> Counter[str]:
    """Run the tests of one folder; put those that end otherwise into *odd*, by reason."""
    counts: Counter[str] = Counter()
    for file in sorted(part.glob("*.ttl")):
        suite = rdflib.Graph().parse(file, publicID=file.as_uri())
        for test in suite.subjects(rdflib.RDF.type, SHT.Validate):
            counts["tests"] += 1
            found, beneath, wanted = outcomes(suite, test)
            counts["same"] += found == beneath
            counts["expected"] += found == wanted
            if found != wanted or found != beneath:
                name = f"{part.relative_to(root)}/{file.stem}"
                odd[REASONS.get(name, "")].append(name)
    return counts


def outcomes(suite: rdflib.Graph, test: rdflib.term.Node) -> tuple[Outcome, Outcome, Outcome]:
    """Return what mcpg, pyshacl and the suite say."""
    action = suite.value(test, MF.action)
    data, shapes = (path_of(suite.value(action, name)) for name in (SHT.dataGraph, SHT.shapesGraph))
    wanted = suite.value(test, MF.result)
    stated = suite.objects(wanted, SH.result)
    expected = None if wanted == SHT.Failure else results_in(suite, stated)
    return through(data, shapes), directly(data, shapes), expected


def path_of(name: Any) -> Path:
    """Return the file that *name* stands for."""
    return Path(str(name).removeprefix("file://"))


def through(data: Path, shapes: Path) -> Outcome:
    """Validate by way of mcpg, texts as they stand in the files."""
    graph, text = (with_base(file.read_text("utf-8"), str(file)) for file in (data, shapes))
    try:
        check_shapes(text, str(shapes))
        return Counter(map(members, validate(graph.encode(), [text], timeout=60)))
    except McpgError:
        return None


def directly(data: Path, shapes: Path) -> Outcome:
    """Validate by the library alone."""
    graphs = [rdflib.Graph().parse(file, publicID=file.as_uri()) for file in (data, shapes)]
    try:
        _, report, _ = pyshacl.validate(
            graphs[0], shacl_graph=graphs[1], max_validation_depth=MAX_DEPTH
        )
    except Exception:  # noqa: BLE001 - a failure is an outcome
        return None
    if not isinstance(report, rdflib.Graph):
        return None
    return results_in(report, report.subjects(SH.resultSeverity))


def results_in(graph: rdflib.Graph, nodes: Any) -> Outcome:
    """Return the results that *graph* states at *nodes*."""
    return Counter(
        (
            _severity(str(graph.value(node, SH.resultSeverity))),
            _plain(graph.value(node, SH.focusNode)),
            _named(graph.value(node, SH.resultPath)),
            _plain(graph.value(node, SH.value)),
            str(graph.value(node, SH.sourceConstraintComponent))
            .removeprefix(SH)
            .removesuffix("ConstraintComponent"),
        )
        for node in nodes
    )


def _severity(iri: str) -> str:
    name = iri.removeprefix(SH).lower()
    return name if name in {"warning", "info"} else "violation"


def _plain(term: Any) -> str:
    return "" if term is None else "_" if isinstance(term, rdflib.BNode) else str(term)


def _named(term: Any) -> str:
    return str(term) if isinstance(term, rdflib.URIRef) else ""


_BLANK = re.compile(r"[0-9a-f]{20,}|n[0-9a-f]{32}b[0-9]+|a node without a name")


def members(result: ShaclResult) -> tuple[str, ...]:
    """Return what is compared of *result*."""
    focus, value = (_BLANK.sub("_", one) for one in (result.focus, result.value))
    return result.severity, focus, result.path, value, result.constraint


if __name__ == "__main__":
    sys.exit(main())
