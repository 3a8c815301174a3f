"""The registrations of the room of linked data."""

from __future__ import annotations

from mcpg.plugins.hooks import Cache, Command, GraphReader, Plugin

PLUGIN = Plugin(
    commands=(
        Command(
            "validate",
            "Check a bundle against SHACL shapes, or for another reader.",
            "mcpg.graph.validate_command",
            after="show",
        ),
        Command(
            "graph",
            "Export, search, query and validate the tools as linked data.",
            "mcpg.graph.commands",
        ),
    ),
    graph_readers=(GraphReader("rdf", "mcpg.graph.jsonld:with_graphs_read"),),
    caches=(
        Cache(
            "triples",
            "mcpg.graph.cache:is_entry",
            "mcpg.graph.cache:measure_entry",
            "mcpg.graph.cache:remove_entry",
        ),
    ),
)
