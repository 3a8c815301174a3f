"""Routing: matches arranged by category, weighted by hints and by the preferred kind of tool."""
