"""Registration of the package of gateways."""

from __future__ import annotations

from mcpg.plugins.hooks import Command, Plugin

PLUGIN = Plugin(
    commands=(
        Command(
            "invoke",
            "Call a tool and show its result.",
            "mcpg.gateway.invoke_command",
            after="learn",
        ),
        Command(
            "serve",
            "Serve the tools of many servers as one MCP server.",
            "mcpg.gateway.serve_command",
            after="invoke",
        ),
    )
)
