"""Run the W3C's SHACL suite through the validator of `mcpg graph validate`.

    pip download --no-deps --no-binary :all: pyshacl && tar xzf pyshacl-*.tar.gz
    python benchmarks/check_shacl.py pyshacl-*/test/resources/sht_tests

The source distribution of pyshacl carries the suite. Each test is validated by mcpg, by pyshacl
itself, and compared with what the suite expects. Prints a table.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections import Counter
from pathlib import Path

import pyshacl
import rdflib

from mcpg.errors import McpgError
from mcpg.graph.shapes import check_shapes
from mcpg.graph.validation import validate

MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
SHT = rdflib.Namespace("http://www.w3.org/ns/shacl-test#")
SH = rdflib.SH


def main() -> None:
    """Run the suite below a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    print(f"{'part':<28} {'tests':>6} {'as pyshacl':>11} {'as expected':>12}  told otherwise")
    total: Counter[str] = Counter()
    for part in sorted({file.parent for file in folder.glob("**/*.ttl")}):
        counts, odd = run(part)
        total += counts
        if counts:
            print(line(str(part.relative_to(folder)), counts, odd), flush=True)
    print(line("all", total, []))


def line(name: str, counts: Counter[str], odd: list[str]) -> str:
    """Return a line of the table."""
    figures = [counts[key] for key in ("tests", "same", "expected")]
    return f"{name:<28} {figures[0]:>6} {figures[1]:>11} {figures[2]:>12}  {' '.join(odd)}"


def run(part: Path) -> tuple[Counter[str], list[str]]:
    """Run the tests of one folder."""
    counts: Counter[str] = Counter()
    odd = []
    for file in sorted(part.glob("*.ttl")):
        suite = rdflib.Graph().parse(file, publicID=file.resolve().as_uri())
        for test in suite.subjects(rdflib.RDF.type, SHT.Validate):
            counts["tests"] += 1
            found, beneath, wanted = outcomes(suite, test)
            counts["same"] += found == beneath
            counts["expected"] += found == wanted
            if found != beneath:
                odd.append(file.stem)
    return counts, odd


def outcomes(suite: rdflib.Graph, test: rdflib.term.Node) -> tuple[object, object, object]:
    """Return what mcpg, pyshacl and the suite say: the number of results, `None` for a failure."""
    action = suite.value(test, MF.action)
    data, shapes = (read(suite.value(action, name)) for name in (SHT.dataGraph, SHT.shapesGraph))
    wanted = suite.value(test, MF.result)
    expected = None if wanted == SHT.Failure else len(list(suite.objects(wanted, SH.result)))
    return through(data, shapes), directly(data, shapes), expected


def read(name: rdflib.term.Node | None) -> rdflib.Graph:
    """Read the file that *name* stands for."""
    return rdflib.Graph().parse(Path(str(name).removeprefix("file://")), publicID=str(name))


def through(data: rdflib.Graph, shapes: rdflib.Graph) -> int | None:
    """Validate by way of mcpg."""
    text = shapes.serialize(format="turtle")
    try:
        check_shapes(text, "shapes")
        return len(validate(data.serialize(format="turtle").encode(), [text], timeout=60))
    except McpgError:
        return None


def directly(data: rdflib.Graph, shapes: rdflib.Graph) -> int | None:
    """Validate by the library alone."""
    try:
        _, report, _ = pyshacl.validate(data, shacl_graph=shapes)
    except Exception:  # noqa: BLE001 - a failure is an outcome
        return None
    if not isinstance(report, rdflib.Graph):
        return None
    return len(list(report.subjects(SH.resultSeverity)))


if __name__ == "__main__":
    main()
