"""Vectors of tools: what is embedded, how they are kept, and which lie nearest to a query's."""
