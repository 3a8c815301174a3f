"""What the room of the page registers."""

from __future__ import annotations

from mcpg.plugins.hooks import Command, Plugin

PLUGIN = Plugin(
    commands=(
        Command(
            "explore",
            "Try queries and hints on a page in the browser.",
            "mcpg.explore.command",
            after="explain",
        ),
    )
)
