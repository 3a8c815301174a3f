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

from mcpg.graph.rdflib_view import OxigraphView, rdflib_term
from mcpg.graph.shacl_suspects import ShaclPrefilter
from mcpg.graph.worker import bound_memory, memory_taken

MAX_DEPTH = 30
"""How deeply shapes may refer to one another."""

FEW_NODES = 2_000
"""Up to so many nodes are validated without reading the whole graph into rdflib."""

_SH = rdflib.Namespace("http://www.w3.org/ns/shacl#")
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request")
_BLANK = re.compile(r"['\"]?\b(?:_:)?n?[0-9a-f]{32}b[0-9]+\b['\"]?")


def load(head: Mapping[str, Any], data: bytes) -> Callable[[dict[str, Any]], Any]:
    """Return the function that validates the graph *data*, in Turtle, against `shapes` in Turtle.

    It returns the members of a `mcpg.graph.validation.ShaclResult` for each result, or the reason why
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
        return validate_data(data, shapes)
    except RecursionError:
        return "they refer to one another without an end"
    except MemoryError:
        raise  # and end: what the library holds is not given back
    except Exception as fault:  # noqa: BLE001 - whatever ends a library's work is its answer
        return _cause(fault)


def validate_data(data: bytes, shapes: Sequence[str]) -> list[tuple[str, ...]]:
    """Validate a graph, and give the members of each result."""
    asked = rdflib.Graph(bind_namespaces="none")
    for text in shapes:
        asked.parse(data=text, format="turtle")
    _import_prefixes(asked)
    store = pyoxigraph.Store()
    store.load(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
    suspects = ShaclPrefilter(store, asked)
    suspects.narrow()
    if suspects.is_narrow or suspects.count <= FEW_NODES:
        graph = rdflib.Graph(OxigraphView(store), bind_namespaces="none")
        return run_pyshacl(graph, asked)
    graph = whole_graph(store)
    del store, suspects
    return run_pyshacl(graph, asked)


def _import_prefixes(shapes: rdflib.Graph) -> None:
    """Declare the prefixes of SPARQL constraints that they import, which the library passes over.

    See https://www.w3.org/TR/shacl/#sparql-prefixes.
    """
    for node in set(shapes.objects(None, _SH.prefixes)):
        imported = list(shapes.transitive_objects(node, rdflib.OWL.imports))
        for declared in [one for other in imported for one in shapes.objects(other, _SH.declare)]:
            shapes.add((node, _SH.declare, declared))


def run_pyshacl(graph: rdflib.Graph, shapes: rdflib.Graph) -> list[tuple[str, ...]]:
    """Validate *graph* against *shapes* by the library."""
    _, report, _ = pyshacl.validate(
        graph, shacl_graph=shapes, inplace=True, max_validation_depth=MAX_DEPTH
    )
    if not isinstance(report, rdflib.Graph):
        raise report if isinstance(report, Exception) else ValueError(str(report))
    return [_members(report, one) for one in report.subjects(_SH.resultSeverity)]


def whole_graph(store: pyoxigraph.Store) -> rdflib.Graph:
    """Return the graph of *store* in rdflib's own memory, which is read twice as fast as a view."""
    graph = rdflib.Graph(bind_namespaces="none")
    for quad in store:
        graph.add(
            (rdflib_term(quad.subject), rdflib_term(quad.predicate), rdflib_term(quad.object))
        )
    return graph


def _members(report: rdflib.Graph, node: Any) -> tuple[str, ...]:
    value = report.value(node, _SH.value)
    messages = map(str, report.objects(node, _SH.resultMessage))
    severity = str(report.value(node, _SH.resultSeverity)).removeprefix(_SH).lower()
    constraint = str(report.value(node, _SH.sourceConstraintComponent) or "").removeprefix(_SH)
    return (
        # A severity of its author's own fails, as it does by the definition of conformance.
        severity if severity in {"warning", "info"} else "violation",
        _hide_blank_names(min(messages, default="")),
        str(report.value(node, _SH.focusNode)),
        _format_iri(report.value(node, _SH.resultPath)),
        "" if value is None else _hide_blank_names(str(value)),
        constraint.removesuffix("ConstraintComponent"),
        _format_iri(report.value(node, _SH.sourceShape)),
    )


def _format_iri(value: Any) -> str:
    return str(value) if isinstance(value, rdflib.URIRef) else ""


def _refuse_network(event: str, _: tuple[Any, ...]) -> None:
    if event in _NETWORK:
        raise PermissionError("they ask for something on the network")


def _cause(fault: BaseException) -> str:
    while fault.__cause__ is not None or fault.__context__ is not None:
        fault = fault.__cause__ or fault.__context__ or fault
    text = str(getattr(fault, "message", "") or fault) or type(fault).__name__
    return _hide_blank_names(" ".join(text.split()).removesuffix("."))


def _hide_blank_names(text: str) -> str:
    """Take out the names that a library makes up anew in every run for nodes without one."""
    return _BLANK.sub("a node without a name", text)
