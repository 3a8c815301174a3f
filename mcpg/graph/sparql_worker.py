"""Evaluate queries in a `mcpg.graph.worker`, which can be killed, and format their results."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import takewhile
from typing import Any

import pyoxigraph

from mcpg.graph import terms as v
from mcpg.graph.terms import PREFIXES, abbreviate_iri
from mcpg.graph.worker import bound_memory, memory_taken
from mcpg.text.json_values import JsonObject
from mcpg.text.safeyaml import UNSAFE, turtle_form

SELECT, ASK, GRAPH = "select", "ask", "graph"
"""The kinds of answers: rows, a truth value, or triples."""

_MOST_FOR_GRAPH = 8 * 1024 * 1024 * 1024
_PARSER = "mcpg.graph.sparql_parser"
"""Slow to import, and few queries need it."""


@dataclass(frozen=True, slots=True)
class SparqlAnswer:
    """The answer to one query.

    Attributes:
        form: `select`, `ask`, or `graph` for `CONSTRUCT` and `DESCRIBE`.
        rows: Of `select`, the terms of each row by variable, as the W3C's JSON format writes them.
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
        data = "\n".join(self.triples).encode()
        quads = pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES)
        triples = [quad.triple for quad in quads]
        form = pyoxigraph.RdfFormat.TURTLE
        written = pyoxigraph.serialize(triples, format=form, prefixes=dict(PREFIXES))
        # A line of Turtle ends only at U+000A, and no text contains one as it is.
        lines = [
            # Sequences that would steer a terminal are escaped; only tabs occur outside strings.
            "\t".join(UNSAFE.sub(turtle_form, part) for part in line.split("\t"))
            for line in (written or b"").decode().split("\n")
        ]
        # The prefixes come first, in an order of chance.
        heads = [*takewhile(lambda line: line.startswith("@prefix "), lines)]
        return "\n".join((*sorted(heads), *lines[len(heads) :]))


def format_term(term: dict[str, Any] | None) -> str:
    """Return *term* for people: a literal's text, an IRI with its prefix if it has one."""
    if term is None:
        return ""
    if term["type"] == "uri":
        return shorten_iri(term["value"])
    if term["type"] == "literal":
        language = f"@{term['xml:lang']}" if "xml:lang" in term else ""
        return f"{term['value']}{language}"
    return _plain(term)


# As in the grammar of SPARQL, except names that need a backslash.
_LOCAL_NAME = re.compile(r"\w(?:[\w.-]*[\w-])?")


def shorten_iri(iri: str) -> str:
    """Return *iri* with a prefix that every query has, if one fits."""
    return abbreviate_iri(iri, _LOCAL_NAME.fullmatch) or iri


def _plain(term: dict[str, Any] | None) -> str:
    if term is None:
        return ""
    if term["type"] == "bnode":
        return f"_:{term['value']}"
    if term["type"] == "triple":
        parts = (term["value"][part] for part in ("subject", "predicate", "object"))
        return f"<<( {' '.join(_plain(part) for part in parts)} )>>"
    return str(term["value"])


def load(head: Mapping[str, Any], data: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Load a graph, and return the function that answers requests.

    *head* has how much `memory` may be taken beyond the graph, in bytes, whether queries are to be
    parsed, as `parses`, and the path of the `store` on disk; *data* is Turtle if there is none.
    """
    bound_memory(_MOST_FOR_GRAPH)
    if head.get("store"):
        store = pyoxigraph.Store.read_only(head["store"])
    else:
        store = pyoxigraph.Store()
        store.load(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
    if head.get("parses"):
        # The time of a query does not go by with imports.
        import_module(_PARSER)
    bound_memory(memory_taken() + head["memory"])

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if not request.get("is_parsed"):
            return answer_query(store, request)
        found: dict[str, Any] = import_module(_PARSER).parse_services(request["query"])
        return found

    return answer


def answer_query(store: pyoxigraph.Store, request: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a request; faults of the query, or from outside, are returned as `error`."""
    try:
        found = store.query(request["query"], prefixes=dict(PREFIXES))
        if isinstance(found, pyoxigraph.QueryBoolean):
            return {"form": ASK, "truth": bool(found)}
        if isinstance(found, pyoxigraph.QueryTriples):
            triples, cut = _take((f"{one} ." for one in found), request)
            return {"form": GRAPH, "triples": triples, "cut": cut}
        names = [variable.value for variable in found.variables]
        bindings = (
            {name: term_json(term) for name in names if (term := one[name]) is not None}
            for one in found
        )
        rows, cut = _take(bindings, request)
    except SyntaxError as fault:
        is_update = import_module(_PARSER).is_update(request["query"])
        return {"error": str(fault), "kind": "update" if is_update else "syntax"}
    except (OSError, RuntimeError, ValueError) as fault:
        return {"error": str(fault), "kind": "evaluation"}
    return {"form": SELECT, "variables": names, "rows": rows, "cut": cut}


def _take(results: Iterable[Any], request: Mapping[str, Any]) -> tuple[list[Any], str]:
    """Return as many of *results* as *request* has room for, and why there are more."""
    taken: list[Any] = []
    used = 0
    for one in results:
        used += len(json.dumps(one))
        if len(taken) == request["rows"]:
            return taken, f"there are more than {request['rows']:,}"
        if used > request["size"]:
            return taken, f"they take more than {request['size']:,} bytes"
        taken.append(one)
    return taken, ""


def term_json(term: Any) -> dict[str, Any]:
    """Return *term* as the W3C's JSON format writes it."""
    if isinstance(term, pyoxigraph.Triple):
        parts = {"subject": term.subject, "predicate": term.predicate, "object": term.object}
        return {"type": "triple", "value": {name: term_json(one) for name, one in parts.items()}}
    if not isinstance(term, pyoxigraph.Literal):
        kind = "uri" if isinstance(term, pyoxigraph.NamedNode) else "bnode"
        return {"type": kind, "value": term.value}
    written: dict[str, Any] = {"type": "literal", "value": term.value}
    if term.language:
        written["xml:lang"] = term.language
    elif term.datatype.value != v.xsd.string:
        written["datatype"] = term.datatype.value
    return written
