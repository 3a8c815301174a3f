"""The graph floor: documents as linked data, for those who ask for it.

Nothing here stands on the path of a search. The modules that need rdflib, pyoxigraph or pyld are
imported by name, by those who use them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpg.graph.terms import PREFIXES
    from mcpg.graph.triples import distinct_documents, triples_of

__all__ = ["PREFIXES", "distinct_documents", "triples_of"]

_MODULES = ("mcpg.graph.terms", "mcpg.graph.triples")


def __getattr__(name: str) -> Any:
    # A query of a graph that is kept needs no documents, and none of what reads them.
    if name in __all__:
        for module in map(import_module, _MODULES):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
