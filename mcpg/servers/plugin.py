"""What the room of listed servers registers."""

from __future__ import annotations

from mcpg.plugins.hooks import ItemKind, Plugin
from mcpg.sources.listings import is_listing_page

PLUGIN = Plugin(
    item_kinds=(
        ItemKind(
            "server",
            is_listing_page,
            "mcpg.servers.items:ListedServers",
            "mcpg.servers.items:make_documents",
        ),
    ),
)
