"""Plugins: the hooks, mcpg's optional packages, and plugins of other packages."""
