"""PostgreSQL with pgvector, shared by many replicas: vectors, caches, candidates, locks.

Needs the extra `postgres`; without it, the import raises a `PostgresError` that says so.
"""

from __future__ import annotations

from mcpg.errors import PostgresError
from mcpg.text.install_commands import install_command

try:
    from mcpg.postgres.candidates import PostgresCandidates, PublishedTool
    from mcpg.postgres.connection import Database, PostgresSettings, building
    from mcpg.postgres.stores import PostgresCache, PostgresStore
except ModuleNotFoundError as missing:
    raise PostgresError(
        f"PostgreSQL needs the package {missing.name!r}, which is not installed",
        remedy=install_command("postgres"),
    ) from missing

__all__ = [
    "Database",
    "PostgresCache",
    "PostgresCandidates",
    "PostgresError",
    "PostgresSettings",
    "PostgresStore",
    "PublishedTool",
    "building",
]
