"""The gateway as an MCP server: its meta-tools, and perhaps every tool behind it."""
