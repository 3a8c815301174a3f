"""SPARQL over the tools: a door through which nothing is changed and nothing is fetched unasked."""

from mcpg.graph.sparql.answer import Answer
from mcpg.graph.sparql.door import Door, Limits

__all__ = ["Answer", "Door", "Limits"]
