"""What the process of queries does with one request."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pyoxigraph
import pytest

from mcpg.graph.sparql_worker import SparqlAnswer, answer_query
from mcpg.graph.worker import READY, serve

DATA = b"<a:a> <a:b> 'x'@en, 'y', 3, _:n . <a:c> <a:b> <a:a> ."


def ask(query: str, rows: int = 100, size: int = 10_000) -> dict[str, Any]:
    """Answer one query over a small graph."""
    store = pyoxigraph.Store()
    store.load(DATA, format=pyoxigraph.RdfFormat.TURTLE)
    return answer_query(store, {"query": query, "rows": rows, "size": size})


def test_terms_are_written_as_the_w3c_writes_them() -> None:
    """Each kind of term has its type, its text, and its language or datatype."""
    rows = ask("SELECT ?o (<<( <a:a> <a:b> ?o )>> AS ?t) { <a:a> <a:b> ?o }")["rows"]
    terms = {row["o"]["value"]: row["o"] for row in rows if row["o"]["type"] == "literal"}
    assert terms == {
        "x": {"type": "literal", "value": "x", "xml:lang": "en"},
        "y": {"type": "literal", "value": "y"},
        "3": {
            "type": "literal",
            "value": "3",
            "datatype": "http://www.w3.org/2001/XMLSchema#integer",
        },
    }
    assert {row["o"]["type"] for row in rows} == {"literal", "bnode"}
    assert all(row["t"]["value"]["object"] == row["o"] for row in rows)
    assert ask("SELECT ?s ?u { ?s <a:b> <a:a> }")["rows"] == [
        {"s": {"type": "uri", "value": "a:c"}}
    ]


def test_each_form_of_query_has_its_answer() -> None:
    """A truth, triples, or rows."""
    assert ask("ASK { <a:c> ?p ?o }") == {"form": "ask", "truth": True}
    assert ask("CONSTRUCT WHERE { <a:c> ?p ?o }") == {
        "form": "graph",
        "triples": ["<a:c> <a:b> <a:a> ."],
        "cut": "",
    }
    assert ask("SELECT ?x {}")["variables"] == ["x"]


def test_what_has_no_room_is_left_out() -> None:
    """Rows are counted, and so are their bytes."""
    found = ask("SELECT * { ?s ?p ?o }", rows=2)
    assert (len(found["rows"]), found["cut"]) == (2, "there are more than 2")
    found = ask("SELECT * { ?s ?p ?o }", size=10)
    assert (found["rows"], found["cut"]) == ([], "they take more than 10 bytes")


def test_what_is_wrong_is_told_by_its_kind() -> None:
    """A mistake in the query, and an evaluation that fails, are no crashes."""
    assert ask("SELECT * {")["kind"] == "syntax"
    assert ask("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }")["kind"] == "evaluation"


def test_turtle_of_an_answer_cannot_steer_a_terminal() -> None:
    """Control characters of literals are written as escapes."""
    triple = '<urn:a> <urn:b> "x\x9b31m\\ty" .'
    text = SparqlAnswer("graph", triples=(triple, triple.replace("urn:b", "urn:c"))).turtle()

    assert text.replace("\n", "").replace("\t", "").isprintable()
    assert text.count("x\\u009B31m\\ty") == 2


@pytest.mark.skipif(sys.platform == "win32", reason="nothing bounds memory there")
def test_requests_are_answered_line_by_line() -> None:
    """After the graph comes a word that it is loaded, then an answer for each request."""
    resource = pytest.importorskip("resource")
    bound = resource.getrlimit(resource.RLIMIT_AS)
    request = {"query": "ASK {}", "rows": 1, "size": 100, "seconds": 60}
    line = json.dumps(request).encode() + b"\n"
    answers = io.BytesIO()

    head = {"module": "mcpg.graph.sparql_worker", "bytes": len(DATA), "seconds": 60}
    try:
        serve({**head, "memory": 1 << 50}, io.BytesIO(DATA + line + line), answers)
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, bound)

    assert answers.getvalue() == READY + b'{"form": "ask", "truth": true}\n' * 2
    assert hard == bound[1]
    assert soft == hard or (1 << 50) <= soft < (1 << 51)
