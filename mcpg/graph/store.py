"""Documents as a graph for rdflib, on the Oxigraph store."""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph
import rdflib
from oxrdflib import OxigraphStore
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from mcpg.documents.model import ToolDocument
from mcpg.graph.exports import turtle
from mcpg.graph.terms import PREFIXES, Triple
from mcpg.graph.triples import triples_of


def graph_of(documents: Iterable[ToolDocument]) -> rdflib.Graph:
    """Load what *documents* say into a graph with the prefixes of `PREFIXES`.

    Args:
        documents: No two with the same node, see `distinct_documents`.
    """
    return loaded(triples_of(documents))


def loaded(triples: Iterable[Triple]) -> rdflib.Graph:
    """Load *triples* into a graph with the prefixes of `PREFIXES`."""
    # Only under this name does a graph of rdflib read the default graph of Oxigraph.
    store = OxigraphStore(store=oxigraph_store(triples))
    graph = rdflib.Graph(store, DATASET_DEFAULT_GRAPH_ID, bind_namespaces="none")
    for prefix, namespace in PREFIXES.items():
        graph.bind(prefix, namespace)
    return graph


def oxigraph_store(triples: Iterable[Triple]) -> pyoxigraph.Store:
    """Load *triples* into the default graph of a store in memory."""
    store = pyoxigraph.Store()
    # To parse text is twice as fast as to make an object of each triple. The text is known to be
    # valid, so it need not be checked.
    data = "".join(turtle(triples)).encode()
    store.load(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
    return store
