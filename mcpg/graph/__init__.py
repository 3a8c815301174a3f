"""The graph floor: documents as linked data, for those who ask for it.

Nothing here stands on the path of a search. The modules that need rdflib, pyoxigraph or pyld are
imported by name, by those who use them.
"""

from __future__ import annotations

from mcpg.graph.terms import PREFIXES
from mcpg.graph.triples import distinct_documents, triples_of

__all__ = ["PREFIXES", "distinct_documents", "triples_of"]
