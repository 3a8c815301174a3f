"""What may be added to mcpg: the hooks, our own optional rooms, and plugins of other packages."""
