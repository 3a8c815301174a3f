"""`mcpg graph`, a group of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.commands import (
    graph_export,
    graph_schema,
    graph_search,
    graph_sparql,
    graph_stats,
    graph_validate,
)
from mcpg.cli.groups import group

if TYPE_CHECKING:
    import typer

EXAMPLES = """\
mcpg graph export -o graph.ttl
mcpg graph export --around shipment_status --format mermaid
mcpg graph sparql 'SELECT ?id ?then { ?tool mcpg:toolId ?id ; kb:nextStep/mcpg:toolId ?then }'
mcpg graph schema
mcpg graph search "where is my parcel" --explain
mcpg graph validate --shapes house-rules.ttl
mcpg graph stats"""


def register(app: typer.Typer) -> None:
    """Add the group to *app*."""
    commands = group(
        "graph",
        text="The tools as linked data: export, search, query, validate, count.",
        examples=EXAMPLES,
    )
    modules = (
        graph_export,
        graph_schema,
        graph_search,
        graph_sparql,
        graph_validate,
        graph_stats,
    )
    for module in modules:
        module.register(commands)
    app.add_typer(commands)
