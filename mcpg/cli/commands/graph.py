"""`mcpg graph`, a group of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.commands import graph_export
from mcpg.cli.groups import group

if TYPE_CHECKING:
    import typer

EXAMPLES = """\
mcpg graph export -o graph.ttl
mcpg graph export --around shipment_status --format mermaid"""


def register(app: typer.Typer) -> None:
    """Add the group to *app*."""
    commands = group("graph", text="The tools as linked data: export.", examples=EXAMPLES)
    for module in (graph_export,):
        module.register(commands)
    app.add_typer(commands)
