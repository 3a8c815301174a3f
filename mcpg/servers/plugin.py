"""What the room of listed servers registers."""

from __future__ import annotations

from mcpg.plugins.hooks import Command, ItemKind, Plugin
from mcpg.sources.listings import is_listing_page

PLUGIN = Plugin(
    commands=(
        Command(
            "catalog",
            "Write a catalog of the servers of a bundle, for others to find.",
            "mcpg.servers.command",
            after="lock",
        ),
    ),
    item_kinds=(
        ItemKind(
            "server",
            is_listing_page,
            "mcpg.servers.items:ListedServers",
            "server",
            "mcpg.servers.items:make_documents",
        ),
    ),
)
