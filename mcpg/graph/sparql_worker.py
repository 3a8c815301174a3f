"""Evaluate queries in a `mcpg.graph.worker`, which can be killed, and format their results."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import pyoxigraph

from mcpg.graph.terms import PREFIXES, XSD_STRING
from mcpg.graph.worker import bound_memory, memory_taken
from mcpg.text.json_values import JsonObject
from mcpg.text.safeyaml import UNSAFE, turtle_form

SELECT, ASK, GRAPH = "select", "ask", "graph"
"""What an answer holds: rows, a truth, or triples."""

_MOST_FOR_GRAPH = 8 * 1024 * 1024 * 1024
_PARSER_FAULTS = (RecursionError, ValueError, TypeError)


@dataclass(frozen=True, slots=True)
class SparqlAnswer:
    """The answer to one query.

    Attributes:
        form: `select`, `ask`, or `graph` for `CONSTRUCT` and `DESCRIBE`.
        variables: The names of the columns of `select`.
        rows: Of `select`, by name, the terms of each row as the W3C's JSON format writes them.
        truth: The answer of `ask`.
        triples: Of `graph`, in N-Triples, a line each.
        cut: Why there is more than this, "" when this is all.
    """

    form: str
    variables: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    truth: bool = False
    triples: tuple[str, ...] = ()
    cut: str = ""

    def __len__(self) -> int:
        return len(self.rows) + len(self.triples)

    def json(self) -> JsonObject:
        """Return rows or a truth in the format of https://www.w3.org/TR/sparql11-results-json/."""
        if self.form == ASK:
            return {"head": {}, "boolean": self.truth}
        return {"head": {"vars": list(self.variables)}, "results": {"bindings": list(self.rows)}}

    def csv(self) -> str:
        """Return rows in the format of https://www.w3.org/TR/sparql11-results-csv-tsv/."""
        text = io.StringIO()
        write = csv.writer(text, lineterminator="\r\n")
        write.writerow(self.variables)
        for row in self.rows:
            write.writerow([_plain(row.get(name)) for name in self.variables])
        return text.getvalue()

    def turtle(self) -> str:
        """Return triples as Turtle with the prefixes that every query has."""
        import pyoxigraph  # noqa: PLC0415 - only graphs need it

        data = "\n".join(self.triples).encode()
        quads = pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES)
        triples = [quad.triple for quad in quads]
        form = pyoxigraph.RdfFormat.TURTLE
        written = pyoxigraph.serialize(triples, format=form, prefixes=dict(PREFIXES))
        # A line of Turtle ends at U+000A alone, and no text holds one as it is.
        lines = [_safe(line) for line in (written or b"").decode().split("\n")]
        # The prefixes come first, in an order of chance.
        heads = [*takewhile(lambda line: line.startswith("@prefix "), lines)]
        return "\n".join((*sorted(heads), *lines[len(heads) :]))


def _safe(line: str) -> str:
    """Escape in a *line* of Turtle what would steer a terminal; only tabs stand outside strings."""
    return "\t".join(UNSAFE.sub(turtle_form, part) for part in line.split("\t"))


def format_term(term: dict[str, Any] | None) -> str:
    """Return *term* for people: a literal's text, an IRI with its prefix where it has one."""
    if term is None:
        return ""
    if term["type"] == "uri":
        return shorten_iri(term["value"])
    if term["type"] == "literal":
        language = f"@{term['xml:lang']}" if "xml:lang" in term else ""
        return f"{term['value']}{language}"
    return _plain(term)


# As the grammar of SPARQL has it, but for what a backslash would have to escape.
_LOCAL_NAME = re.compile(r"\w(?:[\w.-]*[\w-])?")


def shorten_iri(iri: str) -> str:
    """Return *iri* with a prefix that every query has, where one fits."""
    for prefix, namespace in PREFIXES.items():
        rest = iri.removeprefix(namespace)
        if rest != iri and _LOCAL_NAME.fullmatch(rest):
            return f"{prefix}:{rest}"
    return iri


def _plain(term: dict[str, Any] | None) -> str:
    if term is None:
        return ""
    if term["type"] == "bnode":
        return f"_:{term['value']}"
    if term["type"] == "triple":
        parts = (term["value"][part] for part in ("subject", "predicate", "object"))
        return f"<<( {' '.join(_plain(part) for part in parts)} )>>"
    return str(term["value"])


def literal_json(value: str, datatype: str, language: str | None) -> dict[str, Any]:
    """Return a literal as the W3C's JSON format writes it."""
    written: dict[str, Any] = {"type": "literal", "value": value}
    if language:
        written["xml:lang"] = language
    elif datatype != XSD_STRING:
        written["datatype"] = datatype
    return written


def load(head: Mapping[str, Any], data: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Load a graph, and return the function that answers requests.

    Args:
        head: How much `memory` may be taken beyond the graph, in bytes, whether queries are to be
            parsed, as `parses`, and the path of the `store` on disk, if there is one.
        data: The graph, as Turtle, where there is no store on disk.
    """
    bound_memory(_MOST_FOR_GRAPH)
    if head.get("store"):
        store = pyoxigraph.Store.read_only(head["store"])
    else:
        store = pyoxigraph.Store()
        store.load(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
    if head.get("parses"):
        # The time of a query does not go by with imports.
        import rdflib.plugins.sparql.algebra  # noqa: F401, PLC0415 - as below
    bound_memory(memory_taken() + head["memory"])
    return lambda request: (
        parse_services(request) if request.get("is_parsed") else answer_query(store, request)
    )


def answer_query(store: pyoxigraph.Store, request: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a request; faults of the query, or from outside, are returned as `error`."""
    try:
        found = store.query(request["query"], prefixes=dict(PREFIXES))
        if isinstance(found, pyoxigraph.QueryBoolean):
            return {"form": ASK, "truth": bool(found)}
        room = _ResultLimit(request["rows"], request["size"])
        if isinstance(found, pyoxigraph.QueryTriples):
            return {
                "form": GRAPH,
                "triples": room.fill(f"{one} ." for one in found),
            } | room.limits_reached
        variables = [variable.value for variable in found.variables]
        rows = room.fill(_row(variables, one) for one in found)
        return {"form": SELECT, "variables": variables, "rows": rows} | room.limits_reached
    except SyntaxError as fault:
        kind = "update" if _is_update(request["query"]) else "syntax"
        return {"error": str(fault), "kind": kind}
    except (OSError, RuntimeError, ValueError) as fault:
        return {"error": str(fault), "kind": "evaluation"}


def parse_services(request: dict[str, Any]) -> dict[str, Any]:
    """Return the address of each `SERVICE`, as `endpoints`, or the `error` of the parser.

    The parser is slow on long texts and cannot be interrupted. So it runs here, in the process that
    is ended at the time limit.
    """
    from pyparsing.exceptions import ParseException  # noqa: PLC0415 - few queries need a parser
    from rdflib import URIRef  # noqa: PLC0415
    from rdflib.plugins.sparql.algebra import translateQuery, traverse  # noqa: PLC0415
    from rdflib.plugins.sparql.parser import parseQuery  # noqa: PLC0415

    found: list[Any] = []

    def visit(node: Any) -> None:
        if getattr(node, "name", None) == "ServiceGraphPattern":
            found.append(node.term)

    try:
        query = translateQuery(parseQuery(request["query"]), initNs=dict(PREFIXES))
        traverse(query.algebra, visitPre=visit)
    except (ParseException, *_PARSER_FAULTS) as fault:
        return {"error": str(fault), "kind": "parsing"}
    return {"endpoints": [str(term) for term in found if isinstance(term, URIRef)]}


def _is_update(query: str) -> bool:
    from pyparsing.exceptions import ParseException  # noqa: PLC0415 - as above
    from rdflib.plugins.sparql.parser import parseUpdate  # noqa: PLC0415

    try:
        return bool(parseUpdate(query).request)
    except (ParseException, *_PARSER_FAULTS):
        return False


class _ResultLimit:
    """Takes so many results, and so many characters of them."""

    def __init__(self, rows: int, size: int) -> None:
        self._rows, self._size = rows, size
        self._cut = ""

    def fill(self, results: Iterable[Any]) -> list[Any]:
        """Return as many of *results* as there is room for."""
        taken: list[Any] = []
        used = 0
        for one in results:
            used += len(json.dumps(one))
            if len(taken) == self._rows:
                self._cut = f"there are more than {self._rows:,}"
                break
            if used > self._size:
                self._cut = f"they take more than {self._size:,} bytes"
                break
            taken.append(one)
        return taken

    @property
    def limits_reached(self) -> dict[str, str]:
        """Why there was more than was taken."""
        return {"cut": self._cut}


def _row(variables: list[str], solution: pyoxigraph.QuerySolution) -> dict[str, Any]:
    terms = ((name, solution[name]) for name in variables)
    return {name: term_json(term) for name, term in terms if term is not None}


def term_json(term: Any) -> dict[str, Any]:
    """Return *term* as the W3C's JSON format writes it."""
    if isinstance(term, pyoxigraph.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, pyoxigraph.BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, pyoxigraph.Triple):
        parts = {"subject": term.subject, "predicate": term.predicate, "object": term.object}
        return {"type": "triple", "value": {name: term_json(one) for name, one in parts.items()}}
    return literal_json(term.value, term.datatype.value, term.language)
