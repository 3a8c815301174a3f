"""The error of everything that PostgreSQL is asked for."""

from __future__ import annotations

from mcpg.errors import McpgError


class PostgresError(McpgError):
    """The database cannot be reached or used; no part of it bears the password."""
