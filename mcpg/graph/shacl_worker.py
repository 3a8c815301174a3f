"""SHACL validation by a library, in a `mcpg.graph.worker`."""

from __future__ import annotations

import logging
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyoxigraph
import pyshacl
import rdflib

from mcpg.graph.worker import bound_memory, memory_taken

MAX_DEPTH = 30
"""How deeply shapes may refer to one another."""

_SH = rdflib.Namespace("http://www.w3.org/ns/shacl#")
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request")
_BLANK = re.compile(r"['\"]?\b(?:_:)?n?[0-9a-f]{32}b[0-9]+\b['\"]?")


def load(head: Mapping[str, Any], data: bytes) -> Callable[[dict[str, Any]], Any]:
    """Return the function that validates the graph *data*, in Turtle, against `shapes` in Turtle.

    It returns the members of a `mcpg.graph.validation.Result` for each result, or the reason why
    there are none. From now on this process has no way to the network, and the memory that *head*
    grants beyond what it has taken.
    """
    sys.addaudithook(_refuse_network)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    bound_memory(memory_taken() + head["memory"])
    return lambda request: _work(data, request["shapes"])


def _work(data: bytes, shapes: Sequence[str]) -> list[tuple[str, ...]] | str:
    try:
        return found(data, shapes)
    except RecursionError:
        return "they refer to one another without an end"
    except MemoryError:
        raise  # and end: what the library holds is not given back
    except Exception as fault:  # noqa: BLE001 - whatever ends a library's work is its answer
        return _cause(fault)


def found(data: bytes, shapes: Sequence[str]) -> list[tuple[str, ...]]:
    """Validate a graph, and give the members of each result."""
    graph = graph_in(data)
    asked = rdflib.Graph(bind_namespaces="none")
    for text in shapes:
        asked.parse(data=text, format="turtle")
    _, report, _ = pyshacl.validate(
        graph, shacl_graph=asked, inplace=True, max_validation_depth=MAX_DEPTH
    )
    if not isinstance(report, rdflib.Graph):
        raise report if isinstance(report, Exception) else ValueError(str(report))
    return [_members(report, one) for one in report.subjects(_SH.resultSeverity)]


def graph_in(data: bytes) -> rdflib.Graph:
    """Read a graph in Turtle into one of rdflib's own.

    A graph on Oxigraph's store would be quicker to load, but there every text has the type
    xsd:string, which no text of a shape has: `sh:in` and `sh:hasValue` would find none of them.
    """
    graph = rdflib.Graph(bind_namespaces="none")
    for quad in pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True):
        graph.add((_term(quad.subject), _term(quad.predicate), _term(quad.object)))
    return graph


def _term(term: Any) -> rdflib.URIRef | rdflib.BNode | rdflib.Literal:
    if isinstance(term, pyoxigraph.NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    datatype = rdflib.URIRef(term.datatype.value)
    return rdflib.Literal(term.value, datatype=None if datatype == rdflib.XSD.string else datatype)


def _members(report: rdflib.Graph, node: Any) -> tuple[str, ...]:
    value = report.value(node, _SH.value)
    messages = map(str, report.objects(node, _SH.resultMessage))
    severity = str(report.value(node, _SH.resultSeverity)).removeprefix(_SH).lower()
    constraint = str(report.value(node, _SH.sourceConstraintComponent) or "").removeprefix(_SH)
    return (
        severity if severity in {"violation", "warning"} else "info",
        _unnamed(min(messages, default="")),
        str(report.value(node, _SH.focusNode)),
        _named(report.value(node, _SH.resultPath)),
        "" if value is None else _unnamed(str(value)),
        constraint.removesuffix("ConstraintComponent"),
        _named(report.value(node, _SH.sourceShape)),
    )


def _named(value: Any) -> str:
    return str(value) if isinstance(value, rdflib.URIRef) else ""


def _refuse_network(event: str, _: tuple[Any, ...]) -> None:
    if event in _NETWORK:
        raise PermissionError("they ask for something on the network")


def _cause(fault: BaseException) -> str:
    while fault.__cause__ is not None or fault.__context__ is not None:
        fault = fault.__cause__ or fault.__context__ or fault
    text = str(getattr(fault, "message", "") or fault) or type(fault).__name__
    return _unnamed(" ".join(text.split()).removesuffix("."))


def _unnamed(text: str) -> str:
    """Take out the names that a library makes up anew in every run for nodes without one."""
    return _BLANK.sub("a node without a name", text)
