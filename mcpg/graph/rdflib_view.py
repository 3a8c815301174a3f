"""A graph in Oxigraph's store as one of rdflib, which takes a fraction of the memory.

The store adapter of oxrdflib is not used: it gives every text the type xsd:string, which no text of
a shape has, so that `sh:in` and `sh:hasValue` find none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph
import rdflib
from rdflib.store import Store

_STRING = str(rdflib.XSD.string)


class OxigraphView(Store):
    """Reads the default graph of an Oxigraph store; nothing can be added."""

    # The validator wraps a graph in a dataset, which asks for both.
    context_aware = graph_aware = True

    def __init__(self, store: pyoxigraph.Store) -> None:
        super().__init__()
        self._store = store
        self._bound: dict[str, Any] = {}
        # The validator looks for the graph that a blank node is in.
        self._graph = rdflib.Graph(self, bind_namespaces="none")

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:
        """Return the triples of *triple_pattern*, in which `None` stands for any term."""
        _ = context  # there is one graph
        subject, predicate, value = triple_pattern
        if isinstance(subject, rdflib.Literal) or not isinstance(predicate, rdflib.URIRef | None):
            return
        # To rdflib, the forms of a number are one value; here they are several.
        is_sought = isinstance(value, rdflib.Literal) and (value.datatype or value.language)
        given: list[Any] = [subject, predicate, None if is_sought else value, None]
        for quad in self._store.quads_for_pattern(*map(_oxigraph_term, given)):
            found = rdflib_term(quad.object)
            if not is_sought or found == value:
                triple = rdflib_term(quad.subject), rdflib_term(quad.predicate), found
                yield triple, iter((self._graph,))

    def __len__(self, context: Any = None) -> int:
        _ = context
        return len(self._store)

    def bind(self, prefix: str, namespace: Any, override: bool = True) -> None:
        """Bind *prefix*."""
        if override or prefix not in self._bound:
            self._bound[prefix] = namespace

    def namespace(self, prefix: str) -> Any:
        """Return the namespace of *prefix*."""
        return self._bound.get(prefix)

    def prefix(self, namespace: Any) -> Any:
        """Return the prefix of *namespace*."""
        return next((one for one, bound in self._bound.items() if bound == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, Any]]:
        """Return all prefixes and their namespaces."""
        yield from self._bound.items()


def rdflib_term(term: Any) -> rdflib.URIRef | rdflib.BNode | rdflib.Literal:
    """Return *term* of Oxigraph as one of rdflib; a plain text has no datatype there."""
    if isinstance(term, pyoxigraph.NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    datatype = term.datatype.value
    if datatype == _STRING:
        return rdflib.Literal(term.value)
    return rdflib.Literal(term.value, datatype=rdflib.URIRef(datatype))


def _oxigraph_term(term: Any) -> Any:
    if term is None:
        return None
    if isinstance(term, rdflib.URIRef):
        return pyoxigraph.NamedNode(str(term))
    if isinstance(term, rdflib.BNode):
        return pyoxigraph.BlankNode(str(term))
    return pyoxigraph.Literal(str(term))
