"""mcpg: author, build and query graph bundles of tools."""

__version__ = "0.1.0"
