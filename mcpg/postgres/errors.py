"""The error of PostgreSQL operations; importable without psycopg."""

from __future__ import annotations

from mcpg.errors import McpgError


class PostgresError(McpgError):
    """The database cannot be reached or used; no part of it bears the password."""
