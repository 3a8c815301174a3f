"""OAuth for servers at addresses, as the `mcp` SDK gives it."""
