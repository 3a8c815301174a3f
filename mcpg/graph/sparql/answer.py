"""What a query answers with, and the formats that others read."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from mcpg.graph.vocabulary import PREFIXES, XSD_STRING

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject

SELECT, ASK, GRAPH = "select", "ask", "graph"
"""What an answer holds: rows, a truth, or triples."""


@dataclass(frozen=True, slots=True)
class Answer:
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
        """Give rows or a truth in the format of https://www.w3.org/TR/sparql11-results-json/."""
        if self.form == ASK:
            return {"head": {}, "boolean": self.truth}
        return {"head": {"vars": list(self.variables)}, "results": {"bindings": list(self.rows)}}

    def csv(self) -> str:
        """Give rows in the format of https://www.w3.org/TR/sparql11-results-csv-tsv/."""
        text = io.StringIO()
        write = csv.writer(text, lineterminator="\r\n")
        write.writerow(self.variables)
        for row in self.rows:
            write.writerow([_plain(row.get(name)) for name in self.variables])
        return text.getvalue()

    def turtle(self) -> str:
        """Give triples as Turtle with the prefixes that every query has."""
        import pyoxigraph  # noqa: PLC0415 - only graphs need it

        data = "\n".join(self.triples).encode()
        quads = pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES)
        triples = [quad.triple for quad in quads]
        form = pyoxigraph.RdfFormat.TURTLE
        written = pyoxigraph.serialize(triples, format=form, prefixes=dict(PREFIXES))
        # A line of Turtle ends at U+000A alone, and no text holds one as it is.
        lines = (written or b"").decode().split("\n")
        # The prefixes come first, in an order of chance.
        heads = [*takewhile(lambda line: line.startswith("@prefix "), lines)]
        return "\n".join((*sorted(heads), *lines[len(heads) :]))


def shown(term: dict[str, Any] | None) -> str:
    """Give *term* for people: a literal's text, an IRI with its prefix where it has one."""
    if term is None:
        return ""
    if term["type"] == "uri":
        return shortened(term["value"])
    if term["type"] == "literal":
        language = f"@{term['xml:lang']}" if "xml:lang" in term else ""
        return f"{term['value']}{language}"
    return _plain(term)


def shortened(iri: str) -> str:
    """Give *iri* with a prefix that every query has, where one fits."""
    for prefix, namespace in PREFIXES.items():
        rest = iri.removeprefix(namespace)
        if rest != iri and rest.isidentifier():
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
    """Give a literal as the W3C's JSON format writes it."""
    written: dict[str, Any] = {"type": "literal", "value": value}
    if language:
        written["xml:lang"] = language
    elif datatype != XSD_STRING:
        written["datatype"] = datatype
    return written
